"""The layers of stackbuild: which package may import which, and the check of it.

`LEVELS` is the architecture. A module imports its own package and packages of a lower level, never one of the same or
of a higher level. Imports inside functions count; imports for type checking alone do not. There is no list of
exceptions. The same rule holds between the parts of `stackbuild.hipify`, of `stackbuild.inspection` and of
`kernels`. `python ci/layout.py` prints every violation and exits 1 if there is one;
`tests/unit/test_architecture.py` calls the same functions; `ci/docs` writes the tables of docs/design.md and
CONTRIBUTING.md from `LEVELS`.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
PROCESS_MODULES = frozenset(("subprocess", "socket", "urllib.request", "http.client", "shutil", "tempfile"))
"""What a pure package does not import: processes, connections, copies and temporary files."""


@dataclass(frozen=True)
class Layer:
    """A package or module of a tree: its level, what it is for, and whether it may touch the world outside."""

    level: int
    summary: str
    pure: bool = False


@dataclass(frozen=True)
class Tree:
    """A folder of Python modules and the layers of its parts: packages and modules below it.

    `name` is the dotted name that imports of its modules start with, "" for a folder on `sys.path`. A key of `layers` may
    be dotted: the longest one that a module lies below is its part. `separate` are folders of scripts that run in an
    environment of their own: they import nothing of the tree.
    """

    folder: Path
    name: str
    layers: dict[str, Layer]
    separate: frozenset[str] = frozenset()

    @cached_property
    def modules(self) -> dict[str, Path]:
        """Dotted name to file, of every module."""
        return {self._dotted(path): path for path in sorted(self.folder.rglob("*.py"))}

    @cached_property
    def imports(self) -> dict[str, frozenset[tuple[str, str]]]:
        """Module to what it imports: a module's full dotted name, and the name taken from it ("" for itself)."""
        return {name: frozenset(_imports(name, path)) for name, path in self.modules.items()}

    def own(self, module: str) -> frozenset[str]:
        """The modules of this tree that one imports: a package where a name is taken from its own `__init__`."""
        found = {self._module_of(source, name) for source, name in self.imports[module]}
        return frozenset(found & self.modules.keys()) - {module}

    def part(self, module: str) -> str:
        """The part that a module is in; `__init__` for the tree's own."""
        inside = module.removeprefix(self.name).removeprefix(".")
        known = [key for key in self.layers if f"{inside}.".startswith(f"{key}.")]
        return max(known, key=len) if known else inside.split(".")[0] or "__init__"

    def level(self, part: str) -> int | None:
        """The level of a part, None where it has none. `__init__` is above all others: no part imports it."""
        top = max(layer.level for layer in self.layers.values()) + 1
        return top if part == "__init__" else layer.level if (layer := self.layers.get(part)) else None

    def is_separate(self, module: str) -> bool:
        return self.modules[module].relative_to(self.folder).parent.as_posix() in self.separate

    def _module_of(self, source: str, name: str) -> str:
        return full if name and (full := f"{source}.{name}") in self.modules else source

    def _dotted(self, path: Path) -> str:
        parts = path.relative_to(self.folder).with_suffix("").parts
        return ".".join(filter(None, (self.name, *(parts[:-1] if parts[-1] == "__init__" else parts))))


def _imports(module: str, path: Path) -> Iterator[tuple[str, str]]:
    """Every module and name that a file imports, wherever in it, but for type checking alone.

    `import_module("a.b")` and `__import__("a.b")` count too. A name that is computed at run time cannot be seen here.
    """
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    nodes: list[ast.AST] = [ast.parse(path.read_text("utf-8"))]
    while nodes:
        node = nodes.pop()
        if isinstance(node, ast.If) and ast.unparse(node.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING"):
            nodes += node.orelse
            continue
        nodes += ast.iter_child_nodes(node)
        if isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            source = ".".join((*above, *([node.module] if node.module else [])))
            yield from ((source, alias.name) for alias in node.names)
        elif isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] in ("import_module", "__import__"):
            yield from ((str(name.value), "") for name in node.args[:1] if isinstance(name, ast.Constant))


