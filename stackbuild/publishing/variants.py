"""Wheel variants on an index (PEP 825, a draft): what one must be to be published, and the lists that installers read.

A variant's file name ends in a label; its variant.json says what the label stands for. The index has the variants of a
version in one list, `NAME-VERSION-variants.json`. An installer that knows variants reads it and asks the machine; others
take the plain wheel, so each variant lies beside one.
"""

from __future__ import annotations

import json
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

from stackbuild.core import digest
from stackbuild.core.digest import Json
from stackbuild.core.errors import UsageError
from stackbuild.core.model import Field, TypeAdapter, ValidationError
from stackbuild.core.packaging import is_same_wheel, split_label
from stackbuild.core.zip_member import read_member
from stackbuild.model.wheel_variant import is_gpu_target, static_values
from stackbuild.publishing.catalog import CatalogFile, Project, VariantMetadata

LIMIT = 1 << 20
"""Bytes of a variant.json that are read."""
_LIST = "-variants.json"


def is_variants_list(path: str) -> bool:
    """Whether a file of an index is the list of a version's variants."""
    return path.endswith(_LIST)


def read_variant(wheel: Path) -> VariantMetadata | None:
    """What a wheel says of itself as a variant; None where it is a plain wheel by its name and content.

    Raises UsageError where its name and its variant.json do not fit, and where that cannot be read.
    """
    label = split_label(wheel.name)[1]
    data = _variant_json(wheel)
    if data is None and not label:
        return None
    try:
        if data is None or not label:
            raise ValueError(f"the label {label} and no variant.json" if label else "a variant.json and no label")
        return _variant_metadata(label, digest.unique_json_of(data.decode("utf-8")))
    except ValueError as error:
        raise UsageError(
            f"not a wheel variant that can be published: {error}",
            where=str(wheel),
            next="make it again with variantlib; `stackbuild inspect` says more",
        ) from None


def _variant_json(wheel: Path) -> bytes | None:
    try:
        with zipfile.ZipFile(wheel) as archive:
            for name in archive.namelist():
                if name.endswith(".dist-info/variant.json") and name.count("/") == 1:
                    if archive.getinfo(name).file_size > LIMIT:
                        raise UsageError(
                            f"its variant.json has more than {LIMIT >> 20} MiB",
                            where=str(wheel),
                            next="make it again with variantlib",
                        )
                    return read_member(archive, archive.getinfo(name), LIMIT)
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError) as error:
        raise UsageError(f"not a wheel: {error}", where=str(wheel), next="`stackbuild inspect` says more") from None
    return None


def _variant_metadata(label: str, value: Json) -> VariantMetadata:
    """Raises ValueError."""
    variants = value.get("variants") if isinstance(value, dict) else None
    if not isinstance(value, dict) or not isinstance(variants, dict) or list(variants) != [label]:
        raise ValueError(f"its variant.json does not describe the label {label}, and this one alone")
    if targets := sorted(filter(is_gpu_target, static_values(value))):
        raise ValueError(
            f"SB-VARIANT-STATIC: its static properties name {targets[0]}, so it is installed where there is no such GPU"
        )
    others = {name: part for name, part in value.items() if name != "variants"}
    return VariantMetadata(
        label=label, properties=_properties(variants[label]), others=json.dumps(others, sort_keys=True)
    )


def _properties(value: Json) -> dict[str, dict[str, tuple[str, ...]]]:
    """Raises ValueError."""
    values = TypeAdapter(dict[str, dict[str, Annotated[tuple[str, ...], Field(min_length=1)]]])
    try:
        return values.validate_json(json.dumps(value), strict=True)
    except ValidationError:
        raise ValueError("the properties of its variant are not lists of texts by namespace and feature") from None


def refuse_variant(project: Project, file: CatalogFile, wheel: Path) -> None:
    """A variant has its plain wheel beside it, and says nothing else than the other variants of its version."""
    variant = file.variant
    if variant is None:
        return
    plain = split_label(file.name)[0]
    files = [one for one in project.files.values() if one.variant is None and one.yanked is None]
    if not any(is_same_wheel(one.name, plain) for one in files):
        raise UsageError(
            f"the plain wheel of this variant, {plain}, is not on the index",
            where=str(wheel),
            next="give it in the same command: installers that know no variants take it",
        )
    others = [one for one in project.files.values() if one.name != file.name and _list_name(one) == _list_name(file)]
    for other in others:
        if other.variant and (reason := _conflict(variant, other.variant)):
            raise UsageError(
                f"{file.name} and {other.name} {reason}",
                where=str(wheel),
                next="make the variants of a version in one go, each label with its own properties",
            )


def _conflict(one: VariantMetadata, other: VariantMetadata) -> str:
    """Why two variants cannot be in one list; "" where they can."""
    if one.others != other.others:
        return "name other providers or priorities"
    if (one.label == other.label) != (one.properties == other.properties):
        return "have one label for two variants" if one.label == other.label else "have two labels for one variant"
    return ""


def variants_lists(project: Project) -> dict[str, bytes]:
    """The list of each version that has variants, by its file name."""
    lists: dict[str, dict[str, object]] = {}
    for file in sorted(project.files.values(), key=lambda file: file.name):
        if file.variant:
            whole = lists.setdefault(_list_name(file), {**json.loads(file.variant.others), "variants": {}})
            whole["variants"] |= {file.variant.label: file.variant.properties}  # type: ignore[operator]
    return {name: json.dumps(value, indent=1, sort_keys=True).encode() for name, value in lists.items()}


def offered_lists(project: Project, files: tuple[CatalogFile, ...]) -> Iterator[tuple[str, str]]:
    """The lists that a page names that offers those files: file name and sha256."""
    lists = variants_lists(project)
    for name in sorted({_list_name(file) for file in files if file.variant}):
        yield name, digest.of_bytes(lists[name])


def _list_name(file: CatalogFile) -> str:
    return "-".join(file.name.split("-")[:2]) + _LIST
