"""SIGKILL of a push and of a pull at each of their requests: before the registry acts on it, and before it answers.

After a killed push no record may be there whose tree is not, and the next push ends it. After a killed pull the store is
sound, and the next pull gets the same output.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from random import Random

from campaign import remotes
from campaign.frame import CampaignCase, Rig
from support.paths import ROOT
from support.remotes import FakeRegistry, asked, open_at, push_all

PROGRAM = """\
import sys
sys.path[:0] = [{tests!r}, {root!r}]
from pathlib import Path
from support.remotes import FakeRegistry, Said, asked, open_at, puller, push_all
registry = FakeRegistry(port={port})
store = open_at(Path({store!r}))
print("ready", flush=True)
if {is_push}:
    print([one.outcome for one in push_all(store, registry.writer())])
else:
    print(puller(store, registry.reader(), Said()).pull(asked()) is not None)
store.close()
"""


def cases(random: Random) -> Sequence[CampaignCase]:
    sound, empty = remotes.sound(), FakeRegistry()
    with empty.served():
        store = open_at(sound.builder)
        push_all(store, empty.writer())
        store.close()
    rows = []
    for is_push, count in ((True, len(empty.seen)), (False, len(sound.requests))):
        for number in range(count):
            for moment in ("before", "after"):
                name = f"{'push' if is_push else 'pull'} {number} {moment}"
                rows.append(CampaignCase(name, partial(_attempt, is_push, number, moment)))
    return rows


def _attempt(is_push: bool, number: int, moment: str, folder: Path) -> str:
    sound = remotes.sound()
    registry = FakeRegistry() if is_push else sound.registry.copy()
    root = folder / "store"
    with registry.served():
        _kill_at_request(registry, sound.builder if is_push else root, is_push, number, moment)
        registry.fault, registry.after = FakeRegistry.fault, FakeRegistry.after
        if is_push and (why := _unfinished_push(registry, folder)):
            return why
        return remotes.pulls(root, registry)


def _kill_at_request(registry: FakeRegistry, store: Path, is_push: bool, number: int, moment: str) -> None:
    """Run a push or a pull until its request of that number, and kill it there. Raises AssertionError where it ends."""
    words = {"tests": str(ROOT / "tests"), "root": str(ROOT), "port": registry.port, "store": str(store)}
    program = PROGRAM.format(**words, is_push=is_push)
    process = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    dead = threading.Event()

    def kill(method: str, path: str, registry: FakeRegistry) -> None:
        if len(registry.seen) > number and not dead.is_set():
            os.kill(process.pid, signal.SIGKILL)
            dead.set()

    if moment == "before":
        registry.fault = kill
    else:
        registry.after = kill
    output, error = process.communicate(timeout=60)
    if process.returncode != -signal.SIGKILL:
        raise AssertionError(f"it was not killed: {process.returncode} {output[-200:]} {error[-400:]}")


def _unfinished_push(registry: FakeRegistry, folder: Path) -> str:
    """What a killed push left that is wrong: a record is there, and its tree is not; or the next push does not end it."""
    if asked().tag in registry.manifests and (why := remotes.pulls(folder / "early", registry)):
        return f"a record without its tree: {why}"
    store = open_at(remotes.sound().builder)
    try:
        store.reap()
        outcomes = [one.outcome for one in push_all(store, registry.writer())]
        return "" if outcomes[0] in ("pushed", "signed", "there") else f"the next push: {outcomes}"
    finally:
        store.close()


RIG = Rig("remote-kills", "SIGKILL of a push and a pull at each request", cases, needs=(), minimum=50)
