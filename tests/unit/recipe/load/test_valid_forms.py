"""Right values in forms that are seldom written: no check refuses them. A person found each refused on 29 November 2026."""

from __future__ import annotations

import pytest

from stackbuild.core.errors import RecipeError
from stackbuild.model.findings import Severity
from stackbuild.recipe.compatibility import findings
from stackbuild.recipe.load import parse
from stackbuild.tables.compatibility import table
from support.paths import TESTS

BASES = TESTS / "seeded-recipes/bases"
GATES = "gates:\n"


def changed(base: str, old: str, new: str) -> str:
    text = (BASES / f"{base}.yaml").read_text()
    assert old in text
    return text.replace(old, new, 1)


@pytest.mark.parametrize(
    ("base", "old", "new"),
    [
        ("night", "[coloredlogs, flatbuffers,", "[coloredlogs, 'flatbuffers; python_version < \"3.13\"',"),
        ("night", "[coloredlogs, flatbuffers,", "[coloredlogs, \"flatbuffers; python_version >= '3.10' and platform_machine == 'x86_64'\","),
        ("night", GATES, "gates:\n  - {kind: limit, metric: create, at_most: 2}\n"),
        ("night", GATES, "gates:\n  - {kind: limit, metric: first, at_most: 60}\n"),
        ("night", "6.4.4-complete", "6.4.4-complete\n    # a comment"),
        ("night", "rocm/dev-ubuntu-22.04:6.4.4-complete", "registry.lan:5000/gpu-team/rocm/dev:2026.11-acme"),
        ("lab", "- hipcc\n", "- hipcc:amd64\n"),
    ],
)  # fmt: skip
def test_it_has_no_error_that_the_base_has_not(base: str, old: str, new: str) -> None:
    known = {(f.rule, f.subject) for f in findings(parse((BASES / f"{base}.yaml").read_text(), "recipe.yaml"), table())}
    more = [f for f in findings(parse(changed(base, old, new), "recipe.yaml"), table()) if (f.rule, f.subject) not in known]
    assert [f for f in more if f.severity is Severity.ERROR or f.rule in ("SB-STACK-TOOL", "SB-STACK-IMAGE-ROCM")] == []


def test_a_quote_that_is_too_much_is_still_one() -> None:
    with pytest.raises(RecipeError, match="is not a requirement"):
        parse(changed("night", "[coloredlogs, flatbuffers,", "[coloredlogs, 'flatbuffers\"',"), "recipe.yaml")


def test_a_marker_of_the_clean_environment_is_named() -> None:
    text = changed("night", "runtime: [onnxruntime, numpy,", "runtime: [onnxruntime, 'numpy; python_version > \"3.9\"',")
    with pytest.raises(RecipeError, match=r"has a marker, which `runtime` does not take\n(?s:.*)write `numpy`"):
        parse(text, "recipe.yaml")


def test_a_login_in_an_address_is_refused_and_not_printed() -> None:
    text = changed("night", "https://wheels.example.org", "https://me:hunter2@wheels.example.org")
    with pytest.raises(RecipeError, match="holds a login") as refusal:
        parse(text, "recipe.yaml")
    assert "hunter2" not in str(refusal.value) and "`https://wheels.example.org/rocm-" in str(refusal.value)
