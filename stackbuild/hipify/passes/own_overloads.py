"""The fix `own-overloads`: functions of a source that HIP's headers have too, with the same parameters and meaning.

Operators for two of CUDA's vector types (`float4 * float4`, `float4 += float4`) are ambiguous beside HIP's own, which work
by components. Atomics of types that CUDA lacks and HIP has (atomicAdd of a double, atomicCAS of a `std::uint64_t`) are
defined twice. These definitions are left out where `__HIP_PLATFORM_AMD__` is defined. Operators that do something else by the same signs stay, and lint tells them.
Which forms clash was tried with HIP 5.7 and 6.4: `*`, `/`, and `+=`, `-=`, `*=`, `/=`, with the same type on both sides.
An operator for a vector and a number that takes the vector by `float4 &` is a better match for the vector and a worse one for
a number of another type (`v * 2`) than HIP's template, so that use is ambiguous. Its parameter becomes `const float4 &`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from stackbuild.hipify.cpp.edits import Edit
from stackbuild.hipify.cpp.source_text import View

_VECTOR = r"(?:float|double|u?int|u?char|u?short|u?long|u?longlong)[1-4]"
_OPERATOR = re.compile(
    r"operator\s*([*/]|[-+*/]=)\s*\(\s*(?:const\s+)?(\w+)(?:\s+const)?[\s&]+(\w+)\s*,"
    r"\s*(?:const\s+)?\2(?:\s+const)?[\s&]+(\w+)\s*\)\s*\{"
)
_SIGN = r"operator\s*(?:[-+*/%&|^]|[!=]=)\s*"
_NUMBER = r"(?:const\s+)?(?:unsigned\s+)?(?:float|double|int|uint|long|short|char|size_t|unsigned|T)(?:\s+const)?[\s&]+\w+"
_REFERENCE = re.compile(
    rf"{_SIGN}\(\s*(?:(?P<left>{_VECTOR})\s*&\s*(?P<a>\w+)\s*,\s*{_NUMBER}|{_NUMBER}\s*,\s*(?P<right>{_VECTOR})\s*&\s*(?P<b>\w+))\s*\)\s*\{{"
)
_LONG = r"(?:std::)?(?:uint64_t|size_t)|unsigned\s+long(?:\s+long)?(?:\s+int)?|u(?:nsigned\s+)?long|ull"
_FLOATING = "float|double"
_OPERANDS = {
    **dict.fromkeys(("Add", "Sub", "Exch", "CAS"), f"{_FLOATING}|{_LONG}"),
    **dict.fromkeys(("Min", "Max"), rf"{_FLOATING}|{_LONG}|long\s+long(?:\s+int)?|(?:std::)?int64_t"),
    **dict.fromkeys(("And", "Or", "Xor"), _LONG),
}
"""Types that HIP 5.7, 6.4 and 7.2 have an atomic for, beside 32-bit integers: those that CUDA lacks, or once lacked."""
_ATOMICS = frozenset(f"atomic{name}" for name in _OPERANDS)


def _atomic(name: str, operands: str) -> str:
    """A pattern of the definition of an atomic over one of the types."""
    group = f"kind{name}"
    value = rf"\s*,\s*(?:const\s+)?(?P={group})\s+(?:const\s+)?\w+\s*"
    values = value * (2 if name == "CAS" else 1)
    pointer = rf"(?P<{group}>{operands})\s*\*\s*(?:const\s+)?(?:__restrict__\s+)?\w+"
    return rf"atomic{name}\s*\(\s*{pointer}{values}\)\s*\{{"


_ATOMIC = re.compile("|".join(_atomic(name, operands) for name, operands in _OPERANDS.items()))
_KINDS = (
    "float",
    "double",
    "int",
    "uint",
    "char",
    "uchar",
    "short",
    "ushort",
    "long",
    "ulong",
    "longlong",
    "ulonglong",
)
VECTORS = frozenset(f"{kind}{size}" for kind in _KINDS for size in "1234")
_GUARD = "#ifndef __HIP_PLATFORM_AMD__"


@dataclass(frozen=True)
class OwnOverload:
    """A definition that HIP's clashes with: its offset and span, and whether HIP's does the same.

    Of an operator there are its sign and the vector type, as CUDA calls it.
    """

    at: int
    start: int
    end: int
    is_same: bool
    sign: str = ""
    kind: str = ""


def fix(view: View, by: str) -> Iterator[Edit]:
    """The edits that put each definition that does what HIP's does between lines that leave it out for HIP."""
    for one in overloads(view):
        if one.is_same:
            line = view.code.rfind("\n", 0, one.start) + 1
            starts_line = not view.text[line : one.start].strip()
            start = line if starts_line else one.start
            yield Edit(start, start, f"{'' if starts_line else chr(10)}{_GUARD}\n", by)
            rest = view.code.find("\n", one.end)
            is_last = not view.code[one.end : rest if rest >= 0 else len(view.code)].strip()
            end = rest if is_last and rest >= 0 else one.end
            yield Edit(end, end, "\n#endif" + ("" if is_last else "\n"), by, closes=True)
    for at in _references(view):
        yield Edit(at, at, "const ", by)


