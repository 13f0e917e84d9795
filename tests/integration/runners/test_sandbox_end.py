"""What a command leaves running is dead when its result is there."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from stackbuild.core.cancel import Stopper
from stackbuild.runners.protocol import Exec, Mount, SessionSpec
from stackbuild.runners.sandbox import Sandbox

pytestmark = pytest.mark.sandbox
WRITES_ON = "(while :; do echo x >> /out/x; done) & until [ -s /out/x ]; do :; done"


def test_nothing_writes_to_the_output_after_a_command(tmp_path: Path) -> None:
    folders = {name: tmp_path / name for name in ("base", "out", "upper", "work")}
    for folder in folders.values():
        folder.mkdir()
    (folders["base"] / "dev").mkdir()
    for name in ("bin", "lib", "lib64", "sbin"):
        (folders["base"] / name).symlink_to(f"usr/{name}")
    for name in ("proc", "tmp", "usr", "out"):
        (folders["base"] / name).mkdir()
    mounts = (Mount(Path("/usr"), "/usr"), Mount(folders["out"], "/out", writable=True))
    spec = SessionSpec(folders["base"], "0" * 64, folders["upper"], folders["work"], mounts, 1 << 28, "test")
    with Sandbox().open(spec) as session:
        for _ in range(3):
            command = Exec(("/bin/sh", "-c", WRITES_ON), (("PATH", "/usr/bin"),), "/", tmp_path / "log")
            result = session.run(command, Stopper())
            assert result.code == 0, (tmp_path / "log").read_text()
            size = (folders["out"] / "x").stat().st_size
            time.sleep(0.05)
            assert (folders["out"] / "x").stat().st_size == size
