"""What no build of a recipe can get past, and what nobody knows, by the compatibility table. Pure."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterator
from dataclasses import replace

from stackbuild.core.errors import PlanError
from stackbuild.core.shell_words import shell_word
from stackbuild.core.versions import numbers, series
from stackbuild.model.components import HipdnnEp, MIGraphXEp, OnnxRuntime, Wheel
from stackbuild.model.findings import Finding, Severity
from stackbuild.model.loaded_recipe import LoadedRecipe
from stackbuild.model.lock import Lock
from stackbuild.model.recipe import Recipe
from stackbuild.recipe import recipe_rules
from stackbuild.recipe.coherence import contradictions
from stackbuild.recipe.completeness import omissions
from stackbuild.recipe.consistency import disagreements, tree_versions
from stackbuild.recipe.plausibility import implausible_values
from stackbuild.tables.compatibility import GfxRow, Table, table
from stackbuild.tables.targets import processor

LAST_ROCM_EP = (1, 22)
"""The last ONNX Runtime with the ROCm execution provider."""
_RUNTIME = re.compile(r"libamdhip64\.so\.([0-9]+)")


def findings(recipe: Recipe, compatibility: Table) -> Iterator[Finding]:
    """Everything that the table has to say about a recipe, without what follows from another finding."""
    yield from without_consequences([f for check in (_rocm, *_IMPOSSIBLE) for f in check(recipe, compatibility)])


_OF_ROCM = (
    *(recipe_rules.MIGRAPHX, recipe_rules.WHEEL_VERSION, recipe_rules.REF, recipe_rules.HOME, recipe_rules.ADDRESS),
    *(recipe_rules.SONAME, recipe_rules.ROCM_PATCH),
)
_OF_PYTHON = (recipe_rules.PYTHON, recipe_rules.NO_PYTHON, recipe_rules.REQUIRES_PYTHON)
_CONSEQUENCES = (
    (recipe_rules.ROCM, (recipe_rules.IMAGE_ROCM, recipe_rules.GFX, recipe_rules.ROCMLIR, *_OF_ROCM)),
    (recipe_rules.IMAGE_ROCM, _OF_ROCM),
    (recipe_rules.IMAGE_APT, (recipe_rules.IMAGE_TAG,)),
    (recipe_rules.IMAGE_PYTHON, _OF_PYTHON),
    (recipe_rules.DEBIAN_PYTHON, _OF_PYTHON),
    (recipe_rules.NO_PYTHON, (recipe_rules.PYTHON, recipe_rules.REQUIRES_PYTHON)),
    (recipe_rules.REF, (recipe_rules.MIGRAPHX, recipe_rules.ROCMLIR, recipe_rules.ORT_VERSION)),
    (recipe_rules.ORT_VERSION, (recipe_rules.WHEEL_VERSION,)),
)
"""Rules, and those whose findings follow from the same wrong value. A rule stands before what it explains."""


def without_consequences(findings: list[Finding]) -> list[Finding]:
    """The findings without those that follow from another one, which is then as severe as they were."""
    for rule, following in _CONSEQUENCES:
        causes = [f for f in findings if f.rule == rule.id and _is_of_recipe(f)]
        ids = {each.id for each in following}
        consequences = [f for f in findings if f.rule in ids and causes]
        if consequences:
            gravest = min((f.severity for f in (*causes, *consequences)), key=list(Severity).index)
            findings = [replace(f, severity=gravest) if f in causes else f for f in findings if f not in consequences]
    by_place: dict[tuple[str, str], Finding] = {}
    for each in sorted(findings, key=lambda f: list(Severity).index(f.severity)):
        by_place.setdefault((each.rule, each.subject), each)
    return [each for each in findings if by_place[each.rule, each.subject] is each]


def _is_of_recipe(finding: Finding) -> bool:
    """Whether the value that a finding names is the wrong one: not an image that the wheels' versions contradict too."""
    return finding.rule != recipe_rules.IMAGE_ROCM.id or "the image and the wheels" in finding.found


def impossible(recipe: Recipe, compatibility: Table) -> tuple[Finding, ...]:
    """The findings that no build of the recipe can get past. A ROCm that the table does not know is not one of them."""
    return tuple(f for check in _IMPOSSIBLE for f in check(recipe, compatibility) if f.severity is Severity.ERROR)


def refuse_impossible(loaded_recipe: LoadedRecipe, lock: Lock | None = None) -> None:
    """Before an hour is spent: what cannot work, by the compatibility table and by what the lock read in the sources.

    Raises PlanError with all of it.
    """
    _refuse((*impossible(loaded_recipe.recipe, table()), *_of_other_trees(loaded_recipe, lock)), loaded_recipe)


