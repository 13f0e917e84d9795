"""The calls that move values between lanes, and which lanes hear of which after a row of them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from stackbuild.hipify.cpp.scan import NAME, after_template, arguments, skip_space, whole_names
from stackbuild.hipify.cpp.source_text import View
from stackbuild.hipify.lint.cpp import arithmetic, functions

Mode = Literal["xor", "down", "up", "index"]

_OPENS = re.compile(r"\s*(?:<[\w:, ]*>)?\s*\(")
_DECLARATION = re.compile(r"(?:const\s+)?[\w:]+(?:\s*<[^<>]*>)?(?:\s+const)?(?:\s*[&*]+\s*|\s+)\w+(?:\s*=.*)?", re.S)
_DEFINE_START = re.compile(r"#[ \t]*define[ \t]+\Z")
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
    """The shuffle calls of a text in order; declarations of shuffles are left out.

    A call of a macro or function that shuffles by what it is given counts as the shuffle.
    """
    shuffling = view.words_with("shfl", "SHFL", "huffle")
    if not shuffling:
        return []
    named_macros = {m.name: m.bare for m in view.macros if m.parameters is None and m.bare.startswith("__shfl")}
    wrappers = {} if not view.macros else _macros(view)
    calls = [
        call
        for name in shuffling | named_macros.keys()
        if name not in wrappers and (name in named_macros or is_shuffle(name))
        for at in view.places(name)
        if (call := _read(view.code, named_macros.get(name, name), at, at + len(name))) is not None
    ]
    for name, wrapper in wrappers.items():
        calls += wrapper.uses(view.code, name, view.places(name))
    functions = _functions(view, calls)
    calls = [call for call in calls if view.code[call.at : call.at + _LONGEST].split("(")[0].strip() not in functions]
    for name, wrapper in functions.items():
        calls += wrapper.uses(view.code, name, view.places(name))
    return sorted(calls, key=lambda call: call.at)


_LONGEST = 80


@dataclass(frozen=True)
class _Wrapper:
    """What shuffles by its parameters: those, the template's, what stands for the rest, and the shuffles' texts."""

    parameters: tuple[str, ...]
    template: tuple[str, ...]
    rest: str
    inner: tuple[tuple[str, str], ...]

    def uses(self, code: str, name: str, places: list[int]) -> Iterator[Shuffle]:
        """The shuffles of its uses, with what is given in its parameters' places."""
        for at in places:
            end = at + len(name)
            open_at = after_template(code, end)
            argument_list = arguments(code, open_at) if code.startswith("(", open_at) else None
            if argument_list is None or _DEFINE_START.search(code, max(0, at - 40), at):
                continue
            texts = [code[start:stop].strip() for start, stop in argument_list[0]]
            stands_for = dict(zip(self.parameters, texts, strict=False))
            if self.rest:
                stands_for[self.rest] = ", ".join(texts[len(self.parameters) :])
            angle = skip_space(code, end)
            if self.template and code.startswith("<", angle) and open_at > angle:
                list_text = f"({code[angle + 1 : code.rindex('>', angle, open_at)]})"
                kinds = arguments(list_text, 0)
                stands_for |= dict(
                    zip(self.template, (list_text[a:b].strip() for a, b in kinds[0]) if kinds else (), strict=False)
                )
            for function, text in self.inner:
                filled_text = NAME.sub(lambda word, by=stands_for: _fill(word[0], by), text)  # type: ignore[misc]
                call = _read(function + filled_text, function, 0, len(function))
                if call is not None:
                    yield replace(call, at=at, end=argument_list[1] + 1)


def _fill(word: str, stands_for: dict[str, str]) -> str:
    """What stands for a word: in brackets where it is more than a word and no list."""
    text = stands_for.get(word, word)
    return text if _ONE.fullmatch(text) or word == "__VA_ARGS__" else f"({text})"


_ONE = re.compile(r"[\w.:]*|\(.*\)")


