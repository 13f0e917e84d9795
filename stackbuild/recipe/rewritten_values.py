"""The value that a recipe should have in place of a wrong one, as the next step of a message. Pure."""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import dataclass
from typing import Any, get_args

from stackbuild.core import yaml
from stackbuild.core.sizes import SIZE, size_meant
from stackbuild.core.yaml import Places
from stackbuild.model.components import SHELL_WORDS, AnyComponent
from stackbuild.model.gates import Gate
from stackbuild.model.recipe import python_meant
from stackbuild.recipe.forms import advice, example_of, flow_text, is_archive_name, yaml_text
from stackbuild.recipe.schema_nodes import components_by_kind, default_at, keys_at, nodes_at, pattern_at, required_at
from stackbuild.tables.debian import DEBIAN_RELEASES
from stackbuild.tables.near_words import nearest
from stackbuild.tables.targets import BUILDABLE


@dataclass(frozen=True)
class WrongValue:
    """A value that pydantic refuses: `detail` is its error, `path` where it stands, `text` the scalar as it was written."""

    path: yaml.KeyPath
    detail: Any
    text: str
    places: Places

    @property
    def kind(self) -> str:
        """pydantic's word for the mistake."""
        return str(self.detail["type"])

    @property
    def loc(self) -> tuple[int | str, ...]:
        """pydantic's location."""
        return tuple(self.detail["loc"])

    @property
    def key(self) -> str:
        """The key that the value, or the list of it, stands at."""
        return next((part for part in reversed(self.path) if isinstance(part, str)), "")

    @property
    def is_item(self) -> bool:
        """Whether the value is an item of a list."""
        return bool(self.path) and isinstance(self.path[-1], int)

    @property
    def example(self) -> str:
        """A line that a recipe may have there."""
        return example_line(self.path, self.loc, self.places)


def rewritten_value(wrong: WrongValue) -> str:
    """The next step that says the value as it should have been written, where that is plain; else ""."""
    value = wrong.detail["input"]
    step: str | None = None
    if value is None:
        return _of_nothing(wrong)
    if isinstance(value, list):
        step = _of_list(wrong, value)
    elif isinstance(value, dict):
        step = _of_mapping(wrong, value)
    elif isinstance(value, bool | int | float):
        step = _of_number(wrong, value)
    elif isinstance(value, str):
        step = _of_text(wrong, value)
    return _of_any(wrong, value) if step is None else step


def _of_nothing(wrong: WrongValue) -> str:
    if wrong.is_item:
        return "write the item behind its `-`, or remove the `-`"
    is_required = bool(wrong.path) and wrong.path[-1] in required_at(wrong.loc[:-1])
    return f"write a value after `{wrong.key}:`, " + (
        f"such as `{wrong.example}`" if is_required else "or remove the key"
    )


def _of_list(wrong: WrongValue, value: list[Any]) -> str | None:
    """The step for a list in place of a text, a number or a mapping; None where the list's kind says nothing."""
    key, is_text, single = wrong.key, wrong.kind == "string_type", len(value) == 1
    if is_text and len(value) > 1 and wrong.is_item:
        return f"write each as an item of its own: [{', '.join(map(str, value))}]"[:160]
    if is_text and single and wrong.is_item:
        return f"write it as one item: `{value[0]}`, with one `- ` or within the brackets"
    if is_text and single and isinstance(value[0], str | int):
        return f"write it without brackets: `{key}: {_plain(value[0])}`"
    if is_text and len(value) > 1 and pattern_at(wrong.loc) == SIZE:
        return f"write `{key}: {size_meant(''.join(map(str, value))) or '8G'}`"
    if is_text and wrong.loc[-1] not in SCALARS:
        return _as_one_text(key)
    if wrong.kind.startswith(("int_", "float_", "bool_")) and single:
        return f"write it without brackets: `{key}: {_plain(value[0])}`"
    return None


