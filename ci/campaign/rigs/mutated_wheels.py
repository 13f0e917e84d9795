"""Wheels that were damaged or repacked, through `inspect`: each one is refused or has an error among its findings.

Three families. *Damaged files*: bytes of the archive are changed, cut or doubled. An installer's own reader, Python's
zipfile, decides whether anything that is installed changed: only then a finding must come. *Damaged GPU code*: code objects
are cut short or their descriptors, symbols and metadata contradict each other, and RECORD is right again. *Repacked
wheels*: RECORD is right, and something else is wrong with names, metadata or start-up code.
"""

from __future__ import annotations

import io
import struct
import time
import zipfile
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from random import Random

from campaign.frame import CampaignCase, Rig
from stackbuild.core.errors import UsageError
from stackbuild.inspection import Expectations, inspect, judge
from stackbuild.model.findings import Severity
from support.binaries import GOOD, TARGETS, bundle, ccob, code_object, kernel, record, section, zipped

EXPECTATIONS = Expectations(gfx=TARGETS, rocm="6.4")
SECONDS = 20.0
INFO = GOOD.info


def cases(random: Random) -> Sequence[CampaignCase]:
    rows = [CampaignCase("the good wheel", _good)]
    for family, number, attempt in (("archive", 180, _damaged_archive), ("code object", 120, _damaged_object)):
        rows += [CampaignCase(f"{family} {n}", partial(attempt, random.randrange(1 << 48))) for n in range(number)]
    rows += [CampaignCase(f"repacked: {name}", partial(_repack, files)) for name, files in _repackings()]
    return rows


def _good(folder: Path) -> str:
    """The wheel that the others are made of has no error: else every case would be found for nothing."""
    return ", ".join(_errors(GOOD.bytes(), folder) or ())


def _errors(data: bytes, folder: Path, name: str = GOOD.filename) -> list[str] | None:
    """The rules whose error findings a wheel has; None where it is refused as no wheel."""
    path, began = folder / name, time.monotonic()
    path.write_bytes(data)
    try:
        rules = [finding.rule for finding in judge(inspect(path), EXPECTATIONS) if finding.severity is Severity.ERROR]
    except UsageError:
        return None
    if (took := time.monotonic() - began) > SECONDS:
        raise TimeoutError(f"it took {took:.0f} s")
    return rules


def _unpack(data: bytes) -> dict[str, bytes] | None:
    """What Python's zipfile unpacks; None where it cannot."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return {name: archive.read(name) for name in archive.namelist()}
    except Exception:  # zipfile raises many types on damaged archives
        return None


WHOLE = GOOD.bytes()


def _damaged_archive(seed: int, folder: Path) -> str:
    random = Random(seed)
    change = random.choice((_flip, _number, _cut_out, _double, _cut_off, _zero, _move))
    data = change(WHOLE, random)
    if _unpack(data) == _unpack(WHOLE):
        return ""
    errors = _errors(data, folder)
    return (
        "" if errors is None or errors else f"{change.__name__[1:]} of seed {seed}: what is installed changed, no error"
    )


def _flip(data: bytes, random: Random) -> bytes:
    content = bytearray(data)
    content[random.randrange(len(content))] ^= 1 << random.randrange(8)
    return bytes(content)


def _number(data: bytes, random: Random) -> bytes:
    at = random.randrange(len(data) - 4)
    return data[:at] + random.choice((b"\0" * 4, b"\xff" * 4, random.randbytes(4))) + data[at + 4 :]


def _cut_out(data: bytes, random: Random) -> bytes:
    at = random.randrange(len(data))
    return data[:at] + data[at + random.choice((1, 30, 500)) :]


def _double(data: bytes, random: Random) -> bytes:
    at, size = random.randrange(len(data)), random.choice((1, 30, 500))
    return data[: at + size] + data[at:]


def _cut_off(data: bytes, random: Random) -> bytes:
    return data[: random.randrange(len(data))]


def _zero(data: bytes, random: Random) -> bytes:
    at, size = random.randrange(len(data)), random.choice((16, 512))
    return data[:at] + bytes(len(data[at : at + size])) + data[at + size :]


def _move(data: bytes, random: Random) -> bytes:
    one, two = sorted(random.sample(range(len(data)), 2))
    return data[:one] + data[two:] + data[one:two]


def _damaged_object(seed: int, folder: Path) -> str:
    """One code object among whole ones, in a plain or compressed bundle, and RECORD made for it."""
    random = Random(seed)
    target = random.choice(TARGETS)
    kernels = [kernel(f"k{n}", **{".group_segment_fixed_size": 512 * (n + 1)}) for n in range(5)]
    whole = code_object(target, kernels)
    change = random.choice((_cut_short, _cut_short, _descriptor, _symbol, _claim, _segment, _no_code, _no_symbols))
    spoilt_bytes = change(whole, random)
    objects = {t: code_object(t, kernels) for t in TARGETS} | {target: spoilt_bytes}
    plain = bundle(objects)
    container = random.choice((plain, ccob(plain, 1, 0), ccob(plain, 2, 1), ccob(plain, 3, 1)))
    errors = _errors(GOOD.but(lib={"fatbin": section([container])}).bytes(), folder)
    return "" if errors is None or errors else f"{change.__name__[1:]} of seed {seed} in {target}: no error"


def _cut_short(data: bytes, random: Random) -> bytes:
    return data[: random.randrange(1, len(data))]


def _put(data: bytes, at: int, number: int) -> bytes:
    content = bytearray(data)
    struct.pack_into("<I", content, at, number)
    return bytes(content)


def _text_at(data: bytes) -> int:
    return int(struct.unpack_from("<Q", data, 64 + 2 * 56 + 8)[0])


def _descriptor(data: bytes, random: Random) -> bytes:
    """LDS, scratch or the distance to the code of one kernel."""
    at = _text_at(data) - 64 * random.randrange(1, 6)
    field = random.choice((0, 4, 16, 20))
    return _put(data, at + field, struct.unpack_from("<I", data, at + field)[0] + random.choice((1 << 20, 1 << 24)))


def _symbol(data: bytes, random: Random) -> bytes:
    number = random.randrange(5)
    return data.replace(b"k%d.kd\0" % number, b"x%d.kd\0" % number)


def _claim(data: bytes, random: Random) -> bytes:
    """The metadata's own sizes: what is reported of the kernel. LDS counts in blocks of 512 bytes, here as 0xcd and two bytes."""
    key = random.choice((b"\xb9.group_segment_fixed_size", b"\xbb.private_segment_fixed_size"))
    at = data.index(key) + len(key)
    if data[at] == 0xCD:
        return data[: at + 1] + bytes([data[at + 1] ^ 0x40]) + data[at + 2 :]
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


