"""`model check|compile`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from stackbuild.cli.app import JsonOption, argument, group, leave, option
from stackbuild.cli.completion import words

if TYPE_CHECKING:
    from stackbuild.bench.model_check import ModelRequest

model = group("model", "Check your own models. Example: stackbuild model check model.onnx --venv .venv")
Venv = Annotated[
    Path | None,
    option("--venv", metavar="DIR", help="The virtual environment whose onnxruntime is asked; default: this one."),
]
Provider = Annotated[
    str,
    option(
        "--provider",
        "-p",
        help="migraphx, rocm, cuda, cpu, or a full name.",
        autocompletion=words("migraphx", "rocm", "cuda", "cpu"),
    ),
]
ShapesOption = Annotated[
    list[str] | None,
    option(
        "--shape",
        metavar="NAME=AxBxC",
        help="An input's shape; may be repeated. Each further one of an input is a further shape.",
    ),
]
PluginOption = Annotated[
    str, option("--plugin", metavar="LIBRARY", help="Shared library of a plugin EP that --provider names.")
]


@model.command()
def check(
    file: Annotated[Path, argument(help="The .onnx file.")],
    venv: Venv = None,
    provider: Provider = "migraphx",
    shape: ShapesOption = None,
    plugin: PluginOption = "",
    options: Annotated[
        list[str] | None, option("--option", metavar="KEY=VALUE", help="A provider option; may be repeated.")
    ] = None,
    library: Annotated[
        list[str] | None, option("--library", metavar="FILE", help="A library of custom operators; may be repeated.")
    ] = None,
    nodes: Annotated[
        str,
        option(
            "--nodes", metavar="SHARE", help="The least share of the nodes that the provider must have; 0 for none."
        ),
    ] = "90%",
    seconds: Annotated[
        str, option("--seconds", metavar="SHARE", help="The least share of the kernels' time that it must have.")
    ] = "0",
    json: JsonOption = False,
) -> None:
    """Say which nodes run on a provider, and why not the others.

    One session is opened with the CPU as fallback, as applications have it, and run with each shape of --shape, else with two. Exit 5 where the
    provider has less than --nodes or --seconds, or is not in the session at all.

    Example: stackbuild model check model.onnx --venv .venv --provider migraphx --shape input=1x3x224x224
    """
    from stackbuild.bench.model_check import check_model
    from stackbuild.views.console import err, print_json
    from stackbuild.views.model import draw_check

    floors = _share(nodes, "--nodes"), _share(seconds, "--seconds")
    request = _request(file, venv, (provider, plugin), shape or [], options or [], library or [])
    with err().status("opening a session: a provider that compiles may take minutes …"):
        result = check_model(request)
    short = result.problem != "" or result.node_share < floors[0] or result.time_share < floors[1]
    body = {
        "check": result,
        "node_share": result.node_share,
        "time_share": result.time_share,
        "compiles": result.compiles,
        "passed": not short,
    }
    print_json(body, "stackbuild.model-check/1") if json else draw_check(result, floors)
    if short:
        leave(5)


@model.command("compile")
def compile_(
    file: Annotated[Path, argument(help="The .onnx file.")],
    out: Annotated[
        Path, option("--out", "-o", metavar="DIR", help="Folder of the compiled models; it must be empty or new.")
    ],
    venv: Venv = None,
    shape: ShapesOption = None,
    json: JsonOption = False,
) -> None:
    """Compile a model ahead with MIGraphX. Needs an AMD GPU.

    Sessions read the folder. Needs a build with MIGraphX, too. It has never been run: see docs/your-machine.md.

    Example: stackbuild model compile model.onnx --venv .venv --shape input=1x3x224x224 -o compiled
    """
    from stackbuild.bench.model_compile import compile_model
    from stackbuild.views.console import err, print_json
    from stackbuild.views.model import draw_compiled

    request = _request(file, venv, ("migraphx", ""), shape or [], [], [])
    with err().status("compiling: minutes for each shape …"):
        compiled_model = compile_model(request, out)
    print_json(compiled_model, "stackbuild.model-compile/1") if json else draw_compiled(compiled_model)


def _share(text: str, name: str) -> float:
    """A share of 1 from `90%` or `0.9`. Raises UsageError."""
    from stackbuild.core.errors import UsageError
    from stackbuild.model.gates import quantity

    try:
        value = float(str(quantity(text, "share")))
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise UsageError(f"{text!r} is not a share", where=name, next="write 90% or 0.9")
    return value


def _request(
    file: Path,
    venv: Path | None,
    provider: tuple[str, str],
    shapes: list[str],
    options: list[str],
    libraries: list[str],
) -> ModelRequest:
    from stackbuild.bench.environment import plain_environment
    from stackbuild.bench.model_check import ModelRequest
    from stackbuild.bench.onnx_file import input_parts
    from stackbuild.bench.providers import provider_name, provider_options
    from stackbuild.core.errors import UsageError

    python = venv / "bin" / "python" if venv else None
    if python is not None and not python.exists():
        raise UsageError("it has no bin/python", where=str(venv), next="give the folder of a virtual environment")
    name, plugin = provider
    full = name if plugin else provider_name(name)
    library = str(Path(plugin).absolute()) if plugin and ":" not in plugin else plugin
    custom = tuple(str(Path(each).absolute()) for each in libraries)
    settings = provider_options(full, options, bool(plugin))
    return ModelRequest(file, input_parts(file, shapes), full, settings, library, plain_environment(python), custom)
