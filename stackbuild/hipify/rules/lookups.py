"""Makes the tables, rules and target of a run into the lookups that each file needs, once."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache

from stackbuild.hipify.model import Target
from stackbuild.hipify.rules.rules import ConversionRule, RuleSet, version
from stackbuild.hipify.tables.declarations import Declarations
from stackbuild.hipify.tables.tables import Subst, Tables


@dataclass(frozen=True)
class ApiIssue:
    """Why a name needs attention: `kind` is a key of `api_report.ISSUE_KINDS`, `detail` what to print of it."""

    kind: str
    detail: str = ""
    call_only: bool = False


@dataclass(frozen=True, eq=False)
class Lookups:
    """`names` are the identifiers to rename, `same_names` those that HIP spells alike, `headers` CUDA headers → HIP ones.

    `issues` are names to report, `known_names` all names of the tables, `searched_names` those a file is searched for.
    """

    target: Target
    names: Mapping[str, Subst]
    same_names: frozenset[str]
    headers: Mapping[str, Subst]
    issues: Mapping[str, tuple[ApiIssue, ...]]
    known_names: frozenset[str]
    searched_names: frozenset[str]
    rules: Mapping[str, tuple[ConversionRule, ...]]
    shims: Mapping[str, str]

    def of_kind(self, kind: str, name: str) -> list[ConversionRule]:
        """The rules of one kind that apply to the file `name`, in order of precedence."""
        if kind not in self._scoped_kinds:
            return self._rules_by_kind.get(kind, _NONE)
        return [r for r in self.rules[kind] if r.is_for(name)]

    @cached_property
    def _rules_by_kind(self) -> dict[str, list[ConversionRule]]:
        return {kind: list(rules) for kind, rules in self.rules.items()}

    @cached_property
    def _scoped_kinds(self) -> frozenset[str]:
        """The kinds that have rules for some files only."""
        return frozenset(kind for kind, rules in self.rules.items() if any(r.files or r.excluded for r in rules))

    @cached_property
    def matches(self) -> dict[str, frozenset[str]]:
        """What the rules of each kind match: a quick look before the rules themselves."""
        return {kind: frozenset(m for r in rules for m in r.match) for kind, rules in self.rules.items()}

    def may_rule_header(self, path: str) -> bool:
        """Whether any header rule could match a path: a quick look before the rules themselves."""
        return path in self.ruled_headers or path.startswith(self.ruled_stems)

    @cached_property
    def names_by_shim(self) -> dict[str, frozenset[str]]:
        """The names that each support header is for, by its rule."""
        return {rule.id: frozenset(rule.when) for rule in self.rules.get("shim", ())}

    @cached_property
    def cuda_names(self) -> frozenset[str]:
        """The names that are CUDA's: converted, kept or lacking by the tables."""
        return frozenset(self.names) | self.same_names | self.issues.keys()

    @cached_property
    def renamed_names(self) -> frozenset[str]:
        """The names that the tables rename and no rule of the project: a rule is meant for what the project defines."""
        return frozenset(self.names) - self.ruled_names

    @cached_property
    def ruled_names(self) -> frozenset[str]:
        """The names that identifier rules rename."""
        return self.matches.get("identifier", frozenset())

    @cached_property
    def supplied_names(self) -> frozenset[str]:
        """The names that any support header is for, and that HIP spells alike, without min and max."""
        free_names = {name for rule in self.rules.get("shim", ()) if rule.where == "extremes" for name in rule.when}
        return frozenset().union(*self.names_by_shim.values()) - self.names.keys() - free_names

    @cached_property
    def device_functions(self) -> frozenset[str]:
        """CUDA's device functions that HIP lacks."""
        return frozenset(
            name for name, issues in self.issues.items() if any(issue.kind == "device-function" for issue in issues)
        )

    @cached_property
    def unchecked_rules(self) -> frozenset[str]:
        """The rules whose headers are not looked for: paths of the project, and whole folders."""
        folders = (r for r in self.rules.get("header", ()) if any("**" in to for to in r.to or ()))
        return frozenset(r.id for r in (*self.rules.get("path", ()), *folders))

    @cached_property
    def ruled_headers(self) -> frozenset[str]:
        return frozenset(m for r in self.rules.get("header", ()) for m in r.match)

    @cached_property
    def ruled_stems(self) -> tuple[str, ...]:
        return tuple(m.split("*")[0] for m in self.ruled_headers if "*" in m)

    def fixes(self, name: str) -> dict[str, str]:
        """The mechanical fixes that apply to the file `name`, each with the id of the rule that asks for it."""
        rule_ids: dict[str, str] = {}
        for rule in self.of_kind("fix", name):
            for fix in rule.match:
                rule_ids.setdefault(fix, rule.id)
        return rule_ids


_NONE: list[ConversionRule] = []


