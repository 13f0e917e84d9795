"""Names that a text declares itself, although they are spelt like CUDA's: other files of its tree mean the same by them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence, Set

from stackbuild.hipify.cpp.scan import NAME, arguments, back_space, back_token, qualifier, skip_space
from stackbuild.hipify.cpp.source_text import View
from stackbuild.hipify.passes import calls
from stackbuild.model.findings import Finding

_TYPED_NAME = re.compile(r"(\w+|(?<=\w)>)(?:\s+|\s*([*&]+)\s*)\Z")
_NO_TYPE = frozenset(
    ("return", "else", "case", "goto", "throw", "new", "delete", "struct", "class", "union", "enum", "typename", "using", "namespace", "sizeof",
     "not", "and", "or", "do", "define", "undef", "ifdef", "ifndef", "if", "elif", "typedef", "defined")
)  # fmt: skip
_TAGGED_NAME = re.compile(
    r"\b(?:struct|class|union|enum|enum\s+class|enum\s+struct|namespace)\s+(?:[A-Z_][A-Z0-9_]*\s+|\[\[[^\]]*\]\]\s*|\w+\s*::\s*)*\Z"
)
_POINTER = re.compile(
    r"(?:\A|[;{}]|\n)\s*(?:(?:const|static|extern|struct|volatile|mutable|unsigned)\s+)*(?!return\b)[A-Za-z_][\w:]*(?:<[\w:, ]*>)?\s*[*&]+\s*\Z"
)
_LISTED_NAME = re.compile(
    r"(?:\A|[;{}])\s*(?:#[^\n]*\n\s*)*(?:(?:const|static|extern|struct|volatile|mutable|unsigned)\s+)*(?!(?:return|case|using|delete|throw|goto)\b)[A-Za-z_][\w:]*"
    r"(?:<[^<>;{}()]*>)?[\s*&]+\w+(?:\[\w*\])?(?:\s*,\s*[*&]*\s*\w+(?:\[\w*\])?)*\s*,\s*[*&]*\s*\Z"
)
_VALUE = r"(?:\s*\((?:[^(){};]|\([^(){};]*\))*\)|\s*\[\w*\]|\s*=[^,(){};=]*)?"
_LATER = re.compile(
    r"(?:\A|[;{}])\s*(?:#[^\n]*\n\s*)*(?:(?:const|static|constexpr|extern|volatile|unsigned)\s+)*(?!(?:return|case|using|delete|throw|goto)\b)[A-Za-z_][\w:]*"
    rf"(?:\s+const\b)?[\s*&]+\w+{_VALUE}(?:\s*,\s*[*&]*\s*\w+{_VALUE})*\s*,\s*[*&]*\s*\Z"
)
"""What stands before a declarator that is not the first: `dim3 const block(64), `."""
_USING = re.compile(r"\busing\s+\Z")
_TYPEDEF_HEAD = re.compile(r"\btypedef\s+(?:enum|struct|union)\s+\Z")
_MACRO_TYPE = re.compile(r"\b[A-Z][A-Z0-9_]+\s*\([^();{}]*\)\s*\Z")
"""A result's type in a macro: `STATIC_FUNCTION(bool)`."""
_TYPEDEF = re.compile(r"\btypedef\b[^;{}]*(?:\{[^{}]*\}[^;{}]*)?\Z")
_TYPEDEF_OPEN = re.compile(r"\btypedef\s[^;{}()]*\Z")
_ENUM = re.compile(r"\benum\b[^;(){}]*\Z")
# Begins with letters: the search skips to them.
_NAMESPACES = re.compile(r"namespace(?<!\wnamespace)\s+((?:\w+\s*::\s*)*\w+)\s*\{")
_LIBCUXX = re.compile(r"cuda\s*::")
UNMISTAKABLE = re.compile(
    r"cuda\s*::\s*(?:std|ptx(?=\s*::)|atomic_ref|annotated_ptr|access_property|proclaim_return_type|aligned_size_t|thread_scope\w*)\b"
)
"""Names of libcu++'s that no project's own namespace `cuda` has."""
COMMON = frozenset(("memcpy_async", "make_pipeline"))
"""Names of CUDA's that a project may well have for something of its own."""
_PATH = re.compile(r'[^>"\n]+')
_BEFORE = 120
CONDITIONAL = frozenset(
    ("HIPIFY-UNSUPPORTED", "HIPIFY-UNSUPPORTED-DEVICE", "HIPIFY-UNKNOWN", "LINT-ASYNC-COPY", "HIPIFY-UNKNOWN-DEVICE", "HIPIFY-UNKNOWN-HEADER", "HIPIFY-NO-TABLE", "LINT-CUDA-STD", "LINT-HEADER",
     "LINT-COOPERATIVE", "LINT-CUB-NAME", "LINT-THRUST-NAME", "LINT-CUB-MACRO", "LINT-HALF-ATOMIC")
)  # fmt: skip
"""The rules whose findings do not apply where the tree declares the name, or has the header."""
TABLE_RULES = frozenset(
    ("HIPIFY-UNSUPPORTED", "HIPIFY-UNSUPPORTED-DEVICE", "HIPIFY-UNSUPPORTED-TYPE", "HIPIFY-EXPERIMENTAL", "HIPIFY-NEEDS-ROCM",
     "HIPIFY-GONE-FROM-ROCM", "HIPIFY-NOT-IN-TARGET")
)  # fmt: skip
"""The rules about names of HIPIFY's tables: a tree that declares one compiles with it, whatever it is linked with."""
TABLE_NAME = "listed "
"""What such a declaration's name begins with, among what a text declares."""


