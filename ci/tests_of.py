"""Where the tests of a module lie: at its own path, or else at that of the modules which use it.

    .venv/bin/python ci/tests_of.py sources/git.py    # its test files
    .venv/bin/python ci/tests_of.py --summary         # how many modules have tests at their own path, and how many none nearer than a command
    .venv/bin/python ci/tests_of.py                   # every module without tests at its own path, and through which it is tested

A module's own tests are `test_MODULE.py` where the module lies, or files in a folder called as the module, in tests/unit
or in tests/integration. Where it has none, the nearest modules that import it and have tests of their own are named, and
the test files that import it, themselves or through tests/support. A command, an action and a script of another environment is imported by nothing: it is loaded
or run by its name, in tests that run commands.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from layout import REPOSITORY, STACKBUILD, Scan

TESTS = REPOSITORY / "tests"


def own_tests(module: str) -> list[Path]:
    """The test files at a module's own path."""
    place = STACKBUILD.modules[module].relative_to(STACKBUILD.folder)
    folders = (TESTS / "unit", TESTS / "integration")
    files = [folder / place.parent / f"test_{place.stem}.py" for folder in folders]
    inside = (path for folder in folders for path in sorted((folder / place.with_suffix("")).rglob("test_*.py")))
    return [*(path for path in files if path.exists()), *inside]


def importing_tests() -> dict[str, set[Path]]:
    """The test files that import a module, themselves or through tests/support, by the module."""
    supports = {f"support.{path.stem}": _imports(path) for path in sorted((TESTS / "support").glob("*.py"))}
    users_of: dict[str, set[Path]] = {}
    for path in sorted(TESTS.rglob("test_*.py")):
        todo = list(_imports(path))
        for module in todo:  # it grows
            todo += supports.get(module, set()).difference(todo)
            users_of.setdefault(module, set()).add(path)
    return users_of


def _imports(path: Path) -> set[str]:
    """What a file of the tests imports: modules of stackbuild, and of tests/support."""
    names = {(source, f"{source}.{name}") for source, name in Scan("tests", path).imports}
    return {full if full in STACKBUILD.modules or source == "support" else source for source, full in names}


def importers() -> dict[str, set[str]]:
    """The modules that import a module, by that module."""
    users_of: dict[str, set[str]] = {}
    for module in STACKBUILD.modules:
        for import_name in STACKBUILD.own(module):
            users_of.setdefault(import_name, set()).add(module)
    return users_of


def nearest_tested(module: str, users: Mapping[str, Iterable[str]], owners: Iterable[str]) -> list[str]:
    """Of the modules that import it, directly or through others, the nearest that are tested; [] for none."""
    closure, here = {module}, [module]
    while here:
        here = sorted({user for each in here for user in users.get(each, ())} - closure)
        closure.update(here)
        if nearest := [user for user in here if user in owners]:
            return nearest
    return []


def untested_paths() -> Iterator[tuple[str, list[str], list[str]]]:
    """Each module without tests at its own path, the modules through which it is tested, and the tests that import it."""
    users, direct = importers(), importing_tests()
    modules = [name for name, path in STACKBUILD.modules.items() if path.name != "__init__.py"]
    owners = frozenset(name for name in modules if own_tests(name))
    for module in modules:
        if module not in owners:
            files = sorted(str(path.relative_to(REPOSITORY)) for path in direct.get(module, ()))
            yield module, nearest_tested(module, users, owners), files


def summary() -> str:
    """The modules without tests at their own path, and those of them that no test and no tested module imports."""
    rows = list(untested_paths())
    count = sum(path.name != "__init__.py" for path in STACKBUILD.modules.values())
    by_name = sum(not (through or files) for _, through, files in rows)
    return f"{len(rows)} of {count} modules have no tests at their own path; {by_name} of them run by their name only"


def main() -> None:
    if sys.argv[1:] == ["--summary"]:
        print(summary())
        return
    if words := sys.argv[1:]:
        module = STACKBUILD.module_name(STACKBUILD.folder / words[0].removeprefix("stackbuild/"))
        if module not in STACKBUILD.modules:
            sys.exit(f"{words[0]}: no such module below stackbuild/")
        if tests := own_tests(module):
            print("\n".join(str(path.relative_to(REPOSITORY)) for path in tests))
            return
    rows = [row for row in untested_paths() if not words or row[0] == module]
    for name, through, files in rows:
        print(f"{name}: through {', '.join((*through[:3], *files[:3])) or 'what runs it by its name'}")
    if not words:
        print(f"{len(rows)} modules have no tests at their own path")


if __name__ == "__main__":
    main()
