"""The filter of system calls: the program and Docker's profile say the same, with the numbers of the kernel's headers."""

from __future__ import annotations

import errno
import json
import re
import struct
from pathlib import Path

import pytest

from stackbuild.runners import seccomp

ALLOWED = 0x7FFF0000
OTHER = 0xFFFFFFFF
HEADERS = {
    "x86_64": ("/usr/include/x86_64-linux-gnu/asm/unistd_64.h", "/usr/include/asm/unistd_64.h"),
    "aarch64": ("/usr/include/asm-generic/unistd.h",),
}


def answer(machine: seccomp.Architecture, number: int, *arguments: int, audit: int | None = None) -> int:
    """What the kernel's interpreter of classic BPF gives for a call: 0 for allowed, else the error."""
    data = struct.pack(
        "<IIQ6Q", number, machine.audit if audit is None else audit, 0, *arguments, *[0] * (6 - len(arguments))
    )
    code, at, value = seccomp.assemble(machine), 0, 0
    while True:
        kind, yes, no, operand = code[at]
        at += 1
        if kind == seccomp._LOAD:
            value = struct.unpack_from("<I", data, operand)[0]
        elif kind == seccomp._RETURN:
            return 0 if operand == ALLOWED else operand & 0xFFFF
        else:
            tests = {
                seccomp._EQUAL: value == operand,
                seccomp._ABOVE: value > operand,
                seccomp._ANY_BIT: bool(value & operand),
            }
            at += yes if tests[kind] else no


@pytest.fixture(params=sorted(seccomp.ARCHITECTURES))
def machine(request: pytest.FixtureRequest) -> seccomp.Architecture:
    return seccomp.ARCHITECTURES[request.param]


def test_each_refused_call_gets_its_error_and_no_other_call_does(machine: seccomp.Architecture) -> None:
    whole = {call: row.error for row in seccomp.REFUSALS if row.argument is None for call in row.calls}
    partly = {call for row in seccomp.REFUSALS if row.argument is not None for call in row.calls}
    names = {number: call for call, number in machine.numbers.items()}
    for number in range(500):
        wanted = whole.get(names.get(number, ""), 0)
        if names.get(number) not in partly:
            assert answer(machine, number) == wanted, (number, names.get(number))


def test_calls_that_depend_on_an_argument(machine: seccomp.Architecture) -> None:
    number = machine.numbers
    for family in range(-1, 300):
        wanted = 0 if family in (0, 1, 2, 10, 16) else errno.EAFNOSUPPORT
        assert answer(machine, number["socket"], family & 0xFFFFFFFF) == wanted
        assert answer(machine, number["socket"], (1 << 32) | (family & 0xFFFFFFFF)) == wanted, (
            "the high half does not count"
        )
    for call in ("clone", "unshare"):
        assert answer(machine, number[call], 0x10000000 | 0x11) == errno.EPERM
        assert answer(machine, number[call], 0x11) == 0
    assert answer(machine, number["ioctl"], 0, 0x5412) == errno.EPERM
    assert answer(machine, number["ioctl"], 0, (1 << 32) | 0x541C) == errno.EPERM, "the kernel reads 32 bits of it"
    assert answer(machine, number["ioctl"], 0, 0x5413) == 0


def test_other_instruction_sets_are_refused() -> None:
    intel = seccomp.ARCHITECTURES["x86_64"]
    assert answer(intel, 0x40000000) == errno.ENOSYS, "x32"
    assert answer(intel, 4, audit=0x40000003) == errno.ENOSYS, "i386"


def test_the_profile_of_docker_refuses_the_same() -> None:
    profile = json.loads(seccomp.docker_profile())
    assert profile["defaultAction"] == "SCMP_ACT_ALLOW"
    machine = seccomp.architecture()

    def holds(row: dict[str, object], value: int) -> bool:
        for argument in row["args"]:  # type: ignore[attr-defined]
            found = (
                value & argument["value"] == argument["valueTwo"]
                if argument["op"] == "SCMP_CMP_MASKED_EQ"
                else value > argument["value"]
            )
            if not found:
                return False
        return True

    def docker(call: str, value: int) -> int:
        return next((row["errnoRet"] for row in profile["syscalls"] if call in row["names"] and holds(row, value)), 0)

    position = {call: row.argument.index for row in seccomp.REFUSALS if row.argument for call in row.calls}
    values = [*range(60), 300, 0x5412, 0x541C, 0x5413, 0x10000000, 0x10000011]
    for call, number in machine.numbers.items():
        for value in values:
            arguments = [0] * position.get(call, 0) + [value]
            assert docker(call, value) == answer(machine, number, *arguments), (call, value)


def test_the_numbers_are_those_of_the_kernels_headers() -> None:
    compared = 0
    for name, paths in HEADERS.items():
        header = next((Path(path) for path in paths if Path(path).is_file()), None)
        if header is None:
            continue
        found = dict(re.findall(r"#define __NR_(\w+)\s+(\d+)\b", header.read_text()))
        for call, number in seccomp.ARCHITECTURES[name].numbers.items():
            if call in found:
                assert int(found[call]) == number, (name, call)
                compared += 1
    if not compared:
        pytest.skip("the kernel's headers are not installed")
    assert compared >= 40


def test_every_row_has_a_number_and_a_reason() -> None:
    calls = [call for row in seccomp.REFUSALS for call in row.calls]
    assert len(calls) == len(set(calls)) and set(calls) == set(seccomp.ARCHITECTURES["x86_64"].numbers)
    assert all(row.why for row in seccomp.REFUSALS)
