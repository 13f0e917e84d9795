#!/usr/bin/env python3
"""Counts the instructions of strangers' GPU libraries that the emulator does not run.

    pip download --no-deps -d wheels onnxruntime-rocm
    unzip -d unpacked wheels/onnxruntime_rocm-*.whl
    .venv/bin/python ci/unknown_instructions.py gfx942 unpacked/onnxruntime/capi/libonnxruntime_providers_rocm.so

FILE is a library with bundles of code objects, compressed or not, or a code object. All that a kernel can reach is read. A line is
one cause: how many kernels have it, how often it occurs, and what the emulator says. Exit status: 0; 2 wrong arguments.
"""

from __future__ import annotations

import argparse
import mmap
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

CI = Path(__file__).resolve().parent
sys.path[:1] = [str(CI.parent)]

from stackbuild.core.errors import Stop  # noqa: E402
from stackbuild.emulator.body import unknown_instructions  # noqa: E402
from stackbuild.emulator.code_object import load  # noqa: E402
from stackbuild.emulator.code_objects import code_object_for  # noqa: E402
from stackbuild.emulator.control_flow import KernelCode  # noqa: E402
from stackbuild.emulator.encodings import target_tables  # noqa: E402
from stackbuild.emulator.function_table import FunctionTable  # noqa: E402
from stackbuild.inspection.readers.byte_parser import MalformedError  # noqa: E402

_START = re.compile(rb"__CLANG_OFFLOAD_BUNDLE__|CCOB")


def code_objects(path: Path, target: str) -> Iterator[bytes]:
    """The code objects for a target in a file."""
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        if path.suffix in (".co", ".hsaco"):
            yield code_object_for(target, data)
            return
        for match in _START.finditer(data):
            try:
                yield code_object_for(target, data[match.start() :])
            except MalformedError:  # a bundle without this target, or four bytes of chance
                continue


class InstructionCensus:
    """What was read, and what of it is not known."""

    def __init__(self, target: str, step: int) -> None:
        self.step, self.total = step, 0
        self.tables = target_tables(target)
        self.function_tables = {lanes: FunctionTable(lanes, "") for lanes in (32, 64)}
        self.kernels = self.refusals = self.instructions = 0
        self.kernels_by_cause, self.uses_by_cause = Counter[str](), Counter[str]()

    def read(self, code_object: bytes) -> None:
        """Count a code object's kernels."""
        image = load(code_object)
        pointers = dict(image.relocations)
        for kernel in image.kernels:
            self.total += 1
            if (self.total - 1) % self.step:
                continue
            code = KernelCode(
                image.image, self.tables, kernel.descriptor.entry, kernel.code_end, image.code, pointers
            )  # fmt: skip
            self.kernels += 1
            try:
                causes, count = unknown_instructions(code, kernel.lanes, self.function_tables[kernel.lanes])
            except Stop as stop:
                causes, count = Counter({stop.what.partition(" at ")[0]: 1}), 0
            self.instructions += count
            self.refusals += bool(causes)
            self.kernels_by_cause.update(causes.keys())
            self.uses_by_cause.update(causes)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("target")
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--every", type=int, default=1, metavar="N", help="read each Nth kernel alone")
    options = parser.parse_args()
    census = InstructionCensus(options.target, options.every)
    for path in options.files:
        for code_object in code_objects(path, options.target):
            census.read(code_object)
    print(
        f"{options.target}: {census.kernels} of {census.total} kernels, {census.instructions} instructions, {census.refusals} kernels refused"
    )
    for cause, kernels in census.kernels_by_cause.most_common():
        print(f"{kernels:8} kernels {census.uses_by_cause[cause]:9} times  {cause}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
