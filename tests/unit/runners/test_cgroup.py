"""A control group's memory: what is read of the kernel's files, and the largest sample of it."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from stackbuild.runners.cgroup import Group, PeakMemory

V1 = "cache 900\nrss 40\nshmem 2\ntotal_rss 80\n"
V2 = "anon 70\nfile 500\nshmem 5\n"


@pytest.mark.parametrize(("text", "used"), [(V1, 42), (V2, 75), ("", 0)])
def test_memory_leaves_the_page_cache_out(tmp_path: Path, text: str, used: int) -> None:
    (tmp_path / "memory.stat").write_text(text)
    assert Group((tmp_path / "pids", tmp_path), 0).memory() == used


def test_without_a_group_memory_is_not_known() -> None:
    group = Group((), 0)
    with PeakMemory(group) as peak:
        assert group.memory() == 0
    assert peak.bytes == 0


def test_the_peak_is_the_largest_sample(tmp_path: Path) -> None:
    (tmp_path / "memory.events").write_text("oom_kill 0\n")
    stat = tmp_path / "memory.stat"
    stat.write_text("anon 10\n")
    with PeakMemory(Group((tmp_path,), 0)) as peak:
        for used in (70, 30):
            stat.with_name("next").write_text(f"anon {used}\n")
            stat.with_name("next").rename(stat)
            until = time.monotonic() + 10
            while peak.bytes < 70 and time.monotonic() < until:
                time.sleep(0.01)
    assert peak.bytes == 70
