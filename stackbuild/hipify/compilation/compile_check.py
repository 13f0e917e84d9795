"""`--check`: what the target's compiler says of the converted files, as findings at the lines of the sources.

A table knows names, and a compiler knows types too. With one at hand no error of the files that it reads is without a
finding. It reads a file for the host and for each GPU. What it says of a header counts once, whoever includes it.
What it takes without an error refutes findings that say no more than that this does not compile: they become notes.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from stackbuild.core.cancel import worker_threads
from stackbuild.hipify.compilation.compiled_words import compiled_words
from stackbuild.hipify.compilation.diagnostics import Diagnostic, TreePlace, diagnostics_of
from stackbuild.hipify.compilation.hip_compiler import HOST, TREE, CompilerLog, HipCompiler, has_header
from stackbuild.hipify.compilation.include_folders import HeaderIndex
from stackbuild.hipify.compilation.refutations import DecidableLine, as_note, claims_of, is_decidable, is_refuted
from stackbuild.hipify.model import FileReport, Report
from stackbuild.hipify.tree.files import SourceSelection
from stackbuild.model.findings import Finding, Severity, SourceLocation

ERROR = "HIPIFY-COMPILE-ERROR"
HEADER = "HIPIFY-COMPILE-HEADER"
UNREAD = "HIPIFY-COMPILE-UNREAD"
SUMMARY = "HIPIFY-COMPILE"
_SOURCES = (".cc", ".cpp", ".cxx", ".c++", ".hip")
_MOST = 500
"""Errors of one file that become findings."""
CountCallback = Callable[[int, int], None]
"""Called with the number of files that are compiled and of all."""


@dataclass(frozen=True)
class CompileResult:
    """What the compiler says of one file, by side: its errors, or why there are none.

    `words` are what it decided in lines that a finding is about, where it has no error.
    """

    file: str
    diagnostics: tuple[tuple[str, Diagnostic], ...]
    failures: tuple[str, ...] = ()
    words: Mapping[TreePlace, Set[str]] = field(default_factory=dict)

    @property
    def is_whole(self) -> bool:
        """Whether the compiler read the file to its end."""
        return not self.failures and not any(one.missing_header for _, one in self.diagnostics)

    @property
    def is_clean(self) -> bool:
        """Whether no side has an error."""
        return not self.diagnostics and not self.failures


def check_report(
    report: Report, selection: SourceSelection, compiler: HipCompiler, workers: int = 1, progress: CountCallback | None = None
) -> Report:
    """The report with a finding for each error of the compiler. Raises MachineLacks, Stopped, OSError."""
    tree = _tree(report, selection)
    files = {os.path.relpath(file.output, tree): file for file in report.files}
    texts = {path: Path(file.output).read_text("utf-8", "replace") for path, file in files.items() if _is_text(file)}
    headers = HeaderIndex(texts, partial(has_header, compiler.root))
    units = compilation_units(files, headers)
    claims = {path: claims_of(path, files[path], _source(files[path]), text) for path, text in texts.items()}
    results: list[CompileResult] = []
    with worker_threads(max(1, workers)) as pool:
        if progress:
            progress(0, len(units))
        for result in pool.map(lambda unit: _result(compiler, tree, unit, headers, claims), units):
            results.append(result)
            if progress:
                progress(len(results), len(units))
    findings = _findings(results, files, selection, len(compiler.gpus))
    refutations = _refutations(results, claims)
    sides = ", ".join((HOST, *compiler.gpus))
    reports: list[FileReport] = []
    for path, file in files.items():
        rows = tuple(as_note(one, sides) if one in refutations.get(path, ()) else one for one in file.findings)
        reports.append(replace(file, findings=_in_order((*rows, *findings[path])) if path in findings else rows))
    count = sum(map(len, refutations.values()))
    return replace(report, files=tuple(reports), entries=(*report.entries, _summary(results, compiler, count)))


def compilation_units(files: dict[str, FileReport], headers: HeaderIndex) -> list[str]:
    """The files that are compiled by themselves: CUDA's, and C++ files that were converted.

    A file that another one of the tree includes is compiled as a part of that one.
    """
    parts = headers.parts()
    return [
        path
        for path, file in files.items()
        if path in headers.texts
        and path not in parts
        and (path.endswith(".cu") or (path.endswith(_SOURCES) and file.substitutions))
    ]


def _tree(report: Report, selection: SourceSelection) -> Path:
    outputs = [Path(file.output) for file in report.files]
    is_file = len(outputs) == 1 and outputs[0] == selection.out
    return Path(os.path.abspath(selection.out.parent if is_file else selection.out))  # noqa: PTH100 (a link stays one)


def _is_text(file: FileReport) -> bool:
    return file.state != "refused" and Path(file.output).is_file()


def _source(file: FileReport) -> str:
    """The text that a file's findings have their places in."""
    return Path(file.source).read_text("utf-8", "replace") if any(map(is_decidable, file.findings)) else ""


def _result(
    compiler: HipCompiler,
    tree: Path,
    file: str,
    headers: HeaderIndex,
    claims: Mapping[str, Mapping[Finding, tuple[DecidableLine, ...]]],
) -> CompileResult:
    """What the compiler says of a file. What it decided is asked where a finding may be refuted."""
    folders = headers.folders(file)
    result = _compile(compiler, tree, file, folders)
    own_claims = (lines for path in headers.texts_of(file) for lines in claims[path].values())
    targets = {place for lines in own_claims for place, _ in lines}
    if not result.is_clean or not targets:
        return result
    words: dict[TreePlace, set[str]] = {}
    for log in compiler.expansions(tree, file, folders):
        if not log.code and not log.is_late:
            for place, more in compiled_words(log.text, TREE, targets).items():
                words.setdefault(place, set()).update(more)
    return replace(result, words=words)


