"""Copies and states of a signed index."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from stackbuild.publishing.envelopes import envelope_text, read_envelope
from stackbuild.publishing.snapshot import SNAPSHOT_TYPE
from stackbuild.publishing.ssh_keys import load_trusted_keys
from stackbuild.publishing.verify_release import ReleaseProof, Trust, verify_release
from support.wheels import SignedIndex

WHEEL = "demo-pkg/demo_pkg-1.0-py3-none-any.whl"


ENVELOPE = "snapshot.dsse.json"


def verify(signed: SignedIndex, trust: Trust | None = None, now: datetime | None = None) -> ReleaseProof:
    return verify_release(signed.folder, trust or Trust(load_trusted_keys([signed.public])), now)


def flip(path: str, at: int = 60) -> Callable[[SignedIndex], None]:
    def tamper(signed: SignedIndex) -> None:
        data = bytearray((signed.folder / path).read_bytes())
        data[at] ^= 1
        (signed.folder / path).write_bytes(data)

    return tamper


def signed_again(change: Callable[[dict], None]) -> Callable[[SignedIndex], None]:
    """The holder of the key signs something that is no good."""

    def tamper(signed: SignedIndex) -> None:
        file = signed.folder / ENVELOPE
        body = json.loads(bytes(read_envelope(file.read_bytes()).payload))
        change(body)
        file.write_bytes(envelope_text(json.dumps(body).encode(), SNAPSHOT_TYPE, [signed.key]))
        renumber(signed, body["number"])

    return tamper


def renumber(signed: SignedIndex, number: int) -> None:
    """The folder of the state is named by its number."""
    current = signed.folder / ".current"
    state, folder = current.resolve(), signed.folder / ".generations" / f"{number:08d}"
    if state != folder.resolve():
        state.rename(folder)
        current.unlink()
        current.symlink_to(Path(".generations", folder.name))


LATER = "2090-01-01T00:00:00Z"
