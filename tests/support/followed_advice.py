"""A reader who does what the next step of a message says, word for word."""

from __future__ import annotations

import re
from dataclasses import dataclass

import yaml

PLACEHOLDER = re.compile(r"…|\.\.\.|\b(?:NAME|VERSION|TAG|KIND|VALUE|DIR|FILE|KEY|DIGEST)\b")
"""What a reader fills in himself."""
_FIRST_VALUE = re.compile(
    r"(?:^|[:;,?] )(?:did you mean|write|put|add|list)\b[^`;?]*?`([^`]+)`|^(?:did you mean|write) ([\"\d][^\s`;?,:]*|gfx[0-9a-f]+)"
)
_GENERAL = re.compile(r"write (?:it as lines|the name of|one of|one text|each|one,|a list of commands|year|its SPDX|it out|the item|the suite that)")
"""Steps that say how, and give no text to write."""


@dataclass(frozen=True)
class NextStep:
    """A message of `recipe check` about one place of a text: what is wrong and what to do next."""

    line: int
    column: int
    what: str
    step: str

    @property
    def is_example(self) -> bool:
        """Whether it shows how a value looks, and not which one was meant."""
        return "such as" in self.step


_MESSAGE = re.compile(r"(?m)^(?:stackbuild: |\w+ +)?recipe\.yaml:(\d+):(\d+): (.*)$")


def advices(said: str) -> list[NextStep]:
    """The messages of a command's output."""
    found = []
    for block in re.split(r"(?m)^(?=(?:stackbuild: |\w+ +)?recipe\.yaml:\d+)", said):
        if match := _MESSAGE.match(block):
            step = block.partition("next: ")[2].partition("\n")[0].strip()
            found.append(NextStep(int(match[1]), int(match[2]), match[3], step))
    return found


def followed(text: str, advice: NextStep) -> str | None:
    """The text after the next step was done; None for a step that is not done by writing one given text at that place."""
    node, key = _node_at(text, advice.line - 1, advice.column - 1)
    if node is None:
        return None
    match = None if _GENERAL.search(advice.step) else _FIRST_VALUE.search(advice.step)
    new = (match[1] or match[2]) if match else ""
    if not new or PLACEHOLDER.search(new) or (" " in new and re.match(r"stackbuild |pip |--", new)):
        return None
    if advice.step.startswith("add"):
        return _inserted(text, node, new)
    start, end = node.start_mark.index, _end(text, node)
    if key is None and (owner := _list_of(text, node, new)):
        key, node = owner
        end = _end(text, node)
    name = key.value if key is not None else ""
    if name and re.match(rf"{re.escape(name)}:( |$)", new):
        start = key.start_mark.index
    elif is_key(text, node) and re.match(r"[\w.-]+:( |$)", new):
        end = _end(text, _value_of(text, node))
    return text[:start] + new + text[end:]


def is_key(text: str, node: yaml.Node) -> bool:
    return any(k.start_mark.index == node.start_mark.index for k, _ in _pairs(yaml.compose(text)))


def _list_of(text: str, item: yaml.Node, line: str) -> tuple[yaml.Node, yaml.Node] | None:
    """The key and the list that an item is in, where a line writes that key anew."""
    for key, value in _pairs(yaml.compose(text)):
        is_in = isinstance(value, yaml.SequenceNode) and item.start_mark.index in [each.start_mark.index for each in value.value]
        if is_in and re.match(rf"{re.escape(key.value)}:( |$)", line):
            return key, value
    return None


def _value_of(text: str, key: yaml.Node) -> yaml.Node:
    return next(v for k, v in _pairs(yaml.compose(text)) if k.start_mark.index == key.start_mark.index)


def _inserted(text: str, node: yaml.Node, line: str) -> str | None:
    if isinstance(node, yaml.MappingNode) and not node.flow_style:
        at = node.start_mark
        return f"{text[: at.index]}{line}\n{' ' * at.column}{text[at.index :]}"
    return None


def _end(text: str, node: yaml.Node) -> int:
    """Where a node ends, without the blank lines and comments that the parser counts to it."""
    if isinstance(node, yaml.ScalarNode) or node.flow_style:
        return node.end_mark.index
    return max((_end(text, each) for pair in node.value for each in (pair if isinstance(pair, tuple) else (pair,))),
               default=node.end_mark.index)  # fmt: skip


def _pairs(node: yaml.Node | None) -> list[tuple[yaml.Node, yaml.Node]]:
    if isinstance(node, yaml.MappingNode):
        return [pair for each in node.value for pair in (each, *_pairs(each[0]), *_pairs(each[1]))]
    if isinstance(node, yaml.SequenceNode):
        return [pair for each in node.value for pair in _pairs(each)]
    return []


def _nodes(node: yaml.Node, key: yaml.Node | None) -> list[tuple[yaml.Node, yaml.Node | None]]:
    """A node and all below it, each with the key that it is the value of; the deepest first."""
    below: list[tuple[yaml.Node, yaml.Node | None]] = []
    if isinstance(node, yaml.MappingNode):
        below = [each for k, v in node.value for each in (*_nodes(v, k), (k, None))]
    elif isinstance(node, yaml.SequenceNode):
        below = [each for item in node.value for each in _nodes(item, None)]
    return [*below, (node, key)]


def _node_at(text: str, line: int, column: int) -> tuple[yaml.Node | None, yaml.Node | None]:
    try:
        root = yaml.compose(text)
    except yaml.YAMLError:
        return None, None
    for node, key in _nodes(root, None) if root else []:
        if (node.start_mark.line, node.start_mark.column) == (line, column):
            return node, key
    return None, None
