#!/usr/bin/env python3
"""Registers, scratch memory and spills of every kernel in built HIP libraries, against kernels/budgets.toml.

    python3 kernels/tools/resources.py out/stackbuild_kernels/libstackbuild_kernels_hip.so [LIBRARY…] [--targets gfx90a,gfx1100] [--table]

Reads the code objects' own metadata (with stackbuild's inspector: needs stackbuild and Python 3.11); runs nothing. Exit status: 0 all
inside, 1 a kernel over its budget, without one, with spills, with scratch memory or a stack of unknown size, one that only some targets
have, or a library without one of --targets; 2 a file that has no device code, or some that cannot be read or does not say how much its
kernels take, or no stackbuild to read it with.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

try:
    import tomllib

    from stackbuild.core.errors import Stop
    from stackbuild.inspection import inspect
except ModuleNotFoundError as missing:
    print(f"resources.py: {missing.name} cannot be imported: install stackbuild (Python 3.11 or newer), or set PYTHONPATH to its source", file=sys.stderr)
    sys.exit(2)

BUDGETS = tomllib.loads(Path(__file__).resolve().parents[1].joinpath("budgets.toml").read_text())


@dataclass(frozen=True)
class ResourceUse:
    symbol: str
    target: str
    wave: int
    vgprs: int
    spills: int
    sgpr_spills: int
    scratch: int
    dynamic_stack: bool

    @property
    def kernel(self) -> str:
        return short(self.symbol)

    def trouble(self) -> str | None:
        budget = BUDGETS.get(self.kernel, {})
        limit = budget.get(f"wave{self.wave}")
        where = f"{self.kernel} for {self.target} (wave{self.wave})"
        if limit is None:
            return f"{where}: no budget; write one down in budgets.toml"
        if self.spills or self.scratch:
            return f"{where}: {self.spills} spills, {self.scratch} bytes of scratch memory per lane"
        if self.dynamic_stack:
            return f"{where}: a stack whose size is not known before it runs, in scratch memory"
        if self.sgpr_spills > (spill_limit := budget.get("sgpr_spills", 0)):
            return f"{where}: {self.sgpr_spills} SGPRs spilled into lanes of VGPRs, allowed {spill_limit}"
        if self.vgprs > limit:
            return f"{where}: {self.vgprs} VGPRs, budget {limit}"
        return None


def short(name: str) -> str:
    """The kernel's own name in a mangled symbol: the last of its length-prefixed parts before the template's arguments."""
    rest, parts = name.removeprefix("_ZN"), []
    while usages := re.match(r"L?(\d+)", rest):
        start = usages.end()
        parts.append(rest[start : start + int(usages[1])])
        rest = rest[start + int(usages[1]) :]
    return parts[-1] if parts else name


class Unreadable(Exception):
    """Device code that is there, and cannot be judged."""


def uses(library: Path) -> list[ResourceUse]:
    """Every kernel of every target in the library. Raises Unreadable where some of its device code is not understood."""
    facts = inspect(library)
    objects = [code for device in facts.device for code in device.objects]
    troubles = [problem.what for problem in facts.problems]
    troubles += [problem for device in facts.device for bundle in device.bundles for problem in bundle.problems]
    troubles += [f"a code object for {code.target} names no kernel" for code in objects if not code.kernels]
    troubles += [f"a kernel for {code.target} does not say its {', '.join(code.unsaid)}" for code in objects if code.unsaid]
    if troubles:
        raise Unreadable("; ".join(sorted(set(troubles))))
    if not objects:
        raise Unreadable("no device code")
    return [
        ResourceUse(k.name, code.target, k.wave, k.vgprs, k.vgpr_spills, k.sgpr_spills, k.scratch, k.dynamic_stack) for code in objects for k in code.kernels
    ]


def uneven(usages: Iterable[ResourceUse]) -> list[str]:
    """The kernels that some targets have and others lack: the launchers, which are the same for all, would not find them there."""
    by_target: dict[str, set[str]] = defaultdict(set)
    for use in usages:
        by_target[use.target].add(use.symbol)
    every = set().union(*by_target.values())
    return [
        f"{target}: {len(missing)} kernels that other targets have are missing, {short(min(missing))} for one"
        for target, symbols in by_target.items()
        if (missing := every - symbols)
    ]


def lacking(usages: Iterable[ResourceUse], targets: Iterable[str]) -> list[str]:
    """The targets that are asked for and have no kernel."""
    there = {use.target for use in usages}
    return [f"no kernel for {target}" for target in targets if target not in there]


def table(usages: Iterable[ResourceUse]) -> str:
    """The most registers any instance of a kernel takes, per target."""
    most: dict[str, dict[str, int]] = defaultdict(dict)
    for use in usages:
        row = most[use.kernel]
        row[use.target] = max(row.get(use.target, 0), use.vgprs)
    targets = sorted({t for row in most.values() for t in row}, key=lambda t: (len(t), t))
    lines = ["| kernel | " + " | ".join(targets) + " |", "|---" * (len(targets) + 1) + "|"]
    lines += [f"| `{k}` | " + " | ".join(str(row.get(t, "")) for t in targets) + " |" for k, row in sorted(most.items())]
    return "\n".join(lines)


def waves(usages: Iterable[ResourceUse]) -> str:
    """The targets, by the width of their waves."""
    by_width: dict[int, set[str]] = defaultdict(set)
    for use in usages:
        by_width[use.wave].add(use.target)
    return "; ".join(f"wave{width}: {', '.join(sorted(targets))}" for width, targets in sorted(by_width.items()))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("libraries", metavar="LIBRARY", type=Path, nargs="+")
    parser.add_argument("--targets", default="", help="comma-separated: each library must have kernels for all of these")
    parser.add_argument("--table", action="store_true", help="print the registers of each kernel and target")
    args = parser.parse_args()
    usages: list[ResourceUse] = []
    troubles: set[str] = set()
    for library in args.libraries:
        try:
            inside = uses(library)
        except (Stop, Unreadable) as stop:
            print(f"resources.py: {library}: {stop}", file=sys.stderr)
            return 2
        usages += inside
        troubles.update(f"{library.name}: {trouble}" for trouble in (*uneven(inside), *lacking(inside, filter(None, args.targets.split(",")))))
    if args.table:
        print(table(usages))
    troubles |= {t for use in usages if (t := use.trouble())}
    for trouble in sorted(troubles):
        print("OVER " + trouble)
    print(f"{len(usages)} kernels ({waves(usages)}), {len(troubles)} over budget")
    return 1 if troubles else 0


if __name__ == "__main__":
    sys.exit(main())
