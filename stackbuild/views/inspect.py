"""Draws what `inspect` found: facts first, then findings by severity, each rule once."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence

from stackbuild.core.log_excerpt import clean
from stackbuild.inspection.diff import Difference
from stackbuild.inspection.facts import Facts, Library, TargetSummary
from stackbuild.inspection.rules.rule import count_of
from stackbuild.model.findings import Finding, Severity
from stackbuild.views.console import Table, Text, indent, out, table, wraps

_STYLES = {Severity.ERROR: "bold red", Severity.WARNING: "yellow", Severity.NOTE: "cyan"}
_SUBJECTS = 6


def size(number: int) -> str:
    """Bytes as people read them: 512 B, 13.2 kB, 56.9 MB."""
    amount = float(number)
    for unit in ("B", "kB", "MB"):
        if amount < 1000:
            return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1000
    return f"{amount:.2f} GB"


def draw_facts(facts: Facts) -> None:
    """One page of facts."""
    console = out()
    console.print(Text(_tidy(facts.subject), style="bold"))
    _pairs(_lines(facts))
    if facts.targets:
        console.print()
        _wide(_targets(facts.targets))
    if facts.libraries:
        console.print()
        _wide(_libraries(facts.libraries))
    console.print()


def _pairs(rows: Iterable[tuple[str, str]]) -> None:
    """Names and values; where lines are wrapped the value's lines stay under each other, elsewhere each is one line."""
    for name, value in rows:
        out().print(indent(_tidy(value), "", 13, f"  {name}", "dim"))


def _lines(facts: Facts) -> Iterable[tuple[str, str]]:
    metadata = facts.wheel
    unpacked_size = sum(member.size for member in facts.members)
    inside = (
        f"  ({size(unpacked_size)} unpacked, {count_of(len(facts.members), 'file')})"
        if facts.members and metadata
        else ""
    )
    if metadata:
        yield "wheel", f"{metadata.name or metadata.metadata_name} {metadata.version}"
    yield "size", size(facts.size) + inside
    if facts.sha256:
        yield "sha256", facts.sha256
    if metadata and metadata.filename_tags:
        yield "tags", ", ".join(metadata.filename_tags)
    if facts.policy:
        by = (
            f", decided by {facts.policy.deciding[1]} in {_name(facts.policy.deciding[0])}"
            if facts.policy.deciding
            else ""
        )
        yield "policy", facts.policy.name + by
        if facts.policy.external:
            yield "external", ", ".join(facts.policy.external)
    if metadata:
        yield "requires", ", ".join(metadata.requires) or "nothing"
    if facts.providers:
        yield "providers", ", ".join(f"{p.name} ({p.form})" for p in facts.providers)
    yield from _device_lines(facts)


def _device_lines(facts: Facts) -> Iterable[tuple[str, str]]:
    for device in facts.device:
        kinds = sorted({f"{b.compression} v{b.format}" if b.format else "plain" for b in device.bundles})
        versions = ", ".join(f"V{v}" for v in sorted({o.version for o in device.objects}))
        objects = count_of(len(device.objects), "code object") + (f" ({versions})" if versions else "")
        if [(bundle.format, bundle.entries, len(bundle.objects)) for bundle in device.bundles] == [(0, (), 1)]:
            yield "GPU code", f"{_name(device.path)}: {objects}"  # not in a bundle
        else:
            bundles = f"{count_of(len(device.bundles), 'bundle')} ({', '.join(kinds) or 'none'})"
            yield "GPU code", f"{_name(device.path)} {device.section}: {size(device.size)}, {bundles}, {objects}"
    for extra in facts.extras:
        if extra.kind == "Tensile library":
            says = (
                f"refers to {count_of(len(extra.refers), 'file')}"
                if extra.refers
                else count_of(extra.solutions, "solution")
            )
            yield "GEMMs", f"{extra.path}: {extra.kind} {extra.target}, {says}, {size(extra.size)}"
        else:
            yield "unread", f"{extra.path}: {extra.kind} {extra.target}, {size(extra.size)}"
    if facts.log:
        yield (
            "log",
            f"{count_of(len(facts.log.unused_options), 'option')} unused, {count_of(len(facts.log.native), 'file')} compiled for this"
            " machine only",
        )


