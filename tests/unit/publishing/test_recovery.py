"""A catalog that is gone: what its pages, its statements and older states have is had back, or the loss is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from stackbuild.core.errors import UsageError
from stackbuild.publishing.generation import read_catalog
from stackbuild.publishing.index import publish
from stackbuild.publishing.maintenance import damages, rebuild, set_status, yank
from stackbuild.publishing.publication import Publication
from stackbuild.publishing.ssh_keys import load_trusted_keys
from stackbuild.publishing.verify_release import Trust, verify_release
from support.wheels import SignedIndex, put_statements, small_wheel


def test_a_rebuild_keeps_withdrawals_statements_and_the_address(signed: SignedIndex, tmp_path: Path) -> None:
    settings = Publication(keys=(signed.key,))
    more = small_wheel(tmp_path / "more", "2.0")
    bad = small_wheel(tmp_path / "bad", name="bad")
    address = Publication(keys=(signed.key,), url="https://example.org/simple", attachments={more: put_statements(more)})
    publish((more, bad), signed.folder, address)
    yank(signed.folder, "demo-pkg", "1.0", "wrong results", settings)
    set_status(signed.folder, "bad", "quarantined", "a stolen key", settings)
    before = read_catalog(signed.folder)
    assert before is not None
    (signed.folder / ".current" / "catalog.json").unlink()
    assert "--rebuild" in damages(signed.folder)[0]
    with pytest.raises(UsageError, match="yanked and quarantined would be forgotten") as refusal:
        publish((more,), signed.folder, settings)
    assert "--rebuild" in refusal.value.next
    assert rebuild(signed.folder, settings) == ()
    after = read_catalog(signed.folder)
    assert after is not None and after == before.model_copy(update={"number": before.number + 1})
    proof = verify_release(signed.folder, Trust(load_trusted_keys([signed.public]), require=("sbom",)))
    assert [line for line in proof.problems if "no sbom" not in line] == [] and not damages(signed.folder)


def test_what_cannot_be_had_back_is_refused_unless_it_is_accepted(tmp_path: Path) -> None:
    """The quarantine is older than the states that lie there."""
    index = tmp_path / "simple"
    publish((small_wheel(tmp_path / "a"), small_wheel(tmp_path / "b", name="bad")), index)
    set_status(index, "bad", "quarantined", "a stolen key")
    for catalog in index.glob(".generations/*/catalog.json"):
        catalog.unlink()
    with pytest.raises(UsageError, match="no file of bad is known") as refusal:
        rebuild(index, Publication())
    assert "--accept-losses" in refusal.value.next
    assert rebuild(index, Publication(), accept_losses=True)
    after = read_catalog(index)
    assert after is not None and after.projects["bad"].status == "quarantined" and after.projects["demo-pkg"].files
