"""What holds for every test: its own store, home and caches; a unit test opens no process; what needs a tool says so."""

from __future__ import annotations

import os
import shutil
import socket
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import hypothesis
import pytest

HERE = Path(__file__).parent
IN_CI = os.environ.get("CI") == "true"
PROCESS_EVENTS = frozenset(
    ("subprocess.Popen", "os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn", "os.system", "pty.spawn")
)

hypothesis.settings.register_profile("stackbuild", deadline=None, derandomize=True, print_blob=True)
hypothesis.settings.load_profile("stackbuild")


class Guard:
    """An audit hook cannot be taken out again, so this one is switched on for each unit test and off after it."""

    on = False
    seen: list[str] = []  # noqa: RUF012 one list for the whole process is what an audit hook has

    @classmethod
    def hook(cls, event: str, args: tuple[object, ...]) -> None:
        if cls.on and (event in PROCESS_EVENTS or (event == "socket.connect" and not isinstance(args[1], int))):
            cls.seen.append(f"{event} {args[:2]!r}"[:200])
            raise PermissionError(f"a unit test opens no process and no connection: {event}")


sys.addaudithook(Guard.hook)


@pytest.fixture(autouse=True)
def no_process(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fails a unit test that opens a process or a connection, also where the code under test swallowed the refusal."""
    if not request.path.is_relative_to(HERE / "unit"):
        yield
        return
    Guard.on, Guard.seen = True, []
    try:
        yield
    finally:
        Guard.on = False
    if Guard.seen:
        pytest.fail(f"a unit test opens no process: {Guard.seen}", pytrace=False)


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test sees the developer's store, caches or configuration."""
    monkeypatch.setenv("STACKBUILD_STORE", str(tmp_path / "store"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in ("CACHE", "CONFIG", "DATA", "STATE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / f"xdg-{name.lower()}"))
    for name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "LINES", "CCACHE_DIR", "MAKEFLAGS", "PYTHONPATH", "PYTHONUNBUFFERED"):
        monkeypatch.delenv(name, raising=False)
        os.unsetenv(name)  # readline, which pytest imports, sets COLUMNS for child processes past os.environ


@cache
def lacking(marker: str) -> str:
    """Why tests with that marker cannot run here; "" when they can."""
    if marker == "sandbox":
        gone = [tool for tool in ("bwrap", "mmdebstrap", "unshare", "tar") if not shutil.which(tool)]
        return f"not installed: {', '.join(gone)}" if gone else ""
    if marker == "docker":
        where = os.environ.get("DOCKER_HOST", "unix:///var/run/docker.sock").removeprefix("unix://")
        try:
            with socket.socket(socket.AF_UNIX) as engine:
                engine.settimeout(5)
                engine.connect(where)
        except OSError as error:
            return f"no Docker engine answers at {where}: {error.strerror} (ci/docker-engine starts one)"
    return ""


def pytest_runtest_setup(item: pytest.Item) -> None:
    """In CI a missing sandbox is an error, not a skip: else nobody would see that half the tests no longer run."""
    for marker in ("sandbox", "docker"):
        if item.get_closest_marker(marker) and (reason := lacking(marker)):
            if IN_CI and marker == "sandbox":
                pytest.fail(f"CI lacks what {marker} tests need: {reason}", pytrace=False)
            pytest.skip(reason)


REMEDIES = (
    ("hipify-perl", "`ci/setup --test` with apt, or HIPIFY_PERL=FILE"),
    ("needs root", "the tests as root"),
    ("only root", "the tests as root"),
    ("root may", "the tests as an ordinary user"),
    ("Docker engine", "`ci/docker-engine` as root"),
    ("STACKBUILD_HIP_ROOT", "STACKBUILD_HIP_ROOT=FOLDER, a root file system with HIP"),
    ("STACKBUILD_HIP_5_ROOT", "STACKBUILD_HIP_5_ROOT=FOLDER, a root file system with HIP 5.7"),
    ("not installed", "apt-get install"),
    ("could not import", "`ci/setup`"),
    ("GPU", "a machine with a GPU"),
    ("driver", "a machine with a GPU"),
    ("needs ", "apt-get install"),
)
"""A part of a skip's reason, and what would let its tests run; the first that fits counts."""
OPTIONS = {"docker": "--docker", "gpu": "--gpu", "network": "--network", "slow": "--slow"}
"""Markers that ci/test leaves out unless it is told otherwise."""
left_out: Counter[str] = Counter()


def pytest_deselected(items: Sequence[pytest.Item]) -> None:
    for item in items:
        if item.config.option.keyword:
            return  # `-k` leaves out what it likes
        options = [option for marker, option in OPTIONS.items() if item.get_closest_marker(marker)]
        if options:
            left_out[" ".join(options)] += 1


def pytest_sessionfinish(session: pytest.Session) -> None:
    """A worker of xdist tells the process that writes the summary what it left out."""
    if (output := getattr(session.config, "workeroutput", None)) is not None:
        output["left_out"] = dict(left_out)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Each worker leaves out the same tests; one that died tells nothing."""
    left_out.update(Counter(getattr(node, "workeroutput", {}).get("left_out", {})) - left_out)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """What did not run and why, in the last lines: one line a reason, with what would let it run."""
    reasons: Counter[str] = Counter()
    for report in terminalreporter.stats.get("skipped", []):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        reasons[reason.removeprefix("Skipped: ")] += 1
    rows = [(count, reason, _remedy(reason)) for reason, count in reasons.most_common()]
    rows += [(count, "left out of this run", f"`ci/test {options}`") for options, count in left_out.most_common()]
    if rows:
        terminalreporter.section("not run")
    for count, reason, remedy in rows:
        terminalreporter.write_line(f"{count:5}  {reason}" + (f" (to run: {remedy})" if remedy else ""))


def _remedy(reason: str) -> str:
    return next((remedy for part, remedy in REMEDIES if part in reason), "")
