"""Runs the command lines of the documentation and compares the outputs that it shows (tests/support/pages.py)."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from support.pages import CodeBlock, code_blocks, make_examples, pattern, script
from support.paths import ROOT

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCKS = {page: list(code_blocks(page)) for page in PAGES}
RUN = [page for page, blocks in BLOCKS.items() if any(block.output_of or block.commands() for block in blocks)]


@pytest.fixture(scope="module")
def examples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("examples")
    make_examples(folder)
    return folder


@pytest.fixture
def folder(examples: Path, tmp_path: Path) -> Path:
    """A copy of the examples; commands run in it."""
    return Path(shutil.copytree(examples, tmp_path / "page", symlinks=True))


def bash(text: str, folder: Path) -> tuple[dict[int, int], str]:
    """Exit codes by line number, and what bash printed, for a script of `script`; builds run on the fake runner."""
    codes = folder / "codes"
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "STACKBUILD_RUNNER": "fake",
        "COLUMNS": "120",
        "HOME": str(folder),
    }
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", f"exec 3> {codes}\n{text}"],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=240,
        stdin=subprocess.DEVNULL,
    )
    found = dict(tuple(map(int, line.split())) for line in codes.read_text().splitlines())
    return found, done.stdout


def failures(block: CodeBlock, folder: Path) -> list[str]:
    """What differs from the page, a text each."""
    where, commands = f"{block.page}:{block.line}", block.commands()
    found = []
    if commands:
        codes, output = bash(script(block), folder)
        lines = [f"exit {codes.get(n)}: {line}" for n, line in commands.items() if codes.get(n) not in block.exit_codes]
        if lines or "Traceback" in output:
            found.append("\n".join([where, *lines, output[-3000:]]))
    if block.output_of:
        _, output = bash(block.output_of, folder)
        if not pattern(block.lines).search(output):
            found.append(f"{where}: {block.output_of} prints something else:\n{output}")
    return found


@pytest.mark.parametrize("page", RUN, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_run_and_print_what_the_page_shows(page: Path, folder: Path) -> None:
    found = [text for block in BLOCKS[page] for text in failures(block, folder)]
    assert not found, "\n".join(found)


def test_enough_is_run() -> None:
    blocks = [block for blocks in BLOCKS.values() for block in blocks]
    assert sum(len(block.commands()) for block in blocks) > 40
    assert sum(bool(block.output_of) for block in blocks) >= 3


def test_a_wrong_command_or_output_would_be_found(folder: Path) -> None:
    assert failures(CodeBlock("p", 1, ("stackbuild env --gpu nothing",), ()), folder)
    assert failures(CodeBlock("p", 1, ("stackbuild 9.9",), ("output of: stackbuild --version",)), folder)
    assert not failures(CodeBlock("p", 1, ("stackbuild …",), ("output of: stackbuild --version",)), folder)
