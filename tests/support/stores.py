"""Entries of a store."""

from __future__ import annotations

import os
from pathlib import Path

from stackbuild.core import digest
from stackbuild.store.records import Record
from stackbuild.store.store import Store, new_run_id

TEXT = "step: s\n"
KEY = digest.of_text(TEXT)


def deep(folder: Path, levels: int, name: str = "d") -> None:
    """Folders in folders, each with a file; made without a path longer than one name."""
    fd = os.open(folder, os.O_RDONLY)
    for _ in range(levels):
        os.mkdir(name, dir_fd=fd)
        inner = os.open(name, os.O_RDONLY, dir_fd=fd)
        os.close(fd)
        fd = inner
        os.close(os.open("f", os.O_CREAT | os.O_WRONLY, dir_fd=fd))
    os.close(fd)


def fill(folder: Path) -> None:
    (folder / "sub").mkdir()
    (folder / "sub" / "code").write_bytes(b"\x00\x01" * 500)
    (folder / "tool").write_text("#!/bin/sh\n")
    (folder / "tool").chmod(0o755)
    (folder / "link").symlink_to("sub/code")
    (folder / "empty").mkdir()
    (folder / "nothing").touch()


def again(store: Store) -> Store:
    """The store as the next run opens it."""
    return Store(store.root, new_run_id())


def put(store: Store, text: str = TEXT, step: str = "s") -> Record:
    staging = store.stage(step)
    fill(staging.out)
    record = Record(digest.of_text(text), step, "r", store.keep(staging), text, 1.5, store.run, "2026-01-01T00:00:00+00:00", {"n": "ü\n"})
    store.record(record)
    return record
