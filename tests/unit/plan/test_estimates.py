"""What steps took elsewhere."""

from __future__ import annotations

from stackbuild.plan.estimates import measurements
from stackbuild.recipe.load import load
from stackbuild.tables.proofs import proofs
from support.paths import ROOT


def test_what_was_measured_is_of_recipes_that_were_built() -> None:
    assert len(measurements()) >= 2
    for row in measurements():
        assert proofs()[row.recipe].stage == "built"
        assert (
            row.kind in {c.kind for c in load(row.recipe).recipe.components.values()} and (ROOT / row.source).is_file()
        )
