"""The command line app: the one module that imports typer.

A command lives in `stackbuild/cli/TOPIC.py` and is decorated with `@app.command()`. It imports its verb inside the
function, so that start-up stays short. It hands the result to a function of `stackbuild.views`, and ends by
`leave(code)` when the exit code is not 0. Options that several commands share are spelt here once.
"""

from __future__ import annotations

import inspect
import os
import re
import sys
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, NoReturn, TypeVar, get_type_hints

import typer
from typer.core import TyperCommand, TyperGroup

from stackbuild.cli.completion import BashLine, recipes, words
from stackbuild.cli.option_forms import refuse_wrong_values
from stackbuild.cli.usage import usage_mistake
from stackbuild.core.errors import OutputWriteError, UsageError
from stackbuild.core.output_style import OUTPUT_STYLE
from stackbuild.core.shell_words import shell_word, shell_words
from stackbuild.tables.near_words import one_of

argument = typer.Argument
option = typer.Option
Exit = typer.Exit


def _set_output_style(param: typer.CallbackParam, value: Any) -> Any:
    """How much is said, and in which colours, from here on."""
    if param.name == "color":
        OUTPUT_STYLE.color = value or OUTPUT_STYLE.color
    elif value:
        OUTPUT_STYLE.verbosity = 1 if param.name == "verbose" else -1
    return value


def _color_word(text: str) -> str:
    """The word as it is. Raises BadParameter for another one."""
    if text not in ("", "auto", "always", "never"):
        raise typer.BadParameter(f"{text!r} is not one of auto, always, never")
    return text


def _output_style_parameters(hidden: bool) -> list[inspect.Parameter]:
    """`--verbose`, `--quiet` and `--color`: every command takes them, before its name or behind it, and lists none of them."""
    rows: list[tuple[str, Any, object, tuple[str, ...], dict[str, Any]]] = [
        ("verbose", bool, False, ("--verbose", "-v"), {"help": "Show what steps print, and where an error comes from."}),
        ("quiet", bool, False, ("--quiet", "-q"), {"help": "Print results, warnings and errors alone."}),
        (
            "color", str, "", ("--color",),
            {"help": "Colours: auto, always or never.", "metavar": "WHEN", "parser": _color_word,
             "autocompletion": words("auto", "always", "never")},
        ),
    ]  # fmt: skip
    return [
        inspect.Parameter(
            name, inspect.Parameter.KEYWORD_ONLY, default=default,
            annotation=Annotated[kind, typer.Option(*names, callback=_set_output_style, hidden=hidden, **more)],
        )
        for name, kind, default, names, more in rows
    ]  # fmt: skip


def _with_output_style(command: Callable[..., Any], hidden: bool = True) -> Callable[..., Any]:
    """The command with those three options, which it is not given itself."""
    hints = get_type_hints(command, include_extras=True)
    own = [
        p.replace(annotation=hints.get(p.name, p.annotation), kind=p.KEYWORD_ONLY)
        for p in inspect.signature(command).parameters.values()
    ]
    style_parameters = _output_style_parameters(hidden)

    @wraps(command)
    def wrapper(**arguments: Any) -> Any:
        for parameter in style_parameters:
            arguments.pop(parameter.name, None)
        return command(**arguments)

    whole = [*own, *style_parameters]
    wrapper.__signature__ = inspect.Signature(whole)  # type: ignore[attr-defined]
    wrapper.__annotations__ = {p.name: p.annotation for p in whole}
    return wrapper


class _HelpFormatter(typer.Context.formatter_class):  # type: ignore[misc,valid-type]
    """The library's, which would break a word such as `bench-batches.json` behind its hyphen."""

    def write_text(self, text: str) -> None:
        super().write_text(text.replace("-", _WHOLE_HYPHEN))

    def write_dl(self, rows: Any, *args: Any, **more: Any) -> None:
        super().write_dl([(name, text.replace("-", _WHOLE_HYPHEN)) for name, text in rows], *args, **more)

    def getvalue(self) -> str:
        return str(super().getvalue()).replace(_WHOLE_HYPHEN, "-")


_WHOLE_HYPHEN = "\u2011"
"""A hyphen at which no line is broken."""


