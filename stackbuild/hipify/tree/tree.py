"""Converts files and whole trees: only what changed, in parallel, each output written once and in one piece."""

from __future__ import annotations

import hashlib
import multiprocessing
import re
import shutil
import signal
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from os.path import normpath
from pathlib import Path

from stackbuild.core.digest import of_value
from stackbuild.core.errors import MachineLacks, UsageError
from stackbuild.hipify.code import code_digest
from stackbuild.hipify.cpp.tree_names import NO_NAMES
from stackbuild.hipify.engines import Engine
from stackbuild.hipify.lint import hip_forms
from stackbuild.hipify.model import ConvertedText, FileReport, Report
from stackbuild.hipify.rules.rules import renamed_path
from stackbuild.hipify.tree import (
    build_files,
    header_names,
    inputs,
    macro_notes,
    own_names,
    state,
    unmatched_rules,
    write,
)
from stackbuild.hipify.tree.files import (
    ConversionJob,
    SourceSelection,
    Walk,
    not_converted,
    origins,
    refuse_collisions,
    walk,
)
from stackbuild.hipify.tree.inputs import InputFile
from stackbuild.hipify.tree.outputs import NEW, locked_folder
from stackbuild.hipify.tree.state import OutputRecord, State
from stackbuild.hipify.tree.write import Output, WriteResult
from stackbuild.model.findings import Finding, Severity

UNREADABLE = "cannot be read"
_WORTH_WORKERS = 6 << 20  # bytes to convert before starting other processes pays


@dataclass(frozen=True)
class _Destination:
    """Where a run writes, and what it knows of the last: its key, the real paths of its sources from there.

    `cut` is how many characters of an output's path the folder is.
    """

    folder: Path
    cut: int
    is_whole: bool
    key: str
    origins: Mapping[Path, str]
    last_state: State
    state_stamp: tuple[int, ...]

    def path(self, job: ConversionJob) -> str:
        """The path of an output in the folder."""
        return str(job.output)[self.cut :]

    def origin(self, job: ConversionJob) -> str:
        root = self.origins[job.root]
        return f"{root}/{job.below}" if job.below else root

    def record_of(self, job: ConversionJob) -> OutputRecord | None:
        """What the last run made of the same file under the same name, tables, rules and target."""
        record = self.last_state.files.get(self.path(job))
        same = record and record.key == self.key and record.origin == self.origin(job) and record.name == job.name
        return record if same else None

    def current_state(self) -> State:
        """The state of the last run, read again if another run wrote meanwhile."""
        unchanged = state.stamp(self.folder) == self.state_stamp
        return self.last_state if unchanged else state.load(self.folder)

    def is_own(self, lost_names: Collection[str], record: OutputRecord) -> bool:
        """Whether an output of an earlier run came from this run's sources, and not from what cannot be read now."""
        real = self.folder.resolve()
        at = normpath(real / record.origin)
        roots = [normpath(real / root) for root in self.origins.values()]
        mine = any(at == root or at.startswith(f"{root}/") for root in roots)
        return mine and not any(record.name == one or record.name.startswith(f"{one}/") for one in lost_names)


def hipify_tree(selection: SourceSelection, engine: Engine, *, workers: int = 1, force: bool = False) -> Report:
    """Convert the files of a selection and report on every file, changed or not, and on what build files say of CUDA.

    What decides whether a file is converted again: its bytes, the tables, the rules, the target and the engine, and
    that its output is still what was written. Outputs of these sources whose file is gone are removed. What this tool
    did not make, or made of another source, is only overwritten with `force`. Raises UsageError for sources
    or outputs that cannot be read or written, and for a binary file that was named by itself.
    """
    began = time.monotonic()
    report = hipify_files(walk(selection), engine, workers=workers, force=force)
    build_file_findings = build_files.build_findings(selection.sources, selection.out)
    return replace(report, entries=(*report.entries, *build_file_findings), seconds=time.monotonic() - began)


