"""The command lines and outputs of the documentation, and the folder that they run in.

A block of code with a line that begins with a program (SHELL) is a script. A comment above a block says what a test must know of it:

- `<!-- not run: WHY -->`: the block is not run. WHY names what it needs: a network, root, a GPU, hours, another program.
- `<!-- line 2 not run: WHY -->`: that line of the block is not run; `lines 2, 3 not run: WHY` for several.
- `<!-- exit 7 or 0 -->`: the exit codes that each line may have; 0 where no comment names one.
- `<!-- changes of: RECIPE -->`: the block is a part of a recipe that changes keys of a bundled one.
- `<!-- output of: COMMAND -->`: the block is what COMMAND prints. `…` stands for anything; digests and times may differ.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from stackbuild.bench import results_file
from stackbuild.bench.nets.graph import Graph
from stackbuild.core import digest
from stackbuild.publishing.index import publish
from stackbuild.publishing.publication import Publication
from stackbuild.recipe.load import load
from support.benchmark_results import measured
from support.paths import ROOT
from support.wheels import new_key, small_wheel

COMMENT = re.compile(r"^<!-- (.*?) -->$")
SHELL = re.compile(
    r"^(?:\S+=\S+ )*(?:nice (?:-n \d+ )?)?(?:stackbuild|openssl|ssh-keygen|python3?|pip|make|git|cmake|ldd|apt-get|docker|"
    r"mmdebstrap|lc0|cd|export|for|(?:\.venv/bin|ci|kernels)/\S+)\s|\| stackbuild "
)
CUDA = """\
#include <cuda_runtime.h>
__global__ void twice(float* x, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) x[i] *= 2; }
void run(float* x, int n) { twice<<<(n + 255) / 256, 256>>>(x, n); cudaDeviceSynchronize(); }
"""
RULES = """\
schema: 1
name: mine
rules:
  - {id: mine-stream, pattern: 'Cuda(\\w*)', to: 'Rocm\\1', why: both backends are linked into one program, optional: true}
"""
PLACEHOLDERS = {
    "WHEEL": "wheels/onnxruntime_rocm-1.22.1-py3-none-any.whl",
    "RECIPE": "debian-13",
    "STEP": "kernels",
    "CARD": "RX 7900 XTX",
}
"""Words that a page leaves to its reader, and what the test puts there."""


@dataclass(frozen=True)
class CodeBlock:
    """A block of a page: its first line's number, its lines, and the comments above it."""

    page: str
    line: int
    lines: tuple[str, ...]
    notes: tuple[str, ...]

    def commands(self) -> dict[int, str]:
        """The commands that are to be run, without the comments at their ends, by the numbers of their first lines."""
        if self.output_of or any(note.startswith("not run: ") for note in self.notes):
            return {}
        if not any(SHELL.search(line) for line in self.lines):
            return {}
        numbers = re.compile(r"^lines? ([\d, ]+) not run: ")
        excluded = {int(n) for note in self.notes if (found := numbers.match(note)) for n in found[1].split(",")}
        return {n: text for n, text in self._statements().items() if n not in excluded and text}

    def _statements(self) -> dict[int, str]:
        """Each line, with those after it that are indented or end a loop."""
        found: dict[int, str] = {}
        for number, line in enumerate(self.lines, 1):
            text = re.sub(r"(^|\s+)# .*$", "", line)
            if found and (line.startswith(" ") or line == "done"):
                found[max(found)] += f"\n{text}"
            else:
                found[number] = text
        return found

    @property
    def exit_codes(self) -> frozenset[int]:
        notes = [note for note in self.notes if note.startswith("exit ")]
        return frozenset(int(n) for note in notes for n in re.findall(r"\d+", note)) or frozenset({0})

    @property
    def output_of(self) -> str:
        """The command whose output the block is; "" for none."""
        return next((note.removeprefix("output of: ") for note in self.notes if note.startswith("output of: ")), "")

    @property
    def changes_of(self) -> str:
        """The bundled recipe that the block changes; "" for none."""
        return next((note.removeprefix("changes of: ") for note in self.notes if note.startswith("changes of: ")), "")


