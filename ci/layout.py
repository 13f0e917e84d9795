"""The layers of stackbuild: which package may import which, and the check of it.

`LEVELS` is the architecture. A module imports its own package and packages of a lower level, never one of the same or
of a higher level. Imports inside functions count, and imports under `typing.TYPE_CHECKING`. There is no list of
exceptions. The same rule holds between the parts of `kernels` and of `ci`, and in every package that has packages in it:
each is a tree of its own. A name that is only known at run time is imported in the modules that `Tree.loaders` names.
`python ci/layout.py` prints every violation and exits 1 if there is one;
`tests/unit/test_architecture.py` calls the same functions; `ci/docs` writes the tables of docs/design.md and
CONTRIBUTING.md from `LEVELS`.
"""

from __future__ import annotations

import ast
import os
import shlex
import sys
import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
PROCESSES = frozenset(
    (
        *("subprocess", "socket", "urllib.request", "http.client", "shutil", "tempfile"),
        *("ssl", "socketserver", "http.server", "ftplib", "smtplib", "multiprocessing", "asyncio", "pty", "concurrent.futures.ProcessPoolExecutor", "concurrent.futures.process"),
        *(
            f"os.{name}"
            for name in dir(os)
            if name.startswith(("exec", "fork", "popen", "posix_spawn", "spawn", "system"))
        ),
    )
)
"""What a pure package does not use: processes, connections, copies and temporary files."""
IMPORTERS = {
    "importlib.import_module": "name",
    "importlib.__import__": "name",
    "builtins.__import__": "name",
    "runpy.run_module": "mod_name",
    "pkgutil.resolve_name": "name",
    "importlib.util.find_spec": "name",
    "importlib.util.module_from_spec": "",
    "importlib.metadata.entry_points": "",
    "importlib.metadata.EntryPoint": "",
    "runpy.run_path": "",
    "importlib.util.spec_from_file_location": "",
    "importlib.machinery.SourceFileLoader": "",
    "builtins.exec": "",
    "builtins.eval": "",
    "pydoc.locate": "",
    "pydoc.safeimport": "",
    "pydoc.importfile": "",
}
"""Functions that import by a value, and the argument with a module's name: the first one; "" where none is a name."""


SHELLS = frozenset(("os.system", "os.popen", "subprocess.getoutput", "subprocess.getstatusoutput"))
"""Functions whose argument is a command for a shell."""


@dataclass(frozen=True)
class Layer:
    """A package or module of a tree: its level and what it is for. A `pure` one starts no process, opens no connection
    and makes no temporary file, and nothing of the tree that it reaches does; it may read and write files that it is given."""

    level: int
    summary: str
    pure: bool = False
    uses: frozenset[str] = frozenset()
    """Modules and packages of other trees that it imports."""


