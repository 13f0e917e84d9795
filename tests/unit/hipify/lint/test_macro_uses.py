"""Uses of a macro with a finding in its body."""

from __future__ import annotations

from support.lint_samples import rule_severities


def test_the_use_of_a_macro_with_a_finding_in_its_body_is_a_note() -> None:
    text = (
        "#define LOAD(i) \\\n  tex1Dfetch<float>(t, i)\nv = LOAD(1);\n#define OTHER(i) i\nw = OTHER(2);\n#undef LOAD\n"
    )
    assert rule_severities(text) == [("LINT-TEXTURE-FETCH", 2, "warning"), ("LINT-TEXTURE-FETCH", 3, "note")]
