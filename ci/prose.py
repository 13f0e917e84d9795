"""Checks how sentences read: words of `ci/prose.toml`, and sentences of more than 30 words where a person is guided.

`python ci/prose.py` prints each with its file and line and exits 1 where there is one. Looked at are the pages at the
top and in docs/, every docstring, comment and text of stackbuild, kernels and ci, and the help of every command.
Measurement diaries (docs/appendix, docs/performance.md) and code in backquotes are left out. The limit of 30 words holds
for pages but the changelog, for the help, for tables whose texts commands print, and for messages: what a Stop says,
where, and what to do next.
"""

from __future__ import annotations

import ast
import re
import sys
import tokenize
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

from stackbuild.cli import load_commands
from stackbuild.cli.app import commands

REPOSITORY = Path(__file__).resolve().parent.parent
MOST = 30
WIDEST = 120
"""Characters of a line of prose."""
TREES = ("stackbuild", "kernels", "ci")
"""Folders with Python sources."""
GENERATED_PAGES = ("cli.md", "recipes.md", "rules.md")
"""Pages that ci/docs makes whole, from texts of the code."""
TABLES = (
    "stackbuild/machine/environment.yaml", "stackbuild/plan/estimates.yaml", "stackbuild/tables/provider_options.yaml", "recipes/compatibility.yaml",
    "recipes/evidence.yaml",
)  # fmt: skip
STOPS = ("Stop", "Defect", "UsageError", "Mistake", "PlanError", "LockError", "StepFailed", "VerificationFailed", "GateClosed", "MachineLacks")


@dataclass(frozen=True)
class Text:
    """A text that a person reads: where it begins, and whether its sentences are limited."""

    file: str
    line: int
    text: str
    limited: bool


def page_files() -> list[Path]:
    """The pages that are checked."""
    top = [REPOSITORY / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")]
    docs = sorted((REPOSITORY / "docs").rglob("*.md"))
    return top + [path for path in docs if path.parent.name != "appendix" and path.stem != "performance"]


def pages() -> Iterator[Text]:
    """The paragraphs of every page, without code."""
    for path in page_files():
        name = str(path.relative_to(REPOSITORY))
        for line, paragraph in paragraphs(path.read_text("utf-8")):
            yield Text(name, line, paragraph, True)
    for line, paragraph in paragraphs((REPOSITORY / "CHANGELOG.md").read_text("utf-8")):
        yield Text("CHANGELOG.md", line, paragraph, False)


def paragraphs(text: str) -> Iterator[tuple[int, str]]:
    """Each paragraph, list item and table cell of a page with its line; code blocks are left out."""
    text = re.sub(r"(?ms)^```.*?^```", lambda m: "\n" * m[0].count("\n"), text)
    block: list[str] = []
    for number, line in enumerate([*text.split("\n"), ""], 1):
        begins = re.match(r"\s*([-*>] |\d+\. |#|\||!\[|<!--)|( {4}|\t)\S", line) and not (block and line.startswith("  "))
        if block and (begins or not line.strip()):
            yield number - len(block), " ".join(block)
            block = []
        if line.startswith("|"):
            yield from ((number, cell) for cell in line.split("|") if cell.strip(" -:"))
        elif line.strip() and not (re.match(r" {4}|\t", line) and not block):
            block.append(line.strip())


def sources(folder: Path) -> Iterator[Text]:
    """Docstrings, comments and texts of the Python files below a folder; those of a Stop are limited."""
    for path in sorted(folder.rglob("*.py")):
        name, code = str(path.relative_to(folder.parent)), path.read_text("utf-8")
        tree = ast.parse(code)
        printed_words = {
            id(part)
            for node in ast.walk(tree)
            if isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] in STOPS
            for part in ast.walk(node)
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.JoinedStr):
                text = "".join(str(v.value) if isinstance(v, ast.Constant) else "`x`" for v in node.values)
                yield Text(name, node.lineno, text, id(node) in printed_words)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
                yield from (Text(name, node.lineno, part, id(node) in printed_words) for part in re.split(r"\n\s*\n", node.value))
        yield from (Text(name, line, text, False) for line, text in comments(code))


