"""What workers offer and what steps need, as Dask's resources: names with amounts. Nothing here runs anything.

A worker offers `step` (so many at once), `memory` in bytes, its processor, its runners, its GPU targets, and the version
of stackbuild. A step needs an amount of each; a task waits for a worker that has all of them free at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from stackbuild.core.errors import MachineLacks
from stackbuild.core.shell_words import shell_word
from stackbuild.model.plan import Step

STEP, MEMORY = "step", "memory"
"""Slots for steps, and bytes."""
RELEASE = "stackbuild "
"""What the name of the resource that stands for a version begins with."""

MOST_NAME = 200
"""Characters of a worker's name that are shown."""
MOST_AMOUNT = 1 << 60
"""More bytes of memory than a machine has."""

Amounts = Mapping[str, float]


@dataclass(frozen=True)
class Offer:
    """A worker: its name, its address in the cluster, what it offers in all, and the keys that sign its outputs.

    `trusted_keys` are the keys whose outputs it takes as inputs; both are fingerprints.
    """

    name: str
    address: str
    amounts: dict[str, float]
    signers: tuple[str, ...] = ()
    trusted_keys: tuple[str, ...] = ()

    @property
    def gpu_targets(self) -> frozenset[str]:
        """The targets of its GPUs."""
        return frozenset(name for name, amount in self.amounts.items() if name.startswith("gfx") and amount >= 1)


def read_offer(address: str, row: Any) -> Offer:
    """The offer of a worker as the scheduler lists it. Raises MachineLacks where it is not one: a worker says what it likes."""
    match row:
        case {"name": str(name), "resources": dict(resources)}:
            amounts = {key: float(value) for key, value in resources.items() if _is_amount(key, value)}
            signers, trusted_keys = row.get("signers", ()), row.get("trusted", ())
            if len(amounts) == len(resources) and _are_texts(signers) and _are_texts(trusted_keys):
                return Offer(name[:MOST_NAME], address, amounts, tuple(signers), tuple(trusted_keys))
    raise MachineLacks(
        f"what the worker {address[:MOST_NAME]} offers is not understood",
        next="end it, and start it with this stackbuild: stackbuild worker",
    )


def _are_texts(value: object) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(one, str) for one in value)


def _is_amount(name: object, value: object) -> bool:
    """Whether a resource has a name, and an amount that a machine can have."""
    return isinstance(name, str) and type(value) in (int, float) and 0 <= value <= MOST_AMOUNT  # type: ignore[operator]


def release_name(version: str) -> str:
    """The resource that stands for a version of stackbuild: keys and steps mean the same in one version."""
    return f"{RELEASE}{version}"


def step_needs(step: Step, runner: str, processor: str, version: str) -> dict[str, float]:
    """What a step takes of a worker while it runs. `runner` is the one that a `run` step's commands go through.

    A verification and a benchmark take a GPU of their target.
    """
    needs = {STEP: 1.0, MEMORY: float(step.resources.memory), processor: 1.0, release_name(version): 1.0}
    if step.action in ("verify", "bench"):
        return {**needs, dict(step.params)["gfx"]: 1.0}
    return {**needs, runner: 1.0} if step.action == "run" else needs


def fits(needs: Amounts, offer: Offer) -> bool:
    """Whether a worker with nothing else to do could run it."""
    return all(offer.amounts.get(name, 0.0) >= amount for name, amount in needs.items())


def missing(needs: Amounts, offers: Iterable[Offer]) -> str:
    """What of it no worker offers, in words; "" where one worker offers all."""
    workers = tuple(offers)
    if any(fits(needs, offer) for offer in workers):
        return ""
    for name, amount in needs.items():
        most = max((offer.amounts.get(name, 0.0) for offer in workers), default=0.0)
        if most < amount and name.startswith(RELEASE):
            return f"{name} (there is {', '.join(sorted(_releases(workers))) or 'none'})"
        if most < amount:
            return _in_words(name, amount, most)
    return f"{', '.join(_in_words(name, amount, None) for name, amount in needs.items())} on one machine"


def _releases(workers: Iterable[Offer]) -> set[str]:
    return {name for offer in workers for name in offer.amounts if name.startswith(RELEASE)}


def _in_words(name: str, amount: float, most: float | None) -> str:
    if name == MEMORY:
        there = "" if most is None else f" (the largest worker offers {int(most) >> 20} MiB)"
        return f"{int(amount) >> 20} MiB of memory{there}"
    if name == STEP:
        return "a worker that takes build steps"
    return f"{name}" if amount == 1 else f"{amount:g} × {name}"


def refuse_unmet(amounts: Mapping[str, Amounts], offers: Iterable[Offer], address: str) -> None:
    """Raises MachineLacks that names each step whose needs no worker meets, and what is missing."""
    workers = tuple(offers)
    if amounts and not workers:
        raise MachineLacks(
            f"no worker is connected to {address}",
            next=f"on each machine that is to build: stackbuild worker {shell_word(address)}",
        )
    lacking: dict[str, list[str]] = {}
    for step, needs in amounts.items():
        if words := missing(needs, workers):
            lacking.setdefault(words, []).append(step)
    if lacking:
        rows = "; ".join(f"{_list_steps(steps)}: {words}" for words, steps in lacking.items())
        raise MachineLacks(
            f"no worker of {address} offers what is needed: {rows}", where=_worker_names(workers),
            next=f"start a worker that has it: stackbuild worker {shell_word(address)}; `stackbuild worker --help` says what it offers",
        )  # fmt: skip


def _list_steps(steps: list[str]) -> str:
    return ", ".join(steps[:4]) + (f" and {len(steps) - 4} more" if len(steps) > 4 else "")


def _worker_names(workers: tuple[Offer, ...]) -> str:
    return f"{len(workers)} worker{'s' * (len(workers) != 1)}: {', '.join(one.name for one in workers[:8])}"


def refuse_strangers(offers: Iterable[Offer], trusted_keys: Iterable[str]) -> None:
    """Raises MachineLacks where a worker's outputs are not signed, or its key is not trusted by the client or a worker."""
    workers, mine = tuple(offers), frozenset(trusted_keys)
    for one in workers:
        if not one.signers:
            raise MachineLacks(
                f"{one.name} pushes its outputs nowhere",
                next="there, give a remote `write: true` and `sign: KEY` in remotes.yaml; docs/cluster.md",
            )
        if not mine.intersection(one.signers):
            raise MachineLacks(
                f"the key of {one.name} is not trusted here: {', '.join(one.signers)}",
                next="stackbuild store trust add URL ITS-KEY.pub",
            )
        for other in workers:
            if not set(other.trusted_keys).intersection(one.signers):
                raise MachineLacks(
                    f"{other.name} does not trust the key of {one.name}: {', '.join(one.signers)}",
                    next=f"on {other.name}: stackbuild store trust add URL THAT-KEY.pub, and start it again",
                )
