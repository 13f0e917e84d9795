"""The translator by the machine's C compiler: written-out expectations, random sequences, faults and findings of made kernels."""

from __future__ import annotations

import ctypes
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

pytest.importorskip("tinygrad")

from stackbuild.emulator.body import kernel_body
from stackbuild.emulator.code_object import CodeObjectError, load
from stackbuild.emulator.code_objects import code_object_for
from stackbuild.emulator.control_flow import KernelCode, reached_code
from stackbuild.emulator.encodings import EncodingError, family
from stackbuild.emulator.function_table import FunctionTable
from stackbuild.emulator.operands import UnknownInstruction
from stackbuild.emulator.translate import TranslationError, translate
from support.emulator_expectations import EXPECTATIONS
from support.instruction_trial import compare, compile_sequences

END = "0000b0bf"


@dataclass
class Machine:
    """Compiled sequences of instructions, on chosen registers."""

    library: ctypes.CDLL

    def run(self, number: int, v0: int, v1: int, s4: int, s5: int) -> dict[str, int]:
        memory = (ctypes.c_uint32 * (32 * 544))(*([v0] * 32 + [v1] * 32))
        scalars, flag = (ctypes.c_uint32 * 128)(), ctypes.c_uint32(0)
        scalars[4], scalars[5], scalars[126] = s4, s5, 0xFFFFFFFF
        self.library.trial(getattr(self.library, f"sequence_{number}"), memory, scalars, ctypes.byref(flag))
        found = {f"v{row}": memory[32 * row + 5] for row in range(8)} | {f"s{i}": scalars[i] for i in range(104)}
        return found | {"vcc": scalars[106], "exec": scalars[126], "scc": flag.value}


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Machine:
    table = FunctionTable(32, "expectations")
    bodies = []
    for i, expected in enumerate(EXPECTATIONS):
        code = bytes.fromhex(expected.code + END)
        body = kernel_body(
            KernelCode(code, family("rdna3"), 0, len(code)),
            32,
            table,
            symbol=f"sequence_{i}",
            counters=False,
            sanitize=False,
        )
        bodies.append("\n".join(body.lines))
    return Machine(compile_sequences(tmp_path_factory.mktemp("expectations"), table, bodies, 32, "expectations"))


@pytest.mark.parametrize("number", range(len(EXPECTATIONS)), ids=lambda i: EXPECTATIONS[i].text)
def test_translated_instructions_give_what_the_guide_says(machine: Machine, number: int) -> None:
    e = EXPECTATIONS[number]
    assert hex(machine.run(number, e.v0, e.v1, e.s4, e.s5)[e.target]) == hex(e.value)


@pytest.mark.parametrize("target", ["gfx1100", "gfx942", "gfx1200"])
def test_random_sequences_agree_with_the_interpreter(target: str, tmp_path: Path) -> None:
    made = compare(target, tmp_path, sequences=60, length=3, seed=1)
    assert made.differences == ()
    assert made.sequences == 60 and len(made.operations) > 40


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("target", ["gfx1100", "gfx942", "gfx1201", "gfx90a"])
def test_a_hundred_thousand_random_sequences_agree_with_the_interpreter(target: str, seed: int, tmp_path: Path) -> None:
    """10,000 in each of the twelve runs, each of 1,000 other instructions; about 20 s of one core each."""
    assert compare(target, tmp_path, sequences=10000, length=3, seed=seed).differences == ()


def test_a_seed_draws_the_same_instructions_in_every_process() -> None:
    """Sets have another order in each process: a difference that a seed found could not be found again."""
    draw = (
        "import random, sys; sys.path.insert(0, sys.argv[1])\n"
        "from stackbuild.emulator.encodings import target_tables\n"
        "from support.instruction_trial import random_instruction\n"
        "rng, tables = random.Random(1), target_tables('gfx90a')\n"
        "print(*(random_instruction(rng, tables)[0].hex() for _ in range(20)))"
    )
    drawn = {
        subprocess.run(
            [sys.executable, "-c", draw, str(Path(__file__).parents[2])],
            env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True,
        ).stdout
        for seed in ("1", "2")
    }  # fmt: skip
    assert len(drawn) == 1


