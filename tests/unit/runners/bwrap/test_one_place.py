"""bubblewrap's options are written in one module."""

from __future__ import annotations

from pathlib import Path

import stackbuild

PACKAGE = Path(stackbuild.__file__).parent
SHARED = ("--unshare-pid", "--unshare-all", "--die-with-parent", "--cap-drop", "--clearenv")


def test_no_other_module_writes_what_every_sandbox_has() -> None:
    modules = {path.relative_to(PACKAGE).as_posix(): path.read_text("utf-8") for path in PACKAGE.rglob("*.py")}
    assert [name for name, text in modules.items() if any(f'"{word}' in text for word in SHARED)] == [
        "runners/bwrap.py"
    ]
