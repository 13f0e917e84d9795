"""What a worker answers is another machine's: its types, sizes and numbers are looked at before anything is done with it."""

from __future__ import annotations

from typing import Any

import pytest

from stackbuild.cluster.tasks import MOST_LINES, MOST_TEXT, Failure, StepOutcome, read_outcome
from stackbuild.model.events import Compiles


class Derived(StepOutcome):
    """What pickle may give in place of the class itself."""


def outcome(**fields: Any) -> StepOutcome:
    return StepOutcome(**{"status": "made", "machine": "w1", **fields})


def nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


def test_a_sound_outcome_stays_as_it_is() -> None:
    failure = Failure("exit code 3", "make", ("error",), "stackbuild shell one")
    sound = outcome(status="broke", seconds=1.5, compiles=Compiles(1, 2), peak_memory=3, failure=failure, log_bytes=4)
    assert read_outcome(sound) == sound and read_outcome(outcome(seconds=2)) == outcome(seconds=2)


@pytest.mark.parametrize(
    "value",
    [
        None, {}, "made", b"made", 7, Derived("made", "w1"), outcome(status="won"), outcome(machine=5), outcome(tree=5),
        outcome(how="guessed"), outcome(seconds="long"), outcome(seconds=float("nan")), outcome(seconds=float("inf")),
        outcome(seconds=-1.0), outcome(seconds=1e999), outcome(compiles=None), outcome(compiles=Compiles(hits=-1)),
        outcome(peak_memory=10**5000), outcome(log_bytes=-1), outcome(log_bytes=1.5), outcome(failure=None),
        outcome(failure=Failure(7)), outcome(failure=Failure("", lines="abc")), outcome(tree=nested(100_000)),
        outcome(failure=Failure("", lines=(1, 2))),
    ],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_what_is_no_outcome_is_refused(value: object) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        read_outcome(value)


def test_long_texts_are_cut() -> None:
    long = "x" * (MOST_TEXT + 1)
    shown = read_outcome(outcome(machine=long, failure=Failure(long, long, (long,) * (MOST_LINES + 1), long)))
    failure = shown.failure
    texts = (shown.machine, failure.what, failure.command, *failure.lines, failure.look)
    assert {len(text) for text in texts} == {MOST_TEXT} and len(failure.lines) == MOST_LINES