def hipify_files(files: Walk, engine: Engine, *, workers: int = 1, force: bool = False) -> Report:
    """Convert the files that a walk found. See `hipify_tree`."""
    began = time.monotonic()
    jobs = [job for job in files.jobs if job.source.name not in engine.rules.shims or not _is_support(job.source)]
    engine = _with_own_headers(engine, jobs)
    engine = replace(engine, target=replace(engine.target, tree=header_names.read(jobs, engine)))
    jobs, moving = _rename_outputs(jobs, files.out, engine)
    destination = _destination(files.out, jobs, engine)
    input_files, losses = _read_all(jobs, destination)
    entries = (*files.skipped_files, *losses)
    _refuse_named(input_files, jobs, entries)
    converted_texts = dict(_convert_all(engine, [one for one in input_files if not one.is_fresh], workers))
    records, outputs = _outcome(input_files, converted_texts, destination)
    shims = {
        name for one in converted_texts.values() for name in one.needs
    } | destination.last_state.support.keys() & engine.rules.shims.keys()
    headers = write.support_outputs({name: engine.rules.shims[name] for name in shims})
    with locked_folder(destination.folder) as writer:
        current = destination.current_state()
        result = write.write_outputs(writer, current, [*outputs, *headers], force)
        lost_names = [finding.subject for finding in entries]
        is_own = partial(destination.is_own, lost_names)
        stale = write.stale_outputs(current, records, is_own) if destination.is_whole else []
        removals = write.remove(writer, current, stale)
        write.save_state(writer, _after(current, records, result, headers, stale))
    reports = tuple(
        _with_paths(records[destination.path(one.job)].report, one.job, one.job.name in converted_texts)
        for one in input_files
    )
    for one in input_files:
        if one.job.is_rest and one.job.output.is_file():
            shutil.copymode(one.job.source, one.job.output)
    beside = (one.job.source.parent for one in input_files if not one.job.below)
    reports = own_names.without_own(reports, [one.job.name for one in input_files], beside)
    if engine.target.lint:
        reports = macro_notes.with_uses([one.job for one in input_files], reports)
    return Report(
        engine.name,
        engine.tables.tool,
        replace(engine.target, headers=None, declared=None, own_headers=frozenset(), tree=NO_NAMES),
        reports,
        result.changed_outputs,
        removals,
        unmatched_rules.faults(engine, reports, moving),
        time.monotonic() - began,
        (*entries, *result.findings),
    )


_CUTLASS_FOLDER = re.compile(r"(?:\A|/)(?:cutlass|cute)/")


def _with_own_headers(engine: Engine, jobs: Sequence[ConversionJob]) -> Engine:
    """The engine, which then knows which files of the tree have the name of a header of CUDA's."""
    tables, rules = engine.tables, engine.rules.rules
    headers = {s.cuda for s in (*tables.simple, *tables.roc, *tables.miopen) if s.header}
    headers |= {match for rule in rules if rule.kind == "header" for match in rule.match if "*" not in match}
    headers |= set(hip_forms.HEADERS)
    lasts = {path.rpartition("/")[2] for path in headers}
    own = frozenset(
        job.name for job in jobs if job.name.rpartition("/")[2] in lasts or _CUTLASS_FOLDER.search(job.name)
    )
    return replace(engine, target=replace(engine.target, own_headers=own)) if own else engine


def _is_support(path: Path) -> bool:
    """Whether a file of a support header's name is one that a run wrote: then this run writes its own."""
    try:
        with path.open("rb") as file:
            return b"by `stackbuild hipify`" in file.read(4096)
    except OSError:
        return False


def _destination(out: Path, jobs: Sequence[ConversionJob], engine: Engine) -> _Destination:
    is_file = len(jobs) == 1 and jobs[0].output == out
    folder = out.parent if is_file else out
    stamp = state.stamp(folder)
    cut = 0 if folder == Path() else len(str(folder).rstrip("/")) + 1
    return _Destination(folder, cut, not is_file, run_key(engine), origins(jobs, folder), state.load(folder), stamp)