def declared_names(view: View, names: Iterable[str]) -> frozenset[str]:
    """Those of the names that the text declares: as a macro, type, function, variable, enumerator or namespace."""
    macros = {macro.name for macro in view.macros}
    return frozenset(
        name for name in names if name in macros or any(is_declaration(view, name, at) for at in view.places(name))
    )


def is_declaration(view: View, name: str, at: int) -> bool:
    """Whether the text declares a name at an offset."""
    end = at + len(name)
    after = skip_space(view.code, end)
    sign = view.code[after : after + 1]
    head = view.code[max(0, at - _BEFORE) : at]
    if sign == ";" and _CLASS.search(view.code, max(0, at - 20), at):
        return True  # CUDA's own are structs
    if sign in ("{", ":", "<") and _TAGGED_NAME.search(head):
        return not view.code.startswith("::", after)
    if sign not in ("(", "<") and _TYPEDEF_HEAD.search(head):
        return True
    if sign == ")" and _is_pointer(view.code, at, after):
        return True
    if sign == "=" and _USING.search(head):
        return True
    if sign == ";" and _TYPEDEF.search(view.code, max(0, at - 4096), at):
        return True
    if sign == ";" and view.code.endswith("}", 0, close_at := back_space(view.code, at)):
        number = view.braces.innermost(close_at - 1)
        if number >= 0 and _TYPEDEF_OPEN.search(view.braces.head(number)):
            return True
    if sign == "(":
        follows = back_token(view.code, at) == back_space(view.code, at)  # and not a preprocessor line
        typed_match = _TYPED_NAME.search(view.code, max(0, at - 60), at) if follows else None
        if (
            typed_match
            and not typed_match[2]
            and typed_match[1] not in _NO_TYPE
            and not typed_match[1].startswith("__")
        ):
            return True  # also `dim3 cudaGridSize(w, h);`
        argument_list = arguments(view.code, after)
        if argument_list and calls.declares(view, at, argument_list[0]):
            return True
        if view.braces.innermost(at) < 0 and _MACRO_TYPE.search(head) and "#" not in head.rpartition("\n")[2]:
            return True
    if sign in ("=", ";", ",", "["):
        start = max(0, at - _BEFORE * 4)
        if _POINTER.search(view.code, max(start, at - _BEFORE), at) or _LISTED_NAME.search(view.code, start, at):
            return True
    if sign in ("(", "=", ";", ",", "{") and view.code.endswith(",", 0, back_space(view.code, at)):
        line = max(view.code.rfind(mark, 0, at) for mark in ";{}")
        if at - line < _BEFORE * 4 and _LATER.search(view.code, max(0, line), at):
            return True
    if sign in ("=", ",", "}"):
        inner = view.braces.innermost(at)
        if inner >= 0 and _ENUM.search(view.braces.head(inner)):
            return True
    return is_variable(view.code, at, end)


