"""What is claimed of the bundled recipes: each has a row, and none claims what cannot be."""

from __future__ import annotations

from stackbuild.recipe.load import bundled_recipes
from stackbuild.tables.proofs import Proof, RecipeTrial, proofs

NO, YES = RecipeTrial(ran="no"), RecipeTrial(ran="yes")


def test_every_bundled_recipe_has_a_row_and_no_other_has() -> None:
    assert set(proofs()) == set(bundled_recipes())


def test_something_partly_done_says_what_is_missing() -> None:
    rows = proofs().values()
    trials = [t for row in rows for t in (row.built, row.configured, row.emulated, row.gpu)]
    assert not [t for t in trials if t.ran == "partly" and not t.note]


def test_the_summary_has_what_ran_and_nothing_else() -> None:
    part = RecipeTrial(ran="partly", note="miniature sources only")
    assert Proof(built=YES, configured=NO, emulated=YES, gpu=NO, source="x").summary == "built, emulated"
    assert Proof(built=part, configured=NO, emulated=NO, gpu=NO, source="x").summary == "built (miniature sources only)"
    assert Proof(built=NO, configured=NO, emulated=NO, gpu=NO, source="x").summary == "nothing"
    assert (part.cell, YES.cell, RecipeTrial(ran="none", note="bundled").cell) == (
        "partly: miniature sources only", "yes", "–: bundled",
    )  # fmt: skip
