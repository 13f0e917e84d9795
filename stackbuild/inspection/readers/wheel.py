"""What a wheel says of itself: its file name, METADATA, WHEEL and RECORD."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping
from email.message import Message
from email.parser import BytesParser
from email.policy import compat32
from math import prod

from stackbuild.core.packaging import (
    InvalidRequirement,
    InvalidSpecifier,
    InvalidVersion,
    InvalidWheelFilename,
    Requirement,
    SpecifierSet,
    Version,
    canonicalize_name,
    parse_tag,
    parse_wheel_filename,
    split_label,
)
from stackbuild.inspection.facts import EntryPoint, Problem, ProblemKind, RecordRow, WheelMetadata
from stackbuild.inspection.limits import ENTRY_POINTS, REQUIREMENTS, ROWS, TAGS
from stackbuild.inspection.readers.byte_parser import LimitError, MalformedError, ProblemSink
from stackbuild.inspection.readers.wheel_variant import wheel_variant

Texts = Mapping[str, bytes]


def dist_info(paths: list[str], filename: str = "") -> str:
    """The `.dist-info` folder at the top of a wheel or environment, of several the one `filename` asks for; '' where none is."""
    folders = _dist_infos(paths)
    name, version, _, _ = _filename(filename)
    return next((folder for folder in folders if name and _is_of(folder, name, version)), folders[0] if folders else "")


def _dist_infos(paths: list[str]) -> list[str]:
    return sorted({top for path in paths if "/" in path and (top := path.split("/", 1)[0]).endswith(".dist-info")})


def _is_of(folder: str, name: str, version: str) -> bool:
    """Whether a folder's name says this normalised name and version."""
    own, _, number = folder.removesuffix(".dist-info").partition("-")
    return normal_name(own) == name and same_version(number, version)


def wheel(
    filename: str, paths: list[str], texts: Texts, add_problem: ProblemSink
) -> tuple[WheelMetadata, list[Problem]]:
    """Read the metadata among `texts` (path → bytes, what could be read). `filename` is '' for an unpacked folder.

    The problems returned are those of the wheel as a package. A file that is too large or malformed goes to `add_problem`.
    """
    folder = dist_info(paths, filename)
    metadata = _message(texts.get(f"{folder}/METADATA", b""))
    tags = _message(texts.get(f"{folder}/WHEEL", b""))
    name, version, filename_tags, wrong = _filename(filename, _named_for(metadata, tags))
    wheel_metadata = WheelMetadata(
        filename=filename, name=name or _name(metadata), version=version or _get(metadata, "Version"),
        filename_tags=filename_tags, wheel_tags=_tags([str(each) for each in tags.get_all("Tag") or []]), metadata_name=_get(metadata, "Name"),
        metadata_version=_get(metadata, "Version"), requires_python=_get(metadata, "Requires-Python"),
        requires=tuple(map(str, (metadata.get_all("Requires-Dist") or [])[:REQUIREMENTS])),
        licence_files=_licences(metadata, folder, paths), description_type=_get(metadata, "Description-Content-Type"),
        has_description=bool(_body(metadata).strip() or metadata.get("Description")),
        record=_record(f"{folder}/RECORD", texts.get(f"{folder}/RECORD", b""), add_problem),
        has_record=f"{folder}/RECORD" in texts, top_level=_top_level(paths, folder),
        wheel_version=_get(tags, "Wheel-Version"), entry_points=_entry_points(texts.get(f"{folder}/entry_points.txt", b"")),
        variant=wheel_variant(split_label(filename)[1], "variant.json", texts.get(f"{folder}/variant.json"), add_problem),
    )  # fmt: skip
    return wheel_metadata, [*_folders(filename, paths, folder), *wrong]


def _folders(filename: str, paths: list[str], folder: str) -> list[Problem]:
    """What keeps installers from finding the metadata: no .dist-info, another distribution's, or several. Only of wheels."""
    if not folder:
        return [
            Problem(
                filename or ".",
                ProblemKind.FORMAT,
                "there is no .dist-info folder: a zip archive is not a wheel; `pip wheel FOLDER` and `python -m build` write one",
            )
        ]
    name, version, _, _ = _filename(filename)
    several = _dist_infos(paths) if filename else []
    wrong = (
        [Problem(filename, ProblemKind.FORMAT, f"several .dist-info folders: {', '.join(several[:3])}")]
        if len(several) > 1
        else []
    )
    if name and not _is_of(folder, name, version):
        wrong.append(Problem(folder[:200], ProblemKind.FORMAT, "the .dist-info folder is not named for this wheel"))
    return wrong


