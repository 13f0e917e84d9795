"""Listing and collecting what a store holds."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from pathlib import Path

import pytest

from stackbuild.core import digest
from stackbuild.core.errors import MachineLacks
from stackbuild.store.maintenance import collect, listing, unfinished_steps
from stackbuild.store.records import Record
from stackbuild.store.resume_mark import UnfinishedMark
from stackbuild.store.store import Store
from stackbuild.views.store import draw_listing
from support.stores import KEY, again, put


def test_collecting_keeps_the_latest_and_what_is_young(store: Store) -> None:
    old, new = put(store), put(store, "step: s, new\n")
    other = store.stage("t")
    (other.out / "x").write_text("x")
    lone = store.keep(other)
    now = time.time()
    assert collect(store, 1, now) .records == 0
    freed = collect(store, 1, now + 2 * 86400)
    assert (freed.records, freed.trees) == (1, 1) and freed.size == 1
    assert store.find(old.key) is None and store.find(new.key) == new
    assert not store.tree(lone).exists()
    assert [row.key for row in listing(store)] == [new.key]


def test_collecting_keeps_the_key_that_was_asked_for_beside_the_one_it_came_to(store: Store) -> None:
    asked = put(store)
    put_really = replace(asked, key=digest.of_text("really"), key_text="really", like=asked.key)
    store.record(put_really)
    assert collect(store, 1, time.time() + 2 * 86400).records == 0
    assert store.find(asked.key) == asked and store.find(put_really.key) == put_really


def test_nothing_is_collected_under_a_running_build(store: Store) -> None:
    record, other = put(store), again(store)
    put(store, "step: s, new\n")
    with pytest.raises(MachineLacks, match=f"in use by {other.run}"):
        collect(store, 0, time.time() + 1)
    other.close()
    assert store.find(record.key) == record
    assert collect(store, 0, time.time() + 1).records == 1


def test_a_memo_that_cannot_be_read_this_time_stays(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    store.remember(KEY, {"a": 1})
    with monkeypatch.context() as broken:
        broken.setattr("stackbuild.store.atomic.read_whole", lambda *_: (_ for _ in ()).throw(PermissionError(13, "no")))
        assert store.recall(KEY) is None
    assert store.recall(KEY) == {"a": 1}


def test_reused_records_are_listed_once(store: Store) -> None:
    record = put(store)
    store.record(replace(record, key=digest.of_text("twin"), key_text="twin", like=record.key))
    assert len(listing(store)) == 1


def test_what_did_not_end_is_told_with_its_size_and_collected_when_old(store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    for name, boot in (("failed", None), ("waits", ""), ("lost", "another start of the machine")):
        staging = store.stage(name)
        (staging.build / "object").write_bytes(b"x" * 100_000)
        if boot is not None:
            store.mark(staging, UnfinishedMark(f"r.{name}", "k", "sandbox", boot))
        store.keep_failed(f"r.{name}", staging, at_rest=False)
    (store.root / "failed" / "r.failed" / "work" / "closed").mkdir(mode=0)
    found = unfinished_steps(store)
    assert [(row.name, row.waits) for row in found] == [("r.failed", False), ("r.lost", False), ("r.waits", True)]
    assert all(100_000 <= row.size < 130_000 for row in found)
    draw_listing((), found, store.root)
    said = capsys.readouterr().out
    assert "not finished: r.waits, 0.1 MB; the next build resumes in it" in said and "r.lost, 0.1 MB; `stackbuild shell`" in said
    assert collect(store, 1, time.time()).size == 0 and len(unfinished_steps(store)) == 3
    assert collect(store, 1, time.time() + 2 * 86400).size >= 300_000 and unfinished_steps(store) == ()


def test_compiler_caches_go_when_they_were_not_used_for_so_long(store: Store) -> None:
    for name, age in (("used", 0), ("old", 3 * 86400)):
        (store.root / "ccache" / name).mkdir()
        (store.root / "ccache" / name / "object").write_text("x")
        os.utime(store.root / "ccache" / name, (time.time() - age,) * 2)
    collect(store, 2, time.time())
    assert [path.name for path in (store.root / "ccache").iterdir()] == ["used"]


def test_what_steps_wrote_as_they_liked_is_closed_to_others(tmp_path: Path) -> None:
    (tmp_path / "store" / "failed").mkdir(parents=True, mode=0o755)
    opened = Store(tmp_path / "store", "run")
    modes = {name: (opened.root / name).stat().st_mode & 0o777 for name in ("tmp", "failed", "quarantine", "ccache")}
    assert set(modes.values()) == {0o700}
    opened.close()


def test_a_rehearsed_clean_up_reports_the_same_and_removes_nothing(store: Store) -> None:
    for number in range(3):
        staging = store.stage(f"s{number}")
        (staging.out / "file").write_text("x" * 100 * (number + 1))
        key, made = digest.of_text(str(number)), f"2026-01-0{number + 1}T00:00:00+00:00"
        store.record(Record(key, f"s{number}", "r", store.keep(staging), str(number), 1.0, store.run, made, {}))
    before = sorted(path for path in store.root.rglob("*"))
    later = time.time() + 90 * 86400
    for days, bound, trees in ((365, 0, 0), (365, 350, 2), (365, 50, 3)):
        rehearsed = collect(store, days, later, bound, rehearsed=True)
        assert (rehearsed.trees, rehearsed.records) == (trees, trees)
        assert sorted(path for path in store.root.rglob("*")) == before
    rehearsed = collect(store, 365, later, 350, rehearsed=True)
    assert collect(store, 365, later, 350) == rehearsed
    assert [row.step for row in listing(store)] == ["s2"]
