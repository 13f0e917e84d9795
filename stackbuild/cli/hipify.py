"""`stackbuild hipify`: convert CUDA sources to HIP, with a report."""

from __future__ import annotations

import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn, TypeVar

from stackbuild.cli.app import JsonOption, app, argument, leave, option
from stackbuild.cli.completion import targets, words
from stackbuild.cli.shared_options import sharing

if TYPE_CHECKING:
    from stackbuild.hipify.compilation.hip_compiler import HipCompiler
    from stackbuild.hipify.engines import Engine
    from stackbuild.hipify.model import Report, Target
    from stackbuild.hipify.tree.files import SourceSelection
    from stackbuild.hipify.tree.preview import Preview

Many = list[str] | None
T = TypeVar("T", bound=str)


# fmt: off
@dataclass(frozen=True)
class HipifyArguments:
    """The options of `stackbuild hipify`, and the values that they describe."""

    out: Annotated[str, option("--out", "-o", metavar="OUT", help="The output folder, or file for one source file.", show_default=False)] = ""
    rules: Annotated[Many, option("--rules", metavar="SET", help="A rule set by bundled name or path; repeat for more, the first wins; `none` for none.  [default: generic]", show_default=False)] = None
    engine: Annotated[str, option("--engine", help="fast, perl (hipify-perl) or clang (hipify-clang).", autocompletion=words("fast", "perl", "clang"))] = "fast"
    target_rocm: Annotated[str, option("--target-rocm", metavar="X.Y", help="Report what this ROCm does not have yet, or no longer.")] = ""
    target_include: Annotated[list[Path] | None, option("--target-include", metavar="DIR", help="An include folder of the target, to resolve headers; repeat for more.", show_default=False)] = None
    wavefront: Annotated[list[int] | None, option("--wavefront", metavar="LANES", help="Lanes of the target's wavefront, 32 or 64; repeat for both.  [default: both]", show_default=False, autocompletion=words("32", "64"))] = None
    launch: Annotated[str, option("--launch", help="keep: leave <<<>>>; ggl: make hipLaunchKernelGGL of it.", autocompletion=words("keep", "ggl"))] = "keep"
    flavour: Annotated[str, option("--flavour", help="hip, roc (roc libraries) or miopen (cuDNN becomes MIOpen).", autocompletion=words("hip", "roc", "miopen"))] = "hip"
    experimental: Annotated[bool, option("--experimental", help="Also convert APIs that HIPIFY calls experimental.")] = False
    hip_macro: Annotated[Many, option("--hip-macro", metavar="NAME", help="A macro that only your build for HIP defines; repeat for more.", show_default=False)] = None
    compat: Annotated[str, option("--compat", metavar="hipify", help="Make the text that HIPIFY would make, also where our own differs on purpose; --rules are not used.", autocompletion=words("hipify"))] = ""
    include: Annotated[Many, option("--include", metavar="GLOB", help="Convert only these paths below SRC; repeat for more.", show_default=False)] = None
    exclude: Annotated[Many, option("--exclude", metavar="GLOB", help="Leave these paths out; repeat for more.", show_default=False)] = None
    lint: Annotated[bool, option("--lint/--no-lint", help="Report what no mapping can fix.")] = True
    dry_run: Annotated[bool, option("--dry-run", help="Report, and write nothing; -o may be left out.")] = False
    diff: Annotated[bool, option("--diff", help="Print what would change as a unified diff, and write nothing; -o may be left out.")] = False
    in_place: Annotated[bool, option("--in-place", help="Replace the sources; the originals stay beside them as NAME.prehip.")] = False
    copy_rest: Annotated[bool, option("--copy-rest", help="Copy everything else below SRC too, so that OUT builds as SRC does.")] = False
    check: Annotated[bool, option("--check", help="Let the target's hipcc parse what was converted, in a sandbox; each of its errors is a finding at its line.")] = False
    check_root: Annotated[Path | None, option("--check-root", metavar="DIR", help="The root file system that has that hipcc.  [default: this machine]", show_default=False)] = None
    check_gpu: Annotated[Many, option("--check-gpu", metavar="GFX", help="A GPU to parse for; repeat for more.  [default: gfx1100]", show_default=False, autocompletion=targets)] = None
    check_word: Annotated[Many, option("--check-word", metavar="WORD", help="A word for hipcc, such as -DNAME or -IDIR; repeat for more. A relative DIR is below OUT.", show_default=False)] = None
    strict: Annotated[bool, option("--strict", help="Exit with 5 where a finding is an error.")] = False
    force: Annotated[bool, option("--force", help="Overwrite files in OUT that stackbuild did not make, or made of another source.")] = False
    verify_engine: Annotated[str, option("--verify-engine", metavar="perl", help="Run hipify-perl too and explain every difference; exit with 5 where one has no explanation.", autocompletion=words("perl"))] = ""
    errors: Annotated[str, option("--errors", metavar="LOG", help="Print a compiler's output (- for stdin) with places in SRC instead of OUT, and convert nothing.")] = ""
    jobs: Annotated[int, option("--jobs", "-j", min=1, help="Worker processes.", show_default="CPUs")] = os.cpu_count() or 1
    hipify_perl: Annotated[str | None, option("--hipify-perl", metavar="FILE", help="hipify-perl, where not on PATH.", show_default=False)] = None
    tables: Annotated[Path | None, option("--tables", metavar="FILE", help="HIPIFY's tables: a hipify-perl script, or a file like hipify/hipify-tables.tsv.  [default: the newer of this package's and the installed HIPIFY's]", show_default=False)] = None
    hipify_clang: Annotated[str | None, option("--hipify-clang", metavar="FILE", help="hipify-clang, where not on PATH.", show_default=False)] = None
    json: JsonOption = False
    sarif: Annotated[bool, option("--sarif", help="Print the findings as SARIF 2.1.0 on stdout.")] = False
    annotations: Annotated[bool, option("--annotations", help="Print the findings as GitHub's workflow commands, for a job's log.")] = False
    html: Annotated[str, option("--html", metavar="FILE", help="Also write the report as an HTML page, the worst files first.", show_default=False)] = ""
    summary: Annotated[bool, option("--summary", help="Print counts only, no findings.")] = False
    # fmt: on

    @property
    def is_trial(self) -> bool:
        """Whether nothing is written."""
        return self.dry_run or self.diff

    def refuse_contradictions(self) -> None:
        """Raises UsageError for options that exclude each other, and for a run without an output."""
        if self.in_place and (self.out or self.is_trial or self.copy_rest or self.errors or self.verify_engine):
            _usage(
                "--in-place has no output folder, and writes",
                "give it without -o, --dry-run, --diff, --copy-rest, --errors and --verify-engine",
            )
        if self.is_trial and (self.errors or self.verify_engine):
            _usage("--dry-run and --diff are for conversions", "give --errors and --verify-engine without them")
        if not self.out and not (self.is_trial or self.in_place):
            _usage("no output is given", "add -o OUT, or --in-place, --dry-run or --diff")
        if self.check and (self.is_trial or self.in_place or self.errors or self.verify_engine):
            _usage("--check parses what lies in an output folder", "give it with -o OUT and without the trials")
        if not self.check and (self.check_root or self.check_gpu or self.check_word):
            _usage("--check-root, --check-gpu and --check-word are for --check", "add --check")
        if not self.errors and sum((self.json, self.sarif, self.annotations, self.diff)) > 1:
            _usage("--json, --sarif, --annotations and --diff all want stdout", "give one of them")

    def compiler(self) -> HipCompiler:
        """The target's compiler. Raises MachineLacks, UsageError."""
        from stackbuild.hipify.compilation.hip_compiler import find_compiler
        from stackbuild.tables.gpu_names import targets_named

        gpus = tuple(self.check_gpu or ("gfx1100",))
        for gpu in gpus:
            if not re.fullmatch(r"gfx[0-9a-f]{3,4}", gpu):
                targets = " or ".join(f"`--check-gpu {target.gfx}`" for target in targets_named(gpu))
                step = f"write {targets}, which {gpu} is" if targets else "write one such as gfx1100 or gfx942"
                _usage(f"--check-gpu is {gpu!r}, which is not a GPU target", step)
        return find_compiler(self.check_root, gpus, tuple(self.check_word or ()))

    @property
    def target(self) -> Target:
        """What is converted to. Raises UsageError."""
        from stackbuild.hipify.model import COMPATS, LAUNCHES, Target
        from stackbuild.hipify.rules.rules import is_rocm_version
        from stackbuild.hipify.tables.tables import FLAVOURS

        if self.target_rocm and not is_rocm_version(self.target_rocm):
            _usage(
                f"--target-rocm is {self.target_rocm!r}, which is not a ROCm version", "write one such as 6.4 or 6.4.3"
            )
        return Target(
            rocm=self.target_rocm,
            launch=_choice("--launch", self.launch, LAUNCHES),
            flavour=_choice("--flavour", self.flavour, FLAVOURS),
            experimental=self.experimental,
            wavefronts=_wavefronts(self.wavefront),
            lint=self.lint,
            compat=_choice("--compat", self.compat, COMPATS),
            hip_macros=tuple(sorted(set(self.hip_macro or ()))),
        )

    def selection(self, sources: list[Path]) -> SourceSelection:
        """Which files are converted, and where to."""
        from stackbuild.hipify import SourceSelection

        return SourceSelection(
            tuple(sources),
            Path(self.out) if self.out else NOWHERE,
            tuple(self.include or ()),
            tuple(self.exclude or ()),
            self.out.endswith(os.sep),
            self.copy_rest,
        )

    def open_engine(self) -> Engine:
        """The engine, with its rules and tables read. Raises UsageError, MachineLacks."""
        from stackbuild.hipify import open_engine

        return open_engine(
            self.engine,
            rule_sets=[] if self.rules == ["none"] else self.rules or ["generic"],
            target=self.target,
            include_folders=self.target_include or [],
            hipify_perl=self.hipify_perl,
            hipify_clang=self.hipify_clang,
            tables_file=self.tables,
        )


