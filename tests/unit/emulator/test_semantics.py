from __future__ import annotations

import pytest

pytest.importorskip("tinygrad")

from stackbuild.emulator.corrections import code_of
from stackbuild.emulator.encodings import family, target_tables
from stackbuild.emulator.pseudocode import PseudocodeError, parse
from stackbuild.emulator.semantics import semantics
from support.python_semantics import run_semantics

WIDTHS = (32, 32, 32, 32)


def run(code: str, **registers: int) -> int:
    return int(run_semantics(semantics(code, 32, WIDTHS), {"D0": 0, **registers})["D0"])


def test_slices_joins_and_loops() -> None:
    assert run("D0.u32 = { S0[7 : 0], S0[15 : 8] }", S0=0xABCD) == 0xCDAB
    assert (
        run("tmp = 0U;\nfor i in 0 : 31 do\ntmp += S0.u32[i] == 1'1U ? 1U : 0U\nendfor;\nD0.u32 = tmp", S0=0xF00F) == 8
    )
    assert run("D0.u32[31 : 0] = S0.u32[0 : 31]", S0=1) == 0x80000000
    assert (
        run(
            "ABSDIFF = lambda(x, y) (\nx > y ? x - y : y - x);\nD0.u32 = 32'U(ABSDIFF(S0.u32[7 : 0], S1.u32[7 : 0]))",
            S0=3,
            S1=250,
        )
        == 247
    )


def test_a_break_ends_its_loop() -> None:
    code = (
        "tmp = -1;\nfor i in 0 : 31 do\nif S0.u32[31 - i] == 1'1U then\ntmp = i;\nbreak\nendif\nendfor;\nD0.i32 = tmp"
    )
    assert run(code, S0=0x00100000) == 11
    assert run(code, S0=0) == 0xFFFFFFFF


def test_integers_wrap_and_shifts_beyond_the_width_give_zero() -> None:
    assert run("D0.u32 = S0.u32 + S1.u32", S0=0xFFFFFFFF, S1=2) == 1
    assert run("D0.u32 = S0.u32 << S1.u32", S0=1, S1=32) == 0


@pytest.mark.parametrize("text", ["D0.u32 = S0.u32 $ 1", "if S0.u32 then D0.u32 = 1", "D0.u32 = unheard_of(S0.u32)"])
def test_what_is_not_understood_is_an_error(text: str) -> None:
    with pytest.raises(PseudocodeError):
        semantics(text, 32, WIDTHS)


@pytest.mark.parametrize(("name", "least"), [("rdna3", 1000), ("rdna4", 900), ("cdna", 900)])
def test_most_of_the_shipped_pseudocode_is_understood(name: str, least: int) -> None:
    understood = 0
    for format in family(name).variants.values():
        if format.variant or not format.name.startswith(("VOP", "SOP")):
            continue
        for operation in format.operations.values():
            if not operation.code:
                continue
            try:
                semantics(
                    code_of(operation.name, operation.code),
                    64 if name == "cdna" else 32,
                    (64, 64, 64, 64),
                    {"OPSEL": 0, "OPSEL_HI": 0},
                )
                understood += 1
            except PseudocodeError:
                pass
    assert understood >= least


def test_corrections_are_pseudocode() -> None:
    from stackbuild.emulator.corrections import CODE

    for code in CODE.values():
        parse(code)


@pytest.mark.parametrize("target", ["gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201"])
def test_long_encodings_do_what_the_short_ones_of_their_name_do(target: str) -> None:
    """CDNA's table has no text for 50 of them: a conversion with a sign or an absolute value once did nothing, in silence."""
    texts: dict[str, set[str]] = {}
    for (name, _), format in target_tables(target).variants.items():
        if name in ("VOP1", "VOP2", "VOP3"):
            for operation in format.operations.values():
                texts.setdefault(operation.name, set()).add(code_of(operation.name, operation.code))
    assert {name for name, each in texts.items() if "" in each and len(each) > 1} == set()
    silent = {name for name, each in texts.items() if each == {""}}
    assert silent <= {"v_nop", "v_swap_b32", "v_clrexcp", "v_pipeflush", "v_screen_partition_4se_b32"}
