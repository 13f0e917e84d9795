"""`inspect` and `rules`."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from stackbuild.cli.app import JsonOption, app, argument, leave, option
from stackbuild.cli.completion import recipe_gfx, recipes, rule_ids

if TYPE_CHECKING:
    from stackbuild.inspection import Expectations, Facts
    from stackbuild.model.findings import Finding, Verification
    from stackbuild.model.recipe import Recipe

Sarif = Annotated[Path | None, option("--sarif", metavar="FILE", help="Also write the findings as SARIF 2.1.0.")]
Junit = Annotated[Path | None, option("--junit", metavar="FILE", help="Also write the result as JUnit XML.")]
Markdown = Annotated[
    Path | None, option("--markdown", metavar="FILE", help="Also write the cases as Markdown, for a CI summary.")
]
OptionalRecipe = Annotated[
    str | None,
    option(
        "--recipe",
        "-r",
        metavar="R",
        help="Judge by what this recipe expects of its wheels, too.",
        autocompletion=recipes,
    ),
]
RequiredGfx = Annotated[
    list[str] | None,
    option(
        "--gfx",
        help="With --recipe: the wheel was built for these of its GPU targets only; may be repeated.",
        autocompletion=recipe_gfx,
    ),
]


@app.command()
def inspect(
    files: Annotated[
        list[Path],
        argument(metavar="FILE…", help="Wheels, unpacked folders, shared libraries, code objects, build logs."),
    ],
    recipe: OptionalRecipe = None,
    gfx: RequiredGfx = None,
    diff: Annotated[
        bool, option("--diff", help="Compare two files, OLD and NEW: what the release gained and lost.")
    ] = False,
    kernels: Annotated[bool, option("--kernels", help="With --json: list every kernel of every code object.")] = False,
    json: JsonOption = False,
    sarif: Sarif = None,
    junit: Junit = None,
    markdown: Markdown = None,
) -> None:
    """Read what is inside wheels and libraries and judge it. Needs no GPU, no ROCm and no recipe.

    Exit 5 when there is an error finding. `stackbuild rules` explains the rules.

    Example: stackbuild inspect dist/simple/*/onnxruntime_migraphx-*.whl --sarif findings.sarif
    """
    from stackbuild.core.errors import UsageError

    if diff:
        if len(files) != 2:
            raise UsageError(
                "--diff compares two files", where=f"{len(files)} given", next="stackbuild inspect --diff OLD NEW"
            )
        if recipe is not None or gfx or kernels:
            raise UsageError(
                "--recipe, --gfx and --kernels do not go with --diff",
                next="inspect NEW by itself to judge it by a recipe",
            )
        _difference(files[0], files[1], json, sarif, junit, markdown)
        return
    if kernels and not json:
        raise UsageError("--kernels lists them in the JSON document only", next="add --json")
    inspections = [_inspect(file, recipe, tuple(gfx or ())) for file in files]
    joint_findings = _joint_findings([facts for facts, _ in inspections])
    _print(inspections, joint_findings, json, kernels)
    _write(inspections, joint_findings, sarif, junit, markdown)
    if any(
        f.severity == "error" for findings in (joint_findings, *(each for _, each in inspections)) for f in findings
    ):
        leave(5)


def _inspect(file: Path, recipe: str | None, gfx: tuple[str, ...]) -> tuple[Facts, tuple[Finding, ...]]:
    from stackbuild import inspection

    facts = inspection.inspect(file)
    return facts, inspection.judge(facts, expectations_for(recipe, facts.wheel.name if facts.wheel else "", gfx))


def expectations_for(recipe: str | None, distribution: str, gfx: tuple[str, ...] = ()) -> Expectations:
    """What the recipe, for those of its GPU targets (none: all), expects of that distribution's wheel; nothing without a recipe.
    Raises UsageError, RecipeError.

    Prints to stderr if the recipe makes no such wheel, or its lock has no commit for the source.
    """
    from stackbuild.core.errors import UsageError
    from stackbuild.inspection import NOTHING

    if recipe is None:
        if gfx:
            raise UsageError("--gfx narrows a recipe's GPU targets", where="--gfx", next="give --recipe R too")
        return NOTHING
    from stackbuild.recipe.wheels import narrow
    from stackbuild.verification.expectations import expectations_of
    from stackbuild.views.console import err

    read, commits = _recipe(recipe)
    expectations = expectations_of(narrow(read, gfx)[0], distribution, commits)
    if expectations == NOTHING:
        err().print(f"{recipe} makes no wheel of {distribution}: it is judged as any other", markup=False)
    return expectations


@cache
def _recipe(name: str) -> tuple[Recipe, dict[str, str]]:
    """A recipe, read once however many files are judged by it, and the commits that its lock has."""
    from stackbuild.core.errors import LockError
    from stackbuild.model.components import OnnxRuntime
    from stackbuild.recipe.load import load
    from stackbuild.recipe.lock_file import read_lock
    from stackbuild.views.console import err

    loaded_recipe = load(name)
    if not any(isinstance(component, OnnxRuntime) for component in loaded_recipe.recipe.components.values()):
        return loaded_recipe.recipe, {}
    try:
        return loaded_recipe.recipe, read_lock(loaded_recipe).commits
    except LockError as error:
        err().print(f"{name}: {error.what}: no commit is compared", markup=False)
        return loaded_recipe.recipe, {}


def _joint_findings(all_facts: list[Facts]) -> tuple[Finding, ...]:
    from stackbuild.inspection import judge_together

    return judge_together(tuple(all_facts))


def _print(
    inspections: list[tuple[Facts, tuple[Finding, ...]]], joint_findings: tuple[Finding, ...], json: bool, kernels: bool
) -> None:
    if json:
        from stackbuild.inspection.document import document
        from stackbuild.views.console import print_json

        files = [document(facts, findings, kernels=kernels) for facts, findings in inspections]
        print_json({"files": files, "together": joint_findings}, "stackbuild.inspect/1")
        return
    from stackbuild.views.console import out
    from stackbuild.views.inspect import draw_facts, draw_findings

    for facts, findings in inspections:
        draw_facts(facts)
        draw_findings(findings)
        out().print()
    if joint_findings:
        draw_findings(joint_findings)


def _write(
    inspections: list[tuple[Facts, tuple[Finding, ...]]],
    joint_findings: tuple[Finding, ...],
    sarif: Path | None,
    junit: Path | None,
    markdown: Path | None,
) -> None:
    """Write the requested reports: each file is a Verification with the static rung alone."""
    from stackbuild.verification.rungs.static import static_verification

    verifications = [static_verification(facts.path, facts.sha256, findings) for facts, findings in inspections]
    if joint_findings:
        verifications.append(static_verification("together", "", joint_findings))
    write_reports(verifications, sarif, junit, markdown)


def write_reports(
    verifications: list[Verification], sarif_file: Path | None, junit_file: Path | None, markdown_file: Path | None
) -> None:
    """Write the requested reports. Raises UsageError where a file cannot be written."""
    from stackbuild.core.errors import UsageError
    from stackbuild.views.junit import junit_of_verifications
    from stackbuild.views.markdown import markdown_of_verifications
    from stackbuild.views.sarif import sarif

    for path, text in (
        (sarif_file, sarif),
        (junit_file, junit_of_verifications),
        (markdown_file, markdown_of_verifications),
    ):
        if path is not None:
            try:
                path.write_text(text(verifications), encoding="utf-8", errors="replace")
            except OSError as error:
                raise UsageError(
                    f"cannot write the report: {error.strerror}",
                    where=str(path),
                    next="name a file in a folder that exists",
                ) from None


def _difference(
    old: Path, new: Path, json: bool, sarif: Path | None, junit: Path | None, markdown: Path | None
) -> None:
    from stackbuild import inspection
    from stackbuild.inspection.diff import difference
    from stackbuild.verification.rungs.static import static_verification
    from stackbuild.views.console import print_json
    from stackbuild.views.inspect import draw_difference

    after = inspection.inspect(new)
    changes = difference(inspection.inspect(old), after)
    print_json(changes, "stackbuild.inspect-diff/1") if json else draw_difference(changes)
    write_reports([static_verification(after.path, after.sha256, changes.findings)], sarif, junit, markdown)
    if changes.findings:
        leave(5)


@app.command()
def rules(
    ids: Annotated[
        list[str] | None,
        argument(metavar="[ID…]", help="Explain these rules; without one, list them all.", autocompletion=rule_ids),
    ] = None,
    markdown: Annotated[bool, option("--markdown", help="Print docs/rules.md.")] = False,
    json: JsonOption = False,
) -> None:
    """List the rules behind findings, or explain some.

    Example: stackbuild rules SB-ELF-CWD-RUNPATH
    """
    from stackbuild.checks.catalogue import catalogue, rules_by_id, rules_called
    from stackbuild.core.errors import UsageError
    from stackbuild.tables.near_words import rules_meant
    from stackbuild.views.console import print_json, print_text
    from stackbuild.views.rules import draw_list, draw_rules, text_of_all

    groups = catalogue()
    if ids:
        unknown_ids = [id_ for id_ in ids if not rules_called(id_)]
        if unknown_ids:
            advice = rules_meant(unknown_ids[0], [*rules_by_id()]) or "`stackbuild rules` lists them"
            raise UsageError(f"no rule {unknown_ids[0]!r}", next=advice)
        rows = [rule for id_ in ids for rule in rules_called(id_)]
        print_json([rule.description for rule in rows], "stackbuild.rules/1") if json else draw_rules(rows)
    elif markdown:
        print_text(text_of_all(groups))
    elif json:
        print_json([rule.description for _, descriptions in groups for rule in descriptions], "stackbuild.rules/1")
    else:
        draw_list(groups)