def test_a_difference_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from support import interpreted_wave

    monkeypatch.setattr(interpreted_wave, "modified_bits", lambda taken, raw: raw ^ 1)
    assert compare("gfx1100", tmp_path, sequences=40, length=2, seed=1).differences


def test_an_unknown_instruction_stops_by_its_name() -> None:
    code = bytes.fromhex("004880be" + END)  # s_setpc_b64
    with pytest.raises(UnknownInstruction, match="s_setpc_b64"):
        kernel_body(
            KernelCode(code, family("rdna3"), 0, len(code)),
            32,
            FunctionTable(32, ""),
            symbol="f",
            counters=False,
            sanitize=False,
        )


def test_what_is_no_code_object_is_one_error() -> None:
    with pytest.raises(CodeObjectError, match="ELF"):
        load(b"not a code object")
    with pytest.raises(CodeObjectError):
        load(b"\x7fELF\x02\x01" + b"\0" * 60)


@pytest.mark.sandbox
@pytest.mark.timeout(1500)  # the first one builds the kernels
def test_an_unknown_target_and_another_targets_code_are_errors(amd: Path, tmp_path: Path) -> None:
    data = _objects(amd, "gfx1100")[0]
    with pytest.raises(EncodingError, match="gfx803"):
        translate(data, "gfx803", tmp_path, sanitize=False, counters=False, kernels=[])
    with pytest.raises(TranslationError, match="is for gfx1100, not for gfx942"):
        translate(data, "gfx942", tmp_path, sanitize=False, counters=False, kernels=[])


@pytest.mark.sandbox
@pytest.mark.timeout(1500)  # the first one builds the kernels
def test_every_instruction_of_the_shipped_kernels_is_decoded(amd: Path) -> None:
    for target, name in (("gfx1100", "rdna3"), ("gfx942", "cdna"), ("gfx90a", "cdna")):
        images = [load(data) for data in _objects(amd, target)]
        assert sum(len(image.kernels) for image in images) > 100
        for image in images:
            for kernel in image.kernels:
                code = KernelCode(image.image, family(name), kernel.descriptor.entry, kernel.code_end)
                found = reached_code(code).instructions
                assert any(inst.name == "s_endpgm" for inst in found.values()), kernel.name


def _objects(amd: Path, target: str) -> list[bytes]:
    """The code objects for the target, one of each part that the device code is compiled in."""
    data = (amd / "libstackbuild_kernels_hip.so").read_bytes()
    starts = [m.start() for m in re.finditer(b"__CLANG_OFFLOAD_BUNDLE__", data)]
    return [code_object_for(target, data[start:]) for start in starts]


NOTHING = bytes.fromhex("000080bf")  # s_nop 0


@dataclass
class Leaky:
    """LeakyRelu of float32, four at a time, out of the shipped code object of gfx1100, with the sanitizer."""

    data: bytes
    folder: Path

    def run(self, data: bytes, *, short: int = 0) -> tuple[set[str], bool]:
        """The kinds of findings, and whether every output is right. `short`: bytes that the input's range lacks."""
        import struct

        import numpy as np

        from support.emulator_executor import ExecutionError, Executor, LaunchSize, executor_library

        name = next(kernel.name for kernel in load(data).kernels if "IfLi4E" in kernel.name)
        out = translate(data, "gfx1100", self.folder, sanitize=True, counters=True, kernels=[name])
        x = np.linspace(-3, 3, 4 * 1500, dtype=np.float32)
        y = np.zeros_like(x)
        ranges = [(x.ctypes.data, x.ctypes.data + x.nbytes - short), (y.ctypes.data, y.ctypes.data + y.nbytes)]
        kinds: set[str] = set()
        given = struct.pack("<QQqf", x.ctypes.data, y.ctypes.data, 1500, 0.25)
        executor = Executor(out, executor_library(self.folder))
        try:
            counts = executor.dispatch(
                name, LaunchSize((2, 1, 1), (256, 1, 1), seed=5), given, ranges, lambda f: kinds.add(f.kind_name)
            )
        except ExecutionError:
            return kinds, False
        assert counts["waves"] == 16 and counts["global_bytes"] == 2 * x.nbytes and counts["flat"] == 0
        return kinds, bool((y == np.where(x >= 0, x, x * np.float32(0.25))).all())

    def replaced(self, name: str, code: bytes) -> bytes:
        """The code object with the kernel's first instruction of this name replaced."""
        loaded = load(self.data)
        kernel = next(kernel for kernel in loaded.kernels if "IfLi4E" in kernel.name)
        kernel_code = KernelCode(loaded.image, family("rdna3"), kernel.descriptor.entry, kernel.code_end)
        found = reached_code(kernel_code).instructions
        start = (
            self.data.index(loaded.image[kernel.descriptor.entry : kernel.descriptor.entry + 64])
            - kernel.descriptor.entry
        )
        changed = bytearray(self.data)
        for inst in found.values():
            if inst.name == name:
                changed[start + inst.offset : start + inst.offset + 4] = code
        return bytes(changed)


