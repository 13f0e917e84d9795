"""The requests to an object store: their bounds, what is said of a fault, and the messages to the child."""

from __future__ import annotations

import io
from dataclasses import dataclass, field
from pathlib import Path

import obstore
import pytest
from obstore.store import MemoryStore

from stackbuild.core.errors import UsageError
from stackbuild.publishing.generation import REMOTE_CATALOG, REMOTE_LOCK
from stackbuild.publishing.object_store import working_copy
from stackbuild.publishing.object_worker import WorkerMessage, _answer
from stackbuild.publishing.objects import ObjectFault, ObstoreObjects, StoredObject


@dataclass
class FaultyObjects:
    """Objects in memory; each request of a method named in `faults` fails."""

    faults: frozenset[str]
    etag: str = "1"
    objects: dict[str, bytes] = field(default_factory=dict)

    def _refuse(self, name: str) -> None:
        if name in self.faults:
            raise ObjectFault(f"no {name}")

    def get(self, key: str, most: int) -> StoredObject | None:
        self._refuse("get")
        return StoredObject(self.objects[key], self.etag) if key in self.objects else None

    def create(self, key: str, data: bytes) -> bool:
        self._refuse("create")
        is_new = key not in self.objects
        self.objects.setdefault(key, data)
        return is_new

    def replace(self, key: str, data: bytes, etag: str) -> bool:
        self.objects[key] = data
        return True

    def put_file(self, key: str, path: Path) -> None:
        if key == "panic":
            raise BaseException("panic in Rust")
        self.objects[key] = path.read_bytes()

    def delete(self, key: str) -> None:
        self._refuse("delete")
        self.objects.pop(key, None)


def changed(store: FaultyObjects) -> None:
    with working_copy(store, "s3://b/simple", lambda text: None):
        pass


def test_what_is_longer_than_its_bound_is_not_read() -> None:
    store = MemoryStore()
    obstore.put(store, "a", b"x" * 100)
    objects = ObstoreObjects(store)
    assert objects.get("a", 100) == StoredObject(b"x" * 100, str(obstore.head(store, "a")["e_tag"]))
    with pytest.raises(ObjectFault, match="100 bytes; 99 are read"):
        objects.get("a", 99)
    assert objects.get("b", 99) is None
    assert not objects.create("a", b"y") and objects.create("b", b"y")
    assert not objects.replace("a", b"y", "other")


def test_a_lock_that_cannot_be_removed_is_said_and_hides_no_other_error() -> None:
    store = FaultyObjects(frozenset(("delete",)))
    with pytest.raises(UsageError, match=r"is written, but the object \.publishing cannot be removed"):
        changed(store)
    other = FaultyObjects(frozenset(("delete",)))
    with pytest.raises(ZeroDivisionError), working_copy(other, "s3://b", lambda text: None):
        _ = 1 / 0


def test_the_words_of_another_publisher_are_one_short_line() -> None:
    store = FaultyObjects(frozenset(), objects={REMOTE_LOCK: b"me\nnext: rm -rf\n" * 60})
    with pytest.raises(UsageError) as caught:
        changed(store)
    assert "\n" not in caught.value.what and len(caught.value.what) < 260


def test_a_catalog_without_an_etag_is_not_one_to_build_on() -> None:
    store = FaultyObjects(frozenset(), "", {REMOTE_CATALOG: b"{}"})
    with pytest.raises(UsageError, match="names no ETag"):
        changed(store)
    assert REMOTE_LOCK not in store.objects


def test_a_message_comes_through_a_pipe_and_half_of_one_is_none() -> None:
    pipe = io.BytesIO()
    WorkerMessage({"do": "create", "key": "a"}, b"x\n\0" * 9).write(pipe)
    whole = pipe.getvalue()
    assert WorkerMessage.read(io.BytesIO(whole)) == WorkerMessage(
        {"do": "create", "key": "a", "bytes": 27}, b"x\n\0" * 9
    )
    for size in range(len(whole)):
        assert WorkerMessage.read(io.BytesIO(whole[:size])) is None


def test_every_request_has_an_answer(tmp_path: Path) -> None:
    store = FaultyObjects(frozenset(("delete",)))
    (tmp_path / "f").write_bytes(b"z")
    ask = lambda **head: _answer(store, WorkerMessage({"number": 7, "key": "k", **head}, b"data"))  # noqa: E731
    assert ask(do="create").head == {"number": 7, "is_done": True}
    assert ask(do="create").head["is_done"] is False
    assert ask(do="get", most=9).data == b"data" and ask(do="get", most=9).head["etag"] == "1"
    assert ask(do="get", key="none", most=9).head["is_there"] is False
    assert ask(do="replace", etag="1").head["is_done"]
    assert "fault" not in ask(do="put_file", path=str(tmp_path / "f")).head and store.objects["k"] == b"z"
    assert ask(do="delete").head["fault"] == "no delete"
    assert ask(do="put_file", key="panic", path="x").head["fault"] == "BaseException: panic in Rust"
