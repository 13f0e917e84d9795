"""Lint: what no mapping can fix, each with why it matters and what to do."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import chain

from stackbuild.hipify.cpp.directives import Include
from stackbuild.hipify.cpp.source_text import View
from stackbuild.hipify.lint import (
    ballots,
    clang_forms,
    devices,
    half_types,
    hip_forms,
    lanes,
    libraries,
    members,
    overloads,
    ptx,
    spaces,
    strings,
    textures,
    vector_bindings,
    version_guards,
    votes,
    warp_sizes,
    wavefronts,
)
from stackbuild.hipify.lint.catalogue import WARNINGS, LintMatch
from stackbuild.hipify.lint.cpp import branches
from stackbuild.hipify.passes.includes import is_in_tree
from stackbuild.hipify.rules.lookups import Lookups
from stackbuild.hipify.rules.rules import version
from stackbuild.hipify.tables import declarations
from stackbuild.model.findings import Finding, Severity

_CHECKS = (
    lanes.shuffle_ladders, warp_sizes.warp_sizes, lanes.lane_arithmetic, ballots.ballots, ballots.lane_masks,
    ballots.partial_masks, lanes.tiles,
    ptx.ptx, libraries.matrices, libraries.asynchronous, libraries.graphs, textures.textures, textures.forms, vector_bindings.bindings,
    devices.names, devices.launch_bounds, devices.arch_guards, devices.device_launches, devices.device_calls,
    spaces.macros, version_guards.capabilities, votes.votes, votes.last_lanes, votes.low_lanes,
    hip_forms.defaults, hip_forms.groups, hip_forms.tiles_of_tiles, hip_forms.brain_floats, hip_forms.half_atomics, hip_forms.vector_operators, hip_forms.brain_float_types, hip_forms.device_pointers, hip_forms.half_braces, members.handles, overloads.overloads, overloads.no_overloads, half_types.host_assignments, clang_forms.member_templates, clang_forms.dimensions, clang_forms.single_values, clang_forms.positions, clang_forms.transposes, strings.run_time_names, strings.device_code,
)  # fmt: skip

# What only matters where a wavefront of that many lanes is among the target's.
_ONLY_WITH = {
    "LINT-LADDER-32": 64, "LINT-LADDER-64": 32, "LINT-WARP-SIZE-LITERAL": 64, "LINT-LANE-ARITHMETIC": 64,
    "LINT-BALLOT-32": 64, "LINT-LANE-MASK-32": 64, "LINT-SHIFT-WAVE": 64, "LINT-PARTIAL-MASK": 64, "LINT-TILE-32": 64, "LINT-TEXTURE-FETCH": 64,
    "LINT-FP8-OCP": 64, "LINT-VOTE-32": 64, "LINT-VOTE": 64, "LINT-LAST-LANE": 64, "LINT-WARP-TRANSPOSE": 64,
}  # fmt: skip


_OF_DEVICE = frozenset(("__device__", "__global__", "threadIdx", "warpSize", "__ballot_sync", "__activemask"))
_BY_WAVEFRONT = frozenset(("LINT-LADDER-32", "LINT-WARP-SIZE-LITERAL"))
"""Rules that are warnings where the text shows that a warp of 32 lanes matters in it."""

# A finding of these for a name's first use is followed by a note at each other use: each is an error of the compiler.
EACH_USE = frozenset(
    (
        "LINT-DEVICE-NAME",
        "LINT-TEXTURE-FETCH",
        "LINT-GROUPS",
        "LINT-ASYNC-COPY",
        "LINT-WMMA",
        "LINT-DEVICEPTR",
        "LINT-MEMBER",
        "LINT-TEXTURE-NUMBER",
    )
)


_CUBS_OWN = re.compile(r"(?:\A|/)\w*cub/(?:cub|util_type)\.cuh\Z")
_THRUSTS_OWN = re.compile(r"(?:\A|/)\w*thrust/version\.h\Z")
"""Headers of a copy of CUB or Thrust in the tree, also in a folder such as `my_cub`."""


def lint(view: View, lookups: Lookups, includes: Iterable[Include]) -> list[Finding]:
    """All lint findings of a text that matter for the target's wavefronts."""
    lanes_of = lookups.target.wavefronts
    major = _major(lookups.target.rocm)
    findings: list[Finding] = []
    names_so_far: set[tuple[str, ...]] = set()
    guards: set[int] = set()  # of several versions in one condition one is reported: they ask one question
    has_cub = any(_CUBS_OWN.search(name) for name in lookups.target.own_headers)
    for at, rule, words in chain(
        libraries.headers(includes, lookups.ruled_headers, lookups.target.own_headers),
        libraries.libcuxx(view, "standard-names" in lookups.fixes(view.name)),
        hip_forms.headers(includes),
        hip_forms.c_headers(view, includes),
        members.members(view, major),
        half_types.conversions(view, major),
        half_types.host_operators(view, major),
        hip_forms.random_states(view, major),
        hip_forms.votes_of_groups(view, version(lookups.target.rocm) if lookups.target.rocm else ()),
        _small_floats(view, lookups),
        devices.host_calls(view, declarations.for_device(major)),
        spaces.names(view, version(lookups.target.rocm) if lookups.target.rocm else ()),
        version_guards.versions(view, "least-versions" in lookups.fixes(view.name)),
        *(check(view) for check in _CHECKS),
    ):
        if _ONLY_WITH.get(rule, lanes_of[0]) not in lanes_of or (
            rule == "LINT-DEVICE-NAME" and _is_supplied(lookups, words[0])
        ):
            continue
        if rule == "LINT-BF16-STRUCT" and (not 0 < major < 6 or _is_ruled(view, lookups, "__nv_bfloat16")):
            continue
        if rule == "LINT-BF16-SHUFFLE" and any(words[0] in names for names in lookups.names_by_shim.values()):
            continue
        if rule == "LINT-COOPERATIVE" and lookups.may_rule_header(words[0].strip("<>")):
            continue  # a support header stands for it
        if rule == "LINT-HEADER" and (
            _becomes_header(lookups, words[0]) or is_in_tree(words[0], lookups.target.own_headers)
        ):
            continue
        if rule == "LINT-DEFAULTS" and _is_called_otherwise(lookups, view.name, words[0], int(words[1])):
            continue
        if rule == "LINT-CUDA-VERSION" and (words[0] in lookups.names or _is_ruled(view, lookups, words[0])):
            continue
        if rule in ("LINT-CUB-NAME", "LINT-WARP-TRANSPOSE", "LINT-CUB-MACRO") and has_cub:
            continue  # the tree's own copy of CUB is meant
        if rule == "LINT-THRUST-NAME" and any(_THRUSTS_OWN.search(name) for name in lookups.target.own_headers):
            continue
        if rule == "LINT-CUDA-VERSION" and at in guards:
            continue
        if rule == "LINT-VECTOR-OPERATOR" and words[0] and lookups.fixes(view.name).get("own-overloads"):
            continue
        if rule == "LINT-CUDA-VERSION":
            guards.add(at)
        if rule == "LINT-CUDA-ARCH" and branches.is_for_both_sides(view, at) and not branches.asks_for_hip(view):
            rule = "LINT-ARCH-BOTH-SIDES"
        entry = WARNINGS[rule]
        severity, fix = entry.severity, entry.fix.format(*words) if "{" in entry.fix else entry.fix
        if rule in ("LINT-CUDA-ARCH", "LINT-CUDA-VERSION") and not (
            branches.is_decisive(view, at) and not branches.asks_for_hip(view)
        ):
            severity = Severity.NOTE
        if rule == "LINT-LANE-MASK-32" and not view.is_cuda and view.words.isdisjoint(_OF_DEVICE):
            severity = Severity.NOTE  # lanes of a vector of the host's, as far as the text tells
        if rule in _BY_WAVEFRONT and words[1:2] != ("index",) and not wavefronts.matters(view, at, rule, words[0]):
            severity = Severity.NOTE
        if rule == "LINT-CUDA-VERSION" and _is_supplied(lookups, words[0]):
            severity, fix = Severity.NOTE, "see that the branch is meant for the number that a support header gives it"
        if rule in EACH_USE:
            name = (rule,) if rule == "LINT-WMMA" else (rule, *words)
            if name in names_so_far:
                severity = Severity.NOTE
            names_so_far.add(name)
        findings.append(view.finding(at, rule, severity, entry.message.format(*words), entry.why, fix, entry.link))
    return findings


