"""Entries of a store."""

from __future__ import annotations

from pathlib import Path

from stackbuild.core import digest
from stackbuild.store.records import Record
from stackbuild.store.store import Store, new_run_id

KEY = digest.of_text("key")


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


def put(store: Store, key: str = KEY, step: str = "s") -> Record:
    staging = store.stage(step)
    fill(staging.out)
    record = Record(
        key, step, "r", store.keep(staging), "step: s\n", 1.5, store.run, "2026-01-01T00:00:00+00:00", {"n": "ü\n"}
    )
    store.record(record)
    return record