@dataclass(frozen=True)
class Tree:
    """A folder of Python modules and the layers of its parts: packages and modules below it.

    `name` is the dotted name that imports of its modules start with, "" for a folder on `sys.path`. A key of `layers` may
    be dotted: the longest one that a module lies below is its part. `separate` are scripts, and folders of scripts, that
    run in an environment of their own: they import nothing of the tree but each other, by bare names. `loaders` are the
    modules that import by a name known only at run time. `readers` are modules of pure packages that read this machine
    through packages which are not pure. The `__init__` of a `lazy` tree imports nothing of it until a
    name is used.
    """

    folder: Path
    name: str
    layers: dict[str, Layer]
    separate: frozenset[str] = frozenset()
    loaders: frozenset[str] = frozenset()
    readers: frozenset[str] = frozenset()
    lazy: bool = False

    @cached_property
    def modules(self) -> dict[str, Path]:
        """Dotted name to file, of every module."""
        return {self.module_name(path): path for path in sorted(self.folder.rglob("*.py"))}

    @cached_property
    def stubs(self) -> dict[str, Path]:
        """Dotted name to file, of every module's stub for type checkers."""
        return {self.module_name(path): path for path in sorted(self.folder.rglob("*.pyi"))}

    @cached_property
    def scans(self) -> dict[str, Scan]:
        return {name: Scan(name, path) for name, path in self.modules.items()}

    @cached_property
    def roots(self) -> frozenset[str]:
        """The first words that imports of its modules start with."""
        return frozenset([self.name] if self.name else {module.split(".")[0] for module in self.modules})

    @cached_property
    def scripts(self) -> frozenset[str]:
        """The bare names of the separate scripts, as they import each other."""
        return frozenset(name.rpartition(".")[2] for name in self.modules if self.is_separate(name))

    @cached_property
    def imports(self) -> dict[str, frozenset[tuple[str, str]]]:
        """Module to what it imports: a module's full dotted name, and the name taken from it ("" for itself)."""
        return {name: frozenset(scan.imports) for name, scan in self.scans.items()}

    @cached_property
    def references(self) -> dict[str, frozenset[tuple[str, str]]]:
        """As `imports`, with the modules that a module looks for or runs by name."""
        return {name: frozenset(scan.imports | scan.named_modules) for name, scan in self.scans.items()}

    def own(self, module: str) -> frozenset[str]:
        """The modules of this tree that one imports or reaches as an attribute of what it imported: a package where a name
        is taken from its own `__init__`."""
        modules = {self._module_of(source, name) for source, name in self.references[module]}
        inside = sorted(name for name in self.scans[module].uses if f"{name}.".startswith(f"{self.name}."))
        whole = (name for name, after in zip(inside, [*inside, ""][1:], strict=True) if not after.startswith(f"{name}."))
        modules |= {self.module_in(name) for name in whole}
        return frozenset(modules & self.modules.keys()) - {module}

    def packages(self, module: str) -> frozenset[str]:
        """The packages whose `__init__` one runs to take a module from them, but for the tree's own."""
        sources = {source for source, name in self.references[module] if self._module_of(source, name) != source}
        return frozenset(sources & self.modules.keys()) - {module, self.name}

    def part(self, module: str) -> str:
        """The part that a module is in; `__init__` for the tree's own."""
        inside = module.removeprefix(self.name).removeprefix(".")
        keys = [key for key in self.layers if f"{inside}.".startswith(f"{key}.")]
        return max(keys, key=len) if keys else inside.split(".")[0] or "__init__"

    def level(self, part: str) -> int | None:
        """The level of a part, None where it has none. `__init__` is above all others: no part imports it."""
        top = max(layer.level for layer in self.layers.values()) + 1
        return top if part == "__init__" else layer.level if (layer := self.layers.get(part)) else None

    def is_separate(self, module: str) -> bool:
        path = self.modules[module].relative_to(self.folder).with_suffix("").as_posix()
        return any(f"{path}/".startswith(f"{place}/") for place in self.separate)

    def _module_of(self, source: str, name: str) -> str:
        return full if name and (full := f"{source}.{name}") in self.modules else source

    def module_in(self, name: str) -> str:
        """The longest module that a dotted name begins with, "" for none."""
        while name and name not in self.modules:
            name = name.rpartition(".")[0]
        return name

    def module_name(self, path: Path) -> str:
        parts = path.relative_to(self.folder).with_suffix("").parts
        return ".".join(filter(None, (self.name, *(parts[:-1] if parts[-1] == "__init__" else parts))))


