"""Digests of bytes, files, trees and values, and the canonical JSON they are taken of."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import re
from collections.abc import Mapping
from enum import Enum
from pathlib import Path
from typing import IO, Any

from stackbuild.core.cancel import check_signals

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]


_SMALL = 1 << 16
"""Bytes up to which a file is read at once."""
_PIECE = 1 << 18
"""Bytes of a longer one that are read between two looks at whether a signal has come."""
_SCALARS = frozenset((str, int, float, bool, type(None)))
"""Types that are JSON already, without those derived from them: an enum of texts is not one."""


def plain(value: Any) -> Any:
    """The JSON form of a noun: dataclasses to dicts, tuples to lists, enums to values, paths to text."""
    if type(value) in _SCALARS:
        return value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json", by_alias=True)
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if isinstance(value, (set, frozenset)):
        return sorted(plain(v) for v in value)
    return str(value) if isinstance(value, Path) else value


def canonical(value: Any) -> str:
    """One spelling of a value: sorted keys, no spaces, UTF-8 left as it is."""
    return json.dumps(plain(value), sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def json_of(text: str) -> Any:
    """The value of a JSON text. Raises ValueError where it is not JSON, also where it is nested too deep to be read."""
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("nested too deep") from None


def unique_json_of(text: str) -> Any:
    """The value of a JSON text in which no object has a key twice: readers differ in which of the two they take. NaN
    and infinities are refused too: JSON has none.

    Raises ValueError where it is not one.
    """
    try:
        return json.loads(text, object_pairs_hook=_unique_keys, parse_constant=_refuse_constant)
    except RecursionError:
        raise ValueError("nested too deep") from None


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table = dict(pairs)
    if len(table) < len(pairs):
        known_keys = set[str]()
        for key, _ in pairs:
            if key in known_keys:
                raise ValueError(f"the key {key!r} stands there twice in one object")
            known_keys.add(key)
    return table


def _refuse_constant(text: str) -> Any:
    raise ValueError(f"{text} is not a number of JSON")


def document_text(value: Any, indent: int | None) -> str:
    """JSON for others to read, in UTF-8, with `printable_json`'s escapes; one line where `indent` is None."""
    return printable_json(json.dumps(value, indent=indent, ensure_ascii=False)) + "\n"


def printable_json(text: str) -> str:
    """The same JSON, which does nothing to a terminal: C1 and bidi controls are escapes in it, as C0 controls are in any JSON.

    A byte of a file's name that is not UTF-8 is an escape too (`\\udcff`), and one of the two # that begin a command to the
    program that keeps a CI job's log.
    """
    if "##" in text:  # in a string: nothing else of JSON has them
        text = re.sub(r"##(?=(?:vso|teamcity)?\[)", r"#\\u0023", text, flags=re.IGNORECASE)
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c == "\n" else json.dumps(c)[1:-1] for c in text)


def of_text(text: str) -> str:
    """sha256 of a text, in hex."""
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


def of_bytes(data: bytes) -> str:
    """sha256 of bytes, in hex."""
    return hashlib.sha256(data).hexdigest()


def of_value(value: Any) -> str:
    """sha256 of a value's canonical JSON, in hex."""
    return of_text(canonical(value))


def of_file(path: Path) -> str:
    """sha256 of a file's bytes, in hex. Raises Stopped, OSError."""
    return of_open_file(os.open(path, os.O_RDONLY | os.O_CLOEXEC))


def of_open_file(fd: int) -> str:
    """sha256 of the bytes of an open file, in hex; it is closed. Raises Stopped, OSError."""
    with open(fd, "rb", buffering=0) as file:
        if os.fstat(fd).st_size <= _SMALL:
            return hashlib.sha256(file.read()).hexdigest()
        return of_stream(file)


def of_stream(file: IO[bytes], kind: str = "sha256") -> str:
    """Digest of what is left to read of a binary file, in hex. Raises Stopped soon after a signal, OSError."""
    hasher = hashlib.new(kind)
    while piece := file.read(_PIECE):
        hasher.update(piece)
        check_signals()
    return hasher.hexdigest()
