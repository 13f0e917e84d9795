"""A Ctrl-C while the command starts: each import may be the place where it arrives."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

CONSOLE_SCRIPT = """
import os, sys

def at_import(event, arguments):
    if event == "import":
        os.write(2, f"import {arguments[0]}\\n".encode())
        if arguments[0] == place:
            os.kill(os.getpid(), 2)

place, sys.argv = sys.argv[1], ["stackbuild", *sys.argv[2:]]
sys.addaudithook(at_import)
from stackbuild.__main__ import main
sys.exit(main())
"""
"""What installers write as `bin/stackbuild`, with a signal at the import of one module."""


def start(place: str, words: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["env", "--default-signal", sys.executable, "-c", CONSOLE_SCRIPT, place, *words],
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip


def imports(words: list[str]) -> list[str]:
    """The modules that the command imports once the interpreter has read `stackbuild.__main__`, in their order."""
    process = start("", words)
    assert process.returncode == 0
    lines = process.stderr.splitlines()
    assert lines[:2] == ["import stackbuild.__main__", "import stackbuild"]
    return [line.removeprefix("import ") for line in lines[2:]]


@pytest.mark.parametrize(("words", "step", "least"), [(["--version"], 1, 1), (["recipe", "list"], 20, 5)])
def test_an_interrupt_at_an_import_ends_without_a_traceback(words: list[str], step: int, least: int) -> None:
    """All imports of a short start, and every so many of a long one."""
    places = imports(words)[::step]
    assert len(places) >= least
    for place in places:
        process = start(place, words)
        assert process.returncode in (128 + signal.SIGINT, -signal.SIGINT), (place, process)
        assert "Traceback" not in process.stderr and "KeyboardInterrupt" not in process.stderr, (place, process.stderr)


def test_a_start_imports_nothing_before_main_stands() -> None:
    """A module imported earlier would end in a traceback: nothing but the interpreter's own imports comes before."""
    code = "import sys; before = set(sys.modules); import stackbuild.__main__; print(sorted({*sys.modules} - before))"
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert process.stdout.strip() == "['stackbuild', 'stackbuild.__main__']"