class Scan:
    """What one file imports and uses, wherever in it, but for type checking alone.

    `imports` are (module, name taken from it), `named_modules` the same of modules that it looks for (`find_spec`) or runs
    (`-m`), `eager` those that importing the file itself runs. `uses` are the dotted names of what it imported and reads,
    `computed_calls` the calls that import by a name which cannot be read here.
    """

    def __init__(self, module: str, path: Path) -> None:
        self.imports: set[tuple[str, str]] = set()
        self.named_modules: set[tuple[str, str]] = set()
        self.eager: set[tuple[str, str]] = set()
        self.uses: set[str] = set()
        self.computed_calls: set[str] = set()
        self._module = module
        self._package = module if path.stem == "__init__" else module.rpartition(".")[0]
        tree = ast.parse(path.read_text("utf-8"))
        self._bound: dict[str, set[str]] = {
            name: {f"builtins.{name}"} for name in ("__import__", "eval", "exec", "getattr")
        }
        self._stored_names: set[str] = set()
        for node in ast.walk(tree):
            self._bind(node)
        for node in ast.walk(tree):
            self._bind_alias(node)
        self._read(tree, eager=True)

    @cached_property
    def contacts(self) -> frozenset[str]:
        """What of `PROCESSES` it imports or uses."""
        names = {name for source, name in self.imports for name in (source, f"{source}.{name}")} | self.uses
        return frozenset(p for p in PROCESSES for name in names if f"{name}.".startswith(f"{p}."))

    def _bind(self, node: ast.AST) -> None:
        """Which dotted name each name of the file stands for."""
        if isinstance(node, ast.Import):
            for alias in node.names:
                name = alias.asname or alias.name.split(".")[0]
                self._bound.setdefault(name, set()).add(alias.name if alias.asname else name)
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                self._bound.setdefault(alias.asname or alias.name, set()).add(f"{self._source(node)}.{alias.name}")
        elif isinstance(node, ast.arg):
            self._stored_names.add(node.arg)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            self._stored_names.add(node.id)

    def _bind_alias(self, node: ast.AST) -> None:
        """A name that is assigned a module with functions that import, such as `load = importlib`, stands for it."""
        if isinstance(node, ast.Assign | ast.AnnAssign | ast.NamedExpr) and node.value is not None:
            modules = {name for name in self._names(node.value) if any(f.startswith(f"{name}.") for f in IMPORTERS)}
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                if modules and isinstance(target, ast.Name):
                    self._bound.setdefault(target.id, set()).update(modules)

    def _source(self, node: ast.ImportFrom) -> str:
        return self._absolute("." * node.level + (node.module or ""), self._package)

    @staticmethod
    def _absolute(name: str, package: str) -> str:
        """A module's full name; each leading dot but the first is a package further up."""
        level = len(name) - len(name.lstrip("."))
        above = package.split(".")[: len(package.split(".")) - level + 1] if level else []
        return ".".join(filter(None, (*above, name[level:])))

    def _names(self, node: ast.AST) -> set[str]:
        """The dotted names that an expression may stand for."""
        if isinstance(node, ast.Name):
            own = {f"builtins.{node.id}"}
            return self._bound.get(node.id, set()) - (own if node.id in self._stored_names else set())
        if isinstance(node, ast.Attribute):
            return {f"{base}.{node.attr}" for base in self._names(node.value)}
        if isinstance(node, ast.Call) and len(node.args) > 1 and "builtins.getattr" in self._names(node.func):
            name = self._literal(node.args[1])
            if name is not None:
                return {f"{base}.{name}" for base in self._names(node.args[0])}
            bases = tuple(f"{base}." for base in self._names(node.args[0]))
            return {function for function in IMPORTERS if function.startswith(bases)} if bases else set()
        return set()

    def _is_for_types(self, test: ast.expr) -> bool:
        """Whether that is `typing.TYPE_CHECKING`, and nothing that the file itself sets."""
        return self._names(test) == {"typing.TYPE_CHECKING"} and "TYPE_CHECKING" not in self._stored_names

    def _read(self, node: ast.AST, eager: bool) -> None:
        children: list[ast.AST] = list(ast.iter_child_nodes(node))
        imports: list[tuple[str, str]] = []
        if isinstance(node, ast.If) and self._is_for_types(node.test):
            for child in node.body:
                self._read(child, eager=False)
            children = list(node.orelse)
        elif isinstance(node, ast.Import):
            imports = [(alias.name, "") for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            imports = [(self._source(node), alias.name) for alias in node.names]
        elif isinstance(node, ast.Call) and (functions := self._names(node.func) & IMPORTERS.keys()):
            self.uses |= functions
            if functions == {"importlib.util.find_spec"}:
                self.named_modules.update(self._called_imports("importlib.util.find_spec", node))
            else:
                imports = [each for function in functions for each in self._called_imports(function, node)]
            children = [*node.args, *node.keywords]
        elif isinstance(node, ast.Name | ast.Attribute) or (isinstance(node, ast.Call) and self._names(node)):
            names = self._names(node)
            self.uses |= names
            if names & IMPORTERS.keys():
                self.computed_calls.add(ast.unparse(node))
        if isinstance(node, ast.List | ast.Tuple | ast.Call):
            words = node.args if isinstance(node, ast.Call) else node.elts
            if isinstance(node, ast.Call) and self._names(node.func) & SHELLS:
                words = [word for text in words for word in self._shell_words(text)]
            self.named_modules.update(each for before, word in pairwise(words) for each in self._module_run(before, word))
        self.imports.update(imports)
        self.eager.update(imports if eager else ())
        inside = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        for child in children:
            self._read(child, eager and not inside)

    def _shell_words(self, text: ast.expr) -> list[ast.expr]:
        """The words of a command that a shell takes, as far as a literal has them."""
        try:
            return [ast.Constant(word) for word in shlex.split(self._literal(text) or "")]
        except ValueError:
            return []

    def _module_run(self, option: ast.expr, word: ast.expr) -> list[tuple[str, str]]:
        """What the words `-m MODULE` and `-c CODE` of a command import: of a package that runs its `__main__`."""
        if isinstance(option, ast.Constant) and option.value == "-c":
            return list(_code_imports(self._literal(word) or ""))
        if not (isinstance(option, ast.Constant) and option.value == "-m"):
            return []
        name = self._literal(word)
        if name is None:
            self.computed_calls.add(f"-m {ast.unparse(word)}")
        return [(name, "__main__")] if name and name.replace(".", "").isidentifier() else []

    def _called_imports(self, function: str, call: ast.Call) -> list[tuple[str, str]]:
        """What a call imports, where its text says it."""
        keywords = {word.arg: word.value for word in call.keywords if word.arg}
        node = call.args[0] if call.args else keywords.get(IMPORTERS[function])
        name = self._literal(node) if IMPORTERS[function] and node else None
        package: str | None = self._package
        if name and function in ("importlib.import_module", "importlib.util.find_spec") and name.startswith("."):
            at = call.args[1] if len(call.args) > 1 else keywords.get("package")
            package = self._package if at and ast.unparse(at) == "__package__" else self._literal(at) if at else None
        level, names = 0, ("",)
        if function.endswith("__import__"):
            depth = call.args[4] if len(call.args) > 4 else keywords.get("level", ast.Constant(0))
            from_list = call.args[3] if len(call.args) > 3 else keywords.get("fromlist", ast.Tuple([], ast.Load()))
            try:
                level, names = ast.literal_eval(depth), tuple(ast.literal_eval(from_list)) or ("",)
            except ValueError:
                name = None
        if name is None or package is None:
            self.computed_calls.add(ast.unparse(call))
            return []
        if function == "pkgutil.resolve_name":
            source, _, attribute = name.partition(":")
            return [(source, attribute)]
        return [(self._absolute("." * level + name, package), each) for each in names]

    def _literal(self, node: ast.AST) -> str | None:
        """The text of a literal, or the package that an f-string names before its first value: what is imported lies there."""
        if isinstance(node, ast.Name) and node.id == "__name__":
            return self._module
        if isinstance(node, ast.Constant):
            return node.value if isinstance(node.value, str) else None
        if not isinstance(node, ast.JoinedStr):
            return None
        text = ""
        for part in node.values:
            if isinstance(part, ast.FormattedValue):
                if ast.unparse(part.value) != "__name__":
                    return text.rpartition(".")[0] or None
                text += self._module
            elif isinstance(part, ast.Constant):
                text += str(part.value)
        return text


def _code_imports(code: str) -> Iterator[tuple[str, str]]:
    """What a program of Python in a string imports; nothing where the text is a command of a shell."""
    try:
        nodes = list(ast.walk(ast.parse(code)))
    except (SyntaxError, ValueError):
        return
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from ((node.module, alias.name) for alias in node.names)


def violations(tree: Tree, roots: Iterable[Tree] = ()) -> Iterator[str]:
    """Everything in which a tree differs from its layers, a line each; `roots` are the trees with names of their own."""
    parts = {tree.part(module) for module in tree.modules}
    for part in sorted(parts):
        if tree.level(part) is None:
            yield f"{tree.name}.{part} has no level"
    for part in sorted(tree.layers.keys() - parts):
        yield f"{tree.name}.{part} has a level and does not exist"
    others = frozenset(name for root in roots for name in root.roots) - tree.roots if tree in roots else frozenset()
    for module, scan in tree.scans.items():
        yield from _alone(tree, module) if tree.is_separate(module) else _upward(tree, module)
        yield from _foreign(tree, module, others)
        layer = tree.layers.get(tree.part(module))
        if layer and layer.pure and scan.contacts:
            yield f"{module} is in a pure package and uses {', '.join(sorted(scan.contacts))}"
        if module not in tree.loaders:
            yield from (
                f"{module} imports a name that is known only at run time: {call}" for call in sorted(scan.computed_calls)
            )
    for module, path in tree.stubs.items():
        yield from _upward_stub(tree, module, Scan(module, path), others)
    yield from _impure_reach(tree)
    if tree.lazy:
        for source, name in sorted(tree.scans[tree.name].eager):
            if f"{source}.".startswith(f"{tree.name}."):
                yield f"{tree.name} imports {'.'.join(filter(None, (source, name)))} before it is used"
    try:
        TopologicalSorter({module: tree.own(module) | tree.packages(module) for module in tree.modules}).prepare()
    except CycleError as error:
        yield "cycle: " + " → ".join(reversed(error.args[1]))


def _alone(tree: Tree, module: str) -> Iterator[str]:
    for other in sorted({source for source, _ in tree.references[module]}):
        if tree.name and f"{other}.".startswith(f"{tree.name}."):
            yield f"{module} runs in an environment of its own and imports {other}"


def _foreign(tree: Tree, module: str, others: frozenset[str]) -> Iterator[str]:
    """What a module imports of other trees and of scripts that run elsewhere, and its layer does not name."""
    layer = tree.layers.get(tree.part(module))
    for source, name in sorted(tree.references[module]):
        full, first = ".".join(filter(None, (source, name))), source.split(".")[0]
        if first in tree.scripts - tree.roots and not tree.is_separate(module):
            yield f"{module} imports {full}, a script that runs in an environment of its own"
        elif first in others and not any(f"{full}.".startswith(f"{prefix}.") for prefix in (layer.uses if layer else ())):
            yield f"{module} imports {full} of another tree"


def _impure_reach(tree: Tree) -> Iterator[str]:
    """The modules of pure packages that reach one which starts processes, however far, and the shortest way there."""
    steps = {module: sorted(tree.own(module) | tree.packages(module)) for module in tree.modules}
    for module in tree.modules.keys() - tree.readers:
        layer = tree.layers.get(tree.part(module))
        before, todo = {module: ""}, [module] if layer and layer.pure else []
        for here in todo:  # it grows
            todo += (other for other in steps[here] if other not in before)
            before |= {other: here for other in steps[here] if other not in before}
        impure = next((here for here in todo[1:] if tree.scans[here].contacts), "")
        if impure:
            way = [impure]
            while way[-1] != module:
                way.append(before[way[-1]])
            yield f"{module} is in a pure package and reaches {', '.join(sorted(tree.scans[impure].contacts))}: {' → '.join(reversed(way))}"


def _upward(tree: Tree, module: str) -> Iterator[str]:
    here = tree.level(tree.part(module))
    for other in sorted(tree.own(module)):
        there = tree.level(tree.part(other))
        if here and there and tree.part(other) != tree.part(module) and there >= here:
            yield f"{module} (level {here}) imports {other} (level {there})"


def _upward_stub(tree: Tree, module: str, scan: Scan, others: frozenset[str]) -> Iterator[str]:
    """What a module's stub imports of the same or a higher level, or of another tree."""
    part = tree.part(module)
    here = tree.level(part)
    if here is None:
        yield f"{tree.name}.{part} has a stub and no level"
    for source, name in sorted(scan.imports):
        other = tree.module_in(".".join(filter(None, (source, name))))
        there = tree.level(tree.part(other)) if other else None
        if here and there and tree.part(other) != part and there >= here:
            yield f"the stub of {module} (level {here}) imports {other} (level {there})"
        if source.split(".")[0] in others:
            yield f"the stub of {module} imports {source} of another tree"


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
    "emulator": Layer(5, "gfx code objects on the CPU: decoder, translator to C, executor"),
    "plan": Layer(6, "Recipe × Inputs → Plan: resolve, steps, status, explain", pure=True),
    "actions": Layer(6, "steps that the host performs itself, one module an action"),
    "verification": Layer(7, "wheel → Verification: rungs and probes", uses=frozenset(("tools.case", "tools.cases"))),
    "lock": Layer(6, "Recipe → Lock: ask, write, read"),
    "checks": Layer(8, "`recipe check`, `recipe new`, and what is refused before a build"),
    "build": Layer(9, "Plan → Built: schedule, perform, dry run, shell, fetch, run logs"),
    "pipeline": Layer(10, "build → verify → bench → judge → publish; the index; the record of a run; CI files"),
    "cluster": Layer(11, "steps on other machines: workers, a scheduler, and the client of `build --on`"),
    "views": Layer(11, "every value drawn: terminal, HTML, Markdown, JUnit, SARIF"),
    "cli": Layer(12, "typer: one module a topic"),
    "__main__": Layer(13, "the entry point: exit codes, and a message for every error"),
}
"""Package of `stackbuild`, or one of its two loose modules, to its layer."""

