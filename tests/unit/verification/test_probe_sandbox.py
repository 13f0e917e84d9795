"""What of another root file system the clean cell shows."""

from __future__ import annotations

import io
from pathlib import Path

from stackbuild.verification.probe_sandbox import ProbeSandbox, _tail


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


def test_the_last_words_are_kept_before_empty_lines() -> None:
    """What an exception of ONNX Runtime says ends in a line's end for each place that threw it."""
    printed = b"terminate called\n  what():  a.cc:1 HIP failure 100\n\n\n\n"
    assert _tail(io.BytesIO(printed)) == "terminate called | what():  a.cc:1 HIP failure 100"
