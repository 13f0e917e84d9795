"""The architecture: every module has a level, imports point down, each third-party library has one module.

The table and the check are in ci/layout.py. Everything is read from the source; nothing is run.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter
from collections.abc import Iterable, Set
from dataclasses import replace
from pathlib import Path

import layout
import pytest
from layout import HIPIFY, INSPECTION, KERNEL_TOOLS, ROOTS, STACKBUILD, TREES, Layer, Tree, missing_orders, violations
from trace_packages import trace

from stackbuild.core import yaml
from stackbuild.recipe.load import bundled_recipes
from support.paths import ROOT

MANY_USERS = frozenset(("numpy", "onnx", "onnxruntime"))
"""Extras that several modules import: what is benchmarked and verified, and its arrays. No build imports them."""
LIMITS = {"plan": 8, "build": 14}
"""So many packages a command may enter below the command line."""
LAYERS = {
    "alone": Layer(1, ""),
    "low": Layer(1, ""),
    "pure": Layer(2, "", pure=True),
    "high": Layer(3, ""),
    "beside": Layer(3, "", uses=frozenset(("other.shared",))),
}


@pytest.mark.parametrize("tree", TREES, ids=lambda tree: tree.name or tree.folder.name)
def test_every_module_has_a_level_and_imports_lower_ones_alone(tree: Tree) -> None:
    assert len(tree.modules) > 5
    found = list(violations(tree, ROOTS))
    assert not found, "\n".join(found)


def test_the_trees_hold_every_module_of_stackbuild_of_the_kernels_and_of_ci() -> None:
    held = {path for tree in TREES for path in tree.modules.values()}
    assert {path for name in ("stackbuild", "kernels", "ci") for path in (ROOT / name).rglob("*.py")} == held
    assert all(tree in TREES for tree in (STACKBUILD, HIPIFY, INSPECTION, KERNEL_TOOLS))


def test_every_package_with_packages_in_it_has_levels() -> None:
    assert not list(missing_orders(ROOTS, TREES))
    lines = [line for line in missing_orders(ROOTS, ROOTS) if line.startswith("stackbuild/")]
    assert "stackbuild/verification has probes, rungs in it and no levels" in lines


def test_three_modules_lie_beside_the_packages() -> None:
    loose = {path.name for path in (ROOT / "stackbuild").glob("*.py")}
    assert loose == {"__init__.py", "__main__.py", "version.py"}


def seeded(folder: Path, **files: str) -> list[str]:
    """The violations of a small tree with these files; `__` in a name stands for a folder."""
    for name in LAYERS:
        (folder / name).mkdir()
        (folder / name / "__init__.py").touch()
        (folder / name / "module.py").touch()
    (folder / "__init__.py").touch()
    for name, text in files.items():
        path = folder / f"{name.replace('__', '/')}{'' if name[-1:].isalpha() else '__init__'}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        if name == "low__stub":
            path.rename(path.with_suffix(".pyi"))
    other = Tree(folder / "other", "other", {})
    separate, loaders = frozenset(("alone", "beside/script")), frozenset(("t.low.loader",))
    tree = Tree(folder, "t", LAYERS, separate=separate, loaders=loaders, lazy=True)
    return list(violations(tree, (tree, other)))


@pytest.mark.parametrize(
    ("files", "found"),
    [
        ({}, []),
        ({"high__module": "import t.low.module\nfrom t.pure import module"}, []),
        ({"low__module": "import t.high.module"}, ["t.low.module (level 1) imports t.high.module (level 3)"]),
        (
            {"low__module": "def f():\n    from t.high import module"},
            ["t.low.module (level 1) imports t.high.module (level 3)"],
        ),
        ({"low__module": "from ..high import module"}, ["t.low.module (level 1) imports t.high.module (level 3)"]),
        ({"low__module": "from t.high.module import name"}, ["t.low.module (level 1) imports t.high.module (level 3)"]),
        ({"high__module": "from t.beside import module"}, ["t.high.module (level 3) imports t.beside.module (level 3)"]),
        ({"high__module": "import t"}, ["t.high.module (level 3) imports t (level 4)"]),
        (
            {"high__module": "from t import function\nfrom t.low import module"},
            ["t.high.module (level 3) imports t (level 4)"],
        ),
        (
            {"low__module": "from importlib import import_module\nimport_module('t.high.module')"},
            ["t.low.module (level 1) imports t.high.module (level 3)"],
        ),
        ({"low__module": "__import__('t.high')"}, ["t.low.module (level 1) imports t.high (level 3)"]),
        (
            {"low__module": "if not TYPE_CHECKING:\n    import t.high.module"},
            ["t.low.module (level 1) imports t.high.module (level 3)"],
        ),
        ({"alone__module": "import t.low.module"}, ["t.alone.module runs in an environment of its own and imports t.low.module"]),
        ({"low__module": "if TYPE_CHECKING:\n    pass\nelse:\n    from t.high import module"},
         ["t.low.module (level 1) imports t.high.module (level 3)"]),
        ({"new__module": ""}, ["t.new has no level"]),
        ({"loose": ""}, ["t.loose has no level"]),
        ({"pure__module": "import subprocess"}, ["t.pure.module is in a pure package and uses subprocess"]),
        (
            {"low__a": "from t.low import b", "low__b": "from t.low import a"},
            ["cycle: t.low.b → t.low.a → t.low.b", "cycle: t.low.a → t.low.b → t.low.a"],
        ),
        (
            {"low__": "def f():\n    from t.low import a", "low__a": "from t.low import b", "low__b": ""},
            ["cycle: t.low → t.low.a → t.low", "cycle: t.low.a → t.low → t.low.a"],
        ),
    ],
)  # fmt: skip
def test_a_seeded_violation_of_each_kind_is_found(files: dict[str, str], found: list[str], tmp_path: Path) -> None:
    seen = seeded(tmp_path, **files)
    if any("cycle" in line for line in found):
        assert len(seen) == 1 and seen[0] in found
    else:
        assert seen == found


HIGH = "t.low.module (level 1) imports t.high.module (level 3)"
AT_RUN_TIME = "t.low.module imports a name that is known only at run time: "


@pytest.mark.parametrize(
    "text",
    [
        "from importlib import import_module as load\nload('t.high.module')",
        "import importlib as i\ni.import_module(name='t.high.module')",
        "from importlib import import_module\nimport_module('..high.module', 't.low')",
        "from importlib import import_module\nimport_module('..high.module', package=__package__)",
        "__import__(name='t.high.module')",
        "import builtins\nbuiltins.__import__('t.high', None, None, ['module'])",
        "__import__('high', globals(), locals(), ['module'], 2)",
        "import runpy\nrunpy.run_module('t.high.module')",
        "import importlib\ngetattr(importlib, 'import_module')('t.high.module')",
        "import builtins\ngetattr(builtins, '__import__')('t.high', None, None, ['module'])",
        "import importlib.util\nimportlib.util.find_spec('t.high.module')",
        "from importlib.util import find_spec\nfind_spec('..high.module', __package__)",
        "import sys\nwords = [sys.executable, '-m', 't.high.module']",
        "import os\nos.execlp('python3', 'python3', '-s', '-m', 't.high.module')",
        "from pkgutil import resolve_name\nresolve_name('t.high.module:name')",
        "import sys\nwords = [sys.executable, '-c', 'import t.high.module']",
        "import subprocess\nsubprocess.run(['python3', '-c', 'from t.high.module import name\\nprint(name)'])",
        "import os\nos.system('python3 -m t.high.module')",
        "import os\nos.popen('python3 -c \"import t.high.module\"')",
        "TYPE_CHECKING = True\nif TYPE_CHECKING:\n    import t.high.module",
        "from typing import TYPE_CHECKING\nTYPE_CHECKING = True\nif TYPE_CHECKING:\n    import t.high.module",
        "if TYPE_CHECKING:\n    import t.high.module",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import t.high.module",
        "import t.low.other\nt.high.module.name()",
        "import importlib\nload_it = importlib\nload_it.import_module('t.high.module')",
        "import importlib.util\nfind = importlib.util\nfind.find_spec('t.high.module')",
    ],
)
def test_an_upward_import_is_found_however_it_is_written(text: str, tmp_path: Path) -> None:
    assert seeded(tmp_path, low__module=text) == [HIGH]


@pytest.mark.parametrize(
    ("text", "call"),
    [
        ("from importlib import import_module\nNAME = 't.high.module'\nimport_module(NAME)", "import_module(NAME)"),
        ("from importlib import import_module\nload = import_module", "import_module"),
        ("import runpy\nrunpy.run_path('high/module.py')", "runpy.run_path('high/module.py')"),
        ("exec('import t.high.module')", "exec('import t.high.module')"),
        ("from importlib import import_module\nimport_module('..high', PACKAGE)", "import_module('..high', PACKAGE)"),
        ("__import__('t', None, None, NAMES)", "__import__('t', None, None, NAMES)"),
        ("from importlib import import_module\nimport_module(f'{NAME}.high')", "import_module(f'{NAME}.high')"),
        ("import importlib\nload = getattr(importlib, 'import_module')", "getattr(importlib, 'import_module')"),
        ("import importlib\ngetattr(importlib, NAME)(OTHER)", "getattr(importlib, NAME)(OTHER)"),
        ("from importlib.util import find_spec\nfind_spec(NAME)", "find_spec(NAME)"),
        ("from importlib.util import module_from_spec\nmodule_from_spec(SPEC)", "module_from_spec(SPEC)"),
        (
            "from importlib.metadata import EntryPoint\nEntryPoint('a', 't.high', 'g').load()",
            "EntryPoint('a', 't.high', 'g')",
        ),
        (
            "from importlib import metadata\nfor each in metadata.entry_points(group='g'):\n    each.load()",
            "metadata.entry_points(group='g')",
        ),
        ("words = ['python3', '-m', NAME]", "-m NAME"),
        ("import importlib\nload_it = importlib\nload_it.import_module(NAME)", "load_it.import_module(NAME)"),
        ("import importlib\nif (load_it := importlib):\n    load_it.import_module(NAME)", "load_it.import_module(NAME)"),
        ("import pydoc\npydoc.locate('t.high.module.name')", "pydoc.locate('t.high.module.name')"),
        ("from pydoc import locate as find\nfind('t.high.module')", "find('t.high.module')"),
        ("import pydoc\npydoc.safeimport('t.high.module')", "pydoc.safeimport('t.high.module')"),
    ],
)
def test_a_name_known_only_at_run_time_is_refused_outside_its_places(text: str, call: str, tmp_path: Path) -> None:
    assert seeded(tmp_path, low__module=text, low__loader=text) == [AT_RUN_TIME + call]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("from t.low.module import name", []),
        ("from t.high.module import name", ["the stub of t.low.stub (level 1) imports t.high.module (level 3)"]),
        ("from ..high import module", ["the stub of t.low.stub (level 1) imports t.high.module (level 3)"]),
        ("from other.module import name", ["the stub of t.low.stub imports other.module of another tree"]),
    ],
)
def test_a_stub_for_type_checkers_is_read(text: str, found: list[str], tmp_path: Path) -> None:
    assert seeded(tmp_path, low__stub=text) == found


def test_the_stub_of_the_public_names_is_among_those_read() -> None:
    assert STACKBUILD.stubs == {"stackbuild": ROOT / "stackbuild/__init__.pyi"}


def test_an_f_string_imports_from_the_package_that_it_names(tmp_path: Path) -> None:
    load = "from importlib import import_module\ndef load(name):\n    import_module(f'{}.{{name}}')"
    files = {"beside__module": load.format("{__name__}"), "low__module": load.format("t.high")}
    assert seeded(tmp_path, **files) == ["t.low.module (level 1) imports t.high (level 3)"]


@pytest.mark.parametrize(
    ("files", "found"),
    [
        ({"alone__more__deep": "import t.low.module"}, "t.alone.more.deep runs in an environment of its own and imports t.low.module"),
        ({"beside__script": "import t.low.module"}, "t.beside.script runs in an environment of its own and imports t.low.module"),
        ({"beside__script": "", "low__module": "import script"}, "t.low.module imports script, a script that runs in an environment of its own"),
        ({"other____init__": "", "low__module": "import other.module"}, "t.low.module imports other.module of another tree"),
        ({"other____init__": "", "beside__module": "from other import shared, module"}, "t.beside.module imports other.module of another tree"),
        ({"": "from t.low import module"}, "t imports t.low.module before it is used"),
        ({"pure__module": "import os\nos.system('x')"}, "t.pure.module is in a pure package and uses os.system"),
        ({"pure__module": "from os import popen as p\np('x')"}, "t.pure.module is in a pure package and uses os.popen"),
        ({"pure__module": "import os as o\no.execv('x', [])"}, "t.pure.module is in a pure package and uses os.execv"),
        ({"pure__module": "import multiprocessing.pool"}, "t.pure.module is in a pure package and uses multiprocessing"),
        ({"pure__module": "import asyncio"}, "t.pure.module is in a pure package and uses asyncio"),
        ({"pure__module": "from pty import spawn"}, "t.pure.module is in a pure package and uses pty"),
        ({"pure__module": "import http.server"}, "t.pure.module is in a pure package and uses http.server"),
        (
            {"pure__module": "from t.low import a", "low__a": "from t.low import b", "low__b": "def f():\n    import subprocess"},
            "t.pure.module is in a pure package and reaches subprocess: t.pure.module → t.low.a → t.low.b",
        ),
        (
            {"pure__module": "def f():\n    from t.low import a", "low__a": "import tempfile"},
            "t.pure.module is in a pure package and reaches tempfile: t.pure.module → t.low.a",
        ),
    ],
)  # fmt: skip
def test_what_runs_elsewhere_and_what_a_pure_package_uses_is_found(
    files: dict[str, str], found: str, tmp_path: Path
) -> None:
    assert [line for line in seeded(tmp_path, **files) if "has no level" not in line] == [found]


def test_a_module_of_the_root_may_import_when_a_name_is_used(tmp_path: Path) -> None:
    assert seeded(tmp_path, **{"": "def __getattr__(name):\n    from t.low import module\n    return module"}) == []


@pytest.mark.parametrize(
    ("tree", "file", "text", "found"),
    [
        ("STACKBUILD", "plan/resolve.py", "import os\nos.system('x')", "stackbuild.plan.resolve is in a pure package and uses os.system"),
        ("STACKBUILD", "plan/resolve.py", "import stackbuild.sources.git_command", "stackbuild.plan.resolve is in a pure package and reaches shutil: stackbuild.plan.resolve → stackbuild.sources.git_command"),
        ("STACKBUILD", "core/digest.py", "import subprocess", "stackbuild.model.lock is in a pure package and reaches subprocess: stackbuild.model.lock → stackbuild.core.digest"),
        ("STACKBUILD", "bench/worker.py", "import stackbuild.core", "stackbuild.bench.worker runs in an environment of its own and imports stackbuild.core"),
        ("STACKBUILD", "bench/devices.py", "import stackbuild.core", "stackbuild.bench.devices runs in an environment of its own and imports stackbuild.core"),
        ("STACKBUILD", "core/errors.py", "import tools.gpu_check", "stackbuild.core.errors imports tools.gpu_check of another tree"),
        ("STACKBUILD", "core/errors.py", "import worker", "stackbuild.core.errors imports worker, a script that runs in an environment of its own"),
        ("STACKBUILD", "__init__.py", "import stackbuild.cli", "stackbuild imports stackbuild.cli before it is used"),
        ("STACKBUILD", "store/atomic.py", "import stackbuild.build.perform", "stackbuild.store.atomic (level 2) imports stackbuild.build.perform (level 9)"),
        ("STACKBUILD", "store/atomic.py", "def f():\n    from stackbuild.build import perform", "stackbuild.store.atomic (level 2) imports stackbuild.build.perform (level 9)"),
        ("STACKBUILD", "gadgets/module.py", "", "stackbuild.gadgets has no level"),
        ("STACKBUILD", "loose.py", "", "stackbuild.loose has no level"),
        ("HIPIFY", "cpp/scan.py", "import stackbuild.hipify.stage", "stackbuild.hipify.cpp.scan (level 1) imports stackbuild.hipify.stage (level 10)"),
        ("KERNEL_TOOLS", "case.py", "from tools import gpu_check", "tools.case (level 1) imports tools.gpu_check (level 6)"),
        ("KERNELS", "tools/case.py", "import stackbuild.cli", "tools.case imports stackbuild.cli of another tree"),
        ("CI", "campaign/frame.py", "import stackbuild.cli.app", "campaign.frame imports stackbuild.cli.app of another tree"),
        ("KERNELS", "ep/core/memory/tool.py", "", ".ep has no level"),
    ],
)  # fmt: skip
def test_the_trees_of_this_repository_find_a_seeded_violation(
    tree: str, file: str, text: str, found: str, tmp_path: Path
) -> None:
    """The real tables, with one file more or one file changed; the scans of the others are kept."""
    whole: Tree = getattr(layout, tree)
    path = tmp_path / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    changed = replace(whole)
    name = changed.module_name(whole.folder / file)
    vars(changed)["modules"] = {**whole.modules, name: whole.folder / file}
    vars(changed)["scans"] = {**whole.scans, name: layout.Scan(name, path)}
    roots = tuple(changed if root is whole else root for root in ROOTS)
    assert found in list(violations(changed, roots))


def test_a_package_that_is_gone_keeps_no_level(tmp_path: Path) -> None:
    (tmp_path / "low").mkdir()
    (tmp_path / "low" / "__init__.py").touch()
    tree = Tree(tmp_path, "t", {"low": Layer(1, ""), "gone": Layer(2, "")})
    assert list(violations(tree)) == ["t.gone has a level and does not exist"]


def test_each_library_has_one_module() -> None:
    users: dict[str, set[str]] = {}
    for module in (m for m in STACKBUILD.modules if not STACKBUILD.is_separate(m)):
        tops = {source.split(".")[0] for source, _ in STACKBUILD.imports[module]}
        for top in tops - sys.stdlib_module_names - {"stackbuild", "tools"}:  # `tools`: the bundled kernels' own
            users.setdefault(top, set()).add(module)
    assert len(users) > 5
    many = {top: sorted(modules) for top, modules in users.items() if len(modules) > 1 and top not in MANY_USERS}
    assert not many
    arrays = {module for top in MANY_USERS for module in users.get(top, ())}
    assert not {m for m in arrays if not m.startswith(("stackbuild.bench", "stackbuild.verification"))}


def test_reading_a_recipe_imports_no_planning() -> None:
    """Everything that `stackbuild.recipe.load` reaches, however far."""
    reached, todo = set[str](), ["stackbuild.recipe.load"]
    while todo:
        if (module := todo.pop()) not in reached:
            reached.add(module)
            todo += STACKBUILD.own(module)
    packages = {STACKBUILD.part(module) for module in reached}
    assert packages <= {"core", "tables", "store", "model", "recipe"}, packages


def test_one_module_reads_the_mirror_from_the_environment() -> None:
    readers = [m for m, path in STACKBUILD.modules.items() if 'STACKBUILD_MIRROR"' in path.read_text("utf-8")]
    assert readers == ["stackbuild.sources.mirror"]
    assert not [name for name in STACKBUILD.imports["stackbuild.sources.mirror"] if name[0] == "os"]


def test_a_module_named_utils_is_no_module() -> None:
    assert not [m for m in STACKBUILD.modules if m.split(".")[-1] in ("utils", "util", "helpers", "common", "misc")]


def test_modules_are_imported_by_their_own_names() -> None:
    """`from stackbuild.core import yaml as yamlread` would be a second name of one thing."""
    wrong = []
    for module, path in STACKBUILD.modules.items():
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("stackbuild"):
                wrong += [f"{module}: {a.name} as {a.asname}" for a in node.names if a.asname]
    assert not wrong


def test_the_tables_in_the_docs_are_those_of_the_code() -> None:
    assert layout.table() in (ROOT / "docs/design.md").read_text("utf-8")
    assert layout.order() in (ROOT / "CONTRIBUTING.md").read_text("utf-8")


def test_the_packages_that_commands_enter_are_those_in_the_docs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", [])
    text = (ROOT / "docs/design.md").read_text("utf-8")
    rows = re.findall(r"^\| `((?:plan|build) -r [^`]*)` \| (\d+): (.*) \|$", text, re.MULTILINE)
    assert [words for words, _, _ in rows] == ["plan -r debian-13", "build -r debian-13 --dry-run"]
    for words, count, names in rows:
        told = set(re.findall(r"`(\w+)`", names))
        assert trace(words.split()).below == told and len(told) == int(count) <= LIMITS[words.split()[0]]


ENTRIES = {
    "plan -r debian-13": {"recipe": 1, "plan": 1, "sources": 1, "views": 1, "store": 3},
    "build -r debian-13 --dry-run": {"recipe": 1, "plan": 1, "sources": 2, "views": 1},
}
"""How often a command enters the packages whose functions do its work. The others answer for one value, one target or one
step at a time. A rehearsal asks its second store for each step, as a build does."""


@pytest.mark.parametrize("words", ENTRIES)
def test_a_command_calls_each_function_that_does_its_work_once(words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", [])
    tracer = trace(words.split())
    stages = ENTRIES[words]
    assert {stage: tracer.entries[stage] for stage in stages} == stages
    calls = Counter[str]()
    for (_, function), count in tracer.calls.items():
        calls[function] += count
    work = {function: count for function, count in calls.items() if function.partition(".")[0] in stages}
    assert sum(work.values()) == sum(stages.values()) and set(work.values()) == {1}, work
    told = f"| `{words}` | {', '.join(f'`{stage}` {count}' for stage, count in stages.items())} |"
    assert told in (ROOT / "docs/design.md").read_text("utf-8")


def test_the_text_of_a_recipe_is_parsed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", [])
    whole, parsed = yaml.compose, Counter[str]()

    def counted(text: str, name: str) -> tuple[yaml.Json, yaml.Places]:
        parsed[name] += 1
        return whole(text, name)

    monkeypatch.setattr(yaml, "compose", counted)
    trace(["plan", "-r", "debian-13"])
    assert parsed[str(bundled_recipes()["debian-13"])] == 1


def test_a_command_that_fails_is_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", [])
    with pytest.raises(SystemExit) as stopped:
        trace(["plan", "-r", "no-such-recipe"])
    assert stopped.value.code == 2


def modules_below(root: Path) -> frozenset[str]:
    """The modules below `root`, as paths without a suffix."""
    return frozenset(path.relative_to(root).with_suffix("").as_posix() for path in root.rglob("*.py"))


def misplaced(tests: Iterable[str], modules: Set[str]) -> list[str]:
    """The test files that lie at the path of no module or package.

    A module's tests are `test_MODULE.py` where the module lies, or files in a folder called as the module. Tests of a
    package as a whole lie in its folder `whole`. Tests of the repository lie in tests/unit itself.
    """
    packages = {module.rpartition("/")[0] for module in modules}

    def is_placed(test: str) -> bool:
        folder, _, name = test.rpartition("/")
        package, _, last = folder.rpartition("/")
        own = f"{folder}/{name.removeprefix('test_')}"
        return own in modules | packages or folder in modules or (last == "whole" and package in packages)

    return [test for test in tests if "/" in test and not is_placed(test)]


def test_each_test_lies_where_its_module_does() -> None:
    """`kernels` has its tools in kernels/tools, so a test of one may leave `tools` out of its path."""
    kernels = {f"kernels/{module}" for name in (".", "tools") for module in modules_below(ROOT / "kernels" / name)}
    modules = modules_below(ROOT / "stackbuild") | kernels
    unit = ROOT / "tests/unit"
    tests = [path.relative_to(unit).with_suffix("").as_posix() for path in sorted(unit.rglob("test_*.py"))]
    assert len(tests) > 150
    assert not misplaced(tests, modules)


def test_a_misplaced_test_is_found() -> None:
    modules = frozenset(("store/__init__", "store/tree"))
    good = ["test_docs", "store/test_tree", "store/tree/test_links", "store/whole/test_bounds"]
    bad = ["store/test_bounds", "gone/test_tree", "store/gone/test_links", "gone/whole/test_bounds"]
    assert misplaced([*good, *bad], modules) == bad
