"""Writes docs/recipes.md, docs/cli.md and docs/rules.md from the code, or compares them (`--check`, exit 1 when one is stale)."""

from __future__ import annotations

import sys
from pathlib import Path

from stackbuild.cli import load_commands
from stackbuild.cli.app import commands
from stackbuild.verification.catalogue import catalogue
from stackbuild.views.reference import MADE, recipe_reference
from stackbuild.views.rules import text_of_all

DOCS = Path(__file__).resolve().parent.parent / "docs"


def cli_reference() -> str:
    load_commands()
    parts = [MADE, "# Commands\n", "Exit codes: 0 done · 1 a defect in stackbuild · 2 usage or recipe wrong · 3 cannot be planned or lock stale ·"]
    parts.append("4 a step failed · 5 verification failed · 6 a gate closed · 7 the machine lacks something · 130/143 stopped by a signal.\n")
    parts.append("Results go to stdout, everything else to stderr; `--json` puts one document (or, for `build`, one event a line) on stdout.\n")
    for name, text in commands():
        parts.append(f"## {name}\n\n```\n" + "\n".join(line.rstrip() for line in text.strip().splitlines()) + "\n```\n")
    return "\n".join(parts)


def main() -> int:
    stale = []
    for name, text in (("recipes.md", recipe_reference()), ("cli.md", cli_reference()), ("rules.md", text_of_all(catalogue()))):
        path = DOCS / name
        if "--check" in sys.argv:
            stale += [name] if not path.exists() or path.read_text() != text else []
        else:
            path.write_text(text)
    if stale:
        print(f"stale: {', '.join(stale)}; run ci/docs", file=sys.stderr)
    return bool(stale)


if __name__ == "__main__":
    sys.exit(main())
