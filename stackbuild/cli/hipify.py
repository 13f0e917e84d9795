"""`stackbuild hipify`: convert CUDA sources to HIP, with a report."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from stackbuild.cli.app import Json, app, argument, leave, option

if TYPE_CHECKING:
    from stackbuild.hipify.engines import Engine

Many = list[str] | None


@app.command()
def hipify(
    sources: Annotated[list[Path], argument(metavar="SRC…", help="CUDA or C++ files, or folders of them.", show_default=False)],
    out: Annotated[str, option("--out", "-o", metavar="OUT", help="The output folder, or file for one source file.", show_default=False)] = "",
    rules: Annotated[Many, option("--rules", metavar="SET", help="A rule set by bundled name or path; repeat for more, the first wins; `none` for none.  [default: generic]", show_default=False)] = None,
    engine: Annotated[str, option("--engine", help="fast, perl (hipify-perl) or clang (hipify-clang).")] = "fast",
    target_rocm: Annotated[str, option("--target-rocm", metavar="X.Y", help="Report what this ROCm does not have yet, or no longer.")] = "",
    target_include: Annotated[list[Path] | None, option("--target-include", metavar="DIR", help="An include folder of the target, to resolve headers; repeat for more.", show_default=False)] = None,
    wavefront: Annotated[list[int] | None, option("--wavefront", metavar="LANES", help="Lanes of the target's wavefront, 32 or 64; repeat for both.  [default: both]", show_default=False)] = None,
    launch: Annotated[str, option("--launch", help="keep: leave <<<>>>; ggl: make hipLaunchKernelGGL of it.")] = "keep",
    flavour: Annotated[str, option("--flavour", help="hip, roc (roc libraries) or miopen (cuDNN becomes MIOpen).")] = "hip",
    experimental: Annotated[bool, option("--experimental", help="Also convert APIs that HIPIFY calls experimental.")] = False,
    include: Annotated[Many, option("--include", metavar="GLOB", help="Convert only these paths below SRC; repeat for more.", show_default=False)] = None,
    exclude: Annotated[Many, option("--exclude", metavar="GLOB", help="Leave these paths out; repeat for more.", show_default=False)] = None,
    lint: Annotated[bool, option("--lint/--no-lint", help="Report what no mapping can fix.")] = True,
    strict: Annotated[bool, option("--strict", help="Exit with 5 where a finding is an error.")] = False,
    force: Annotated[bool, option("--force", help="Overwrite files in OUT that stackbuild did not make, or made of another source.")] = False,
    verify_engine: Annotated[str, option("--verify-engine", metavar="perl", help="Run hipify-perl too and explain every difference; exit with 5 where one has no explanation.")] = "",
    errors: Annotated[str, option("--errors", metavar="LOG", help="Print a compiler's output (- for stdin) with places in SRC instead of OUT, and convert nothing.")] = "",
    jobs: Annotated[int, option("--jobs", "-j", min=1, help="Worker processes.", show_default="CPUs")] = os.cpu_count() or 1,
    hipify_perl: Annotated[str | None, option("--hipify-perl", metavar="FILE", help="hipify-perl, where not on PATH.", show_default=False)] = None,
    hipify_clang: Annotated[str | None, option("--hipify-clang", metavar="FILE", help="hipify-clang, where not on PATH.", show_default=False)] = None,
    json: Json = False,
    sarif: Annotated[bool, option("--sarif", help="Print the findings as SARIF 2.1.0 on stdout.")] = False,
    summary: Annotated[bool, option("--summary", help="Print counts only, no findings.")] = False,
) -> None:  # fmt: skip
    """Convert CUDA sources to HIP; report what needs a person.

    Example: stackbuild hipify src/cuda -o build/hip --target-rocm 6.4 --strict

    One file: stackbuild hipify kernel.cu -o kernel.hip

    Check against hipify-perl: stackbuild hipify src -o out --verify-engine perl
    """
    from stackbuild.views import hipify as show

    if not out:
        _usage("no output is given", "add -o OUT")
    if errors:
        from stackbuild.hipify.tree.relocate import relocate

        text = sys.stdin.read() if errors == "-" else _text(errors)
        show.plain(relocate(text, Path(out)))
        return
    if json and sarif:
        _usage("--json and --sarif both want stdout", "give one of them")
    from stackbuild.hipify import hipify_tree, open_engine
    from stackbuild.hipify.rules.rules import version

    if target_rocm and not version(target_rocm):
        _usage(f"{target_rocm!r} is not a ROCm version", "write one such as 6.4")
    opened = open_engine(
        engine,
        rule_sets=[] if rules == ["none"] else rules or ["generic"],
        target=_target(target_rocm, wavefront, launch, flavour, experimental, lint),
        include_folders=target_include or [],
        hipify_perl=hipify_perl,
        hipify_clang=hipify_clang,
    )
    if verify_engine:
        _verify(sources, Path(out), opened, verify_engine, include or [], exclude or [], json)
        return
    report = hipify_tree(
        sources,
        Path(out),
        opened,
        include=include or [],
        exclude=exclude or [],
        workers=jobs,
        is_folder=out.endswith(os.sep),
        force=force,
    )
    if sarif:
        show.as_sarif(report, sources, Path(out))
    else:
        (show.as_json if json else show.summary if summary else show.report)(report)
    faulty = any(fault.severity == "error" for fault in report.faults)
    if faulty or (strict and report.worst == "error"):
        leave(2 if faulty else 5)


def _target(rocm: str, wavefront: list[int] | None, launch: str, flavour: str, experimental: bool, lint: bool):  # type: ignore[no-untyped-def]
    from stackbuild.hipify.model import Target

    for value, known, name in ((launch, ("keep", "ggl"), "--launch"), (flavour, ("hip", "roc", "miopen"), "--flavour")):
        if value not in known:
            _usage(f"{name} is {value!r}", f"write one of {', '.join(known)}")
    if set(wavefront or ()) - {32, 64}:
        _usage(f"--wavefront is {wavefront}", "AMD GPUs have 32 or 64 lanes")
    lanes = tuple(sorted(set(wavefront or (32, 64))))
    return Target(rocm=rocm, launch=launch, flavour=flavour, experimental=experimental, wavefronts=lanes, lint=lint)  # type: ignore[arg-type]


def _verify(
    sources: list[Path], out: Path, opened: Engine, engine: str, include: list[str], exclude: list[str], json: bool
) -> None:
    from stackbuild.hipify.perl.compare import verify_sources
    from stackbuild.views import hipify as show

    if engine != "perl":
        _usage(f"--verify-engine is {engine!r}", "the engine to verify against is perl")
    compared = verify_sources(sources, out, opened, include, exclude)
    (show.differences_as_json if json else show.differences)(compared)
    if any(d.defect is None for d in compared.differences):
        leave(5)


def _text(path: str) -> str:
    from stackbuild.core.errors import UsageError

    try:
        return Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise UsageError(f"cannot be read: {error.strerror}", where=path, next="check the path") from error


def _usage(what: str, next: str) -> None:
    from stackbuild.core.errors import UsageError

    raise UsageError(what, next=next)
