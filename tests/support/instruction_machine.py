"""Rows of `instruction_rows.py` on the translator and on the interpreter."""

from __future__ import annotations

import ctypes
import re
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from stackbuild.emulator.body import kernel_body
from stackbuild.emulator.control_flow import KernelCode
from stackbuild.emulator.decoder import Instruction
from stackbuild.emulator.encodings import family_name, target_tables
from stackbuild.emulator.function_table import FunctionTable
from support.buffer_rows import BUFFERS
from support.instruction_codes import CODES
from support.instruction_rows import ROWS, InstructionRow
from support.instruction_trial import compile_sequences, decode_all
from support.interpreted_wave import InterpretedWave

MEMORY = bytes(i % 256 for i in range(512))
VECTORS = 544
_END = {"cdna": "000081bf", "rdna3": "0000b0bf", "rdna4": "0000b0bf"}


def codes() -> dict[tuple[str, str], str]:
    """Target and text to the bytes in hexadecimal."""
    rows = (line.split("\t") for line in CODES.read_text().splitlines())
    return {(target, text): code for target, code, text in rows}


def rows_of(target: str) -> list[InstructionRow]:
    """The rows that hold for a target and that its assembler has."""
    known = codes()
    return [
        r
        for r in (*ROWS, *BUFFERS)
        if (target, r.text) in known and (not r.only or target.startswith(tuple(r.only.split())))
    ]


def lanes_of(target: str) -> int:
    """The lanes of a wave."""
    return 64 if target.startswith("gfx9") else 32


def instructions_of(target: str, text: str) -> list[Instruction]:
    """A row's instructions, decoded."""
    code = bytes.fromhex(codes()[target, text])
    return list(decode_all(code, target_tables(target)))


@dataclass
class RowState:
    """The registers and memories of a wave."""

    lanes: int
    v: list[list[int]] = field(default_factory=list)
    s: list[int] = field(default_factory=lambda: [0] * 130)
    scc: int = 0
    lds: bytes = MEMORY
    memory: bytes = MEMORY

    @classmethod
    def of(cls, lanes: int, given: str, address: int) -> RowState:
        """The state before a row, its memory at `address`."""
        state = cls(lanes, [[0] * lanes for _ in range(VECTORS)])
        state.set_mask(126, (1 << lanes) - 1)
        for part in given.split():
            name, _, text = part.partition("=")
            if name == "scc":
                state.scc = int(text)
            elif name in ("vcc", "exec", "M6", "M8"):
                state.set_mask({"vcc": 106, "exec": 126, "M6": 6, "M8": 8}[name], mask_of(text, lanes))
            else:
                state.set_register(name, text, address)
        return state

    def set_mask(self, at: int, mask: int) -> None:
        self.s[at] = mask & 0xFFFFFFFF
        if self.lanes == 64:
            self.s[at + 1] = mask >> 32

    def set_register(self, name: str, text: str, address: int) -> None:
        found = re.match(r"([vs])\[?(\d+)", name)
        assert found, name
        first = int(found[2])
        values = [self.lane_value(text, lane, address) for lane in range(self.lanes)]
        for word in range(2 if "[" in name else 1):
            row = [value >> 32 * word & 0xFFFFFFFF for value in values]
            if found[1] == "v":
                self.v[first + word] = row
            else:
                self.s[first + word] = row[0]

    @staticmethod
    def lane_value(text: str, lane: int, address: int) -> int:
        if text.startswith("LANE"):
            times, _, plus = text.removeprefix("LANE").lstrip("*").partition("+")
            return lane * int(times or 1) + int(plus or 0)
        if text.startswith("MEM"):
            return address + int(text.removeprefix("MEM") or 0)
        return number(text)

    def differences(self, row: InstructionRow) -> list[str]:
        """What is not as the row says."""
        if isinstance(row.gives, dict):
            return [
                f"{name} lane {lane}: {self.v[int(name[1:])][lane]:#x}, not {wanted:#x}"
                for name, rule in row.gives.items() if callable(rule) for lane in range(self.lanes)
                if (wanted := rule(lane)) >= 0 and self.v[int(name[1:])][lane] != wanted
            ]  # fmt: skip
        return [said for part in row.gives.split() if (said := self.difference(*part.split("=", 1)))]

    def difference(self, name: str, text: str) -> str:
        if name.startswith(("mem[", "lds[")):
            at = int(name[4:-1])
            before = bytearray(MEMORY)
            found = self.memory if name.startswith("mem") else self.lds
            data = bytes.fromhex(text)
            before[at : at + len(data)] = data
            return (
                ""
                if found[at : at + len(data)] == data
                else f"{name} is {found[at : at + len(data)].hex()}, not {text}"
            )
        if name in ("vcc", "exec", "M6", "M8"):
            at = {"vcc": 106, "exec": 126, "M6": 6, "M8": 8}[name]
            have = self.s[at] | (self.s[at + 1] << 32 if self.lanes == 64 else 0)
            wanted = mask_of(text, self.lanes)
        elif name[0] == "v":
            wanted = number(text)
            have = next((value for value in self.v[int(name[1:])] if value != wanted), wanted)
        else:
            wanted, have = number(text), self.scc if name == "scc" else self.s[int(name[1:])]
        return "" if have == wanted else f"{name} is {have:#x}, not {wanted:#x}"


