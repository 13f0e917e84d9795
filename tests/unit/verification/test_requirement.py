"""`verify --require`: a skipped rung proves nothing."""

from __future__ import annotations

import pytest

from stackbuild.core.errors import UsageError
from stackbuild.model.findings import Rung, Status, Verification
from stackbuild.verification.ladder import LADDER
from stackbuild.verification.requirement import RUNGS, required_rungs, required_rungs_of, unmet_by, unmet_rungs

ALL = tuple(Rung(name, Status.PASSED, "", 0.0) for name in LADDER)


def changed(name: str, status: Status) -> tuple[Rung, ...]:
    return tuple(Rung(r.name, status, "no AMD GPU here", 0.0) if r.name == name else r for r in ALL)


def test_every_rung_of_the_ladder_has_a_word() -> None:
    assert set(LADDER) <= set(RUNGS.values())


@pytest.mark.parametrize("word", [word for word, name in RUNGS.items() if name in LADDER])
def test_a_required_rung_that_did_not_pass_is_named(word: str) -> None:
    assert unmet_rungs(ALL, required_rungs(word)) == ()
    (skipped,) = unmet_rungs(changed(RUNGS[word], Status.SKIPPED), required_rungs(word))
    assert skipped == f"{RUNGS[word]} is required, and was not run here: no AMD GPU here"
    (failed,) = unmet_rungs(changed(RUNGS[word], Status.FAILED), required_rungs(word))
    assert "and failed" in failed
    others = tuple(other for other, name in RUNGS.items() if name in LADDER and other != word)
    assert unmet_rungs(changed(RUNGS[word], Status.SKIPPED), others) == ()


def test_an_emulated_target_that_was_not_asked_for_is_no_proof() -> None:
    assert unmet_rungs(ALL, required_rungs("emulated")) == ("device code, emulated is required, and was not asked for",)
    emulated = (*ALL, Rung("device code, emulated gfx1100 on a CPU", Status.PASSED, "", 0.0))
    assert unmet_rungs(emulated, required_rungs("emulated")) == ()


def test_lists_are_read_with_blanks_and_twice() -> None:
    assert required_rungs(" gpu, load,gpu,") == ("gpu", "load") and required_rungs("") == ()
    with pytest.raises(UsageError, match="no rung is called 'cpu'"):
        required_rungs("gpu,cpu")


def test_rungs_are_required_of_all_wheels_or_of_one_distribution() -> None:
    proved = Verification("demo_pkg-1.0-py3-none-any.whl", "", ALL)
    part = Verification("other-1.0-py3-none-any.whl", "", changed("numerics", Status.SKIPPED))
    both = (proved, part)
    assert unmet_by(both, required_rungs_of(["Demo_Pkg:numerics,gpu", "load"])) == ()
    (line,) = unmet_by(both, required_rungs_of(["numerics"]))
    assert line == "other-1.0-py3-none-any.whl: numerics is required, and was not run here: no AMD GPU here"
    assert unmet_by((proved,), required_rungs_of(["gone:gpu"])) == ("gone: gpu required, and no wheel of it was verified",)
    together = Verification(f"{part.subject} + {proved.subject}", "", ALL)
    assert unmet_by((together,), required_rungs_of(["demo-pkg:gpu", "other:gpu", ""])) == ()
