"""The fix `pasted-names`: a macro that puts CUDA's names together, `#define GPU(name) cuda##name`, makes HIP's names.

The beginning of the name is converted, `hip##name`, unless half of the uses in the text make names that are not CUDA's.
A use whose whole name becomes another one (`cudaPointerAttributes`), or is in no table, is reported where it stands.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from stackbuild.hipify.cpp.edits import Edit
from stackbuild.hipify.cpp.macros import Macro
from stackbuild.hipify.cpp.scan import call_arguments
from stackbuild.hipify.cpp.source_text import View
from stackbuild.hipify.rules.lookups import Lookups

STEMS = {
    "cuda": "hip", "cublas": "hipblas", "cufft": "hipfft", "curand": "hiprand", "cusparse": "hipsparse", "cusolver": "hipsolver",
}  # fmt: skip
"""Beginnings of CUDA's names that a macro may add a word to, with HIP's."""
_BODY = re.compile(rf"\s*({'|'.join(STEMS)})[ \t]*##[ \t]*(\w+)\s*")


def fix(view: View, lookups: Lookups, by: str) -> list[Edit]:
    """The edits of the macros' bodies."""
    return [
        Edit(start, start + len(stem), STEMS[stem], by)
        for macro, stem, start in _macros(view)
        if _are_cudas(lookups, [stem + word for _, word in _uses(view, macro)])
    ]


def other_names(view: View, lookups: Lookups) -> Iterator[tuple[int, str, str]]:
    """The uses whose name is not HIP's after the fix: the offset, CUDA's name, and what HIP has for it, "" for none."""
    for macro, stem, _ in _macros(view):
        for at, word in _uses(view, macro):
            name = stem + word
            whole = lookups.names[name].hip if name in lookups.names else ""
            if whole != STEMS[stem] + word:
                yield at, name, whole


def _macros(view: View) -> Iterator[tuple[Macro, str, int]]:
    """The macros that add their parameter to a beginning, with that and its offset."""
    if "##" not in view.code or view.words.isdisjoint(STEMS):
        return
    for macro in view.macros:
        body = _BODY.fullmatch(macro.body) if macro.parameters else None
        if body and body[2] in (macro.parameters or ()):
            yield macro, body[1], macro.at + body.start(1)


def _uses(view: View, macro: Macro) -> Iterator[tuple[int, str]]:
    """The uses of a macro with a word for its argument."""
    for at in view.places(macro.name):
        if view.is_defined_at(at):
            continue  # its own definition, or that of another branch
        argument_list = call_arguments(view.code, at + len(macro.name))
        if argument_list and len(argument_list[0]) == 1:
            start, end = argument_list[0][0]
            if (word := view.code[start:end].strip()).isidentifier():
                yield at, word


def _are_cudas(lookups: Lookups, names: list[str]) -> bool:
    """Whether most of the names that a macro makes are CUDA's: the tables lack one or the other."""
    known_count = sum(name in lookups.names or name in lookups.issues for name in names)
    return not names or 2 * known_count > len(names)
