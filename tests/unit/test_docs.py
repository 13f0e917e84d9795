"""Reads the docs: a command, option, recipe key, exit code or file that is missing from them, or no longer there, is a failure."""

from __future__ import annotations

import re
import shlex
import signal
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import layout
import pytest
from make_docs import architecture, man_pages
from typer import Context
from typer.main import get_command

from stackbuild.__main__ import run
from stackbuild.bench import environment as bench_environment
from stackbuild.checks.catalogue import catalogue
from stackbuild.cli import app, load_commands
from stackbuild.cli.settings import SETTINGS
from stackbuild.core.errors import Interruption, Stop
from stackbuild.model.recipe import recipe_schema
from stackbuild.recipe.load import bundled_recipes
from stackbuild.sources import git_command
from stackbuild.tables.topics import anchor, topics
from support.paths import ROOT

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


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


def test_no_command_is_cut_short_in_the_lists_of_commands(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """By the entry point: typer's own runner has two columns more than a terminal of 80."""
    monkeypatch.setenv("COLUMNS", "80")
    load_commands()
    whole = get_command(app)
    lists = [whole, *(sub for sub in whole.commands.values() if hasattr(sub, "commands"))]  # type: ignore[attr-defined]
    helps = []
    for one in lists:
        monkeypatch.setattr(sys, "argv", ["stackbuild", *(() if one is whole else (one.name,)), "--help"])
        assert run() == 0
        helps.append(capsys.readouterr().out)
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
    assert not [name for name in bundled_recipes() if name not in pages]


def test_the_two_commands_of_the_readme_are_there() -> None:
    readme, makefile = read("README.md"), read("Makefile")
    for target in ("demo", "test"):
        assert f"make {target}" in readme and re.search(rf"^{target}:", makefile, re.MULTILINE)


def exit_codes() -> set[int]:
    """Every exit code of the code: of each Stop, of a signal, of a reader that has gone, and those that commands leave with."""
    ours = {stop.exit_code for stop in kinds_of_stop()}
    left = {int(code) for path in (ROOT / "stackbuild/cli").glob("*.py") for code in re.findall(r"\bleave\((\d+)\)", path.read_text("utf-8"))}
    stopped = {Interruption(number).exit_code for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM)}
    return {0, *ours, *left, *stopped, 128 + signal.SIGPIPE}


def test_every_exit_code_is_told() -> None:
    rows = re.findall(r"^\| ([\d, ]+) \|", read("docs/exit-codes.md"), re.MULTILINE)
    assert {int(code) for row in rows for code in row.split(",")} == exit_codes()
    sections = re.findall(r"^Exit codes? (.*)$", read("docs/troubleshooting.md"), re.MULTILINE)
    told = {int(code) for line in sections for code in re.findall(r"\b\d+\b", line.split(": ")[0].split(". ")[0])}
    assert told >= exit_codes() - {0, 10, 128 + signal.SIGPIPE}  # these three are no troubles


def test_files_of_the_package_and_of_the_recipes_that_pages_name_exist() -> None:
    named = [
        (page.name, file) for page in PAGES
        for file in re.findall(r"`((?:stackbuild|recipes|kernels|ci|tests)/[\w./-]+\.(?:py|ya?ml|toml))`", page.read_text("utf-8"))
    ]  # fmt: skip
    assert len(named) > 10
    assert not [f"{page} names {file}" for page, file in named if not (ROOT / file).is_file()]