def refuse_other_trees(loaded_recipe: LoadedRecipe, lock: Lock) -> None:
    """What the lock read in the sources alone. Raises PlanError with all of it."""
    _refuse(_of_other_trees(loaded_recipe, lock), loaded_recipe)


def _of_other_trees(loaded_recipe: LoadedRecipe, lock: Lock | None) -> tuple[Finding, ...]:
    return tuple(tree_versions(loaded_recipe.recipe, lock)) if lock else ()


def _refuse(findings: tuple[Finding, ...], loaded_recipe: LoadedRecipe) -> None:
    if findings:
        raise PlanError(
            "; ".join(f"{f.found}: {f.why}" for f in findings),
            where=findings[0].subject,
            next=f"{findings[0].fix}; `stackbuild help {findings[0].rule}` explains it, "
            f"`stackbuild recipe check --recipe {shell_word(loaded_recipe.given_name)}` lists all",
        )


def doubts(loaded_recipe: LoadedRecipe) -> tuple[str, ...]:
    """What is built although the compatibility table knows nothing about it, a line each."""
    return tuple(f"{f.found}: {f.why}; {f.fix}" for f in _rocm(loaded_recipe.recipe, table()))


def _rocm(recipe: Recipe, compatibility: Table) -> Iterator[Finding]:
    rocm = recipe.rocm
    if rocm is None or compatibility.line(rocm) is not None:
        return
    versions = [r.version for r in compatibility.rocm]
    close = sorted(versions, key=lambda version: abs(_on_scale(version) - _on_scale(series(rocm))))
    yield recipe_rules.ROCM.finding(
        "rocm", f"ROCm {rocm} is not in the compatibility table", fix=f"nearest known: {close[0]}; known are {', '.join(versions)}",
    )  # fmt: skip


def _on_scale(version: str) -> int:
    """A release as one number, to say which is nearest: 6.4 as 604."""
    major, minor, *_ = (*numbers(version), 0)
    return 100 * major + minor


def _gfx(recipe: Recipe, compatibility: Table) -> Iterator[Finding]:
    rocm = recipe.rocm
    targets = compatibility.targets(rocm) if rocm else {}
    for i, gfx in enumerate(recipe.gfx if not rocm else ()):
        if not any(processor(gfx) in row.targets for row in compatibility.gfx):
            yield recipe_rules.GFX_UNOFFICIAL.finding(
                f"gfx.{i}", f"no ROCm of the compatibility table lists {gfx}",
                why="the compiler knows it; whether the runtime knows the GPU is not said", fix="test it on that GPU",
            )  # fmt: skip
    for i, gfx in enumerate(recipe.gfx if targets else ()):
        at = f"gfx.{i}"
        row = targets.get(gfx.partition(":")[0])
        if row is None and not _calls_libraries(recipe):
            yield recipe_rules.GFX_UNOFFICIAL.finding(
                at, f"{gfx} with ROCm {rocm}: not a target of its libraries",
                why="the recipe's kernels are compiled for it and call none of them; whether the runtime knows the GPU is not said", fix="test it on that GPU",
            )  # fmt: skip
        elif row is None:
            yield recipe_rules.GFX.finding(at, f"ROCm {rocm} has no {gfx}", fix=_without_target(gfx, rocm or "", compatibility))
        elif row.status != "supported":
            yield _unofficial(
                at, f"{gfx} with ROCm {rocm}: {row.status}", row, any(r.status == "supported" for r in targets.values())
            )


def _without_target(gfx: str, rocm: str, compatibility: Table) -> str:
    """The next step for a target that a ROCm lacks: to remove it, or the nearest ROCm of the table that has it."""
    have = [r.version for r in compatibility.rocm if gfx.partition(":")[0] in compatibility.targets(r.version)]
    nearest = min(have, key=lambda version: abs(_on_scale(version) - _on_scale(series(rocm))), default="")
    step = f"remove `{gfx}`"
    if nearest:
        return f"{step}, or take ROCm {nearest}, which has it"
    family = [target for target in compatibility.targets(series(rocm)) if target[:-1] == gfx.partition(":")[0][:-1]]
    other = f"; of its family ROCm {rocm} has {', '.join(f'`{each}`' for each in family)}" if family else ""
    return f"{step}: no ROCm of the table has it{other}"


def _calls_libraries(recipe: Recipe) -> bool:
    """Whether something of a recipe runs code objects that ROCm's libraries bring along: all but the bundled kernels."""
    return any(component.kind not in ("kernels", "wheel") for component in recipe.components.values())


