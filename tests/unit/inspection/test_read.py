"""Reading of files and folders."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from stackbuild.inspection import inspect
from support.binaries import library


def test_what_a_person_may_not_read_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    for name in ("a/x.so", "b/y.so", "c/z.py"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_bytes(library())
    scan, opened = os.scandir, os.open

    def scandir(path: str):
        if str(path).endswith("/a"):
            raise PermissionError(13, "Permission denied", str(path))
        return scan(path)

    def opening(path: object, *words: int, **more: int) -> int:
        if str(path).endswith("z.py"):
            raise PermissionError(13, "Permission denied", str(path))
        return opened(path, *words, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "scandir", scandir)
    monkeypatch.setattr(os, "open", opening)
    facts = inspect(tmp_path)
    assert {(p.subject, p.what) for p in facts.problems} == {
        ("a", "cannot be read: Permission denied"), ("c/z.py", "cannot be read: Permission denied"),
    }  # fmt: skip
    assert [lib.path for lib in facts.libraries] == ["b/y.so"]
