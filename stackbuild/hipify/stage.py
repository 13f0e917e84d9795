"""The recipe's `hipify:` stage: a source tree in, the same tree as HIP out, and a report of the conversion.

Files that are not converted are copied as they are. A finding that the recipe does not allow stops the step.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from shutil import copyfile, copymode
from typing import Any

from stackbuild.core.digest import of_value
from stackbuild.core.errors import StepFailed, UsageError
from stackbuild.hipify.code import code_digest
from stackbuild.hipify.engines import Engine
from stackbuild.hipify.model import Report, Target
from stackbuild.hipify.rules import rule_files
from stackbuild.hipify.rules.rules import RuleSet, renamed_path
from stackbuild.hipify.tree.files import LEADS_OUT, SourceSelection, walk
from stackbuild.hipify.tree.state import STATE
from stackbuild.hipify.tree.tree import hipify_files
from stackbuild.model.findings import Finding, Severity

MAX_LINES = 5


@dataclass(frozen=True)
class ConversionOptions:
    """How a recipe wants its source converted, from the step's parameters."""

    rules: tuple[str, ...]
    engine: str
    include: tuple[str, ...]
    exclude: tuple[str, ...]
    keeps_twins: bool
    strict: bool
    resolve: bool
    target: Target

    @classmethod
    def of(cls, params: Mapping[str, Any], rocm: str) -> ConversionOptions:
        """Of the parameters' values as they were before they were printed."""
        return cls(
            rules=tuple(params["rules"]),
            engine=params["engine"],
            include=tuple(params["include"]),
            exclude=tuple(params["exclude"]),
            keeps_twins=params["twins"] == "keep",
            strict=params["strict"],
            resolve=params["resolve"],
            target=Target(
                rocm=rocm,
                launch=params["launch"],
                flavour=params["flavour"],
                experimental=params["experimental"],
                wavefronts=tuple(params["wavefronts"]),
                lint=params["lint"],
            ),
        )


def rules_of(names: Sequence[str], folder: Path) -> RuleSet:
    """The rule sets of a recipe in `folder`: bundled by name, its own by path. Raises UsageError, RecipeError."""
    return rule_files.load([str(folder / name) if name.endswith((".yaml", ".yml")) else name for name in names])


def code_and_rules(rules: RuleSet) -> str:
    """The digest of what converts: the rules, and this package's own code."""
    return of_value([code_digest(), rules.digest])


def convert_source(source: Path, scratch: Path, engine: Engine, options: ConversionOptions) -> Report:
    """Convert `source` into `scratch`. The report is also of files that stay as they are. Raises StepFailed, UsageError.

    Links stay links. Their targets inside the source are converted themselves; a link out of the source could lead to
    anything on this machine.
    """
    files = walk(SourceSelection((source,), scratch, options.include, options.exclude))
    twins = _twins(source, [job.name for job in files.jobs], engine, options)
    jobs = [job for job in files.jobs if job.name not in twins and not job.source.is_symlink()]
    count = len(files.jobs) + sum(finding.found == LEADS_OUT for finding in files.skipped_files)
    if count and not jobs:
        raise UsageError(
            f"its {count} C, C++ and CUDA files are links, or stay as they are",
            where=str(source),
            next="name the folder that the links lead to as the source",
        )
    return hipify_files(replace(files, jobs=jobs), engine)


def overlay(report: Report, scratch: Path, target: Path, engine: Engine) -> None:
    """Put the converted files over `target`, which is a copy of the source. Raises StepFailed."""
    for path in sorted(p for p in scratch.rglob("*") if p.is_file() and p.name != STATE):
        _overlay_file(path, target / path.relative_to(scratch), engine)
    for file in report.files:
        copymode(file.source, target / Path(file.output).relative_to(scratch))


def _overlay_file(converted_file: Path, output: Path, engine: Engine) -> None:
    """Put one file into the copy. A support header may not replace a file of the source's own."""
    if (
        converted_file.name in engine.rules.shims
        and output.is_file()
        and output.read_bytes() != converted_file.read_bytes()
    ):
        raise StepFailed(
            f"the source has a {converted_file.name} of its own", where="hipify", next="leave it out of the source"
        )
    output.parent.mkdir(parents=True, exist_ok=True)
    output.unlink(missing_ok=True)
    copyfile(converted_file, output)


def _twins(source: Path, names: Sequence[str], engine: Engine, options: ConversionOptions) -> frozenset[str]:
    """The files that a path rule would put over another file of the source. Raises StepFailed where that is refused."""
    moving = [
        r for r in engine.rules.rules if r.kind == "path" and r.is_for_target(engine.target.rocm, engine.target.flavour)
    ]
    moves = {name: renamed_path(name, moving)[0] for name in names} if moving else {}
    twins = [name for name, to in moves.items() if to != name and (source / to).exists()]
    if twins and not options.keeps_twins:
        raise StepFailed(
            f"{twins[0]} would become {moves[twins[0]]}, which the source has already{_more(len(twins))}",
            where="hipify",
            next="`twins: keep` keeps the source's own; or leave the file out with `exclude`",
        )
    return frozenset(twins)


def refuse(report: Report, strict: bool) -> None:
    """Raise StepFailed for rules that did nothing and, where it is strict, for errors."""
    errors = [f for f in report.findings if f.severity is Severity.ERROR]
    if faults := [f for f in report.faults if f.severity is Severity.ERROR]:
        lines = "; ".join(line(f) if f.place else f.found for f in faults[:MAX_LINES])
        raise StepFailed(lines + _more(len(faults), MAX_LINES), where="hipify.rules", next=faults[0].fix)
    if strict and errors:
        lines = "; ".join(line(f) for f in errors[:MAX_LINES])
        raise StepFailed(lines + _more(len(errors), MAX_LINES), where="hipify.strict", next=errors[0].fix)


def _more(count: int, limit: int = 1) -> str:
    return f" (and {count - limit} more)" if count > limit else ""


def line(finding: Finding) -> str:
    """A finding as a compiler prints one."""
    place = finding.place
    where = f"{place.file}:{place.line}:{place.column}" if place else finding.subject
    return f"{where}: {finding.severity.value}: {finding.found} [{finding.rule}]"
