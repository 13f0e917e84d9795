"""Mount points in an upper layer that a step left: made in it, or refused, never made where its links lead."""

from __future__ import annotations

from pathlib import Path

import pytest

from stackbuild.core.errors import UsageError
from stackbuild.runners.protocol import Mount
from stackbuild.runners.sandbox import make_mount_point


@pytest.fixture
def upper(tmp_path: Path) -> Path:
    (tmp_path / "upper").mkdir()
    (tmp_path / "machine").mkdir()
    return tmp_path / "upper"


def test_points_are_made_once_and_again(upper: Path) -> None:
    file = upper.parent / "file"
    file.touch()
    for _ in range(2):
        make_mount_point(upper, Mount(upper.parent, "/src/x"))
        make_mount_point(upper, Mount(file, "/etc/file"))
    assert (upper / "src/x").is_dir() and (upper / "etc/file").is_file()


def test_no_link_of_a_step_is_followed(upper: Path) -> None:
    machine = upper.parent / "machine"
    file = upper.parent / "file"
    file.touch()
    (upper / "src").symlink_to(machine)
    (upper / "out").symlink_to(machine)
    (upper / "etc").touch()
    (upper / "passwd").symlink_to(machine / "new")
    for mount in (Mount(machine, "/src/x"), Mount(machine, "/out"), Mount(machine, "/etc/x"), Mount(file, "/passwd")):
        with pytest.raises(UsageError, match="the step put another thing where"):
            make_mount_point(upper, mount)
    assert list(machine.iterdir()) == []