def required_names(requires: tuple[str, ...], *, extras: bool = True) -> tuple[str, ...]:
    """The normalised names of requirements; one that does not parse is left out, and without `extras` one of an extra."""
    names = []
    for text in requires:
        try:
            requirement = Requirement(text)
        except InvalidRequirement:
            continue
        if extras or "extra" not in str(requirement.marker or ""):
            names.append(str(canonicalize_name(requirement.name)))
    return tuple(names)


def is_specifier(text: str) -> bool:
    """Whether installers can read a `Requires-Python`; an empty one says nothing."""
    try:
        SpecifierSet(text)
    except InvalidSpecifier:
        return False
    return True


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


def _named_for(metadata: Message, tags: Message) -> str:
    """The file name that a wheel's own METADATA and WHEEL ask for; "" where they do not say."""
    name, version, tag_names = _get(metadata, "Name"), _get(metadata, "Version"), tags.get_all("Tag") or []
    if not (name and version and len(tag_names) == 1):
        return ""
    return f"{re.sub(r'[-_.]+', '_', name).lower()}-{version}-{tag_names[0]}.whl"[:200]


def _filename(filename: str, right_name: str = "") -> tuple[str, str, tuple[str, ...], list[Problem]]:
    if not filename:
        return "", "", (), []
    try:
        name, version, _, tags = parse_wheel_filename(split_label(filename)[0])
    except (InvalidWheelFilename, ValueError) as error:
        step = f"; its metadata is that of {right_name}: rename it so" if right_name else ""
        return "", "", (), [Problem(filename, ProblemKind.FORMAT, f"not a wheel's file name: {str(error)[:200]}{step}")]
    return str(name), str(version), tuple(sorted(map(str, tags))), []


def _message(data: bytes) -> Message:
    """Headers, and the rest as text: METADATA is not mail, and nested parts would be followed without end."""
    return BytesParser(policy=compat32).parsebytes(data, headersonly=True)


def _get(message: Message, key: str) -> str:
    return str(message.get(key, "")).strip()


def _name(metadata: Message) -> str:
    return normal_name(_get(metadata, "Name"))


def _body(message: Message) -> str:
    payload = message.get_payload()
    return payload if isinstance(payload, str) else ""


def _tags(lines: list[str]) -> tuple[str, ...]:
    tags: set[str] = set()
    for text in lines[:TAGS]:
        stands_for = prod(part.count(".") + 1 for part in text.split("-"))  # a.b-c.d-e stands for four tags
        try:
            tags |= (
                {str(tag) for tag in parse_tag(text.strip())}
                if text.count("-") == 2 and stands_for <= TAGS
                else {text.strip()}
            )
        except ValueError:
            tags.add(text.strip())
    return tuple(sorted(tags))


def _record(path: str, data: bytes, add_problem: ProblemSink) -> tuple[RecordRow, ...]:
    lines = io.TextIOWrapper(io.BytesIO(data), "utf-8", "replace", newline="")
    rows: list[RecordRow] = []
    try:
        for row in csv.reader(lines):
            if len(rows) == ROWS:
                raise LimitError(f"more than {ROWS} rows; the rest is not read")
            if row:
                rows.append(RecordRow(*[*row[:3], "", ""][:3]))
    except csv.Error as error:
        add_problem(path, MalformedError(f"it is not CSV: {error}"))
    except LimitError as format_error:
        add_problem(path, format_error)
    return tuple(rows)


def _entry_points(data: bytes) -> tuple[EntryPoint, ...]:
    """The lines of entry_points.txt. One without an equals sign is an entry point with no value."""
    entry_points: list[EntryPoint] = []
    group = ""
    for line in re.split(r"[\r\n]+", data.decode("utf-8", "replace")):
        text = line.strip()
        if not text or text.startswith(("#", ";")):
            continue
        if text.startswith("["):
            group = text.strip("[]").strip()
            continue
        name, _, value = text.partition("=")
        entry_points.append(EntryPoint(group[:200], name.strip()[:400], value.strip()[:400]))
        if len(entry_points) == ENTRY_POINTS:
            break
    return tuple(entry_points)


def _licences(metadata: Message, folder: str, paths: list[str]) -> tuple[str, ...]:
    """Licence files inside the .dist-info, declared or by the usual names."""
    inside = [path for path in paths if folder and path.startswith(f"{folder}/")]
    declared_files = {str(name) for name in metadata.get_all("License-File") or []}
    usual = ("licen", "copying", "notice", "copyright")
    return tuple(
        path
        for path in inside
        if path.split("/", 1)[1].removeprefix("licenses/") in declared_files
        or path.rsplit("/", 1)[1].lower().startswith(usual)
    )


def _top_level(paths: list[str], folder: str) -> tuple[str, ...]:
    """The modules and folders that installing puts beside other distributions."""
    tops = {path.split("/", 1)[0] for path in paths}
    return tuple(sorted(t for t in tops if t and t != folder and not t.endswith((".data", ".dist-info"))))
