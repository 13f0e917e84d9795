"""`env` and `doctor`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from stackbuild.cli.app import JsonOption, app, leave, option
from stackbuild.cli.completion import gpus, recipes, words


@app.command()
def env(
    gpu: Annotated[str, option("--gpu", help='A product or a gfx target: "RX 7900 XTX", MI300X, gfx1100.', autocompletion=gpus)],
    workload: Annotated[
        str,
        option(
            "--workload",
            help="onnxruntime, migraphx, lc0 or pytorch.",
            autocompletion=words("onnxruntime", "migraphx", "lc0", "pytorch"),
        ),
    ] = "onnxruntime",
    rocm: Annotated[
        str, option("--rocm", metavar="VERSION", help="The ROCm it runs with; default: the one in /opt/rocm.")
    ] = "",
    device: Annotated[
        list[str] | None,
        option(
            "--device", metavar="N", help="The only GPU that the process shall see, by index or UUID; may be repeated."
        ),
    ] = None,
    form: Annotated[
        str,
        option("--format", help="shell, dotenv or dockerfile.", autocompletion=words("shell", "dotenv", "dockerfile")),
    ] = "shell",
    json: JsonOption = False,
) -> None:
    """Print the variables worth setting for a GPU, with sources.

    Warns of what is set here and should not be. Every GPU stays visible without --device.

    Example: stackbuild env --gpu "RX 7900 XTX" --format dockerfile
    """
    import os

    from stackbuild.machine.env import environment, spell
    from stackbuild.machine.gpu import rocm_version
    from stackbuild.views.console import print_json
    from stackbuild.views.machine import draw_environment

    settings = environment(gpu, workload, os.environ, rocm or rocm_version(), tuple(device or ()))
    if json:
        print_json(settings, "stackbuild.environment/1")
        return
    draw_environment(spell(settings, form), settings.warnings)


@app.command()
def start(
    gpu: Annotated[
        str,
        option(
            "--gpu",
            help='A product or a gfx target: "RX 7900 XTX", MI300X, gfx1100; default: this machine\'s.',
            autocompletion=gpus,
        ),
    ] = "",
    json: JsonOption = False,
) -> None:
    """Say which wheel or recipe is for a GPU, and what it takes.

    What was proved of each recipe is said, and the command to type.

    Example: stackbuild start --gpu "RX 7900 XTX"
    """
    from stackbuild.checks.start import start
    from stackbuild.machine.gpu import gpus
    from stackbuild.tables.compatibility import table
    from stackbuild.views.console import print_json
    from stackbuild.views.machine import draw_start

    answer = start(gpu, gpus(), table())
    print_json(answer, "stackbuild.start/1") if json else draw_start(answer)


@app.command()
def doctor(
    recipe: Annotated[
        str,
        option(
            "--recipe",
            "-r",
            metavar="R",
            help="Look at what this recipe needs, too: lock, tools, disk, hours.",
            autocompletion=recipes,
        ),
    ] = "",
    venv: Annotated[
        Path | None,
        option("--venv", metavar="DIR", help="Look at the ONNX Runtime of this virtual environment instead."),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Check what this machine can build and verify.

    It checks sandbox, engine, tools, disk, memory, GPU, groups and ROCm. With --recipe it also checks the recipe's lock,
    tools, disk and memory, and estimates the hours. With --venv: which distribution owns each file of onnxruntime/, and
    which providers cannot be loaded. Exit 7 where something must be fixed.

    Example: stackbuild doctor --recipe rocm-7.2
    """
    if venv is not None:
        _examine_venv(venv, recipe, json)
        return
    from stackbuild.checks.needs import needs
    from stackbuild.machine.doctor import Machine, examine
    from stackbuild.model.findings import Status
    from stackbuild.recipe.load import load
    from stackbuild.views.console import print_json
    from stackbuild.views.machine import draw_doctor

    loaded_recipe = load(recipe) if recipe else None  # a wrong name ends here, before the machine is looked at
    rungs = examine(Machine()) + (needs(loaded_recipe) if loaded_recipe else ())
    print_json({"checks": rungs}, "stackbuild.doctor/1") if json else draw_doctor(rungs)
    if any(r.status is Status.FAILED for r in rungs):
        leave(7)


def _examine_venv(folder: Path, recipe: str, json: bool) -> None:
    import os

    from stackbuild.checks.loader_paths import loader_paths
    from stackbuild.checks.venv import examine_venv
    from stackbuild.core.errors import UsageError
    from stackbuild.machine.gpu import gpu_makers
    from stackbuild.views.console import print_json
    from stackbuild.views.machine import draw_venv

    if recipe:
        raise UsageError("--venv and --recipe look at different things", next="give one of them")
    report = examine_venv(folder, loader_paths(os.environ), gpu_makers())
    print_json(report, "stackbuild.venv/1") if json else draw_venv(report)
    if report.failed:
        leave(7)
