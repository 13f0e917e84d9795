"""Random instruction sequences through the translator and the interpreter: every register must be the same."""

from __future__ import annotations

import ctypes
import random
from array import array
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from subprocess import run

from stackbuild.emulator.body import kernel_body
from stackbuild.emulator.control_flow import KernelCode
from stackbuild.emulator.decoder import DecodeError, Instruction, decode
from stackbuild.emulator.encodings import EncodingFamily, Format, target_tables
from stackbuild.emulator.function_table import FunctionTable
from stackbuild.emulator.listing import text_of
from stackbuild.emulator.native_library import NATIVE, compiler
from stackbuild.emulator.operands import UnknownInstruction
from stackbuild.emulator.pseudocode import PseudocodeError
from stackbuild.emulator.translate import FLAGS, TranslationError
from support.interpreted_wave import InterpretedWave

ROWS = 24
_ROOM = 544
"""Rows of a wave: vector registers, from 256 on the accumulation registers, and some more."""
_FORMATS = ("VOP1", "VOP2", "VOP3", "VOP3SD", "VOP3P", "VOPC", "VOP3_SDST", "SOP1", "SOP2", "SOPC", "SOPK", "VOPD")
_INEXACT = ("v_exp", "v_log", "v_sin", "v_cos", "v_rsq", "v_sqrt_f16", "v_frexp", "v_trig", "v_rcp_f16")
"""Operations whose result the guides bound but do not define: the two back ends use different functions."""
_ENDS = {"cdna": 0xBF810000, "rdna3": 0xBFB00000, "rdna4": 0xBFB00000}
_SPECIAL_FLOATS = (
    0,
    0x80000000,
    0x3F800000,
    0xBF800000,
    0x7F800000,
    0x7FC00000,
    1,
    0x807FFFFF,
    0x3C003C00,
    0x7BFF0001,
    0x00010400,
)


def decode_all(code: bytes, family: EncodingFamily, start: int = 0, end: int | None = None) -> Iterator[Instruction]:
    """The instructions from `start` to `end`, one after the other. Raises DecodeError."""
    end = len(code) if end is None else end
    while start < end:
        found = decode(code, family, start)
        yield found
        start = found.end


@dataclass(frozen=True)
class TrialDifference:
    """A sequence after which the two differ: its text, and what differs."""

    target: str
    number: int
    instructions: tuple[str, ...]
    text: str


@dataclass(frozen=True)
class TrialResult:
    """How many sequences and instructions were compared, the operations among them, and every difference."""

    sequences: int
    instructions: int
    operations: frozenset[str]
    differences: tuple[TrialDifference, ...]


def _random_field(rng: random.Random, format: Format, name: str, high: int, low: int, kind: str) -> int:
    width = high - low + 1
    if kind == "VGPR":
        return rng.randrange(ROWS - 4)
    if kind == "SGPR" or (kind == "SSrc" and name == "vdst"):
        return rng.choice((rng.randrange(20, 40, 2), 106))
    if kind in ("Src", "SSrc"):
        vector = kind == "Src" and rng.random() < 0.6
        if vector:
            return 256 + rng.randrange(ROWS - 4)
        return rng.choice(
            (
                rng.randrange(0, 20, 2),
                106,
                128 + rng.randrange(65),
                193 + rng.randrange(16),
                240 + rng.randrange(9),
                255,
            )
        )
    if name in ("omod", "clmp", "neg", "abs", "opsel", "neg_hi"):
        return rng.randrange(1 << width) if rng.random() < 0.25 else 0
    if name in ("opsel_hi", "opsel_hi2"):
        return (1 << width) - 1 if rng.random() < 0.7 else rng.randrange(1 << width)
    if name == "dpp":
        return rng.choice(
            (
                rng.randrange(256),
                0x101 + rng.randrange(15),
                0x111 + rng.randrange(15),
                0x121 + rng.randrange(15),
                0x140,
                0x141,
            )
        )
    return rng.randrange(1 << width)