@pytest.fixture(scope="module")
def leaky(amd: Path, tmp_path_factory: pytest.TempPathFactory) -> Leaky:
    pytest.importorskip("numpy")
    data = next(data for data in _objects(amd, "gfx1100") if b"leaky_relu_vectorsIfLi4E" in data)
    return Leaky(data, tmp_path_factory.mktemp("leaky"))


@pytest.mark.sandbox
@pytest.mark.timeout(1500)  # the first one builds the kernels
def test_a_shipped_kernel_is_right_and_has_no_findings(leaky: Leaky) -> None:
    assert leaky.run(leaky.data) == (set(), True)


@pytest.mark.sandbox
@pytest.mark.timeout(1500)  # the first one builds the kernels
def test_a_read_beyond_the_memory_is_found(leaky: Leaky) -> None:
    assert leaky.run(leaky.data, short=4)[0] == {"out of bounds (global)"}


@pytest.mark.sandbox
@pytest.mark.timeout(1500)  # the first one builds the kernels
def test_a_wait_that_is_left_out_is_found(leaky: Leaky) -> None:
    assert "missing wait" in leaky.run(leaky.replaced("s_waitcnt", NOTHING))[0]


@pytest.mark.sandbox
@pytest.mark.timeout(1500)  # the first one builds the kernels
def test_a_kernel_without_an_end_is_found(leaky: Leaky) -> None:
    """Waves of the second workgroup have no lanes and run round for ever: they end with the first that fails.

    Which wave is how far then depends on the threads. One in some eighty runs has also an access beyond the memory, by a
    wave that fell into the code behind the missing end.
    """
    code = leaky.replaced("s_endpgm", NOTHING)
    for _ in range(40):
        kinds, is_right = leaky.run(code)
        assert "end of code" in kinds and kinds <= {"end of code", "out of bounds (global)"} and not is_right


@pytest.mark.sandbox
@pytest.mark.timeout(1500)  # the first one builds the kernels
def test_an_endless_kernel_is_ended(leaky: Leaky) -> None:
    from support.emulator_executor import ExecutionError, Executor, LaunchSize, executor_library

    data = leaky.replaced("s_endpgm", bytes.fromhex("ffffa0bf"))  # s_branch to itself
    name = next(kernel.name for kernel in load(data).kernels if "IfLi4E" in kernel.name)
    out = translate(data, "gfx1100", leaky.folder, sanitize=False, counters=False, kernels=[name])
    with pytest.raises(ExecutionError, match="time limit"):
        Executor(out, executor_library(leaky.folder)).dispatch(
            name, LaunchSize((1, 1, 1), (32, 1, 1), budget=1000), bytes(28)
        )


@pytest.mark.sandbox
@pytest.mark.timeout(1500)  # the first one builds the kernels
def test_a_fault_is_an_error_and_ends_no_process(leaky: Leaky) -> None:
    import struct

    from support.emulator_executor import ExecutionError, Executor, LaunchSize, executor_library

    name = next(kernel.name for kernel in load(leaky.data).kernels if "IfLi4E" in kernel.name)
    out = translate(leaky.data, "gfx1100", leaky.folder, sanitize=False, counters=False, kernels=[name])
    with pytest.raises(ExecutionError, match="no memory at 0x10"):
        Executor(out, executor_library(leaky.folder)).dispatch(
            name, LaunchSize((1, 1, 1), (256, 1, 1)), struct.pack("<QQqf", 16, 16, 1, 0.5)
        )
