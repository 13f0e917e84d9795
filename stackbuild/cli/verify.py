"""`verify`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from stackbuild.cli.app import JsonOption, app, argument, leave, option
from stackbuild.cli.completion import targets
from stackbuild.cli.inspect import Junit, Markdown, OptionalRecipe, RequiredGfx, Sarif, expectations_for, write_reports
from stackbuild.cli.shared_options import sharing

if TYPE_CHECKING:
    from stackbuild.core.cancel import Stopper
    from stackbuild.model.findings import Verification
    from stackbuild.verification import VerifyOptions


@dataclass(frozen=True)
class VerifyArguments:
    """What wheels are proved with, which rungs must not be skipped, and where the results go."""

    recipe: OptionalRecipe = None
    gfx: RequiredGfx = None
    wheelhouse: Annotated[
        Path | None, option("--wheelhouse", "-w", metavar="DIR", help="Folder of wheels that dependencies come from.")
    ] = None
    runtime: Annotated[
        list[str] | None, option("--runtime", help="What to install beside the wheel to use it; may be repeated.")
    ] = None
    python: Annotated[Path | None, option("--python", metavar="PATH", help="The interpreter to prove it with.")] = None
    hide_rocm: Annotated[
        bool, option("--hide-rocm", help="Prove what works where no ROCm is installed under /opt.")
    ] = False
    root: Annotated[
        Path | None,
        option(
            "--root",
            metavar="DIR",
            help="A root file system to take this machine's place where that lacks ROCm, glibc or Python.",
        ),
    ] = None
    emulate: Annotated[
        str | None,
        option(
            "--emulate",
            metavar="GFX[,GFX…]",
            help="Also run the device code for these targets on the CPU, in software: `gfx1100`, `gfx942`, …",
            autocompletion=targets,
        ),
    ] = None
    emulate_all: Annotated[
        bool, option("--emulate-all", help="With --emulate: every case of every operator, not a sample. Takes minutes.")
    ] = False
    sanitize: Annotated[
        bool,
        option(
            "--sanitize",
            help="With --emulate: also look for races, missing waits, registers and LDS read before they are written.",
        ),
    ] = False
    require: Annotated[
        list[str] | None,
        option(
            "--require",
            metavar="[NAME:]RUNGS",
            help="Fail where one of these was skipped, of all wheels or of NAME's: static, import, load, rocm, operators, share,"
            " numerics, emulated, gpu. May be repeated.",
        ),
    ] = None
    each: Annotated[bool, option("--each", help="Prove each wheel by itself, as a build does.")] = False
    statements: Annotated[
        Path | None,
        option(
            "--statements",
            metavar="DIR",
            help="Write WHEEL.verification.json there, for `publish --proof`.",
        ),
    ] = None
    machine: Annotated[
        str, option("--machine", metavar="NAME", help="How the statement names this machine: gfx1100.")
    ] = ""
    json: JsonOption = False
    sarif: Sarif = None
    junit: Junit = None
    markdown: Markdown = None

    def refuse_contradictions(self, wheels: Sequence[Path]) -> None:
        """Raises UsageError for options that do not go together."""
        from stackbuild.core.errors import UsageError

        if self.statements and len(wheels) > 1 and not self.each:
            raise UsageError(
                "a statement is about one wheel, and these are proved together",
                where="--statements",
                next="add --each, or give one wheel",
            )
        if self.machine and not self.statements:
            raise UsageError("--machine is a word of the statement", next="add --statements DIR")
        if self.emulate is not None and not _targets(self.emulate):
            raise UsageError("--emulate names no target", where=repr(self.emulate), next="add --emulate gfx1100")
        if (self.emulate_all or self.sanitize) and not self.emulate:
            raise UsageError("--emulate-all and --sanitize are about --emulate", next="add --emulate gfx1100")


@app.command()
@sharing(VerifyArguments)
def verify(
    wheels: Annotated[list[Path], argument(metavar="WHEEL…", help="Wheels that belong together.")],
    arguments: VerifyArguments = VerifyArguments(),
) -> None:
    """Prove that wheels do what they claim, by running them.

    They are inspected, then installed and run in a sandbox without network. Rungs that cannot run on this
    machine are skipped with the reason. With --emulate the wheel's kernels run on the CPU, where no GPU is: docs/emulator.md. Exit 5 when a rung fails. A wheelhouse is filled by `pip download -d wheelhouse onnxruntime numpy onnx`.

    Example: stackbuild verify dist/simple/*/stackbuild_kernels-*.whl --recipe debian-13 --wheelhouse wheelhouse --emulate gfx1100
    """
    from stackbuild.verification.requirement import required_rungs_of, unmet_by
    from stackbuild.views.console import print_json
    from stackbuild.views.verify import draw_unmet

    requirements = required_rungs_of(arguments.require or ())
    arguments.refuse_contradictions(wheels)
    results = _results(wheels, arguments)
    if arguments.json:
        rows = [{"verification": result, "claim": result.claim} for result in results]
        print_json({"verifications": rows} if arguments.each else rows[0], "stackbuild.verify/1")
    write_reports(results, arguments.sarif, arguments.junit, arguments.markdown)
    if arguments.statements:
        _write_statements(results, arguments.statements, arguments.machine)
    missed_rungs = unmet_by(results, requirements)
    for line in missed_rungs:
        draw_unmet(line)
    if missed_rungs or any(result.failed for result in results):
        leave(5)


def _results(wheels: Sequence[Path], arguments: VerifyArguments) -> list[Verification]:
    """Prove the wheels, together or each by itself, and draw each rung and each result as it comes."""
    from stackbuild import verification
    from stackbuild.core.cancel import Stopper
    from stackbuild.views.verify import draw_rung, draw_verification

    stopper = Stopper()
    options = _options(wheels, arguments, stopper)
    results = []
    with stopper.on_signals():
        for subject in [(wheel,) for wheel in wheels] if arguments.each else [tuple(wheels)]:
            result = verification.verify(
                subject,
                lambda name: expectations_for(arguments.recipe, name, tuple(arguments.gfx or ())),
                options,
                draw_rung,
            )
            results.append(result)
            if not arguments.json:
                draw_verification(result)
    return results


def _write_statements(results: Sequence[Verification], folder: Path, machine: str) -> None:
    """A statement about each wheel. Raises UsageError where the folder cannot be written."""
    from stackbuild.publishing.proofs import write_proof
    from stackbuild.publishing.statements import ResourceDescriptor, verification

    for result in results:
        wheel = ResourceDescriptor(result.subject, result.sha256)
        write_proof(folder, wheel, "verification", verification(wheel, result, machine))


def _targets(text: str) -> tuple[str, ...]:
    """The targets of --emulate, each once."""
    return tuple(dict.fromkeys(filter(None, map(str.strip, text.split(",")))))


def _migraphx_wheel(recipe: str | None, wheels: Sequence[Path]) -> Path | None:
    """The wheel that packs the MIGraphX which the recipe builds, the first of several: others are proved beside it."""
    from stackbuild.core.packaging import canonicalize_name, distribution_of
    from stackbuild.recipe.load import load
    from stackbuild.recipe.wheels import migraphx_distributions

    names = {canonicalize_name(name) for name in migraphx_distributions(load(recipe).recipe)} if recipe else set()
    return next((wheel for wheel in wheels if names and distribution_of(wheel.name)[0] in names), None)


def _options(wheels: Sequence[Path], arguments: VerifyArguments, stopper: Stopper) -> VerifyOptions:
    """Raises UsageError for what is not a folder, a root file system or an interpreter."""
    from stackbuild.core.errors import UsageError
    from stackbuild.recipe.load import load
    from stackbuild.store.store import EMULATOR, default_root
    from stackbuild.verification import VerifyOptions

    wheelhouse, root, python = arguments.wheelhouse, arguments.root, arguments.python
    if wheelhouse is not None and not wheelhouse.is_dir():
        raise UsageError(
            "no such folder", where=str(wheelhouse), next="pip download -d wheelhouse onnxruntime numpy onnx"
        )
    if root is not None and not (root / "usr").is_dir():
        raise UsageError(
            "not a root file system: there is no usr/ in it", where=str(root), next="mmdebstrap trixie DIR makes one"
        )
    if python is not None and not os.access(python, os.X_OK):
        raise UsageError("not an interpreter", where=str(python), next="give the path of a python3 executable")
    demands = load(arguments.recipe).recipe.verify if arguments.recipe else None
    beside = tuple(arguments.runtime or ()) or (demands.runtime if demands else VerifyOptions().runtime)
    return VerifyOptions(
        wheelhouse.resolve() if wheelhouse else None,
        runtime=beside,
        python=python.absolute() if python else None,
        rocm=not arguments.hide_rocm,
        root=root.resolve() if root else None,
        emulate=_targets(arguments.emulate or ""),
        emulator_folder=default_root() / EMULATOR,
        emulate_whole=arguments.emulate_all,
        sanitize=arguments.sanitize,
        migraphx=_migraphx_wheel(arguments.recipe, wheels) if arguments.each else None,
        check=stopper.check,
    )
