"""Includes: CUDA headers become HIP headers that exist for the target, each once, and the runtime where it is needed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from posixpath import normpath

from stackbuild.hipify.cpp.directives import Branch, Directives, Include, place_for_include
from stackbuild.hipify.cpp.edits import Edit
from stackbuild.hipify.cpp.source_text import View
from stackbuild.hipify.rules.lookups import Lookups
from stackbuild.hipify.rules.rules import SUPPORT_PREFIX, ConversionRule, glob, renamed_path
from stackbuild.model.findings import Finding, Severity

RUNTIME = "hip/hip_runtime.h"
HEADER = "header"
SAMPLES_PREFIX = "helper_"
_KERNEL_WORDS = frozenset(("__global__", "__shared__"))
_DEVICE_WORDS = _KERNEL_WORDS | {
    "__device__", "__host__", "__constant__", "__managed__", "__launch_bounds__", "__forceinline__", "threadIdx",
    "blockIdx", "blockDim", "gridDim", "__syncthreads",
}  # fmt: skip
_DNN = "hipDNN.h"
_MATH = "math.h"
_CONSTANTS = "hip/hip_math_constants.h"
_LINKER = "hip/hiprtc.h"
_MATH_WORDS = frozenset(("isfinite", "isinf", "isnan", "isnormal", "signbit", "fpclassify"))
"""Macros of C and templates of std:: that CUDA's runtime declares for the host, by its own include of <math.h>."""


@dataclass(frozen=True)
class Headers:
    """What became of the includes: the edits, the findings, the HIP headers a file has on every path, shims it needs."""

    edits: tuple[Edit, ...]
    findings: tuple[Finding, ...]
    needs: tuple[str, ...] = ()


def convert(view: View, lookups: Lookups, directives: Directives, uses: Iterable[str], launches: bool) -> Headers:
    """All edits of includes. `uses` are the API groups of the names renamed in the text."""
    edits: list[Edit] = []
    findings: list[Finding] = []
    rules = lookups.of_kind("header", view.name)
    have: list[tuple[str, Include]] = []
    branches: dict[str, set[tuple[Branch, ...]]] = {}
    for include in directives.includes:
        target = None if _is_own(view, lookups, include) else _target(lookups, rules, include.path)
        if target is None:
            own = include.path
            if (last := own.rsplit("/", 1)[-1]) in lookups.shims:  # converted before, perhaps from another root
                own = _beside(view, last)
                edits += _rename(include, own, "support", "")
            have.append((own, include))
            branches.setdefault(own, set()).add(include.branches)
            continue
        candidates, by, group = target
        path = _choose(view, lookups, candidates, by)
        if path is None:
            findings.append(_missing(view, include, candidates[0]))
            path = candidates[0]
        elif path == _DNN and lookups.target.headers is None and lookups.target.compat != "hipify":
            findings.append(_dnn_finding(view, include))
        if not path or _already(branches.get(path), include):
            edits += _drop(view, include, by, group)
            continue
        edits += _rename(include, path, by, group)
        have.append((path, include))
        branches.setdefault(path, set()).add(include.branches)
    edits += _mention_edits(view, lookups, rules, directives)
    c_only = {include.start for _, include in have if view.in_c(include.start)}
    everywhere = {path for path, include in have if not include.branches and include.start not in c_only}
    shims = _shims(view, lookups)
    hidden = any(include.start in c_only and path.startswith("hip") for path, include in have)
    like_hipify = lookups.target.compat == "hipify"  # which includes it in every file
    is_late = not like_hipify and _is_late(
        view, lookups, [(path, include) for path, include in have if path in everywhere]
    )
    if is_late:  # what stands further down is included above all others now
        edits = [*_without(view, lookups, edits, [include for path, include in have if path == RUNTIME])]
    runtime = is_late or (
        (hidden or like_hipify or _needs_runtime(view, uses, launches, directives))
        and not _brings_runtime(lookups, everywhere | {n for n, _ in shims})
    )
    has_runtime = runtime or _brings_runtime(lookups, everywhere | {n for n, _ in shims})
    headers = [RUNTIME] if runtime else []
    if has_runtime and not like_hipify and _needs_math(view, everywhere):
        headers.append(_MATH)
    if has_runtime and not like_hipify and _needs_constants(view, lookups, everywhere):
        headers.append(_CONSTANTS)
    if has_runtime and not like_hipify and "CUlinkState" in view.words and _LINKER not in everywhere:
        headers.append(_LINKER)
    edits += _additions(view, directives, everywhere, shims, headers)
    needed_headers = {name for name, _ in shims} | {path.rsplit("/", 1)[-1] for path, _ in have}
    return Headers(tuple(edits), tuple(findings), tuple(_support(needed_headers, lookups.shims)))


