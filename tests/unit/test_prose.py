"""The check of sentences finds what it is for, and leaves code and good sentences alone."""

from __future__ import annotations

import tomllib
from pathlib import Path

import prose
import pytest
from prose import Text, findings, paragraphs, sources, wide_lines

from support.paths import ROOT

TABLE = tomllib.loads((ROOT / "ci/prose.toml").read_text("utf-8"))["word"]
LONG = "This sentence goes on " + "and on " * 14 + "to its end."


def found(text: str, limited: bool = True) -> list[str]:
    return list(findings(iter([Text("x.md", 1, text, limited)]), TABLE))


@pytest.mark.parametrize(
    "text",
    [
        "The wheel is held against the lock.",
        "Each holds the other one against it.",
        "The next run goes on in its tree.",
        "A recipe stands on AMD's image.",
        "What a wheel owes is checked.",
        "Rungs that it cannot climb are skipped.",
        "Something must be mended.",
        "The gate is open.",
        "A closed gate ends it.",
        "X is no wheel.",
        "Files that are no wheels.",
        "None of his variables.",
        "Seven samples cannot bear an interval.",
        "Carry it by another way.",
        "The others are told.",
        "It goes on from the tenth byte.",
    ],
)
def test_words_that_are_not_used(text: str) -> None:
    assert len(found(text)) == 1


@pytest.mark.parametrize(
    "text",
    [
        "There is no wheel.",
        "It is no longer there.",
        "The build goes on.",
        "`is no wheel` is what it said.",
        "Recommended amendments stand.",
        "Compare it with the lock.",
        "Two builds are told apart. One is told to stop.",
        LONG[:60],
    ],
)
def test_words_that_are(text: str) -> None:
    assert not found(text)


def test_long_sentences_where_they_are_limited() -> None:
    assert len(found(LONG)) == 1 and not found(LONG, limited=False)
    assert not found(LONG.replace("and on and on and", "and on. And"))


def test_code_is_not_read_and_lines_are_counted() -> None:
    page = "# Title\n\nOne line\nand another.\n\n    is no code\n\n```\nis no code\n```\n\n- item\n  of two lines\n\n| a | b |\n"
    assert list(paragraphs(page)) == [
        (1, "# Title"), (3, "One line and another."), (12, "- item of two lines"), (15, " a "), (15, " b "),
    ]  # fmt: skip


def test_a_list_of_code_is_one_word_and_an_item_is_a_sentence() -> None:
    assert not found("They are " + ", ".join(["`a`"] * 40) + " and `b`.")
    assert not found(" · ".join(["seven words that are one short item"] * 9))


def test_wide_lines_of_prose(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    wide, page = "word " * 30, tmp_path / "docs/a.md"
    for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md"):
        (tmp_path / name).write_text(wide[:100])
    monkeypatch.setattr("prose.REPOSITORY", tmp_path)
    page.write_text(f"{wide}\n\n    {wide}\n\n| {wide} |\n\n```\n{wide}\n```\n`{wide}`\n")
    assert [line.split(" ")[0] for line in wide_lines()] == ["docs/a.md:1:"]
    page.rename(page.with_name("cli.md"))
    assert not list(wide_lines())


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('"""A module.\n\nIt is mended."""', 1),
        ('"""A module."""\n\n# It is\n# mended.', 3),
        ('"""A module."""\nx = 1  #: mended', 2),
        ('"""A module."""\nx = "it is mended"', 2),
        ('"""A module."""\nx = f"{1} is mended"', 2),
    ],
)
def test_a_word_in_a_docstring_a_comment_or_a_text_is_found(text: str, line: int, tmp_path: Path) -> None:
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree/module.py").write_text(f"{text}\n")
    places = {finding.split(" · ")[0] for finding in findings(sources(tmp_path / "tree"), TABLE)}
    assert places == {f"tree/module.py:{line}: “mended”, write: fix, correct"}


def test_a_long_sentence_of_a_table_is_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(prose, "REPOSITORY", tmp_path)
    monkeypatch.setattr(prose, "TABLES", ("one.yaml",))
    (tmp_path / "one.yaml").write_text(f'# a table\n- {{name: A, why: "{"word " * 31}", source: "{"word. " * 40}"}}\n')
    assert [line.partition(" ·")[0] for line in prose.findings(prose.tables(), [])] == ["one.yaml:2: 31 words"]
