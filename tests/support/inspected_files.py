"""Bytes that a test has inspected: a bundle for two targets, a wheel that is written in another way."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Callable
from io import BytesIO
from pathlib import Path

from stackbuild.inspection import Facts, inspect
from stackbuild.inspection.facts import Bundle
from stackbuild.inspection.readers.budget import ReadBudget
from stackbuild.inspection.readers.bundle import bundles
from stackbuild.inspection.readers.byte_parser import MalformedError, read_all
from stackbuild.inspection.readers.source import FileRange
from support.binaries import GOOD, bundle, code_object, kernel

WHEEL = GOOD.bytes()
ONE = bundle({"gfx90a": code_object("gfx90a"), "gfx1100": code_object("gfx1100", [kernel("big", 99)])})


def walk(data: bytes) -> tuple[list[Bundle], list[MalformedError]]:
    return read_all(
        bundles(0, len(data), ReadBudget(len(data)), lambda at: None), lambda at, size: data[at : at + size]
    )


def looked(path: Path, data: bytes) -> Facts:
    path.write_bytes(data)
    return inspect(path)


def on_disk(path: Path, data: bytes) -> FileRange:
    path.write_bytes(data)
    return FileRange(os.open(path, os.O_RDONLY), path.name, 0, len(data))


def looked_at_wheel(tmp_path: Path, data: bytes) -> Facts:
    path = tmp_path / GOOD.filename
    path.write_bytes(data)
    return inspect(path)


def added(change: Callable[[zipfile.ZipFile], object]) -> bytes:
    buffer = BytesIO(WHEEL)
    with zipfile.ZipFile(buffer, "a") as archive:
        change(archive)
    return buffer.getvalue()


def written(buffer: BytesIO, **how: bool) -> bytes:
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as out, zipfile.ZipFile(BytesIO(WHEEL)) as good:
        for info in good.infolist():
            with out.open(zipfile.ZipInfo(info.filename), "w", **how) as member:
                member.write(good.read(info))
    return buffer.getvalue()
