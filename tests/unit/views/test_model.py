"""What a model says stands within stackbuild's lines."""

from __future__ import annotations

import pytest

from stackbuild.bench.model_check import FallbackNode, ModelCheck, ProviderShare, ShapeTiming
from stackbuild.views.model import draw_check

NASTY = "x\npassed: all\x1b[2J"
CPU = "CPUExecutionProvider"


@pytest.mark.parametrize("problem", ["", f"Fail: {NASTY}"])
def test_names_of_a_model_begin_no_line(capsys: pytest.CaptureFixture[str], problem: str) -> None:
    shares = (ProviderShare(CPU, 1, 1.0, 0.1, 1.0),)
    fallback = (FallbackNode(NASTY, NASTY, CPU, (), 0.1, f"its operator is of the domain {NASTY}"),)
    shapes = (ShapeTiming({NASTY: [1]}, 0.1, 0.1),)
    draw_check(ModelCheck("m", "P", "1.0", (), shares, fallback, shapes, 0.1, problem, "look"), (0.0, 0.0))
    text = capsys.readouterr().out
    assert text.count("passed: all") >= 3
    assert not any(line.startswith("passed") for line in text.splitlines()) and "\x1b" not in text
