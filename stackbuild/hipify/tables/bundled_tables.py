"""HIPIFY's tables as this package has them, for machines without HIPIFY: `hipify/hipify-tables.tsv`, with source and licence in it."""

from __future__ import annotations

import hashlib
from collections import Counter
from functools import cache
from pathlib import Path

from stackbuild.core import resources
from stackbuild.core.errors import UsageError
from stackbuild.hipify.tables.tables import HostCall, Subst, Tables, Versions

FILE = "hipify-tables.tsv"
FIRST = "#! stackbuild hipify tables 1"
_LISTS = ("simple", "roc", "miopen", "trial")
_MAPS = ("deprecated", "removed", "experimental")


@cache
def load() -> Tables:
    """The bundled tables."""
    return parse((resources.folder("hipify") / FILE).read_text("utf-8"), FILE)


def is_tables(text: str) -> bool:
    """Whether a text is of this form, and not a hipify-perl script."""
    return FIRST in text[:4096]


def dump(tables: Tables) -> str:
    """Tables as text: a row a line, its kind first, columns divided by tabs; substitutions in HIPIFY's order."""
    rows = [FIRST, f"tool\t{tables.tool}", f"device_types_count\t{int(tables.device_types_count)}"]
    for kind in _LISTS:
        rows += [f"{kind}\t{s.cuda}\t{s.hip}\t{s.group}" for s in getattr(tables, kind)]
    rows += [f"unsupported\t{name}\t{','.join(by)}" for name, by in tables.unsupported.items()]
    for kind in _MAPS:
        rows += [f"{kind}\t{name}\t{version}" for name, version in getattr(tables, kind).items()]
    rows += [f"whitelist\t{name}" for name in tables.whitelist]
    rows += [f"version\t{name}\t{v.added}\t{v.deprecated}\t{v.removed}" for name, v in tables.versions.items()]
    rows += [f"host_call\t{','.join(c.functions)}\t{c.pattern}\t{c.replacement}" for c in tables.host_calls]
    rows.append(f"rows\t{len(rows) - 1}")  # the last one, so that a file that was cut is known by it
    return "\n".join(rows) + "\n"


def parse(text: str, place: str) -> Tables:
    """The tables of a text that `dump` made; lines that begin with `#` are comments. Raises UsageError."""
    by_kind: dict[str, list[list[str]]] = {}
    for number, line in enumerate(text.split("\n"), 1):
        if line and not line.startswith("#"):
            kind, *cells = line.split("\t")
            if len(cells) != _WIDTHS.get(kind):
                raise UsageError(
                    f"line {number} is not a row of HIPIFY's tables",
                    where=place,
                    next="make it anew: `ci/hipify-data tables`",
                )
            by_kind.setdefault(kind, []).append(cells)
    if missing := [kind for kind in ("tool", "simple", "unsupported") if kind not in by_kind]:
        counts = Counter({kind: len(rows) for kind, rows in by_kind.items()})
        raise UsageError(
            f"it has no {missing[0]} rows, and {counts.total()} of others",
            where=place,
            next="make it anew: `ci/hipify-data tables`",
        )
    count = sum(len(rows) for kind, rows in by_kind.items() if kind != "rows")
    if by_kind.get("rows") != [[str(count)]]:
        last = by_kind["rows"][0][0] if "rows" in by_kind else "no number"
        raise UsageError(
            f"it has {count} rows, and its last row says {last}",
            where=place,
            next="take the whole file, or make it anew: `ci/hipify-data tables`",
        )
    lists = {kind: tuple(Subst(*cells) for cells in by_kind.get(kind, [])) for kind in _LISTS}
    maps = {kind: {cells[0]: cells[1] for cells in by_kind.get(kind, [])} for kind in _MAPS}
    return Tables(
        tool=by_kind["tool"][0][0],
        digest=hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest(),
        unsupported={name: tuple(by.split(",")) for name, by in by_kind["unsupported"]},
        whitelist=tuple(name for (name,) in by_kind.get("whitelist", [])),
        versions={name: Versions(*cells) for name, *cells in by_kind.get("version", [])},
        host_calls=tuple(HostCall(tuple(f.split(",")), pattern, to) for f, pattern, to in by_kind.get("host_call", [])),
        device_types_count=by_kind.get("device_types_count", [["1"]])[0][0] == "1",
        simple=lists["simple"],
        roc=lists["roc"],
        miopen=lists["miopen"],
        trial=lists["trial"],
        deprecated=maps["deprecated"],
        removed=maps["removed"],
        experimental=maps["experimental"],
    )


_WIDTHS = {"rows": 1, "tool": 1, "device_types_count": 1, **dict.fromkeys(_LISTS, 3), "unsupported": 2, **dict.fromkeys(_MAPS, 2),
           "whitelist": 1, "version": 4, "host_call": 3}  # fmt: skip


def read(path: Path) -> Tables | None:
    """The tables of a file of this form, None where it has another. Raises UsageError where it cannot be read."""
    try:
        text = path.read_text("utf-8", "surrogateescape")
    except OSError as error:
        raise UsageError(
            f"the tables cannot be read: {error.strerror}", where=str(path), next="check --tables"
        ) from error
    return parse(text, str(path)) if is_tables(text) else None
