"""Compares the fast engine with hipify-perl on real files and explains every difference, or says that it cannot.

hipify-perl's output must equal that of `perl.model`, byte for byte. Then its edits and ours are compared by offset. An
edit that only one side makes needs a reason: a known defect of hipify-perl, or a rule.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from stackbuild.hipify.convert import convert
from stackbuild.hipify.cpp import directives
from stackbuild.hipify.cpp.edits import Edit, apply, settle
from stackbuild.hipify.cpp.newlines import Newlines
from stackbuild.hipify.cpp.source_text import View
from stackbuild.hipify.engines import Engine, perl
from stackbuild.hipify.passes.rename import TABLE
from stackbuild.hipify.perl import model
from stackbuild.hipify.rules.lookups import prepare
from stackbuild.hipify.tree.files import SourceSelection, walk

# The known differences. The letters are those of the measurements this package was built from (docs/hipify.md).
DEFECTS = {
    "PERL-DOT": "a: a dot in a header's name matches any character, so `cublas_h` in code becomes `hipblas.h`",
    "PERL-HEADER-WORD": "b: a word inside an #include is replaced before its header, so `curand.h` becomes `hiprand.h`",
    "PERL-COMMA": "c: arguments are cut at the first comma or bracket, whatever it belongs to",
    "PERL-TOP-INCLUDE": "d: hip_runtime.h is put above licence and guard, and again on each run",
    "PERL-HIP-AGAIN": "d: arguments of calls that are HIP's already are rewritten, again on each run",
    "PERL-COMMENT": "e: comments are rewritten",
    "PERL-STRING": "e: strings are rewritten",
    "PERL-FOREIGN": "e: members and names of other namespaces are rewritten",
    "PERL-HEADER": "f: the header does not exist under that name, or the name is part of another path",
    "PERL-EMPTY-INCLUDE": "g: the header becomes `#include <>`",
    "PERL-CUB-PREFIX": "`using namespace cub` is replaced at the front of longer names and in foreign namespaces",
    "DEDUPLICATED": "the header is included already; fast includes it once",
}


_HIP_CALL = re.compile(r"\bhip(?:Func|Launch|Memcpy|GetSymbol|Graph|Module)\w*\s*\(")


@dataclass(frozen=True)
class EngineDifference:
    """What the two engines make of one span of the original; `defect` is a key of the reasons, None for none."""

    file: str
    line: int
    theirs: str
    ours: str
    defect: str | None


@dataclass(frozen=True)
class Comparison:
    """All files compared, and every difference in order, with why each kind of it is there."""

    files: tuple[str, ...]
    differences: tuple[EngineDifference, ...]
    reasons: dict[str, str]


def verify_sources(selection: SourceSelection, engine: Engine) -> Comparison:
    """Run both engines over the files of a selection. Raises MachineLacks without hipify-perl."""
    names: list[str] = []
    differences: list[EngineDifference] = []
    for job in walk(selection).jobs:
        data = job.source.read_bytes()
        if b"\0" in data[:8192]:
            continue
        text = data.decode("utf-8", "surrogateescape")
        names.append(job.name)
        differences += compare(text, job.name, engine, perl(engine.tools, text, engine.target))
    reasons = {f"RULE {rule.id}": rule.why for rule in engine.rules.rules}
    return Comparison(tuple(names), tuple(differences), {**DEFECTS, **reasons})


def compare(text: str, name: str, engine: Engine, theirs: str) -> list[EngineDifference]:
    """The differences between hipify-perl's output for a text and ours."""
    target = engine.target
    model_edits = settle(model.edits(text, engine.tables, target.flavour, target.experimental))
    reference = apply(text, model_edits)
    if reference != theirs:
        return list(_model_is_wrong(name, reference, theirs))
    lines = Newlines(text)
    ours = convert(lines.text, engine.tables, engine.rules, target, name)
    lookups = prepare(engine.tables, engine.rules, target)
    view = View(lines.text, name, lookups.cuda_names, lookups.renamed_names, lookups.ruled_names)
    return list(_explain(view, lines.inwards(model_edits), list(ours.edits)))


