"""Draws errors and warnings of converted trees by lot, each with its source, to be read by eye.

    python tests/integration/hipify/draw_findings.py --seed 1906 --most 12 TREE…

Each TREE is converted for --target-rocm and nothing is written. Of each at most --most findings are taken, so that a
large tree does not speak for all. The counts of errors, warnings and notes of each tree come first.
"""

from __future__ import annotations

import argparse
import random
from pathlib import Path

from stackbuild.hipify import SourceSelection, Target, open_engine
from stackbuild.hipify.tree.preview import preview
from stackbuild.model.findings import Finding, Severity

NOWHERE = Path("/nonexistent/out")
ABOVE, BELOW = 4, 2
"""So many lines are shown before and after a finding's own."""


def findings_of(tree: Path, rocm: str) -> list[Finding]:
    """All findings of a tree."""
    return list(preview(SourceSelection((tree,), NOWHERE), open_engine(target=Target(rocm=rocm))).report.findings)


def show(number: int, tree: Path, finding: Finding) -> None:
    """Print a finding and the lines around it."""
    line = finding.place.line if finding.place else 0
    print(f"\n#{number} {tree.name} {finding.severity} {finding.rule} {finding.subject}:{line}: {finding.found}")
    path = tree / finding.subject
    if line and path.is_file():
        lines = path.read_text("utf-8", "replace").split("\n")
        for at in range(max(1, line - ABOVE), min(len(lines), line + BELOW) + 1):
            print(f"  {'>' if at == line else ' '}{at}: {lines[at - 1].strip()[:140]}")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("trees", type=Path, nargs="+")
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--most", type=int, default=12)
    parser.add_argument("--target-rocm", default="6.4")
    args = parser.parse_args()
    lot = random.Random(args.seed)
    drawn: list[tuple[Path, Finding]] = []
    for tree in sorted(args.trees):
        findings = findings_of(tree, args.target_rocm)
        counts = {severity.value: sum(f.severity is severity for f in findings) for severity in Severity}
        grave = [finding for finding in findings if finding.severity is not Severity.NOTE]
        print(f"{tree.name}: {counts}", flush=True)
        drawn += [(tree, finding) for finding in lot.sample(grave, min(args.most, len(grave)))]
    for number, (tree, finding) in enumerate(drawn, 1):
        show(number, tree, finding)


if __name__ == "__main__":
    main()
