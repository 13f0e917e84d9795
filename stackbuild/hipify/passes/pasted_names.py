"""The fix `pasted-names`: a macro that puts CUDA's names together, `#define GPU(name) cuda##name`, makes HIP's names.

The name may stand anywhere in the body: `#define GPU_CALL(call) CHECK(cuda##call)`, for `GPU_CALL(Free(p))`, whose first
word is pasted, also as `cuda##__VA_ARGS__`. The beginning of the name is converted, `hip##name`, unless half of the uses in the text make names that are not CUDA's.
A use whose whole name becomes another one (`cudaPointerAttributes`), or is in no table, is reported where it stands.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from stackbuild.hipify.cpp.edits import Edit
from stackbuild.hipify.cpp.macros import Macro
from stackbuild.hipify.cpp.scan import call_arguments
from stackbuild.hipify.cpp.source_text import View
from stackbuild.hipify.rules.lookups import Lookups

STEMS = {
    "cuda": "hip", "cublas": "hipblas", "cufft": "hipfft", "curand": "hiprand", "cusparse": "hipsparse", "cusolver": "hipsolver",
}  # fmt: skip
"""Beginnings of CUDA's names that a macro may add a word to, with HIP's."""
_PASTE = re.compile(rf"(?<![\w#])({'|'.join(STEMS)})[ \t]*##[ \t]*(\w+)(?![ \t]*##|\w)")
_HIP_PASTE = re.compile(rf"(?<![\w#])(?:{'|'.join(STEMS.values())})[ \t]*##")
_FIRST_WORD = re.compile(r"\s*([A-Za-z_]\w*)")


@dataclass(frozen=True)
class PastedName:
    """A place where a macro adds a parameter to a beginning of CUDA's names: its offset, and which parameter."""

    macro: Macro
    stem: str
    start: int
    parameter: int


def fix(view: View, lookups: Lookups, by: str) -> list[Edit]:
    """The edits of the macros' bodies."""
    return [
        Edit(one.start, one.start + len(one.stem), STEMS[one.stem], by)
        for one in _pasted_names(view)
        if _are_cudas(lookups, [one.stem + word for _, word in _uses(view, one)])
    ]


def other_names(view: View, lookups: Lookups) -> Iterator[tuple[int, str, str]]:
    """The uses whose name is not HIP's after the fix: the offset, CUDA's name, and what HIP has for it, "" for none.

    Of a macro that the text also defines with HIP's beginning there are none: its uses were made for both.
    """
    for one in _pasted_names(view):
        if has_hip_form(view, one.start):
            continue
        for at, word in _uses(view, one):
            name = one.stem + word
            whole = lookups.names[name].hip if name in lookups.names else ""
            if whole != STEMS[one.stem] + word:
                yield at, name, whole


def has_hip_form(view: View, at: int) -> bool:
    """Whether the macro whose body an offset is in has another definition that makes HIP's names."""
    own = view.macro_at(at)
    return own is not None and any(
        macro.name == own.name and _HIP_PASTE.search(macro.body) is not None for macro in view.macros
    )


def _pasted_names(view: View) -> Iterator[PastedName]:
    """The places of the macros' bodies that add a parameter to a beginning."""
    if "##" not in view.code or view.words.isdisjoint(STEMS):
        return
    for macro in view.macros:
        parameters = (*(macro.parameters or ()), *((macro.rest,) if macro.rest else ()))
        for match in _PASTE.finditer(macro.body) if parameters else ():
            is_first = not macro.body[: match.start()].rstrip().endswith("##")
            if is_first and match[2] in parameters:
                yield PastedName(macro, match[1], macro.at + match.start(1), parameters.index(match[2]))


def _uses(view: View, pasted_name: PastedName) -> Iterator[tuple[int, str]]:
    """The uses of a macro whose argument begins with a word, which is what is pasted."""
    macro = pasted_name.macro
    for at in view.places(macro.name):
        if view.is_defined_at(at):
            continue  # its own definition, or that of another branch
        argument_list = call_arguments(view.code, at + len(macro.name))
        if argument_list and len(argument_list[0]) > pasted_name.parameter:
            start, end = argument_list[0][pasted_name.parameter]
            if word := _FIRST_WORD.match(view.code, start, end):
                yield at, word[1]


def _are_cudas(lookups: Lookups, names: list[str]) -> bool:
    """Whether most of the names that a macro makes are CUDA's: the tables lack one or the other."""
    known_count = sum(name in lookups.names or name in lookups.issues for name in names)
    return not names or 2 * known_count > len(names)