def comments(code: str) -> Iterator[tuple[int, str]]:
    """The comments of a Python text with their first line. Those of lines in a row are one, without their `#`."""
    block: list[str] = []
    first = last = 0
    for token in tokenize.generate_tokens(StringIO(code).readline):
        if token.type == tokenize.COMMENT:
            line, text = token.start[0], token.string.lstrip("#: ")
            if block and line == last + 1:
                block.append(text)
            else:
                if block:
                    yield first, " ".join(block)
                block, first = [text], line
            last = line
    if block:
        yield first, " ".join(block)


def helps() -> Iterator[Text]:
    """The paragraphs and options of every command's help."""
    load_commands()
    for name, text in commands():
        for part in re.split(r"\n\s*\n|\n  (?=-)", text):
            if not part.lstrip().startswith(("Usage:", "Example:")):
                yield Text(f"{name} --help", 1, part, True)


def tables() -> Iterator[Text]:
    """The texts of tables that commands print: what a row says of its reason and source."""
    for name in TABLES:
        for number, line in enumerate((REPOSITORY / name).read_text("utf-8").split("\n"), 1):
            yield from (Text(name, number, text, True) for text in _TABLE_TEXT.findall(line))


_TABLE_TEXT = re.compile(r'\b(?:why|source|note|says|what): "((?:[^"\\]|\\.)*)"')


def sentences(text: str) -> Iterator[str]:
    """The sentences of a text, and items between ` · `. What stands in backquotes, or a list of such, counts as one word."""
    plain = re.sub(r"`[^`]*`", "X", re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text))
    plain = re.sub(r"\bX(?:(?:,| →|, and| and) X\b)+", "X", " ".join(plain.split()))
    yield from re.split(r"(?<=[.!?])\s+| · ", plain)


def words(sentence: str) -> int:
    return len(re.findall(r"[A-Za-z0-9'’-]+", sentence))


def findings(texts: Iterator[Text], table: list[dict[str, str]]) -> Iterator[str]:
    """A line for each word that is not used and each sentence that is too long."""
    for text in texts:
        for sentence in sentences(text.text):
            for word in table:
                if hit := re.search(word["match"], sentence, re.IGNORECASE):
                    yield f"{text.file}:{text.line}: “{hit[0]}”, write: {word['instead']} · {sentence[:100]}"
            if text.limited and words(sentence) > MOST:
                yield f"{text.file}:{text.line}: {words(sentence)} words · {sentence[:100]}"


def wide_lines() -> Iterator[str]:
    """Lines of prose with more than WIDEST characters, but on the pages that ci/docs makes whole."""
    for path in page_files():
        name = str(path.relative_to(REPOSITORY))
        if path.name in GENERATED_PAGES:
            continue
        text = re.sub(r"(?ms)^```.*?^```", lambda m: "\n" * m[0].count("\n"), path.read_text("utf-8"))
        for number, line in enumerate(text.split("\n"), 1):
            is_breakable = " " in re.sub(r"`[^`]*`|\[[^]]*\]\(.*?\)", "X", line).strip("-* ")
            if len(line) > WIDEST and is_breakable and not line.startswith(("|", "    ", "#", "<!--")):
                yield f"{name}:{number}: {len(line)} characters · {line[:100]}"


def main() -> int:
    table = tomllib.loads((REPOSITORY / "ci/prose.toml").read_text("utf-8"))["word"]
    lines = sorted(set(findings((text for part in (pages(), *(sources(REPOSITORY / tree) for tree in TREES), helps(), tables()) for text in part), table)))
    lines += wide_lines()
    print("\n".join(lines) or "sentences: nothing found")
    return bool(lines)


if __name__ == "__main__":
    sys.exit(main())
