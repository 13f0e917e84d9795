"""What a probe prints: a wheel may print without an end, and the disk is not its own."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from stackbuild.verification import probe_sandbox
from stackbuild.verification.probe_sandbox import ProbeSandbox

SECONDS = 3.0


def sandbox(folder: Path, monkeypatch: pytest.MonkeyPatch) -> ProbeSandbox:
    """One whose answers are the bytes that its output takes on the disk."""
    monkeypatch.setattr(probe_sandbox, "_tail", lambda output: str(os.fstat(output.fileno()).st_blocks * 512))
    return ProbeSandbox(folder, Path("/bin/sh"))


@pytest.mark.parametrize("runs_on", ["", "(setsid sh -c 'sleep 600' &); "], ids=["", "and leaves a process"])
def test_an_output_without_an_end_takes_no_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, runs_on: str) -> None:
    flood = f"{runs_on}exec cat /dev/zero"
    result = sandbox(tmp_path, monkeypatch).furnish(["/bin/sh", "-c", flood], SECONDS)
    assert result.timed_out and result.seconds < SECONDS + 30
    assert 0 < int(result.tail) < 1 << 20


def test_the_end_of_a_long_output_is_shown(tmp_path: Path) -> None:
    words = "head -c 1000000 /dev/zero | tr '\\0' x; echo; echo 'the end'; exit 3"
    result = ProbeSandbox(tmp_path, Path("/bin/sh")).furnish(["/bin/sh", "-c", words], 60)
    assert result.code == 3 and result.tail.endswith("the end")
