"""Fixtures of several packages' integration tests."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from stackbuild.store import atomic
from support.build_bench import changed_base
from support.other_user import VERSION, OtherUser, copy_for_others


@pytest.fixture(scope="session")
def other_user() -> Iterator[OtherUser]:
    """A user without rights who can run stackbuild, wherever the checkout lies and whoever may enter there."""
    if os.geteuid() != 0:
        pytest.skip("needs root, to become another user")
    if not shutil.which("setpriv"):
        pytest.skip("needs setpriv")
    copies = Path(tempfile.mkdtemp(prefix="stackbuild-test-", dir="/var/tmp"))
    try:
        copy_for_others(copies)
        user = OtherUser(copies)
        if user.python is None:
            pytest.skip(f"needs a Python {VERSION} that other users can start, as /usr/bin/python{VERSION}")
        yield user
    finally:
        atomic.remove(copies)


@pytest.fixture(autouse=True)
def whole_base() -> Iterator[None]:
    """No test changes the base that all share, and that their stores have as hard links."""
    yield
    assert not (changes := changed_base()), changes
