"""variant.json of a wheel variant (PEP 825, a draft): labels, properties, and which of these need no look at the machine."""

from __future__ import annotations

from stackbuild.core import digest
from stackbuild.inspection.facts import WheelVariant
from stackbuild.inspection.limits import VARIANT_VALUES
from stackbuild.inspection.readers.byte_parser import MalformedError, ProblemSink
from stackbuild.model.wheel_variant import static_values


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
    return WheelVariant(
        label=label,
        has_metadata=True,
        labels=tuple(sorted(variants)[:VARIANT_VALUES]),
        static_values=tuple(sorted(static_values(value))[:VARIANT_VALUES]),
    )
