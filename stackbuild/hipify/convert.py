"""From CUDA text to HIP text: the pure function at the middle of `stackbuild hipify` and of a recipe's `hipify:`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace

from stackbuild.hipify.cpp import directives
from stackbuild.hipify.cpp.edits import Edit, apply, line_map, settle
from stackbuild.hipify.cpp.newlines import Newlines
from stackbuild.hipify.cpp.scan import spliced_names
from stackbuild.hipify.cpp.source_text import View
from stackbuild.hipify.lint import alias_uses, lint, macro_uses, template_uses
from stackbuild.hipify.lint.cpp import branches
from stackbuild.hipify.model import ConvertedText, Target
from stackbuild.hipify.passes import (
    api_report,
    calls,
    compiler_branches,
    cub_warps,
    includes,
    lane_masks,
    launch,
    launch_brackets,
    own_names,
    own_overloads,
    pasted_names,
    register_words,
    rename,
    signatures,
    standard_names,
    thread_positions,
    thrust_headers,
    tile_types,
    vector_values,
)
from stackbuild.hipify.passes.argument_list import NewList, compose
from stackbuild.hipify.rules.lookups import Lookups, prepare
from stackbuild.hipify.rules.rules import RuleSet
from stackbuild.hipify.tables import spaces
from stackbuild.hipify.tables.tables import Tables
from stackbuild.model.findings import Finding, Severity

_ORDER = {severity: i for i, severity in enumerate(Severity)}


def convert(text: str, tables: Tables, rules: RuleSet, target: Target, name: str = "") -> ConvertedText:
    """The HIP text of a CUDA text, with what was found on the way.

    `name` is the path relative to the source: rules select by it and findings are placed in it; without one the text
    counts as a `.cu`. Comments and string literals stay as they are, but for literal rules. Converting the result
    again changes nothing.
    """
    lookups = prepare(tables, rules, target)
    lines = Newlines(text)
    view = View(
        lines.text,
        name,
        lookups.cuda_names,
        lookups.renamed_names,
        lookups.ruled_names,
        frozenset(target.hip_macros),
        target.tree,
    )
    mentions = directives.read(view)
    edits, lists, findings, needs, declares = _edits(view, lookups, mentions)
    settled_edits = settle(edits)
    changes = lines.outwards(compose(view.text, settled_edits, lists) if lists else settled_edits)
    if target.lint:
        findings += lint(view, lookups, mentions.includes)
    findings += [*macro_uses.notes(view, findings), *alias_uses.notes(view, findings)]
    findings += alias_uses.variable_notes(view, findings)
    findings += template_uses.notes(view, findings)
    eased_edits = in_order(branches.ease_excluded(view, findings))
    return ConvertedText(
        text=apply(text, changes) if changes else text,
        findings=eased_edits,
        substitutions=_count(e.group for e in settled_edits),
        rules=_count([e.by for e in settled_edits if not e.closes] + [new.by for new in lists]),
        lines=line_map(text, changes),
        needs=needs,
        edits=tuple(changes),
        declares=tuple(sorted(declares)),
        unless=own_names.conditions(view, eased_edits),
    )


def _edits(
    view: View, lookups: Lookups, file_directives: directives.Directives
) -> tuple[list[Edit], list[NewList], list[Finding], tuple[str, ...], frozenset[str]]:
    """Every edit asked for, those of project rules first; new argument lists; findings; the support headers needed.

    The last are names that look like CUDA's and that the text declares.
    """
    present = view.words & lookups.searched_names
    edits, findings = rename.literals(view, lookups)
    edits += rename.by_rules(view, lookups)
    ruled_names = frozenset(view.text[e.start : e.end] for e in edits)
    call_edits = calls.by_rules(view, lookups)
    edits += call_edits.edits
    fixes = lookups.fixes(view.name)
    if fix := fixes.get("cub-warps"):
        edits += cub_warps.fix(view, fix)
    if fix := fixes.get("own-overloads"):
        edits += own_overloads.fix(view, fix)
    if fix := fixes.get("tile-types"):
        edits += tile_types.fix(view, fix)
    if fix := fixes.get("launch-brackets"):
        edits += launch_brackets.fix(view, fix)
    if fix := fixes.get("least-versions"):
        edits += compiler_branches.fix(view, fix)
    if fix := fixes.get("vector-values"):
        edits += vector_values.fix(view, fix)
    if fix := fixes.get("thrust-headers"):
        edits += thrust_headers.fix(view, file_directives.includes, fix)
    if fix := fixes.get("thread-positions"):
        edits += thread_positions.fix(view, fix)
    if fix := fixes.get("standard-names"):
        edits += standard_names.fix(view, fix)
    if fix := fixes.get("pasted-names"):
        edits += pasted_names.fix(view, lookups, fix)
    if fix := fixes.get("register"):
        edits += register_words.fix(view, fix)
    if fix := fixes.get("sync-masks"):
        mask_edits, mask_findings = lane_masks.fix(view, fix, _has_lane_mask(lookups, view.name))
        edits += mask_edits
        findings += mask_findings
    own_lines = frozenset[int]() if lookups.target.compat == "hipify" else compiler_branches.own_branches(view)
    edits += rename.by_tables(view, lookups, present, own_lines)
    if lookups.target.launch == "ggl":
        launch_edits, unreadable = launch.to_calls(view, lookups.target.compat == "hipify")
        edits += launch_edits
        findings += unreadable
    launches = next(launch.offsets(view.code), None) is not None
    headers = includes.convert(view, lookups, file_directives, {e.group for e in edits}, launches)
    taken_care_of = ruled_names | _supplied_names(lookups, headers.needs)
    unknown_findings, own = api_report.unknown_calls(view, lookups, taken_care_of)
    findings += [
        *unknown_findings,
        *signatures.report(view, lookups, present),
        *_not_renamed(view, lookups, present),
        *call_edits.findings,
        *headers.findings,
        *api_report.report(view, lookups, present, taken_care_of),
    ]
    insertions = [e for e in headers.edits if e.start == e.end]  # lines of their own: before what else begins there
    replacements = [e for e in headers.edits if e.start < e.end]
    declares = own | own_names.namespaces(view) | own_names.supplied_names(view, lookups.issues.keys())
    declares |= own_names.space_members(view) | own_names.supplied_names(view, spaces.macros())
    declares |= own_names.device_functions(view, lookups.device_functions)
    declares |= own_names.half_atomics(view) | own_names.common(view) | own_names.defined_types(view, lookups.issues.keys())
    declares |= own_names.listed_names(view, lookups.issues.keys())
    return insertions + edits + replacements, call_edits.lists, findings, headers.needs, declares


def _not_renamed(view: View, lookups: Lookups, present: Iterable[str]) -> Iterator[Finding]:
    """CUDA's names that the text declares as its own, and those that a continued line divides: left as they are.

    What would have to be named in another file to be one mistaken for the other is a note.
    """
    for name in view.words & lookups.supplied_names:
        for definition in view.definitions(name):
            finding = _own_function(view, definition.at, f"{name} is defined here, and HIP or a support header has it", _BOTH)
            yield replace(finding, severity=Severity.NOTE)
    for name in sorted(view.words & _HIPS_FUNCTIONS):
        for definition in view.definitions(name):
            yield _own_function(view, definition.at, f"{name} is defined here, and HIP's headers define it", _TWICE)
    for name in sorted(present):
        for declaration in view.hidden_declarations(name) if name in lookups.names else ():
            if declaration.is_global:
                message = f"{name} is defined here and was left as it is, also where this file calls it"
                yield replace(_own_function(view, declaration.at, message, _ELSEWHERE), severity=Severity.NOTE)
                continue
            kept_text = f"{name} is {declaration.scope}'s own here and was left as it is there"
            rename_text = f"{name} is {declaration.scope}'s own here and was renamed with CUDA's"
            yield view.finding(
                declaration.at,
                "HIPIFY-OWN-NAME",
                Severity.NOTE,
                rename_text if declaration.space else kept_text,
                "other files may name it in a way that does not tell whose it is: as a member or qualified it is left as"
                " it is, by itself it is renamed",
                "look for it in other files, or give it a name that CUDA has not",
            )
    for at, name in spliced_names(view.text, view.code):
        if name in lookups.searched_names:
            yield view.finding(
                at,
                "HIPIFY-DIVIDED-NAME",
                Severity.WARNING,
                f"{name} is divided by a backslash at the end of its line",
                "it was left as it is",
                "write the name on one line",
            )


_HIPS_FUNCTIONS = frozenset(("__lane_id",))
"""Functions of the device that HIP's headers define, and CUDA's do not."""
_TWICE = "with the same parameters it is defined twice and does not compile"
_BOTH = "a call means the one that fits its types better; where a test of CUDA's version is around this one, it may be there now and was not"
_ELSEWHERE = "a call in another file becomes a call of HIP's function, not of this"


def _own_function(view: View, at: int, message: str, why: str) -> Finding:
    return view.finding(
        at,
        "HIPIFY-OWN-NAME",
        Severity.WARNING,
        message,
        why,
        "leave it out where __HIP_PLATFORM_AMD__ is defined, or give it a name that CUDA has not",
    )


def _has_lane_mask(lookups: Lookups, name: str) -> bool:
    """Whether a file that uses warp functions includes the support header that widens masks."""
    return any("__shfl_sync" in rule.when for rule in lookups.of_kind("shim", name))


def _supplied_names(lookups: Lookups, needs: tuple[str, ...]) -> frozenset[str]:
    """The names that the support headers of a text define."""
    return frozenset(n for r in lookups.rules.get("shim", ()) if not set(r.match).isdisjoint(needs) for n in r.when)


def in_order(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Findings by line, column, severity and rule; each once."""

    def key(finding: Finding) -> tuple[int, int, int, str, str]:
        place = finding.place
        at = (place.line, place.column) if place else (0, 0)
        return (*at, _ORDER[finding.severity], finding.rule, finding.found)

    return tuple(sorted(dict.fromkeys(findings), key=key))


def _count(names: Iterable[str]) -> dict[str, int]:
    return dict(sorted((name, n) for name, n in Counter(names).items() if name))