def _is_own(view: View, lookups: Lookups, include: Include) -> bool:
    """Whether an include in quotes means a file beside it, although CUDA has a header of that name.

    The helper headers of NVIDIA's samples do not belong to CUDA: the tree's own are meant, wherever they lie.
    """
    own = lookups.target.own_headers
    if own and include.path.startswith(SAMPLES_PREFIX):
        return is_in_tree(include.path, own)
    if not own or view.text[include.path_span[0] - 1] != '"':
        return False
    return normpath(f"{view.name.rpartition('/')[0]}/{include.path}").lstrip("/") in own


def is_in_tree(path: str, own: frozenset[str]) -> bool:
    """Whether a tree has a file of an include's name in any of its folders."""
    return path in own or any(name.endswith(f"/{path}") for name in own)


def _target(lookups: Lookups, rules: list[ConversionRule], path: str) -> tuple[tuple[str, ...], str, str] | None:
    """The HIP headers that may stand for `path`, the rule that says so and its API group; None for no CUDA header.

    A rule may name the CUDA header, or the HIP header that the tables give for it and that has moved since.
    """
    if lookups.may_rule_header(path) and (by_rule := _replacement_by_rule(rules, path)):
        return (*by_rule, "include")
    if (subst := lookups.headers.get(path)) is None:
        new_path, by = renamed_path(path, lookups.rules.get("path", ()))
        return ((new_path,), by, "") if by else None
    replacement = _replacement_by_rule(rules, subst.hip) if lookups.may_rule_header(subst.hip) else None
    return (*replacement, subst.group) if replacement else ((subst.hip,), HEADER, subst.group)


def _replacement_by_rule(rules: list[ConversionRule], path: str) -> tuple[tuple[str, ...], str] | None:
    for rule in rules:
        for match in rule.match:
            if match == path:
                return rule.to or ("",), rule.id
            if "*" in match and glob(match).fullmatch(path):
                stem = match.split("**")[0]
                return tuple(t.replace("**", path[len(stem) :]) for t in rule.to or ("",)), rule.id
    return None


def _choose(view: View, lookups: Lookups, candidates: tuple[str, ...], by: str) -> str | None:
    """The first candidate that exists for the target, also in a folder of its own name. None where none does."""
    headers = lookups.target.headers
    if candidates[0].startswith(SUPPORT_PREFIX):
        return _beside(view, candidates[0].removeprefix(SUPPORT_PREFIX))
    is_standard = "." not in candidates[0] and "/" not in candidates[0]  # the C++ library's lie in a folder of the compiler
    if headers is None or candidates[0] == "" or is_standard or by in lookups.unchecked_rules:
        return candidates[0]
    for path in candidates:
        if path in headers:
            return path
        name = path.rsplit("/", 1)[-1]
        below = sorted((h for h in headers if h.endswith("/" + name)), key=lambda h: (h.count("/"), h))
        if below:
            return below[0]
    return None


