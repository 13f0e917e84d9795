"""The history's file: reading leaves it alone, and another program's is never touched."""

from __future__ import annotations

import csv
import os
import sqlite3
import struct
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from stackbuild.bench import history
from stackbuild.bench.trend import trends
from stackbuild.core.errors import MachineLacks, UsageError
from stackbuild.model.results import Benchmarks
from support.benchmark_results import CPU, measured

READERS: tuple[Callable[[Path], object], ...] = (
    history.cases,
    history.to_csv,
    lambda file: history.load_series(file, history.SeriesQuery("x", "latency")),
)


@pytest.mark.parametrize("read", READERS)
def test_reading_makes_no_file(tmp_path: Path, read: Callable[[Path], object]) -> None:
    with pytest.raises(UsageError, match="no history yet"):
        read(tmp_path / "deep" / "h.sqlite")
    (tmp_path / "empty").touch()
    with pytest.raises(UsageError, match="nothing in it yet"):
        read(tmp_path / "empty")
    assert [p.name for p in tmp_path.iterdir()] == ["empty"] and not (tmp_path / "empty").stat().st_size


@pytest.mark.parametrize("table", ["create table songs (name text)", "create table figures (name text)"])
@pytest.mark.parametrize("version", [0, 1])
def test_another_programs_database_is_refused_unchanged(tmp_path: Path, table: str, version: int) -> None:
    file = tmp_path / "other.sqlite"
    with closing(sqlite3.connect(file)) as connection:
        connection.execute(table)
        connection.execute(f"pragma user_version = {version}")
    before = file.read_bytes()
    uses: list[Callable[[Path], object]] = [*READERS, lambda file: history.append(file, measured())]
    for use in uses:
        with pytest.raises(UsageError, match="another program's database"):
            use(file)
    assert file.read_bytes() == before and list(tmp_path.iterdir()) == [file]


def test_a_failed_append_leaves_the_history_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "h.sqlite"
    count = history.append(file, measured())
    rows = history.to_csv(file)
    monkeypatch.setattr(history, "COLUMNS", (*history.COLUMNS, "one too many"))
    with pytest.raises(MachineLacks, match="cannot be used"):
        history.append(file, measured())
    monkeypatch.undo()
    assert history.to_csv(file) == rows and rows.count("\n") == count + 1


def _one(**changes: Any) -> Benchmarks:
    """A measurement of one case by one side, changed in one respect."""
    whole = measured(batches=(1,))
    side = replace(whole.sides[0], **{k: v for k, v in changes.items() if k in ("threads", "options")})
    case = replace(whole.cases[0], **{k: v for k, v in changes.items() if k == "sha256"})
    return replace(whole, sides=(side, whole.sides[1]), cases=(case,), timer=changes.get("timer", "wall clock"))


@pytest.mark.parametrize(
    "change",
    [{"timer": "events of the stream, copies left out"}, {"threads": 2}, {"options": {"a": "b"}}, {"sha256": "0" * 64}],
)
def test_what_is_measured_otherwise_is_another_series(tmp_path: Path, change: dict[str, Any]) -> None:
    file = tmp_path / "h.sqlite"
    for _ in range(5):
        history.append(file, _one())
    history.append(file, _one(**change))
    assert len(history.load_series(file, history.SeriesQuery("resnet50/b1/float32", "latency"))) == 1
    (candidate, _) = trends(file, _one())
    assert (candidate.side, len(candidate.figures)) == ("candidate", 5)
    assert all(found.side != "candidate" for found in trends(file, _one(**change)))


def test_a_history_of_the_first_schema_is_read_and_goes_on(tmp_path: Path) -> None:
    file = tmp_path / "h.sqlite"
    count = history.append(file, measured())
    with closing(sqlite3.connect(file)) as connection:
        for column in ("model", "how"):
            connection.execute(f"alter table figures drop column {column}")
        connection.execute("pragma user_version = 1")
    before = file.read_bytes()
    (old,) = history.load_series(file, history.SeriesQuery("resnet50/b1/float32", "latency"))
    assert (old.model, old.how) == ("", "") and file.read_bytes() == before
    lines = history.to_csv(file).splitlines()
    assert all(line.count(",") >= lines[0].count(",") for line in lines) and lines[1].endswith(",,")
    history.append(file, measured())
    (new,) = history.load_series(file, history.SeriesQuery("resnet50/b1/float32", "latency"))
    assert new.model == "cd" * 32 and history.to_csv(file).count("\n") == 2 * count + 1


def test_a_history_that_cannot_be_appended_to_is_told_before_measuring(tmp_path: Path) -> None:
    history.require_usable(tmp_path / "deep" / "h.sqlite")
    assert history.cases(tmp_path / "deep" / "h.sqlite") == ()
    (tmp_path / "text").write_text("no database " * 500)
    for file in (tmp_path, tmp_path / "text", tmp_path / "text" / "h.sqlite"):
        with pytest.raises(MachineLacks, match="cannot be used"):
            history.require_usable(file)