def _as_one_text(key: str) -> str:
    what = ": the name of one of `sources:`" if key in ("source", "headers") else ""
    return f"write one text behind `{key}:`, without brackets and braces{what}"


def _of_mapping(wrong: WrongValue, value: dict[Any, Any]) -> str | None:
    """The step for a mapping in place of a text or a list; None where the mapping's kind says nothing."""
    key, kind = wrong.key, wrong.kind
    if kind in ("string_type", "tuple_type") and len(value) == 1 and wrong.is_item:
        return _of_labelled_item(wrong, value)
    if kind == "string_type" and wrong.loc[-1] not in SCALARS:
        return _as_one_text(key)
    if wrong.is_item and re.fullmatch(r"[\d.]+", only := str(only_value(value))):
        return f"write `- {only}`"
    if (
        kind == "tuple_type"
        and value
        and key != "gates"
        and not any(isinstance(v, dict | list) for v in value.values())
    ):
        return _of_flat_mapping(key, value)
    if kind == "tuple_type" and key == "gates":
        return f"begin each gate with `- `: `- kind: {value.get('kind', 'KIND')}`"
    return None


def _of_labelled_item(wrong: WrongValue, value: dict[Any, Any]) -> str:
    """The step for an item with one key, such as `- name: cmake` or `- numpy: 2.2.6`."""
    ((name, text),) = value.items()
    key = wrong.key
    if wrong.kind == "tuple_type":
        return f"write `- [{', '.join(str(text).split())}]`" if key == "run" and isinstance(text, str) else ""
    if key in ("pip", "requires", "runtime") and re.match(r"[=<>!~]*\s*\d", str(text)):
        return f"write `- {flow_text(f'{name}{text}' if str(text)[0] in '=<>!~' else f'{name}=={text}')}`"
    is_label = name in _LABELS or name == key.removesuffix("s")
    return f"write `- {flow_text(str(text if is_label and text else name))}`"


def _of_flat_mapping(key: str, value: dict[Any, Any]) -> str:
    """The step for a mapping of plain values in place of a list."""
    command = next((text for word, text in value.items() if word in ("run", "cmd", "command", "script")), "")
    if key == "run" and isinstance(command, str) and command:
        return _as_list(key, command, is_item=True)
    if key in ("requires", "runtime", "pip"):
        rows = [
            f"{name}{'' if re.match(r'[=<>!~]', str(v)) else '=='}{v}" if v not in (None, "", "*", True) else name
            for name, v in value.items()
        ]
        return f"write it as a list: `{key}: [{', '.join(map(json.dumps, rows))}]`"
    return _as_list(key, " ".join(map(str, value)))


def _of_number(wrong: WrongValue, value: float) -> str | None:
    """The step for a number, or true or false, in place of a text or a list; None where its kind says nothing."""
    key, kind = wrong.key, wrong.kind
    if kind == "int_from_float" and isinstance(value, float):
        return f"write `{key}: {int(value)}`"
    if kind == "string_type" and key in SOURCE_KEYS:
        return f"write the name of one of `sources:`, such as `{wrong.example}`"
    if key == "sha256":
        return "write the digest of the file, as `sha256sum FILE` prints it"
    if kind == "string_type":
        return _number_as_text(wrong, value)
    if key == "pairs" and isinstance(value, int) and not isinstance(value, bool):
        return f"write it as a list: `pairs: [{value}]`"
    if kind == "tuple_type" and not wrong.is_item:
        example = wrong.example
        return f"write it as a list, such as `{example if '[' in example else f'{key}: [gfx1100]'}`"
    return None


