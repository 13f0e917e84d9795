"""What a manifest's text may cost before it is refused."""

from __future__ import annotations

import pytest

from stackbuild.core.tree_walk import Bounds
from stackbuild.remote import packs
from stackbuild.remote.faults import RemoteFault
from stackbuild.remote.packs import entries_of


def test_a_text_of_too_many_lines_is_refused_before_one_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """A gigabyte of short lines would be ten of entries."""
    monkeypatch.setattr(packs, "BOUNDS", Bounds(entries=3))
    with pytest.raises(RemoteFault, match="more than 3 entries"):
        entries_of("not a line\n" * 4, 0)
    with pytest.raises(RemoteFault, match="not a line of an index"):
        entries_of("not a line\n" * 3, 0)
