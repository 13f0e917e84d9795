"""Source lines of instructions, from a code object's line table."""

from __future__ import annotations

import random

import pytest

pytest.importorskip("tinygrad")

from stackbuild.emulator.code_object import load
from stackbuild.emulator.control_flow import KernelCode, reached_code
from stackbuild.emulator.decoder import Instruction
from stackbuild.emulator.encodings import target_tables
from stackbuild.emulator.source_lines import SourceLines
from stackbuild.inspection.readers.byte_parser import MalformedError
from stackbuild.inspection.readers.elf import line_rows
from support.line_table_object import CODE, SOURCE


@pytest.fixture
def instructions() -> dict[int, Instruction]:
    """The kernel's instructions by their offset from its first."""
    loaded = load(CODE)
    (kernel,) = loaded.kernels
    code = KernelCode(loaded.image, target_tables("gfx1100"), kernel.descriptor.entry, kernel.code_end)
    return {at - kernel.descriptor.entry: inst for at, inst in reached_code(code).instructions.items()}


def test_an_instruction_has_the_line_that_it_was_compiled_from(instructions: dict[int, Instruction]) -> None:
    lines = SourceLines(CODE)
    read = next(pc for pc, inst in instructions.items() if inst.name == "global_load_b32")
    store = next(pc for pc, inst in instructions.items() if inst.name == "global_store_b32")
    text = SOURCE.splitlines()
    said = [lines.of("beyond", pc) for pc in (read, store)]
    assert [text[int(line.removeprefix("lines.hip:")) - 1].strip() for line in said] == [
        "float twice = values[i] * 2.0f;",
        "values[i] = twice;",
    ]


def test_what_the_table_does_not_know_has_no_line() -> None:
    lines = SourceLines(CODE)
    assert lines.of("another", 0) == ""
    assert lines.of("beyond", 1 << 40) == ""


def test_a_damaged_table_is_read_or_one_error() -> None:
    draw = random.Random(22)
    outcomes: set[bool | None] = set()
    for _ in range(200):
        data = bytearray(CODE)
        for _ in range(draw.randint(1, 8)):
            data[draw.randrange(0xBF0, 0xEB0)] = draw.randrange(256)
        try:
            outcomes.add(bool(line_rows(bytes(data))))
        except MalformedError:
            outcomes.add(None)
    assert {True, None} <= outcomes


def test_a_table_that_lies_takes_the_line_and_not_the_finding() -> None:
    data = bytearray(CODE)
    data[0xDD8:0xDF8] = b"\xff" * 32
    assert SourceLines(bytes(data)).of("beyond", 112) == ""
