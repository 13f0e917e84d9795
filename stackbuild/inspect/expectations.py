"""What is expected of a file beyond what holds for every file: what a recipe says, as values that rules judge by."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Expectations:
    """Each field left at its default expects nothing.

    `gfx`: the target IDs, exactly these. `kernels_floor`: least number of non-empty kernels for each of them.
    `providers`: execution providers that must be there. `version`: the wheel's version; `commit`: the ONNX Runtime commit
    its build information must name. `size_budget`: bytes of the file. `rocm`: the ROCm release it is for, "6.4" or "7.2.4".
    `external`: sonames the user's machine provides; `excludes`: patterns that the repair step was told to leave out, each of
    which must have met a needed library. `runpaths`: absolute RUNPATH elements that are meant. `isa`: the x86-64 level (1 to
    4) that machines are promised to be enough. `unused_options`: CMake options that may go unused.
    """

    gfx: tuple[str, ...] = ()
    kernels_floor: int = 0
    providers: tuple[str, ...] = ()
    version: str = ""
    commit: str = ""
    size_budget: int = 0
    rocm: str = ""
    external: tuple[str, ...] = ()
    excludes: tuple[str, ...] = ()
    runpaths: tuple[str, ...] = ()
    grafts: tuple[str, ...] = ()
    isa: int = 1
    # onnxruntime's own build.py passes these to builds that do not read them (microsoft/onnxruntime#11719).
    unused_options: tuple[str, ...] = ("onnxruntime_MIGRAPHX_HOME", "onnxruntime_ROCM_HOME", "onnxruntime_ROCM_VERSION")

    @property
    def rocm_major(self) -> int:
        """0 where no ROCm release is expected."""
        head = self.rocm.split(".", 1)[0]
        return int(head) if head.isdigit() else 0


#: Nothing expected: the rules that hold for every file.
NOTHING = Expectations()
