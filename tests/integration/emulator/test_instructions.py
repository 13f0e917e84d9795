"""Every instruction of the shipped code objects beside what AMD's ISA guides say that it does, written out by hand.

The translator by the machine's C compiler runs all rows, the interpreter those of the ALU.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("tinygrad")

from stackbuild.emulator.body import kernel_body
from stackbuild.emulator.control_flow import KernelCode
from stackbuild.emulator.encodings import family_name, target_tables
from stackbuild.emulator.function_table import FunctionTable
from stackbuild.emulator.listing import text_of
from stackbuild.emulator.operands import UnknownInstruction
from support.instruction_codes import TARGETS, assembly
from support.instruction_machine import RowMachine, codes, instructions_of, interpreted, machine, rows_of
from support.instruction_rows import COMPARISONS, DUAL, FLOAT, LANES, SCALAR, VECTOR, InstructionRow
from support.instruction_trial import compile_sequences
from support.llvm import DECODED, comparable
from support.matrix_layouts import LAYOUTS, MatrixLayout, operands, results

QUICK = ("gfx942", "gfx1100")
EACH = [pytest.param(target, marks=() if target in QUICK else pytest.mark.slow) for target in TARGETS]
ELSEWHERE = {"s_barrier", "s_barrier_signal", "s_barrier_wait", "s_code_end"}
"""What one wave alone does not show: test_sanitizer.py and test_translator.py have dispatches of them."""
NOT_INTERPRETED = {"v_swap_b32", "s_getreg_b32", "s_setreg_b32", "s_setreg_imm32_b32"}


@pytest.fixture(scope="module")
def machine_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], RowMachine]:
    made: dict[str, RowMachine] = {}

    def machine_for(target: str) -> RowMachine:
        if target not in made:
            made[target] = machine(target, tmp_path_factory.mktemp("rows"))
        return made[target]

    return machine_for


def operations(text: str) -> set[str]:
    """The operations of a text, as LLVM names them, without suffixes."""
    parts = [part for line in text.split("; ") for part in line.split(" :: ")]
    return {comparable(part).split()[0] for part in parts}


def untested(target: str) -> set[str]:
    """Operations of the shipped code objects for targets of this family that no row tests."""
    rows = [line.split("\t") for line in DECODED.read_text().splitlines()]
    shipped = {
        name for other, _, text in rows if family_name(other) == family_name(target) for name in operations(text)
    }
    known = [key for key in codes() if family_name(key[0]) == family_name(target)]
    return shipped - {name for _, text in known for name in operations(text)}


@pytest.mark.parametrize("target", ["gfx90a", "gfx1100", "gfx1201"])
def test_every_operation_that_is_shipped_has_an_expectation(target: str) -> None:
    assert untested(target) - ELSEWHERE == set()


@pytest.mark.parametrize("target", EACH)
def test_translated_instructions_do_what_the_guide_says(target: str, machine_of: Callable[[str], RowMachine]) -> None:
    run = machine_of(target)
    assert len(run.rows) > 700
    wrong = {f"{row.text} | {row.given}": said for i, row in enumerate(run.rows) if (said := run.run(i))}
    assert wrong == {}


def test_rdna_permutes_within_each_half_of_64_lanes(tmp_path: Path) -> None:
    """AMD's pseudocode takes the lane modulo 32 "regardless of wave size"."""
    some = [row for row in LANES if row.text.startswith("ds_") and "permute" in row.text and row.only == "gfx1"]
    assert len(some) == 2
    run = machine("gfx1100", tmp_path, some, lanes=64)
    assert [run.run(i) for i in range(len(some))] == [[], []]


@pytest.mark.parametrize("target", EACH)
def test_interpreted_instructions_do_what_the_guide_says(target: str) -> None:
    known, wrong, lacking = rows_of(target), dict[str, list[str]](), set[str]()
    alu: list[InstructionRow] = [row for row in (*SCALAR, *VECTOR, *FLOAT, *COMPARISONS, *DUAL) if row in known]
    for row in alu:
        try:
            if said := interpreted(target, row):
                wrong[row.text] = said
        except UnknownInstruction:
            lacking |= operations(row.text)
    assert wrong == {}
    assert lacking <= NOT_INTERPRETED


def test_a_row_that_is_wrong_is_seen(machine_of: Callable[[str], RowMachine]) -> None:
    run = machine_of("gfx942")
    at = next(i for i, row in enumerate(run.rows) if row.text.startswith("v_add_f32 "))
    run.rows[at] = run.rows[at]._replace(gives="v2=4.0")
    assert run.run(at) == ["v2 is 0x40400000, not 0x40800000"]


@pytest.mark.parametrize("target", TARGETS)
def test_codes_are_what_the_rows_say(target: str) -> None:
    """Each word has the operands of its row's text. Names are not compared: an assembler takes older ones too."""
    for text in {row.text for row in rows_of(target)}:
        found = [comparable(text_of(inst)).partition(" ")[2] for inst in instructions_of(target, text)]
        assert found == [comparable(line).partition(" ")[2] for line in assembly(text, target).split("; ")], text


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: f"{layout.text} {layout.targets[0]}")
def test_matrix_instructions_place_elements_as_the_guide_says(layout: MatrixLayout, tmp_path: Path) -> None:
    target = layout.targets[0]
    code = bytes.fromhex(codes()[target, layout.text]) + {"gfx9": b"\0\0\x81\xbf"}.get(target[:4], b"\0\0\xb0\xbf")
    table = FunctionTable(layout.lanes, f"matrix {target}")
    body = kernel_body(KernelCode(code, target_tables(target), 0, len(code)),
        layout.lanes,
        table,
        symbol="sequence_0",
        counters=False,
        sanitize=False,
    )
    library = compile_sequences(tmp_path, table, ["\n".join(body.lines)], layout.lanes, "matrix")
    given = [word for row in operands(layout) for word in row]
    vectors = (ctypes.c_uint32 * (544 * layout.lanes))(*given)
    scalars, flag = (ctypes.c_uint32 * 128)(), ctypes.c_uint32(0)
    scalars[126], scalars[127] = 0xFFFFFFFF, 0xFFFFFFFF
    library.trial(library.sequence_0, vectors, scalars, ctypes.byref(flag), None, 0)
    words = 2 if layout.result == "f64" else 1
    found = [
        [
            sum(vectors[(16 + r * words + word) * layout.lanes + lane] << 32 * word for word in range(words))
            for lane in range(layout.lanes)
        ]
        for r in range(layout.results)
    ]
    assert found == results(layout)