def random_instruction(rng: random.Random, tables: EncodingFamily) -> tuple[bytes, Instruction]:
    """One random instruction of the ALU, encoded and decoded again: the same one in every process that has drawn the same."""
    formats = [f for (name, _), f in sorted(tables.variants.items()) if name in _FORMATS and f.operations]
    while True:
        format = rng.choice(formats)
        word = format.match
        for name, field in sorted(format.fields.items()):
            if field.kind == "FixedBit":
                continue
            value = _random_field(rng, format, name, field.high, field.low, field.kind)
            if name in ("op", "opx", "opy"):
                value = rng.choice(sorted(format.operations))
            if name == "src0" and format.variant:
                value = {"DPP16": 250, "DPP8": 233, "LIT": 255}.get(format.variant, 249)
            word |= (value & (1 << field.high - field.low + 1) - 1) << field.low
        code = word.to_bytes(format.size, "little")
        try:
            inst = decode(code, tables)
        except DecodeError:
            continue
        if inst.size == format.size and not inst.name.startswith(_INEXACT):
            return code, inst


def _pool(
    rng: random.Random, tables: EncodingFamily, lanes: int, count: int
) -> tuple[list[Instruction], FunctionTable, list[str]]:
    """Random instructions that both have, the functions of their forms, and the body of each as `sequence_N`."""
    table = FunctionTable(lanes, "trial")
    made: list[Instruction] = []
    bodies: list[str] = []
    blank = [[0] * lanes for _ in range(_ROOM)]
    while len(made) < count:
        code, inst = random_instruction(rng, tables)
        whole = code + _ENDS[tables.name].to_bytes(4, "little")
        symbol = f"sequence_{len(made)}"
        try:
            body = kernel_body(
                KernelCode(whole, tables, 0, len(whole)), lanes, table, symbol=symbol, counters=False, sanitize=False
            )
            InterpretedWave(lanes, [list(row) for row in blank], [0] * 130).run(inst)
        except (UnknownInstruction, PseudocodeError):
            continue
        made.append(inst)
        bodies.append("\n".join(body.lines))
    return made, table, bodies


def compare(target: str, folder: Path, *, sequences: int, length: int = 4, seed: int = 0, wave: int = 0) -> TrialResult:
    """Compare `sequences` random sequences of `length` instructions on random registers. Raises TranslationError.

    Each draws its instructions from as many random ones as there are sequences, 1000 at most: a body of the translator is
    the calls of its instructions in order, so that one compilation serves many sequences.
    """
    tables = target_tables(target)
    lanes = wave or (64 if tables.name == "cdna" else 32)
    rng = random.Random(seed)
    pool, table, bodies = _pool(rng, tables, lanes, min(sequences, 1000))
    library = compile_sequences(folder, table, bodies, lanes, f"{target}-{seed}-{sequences}")
    functions = [getattr(library, f"sequence_{i}") for i in range(len(pool))]
    differences: list[TrialDifference] = []
    used: set[str] = set()
    for number in range(sequences):
        chosen = [rng.randrange(len(pool)) for _ in range(length)]
        used |= {pool[i].name for i in chosen}
        drawn = RandomSequence(target, number, [pool[i] for i in chosen], [functions[i] for i in chosen])
        differences += drawn.differences(library, lanes, rng)
    return TrialResult(sequences, sequences * length, frozenset(used), tuple(differences))


