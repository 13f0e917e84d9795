"""Values that another value of the recipe decides, or that another type spells: what was probably meant. Pure."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

from stackbuild.core.digest import Json
from stackbuild.core.errors import Mistake
from stackbuild.core.yaml import KeyPath
from stackbuild.recipe.forms import flow_text, yaml_text
from stackbuild.tables.compatibility import table
from stackbuild.tables.debian import SUITES

_SIGN = re.compile(r"(?<=write )`([>&*!%@|][^`]*|[\w.-]+[<>=!~]=?[^`]*,[^`]*)`")


def in_quotes(mistake: Mistake) -> Mistake:
    """The mistake with quotes around a value of its next step that YAML would read as a sign: `>=3.10`."""
    return replace(mistake, next=_SIGN.sub(lambda match: f"`{json.dumps(match[1])}`", mistake.next))


def without_swapped_pins(details: list[Any]) -> list[Any]:
    """The details without the second of a pin whose suite and package changed places."""
    pins = [d["loc"][:4] for d in details if d["loc"][:3] == ("base", "debian", "pin") and d["loc"][-1:] == ("[key]",)]
    return [d for d in details if d["loc"][-1:] == ("[key]",) or d["loc"][:4] not in pins]


def without_names_of_options(details: list[Any]) -> list[Any]:
    """The details without those of names of options that stand in a variant without their component: the value's says it."""
    paths = [d["loc"][:4] for d in details if d["loc"][:2] == ("matrix", "variants") and d["loc"][-1:] != ("[key]",)]
    return [d for d in details if d["loc"][-1:] != ("[key]",) or d["loc"][:4] not in paths]


def value_from_recipe(path: KeyPath, value: object, data: Json) -> str:
    """The next step for a text that other values of the recipe decide; "" for any other."""
    whole: Any = data
    if path == ("rocm",) and not re.search(r"\d\.\d+\.\d", str(value)):
        return _rocm_of(str(value), _at_path(whole, ("base", "image")))
    if path[:3] == ("base", "debian", "pin") and len(path) == 4:
        suite = _at_path(whole, path)
        if isinstance(suite, str) and re.fullmatch(r"[a-z]+", suite):
            return _pin(suite, path[-1])
    if path[-1:] == ("uses_gfx",) and (option := re.match(r"(?:-D)?([A-Za-z_]\w*)=", str(value))):
        return f"write `uses_gfx: {option[1]}`: it gets the recipe's `gfx`"
    component = _at_path(whole, path[:2]) if path[:1] == ("components",) and path[2:] == ("version",) else None
    step = "" if re.search(r"(?<![\d.])2\.\d", str(value)) else _migraphx_of(component, whole)
    if step:
        return step
    if beginning := re.fullmatch(r"v?(1\.\d+)(?:\.[xX*])?", str(value)):
        return _runtime_of(component, whole, rf"{re.escape(beginning[1])}\.\d+")
    return "" if re.search(r"\d\.\d", str(value)) else _runtime_of(component, whole, r"1\.\d+\.\d+")


def _pin(suite: str, package: object) -> str:
    """The next step for a pin whose suite and package changed places."""
    return f"write the suite as the key: `pin: {{{suite}: [{package}]}}`"


def _migraphx_of(component: Any, whole: Any, beginning: str = "") -> str:
    """The next step for the version of a MIGraphX: the one of the recipe's ROCm, if it begins so; "" for another component."""
    rocm = _at_path(whole, ("rocm",))
    if not isinstance(component, dict) or component.get("kind") != "migraphx" or not isinstance(rocm, str):
        return ""
    row = table().latest_migraphx(rocm)
    return f"write `{row.version}`, which ROCm {rocm} has" if row and row.version.startswith(beginning) else ""


def _runtime_of(component: Any, whole: Any, version: str) -> str:
    """The next step for the version of an ONNX Runtime: its source's tag, if it is of that form; "" for another component."""
    if not isinstance(component, dict) or component.get("kind") != "onnxruntime":
        return ""
    ref = str(_at_path(whole, ("sources", str(component.get("source")), "ref")))
    return f"write `{ref[1:]}`, as its source's `ref`" if re.fullmatch(f"v{version}", ref) else ""


def _rocm_of(value: str, image: object) -> str:
    """The next step for a ROCm that is not a version: `60404`, as ROCm's repositories have it, or one that the image has."""
    if digits := re.fullmatch(r"(\d)(\d\d)(\d\d)", value):
        return f"write `{int(digits[1])}.{int(digits[2])}.{int(digits[3])}`"
    release = re.search(r":(?:rocm-?)?(\d+\.\d+(?:\.\d+)?)", str(image))
    return f"write `{yaml_text(release[1])}`, which the image has" if release else ""


