"""What the store has of a recipe's steps, in one value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from stackbuild.store.durations import step_seconds
from stackbuild.store.records import Record, packages_in
from stackbuild.store.store import Store


@dataclass(frozen=True)
class StepHistory:
    """Records of the keys that were asked for, by key; the last record of each step, and the seconds of its last run.

    `last` is empty where every key has a record.
    """

    records: dict[str, Record]
    last: dict[str, Record]
    seconds: dict[str, float]


def read_history(store: Store, recipe: str, keys: Sequence[str]) -> StepHistory:
    """The history of a recipe's steps, with the records of those keys."""
    records = store.find_all(keys)
    missing = any(key not in records for key in keys)
    last = {record.step: record for record in store.latest(recipe)} if missing else {}
    return StepHistory(records, last, step_seconds(store, recipe))


def base_packages(store: Store, key: str) -> dict[str, str] | None:
    """The packages that the base of that key really got, name to version; None where it was not built or notes none."""
    record = store.find(key)
    return packages_in(record.notes) if record else None
