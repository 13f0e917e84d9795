"""Damage of every kind to outputs, manifests, records and pointers of a store, each followed by a real `build`."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from random import Random

from campaign.benches import CONTENT, bench_in, built_bench, outputs, unsound, write
from campaign.frame import CampaignCase, Rig

PLACES = ("trees", "manifests", "records", "latest")
OF_EACH = 5
"""Damages of one kind to one file, where chance decides where."""

Harm = Callable[[Path, Random], None]


def _rewrite(change: Callable[[bytes, Random], bytes]) -> Harm:
    def harm(path: Path, random: Random) -> None:
        if path.is_symlink():
            target = str(path.readlink())
            path.unlink()
            path.symlink_to(target + "x")
            return
        mode = path.stat().st_mode
        path.chmod(0o644)
        path.write_bytes(change(path.read_bytes(), random))
        path.chmod(mode)

    return harm


def _flip(data: bytes, random: Random) -> bytes:
    at = random.randrange(len(data)) if data else 0
    return data[:at] + bytes([data[at] ^ 1 << random.randrange(8)]) + data[at + 1 :] if data else b"x"


def _cut(data: bytes, random: Random) -> bytes:
    return data[: random.randrange(len(data))] if data else b"x"


def _double(data: bytes, random: Random) -> bytes:
    return data + (data or b"x")


def _zeros(data: bytes, random: Random) -> bytes:
    return bytes(len(data) or 1)


def _remove(path: Path, random: Random) -> None:
    path.unlink()


def _mode(path: Path, random: Random) -> None:
    if path.is_symlink():
        _remove(path, random)
    else:
        path.chmod(random.choice((0o777, 0o4755, 0o600, 0o111)))


def _link(path: Path, random: Random) -> None:
    """A link to a copy: the same bytes."""
    other = path.with_name("other")
    shutil.copy2(path, other, follow_symlinks=False)
    path.unlink()
    path.symlink_to(other)


def _nowhere(path: Path, random: Random) -> None:
    path.unlink()
    path.symlink_to("/nowhere")


def _folder(path: Path, random: Random) -> None:
    path.unlink()
    path.mkdir()


def _swap(path: Path, random: Random) -> None:
    """With another file of the same folder or, where it is alone, with one of the machine's."""
    beside = [other for other in path.parent.iterdir() if other != path and other.is_file()]
    other = random.choice(beside) if beside else Path("/etc/os-release")
    data = other.read_bytes()
    path.unlink()
    path.write_bytes(data)


def _guest(path: Path, random: Random) -> None:
    path.with_name("guest").write_text("nobody invited it")


HARMS: dict[str, Harm] = {
    **{"flip": _rewrite(_flip), "cut": _rewrite(_cut), "double": _rewrite(_double), "zeros": _rewrite(_zeros)},
    **{"delete": _remove, "mode": _mode, "link": _link, "nowhere": _nowhere, "folder": _folder, "swap": _swap},
    "guest": _guest,
}
BY_CHANCE = ("flip", "cut", "mode", "swap")


def targets(store: Path) -> list[str]:
    """Every file that an answer depends on, but for the base's."""
    records = {path: json.loads(path.read_text()) for path in (store / "records").glob("*/*.json")}
    bases = {record["tree"] for record in records.values() if record["step"] == "base"}
    own = {path for path, record in records.items() if record["step"] == "base"}
    paths_of_trees = []
    for kind in PLACES:
        for place, folders, names in os.walk(store / kind):
            folders[:] = [name for name in folders if name not in bases and not (Path(place) / name).is_symlink()]
            paths = [Path(place) / name for name in names]
            paths_of_trees += [path for path in paths if path not in own and path.name not in bases and "base" not in path.name]
    links = [
        p for tree in (store / "trees").glob("*/*") if tree.name not in bases for p in tree.rglob("*") if p.is_symlink()
    ]
    return sorted({str(path.relative_to(store)) for path in (*paths_of_trees, *links)})


def cases(random: Random) -> Sequence[CampaignCase]:
    store = built_bench() / "store"
    read_by_two = outputs(store, "one")[0].name
    rows = []
    for place in targets(store):
        nonces = ("other",) if read_by_two in place else ("first", "other")  # else nobody uses it
        for name, harm in HARMS.items():
            for i in range(OF_EACH if name in BY_CHANCE else 1):
                seed = random.randrange(1 << 30)
                rows += [
                    CampaignCase(f"{name} {i} {place} {nonce}", partial(_attempt, place, harm, seed, nonce)) for nonce in nonces
                ]
    return rows


def _attempt(place: str, harm: Harm, seed: int, nonce: str, folder: Path) -> str:
    """Harm one file and build: with the nonce it was built with, the output is handed out; with another, it is read."""
    bench = bench_in(folder, built_bench() / "store")
    harm(bench.store / place, Random(seed))
    write(bench, nonce)
    bench.build(timeout=100)
    if {(tree / "b").read_text() for tree in outputs(bench.store, "two")} != {CONTENT}:
        return "another output"
    return unsound(bench.store)


RIG = Rig("corruption", "damage to a store, each before a real build", cases, minimum=500)
