"""Results of many days in one local SQLite file: appended, never changed.

The file may be a stranger's, such as one of a checkout. SQLite runs what a schema has (views, triggers), and removes the
file that a journal names as its super-journal: only the tables and journals that this module makes are opened.
"""

from __future__ import annotations

import csv
import io
import json
import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from statistics import median

from stackbuild.core import digest
from stackbuild.core.errors import MachineLacks, UsageError
from stackbuild.core.user_folders import user_folder
from stackbuild.model.history import Figure
from stackbuild.model.results import CONTROL, Benchmarks, Case, Series, Side

VERSION = 2
_TABLE = """
create table figures (
    taken text not null, suite text not null, side text not null, artifact text not null, sha256 text not null,
    provider text not null, onnxruntime text not null, machine text not null, about_machine text not null,
    "case" text not null, metric text not null, unit text not null, value real not null, samples integer not null,
    model text not null default '', how text not null default ''
);
create index by_series on figures ("case", metric, side, provider, machine, taken);
"""


_SCHEMA = frozenset((("table", "figures"), ("index", "by_series")))
_SUPER_JOURNAL = bytes.fromhex("d9d505f920a163d7")
"""How a journal ends that names another file (SQLite's file format, "The Super-Journal Name"): that of several databases."""
METRICS = ("latency", "throughput", "create", "first", "host memory", "device memory")
COLUMNS = tuple(Figure.__dataclass_fields__)
_LENGTHS = {1: (len(COLUMNS) - 2,), VERSION: (len(COLUMNS),)}
"""How many columns a history of a version has."""
_FIRST = ("taken", "suite", "side", "artifact")


def default_file() -> Path:
    """~/.local/share/stackbuild/history.sqlite, or below XDG_DATA_HOME: a history is data, not a cache."""
    return user_folder("XDG_DATA_HOME") / "stackbuild" / "history.sqlite"


def require_usable(file: Path) -> None:
    """Create the history if it does not exist. Raises MachineLacks or UsageError where it cannot be appended to."""
    with _appending(file):
        pass


def append(file: Path, benchmarks: Benchmarks) -> int:
    """Add every figure of a measurement in one transaction; returns their number. Raises MachineLacks where it cannot write."""
    rows = list(_figures(benchmarks))
    with _appending(file) as connection:
        marks = ",".join("?" * len(COLUMNS))
        connection.executemany(f"insert into figures values ({marks})", [tuple(vars(r).values()) for r in rows])
    return len(rows)


@dataclass(frozen=True)
class SeriesQuery:
    """Which series is meant. An empty machine, provider, model or conditions stands for that of the latest entry.

    `machine` may be the beginning of a fingerprint's digest.
    """

    case: str
    metric: str
    side: str = "candidate"
    machine: str = ""
    provider: str = ""
    model: str = ""
    conditions: str = ""


def load_series(file: Path, query: SeriesQuery) -> tuple[Figure, ...]:
    """One series by time.

    Raises UsageError for an unknown file, metric or series, with the known ones.
    """
    if query.metric not in METRICS:
        close = get_close_matches(query.metric, METRICS, 1)
        hint = f"did you mean {close[0]!r}? " if close else ""
        raise UsageError(f"no metric {query.metric!r}", next=f"{hint}there are {', '.join(METRICS)}")
    series = find_series(file, query)
    if not series:
        names = sorted({name for name, _, _ in cases(file)})
        raise UsageError(
            f"no {query.metric} of {query.case!r} by {query.side}"
            + (f" on {query.provider}" if query.provider else ""),
            where=str(file),
            next=f"there are {', '.join(names[:8]) or 'no cases'}",
        )
    return series


def find_series(file: Path, query: SeriesQuery) -> tuple[Figure, ...]:
    """One series by time, empty where there is none. Machines, providers, models and conditions are never mixed."""
    select = 'select * from figures where "case" = ? and metric = ? and side = ? order by taken, rowid'
    with _reading(file) as connection:
        rows = [_figure(row, file) for row in connection.execute(select, (query.case, query.metric, query.side))]
    rows = [row for row in rows if row.machine.startswith(query.machine) and query.provider in ("", row.provider)]
    rows = [row for row in rows if query.model in ("", row.model) and query.conditions in ("", row.how)]
    return tuple(row for row in rows if _identity(row) == _identity(rows[-1]))


def _figure(row: Sequence[object], file: Path) -> Figure:
    """A row as a figure. Raises UsageError where a value is of another type: SQLite takes any in any column."""
    kinds = [float if name == "value" else int if name == "samples" else str for name in COLUMNS]
    if not all(isinstance(value, kind) for value, kind in zip(row, kinds, strict=False)):
        raise UsageError("one of its rows is not a measurement", where=str(file), next="name another --history")
    return Figure(*row)  # type: ignore[arg-type]


def _identity(row: Figure) -> tuple[str, ...]:
    """What is equal within one series."""
    return row.machine, row.provider, row.model, row.how


def measuring_conditions(benchmarks: Benchmarks, side: Side) -> str:
    """How a side was measured: what must be equal, beside machine, provider and model, before figures make a series."""
    conditions = {"timer": benchmarks.timer, "threads": side.threads, "options": side.options}
    return json.dumps(conditions, ensure_ascii=False, sort_keys=True)


def cases(file: Path) -> tuple[tuple[str, str, int], ...]:
    """Every (case, side) and its number of latencies."""
    query = """select "case", side, count(*) from figures where metric = 'latency' group by 1, 2 order by 1, 2"""
    with _reading(file) as connection:
        return tuple((str(c), str(s), int(n)) for c, s, n in connection.execute(query))