WORKER_SCRIPTS = frozenset(("worker", "placement_worker", "bound_outputs", "devices", "error_metrics"))
"""Modules of `stackbuild.bench` that run in a side's environment."""

STACKBUILD = Tree(
    REPOSITORY / "stackbuild",
    "stackbuild",
    LEVELS,
    separate=frozenset(
        (
            "verification/probes",
            *(f"bench/{name}" for name in WORKER_SCRIPTS),
        )
    ),
    loaders=frozenset(
        (
            "stackbuild.bench.worker",
            *(f"stackbuild.verification.probes.{name}" for name in ("importing", "plugin", "probe", "sessions")),
        )
    ),
    readers=frozenset(("stackbuild.plan.inputs", "stackbuild.plan.current")),
    lazy=True,
)
KERNEL_LEVELS: dict[str, Layer] = {
    "case": Layer(1, "one correctness case: inputs, attributes, the float64 answer, what is a mismatch"),
    "selection": Layer(1, "the operators' names, and parts of their cases"),
    "processes": Layer(1, "child processes, signals and the time limit of a script"),
    "device": Layer(1, "the HIP library through ctypes"),
    "report": Layer(1, "the timing table"),
    "provider": Layer(1, "the commands of the provider's checks"),
    "resources": Layer(1, "registers and spills of built libraries against kernels/budgets.toml"),
    "emulated_table": Layer(1, "which limit of which GPU binds each kernel, as a table"),
    "cases": Layer(2, "all operators' cases, and ONNX models of them"),
    "bench_cases": Layer(3, "the cases of a benchmark suite as files"),
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
    "registry": Layer(1, "the kernels that the provider registers, and ONNX's schemas"),
    "session": Layer(1, "sessions on the provider, and where their nodes ran"),
    "cases": Layer(3, "random cases of every operator against NumPy"),
    "models": Layer(1, "the models that are checked and timed"),
    "torch_nets": Layer(1, "the same models in PyTorch"),
    "coverage": Layer(2, "which nodes of a model are taken, and why not the others"),
    "attention_edges": Layer(2, "edge cases of Attention"),
    "multi_head_edges": Layer(2, "edge cases of MultiHeadAttention"),
    "random_case": Layer(1, "what a random case is"),
    "quantized_reference": Layer(1, "the quantized operators in NumPy"),
    "quantized_cases": Layer(2, "random cases of the quantized operators"),
    "quantized_edges": Layer(2, "edge cases of the quantized operators"),
    "resize_edges": Layer(2, "edge cases of Resize to the nearest"),
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
    "quantized_times": Layer(3, "times of the quantized operators beside PyTorch"),
    "gpu_check": Layer(4, "kernels/ep/gpu-check"),
    "cuda_provider_times": Layer(5, "its models on ONNX Runtime's own CUDA provider"),
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
    "ep.onnxruntime_ep_rockernels": Layer(2, "the Python package around the provider"),
    "tools": Layer(
        3,
        "checks and measurements",
        uses=frozenset(("stackbuild.bench.nets", "stackbuild.core.errors", "stackbuild.inspection")),
    ),
}
"""Part of `kernels`, a folder on `sys.path`, to its layer."""

