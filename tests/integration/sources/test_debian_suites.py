"""The shell that adds another suite to a Debian base."""

import subprocess
from pathlib import Path

from stackbuild.sources import debian_archive


def test_the_other_suite_is_of_the_same_archive(tmp_path: Path) -> None:
    (tmp_path / "etc/apt/sources.list.d").mkdir(parents=True)
    (tmp_path / "etc/apt/sources.list").write_text("deb http://archive.example/debian sid main contrib\n")
    hook = debian_archive.suite_hook("sid", "experimental")
    subprocess.run(["sh", "-c", hook, "hook", str(tmp_path)], check=True)
    made = (tmp_path / "etc/apt/sources.list.d/experimental.list").read_text()
    assert made == "deb http://archive.example/debian experimental main contrib\n"
