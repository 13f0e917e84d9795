"""Small files that stood for gigabytes or minutes: each read in a process of its own, its memory and CPU seconds measured."""

from __future__ import annotations

import json
import os
import resource
import struct
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from support.binaries import GOOD, ccob, code_object, kernel, library, zipped

MEMORY, SECONDS = 400 << 20, 40  # seconds of CPU: five times what the slowest takes on the machine it was written on
READ = """
import json, sys
from pathlib import Path
from stackbuild.inspection import inspect, judge
facts = inspect(Path(sys.argv[1]))
print(json.dumps([[str(p.trouble), p.what] for p in (*facts.problems, *facts.packaging)]))
judge(facts)
print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))  # KiB of this program alone
"""
INFO = "x-1.0.dist-info"
HEAD = {f"{INFO}/METADATA": b"Name: x\nVersion: 1.0\n", f"{INFO}/WHEEL": b"Tag: py3-none-any\n", f"{INFO}/RECORD": b""}


def entries() -> bytes:
    """1,023 entries that name one code object of 131,000 kernels."""
    code = code_object("gfx90a", metadata={"amdhsa.version": [1, 2], "amdhsa.kernels": [{".name": "k"}] * 131_000})
    name, at = b"hipv4-amdgcn-amd-amdhsa--gfx90a", 1 << 16
    row = struct.pack("<QQQ", at, len(code), len(name)) + name
    return zipped(
        HEAD
        | {"x/a.co": (b"__CLANG_OFFLOAD_BUNDLE__" + struct.pack("<Q", 1_023) + row * 1_023).ljust(at, b"\0") + code}
    )


def bundles() -> bytes:
    """100,000 compressed bundles of 16 MiB."""
    nothing = b"__CLANG_OFFLOAD_BUNDLE__" + struct.pack("<Q", 0)
    return zipped(HEAD | {"x/a.co": ccob(nothing.ljust(16 << 20, b"\0"), 2) * 100_000}, level=1)


def arrays() -> bytes:
    """A note of 30 MB of empty arrays."""
    inner = b"\xdc" + struct.pack(">H", 65_535) + b"\x90" * 65_535
    note = b"\x81\xa1x\xdc" + struct.pack(">H", 450) + inner * 450
    head = bytearray(code_object("gfx90a")[:64])
    struct.pack_into("<H", head, 56, 1)  # one program header
    return bytes(head) + program(note) + packed_note(note)


def packed_note(desc: bytes) -> bytes:
    return struct.pack("<III", 7, len(desc), 32) + b"AMDGPU\0\0" + desc + b"\0" * (-len(desc) % 4)


def program(note: bytes) -> bytes:
    size = len(packed_note(note))
    return struct.pack("<IIQQQQQQ", 4, 4, 120, 120, 120, size, size, 4)


def rows() -> bytes:
    return zipped(HEAD | {f"{INFO}/RECORD": b"a\n" * (15 << 20)})


def members() -> bytes:
    """Five members of 95 MiB each."""
    return zipped(HEAD | {f"x/{n}.bin": bytes(95 << 20) for n in range(5)}, level=1)


def symbols() -> bytes:
    """400,000 symbols that share one name of 5 kB."""
    made = bytearray(library(exports=["A" * 5_000], symtab=0))
    table = struct.pack("<IBBHQQ", 1, 0x12, 0, 7, 0x1000, 8) * 400_000
    made += b"\0" * (-len(made) % 8)
    where = len(made)
    made += table + struct.pack("<II", 1, 400_000)
    retag(made, 6, where)
    retag(made, 4, where + len(table))
    struct.pack_into("<Q", made, 64 + 32, len(made))  # PT_LOAD covers all
    return bytes(made)


def retag(elf: bytearray, tag: int, value: int) -> None:
    (at,) = struct.unpack_from("<Q", elf, 64 + 56 + 8)
    while struct.unpack_from("<Q", elf, at)[0] != tag:
        at += 16
    struct.pack_into("<Q", elf, at + 8, value)


