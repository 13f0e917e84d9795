"""Stand-ins: empty CMake packages in place of components that are not built, so that those that need them can be configured.

`--until configure` uses them alone. A project that is configured against one proves its own options, what it finds in the
base and its dependencies; it proves nothing about the component that is stood in for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from stackbuild.model.plan import Command, Need, Step
from stackbuild.plan.steps import older_libc
from stackbuild.plan.steps.kernels import PARTS
from stackbuild.plan.steps.kernels_ep import EP_PARTS
from stackbuild.plan.steps.migraphx_module import MODULE_LIBRARIES

PREFIX = "stand-in"

_VERSION = 'set(PACKAGE_VERSION "{version}")\nset(PACKAGE_VERSION_COMPATIBLE TRUE)\n'
_TARGET = "if(NOT TARGET {target})\n  add_library({target} INTERFACE IMPORTED)\nendif()\n"


def _package(name: str, version: str, *targets: str, more: str = "") -> dict[str, str]:
    """The two files of a CMake package whose targets are empty."""
    config = "".join(_TARGET.format(target=target) for target in targets)
    folder = f"lib/cmake/{name}"
    return {
        f"{folder}/{name}Config.cmake": f"set({name}_FOUND TRUE)\n{config}{more}",
        f"{folder}/{name}ConfigVersion.cmake": _VERSION.format(version=version),
    }


FILES: Mapping[str, Mapping[str, str]] = {
    "rocmlir": _package("rocMLIR", "1.0.0", "rocMLIR::rockCompiler"),
    "migraphx": _package("migraphx", "2.0.0", *(f"migraphx::{one}" for one in ("c", *MODULE_LIBRARIES))),
    "onnxruntime": _package("onnxruntime", "1.0.0", "onnxruntime::onnxruntime"),
    "onnxruntime-release": {
        **_package("onnxruntime", "1.0.0", "onnxruntime::onnxruntime"),
        "include/onnxruntime/core/session/onnxruntime_c_api.h": "",
    },
    "abseil-cpp": _package("absl", "0.0.0"),
    "msgpack-c": {
        **_package("msgpack-cxx", "6.0.0", "msgpack-cxx"),
        **_package("msgpackc-cxx", "3.3.0", "msgpackc-cxx"),
    },
    "protobuf": {
        **_package("protobuf", "30.0.0", "protobuf::libprotobuf", more="function(protobuf_generate)\nendfunction()\n"),
        "include/google/protobuf/service.h": "",
        "include/google/protobuf/stubs/common.h": "#define GOOGLE_PROTOBUF_VERSION 3030000\n",
        "lib/libprotobuf.a": "!<arch>\n",
        "bin/protoc": "#!/bin/sh\necho libprotoc 30.0\n",
    },
    older_libc.STEP: {"libc.so": ""},
    **{part: {f"{part}/stand-in.o": ""} for part in (*PARTS, *EP_PARTS)},
}
"""Kind of component, name of a requirement of MIGraphX, or part of the kernels, to the files that stand in for it: packages and targets by the names
that MIGraphX 6.4.4 to 2.16, ONNX Runtime 1.22.1 and AMD's plugin EP ask for."""

_WORDS = (
    'while [ "$#" -gt 0 ]; do mkdir -p "/out/$(dirname "$1")" && printf %s "$2" >"/out/$1" || exit 1; '
    'case "$1" in bin/*) chmod 755 "/out/$1" ;; esac; shift 2; done'
)


def stand_in(step: Step, kind: str) -> Step | None:
    """The step that makes what stands in for `step`, None for a kind that nothing does. It needs the base alone."""
    if kind not in FILES:
        return None
    words = tuple(word for path, text in FILES[kind].items() for word in (path, text))
    base = tuple(need for need in step.needs if need.step == "base")
    return Step(
        name=f"{PREFIX}.{step.name}",
        action="run",
        needs=base,
        commands=(Command(("sh", "-c", _WORDS, PREFIX, *words), "install"),),
        env=step.env,
        base=step.base,
    )


def with_stand_ins(step: Step, absent: Mapping[str, Step]) -> Step:
    """The step with each needed output that is in `absent` replaced by what stands in for it."""
    needs = tuple(
        Need(absent[n.step].name, absent[n.step].key, n.at, n.part) if n.step in absent else n for n in step.needs
    )
    return replace(step, needs=needs)
