"""The Plan: a graph of steps with every decision taken. Pure data; making it runs nothing.

A step's key is the sha256 of its `key_text`, a printable text of everything that can change its output. That is
commands, environment, contents of sources, keys of what it needs, and gfx targets where it uses them. Paths of this
machine, job counts and times are not in it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, get_args

from stackbuild.core import digest

Action = Literal[
    "debian",
    "image",
    "snapshot",
    "git",
    "archive",
    "package",
    "deps",
    "wheelhouse",
    "hipify",
    "run",
    "wheel",
    "verify",
    "bench",
]
"""Who does a step: `run` opens a session of the runner; the others are done by stackbuild itself on the host side.

`verify` is in no recipe's plan: the stage of that name gives it to a machine with a GPU.
"""

Phase = Literal["prepare", "configure", "build", "install", "test"]
PHASES: tuple[Phase, ...] = get_args(Phase)
"""The phases in the order in which a step goes through them."""

CONVERTED_SOURCE, CONVERSION = "source", "hipify.json"
"""What a `hipify` step leaves: the folder with the whole source as HIP, and the report of it."""

FORMAT = 1
"""Version of the key text: raised when the meaning of a step changes without its text changing."""


@dataclass(frozen=True)
class Command:
    """One argument list and the phase of the component it belongs to."""

    argv: tuple[str, ...]
    phase: Phase = "build"


@dataclass(frozen=True)
class Need:
    """An output of another step: its step name, its key, and where a session sees it ("" where it does not).

    `part` is the folder of the output that is seen there, "" for all of it.
    """

    step: str
    key: str
    at: str = ""
    part: str = ""


@dataclass(frozen=True)
class Resources:
    """What a step needs of the machine, in bytes; never part of a key."""

    memory: int = 1 << 30
    network: bool = False


def sorted_items(values: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Names and values as `Step.params` and `Step.env` hold them: sorted by name."""
    return tuple(sorted(values.items()))


@dataclass(frozen=True)
class Step:
    """One unit of work with one output tree."""

    name: str
    action: Action
    needs: tuple[Need, ...] = ()
    params: tuple[tuple[str, str], ...] = ()
    """What a host-side action is to do, as sorted names and printable values."""
    commands: tuple[Command, ...] = ()
    env: tuple[tuple[str, str], ...] = ()
    base: str = ""
    """Name of the step that makes the root file system; "" where no session is opened."""
    resources: Resources = Resources()
    must_use: tuple[str, ...] = ()
    """CMake cache entries that the configure phase must not report as unused. A check, so in no key."""

    @cached_property
    def fields(self) -> tuple[tuple[str, str], ...]:
        """The printable fields of the key, in order."""
        rows = [("format", str(FORMAT)), ("step", self.name), ("action", self.action)]
        rows += [(f"param {name}", value) for name, value in self.params]
        rows += [(f"need {_need_text(n)}", n.key) for n in self.needs]
        rows += [(f"env {name}", value) for name, value in self.env]
        rows += [(f"command {i} {c.phase}", digest.canonical(c.argv)) for i, c in enumerate(self.commands)]
        return tuple(rows)

    @cached_property
    def key_text(self) -> str:
        """The text the key is the digest of: one field a line."""
        return _text(self.fields)

    @cached_property
    def key(self) -> str:
        return digest.of_text(self.key_text)

    def content_key(self, trees: Mapping[str, str]) -> str:
        """The digest of `content_text`: equal for equal inputs, however made."""
        return digest.of_text(self.content_text(trees))

    def content_text(self, trees: Mapping[str, str]) -> str:
        """The text of the key with the needed steps' output digests in place of their keys."""
        rows = [
            (name, trees.get(name.removeprefix("need ").split(" at ")[0], value) if name.startswith("need ") else value)
            for name, value in self.fields
        ]
        return "content\n" + _text(tuple(rows))


def _need_text(need: Need) -> str:
    return need.step + (f" at {need.at}" if need.at else "") + (f" part {need.part}" if need.part else "")


def _text(rows: tuple[tuple[str, str], ...]) -> str:
    return "".join(f"{_name(name)}: {_escape(value)}\n" for name, value in rows)


def rows_of(key_text: str) -> dict[str, str]:
    """The fields of a key text. Only a newline ends a line here: `splitlines` would also break at U+2028 and its
    like."""
    return dict(line.split(": ", 1) for line in key_text.split("\n") if line)


def _name(text: str) -> str:
    return _escape(text).replace(": ", ":\\ ")


def _escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n")


@dataclass(frozen=True)
class Plan:
    """All steps in an order in which each comes after what it needs, and the names of those whose output is wanted."""

    recipe: str
    steps: tuple[Step, ...]
    goals: tuple[str, ...]
    kinds: Mapping[str, str] = field(default_factory=dict, compare=False)
    """The kind of component whose last step it is, by the step's name."""

    @cached_property
    def by_name(self) -> dict[str, Step]:
        return {step.name: step for step in self.steps}

    def closure(self, names: tuple[str, ...]) -> tuple[Step, ...]:
        """The steps of these names and all they need, in the plan's order."""
        keep, todo = set(), list(names)
        while todo:
            name = todo.pop()
            if name not in keep:
                keep.add(name)
                todo += [need.step for need in self.by_name[name].needs]
        return tuple(step for step in self.steps if step.name in keep)
