"""`hipdnn-ep`: the hipDNN plugin EP.

Its presets hold their author's folders and win over its own environment variables, so none is used: every entry is
given. Its tests look for an ONNX Runtime build tree; without one, `ctest` succeeds with no test at all. Without a GPU
its factory registers a CPU device as HipDNN. So nothing of it is believed here: `stackbuild verify` proves the library,
and the package around it never hands out a CPU. Without hipBLASLt it would be built without MatMul and say so in one
line of its log: here that fails the configure phase.
"""

from __future__ import annotations

from stackbuild.model.components import HipdnnEp
from stackbuild.model.plan import Command, Step
from stackbuild.plan.steps.context import Context
from stackbuild.plan.steps.plugin_package import package
from stackbuild.plan.steps.rocm import CMakeProject, cmake_step, compilers
from stackbuild.tables.providers import HIPDNN

UNUSED_OK = ("HIP_PLATFORM",)
CHECK = (
    "readelf --dyn-syms --wide /out/lib/libhipdnn_ep.so | grep -q CreateEpFactories"
    " && ! readelf --dynamic --wide /out/lib/libhipdnn_ep.so | grep -E 'R(UN)?PATH'"
)
"""It exports what ONNX Runtime looks up, and no build path is in it: its own CMakeLists.txt wants DT_RPATH, which wins over
LD_LIBRARY_PATH (`--disable-new-dtags`); `CMAKE_SKIP_RPATH` leaves it none."""


def steps(name: str, component: HipdnnEp, context: Context) -> tuple[Step, ...]:
    """One step; the library must export what ONNX Runtime looks up in a plugin, and find hipDNN where the user has
    it."""
    options = {
        **compilers(component),
        "CMAKE_HIP_ARCHITECTURES": ";".join(context.gfx),
        "CMAKE_HIP_COMPILER": f"{component.compiler}/clang++",
        "CMAKE_REQUIRE_FIND_PACKAGE_hipblaslt": True,
        "CMAKE_SKIP_RPATH": True,
        "HIP_PLATFORM": "amd",
        "HIPDNN_EP_BUILD_TESTS": False,
        "HIPDNN_EP_ENABLE_TORCH_MLIR": False,
        "ONNXRUNTIME_ROOT": f"/src/{component.onnxruntime}" if component.onnxruntime else f"/deps/{component.needs[0]}",
        "THEROCK_DIST": component.rocm_home,
    }
    source = component.onnxruntime
    headers = (context.need(f"source.{source}", f"/src/{source}"),) if source else ()
    after = (*package(HIPDNN, component.source), Command(("sh", "-c", CHECK), "test"))
    project = CMakeProject(options, more=headers, unused_ok=UNUSED_OK, after=after)
    return (cmake_step(name, component, context, project),)
