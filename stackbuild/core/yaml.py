"""Reads a YAML text into plain data and remembers where everything stands: the one module that imports yaml.

A stricter YAML than the library's own: one document, no anchors, aliases or tags, no duplicate keys, at most 1 MiB
and 50 levels. Scalars follow the core schema of YAML 1.2 (`true`, `null`, numbers), so `on`, `yes` and `no` stay text,
as do `.inf` and `.nan`, which JSON cannot say. Keys are always text. The parser's events are read in one loop, without
recursion in C: libyaml's own composer overflows the stack on deep nesting.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import cast

import yaml
from yaml.events import (
    AliasEvent,
    CollectionStartEvent,
    DocumentStartEvent,
    Event,
    MappingEndEvent,
    MappingStartEvent,
    NodeEvent,
    ScalarEvent,
    SequenceEndEvent,
)

from stackbuild.core.conflict_markers import STEP, first_marker
from stackbuild.core.digest import Json
from stackbuild.core.errors import Mistake, RecipeError, with_lines
from stackbuild.core.text_lines import lines_of

MAX_BYTES = 1 << 20
MAX_DEPTH = 50
MAX_DIGITS = 400

KeyPath = tuple[str | int, ...]
LineColumn = tuple[int, int]

_LOADER: type = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
_CONSTANTS: dict[str, bool | None] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
NO_TEMPLATES = "write the value out: variables and templates are not filled in"
_TEMPLATE = re.compile(r"\{\{.*?\}\}")
_INTEGER = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")


@dataclass(frozen=True)
class Places:
    """Where each key and each value of one text begins: path → (line, column), both counted from 1.

    A path is the keys and indices from the root: `("components", 0, "version")`; the root is `()`.
    """

    name: str
    keys: dict[KeyPath, LineColumn] = field(default_factory=dict)
    values: dict[KeyPath, LineColumn] = field(default_factory=dict)

    def of_value(self, path: KeyPath) -> str:
        """`file:line:column` of the value at `path`, or of the nearest thing around it that the text has."""
        return self._spell(path, (self.values, self.keys))

    def of_key(self, path: KeyPath) -> str:
        """`file:line:column` of the key at `path`, or of the nearest thing around it that the text has."""
        return self._spell(path, (self.keys, self.values))

    @cached_property
    def keys_of(self) -> dict[KeyPath, frozenset[str]]:
        """The keys of each mapping, by its path, once the whole text is read."""
        names: dict[KeyPath, list[str]] = {}
        for path in self.keys:
            names.setdefault(path[:-1], []).append(str(path[-1]))
        return {path: frozenset(keys) for path, keys in names.items()}

    def _spell(self, path: KeyPath, order: tuple[dict[KeyPath, LineColumn], ...]) -> str:
        for end in range(len(path), -1, -1):
            for places in order:
                if at := places.get(path[:end]):
                    return f"{self.name}:{at[0]}:{at[1]}"
        return f"{self.name}:1:1"


def compose(text: str, name: str) -> tuple[Json, Places]:
    """The data of a YAML text and the place of each key and value; `name` is the file's name in messages.

    An empty text is None. Raises RecipeError with every mistake that can be told apart in one reading.
    """
    if (size := len(text.encode("utf-8", "surrogatepass"))) > MAX_BYTES:
        raise RecipeError(
            (Mistake(f"{name}:1:1", f"{size:,} bytes; at most {MAX_BYTES:,} are read", "split the file"),)
        )
    line, marker = first_marker(text)
    if line:
        raise RecipeError(
            with_lines((Mistake(f"{name}:{line}:1", f"a conflict marker of git: `{marker[:60]}`", STEP),), text)
        )
    builder = _DataBuilder(name, text)
    try:
        builder.read(_events(text))
    except yaml.YAMLError as error:
        builder.mistakes.append(_of_yaml(error, text, name))
    except UnicodeEncodeError as error:
        builder.mistakes.append(_not_text(text, error.start, name))
    if builder.mistakes:
        raise RecipeError(with_lines(builder.mistakes, text))
    return builder.root, builder.places


def _events(text: str) -> Iterator[Event]:
    return yaml.parse(text, Loader=_LOADER)


class _DataBuilder:
    """Builds data from events.

    `stack` holds the open collections, each with its path; a mapping also its open key. Of each mapping, `above` is the
    last key, `repeated` the keys that stand twice, `before` the key above the first of them, and `headers` that key where
    it has no value.
    """

    def __init__(self, name: str, text: str) -> None:
        self._text = text
        self._above: dict[KeyPath, str] = {}
        self._before: dict[KeyPath, str] = {}
        self._headers: dict[KeyPath, str] = {}
        self._repetitions: dict[KeyPath, list[tuple[str, LineColumn]]] = {}
        self._repeated_sections: dict[KeyPath, dict[str, Json] | list[Json]] = {}
        self.root: Json = None
        self.places = Places(name)
        self.mistakes: list[Mistake] = []
        self._stack: list[tuple[dict[str, Json] | list[Json], KeyPath]] = []
        self._keys: list[str | None] = []

    @cached_property
    def _rows(self) -> tuple[str, ...]:
        return lines_of(self._text)

    def read(self, events: Iterator[Event]) -> None:
        documents = 0
        for event in events:
            if isinstance(event, ScalarEvent):
                self._scalar(event)
            elif isinstance(event, CollectionStartEvent):
                self._open(event)
                if len(self._stack) > MAX_DEPTH:
                    self._blame(event, f"nested deeper than {MAX_DEPTH} levels", "flatten the file")
                    break
            elif isinstance(event, (MappingEndEvent, SequenceEndEvent)):
                self._stack.pop()
                self._keys.pop()
            elif isinstance(event, AliasEvent):
                self._blame(event, f"`*{event.anchor}` is an alias", "write the value out: aliases are not read")
                self._scalar_value(None, event)
            elif isinstance(event, DocumentStartEvent):
                documents += 1
                if documents > 1:
                    step = "keep one document per file: move what follows `---` into a file of its own, or remove both"
                    self._blame(event, "a second document begins here", step)
                    break
        for path, repetitions in self._repetitions.items():
            self._blame_repeated(path, repetitions)

    def _blame(self, event: Event, what: str, next: str) -> None:
        line, column = _at(event)
        self.mistakes.append(Mistake(f"{self.places.name}:{line}:{column}", what, next))

    def _blame_key(self, event: Event) -> None:
        """A mapping or a list where a key stands; `{{ version }}` is one to YAML, and a template to other tools."""
        line, column = _at(event)
        template = _TEMPLATE.match(lines_of(self._text)[line - 1], max(column - 2, 0))
        if template:
            place = f"{self.places.name}:{line}:{template.start() + 1}"
            self.mistakes.append(Mistake(place, f"`{template[0][:60]}` is a template", NO_TEMPLATES))
        else:
            self._blame(event, "a key that is a mapping or a list", "keys are plain text")

    def _blame_repeated(self, path: KeyPath, repetitions: list[tuple[str, LineColumn]]) -> None:
        """Keys that stand twice in one mapping. Two of them or more are a second entry, whose name is missing or too deep."""
        owner, (key, at), is_entry = self.places.keys.get(path), repetitions[0], False
        header = self._headers.get(path, "")
        if owner and header:
            line, column = self.places.keys[(*path, header)]
            what = f"`{header}:` has no value and stands among the keys of `{path[-1]}`, which are repeated below it"
            next = f"indent it by {owner[1] - 1}, as `{path[-1]}:`"
            self.mistakes.append(Mistake(f"{self.places.name}:{line}:{column}", what, next))
        elif owner and (len(repetitions) > 1 or (key == "kind" and self._before[path] != key)):
            is_entry = True
            stands = "stand" if len(repetitions) > 1 else "stands"
            what = f"{_in_words([key for key, _ in repetitions])} {stands} twice in `{path[-1]}`: a second entry begins here"
            next = f"write its name above this line, `NAME:` indented by {owner[1] - 1}, or remove what is repeated"
            self.mistakes.append(Mistake(f"{self.places.name}:{at[0]}:{at[1]}", what, next))
        for key, at in repetitions if not (owner and header) and not is_entry else ():
            first = self.places.keys[(*path, key)][0]
            what = f"the key {key!r} stands here twice, first on line {first}"
            step = f"remove one of them: lines {first} and {at[0]}"
            if (*path, key) in self._repeated_sections:
                move = f"move the lines below it to those below line {first}, and remove this `{key}:`"
                is_inline = not self._rows[at[0] - 1].split(" #")[0].rstrip().endswith(":")
                move = f"write all its items on line {first}, and remove this `{key}:`" if is_inline else move
                step = move
                if path in _NAMED_ENTRIES:
                    step = "remove or rename one of them"
                elif path and not is_inline:
                    step = self._joined_step((*path, key), first)
            self.mistakes.append(Mistake(f"{self.places.name}:{at[0]}:{at[1]}", what, step))

    def _joined_step(self, path: KeyPath, first: int) -> str:
        """The next step for a section that stands twice: its children go below the first, but for those that both have."""
        second, one = self._repeated_sections[path], self.root
        for part in path:
            one = one[part] if isinstance(one, dict) and isinstance(part, str) else None
        if not isinstance(second, dict) or not isinstance(one, dict):
            return f"move its items to those below line {first}, and remove this `{path[-1]}:`"
        new, both = [name for name in second if name not in one], [name for name in second if name in one]
        names = _in_words(new[:3]) + (" and what follows" if len(new) > 3 else "")
        step = f"put {names} below the first, line {first}, and remove this `{path[-1]}:`" if new else ""
        twice = f"{_in_words(both[:3])} {'stand' if len(both) > 1 else 'stands'} in both: keep one"
        return "; ".join(filter(None, (step, twice if both else ""))) + ("" if new else f", and remove this `{path[-1]}:`")

    def _refuse_extras(self, event: NodeEvent, tag: str | None) -> None:
        if event.anchor is not None:
            self._blame(
                event, f"`&{event.anchor}` is an anchor", "write the value out where it is used: anchors are not read"
            )
        if tag is not None:
            tag_text = tag.replace("tag:yaml.org,2002:", "!!")
            self._blame(event, f"`{tag_text}` is a tag", f"remove `{tag_text}`: tags are not read")

    def _scalar(self, event: ScalarEvent) -> None:
        if event.anchor is not None or event.tag is not None:
            self._refuse_extras(event, event.tag)
        plain = event.implicit[0] and not event.style
        if self._expects_key():
            self._key(event)
            return
        value: Json = event.value
        if plain and (items := self._joined_items(event)):
            self._blame_joined(event, items)
            return
        if plain:
            try:
                value = _resolve(event.value)
            except ValueError:
                self._blame(event, f"a number of {len(event.value)} characters", "quote it if it is text")
        self._scalar_value(value, event)

    def _joined_items(self, event: ScalarEvent) -> list[int]:
        """The lines, from 0, of items that are read as part of the text above them, since they are indented more."""
        if not (self._stack and isinstance(self._stack[-1][0], list) and event.start_mark and event.end_mark):
            return []
        if event.end_mark.line == event.start_mark.line or " - " not in f" {event.value}":
            return []
        below = range(event.start_mark.line + 1, min(event.end_mark.line + 1, len(self._rows)))
        return [at for at in below if re.match(r" *- ", self._rows[at])]

    def _blame_joined(self, event: ScalarEvent, items: list[int]) -> None:
        """Of several such items the one above them is the one that is indented otherwise."""
        first = _at(event)[0] - 1
        row, others = (items[0], first) if len(items) == 1 else (first, items[0])
        depth, depth_beside = (len(self._rows[at]) - len(self._rows[at].lstrip(" ")) for at in (row, others))
        what = f"this item is indented by {depth} spaces, and the {'one above' if row > others else 'next ones'} by {depth_beside}"
        self.mistakes.append(
            Mistake(
                f"{self.places.name}:{row + 1}:{depth + 1}",
                f"{what}: they are read as one text",
                f"indent it by {depth_beside} spaces",
            )
        )
        self._scalar_value(event.value, event)

    def _expects_key(self) -> bool:
        return bool(self._stack) and isinstance(self._stack[-1][0], dict) and self._keys[-1] is None

    def _key(self, event: ScalarEvent) -> None:
        mapping, path = self._stack[-1]
        key = event.value
        first = self.places.keys.get((*path, key)) if key in mapping else None  # none for a key that is not text
        if first:
            above = self._above.get(path, key)
            self._before.setdefault(path, above)
            if (
                path not in self._repetitions
                and above != key
                and isinstance(mapping, dict)
                and mapping.get(above) is None
            ):
                self._headers[path] = above
            self._repetitions.setdefault(path, []).append((key, _at(event)))
        else:
            self.places.keys[(*path, key)] = _at(event)
            self._above[path] = key
        self._keys[-1] = key

    def _scalar_value(self, value: Json, event: Event) -> None:
        self._place(value, self._claim(), event)

    def _claim(self) -> KeyPath:
        """The path of the value that comes next."""
        if not self._stack:
            return ()
        owner, path = self._stack[-1]
        key = self._keys[-1]
        return (*path, len(owner) if isinstance(owner, list) else (key if key is not None else ""))

    def _place(self, value: Json, path: KeyPath, event: Event) -> None:
        self.places.values.setdefault(path, _at(event))
        if not self._stack:
            self.root = value
            return
        owner = self._stack[-1][0]
        if isinstance(owner, list):
            owner.append(value)
        else:
            owner.setdefault(str(path[-1]), value)
            self._keys[-1] = None

    def _open(self, event: CollectionStartEvent) -> None:
        self._refuse_extras(event, event.tag)
        if self._expects_key():
            self._blame_key(event)
        container: dict[str, Json] | list[Json] = {} if isinstance(event, MappingStartEvent) else []
        path = self._claim()
        if path in self.places.values and not self._expects_key():
            self._repeated_sections[path] = container
        if self._expects_key():
            self._keys[-1] = ""  # what the mapping holds from here on is unreadable; the mistake is recorded
        else:
            self._place(container, path, event)
        self._stack.append((container, path))
        self._keys.append(None)


_NAMED_ENTRIES = (("sources",), ("components",), ("verify", "wheels"), ("matrix", "variants"))
"""Mappings of a recipe whose keys are names that it gives: two of one name are two entries."""


def _in_words(words: list[str]) -> str:
    """`a`, `b` and `c`."""
    quoted_words = [f"`{word}`" for word in words]
    return " and ".join([", ".join(quoted_words[:-1]), quoted_words[-1]] if len(quoted_words) > 1 else quoted_words)


def _resolve(text: str) -> Json:
    """A plain scalar by the core schema of YAML 1.2. Raises ValueError for a number too long to be one."""
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    if text[0] not in "+-.0123456789":
        return text
    if _INTEGER.fullmatch(text):
        if len(text) > MAX_DIGITS:
            raise ValueError
        return int(text, 0) if text[:2] in ("0o", "0x") else int(text)
    if _FLOAT.fullmatch(text):
        value = float(text)
        return value if value - value == 0 else text
    return text


def _at(event: Event) -> LineColumn:
    mark = event.start_mark
    return (mark.line + 1, mark.column + 1) if mark else (1, 1)


def _of_yaml(error: yaml.YAMLError, text: str, name: str) -> Mistake:
    from stackbuild.core.yaml_slips import earlier_slip, slip_of  # a text without an error needs none of its tables

    if isinstance(error, yaml.MarkedYAMLError):
        mark = error.problem_mark or error.context_mark
        place = f"{name}:{mark.line + 1}:{mark.column + 1}" if mark else f"{name}:1:1"
        what = error.problem or error.context or "not YAML"
        if mark and (slip := earlier_slip(text, mark.line)):
            line, column, what, next = slip
            return Mistake(f"{name}:{line}:{column}", f"not YAML: {what}", next)
        if error.context == "while scanning an alias":
            row = lines_of(text)[mark.line] if mark else ""
            if item := re.fullmatch(r" *\* +([\w.+:/-]+)\s*", row):
                return Mistake(place, "not YAML: an item of a list begins with `- `, not with `*`", f"write `- {item[1]}`")
            word = re.match(r"[^\s,\[\]{}]+", lines_of(text)[mark.line][mark.column - 1 :]) if mark else None
            next = f'put it into quotes: `"{word[0] if word and word[0][:1] == "*" else "*"}"`'
            return Mistake(place, "not YAML: a text that begins with `*` is an alias", next)
        context_mark = error.context_mark
        begin_position = (context_mark.line, context_mark.column) if context_mark else None
        if mark and (slip := slip_of(text, what, (mark.line, mark.column), begin_position)):
            line, column, what, next = slip
            return Mistake(f"{name}:{line}:{column}", f"not YAML: {what}", next)
        return Mistake(place, f"not YAML: {what}", "check quotes, brackets and indentation near this place")
    if isinstance(error, yaml.reader.ReaderError):
        at = int(cast(int, error.position))
        # The C reader counts bytes, the pure one characters; the character itself is the surer guide.
        code = error.character if isinstance(error.character, int) else ord(error.character[:1] or "\0")
        position = text.find(chr(code))
        return _not_text(text, position if position >= 0 else min(at, len(text)), name)
    return Mistake(f"{name}:1:1", f"not YAML: {error}", "check the file with any YAML tool")


def _not_text(text: str, at: int, name: str) -> Mistake:
    line = text.count("\n", 0, at) + 1
    column = at - (text.rfind("\n", 0, at) + 1) + 1
    return Mistake(
        f"{name}:{line}:{column}", f"the character U+{ord(text[at]):04X} is not allowed in YAML", "remove it"
    )