def value_meant(path: KeyPath, detail: Any, data: Json) -> str:
    """The next step for a value of another type that the recipe's other values, or its own items, decide; "" for any other."""
    value, key, whole = detail["input"], str(path[-1] if path else ""), data
    if path[:3] == ("base", "debian", "pin") and len(path) == 4 and value in SUITES and key not in SUITES:
        return _pin(value, key)
    if detail["type"].startswith("bool_") and isinstance(value, str) and (word := _truth_meant(value, key)):
        return f"write `{key}: {word}`"
    if key == "uses_gfx" and isinstance(value, bool | int | float):
        return _uses_gfx_meant(value, whole)
    if path == ("rocm",) and isinstance(value, list) and len(value) > 1 and all(isinstance(each, str | float) for each in value):
        return f"write one, `rocm: {flow_text(str(value[0]))}`, and a recipe of its own for each other"
    if isinstance(value, dict) and (step := _of_mapping(value, path, whole)):
        return step
    if isinstance(value, list):
        if key in ("git", "archive", "path", "debian", "pypi") and path[:1] == ("sources",) and value and isinstance(value[0], str):
            return f"write one of them: `{key}: {value[0]}`"
        if key == "uses_gfx":
            return "write the name of the CMake option that takes the targets, such as `uses_gfx: GPU_TARGETS`"
        if detail["loc"][-1] in ("bool", "int", "float", "str") and key not in ("options", "env"):
            return _option_of_list(value, path, whole)
        return _of_texts([each for each in value if isinstance(each, str)], path)
    if path == ("base", "image") and isinstance(value, dict) and (name := value.get("name") or value.get("image") or value.get("repository")):
        tag, image_digest = value.get("tag") or value.get("version"), value.get("digest")
        return f"write `image: {name}{f':{tag}' if tag else ''}{f'@{image_digest}' if image_digest else ''}`"
    if key == "rocm" and isinstance(value, int) and not isinstance(value, bool):
        return value_from_recipe(path, value, data)
    if key == "threads" and isinstance(value, str) and (ends := re.fullmatch(r"\s*(\d+)\s*-\s*(\d+)\s*", value)):
        return f"write `{int(ends[2]) - int(ends[1]) + 1}`, how many threads these are"
    components = _at_path(whole, ("components",))
    is_option = path[:2] == ("matrix", "variants") and len(path) == 4 and key not in (components or ())
    if is_option and isinstance(value, bool | int | float | str):
        rows = components.items() if isinstance(components, dict) else ()
        names = [n for n, c in rows if isinstance(c, dict) and "options" in c]
        names += [n for n, c in rows if isinstance(c, dict) and c.get("kind") in ("cmake", "kernels", "rocm")]
        text = yaml_text(value) if isinstance(value, str) else str(value).lower()
        line = f"{path[2]}: {{{(names or ['COMPONENT'])[0]}: {{{key}: {text}}}}}"
        return f"write it below the component that takes it: `{line}`"
    if key != "version":
        return ""
    component = _at_path(whole, path[:2])
    step = _migraphx_of(component, whole, f"{value}.")
    return step or (_runtime_of(component, whole, rf"{value:g}\.\d+") if isinstance(value, float) else "")


def _option_of_list(items: list[Any], path: KeyPath, whole: Any) -> str:
    """The next step for a list among CMake's options: `uses_gfx` for targets, CMake's own form for anything else."""
    key = str(path[-1])
    if path[:1] == ("components",) and (key in _TARGET_OPTIONS or all(str(each).startswith("gfx") for each in items)):
        other = _at_path(whole, (*path[:2], "uses_gfx"))
        place = f"in place of `{other}`" if isinstance(other, str) and other != key else "beside `options:`"
        if other == key:
            return f"remove it: `uses_gfx: {key}` gives it the recipe's `gfx`"
        return f"remove it, and write `uses_gfx: {key}` {place}: it gets the recipe's `gfx`"
    if len(items) < 2 or not all(isinstance(each, str | int | float) and not isinstance(each, bool) for each in items):
        return ""
    if "VERSION" in key and all(isinstance(each, int) for each in items):
        return f'write `{key}: "{".".join(map(str, items))}"`'
    if key.endswith("FLAGS") or all(re.match(r"-[A-Za-z]", str(each)) for each in items):
        return f'write `{key}: "{" ".join(map(str, items))}"`: flags are one text with blanks'
    return f'write `{key}: "{";".join(map(str, items))}"`: CMake\'s lists have semicolons'