def _source(text: str) -> Path:
    """A source by its path. Raises UsageError for an empty one, which Path takes for the current folder."""
    if not text:
        _usage("SRC is empty", "name files or folders, `.` for this folder: is a variable of the command not set?")
    return Path(text)


@app.command()
@sharing(HipifyArguments)
def hipify(
    sources: Annotated[list[Path], argument(metavar="SRC…", help="CUDA or C++ files, or folders of them.", show_default=False, parser=_source)],
    arguments: HipifyArguments,
) -> None:  # fmt: skip
    """Convert CUDA sources to HIP; report what needs a person.

    Example: stackbuild hipify src/cuda -o build/hip --target-rocm 6.4 --strict

    One file: stackbuild hipify kernel.cu -o kernel.hip

    Look first: stackbuild hipify src --diff | less -R; stackbuild hipify src --dry-run --html report.html

    A tree that builds: stackbuild hipify project -o project-hip --copy-rest

    Ask the compiler: stackbuild hipify src -o out --target-rocm 6.4 --check

    Check against hipify-perl: stackbuild hipify src -o out --verify-engine perl
    """
    arguments.refuse_contradictions()
    if arguments.errors:
        _print_relocated(arguments.errors, Path(arguments.out))
        return
    if arguments.html:
        _refuse_unwritable(Path(arguments.html))
    selection, engine = arguments.selection(sources), arguments.open_engine()
    if arguments.verify_engine:
        _verify(selection, engine, arguments.verify_engine, arguments.json)
        return
    report, trial = _convert(selection, engine, arguments)
    _print_report(report, trial, selection, arguments)
    faulty = any(fault.severity == "error" for fault in (*report.faults, *report.losses))
    if faulty or (arguments.strict and report.worst == "error"):
        leave(2 if faulty else 5)