def _references(view: View) -> Iterator[int]:
    """The offsets of vectors that an operator beside a number takes by reference and does not change.

    An operator that may be declared elsewhere too stays: its declaration would be another one then.
    """
    if "operator" not in view.words or view.words.isdisjoint(VECTORS):
        return
    for place in view.places("operator"):
        match = _REFERENCE.match(view.code, place)
        if match is None or view.macro_at(place):
            continue
        side, name = ("left", match["a"]) if match["left"] else ("right", match["b"])
        body = view.code[match.end() : view.braces.span(view.braces.innermost(match.end()))[1]]
        changes = rf"\b{name}\b(?:\s*\.\s*\w+)?\s*(?:[-+*/%&|^]?=(?!=)|\+\+|--)|(?:\+\+|--|&)\s*{name}\b"
        before = view.code[max(0, match.start(side) - 12) : match.start(side)]
        is_alone = _ALONE.search(view.code[view.braces.statement(place) : place]) is not None
        if is_alone and not re.search(changes, body) and not re.search(r"const\s*$", before):
            yield match.start(side)


_ALONE = re.compile(r"\b(?:inline|static|__inline__|__forceinline__|__inline|template)\b")
"""Words of a definition that stands in each file that uses it."""


@lru_cache(maxsize=1)
def overloads(view: View) -> tuple[OwnOverload, ...]:
    """The definitions that clash with HIP's, outside of macros and of what is left out for HIP already."""
    matches = []
    types: dict[str, str] = {}
    if "operator" in view.words:
        types = _vector_types(view)
        matches = [one for at in view.places("operator") if (one := _OPERATOR.match(view.code, at)) and one[2] in types]
    for name in sorted(view.words & _ATOMICS):
        atomic_matches = (_ATOMIC.match(view.code, at) for at in view.places(name))
        matches += [one for one in atomic_matches if one and view.braces.innermost(one.start()) < 0]
    clashes = []
    for one in matches:
        start = _start(view, one.start())
        if view.macro_at(one.start()) or view.text[:start].rstrip().endswith(_GUARD):
            continue
        open_at = one.end() - 1
        close_at = view.braces.span(view.braces.innermost(one.end()))[1]
        body = "".join(view.code[open_at + 1 : close_at].split())
        is_same = one.re is _ATOMIC or _is_by_components(body, types[one[2]], *one.groups())
        operator = (one[1], types[one[2]]) if one.re is _OPERATOR else ("", "")
        clashes.append(OwnOverload(one.start(), start, close_at + 1, is_same, *operator))
    return tuple(clashes)


def uses(view: View) -> Iterator[tuple[int, str, str]]:
    """Uses of operators of the text or the tree that HIP's clash with and that do something else: offset, sign, type.

    One side is a variable or a value of the vector type, and the other is one too, or a bracket.
    """
    operators = {(one.sign, one.kind) for one in overloads(view) if one.sign and not one.is_same}
    operators |= view.tree.vector_operators
    types = _vector_types(view) if operators else {}
    for sign, kind in sorted(operators):
        names = sorted(name for name, of in types.items() if of == kind)
        if not names:
            continue
        variables = set(re.findall(rf"\b(?:{'|'.join(names)})\b\s*(?:const\b)?[\s*&]*\b(?!operator)([A-Za-z_]\w*)", view.code))
        operands = variables | set(names) | {f"make_{kind}"}
        for match in re.finditer(rf"(\w+|[)\]])\s*{re.escape(sign)}(?![=*/])\s*([A-Za-z_]\w*|\()", view.code):
            sides = (match[1], match[2])
            if any(side in operands for side in sides) and all(side in operands or side in (")", "]", "(") for side in sides):
                yield match.end(1), sign, kind


def _start(view: View, at: int) -> int:
    """Where the definition begins in which an offset stands."""
    start = view.braces.statement(at)
    return start + len(view.code[start:at]) - len(view.code[start:at].lstrip())


def _vector_types(view: View) -> dict[str, str]:
    """Names of vector types that the text uses: CUDA's, and other names of them that it or a header of the tree gives."""
    types = {name: name for name in view.words & VECTORS}
    for name in view.words & view.tree.type_of.keys():
        types[name] = view.tree.type_of[name]
    matches = [match for word, form in _ALIASES if word in view.words for match in form.finditer(view.code)]
    for match in sorted(matches, key=re.Match.start):
        types[match["name"]] = match["of"]
    return {name: of for name, of in types.items() if of in VECTORS}


# Each begins with its word's letters: the search then skips to those.
_ALIASES = (
    ("typedef", re.compile(rf"typedef(?<!\wtypedef)\s+(?P<of>{_VECTOR})\s+(?P<name>\w+)\s*;")),
    ("using", re.compile(rf"using(?<!\wusing)\s+(?P<name>\w+)\s*=\s*(?P<of>{_VECTOR})\s*;")),
)


def _is_by_components(body: str, kind: str, sign: str, name: str, left: str, right: str) -> bool:
    """Whether a body without white space works by components; `name` is what the text calls the vector type `kind`."""
    parts = "xyzw"[: int(kind[-1])]
    if sign.endswith("="):
        each = "".join(f"{left}.{part}{sign}{right}.{part};" for part in parts)
        whole = f"{left}={left}{sign[0]}{right};"
        long = "".join(f"{left}.{part}={left}.{part}{sign[0]}{right}.{part};" for part in parts)
        bodies = [text + tail for text in (each, whole, long) for tail in ("", f"return{left};")]
        return body in (*bodies, f"return{whole}")
    values = ",".join(f"{left}.{part}{sign}{right}.{part}" for part in parts)
    if body in (f"return{head}{{{values}}};" for head in ("", kind, name)) or body == f"returnmake_{kind}({values});":
        return True
    local = re.match(rf"(?:{kind}|{name})(\w+);\1\.x=", body)
    each = "".join(f"{local[1]}.{part}={left}.{part}{sign}{right}.{part};" for part in parts) if local else ""
    return local is not None and body[local.end(1) :] == f";{each}return{local[1]};"