def _number_as_text(wrong: WrongValue, value: float) -> str:
    """The step where a number, or true or false, stands in place of a text."""
    key, text, pattern = wrong.key, wrong.text, pattern_at(wrong.loc)
    if pattern == SIZE:
        return _number_as_size(wrong, value)
    if wrong.path[:1] == ("gfx",) and f"gfx{text}" in BUILDABLE:
        return f"write `gfx{text}`"
    if key == "suite" and wrong.path[0] != "bench":
        return f"write the suite's name: {DEBIAN_RELEASES.get(text, 'trixie')}"
    if key == "python" and not isinstance(value, bool):
        return python_meant(text)
    if key in _EXAMPLES and not pattern and not wrong.is_item:
        return f"write a text, such as `{key}: {_EXAMPLES[key]}`"
    if key == "requires_python":
        return f'write `">={text}"`'
    if pattern and text and (isinstance(value, bool) or not re.search(pattern, text)):
        return with_example(advice(pattern, text, is_meant=not isinstance(value, bool)), wrong.loc)
    return f'put it in quotes: `"{text}"`' if text else ""


def _number_as_size(wrong: WrongValue, value: float) -> str:
    if not isinstance(value, int) or isinstance(value, bool) or value <= 0:
        return f"{advice(SIZE, value)}: a size has a unit"
    if value >= 1_000_000:
        return f"write `{value // 1_000_000}M`: a size has a unit"
    return f"write `{value}{'M' if value >= 128 or wrong.key == 'size_budget' else 'G'}`: a size has a unit"


def _of_text(wrong: WrongValue, value: str) -> str | None:
    """The step for a text in place of a number or a list; None where its kind says nothing."""
    key, kind = wrong.key, wrong.kind
    if kind.startswith("int_"):
        numbers = re.findall(r"(?<![\d.])\d+(?![\d.])", value)
        last = numbers[-1:] if key == "x86_64_level" else numbers
        if key == "threads" and value.strip().lower() in ("all", "auto", "max", "default", "any", "native"):
            return "write `0`: ONNX Runtime then chooses the number"
        return f"write `{last[0]}`" if len(last) == 1 else step_within_bounds(wrong.loc)
    if kind == "tuple_type":
        return _as_list(key, value, is_item=wrong.is_item)
    if kind in ("float_type", "float_parsing"):
        if percent := re.fullmatch(r"\s*([\d.]+)\s*%\s*", value):
            return f"write `{key}: {float(percent[1]) / 100:g}`"
        if number := re.search(r"(?<![\w.])\d+(?:\.\d+)?(?:[eE][-+]?\d+)?(?![\w.])", value.replace(",", ".")):
            return f"write `{key}: {number[0]}`"
    return None


def _of_any(wrong: WrongValue, value: object) -> str:
    """The step by pydantic's kind of mistake alone, for a value of any type."""
    key, kind = wrong.key, wrong.kind
    if kind == "model_attributes_type":
        return as_tagged(wrong.path, value)
    if kind in ("float_type", "float_parsing"):
        return step_within_bounds(wrong.loc)
    if kind not in ("model_type", "dict_type"):
        return ""
    keys = keys_at(wrong.loc)
    line = re.match(r"([A-Za-z_][\w-]*)\s*[ =;]\s*(\S.*)$", value) if isinstance(value, str) else None
    if line and line[1] in keys:
        return f"write `{line[1]}: {line[2][:60]}`"
    if kind == "dict_type" and isinstance(value, list) and value and all(isinstance(each, str) for each in value):
        name = f"write each name as a key with lines of its own below it, such as `{value[0]}:`"
        return _as_mapping(key, value) or name
    lines = f"write it as lines of `key: value`; its keys are {', '.join(keys)}" if keys else ""
    return _names_as_keys(key, value) or _as_mapping(key, value) or lines