def _refutations(
    results: Iterable[CompileResult], claims: Mapping[str, Mapping[Finding, tuple[DecidableLine, ...]]]
) -> dict[str, frozenset[Finding]]:
    """The findings that the compiler refutes, by the path of their file in the tree."""
    words: dict[TreePlace, set[str]] = {}
    errors: set[TreePlace] = set()
    for result in results:
        errors |= {place for _, one in result.diagnostics for place in one.places}
        for place, more in result.words.items():
            words.setdefault(place, set()).update(more)
    refutations = {
        path: frozenset(finding for finding, lines in rows.items() if is_refuted(lines, words, errors))
        for path, rows in claims.items()
    }
    return {path: rows for path, rows in refutations.items() if rows}


def _compile(compiler: HipCompiler, tree: Path, file: str, folders: tuple[str, ...]) -> CompileResult:
    diagnostics: list[tuple[str, Diagnostic]] = []
    failures: list[str] = []
    for log in compiler.logs(tree, file, folders):
        errors = diagnostics_of(log.text, TREE)
        diagnostics += ((log.side, error) for error in errors)
        if log.is_late or (log.code and not errors):
            failures.append(_failure(log, compiler.seconds))
    return CompileResult(file, tuple(diagnostics), tuple(failures))


def _failure(log: CompilerLog, seconds: float) -> str:
    """Why a side has no result, in words."""
    if log.is_late:
        return f"hipcc took longer than {seconds:.0f} s ({log.side})"
    last = next((line for line in reversed(log.text.splitlines()) if line.strip()), "")
    return f"hipcc ended with code {log.code} ({log.side}): {last[:200]}"


def _findings(
    results: Iterable[CompileResult], files: dict[str, FileReport], selection: SourceSelection, gpus: int
) -> dict[str, list[Finding]]:
    """The findings of all results, by the path of their file in the tree."""
    sides: dict[tuple[str, int, str, str], set[str]] = {}
    failures: list[tuple[str, str]] = []
    for result in results:
        for side, one in result.diagnostics:
            path, line = place_of(one, files) or (result.file, 1)
            sides.setdefault((path, line, one.text, one.missing_header), set()).add(side)
        failures += ((result.file, why) for why in result.failures)
    findings: dict[str, list[Finding]] = {}
    known_headers: set[str] = set()
    counts: Counter[str] = Counter()
    for (path, line, text, header), names in sides.items():
        counts[path] += 1
        if counts[path] > _MOST:
            continue
        name = _name(files[path], selection)
        place = SourceLocation(name, files[path].lines.original(line))
        alone = "" if HOST in names or len(names - {HOST}) == gpus else f" (for {', '.join(sorted(names))} alone)"
        finding = _header(name, header, header in known_headers, place) if header else _error(name, text + alone, place)
        known_headers |= {header} if header else set()
        findings.setdefault(path, []).append(finding)
    for path, why in failures:
        name = _name(files[path], selection)
        findings.setdefault(path, []).append(_unread(name, why))
    return findings


def place_of(diagnostic: Diagnostic, files: dict[str, FileReport]) -> TreePlace | None:
    """The error's nearest place in a file of the report."""
    return next((place for place in diagnostic.places if place[0] in files), None)


def _name(file: FileReport, selection: SourceSelection) -> str:
    """What the report calls a file."""
    source = Path(file.source)
    for root in selection.sources:
        if source.is_relative_to(root) and root.is_dir():
            below = source.relative_to(root).as_posix()
            return f"{root.resolve().name}/{below}" if len(selection.sources) > 1 else below
    return source.name


def _error(name: str, text: str, place: SourceLocation) -> Finding:
    return Finding(
        ERROR,
        Severity.ERROR,
        name,
        f"hipcc: {text}",
        "the target's compiler refuses the converted line",
        "change the line or what it names; a finding beside it may name the cause, as may the file's first error",
        place=place,
    )


def _header(name: str, header: str, is_known: bool, place: SourceLocation) -> Finding:
    return Finding(
        HEADER,
        Severity.NOTE if is_known else Severity.WARNING,
        name,
        f"{header} was not found: hipcc did not read on",
        "what comes after this line in the file that was compiled is not checked",
        "install the library, or name its folder: --check-word=-IDIR, a relative DIR is below OUT",
        place=place,
    )


def _unread(name: str, why: str) -> Finding:
    return Finding(
        UNREAD,
        Severity.WARNING,
        name,
        why,
        "the file is not checked to its end",
        "compile it with the project's own words: --check-word=WORD",
        place=SourceLocation(name, 1),
    )


def _summary(results: Sequence[CompileResult], compiler: HipCompiler, refutation_count: int) -> Finding:
    clean = sum(one.is_clean for one in results)
    partial_files = sum(not one.is_whole for one in results)
    gpus = ", ".join(compiler.gpus)
    return Finding(
        SUMMARY,
        Severity.NOTE,
        "hipcc",
        f"{len(results)} files were parsed for {gpus} and the host: {clean} have no error, {partial_files} were not"
        " read to the end" + f"; {refutation_count} findings became notes" * bool(refutation_count),
        "errors of syntax and of types are found by this, and what a program does is not",
        "build the tree with its own build files before you trust it",
    )


def _in_order(findings: tuple[Finding, ...]) -> tuple[Finding, ...]:
    return tuple(sorted(findings, key=lambda f: (f.place.line, f.place.column) if f.place else (0, 0)))