def _rename(include: Include, path: str, by: str, group: str) -> list[Edit]:
    """The edits that put `path` into an include: none where it stands there, quotes around a support header."""
    if path == include.path:
        return []
    start, end = include.path_span
    if by != HEADER and path.rsplit("/", 1)[-1].startswith("stackbuild_"):
        return [Edit(start - 1, end + 1, f'"{path}"', by, group)]
    return [Edit(start, end, path, by, group)]


def _drop(view: View, include: Include, by: str, group: str) -> Iterator[Edit]:
    """Deletes an include: its whole line, but not a comment that stands or begins there.

    Other text after the path means nothing to a compiler, and would if it stayed: it goes, too.
    """
    after = include.path_span[1] + 1
    if not view.text[after : include.end].strip():
        yield Edit(include.start, include.end, "", by, group)
        return
    yield Edit(include.start, after, "", by, group)
    for rest in re.compile(r"\S+").finditer(view.code, after, include.end):
        if view.text[rest.start()] != "\\":
            yield Edit(*rest.span(), "", by)


def _without(view: View, lookups: Lookups, edits: list[Edit], dropped_includes: list[Include]) -> Iterator[Edit]:
    """The edits, with these includes deleted whatever was to become of them."""
    yield from (e for e in edits if not any(one.start <= e.start < one.end for one in dropped_includes))
    for one in dropped_includes:
        subst = lookups.headers.get(one.path)
        yield from _drop(view, one, HEADER, subst.group if subst else "")


def _mention_edits(view: View, lookups: Lookups, rules: list[ConversionRule], directives: Directives) -> Iterator[Edit]:
    """The edits of headers in `__has_include` and in macros that an `#include` names, where HIP has a header for them."""
    for mention in directives.mentions:
        if (target := _target(lookups, rules, mention.path)) is not None:
            path = _choose(view, lookups, target[0], target[1])
            if path and path != mention.path and not target[0][0].startswith(SUPPORT_PREFIX):
                yield Edit(*mention.span, path, target[1], target[2])


def _already(branches: set[tuple[Branch, ...]] | None, include: Include) -> bool:
    """Whether a header that was included in `branches` is included on every path that leads here."""
    return branches is not None and any(
        include.branches[:depth] in branches for depth in range(len(include.branches) + 1)
    )


def _support(names: set[str], texts: Mapping[str, str]) -> Iterator[str]:
    """Those of some headers that are support headers, and the ones that they include."""
    needed_headers = {name for name in names if name in texts}
    while inner := {one for name in needed_headers for one in _support_includes(texts[name])} - needed_headers:
        needed_headers |= inner
    yield from (name for name in texts if name in needed_headers)


@lru_cache(maxsize=64)
def _support_includes(text: str) -> tuple[str, ...]:
    return tuple(_SUPPORT_INCLUDE.findall(text))


_SUPPORT_INCLUDE = re.compile(r'^#include "([^"]+)"', re.M)
"""What a support header includes in quotes is another one beside it."""


def _includes(view: View, paths: tuple[str, ...]) -> bool:
    """Whether a text includes a header by one of some paths, in any branch."""
    return any(re.search(rf"#[ \t]*include[ \t]*[<\"]{re.escape(path)}[>\"]", view.text) for path in paths)


def _shims(view: View, lookups: Lookups) -> list[tuple[str, str]]:
    """The support headers that names of the text need, each with the rule that says so."""
    shims: dict[str, str] = {}
    for rule in lookups.of_kind("shim", view.name):
        if not view.meets(rule.where):
            continue
        is_named = any(view.own(name) for name in lookups.names_by_shim[rule.id] & view.words)
        is_before = not rule.when or not view.tree.support.isdisjoint(rule.match)
        if is_named or (is_before and _includes(view, rule.before)):
            for name in rule.match:
                shims.setdefault(name, rule.id)
    return list(shims.items())