def _small_floats(view: View, lookups: Lookups) -> Iterator[LintMatch]:
    """CUDA's types of eight bits by the format that they get: each name once, and each use where conversions may lack."""
    for name in sorted(view.words_with("__nv_fp8") | view.words_with("__NV_E")):
        if name in lookups.names and lookups.names[name].hip.lower().endswith("_fnuz"):
            rule = "LINT-FP8-OCP" if _is_ruled(view, lookups, name) else "LINT-FP8"
            for at in view.own(name) if rule == "LINT-FP8-OCP" else view.own(name)[:1]:
                yield at, rule, (name,)


def _major(rocm: str) -> int:
    """The first number of a ROCm version, 0 where none is given."""
    return int(rocm.partition(".")[0]) if rocm else 0


def _is_ruled(view: View, lookups: Lookups, name: str) -> bool:
    """Whether an identifier rule renames a name in this text."""
    return name in lookups.matches.get("identifier", ()) and any(
        name in rule.match and view.words.isdisjoint(rule.unless) for rule in lookups.of_kind("identifier", view.name)
    )


def _is_supplied(lookups: Lookups, name: str) -> bool:
    """Whether HIPIFY's tables or a support header have a name."""
    return name in lookups.known_names or any(name in names for names in lookups.names_by_shim.values())


def _is_called_otherwise(lookups: Lookups, file: str, name: str, count: int) -> bool:
    """Whether a call rule is for calls of a function with so many arguments: it makes one of them that HIP has."""
    return any(name in rule.match and rule.count == count for rule in lookups.of_kind("call", file))


def _becomes_header(lookups: Lookups, path: str) -> bool:
    """Whether a header is converted to one that declares the same. Those of CUDA's samples are not, whatever they become."""
    has_table_row = path in lookups.headers and bool(lookups.headers[path].hip)
    return (has_table_row or lookups.may_rule_header(path)) and not path.startswith("helper_")