def _convert(
    selection: SourceSelection, engine: Engine, arguments: HipifyArguments
) -> tuple[Report, Preview | None]:
    """The report of a run, and the trial's texts where it is one."""
    from stackbuild.hipify import hipify_tree
    from stackbuild.hipify.tree.preview import convert_in_place, preview

    if arguments.is_trial:
        trial = preview(selection, engine, arguments.jobs)
        return trial.report, trial
    if arguments.in_place:
        return convert_in_place(selection, engine, arguments.force, arguments.jobs), None
    compiler = arguments.compiler() if arguments.check else None
    report = hipify_tree(selection, engine, workers=arguments.jobs, force=arguments.force)
    if compiler is None:
        return report, None
    from stackbuild.hipify.compilation.compile_check import check_report
    from stackbuild.views.hipify import check_progress

    with check_progress() as show:
        return check_report(report, selection, compiler, arguments.jobs, show), None


def _print_report(
    report: Report, trial: Preview | None, selection: SourceSelection, arguments: HipifyArguments
) -> None:
    from stackbuild.views.hipify import (
        draw_diff,
        draw_report,
        draw_summary,
        html_of,
        print_annotations,
        print_report_json,
        print_sarif,
    )

    if arguments.html:
        _write(arguments.html, html_of(report))
    if arguments.sarif:
        print_sarif(report, selection)
    elif arguments.annotations:
        print_annotations(report, selection)
    elif arguments.diff and trial:
        draw_diff(trial.changes, trial.new_support)
    else:
        (print_report_json if arguments.json else draw_summary if arguments.summary else draw_report)(report)


