"""Uses of a macro with a finding in its body."""

from __future__ import annotations

from stackbuild.hipify.cpp.source_text import View
from stackbuild.hipify.lint.macro_uses import error_lines
from stackbuild.model.findings import Severity
from support.lint_samples import rule_severities


def test_the_first_finding_of_a_line_is_its_cause_whatever_comes_first() -> None:
    view = View("a b\n")
    first = view.finding(0, "LINT-PTX", Severity.ERROR, "first", "", "")
    second = view.finding(2, "LINT-PTX", Severity.ERROR, "second", "", "")
    assert error_lines([first, second]) == error_lines([second, first]) == {1: first}


def test_the_use_of_a_macro_with_a_finding_in_its_body_is_a_note() -> None:
    text = (
        "#define LOAD(i) \\\n  tex1Dfetch<float>(t, i)\nv = LOAD(1);\n#define OTHER(i) i\nw = OTHER(2);\n#undef LOAD\n"
    )
    assert rule_severities(text) == [("LINT-TEXTURE-FETCH", 2, "warning"), ("LINT-TEXTURE-FETCH", 3, "note")]