def _targets(targets: Sequence[TargetSummary]) -> Table:
    drawing = table()
    drawing.add_column("target", no_wrap=True)
    for name in ("kernels", "empty", "size", "VGPR", "AGPR", "LDS", "scratch", "spill V/S", "wave"):
        drawing.add_column(name, justify="right", no_wrap=True)
    for target in targets:
        drawing.add_row(
            Text(_tidy(target.target)), f"{target.kernels:,}", f"{target.empty:,}", size(target.size), str(target.max_vgprs),
            str(target.max_agprs), size(target.max_lds), size(target.max_scratch), f"{target.spilling}/{target.sgpr_spilling}",
            "/".join(map(str, target.waves)),
        )  # fmt: skip
    return drawing


def _libraries(libraries: Sequence[Library]) -> Table:
    drawing = table()
    drawing.add_column("library", no_wrap=True, overflow="ellipsis")
    for name in ("size", "exports"):
        drawing.add_column(name, justify="right", no_wrap=True)
    drawing.add_column("stack", no_wrap=True)
    drawing.add_column("RUNPATH", overflow="fold")
    for lib in libraries:
        stack = {True: Text("exec", "red"), False: Text("ok"), None: Text("exec?", "red")}[lib.exec_stack]
        runpath = ":".join((*lib.rpath, *lib.runpath)) or "–"
        drawing.add_row(
            Text(_tidy(_name(lib.path))), size(lib.size), str(len(lib.exports)), stack, Text(_tidy(runpath))
        )
    return drawing


def _wide(table: Table) -> None:
    """A table at its full width, unless lines are wrapped."""
    console = out()
    if not wraps(sys.stdout):
        console.width = 1_000
    console.print(table)


def _tidy(text: str) -> str:
    """Text from a file that a stranger made, safe to show: one line, no control sequences."""
    return clean(text.replace("\n", "⏎"))


def draw_findings(findings: Sequence[Finding]) -> None:
    """Findings by severity; each rule once, with its subjects, why it matters and how to fix it."""
    console = out()
    console.print(_count(findings))
    for rule in dict.fromkeys(finding.rule for finding in findings):
        _draw_rule([finding for finding in findings if finding.rule == rule])
    if len({finding.rule for finding in findings}) > 3:  # the first line has left the screen by now
        console.print()
        console.print(_count(findings))


def _count(findings: Sequence[Finding]) -> Text:
    if not findings:
        return Text("✓ no findings", style="green")
    line = Text()
    for severity, style in _STYLES.items():
        number = sum(finding.severity is severity for finding in findings)
        if number:
            line.append(", " if line else "").append(f"{number} {severity}{'s' * (number != 1)}", style=style)
    return line


def _draw_rule(same: Sequence[Finding]) -> None:
    console, first = out(), same[0]
    console.print()
    console.print(Text.assemble((f"{first.severity:<8}", _STYLES[first.severity]), (first.rule, "bold")))
    _print_subjects(same)
    rows = [("fix", first.fix)] if first.severity is Severity.NOTE else [("why", first.why), ("fix", first.fix)]
    _pairs([*rows, ("more", first.link)] if first.link and first.severity is not Severity.NOTE else rows)


def _print_subjects(same: Sequence[Finding]) -> None:
    """The subjects of one rule, the first few."""
    for finding in same[:_SUBJECTS]:
        out().print(indent(Text.assemble((_tidy(_name(finding.subject)), "bold"), f": {_tidy(finding.found)}")))
    if len(same) > _SUBJECTS:
        out().print(indent(f"and {len(same) - _SUBJECTS} more", "dim"))


def _name(path: str) -> str:
    return path.rsplit("/", 1)[-1]


def draw_difference(difference: Difference) -> None:
    """Changes topic by topic: what was, what is."""
    console = out()
    console.print(Text.assemble((_tidy(difference.old), "bold"), " → ", (_tidy(difference.new), "bold")))
    if not difference.changes:
        console.print(Text("no difference in what is looked at", style="green"))
    for topic in dict.fromkeys(change.topic for change in difference.changes):
        rows = table(topic, "before", "after")
        for change in (c for c in difference.changes if c.topic == topic):
            rows.add_row(
                Text(_tidy(change.subject)), Text(_tidy(change.before or "–")), Text(_tidy(change.after or "–"))
            )
        console.print()
        _wide(rows)
    if difference.findings:
        console.print()
        draw_findings(difference.findings)
