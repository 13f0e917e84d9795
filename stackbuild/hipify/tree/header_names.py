"""Reads the headers of a tree for what their names mean in other files: types, macros, members of namespaces."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from stackbuild.hipify.cpp import complex_operators
from stackbuild.hipify.cpp.macros import Macro
from stackbuild.hipify.cpp.newlines import Newlines
from stackbuild.hipify.cpp.source_text import View
from stackbuild.hipify.cpp.tree_names import NO_NAMES, TreeNames
from stackbuild.hipify.engines import Engine
from stackbuild.hipify.lint.cpp import branches
from stackbuild.hipify.passes import aliases, own_overloads
from stackbuild.hipify.rules.lookups import Lookups, prepare
from stackbuild.hipify.rules.rules import ConversionRule
from stackbuild.hipify.tree.files import ConversionJob

_LARGEST = 1 << 20
"""Bytes of the largest header that is read: a larger one is data."""
# What may be such a declaration. Each alternative begins with its own letters, and is searched for by itself: that is quick.
_MAY_DEFINE = (
    re.compile(rb"__VA_ARGS__"),
    re.compile(rb"\.\.\.[ \t]*\)"),
    re.compile(rb"define[ \t]+\w+[ \t]+(?:[(: \t]*cu[a-z]*[A-Z])"),
    re.compile(rb"define[ \t]+\w+\((\w+),[ \t]*(\w+)\)[^\n]*\b\1[ \t]+\2\b"),
)
_MAY_ALIAS = (
    re.compile(rb"typedef\s+(?:unsigned|u?int|u?long|u?(?:char|short)[1-4]|float[1-4]|double[1-4]|cu[a-z]*[A-Z]|enum\s+cu|struct\s+cu)"),
    re.compile(rb"using\s+\w+\s*=\s*(?:::|std::u?int|unsigned|u?int|u?long|u?(?:char|short)[1-4]|float[1-4]|double[1-4]|cu)"),
)
_MAY_DECLARE = (
    re.compile(rb"cu[a-z]*[A-Z]\w*\s*\([^;{}()]*\)\s*\{"),
    re.compile(rb"typedef\s[^;{}]*[\s*]cu[a-z]*[A-Z]\w*\s*;"),
    re.compile(rb"using\s+cu[a-z]*[A-Z]\w*\s*="),
    re.compile(rb"enum\b[^;{}()]*\{[^{}]*[\s,{]cu[a-z]*[A-Z]\w*\s*[=,}]"),
)
_MAY_ASK = (
    re.compile(rb"(?:CUDA_VERSION|CUDART_VERSION|__CUDACC_VER_M\w+|__CUDA_ARCH__)"),
    re.compile(rb"#[ \t]*(?:el)?if[^\n]*(?:HIP|ROCM|AMD)"),
)
_MAY_OPERATE = (re.compile(rb"operator\s*(?:[-+*/]=?|[!=]=)\s*\("),)
_OWN_SPACE = re.compile(rb"^[ \t]*namespace[ \t]+cub\s*\{", re.M)
_ALIAS = re.compile(r"\busing\s+(\w+)\s*=\s*([\w: ]+?)\s*;|\btypedef\s+([\w: ]+?)\s+(\w+)\s*;")
_INTEGER = re.compile(
    r"(?:(?:un)?signed|int|short|char|long|std::|::|\s|u?int(?:_least|_fast)?(?:8|16|32|64)_t|uint|u?short|uchar|size_t)+"
)
_PREFIX = re.compile(r"(?:(?:::|enum|struct|class|const)\s*)*")


def read(jobs: Sequence[ConversionJob], engine: Engine) -> TreeNames:
    """What the headers among a tree's files declare. A header that cannot be read declares nothing."""
    if engine.name != "fast":
        return NO_NAMES
    lookups = prepare(engine.tables, engine.rules, engine.target)
    types: dict[str, set[str]] = {}
    macros: dict[str, None] = {}
    members: set[tuple[str, str]] = set()
    operands: set[str] = set()
    support: set[str] = set()
    absent_macros: set[str] = set()
    has_pair_operators = False
    vector_operators: set[tuple[str, str]] = set()
    spaces: set[str] = set()
    zero_macros: set[str] = set()
    headers = [job for job in jobs if not job.is_rest and View("", job.name).is_header]
    for job in headers:
        for kind, name, value in _of_header(job, lookups):
            if kind == "type":
                types.setdefault(name, set()).add(value)
            elif kind == "macro":
                macros[value] = None
            elif kind == "operator":
                operands.add(name)
            elif kind == "pair":
                has_pair_operators = True
            elif kind == "space":
                spaces.add(name)
            elif kind == "vector operator":
                vector_operators.add((name, value))
            elif kind == "support":
                support.add(name)
            elif kind == "absent":
                absent_macros.add(name)
            elif kind == "zero":
                zero_macros.add(name)
            else:
                members.add((value, name))
    single = {name: next(iter(of)) for name, of in sorted(types.items()) if len(of) == 1}
    has_operators = any(complex_operators.is_complex(name, "", single) for name in operands)
    other_macros = _definitions(headers, absent_macros | zero_macros, lookups)
    return TreeNames(
        tuple(single.items()),
        tuple(macros),
        frozenset(members),
        has_operators,
        has_pair_operators,
        frozenset(support),
        frozenset(absent_macros - zero_macros - other_macros),
        frozenset(zero_macros - other_macros),
        frozenset(vector_operators),
        frozenset(space for space in spaces if not _includes_library(jobs, space)),
    )