def _rename_outputs(jobs: list[ConversionJob], out: Path, engine: Engine) -> tuple[list[ConversionJob], frozenset[str]]:
    """The jobs with their outputs where path rules put them, and the rules that did.

    Raises UsageError where two meet, or one would leave the output folder.
    """
    rules = [
        r for r in engine.rules.rules if r.kind == "path" and r.is_for_target(engine.target.rocm, engine.target.flavour)
    ]
    if not rules or (len(jobs) == 1 and jobs[0].output == out):
        return jobs, frozenset()
    moved_outputs, moving = [], set()
    for job in jobs:
        path = job.output.relative_to(out).as_posix()
        for rule in rules:
            path, by = renamed_path(path, [rule])
            moving.add(by)
        if not path or path.startswith("/") or ".." in path.split("/"):
            what = f"a path rule makes {path!r} of {job.name}, which is outside of the output"
            raise UsageError(what, where=str(job.source), next="fix the rule: it gives a path below OUT")
        if path.rpartition("/")[2] in (state.STATE, NEW):
            raise UsageError(
                f"a path rule makes {path!r} of {job.name}",
                where=str(job.source),
                next="fix the rule: that name is taken",
            )
        moved_outputs.append(replace(job, output=out / path))
    refuse_collisions(moved_outputs)
    return moved_outputs, frozenset(moving)


def run_key(engine: Engine) -> str:
    """The digest of everything but the file that an output depends on."""
    headers_digest = engine.target.declared.digest if engine.target.declared else None
    target = replace(engine.target, declared=None)
    return of_value([code_digest(), engine.name, engine.tables.digest, engine.rules.digest, target, headers_digest])


def _read_all(jobs: Sequence[ConversionJob], destination: _Destination) -> tuple[list[InputFile], list[Finding]]:
    """The files, and a finding for each that cannot be read, or is gone since it was found."""
    read = []
    losses = []
    for job in jobs:
        try:
            read.append(inputs.read(job, destination.record_of(job)))
        except (OSError, UsageError) as error:
            what = f"{UNREADABLE}: {error.strerror}" if isinstance(error, OSError) else error.what
            losses.append(not_converted(job.name, what, "it was left out of the output", Severity.ERROR))
    return read, losses


def _refuse_named(files: Sequence[InputFile], jobs: Sequence[ConversionJob], entries: Sequence[Finding]) -> None:
    """A file that was named by itself and cannot be converted is a mistake of the command line."""
    sources_by_name = {job.name: job.source for job in jobs if not job.below}
    refusals = [(one.job.source, one.refusal) for one in files if one.refusal and not one.job.below]
    refusals += [
        (sources_by_name[finding.subject], finding.found) for finding in entries if finding.subject in sources_by_name
    ]
    for source, why in refusals:
        step = "make it readable" if why.startswith(UNREADABLE) else "name CUDA or C++ sources, or their folder"
        raise UsageError(why, where=str(source), next=step)


