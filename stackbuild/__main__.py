"""The entry point: fast for `--version`, one line and an exit code for every Stop.

Nothing is imported outside the functions, here and in `stackbuild/__init__.py`. A Ctrl-C may arrive while a module is
imported. `main` stands by then, and ends without a traceback.
"""

GC_THRESHOLD = (100_000, 50, 50)
"""A command makes many values that live to its end: looking for cycles every 700 of them is a twentieth of a long plan."""
SIGINT_EXIT_CODE = 130
"""The exit code after SIGINT: 128 and its number, 2."""


def main() -> None:
    try:
        code = _answer()
        if code == SIGINT_EXIT_CODE:
            _end_at_interrupts()
        _prepare_end()
    except KeyboardInterrupt:
        code = SIGINT_EXIT_CODE
        _end_at_interrupts()
        _prepare_end()
    raise SystemExit(code)


def _answer() -> int:
    """Do what the words of the command line say: the exit code."""
    import sys

    _open_standard_streams()
    return _version() if sys.argv[1:] in (["--version"], ["-V"], ["version"]) else run()


def _end_at_interrupts() -> None:
    """The interpreter waits for threads as it ends: a further Ctrl-C ends it without a traceback."""
    import signal

    signal.signal(signal.SIGINT, signal.SIG_DFL)


def _prepare_end() -> None:
    """Spare the interpreter what it does as it ends.

    It flushes standard error once more. Where that takes no more, its exit code would be 120.
    It looks for cycles, which takes a quarter of a short command's time.
    """
    import gc
    import os
    import sys

    try:
        sys.stderr.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())
    gc.freeze()


def _open_standard_streams() -> None:
    """Give descriptors 0 to 2 that are closed to /dev/null: a file of the store that got such a number would be written to."""
    import io
    import os
    import sys

    while (fd := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(fd, True)
    os.close(fd)
    sys.stdin = sys.stdin or io.TextIOWrapper(io.BufferedReader(io.FileIO(0, closefd=False)))
    sys.stdout = sys.stdout or io.TextIOWrapper(io.BufferedWriter(io.FileIO(1, "w", closefd=False)))
    sys.stderr = sys.stderr or io.TextIOWrapper(io.BufferedWriter(io.FileIO(2, "w", closefd=False)))


def _as_options(words: list[str]) -> list[str]:
    """`help COMMAND` is `COMMAND --help`, after global options too. Another `help` is a command."""
    from stackbuild.cli import TOPICS

    at = next((n for n, word in enumerate(words) if word[:1] != "-" and words[n - 1 : n] != ["--color"]), len(words))
    before, rest = words[:at], words[at:]
    is_for_command = rest == ["help"] or (rest[:1] == ["help"] and rest[1] in TOPICS)
    return [*before, *rest[1:], "--help"] if is_for_command else words


def _version() -> int:
    """Nothing else is loaded for it."""
    from stackbuild.version import __version__

    try:
        print(f"stackbuild {__version__}", flush=True)
    except OSError as error:
        from stackbuild.cli.messages import show_output_error

        return show_output_error(error)
    return 0


def run() -> int:
    """Run the command line; every Stop becomes a message on stderr and its exit code."""
    import gc
    import io
    import os
    import signal
    import sys

    gc.set_threshold(*GC_THRESHOLD)
    # Plugins of pydantic would change how recipes are read. To look for them, pydantic reads the metadata of every
    # installed package, which takes a tenth of a small command's time.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    from stackbuild.cli import load_commands, run_words
    from stackbuild.cli.messages import show_output_error, show_place, show_stop, unexpected_error
    from stackbuild.cli.settings import apply_settings
    from stackbuild.core.errors import OutputWriteError, Stop, UsageError
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
        show_place(stop)
        if type(stop) is UsageError:
            from stackbuild.cli.completed_message import complete

            complete(stop, words, os.environ)
        return show_stop(stop)
    except (BrokenPipeError, OutputWriteError) as error:
        return show_output_error(error)
    except OSError as error:
        from stackbuild.machine.os_errors import machine_lack

        return show_stop(machine_lack(error))
    except Exception as error:
        return show_stop(unexpected_error(error))


if __name__ == "__main__":
    main()