def _segment(data: bytes, random: Random) -> bytes:
    """Where a segment lies, or how long it is."""
    header = 64 + 56 * random.randrange(4)
    return _put(data, header + random.choice((8, 32)), len(data) + random.randrange(1, 1 << 20))


def _no_code(data: bytes, random: Random) -> bytes:
    at = _text_at(data)
    return data[:at] + bytes(256) + data[at + 256 :]


def _no_symbols(data: bytes, random: Random) -> bytes:
    at = len(data) - 5 * 16 + 16 * random.randrange(2)
    return _put(data, at, 0x77)


def _repack(files: Callable[[], dict[str, bytes]], folder: Path) -> str:
    errors = _errors(zipped(files()), folder)
    return "" if errors is None or errors else "no error"


def _with(**changes: object) -> Callable[[], dict[str, bytes]]:
    def make() -> dict[str, bytes]:
        files = GOOD.but(**changes).contents()
        return files | {f"{INFO}/RECORD": record(files, f"{INFO}/RECORD")}

    return make


def _file(path: str, data: bytes = b"x") -> Callable[[], dict[str, bytes]]:
    return _with(files={path: data})


def _commands(line: str) -> Callable[[], dict[str, bytes]]:
    return _file(f"{INFO}/entry_points.txt", f"[console_scripts]\n{line}\n".encode())


def _repackings() -> Iterator[tuple[str, Callable[[], dict[str, bytes]]]]:
    data = f"{INFO.removesuffix('.dist-info')}.data"
    for name in (
        "../evil.py",
        "/etc/evil",
        "a/../../evil.py",
        "C:/evil.py",
        "a/./b.py",
        "a//b.py",
        "a/\u202eyp.exe",
        "a/\u2066x",
        "a/\x1b[2J",
    ):
        yield f"member {name!r}", _file(name)
    for name in (
        "evil.pth",
        f"{data}/purelib/evil.pth",
        f"{data}/platlib/evil.pth",
        "sitecustomize.py",
        "usercustomize.py",
        "sitecustomize/__init__.py",
    ):
        yield f"start-up {name}", _file(name, b"import os\n")
    for name in (f"{data}/purelib/onnxruntime_ep_forge/__init__.py", f"{data}/stuff/x.py"):
        yield f"data {name}", _file(name)
    for line in (
        "../../evil = a:b",
        "a/b = a:b",
        ".. = a:b",
        "x = os; import sys",
        "x\u202ey = a:b",
        " = a:b",
        "x = a b:c",
    ):
        yield f"command {line!r}", _commands(line)
    for text in ("torch>=2.x", "torch >> 2", "@ file:///x", "a b c", "torch; python_version ~ '3'", ""):
        yield f"requires {text!r}", _with(metadata=GOOD.metadata + f"Requires-Dist: {text}\n")
    for text in ("three", ">=3.x", "<3,,>2 or"):
        yield f"python {text!r}", _with(metadata=GOOD.metadata + f"Requires-Python: {text}\n")
    for text in ("2.0", "0.9", "one", "", "1.0.dev"):
        yield f"wheel version {text!r}", _with(wheel_version=text)
    for path in ("$ORIGIN;/x", "$ORIGIN:", "", "/opt/x", "lib", "$LIB/x"):
        yield f"runpath {path!r}", _with(lib={"runpath": path})
    for name, change in (
        ("text relocations", {"tags": [(22, 0)]}),
        ("executable stack", {"stack": 7}),
        ("another machine", {"machine": 183}),
    ):
        yield name, _with(lib=change)
    for name, exports in (("half a plugin", ["CreateEpFactories"]), ("no plugin", ["f"])):
        yield name, _with(lib={"exports": exports})
    for name, init in (("undeclared import", "import flatbuffers\n"),):
        yield name, _with(init=init)


RIG = Rig(
    "mutated-wheels",
    "damaged and repacked wheels through inspect: each is refused or has an error",
    cases,
    needs=(),
    minimum=300,
)
