"""git under a signal, a deadline and a bound on what it says."""

from __future__ import annotations

import socket
import subprocess
import threading
import time
from pathlib import Path

import pytest

from stackbuild.core.cancel import Stopper
from stackbuild.core.child_process import collect_output
from stackbuild.core.errors import Interruption, MachineLacks, StepFailed
from stackbuild.sources import git, git_command
from stackbuild.sources.tool_output import run_tool


def begun(script: str) -> subprocess.Popen[bytes]:
    words = ["sh", "-c", script]
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)


def test_what_a_child_says_is_collected() -> None:
    assert collect_output(begun("echo out; echo err >&2"), 10, 1 << 20) == (b"out\n", b"err\n")


@pytest.mark.parametrize(("script", "seconds", "wrong"), [("sleep 60", 0.3, TimeoutError), ("yes", 60, OverflowError)])
def test_a_child_that_does_not_end_is_killed_with_its_group(script: str, seconds: float, wrong: type[Exception]) -> None:
    process = begun(f"{script} & {script}")
    with pytest.raises(wrong):
        collect_output(process, seconds, 1 << 20)
    assert process.returncode is not None


def test_a_tool_that_a_server_keeps_is_given_up() -> None:
    assert run_tool(["sh", "-c", "echo out; echo err >&2; exit 3"]).returncode == 3
    with pytest.raises(StepFailed, match=r"`sh`: not done after 0\.3 s"):
        run_tool(["sh", "-c", "sleep 60"], seconds=0.3)
    with pytest.raises(StepFailed, match="more than 1000 bytes"):
        run_tool(["sh", "-c", "yes"], most=1000)


def test_a_signal_ends_git_at_once(tmp_path: Path) -> None:
    """A server that takes the connection and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        stopper = Stopper()
        with stopper.on_signals():
            threading.Timer(0.3, stopper.set, (2,)).start()
            started = time.monotonic()
            with pytest.raises(Interruption):
                git.ask(f"https://127.0.0.1:{silent.getsockname()[1]}/org/tool", "v1")
        assert time.monotonic() - started < 3


def test_a_git_server_that_says_nothing_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(git_command, "SECONDS", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as silent, pytest.raises((StepFailed, MachineLacks), match="not done"):
        git.ask(f"https://127.0.0.1:{silent.getsockname()[1]}/org/tool", "v1")