def _choice(name: str, value: str, choices: tuple[T, ...]) -> T:
    if value not in choices:
        _usage(f"{name} is {value!r}", f"write one of {', '.join(choices)}")
    return choices[choices.index(value)]


def _wavefronts(lanes: list[int] | None) -> tuple[int, ...]:
    if set(lanes or ()) - {32, 64}:
        _usage(f"--wavefront is {lanes}", "AMD GPUs have 32 or 64 lanes")
    return tuple(sorted(set(lanes or (32, 64))))


def _print_relocated(log: str, out: Path) -> None:
    from stackbuild.hipify.tree.relocate import relocate
    from stackbuild.views.console import print_text

    print_text(relocate(sys.stdin.read() if log == "-" else _text(log), out))


NOWHERE = Path("/nonexistent/stackbuild-hipify")
"""The output folder of a run that has none."""


def _refuse_unwritable(page: Path) -> None:
    """Raises UsageError where a page cannot be written: known before the work."""
    from stackbuild.core.errors import UsageError

    folder = page.parent
    if not folder.is_dir():
        raise UsageError(f"there is no folder {folder}", where=f"--html {page}", next="make it, or write another path")
    if page.is_dir():
        raise UsageError("it is a folder", where=f"--html {page}", next=f"write a file, such as {page / 'report.html'}")
    if not os.access(page if page.exists() else folder, os.W_OK):
        raise UsageError("cannot be written", where=f"--html {page}", next="check its permissions, or write another path")


def _write(path: str, text: str) -> None:
    from stackbuild.core.errors import UsageError

    try:
        Path(path).write_text(text, encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise UsageError(f"cannot be written: {error.strerror}", where=path, next="check the path") from error


def _verify(selection: SourceSelection, engine_value: Engine, engine: str, json: bool) -> None:
    from stackbuild.hipify.perl.compare import verify_sources
    from stackbuild.views.hipify import draw_differences, print_differences_json

    if engine != "perl":
        _usage(f"--verify-engine is {engine!r}", "the engine to verify against is perl")
    comparison = verify_sources(selection, engine_value)
    (print_differences_json if json else draw_differences)(comparison)
    if any(difference.defect is None for difference in comparison.differences):
        leave(5)


def _text(path: str) -> str:
    from stackbuild.core.errors import UsageError

    try:
        return Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise UsageError(f"cannot be read: {error.strerror}", where=path, next="check the path") from error


def _usage(what: str, next: str) -> NoReturn:
    from stackbuild.core.errors import UsageError

    raise UsageError(what, next=next)