def test_a_metric_that_is_nearly_right(tmp_path: Path) -> None:
    history.append(tmp_path / "h.sqlite", measured())
    with pytest.raises(UsageError) as stop:
        history.load_series(tmp_path / "h.sqlite", history.SeriesQuery("resnet50/b1/float32", "latncy"))
    assert "did you mean 'latency'?" in stop.value.next


def test_history_keeps_machines_apart_and_exports(tmp_path: Path) -> None:
    file = tmp_path / "h.sqlite"
    for day, cpu in enumerate(["EPYC", "Xeon", "EPYC"]):
        history.append(file, measured(1 + day / 100, f"2026-11-{20 + day}T00:00:00Z", cpu))
    rows = history.load_series(file, history.SeriesQuery("resnet50/b1/float32", "latency"))
    assert [row.taken[:10] for row in rows] == ["2026-11-20", "2026-11-22"] and rows[0].unit == "s"
    assert ("resnet50/b1/float32", CPU, 3) in history.cases(file)
    table = list(csv.DictReader(history.to_csv(file).splitlines()))
    assert len(table) == 3 * 2 * (6 + 5) and table[0]["case"] == "resnet50/b1/float32"


def test_history_that_is_not_there_or_is_not_one(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no history yet"):
        history.load_series(tmp_path / "none.sqlite", history.SeriesQuery("x", "latency"))
    history.append(tmp_path / "h.sqlite", measured())
    with pytest.raises(UsageError, match="no latency of 'x'") as stop:
        history.load_series(tmp_path / "h.sqlite", history.SeriesQuery("x", "latency"))
    assert "resnet50/b1/float32" in stop.value.next
    (tmp_path / "broken").write_bytes(b"this is no database at all, it is a text of some length" * 30)
    with pytest.raises(MachineLacks, match="cannot be used"):
        history.append(tmp_path / "broken", measured())


USES: tuple[Callable[[Path], object], ...] = (*READERS, lambda file: history.append(file, measured()))
ENDLESS = "with recursive t(x) as (select 'x' union all select x from t) select x as taken, x as suite, x as side, x as artifact"


def _without(file: Path, *statements: str) -> None:
    """A history with other things in it."""
    history.append(file, measured())
    with closing(sqlite3.connect(file)) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize(
    "statements",
    [
        ("drop table figures", f"create view figures as {ENDLESS} from t"),
        ("create trigger t after insert on figures begin delete from figures; end",),
        ("create table more (x)",),
        ("create index more on figures (suite)",),
        ("alter table figures add column more text",),
        ("alter table figures add column more text generated always as (upper(how))",),
        ("alter table figures drop column how",),
        ("drop index by_series", "alter table figures rename column machine to card"),
    ],
)
def test_what_a_history_has_not_is_not_run(tmp_path: Path, statements: tuple[str, ...], use: Callable[[Path], object]) -> None:
    _without(tmp_path / "h.sqlite", *statements)
    with pytest.raises(UsageError, match="than a history"):
        use(tmp_path / "h.sqlite")


@pytest.mark.parametrize("value", ["x'00'", "null", "'text'"])
@pytest.mark.parametrize("column", ["value", "samples"])
def test_a_value_of_another_type_is_no_measurement(tmp_path: Path, column: str, value: str) -> None:
    file = tmp_path / "h.sqlite"
    if value == "null":
        value = "x'ff'"
    _without(file, f"update figures set {column} = {value}")
    with pytest.raises(UsageError, match="not a measurement"):
        history.to_csv(file)


def test_a_name_that_is_no_text_is_no_measurement(tmp_path: Path) -> None:
    file = tmp_path / "h.sqlite"
    _without(file, "update figures set machine = x'00ff'")
    with pytest.raises(UsageError, match="not a measurement"):
        history.find_series(file, history.SeriesQuery(measured().cases[0].name, "latency"))


@pytest.mark.parametrize("use", USES)
def test_a_journal_does_not_remove_the_file_that_it_names(tmp_path: Path, use: Callable[[Path], object]) -> None:
    """SQLite removes the super-journal of a journal that it plays back: any file of this machine."""
    file, victim = tmp_path / "h.sqlite", tmp_path / "victim"
    history.append(file, measured())
    victim.write_text("precious")
    name, magic = os.fsencode(victim), bytes.fromhex("d9d505f920a163d7")
    head = magic + struct.pack(">IIIII", 0, 0, file.stat().st_size // 4096, 512, 4096)
    tail = struct.pack(">I", (1 << 30) // 4096 + 1) + name + struct.pack(">II", len(name), sum(name)) + magic
    (tmp_path / "h.sqlite-journal").write_bytes(head.ljust(512, b"\0") + tail)
    with pytest.raises(UsageError, match="SQLite would remove the file"):
        use(file)
    assert victim.read_text() == "precious"


@pytest.mark.parametrize("ending", ["", "-journal", "-wal", "-shm"])
def test_a_history_and_what_lies_beside_it_are_files(tmp_path: Path, ending: str) -> None:
    file = tmp_path / "h.sqlite"
    if ending:
        history.append(file, measured())
        (tmp_path / f"h.sqlite{ending}").symlink_to("elsewhere")
    else:
        os.mkfifo(file)
    with pytest.raises(UsageError, match="not a file"):
        history.append(file, measured())
    assert not (tmp_path / "elsewhere").exists()