def violations(tree: Tree) -> Iterator[str]:
    """Everything in which a tree differs from its layers, a line each."""
    parts = {tree.part(module) for module in tree.modules}
    for part in sorted(parts):
        if tree.level(part) is None:
            yield f"{tree.name}.{part} has no level"
    for part in sorted(tree.layers.keys() - parts):
        yield f"{tree.name}.{part} has a level and does not exist"
    for module in tree.modules:
        yield from _alone(tree, module) if tree.is_separate(module) else _upward(tree, module)
        layer = tree.layers.get(tree.part(module))
        names = {name for source, name in tree.imports[module] for name in (source, f"{source}.{name}")}
        if layer and layer.pure and (touched := names & PROCESS_MODULES):
            yield f"{module} is in a pure package and imports {', '.join(sorted(touched))}"
    try:
        TopologicalSorter({module: tree.own(module) for module in tree.modules}).prepare()
    except CycleError as error:
        yield "cycle: " + " → ".join(reversed(error.args[1]))


def _alone(tree: Tree, module: str) -> Iterator[str]:
    for other in sorted({source for source, _ in tree.imports[module]}):
        if tree.name and f"{other}.".startswith(f"{tree.name}."):
            yield f"{module} runs in an environment of its own and imports {other}"


def _upward(tree: Tree, module: str) -> Iterator[str]:
    here = tree.level(tree.part(module))
    for other in sorted(tree.own(module)):
        there = tree.level(tree.part(other))
        if here and there and tree.part(other) != tree.part(module) and there >= here:
            yield f"{module} (level {here}) imports {other} (level {there})"


LEVELS: dict[str, Layer] = {
    "version": Layer(1, "the version, alone: `stackbuild --version` loads nothing else"),
    "core": Layer(1, "no domain: errors, digests, YAML, the base of values, templates, versions, cancellation"),
    "tables": Layer(2, "facts about ROCm, GPUs and providers, each row with its source", pure=True),
    "store": Layer(2, "content-addressed outputs, their records and locks"),
    "model": Layer(3, "the nouns: frozen values that stages hand on", pure=True),
    "runners": Layer(3, "the interface that commands run through: sandbox, docker, fake"),
    "recipe": Layer(4, "text → Recipe: reading, validation, the matrix, wheel requirements", pure=True),
    "inspection": Layer(4, "file → Facts → Findings"),
    "publishing": Layer(4, "wheels → index: pages, what travels with a wheel, signatures, verify-release"),
    "judgement": Layer(4, "Benchmarks × gates → Verdict", pure=True),
    "sources": Layer(
        4, "what comes from outside: git, HTTP, archives, mirrors, bundles, images, patches, local folders"
    ),
    "machine": Layer(4, "this machine: host, GPUs, doctor, environment variables"),
    "remote": Layer(5, "a store beyond this machine: signed records and packs on a registry or a web server"),
    "bench": Layer(5, "Benchmarks: suites, experiment, worker, history"),
    "hipify": Layer(5, "CUDA → HIP: conversion, report and lint"),
    "emulator": Layer(5, "gfx code objects on the CPU: decoder, interpreter, translator to C, executor"),
    "plan": Layer(6, "Recipe × Inputs → Plan: resolve, steps, status, explain", pure=True),
    "actions": Layer(6, "steps that the host performs itself, one module an action"),
    "verification": Layer(7, "wheel → Verification: rungs and probes"),
    "lock": Layer(7, "Recipe → Lock: ask, write, read"),
    "checks": Layer(8, "`recipe check`, `recipe new`, and what is refused before a build"),
    "build": Layer(9, "Plan → Built: schedule, perform, dry run, shell, fetch, run logs"),
    "pipeline": Layer(10, "build → verify → bench → judge → publish; the index; the record of a run; CI files"),
    "views": Layer(11, "every value drawn: terminal, HTML, Markdown, JUnit, SARIF"),
    "cli": Layer(12, "typer: one module a topic"),
    "__main__": Layer(13, "the entry point: exit codes, and a message for every error"),
}
"""Package of `stackbuild`, or one of its two loose modules, to its layer."""

