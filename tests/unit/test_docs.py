"""Reads the docs: a command, option, recipe key, exit code or file that is missing from them, or no longer there, is a failure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from stackbuild.cli import app, load_commands
from stackbuild.model.recipe import recipe_schema
from stackbuild.recipe.load import bundled
from support.paths import ROOT

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def read(name: str) -> str:
    return (ROOT / name).read_text("utf-8")


def commands() -> Iterator[tuple[str, Any]]:
    load_commands()
    todo: list[tuple[str, Any]] = [("stackbuild", get_command(app))]
    while todo:
        name, command = todo.pop()
        inside = getattr(command, "commands", {})
        if not inside:
            yield name, command
        todo += [(f"{name} {word}", sub) for word, sub in inside.items() if not sub.hidden]


def test_every_command_and_option_is_in_the_reference() -> None:
    text = read("docs/cli.md")
    found = dict(commands())
    assert len(found) > 20
    missing = [name for name in found if name not in text]
    assert not missing, f"run ci/docs: docs/cli.md has no {missing}"
    for name, command in found.items():
        section = text[text.index(name) :]
        gone = [o for p in command.params if not p.hidden for o in p.opts if o.startswith("--") and o not in ("--help",) and o not in section]
        assert not gone, f"run ci/docs: docs/cli.md misses {gone} of {name}"


def test_every_help_has_an_example_of_itself() -> None:
    without = [name for name, command in commands() if f"Example: {name}" not in (command.help or "")]
    assert not without


def test_no_command_is_cut_short_in_the_lists_of_commands(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    load_commands()
    whole = get_command(app)
    lists = [whole, *(sub for sub in whole.commands.values() if hasattr(sub, "commands"))]  # type: ignore[attr-defined]
    helps = [CliRunner().invoke(app, [*(() if one is whole else (one.name,)), "--help"]).stdout for one in lists]
    assert len(helps) > 5 and all("Commands:" in text for text in helps)
    assert not [line for text in helps for line in text.splitlines() if line.endswith("...") and "Usage:" not in line]


def test_every_key_of_a_recipe_is_in_the_reference() -> None:
    text = read("docs/recipes.md")
    whole = recipe_schema()
    for title, node in {"Recipe": whole, **whole["$defs"]}.items():
        gone = [key for key in node.get("properties", {}) if f"`{key}`" not in text]
        assert not gone, f"run ci/docs: docs/recipes.md misses {gone} of {title}"


def test_every_key_of_a_recipe_has_a_description() -> None:
    bare = [
        f"{title}.{key}"
        for title, node in {"Recipe": recipe_schema(), **recipe_schema()["$defs"]}.items()
        for key, value in node.get("properties", {}).items()
        if not value.get("description") and "$ref" not in value and "allOf" not in value and key != "kind"
    ]
    assert not bare


def test_every_bundled_recipe_is_told_of() -> None:
    pages = "".join(page.read_text("utf-8") for page in PAGES)
    assert not [name for name in bundled() if name not in pages]


def test_the_two_commands_of_the_readme_are_there() -> None:
    readme, makefile = read("README.md"), read("Makefile")
    for target in ("demo", "test"):
        assert f"make {target}" in readme and re.search(rf"^{target}:", makefile, re.MULTILINE)


def test_every_exit_code_is_told() -> None:
    pages = "".join(page.read_text("utf-8") for page in PAGES)
    table = [line for line in pages.splitlines() if re.match(r"\|? *(`|\*\*)?\d", line) or "exit code" in line.lower()]
    text = "\n".join(table)
    for code in ("0", "1", "2", "3", "4", "5", "6", "7", "130", "143"):
        assert re.search(rf"(?<!\d){code}(?!\d)", text), f"no page tells what exit code {code} means"


def test_wheels_in_examples_lie_where_a_build_puts_them() -> None:
    """`dist/simple/PROJECT/`: an example that a newcomer types after `make demo` finds a wheel."""
    texts = [page.read_text("utf-8") for page in PAGES] + [command.help or "" for _, command in commands()]
    named = [word for text in texts for word in re.findall(r"\bdist/\S*\.whl", text)]
    assert len(named) > 3
    assert not [word for word in named if not word.startswith(("dist/simple/*/", "dist/simple/PROJECT/"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    text = re.sub(r"```.*?```", "", page.read_text("utf-8"), flags=re.DOTALL)
    for target in re.findall(r"\]\((?!https?:|mailto:|#)([^)#\s]+)", text):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_commands_in_the_docs_exist(page: Path) -> None:
    known = {name for name, _ in commands()}
    words = {" ".join(name.split()[:2]) for name in known}
    for line in re.findall(r"^\s*(?:\$ )?(stackbuild [a-z]+(?: [a-z-]+)?)", page.read_text("utf-8"), re.MULTILINE):
        assert any(line == k or line.startswith(k + " ") or k == " ".join(line.split()[:2]) for k in known | words), f"{page.name}: `{line}`"
