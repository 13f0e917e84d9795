"""The engines: what makes HIP text of one file's bytes. `fast` is this package, `perl` and `clang` are HIPIFY's own."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from stackbuild.core.errors import MachineLacks, UsageError
from stackbuild.hipify.convert import convert
from stackbuild.hipify.cpp.edits import LineMap
from stackbuild.hipify.model import ConvertedText, Target
from stackbuild.hipify.rules.rules import RuleSet
from stackbuild.hipify.tables import hipify_tools
from stackbuild.hipify.tables.tables import Tables
from stackbuild.tables.near_words import one_of

NAMES = ("fast", "perl", "clang")


@dataclass(frozen=True, eq=False)
class Engine:
    """Which engine, with everything it needs: also picklable, for the workers of a parallel run.

    `parsed_folder` is a folder of texts by name that hipify-clang made before: of the `.cu` files of a recipe's source, in its base.
    """

    name: str
    tables: Tables
    rules: RuleSet
    target: Target
    tools: hipify_tools.Tools
    parsed_folder: Path | None = None

    def run(self, text: str, name: str) -> ConvertedText:
        """The HIP text of a file called `name`. Findings are those of `fast`, whichever engine makes the text."""
        converted_text = convert(text, self.tables, self.rules, self.target, name)
        if self.name == "fast" or (self.parsed_folder is not None and not name.endswith(".cu")):
            return converted_text
        other = _ENGINES[self.name](self, text, name)
        return replace(converted_text, text=other, rules={}, lines=_same_lines(text, other), needs=(), edits=())


def check(name: str, tools: hipify_tools.Tools) -> None:
    """Raises UsageError for an unknown engine, MachineLacks where its tool is not installed."""
    if name not in NAMES:
        raise UsageError(f"no engine is called {name!r}", next=one_of(name, tuple(NAMES)))
    if name == "perl":
        hipify_tools.need_perl(tools)
    if name == "clang":
        hipify_tools.need_clang(tools)


def perl(tools: hipify_tools.Tools, text: str, target: Target) -> str:
    """What hipify-perl makes of a text. Raises MachineLacks and UsageError."""
    flags = ["-quiet-warnings"]
    flags += ["-roc"] if target.flavour == "roc" else ["-miopen"] if target.flavour == "miopen" else []
    flags += ["-experimental"] if target.experimental else []
    flags += ["-hip-kernel-execution-syntax"] if target.launch == "ggl" else []
    with tempfile.TemporaryDirectory(prefix="stackbuild-hipify-") as folder:
        source = Path(folder) / "in.cu"
        source.write_bytes(text.encode("utf-8", "surrogateescape"))
        process = hipify_tools.run([str(hipify_tools.need_perl(tools)), *flags, "in.cu"], Path(folder))
    return process.stdout.decode("utf-8", "surrogateescape")


def _perl(engine: Engine, text: str, name: str) -> str:
    return perl(engine.tools, text, engine.target)


def _clang(engine: Engine, text: str, name: str) -> str:
    if engine.parsed_folder is not None:
        return _read_output(engine.parsed_folder, name)
    with tempfile.TemporaryDirectory(prefix="stackbuild-hipify-") as folder:
        source = Path(folder) / (Path(name).name or "in.cu")
        source.write_bytes(text.encode("utf-8", "surrogateescape"))
        out = Path(folder) / "out.hip"
        try:
            hipify_tools.run([str(hipify_tools.need_clang(engine.tools)), str(source), "-o", str(out)], Path(folder))
        except UsageError as error:
            if "cannot find CUDA" in str(error) or "Assertion" in str(error) or "code -6" in str(error):
                raise MachineLacks(
                    "hipify-clang needs an installed CUDA toolkit to read sources",
                    where=name,
                    next="use the fast engine, which needs none, or install CUDA",
                ) from error
            raise
        return out.read_bytes().decode("utf-8", "surrogateescape")


def _read_output(folder: Path, name: str) -> str:
    try:
        return (folder / name).read_bytes().decode("utf-8", "surrogateescape")
    except OSError as error:
        next = "`stackbuild logs` of its step `.clang` has why: give `clang_flags`, leave the file out, or take `engine: fast`"
        raise UsageError("hipify-clang could not read it", where=name, next=next) from error


def _same_lines(before: str, after: str) -> LineMap:
    """The line map of a tool that only adds lines at the top, as hipify-perl does."""
    added_lines = after.count("\n") - before.count("\n")
    return LineMap(((1, 1), (added_lines + 1, 1))) if added_lines > 0 else LineMap()


_ENGINES: dict[str, Callable[[Engine, str, str], str]] = {"perl": _perl, "clang": _clang}