STACKBUILD = Tree(
    REPOSITORY / "stackbuild",
    "stackbuild",
    LEVELS,
    separate=frozenset(("verification/probes",)),
)
KERNEL_LEVELS: dict[str, Layer] = {
    "case": Layer(1, "one correctness case: inputs, attributes, the float64 answer, what is a mismatch"),
    "selection": Layer(1, "the operators' names, and parts of their cases"),
    "processes": Layer(1, "child processes, signals and the time limit of a script"),
    "device": Layer(1, "the HIP library through ctypes"),
    "report": Layer(1, "the timing table"),
    "provider": Layer(1, "the commands of the provider's checks"),
    "resources": Layer(1, "registers and spills of built libraries against kernels/budgets.toml"),
    "cases": Layer(2, "all operators' cases, and ONNX models of them"),
    "params": Layer(2, "a case as the launcher's parameters"),
    "sanitizer": Layer(2, "compute-sanitizer: commands, and what its output means"),
    "timing": Layer(2, "times of contenders in one interleaved run"),
    "correctness": Layer(3, "every case on the device against float64"),
    "shapes": Layer(3, "the shapes that are timed"),
    "check": Layer(3, "every case through ONNX Runtime"),
    "sweep": Layer(4, "shapes of models and random ones, timed beside PyTorch"),
    "streams": Layer(4, "two streams at once against one alone"),
    "conv_ways": Layer(4, "every algorithm of a convolution, checked and timed"),
    "stage": Layer(5, "one stage of gpu-check, a process"),
    "gpu_check": Layer(6, "kernels/gpu-check"),
    "ep": Layer(6, "the provider's checks"),
}
"""Module of `kernels/tools` to its layer."""

KERNEL_EP_LEVELS: dict[str, Layer] = {
    "edge": Layer(1, "one edge case: a model, inputs, the ruling"),
    "registered": Layer(1, "the kernels that the provider registers, and ONNX's schemas"),
    "session": Layer(1, "sessions on the provider, and where their nodes ran"),
    "cases": Layer(1, "random cases of every operator against NumPy"),
    "models": Layer(1, "ResNet-50 and BERT-base"),
    "attention_edges": Layer(2, "edge cases of Attention"),
    "multi_head_edges": Layer(2, "edge cases of MultiHeadAttention"),
    "nans": Layer(2, "edge cases with NaN"),
    "rulings": Layer(2, "edge cases that ONNX's text decides"),
    "examples": Layer(2, "one small node of each operator"),
    "node_tests": Layer(2, "ONNX's backend node tests"),
    "graphs": Layer(2, "small graphs for fusion and layout"),
    "bench": Layer(2, "times of models beside PyTorch"),
    "steps": Layer(2, "the number of steps that a model takes"),
    "edges": Layer(3, "all edge cases against the CPU provider"),
    "element_types": Layer(3, "every combination of element types"),
    "linears": Layer(3, "linear layers as exporters write them"),
    "devices": Layer(3, "several devices against the first"),
    "gpu_check": Layer(4, "kernels/ep/gpu-check"),
}
"""Module of `kernels/tools/ep` to its layer."""

KERNELS_LEVELS: dict[str, Layer] = {
    "tools.case": Layer(1, "one correctness case, which the operators' cases are made of"),
    "attention": Layer(2, "an operator: its reference and its cases"),
    "batch_norm": Layer(2, "an operator: its reference and its cases"),
    "conv": Layer(2, "an operator: its reference and its cases"),
    "group_norm": Layer(2, "an operator: its reference and its cases"),
    "leaky_relu": Layer(2, "an operator: its reference and its cases"),
    "package": Layer(2, "the Python package around the custom-op library"),
    "ep": Layer(2, "the Python package around the provider"),
    "tools": Layer(3, "checks and measurements"),
}
"""Part of `kernels`, a folder on `sys.path`, to its layer."""

