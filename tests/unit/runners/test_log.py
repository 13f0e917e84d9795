"""A step's log holds the beginning and the end of what was printed, and says how much is left out between."""

from __future__ import annotations

import errno
import os
import time
from pathlib import Path

import pytest

from stackbuild.runners.log import LogWriter, log_pipe


def written(path: Path, *chunks: bytes, head: int = 10, tail: int = 4) -> bytes:
    writer = LogWriter(path, head, tail)
    for chunk in chunks:
        writer.write(chunk)
    writer.close()
    return path.read_bytes()


def test_what_fits_is_written_as_it_came(tmp_path: Path) -> None:
    assert written(tmp_path / "log", b"abc", b"", b"defghij") == b"abcdefghij"


def test_the_middle_is_left_out_and_counted(tmp_path: Path) -> None:
    text = written(tmp_path / "log", b"0123456789", *(b"%d" % (n % 10) for n in range(1000)))
    assert text == "0123456789\n… 996 bytes left out …\n6789".encode()


def test_a_big_last_piece_is_kept_whole(tmp_path: Path) -> None:
    assert written(tmp_path / "log", b"01234567", b"89abcdefgh") == b"0123456789abcdefgh"


def test_the_next_command_of_a_step_shares_the_beginning(tmp_path: Path) -> None:
    written(tmp_path / "log", b"0123456789")
    assert written(tmp_path / "log", b"abcd", b"efgh") == "0123456789\n… 4 bytes left out …\nefgh".encode()


def test_memory_and_disk_stay_bounded(tmp_path: Path) -> None:
    with log_pipe(tmp_path / "log", head=1 << 20, tail=1 << 16) as out:
        for _ in range(200):
            os.write(out, b"x" * (1 << 16))
    assert (1 << 20) <= (tmp_path / "log").stat().st_size <= (1 << 20) + (1 << 17) + 100


def test_everything_printed_is_in_the_log_when_the_context_is_left(tmp_path: Path) -> None:
    for _ in range(50):
        (tmp_path / "log").unlink(missing_ok=True)
        with log_pipe(tmp_path / "log") as out:
            os.write(out, b"last words\n")
        assert (tmp_path / "log").read_bytes() == b"last words\n"


def test_a_process_that_keeps_the_pipe_is_not_waited_for(tmp_path: Path) -> None:
    started = time.monotonic()
    with log_pipe(tmp_path / "log") as out:
        daemon = os.dup(out)
        os.write(out, b"said\n")
    assert time.monotonic() - started < 2 and (tmp_path / "log").read_bytes() == b"said\n"
    os.close(daemon)


@pytest.mark.timeout(30)
def test_a_process_that_writes_on_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is read stays in the pipe here, as if somebody filled it at once."""
    monkeypatch.setattr(os, "read", lambda fd, most: b"x" * most)
    with log_pipe(tmp_path / "log", head=1 << 20, tail=1 << 16) as out:
        os.write(out, b"x")


def test_a_full_disk_is_told_and_the_command_is_not_blocked() -> None:
    with pytest.raises(OSError) as caught, log_pipe(Path("/dev/full")) as out:
        for _ in range(100):
            os.write(out, b"x" * (1 << 16))
    assert caught.value.errno == errno.ENOSPC