@lru_cache(maxsize=8)
def prepare(tables: Tables, rules: RuleSet, target: Target) -> Lookups:
    """The lookups of one run."""
    names: dict[str, Subst] = {}
    headers: dict[str, Subst] = {}
    same_names: set[str] = set()
    for subst in tables.substitutions_in_order(target.flavour, target.experimental):
        if subst.header:
            headers.setdefault(subst.cuda, subst)
        elif subst.cuda == subst.hip:
            same_names.add(subst.cuda)
        else:
            names.setdefault(subst.cuda, subst)
    issues = _issues(tables, target, names, same_names)
    ruled_names = {m for r in rules.rules if r.kind in ("identifier", "call") for m in r.match}
    return Lookups(
        target=target,
        names=names,
        same_names=frozenset(same_names),
        headers=headers,
        issues=issues,
        known_names=frozenset(names) | same_names | issues.keys() | frozenset(tables.whitelist) | ruled_names,
        searched_names=frozenset(names) | issues.keys(),
        rules=_by_kind(rules, target),
        shims=rules.shims,
    )


def _by_kind(rules: RuleSet, target: Target) -> dict[str, tuple[ConversionRule, ...]]:
    """The rules for a target by kind, in order of precedence."""
    by_kind: dict[str, tuple[ConversionRule, ...]] = {}
    for rule in rules.rules:
        if rule.is_for_rocm(target.rocm) and target.flavour in (rule.flavours or (target.flavour,)):
            by_kind[rule.kind] = (*by_kind.get(rule.kind, ()), rule)
    return by_kind


def _issues(
    tables: Tables, target: Target, names: Mapping[str, Subst], same_names: Iterable[str]
) -> dict[str, tuple[ApiIssue, ...]]:
    """What to report of each name under this target."""
    issues: dict[str, list[ApiIssue]] = {}
    lacking = {"hip": ("hip", "hipdnn"), "miopen": ("hip", "miopen"), "roc": ("roc", "miopen")}[target.flavour]
    for name, by in tables.unsupported.items():
        if "device_function" in by:
            issues.setdefault(name, []).append(ApiIssue("device-function", call_only=True))
        elif "device_type" in by:
            issues.setdefault(name, []).append(ApiIssue("device-type"))
        elif _lacks(target, names.get(name)) and (kinds := [kind for kind in by if kind in lacking]):
            issues.setdefault(name, []).append(ApiIssue("unsupported", kinds[0]))
    if not target.experimental:
        for name, since in tables.experimental.items():
            issues.setdefault(name, []).append(ApiIssue("experimental", since))
    for name, since in tables.removed.items():
        issues.setdefault(name, []).append(ApiIssue("removed", since))
    for name, since in tables.deprecated.items():
        if name not in tables.removed:
            issues.setdefault(name, []).append(ApiIssue("deprecated", since))
    if target.declared is not None:
        _add_undeclared(target.declared, names, same_names, issues)
    if target.rocm:
        _add_version_issues(tables, target, names, issues)
    return {name: tuple(issue_list) for name, issue_list in issues.items()}


def _lacks(target: Target, subst: Subst | None) -> bool:
    """Whether nothing is known that a name could become: with MIOpen, what becomes hipDNN's is in no header."""
    return subst is None or (target.flavour == "miopen" and subst.hip.lower().startswith("hipdnn"))


def _add_undeclared(
    declarations: Declarations, names: Mapping[str, Subst], same_names: Iterable[str], issues: dict[str, list[ApiIssue]]
) -> None:
    """Names whose HIP form the target's headers lack; of those that both spell alike, device functions when called."""
    for name, subst in names.items():
        if subst.hip in declarations.absent:
            issues.setdefault(name, []).append(ApiIssue("undeclared", f"{subst.hip} {declarations.source}"))
    for name in same_names:
        if name.startswith("__") and name not in declarations.device:
            issues.setdefault(name, []).append(ApiIssue("undeclared", f"{name} {declarations.source}", call_only=True))


def _add_version_issues(
    tables: Tables, target: Target, names: Mapping[str, Subst], issues: dict[str, list[ApiIssue]]
) -> None:
    """Names that are newer than the target or gone from it, where its headers were not read and do not say otherwise."""
    have = version(target.rocm)
    read = target.declared.names | target.declared.absent if target.declared else frozenset()
    for name, subst in names.items():
        if subst.hip in read:
            continue
        if (since := tables.versions.get(subst.hip)) is None:
            continue
        if since.added and version(since.added) > have:
            issues.setdefault(name, []).append(ApiIssue("too-new", f"{subst.hip} {since.added}"))
        if since.removed and version(since.removed) <= have:
            issues.setdefault(name, []).append(ApiIssue("gone", f"{subst.hip} {since.removed}"))


_PATTERNS: dict[str, re.Pattern[str]] = {}


def compiled_pattern(pattern: str) -> re.Pattern[str]:
    """A rule's regular expression, compiled once."""
    if pattern not in _PATTERNS:
        _PATTERNS[pattern] = re.compile(pattern)
    return _PATTERNS[pattern]
