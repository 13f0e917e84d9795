"""A signed index, made once a module and copied for each test."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from support.wheels import SignedIndex, signed_index


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> SignedIndex:
    return signed_index(tmp_path_factory.mktemp("signed"))


@pytest.fixture
def signed(template: SignedIndex, tmp_path: Path) -> SignedIndex:
    shutil.copytree(template.folder, tmp_path / "simple", symlinks=True)
    return SignedIndex(tmp_path / "simple", template.wheel, template.key, template.public)
