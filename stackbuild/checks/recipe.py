"""The verb `recipe check`: what cannot work, what nobody confirmed and what the lock leaves open, before an hour is spent.

Pure but for the recipe's own text: recipe, lock and compatibility table in, findings out.
"""

from __future__ import annotations

import difflib
import fnmatch
import re
from collections.abc import Iterator
from dataclasses import dataclass

from stackbuild.checks.consistency import disagreements, finding
from stackbuild.core.errors import PlanError
from stackbuild.core.versions import numbers, series
from stackbuild.model.components import Convertible, HipdnnEp, MIGraphX, MIGraphXEp, OnnxRuntime, RocMLIR, Wheel
from stackbuild.model.findings import Finding, Place, Severity
from stackbuild.model.lock import ROCMLIR, Dep, Lock, unlocked
from stackbuild.model.recipe import Recipe
from stackbuild.plan.estimates import table as estimates
from stackbuild.plan.steps.context import size
from stackbuild.plan.steps.onnxruntime import check_rocm_ep
from stackbuild.plan.steps.rocmlir import OPTIONS
from stackbuild.tables.compatibility import GfxRow, Table

_UNCONFIRMED = re.compile(r"#.*\bunconfirmed\b:?\s*(.*)", re.IGNORECASE)
_RUNTIME = re.compile(r"libamdhip64\.so\.([0-9]+)")


@dataclass(frozen=True)
class Checked:
    """A recipe with everything it is held against. `lock` is None where there is none, or a stale one."""

    recipe: Recipe
    lock: Lock | None
    text: str
    path: str
    table: Table
    called: str = ""
    """The name or path that commands are given for it."""


def check(given: Checked) -> tuple[Finding, ...]:
    """All findings, errors first."""
    checks = (
        *(_rocm, _gfx, _pythons, _rocm_ep, _disagreements, _cmake, _sonames, _memory, _hipify, _rocmlir_line),
        *(_lock, _unconfirmed),
    )
    found = [f for one in checks for f in one(given)]
    return tuple(sorted(found, key=lambda f: list(Severity).index(f.severity)))


def impossible(recipe: Recipe, known: Table) -> tuple[Finding, ...]:
    """The findings that no build of the recipe can get past. That the table does not know a ROCm is none of these."""
    given = Checked(recipe, None, "", recipe.name, known)
    checks = (_gfx, _pythons, _rocm_ep, _disagreements, _cmake, _sonames)
    return tuple(f for one in checks for f in one(given) if f.severity is Severity.ERROR)


def doubtful(recipe: Recipe, known: Table) -> tuple[Finding, ...]:
    """What the table has nothing about: such a build may work, and nobody has looked."""
    return tuple(_rocm(Checked(recipe, None, "", recipe.name, known)))


def _rocm(given: Checked) -> Iterator[Finding]:
    rocm = given.recipe.rocm
    if rocm is None or given.table.line(rocm) is not None:
        return
    known = [r.version for r in given.table.rocm]
    close = difflib.get_close_matches(series(rocm), known, n=1) or known[-1:]
    yield finding(
        "ROCM", Severity.ERROR, "rocm", f"ROCm {rocm} is not in the compatibility table",
        "nothing is known of what belongs to it", f"nearest known: {close[0]}; known are {', '.join(known)}",
    )  # fmt: skip


def _gfx(given: Checked) -> Iterator[Finding]:
    rocm = given.recipe.rocm
    targets = given.table.targets(rocm) if rocm else {}
    for gfx in given.recipe.gfx if targets else ():
        row = targets.get(gfx.partition(":")[0])
        if row is None:
            yield finding(
                "GFX", Severity.ERROR, "gfx", f"ROCm {rocm} has no {gfx}",
                "its libraries have no code object for it: the first kernel launch fails, or crashes the process",
                f"it has {', '.join(targets)}",
            )  # fmt: skip
        elif row.status != "supported":
            yield _unofficial(
                f"{gfx} with ROCm {rocm}: {row.status}", row, any(r.status == "supported" for r in targets.values())
            )