_NO_WORDS = ("no", "none", "never", "off", "false", "n", "0", "disable", "disabled", "skip", "without", "shallow", "exclude", "f")


def _truth_meant(value: str, key: str) -> str:
    """`true` or `false` of a word in its place; "" for one that says neither. A word such as `recursive` says how, and so that it is."""
    word = value.strip().lower()
    if not word or word in ("maybe", "auto", "default", "optional", "sometimes", "unknown", "inherit"):
        return ""
    return "false" if word in _NO_WORDS or word.startswith(("no-", "no_", "not ", "without")) else "true"


def _uses_gfx_meant(value: object, whole: Any) -> str:
    """The next step for `uses_gfx: true`: the option that the recipe names elsewhere, or where to look for it."""
    if value is False:
        return "remove it: without it no option takes the targets"
    components = _at_path(whole, ("components",))
    others = [c for c in components.values() if isinstance(c, dict)] if isinstance(components, dict) else []
    names = [str(c["uses_gfx"]) for c in others if isinstance(c.get("uses_gfx"), str)]
    names += [o for c in others if isinstance(c.get("options"), dict) for o in c["options"] if o in _TARGET_OPTIONS]
    return (
        "write the name of the cache option of its CMakeLists.txt that takes the targets, such as "
        f"`uses_gfx: {(names or ['CMAKE_HIP_ARCHITECTURES'])[0]}`, which CMake itself reads"
        if not names
        else f"write the name of the CMake option that takes the targets: `uses_gfx: {names[0]}`"
    )


_TARGET_OPTIONS = ("GPU_TARGETS", "AMDGPU_TARGETS", "CMAKE_HIP_ARCHITECTURES", "HIP_ARCHITECTURES", "GPU_ARCHS")


def _of_mapping(value: dict[str, Any], path: KeyPath, whole: Any) -> str:
    """The next step for a mapping where one text is: a source written in its user's place, or in its address's; "" for another."""
    key, rows = str(path[-1]), {str(k): v for k, v in value.items() if isinstance(v, str | int | float)}
    if len(rows) != len(value):
        return ""
    if path[:1] == ("components",) and key in ("source", "headers", "onnxruntime", "tool"):
        sources = _at_path(whole, ("sources",))
        same = [name for name, source in sources.items() if isinstance(source, dict) and value.items() <= source.items()] if isinstance(sources, dict) else []
        if same:
            return f"write the name of that source: `{key}: {same[0]}`"
        return f"write `{path[1]}: {flow_text(value)}` below `sources:`, and `{key}: {path[1]}` here"
    if path[:1] == ("sources",) and key in ("git", "archive", "path"):
        address = next((str(rows[k]) for k in ("url", "uri", "repo", "repository", "remote", "path", "address", key) if k in rows), "")
        kind, beside = {"git": ("ref", ("ref", "tag", "branch", "rev", "revision", "commit", "version")),
                        "archive": ("sha256", ("sha256", "hash", "checksum", "digest"))}.get(key, ("", ()))  # fmt: skip
        other = next((f", and `{kind}: {flow_text(str(rows[k]))}` beside it" for k in beside if k in rows), "")
        return f"write `{key}: {address}`{other}" if address else ""
    if key == "license" and {*rows} <= {"file", "text", "name", "spdx", "id", "expression"}:
        if "file" in rows:
            return f"write `license_files: [{rows['file']}]`, and its SPDX name as `license`, such as `license: MIT`"
        return f"write `license: {flow_text(str(next(iter(rows.values()))))}`"
    if len(rows) == 1 and path[-2:-1] == ("options",):
        return f"write `{key}: {flow_text(next(iter(rows.values())))}`"
    return ""


def _of_texts(texts: list[str], path: KeyPath) -> str:
    """The next step for a list of texts where one value is."""
    key = path[-1] if path else ""
    if key == "license" and len(texts) > 1:
        return f"write `{' AND '.join(texts)}`, or `OR` where a user may choose"
    if key == "suite" and path[0] == "bench" and len(texts) > 1:
        return f"write one of them, such as `suite: {texts[0]}`: a recipe has one suite"
    if key == "per_gfx" and texts:
        return "write `per_gfx: true`: it makes a wheel of each of the recipe's `gfx`"
    return ""


def _at_path(data: Any, path: KeyPath) -> Any:
    """What lies at a path of a recipe's data; None where nothing does."""
    for part in path:
        if isinstance(data, dict):
            data = data.get(part)
        elif isinstance(data, list) and isinstance(part, int) and part < len(data):
            data = data[part]
        else:
            return None
    return data