def _needs_runtime(view: View, uses: Iterable[str], launches: bool, directives: Directives) -> bool:
    """Whether the text needs HIP's runtime: kernels anywhere, or device words and API names where nvcc includes it.

    A `.cu` file that includes files of its project may need it for those: nvcc includes its runtime before all of them.
    """
    if view.name.endswith(".cu") and any(view.text[one.path_span[0] - 1] == '"' for one in directives.includes):
        return True
    if launches or not view.words.isdisjoint(_KERNEL_WORDS):
        return True
    if not view.is_cuda:
        return False
    return not view.words.isdisjoint(_DEVICE_WORDS) or any(not g.startswith("include") and g for g in uses)


def _is_late(view: View, lookups: Lookups, have: list[tuple[str, Include]]) -> bool:
    """Whether a `.cu` file includes a header of its project before HIP's runtime: nvcc has its runtime before all."""
    if not view.name.endswith(".cu"):
        return False
    for path, include in have:
        if _brings_runtime(lookups, {path}):
            return False
        if view.text[include.path_span[0] - 1] == '"' or path.startswith(SAMPLES_PREFIX):
            return any(later == RUNTIME for later, _ in have)
    return False


def _needs_math(view: View, paths: set[str]) -> bool:
    """Whether a text calls what <math.h> puts beside std::, and has that from CUDA's runtime alone.

    HIP's runtime includes <cmath>, so that these names are device functions in its headers, and the host has std:: only.
    """
    return _MATH not in paths and any(view.own(name) for name in view.words & _MATH_WORDS)


def _needs_constants(view: View, lookups: Lookups, paths: set[str]) -> bool:
    """Whether a text names constants of CUDA's math_constants.h, which other headers of CUDA's bring as well."""
    if _CONSTANTS in paths or "\nCUDART_" not in view.word_lines:
        return False
    return any(
        name in lookups.names and lookups.names[name].hip.startswith("HIP_") and view.own(name)
        for name in view.words_with("CUDART_")
        if not name.startswith("CUDART_VERSION")
    )


def _brings_runtime(lookups: Lookups, paths: set[str]) -> bool:
    """Whether one of these headers is HIP's runtime or a support header that includes it."""
    support = (lookups.shims.get(path.rsplit("/", 1)[-1], "") for path in paths)
    return RUNTIME in paths or any(f"<{RUNTIME}>" in text for text in support)


def _additions(
    view: View, directives: Directives, paths: set[str], shims: list[tuple[str, str]], headers: list[str]
) -> list[Edit]:
    """The includes to add at one place: shims first, since each brings the runtime with it."""
    additions = [(f'#include "{"../" * view.name.count("/")}{name}"', rule) for name, rule in shims]
    additions = [(line, rule) for line, rule in additions if line.split('"')[1] not in paths]
    additions += [(f"#include <{header}>", "runtime") for header in headers]
    if not additions:
        return []
    at = place_for_include(view, directives)
    lead = "\n" if at and view.text[at - 1] != "\n" else ""
    return [Edit(at, at, (lead if i == 0 else "") + line + "\n", by) for i, (line, by) in enumerate(additions)]


def _beside(view: View, name: str) -> str:
    """The path to a support header, which lies in the root of the output, from the folder of the file."""
    return "../" * view.name.count("/") + name


def _dnn_finding(view: View, include: Include) -> Finding:
    return view.finding(
        include.path_span[0],
        "HIPIFY-HEADER-MISSING",
        Severity.WARNING,
        f"<{include.path}> becomes <{_DNN}>, which ROCm's packages do not have",
        "the file does not compile without a build of hipDNN of one's own",
        "convert with --flavour miopen, which makes MIOpen's names of cuDNN's, or name hipDNN's folder by --target-include",
    )


def _missing(view: View, include: Include, path: str) -> Finding:
    return view.finding(
        include.path_span[0],
        "HIPIFY-HEADER-MISSING",
        Severity.WARNING,
        f"<{include.path}> becomes <{path}>, which is not in the target's include folders",
        "the file will not compile until the library's development package is installed in the build's base",
        "add the package that has this header to the base, or a header rule",
    )
