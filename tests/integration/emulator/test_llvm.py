"""Every instruction of the shipped code objects beside LLVM's disassembler: the same length, operation, operands and modifiers."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("tinygrad")

from stackbuild.emulator.code_objects import code_object_for
from stackbuild.emulator.decoder import decode
from stackbuild.emulator.encodings import target_tables
from stackbuild.emulator.listing import text_of
from stackbuild.tables.targets import INSTRUCTION_FAMILIES
from support.kernels import EVERY_TARGET, KernelStack, every_target_stack, small_stack
from support.llvm import DECODED, comparable, disassembled, machine_code, objdump

TARGETS = [target for target in EVERY_TARGET if target in INSTRUCTION_FAMILIES]


def difference(target: str, words: str, text: str) -> str | None:
    """What the two say where they differ."""
    code = machine_code(words)
    inst = decode(code, target_tables(target))
    if inst.size == len(code) and comparable(text_of(inst)) == comparable(text):
        return None
    return f"{target} {words}: LLVM says {comparable(text)!r}, the emulator {text_of(inst)!r} of {inst.size} bytes"


def test_a_sample_is_decoded_as_llvm_does() -> None:
    rows = [line.split("\t") for line in DECODED.read_text().splitlines()]
    assert {target for target, _, _ in rows} == set(TARGETS)
    assert len(rows) > 1500
    assert [found for row in rows if (found := difference(*row))] == []


def test_another_operand_is_a_difference() -> None:
    assert difference("gfx1100", "06040300", "v_add_f32_e32 v2, v0, v1") is None
    assert difference("gfx1100", "06040300", "v_add_f32_e32 v2, v0, v2")
    assert difference("gfx942", "7E080503", "v_readfirstlane_b32 s4, v2")


@pytest.mark.parametrize(
    ("target", "words", "text"),
    [
        ("gfx942", "8245FF45 FFFFFFFF", "s_addc_u32 s69, s69, -1"),  # the linker wrote it
        ("gfx942", "BE8001FF 00000040", "s_mov_b64 s[0:1], 64"),
        ("gfx942", "020202FF 3F000000", "v_add_f32_e32 v1, 0.5, v1"),
        ("gfx942", "3E0202FF 0000B800", "v_add_f16_e32 v1, -0.5, v1"),
        ("gfx942", "3E0202FF 00005678", "v_add_f16_e32 v1, 0x5678, v1"),
        ("gfx942", "7E044AFF 3FF00000", "v_rcp_f64_e32 v[2:3], 1.0"),
        ("gfx1100", "7E0202FF 3E22F983", "v_mov_b32_e32 v1, 0.15915494"),
        ("gfx1100", "7E0202FF 00000041", "v_mov_b32_e32 v1, 0x41"),
    ],
)
def test_a_literal_of_a_constant_is_written_as_the_constant(target: str, words: str, text: str) -> None:
    """LLVM 21 does so, whatever the encoding."""
    assert difference(target, words, text) is None


def test_the_only_target_without_tables_is_rdna2() -> None:
    assert set(EVERY_TARGET) - set(TARGETS) == {"gfx1030"}


@pytest.mark.slow
@pytest.mark.sandbox
@pytest.mark.timeout(7200)
@pytest.mark.parametrize(
    ("stack", "step"), [(small_stack, "amd"), (every_target_stack, "amd"), (every_target_stack, "amd-ep")]
)
def test_every_instruction_is_decoded_as_llvm_does(stack: type[KernelStack], step: str, tmp_path: Path) -> None:
    """Equal words are compared once: about 90,000 of the 380,000 instructions of a target."""
    made = stack()
    (library,) = made.built(step).glob("*/lib*_hip.so")
    tool = objdump(made.store)
    found = {target: dict(_instructions(tool, library.read_bytes(), target, tmp_path)) for target in TARGETS}
    found = {target: rows for target, rows in found.items() if rows}
    differences = [
        said
        for target, rows in found.items()
        for words, text in rows.items()
        if (said := difference(target, words, text))
    ]
    assert differences == []
    assert all(len(rows) > 50_000 for rows in found.values())
    print({target: len(rows) for target, rows in found.items()})
    if stack is every_target_stack:
        assert list(found) == TARGETS
        if step == "amd" and os.environ.get("STACKBUILD_SNAPSHOTS") == "write":
            DECODED.write_text("".join(_sample(found)))


def _instructions(tool: list[str], library: bytes, target: str, folder: Path) -> Iterator[tuple[str, str]]:
    for number, start in enumerate(m.start() for m in re.finditer(rb"__CLANG_OFFLOAD_BUNDLE__", library)):
        if target.encode() not in library[start : start + 4096]:
            continue
        object_file = folder / f"{number}-{target}.co"
        object_file.write_bytes(code_object_for(target, library[start:]))
        yield from disassembled(tool, object_file)
        object_file.unlink()


def _sample(found: dict[str, dict[str, str]]) -> Iterator[str]:
    """One instruction of each operation and encoding, and one with each kind of modifier."""
    for target, rows in found.items():
        seen = set[str]()
        for words, text in rows.items():
            name, _, rest = text.partition(" ")
            kinds = [name, *(f"{name} {word}" for word in re.findall(r"\b[a-z_]+(?=[:(])|[|]|neg|clamp|sext", rest))]
            if seen.issuperset(kinds):
                continue
            seen.update(kinds)
            yield f"{target}\t{words}\t{text}\n"