def _unofficial(what: str, row: GfxRow, listed: bool) -> Finding:
    """Binaries were seen. `listed`: the table has AMD's list for that ROCm, so it says that the target is not on it."""
    if listed:
        return finding(
            "GFX-UNOFFICIAL", Severity.NOTE, "gfx", f"{what}, not on AMD's list",
            "binaries for it exist; the vendor does not promise that they work", "test it on that GPU", row.source,
        )  # fmt: skip
    return finding(
        "GFX-UNOFFICIAL", Severity.NOTE, "gfx", what,
        "binaries for it exist; AMD's list for this ROCm is not in the table, so whether AMD supports it is not said",
        "look it up in AMD's system requirements", row.source,
    )  # fmt: skip


def _runtimes(recipe: Recipe) -> Iterator[tuple[str, OnnxRuntime]]:
    return ((n, c) for n, c in recipe.components.items() if isinstance(c, OnnxRuntime))


def _pythons(given: Checked) -> Iterator[Finding]:
    for name, component in _runtimes(given.recipe):
        row = given.table.pythons(component.version)
        for python in given.recipe.python if row and component.python_package else ():
            if row and python not in row.versions:
                yield finding(
                    "PYTHON", Severity.ERROR, "python", f"ONNX Runtime {component.version} is not built for Python {python}",
                    f"{name} would compile for an hour and then fail", f"it has {', '.join(row.versions)}", row.source,
                )  # fmt: skip


def _rocm_ep(given: Checked) -> Iterator[Finding]:
    for name, component in _runtimes(given.recipe):
        try:
            check_rocm_ep(name, component, given.recipe.rocm or "")
        except PlanError as error:
            yield finding("ROCM-EP", Severity.ERROR, error.where, error.what, "it ends in an error", error.next)


def _disagreements(given: Checked) -> Iterator[Finding]:
    return disagreements(given.recipe, given.table)


def _cmake(given: Checked) -> Iterator[Finding]:
    extend = given.recipe.base.extend
    for name, component in given.recipe.components.items() if extend else ():
        if not isinstance(component, (OnnxRuntime, MIGraphXEp, HipdnnEp)) or extend is None:
            continue
        version = component.version if isinstance(component, OnnxRuntime) else "99"
        rows = [r for r in given.table.cmake if r.component == component.kind and numbers(r.since) <= numbers(version)]
        least = max(rows, key=lambda r: numbers(r.least), default=None)
        if least and numbers(extend.cmake) < numbers(least.least):
            yield finding(
                "CMAKE", Severity.ERROR, f"components.{name}", f"CMake {extend.cmake}, it demands {least.least}",
                "its configure phase fails", f"set `base.extend.cmake` to {least.least} or newer", least.source,
            )  # fmt: skip


def _sonames(given: Checked) -> Iterator[Finding]:
    row = given.table.line(given.recipe.rocm) if given.recipe.rocm else None
    for name, component in given.recipe.components.items():
        for pattern in component.external if isinstance(component, Wheel) and row else ():
            said = _RUNTIME.fullmatch(pattern)
            right = f"libamdhip64.so.{row.soname}" if row else ""
            if said and not fnmatch.fnmatchcase(right, pattern):
                yield finding(
                    "SONAME", Severity.ERROR, f"components.{name}.external", f"{pattern} with ROCm {given.recipe.rocm}",
                    f"that ROCm has {right}", f"write {right}", row.source if row else "",
                )  # fmt: skip


def _memory(given: Checked) -> Iterator[Finding]:
    for name, component in given.recipe.components.items():
        guess = estimates().get(component.kind)
        if guess and size(component.memory) < size(guess.memory) // 2:
            yield finding(
                "MEMORY", Severity.WARNING, f"components.{name}.memory", f"{component.memory}, about {guess.memory} is expected",
                "the step is killed when it wants more", f"write `memory: {guess.memory}`", guess.source,
            )  # fmt: skip