def _macros(view: View) -> dict[str, _Wrapper]:
    """The macros of a text that shuffle, also through one another. One with a loop of its own is read where it stands."""
    wrappers: dict[str, _Wrapper] = {}
    for macro in view.macros:
        if macro.parameters is None or macro.name in wrappers or _LOOP.search(macro.body):
            continue
        inner = [
            (name, body[len(name) :])
            for name in sorted({n for n in NAME.findall(macro.body) if n.startswith("__shfl")})
            for body in _texts(macro.body, name)
        ]
        for name in [name for name in wrappers if name in macro.body]:
            places = whole_names(macro.body, name)
            inner += [
                (call.name, f"({', '.join(call.arguments)})") for call in wrappers[name].uses(macro.body, name, places)
            ]
        if inner:
            wrappers[macro.name] = _Wrapper(macro.parameters, (), macro.rest, tuple(inner))
    return wrappers


def _texts(code: str, name: str) -> Iterator[str]:
    """The texts of the calls of a name."""
    for at in whole_names(code, name):
        open_at = skip_space(code, at + len(name))
        argument_list = arguments(code, open_at) if code.startswith("(", open_at) else None
        if argument_list:
            yield name + code[open_at : argument_list[1] + 1]


def _functions(view: View, calls: list[Shuffle]) -> dict[str, _Wrapper]:
    """The functions of a text that shuffle by a parameter and have no loop: what they are given decides."""
    wrappers: dict[str, _Wrapper] = {}
    several: set[str] = set()
    alone: dict[int, bool] = {}
    for call in calls:
        function = functions.around(view, call.at) if call.place else None
        if function is None or function.owner or function.special:
            continue
        parameters = tuple(name for name, _ in function.parameters)
        template = tuple(name for name, _ in function.template)
        steps = [arithmetic.names(step) or frozenset() for step, _ in call.steps()]
        if not any(step & {*parameters, *template} - {""} for step in steps):
            continue
        if function.start not in alone:
            body = view.code[function.start : function.end]
            alone[function.start] = not (_LOOP.search(body) or whole_names(body, function.name))
        if not alone[function.start]:
            continue
        inner = (call.name, f"({', '.join(call.arguments)})")
        if function.name in wrappers and wrappers[function.name].parameters != parameters:
            several.add(function.name)
        elif function.name not in wrappers:
            wrappers[function.name] = _Wrapper(parameters, template, "", (inner,))
    return {name: wrapper for name, wrapper in wrappers.items() if name not in several}


def _read(code: str, name: str, at: int, end: int) -> Shuffle | None:
    """The call of the shuffle `name` that is spelt at `[at, end)`."""
    opens = _OPENS.match(code, end)
    argument_list = arguments(code, opens.end() - 1) if opens else None
    if argument_list is None or len(argument_list[0]) < 2:
        return None
    texts = tuple(code[start:end] for start, end in argument_list[0])
    if any(_DECLARATION.fullmatch(text) and text.split()[0] not in _NO_TYPE for text in texts):
        return None
    before = code[max(0, at - 2) : at]
    place = (2 if "sync" in name else 1) if name.startswith("__shfl") else 0
    return Shuffle(at, argument_list[1] + 1, name, _mode(name), texts, place, before.endswith((".", "->")))


def _mode(name: str) -> Mode:
    low = name.lower()
    if "xor" in low or "bfly" in low or "butterfly" in low:
        return "xor"
    return "down" if "down" in low else "up" if "up" in low.replace("group", "").replace("dup", "") else "index"


def reach(offsets: tuple[int, ...], mode: Mode = "down") -> int:
    """How many lanes one lane's value comes from after steps at these offsets, where no wavefront ends."""
    return len(_source_lanes(offsets, mode))


def complete(offsets: tuple[int, ...], mode: Mode = "down") -> bool:
    """Whether the steps reach every lane of the smallest power of two that is beyond the largest of them."""
    group = 1 << max(offsets).bit_length()
    return _source_lanes(offsets, mode).issuperset(range(group))


def _source_lanes(offsets: tuple[int, ...], mode: Mode) -> set[int]:
    if mode == "index":
        return set(offsets)
    lanes = {0}
    for offset in offsets:
        lanes |= {lane ^ offset if mode == "xor" else lane + offset for lane in lanes}
        if len(lanes) > 1 << 12:
            break
    return lanes
