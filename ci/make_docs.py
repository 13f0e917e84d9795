"""Writes what the docs have from the code, or compares it (`--check`, exit 1 where something is stale).

That is docs/recipes.md, docs/cli.md and docs/rules.md whole, and what stands between `<!-- made by ci/docs -->` and
`<!-- end -->`: in docs/design.md and CONTRIBUTING.md the layers of ci/layout.py, in docs/security.md the refused system calls.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import layout

from stackbuild.cli import load_commands
from stackbuild.cli.app import commands
from stackbuild.runners import seccomp
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


def with_section(path: Path, section: str) -> str:
    """The text of a page with its made section replaced. Raises ValueError where the page has none."""
    text, count = re.subn(r"(?s)(?<=<!-- made by ci/docs -->\n).*?(?=<!-- end -->)", lambda _: section, path.read_text("utf-8"))
    if count != 1:
        raise ValueError(f"{path} has {count} sections that ci/docs makes, not one")
    return text


def pages() -> dict[Path, str]:
    """Every page that is made from the code, whole or in part, to its text."""
    return {
        DOCS / "recipes.md": recipe_reference(),
        DOCS / "cli.md": cli_reference(),
        DOCS / "rules.md": text_of_all(catalogue()),
        DOCS / "design.md": with_section(DOCS / "design.md", layout.table()),
        DOCS / "security.md": with_section(DOCS / "security.md", seccomp.table()),
        DOCS.parent / "CONTRIBUTING.md": with_section(DOCS.parent / "CONTRIBUTING.md", layout.order()),
    }


def main() -> int:
    stale = []
    for path, text in pages().items():
        if "--check" in sys.argv:
            stale += [path.name] if not path.exists() or path.read_text("utf-8") != text else []
        else:
            path.write_text(text, "utf-8")
    if stale:
        print(f"stale: {', '.join(stale)}; run ci/docs", file=sys.stderr)
    return bool(stale)


if __name__ == "__main__":
    sys.exit(main())
