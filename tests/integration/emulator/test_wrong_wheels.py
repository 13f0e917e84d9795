"""Wheels whose device code is wrong on purpose: the rung fails for each, and passes for the wheel as it was built."""

from __future__ import annotations

from typing import Any

import pytest

from stackbuild.model.findings import Severity
from support.wrong_device_code import DEFECTS, GROUP_NORM, LEAKY_RELU, WrongCode, in_wheel

pytestmark = [pytest.mark.sandbox, pytest.mark.timeout(1500)]
QUICK = (
    "gfx1030's code under the name gfx1100",
    "no entry for gfx1100",
    "a product has become a sum",
    "an instruction that does not exist",
    "the descriptor says wave64 for wave32 code",
    "the descriptor has too few vector registers",
    "gfx942's accumulation registers begin too early",
)


def _marked(defect: WrongCode) -> Any:
    return pytest.param(defect, id=defect.name, marks=() if defect.name in QUICK else pytest.mark.slow)


def test_enough_defects_are_seeded() -> None:
    assert len(DEFECTS) >= 20
    assert len({defect.name for defect in DEFECTS}) == len(DEFECTS)
    assert set(QUICK) <= {defect.name for defect in DEFECTS}


def test_the_wheel_as_it_was_built_passes(kernels: Any) -> None:
    outcome = kernels.check(operators=(LEAKY_RELU,))
    assert outcome.findings == ()
    assert outcome.skip == ""
    assert "dispatches of" in outcome.says


@pytest.mark.slow
def test_the_wheel_as_it_was_built_passes_the_sanitizer(kernels: Any) -> None:
    assert kernels.check(operators=(LEAKY_RELU, GROUP_NORM), sanitize=True).findings == ()


@pytest.mark.parametrize("defect", [_marked(defect) for defect in DEFECTS])
def test_wrong_device_code_is_caught(defect: WrongCode, kernels: Any) -> None:
    wrong = in_wheel(defect)(kernels.library)
    assert wrong != kernels.library
    outcome = kernels.check(
        wrong, operators=(defect.operator,), sanitize=defect.needs_sanitizer, target=defect.target
    )
    errors = [finding for finding in outcome.findings if finding.severity is Severity.ERROR]
    assert any(defect.says in finding.found for finding in errors), outcome
