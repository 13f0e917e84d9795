"""Archives that two tools would read differently, and archives that only look unusual."""

from __future__ import annotations

import struct
import zipfile
import zlib
from collections.abc import Callable
from io import BytesIO
from pathlib import Path

import pytest

from stackbuild.inspection import Facts, inspect
from stackbuild.inspection.facts import Problem, ProblemKind
from support.binaries import GOOD, zipped

INIT = "onnxruntime_ep_forge/__init__.py"
WHEEL = GOOD.bytes()
END = WHEEL.rfind(b"PK\x05\x06")
COUNT, SIZE, START = struct.unpack_from("<HII", WHEEL, END + 10)


def looked(tmp_path: Path, data: bytes) -> Facts:
    path = tmp_path / GOOD.filename
    path.write_bytes(data)
    return inspect(path)


def local(name: bytes, data: bytes) -> bytes:
    head = struct.pack(
        "<4sHHHHHIIIHH", b"PK\x03\x04", 20, 0, 0, 0, 0x21, zlib.crc32(data), len(data), len(data), len(name), 0
    )
    return head + name + data


def ended(count: int, size: int, start: int) -> bytes:
    return struct.pack("<4sHHHHIIH", b"PK\x05\x06", 0, 0, count, count, size, start, 0)


def shifted(by: int) -> bytes:
    """The directory, of members that all lie that much further on."""
    rows, at = bytearray(WHEEL[START:END]), 0
    while at < len(rows):
        name, extra, comment = struct.unpack_from("<HHH", rows, at + 28)
        struct.pack_into("<I", rows, at + 42, struct.unpack_from("<I", rows, at + 42)[0] + by)
        at += 46 + name + extra + comment
    return bytes(rows)


def hidden() -> bytes:
    """A member that only those see who read from the front (CVE-2025-54368)."""
    more = local(b"zz/evil.py", b"import os")
    return WHEEL[:START] + more + WHEEL[START:END] + ended(COUNT, SIZE, START + len(more))


def hidden_first() -> bytes:
    more = local(INIT.encode(), b"EVIL = 1")
    return more + WHEEL[:START] + shifted(len(more)) + ended(COUNT, SIZE, START + len(more))


def counted(count: int) -> bytes:
    return WHEEL[:END] + ended(count, SIZE, START)


def two_directories() -> bytes:
    """The end record names one directory, the Zip64 record another: pip installs what unzip does not show."""
    rows = shifted(0).replace(INIT.encode(), b"onnxruntime_ep_forge/__evil__.py")
    where = END
    record = struct.pack("<4sQHHIIQQQQ", b"PK\x06\x06", 44, 45, 45, 0, 0, COUNT, COUNT, len(rows), where)
    locator = struct.pack("<4sIQI", b"PK\x06\x07", 0, where + len(rows), 1)
    return WHEEL[:END] + rows + record + locator + ended(0xFFFF, SIZE, START)


def named_otherwise() -> bytes:
    name, other = b"zz/a.py", b"zz/b.py"
    info = zipfile.ZipInfo(name.decode())
    info.extra = struct.pack("<HHBI", 0x7075, 5 + len(other), 1, zlib.crc32(name)) + other
    return added(lambda archive: archive.writestr(info, "x"))


def added(change: Callable[[zipfile.ZipFile], object]) -> bytes:
    buffer = BytesIO(WHEEL)
    with zipfile.ZipFile(buffer, "a") as archive:
        change(archive)
    return buffer.getvalue()


def beside(path: str) -> Callable[[], bytes]:
    return lambda: added(lambda archive: archive.writestr(path, "EVIL = 1"))


