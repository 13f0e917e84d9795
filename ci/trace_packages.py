"""Which packages of stackbuild a command calls into, how often each is entered, and through which functions.

    .venv/bin/python ci/trace_packages.py plan -r debian-13
    .venv/bin/python ci/trace_packages.py --calls build -r debian-13 --dry-run

A package is entered when a function of another package calls one of its functions. Module bodies, generated methods of
dataclasses and comprehensions are not calls of a function that somebody wrote, and are left out. A function that a thread
starts with has no caller: it counts as an entry from outside. `--calls` prints each entry with its caller. Where the
command fails, nothing is counted: its message is printed, and the exit code is the command's.
"""

from __future__ import annotations

import contextlib
import io
import sys
import threading
from collections import Counter
from pathlib import Path
from types import FrameType
from typing import Any

CO_OPTIMIZED = 1
"""Flag of the code of functions: bodies of modules and classes, which run when a module is imported, lack it."""
CO_GENERATOR = 32
PACKAGE = Path(__file__).resolve().parent.parent / "stackbuild"
COMMAND_LINE = frozenset(("__main__", "cli"))
"""What reads the words and hands values on: every other package is below it."""


class Tracer:
    """Counts calls that cross from one package of stackbuild into another, in the order in which they happen."""

    def __init__(self) -> None:
        self.entries: Counter[str] = Counter()
        self.calls: Counter[tuple[str, str]] = Counter()
        self._generators: set[FrameType] = set()
        self._lock = threading.RLock()  # worker threads report to the same counters

    @property
    def below(self) -> frozenset[str]:
        """The packages entered below the command line."""
        return frozenset(self.entries) - COMMAND_LINE

    def __call__(self, frame: FrameType, event: str, argument: Any) -> None:
        if event != "call":
            return
        package = self._package(frame)
        if not package or not frame.f_code.co_flags & CO_OPTIMIZED or frame.f_code.co_name.startswith("<"):
            return
        with self._lock:
            self._count(frame, package)

    def _count(self, frame: FrameType, package: str) -> None:
        if frame in self._generators:  # resumed
            return
        if frame.f_code.co_flags & CO_GENERATOR:
            self._generators.add(frame)
        caller = frame.f_back
        while caller is not None and not self._package(caller):
            caller = caller.f_back
        before = self._package(caller) if caller else ""
        if before != package:
            self.entries[package] += 1
            self.calls[f"{before}.{caller.f_code.co_name}" if caller else "", f"{package}.{frame.f_code.co_qualname}"] += 1

    @staticmethod
    def _package(frame: FrameType) -> str:
        try:
            parts = Path(frame.f_code.co_filename).relative_to(PACKAGE).parts
        except ValueError:
            return ""
        return parts[0] if len(parts) > 1 else parts[0].removesuffix(".py")


def trace(words: list[str]) -> Tracer:
    """Run a command of stackbuild and count, in every thread. Its output is dropped; SystemExit where it fails."""
    from stackbuild.__main__ import run

    tracer = Tracer()
    sys.argv = ["stackbuild", *words]
    with contextlib.redirect_stdout(io.StringIO()):
        threading.setprofile(tracer)
        sys.setprofile(tracer)
        try:
            code = run()
        finally:
            sys.setprofile(None)
            threading.setprofile(None)
    if code:
        sys.exit(code)
    return tracer


def main() -> None:
    words = sys.argv[1:]
    shows_calls = words[:1] == ["--calls"]
    tracer = trace(words[1:] if shows_calls else words)
    below = len(tracer.below)
    print(f"{below} packages entered below the command line, {sum(tracer.entries.values())} entries with it")
    for package, count in tracer.entries.most_common():
        print(f"  {package:14} {count}")
        if shows_calls:
            for (caller, function), number in tracer.calls.most_common():
                if function.startswith(f"{package}."):
                    print(f"      {number:5} {caller} → {function}")


if __name__ == "__main__":
    main()
