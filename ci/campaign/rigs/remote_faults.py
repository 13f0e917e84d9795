"""A registry that serves damaged, replaced, cut, missing, endless and slow answers, and refuses to answer.

Each fault is tried on each request of a pull. A case is lost where the store gets another output than the builder's, a
miss goes without a warning or leaves something, an exception comes out, or the next run does not get the output.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from random import Random

from campaign import remotes
from campaign.frame import CampaignCase, Rig
from support.remotes import Answer, FakeRegistry, Fault

FLIPS, CUTS = 9, 4
Corruption = Callable[[bytes], bytes]


def cases(random: Random) -> Sequence[CampaignCase]:
    sound = remotes.sound()
    rows = []
    for number, (_, path) in enumerate(sound.requests):
        name = f"{number} {path.split('/')[4][:10]}"
        rows += [CampaignCase(f"{name} {what}", partial(_attempt, fault)) for what, fault in _faults(path, random)]
    return rows


def _attempt(fault: Fault, folder: Path) -> str:
    registry = remotes.sound().registry.copy()
    registry.fault = fault
    with registry.served():
        if why := remotes.wrong(folder / "store", registry):
            return why
        registry.fault, registry.has_ranges = FakeRegistry.fault, True
        return remotes.pulls(folder / "store", registry)


def _faults(path: str, random: Random) -> Iterator[tuple[str, Fault]]:
    for number in range(FLIPS):
        yield f"flip {number}", _damaged_answer(path, partial(_flip, random.random(), random.randrange(8)))
    for number in range(CUTS):
        yield f"cut {number}", _damaged_answer(path, partial(_cut, random.random()))
    other = next(iter(remotes.sound().registry.blobs.values()))
    replacements: dict[str, Corruption] = {
        "noise": lambda data: random.randbytes(len(data)),
        "zeros": lambda data: bytes(len(data)),
        "nothing": lambda data: b"",
        "another blob": lambda data: other if data != other else other[::-1],
        "more": lambda data: data + b"x",
        "HTML": lambda data: b"<html>please log in</html>",
        "nested": lambda data: b"[" * 300_000,
    }
    for what, damage in replacements.items():
        yield what, _damaged_answer(path, damage)
    for status in (204, 400, 401, 403, 404, 410, 429, 500, 503):
        if status == 404 and "/manifests/r-" in path:
            continue  # nobody built it: a miss without a warning
        yield f"{status}", _always(path, Answer(status, {"Retry-After": "100000"}))
    yield "401 with a challenge", _always(path, Answer(401, {"WWW-Authenticate": 'Bearer realm="http://elsewhere/t"'}))
    yield "redirection to itself", _always(path, Answer(307, {"Location": path}))
    yield "redirection to a file", _always(path, Answer(302, {"Location": "file:///etc/passwd"}))
    yield "gzip", _answer_with_headers(path, {"Content-Encoding": "gzip"})
    yield "slow", _slow(path)
    yield "broken off each time", _broken_answer(path, times=100, has_ranges=True)
    yield "broken off once", _broken_answer(path, times=1, has_ranges=True)
    yield "broken off once, no Range", _broken_answer(path, times=1, has_ranges=False)
    yield "evicted after the first request", _eviction()


def _damaged_answer(path: str, damage: Corruption) -> Fault:
    def fault(method: str, request: str, registry: FakeRegistry) -> Answer | None:
        if request != path:
            return None
        return Answer(200, body=damage(registry.answer("GET", path, {}, b"").body))

    return fault


def _flip(share: float, bit: int, data: bytes) -> bytes:
    at = int(share * len(data))
    return data[:at] + bytes([data[at] ^ 1 << bit]) + data[at + 1 :]


def _cut(share: float, data: bytes) -> bytes:
    return data[: int(share * len(data))]


def _always(path: str, answer: Answer) -> Fault:
    return lambda method, request, registry: answer if request == path else None


def _answer_with_headers(path: str, headers: dict[str, str]) -> Fault:
    """The right bytes under headers that say something else of them."""

    def fault(method: str, request: str, registry: FakeRegistry) -> Answer | None:
        return Answer(200, headers, registry.answer("GET", path, {}, b"").body) if request == path else None

    return fault


def _slow(path: str) -> Fault:
    def fault(method: str, request: str, registry: FakeRegistry) -> Answer | None:
        return Answer(200, body=registry.answer("GET", path, {}, b"").body, pause=0.1) if request == path else None

    return fault


def _broken_answer(path: str, times: int, has_ranges: bool) -> Fault:
    remaining_times = [times]

    def fault(method: str, request: str, registry: FakeRegistry) -> Answer | None:
        registry.has_ranges = has_ranges
        if request != path or not remaining_times[0]:
            return None
        remaining_times[0] -= 1
        whole = registry.answer("GET", path, {}, b"").body
        return Answer(200, {"Content-Length": str(len(whole))}, whole[: len(whole) // 2], is_cut=True)

    return fault


def _eviction() -> Fault:
    """The record is served, then the registry has nothing more."""

    def fault(method: str, request: str, registry: FakeRegistry) -> Answer | None:
        return None if "/manifests/r-" in request else Answer(404)

    return fault


RIG = Rig("remote-faults", "a remote that serves damaged, missing, endless or slow answers", cases, needs=(), minimum=200)
