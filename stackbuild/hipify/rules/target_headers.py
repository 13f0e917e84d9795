"""Looks which of the headers that a conversion may name exist in the target's include folders."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from stackbuild.core.errors import UsageError
from stackbuild.hipify.model import Target
from stackbuild.hipify.rules.rules import RuleSet, version
from stackbuild.hipify.tables import declarations
from stackbuild.hipify.tables.hipify_tools import cache_folder
from stackbuild.hipify.tables.tables import Tables


def resolve_headers(target: Target, folders: Sequence[Path], tables: Tables, rules: RuleSet) -> Target:
    """The target with the names that exist, looking only for those that tables and rules name. Raises UsageError.

    Without folders nothing is looked up, and the first name of each is taken.
    """
    if not folders:
        return target
    for folder in folders:
        if not folder.is_dir():
            raise UsageError("no such include folder", where=str(folder), next="check --target-include")
    return with_existing_headers(target, lambda header: any((f / header).is_file() for f in folders), tables, rules)


def with_existing_headers(target: Target, exists: Callable[[str], bool], tables: Tables, rules: RuleSet) -> Target:
    """The target with those of the names that tables and rules may give which exist."""
    paths = {s.hip for s in (*tables.simple, *tables.roc, *tables.miopen, *tables.trial) if s.header and s.hip}
    paths |= {to for rule in rules.rules if rule.kind == "header" for to in rule.to or () if to and "*" not in to}
    paths |= {f"{Path(w).stem.lower()}/{w}" for w in paths if "/" not in w}
    return replace(target, headers=frozenset(filter(exists, paths)))


def with_declarations(target: Target, folders: Sequence[Path], tables: Tables, rules: RuleSet) -> Target:
    """The target with what its headers declare: read from its include folders, or looked up by its ROCm version."""
    if folders:
        header_declarations = declarations.installed_declarations(folders, wanted_names(tables, rules), cache_folder())
        return replace(
            target, declared=declarations.with_device(header_declarations, declarations.compiler_functions())
        )
    return replace(target, declared=declarations.of_version(target.rocm, version(target.rocm)))


def wanted_names(tables: Tables, rules: RuleSet) -> frozenset[str]:
    """The names that a conversion may give: what tables and rules make of CUDA's, and what both spell alike."""
    names = {s.hip for s in (*tables.simple, *tables.roc, *tables.miopen, *tables.trial) if not s.header and s.hip}
    names |= {to for r in rules.rules if r.kind in ("identifier", "call") for to in r.to or () if to.isidentifier()}
    return frozenset(names)
