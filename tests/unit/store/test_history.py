"""What a store has of a recipe's steps: records by key, the last of each step, seconds; and what a base got."""

from __future__ import annotations

from stackbuild.core import digest
from stackbuild.store.durations import record_step_seconds
from stackbuild.store.history import base_packages, read_history
from stackbuild.store.records import Record
from stackbuild.store.store import Store


def recorded(store: Store, text: str, notes: dict[str, str] | None = None) -> Record:
    """A step `a` of recipe `demo` that was built with that key text."""
    staging = store.stage("a")
    (staging.out / "file").write_text(text)
    record = Record(digest.of_text(text), "a", "demo", store.keep(staging), text, 1.0, store.run, "", notes or {})
    store.record(record)
    return record


def test_the_last_record_is_read_only_where_a_key_has_none(store: Store) -> None:
    record = recorded(store, "step a")
    record_step_seconds(store, "demo", {"a": 2.5})
    whole = read_history(store, "demo", [record.key])
    assert (set(whole.records), whole.last, whole.seconds) == ({record.key}, {}, {"a": 2.5})
    other = read_history(store, "demo", [record.key, "0" * 64])
    assert set(other.records) == {record.key} and other.last["a"].key == record.key


def test_another_recipe_has_a_history_of_its_own(store: Store) -> None:
    recorded(store, "step a")
    assert read_history(store, "other", ["0" * 64]).last == {}


def test_the_packages_of_a_base_are_those_of_its_note(store: Store) -> None:
    noted = recorded(store, "base", {"packages": '{"libc6":"2.41"}'})
    assert base_packages(store, noted.key) == {"libc6": "2.41"}
    assert base_packages(store, recorded(store, "bare").key) is None
    assert base_packages(store, "0" * 64) is None