class RecipeCommand(TyperCommand):
    """A command that says what to write where the recipe it needs is given without `--recipe`, or not at all."""

    def get_help(self, ctx: Any) -> str:
        ctx.formatter_class = _HelpFormatter
        return super().get_help(ctx)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Raises UsageError, and what typer raises of anything else that is wrong."""
        mine = args[: args.index("--")] if "--" in args else args
        if (
            not ctx.resilient_parsing
            and not os.environ.get("STACKBUILD_RECIPE")
            and self._needs_recipe()
            and not any(map(_NAMES_RECIPE.match, mine))
        ):
            path = ctx.command_path.removeprefix(ctx.find_root().command_path)
            raise self._no_recipe(f"stackbuild{path}", mine, args)
        if not ctx.resilient_parsing and not {"--help", "-h"} & {*mine}:
            path = ctx.command_path.removeprefix(ctx.find_root().command_path).strip()
            refuse_wrong_values(path, mine, self._spellings())
        return super().parse_args(ctx, args)

    def _spellings(self) -> list[list[str]]:
        """The spellings of each option that takes a value, the long one first."""
        options = [param for param in self.params if param.param_type_name == "option"]
        return [sorted(param.opts, key=len, reverse=True) for param in options if not getattr(param, "is_flag", False)]

    def _needs_recipe(self) -> bool:
        return any("--recipe" in param.opts and param.required for param in self.params)

    def _no_recipe(self, path: str, mine: list[str], args: list[str]) -> UsageError:
        from stackbuild.recipe.load import bundled_recipes

        recipe_words = [word for word in mine if word in bundled_recipes() or word.endswith((".yaml", ".yml"))]
        if wheel := next((word for word in mine if word.endswith(".whl")), ""):
            step = f"`{path} --recipe R` works on a recipe; `stackbuild verify {shell_word(wheel)}` and `stackbuild inspect {shell_word(wheel)}` read wheels"
            return UsageError("it is a wheel, and no recipe is named", where=wheel, next=step)
        takes_words = any(param.param_type_name == "argument" for param in self.params)
        first = [] if takes_words else [word for word in mine[:1] if not word.startswith("-")]
        for recipe_name in (recipe_words or first)[:1]:
            at = args.index(recipe_name)
            words = shell_words(["--recipe", recipe_name, *args[:at], *args[at + 1 :]])
            return UsageError(
                "a recipe is named by an option", where=recipe_name, next=f"did you mean `{path} {words}`?"
            )
        words = " ".join(["--recipe R", *([shell_words(args)] if args else [])])
        return UsageError(
            "no recipe is named", next=f"`{path} {words}`; `stackbuild recipe list` shows those that there are"
        )


class CommandGroup(TyperGroup):
    """A group that lists its commands with whole sentences; the library's own cuts them to one line of the terminal."""

    def get_help(self, ctx: Any) -> str:
        ctx.formatter_class = _HelpFormatter
        return super().get_help(ctx)

    def main(self, *args: Any, **more: Any) -> Any:
        _add_bash_completion()
        return super().main(*args, **more)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        named_commands = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        rows = [
            (name, command.get_short_help_str(_WHOLE))
            for name, command in named_commands
            if command is not None and not command.hidden
        ]
        if rows:
            with formatter.section("Commands"):
                formatter.write_dl(rows)


_WHOLE = 1_000
"""Characters of a first sentence: more than any has."""

_NAMES_RECIPE = re.compile(r"--rec|-[a-zA-Z]*r|(-h|--help)$")
"""Words that name a recipe, or try to and are better reported by typer, and those that ask for help."""


Verb = TypeVar("Verb", bound=Callable[..., Any])


class App(typer.Typer):
    """A group of such commands."""

    def command(self, name: str | None = None, **settings: Any) -> Callable[[Verb], Verb]:
        added_command = super().command(name, cls=RecipeCommand, **settings)

        def add(verb: Verb) -> Verb:
            added_command(_with_output_style(verb))
            return verb

        return add


app = App(
    name="stackbuild",
    cls=CommandGroup,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Build, verify, benchmark and publish ROCm ONNX Runtime stacks from one recipe.\n\n"
    "First steps: `stackbuild start --gpu NAME`, `stackbuild doctor`, `stackbuild build --recipe debian-13`.",
    epilog="Exit codes: 0 done, 1 a defect in stackbuild, 2 usage or recipe wrong, 3 cannot be planned or lock stale, "
    "4 a step failed, 5 verification failed, 6 a gate failed, 7 the machine lacks something, 130/143 stopped by a signal.",
)


def _version(flag: bool) -> None:
    if flag:
        from stackbuild.version import __version__

        typer.echo(f"stackbuild {__version__}")
        raise typer.Exit