def mask_of(text: str, lanes: int) -> int:
    """A mask of lanes, as many as there are."""
    full = (1 << lanes) - 1
    return full if text == "ALL" else number(text) & full


def number(text: str) -> int:
    """The bits of an integer, of a float32 such as 1.5 or of a float16 such as 1.5h."""
    if text.startswith("0x") or "." not in text:
        return int(text, 0)
    if text.endswith("h"):
        return int.from_bytes(struct.pack("<e", float(text[:-1])), "little")
    return int.from_bytes(struct.pack("<f", float(text)), "little")


@dataclass
class RowMachine:
    """The rows of one target, compiled."""

    target: str
    rows: list[InstructionRow]
    library: ctypes.CDLL
    lanes: int

    def run(self, at: int) -> list[str]:
        """What the translated row at an index does otherwise than it says."""
        row, lanes = self.rows[at], self.lanes
        memory = (ctypes.c_uint8 * 512)(*MEMORY)
        lds = (ctypes.c_uint8 * 512)(*MEMORY)
        state = RowState.of(lanes, row.given, ctypes.addressof(memory))
        vectors = (ctypes.c_uint32 * (VECTORS * lanes))(*[word for line in state.v for word in line])
        scalars, flag = (ctypes.c_uint32 * 128)(*state.s[:128]), ctypes.c_uint32(state.scc)
        self.library.trial(getattr(self.library, f"sequence_{at}"), vectors, scalars, ctypes.byref(flag), lds, 512)
        after = RowState(
            lanes,
            [list(vectors[r * lanes : (r + 1) * lanes]) for r in range(8)],
            list(scalars),
            flag.value,
            bytes(lds),
            bytes(memory),
        )
        return after.differences(row)


def machine(target: str, folder: Path, some: Sequence[InstructionRow] = (), lanes: int = 0) -> RowMachine:
    """The rows of a target, or some of them, by the machine's C compiler, in waves as its kernels have or of `lanes`."""
    tables, lanes, rows = target_tables(target), lanes or lanes_of(target), list(some) or rows_of(target)
    table = FunctionTable(lanes, f"rows {target}")
    known, bodies = codes(), []
    for i, row in enumerate(rows):
        code = bytes.fromhex(known[target, row.text] + _END[family_name(target)])
        body = kernel_body(KernelCode(code, tables, 0, len(code)), lanes, table, symbol=f"sequence_{i}", counters=False, sanitize=False
        )
        bodies.append("\n".join(body.lines))
    return RowMachine(target, rows, compile_sequences(folder, table, bodies, lanes, f"rows-{target}"), lanes)


def interpreted(target: str, row: InstructionRow) -> list[str]:
    """What the interpreter does otherwise than a row says. Raises UnknownInstruction for what it does not have."""
    state = RowState.of(lanes_of(target), row.given, 0)
    wave = InterpretedWave(state.lanes, state.v, state.s, state.scc)
    for inst in instructions_of(target, row.text):
        wave.run(inst)
    return RowState(state.lanes, wave.v, wave.s, wave.scc).differences(row)
