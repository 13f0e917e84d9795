"""`hipify`: a component's CUDA source as HIP source, patched after that."""

from __future__ import annotations

import json

from stackbuild.actions.job import Job
from stackbuild.actions.patching import patch_notes, patch_series
from stackbuild.core.errors import StepFailed
from stackbuild.hipify import staged_engine
from stackbuild.hipify.model import Report
from stackbuild.hipify.patch_causes import cause_finder
from stackbuild.hipify.stage import ConversionOptions, code_and_rules, convert_source, line, overlay, refuse, rules_of
from stackbuild.hipify.tree.report_file import dump
from stackbuild.model.plan import CONVERSION, CONVERTED_SOURCE
from stackbuild.sources.local import settle
from stackbuild.sources.patches import apply


def do(job: Job) -> dict[str, str]:
    """Convert and patch into `job.out/source`; the report lies beside it. Raises StepFailed, UsageError, PlanError."""
    source, tables, *parsed_tables = (job.inputs[need.step] for need in job.step.needs)
    printed_params = {k: v for k, v in job.params.items() if k not in ("code", "patches", "rocm")}
    options = ConversionOptions.of({k: json.loads(v) for k, v in printed_params.items()}, job.params["rocm"])
    rules = rules_of(options.rules, job.locals[job.step.name].folder)
    if code_and_rules(rules) != job.params["code"]:
        raise StepFailed("the rules changed since the plan was made", where=job.step.name, next="run it again")
    engine = staged_engine(
        options.engine,
        tables,
        rules,
        options.target,
        options.resolve,
        parsed_tables[0] / "text" if parsed_tables else None,
    )
    target, scratch = job.out / CONVERTED_SOURCE, job.scratch / "converted"
    report = convert_source(source, scratch, engine, options)
    _log(report, job)
    refuse(report, options.strict)
    job.stopper.check()
    job.call(["cp", "-a", "--reflink=auto", "--no-preserve=ownership", str(source), str(target)], "coreutils")
    overlay(report, scratch, target, engine)
    series = patch_series(job)
    patches = apply(target, series, cause_finder(report, source, scratch, engine)) if series else ()
    settle(target)
    (job.out / CONVERSION).write_text(
        dump(report, source, scratch, patches), encoding="utf-8", errors="surrogateescape"
    )
    return {"files": str(len(report.files)), "tool": report.tool, **patch_notes(job)}


def _log(report: Report, job: Job) -> None:
    """The findings as a compiler prints them, then the counts: `stackbuild logs` shows it."""
    groups = ", ".join(f"{name} {count}" for name, count in report.substitutions.items())
    with job.log.open("a", encoding="utf-8", errors="backslashreplace") as log:
        log.writelines(f"{line(finding)}\n" for finding in report.findings)
        log.write(f"{len(report.files)} files, {len(report.findings)} findings, tables of {report.tool}\n")
        log.write(f"substitutions: {sum(report.substitutions.values())} ({groups or 'none'})\n")
