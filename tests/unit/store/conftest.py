"""A store, and a folder in it for a step's output."""

from __future__ import annotations

from pathlib import Path

import pytest

from stackbuild.store.store import StagingFolder, Store


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store", "run-1")


@pytest.fixture
def staging(store: Store) -> StagingFolder:
    return store.stage("s")
