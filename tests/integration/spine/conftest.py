"""Fixtures of the spine's integration tests; what they are made of is in spine_bench.py."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from spine_bench import Bench, ensure_base, link_store


@pytest.fixture(scope="session")
def small_base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with `t.lock.yaml` and `store/`, which holds the base and nothing else that matters."""
    return ensure_base(tmp_path_factory.mktemp("base"))


@pytest.fixture
def bench(small_base: Path, tmp_path: Path) -> Bench:
    """A fresh folder and store with the small base in it; the base's files are links, so they are only read."""
    made = Bench(tmp_path, tmp_path / "store")
    link_store(small_base / "store", made.store)
    shutil.copy(small_base / "t.lock.yaml", tmp_path / "t.lock.yaml")
    return made
