"""Archives that two tools would read differently, and archives that only look unusual."""

from __future__ import annotations

import struct
from io import BytesIO
from pathlib import Path

import pytest

from stackbuild.inspection.facts import Problem, ProblemKind
from support.binaries import GOOD, zipped
from support.inspected_files import WHEEL, added, looked_at_wheel, written

END = WHEEL.rfind(b"PK\x05\x06")


COUNT, SIZE, START = struct.unpack_from("<HII", WHEEL, END + 10)


def test_the_right_dist_info_is_read_among_several(tmp_path: Path):
    data = added(lambda archive: archive.writestr("aaa-1.0.dist-info/METADATA", "Name: aaa\nVersion: 1.0\n"))
    assert looked_at_wheel(tmp_path, data).wheel.metadata_name == GOOD.name


class Forward(BytesIO):
    """A file that cannot go back, so that zipfile writes data descriptors."""

    def seekable(self) -> bool:
        return False

    def seek(self, *words: int) -> int:
        raise OSError("forward only")


@pytest.mark.parametrize("how", ["descriptors", "wide local sizes", "wide descriptors"])
def test_other_ways_to_write_an_archive_are_clean(how: str, tmp_path: Path):
    buffer = BytesIO() if how == "wide local sizes" else Forward()
    facts = looked_at_wheel(tmp_path, written(buffer, force_zip64=how.startswith("wide")))
    assert facts.packaging == () and facts.problems == ()


def test_members_that_share_bytes_are_read_once(tmp_path: Path):
    """The overlapped-files bomb: three hundred directory entries point at one member."""
    names = {f"{number:04}.bin": b"x" for number in range(300)}
    data = bytearray(zipped(names | {"big.bin": bytes(1 << 20)}))
    where = data.index(b"PK\x01\x02")
    rows = [at for at in range(where, len(data)) if data[at : at + 4] == b"PK\x01\x02"]
    for at in rows[:-1]:
        data[at + 16 : at + 28] = data[rows[-1] + 16 : rows[-1] + 28]
        data[at + 42 : at + 46] = data[rows[-1] + 42 : rows[-1] + 46]
    facts = looked_at_wheel(tmp_path, bytes(data))
    told = [p for p in facts.packaging if "shares its bytes" in p.what]
    assert all("is not read" in p.what for p in told)
    assert sum(1 for m in facts.members if m.size == 1 << 20 and not m.sha256) >= 300
    assert len(told) == 300


def test_a_wheel_without_a_directory_is_told(tmp_path: Path):
    facts = looked_at_wheel(tmp_path, b"PK\x05\x06" + bytes(18))
    assert facts.problems == () and [p.trouble for p in facts.packaging] == [ProblemKind.FORMAT]
    assert isinstance(facts.packaging[0], Problem)
