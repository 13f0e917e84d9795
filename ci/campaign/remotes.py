"""A sound remote for rigs that damage it: made once a process, copied for each case."""

from __future__ import annotations

import atexit
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from campaign.frame import NotRun
from stackbuild.store import atomic
from stackbuild.store.store import Store, new_run_id
from support.remotes import FakeRegistry, Said, asked, open_at, puller, push_all, put

LARGE = 6
"""Files with a pack of their own."""


@dataclass(frozen=True)
class SoundRemote:
    """A registry with one output, its tree digest, the builder's store, and the paths of a pull in their order."""

    registry: FakeRegistry
    tree: str
    builder: Path
    requests: tuple[tuple[str, str], ...]


@cache
def sound() -> SoundRemote:
    folder = Path(tempfile.mkdtemp(prefix="stackbuild-campaign-remote-", dir="/var/tmp"))
    atexit.register(atomic.remove, folder)
    builder = open_at(folder / "builder")
    tree = put(builder, large=LARGE).tree
    registry = FakeRegistry()
    with registry.served():
        push_all(builder, registry.writer())
        builder.close()
        registry.seen.clear()
        store = Store(folder / "puller", new_run_id())
        messages = Said()
        if puller(store, registry.reader(), messages).pull(asked()) is None or messages.warnings:
            raise AssertionError(f"the sound remote is not: {messages.lines}")
        store.close()
    return SoundRemote(registry, tree, folder / "builder", tuple(dict.fromkeys(registry.seen)))


def wrong(root: Path, registry: FakeRegistry) -> str:
    """What is wrong after a pull that met a fault; "" where it was a miss with a warning or the sound output.

    The fault is over then, so another pull must give the sound output.
    """
    store, messages = open_at(root), Said()
    try:
        pulled_record = puller(store, registry.reader(), messages).pull(asked())
        if pulled_record is None:
            if not messages.warnings:
                return "a miss without a warning"
            if store.find(asked().key) is not None or list((store.root / "trees").glob("*/*")):
                return "a miss that left something in the store"
        elif why := not_sound(store):
            return why
    finally:
        store.close()
    return ""


def not_sound(store: Store) -> str:
    """Why a store does not have the sound output, "" where it has it, every file read."""
    record = store.find(asked().key)
    if record is None:
        return "no record"
    if record.tree != sound().tree:
        return f"another output: {record.tree}"
    store._verified_trees.clear()
    return store.check(record.tree)


def pulls(root: Path, registry: FakeRegistry) -> str:
    """Why a pull from a registry without a fault does not give the sound output; "" where it does and leaves nothing."""
    store, messages = open_at(root), Said()
    try:
        store.reap()
        if puller(store, registry.reader(), messages).pull(asked()) is None:
            if "no room" in str(messages.warnings):
                raise NotRun("the disk is full")
            return f"the next pull misses: {messages.lines}"
        if remains := [path.name for path in store.tmp.iterdir()]:
            return f"left behind: {remains}"
        return not_sound(store)
    finally:
        store.close()
