#!/usr/bin/env python3
"""Compares the layouts of `tests/support/matrix_layouts.py` with AMD's matrix instruction calculator, which says where elements lie.

    git clone https://github.com/ROCm/amd_matrix_instruction_calculator
    pip install tabulate
    .venv/bin/python ci/matrix_calculator.py amd_matrix_instruction_calculator/matrix_calculator.py

The calculator knows CDNA2, CDNA3, RDNA3 and RDNA4; layouts for gfx950 alone are left out, and said so.
Exit status: 0 all agree, 1 one does not, 2 wrong arguments.
"""

from __future__ import annotations

import argparse
import csv
import io
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

CI = Path(__file__).resolve().parent
sys.path[:1] = [str(CI.parent), str(CI.parent / "tests")]

from support.matrix_layouts import LAYOUTS, TYPE_BITS, MatrixLayout  # noqa: E402

ARCHITECTURES = {"gfx90a": "cdna2", "gfx942": "cdna3", "gfx1100": "rdna3", "gfx1201": "rdna4"}
_CELL = re.compile(r"v\[?(?:\d+:)?(\d+)\]?\{(\d+)\}(?:\.\[\d+:(\d+)\])?")
ElementPlace = tuple[int, int]
"""The lowest bit, counted from the operand's first register on, and the lane."""


def calculator_places(
    tool: Path, layout: MatrixLayout, architecture: str, matrix: str
) -> dict[tuple[int, int, int], set[ElementPlace]]:
    """By block, row and column of a matrix, where the calculator says that the element lies."""
    command = [sys.executable, str(tool), "-a", architecture, "-i", layout.text.split()[0], f"-{matrix}", "-R", "--csv"]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    places, block = {}, 0
    for line in csv.reader(io.StringIO(text)):
        if line and line[0].startswith("Block "):
            block = int(line[0].split()[1])
        if not line or not line[0].isdigit():
            continue
        for column, cell in enumerate(line[1:]):
            places[block, int(line[0]), column] = {
                (32 * int(n) + int(bit or 0), int(lane)) for n, lane, bit in _CELL.findall(cell)
            }
    return places


def layout_places(layout: MatrixLayout, matrix: str) -> Iterator[tuple[tuple[int, int, int], ElementPlace]]:
    """The same by a layout of the tests, one lane after the other."""
    for lane in range(layout.lanes):
        at = lane % layout.rows
        if matrix == "D":
            words = 2 if layout.result == "f64" else 1
            for r in range(layout.results):
                yield (layout.block(lane, r), layout.row(lane, r), at), (32 * words * r, lane)
            continue
        bits = TYPE_BITS[layout.forms[matrix == "B"]]
        for i in range(layout.values):
            k = layout.inner(lane, i)
            yield (layout.block(lane, -1), *((at, k) if matrix == "A" else (k, at))), (bits * i, lane)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("calculator", type=Path, help="the calculator's matrix_calculator.py")
    tool = parser.parse_args().calculator
    if not tool.is_file():
        parser.error(f"{tool} is not a file")
    differences = 0
    for layout in LAYOUTS:
        architecture = ARCHITECTURES.get(layout.targets[0])
        name = layout.text.split()[0]
        if architecture is None:
            print(f"not compared {name} {layout.targets[0]}")
            continue
        count = 0
        for matrix in ("A", "B", "D"):
            places = calculator_places(tool, layout, architecture, matrix)
            wrong = [key for key, place in layout_places(layout, matrix) if place not in places.get(key, set())]
            count += sum(len(each) for each in places.values())
            differences += len(wrong)
            if wrong:
                print(f"differs {name} {layout.targets[0]}: {matrix}{wrong[0]} and {len(wrong) - 1} more")
        print(f"compared {name} {layout.targets[0]}: {count} places")
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
