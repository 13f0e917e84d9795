"""The entry point: fast for `--version`, one line and an exit code for every Stop."""

from __future__ import annotations

import sys


def main() -> None:
    if sys.argv[1:] in (["--version"], ["-V"]):
        from stackbuild.version import __version__

        print(f"stackbuild {__version__}")
        return
    sys.exit(run())


def run() -> int:
    """Run the command line and turn every Stop into a message on stderr and its exit code."""
    from stackbuild.cli import app, load_commands
    from stackbuild.errors import Stop

    load_commands()
    try:
        app()
    except Stop as stop:
        print(f"stackbuild: {stop}", file=sys.stderr)
        return stop.exit_code
    return 0


if __name__ == "__main__":
    main()
