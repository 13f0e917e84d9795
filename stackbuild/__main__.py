"""The entry point: fast for `--version`, one line and an exit code for every Stop."""

from __future__ import annotations

import contextlib
import gc
import io
import os
import signal
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stackbuild.core.errors import Defect, MachineLacks, Stop


GC_THRESHOLD = (100_000, 50, 50)
"""A command makes many values that live to its end: looking for cycles every 700 of them is a twentieth of a long plan."""
EXTRAS = ("numpy", "onnx", "onnxruntime", "sympy")
"""What the extra `bench` installs (pyproject.toml)."""


def main() -> None:
    _open_standard_streams()
    try:
        code = _version() if sys.argv[1:] in (["--version"], ["-V"], ["version"]) else run()
        if (
            code == 128 + signal.SIGINT
        ):  # the interpreter waits for threads: a further Ctrl-C ends it without a traceback
            signal.signal(signal.SIGINT, signal.SIG_DFL)
    except KeyboardInterrupt:
        code = 128 + signal.SIGINT
    _discard_unwritable_errors()
    gc.freeze()  # the interpreter looks for cycles as it ends: a quarter of a short command's time
    sys.exit(code)


def _discard_unwritable_errors() -> None:
    """Standard error took no more: the interpreter flushes once more when it ends, and its exit code would be 120."""
    try:
        sys.stderr.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())


def _open_standard_streams() -> None:
    """Give descriptors 0 to 2 that are closed to /dev/null: a file of the store that got such a number would be written to."""
    while (fd := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(fd, True)
    os.close(fd)
    sys.stdin = sys.stdin or io.TextIOWrapper(io.BufferedReader(io.FileIO(0, closefd=False)))
    sys.stdout = sys.stdout or io.TextIOWrapper(io.BufferedWriter(io.FileIO(1, "w", closefd=False)))
    sys.stderr = sys.stderr or io.TextIOWrapper(io.BufferedWriter(io.FileIO(2, "w", closefd=False)))


def _as_options(words: list[str]) -> list[str]:
    """`help COMMAND` is `COMMAND --help`, and `version` is `--version`, after global options too. Another `help` is a command."""
    from stackbuild.cli import TOPICS

    at = next((n for n, word in enumerate(words) if word[:1] != "-" and words[n - 1 : n] != ["--color"]), len(words))
    before, rest = words[:at], words[at:]
    if rest == ["help"] or (rest[:1] == ["help"] and rest[1] in TOPICS):
        return [*before, *rest[1:], "--help"]
    return [*before, "--version"] if rest == ["version"] else words


def _version() -> int:
    """Nothing is loaded for it."""
    from stackbuild.version import __version__

    try:
        print(f"stackbuild {__version__}", flush=True)
    except OSError as error:
        return _write_error(error)
    return 0


def _write_error(error: OSError) -> int:
    """Standard output took no more: quietly, with the exit code of other tools, where its reader has gone."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the interpreter flushes once more when it ends
    if isinstance(error, BrokenPipeError):
        return 128 + signal.SIGPIPE
    with contextlib.suppress(OSError):
        print(f"stackbuild: standard output cannot be written: {error.strerror}", file=sys.stderr)
        print("  next: send the output elsewhere", file=sys.stderr, flush=True)
    return 7


def run() -> int:
    """Run the command line; every Stop becomes a message on stderr and its exit code."""
    gc.set_threshold(*GC_THRESHOLD)
    # Plugins of pydantic would change how recipes are read. To look for them, pydantic reads the metadata of every
    # installed package, which takes a tenth of a small command's time.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    from stackbuild.cli import load_commands, run_words
    from stackbuild.cli.settings import apply_settings
    from stackbuild.core.errors import OutputWriteError, Stop, safe
    from stackbuild.core.output_style import OUTPUT_STYLE

    for stream in (sys.stdout, sys.stderr):  # of a locale without UTF-8: what it lacks is an escape
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    words = _as_options(sys.argv[1:])
    load_commands(words)
    try:
        apply_settings(os.environ)
        OUTPUT_STYLE.color, OUTPUT_STYLE.verbosity = os.environ.get("STACKBUILD_COLOR", "auto"), 0
        return run_words(words, load_commands)
    except SystemExit as exit_request:  # typer meets a reader that has gone by pacifying the streams and leaving with 1
        is_closed = type(sys.stdout).__name__ == "PacifyFlushWrapper"
        return 128 + signal.SIGPIPE if is_closed else exit_request.code if isinstance(exit_request.code, int) else 0
    except Stop as stop:
        if OUTPUT_STYLE.verbosity > 0 and stop.exit_code in (1, 2, 3, 7):  # others are about a step, a wheel or a gate
            import traceback

            print(safe(traceback.format_exc()), file=sys.stderr)
        return _say(stop)
    except (BrokenPipeError, OutputWriteError) as error:
        return _write_error(error)
    except OSError as error:
        return _say(_lacking(error))
    except Exception as error:
        if isinstance(error, ModuleNotFoundError) and error.name in EXTRAS:
            return _say(_without(error.name))
        return _say(_defect())


def _say(stop: Stop) -> int:
    """The message on stderr, the topic that explains it, and the exit code."""
    from stackbuild.core.output_style import wraps

    text = f"stackbuild: {stop}\n  help: stackbuild help {stop.topic}"
    with contextlib.suppress(OSError):  # only the exit code can say it
        print(_wrap(text) if wraps(sys.stderr) else text, file=sys.stderr, flush=True)
    return stop.exit_code


def _wrap(text: str) -> str:
    """The lines at the width of the terminal or $COLUMNS, broken between words; a source line and its caret stay as they are."""
    import shutil
    import textwrap

    width = max(20, shutil.get_terminal_size().columns)
    wrap = textwrap.TextWrapper(width, subsequent_indent="      ", break_long_words=False, break_on_hyphens=False)
    return "\n".join(line if line.startswith("    ") else wrap.fill(line) for line in text.split("\n"))


def _without(package: str) -> MachineLacks:
    """An installation without the packages that measuring takes."""
    from stackbuild.core.errors import MachineLacks

    next = f"{sys.executable} -m pip install 'stackbuild[bench]', or `.[bench]` in a checkout"
    return MachineLacks(f"{package} is not installed, which measuring takes", next=next)


def _lacking(error: OSError) -> MachineLacks:
    """What the machine does not give, in words."""
    from pathlib import Path

    from stackbuild.core.errors import MachineLacks
    from stackbuild.store.store import NO_SPACE, default_root, disk_full

    if error.errno in NO_SPACE:
        return disk_full(Path(error.filename) if error.filename else default_root())
    hints = {13: "check the permissions", 30: "it is read-only"}
    next = hints.get(error.errno or 0, "check the path and its permissions")
    return MachineLacks(f"{error.strerror or error}", where=str(error.filename or ""), next=next)


def _defect() -> Defect:
    """Keep the traceback in a file and say where."""
    import tempfile
    import traceback

    from stackbuild.core.errors import Defect

    with tempfile.NamedTemporaryFile("w", prefix="stackbuild-defect-", suffix=".txt", delete=False) as file:
        traceback.print_exc(file=file)
    last = traceback.format_exc().strip().splitlines()[-1]
    return Defect(f"this is a defect in stackbuild: {last}", next=f"report it with the traceback in {file.name}")


if __name__ == "__main__":
    main()