def code_blocks(page: Path) -> Iterator[CodeBlock]:
    """The indented and the fenced blocks of a page, in their order. A fence's block has the fence's place."""
    lines = [*page.read_text("utf-8").split("\n"), "end"]
    block: list[str] = []
    notes: list[str] = []
    fence = False
    for number, line in enumerate(lines, 1):
        if line.startswith("```"):
            fence = not fence
        if fence or (line.startswith("    ") and (block or not lines[number - 2].strip())):
            if not line.startswith("```"):
                block.append(line if fence else line[4:])
        elif line.strip() and block:
            text = "\n".join(block).rstrip("\n").split("\n")
            yield CodeBlock(str(page.relative_to(ROOT)), number - len(block), tuple(text), tuple(notes))
            block, notes = [], []
        elif block:
            block.append("")
        if comment := COMMENT.match(line):
            notes.append(comment[1])
        elif line.strip() and not fence and not line.startswith(("    ", "```")):
            notes = []


def script(block: CodeBlock) -> str:
    """The block's lines for bash; the exit code of each goes to descriptor 3 as `NUMBER CODE`.

    A server's folders below /srv are folders of the test: only root may write there, and nobody's are to be changed.
    """
    words = re.compile(rf"\b(?<!-)({'|'.join(PLACEHOLDERS)})\b(?!=)")
    lines = {
        n: words.sub(lambda m: PLACEHOLDERS[m[1]], line).replace(".venv/bin/", "").replace("/srv/", "$PWD/srv/")
        for n, line in block.commands().items()
    }
    return "".join(f"{line}\necho {n} $? >&3\n" for n, line in lines.items())


def make_examples(folder: Path) -> None:
    """The files that the pages' examples name: an index, wheels, keys, results, recipes, CUDA sources, a model."""
    for name in ("release", "second", "build"):
        _make_key(folder, name)
    for name in ("onnxruntime-rocm", "stackbuild-kernels"):
        wheel = small_wheel(folder / "wheels", "1.22.1", name=name)
        publish((wheel,), folder / "dist/simple", Publication())
    small_wheel(folder, "1.22.1", name="any-wheel").rename(folder / "ANY_WHEEL.whl")
    for name, scale in (("v1.json", 1.0), ("v2.json", 1.1), ("bench-models.json", 1.0)):
        results_file.write(measured(scale), folder / name)
    for name in ("src/cuda/a.cu", "src/b.cu", "project/c.cu", "kernel.cu"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(CUDA)
    _make_model(folder / "model.onnx")
    (folder / "build.ninja").write_text("")
    (folder / "srv/www").mkdir(parents=True)
    (folder / ".venv").symlink_to(sys.prefix)
    (folder / "lc0-own.yaml").write_text(RULES)
    public = (folder / "release.key.pub").read_text()
    (folder / "allowed_signers").write_text(f'release@example.org namespaces="stackbuild" {public}')
    stackbuild = small_wheel(folder / "tools", "0.1.0", name="stackbuild")
    (folder / "tools/stackbuild.txt").write_text(f"./tools/{stackbuild.name}[bench] --hash=sha256:{digest.of_file(stackbuild)}\n")
    for name in ("ci", "tests", "kernels", "recipes"):
        (folder / name).symlink_to(ROOT / name)
    (folder / "my.yaml").write_text(load("debian-13").text)
    (folder / "my.lock.yaml").write_text((ROOT / "recipes/debian-13.lock.yaml").read_text())
    recipe = (ROOT / "tests/seeded-recipes/kernels.yaml").read_text()
    (folder / "mine.yaml").write_text(recipe.replace("gfx942, gfx1100]", "gfx942, gfx11OO]"))


def _make_model(path: Path) -> None:
    """Relu of an image of any size."""
    graph = Graph("page")
    pixels = graph.input("input", ("batch", 3, 224, 224))
    graph.output("output", graph.op("Relu", pixels), ("batch", 3, 224, 224))
    graph.save(path)


def _make_key(folder: Path, name: str) -> None:
    """`NAME.key` with its public half as `NAME.key.pub`."""
    _, public = new_key(folder, f"{name}.key")
    public.rename(folder / f"{name}.key.pub")


def pattern(lines: tuple[str, ...]) -> re.Pattern[str]:
    """What the lines of an output block match: digests, sizes and times may differ, `…` is anything."""
    text = re.escape("\n".join(line.rstrip() for line in lines)).replace("…", ".*?")
    text = re.sub(r"[0-9a-f]{12,}", r"[0-9a-f]{12,}", text)
    text = re.sub(r"\d+(\\\.\d+)?\\ (s|ms|min|h|GB|MB|KiB|MiB|GiB)\b", r"[\\d.,]+\\ \2", text)
    return re.compile(text, re.DOTALL)
