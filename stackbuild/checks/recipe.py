"""The verb `recipe check`: what cannot work, what nobody confirmed and what the lock leaves open, before an hour is spent.

Pure but for the recipe's own text: recipe, lock and compatibility table in, findings out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date

from stackbuild.core.sizes import size_of
from stackbuild.judgement import waivers_that_hold
from stackbuild.model.components import Convertible, MIGraphX, RocMLIR
from stackbuild.model.findings import Finding, Severity, SourceLocation
from stackbuild.model.lock import ROCMLIR, Dep, Lock, missing_entries
from stackbuild.model.recipe import Recipe
from stackbuild.plan import compatibility
from stackbuild.plan.consistency import finding, tree_versions
from stackbuild.plan.estimates import estimates
from stackbuild.plan.steps.rocmlir import OPTIONS
from stackbuild.recipe.load import sources_of
from stackbuild.tables.compatibility import Table

_UNCONFIRMED_COMMENT = re.compile(r"#.*\bunconfirmed\b:?\s*(.*)", re.IGNORECASE)


@dataclass(frozen=True)
class CheckInput:
    """A recipe with everything it is checked against. `lock` is None where there is none, or a stale one."""

    recipe: Recipe
    lock: Lock | None
    text: str
    path: str
    table: Table
    given_name: str = ""
    """The name or path that commands are given for it."""
    today: date = field(default_factory=date.today)


def check_recipe(inputs: CheckInput) -> tuple[Finding, ...]:
    """All findings, errors first."""
    own = (
        _unused_sources,
        _memory,
        _hipify,
        _rocmlir_line,
        _tree_versions,
        _from_base,
        _waivers,
        _lock,
        _unconfirmed_lines,
    )
    findings = [*compatibility.findings(inputs.recipe, inputs.table), *(f for check in own for f in check(inputs))]
    return tuple(sorted(findings, key=lambda f: list(Severity).index(f.severity)))


def _unused_sources(inputs: CheckInput) -> Iterator[Finding]:
    used = {source for c in inputs.recipe.components.values() for source in sources_of(c).values()}
    for name in (name for name in inputs.recipe.sources if name not in used):
        yield finding(
            "UNUSED-SOURCE", Severity.WARNING, f"sources.{name}", f"no component uses the source `{name}`",
            "it is fetched and locked for nothing", f"name it in a component (`source: {name}`), or remove it",
        )  # fmt: skip


def _memory(inputs: CheckInput) -> Iterator[Finding]:
    for name, component in inputs.recipe.components.items():
        guess = estimates().get(component.kind)
        if guess and size_of(component.memory) < size_of(guess.memory) // 2:
            yield finding(
                "MEMORY", Severity.WARNING, f"components.{name}.memory", f"{component.memory}, about {guess.memory} is expected",
                "the step is killed when it wants more", f"write `memory: {guess.memory}`", guess.source,
            )  # fmt: skip


def _hipify(inputs: CheckInput) -> Iterator[Finding]:
    locked_packages = inputs.lock.packages if inputs.lock else {}
    for name, component in inputs.recipe.components.items():
        conversion = component.hipify if isinstance(component, Convertible) else None
        if (
            conversion
            and not conversion.tool
            and locked_packages
            and not any(package.startswith("hipify-") for package in locked_packages)
        ):
            yield finding(
                "HIPIFY", Severity.ERROR, f"components.{name}.hipify", "the base has no HIPIFY among its packages",
                "the tables to convert by come from it", "add `hipify-perl` to `base.debian.packages`, or name a source with `tool`",
            )  # fmt: skip
        elif conversion and conversion.engine == "clang" and locked_packages and "hipify-clang" not in locked_packages:
            yield finding(
                "HIPIFY", Severity.ERROR, f"components.{name}.hipify.engine", "the base has no hipify-clang among its packages",
                "it runs in the base", "add `hipify-clang` and CUDA's headers to `base.debian.packages`, or take `engine: fast`",
            )  # fmt: skip


def _tree_versions(inputs: CheckInput) -> Iterator[Finding]:
    if inputs.lock is not None:
        yield from tree_versions(inputs.recipe, inputs.lock)


def _rocmlir_line(inputs: CheckInput) -> Iterator[Finding]:
    """MIGraphX up to 2.17 compiles with rocMLIR only, and its own requirements say how that is built."""
    for name, component in inputs.recipe.components.items():
        if not isinstance(component, MIGraphX):
            continue
        needed_components = (inputs.recipe.components[n] for n in component.needs)
        rocmlir = next((c for c in needed_components if isinstance(c, RocMLIR)), None)
        if rocmlir is None:
            yield finding(
                "NO-ROCMLIR", Severity.WARNING, f"components.{name}.needs", "MIGraphX is built without rocMLIR",
                "no release is known to compile so", "add a component of kind `rocmlir` and name it in `needs`",
            )  # fmt: skip
        elif inputs.lock is not None:
            rows = (d for d in inputs.lock.deps.get(component.source, ()) if d.name in ROCMLIR)
            yield from (f for row in rows for f in _against(row, rocmlir, inputs.lock.commits.get(rocmlir.source, "")))


def _against(row: Dep, rocmlir: RocMLIR, commit: str) -> Iterator[Finding]:
    """What that line asks for and the component that stands for it is not."""
    pinned_commit = row.url.rpartition("/")[2].removesuffix(".tar.gz")
    origin, subject = "MIGraphX's own requirements.txt", f"sources.{rocmlir.source}"
    if commit and not pinned_commit.startswith(commit):
        yield finding(
            "ROCMLIR-PIN", Severity.WARNING, subject, f"{commit[:12]}, but {origin} pins {pinned_commit[:12]}",
            "nobody is known to have built that pair", f"use `ref: {pinned_commit}`",
        )  # fmt: skip
    for option in row.options:
        if option.removeprefix("-D").partition("=")[0] not in {**OPTIONS, **rocmlir.options}:
            yield finding(
                "ROCMLIR-OPTION", Severity.WARNING, subject, f"{origin} builds {row.name} with {option}, the component does not",
                "a library made in another way may not be what MIGraphX links", "write it in the component's `options`",
            )  # fmt: skip


def _from_base(inputs: CheckInput) -> Iterator[Finding]:
    """A `from_base` that names no line of the requirements: upstream dropped or renamed it."""
    for name, component in inputs.recipe.components.items():
        rows = inputs.lock.deps.get(component.source) if inputs.lock and isinstance(component, MIGraphX) else None
        if not isinstance(component, MIGraphX) or rows is None:
            continue
        listed_names = [row.name for row in rows]
        for need in (n for n in component.from_base if n not in listed_names):
            yield finding(
                "FROM-BASE", Severity.WARNING, f"components.{name}.from_base", f"{need} is not a line of its requirements.txt",
                "what it stood for may have another name now, and is built then",
                f"take it out; the lines are {', '.join(listed_names)}",
            )  # fmt: skip


def _waivers(inputs: CheckInput) -> Iterator[Finding]:
    for i, gate in enumerate(inputs.recipe.gates):
        waivers = waivers_that_hold([gate], inputs.today)
        for j, waiver in enumerate(gate.waivers):
            if waiver not in waivers:
                what = "ended" if waiver.until < inputs.today else "is more than a year ahead"
                yield finding(
                    "WAIVER", Severity.WARNING, f"gates.{i}.waivers.{j}.until", f"the waiver of {waiver.case} {what}: {waiver.until}",
                    "it is not applied: a failure of that case fails the gate", "remove it, or write a day of the coming year",
                )  # fmt: skip


def _lock(inputs: CheckInput) -> Iterator[Finding]:
    name = inputs.given_name or inputs.recipe.name
    if inputs.lock is None:
        yield finding(
            "LOCK", Severity.WARNING, "lock", "there is no fresh lock", "a build stops without one",
            f"run `stackbuild lock --recipe {name}`",
        )  # fmt: skip
        return
    for line in missing_entries(inputs.recipe, inputs.lock):
        subject, _, what = line.partition(": ")
        yield finding(
            "UNLOCKED", Severity.WARNING, subject, what, "the build stops before it starts",
            f"run `stackbuild lock --recipe {name}` where the network or a mirror is",
        )  # fmt: skip
    for source, commit in inputs.lock.commits.items():
        if len(commit) < 40:
            yield finding(
                "SHORT-COMMIT", Severity.NOTE, f"sources.{source}", f"the commit is known to {len(commit)} digits: {commit}",
                "what is fetched must begin with them; a short commit id guards against mistakes, not tampering",
                f"`stackbuild lock --recipe {name}` completes it",
            )  # fmt: skip


def _unconfirmed_lines(inputs: CheckInput) -> Iterator[Finding]:
    for number, line in enumerate(inputs.text.splitlines(), 1):
        match = _UNCONFIRMED_COMMENT.search(line)
        if match and not line.startswith("# Lines marked"):
            yield Finding(
                "SB-STACK-UNCONFIRMED", Severity.NOTE, f"{inputs.path}:{number}", f"unconfirmed: {match[1].strip() or line.strip()}",
                "no source that could be read says so", "confirm it, then take the word `unconfirmed` out of the comment",
                place=SourceLocation(inputs.path, number),
            )  # fmt: skip
