"""The calls that move values between lanes, and which lanes hear of which after a row of them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from stackbuild.hipify.scan import NAME, arguments, skip_space, whole_names
from stackbuild.hipify.view import View

Mode = Literal["xor", "down", "up", "index"]

_OPENS = re.compile(r"\s*(?:<[\w:, ]*>)?\s*\(")
_DECLARED = re.compile(r"(?:const\s+)?[\w:]+(?:\s*<[^<>]*>)?(?:\s+const)?(?:\s*[&*]+\s*|\s+)\w+(?:\s*=.*)?", re.S)
# A macro with parameters: the search skips to its sign. Its lines are one in blanked text.
_DEFINITION = re.compile(r"#[ \t]*define[ \t]+(\w+)\(([^()\n]*)\)([^\n]*)")
_DEFINED = re.compile(r"#[ \t]*define[ \t]+\Z")
_LOOP = re.compile(r"\b(?:for|while)\b")
_NO_TYPE = frozenset(("return", "sizeof", "new", "not"))


@dataclass(frozen=True)
class Shuffle:
    """One call: its span, how it moves values, and its arguments' texts. `place` is the lane's or step's among them, 0 for unknown."""

    at: int
    end: int
    name: str
    mode: Mode
    arguments: tuple[str, ...]
    place: int
    member: bool

    def steps(self) -> Iterator[tuple[str, str]]:
        """What could be its step, each with the text of its width ("" for none)."""
        for place in (self.place,) if self.place else range(1, len(self.arguments)):
            if place < len(self.arguments):
                yield self.arguments[place], self.arguments[place + 1] if place + 1 < len(self.arguments) else ""


def is_shuffle(word: str) -> bool:
    """Whether a name could be a shuffle's."""
    return ("shfl" in word or "SHFL" in word or "huffle" in word) and not word.startswith(("_mm", "__builtin_shuffle"))


def shuffles(view: View) -> list[Shuffle]:
    """The shuffle calls of a text in order; declarations of shuffles are none."""
    if "shfl" not in view.listed and "SHFL" not in view.listed and "huffle" not in view.listed:
        return []
    wrapped = _wrappers(view) if "define" in view.words else {}
    found = [
        call
        for name in view.words
        if name not in wrapped and is_shuffle(name)
        for at in whole_names(view.code, name)
        if (call := _read(view.code, name, at)) is not None
    ]
    for name, wrapper in wrapped.items():
        found += wrapper.used(view.code, name)
    return sorted(found, key=lambda call: call.at)


@dataclass(frozen=True)
class _Wrapper:
    """A macro whose body shuffles: its parameters and the shuffles in it."""

    parameters: tuple[str, ...]
    inner: tuple[Shuffle, ...]

    def used(self, code: str, name: str) -> Iterator[Shuffle]:
        """The shuffles of the macro's uses, with what it is given in its parameters' places."""
        for at in whole_names(code, name):
            open_at = skip_space(code, at + len(name))
            parsed = arguments(code, open_at) if code.startswith("(", open_at) else None
            if parsed is None or _DEFINED.search(code, max(0, at - 40), at):
                continue
            given = [code[start:end].strip() for start, end in parsed[0]]
            for call in self.inner:
                texts = tuple(self._filled(text, given) for text in call.arguments)
                yield replace(call, at=at, end=parsed[1] + 1, arguments=texts)

    def _filled(self, text: str, given: list[str]) -> str:
        """An argument with what stands for the parameters."""
        stands_for = dict(zip(self.parameters, given, strict=False))
        bare = text.strip().strip("()").strip()
        if bare in stands_for:
            return stands_for[bare]
        return NAME.sub(lambda word: f"({stands_for[word[0]]})" if word[0] in stands_for else word[0], text)


def _wrappers(view: View) -> dict[str, _Wrapper]:
    """The macros of a text that shuffle, also through one another. One with a loop of its own is read where it stands."""
    made: dict[str, _Wrapper] = {}
    for found in _DEFINITION.finditer(view.code):
        body, known = found[3], [name for name in made if name in found[3]]
        if not ("__shfl" in body or known) or _LOOP.search(body):
            continue
        names = {name for name in NAME.findall(body) if name.startswith("__shfl")}
        inner = [call for name in names for at in whole_names(body, name) if (call := _read(body, name, at))]
        for name in known:
            inner += made[name].used(body, name)
        if inner:
            parameters = tuple(word.strip() for word in found[2].split(","))
            made.setdefault(found[1], _Wrapper(parameters, tuple(sorted(inner, key=lambda call: call.at))))
    return made


def _read(code: str, name: str, at: int) -> Shuffle | None:
    opens = _OPENS.match(code, at + len(name))
    parsed = arguments(code, opens.end() - 1) if opens else None
    if parsed is None or len(parsed[0]) < 2:
        return None
    texts = tuple(code[start:end] for start, end in parsed[0])
    if any(_DECLARED.fullmatch(text) and text.split()[0] not in _NO_TYPE for text in texts):
        return None
    before = code[max(0, at - 2) : at]
    place = (2 if "sync" in name else 1) if name.startswith("__shfl") else 0
    return Shuffle(at, parsed[1] + 1, name, _mode(name), texts, place, before.endswith((".", "->")))


def _mode(name: str) -> Mode:
    low = name.lower()
    if "xor" in low or "bfly" in low or "butterfly" in low:
        return "xor"
    return "down" if "down" in low else "up" if "up" in low.replace("group", "").replace("dup", "") else "index"


def reach(offsets: tuple[int, ...], mode: Mode = "down") -> int:
    """How many lanes one lane's value comes from after steps at these offsets, where no wavefront ends."""
    return len(_heard(offsets, mode))


def complete(offsets: tuple[int, ...], mode: Mode = "down") -> bool:
    """Whether the steps reach every lane of the smallest power of two that is beyond the largest of them."""
    group = 1 << max(offsets).bit_length()
    return _heard(offsets, mode).issuperset(range(group))


def _heard(offsets: tuple[int, ...], mode: Mode) -> set[int]:
    if mode == "index":
        return set(offsets)
    heard = {0}
    for offset in offsets:
        heard |= {lane ^ offset if mode == "xor" else lane + offset for lane in heard}
        if len(heard) > 1 << 12:
            break
    return heard