def _convert_all(engine: Engine, stale: list[InputFile], workers: int) -> Iterator[tuple[str, ConvertedText]]:
    """The texts of the files to convert, by name. Other processes help where there is enough to do."""
    todo = [(one.job.name, one.data) for one in stale if one.data is not None and not one.refusal]
    if workers > 1 and len(todo) > 1 and (engine.name != "fast" or sum(len(d) for _, d in todo) > _WORTH_WORKERS):
        size = max(1, min(64, len(todo) // (workers * 4)))
        with _pool(min(workers, len(todo))) as pool:
            with _deaf_children():
                texts = pool.map(partial(_one, engine), todo, chunksize=size)
            yield from zip((n for n, _ in todo), texts, strict=True)
    else:
        yield from ((item[0], _one(engine, item)) for item in todo)


@contextmanager
def _pool(workers: int) -> Iterator[ProcessPoolExecutor]:
    """Worker processes, which end at once where the run is stopped. Raises MachineLacks where one was killed."""
    others = set(multiprocessing.active_children())
    pool = ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn"))
    try:
        yield pool
    except BrokenProcessPool as error:
        _close_queues(pool)
        raise MachineLacks(
            "a worker process was killed", where="--jobs", next="give fewer jobs, or more memory"
        ) from error
    except BaseException:
        for child in set(multiprocessing.active_children()) - others:
            child.terminate()
        _close_queues(pool)
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def _close_queues(pool: ProcessPoolExecutor) -> None:
    """Close what the pool's thread may wait at for ever, once the workers are ended.

    That is the read end of the calls: CPython before 3.11.5 leaves it open and waits to write to it (python/cpython#94777;
    Debian 12 has 3.11.2). And it is the write end of the results: a worker that is ended while it sends one leaves half of
    it in the pipe, and the thread waits for the rest as long as any process could send it.
    """
    for name, end in (("_call_queue", "_reader"), ("_result_queue", "_writer")):
        if (queue := getattr(pool, name, None)) is not None:
            getattr(queue, end).close()


@contextmanager
def _deaf_children() -> Iterator[None]:
    """Processes started meanwhile do not hear Ctrl-C, of which each would print a traceback."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _one(engine: Engine, item: tuple[str, bytes]) -> ConvertedText:
    name, data = item
    converted_text = engine.run(data.decode("utf-8", "surrogateescape"), name)
    return replace(converted_text, edits=())


def _outcome(
    files: Sequence[InputFile], texts: Mapping[str, ConvertedText], destination: _Destination
) -> tuple[dict[str, OutputRecord], list[Output]]:
    """What to remember of each output by its path, and the outputs that may have to be written or touched."""
    records: dict[str, OutputRecord] = {}
    outputs: list[Output] = []
    for one in files:
        path, origin = destination.path(one.job), destination.origin(one.job)
        converted_text = texts.get(one.job.name)
        if converted_text is None and not one.refusal:
            assert one.record is not None  # what is not fresh was converted
            records[path] = (
                one.record if one.record.source_stamp == one.source else replace(one.record, source_stamp=one.source)
            )
            if one.record.output_stamp[1] < one.mtime_ns:
                outputs.append(Output(path, one.job.output, one.record.output_digest, one.mtime_ns, origin))
            continue
        data: bytes | Path = one.job.source
        digest, report = one.digest, _refusal_report(one)
        if converted_text is not None:
            data = converted_text.text.encode("utf-8", "surrogateescape")
            digest, report = hashlib.sha256(data).hexdigest(), _report(one, converted_text, data)
        records[path] = OutputRecord(
            destination.key, origin, one.job.name, one.digest, digest, one.source, (0, 0), report
        )
        outputs.append(Output(path, data, digest, one.mtime_ns, origin))
    return records, outputs


def _after(
    current: State,
    records: Mapping[str, OutputRecord],
    result: WriteResult,
    shims: Sequence[Output],
    stale: Collection[str],
) -> State:
    """The state that a run leaves: what it made, and what others made."""
    mine = {p: replace(one, output_stamp=result.stamps[p]) if p in result.stamps else one for p, one in records.items()}
    files = {path: one for path, one in current.files.items() if path not in stale} | mine
    support = {**current.support, **{shim.path: shim.digest for shim in shims}}
    pending = {path: digests for path, digests in current.pending.items() if path not in mine and path not in support}
    return State(files, support, pending)


def _report(one: InputFile, converted_text: ConvertedText, data: bytes) -> FileReport:
    findings = converted_text.findings
    before = one.data or b""
    if not _is_utf8(before):
        findings = (_not_utf8(one.job.name), *findings)
    outcome = "copied" if data == before else "converted"
    source, output = str(one.job.source), str(one.job.output)
    return FileReport(
        source,
        output,
        outcome,  # type: ignore[arg-type]
        findings,
        converted_text.substitutions,
        converted_text.rules,
        converted_text.lines,
        converted_text.declares,
        converted_text.unless,
    )


def _refusal_report(one: InputFile) -> FileReport:
    if one.job.is_rest:
        return FileReport(str(one.job.source), str(one.job.output), "copied")
    why = "only text is converted; the file was copied as it is"
    finding = Finding(
        "HIPIFY-NOT-CONVERTED", Severity.WARNING, one.job.name, one.refusal, why, "leave it out with --exclude"
    )
    return FileReport(str(one.job.source), str(one.job.output), "refused", (finding,))


def _not_utf8(name: str) -> Finding:
    why = "its other bytes were kept as they are"
    return Finding(
        "HIPIFY-NOT-UTF8", Severity.NOTE, name, "the file is not UTF-8", why, "convert it to UTF-8 when convenient"
    )


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _with_paths(report: FileReport, job: ConversionJob, is_new: bool) -> FileReport:
    """A file's report under the paths that this run was given."""
    outcome = "unchanged" if report.state == "converted" and not is_new else report.state
    source, output = str(job.source), str(job.output)
    if (report.source, report.output, report.state) == (source, output, outcome):
        return report
    return replace(report, source=source, output=output, state=outcome)