KERNELS = Tree(REPOSITORY / "kernels", "", KERNELS_LEVELS, loaders=frozenset(("tools.correctness",)))
KERNEL_TOOLS = Tree(REPOSITORY / "kernels" / "tools", "tools", KERNEL_LEVELS, loaders=KERNELS.loaders)
KERNEL_EP_TOOLS = Tree(REPOSITORY / "kernels" / "tools" / "ep", "tools.ep", KERNEL_EP_LEVELS)
HIPIFY_LEVELS: dict[str, Layer] = {
    "code": Layer(1, "the digest of the package's own source"),
    "tables": Layer(
        2, "HIPIFY's tables and what ROCm's headers declare: finding and reading them, and the libraries that they lack"
    ),
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
    "compilation": Layer(10, "what the target's compiler says of the converted files"),
    "stage": Layer(10, "the recipe's `hipify:` stage"),
}
LINT_LEVELS: dict[str, Layer] = {
    "catalogue": Layer(1, "the rules of lint: severity, text, advice"),
    "cpp": Layer(1, "functions, types, scopes and loops of C++ text, and the values of expressions"),
    "ladders": Layer(2, "shuffle ladders: loops, recursion, unrolled code"),
    **{
        name: Layer(3, "checks of one topic")
        for name in (
            "ballots", "clang_forms", "hip_forms", "lanes", "libraries", "members", "overloads", "ptx", "strings", "textures", "vector_bindings", "version_guards", "warp_sizes",
        )
    },
    "macro_uses": Layer(3, "uses of macros that have a finding in their bodies"),
    "alias_uses": Layer(4, "uses of type aliases that have a finding"),
    "template_uses": Layer(4, "calls of function templates that have a finding in their bodies"),
    "wavefronts": Layer(3, "whether a warp of 32 lanes matters in a text"),
    "votes": Layer(4, "checks that build on those of ballots and lanes"),
    **{name: Layer(4, "checks by the types of arguments, as overloads reads them") for name in ("devices", "half_types")},
    "spaces": Layer(4, "names of CUB and Thrust that the headers of ROCm do not spell"),
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
    **{name: Layer(1, "tables and names, no bytes") for name in ("policy", "providers")},
    "budget": Layer(2, "what reading one file may cost"),
    **{name: Layer(2, "formats in memory") for name in ("ccob", "descriptors", "messagepack", "wheel_variant")},
    "wheel": Layer(3, "the metadata of a wheel"),
    "source": Layer(3, "a file's bytes: on disk, in an archive, inflated"),
    **{name: Layer(3, "formats with a budget") for name in ("codeobject", "imports", "tensile")},
    **{name: Layer(4, "formats in a source") for name in ("bundle", "loader", "log", "text_scan", "zip_directory")},
    **{name: Layer(5, "whole files") for name in ("archive", "elf", "single_pass")},
}
BENCH_LEVELS: dict[str, Layer] = {
    "nets": Layer(1, "networks of a suite as ONNX graphs"),
    **{
        name: Layer(1, "values, statistics and places of their own, no measurement")
        for name in ("advice", "change_points", "compare", "environment", "history", "lock_diff", "model_problem", "providers", "results_file", "tables")
    },
    **{
        name: Layer(1, "scripts that run in a side's environment, and what they share")
        for name in sorted(WORKER_SCRIPTS)
    },
    **{name: Layer(2, "one side's machine, job and model") for name in ("job", "machine", "model_check", "trend")},
    **{name: Layer(3, "sides run against each other; models made and kept") for name in ("counters", "experiment", "model_cache", "model_compile")},
    **{name: Layer(4, "answers compared; a suite's cases") for name in ("correctness", "onnx_file", "suite_cases")},
    "measure": Layer(5, "cases measured until a verdict is possible"),
    **{name: Layer(6, "suites of models and of kernels") for name in ("kernels", "models")},
    **{name: Layer(7, "which suite, and what a gate asks of it") for name in ("gate", "selection")},
}  # fmt: skip
RECIPE_LEVELS: dict[str, Layer] = {
    "component_sources": Layer(0, "the sources that a component names"),
    **{name: Layer(1, "what values look like, and the schema") for name in ("forms", "schema_nodes")},
    **{name: Layer(1, "one value out of a recipe") for name in ("lock_file", "matrix")},
    "near_path": Layer(1, "the path that was probably meant"),
    "other_namespaces": Layer(1, "names that stand where those of another namespace are meant"),
    "suites": Layer(2, "one value out of a recipe"),
    "recipe_rules": Layer(1, "the rules of recipe check: severity, text, advice"),
    **{name: Layer(2, "slips in keys and values") for name in ("unknown_keys", "value_mistakes", "meant_values", "followed_steps")},
    **{name: Layer(2, "what fits together") for name in ("consistency", "foreign_names", "step_commands")},
    "wheels": Layer(2, "what wheels promise"),
    "rewritten_values": Layer(2, "what should stand in place of a wrong value"),
    "field_mistakes": Layer(3, "one of the schema's errors in words"),
    "validation": Layer(4, "the schema's errors in words"),
    "references": Layer(3, "what a recipe names outside of itself"),
    "coherence": Layer(3, "what two parts of a recipe say of one thing, and that cannot both hold"),
    "completeness": Layer(3, "what components need, and a recipe leaves out"),
    "plausibility": Layer(3, "values that are well formed and that hardly anybody means"),
    "compatibility": Layer(4, "what no build can get past, by the table"),
    "load": Layer(5, "text → Recipe"),
    "prepare": Layer(6, "all that a plan needs of a recipe, in one value"),
}
PLAN_LEVELS: dict[str, Layer] = {
    "steps": Layer(1, "the steps of each kind of component"),
    **{name: Layer(2, "what is known of a plan") for name in ("estimates", "explain", "status")},
    "resolve": Layer(2, "the plan"),
    "inputs": Layer(3, "what lies on this machine that a plan depends on"),
    "current": Layer(4, "the plan of now, with the store"),
}
VERIFICATION_LEVELS: dict[str, Layer] = {
    "probes": Layer(1, "scripts that run in the environment of a wheel"),
    "catalogue": Layer(1, "the rules of running: severity, text, advice"),
    **{
        name: Layer(2, "what is verified, what is expected of it, and where it runs")
        for name in ("expectations", "machine_libraries", "models", "probe_sandbox", "requirement", "subject", "workspace")
    },
    **{name: Layer(3, "an environment for a wheel, and one rung's frame") for name in ("clean_env", "installation", "rung")},
    "rungs": Layer(4, "one module a rung"),
    **{name: Layer(5, "all rungs in order; kernels' counters") for name in ("emulated_counters", "ladder")},
}
CAMPAIGN_LEVELS: dict[str, Layer] = {
    "frame": Layer(1, "what a rig and a case are, and how cases are counted"),
    "mutation": Layer(2, "bytes that are damaged"),
    **{name: Layer(3, "what several rigs attack") for name in ("benches", "parsers", "remotes", "sessions", "store_builds")},
    "coverage_fuzzing": Layer(4, "inputs kept by what they reach in a parser"),
    "rigs": Layer(5, "one module a rig"),
    "command": Layer(6, "the command line: it finds the rigs"),
    "__main__": Layer(7, "the entry point"),
}
BELOW_CLI = frozenset(f"stackbuild.{name}" for name, layer in LEVELS.items() if layer.level < LEVELS["cli"].level)
PROGRAM = BELOW_CLI | {"stackbuild.__main__"}
"""What measurements and fault campaigns use: the packages below the command line, and the program as a process."""
CI_LEVELS: dict[str, Layer] = {
    "layout": Layer(1, "the layers, and their check"),
    "names": Layer(2, "what functions, variables and types are called"),
    "cpp_names": Layer(3, "what C, C++ and HIP declare, and what it is called"),
    "subjects": Layer(2, "subjects of commits"),
    "tests_of": Layer(2, "where the tests of a module lie"),
    "recipe_reference": Layer(1, "docs/recipes.md, out of the schema", uses=BELOW_CLI),
    "campaign": Layer(1, "ci/campaign: fault campaigns, one a module of `rigs`", uses=PROGRAM),
    **{
        name: Layer(2, "measurements and checks of stages", uses=PROGRAM)
        for name in (
            "argument_trains", "bitsandbytes_products", "compare_keys", "extop_races", "ggml_operators", "live_view", "make_release", "matrix_calculator", "make_site",
            "measure", "measure_publishing", "measure_remote", "real_trees",
            "simulate_growth", "unknown_instructions",
        )
    },
    **{
        name: Layer(3, "measurements that take parts of another one", uses=BELOW_CLI)
        for name in ("measure_builds", "measure_cluster", "measure_signatures")
    },
    **{
        name: Layer(2, "scripts that read the commands themselves", uses=frozenset(("stackbuild",)))
        for name in ("make_docs", "prose", "trace_packages")
    },
}  # fmt: skip
"""Part of `ci` to its layer."""