UNCLEAN: dict[str, tuple[Callable[[], bytes], str]] = {
    "a member in no directory": (hidden, "belong to no member"),
    "a member before the first": (hidden_first, "belong to no member"),
    "a count too low": (lambda: counted(1), f"counts 1 members, the directory has {COUNT}"),
    "a count that promises Zip64": (lambda: counted(0xFFFF), "counts 65535 members"),
    "bytes before, with that count": (lambda: b"MZ" * 50 + counted(0xFFFF), "stand before the archive"),
    "two directories": (two_directories, "Zip64 record disagree"),
    "another name in an extra field": (named_otherwise, "another name"),
    "the same file by a dot": (beside(f"./{INIT}"), f"installed over {INIT}"),
    "the same file by an empty part": (beside(INIT.replace("/", "//")), f"installed over {INIT}"),
    "the same file by a dot inside": (beside(INIT.replace("/", "/./")), "a dot for one"),
    "the same file by .data": (beside(f"x-1.data/purelib/{INIT}"), f"installed over {INIT}"),
    "an unknown part of .data": (beside("x-1.data/evil/x.py"), "not part of a .data folder"),
    "a file that is a folder": (beside("onnxruntime_ep_forge"), "is a file, and a folder"),
    "several .dist-info": (beside("zzz-1.0.dist-info/METADATA"), "several .dist-info"),
    "another wheel's .dist-info": (
        lambda: zipped({"other-9.dist-info/METADATA": b"Name: other\nVersion: 9\n", "a.py": b""}),
        "not named for this wheel",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", UNCLEAN)
def test_what_can_be_read_in_two_ways_is_said(name: str, tmp_path: Path):
    make, said = UNCLEAN[name]
    assert any(said in problem.what for problem in looked(tmp_path, make()).packaging)


def test_the_right_dist_info_is_read_among_several(tmp_path: Path):
    data = added(lambda archive: archive.writestr("aaa-1.0.dist-info/METADATA", "Name: aaa\nVersion: 1.0\n"))
    assert looked(tmp_path, data).wheel.metadata_name == GOOD.name


class Forward(BytesIO):
    """A file that cannot go back, so that zipfile writes data descriptors."""

    def seekable(self) -> bool:
        return False

    def seek(self, *words: int) -> int:
        raise OSError("forward only")


def written(buffer: BytesIO, **how: bool) -> bytes:
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as out, zipfile.ZipFile(BytesIO(WHEEL)) as good:
        for info in good.infolist():
            with out.open(zipfile.ZipInfo(info.filename), "w", **how) as member:
                member.write(good.read(info))
    return buffer.getvalue()


@pytest.mark.parametrize("how", ["descriptors", "wide local sizes", "wide descriptors"])
def test_other_ways_to_write_an_archive_are_clean(how: str, tmp_path: Path):
    buffer = BytesIO() if how == "wide local sizes" else Forward()
    facts = looked(tmp_path, written(buffer, force_zip64=how.startswith("wide")))
    assert facts.packaging == () and facts.problems == ()


def test_an_archive_that_needs_zip64_is_clean(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(zipfile, "ZIP_FILECOUNT_LIMIT", 2)
    data = written(BytesIO())
    assert b"PK\x06\x06" in data
    assert looked(tmp_path, data).packaging == ()


def test_members_that_share_bytes_are_read_once(tmp_path: Path):
    """The overlapped-files bomb: three hundred directory entries point at one member."""
    names = {f"{number:04}.bin": b"x" for number in range(300)}
    data = bytearray(zipped(names | {"big.bin": bytes(1 << 20)}))
    where = data.index(b"PK\x01\x02")
    rows = [at for at in range(where, len(data)) if data[at : at + 4] == b"PK\x01\x02"]
    for at in rows[:-1]:
        data[at + 16 : at + 28] = data[rows[-1] + 16 : rows[-1] + 28]
        data[at + 42 : at + 46] = data[rows[-1] + 42 : rows[-1] + 46]
    facts = looked(tmp_path, bytes(data))
    told = [p for p in facts.packaging if "shares its bytes" in p.what]
    assert all("is not read" in p.what for p in told)
    assert sum(1 for m in facts.members if m.size == 1 << 20 and not m.sha256) >= 300
    assert len(told) == 300


def test_a_wheel_without_a_directory_is_told(tmp_path: Path):
    facts = looked(tmp_path, b"PK\x05\x06" + bytes(18))
    assert facts.problems == () and [p.trouble for p in facts.packaging] == [ProblemKind.FORMAT]
    assert isinstance(facts.packaging[0], Problem)