def _plain(value: object) -> str:
    """A value as YAML has it: `false` of False."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _names_as_keys(key: str, value: object) -> str:
    """The next step for entries that stand as items with a name: `- name: lc0`; "" for anything else."""
    rows = value if isinstance(value, list) else []
    for word in ("name", "id", "key"):
        if rows and all(isinstance(row, dict) and isinstance(row.get(word), str) for row in rows):
            return f"write `{rows[0][word]}:` in place of `- {word}: {rows[0][word]}`, with its other keys indented below it"
    if rows and all(isinstance(row, dict) and len(row) == 1 for row in rows):
        first = next(iter(rows[0]))
        return f"remove the `- `: write `{first}:` as a key below `{key}:`"
    return ""


def as_tagged(path: yaml.KeyPath, value: object) -> str:
    """What to write for a component or a gate that is not a mapping, such as a key that is not indented below its component."""
    kinds = tags_at({"loc": path})
    if isinstance(value, str) and value in kinds:
        return f"write `{'- ' if isinstance(path[-1], int) else ''}kind: {value}`"
    if is_key_of_component(path):
        return f"`{path[-1]}` is a key of a component: indent it as far as the component's `kind:`"
    return f"write it as lines of `key: value`, the first `kind: KIND`, one of: {', '.join(kinds)}"


def is_key_of_component(path: yaml.KeyPath) -> bool:
    """Whether the name of a component is a key that components have: one that is not indented enough."""
    return path[:1] == ("components",) and any(
        path[-1] in model.model_fields for model in components_by_kind().values()
    )


def _as_list(key: str, value: str, is_item: bool = False) -> str:
    if key == "run":
        try:
            commands = [words for line in re.split(r"\n|&&|;", value) if (words := shlex.split(line))]
        except ValueError:
            return ""
        if shell := next((words[0] for words in commands if words[0] in SHELL_WORDS), ""):
            script = f"[sh, -c, '{' && '.join(filter(None, map(str.strip, value.split(chr(10)))))}']"
            return f"`{shell}` is of the shell, and none runs: write `{script if is_item else f'run: [{script}]'}`"
        if is_item and len(commands) == 1:
            return f"write a list of words: `[{', '.join(commands[0])}]`"
        lists = ", ".join(f"[{', '.join(words)}]" for words in commands)
        return f"write a list of commands, each of them a list of words: `run: [{lists}]`"
    if key in ("python", "gfx") and value.strip().lower() in (
        "all",
        "any",
        "system",
        "auto",
        "native",
        "latest",
        "default",
        "host",
    ):
        return f"list each: `{key}: {_EXAMPLES[key]}`" + (
            " for an RX 7900 XTX; `rocminfo` prints yours" if key == "gfx" else ""
        )
    if key == "emulate" and value.strip().lower() in ("all", "any", "auto", "true", "every", "yes"):
        return "list each of the recipe's `gfx` that is to be: `emulate: [gfx1100]`"
    if value.strip().lower() in ("none", "null", "nil", "empty"):
        return f"write `{key}: []` for none, or leave the key out"
    if key == "pairs" and (counts := re.findall(r"\d+", value)):
        return f"write it as a list: `pairs: [{', '.join(counts)}]`"
    if re.fullmatch(r"\s*(?:-r\s*|@|file:\s*)?[\w./-]+\.(?:txt|in|toml|cfg)\s*", value) and key in (
        "pip",
        "requires",
        "runtime",
        "packages",
    ):
        return f"list what it has: no file is read here, such as `{key}: {_EXAMPLES.get(key, '[NAME]')}`"
    if key == "python" and (least := re.fullmatch(r"\W*>=?\s*3\.(\d+)\W*", value)):
        return f'list each version: `python: ["3.{least[1]}"]`, and those above it that you want'
    if key != "clang_flags" and re.match(r"-[A-Za-z0-9]", value):
        value = value[1:]  # an item whose `- ` lacks its blank
    if key != "clang_flags":
        value = re.sub(r"(?:^|(?<=\s))[-•–—*·]\s*(?=[\w\"'])", "", value)  # signs of items, with or without their blank
    parts = [bare for part in re.split(r"[\s,;]+", value) if (bare := part.strip("[](){}\"'“”‘’")) and bare not in "-|"]
    if not parts:
        return f"write it as a list: `{key}: [one, two]`"
    if key == "python" and (ends := re.fullmatch(r"3\.(\d+)\s*(?:-|\.\.+|to|–)\s*3\.(\d+)", value.strip())):
        parts = [f"3.{minor}" for minor in range(int(ends[1]), min(int(ends[2]), int(ends[1]) + 9) + 1)]
    return f"write it as a list: `{key}: [{', '.join(json.dumps(p) if key in ('python', 'requires') else flow_text(p) for p in parts)}]`"


def _as_mapping(key: str, value: object) -> str:
    if key == "pin" and isinstance(value, list | str):
        return "write the suite that they come from as a key: `pin: {experimental: [NAME]}`"
    if key == "base" and isinstance(value, str):
        if value in DEBIAN_RELEASES.values():
            return (
                f"write `base: {{debian: {{suite: {value}, packages: [cmake, g++]}}}}` with the packages that it needs"
            )
        return f"write `base: {{image: {value}}}`, or `debian:` with a suite and packages"
    if key in _MAIN_KEYS and isinstance(value, list) and len(value) == 1 and isinstance(value[0], str):
        value = value[0]
    if key == "bench" and isinstance(value, bool):
        return (
            "write the suite, such as `bench: {suite: kernels-quick}` or `bench: {suite: models-quick}`"
            if value
            else "remove the key"
        )
    if isinstance(value, bool) and key in ("verify", "hipify", "extend", "matrix"):
        return f"write `{key}: {{}}` for the defaults" if value else "remove the key"
    if isinstance(value, str) and key in _MAIN_KEYS and value.strip():
        first, *others = _MAIN_KEYS[key].split()
        beside = f", with {' and '.join(f'`{other}`' for other in others)} beside it" if others else ""
        return f"write `{first}: {value}` below `{key}:`{beside}"
    if isinstance(value, str) and "://" in value:
        first, other = ("archive", "sha256") if is_archive_name(value) else ("git", "ref")
        return f"write `{first}: {value}` on a line of its own below `{key}:`, and `{other}:` beside it"
    rows = value if isinstance(value, list) else [value]
    if (
        isinstance(value, str)
        and len(words := value.replace("-D ", "-D").split()) > 1
        and all(map(_CACHE_ENTRY.fullmatch, words))
    ):
        rows = list(words)
    pairs = [_CACHE_ENTRY.fullmatch(row) if isinstance(row, str) else None for row in rows]
    if rows and all(pairs):
        return f"write lines of `NAME: VALUE`: `{', '.join(f'{pair[1]}: {pair[2]}' for pair in pairs if pair)}`"
    return ""


_MAIN_KEYS = {
    "bench": "suite", "publish": "index", "waivers": "case reason by until", "hipify": "engine", "verify": "runtime", "debian": "suite packages",
    "extend": "packages",
}  # fmt: skip
"""The key that a text in place of a section most likely is, and those that must be beside it."""


_EXAMPLES = {
    "schema": "1", "summary": "what it builds, in one line", "base": "{debian: {suite: trixie, packages: [cmake, g++]}}",
    "gfx": "[gfx1100]", "components": "{NAME: {kind: KIND, …}}", "packages": "[NAME]", "run": "[[make, install]]",
    "case": '"*"', "reason": "why it may fail", "by": "NAME", "until": "2027-01-31", "versus": "baseline", "at_least": "2",
    "metric": "latency", "provider": "MIGraphXExecutionProvider", "python": '["3.12"]', "runtime": "[onnxruntime, numpy]",
    "areas": "[main]", "side": "candidate", "emulate": "[gfx1100]", "providers": "[migraphx]", "external": '["libamdhip64.so.*"]',
    "headers": "[/usr/include]", "exclude": '["docs/*"]', "include": '["*.cu"]', "requires": "[numpy]", "extract": "[NAME]",
    "pip": "[numpy==2.2.6]", "runpaths": "[/opt/rocm/lib]", "grafts": '["libhipdnn_ep.so"]', "license_files": "[PACKAGE/LICENSE]",
    "rules": "[generic]", "unused_ok": "[NAME]", "from_base": "[json]", "needs": "[NAME]", "cases": '["*"]', "pairs": "[20, 40, 60]",
}  # fmt: skip
"""Values of keys whose pattern, if they have one, says too little."""


SOURCE_KEYS = ("source", "headers", "tool", "onnxruntime")
"""Keys of components whose value is the name of a source."""


_KEY_EXAMPLES = {"size_budget": "60M", "glibc": "2.28", "suite": "trixie"}
"""Examples of keys whose pattern others have, too."""


_LABELS = (
    "name", "package", "version", "target", "arch", "component", "lib", "library", "soname", "path", "file", "pattern", "glob", "item",
    "value", "id", "gfx", "python", "provider", "module", "folder", "dir", "url", "spec", "requirement", "case", "src", "source",
)  # fmt: skip
"""Keys before the value of an item that other tools have as a mapping: `- name: cmake`."""


_SUITES = {"base": "trixie", "bench": "kernels-quick"}


def example_line(path: yaml.KeyPath, loc: tuple[int | str, ...], places: Places) -> str:
    """A line that a recipe may have for that key: `version: 1.22.1`, or one with the names that this recipe has."""
    key = str(path[-1])
    section = {"source": "sources", "onnxruntime": "sources", "needs": "components"}.get(key)
    own = path[1] if section == "components" else None
    names = [str(p[1]) for p in places.keys if len(p) == 2 and p[0] == section and p[1] != own]
    if section:
        near = nearest(str(path[1]).removesuffix("-wheel"), names) or next(iter(names), "NAME")
        return f"{key}: [{near}]" if key == "needs" else f"{key}: {near}"
    if key == "suite" and path[0] in _SUITES:
        return f"suite: {_SUITES[str(path[0])]}"
    pattern = pattern_at(loc)
    return f"{key}: {_EXAMPLES.get(key) or default_at(loc) or (example_of(pattern) if pattern else '…')}"


_CACHE_ENTRY = re.compile(r"(?:-D *)?([A-Za-z_]\w*)(?::[A-Z]+)?(?: *= *|:)(?!//)(.*)")


SCALARS = ("bool", "int", "float", "str")
"""What pydantic's locations end with for each member of `components.Scalar`."""