def to_csv(file: Path) -> str:
    """Everything, one figure a line, with a header: what Otava, spreadsheets and data frames read."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    with _reading(file) as connection:
        rows = connection.execute("select * from figures order by taken, rowid")
        writer.writerows(vars(_figure(row, file)).values() for row in rows)
    return text.getvalue()


@contextmanager
def _reading(file: Path) -> Iterator[sqlite3.Connection]:
    """The history for reading: it is neither made nor changed, and another program's database is refused."""
    if not file.is_file():
        raise UsageError("there is no history yet", where=str(file), next="stackbuild bench … appends to it")
    _require_plain(file)
    with (
        _as_machine_lacks(file),
        closing(sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True, timeout=30)) as connection,
    ):
        connection.execute("pragma trusted_schema = off")
        if _is_empty(connection):
            raise UsageError("there is nothing in it yet", where=str(file), next="stackbuild bench … appends to it")
        _require_ours(connection, file)
        yield connection


@contextmanager
def _appending(file: Path) -> Iterator[sqlite3.Connection]:
    """The history, made where there is none, in one transaction. Another program's database is refused unchanged."""
    with _as_machine_lacks(file):
        file.parent.mkdir(parents=True, exist_ok=True)
        _require_plain(file)
        with closing(sqlite3.connect(file, timeout=30, isolation_level=None)) as connection:
            connection.execute("pragma trusted_schema = off")
            connection.execute("begin immediate")
            if _is_empty(connection):
                for statement in filter(str.strip, _TABLE.split(";")):
                    connection.execute(statement)
                connection.execute(f"pragma user_version = {VERSION}")
            if _version(connection) == 1:
                _require_ours(connection, file)
                for column in ("model", "how"):
                    connection.execute(f"alter table figures add column {column} text not null default ''")
                connection.execute(f"pragma user_version = {VERSION}")
            _require_ours(connection, file)
            yield connection
            connection.execute("commit")


@contextmanager
def _as_machine_lacks(file: Path) -> Iterator[None]:
    """What the file system or SQLite refuses, as MachineLacks."""
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        raise MachineLacks(
            f"the history cannot be used: {error}", where=str(file), next="move it away, or name another --history"
        ) from error


def _is_empty(connection: sqlite3.Connection) -> bool:
    """Whether nobody has made anything of the file yet."""
    return not _version(connection) and connection.execute("select 1 from sqlite_master").fetchone() is None


def _require_plain(file: Path) -> None:
    """Raise UsageError unless the history and SQLite's files beside it are files, none of them of several databases."""
    real = Path(os.path.realpath(file))
    for path in (real, *(real.with_name(f"{real.name}{ending}") for ending in ("-journal", "-wal", "-shm"))):
        if path.is_symlink() or not (path.is_file() or path.is_dir() or not path.exists()):
            raise UsageError("it is not a file", where=str(path), next="name another --history")
    with suppress(FileNotFoundError), real.with_name(f"{real.name}-journal").open("rb") as journal:
        size = journal.seek(0, os.SEEK_END)
        journal.seek(max(0, size - len(_SUPER_JOURNAL)))
        if journal.read() == _SUPER_JOURNAL:
            raise UsageError(
                "its journal is one of several databases, and SQLite would remove the file that it names",
                where=journal.name, next="remove the journal if the history is from somebody else",
            )  # fmt: skip


def _require_ours(connection: sqlite3.Connection, file: Path) -> None:
    """Raise UsageError unless it is a history of this schema, and nothing else is in it."""
    version, columns = _version(connection), _columns(connection)
    if [column[0] for column in columns[: len(_FIRST)]] != list(_FIRST):
        raise UsageError("it is another program's database", where=str(file), next="name another --history")
    if version not in (1, VERSION):
        raise UsageError(
            f"its schema is {version}, this stackbuild reads {VERSION}", where=str(file),
            next="use the stackbuild that wrote it, or another --history",
        )  # fmt: skip
    entries = frozenset(connection.execute("select type, name from sqlite_master"))
    if not entries <= _SCHEMA or columns != _own_columns()[: len(columns)] or len(columns) not in _LENGTHS[version]:
        raise UsageError(
            "it has other tables, columns, views or triggers than a history", where=str(file),
            next="name another --history",
        )  # fmt: skip


def _columns(connection: sqlite3.Connection) -> list[tuple[object, ...]]:
    """Name, type and constraints of each column, generated ones too."""
    return [row[1:] for row in connection.execute("pragma table_xinfo(figures)")]


@cache
def _own_columns() -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(_TABLE)
        return _columns(connection)


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("pragma user_version").fetchone()[0])


def _figures(benchmarks: Benchmarks) -> Iterator[Figure]:
    machine = digest.of_value(benchmarks.machine.stable)[:16]
    about = json.dumps(benchmarks.machine.stable, ensure_ascii=False, sort_keys=True)
    for case in benchmarks.cases:
        for one in case.series:
            side = benchmarks.side(one.side)
            if side is None or one.side == CONTROL or one.problem:
                continue
            for metric, unit, value, samples in _of(case, one):
                yield Figure(
                    benchmarks.taken, benchmarks.suite, one.side, side.artifact, side.sha256, side.provider,
                    side.libraries.get("onnxruntime", ""), machine, about, case.name, metric, unit, value, samples,
                    case.sha256, measuring_conditions(benchmarks, side),
                )  # fmt: skip


def _of(case: Case, one: Series) -> Iterator[tuple[str, str, float, int]]:
    for metric, values in (("latency", one.seconds), ("create", one.create), ("first", one.first)):
        if values:
            yield metric, "s", median(values), len(values)
    if one.seconds:
        yield "throughput", f"{case.unit}s/s", case.items / median(one.seconds), len(one.seconds)
    for metric, peak in (("host memory", one.host_bytes), ("device memory", one.device_bytes)):
        if peak is not None:
            yield metric, "B", float(peak), 1