def sections() -> bytes:
    """2,000 sections over the same 4 MiB."""
    made = bytearray(library(rodata=b"A" * (4 << 20), more={f".r{n}": b"x" for n in range(2_000)}))
    (headers,) = struct.unpack_from("<Q", made, 40)
    spans = [
        (n, *struct.unpack_from("<QQ", made, headers + 64 * n + 24))
        for n in range(struct.unpack_from("<H", made, 60)[0])
    ]
    _, start, size = max(spans, key=lambda span: span[2])
    for number, _, length in spans:
        if length == 1:
            struct.pack_into("<QQ", made, headers + 64 * number + 24, start, size)
    return bytes(made)


def python() -> bytes:
    return zipped(HEAD | {"x/__init__.py": b"[" + b"a," * 1_000_000 + b"]"})


def dots() -> bytes:
    return zipped(HEAD | {"x/__init__.py": b"import x" + b".x" * 140_000})


def paths() -> bytes:
    return zipped(HEAD | {"x/a.bin": b"".join(b"/home/a/%08d\n" % n for n in range(3_000_000))}, level=1)


def kernels() -> bytes:
    """600 objects of 2,000 kernels."""
    code = [
        code_object(
            "gfx90a", metadata={"amdhsa.version": [1, 2], "amdhsa.kernels": [kernel(f"{n}_{i}") for i in range(2_000)]}
        )
        for n in range(4)
    ]
    return zipped(HEAD | {f"x/{turn}.co": code[turn % 4] for turn in range(600)})


BOMBS: dict[str, tuple[str, Callable[[], bytes], str]] = {
    "entries": ("x-1.0-py3-none-any.whl", entries, "shares its bytes"),
    "bundles": ("x-1.0-py3-none-any.whl", bundles, "out of compressed bundles in all"),
    "arrays": ("x.co", arrays, "may hold more than"),
    "rows": ("x-1.0-py3-none-any.whl", rows, "rows; the rest is not read"),
    "members": ("x-1.0-py3-none-any.whl", members, ""),
    "symbols": ("x.so", symbols, "bytes of names in all"),
    "sections": ("x.so", sections, ""),
    "python": ("x-1.0-py3-none-any.whl", python, "tokens of Python"),
    "dots": ("x-1.0-py3-none-any.whl", dots, "64 dots"),
    "paths": ("x-1.0-py3-none-any.whl", paths, ""),
    "kernels": ("x-1.0-py3-none-any.whl", kernels, "kernels in all"),
}  # fmt: skip


@pytest.mark.parametrize("name", BOMBS)
@pytest.mark.timeout(300)
def test_no_small_file_takes_a_machine(name: str, tmp_path: Path):
    filename, make, said = BOMBS[name]
    path = tmp_path / filename
    path.write_bytes(make())
    child = subprocess.Popen(
        [sys.executable, "-c", READ, str(path)], stdout=subprocess.PIPE,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30)),
    )  # fmt: skip
    assert child.stdout
    output = child.stdout.read()
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    child.stdout.close()
    assert child.returncode == 0
    found, memory = output.splitlines()
    problems, memory = [what for _, what in json.loads(found)], int(memory) << 10
    assert any(said in what for what in problems) if said else not [w for w in problems if "in all" in w]
    assert memory < MEMORY and used.ru_utime + used.ru_stime < SECONDS
    print(f"{name}: {path.stat().st_size} bytes, {memory >> 20} MiB, {used.ru_utime + used.ru_stime:.1f} CPU-s")
    assert zipfile.is_zipfile(path) == filename.endswith(".whl")


def test_json_is_the_same_whatever_the_hash_seed(tmp_path: Path):
    """Findings are cut at a hundred: an order by chance would show others each time."""
    path = tmp_path / GOOD.filename
    files = GOOD.contents() | {f"x/{n}.py": b"import numpy, yaml, attr, torch" for n in range(300)}
    path.write_bytes(zipped(files | {f"{GOOD.info}/RECORD": b""}))
    words = [sys.executable, "-m", "stackbuild", "inspect", "--json", str(path)]
    said = {
        subprocess.run(words, env=os.environ | {"PYTHONHASHSEED": seed}, capture_output=True, check=False).stdout
        for seed in ("1", "2", "3")
    }
    assert len(said) == 1 and b"SB-RECORD-MISMATCH" in said.pop()
