"""Rules about wheel variants (PEP 825, a draft), which installers choose by more than tags."""

from __future__ import annotations

from collections.abc import Iterator

from stackbuild.inspection.expectations import Expectations
from stackbuild.inspection.facts import Facts
from stackbuild.inspection.rules.rule import ERROR, SubjectEvidence, rule, some
from stackbuild.model.wheel_variant import is_gpu_target

_PEP = "https://peps.python.org/pep-0825/"


@rule(
    "SB-VARIANT-STATIC", ERROR, "A GPU target is a static property of a wheel variant",
    why="A static property holds on every machine, so no installer looks for the GPU. uv 0.13.9 (preview) installed such a wheel"
    " for gfx1100 on a machine without a GPU.",
    fix="Take the targets out of `static-properties`: a provider has to ask the machine. Publish the plain wheel beside it.",
    link=_PEP,
)  # fmt: skip
def static_target(facts: Facts, expectations: Expectations) -> Iterator[SubjectEvidence]:
    """`static-properties` of variant.json name a gfx target."""
    variant = facts.wheel.variant if facts.wheel else None
    if targets := [value for value in (variant.static_values if variant else ()) if is_gpu_target(value)]:
        yield "variant.json", f"static-properties name {some(targets)}"


@rule(
    "SB-VARIANT-LABEL", ERROR, "The label of a wheel variant is not that of its variant.json",
    why="An installer takes the properties of a variant by the label in the file name. Under a wrong one it installs a wheel for"
    " another GPU.",
    fix="Name the wheel `…-LABEL.whl`, and let variant.json list this label alone.",
    link=_PEP,
)  # fmt: skip
def variant_label(facts: Facts, expectations: Expectations) -> Iterator[SubjectEvidence]:
    """A label in the file name and no variant.json, or the other way round, or another label in it."""
    metadata = facts.wheel
    if metadata is None or metadata.variant is None or not metadata.filename:
        return
    variant = metadata.variant
    if not variant.has_metadata:
        yield metadata.filename, f"the label {variant.label}, and no variant.json"
    elif not variant.label:
        yield metadata.filename, "variant.json, and no label in the file name"
    elif variant.labels and variant.labels != (variant.label,):
        yield metadata.filename, f"the label {variant.label}; variant.json has {some(variant.labels)}"


RULES = (static_target, variant_label)
