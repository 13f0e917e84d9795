"""What a model says stands within stackbuild's lines."""

from __future__ import annotations

import pytest

from stackbuild.bench.model_check import FallbackNode, ModelCheck, ProviderShare, ShapeTiming
from stackbuild.bench.model_problem import Culprit
from stackbuild.views.model import draw_check

NASTY = "x\npassed: all\x1b[2J"
CPU = "CPUExecutionProvider"


@pytest.mark.parametrize("problem", ["", f"Fail: {NASTY}"])
@pytest.mark.parametrize("culprit", Culprit)
def test_names_of_a_model_begin_no_line(capsys: pytest.CaptureFixture[str], problem: str, culprit: Culprit) -> None:
    shares = (ProviderShare(CPU, 1, 1.0, 0.1, 1.0),)
    fallback = (FallbackNode(NASTY, NASTY, CPU, (), 0.1, f"its operator is of the domain {NASTY}"),)
    shapes = (ShapeTiming({NASTY: [1]}, 0.1, 0.1),)
    draw_check(
        ModelCheck("m", "P", "1.0", (), shares, fallback, shapes, 0.1, problem, NASTY, culprit if problem else None),
        (0.0, 0.0),
    )
    text = "".join(capsys.readouterr())
    assert text.count("passed: all") >= 3
    verdicts = text.count("passed: P runs 0%") + text.count("failed: P runs 0%")
    assert verdicts == 1
    text = text.replace("passed: P runs 0%", "")
    assert not any(line.startswith("passed") for line in text.splitlines()) and "\x1b" not in text


def test_the_culprit_begins_the_sentence_and_every_shape_has_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    beginnings = {
        Culprit.PROVIDER: "P did not take part: why", Culprit.MODEL: "the model was not loaded: why",
        Culprit.RUN: "the model did not run: why", Culprit.LIBRARY: "the library of custom operators was not loaded: why",
    }  # fmt: skip
    for culprit, beginning in beginnings.items():
        draw_check(ModelCheck("m", "P", "1.0", (), (), (), (), 0.1, "why", "look", culprit), (0.0, 0.0))
        assert capsys.readouterr().out.startswith(beginning)
    shapes = tuple(ShapeTiming({"x": size, "s": []}, 0.1, 0.1) for size in ([1], [2], [3], [1]))
    draw_check(ModelCheck("m", CPU, "1.0", (), (), (), shapes, 0.1, "", "", None), (0.0, 0.0))
    lines = [line.partition(":")[0] for line in capsys.readouterr().out.splitlines() if "first run" in line]
    assert lines == [
        "first shape (x=1, s=scalar)", "second shape (x=2, s=scalar)", "shape 3 (x=3, s=scalar)",
        "first shape again (x=1, s=scalar)",
    ]  # fmt: skip
