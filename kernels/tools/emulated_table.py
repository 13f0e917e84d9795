#!/usr/bin/env python3
"""Which limit of which GPU binds each kernel, as a table of Markdown: kernel by target.

    stackbuild bench kernels WHEEL --emulated gfx942 --json > gfx942.json
    python3 kernels/tools/emulated_table.py gfx942.json gfx1100.json

Reads what `bench kernels --emulated TARGET --json` printed, a file a target. A row sums all instances of a kernel for one element type.
A cell names the limit that needs the most clocks of a compute unit, then the waves that a SIMD holds of the instance with the fewest
(0.5: half of a unit's SIMDs have none), then `c` with the share of LDS clocks that bank conflicts take, and `m` with the clocks of matrix instructions as a share of the limit's.
Both are left out below 10 %. Exit status: 0, or 2 for a file that has no such counts.
"""

from __future__ import annotations

import json
import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

SCHEMA = "stackbuild.emulated-counters/1"
SMALLEST_SHARE = 0.1
"""Shares below this one are left out of a cell."""


@dataclass
class Sums:
    """The sums of a kernel's instances on one target: clocks by limit, LDS clocks, and of those the conflicts'."""

    clocks: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    lds: int = 0
    conflicts: int = 0
    flat: int = 0
    waves: float = float("inf")

    def add(self, row: dict[str, dict[str, object]]) -> None:
        """Add one instance, a row of the file's `kernels`."""
        for limit, clocks in row["model"]["clocks"].items():
            self.clocks[limit] += clocks
        counts = row["counters"]["counters"]
        self.lds += counts["lds_cycles"]
        self.conflicts += counts["lds_conflicts"]
        self.flat += counts["flat"]
        self.waves = min(self.waves, row["model"]["waves"])

    def __str__(self) -> str:
        binding = max(self.clocks, key=lambda limit: self.clocks[limit])
        words = [binding, f"{self.waves:g}"]
        if self.conflicts >= SMALLEST_SHARE * max(self.lds, 1):
            words.append(f"c {self.conflicts / self.lds:.0%}")
        if self.clocks.get("matrix", 0) >= SMALLEST_SHARE * self.clocks[binding] and binding != "matrix":
            words.append(f"m {self.clocks['matrix'] / self.clocks[binding]:.0%}")
        if self.flat:
            words.append(f"FLAT {self.flat}")
        return ", ".join(words)


def kernel_of(symbol: str) -> str:
    """A kernel's own name and element type, of its mangled name: `conv_gemm float16`."""
    rest, name = symbol.removeprefix("_ZN"), symbol
    while match := re.match(r"L?(\d+)", rest):
        end = match.end() + int(match[1])
        name, rest = rest[match.end() : end], rest[end:]
    kind = re.match(r"IN?(?:\w*?Shape)?I?(6__half|f)", rest)
    return f"{name} {'float16' if kind[1] == '6__half' else 'float32'}" if kind else name


def sums_of(text: str) -> tuple[str, dict[str, Sums]]:
    """A file's target and the sums by kernel. Raises ValueError where the text is not of `bench kernels --emulated --json`."""
    counts = json.loads(text)
    if not isinstance(counts, dict) or counts.get("schema") != SCHEMA:
        raise ValueError(f"it is not of {SCHEMA}")
    sums: dict[str, Sums] = defaultdict(Sums)
    for row in counts["kernels"]:
        sums[kernel_of(row["counters"]["kernel"])].add(row)
    return counts["target"], dict(sums)


def table(columns: Iterable[tuple[str, dict[str, Sums]]]) -> str:
    """The table, a line a kernel, in the order of their names. A kernel that a target does not launch has an empty cell."""
    columns = list(columns)
    lines = [["kernel", *(target for target, _ in columns)], ["---"] * (len(columns) + 1)]
    names = sorted({name for _, sums in columns for name in sums})
    lines += [[f"`{name}`", *(str(sums[name]) if name in sums else "" for _, sums in columns)] for name in names]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def main(words: Sequence[str]) -> int:
    if not words or words[0].startswith("-"):
        print(__doc__, file=sys.stderr if words[:1] != ["--help"] else sys.stdout)
        return 0 if words[:1] == ["--help"] else 2
    columns = []
    for word in words:
        try:
            columns.append(sums_of(Path(word).read_text("utf-8")))
        except (OSError, ValueError, KeyError) as wrong:
            print(f"emulated_table.py: {word}: {wrong}; `stackbuild bench kernels WHEEL --emulated TARGET --json` writes one", file=sys.stderr)
            return 2
    print(table(columns), end="")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