def tags_at(detail: Any) -> list[str]:
    """The kinds that the union at that place has: of components, or of gates."""
    union = Gate if detail["loc"][:1] == ("gates",) else AnyComponent
    return [get_args(c.model_fields["kind"].annotation)[0] for c in get_args(get_args(union)[0])]


def with_example(step: str, loc: tuple[int | str, ...]) -> str:
    """That next step with the key's own default as the example, where it names one and the schema has one."""
    default = default_at(loc) or _KEY_EXAMPLES.get(str(loc[-1] if loc else ""), "")
    return f"write it such as `{yaml_text(str(default))}`" if step.startswith("write it such as") and default else step


def step_within_bounds(loc: tuple[int | str, ...]) -> str:
    """The next step for a number out of bounds: the bounds that the schema has at that pydantic location."""
    node = next((n for n in nodes_at(loc) if {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"} & {*n}), {})
    least = [f"from {node['minimum']:g}"] if "minimum" in node else []
    least += [f"above {node['exclusiveMinimum']:g}"] if "exclusiveMinimum" in node else []
    most = [f"to {node['maximum']:g}"] if "maximum" in node else []
    most += [f"below {node['exclusiveMaximum']:g}"] if "exclusiveMaximum" in node else []
    whole = "a whole number" if node.get("type") == "integer" else "a number"
    return f"write {whole} {' and '.join(least + most).replace(' and to ', ' to ')}".rstrip()


def only_value(value: object) -> object:
    """The value of a list or a mapping with one; any other value as it is."""
    values = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []
    return values[0] if len(values) == 1 and isinstance(values[0], str | int | float) else value
