"""The verb `recipe check`: what cannot work, what nobody confirmed and what the lock leaves open, before an hour is spent.

Pure but for the recipe's own text: recipe, lock and compatibility table in, findings out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date

from stackbuild.core.shell_words import shell_word
from stackbuild.core.sizes import size_of
from stackbuild.judgement import waivers_that_hold
from stackbuild.model.components import Convertible, MIGraphX, OnnxRuntime, RocMLIR
from stackbuild.model.findings import Finding, Severity, SourceLocation
from stackbuild.model.lock import ROCMLIR, Dep, Lock, missing_entries
from stackbuild.model.recipe import Recipe
from stackbuild.plan.estimates import estimates
from stackbuild.plan.steps.migraphx import PROBES
from stackbuild.plan.steps.rocmlir import OPTIONS
from stackbuild.recipe import compatibility, recipe_rules
from stackbuild.recipe.component_sources import sources_of
from stackbuild.recipe.consistency import tree_versions
from stackbuild.tables.compatibility import Table
from stackbuild.tables.near_words import close_to

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
        _idle_names,
        _waivers,
        _lock,
        _unconfirmed_lines,
    )
    findings = [*compatibility.findings(inputs.recipe, inputs.table), *(f for check in own for f in check(inputs))]
    return tuple(sorted(findings, key=lambda f: list(Severity).index(f.severity)))


def _unused_sources(inputs: CheckInput) -> Iterator[Finding]:
    source_names = {source for c in inputs.recipe.components.values() for source in sources_of(c).values()}
    for name in (name for name in inputs.recipe.sources if name not in source_names):
        yield recipe_rules.UNUSED_SOURCE.finding(
            f"sources.{name}", f"no component uses the source `{name}`", fix=f"name it in a component (`source: {name}`), or remove it",
        )  # fmt: skip


def _memory(inputs: CheckInput) -> Iterator[Finding]:
    for name, component in inputs.recipe.components.items():
        guess = estimates().get(component.kind)
        if guess and size_of(component.memory) < size_of(guess.memory) // 2:
            yield recipe_rules.MEMORY.finding(
                f"components.{name}.memory", f"{component.memory}, about {guess.memory} is expected",
                fix=f"write `memory: {guess.memory}`", link=guess.source,
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
            yield recipe_rules.HIPIFY.finding(
                f"components.{name}.hipify", "the base has no HIPIFY among its packages",
                fix="add `hipify-perl` to `base.debian.packages`, or name a source with `tool`",
            )  # fmt: skip
        elif conversion and conversion.engine == "clang" and locked_packages and "hipify-clang" not in locked_packages:
            yield recipe_rules.HIPIFY.finding(
                f"components.{name}.hipify.engine", "the base has no hipify-clang among its packages",
                why="it runs in the base", fix="add `hipify-clang` and CUDA's headers to `base.debian.packages`, or take `engine: fast`",
            )  # fmt: skip
        elif conversion and conversion.engine == "clang" and not locked_packages and _lists_no_hipify(inputs.recipe):
            yield recipe_rules.HIPIFY.finding(
                f"components.{name}.hipify.engine", "`engine: clang`, and the base lists no package of HIPIFY",
                why="it runs in the base", fix="add `hipify-clang` to `base.debian.packages`, or write `engine: fast`", severity=Severity.WARNING,
            )  # fmt: skip


def _lists_no_hipify(recipe: Recipe) -> bool:
    """Whether a Debian base lists no package of HIPIFY. Another one may still depend on it: the lock knows."""
    debian = recipe.base.debian
    return debian is not None and not any(package.startswith("hipify") for package in debian.packages)


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
            yield recipe_rules.NO_ROCMLIR.finding(
                f"components.{name}.needs", "MIGraphX is built without rocMLIR", fix="add a component of kind `rocmlir` and name it in `needs`",
            )  # fmt: skip
        elif inputs.lock is not None:
            rows = (d for d in inputs.lock.deps.get(component.source, ()) if d.name in ROCMLIR)
            yield from (f for row in rows for f in _against(row, rocmlir, inputs.lock.commits.get(rocmlir.source, "")))


def _against(row: Dep, rocmlir: RocMLIR, commit: str) -> Iterator[Finding]:
    """What that line asks for and the component that stands for it is not."""
    pinned_commit = row.url.rpartition("/")[2].removesuffix(".tar.gz")
    origin, subject = "MIGraphX's own requirements.txt", f"sources.{rocmlir.source}"
    if commit and not pinned_commit.startswith(commit):
        yield recipe_rules.ROCMLIR_PIN.finding(
            subject, f"{commit[:12]}, but {origin} pins {pinned_commit[:12]}", fix=f"use `ref: {pinned_commit}`",
        )  # fmt: skip
    for option in row.options:
        if option.removeprefix("-D").partition("=")[0] not in {**OPTIONS, **rocmlir.options}:
            yield recipe_rules.ROCMLIR_OPTION.finding(
                subject, f"{origin} builds {row.name} with {option}, the component does not", fix="write it in the component's `options`",
            )  # fmt: skip


def _from_base(inputs: CheckInput) -> Iterator[Finding]:
    """A `from_base` that names no line of the requirements: upstream dropped or renamed it."""
    for name, component in inputs.recipe.components.items():
        rows = inputs.lock.deps.get(component.source) if inputs.lock and isinstance(component, MIGraphX) else None
        if not isinstance(component, MIGraphX) or rows is None:
            continue
        listed_names = [row.name for row in rows]
        for need in (n for n in component.from_base if n not in listed_names):
            yield recipe_rules.FROM_BASE.finding(
                f"components.{name}.from_base", f"{need} is not a line of its requirements.txt",
                why="what it stood for may have another name now, and is built then", fix=f"take it out; the lines are {', '.join(listed_names)}",
            )  # fmt: skip


def _idle_names(inputs: CheckInput) -> Iterator[Finding]:
    """Items of `deps` and `probes_ok` that nothing has the name of."""
    probes = [probe for each in PROBES.values() for probe in each]
    for name, component in inputs.recipe.components.items():
        key, items, real_names = "", tuple[str, ...](), list[str]()
        if isinstance(component, MIGraphX):
            key, items, real_names = "probes_ok", component.probes_ok, probes
        elif isinstance(component, OnnxRuntime) and inputs.lock:
            key, items, real_names = "deps", component.deps, [row.name for row in inputs.lock.deps.get(component.source, ())]
        for i, item in enumerate(items if real_names else ()):
            if item not in real_names:
                what = "a row of its cmake/deps.txt" if key == "deps" else "a probe of MIGraphX"
                yield recipe_rules.NO_EFFECT.finding(
                    f"components.{name}.{key}.{i}", f"{item} is not {what}", fix=close_to(item, real_names)
                )


def _waivers(inputs: CheckInput) -> Iterator[Finding]:
    for i, gate in enumerate(inputs.recipe.gates):
        waivers = waivers_that_hold([gate], inputs.today)
        for j, waiver in enumerate(gate.waivers):
            if waiver not in waivers:
                what = "ended" if waiver.until < inputs.today else "is more than a year ahead"
                yield recipe_rules.WAIVER.finding(
                    f"gates.{i}.waivers.{j}.until", f"the waiver of {waiver.case} {what}: {waiver.until}",
                )  # fmt: skip


def _lock(inputs: CheckInput) -> Iterator[Finding]:
    name = inputs.given_name or inputs.recipe.name
    if inputs.lock is None:
        yield recipe_rules.LOCK.finding(
            "lock", "there is no fresh lock", fix=f"run `stackbuild lock --recipe {shell_word(name)}`",
        )  # fmt: skip
        return
    for line in missing_entries(inputs.recipe, inputs.lock):
        subject, _, what = line.partition(": ")
        yield recipe_rules.UNLOCKED_ENTRY.finding(
            subject, what, fix=f"run `stackbuild lock --recipe {shell_word(name)}` where the network or a mirror is",
        )  # fmt: skip
    for source, commit in inputs.lock.commits.items():
        if len(commit) < 40:
            yield recipe_rules.SHORT_COMMIT.finding(
                f"sources.{source}", f"the commit is known to {len(commit)} digits: {commit}", fix=f"`stackbuild lock --recipe {shell_word(name)}` completes it",
            )  # fmt: skip


def _unconfirmed_lines(inputs: CheckInput) -> Iterator[Finding]:
    for number, line in enumerate(inputs.text.splitlines(), 1):
        match = _UNCONFIRMED_COMMENT.search(line)
        if match and not line.startswith("# Lines marked"):
            evidence = f"unconfirmed: {match[1].strip() or line.strip()}"
            place = SourceLocation(inputs.path, number)
            yield recipe_rules.UNCONFIRMED_LINE.finding(f"{inputs.path}:{number}", evidence, place=place)