def _includes_library(jobs: Iterable[ConversionJob], name: str) -> bool:
    """Whether a file of the tree includes a header from a library's folder, such as `cub/cub.cuh`."""
    include = re.compile(rb"#[ \t]*include[ \t]*[<\"](?:%s|thrust)/" % name.encode())
    return any(include.search(_bytes_of(job)) for job in jobs if not job.is_rest)


def _definitions(headers: Iterable[ConversionJob], names: set[str], lookups: Lookups) -> set[str]:
    """Those of some macros that a header defines where HIP sees it, as something else than the 0 of another branch."""
    if not names:
        return set()
    defines = re.compile(rb"#[ \t]*define[ \t]+(?:%s)\b" % b"|".join(name.encode() for name in sorted(names)))
    defined_names: set[str] = set()
    for job in headers:
        data = _bytes_of(job)
        if defines.search(data):
            view = _view(job, data, lookups)
            absent_macros, zero_macros = _macros_without_value(view)
            defined_names |= names.intersection(macro.name for macro in view.macros) - absent_macros - zero_macros
    return defined_names


def _macros_without_value(view: View) -> tuple[frozenset[str], frozenset[str]]:
    """The macros of a header that HIP does not see defined, and those that are 0 for HIP alone."""
    spans = branches.left_out(view)
    return branches.absent_macros(view, spans), branches.zero_macros(view, spans)


def _of_header(job: ConversionJob, lookups: Lookups) -> Iterator[tuple[str, str, str]]:
    """The declarations of one header: the kind, the name, and its value.

    The value of a "type" is the other type, that of a "macro" its definition, that of a "member" its namespace. An
    "operator" has the type of its operands for its name, a "support" the support header, an "absent" a macro that HIP
    does not see defined, a "zero" one that is 0 for HIP alone, and these have no value. A "pair" is an operator for
    vectors of two, a "vector operator" has its sign for its name and its type for its value. A "space" is a namespace that a library of
    CUDA's has too.
    """
    data = _bytes_of(job)
    if b"cub" in data and _OWN_SPACE.search(data):
        yield "space", "cub", ""
    gate_flags = [
        b"typedef" in data or b"using" in data,
        b"define" in data,
        b"namespace" in data and b"cu" in data,
        b"operator" in data,
        b"define" in data and (b"CUDA" in data or b"HIP" in data or b"ROCM" in data),
    ]
    gates = (_MAY_ALIAS, _MAY_DEFINE, _MAY_DECLARE, _MAY_OPERATE, _MAY_ASK)
    gate_flags = [
        may and any(pattern.search(data) for pattern in gate) for may, gate in zip(gate_flags, gates, strict=True)
    ]
    shims = [rule for rule in lookups.of_kind("shim", job.name) if rule.before and _may_need(rule, data)]
    if not any(gate_flags) and not shims:
        return
    view = _view(job, data, lookups)
    if gate_flags[0]:
        yield from (("type", name, of) for name, of in _types(view))
    if gate_flags[1]:
        called_names = lookups.matches.get("call", frozenset())
        for macro in aliases.routing_macros(view.macros, called_names):
            yield "macro", macro.name, _definition(macro)
    if gate_flags[2]:
        for name in view.words & lookups.renamed_names:
            yield from (("member", name, one.space) for one in view.hidden_declarations(name) if one.space)
    for rule in shims:
        if any(view.own(name) for name in lookups.names_by_shim[rule.id] & view.words):
            yield from (("support", name, "") for name in rule.match)
    if gate_flags[3]:
        yield from (("operator", name, "") for name in sorted(complex_operators.operand_types(view.code)))
        if complex_operators.has_pair_operators(view.code):
            yield "pair", "", ""
        for one in own_overloads.overloads(view):
            if one.sign and not one.is_same:
                yield "vector operator", one.sign, one.kind
    if gate_flags[4]:
        absent_macros, zero_macros = _macros_without_value(view)
        yield from (("absent", name, "") for name in sorted(absent_macros))
        yield from (("zero", name, "") for name in sorted(zero_macros))


def _bytes_of(job: ConversionJob) -> bytes:
    """What stands in a header; nothing where it is too large or cannot be read, which the conversion itself tells."""
    try:
        return job.source.read_bytes() if job.source.stat().st_size <= _LARGEST else b""
    except OSError:
        return b""


def _view(job: ConversionJob, data: bytes, lookups: Lookups) -> View:
    text = Newlines(data.decode("utf-8", "surrogateescape")).text
    hip_macros = frozenset(lookups.target.hip_macros)
    return View(text, job.name, lookups.cuda_names, lookups.renamed_names, lookups.ruled_names, hip_macros)


def _may_need(rule: ConversionRule, data: bytes) -> bool:
    """Whether a header may name anything that a support header is for: a quick look before its words."""
    return any(stem in data for stem in {name[:6].encode() for name in rule.when})


def _types(view: View) -> Iterator[tuple[str, str]]:
    """The other names that a header gives to types of CUDA, to integers and to vectors."""
    for match in _ALIAS.finditer(view.code):
        name, of = match[1] or match[4], " ".join((match[2] or match[3]).split())
        bare = of[_PREFIX.match(of).end() :]  # type: ignore[union-attr]
        if bare in view.cuda_names:
            yield name, bare
        elif _INTEGER.fullmatch(of) or of in own_overloads.VECTORS:
            yield name, of


def _definition(macro: Macro) -> str:
    """A macro's definition on one line."""
    parameters: Sequence[str] = macro.parameters or ()
    if macro.rest:
        parameters = [*parameters, "..." if macro.rest == "__VA_ARGS__" else f"{macro.rest}..."]
    head = macro.name if macro.parameters is None else f"{macro.name}({', '.join(parameters)})"
    return f"#define {head} {' '.join(macro.body.split())}"