def _is_pointer(code: str, at: int, close_at: int) -> bool:
    """Whether a name is declared there as a pointer to a function: `int (*nvmlInit)(void)`."""
    return code.endswith("*", 0, back_space(code, at)) and code.startswith("(", skip_space(code, close_at + 1))


def defined_types(view: View, names: Set[str]) -> frozenset[str]:
    """Those of the names that the text defines as a class, also for some template arguments: `struct CubVector<T, 1> {`."""
    return frozenset(
        name
        for name in view.words & names
        if any(
            _DEFINED_TYPE.match(view.code, at) and _TYPE.search(view.code, max(0, at - 20), at)
            for at in view.places(name)
        )
    )


def listed_names(view: View, names: Set[str]) -> frozenset[str]:
    """What the text declares of the tables' names for other files, `TABLE_NAME` each: types, enumerators, functions."""
    return frozenset(
        f"{TABLE_NAME}{name}"
        for name in view.words & names
        if any(is_declaration(view, name, at) and _is_at_file_level(view, at) for at in view.places(name))
    )


def _is_at_file_level(view: View, at: int) -> bool:
    """Whether an offset stands outside of classes and functions, or is an enumerator's there."""
    heads = [view.braces.head(number) for number in view.braces.around(at)]
    if heads and _ENUM.search(heads[0]):
        heads = heads[1:]
    return all(_OPEN_SPACE.search(head) for head in heads)


_OPEN_SPACE = re.compile(r"\bextern\s*\"[^\"]*\"\s*\Z|\bnamespace\b[^;{}()]*\Z")
_TYPE = re.compile(r"\b(?:struct|class)\s+\Z")
_CLASS = re.compile(r"\bclass\s+\Z")
_DEFINED_TYPE = re.compile(r"\w+\s*(?:<[^<>;{}]*>)?\s*(?::(?!:)[^;{}()]*)?\{")


def is_variable(code: str, at: int, end: int) -> bool:
    """Whether a name is declared as a variable or parameter there: `cudaError_t cudaStatus;`."""
    after = skip_space(code, end)
    before = _TYPED_NAME.search(code, max(0, at - 60), at)
    if before is None or before[1] in _NO_TYPE or code[after : after + 1] not in ("=", ";", ",", ")", "[", "{"):
        return False
    return not before[2] or before[1].endswith(("_t", "int", "char", "float", "double", "void", "unsigned", "long"))


def supplied_names(view: View, names: Set[str]) -> frozenset[str]:
    """Those of the names that the text defines as macros: `#ifndef cudaEventWaitDefault`, `#define cudaEventWaitDefault 0`."""
    return frozenset(macro.name for macro in view.macros if macro.name in names)


def common(view: View) -> frozenset[str]:
    """Those of the COMMON names that the text declares, and does not qualify there: `cg::memcpy_async(…);` is a call."""
    return frozenset(
        name
        for name in view.words & COMMON
        if any(not qualifier(view.code, at) and is_declaration(view, name, at) for at in view.places(name))
    )


def namespaces(view: View) -> frozenset[str]:
    """The named namespaces that a text opens, `namespace NAME` each, of those that CUDA has too."""
    if "namespace" not in view.words or "cuda" not in view.words:
        return frozenset()
    parts = (part.strip() for path in _NAMESPACES.findall(view.code) for part in path.split("::"))
    return frozenset(f"namespace {part}" for part in parts if part == "cuda")