def test_wheels_in_examples_lie_where_a_build_puts_them() -> None:
    """`dist/simple/PROJECT/`: an example that a newcomer types after `make demo` finds a wheel."""
    texts = [page.read_text("utf-8") for page in PAGES] + [command.help or "" for _, command in commands()]
    named = [word for text in texts for word in re.findall(r"\bdist/\S*\.whl", text)]
    assert len(named) > 3
    assert not [word for word in named if not word.startswith(("dist/simple/*/", "dist/simple/PROJECT/"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    text = re.sub(r"```.*?```", "", page.read_text("utf-8"), flags=re.DOTALL)
    for target in re.findall(r"\]\((?!https?:|mailto:|#)([^)#\s]+)", text):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"


def command_lines(text: str) -> Iterator[list[str]]:
    """Every `stackbuild …` in a page's blocks and inline code, as words: without comments, redirections and what is a form."""
    blocks = re.findall(r"^(?:    |\$ )(?:[A-Z_]+=\S+ )*(?:\.venv/bin/)?(stackbuild [a-z].*)$", text, re.MULTILINE)
    inline = re.findall(r"`(?:\.venv/bin/)?(stackbuild [a-z][^`]*)`", text)
    for line in [*blocks, *inline]:
        try:
            words = shlex.split(re.sub(r"\s#\s.*$| [|>] .*$| && .*$|[…]", "", line))
        except ValueError:  # an apostrophe of a sentence
            continue
        yield words[1:]


def parse(words: list[str]) -> str:
    """What click has against a command line, "" for nothing. Values are not converted: files need not be there."""
    if words[:1] == ["help"]:  # words for options; not a command of its own
        return ""
    load_commands()
    command: Any = get_command(app)
    path = ["stackbuild"]
    while inside := getattr(command, "commands", {}):
        if not words or words[0] not in inside:
            return f"no command {' '.join([*path, *words[:1]])}" if words and words[0].isalpha() else ""
        command, words, path = inside[words[0]], words[1:], [*path, words[0]]
    context = Context(command, info_name=" ".join(path))
    try:
        command.make_parser(context).parse_args(list(words))
    except Exception as wrong:  # typer has a click of its own, whose errors are not click's
        return "" if "requires an argument" in str(wrong) else f"{' '.join(path)}: {wrong}"
    return ""


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_options_in_the_docs_exist(page: Path) -> None:
    wrong = {said: None for words in command_lines(page.read_text("utf-8")) if (said := parse(words))}
    assert not wrong, f"{page.name}: " + "; ".join(wrong)


def test_a_wrong_option_in_a_page_would_be_found() -> None:
    lines = list(command_lines("    stackbuild bench models --sides cpu  # no such\n`stackbuild plan -r x`\n"))
    assert [bool(parse(words)) for words in lines] == [True, False]


def test_messages_of_the_troubleshooting_page_are_in_the_code() -> None:
    """A message that was reworded must be reworded there, too."""
    code = "\n".join(path.read_text("utf-8") for path in sorted((ROOT / "stackbuild").rglob("*.py"))).lower()
    page = read("docs/troubleshooting.md").partition("## On the GPU")[0]
    rows = re.findall(r"^\| (?!message|verdict|---)(.*?) \|", page, re.MULTILINE)
    messages = [row.replace("mistakes in", "in").lower() for row in rows]
    assert len(messages) > 15 and not [m for m in messages if m not in code]


def variables_of_the_code() -> set[str]:
    """Environment variables that the package reads: by a literal name, by a constant, or from a tuple of those that are kept."""
    found = {setting.variable for setting in SETTINGS} | {*bench_environment.WORKER_VARIABLES, *git_command.GIT_VARIABLES}
    for path in sorted((ROOT / "stackbuild").rglob("*.py")):
        code = path.read_text("utf-8")
        found |= set(re.findall(r"""environ(?:\.get\(|\[)['"]([A-Z_]+)""", code)) | set(re.findall(r'"(STACKBUILD_[A-Z_]+)"', code))
    return found


def test_every_environment_variable_is_in_its_page() -> None:
    page, emulator = read("docs/environment-variables.md"), read("docs/emulator.md")
    listed = {name for text in (page, emulator) for name in re.findall(r"`([A-Za-z_]+)`", text)}
    found = variables_of_the_code()
    assert len(found) > 30
    assert not {name for name in found if not {name, name.lower()} & listed}
    assert set(re.findall(r"`(STACKBUILD_[A-Z_]+)`", page)) <= found


def test_each_variable_has_one_row_and_those_of_the_settings_file_are_named() -> None:
    page = read("docs/environment-variables.md")
    names = [name for cell in re.findall(r"^\| (`.*?`) \|", page, re.MULTILINE) for name in re.findall(r"`(\w+)`", cell)]
    assert len(names) > 30 and len(names) == len({*names})
    (sentence,) = re.findall(r"^(`STACKBUILD_(?:[^.]|\n)*) are also keys of", page, re.MULTILINE)
    assert {*re.findall(r"`(\w+)`", sentence)} == {setting.variable for setting in SETTINGS}


def kinds_of_stop() -> list[type[Stop]]:
    load_commands()
    for module in ("build.build", "emulator.translate", "emulator.code_object"):
        import_module(f"stackbuild.{module}")
    stops: list[type[Stop]] = [Stop]
    for stop in stops:
        stops += stop.__subclasses__()
    return [stop for stop in stops if stop.__module__.startswith("stackbuild.")]


def test_every_kind_of_error_has_its_section_with_its_exit_code() -> None:
    """The last line of an error is `help: stackbuild help TOPIC`."""
    sections, stops = topics(), kinds_of_stop()
    assert len(stops) > 15
    for stop in stops:
        said = re.findall(r"^Exit codes? ([^.:]*)|Exit code (\d+):", sections[stop.topic], re.MULTILINE)
        codes = {int(code) for pair in said for text in pair for code in re.findall(r"\d+", text)}
        wanted = {129, 130, 143} if stop is Interruption else {stop.exit_code}
        assert wanted <= codes, f"{stop.__name__}: {stop.topic} has {codes}"


def test_every_topic_that_the_code_names_has_a_section() -> None:
    code = "\n".join(path.read_text("utf-8") for path in sorted((ROOT / "stackbuild").rglob("*.py")))
    named = set(re.findall(r"\btopic ?= ?\"([a-z-]+)\"", code))
    assert {"network", "disk", "sandbox", "docker", "wrong-recipe"} <= named <= set(topics())


def test_every_rule_has_an_anchor() -> None:
    headings = {anchor(h) for h in re.findall(r"^#+ (.*)$", read("docs/rules.md"), re.MULTILINE)}
    assert {rule.id.lower() for _, group in catalogue() for rule in group} <= headings


def test_the_site_has_every_page() -> None:
    nav = read("mkdocs.yml")
    pages = [str(page.relative_to(ROOT / "docs")) for page in PAGES[1:]]
    assert len(pages) > 30 and not [page for page in pages if not re.search(rf"[ :]{re.escape(page)}$", nav, re.MULTILINE)]


def test_man_pages_have_every_command_and_no_line_that_troff_would_act_on() -> None:
    made = man_pages()
    assert set(made) == {"stackbuild.1"} | {f"{name.replace(' ', '-')}.1" for name, _ in commands()}
    requests = {line.split()[0] for text in made.values() for line in text.splitlines() if line.startswith(".")}
    assert requests <= {".TH", ".SH", ".nf", ".fi", ".BR"}
    assert "\\-\\-recipe" in made["stackbuild-build.1"]


def test_the_architecture_picture_has_every_package() -> None:
    picture = read("docs/architecture.svg")
    assert picture == architecture() and all(f">{name}</text>" in picture for name in layout.LEVELS)


def test_the_changelog_keeps_its_form() -> None:
    """Keep a Changelog: versions or Unreleased, and below them the known kinds of changes alone."""
    headings = re.findall(r"^(#{2,3}) (.*)$", read("CHANGELOG.md"), re.MULTILINE)
    assert headings[0] == ("##", "[Unreleased]")
    kinds = ("Added", "Changed", "Deprecated", "Removed", "Fixed", "Security")
    version = re.compile(r"\[Unreleased\]|\[\d+\.\d+\.\d+\] - \d{4}-\d{2}-\d{2}")
    assert not [h for level, h in headings if not (h in kinds if level == "###" else version.fullmatch(h))]


def test_the_tests_that_evidence_names_are_there() -> None:
    pages = sorted((ROOT / "docs").glob("*-evidence.md"))
    named = [path for page in pages for path in re.findall(r"`((?:unit|integration)/[\w/.-]+)", page.read_text("utf-8"))]
    assert len(named) > 50 and [path for path in named if not (ROOT / "tests" / path).exists()] == []