CI = Tree(REPOSITORY / "ci", "", CI_LEVELS)
HIPIFY = Tree(REPOSITORY / "stackbuild/hipify", "stackbuild.hipify", HIPIFY_LEVELS)
LINT = Tree(REPOSITORY / "stackbuild/hipify/lint", "stackbuild.hipify.lint", LINT_LEVELS)
INSPECTION = Tree(REPOSITORY / "stackbuild/inspection", "stackbuild.inspection", INSPECTION_LEVELS)
READERS = Tree(REPOSITORY / "stackbuild/inspection/readers", "stackbuild.inspection.readers", READER_LEVELS)
BENCH = Tree(REPOSITORY / "stackbuild/bench", "stackbuild.bench", BENCH_LEVELS, WORKER_SCRIPTS, STACKBUILD.loaders)
RECIPE = Tree(REPOSITORY / "stackbuild/recipe", "stackbuild.recipe", RECIPE_LEVELS)
PLAN = Tree(REPOSITORY / "stackbuild/plan", "stackbuild.plan", PLAN_LEVELS)
VERIFICATION = Tree(REPOSITORY / "stackbuild/verification", "stackbuild.verification", VERIFICATION_LEVELS, frozenset(("probes",)), STACKBUILD.loaders)
CAMPAIGN = Tree(REPOSITORY / "ci/campaign", "campaign", CAMPAIGN_LEVELS)
TREES = (
    *(STACKBUILD, HIPIFY, LINT, INSPECTION, READERS, BENCH, RECIPE, PLAN, VERIFICATION, KERNELS, KERNEL_TOOLS, KERNEL_EP_TOOLS),
    *(CI, CAMPAIGN),
)
ROOTS = (STACKBUILD, KERNELS, CI)
"""The trees whose names another tree may not import unless its layer says so."""


