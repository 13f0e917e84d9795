"""Messages of a command that fails: what is wrong, what to do next, and the exit code."""

from __future__ import annotations

import contextlib
import os
import signal
import sys

from stackbuild.core.errors import Defect, MachineLacks, Stop, safe
from stackbuild.core.output_style import OUTPUT_STYLE, wraps
from stackbuild.core.shell_words import shell_word

EXTRAS = ("numpy", "onnx", "onnxruntime", "sympy")
"""What the extra `bench` installs (pyproject.toml)."""


def show_stop(stop: Stop) -> int:
    """The message on stderr, the topic that explains it, and the exit code."""
    text = f"stackbuild: {stop}\n  help: stackbuild help {stop.topic}"
    with contextlib.suppress(OSError):  # only the exit code can say it
        print(_wrap(text) if wraps(sys.stderr) else text, file=sys.stderr, flush=True)
    return stop.exit_code


def show_place(stop: Stop) -> None:
    """Where the Stop that is being handled comes from, for `--verbose`."""
    if OUTPUT_STYLE.verbosity > 0 and stop.exit_code in (1, 2, 3, 7):  # others are about a step, a wheel or a gate
        import traceback

        print(safe(traceback.format_exc()), file=sys.stderr)


def show_output_error(error: OSError) -> int:
    """Standard output took no more: quietly, with the exit code of other tools, where its reader has gone."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the interpreter flushes once more when it ends
    if isinstance(error, BrokenPipeError):
        return 128 + signal.SIGPIPE
    with contextlib.suppress(OSError):
        print(f"stackbuild: standard output cannot be written: {error.strerror}", file=sys.stderr)
        print("  next: send the output elsewhere", file=sys.stderr, flush=True)
    return 7


def unexpected_error(error: Exception) -> Stop:
    """What an error says that no module expects: a package of an extra is missing, or stackbuild has a defect."""
    if isinstance(error, ModuleNotFoundError) and error.name in EXTRAS:
        return _missing_extra(error.name)
    return _defect()


def _wrap(text: str) -> str:
    """The lines at the width of the terminal or $COLUMNS, broken between words; a source line and its caret stay as they are."""
    import shutil
    import textwrap

    width = max(20, shutil.get_terminal_size().columns)
    wrap = textwrap.TextWrapper(width, subsequent_indent="      ", break_long_words=False, break_on_hyphens=False)
    return "\n".join(line if line.startswith("    ") else wrap.fill(line) for line in text.split("\n"))


def _missing_extra(package: str) -> MachineLacks:
    """An installation without the packages that measuring takes."""
    next = f"{shell_word(sys.executable)} -m pip install 'stackbuild[bench]', or `.[bench]` in a checkout"
    return MachineLacks(f"{package} is not installed, which measuring takes", next=next)


def _defect() -> Defect:
    """Keep the traceback in a file and say where."""
    import tempfile
    import traceback

    with tempfile.NamedTemporaryFile("w", prefix="stackbuild-defect-", suffix=".txt", delete=False) as file:
        traceback.print_exc(file=file)
    last = traceback.format_exc().strip().splitlines()[-1]
    return Defect(f"this is a defect in stackbuild: {last}", next=f"report it with the traceback in {file.name}")