def _model_is_wrong(name: str, reference: str, theirs: str) -> Iterator[EngineDifference]:
    pairs = zip(reference.split("\n"), theirs.split("\n"), strict=False)
    number = next((i for i, (a, b) in enumerate(pairs, 1) if a != b), 1)
    there, here = (dict(enumerate(text.split("\n"), 1)).get(number, "") for text in (theirs, reference))
    yield EngineDifference(name, number, there, here, None)


Shape = tuple[int, int, str]


def _explain(view: View, theirs: list[Edit], ours: list[Edit]) -> Iterator[EngineDifference]:
    their_shapes = {_shape(view.text, e): e for e in theirs}
    our_shapes = {_shape(view.text, e): e for e in ours}
    includes = directives.read(view).includes
    lines = [(i.start, i.end) for i in includes]
    for shape in sorted(their_shapes.keys() ^ our_shapes.keys()):
        edit = their_shapes.get(shape)
        if edit is not None:
            reason = _why_only_theirs(view, edit, ours, lines)
            yield _difference(view, shape, edit.text, "", reason)
        else:
            mine = our_shapes[shape]
            yield _difference(view, shape, "", mine.text, _why_only_ours(mine, theirs))


def _shape(text: str, edit: Edit) -> Shape:
    """An edit without what it leaves as it is at its ends; an insertion of a bracket without white space beside it."""
    start, end, new = edit.start, edit.end, edit.text
    while start < end and new and text[start] == new[0]:
        start, new = start + 1, new[1:]
    while start < end and new and text[end - 1] == new[-1]:
        end, new = end - 1, new[:-1]
    if start == end and new.endswith("("):
        while start < len(text) and text[start].isspace():
            start += 1
    if start == end and new == ")":
        while start and text[start - 1].isspace():
            start -= 1
    return start, max(start, end if start < end else start), new


def _difference(view: View, shape: Shape, theirs: str, ours: str, reason: str | None) -> EngineDifference:
    line, _ = view.lines.at(shape[0])
    before = view.text[shape[0] : shape[1]]
    return EngineDifference(view.name, line, theirs or before, ours or before, reason)


def _why_only_theirs(view: View, edit: Edit, ours: list[Edit], lines: list[tuple[int, int]]) -> str | None:
    at = edit.start
    if edit.by == "runtime":
        return "PERL-TOP-INCLUDE"
    in_include = any(start <= at < end for start, end in lines)
    if in_include and not edit.text:
        return "PERL-EMPTY-INCLUDE"
    if in_include:
        mine = next((o for o in ours if o.start <= at < o.end), None)
        if mine and not mine.text:
            return "DEDUPLICATED"
        return "PERL-HEADER-WORD" if edit.by == "word" else "PERL-HEADER"
    if view.in_literal(at):
        return "PERL-STRING"
    if view.in_comment(at):
        return "PERL-COMMENT"
    if edit.by == "header":
        return "PERL-DOT"
    if edit.by == "argument":
        statement = _statement(view, at)
        if any(statement[0] <= o.start <= statement[1] and o.by != TABLE for o in ours):
            return "PERL-COMMA"
        return "PERL-HIP-AGAIN" if _HIP_CALL.search(view.code, *statement) else None
    if rule := next((o.by for o in ours if o.start <= at < o.end and o.by != TABLE), None):
        return f"RULE {rule}"
    if edit.by == "word" and at not in view.own(view.text[edit.start : edit.end]):
        return "PERL-FOREIGN"
    return "PERL-CUB-PREFIX" if edit.by == "cub" else None


def _statement(view: View, at: int) -> tuple[int, int]:
    """The span of the statement around an offset."""
    start = max(view.code.rfind(mark, 0, at) for mark in ";{}") + 1
    ends = [end for mark in ";{}" if (end := view.code.find(mark, at)) >= 0]
    return start, min(ends, default=len(view.code))


def _why_only_ours(edit: Edit, theirs: list[Edit]) -> str | None:
    if edit.by == "runtime":
        return "PERL-TOP-INCLUDE"
    if edit.by == "header":
        return "PERL-HEADER"
    if edit.by == TABLE:
        return "PERL-DOT" if any(t.start <= edit.start < t.end and t.by == "header" for t in theirs) else None
    return f"RULE {edit.by}"
