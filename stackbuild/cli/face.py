"""The face of the command line: the one module that imports typer.

A command lives in `stackbuild/cli/TOPIC.py`, is decorated with `@app.command()`, imports its verb inside the function
(start-up stays small), hands the result to a function of `stackbuild.show`, and ends by `leave(code)` when the exit code
is not 0. Options that several commands share are spelt here once.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, NoReturn

import typer

from stackbuild.cli.completing import recipes

argument = typer.Argument
option = typer.Option
Exit = typer.Exit

app = typer.Typer(
    name="stackbuild",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Build, verify, benchmark and publish ROCm ONNX Runtime stacks from one recipe.\n\n"
    "First steps: `stackbuild doctor`, `stackbuild recipe list`, `stackbuild build --recipe debian-13`.",
    epilog="Exit codes: 0 done, 1 a defect in stackbuild, 2 usage or recipe wrong, 3 cannot be planned or lock stale, "
    "4 a step failed, 5 verification failed, 6 a gate closed, 7 the machine lacks something, 130/143 stopped by a signal.",
)


def _version(wanted: bool) -> None:
    if wanted:
        from stackbuild.version import __version__

        typer.echo(f"stackbuild {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", "-V", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


def group(name: str, help: str) -> typer.Typer:
    """A command group such as `stackbuild bench`, attached to the app."""
    sub = typer.Typer(name=name, no_args_is_help=True, help=help, rich_markup_mode=None)
    app.add_typer(sub)
    return sub


def leave(code: int) -> NoReturn:
    raise typer.Exit(code)


RecipeName = Annotated[
    str,
    option(
        "--recipe",
        "-r",
        metavar="R",
        help="A bundled recipe's name (see `stackbuild recipe list`) or a path.",
        autocompletion=recipes,
    ),
]
Json = Annotated[
    bool, option("--json", help="Print the result as JSON on stdout; everything for people goes to stderr.")
]
Out = Annotated[Path | None, option("--out", "-o", help="Where to write the result.")]


def commands() -> list[tuple[str, str]]:
    """Every command with its help text, groups spelt out: for docs/cli.md and the test that holds it."""
    found: list[tuple[str, str]] = []

    def visit(command: object, path: str) -> None:
        subs = getattr(command, "commands", None)
        if subs:
            for name, sub in sorted(subs.items()):
                visit(sub, f"{path} {name}")
        else:
            context = typer.Context(command, info_name=path)  # type: ignore[arg-type]
            found.append((path, command.get_help(context)))  # type: ignore[attr-defined]

    visit(typer.main.get_command(app), "stackbuild")
    return found
