"""Draws a hipify run: findings line by line as a compiler prints them, what each rule means once, and the counts."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from difflib import unified_diff
from pathlib import Path
from typing import Any
from urllib.parse import quote

from stackbuild.core.digest import plain
from stackbuild.core.errors import safe
from stackbuild.core.templates import render
from stackbuild.hipify.compilation.compile_check import CountCallback
from stackbuild.hipify.model import FileReport, Report
from stackbuild.hipify.perl.compare import Comparison
from stackbuild.hipify.tree.files import SourceSelection
from stackbuild.hipify.tree.preview import Change
from stackbuild.model.findings import Finding, Rung, Severity, Status, Verification
from stackbuild.version import __version__
from stackbuild.views.console import Text, err, out, print_bytes, print_json, print_text, progress_bar, table

_STYLE = {Severity.ERROR: "bold red", Severity.WARNING: "yellow", Severity.NOTE: "dim"}
SCHEMA = "stackbuild.hipify/1"


def draw_report(run: Report) -> None:
    """The whole report for a person: findings, their meaning, counts."""
    for finding in run.findings:
        out().print(_line(finding))
    if run.findings:
        out().print()
        _meanings(run.findings)
    draw_summary(run)


def _line(finding: Finding) -> Text:
    place = finding.place
    where = safe(f"{place.file}:{place.line}:{place.column}" if place else finding.subject, keep="")
    return Text.assemble(
        f"{where}: ", (finding.severity.value, _STYLE[finding.severity]), f": {finding.found} [{finding.rule}]"
    )


def _meanings(findings: tuple[Finding, ...]) -> None:
    counts = Counter(f.rule for f in findings)
    for finding in {f.rule: f for f in findings}.values():
        out().print(Text.assemble((finding.rule, "bold"), f" ({counts[finding.rule]}): {finding.why}"))
        fixes: dict[str, str] = {}
        for one in findings:
            if one.rule == finding.rule:
                fixes.setdefault(one.fix, one.found)
        for fix, case in fixes.items():
            out().print(Text(f"    do: {fix}" if len(fixes) == 1 else f"    do, where {case}: {fix}"))
        if finding.link:
            out().print(Text(f"    see: {finding.link}", style="dim"))
    out().print()


def draw_summary(run: Report) -> None:
    """The counts: files by state, findings by severity, substitutions by API group."""
    states = Counter(file.state for file in run.files)
    counts = Counter(f.severity for f in run.findings)
    files = ", ".join(f"{states[s]} {s}" for s in ("converted", "unchanged", "copied", "refused") if states[s])
    out().print(
        Text(f"{len(run.files)} files: {files or 'none'}; {run.changed_outputs} written, {len(run.removed)} removed")
    )
    counts_text = ", ".join(f"{counts[s]} {s.value}{'s' * (counts[s] != 1)}" for s in Severity if counts[s])
    out().print(Text(f"findings: {counts_text or 'none'}"))
    groups = sorted(run.substitutions.items(), key=lambda item: (-item[1], item[0]))
    rows = ", ".join(f"{name} {count}" for name, count in groups)
    out().print(Text(f"substitutions: {sum(run.substitutions.values())} ({rows})" if groups else "substitutions: none"))
    err().print(Text(f"{run.engine} engine, tables of {run.tool}, {run.seconds:.2f} s"))


def print_report_json(run: Report) -> None:
    """The run as one JSON document."""
    print_json(json_of(run), SCHEMA)


def json_of(run: Report) -> dict[str, Any]:
    """The JSON form of a run: stable order, and the same for an unchanged tree but for the seconds."""
    by_severity = Counter(f.severity.value for f in run.findings)
    counts = {s.value: by_severity[s.value] for s in Severity}
    body: dict[str, Any] = {"engine": run.engine, "tool": run.tool, "target": _plain_target(run), "counts": counts}
    body |= {"substitutions": run.substitutions, "written": run.changed_outputs, "removed": list(run.removed)}
    body |= {
        "rules": plain(run.rules),
        "entries": plain(run.entries),
        "files": [_plain_file(file) for file in run.files],
        "seconds": round(run.seconds, 3),
    }
    return body


def _plain_target(run: Report) -> dict[str, Any]:
    target: Any = plain(run.target)
    return {key: value for key, value in target.items() if key not in ("declared", "own_headers", "tree")}


def _plain_file(file: FileReport) -> dict[str, Any]:
    document: Any = plain(file)
    return {key: value for key, value in document.items() if key not in ("declares", "unless")}


def print_annotations(run: Report, selection: SourceSelection) -> None:
    """The findings as GitHub's workflow commands, which a job's log shows at the lines of a change."""
    kinds = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}
    root = Path.cwd()
    for finding in run.findings:
        place = finding.place
        lies = _lies(
            place.file if place else finding.subject,
            (*selection.sources, selection.out),
            several=len(selection.sources) > 1,
        )
        where = [f"file={_property(_relative_path(lies, root))}"] if lies else []
        where += [f"line={place.line}", f"col={place.column}"] if place and lies else []
        message = f"{finding.found}. {finding.why}. Do: {finding.fix}"
        print_text(
            f"::{kinds[finding.severity]} {','.join([*where, f'title={_property(finding.rule)}'])}::{_message(message)}\n"
        )


def _relative_path(path: Path, root: Path) -> str:
    whole = Path(os.path.abspath(path))  # noqa: PTH100 (a link stays one)
    return str(whole.relative_to(root)) if whole.is_relative_to(root) else str(whole)


def _message(text: str) -> str:
    return safe(text, keep="\r\n").replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _message(text).replace(":", "%3A").replace(",", "%2C")


@contextmanager
def check_progress() -> Iterator[CountCallback]:
    """How far the compiler is: a bar on a terminal, elsewhere a line on stderr at the start and then every ten seconds."""
    began = last = time.monotonic()
    with progress_bar() as bar:
        task = bar.add_task("hipcc", total=None)

        def show(count: int, total: int) -> None:
            nonlocal last
            bar.update(task, completed=count, total=total)
            now = time.monotonic()
            if bar.disable and (not count or now - last >= _SECONDS_A_LINE):
                last = now
                rest = f", about {(now - began) / count * (total - count):.0f} s left" if count else ""
                err().print(Text(f"hipcc: {count} of {total} files{rest}"))

        yield show


_SECONDS_A_LINE = 10.0


def draw_diff(changes: Sequence[Change], support: Mapping[str, bytes]) -> None:
    """The changes and the support headers as one unified diff: coloured on a terminal, elsewhere what `git apply` takes.

    There it is byte for byte: a line ends with `\\n` alone, and bytes that are not UTF-8 stay.
    """
    styles = {"+": "green", "-": "red", "@": "cyan"}
    for before, after, old, new in [
        *((change.before, change.after, f"a/{change.name}", f"b/{change.name}") for change in changes),
        *((b"", text, "/dev/null", f"b/{name}") for name, text in sorted(support.items())),
    ]:
        for number, line in enumerate(unified_diff(_lines(before), _lines(after), old, new)):
            text = line.removesuffix("\n") + ("" if line.endswith("\n") else "\n\\ No newline at end of file")
            data = f"{text}\n".encode("utf-8", "surrogateescape")
            if out().is_terminal:
                style = "bold" if number < 2 else styles.get(line[0], "")
                out().print(Text(data.decode("utf-8", "replace").rstrip("\n"), style=style), soft_wrap=True)
            else:
                print_bytes(data)


def _lines(data: bytes) -> list[str]:
    """The lines of a text with their ends, `\\n` alone; bytes that are not UTF-8 as surrogates."""
    return [f"{line}\n" for line in data.decode("utf-8", "surrogateescape").split("\n")][:-1] + (
        [] if data.endswith(b"\n") or not data else [data.decode("utf-8", "surrogateescape").rpartition("\n")[2]]
    )


def html_of(run: Report) -> str:
    """The run as one self-contained HTML page: the files with the most errors first."""

    def weight(file: FileReport) -> tuple[int, ...]:
        counts = Counter(f.severity for f in file.findings)
        return tuple(-counts[severity] for severity in Severity)

    rows = sorted((f for f in run.files if f.findings), key=lambda f: (*weight(f), f.source))
    rules = Counter(f.rule for f in run.findings)
    first = {f.rule: f for f in reversed(run.findings)}
    return render(
        "report/hipify.html.j2",
        run=run,
        files=[(f, [-n for n in weight(f)]) for f in rows],
        silent=len(run.files) - len(rows),
        counts=Counter(f.severity.value for f in run.findings),
        severities=[severity.value for severity in Severity],
        rules=[(first[rule], n) for rule, n in rules.most_common()],
        version=__version__,
    )


def print_sarif(run: Report, selection: SourceSelection) -> None:
    """The findings as one SARIF document, whose places are files of the sources, or of the output, as they lie."""
    from stackbuild.views.sarif import sarif

    failed = run.worst is Severity.ERROR
    rung = Rung("hipify", Status.FAILED if failed else Status.PASSED, "", run.seconds, run.findings)
    root = Path.cwd()
    sources, out = selection.sources, selection.out
    ours = {finding.subject for finding in run.rules}

    def locate(finding: Finding) -> str:
        if finding.subject in ours and not finding.place:
            return ""
        name = finding.place.file if finding.place else finding.subject
        folders = (out, *sources) if finding.rule.startswith("HIPIFY-OUTPUT") else (*sources, out)
        return _uri(_lies(name, folders, several=len(sources) > 1), root)

    print_text(sarif([Verification("hipify", "", (rung,))], locate, root.as_uri().rstrip("/") + "/"))


def _lies(name: str, folders: Sequence[Path], several: bool) -> Path | None:
    """The file that a report calls `name`: below one of the folders, whose own name stands before it where they are several."""
    for folder in folders:
        below = name
        if several and folder.is_dir() and name.startswith(f"{folder.resolve().name}/"):
            below = name.partition("/")[2]
        path = folder / below if folder.is_dir() else folder
        if path.name == Path(name).name and (path.exists() or path.is_symlink()):
            return path
    return None


def _uri(file: Path | None, root: Path) -> str:
    """A file's URI: relative to a root that it is below, as code hosts want it, else absolute; "" for none."""
    if file is None:
        return ""
    whole = Path(os.path.abspath(file))  # noqa: PTH100 (a link stays one)
    if not whole.is_relative_to(root):
        return whole.as_uri()
    return quote(os.fsencode(whole.relative_to(root)))


def draw_differences(comparison: Comparison) -> None:
    """The differences from hipify-perl, by the defect that explains them; those without one line by line."""
    counts = Counter(d.defect or "UNEXPLAINED" for d in comparison.differences)
    for difference in comparison.differences:
        if difference.defect is None:
            theirs, ours = difference.theirs[:120], difference.ours[:120]
            line = f"{difference.file}:{difference.line}: hipify-perl {theirs!r}, fast {ours!r}"
            out().print(Text(line, style="bold red"))
    drawing = table("difference", "count", "why")
    for name, count in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        drawing.add_row(Text(name), str(count), Text(comparison.reasons.get(name, "no known defect explains it")))
    if counts:
        out().print(drawing)
    same = len(comparison.files) - len({d.file for d in comparison.differences})
    out().print(
        Text(f"{len(comparison.files)} files: {same} the same, {counts['UNEXPLAINED']} differences unexplained")
    )


def print_differences_json(comparison: Comparison) -> None:
    """The comparison as one JSON document."""
    print_json(comparison, "stackbuild.hipify-verify/1")