KERNELS = Tree(REPOSITORY / "kernels", "", KERNELS_LEVELS)
KERNEL_TOOLS = Tree(REPOSITORY / "kernels" / "tools", "tools", KERNEL_LEVELS)
KERNEL_EP_TOOLS = Tree(REPOSITORY / "kernels" / "tools" / "ep", "tools.ep", KERNEL_EP_LEVELS)
HIPIFY_LEVELS: dict[str, Layer] = {
    "code": Layer(1, "the digest of the package's own source"),
    "tables": Layer(2, "HIPIFY's tables and what ROCm's headers declare: finding and reading them, and the libraries that they lack"),
    "cpp": Layer(1, "C++ text without a parser: code and comments, brackets, scopes, directives, edits"),
    "model": Layer(3, "the values of a conversion: target, converted text, reports"),
    "rules": Layer(4, "project rules: reading them, and the lookups of a run"),
    "passes": Layer(5, "one module a kind of edit: names, includes, calls, launches, masks"),
    "lint": Layer(6, "what no mapping can fix"),
    "convert": Layer(7, "CUDA text → HIP text, a pure function"),
    "engines": Layer(8, "fast, hipify-perl and hipify-clang behind one interface"),
    "tree": Layer(9, "whole source trees: which files, what changed, what is written"),
    "patch_causes": Layer(9, "which rule changed the lines that a patch expects"),
    "perl": Layer(10, "every difference from hipify-perl, explained"),
    "stage": Layer(10, "the recipe's `hipify:` stage"),
}
LINT_LEVELS: dict[str, Layer] = {
    "catalogue": Layer(1, "the rules of lint: severity, text, advice"),
    "cpp": Layer(1, "functions, types, scopes and loops of C++ text, and the values of expressions"),
    "ladders": Layer(2, "shuffle ladders: loops, recursion, unrolled code"),
    **{
        name: Layer(3, "checks of one topic")
        for name in (
            "ballots", "devices", "hip_forms", "lanes", "libraries", "ptx", "strings", "version_guards", "warp_sizes",
        )
    },
    "votes": Layer(4, "checks that build on those of ballots and lanes"),
}  # fmt: skip
INSPECTION_LEVELS: dict[str, Layer] = {
    "facts": Layer(1, "what is known of a file: frozen values", pure=True),
    "limits": Layer(1, "bounds on what is read", pure=True),
    "expectations": Layer(1, "what a recipe expects of a wheel", pure=True),
    "document": Layer(2, "facts as JSON", pure=True),
    "summary": Layer(2, "device code by target", pure=True),
    "readers": Layer(2, "bytes → facts: one module a format"),
    "recognise": Layer(3, "one file: recognised, and read by the reader of its kind"),
    "rules": Layer(3, "facts → findings", pure=True),
    "read": Layer(4, "wheels, folders, single files and logs"),
    "diff": Layer(4, "two releases compared", pure=True),
}
READER_LEVELS: dict[str, Layer] = {
    "byte_parser": Layer(1, "parsers that ask for the bytes they want"),
    **{name: Layer(1, "tables and names, no bytes") for name in ("install_paths", "policy", "providers")},
    "budget": Layer(2, "what reading one file may cost"),
    **{name: Layer(2, "formats in memory") for name in ("ccob", "descriptors", "messagepack", "wheel")},
    "source": Layer(3, "a file's bytes: on disk, in an archive, inflated"),
    **{name: Layer(3, "formats with a budget") for name in ("codeobject", "imports", "tensile")},
    **{name: Layer(4, "formats in a source") for name in ("bundle", "loader", "log", "text_scan", "zip_directory")},
    **{name: Layer(5, "whole files") for name in ("archive", "elf", "single_pass")},
}
HIPIFY = Tree(REPOSITORY / "stackbuild/hipify", "stackbuild.hipify", HIPIFY_LEVELS)
LINT = Tree(REPOSITORY / "stackbuild/hipify/lint", "stackbuild.hipify.lint", LINT_LEVELS)
INSPECTION = Tree(REPOSITORY / "stackbuild/inspection", "stackbuild.inspection", INSPECTION_LEVELS)
READERS = Tree(REPOSITORY / "stackbuild/inspection/readers", "stackbuild.inspection.readers", READER_LEVELS)
TREES = (STACKBUILD, HIPIFY, LINT, INSPECTION, READERS, KERNELS, KERNEL_TOOLS, KERNEL_EP_TOOLS)


def table() -> str:
    """The layers of `stackbuild` as a Markdown table, the highest first; packages of one level share a row."""
    rows = ["| level | package | what it is for |", "|---|---|---|"]
    for level in sorted({layer.level for layer in LEVELS.values()}, reverse=True):
        names = [name for name, layer in LEVELS.items() if layer.level == level]
        summaries = "; ".join(
            f"`{name}`: {LEVELS[name].summary}" if len(names) > 1 else LEVELS[name].summary for name in names
        )
        rows.append(f"| {level} | {', '.join(f'`{name}`' for name in names)} | {summaries} |")
    return "\n".join(rows) + "\n"


def order() -> str:
    """The layers of `stackbuild` in one line, the highest first."""
    levels = sorted({layer.level for layer in LEVELS.values()}, reverse=True)
    return (
        " → ".join(", ".join(f"`{name}`" for name, layer in LEVELS.items() if layer.level == level) for level in levels)
        + "\n"
    )


def main() -> int:
    found = [line for tree in TREES for line in violations(tree)]
    modules = {path for tree in TREES for path in tree.modules.values()}
    print("\n".join(found) or f"{len(modules)} modules in {len(TREES)} trees, no violation")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
