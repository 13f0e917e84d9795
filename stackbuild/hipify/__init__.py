"""From CUDA source to HIP source that compiles; what could not be converted is reported.

`convert` is the pure function (text, tables, rules, target → text and findings); `hipify_tree` drives it over files;
`open_engine` finds HIPIFY and the rules on this machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from stackbuild.hipify import engines
from stackbuild.hipify.convert import convert
from stackbuild.hipify.engines import Engine
from stackbuild.hipify.model import ConvertedText, FileReport, Report, Target
from stackbuild.hipify.rules import rule_files, target_headers
from stackbuild.hipify.rules.rules import RuleSet
from stackbuild.hipify.tables import hipify_tools
from stackbuild.hipify.tree.files import SourceSelection
from stackbuild.hipify.tree.tree import hipify_tree

__all__ = [
    "ConvertedText",
    "Engine",
    "FileReport",
    "Report",
    "SourceSelection",
    "Target",
    "convert",
    "hipify_tree",
    "open_engine",
    "staged_engine",
]


def open_engine(
    name: str = "fast",
    *,
    rule_sets: Sequence[str] = ("generic",),
    target: Target | None = None,
    include_folders: Sequence[Path] = (),
    hipify_perl: str | None = None,
    hipify_clang: str | None = None,
    tables_file: Path | None = None,
) -> Engine:
    """An engine with HIPIFY's tables and the rule sets named, for `target`.

    The tables are those of `tables_file`, of the HIPIFY that is named, or the newer of this package's and the machine's.
    `include_folders` are the target's, to resolve headers against and to read what they declare; without them that is
    looked up in the lists of released versions. A target with `compat` has rules of its own, and `rule_sets` are not read. Raises MachineLacks where an engine's program is not installed, UsageError and
    RecipeError for wrong names and rules.
    """
    rules = rule_files.load_compat() if target and target.compat else rule_files.load(rule_sets)
    tools = hipify_tools.find(hipify_perl, hipify_clang)
    engines.check(name, tools)
    tables = hipify_tools.tables_of_run(tools, tables_file)
    resolution = target_headers.resolve_headers(target or Target(), include_folders, tables, rules)
    return Engine(
        name, tables, rules, target_headers.with_declarations(resolution, include_folders, tables, rules), tools
    )


def staged_engine(
    name: str, hipify: Path, rules: RuleSet, target: Target, resolve: bool, parsed_folder: Path | None = None
) -> Engine:
    """An engine with the HIPIFY of a recipe's base: `hipify` is what the recipe's tables step left.

    That is `hipify-perl`, `csv/` where the base has hipify-clang, and `headers`, a list of the headers that are there.
    `parsed_folder` has what hipify-clang made in the base, for `clang`.
    """
    script = hipify / "hipify-perl"
    tables = hipify_tools.read_tables(script, hipify / "csv")
    if resolve:
        headers = frozenset((hipify / "headers").read_text(encoding="utf-8", errors="surrogateescape").split("\n"))
        target = target_headers.with_existing_headers(target, headers.__contains__, tables, rules)
    target = target_headers.with_declarations(target, (), tables, rules)
    return Engine(name, tables, rules, target, hipify_tools.Tools(script, None), parsed_folder)
