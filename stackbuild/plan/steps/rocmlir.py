"""`rocmlir`: LLVM and rocMLIR as one static library, `BUILD_FAT_LIBROCKCOMPILER`, the form that MIGraphX links.

Its output does not depend on the gfx targets (it compiles kernels at run time) nor on Python, so one serves the matrix.
"""

from __future__ import annotations

from stackbuild.model.components import RocMLIR
from stackbuild.model.plan import Step
from stackbuild.plan.steps.context import Context
from stackbuild.plan.steps.rocm import CMakeProject, cmake_step, compilers

OPTIONS = {
    "BUILD_FAT_LIBROCKCOMPILER": True,
    "LLVM_APPEND_VC_REV": False,
    "LLVM_ENABLE_ZLIB": False,
    "LLVM_ENABLE_ZSTD": False,
    "LLVM_INCLUDE_TESTS": False,
    "MLIR_ENABLE_ROCM_RUNNER": False,
    "MLIR_INCLUDE_TESTS": False,
}
"""LLVM's revision is kept out of the library, so that equal sources give equal bytes, and so are the base's compression
libraries: whoever links a static library needs its dependencies too. MLIR's runner of ROCm kernels would want HIP and an X86
back end, and the fat library has neither. LLVM itself lies in the source (external/llvm-project); nothing fetches it."""


def steps(name: str, component: RocMLIR, context: Context) -> tuple[Step, ...]:
    """One step."""
    return (cmake_step(name, component, context, CMakeProject({**compilers(component), **OPTIONS})),)