def compile_sequences(folder: Path, table: FunctionTable, bodies: list[str], lanes: int, name: str) -> ctypes.CDLL:
    folder.mkdir(parents=True, exist_ok=True)
    driver = (
        "static const volatile int no_result;\n"
        "int trial(int (*f)(struct wave *), uint32_t *v, uint32_t *s, uint32_t *scc, uint8_t *lds, uint32_t lds_bytes) {\n"
        "static struct wave w; memset(&w, 0, sizeof w); w.v = v; w.scc = *scc; memcpy(w.s, s, sizeof w.s);\n"
        "w.lds = w.scratch = lds; w.lds_bytes = lds_bytes; w.scratch_bytes = lds_bytes / LANES; w.fuel = 1000; w.result = &no_result; w.lanes = FULL; w.rows = 512; w.mode = 0x2f0;\n"
        "int r = f(&w); memcpy(s, w.s, sizeof w.s); *scc = w.scc; return r; }\n"
        "void chain(int (**f)(struct wave *), int count, uint32_t *v, uint32_t *s, uint32_t *scc) {\n"
        "for (int i = 0; i < count; i++) trial(f[i], v, s, scc, 0, 0); }\n"
    )
    parts = {
        "operations": list(table.definitions.values()),
        "bodies": [*(f"{d};" for d in table.declarations.values()), *bodies, driver],
    }
    objects = []
    for part, level in (("operations", "-O1"), ("bodies", "-Og")):
        source, made = folder / f"{name}-{part}.c", folder / f"{name}-{part}.o"
        source.write_text('#include "wave.h"\n' + "\n".join(parts[part]) + "\n")
        flags = [flag for flag in FLAGS if flag != "-shared"]
        _tool(
            [
                compiler(),
                level,
                *flags,
                f"-DLANES={lanes}",
                "-DSANITIZE=0",
                "-DCOUNTERS=0",
                f"-I{NATIVE}",
                "-c",
                str(source),
                "-o",
                str(made),
            ]
        )
        objects.append(str(made))
    library = folder / f"{name}.so"
    _tool([compiler(), "-shared", *objects, "-o", str(library), "-lm"])
    return ctypes.CDLL(str(library))


def _tool(command: list[str]) -> None:
    made = run(command, capture_output=True, text=True, check=False)
    if made.returncode:
        raise TranslationError(f"{command[0]} failed: {made.stderr[:600]}")


def _random_word(rng: random.Random) -> int:
    return rng.choice(_SPECIAL_FLOATS) if rng.random() < 0.2 else rng.getrandbits(32) if rng.random() < 0.5 else (
        0x3F000000 + rng.getrandbits(26) | rng.getrandbits(1) << 31
    )  # fmt: skip


@dataclass(frozen=True)
class RandomSequence:
    """Instructions in a row, and their translated functions."""

    target: str
    number: int
    instructions: list[Instruction]
    functions: list[Callable[..., object]]

    def differences(self, library: ctypes.CDLL, lanes: int, rng: random.Random) -> Iterator[TrialDifference]:
        """What the two do otherwise on random registers, three random lanes active."""
        words = [_random_word(rng) for _ in range(64)]
        v = [rng.choices(words, k=lanes) for _ in range(ROWS)]
        s = rng.choices(words, k=128)
        active = sum({1 << rng.randrange(lanes) for _ in range(3)})
        s[126], s[127] = active & 0xFFFFFFFF, active >> 32
        scc = rng.getrandbits(1)
        memory = (ctypes.c_uint32 * (_ROOM * lanes))(*chain.from_iterable(v))
        scalars, flag = (ctypes.c_uint32 * 128)(*s), ctypes.c_uint32(scc)
        chained = (ctypes.c_void_p * len(self.functions))(
            *(ctypes.cast(function, ctypes.c_void_p) for function in self.functions)
        )
        library.chain(chained, len(self.functions), memory, scalars, ctypes.byref(flag))
        wave = InterpretedWave(lanes, [*v, *([0] * lanes for _ in range(_ROOM - ROWS))], [*s, 0, 0], scc)
        for inst in self.instructions:
            try:
                wave.run(inst)
            except (OverflowError, KeyError, ValueError) as error:
                yield self.difference(f"the interpreter failed in {text_of(inst)} {inst.word:#x}: {error!r}")
                return
        after = array("I", chain.from_iterable(wave.v))
        found = [] if after.tobytes() == bytes(memory) else [
            f"v{i // lanes} lane {i % lanes}: {memory[i]:#x} translated, {word:#x} interpreted"
            for i, word in enumerate(after) if memory[i] != word
        ]  # fmt: skip
        found += [
            f"s{i}: {scalars[i]:#x} translated, {wave.s[i]:#x} interpreted"
            for i in range(128)
            if scalars[i] != wave.s[i]
        ]
        found += [f"scc: {flag.value} translated, {wave.scc} interpreted"] if flag.value != wave.scc else []
        if found:
            yield self.difference("; ".join(found[:3]))

    def difference(self, text: str) -> TrialDifference:
        """A difference of this sequence."""
        texts = tuple(f"{text_of(inst)} {inst.word:#x}" for inst in self.instructions)
        return TrialDifference(self.target, self.number, texts, text)
