"""Every value in a command of a message is one word of a shell, whatever its name has."""

from __future__ import annotations

import ast
import re
import shlex
from itertools import zip_longest
from pathlib import Path

import pytest

from stackbuild.cli import TOPICS
from stackbuild.core.shell_words import shell_word, shell_words
from tests.support.paths import ROOT

COMMANDS = "|".join(sorted(TOPICS))
PROGRAMS = "chmod|mkdir|rm|git (?:clone|ls-remote)|ssh-keygen|pip (?:download|install|uninstall)"
BEFORE_VALUE = re.compile(
    rf"(?:\bstackbuild (?:{COMMANDS})(?: [\w.:/\0=-]+)* |(?<!\w)--[a-z][a-z-]+ |(?:\b(?:{PROGRAMS})|\0 (?:install|uninstall))(?: [\w./:=\0+-]+)* )$"
)
"""What stands before a value in a command; NUL is a value before it."""
HAS_COMMAND = re.compile(rf"(?:\bstackbuild (?:{COMMANDS})\b|--[a-z]|\b(?:{PROGRAMS})\b|(?:un)?install ).*\{{| -m ")
QUOTING = {"shell_word", "shell_words"}
OUR_OWN = {
    "days",
    "stop.topic",
    "fetch_report.sha256",
    "rule.id",
    "findings[0].rule",
    "target.gfx",
    "context.run",
    "report.run",
    "gfx",
    "line",
    "same[-1]",
}
"""Numbers, targets and ids that stackbuild makes: no shell splits one."""
SCRIPTS = (
    "stackbuild/actions/",
    "stackbuild/plan/steps/",
    "stackbuild/sources/debian_archive.py",
    "stackbuild/pipeline/ci_render.py",
    "stackbuild/pipeline/index_roots.py",
)
"""What writes scripts and workflows: nobody copies a command out of them."""


def values_in_commands(source: str) -> list[tuple[int, str, str]]:
    """Line, text before it and expression of each value that a command has without the helper."""
    rows: list[tuple[int, str, str]] = []
    if not HAS_COMMAND.search(source):
        return rows
    tree = ast.parse(source)
    places = {
        inner
        for call in ast.walk(tree)
        if isinstance(call, ast.keyword) and call.arg == "where"
        for inner in ast.walk(call)
    }
    for text in ast.walk(tree):
        if not isinstance(text, ast.JoinedStr) or text in places:
            continue
        before = ""
        for part, following in zip_longest(text.values, text.values[1:]):
            if isinstance(part, ast.Constant):
                before += str(part.value)
                continue
            assert isinstance(part, ast.FormattedValue)
            quoted = isinstance(part.value, ast.Call) and getattr(part.value.func, "id", "") in QUOTING
            quoted |= ast.unparse(part.value) in OUR_OWN or part.conversion == ord("r")
            is_program = isinstance(following, ast.Constant) and str(following.value).startswith(" -m ")
            if (BEFORE_VALUE.search(before) or is_program) and not quoted:
                rows.append((part.lineno, before[-60:], ast.unparse(part.value)))
            before += "\0"
    return rows


def test_no_command_of_a_message_has_a_value_without_quotes() -> None:
    paths = [
        path
        for path in sorted((ROOT / "stackbuild").rglob("*.py"))
        if not str(path.relative_to(ROOT)).startswith(SCRIPTS)
    ]
    assert len(paths) > 300
    assert [(str(path.relative_to(ROOT)), *row) for path in paths for row in values_in_commands(path.read_text())] == []


@pytest.mark.parametrize(
    ("source", "values"),
    [
        ('f"run `stackbuild lock --recipe {name}`"', ["name"]),
        ('f"run `stackbuild shell -r {shell_word(a)} {step}`"', ["step"]),
        ('f"{pip} uninstall -y {names} && rm -r {site}"', ["names", "site"]),
        ('f"put it there: git clone --mirror {url} {folder}"', ["url", "folder"]),
        ('f"stackbuild index check {index} --rebuild"', ["index"]),
        ('f"{python} -m pip install numpy"', ["python"]),
        ('f"{shell_word(python)} -m pip install {shell_words(names)}"', []),
        ('f"this stackbuild reads {version}"', []),
        ('Stop("no file", where=f"--html {page}")', []),
        ('f"--shape {text!r} is not a shape"', []),
    ],
)
def test_a_value_without_quotes_is_seen(source: str, values: list[str]) -> None:
    assert [value for _, _, value in values_in_commands(source)] == values


def test_a_value_is_one_word() -> None:
    for value in ("a b", "it's", "$HOME", "*.whl", "", "ü 7"):
        assert shlex.split(f"rm {shell_word(value)} x") == ["rm", value, "x"]
    assert shlex.split(shell_words(["a b", Path("c d")])) == ["a b", "c d"]
