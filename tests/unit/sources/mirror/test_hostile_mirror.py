"""A mirror that lies: files without end, FIFOs, indexes and cards that are no text."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from stackbuild.core.cancel import Stopper
from stackbuild.core.copy_file import copy_file
from stackbuild.core.errors import LockError, MachineLacks, StepFailed
from stackbuild.sources import bundle
from stackbuild.sources.http import DownloadRequest, fetch
from stackbuild.sources.mirror import Mirror
from stackbuild.sources.oci import Layout
from stackbuild.sources.stored_outputs import unpack_object

URL = "https://host/a.tar.gz"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Where the mirror has the file."""
    (tmp_path / "mirror/host").mkdir(parents=True)
    return tmp_path / "mirror/host/a.tar.gz"


def fetch_into(folder: Path) -> str:
    return fetch(DownloadRequest(URL, "sha256:" + "0" * 64), folder / "got", Mirror(folder / "mirror"), Stopper())


def test_a_file_of_a_terabyte_of_holes_does_not_fill_the_disk(place: Path, tmp_path: Path) -> None:
    with place.open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(StepFailed, match="larger than 8 GiB"):
        fetch_into(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mirror"]


def test_a_file_that_grows_while_it_is_copied_has_the_same_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source, sendfile = tmp_path / "source", os.sendfile
    source.write_bytes(b"x" * 10)

    def sendfile_and_grow(target: int, origin: int, offset: None, count: int) -> int:
        with source.open("ab") as file:
            file.write(b"x" * 10)
        return sendfile(target, origin, offset, count)

    monkeypatch.setattr(os, "sendfile", sendfile_and_grow)
    with pytest.raises(OverflowError):
        copy_file(source, tmp_path / "target", most=1000)
    assert (tmp_path / "target").stat().st_size <= 1020


def test_a_fifo_is_not_waited_for(place: Path, tmp_path: Path) -> None:
    os.mkfifo(place)
    with pytest.raises(MachineLacks, match="lacks"):
        fetch_into(tmp_path)


@pytest.mark.parametrize("target", ["/dev/zero", "/dev/full"])
def test_a_device_is_no_index_no_card_and_no_layout(target: str, tmp_path: Path) -> None:
    (tmp_path / "objects").mkdir()
    for name in ("bundle.json", "index.json", "objects/k.json"):
        (tmp_path / name).symlink_to(target)
    with pytest.raises(LockError, match="not there"):
        bundle.index(tmp_path, "0" * 64)
    assert unpack_object(Mirror(tmp_path), "k", tmp_path / "out") is None
    with pytest.raises(StepFailed, match="no OCI image layout"):
        Layout(tmp_path).digest  # noqa: B018


@pytest.mark.parametrize("data", [b"\xff\xfe", b"[" * 100_000, b'{"files": {"a": NaN}', b"9" * 5000])
def test_bytes_that_are_no_text_are_damage(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "objects").mkdir()
    for name in ("bundle.json", "index.json", "objects/k.json"):
        (tmp_path / name).write_bytes(data)
    with pytest.raises(LockError, match="cannot be read"):
        bundle.index(tmp_path, "")
    with pytest.raises(LockError, match="no card"):
        unpack_object(Mirror(tmp_path), "k", tmp_path / "out")
    with pytest.raises(StepFailed, match="no OCI image layout"):
        Layout(tmp_path).digest  # noqa: B018
