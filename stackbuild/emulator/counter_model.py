"""Counters of emulated kernels checked against the limits of a GPU: which limit binds, and budgets. Never a time.

A limit is how many clocks one compute unit needs at least for one kind of work, if nothing else held it up. Counters are
sums over all dispatches of a kernel; clocks are those of a GPU with one compute unit.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import zip_longest

from stackbuild.emulator.counts import CLASSES
from stackbuild.emulator.service import EmulatorReport
from stackbuild.tables.gpu_limits import GpuLimits

COUNTERS = (
    "waves", "instructions", "lane_operations", *CLASSES, "global_bytes", "global_segments", "flat_to_lds", "flat_to_global",
    "lds_cycles", "lds_conflicts",
)  # fmt: skip
"""The counters of a dispatch, in the order of `emulator_counters` in native/emulator.h."""

BUDGET_KEYS = ("dispatches", "instructions", "flat")
"""What a budget limits: how often a kernel ran, and two of its counters."""
SEGMENT = 64
"""Bytes of one counted segment of global memory."""
_MATRIX_FLOPS = 2 * 16 * 16 * 16
"""Operations of v_wmma_f32_16x16x16_f16 and v_mfma_f32_16x16x16_f16; a float32 one of CDNA has a quarter of them at an eighth
of the rate, so that its clocks are counted too low."""
_DIGITS = re.compile("[0-9a-f]*")
SLACK = 0.05
"""The share by which a kernel may exceed its budget of instructions."""


@dataclass(frozen=True)
class EmulatedCounters:
    """The sums of one kernel: `counters` as emulator.h names them; registers are counts per lane, `lds` bytes of a workgroup.

    `blocks` has an entry for each basic block of the kernel, in the order of the code: whether it ran in any dispatch.
    """

    kernel: str
    dispatches: int
    wave: int
    vgprs: int
    sgprs: int
    lds: int
    scratch: int
    workgroup: int
    counters: Mapping[str, int]
    blocks: tuple[bool, ...] = ()

    @property
    def short(self) -> str:
        """The kernel's own name and its template arguments as they are mangled."""
        rest, last, after = self.kernel.removeprefix("_ZN"), self.kernel, ""
        while match := re.match(r"L?(\d+)", rest):
            end = match.end() + int(match[1])
            last, rest = rest[match.end() : end], rest[end:]
            after = rest
        arguments = re.match(r"I(\w*?)E+v", after)
        return f"{last}<{arguments[1]}>" if arguments else last


@dataclass(frozen=True)
class KernelModel:
    """What binds a kernel on one GPU: clocks of a compute unit by limit, and the waves that a SIMD can hold of it.

    `waves` is a whole number from 1 on. Below 1 it is the share of a unit's SIMDs that have a wave at all.
    """

    clocks: Mapping[str, float]
    waves: float

    @property
    def binding(self) -> str:
        """The limit that needs the most clocks."""
        return max(self.clocks, key=lambda name: self.clocks[name])


def sum_by_kernel(reports: Iterable[EmulatorReport]) -> tuple[EmulatedCounters, ...]:
    """The reported dispatches, one row a kernel, those with the most instructions first. What cannot be read is left out."""
    rows: dict[str, list[tuple[list[int], list[int], list[int]]]] = {}
    blocks: dict[str, tuple[bool, ...]] = {}
    for report in reports:
        fields = report.fields
        numbers = [_numbers(fields.get(name, "")) for name in ("counters", "resources", "shape")]
        if report.kind == "dispatch" and list(map(len, numbers)) == [len(COUNTERS), 5, 7]:
            kernel = fields.get("kernel", "")
            rows.setdefault(kernel, []).append((numbers[0], numbers[1], numbers[2]))
            ran = _blocks(fields.get("blocks", ""))
            blocks[kernel] = tuple(a or b for a, b in zip_longest(ran, blocks.get(kernel, ()), fillvalue=False))
    totals = (replace(_sum(kernel, dispatches), blocks=blocks[kernel]) for kernel, dispatches in rows.items())
    return tuple(sorted(totals, key=lambda row: (-row.counters["instructions"], row.kernel)))