def missing_orders(roots: Iterable[Tree], trees: Iterable[Tree]) -> Iterator[str]:
    """A line for each package with packages in it that `TREES` lacks: its modules and packages have no order."""
    places = {tree.folder for tree in trees}
    for root in roots:
        parts: dict[Path, set[str]] = {}
        packages: dict[Path, set[str]] = {}
        for path in root.modules.values():
            *folders, last = path.relative_to(root.folder).parts
            for depth, name in enumerate((*folders, last)):
                place = root.folder.joinpath(*folders[:depth])
                parts.setdefault(place, set()).add(name)
                if depth < len(folders):
                    packages.setdefault(place, set()).add(name)
        for place in sorted(packages.keys() - places):
            if parts[place] - {"__init__.py"} != packages[place] or len(packages[place]) > 1:
                yield f"{place.relative_to(root.folder.parent)} has {', '.join(sorted(packages[place]))} in it and no levels"


def table() -> str:
    """The layers of `stackbuild` as a Markdown table, the highest first; packages of one level share a row."""
    rows = ["| level | package | what it is for |", "|---|---|---|"]
    for level in sorted({layer.level for layer in LEVELS.values()}, reverse=True):
        names = [name for name, layer in LEVELS.items() if layer.level == level]
        summaries = " · ".join(
            f"`{name}`: {LEVELS[name].summary}" if len(names) > 1 else LEVELS[name].summary for name in names
        )
        rows.append(f"| {level} | {', '.join(f'`{name}`' for name in names)} | {summaries} |")
    return "\n".join(rows) + "\n"


def order() -> str:
    """The layers of `stackbuild`, the highest first, in lines of at most 120 characters."""
    levels = sorted({layer.level for layer in LEVELS.values()}, reverse=True)
    names = (", ".join(f"`{name}`" for name, layer in LEVELS.items() if layer.level == level) for level in levels)
    return textwrap.fill(" → ".join(names), 120) + "\n"


def main() -> int:
    lines = [*missing_orders(ROOTS, TREES), *(line for tree in TREES for line in violations(tree, ROOTS))]
    modules = {path for tree in TREES for path in tree.modules.values()}
    print("\n".join(lines) or f"{len(modules)} modules in {len(TREES)} trees, no violation")
    return bool(lines)


if __name__ == "__main__":
    sys.exit(main())
