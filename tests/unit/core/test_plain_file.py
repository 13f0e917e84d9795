"""What a step left is read only where it is a regular file, and never for longer than its bound."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from stackbuild.core.plain_file import read_bounded, read_plain


def test_a_regular_file_is_read_up_to_the_bound(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "file").write_bytes(b"0123456789" * 300_000)
    assert read_plain(tmp_path, "a/b/file", 12) == b"012345678901"
    assert len(read_plain(tmp_path, "a/b/file", 1 << 30) or b"") == 3_000_000


@pytest.mark.timeout(10)
def test_nothing_else_is_read_or_waited_for(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file").write_text("secret")
    folder = tmp_path / "folder"
    folder.mkdir()
    os.mkfifo(folder / "fifo")
    (folder / "link").symlink_to(outside / "file")
    (folder / "up").symlink_to("..")
    (folder / "closed").write_text("x")
    (folder / "empty").mkdir()
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(folder / "socket"))
        for name in ("fifo", "link", "up/outside/file", "../outside/file", "/etc/passwd", "empty", "socket", "absent", "", "closed/x"):
            assert read_plain(folder, name, 100) is None, name
    assert read_plain(Path("/dev"), "zero", 100) is None
    assert read_plain(folder / "absent", "x", 1) is None


def test_a_named_file_is_read_whole_or_refused(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"12345")
    assert read_bounded(tmp_path / "a", 5) == b"12345"
    with pytest.raises(ValueError, match="longer than 4 bytes"):
        read_bounded(tmp_path / "a", 4)
    with pytest.raises(ValueError, match="longer than 4 bytes"):
        read_bounded(Path("/dev/zero"), 4)