def _root(
    version: Annotated[
        bool, typer.Option("--version", "-V", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


app.callback()(_with_output_style(_root, hidden=False))


def group(name: str, help: str) -> App:
    """A command group such as `stackbuild bench`, attached to the app."""
    sub = App(name=name, cls=CommandGroup, no_args_is_help=True, help=help, rich_markup_mode=None)
    app.add_typer(sub)
    return sub


_LIBRARY = sys.modules[typer.BadParameter.__module__]
"""The library's errors about command lines: of click, or of the copy of it that newer typers have."""


def _add_bash_completion() -> None:
    """Replace the library's class for bash, where bash asks: by one that keeps a value with spaces one word."""
    if os.environ.get("_STACKBUILD_COMPLETE", "") != "complete_bash":
        return
    shells = sys.modules[f"{_LIBRARY.__name__.rpartition('.')[0]}.shell_completion"]

    class BashCompletion(shells.get_completion_class("bash")):  # type: ignore[misc]
        def get_completion_args(self) -> tuple[list[str], str]:
            line = _bash_line()
            words = [" ".join(shells.split_arg_string(word)) for word in (*line.words, line.incomplete.rstrip("\\"))]
            return words[:-1], words[-1]

        def format_completion(self, item: Any) -> str:
            return _bash_line().spelling(str(item.value))

    shells.add_completion_class(BashCompletion, "bash")


def _bash_line() -> BashLine:
    return BashLine.of(os.environ["COMP_WORDS"], int(os.environ["COMP_CWORD"]))


def run_words(words: list[str], load_all: Callable[[], None]) -> int:
    """Run a command line and return its exit code. Raises Stop; a wrong command line is a UsageError.

    `load_all` adds all commands, so that the answer may name another command that takes a wrong option.
    """
    try:
        if words[:1] and words[0].partition("=")[0] in _COMPLETION_OPTIONS and (shell := _shell_of(words)):
            return _complete_for(words[0].partition("=")[0], shell)
        return app(words, standalone_mode=False, prog_name="stackbuild") or 0
    except _LIBRARY.NoArgsIsHelpError as empty:
        empty.show()
    except BrokenPipeError:
        raise
    except OSError as error:
        if _is_of_library(error):
            raise OutputWriteError(error.errno, error.strerror) from None
        raise
    except _LIBRARY.UsageError as error:
        load_all()
        raise usage_mistake(error, words, typer.main.get_command(app)) from None
    return UsageError.exit_code


def _is_of_library(error: OSError) -> bool:
    """Whether the library itself met it, and at no file: it prints helps and completions, which is all that it writes."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    module = "" if trace is None else str(trace.tb_frame.f_globals.get("__name__", ""))
    return error.filename is None and module.split(".")[0] == _LIBRARY.__name__.split(".")[0]


_COMPLETION_OPTIONS = ("--show-completion", "--install-completion")
SHELLS = ("bash", "zsh", "fish")
"""The shells that typer writes a completion for, and that run here."""


def _shell_of(words: list[str]) -> str:
    """The shell that a completion option names; "" where it is the one that the command runs in. Raises UsageError."""
    option_name, _, shell = words[0].partition("=")
    shell = shell or " ".join(words[1:])
    if shell and shell not in SHELLS and shell[:1] != "-":
        raise UsageError(f"no completion for the shell {shell!r}", where=option_name, next=one_of(shell, SHELLS))
    return shell if shell in SHELLS else ""


def _complete_for(option_name: str, shell: str) -> int:
    """Print or install the library's completion for a shell by its name: its own options take the shell that they run in."""
    from typer.completion import install_callback, show_callback

    command = typer.main.get_command(app)
    callback = show_callback if option_name == "--show-completion" else install_callback
    with typer.Context(command, info_name="stackbuild") as context:
        callback(context, command.params[0], shell)
    return 0


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
        envvar="STACKBUILD_RECIPE",
        show_envvar=False,
    ),
]
AllowPath = Annotated[
    list[Path] | None,
    option(
        "--allow-path",
        metavar="DIR",
        help="Let the recipe's paths lead into this folder, too: by themselves they stay in the recipe's own, and the index in the working directory. May be repeated.",
    ),
]
JsonOption = Annotated[
    bool, option("--json", help="Print the result as JSON on stdout; everything for people goes to stderr.")
]
Out = Annotated[Path | None, option("--out", "-o", help="Where to write the result.")]


def commands() -> list[tuple[str, str]]:
    """Every command with its help text, groups spelt out: for docs/cli.md and the test that holds it."""
    rows: list[tuple[str, str]] = []

    def visit(command: object, path: str) -> None:
        subs = getattr(command, "commands", None)
        if subs:
            for name, sub in sorted(subs.items()):
                visit(sub, f"{path} {name}")
        else:
            context = typer.Context(command, info_name=path)  # type: ignore[arg-type]
            rows.append((path, command.get_help(context)))  # type: ignore[attr-defined]

    visit(typer.main.get_command(app), "stackbuild")
    return rows
