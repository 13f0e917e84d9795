"""What of another root file system the clean cell shows."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from stackbuild.verification.probe_sandbox import ProbeSandbox, _read, _tail, interpreter_files


def shown(root: Path, tmp_path: Path) -> list[str]:
    words = ProbeSandbox(tmp_path, Path("/usr/bin/python3"), root=root)._bwrap((), ()).root
    return [words[i + 1] for i, word in enumerate(words) if word == "--ro-bind"]


def test_no_link_of_a_root_shows_a_file_of_this_machine(tmp_path: Path) -> None:
    root, secret = tmp_path / "root", tmp_path / "secret"
    (root / "etc").mkdir(parents=True)
    secret.write_text("outside")
    (root / "etc/real").write_text("inside")
    (root / "etc/hosts").symlink_to(secret)
    (root / "etc/OpenCL").symlink_to("../../secret")
    (root / "etc/localtime").symlink_to("/etc/real")
    assert shown(root, tmp_path) == [str(root / "etc/real"), "/sys"]


def test_a_link_that_a_wheel_put_in_place_of_the_interpreter_is_not_followed(tmp_path: Path) -> None:
    """In the cell the link leads elsewhere than on this machine."""
    secret, python = tmp_path / "secret/bin/python", tmp_path / "cell/env/bin/python"
    secret.parent.mkdir(parents=True)
    secret.touch()
    python.parent.mkdir(parents=True)
    python.symlink_to(secret)
    sandbox = ProbeSandbox(tmp_path / "cell", python, installations=(Path("/opt/python"),))
    mounts = sandbox._bwrap((), ()).mounts
    assert "/opt/python" in mounts and str(tmp_path / "secret") not in mounts
    python.unlink()
    python.symlink_to("python")  # a link to itself
    assert "/opt/python" in sandbox._bwrap((), ()).mounts


def test_what_an_environment_runs_is_known_without_following_a_link(tmp_path: Path) -> None:
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "python").symlink_to("/usr/bin/python3")
    (folder / "tool").touch()
    files = interpreter_files(tmp_path)
    assert files == (("python", "/usr/bin/python3"), ("pyvenv.cfg", "None"))
    (tmp_path / "pyvenv.cfg").write_text("home = /elsewhere")
    changed_settings = interpreter_files(tmp_path)
    (folder / "python").unlink()
    (folder / "python").touch()
    changed_files = interpreter_files(tmp_path)
    folder.rename(tmp_path / "lib")
    folder.symlink_to("lib")
    assert len({files, changed_settings, changed_files, interpreter_files(tmp_path)}) == 4


def test_the_last_words_are_kept_before_empty_lines() -> None:
    """What an exception of ONNX Runtime says ends in a line's end for each place that threw it."""
    printed = b"terminate called\n  what():  a.cc:1 HIP failure 100\n\n\n\n"
    assert _tail(io.BytesIO(printed)) == "terminate called | what():  a.cc:1 HIP failure 100"


@pytest.mark.parametrize(("size", "is_read"), [(1 << 20, True), (17 << 20, False)])
def test_an_answer_beyond_its_bound_is_not_parsed(size: int, is_read: bool) -> None:
    """64 MiB of empty lists took 1.7 GB of memory."""
    answer = b'{"a": "' + b"x" * size + b'"}'
    assert bool(_read(io.BytesIO(answer))) is is_read
