"""Records: each character counts, and what is none is a miss."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from stackbuild.core import digest
from stackbuild.store.records import Record
from stackbuild.store.store import Store
from support.stores import KEY, again, put


def test_every_character_of_a_record_is_covered_by_its_digest(store: Store) -> None:
    record = put(store)
    text = record.text()
    for at in range(len(text)):
        for other in ("0", "a"):
            changed = text[:at] + other + text[at + 1 :]
            try:
                found = Record.read(changed)
            except ValueError:
                continue
            assert changed == text or found == record, f"{text[at - 20 : at + 20]!r} may change unseen"


@pytest.mark.parametrize(
    "other",
    [
        {"notes": {"packages": "not json"}},
        {"notes": {"packages": "[1]"}},
        {"notes": {"patches": '{"a": 1}'}},
        {"notes": ["a"]},
        {"seconds": float("nan")},
        {"seconds": 10**400},
    ],
)
def test_a_record_that_no_step_writes_is_none(store: Store, other: dict[str, object]) -> None:
    """An older stackbuild took such records from remotes. Every later plan would stop at them."""
    store.record(replace(put(store), **other))  # type: ignore[arg-type]
    assert again(store).find(KEY) is None
    assert list((store.root / "quarantine").iterdir())


def test_a_record_is_believed_only_under_its_own_key(store: Store) -> None:
    record = put(store)
    other = digest.of_text("other")
    path = store.root / "records" / other[:2] / f"{other}.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(record.text())
    assert store.find(other) is None


def test_a_record_whose_text_has_another_key_is_not_believed(store: Store) -> None:
    """A whole record with the right digest, put there for a step that it is not about."""
    record = put(store)
    wanted = digest.of_text("step: wanted\n")
    for forged in (replace(record, key=wanted), replace(record, key=wanted, like=record.key)):
        store.record(forged)
        assert store.find(wanted) is None
    assert len(list((store.root / "quarantine").iterdir())) == 2


@pytest.mark.parametrize(
    "text", ["", "[" * 200_000, "{}", "[]", "null", "5", '"x"', "{", '{"schema": "stackbuild.record/1"}', "\x00" * 50]
)
def test_what_is_no_record_is_a_miss(store: Store, text: str) -> None:
    put(store)
    path = store.root / "records" / KEY[:2] / f"{KEY}.json"
    path.write_text(text)
    assert store.find(KEY) is None
    assert not path.exists()


def test_record_with_another_schema_is_a_miss(store: Store) -> None:
    body = json.loads(put(store).text())
    body["schema"] = "stackbuild.record/99"
    body["sha256"] = digest.of_value({k: v for k, v in body.items() if k != "sha256"})
    with pytest.raises(ValueError, match="schema"):
        Record.read(json.dumps(body))
