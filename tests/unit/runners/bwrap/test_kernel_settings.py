"""What user 0 of a sandbox may not write in /proc, though it has no capability."""

from __future__ import annotations

import os

import pytest

from stackbuild.runners.bwrap import Bwrap


@pytest.mark.parametrize("folder", ["sys", "fs", "acpi", "driver"])
def test_settings_of_the_kernel_and_of_drivers_are_read_only_for_user_0(
    folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """NVIDIA's driver has files in /proc/driver that user 0 may write: `suspend` stops the GPUs for everybody."""
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    words = Bwrap("bwrap", ("--ro-bind", "/", "/")).on_terminal(3, "true")
    cover = ["--ro-bind-try", f"/proc/{folder}", f"/proc/{folder}"]
    places = [at for at in range(len(words)) if words[at : at + 3] == cover]
    assert places and places[0] > words.index("--proc")
