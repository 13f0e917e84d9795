"""Every command that reads takes `--json`, and the shape of each document is named in docs/command-line.md."""

from __future__ import annotations

import re

import typer

from stackbuild.cli import app, load_commands
from support.paths import ROOT

WRITERS = {
    "stackbuild ci render", "stackbuild patch new", "stackbuild recipe new", "stackbuild recipe schema",  # they print the file itself
    "stackbuild help",  # a page for people
    "stackbuild shell", "stackbuild store trust add", "stackbuild store trust remove",
    "stackbuild scheduler", "stackbuild worker",  # they serve until they are stopped
}  # fmt: skip
SCHEMA = re.compile(r'"(stackbuild\.[a-z-]+/[0-9]+)"')


def without_json(command: object, path: str) -> set[str]:
    subs = getattr(command, "commands", None)
    if subs:
        return {name for word, sub in subs.items() for name in without_json(sub, f"{path} {word}")}
    return set() if any("--json" in p.opts for p in command.params) else {path}  # type: ignore[attr-defined]


def test_every_reading_command_takes_json() -> None:
    load_commands()
    assert without_json(typer.main.get_command(app), "stackbuild") == WRITERS


def test_every_schema_is_in_the_page_and_no_other() -> None:
    files = [*(ROOT / "stackbuild/cli").glob("*.py"), *(ROOT / "stackbuild/views").glob("*.py")]
    used = {schema for file in files for schema in SCHEMA.findall(file.read_text())}
    table = (ROOT / "docs/command-line.md").read_text().partition("## JSON")[2].partition("\n## ")[0]
    assert used == set(re.findall(r"`(stackbuild\.[a-z-]+/[0-9]+)`", table))