def _sum(kernel: str, dispatches: list[tuple[list[int], list[int], list[int]]]) -> EmulatedCounters:
    totals = [sum(column) for column in zip(*(counters for counters, _, _ in dispatches), strict=True)]
    wave, vgprs, sgprs, _, scratch = dispatches[0][1]
    lds = max(resources[3] for _, resources, _ in dispatches)
    workgroup = max(shape[3] * shape[4] * shape[5] for _, _, shape in dispatches)
    counters = dict(zip(COUNTERS, totals, strict=True))
    return EmulatedCounters(kernel, len(dispatches), wave, vgprs, sgprs, lds, scratch, workgroup, counters)


def _blocks(text: str) -> tuple[bool, ...]:
    """Which blocks ran, of their number and of hexadecimal digits, the first block in the highest bit: "6,fc"."""
    count, _, digits = text.partition(",")
    if not count.isdigit() or not _DIGITS.fullmatch(digits):
        return ()
    return tuple(bit == "1" for bit in "".join(f"{int(digit, 16):04b}" for digit in digits)[: int(count)])


def _numbers(text: str) -> list[int]:
    return [int(part) for part in text.split(",") if part.isdigit()]


def model(row: EmulatedCounters, limits: GpuLimits) -> KernelModel:
    """The clocks that each limit asks of one compute unit, and the waves of a SIMD."""
    count = row.counters
    bytes_a_clock = limits.memory_gbps / (limits.clock_ghz * limits.units)
    clocks = {
        "vector": count["valu"] * row.wave / 64,  # each unit has 64 lanes: 4 SIMDs of 16, or 2 of 32
        "scalar": (count["salu"] + count["branch"] + count["smem"]) / limits.simds,
        "LDS": float(count["lds_cycles"]),
        "memory": count["global_segments"] * SEGMENT / bytes_a_clock,
    }
    if limits.matrix_flops:
        clocks["matrix"] = count["matrix"] * _MATRIX_FLOPS / limits.matrix_flops
    return KernelModel(clocks, occupancy(row, limits))


def occupancy(row: EmulatedCounters, limits: GpuLimits) -> float:
    """The waves of a kernel that one SIMD can hold: by vector registers, by LDS, and by the SIMD's own limit.

    Where LDS lets in fewer waves than a compute unit has SIMDs, it is their share, such as 0.5.
    """
    lanes = limits.vgpr_bytes // (4 * limits.simds * row.wave)
    granule = limits.vgpr_granule
    by_registers = lanes // (-(-max(row.vgprs, 1) // granule) * granule)
    waves_a_group = -(-row.workgroup // row.wave)
    groups = limits.lds_bytes // row.lds if row.lds else 1 << 20
    by_lds = groups * waves_a_group / limits.simds
    least = min(limits.waves_per_simd, by_registers, by_lds)
    return least if least < 1 else int(least)


Budgets = Mapping[str, Mapping[str, int]]
"""Kernel to its budget: `dispatches`, `instructions` and `flat`, each of all cases together."""


def budgets_of(rows: Iterable[EmulatedCounters]) -> dict[str, dict[str, int]]:
    """What the counters are now, as budgets."""
    return {
        row.kernel: {name: row.dispatches if name == "dispatches" else row.counters[name] for name in BUDGET_KEYS}
        for row in sorted(rows, key=lambda row: row.kernel)
    }


def over_budget(rows: Iterable[EmulatedCounters], budgets: Budgets) -> tuple[str, ...]:
    """In what the counters exceed their budgets, a sentence each: 5 % more instructions, one FLAT access, one dispatch."""
    rows = tuple(rows)
    sentences = [sentence for row in rows for sentence in _over(row, budgets.get(row.kernel))]
    absent = sorted(budgets.keys() - {row.kernel for row in rows})
    return (*sentences, *(f"{name} has a budget and was not launched" for name in absent))


def _over(row: EmulatedCounters, budget: Mapping[str, int] | None) -> Iterable[str]:
    if budget is None:
        yield f"{row.short} ({row.kernel}) has no budget"
        return
    instructions, flat = row.counters["instructions"], row.counters["flat"]
    if row.dispatches > budget["dispatches"]:
        yield f"{row.short}: {row.dispatches} dispatches, budget {budget['dispatches']}"
    if instructions > budget["instructions"] * (1 + SLACK):
        more = instructions / max(budget["instructions"], 1) - 1
        yield f"{row.short}: {instructions:,} instructions, {more:.1%} over the budget of {budget['instructions']:,}"
    if flat > budget["flat"]:
        yield f"{row.short}: {flat:,} FLAT accesses, budget {budget['flat']:,}"
