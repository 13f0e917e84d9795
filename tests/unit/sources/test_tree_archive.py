"""Archives of trees: what is refused before tar sees it."""

from __future__ import annotations

import io
import os
import re
import tarfile
from pathlib import Path

import pytest

from stackbuild.core.errors import StepFailed
from stackbuild.core.tree_walk import Bounds
from stackbuild.sources import tree_archive
from support.hostile_archives import BLOCK, END, HUGE, NEGATIVE, block, header, octal, tar_of


def tar(path: Path, *parts: bytes) -> Path:
    path.write_bytes(b"".join(parts))
    return path


SPARSE = b"22 GNU.sparse.major=1\n22 GNU.sparse.minor=0\n34 GNU.sparse.realsize=%d\n" % (9 << 30)
BAD: dict[str, tuple[bytes, str]] = {
    "parent": (header(b"a/../../out") + END, "leads out"),
    "parent alone": (header(b"..") + END, "leads out"),
    "hard link to a parent": (header(b"a", b"1", link=b"../../etc/passwd") + END, "leads out"),
    "device": (header(b"null", b"3") + END, "is a device"),
    "block device": (header(b"sub/sda", b"4") + END, "is a device"),
    "device below a folder of that name": (header(b"x/dev/sda", b"4") + END, "is a device"),
    "200 folders deep": (header(b"L", b"L", octal(401)) + block(b"a/" * 200 + b"\0") + header() + END, "at most 128"),
    "a size below nothing": (header(size=NEGATIVE) + END, "refused|damaged|no tar"),
    "a size of exabytes": (header(size=HUGE) + END, "bomb|damaged"),
    "sparse, 100 GiB": (header(size=b"\x80" + (100 << 30).to_bytes(11, "big")) + END, "bomb"),
    "what is no header after a member": (header() + b"x" * BLOCK + END, "damaged"),
    "a header of which a part is missing": (header() + header(b"b")[:100], "damaged"),
    "nothing": (b"", "damaged|no tar|not a tar"),
    "text": (b"hello\n" * 1000, "damaged|not a tar"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_hostile_archive_is_refused_before_anything_is_written(name: str, tmp_path: Path) -> None:
    data, why = BAD[name]
    out = tmp_path / "out"
    out.mkdir()
    with pytest.raises(StepFailed) as refused:
        tree_archive.unpack_tree(tar(tmp_path / "k.tar", data), out)
    assert re.search(why, f"{refused.value.what} {refused.value.next}"), refused.value.what
    assert not list(out.iterdir())


def test_the_holes_of_sparse_files_are_bounded(tmp_path: Path) -> None:
    whole = header(b"pax", b"x", octal(len(SPARSE))) + block(SPARSE) + header(b"a", size=octal(BLOCK)) + block(b"0\n") + END
    with pytest.raises(StepFailed, match="GiB of sparse files"):
        list(tree_archive.member_names(tar(tmp_path / "k.tar", whole)))


def test_bombs_of_many_members_and_bytes_are_counted(tmp_path: Path) -> None:
    archive = tar_of(tmp_path / "k.tar", [(f"f{number}", "f", "x") for number in range(20)])
    assert len(list(tree_archive.member_names(archive))) == 20
    for bounds in (Bounds(entries=19), Bounds(bytes=19)):
        with pytest.raises(StepFailed, match="more than"):
            list(tree_archive.member_names(archive, bounds=bounds))


def test_no_member_is_kept_in_memory(tmp_path: Path) -> None:
    archive = tmp_path / "k.tar"
    with tarfile.open(archive, "w") as written:
        for number in range(100_000):
            written.addfile(tarfile.TarInfo(f"f{number}"))
            written.members.clear()
    assert sum(1 for _ in tree_archive.member_names(archive)) == 100_000


def test_what_a_root_file_system_has_is_taken(tmp_path: Path) -> None:
    """Absolute links, hard links, devices of /dev, a leading slash: inside of the sandbox they lead nowhere else."""
    archive = tmp_path / "k.tar"
    with tarfile.open(archive, "w") as written:
        for name, kind, target in (
            ("./etc", tarfile.DIRTYPE, ""),
            ("./etc/x", tarfile.SYMTYPE, "/usr/../../x"),
            ("./etc/y", tarfile.LNKTYPE, "./etc/z"),
            ("./dev/null", tarfile.CHRTYPE, ""),
            ("dev/sda", tarfile.BLKTYPE, ""),
            ("/etc/passwd", tarfile.REGTYPE, ""),
        ):
            info = tarfile.TarInfo(name)
            info.type, info.linkname = kind, target
            written.addfile(info, io.BytesIO())
    assert len(list(tree_archive.member_names(archive))) == 6


def test_a_fifo_in_place_of_an_archive_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "k.tar")
    with pytest.raises(StepFailed, match="not a file"):
        list(tree_archive.member_names(tmp_path / "k.tar"))
