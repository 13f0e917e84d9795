"""Fixtures of builds in real sandboxes; what they are made of is in support/build_bench.py."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from stackbuild.runners.cgroup import limits
from stackbuild.store import atomic as files
from support.build_bench import BuildBench, ensure_base, link_store
from support.other_user import OtherUser


@pytest.fixture(scope="session")
def small_base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with `t.lock.yaml` and `store/`, which holds the base and nothing else that matters."""
    return ensure_base(tmp_path_factory.mktemp("base"))


@pytest.fixture
def open_bench(small_base: Path, other_user: OtherUser) -> Iterator[BuildBench]:
    """Another user's, in a folder that other users can reach: pytest's own is closed to them."""
    folder = Path(tempfile.mkdtemp(prefix="stackbuild-test-", dir="/var/tmp"))
    folder.chmod(0o755)
    try:
        yield replace(bench_in(folder, small_base), user=other_user)
    finally:
        files.remove(folder)


@pytest.fixture
def bench(small_base: Path, tmp_path: Path) -> BuildBench:
    """A fresh folder and store with the small base in it; the base's files are links, so they are only read."""
    return bench_in(tmp_path, small_base)


def bench_in(folder: Path, small_base: Path) -> BuildBench:
    made = BuildBench(folder, folder / "store")
    link_store(small_base / "store", made.store)
    shutil.copy(small_base / "t.lock.yaml", folder / "t.lock.yaml")
    return made


@pytest.fixture
def memory_groups(request: pytest.FixtureRequest) -> None:
    """Skips a test of the sandbox's memory limit or of its reaping where this user cannot make control groups."""
    if "runner" in request.fixturenames and request.getfixturevalue("runner") != "sandbox":
        return
    with limits("test", 1 << 26, 100) as group:
        if not group.limits_memory:
            pytest.skip("needs root or a delegated control group: without one neither memory is limited nor a session reaped")
