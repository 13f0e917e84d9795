"""An index in an object store: what is written in which order, and what a reader finds after a fault at each write."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import obstore
import pytest
from obstore.store import MemoryStore

from stackbuild.core.errors import UsageError
from stackbuild.publishing.generation import REMOTE_CATALOG, REMOTE_LOCK
from stackbuild.publishing.index import publish
from stackbuild.publishing.maintenance import cosign, sign, yank
from stackbuild.publishing.object_store import working_copy
from stackbuild.publishing.objects import ObstoreObjects
from stackbuild.publishing.publication import Publication, Receipt
from stackbuild.publishing.ssh_keys import load_trusted_keys
from stackbuild.publishing.verify_release import Trust, verify_release
from support.wheels import new_key, put_statements, small_sbom, small_wheel

URL = "https://wheels.example.invalid/simple"


def put(store: Any, *wheels: Path, **settings: Any) -> Receipt:
    publication = Publication(url=URL, **settings)
    with working_copy(ObstoreObjects(store), "s3://wheels", lambda text: None, bool(publication.keys)) as copy:
        return publish(wheels, copy.folder, publication)


def keys(store: Any) -> set[str]:
    return {str(row["path"]) for batch in obstore.list(store) for row in batch}


def data(store: Any, key: str) -> bytes:
    return bytes(obstore.get(store, key).bytes())


def offered(store: Any) -> set[str]:
    """The files that a reader finds by the pages; each has the digest that its page names."""
    found = set()
    for key in keys(store):
        if key.endswith("/index.json"):
            for row in json.loads(data(store, key))["files"]:
                wheel = data(store, f"{key.rpartition('/')[0]}/{unquote(row['url'])}")
                assert hashlib.sha256(wheel).hexdigest() == row["hashes"]["sha256"]
                found.add(row["filename"])
    return found


def test_a_second_release_does_not_read_or_write_the_wheels_of_the_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = MemoryStore()
    first, second = small_wheel(tmp_path / "a"), small_wheel(tmp_path / "a", "2.0")
    assert put(store, first).wheels[0].requirement.startswith(f"demo-pkg @ {URL}/demo-pkg/")
    touched: list[str] = []
    for name in ("get", "put"):
        real = getattr(obstore, name)
        monkeypatch.setattr(obstore, name, lambda s, key, *a, real=real, **k: (touched.append(key), real(s, key, *a, **k))[1])
    receipt = put(store, second)
    assert receipt.number == 2 and [wheel.fresh for wheel in receipt.wheels] == [True]
    assert not [key for key in touched if first.name in key]
    assert [key for key in touched if key.endswith(".whl")] == [f"demo-pkg/{second.name}"]
    assert touched.index(f"demo-pkg/{second.name}") < touched.index(REMOTE_CATALOG, 2) < touched.index("demo-pkg/index.html")
    assert offered(store) == {first.name, second.name} and REMOTE_LOCK not in keys(store)
    again = put(store, first)
    assert again.number == 2 and not again.wheels[0].fresh
    with pytest.raises(UsageError, match="with other bytes"):
        put(store, small_wheel(tmp_path / "b", content="other"))
    assert offered(store) == {first.name, second.name} and REMOTE_LOCK not in keys(store)


def test_a_signed_index_and_a_yank_verify_after_a_download(tmp_path: Path) -> None:
    store = MemoryStore()
    key, public = new_key(tmp_path / "keys")
    other, other_public = new_key(tmp_path / "keys", "second")
    wheel = small_wheel(tmp_path / "a", sbom=small_sbom())
    put(store, wheel, attachments={wheel: put_statements(wheel)}, keys=(key,))
    put(store, small_wheel(tmp_path / "a", "2.0"), keys=(key,))
    with pytest.raises(UsageError, match="no key is given"):
        put(store, small_wheel(tmp_path / "a", "3.0"))
    with working_copy(ObstoreObjects(store), "s3://wheels", lambda text: None, signed=True) as copy:
        yank(copy.folder, "demo-pkg", "2.0", "wrong", Publication(keys=(key,)))
    with working_copy(ObstoreObjects(store), "s3://wheels", lambda text: None, signed=True) as copy:
        cosign(copy.folder, (other,), load_trusted_keys((public,)))
    assert {"SHA256SUMS.sig", "SHA256SUMS.sig.2"} <= set(keys(store))
    folder = tmp_path / "download"
    for path in keys(store):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(data(store, path))
    proof = verify_release(folder, Trust(load_trusted_keys((public, other_public)), threshold=2))
    assert proof.problems == () and proof.number == 3 and len(proof.wheels) == 2
    assert {kind for one in proof.wheels for kind in one.statements} == {"provenance", "verification", "benchmarks"}
    with working_copy(ObstoreObjects(store), "s3://wheels", lambda text: None, signed=True) as copy:
        sign(copy.folder, Publication(keys=(other,)))


class Fault(Exception):
    """A store that fails."""


def test_a_fault_at_any_write_leaves_a_whole_index_and_the_next_publish_mends_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    base = small_wheel(tmp_path / "a", name="base")
    new = small_wheel(tmp_path / "b", "2.0", name="base"), small_wheel(tmp_path / "b", "2.0", name="a-demo", requires=("base>=2.0",))
    before, after = {base.name}, {base.name, *(wheel.name for wheel in new)}
    real, point, states = obstore.put, 0, []
    while True:
        point += 1
        store, count = MemoryStore(), 0
        put(store, base)

        def failing(s: Any, key: str, *rest: Any, point: int = point, **more: Any) -> Any:
            nonlocal count
            count += 1
            if count == point:
                raise Fault(key)
            return real(s, key, *rest, **more)

        monkeypatch.setattr(obstore, "put", failing)
        try:
            put(store, *new)
        except Fault:
            monkeypatch.setattr(obstore, "put", real)
            seen = offered(store)
            assert before <= seen <= after
            assert new[1].name not in seen or new[0].name in seen, "what it requires is offered before it"
            states.append(seen)
            assert REMOTE_LOCK not in keys(store)
            put(store, *new)
            assert offered(store) == after
            continue
        break
    assert point > 8 and states[0] == before


def test_one_publisher_at_a_time_and_none_over_a_state_it_has_not_read(tmp_path: Path) -> None:
    store = MemoryStore()
    put(store, small_wheel(tmp_path / "a"))
    obstore.put(store, REMOTE_LOCK, b"somebody@there since 2026-01-01 00:00:00 UTC")
    with pytest.raises(UsageError, match=r"another one publishes there: somebody@there") as caught:
        put(store, small_wheel(tmp_path / "a", "2.0"))
    assert REMOTE_LOCK in str(caught.value.next) and REMOTE_LOCK in keys(store)
    obstore.delete(store, REMOTE_LOCK)

    def overtaken() -> Iterator[None]:
        with working_copy(ObstoreObjects(store), "s3://wheels", lambda text: None) as copy:
            publish((small_wheel(tmp_path / "a", "2.0"),), copy.folder, Publication())
            obstore.delete(store, REMOTE_LOCK)  # somebody took it for left behind
            put(store, small_wheel(tmp_path / "a", "3.0"))
            yield

    with pytest.raises(UsageError, match="published there meanwhile"):
        list(overtaken())
    assert offered(store) == {f"demo_pkg-{version}-py3-none-any.whl" for version in ("1.0", "3.0")}


def test_a_wheel_on_its_way_is_not_copied(tmp_path: Path) -> None:
    wheel = small_wheel(tmp_path / "a")
    with working_copy(ObstoreObjects(MemoryStore()), "s3://w", lambda text: None) as copy:
        publish((wheel,), copy.folder, Publication(url=URL))
        assert (copy.folder / "demo-pkg" / wheel.name).readlink() == wheel.resolve()
    assert wheel.is_file()


def test_what_is_wrong_is_said(tmp_path: Path) -> None:
    store = MemoryStore()
    with pytest.raises(UsageError, match="where this index is served"), working_copy(ObstoreObjects(store), "s3://w", lambda text: None) as copy:
        publish((small_wheel(tmp_path / "a"),), copy.folder, Publication())
    assert keys(store) == set()
    obstore.put(store, REMOTE_CATALOG, b"{")
    with pytest.raises(UsageError, match="catalog of the index cannot be read"):
        put(store, small_wheel(tmp_path / "a"))
