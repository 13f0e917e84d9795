"""What a wheel says of itself: its file name, METADATA, WHEEL and RECORD."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from email.message import Message
from email.parser import BytesParser
from email.policy import compat32
from math import prod

from stackbuild.inspect.facts import Problem, RecordRow, Trouble, Wheel
from stackbuild.inspect.limits import REQUIREMENTS, TAGS
from stackbuild.pythontags import (
    InvalidRequirement,
    InvalidVersion,
    InvalidWheelFilename,
    Requirement,
    Version,
    canonicalize_name,
    parse_tag,
    parse_wheel_filename,
)

Texts = Mapping[str, bytes]


def dist_info(paths: list[str]) -> str:
    """The `.dist-info` folder at the top of a wheel or environment; '' where there is none."""
    tops = sorted({path.split("/", 1)[0] for path in paths if "/" in path})
    return next((top for top in tops if top.endswith(".dist-info")), "")


def wheel(filename: str, paths: list[str], texts: Texts) -> tuple[Wheel, list[Problem]]:
    """Read the metadata among `texts` (path → bytes, what could be read). `filename` is '' for an unpacked folder."""
    folder = dist_info(paths)
    problems = [Problem(filename or ".", Trouble.MALFORMED, "there is no .dist-info folder")] if not folder else []
    metadata = _message(texts.get(f"{folder}/METADATA", b""))
    tags = _message(texts.get(f"{folder}/WHEEL", b""))
    name, version, filename_tags, wrong = _filename(filename)
    record = _record(texts.get(f"{folder}/RECORD", b""))
    made = Wheel(
        filename=filename, name=name or _name(metadata), version=version or _get(metadata, "Version"),
        filename_tags=filename_tags, wheel_tags=_tags([str(each) for each in tags.get_all("Tag") or []]), metadata_name=_get(metadata, "Name"),
        metadata_version=_get(metadata, "Version"), requires_python=_get(metadata, "Requires-Python"),
        requires=tuple(map(str, (metadata.get_all("Requires-Dist") or [])[:REQUIREMENTS])),
        licence_files=_licences(metadata, folder, paths), description_type=_get(metadata, "Description-Content-Type"),
        has_description=bool(_body(metadata).strip() or metadata.get("Description")), record=record,
        has_record=f"{folder}/RECORD" in texts, top_level=_top_level(paths, folder),
    )  # fmt: skip
    return made, problems + wrong


def required_names(requires: tuple[str, ...]) -> tuple[str, ...]:
    """The normalised names of requirements; one that does not parse is left out."""
    names = []
    for text in requires:
        try:
            names.append(str(canonicalize_name(Requirement(text).name)))
        except InvalidRequirement:
            continue
    return tuple(names)


def normal_name(name: str) -> str:
    return str(canonicalize_name(name))


def local_of(version: str) -> str:
    """The local version part; '' where there is none or the version does not parse."""
    try:
        return Version(version).local or ""
    except InvalidVersion:
        return ""


def release_of(version: str) -> tuple[int, ...]:
    """The release numbers of a version, (1, 22, 2) of 1.22.2.post3+rocm; () where it does not parse."""
    try:
        return Version(version).release
    except InvalidVersion:
        return ()


def same_version(one: str, two: str) -> bool:
    try:
        return Version(one) == Version(two)
    except InvalidVersion:
        return one == two


def _filename(filename: str) -> tuple[str, str, tuple[str, ...], list[Problem]]:
    if not filename:
        return "", "", (), []
    try:
        name, version, _, tags = parse_wheel_filename(filename)
    except (InvalidWheelFilename, ValueError) as error:
        return "", "", (), [Problem(filename, Trouble.MALFORMED, f"not a wheel's file name: {str(error)[:200]}")]
    return str(name), str(version), tuple(sorted(map(str, tags))), []


def _message(data: bytes) -> Message:
    return BytesParser(policy=compat32).parsebytes(data)


def _get(message: Message, key: str) -> str:
    return str(message.get(key, "")).strip()


def _name(metadata: Message) -> str:
    return normal_name(_get(metadata, "Name"))


def _body(message: Message) -> str:
    payload = message.get_payload()
    return payload if isinstance(payload, str) else ""


def _tags(written: list[str]) -> tuple[str, ...]:
    made: set[str] = set()
    for text in written[:TAGS]:
        stands_for = prod(part.count(".") + 1 for part in text.split("-"))  # a.b-c.d-e stands for four tags
        try:
            made |= (
                {str(tag) for tag in parse_tag(text.strip())}
                if text.count("-") == 2 and stands_for <= TAGS
                else {text.strip()}
            )
        except ValueError:
            made.add(text.strip())
    return tuple(sorted(made))


def _record(data: bytes) -> tuple[RecordRow, ...]:
    text = data.decode("utf-8", "replace")
    try:
        rows = [row for row in csv.reader(io.StringIO(text)) if row]
    except csv.Error:
        return ()
    return tuple(RecordRow(*[*row, "", ""][:3]) for row in rows)


def _licences(metadata: Message, folder: str, paths: list[str]) -> tuple[str, ...]:
    """Licence files inside the .dist-info, declared or by the usual names."""
    inside = [path for path in paths if folder and path.startswith(f"{folder}/")]
    declared = {str(name) for name in metadata.get_all("License-File") or []}
    usual = ("licen", "copying", "notice", "copyright")
    return tuple(
        path
        for path in inside
        if path.split("/", 1)[1].removeprefix("licenses/") in declared
        or path.rsplit("/", 1)[1].lower().startswith(usual)
    )


def _top_level(paths: list[str], folder: str) -> tuple[str, ...]:
    """The modules and folders that installing puts beside other distributions."""
    tops = {path.split("/", 1)[0] for path in paths}
    return tuple(sorted(t for t in tops if t and t != folder and not t.endswith((".data", ".dist-info"))))
