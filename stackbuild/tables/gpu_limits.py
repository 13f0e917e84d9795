"""The table of limits by GPU: what a workgroup may have, and how much a compute unit does in one clock."""

from __future__ import annotations

import difflib
import re
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from stackbuild.core.errors import UsageError
from stackbuild.tables import targets
from stackbuild.tables.gpu_names import targets_named

TABLE = Path(__file__).with_name("gpu_limits.toml")


@dataclass(frozen=True)
class GpuLimits:
    """The limits of one GPU. Units and sources of each number are in gpu_limits.toml."""

    target: str
    product: str
    units: int
    lds_bytes: int
    l2_bytes: int
    simds: int
    vgpr_bytes: int
    vgpr_granule: int
    waves_per_simd: int
    clock_ghz: float
    memory_gbps: float
    valu_flops: int
    matrix_flops: int
    sources: tuple[str, ...]

    @property
    def emulated(self) -> bool:
        """Whether the emulator knows its instructions."""
        return self.target in targets.INSTRUCTION_FAMILIES

    @property
    def wave(self) -> int:
        """The wavefront width that compilers default to."""
        return targets.TARGETS[self.target].wave

    @property
    def version(self) -> tuple[int, int]:
        """What HIP calls the compute capability: 9 and 0 of gfx90a, 11 and 0 of gfx1100."""
        number = re.sub(r"\D.*", "", self.target.removeprefix("gfx")[:-2])
        return int(number), int(self.target[-2], 16)

    @property
    def description(self) -> str:
        """The lines that the HIP stand-in reads (native/hip/device.c)."""
        major, minor = self.version
        rows = {
            "target": self.target, "target_id": targets.device_id(self.target), "wave": self.wave, "units": self.units, "major": major, "minor": minor,
            "lds_bytes": self.lds_bytes, "l2_bytes": self.l2_bytes, "workgroups_per_unit": self.waves_per_simd * self.simds,
            "threads_per_unit": self.waves_per_simd * self.simds * self.wave,
        }  # fmt: skip
        return "".join(f"{key} {value}\n" for key, value in rows.items())


@cache
def all_limits() -> dict[str, GpuLimits]:
    """The whole table, by target."""
    rows = tomllib.loads(TABLE.read_text("utf-8"))
    return {name: GpuLimits(target=name, **row | {"sources": tuple(row["sources"])}) for name, row in rows.items()}


@cache
def emulated_targets() -> tuple[str, ...]:
    """The targets that the emulator runs."""
    return tuple(name for name, row in all_limits().items() if row.emulated)


def emulated_instead(target: str) -> str:
    """The next step for a target that the emulator does not run: the one that a GPU's name means, or one of its family."""
    targets_of_name = [each.gfx for each in targets_named(target)]
    usable_targets = [gfx for gfx in targets_of_name if gfx in emulated_targets()]
    if usable_targets and not targets.is_known(target):
        products = " or ".join(f"`{gfx}`" for gfx in usable_targets)
        return f"write {products}: {target} is {' or '.join(usable_targets)}"
    family = [each for each in emulated_targets() if each[:5] == (targets_of_name or [target])[0][:5]]
    if targets_of_name:
        what = "" if targets.is_known(target) else f"{target} is {' or '.join(targets_of_name)}, which is not emulated; "
        return f"{what}emulated are {', '.join(family or emulated_targets())}"
    near = difflib.get_close_matches(target.lower(), emulated_targets(), 1, 0.8)
    return f"did you mean `{near[0]}`?" if near else f"emulated are {', '.join(emulated_targets())}"


def limits_of(target: str, where: str = "") -> GpuLimits:
    """The limits of a target that is emulated. Raises UsageError with the targets that are; `where` is the option's name."""
    limits = all_limits().get(targets.processor(target))
    if limits is None or not limits.emulated:
        reason = "is known, but not emulated" if targets.is_known(target) else "is not a target that is known"
        raise UsageError(f"{target} {reason}", where=where, next=emulated_instead(target))
    device = targets.device_id(target)
    if not targets.is_loadable(target, device):
        raise UsageError(f"{target} is not emulated: {limits.target} is emulated as {device}", where=where, next=f"name {limits.target}")
    return limits