def _unofficial(at: str, what: str, row: GfxRow, listed: bool) -> Finding:
    """Binaries were seen. `listed`: the table has AMD's list for that ROCm, so it says that the target is not on it."""
    if listed:
        return recipe_rules.GFX_UNOFFICIAL.finding(
            at, f"{what}, not on AMD's list", fix="test it on that GPU", link=row.source,
        )  # fmt: skip
    return recipe_rules.GFX_UNOFFICIAL.finding(
        at, what,
        why="binaries for it exist; AMD's list for this ROCm is not in the table, so whether AMD supports it is not said", fix="look it up in AMD's system requirements", link=row.source,
    )  # fmt: skip


def _runtimes(recipe: Recipe) -> Iterator[tuple[str, OnnxRuntime]]:
    return ((n, c) for n, c in recipe.components.items() if isinstance(c, OnnxRuntime))


def _pythons(recipe: Recipe, compatibility: Table) -> Iterator[Finding]:
    for name, component in _runtimes(recipe):
        row = compatibility.pythons(component.version)
        for i, python in enumerate(recipe.python if row and component.python_package else ()):
            if row and python not in row.versions:
                yield recipe_rules.PYTHON.finding(
                    f"python.{i}", f"ONNX Runtime {component.version} is not built for Python {python}",
                    why=f"{name} would compile for an hour and then fail", fix=f"it has {', '.join(row.versions)}", link=row.source,
                )  # fmt: skip


def check_rocm_ep(name: str, component: OnnxRuntime, rocm: str) -> None:
    """Refuse before an hour is spent what fails after one. Raises PlanError."""
    if "rocm" not in component.providers:
        return
    if numbers(component.version)[:2] > LAST_ROCM_EP:
        raise PlanError(
            f"ONNX Runtime {component.version} has no ROCm EP: it was removed in 1.23 (microsoft/onnxruntime#25181), and "
            "its build.py fails only at the very end (onnxruntime#26205)",
            where=f"components.{name}.providers",
            next="use `providers: [migraphx]`, or ONNX Runtime 1.22",
        )
    if rocm and numbers(rocm)[:2] > (7, 0):
        raise PlanError(
            f"ROCm {rocm} does not support the ROCm EP: 7.0 is the last that does (onnxruntime#26211)",
            where=f"components.{name}.providers",
            next="use `providers: [migraphx]`",
        )


def _rocm_ep(recipe: Recipe, compatibility: Table) -> Iterator[Finding]:
    for name, component in _runtimes(recipe):
        try:
            check_rocm_ep(name, component, recipe.rocm or "")
        except PlanError as error:
            yield recipe_rules.ROCM_EP.finding(error.where, error.what, fix=error.next)


def _cmake(recipe: Recipe, compatibility: Table) -> Iterator[Finding]:
    extend = recipe.base.extend
    for name, component in recipe.components.items() if extend else ():
        if not isinstance(component, (OnnxRuntime, MIGraphXEp, HipdnnEp)) or extend is None:
            continue
        version = component.version if isinstance(component, OnnxRuntime) else "99"
        rows = [
            r for r in compatibility.cmake if r.component == component.kind and numbers(r.since) <= numbers(version)
        ]
        least = max(rows, key=lambda r: numbers(r.least), default=None)
        if least and numbers(extend.cmake) < numbers(least.least):
            yield recipe_rules.CMAKE.finding(
                "base.extend.cmake", f"CMake {extend.cmake}, and `{name}` demands {least.least}",
                fix=f"set `base.extend.cmake` to {least.least} or newer", link=least.source,
            )  # fmt: skip


def _sonames(recipe: Recipe, compatibility: Table) -> Iterator[Finding]:
    row = compatibility.line(recipe.rocm) if recipe.rocm else None
    for name, component in recipe.components.items():
        for i, pattern in enumerate(component.external if isinstance(component, Wheel) and row else ()):
            match = _RUNTIME.fullmatch(pattern)
            right = f"libamdhip64.so.{row.soname}" if row else ""
            if match and not fnmatch.fnmatchcase(right, pattern):
                yield recipe_rules.SONAME.finding(
                    f"components.{name}.external.{i}", f"{pattern} with ROCm {recipe.rocm}",
                    why=f"that ROCm has {right}", fix=f"write {right}", link=row.source if row else "",
                )  # fmt: skip


def _of_recipe_alone(recipe: Recipe, _: Table) -> Iterator[Finding]:
    yield from contradictions(recipe)
    yield from implausible_values(recipe)


_IMPOSSIBLE = (_gfx, _pythons, _rocm_ep, disagreements, omissions, _cmake, _sonames, _of_recipe_alone)
