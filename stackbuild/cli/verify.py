"""`verify`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from stackbuild.cli.app import JsonOption, app, argument, leave, option
from stackbuild.cli.inspect import Junit, OptionalRecipe, OwedGfx, Sarif, expectations_for, write_reports

if TYPE_CHECKING:
    from stackbuild.verification import VerifyOptions


@app.command()
def verify(
    wheels: Annotated[list[Path], argument(metavar="WHEEL…", help="Wheels that belong together.")],
    recipe: OptionalRecipe = None,
    gfx: OwedGfx = None,
    wheelhouse: Annotated[
        Path | None, option("--wheelhouse", "-w", metavar="DIR", help="Folder of wheels that dependencies come from.")
    ] = None,
    runtime: Annotated[
        list[str] | None, option("--runtime", help="What to install beside the wheel to use it; may be repeated.")
    ] = None,
    python: Annotated[Path | None, option("--python", metavar="PATH", help="The interpreter to prove it with.")] = None,
    hide_rocm: Annotated[
        bool, option("--hide-rocm", help="Prove what works where no ROCm is installed under /opt.")
    ] = False,
    root: Annotated[
        Path | None,
        option(
            "--root",
            metavar="DIR",
            help="A root file system to take this machine's place where that lacks ROCm, glibc or Python.",
        ),
    ] = None,
    emulate: Annotated[
        str | None,
        option(
            "--emulate",
            metavar="GFX[,GFX…]",
            help="Also run the device code for these targets on the CPU, in software: `gfx1100`, `gfx942`, …",
        ),
    ] = None,
    emulate_all: Annotated[
        bool, option("--emulate-all", help="With --emulate: every case of every operator, not a sample. Takes minutes.")
    ] = False,
    sanitize: Annotated[
        bool,
        option(
            "--sanitize",
            help="With --emulate: also look for races, missing waits, registers and LDS read before they are written.",
        ),
    ] = False,
    require: Annotated[
        str,
        option(
            "--require",
            metavar="RUNGS",
            help="Fail where one of these was skipped: static, import, load, rocm, operators, share, numerics, emulated, gpu.",
        ),
    ] = "",
    json: JsonOption = False,
    sarif: Sarif = None,
    junit: Junit = None,
) -> None:
    """Prove that wheels do what they claim, by running them.

    They are inspected, then installed and run in a sandbox without network. Rungs that cannot run on this
    machine are skipped with the reason. With --emulate the wheel's kernels run on the CPU, where no GPU is: docs/emulator.md. Exit 5 when a rung fails. A wheelhouse is filled by `pip download -d wheelhouse onnxruntime numpy onnx`.

    Example: stackbuild verify dist/simple/*/stackbuild_kernels-*.whl --recipe debian-13 --wheelhouse wheelhouse --emulate gfx1100
    """
    from dataclasses import replace

    from stackbuild import verification
    from stackbuild.core.cancel import Stopper
    from stackbuild.core.errors import UsageError
    from stackbuild.store.store import EMULATOR, default_root
    from stackbuild.verification.requirement import required_rungs, unmet
    from stackbuild.views.console import print_json
    from stackbuild.views.verify import draw_rung, draw_unmet, draw_verification

    stopper = Stopper()
    required = required_rungs(require)
    if (emulate_all or sanitize) and not emulate:
        raise UsageError("--emulate-all and --sanitize are about --emulate", next="add --emulate gfx1100")
    options = replace(
        _options(recipe, wheelhouse, runtime, python, hide_rocm, root),
        emulate=tuple(dict.fromkeys(filter(None, (emulate or "").split(",")))),
        emulator_folder=default_root() / EMULATOR,
        emulate_whole=emulate_all,
        sanitize=sanitize,
        check=stopper.check,
    )
    with stopper.on_signals():
        result = verification.verify(
            tuple(wheels), lambda name: expectations_for(recipe, name, tuple(gfx or ())), options, draw_rung
        )
    print_json({"verification": result, "claim": result.claim}, "stackbuild.verify/1") if json else draw_verification(
        result
    )
    write_reports([result], sarif, junit)
    missed = unmet(result.rungs, required)
    for line in missed:
        draw_unmet(line)
    if result.failed or missed:
        leave(5)


def _options(
    recipe: str | None,
    wheelhouse: Path | None,
    runtime: list[str] | None,
    python: Path | None,
    hide_rocm: bool,
    root: Path | None,
) -> VerifyOptions:
    from stackbuild.core.errors import UsageError
    from stackbuild.recipe.load import load
    from stackbuild.verification import VerifyOptions

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
    demands = load(recipe).recipe.verify if recipe else None
    beside = tuple(runtime) if runtime else demands.runtime if demands else VerifyOptions().runtime
    return VerifyOptions(
        wheelhouse.resolve() if wheelhouse else None,
        runtime=beside,
        python=python.absolute() if python else None,
        rocm=not hide_rocm,
        root=root.resolve() if root else None,
    )