def _hipify(given: Checked) -> Iterator[Finding]:
    locked = given.lock.packages if given.lock else {}
    for name, component in given.recipe.components.items():
        asked = component.hipify if isinstance(component, Convertible) else None
        if asked and not asked.tool and locked and not any(package.startswith("hipify-") for package in locked):
            yield finding(
                "HIPIFY", Severity.ERROR, f"components.{name}.hipify", "the base has no HIPIFY among its packages",
                "the tables to convert by come from it", "add `hipify-perl` to `base.debian.packages`, or name a source with `tool`",
            )  # fmt: skip
        elif asked and asked.engine == "clang" and locked and "hipify-clang" not in locked:
            yield finding(
                "HIPIFY", Severity.ERROR, f"components.{name}.hipify.engine", "the base has no hipify-clang among its packages",
                "it runs in the base", "add `hipify-clang` and CUDA's headers to `base.debian.packages`, or take `engine: fast`",
            )  # fmt: skip


def _rocmlir_line(given: Checked) -> Iterator[Finding]:
    """MIGraphX up to 2.17 compiles with rocMLIR only, and its own requirements say how that is built."""
    for name, component in given.recipe.components.items():
        if not isinstance(component, MIGraphX):
            continue
        needed = (given.recipe.components[n] for n in component.needs)
        built = next((c for c in needed if isinstance(c, RocMLIR)), None)
        if built is None:
            yield finding(
                "NO-ROCMLIR", Severity.WARNING, f"components.{name}.needs", "MIGraphX is built without rocMLIR",
                "no release is known to compile so", "add a component of kind `rocmlir` and name it in `needs`",
            )  # fmt: skip
        elif given.lock is not None:
            rows = (d for d in given.lock.deps.get(component.source, ()) if d.name in ROCMLIR)
            yield from (f for row in rows for f in _against(row, built, given.lock.commits.get(built.source, "")))


def _against(row: Dep, built: RocMLIR, commit: str) -> Iterator[Finding]:
    """What that line asks for and the component that stands for it is not."""
    pinned = row.url.rpartition("/")[2].removesuffix(".tar.gz")
    said, subject = "MIGraphX's own requirements.txt", f"sources.{built.source}"
    if commit and not pinned.startswith(commit):
        yield finding(
            "ROCMLIR-PIN", Severity.WARNING, subject, f"{commit[:12]}, but {said} pins {pinned[:12]}",
            "nobody is known to have built that pair", f"use `ref: {pinned}`",
        )  # fmt: skip
    for option in row.options:
        if option.removeprefix("-D").partition("=")[0] not in {**OPTIONS, **built.options}:
            yield finding(
                "ROCMLIR-OPTION", Severity.WARNING, subject, f"{said} builds {row.name} with {option}, the component does not",
                "a library made in another way may not be what MIGraphX links", "write it in the component's `options`",
            )  # fmt: skip


def _lock(given: Checked) -> Iterator[Finding]:
    name = given.called or given.recipe.name
    if given.lock is None:
        yield finding(
            "LOCK", Severity.WARNING, "lock", "there is no fresh lock", "a build stops without one",
            f"run `stackbuild lock --recipe {name}`",
        )  # fmt: skip
        return
    for line in unlocked(given.recipe, given.lock):
        subject, _, what = line.partition(": ")
        yield finding(
            "UNLOCKED", Severity.WARNING, subject, what, "the build stops before it starts",
            f"run `stackbuild lock --recipe {name}` where the network or a mirror is",
        )  # fmt: skip
    for source, commit in given.lock.commits.items():
        if len(commit) < 40:
            yield finding(
                "SHORT-COMMIT", Severity.NOTE, f"sources.{source}", f"the commit is known to {len(commit)} digits: {commit}",
                "what is fetched must begin with them; that holds off accidents, not an attacker",
                f"`stackbuild lock --recipe {name}` completes it",
            )  # fmt: skip


def _unconfirmed(given: Checked) -> Iterator[Finding]:
    for number, line in enumerate(given.text.splitlines(), 1):
        said = _UNCONFIRMED.search(line)
        if said and not line.startswith("# Lines marked"):
            yield Finding(
                "SB-STACK-UNCONFIRMED", Severity.NOTE, f"{given.path}:{number}", f"unconfirmed: {said[1].strip() or line.strip()}",
                "no source that could be read says so", "confirm it, then take the word `unconfirmed` out of the comment",
                place=Place(given.path, number),
            )  # fmt: skip
