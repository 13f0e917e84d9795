"""variant.json of a wheel variant (PEP 825, a draft): labels, properties, and which of these need no look at the machine."""

from __future__ import annotations

from collections.abc import Iterator

from stackbuild.core import digest
from stackbuild.core.digest import Json
from stackbuild.inspection.facts import WheelVariant
from stackbuild.inspection.limits import VARIANT_VALUES
from stackbuild.inspection.readers.byte_parser import MalformedError, ProblemSink


def wheel_variant(label: str, path: str, data: bytes | None, add_problem: ProblemSink) -> WheelVariant | None:
    """The variant that a wheel is by its file name's `label` or its variant.json; None where it has neither.

    A variant.json that cannot be read goes to `add_problem`.
    """
    if data is None:
        return WheelVariant(label=label) if label else None
    try:
        value = digest.json_of(data.decode("utf-8"))
        variants = value.get("variants") if isinstance(value, dict) else None
        if not isinstance(value, dict) or not isinstance(variants, dict):
            raise ValueError("it has no table of variants")
    except ValueError as error:
        add_problem(path, MalformedError(f"not a variant.json: {error}"))
        return WheelVariant(label=label, has_metadata=True)
    static = {text for part in _under("static-properties", value) for text in _texts(part)}
    return WheelVariant(
        label=label,
        has_metadata=True,
        labels=tuple(sorted(variants)[:VARIANT_VALUES]),
        static_values=tuple(sorted(static)[:VARIANT_VALUES]),
    )


def _under(name: str, value: Json) -> Iterator[Json]:
    """The values under that key, at any depth: drafts had it at the top and within a provider."""
    for inner in _all(value):
        if isinstance(inner, dict) and name in inner:
            yield inner[name]


def _texts(value: Json) -> Iterator[str]:
    for inner in _all(value):
        if isinstance(inner, str):
            yield inner[:200]


def _all(value: Json) -> Iterator[Json]:
    """A value and all values within it. No depth is too much for it."""
    rest = [value]
    while rest:
        inner = rest.pop()
        yield inner
        if isinstance(inner, dict | list):
            rest.extend(inner.values() if isinstance(inner, dict) else inner)
