"""Lint of textures and surfaces: references, fetches, and the forms of CUDA's calls that HIP lacks or answers otherwise."""

from __future__ import annotations

import re
from collections.abc import Iterator

from stackbuild.hipify.cpp.scan import call_arguments
from stackbuild.hipify.cpp.source_text import View
from stackbuild.hipify.lint.catalogue import LintMatch

_REFERENCE = re.compile(r"\b(texture|surface)\s*<[^;(){}]{0,200}>\s*(\w+)\s*(?:;|=|\[)")
_FETCH = re.compile(
    r"tex(?:1D|2D|3D|Cubemap)(?:Layered)?(?:fetch|Lod|Grad|gather)?|surf(?:1D|2D|3D|Cubemap)(?:Layered)?(?:read|write)"
)
_MODES = ("cudaBoundaryModeClamp", "cudaBoundaryModeTrap")
_SURFACE = re.compile(r"surf(1D|2D|3D|Cubemap)(Layered)?(read|write)")
_TEXTURE = re.compile(r"tex(?:1D|2D|3D|Cubemap)(?:Layered)?(?:Lod|Grad|gather)?")
_COORDINATES = {"1D": 1, "2D": 2, "3D": 3, "Cubemap": 3}
_TYPE = re.compile(r"\s*<[^<>;(){}]*>")
_RESIDENT = re.compile(r"\s*&")


def textures(view: View) -> Iterator[LintMatch]:
    """Texture and surface references, and fetches."""
    if not view.words.isdisjoint(("texture", "surface")):
        for match in _REFERENCE.finditer(view.code):
            if view.foreign(match.start()) or view.code.endswith("cuda::", 0, match.start()):
                continue  # another namespace's, and libcu++ has none
            yield match.start(), f"LINT-{match.group(1).upper()}-REFERENCE", (match.group(2),)
    for name in _fetches(view):
        for at in view.own(name):
            yield at, "LINT-TEXTURE-FETCH", (name,)


def forms(view: View) -> Iterator[LintMatch]:
    """Boundary modes that HIP lacks, and calls that give a value or a residency, which HIP has no function for."""
    for name in _fetches(view):
        surface = _SURFACE.fullmatch(name)
        for at in view.own(name):
            end = at + len(name)
            argument = _TYPE.match(view.code, end)
            call = call_arguments(view.code, argument.end() if argument else end)
            if call is None:
                continue
            texts = [view.code[start:stop] for start, stop in call[0]]
            if surface:
                mode = texts[-1].strip().rpartition("::")[2] if texts else ""
                if mode in _MODES:
                    yield at, "LINT-BOUNDARY-MODE", (mode,)
                count = len(texts) - ("BoundaryMode" in mode)
                places = _COORDINATES[surface[1]] + (surface[2] is not None) + 2
                if surface[3] == "read" and argument and count == places - 1:
                    yield at, "LINT-SURFACE-VALUE", (name,)
            elif argument and len(texts) > 2 and _RESIDENT.match(texts[-1]) and _TEXTURE.fullmatch(name):
                yield at, "LINT-TEXTURE-RESIDENT", (name,)


def _fetches(view: View) -> list[str]:
    """The names of fetches in a text. A plain C++ source can call none: there they are the project's own."""
    if not (view.is_cuda or view.is_header):
        return []
    if "\ntex" not in view.word_lines and "\nsurf" not in view.word_lines:
        return []
    return sorted(w for w in view.words if w.startswith(("tex", "surf")) and _FETCH.fullmatch(w))