def conditions(view: View, findings: Sequence[Finding]) -> tuple[tuple[int, int, str], ...]:
    """The findings that another file of the tree may take back: their line and column, and the name or header that does.

    What is a note about something that follows from a finding goes with it.
    """
    distinct: dict[tuple[int, int, str], None] = {}
    names: dict[tuple[str, str], str] = {}
    rules = CONDITIONAL | TABLE_RULES
    conditional_findings = [one for one in findings if one.rule in rules and one.place is not None]
    for one in conditional_findings:
        if one.place and not _FOLLOWS.search(one.found):
            at = view.lines.starts[one.place.line - 1] + one.place.column - 1
            if name := _member(one) if one.rule in _OF_SPACE else _condition(view, at):
                distinct[one.place.line, one.place.column, name] = None
                names[one.rule, one.found] = name
    for one in conditional_findings:
        follows = _FOLLOWS.search(one.found)
        name = names.get((one.rule, one.found[follows.end() :]), "") if follows else ""
        if one.place and name:
            distinct[one.place.line, one.place.column, name] = None
    return tuple(distinct)


_FOLLOWS = re.compile(r" (?:has in its body|has a finding): ")
_OF_SPACE = {"LINT-CUB-NAME": "cub", "LINT-THRUST-NAME": "thrust"}
_OPENS = re.compile(r"namespace(?<!\wnamespace)\s+(cub|thrust)\b[^;{}()]*\{")
_MEMBER = re.compile(r"(?:struct|class|using|enum|union|concept|namespace)\s+(\w+)|([A-Za-z_]\w*)\s*[(;={]")


def space_members(view: View) -> frozenset[str]:
    """What a text may declare in a namespace of CUB's or Thrust's that it opens itself, as `cub::NAME`."""
    if view.words.isdisjoint(_OF_SPACE.values()):
        return frozenset()
    space_names = set(_OPENS.findall(view.code))
    member_names = {one or other for one, other in _MEMBER.findall(view.code)} if space_names else ()
    return frozenset(f"{space}::{name}" for space in space_names for name in member_names)


def _member(finding: Finding) -> str:
    """The name of a namespace's that a finding is about, as `space_members` has it."""
    return f"{_OF_SPACE[finding.rule]}::{finding.found.removeprefix('cub::').partition(' ')[0]}"


def _condition(view: View, at: int) -> str:
    line = view.text[view.text.rfind("\n", 0, at) + 1 : view.text.find("\n", at) if "\n" in view.text[at:] else None]
    if re.match(r"[ \t]*#[ \t]*include", line):
        start = max(line.find("<"), 0) or line.find('"')
        path = _PATH.match(line, start + 1)
        return f"header {path.group()}" if path else ""
    if _LIBCUXX.match(view.code, at):
        return "" if UNMISTAKABLE.match(view.code, at) else "namespace cuda"
    name = NAME.match(view.code, at)
    return _HALF_ATOMIC if name and name.group() == "atomicAdd" else name.group() if name else ""


def device_functions(view: View, names: Set[str]) -> frozenset[str]:
    """Those of the names that the text defines as functions, under no name of CUDA's API: `float_as_int(float f) {`."""
    return frozenset(
        name
        for name in view.words & names
        if not name.startswith(("__", "cu", "CU")) and any(is_declaration(view, name, at) for at in view.places(name))
    )


_HALF_ATOMIC = "atomicAdd of a half"
_OWN_HALF_ATOMIC = re.compile(
    r"atomicAdd(?<!\watomicAdd)\s*\(\s*(?:__half2?|half2?|__nv_bfloat162?|nv_bfloat162?)\s*\*\s*(?:const\s+)?\w+\s*,\s*(?:const\s+)?(?:__half|half|__nv_b|nv_b)\w*\s+\w+\s*\)"
)


def half_atomics(view: View) -> frozenset[str]:
    """What the text declares where it has an atomicAdd of 16-bit floating point of its own."""
    has_own = "atomicAdd" in view.words and _OWN_HALF_ATOMIC.search(view.code) is not None
    return frozenset((_HALF_ATOMIC,)) if has_own else frozenset()
