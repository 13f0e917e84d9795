"""A store on a disk that is mounted read-only is read, and nothing is written to it.

The mount itself is in tests/integration/remote; here the store is a folder that a write would change.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from stackbuild.core.errors import MachineLacks
from stackbuild.remote.files import ExportFolder
from stackbuild.store.maintenance import GcReport, check_store, collect, listing, records, unfinished_steps
from stackbuild.store.read_only import ReadOnlyStore, is_read_only, open_existing, open_to_read
from stackbuild.store.store import new_run_id
from support.remotes import asked, open_at, push_all, put


def state(root: Path) -> dict[str, tuple[int, int]]:
    """Every path below a folder, with its mode and the time of its last change."""
    return {str(path): (path.lstat().st_mode, path.lstat().st_mtime_ns) for path in (root, *root.rglob("*"))}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    store = open_at(tmp_path / "store")
    put(store, large=0)
    store.close()
    return tmp_path / "store"


def test_it_is_listed_compared_and_exported_without_a_write(root: Path, tmp_path: Path) -> None:
    before = state(root)
    store = ReadOnlyStore(root, new_run_id())
    record = store.find(asked().key)
    assert record is not None and store.check(record.tree) == ""
    assert [row.step for row in listing(store)] == ["s"] and unfinished_steps(store) == ()
    assert len(store.latest("r")) == 1 and store.recall("0" * 64) is None
    with store.lock(asked().key, lambda pid: None, lambda: None):
        assert store.tmp.is_dir()
    outcomes = [one.outcome for one in push_all(store, ExportFolder("", tmp_path / "export", is_written=True))]
    assert outcomes == ["pushed"]
    scratch = store.tmp
    store.close()
    assert state(root) == before and not scratch.exists()


def test_what_is_damaged_stays_where_it_is(root: Path) -> None:
    (record,) = (one for one in records(open_at(root)) if not one.like)
    damaged_file = root / "trees" / record.tree[:2] / record.tree / "bin" / "tool"
    damaged_file.chmod(0o644)
    damaged_file.write_text("other")
    (root / "records" / record.key[:2] / f"{record.key}.json").write_text("{")
    before = state(root)
    store = ReadOnlyStore(root, new_run_id())
    assert store.check(record.tree) and store.find(record.key) is None
    store.close()
    assert state(root) == before and damaged_file.exists()


def test_a_store_of_another_format_is_refused(root: Path) -> None:
    (root / "format").write_text("2\n")
    with pytest.raises(MachineLacks, match="the store has format '2'"):
        ReadOnlyStore(root, new_run_id())


def test_a_store_that_all_users_could_write_to_is_refused(root: Path) -> None:
    root.chmod(0o1777)
    with pytest.raises(MachineLacks, match="all users could write"):
        ReadOnlyStore(root, new_run_id())


def test_only_a_store_on_a_read_only_disk_is_opened_so(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not is_read_only(root) and not is_read_only(tmp_path / "nothing")
    monkeypatch.setenv("STACKBUILD_STORE", str(root))
    with open_to_read() as store:
        assert not isinstance(store, ReadOnlyStore)
    monkeypatch.setattr(os, "statvfs", lambda path: SimpleNamespace(f_flag=os.ST_RDONLY))
    assert is_read_only(root) and not is_read_only(tmp_path)
    with open_to_read() as store:
        assert isinstance(store, ReadOnlyStore)


def test_a_store_that_is_not_there_is_empty_and_is_not_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STACKBUILD_STORE", str(tmp_path / "none"))
    for opened in (open_to_read, open_existing):
        with opened() as store:
            assert listing(store) == unfinished_steps(store) == () and store.find("0" * 64) is None
            assert collect(store, 0, time.time(), 0, False) == GcReport(0, 0, 0)
            assert check_store(store) == ()
    assert not (tmp_path / "none").exists()


def test_an_empty_folder_is_no_store_and_a_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "empty").mkdir()
    monkeypatch.setenv("STACKBUILD_STORE", str(tmp_path / "empty"))
    with open_to_read() as store:
        assert listing(store) == ()
    assert [*(tmp_path / "empty").iterdir()] == []
    (tmp_path / "file").touch()
    monkeypatch.setenv("STACKBUILD_STORE", str(tmp_path / "file"))
    with pytest.raises(MachineLacks, match="cannot be used"), open_to_read():
        pass
