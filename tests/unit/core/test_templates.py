"""Templates."""

from __future__ import annotations

import pytest

from stackbuild.core.errors import Defect
from stackbuild.core.templates import render


def test_a_template_that_lacks_a_value_is_a_defect() -> None:
    with pytest.raises(Defect, match="'run' is undefined"):
        render("report/page.html.j2")
    with pytest.raises(Defect, match="TemplateNotFound"):
        render("report/../../pyproject.toml")
