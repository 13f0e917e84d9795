"""What a file is by its first bytes."""

from __future__ import annotations

from pathlib import Path

from stackbuild.inspection.facts import Kind
from support.binaries import code_object
from support.inspected_files import looked


def test_a_code_object_by_itself(tmp_path: Path):
    facts = looked(tmp_path / "k.hsaco", code_object("gfx942:xnack-"))
    assert facts.kind is Kind.FILE
    assert [o.target for d in facts.device for o in d.objects] == ["gfx942:xnack-"]
