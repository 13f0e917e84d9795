"""`python -m stackbuild.emulator translate OBJECT --target gfx1100 --folder DIR [--kernel NAME]… [--sanitize] [--counters]`.

Prints the folder. Exit code 0, or 1 with one line on standard error.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from stackbuild.core.errors import Stop
from stackbuild.emulator.translate import translate


def main() -> None:
    """Run one command."""
    parser = argparse.ArgumentParser(prog="python -m stackbuild.emulator", description=__doc__)
    commands = parser.add_subparsers(required=True)
    command = commands.add_parser("translate", help="compile kernels of one code object")
    command.add_argument("object", type=Path)
    command.add_argument("--target", required=True)
    command.add_argument("--folder", type=Path, required=True)
    command.add_argument("--kernel", action="append")
    command.add_argument("--sanitize", action="store_true")
    command.add_argument("--counters", action="store_true")
    arguments = parser.parse_args()
    try:
        folder = translate(
            arguments.object.read_bytes(), arguments.target, arguments.folder, sanitize=arguments.sanitize,
            counters=arguments.counters, kernels=arguments.kernel,
        )  # fmt: skip
    except (Stop, OSError) as error:
        text = error.what if isinstance(error, Stop) else str(error)
        sys.exit(" ".join(text.split()))
    print(folder)


if __name__ == "__main__":
    main()
