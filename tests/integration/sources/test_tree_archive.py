"""Archives of trees, unpacked by tar in a sandbox: nothing is written outside, and nothing keeps rights."""

from __future__ import annotations

import gzip
import io
import os
import stat
import tarfile
from pathlib import Path

import pytest

from stackbuild.core import digest
from stackbuild.core.errors import LockError, StepFailed
from stackbuild.sources import tree_archive
from stackbuild.sources.mirror import Mirror
from stackbuild.sources.stored_outputs import pack_object, unpack_object
from support.hostile_archives import END, HOSTILE, TAR_ONLY, header, tar_of

pytestmark = pytest.mark.sandbox


@pytest.fixture
def out(tmp_path: Path) -> Path:
    (tmp_path / "out").mkdir()
    return tmp_path / "out"


def write_tar(path: Path, *members: tuple[str, bytes, str, int, bytes]) -> Path:
    """Members as name, type, target, mode, content."""
    with tarfile.open(path, "w") as written:
        for name, kind, target, mode, content in members:
            info = tarfile.TarInfo(name)
            info.type, info.linkname, info.mode, info.size, info.uid = kind, target, mode, len(content), 1234
            written.addfile(info, io.BytesIO(content))
    return path


FILE, LINK, HARD, FOLDER = tarfile.REGTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.DIRTYPE


@pytest.mark.parametrize("name", [*HOSTILE, *TAR_ONLY])
def test_whatever_an_archive_holds_nothing_is_written_outside(name: str, out: Path, tmp_path: Path) -> None:
    archive = tar_of(tmp_path / "k.tar", {**HOSTILE, **TAR_ONLY}[name])
    try:
        tree_archive.unpack_tree(archive, out)
    except StepFailed:
        assert not list(out.iterdir())
    assert sorted(path.name for path in tmp_path.iterdir()) == ["k.tar", "out"]
    assert not any(stat.S_ISBLK(m) or stat.S_ISCHR(m) for m in (path.lstat().st_mode for path in out.rglob("*")))


def test_a_file_through_a_link_to_the_machine_is_not_written(out: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_text("x")
    through = write_tar(tmp_path / "k.tar", ("l", LINK, str(outside), 0o777, b""), ("l/f", FILE, "", 0o644, b"x"))
    with pytest.raises(StepFailed, match="cannot be unpacked"):
        tree_archive.unpack_tree(through, out)
    linked = write_tar(tmp_path / "h.tar", ("h", HARD, str(outside / "secret"), 0o644, b""))
    with pytest.raises(StepFailed, match="cannot be unpacked"):
        tree_archive.unpack_tree(linked, out)
    assert [path.name for path in outside.iterdir()] == ["secret"] and not list(out.iterdir())


def test_rights_and_owners_are_left_behind_whatever_the_umask(out: Path, tmp_path: Path) -> None:
    archive = write_tar(
        tmp_path / "k.tar", ("d", FOLDER, "", 0o3777, b""), ("d/su", FILE, "", 0o6777, b"x"), ("d/r", FILE, "", 0o400, b"")
    )
    before = os.umask(0)
    try:
        tree_archive.unpack_tree(archive, out)
    finally:
        os.umask(before)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in out.rglob("*")}
    assert modes == {"d": 0o755, "su": 0o755, "r": 0o400}
    assert {path.stat().st_uid for path in out.rglob("*")} == {os.geteuid()}


def test_absolute_names_land_inside_and_devices_of_dev_are_left_out(out: Path, tmp_path: Path) -> None:
    archive = write_tar(
        tmp_path / "k.tar",
        ("/etc/in", FILE, "", 0o644, b"x"),
        ("./dev/null", tarfile.CHRTYPE, "", 0o666, b""),
        ("dev/sda", tarfile.BLKTYPE, "", 0o666, b""),
        ("abs", LINK, "/etc/in", 0o777, b""),
    )
    tree_archive.unpack_tree(archive, out)
    assert (out / "etc/in").read_text() == "x" and (out / "abs").readlink() == Path("/etc/in")
    assert sorted(path.name for path in out.rglob("*")) == ["abs", "etc", "in"]


def test_a_stored_output_comes_back_as_it_was(out: Path, tmp_path: Path) -> None:
    tree, mirror = tmp_path / "tree", tmp_path / "mirror"
    (tree / "sub").mkdir(parents=True)
    (tree / "sub" / "run").write_text("x" * 300_000)
    (tree / "sub" / "run").chmod(0o555)
    (tree / "l").symlink_to("/usr/bin/python3")
    pack_object(mirror, "k", tree, {"n": "v"})
    assert unpack_object(Mirror(mirror), "k", out) == {"n": "v"}
    assert (out / "sub/run").read_text() == "x" * 300_000 and (out / "l").readlink() == Path("/usr/bin/python3")
    assert stat.S_IMODE((out / "sub/run").stat().st_mode) == 0o555


def test_an_archive_that_changes_between_its_digest_and_its_reading_is_refused(
    out: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mirror, tree = tmp_path / "mirror", tmp_path / "tree"
    tree.mkdir()
    (tree / "f").write_text("right")
    pack_object(mirror, "k", tree, {})
    archive, names = mirror / "objects/k.tar", tree_archive.member_names

    def names_then_exchange(path: Path, called: str) -> list[str]:
        found = list(names(path, called))
        archive.write_bytes(archive.read_bytes().replace(b"right", b"wrong"))
        return found

    monkeypatch.setattr(tree_archive, "member_names", names_then_exchange)
    with pytest.raises(StepFailed, match="changed while it was unpacked"):
        unpack_object(Mirror(mirror), "k", out)
    assert not list(out.iterdir())
    with pytest.raises(LockError, match="the mirror is damaged"):
        unpack_object(Mirror(mirror), "k", out)


def test_a_compressed_bomb_in_place_of_an_object_is_not_its_digest(out: Path, tmp_path: Path) -> None:
    archive = tmp_path / "k.tar"
    archive.write_bytes(gzip.compress(header(b"a") + END))
    with pytest.raises(StepFailed, match="changed while"):
        tree_archive.unpack_tree(archive, out, sha256=digest.of_file(archive))


def test_padding_after_the_end_does_not_hang(out: Path, tmp_path: Path) -> None:
    archive = tmp_path / "k.tar"
    archive.write_bytes(header(b"a") + END + bytes(4 << 20))
    tree_archive.unpack_tree(archive, out, sha256=digest.of_file(archive))
    assert (out / "a").is_file()
