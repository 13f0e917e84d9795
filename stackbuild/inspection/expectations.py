"""What is expected of a file beyond what holds for every file: what a recipe says, as values that rules judge by."""

from __future__ import annotations

from dataclasses import dataclass

UNUSED_OPTIONS = ("onnxruntime_MIGRAPHX_HOME", "onnxruntime_ROCM_HOME", "onnxruntime_ROCM_VERSION")
"""onnxruntime's own build.py passes these to builds that do not read them (microsoft/onnxruntime#11719)."""


@dataclass(frozen=True)
class Expectations:
    """Each field left at its default expects nothing.

    `gfx`: the target IDs, exactly these. `kernels_floor`: least number of non-empty kernels for each of them.
    `providers`: execution providers that must be there; `custom_ops`: whether a library of custom operators must be.
    `version`: the wheel's version; `commit`: the ONNX Runtime commit that its build information names, if it names one.
    `size_budget`: bytes of the file. `rocm`: the ROCm release it is for, "6.4" or "7.2.4". `external`: sonames and patterns of
    what the user's machine provides; `excludes`: patterns that the repair step leaves out; each must match a
    needed library. `runpaths`: absolute RUNPATH elements that are meant. `grafts`: patterns of ROCm libraries that are
    carried on purpose. `isa`: the x86-64 level (1 to 4) that machines are promised to be enough. `unused_options`: patterns of
    CMake options that may go unused.
    """

    gfx: tuple[str, ...] = ()
    kernels_floor: int = 0
    providers: tuple[str, ...] = ()
    custom_ops: bool = False
    version: str = ""
    commit: str = ""
    size_budget: int = 0
    rocm: str = ""
    external: tuple[str, ...] = ()
    excludes: tuple[str, ...] = ()
    runpaths: tuple[str, ...] = ()
    grafts: tuple[str, ...] = ()
    isa: int = 1
    unused_options: tuple[str, ...] = UNUSED_OPTIONS

    @property
    def rocm_major(self) -> int:
        """0 where no ROCm release is expected."""
        head = self.rocm.split(".", 1)[0]
        return int(head) if head.isdigit() else 0


#: Nothing expected: the rules that hold for every file.
NOTHING = Expectations()
