"""Writes what the docs have from the code, or compares it (`--check`, exit 1 where something is stale).

That is docs/recipes.md, docs/cli.md and docs/rules.md whole, and what stands between `<!-- made by ci/docs -->` and
`<!-- end -->`: in docs/design.md and CONTRIBUTING.md the layers of ci/layout.py, in docs/security.md the refused system
calls, in README.md what ran of each recipe, in docs/get-a-wheel.md the wheels of `start`. docs/architecture.svg is drawn from the layers.
`--man DIR` writes a man page for each command instead: `man -l DIR/stackbuild-build.1`.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import layout
from recipe_reference import NOTICE, recipe_reference

from stackbuild.checks.catalogue import catalogue
from stackbuild.checks.start import start
from stackbuild.cli import load_commands
from stackbuild.cli.app import commands
from stackbuild.runners import seccomp
from stackbuild.tables.compatibility import table
from stackbuild.tables.proofs import proofs
from stackbuild.views.machine import SHOWN_WHEELS
from stackbuild.views.rules import text_of_all

DOCS = Path(__file__).resolve().parent.parent / "docs"


def cli_reference() -> str:
    load_commands()
    parts = [NOTICE, "# Commands\n", "Exit codes: 0 done · 1 a defect in stackbuild · 2 usage or recipe wrong · 3 cannot be planned or lock stale ·"]
    parts.append("4 a step failed · 5 verification failed · 6 a gate failed · 7 the machine lacks something · 130/143 stopped by a signal.\n")
    parts.append("Results go to stdout, everything else to stderr; `--json` puts one document (or, for `build`, one event a line) on stdout.\n")
    for name, text in commands():
        parts.append(f"## {name}\n\n```\n" + "\n".join(line.rstrip() for line in text.strip().splitlines()) + "\n```\n")
    return "\n".join(parts)


def evidence_table() -> str:
    """What ran of each bundled recipe, as a Markdown table."""
    rows = ["| recipe | built here | configured on real trees | emulated | run on an AMD GPU |", "|---|---|---|---|---|"]
    for name, ran in proofs().items():
        cells = (trial.cell for trial in (ran.built, ran.configured, ran.emulated, ran.gpu))
        rows.append(f"| `{name}` | {' | '.join(cells)} |")
    return "\n".join(rows) + "\n"


def architecture() -> str:
    """The layers of stackbuild as a picture, the highest first: a row a level, a box a package; light and dark."""
    levels = sorted({layer.level for layer in layout.LEVELS.values()}, reverse=True)
    width, row, gap = 900, 46, 8
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {row * len(levels) + 30}" role="img"',
        ' aria-label="Layers of stackbuild: each imports lower ones alone" font-family="sans-serif" font-size="13">',
        "<style>text { fill: #1c2024 } rect { fill: #e8eef5; stroke: #5b7a9d } .pure { fill: #e4f3e9; stroke: #4c8a63 }",
        "@media (prefers-color-scheme: dark) { text { fill: #e6e9ec } rect { fill: #22303f } .pure { fill: #1f3527 } }</style>",
    ]
    for number, level in enumerate(levels):
        names_of_level = [(name, layer) for name, layer in layout.LEVELS.items() if layer.level == level]
        parts.append(f'<text x="4" y="{number * row + 26}">{level}</text>')
        each = (width - 40) / len(names_of_level)
        for place, (name, layer) in enumerate(names_of_level):
            x, y, wide = 34 + place * each, number * row + 4, each - gap
            kind = ' class="pure"' if layer.pure else ""
            parts.append(f'<rect{kind} x="{x:.0f}" y="{y}" width="{wide:.0f}" height="{row - gap}" rx="4"/>')
            parts.append(f'<text x="{x + wide / 2:.0f}" y="{y + 24}" text-anchor="middle">{name}</text>')
    foot = row * len(levels) + 20
    parts.append(f'<text x="34" y="{foot}">Green: pure, without processes, connections and files. Each box imports lower rows alone.</text></svg>')
    return "\n".join(parts) + "\n"


def man_pages() -> dict[str, str]:
    """A man page for stackbuild and one for each of its commands, from their help: file name to text."""
    load_commands()
    pages = {f"stackbuild-{name.removeprefix('stackbuild ').replace(' ', '-')}": (name, text) for name, text in commands()}
    texts = {f"{page}.1": _man(page, name, text) for page, (name, text) in pages.items()}
    names = "\n".join(f".BR {page.replace('-', chr(92) + '-')} (1)" for page in pages)
    summary = "Build, verify, benchmark and publish ROCm ONNX Runtime stacks from one recipe."
    whole = f'.TH STACKBUILD 1\n.SH NAME\nstackbuild \\- {summary}\n.SH SEE ALSO\n{names}\n'
    return {"stackbuild.1": whole, **texts}


def _man(page: str, name: str, text: str) -> str:
    """One page: the help as it is printed, with what troff reads as its own escaped."""
    lines = [line.rstrip().replace("\\", "\\e").replace("-", "\\-") for line in text.strip().splitlines()]
    body = "\n".join("\\&" + line if line.startswith((".", "'")) else line for line in lines)
    first = next((line.strip() for line in lines[1:] if line.strip()), "")
    return f'.TH {page.upper()} 1\n.SH NAME\n{name.replace(" ", chr(92) + "-")} \\- {first}\n.SH DESCRIPTION\n.nf\n{body}\n.fi\n'


def with_section(path: Path, section: str) -> str:
    """The text of a page with its made section replaced. Raises ValueError where the page has none."""
    text, count = re.subn(r"(?s)(?<=<!-- made by ci/docs -->\n).*?(?=<!-- end -->)", lambda _: section, path.read_text("utf-8"))
    if count != 1:
        raise ValueError(f"{path} has {count} sections that ci/docs makes, not one")
    return text


GPUS_OF_THE_PAGE = ("RX 7900 XTX", "MI300X", "Strix Halo")
"""The GPUs that docs/get-a-wheel.md has a section of."""


def wheel_table() -> str:
    """The newest wheels that `stackbuild start` lists for each GPU of the page."""
    rows = ["| GPU | wheel | ROCm | the GPU with it | how to get it |", "|---|---|---|---|---|"]
    for gpu in GPUS_OF_THE_PAGE:
        for wheel in start(gpu, (), table()).wheels[:SHOWN_WHEELS]:
            name = wheel.distribution or "ONNX Runtime with a plugin provider,"
            claim = "on AMD's list" if wheel.claim == "supported" else "not on AMD's list"
            how = f"`{wheel.install}`" if wheel.install else f"[addresses and commands]({wheel.page})"
            rows.append(f"| {gpu} | {name} {wheel.version}, by {wheel.publisher} | {wheel.rocm} | {claim} | {how} |")
    return "\n".join(rows) + "\n"


def pages() -> dict[Path, str]:
    """Every page that is made from the code, whole or in part, to its text."""
    return {
        DOCS / "recipes.md": recipe_reference(),
        DOCS / "cli.md": cli_reference(),
        DOCS / "rules.md": text_of_all(catalogue()),
        DOCS / "design.md": with_section(DOCS / "design.md", layout.table()),
        DOCS / "architecture.svg": architecture(),
        DOCS / "get-a-wheel.md": with_section(DOCS / "get-a-wheel.md", wheel_table()),
        DOCS / "security.md": with_section(DOCS / "security.md", seccomp.table()),
        DOCS.parent / "README.md": with_section(DOCS.parent / "README.md", evidence_table()),
        DOCS.parent / "CONTRIBUTING.md": with_section(DOCS.parent / "CONTRIBUTING.md", layout.order()),
    }


def main() -> int:
    if "--man" in sys.argv:
        folder = Path(sys.argv[sys.argv.index("--man") + 1])
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in man_pages().items():
            (folder / name).write_text(text, "utf-8")
        return 0
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
