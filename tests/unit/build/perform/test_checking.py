"""Seconds in which a stored output is read are named."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import SimpleNamespace

import pytest

from stackbuild.build.perform import is_sound
from stackbuild.model.events import Note
from stackbuild.store.store import Store
from support.stores import put


@pytest.mark.parametrize(("least", "said"), [(1, ["checking base, 0.00 GB"]), (1 << 40, [])])
def test_a_large_output_is_named_before_it_is_read(
    least: int, said: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.import_module("stackbuild.store.store"), "WORTH_SAYING", least)
    store = Store(tmp_path / "store", "run-1")
    record, notes = put(store), list[Note]()
    store._verified_trees.clear()
    context = SimpleNamespace(store=store, emit=notes.append)
    assert is_sound("base", record.tree, context)  # type: ignore[arg-type]
    assert [note.text for note in notes] == said
    assert is_sound("base", record.tree, context) and len(notes) == len(said)  # type: ignore[arg-type]
