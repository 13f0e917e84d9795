"""Draws what `env` and `doctor` found."""

from __future__ import annotations

import sys
import textwrap

from stackbuild.checks.start import StartAnswer
from stackbuild.checks.venv import VenvReport
from stackbuild.machine.env import VariableWarning
from stackbuild.model.findings import Rung, Severity, Status
from stackbuild.views.console import Text, err, indent, out, print_text, table, wraps

SEVERITIES = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.NOTE: "blue"}
SHOWN_WHEELS = 4
"""So many wheels of others are drawn; all of them are in the JSON."""
MARKS = {Status.PASSED: ("✓", "green"), Status.FAILED: ("✗", "red"), Status.SKIPPED: ("-", "dim")}


def draw_environment(lines: str, warnings: tuple[VariableWarning, ...]) -> None:
    """The lines on stdout, to be evaluated or kept, their comments wrapped where lines are; the warnings beside them."""
    print_text("".join(_wrap(line, out().width) for line in lines.splitlines()) if wraps(sys.stdout) else lines)
    for warning in warnings:
        err().print(Text(f"warning: {warning.name}: {warning.why} [{warning.source}]", "yellow"))


def _wrap(line: str, width: int) -> str:
    """A line, a comment as several lines that are comments too."""
    if not line.startswith("# "):
        return f"{line}\n"
    parts = textwrap.wrap(line[2:], max(20, width - 2), break_long_words=False, break_on_hyphens=False)
    return "".join(f"# {part}\n" for part in parts)


def draw_start(answer: StartAnswer) -> None:
    """The recipes with what was proved of them, their commands, and the wheels of others with how to install them."""
    name = answer.gfx if answer.gpu == answer.gfx else f"{answer.gpu} is {answer.gfx}"
    out().print(Text(f"{name}.", "bold"))
    for note in answer.notes:
        out().print(Text(f"note: {note}", "yellow"))
    if answer.wheels:
        out().print(Text("\nWheels that others made, for a ROCm with code for this GPU. None was run here:"))
        for wheel in answer.wheels[:SHOWN_WHEELS]:
            claim = "on AMD's list" if wheel.claim == "supported" else "not on AMD's list, binaries were made"
            name = wheel.distribution or "ONNX Runtime with a plugin provider,"
            out().print(Text(f"{name} {wheel.version}", "bold"), Text(f"— by {wheel.publisher}, for ROCm {wheel.rocm}"))
            out().print(indent(f"this GPU with that ROCm: {claim}"))
            out().print(indent(f"[{wheel.source}]", "dim"))
            out().print(indent(wheel.install or f"addresses and commands: {wheel.page}", "cyan"))
        if (more := len(answer.wheels) - SHOWN_WHEELS) > 0:
            out().print(indent(f"and {more} more: --json lists them", "dim"))
        out().print(
            indent("`stackbuild inspect WHEEL` says what is inside one, `stackbuild verify WHEEL` tries it.", "dim")
        )
    if answer.recipes:
        out().print(Text("\nRecipes that build for it, the most useful first:"))
    for choice in answer.recipes:
        out().print(Text(f"\n{choice.recipe}", "bold"), Text(f"— {choice.summary}"))
        out().print(indent(f"runs: {choice.use}"))
        out().print(indent(f"proved: {choice.proof} [{choice.proof_source}]"))
        out().print(indent(f"takes: {choice.takes}; about {choice.disk >> 30} GiB of disk, a guess"))
        fits = not wraps(sys.stdout) or len(choice.command) + 2 <= out().width
        out().print(indent(choice.command if fits else choice.command.replace(" --gfx", " \\\n  --gfx"), "cyan"))
    if answer.recipes:
        err().print(Text("\n`stackbuild doctor --recipe NAME` checks this machine first.", "dim"))


def draw_doctor(rungs: tuple[Rung, ...]) -> None:
    rows = table("", "check", "found")
    for rung in rungs:
        mark, style = MARKS[rung.status]
        rows.add_row(Text(mark, style), Text(rung.name), Text(rung.reason))
    out().print(rows)
    failure_count = sum(rung.status is Status.FAILED for rung in rungs)
    sentence = f"{failure_count} to fix (✗)" if failure_count else "nothing to fix: stackbuild can build here"
    err().print(Text(f"{sentence}; - marks what was not checked or is only needed at times", "dim"))


def draw_venv(report: VenvReport) -> None:
    """Who owns the files of onnxruntime/, the providers, and what is wrong with the next step of each."""
    rows = table("distribution", "version", "files", "changed", "missing", "not known")
    for owner in report.owners:
        counts = map(str, (owner.files, owner.changed, owner.missing, owner.unknown))
        rows.add_row(*map(Text, (owner.distribution, owner.version, *counts)))
    if report.owners:
        out().print(Text(f"Files of onnxruntime/ in {report.folder}, Python {report.python}, by their distribution:"))
        out().print(rows)
    if any(owner.unknown for owner in report.owners):
        out().print(Text("not known: RECORD has no digest of these files, so their sizes alone were compared", "dim"))
    if row := report.extension:
        owner_text = f"by its {row.evidence}, that of {row.owner}" if row.owner else "whose it is, is not known"
        out().print(Text(f"Python imports {row.file}: {owner_text}"))
    for provider in report.providers:
        sentence = (
            f"cannot be loaded: no {', '.join(provider.missing)}" if provider.missing else "its libraries are found"
        )
        out().print(Text(f"{provider.provider}: {sentence} ({provider.file} of {provider.owner})"))
    steps: dict[str, str] = {}
    for finding in report.findings:
        severity = finding.severity
        out().print(
            Text(f"{severity.value:8}", SEVERITIES[severity]),
            Text(f"{finding.subject}: {finding.found}"),
            Text(f"[{finding.rule}]", "dim"),
        )
        out().print(indent(finding.why, "dim", 9))
        step = f"as for {steps[finding.fix]} above" if finding.fix in steps else finding.fix
        steps.setdefault(finding.fix, finding.rule)
        out().print(indent(f"next: {step}" + (f" [{finding.link}]" if finding.link else ""), "", 9))
    errors = sum(f.severity is Severity.ERROR for f in report.findings)
    err().print(
        Text(f"{errors} to fix" if errors else "nothing to fix: read from files alone, nothing of it was run", "dim")
    )
