"""What an unknown key of a recipe was probably meant to be: another tool's word, or a key of another section. Pure."""

from __future__ import annotations

import difflib
import re
from collections.abc import Set as AbstractSet
from typing import Any, get_args

from stackbuild.core import yaml
from stackbuild.core.digest import Json
from stackbuild.core.shell_words import shell_word
from stackbuild.model.gates import Gate
from stackbuild.recipe.forms import is_archive_name
from stackbuild.recipe.schema_nodes import components_by_kind, keys_at, may_hold, required_at, schema
from stackbuild.tables.key_words import (
    keys_of_word,
    kinds_of_word,
    plain_word,
    step_at,
    step_for_section,
    step_of_part,
    step_without_key,
)
from stackbuild.tables.near_words import nearest


def next_for_unknown_key(detail: Any, path: yaml.KeyPath, data: Json) -> str:
    """The next step for an unknown key: one of that mapping, who else takes it, or what to do without it.

    A key that the mapping lacks is meant before one that it has, and a key is meant only where it may have such a value.
    """
    word, value, loc = str(path[-1]), detail["input"], detail["loc"][:-1]
    beside = _at(data, path[:-1])
    present = frozenset(beside) if isinstance(beside, dict) else frozenset()
    keys = sorted(keys_at(loc), key=lambda key: key in present)
    section = _section_name(path, data)
    if value is None and (line := re.fullmatch(r"([\w-]+?)\s*[ =]\s*(\S.*)", word)) and line[1] in keys:
        return f"write `{line[1]}: {line[2]}`, with a colon"
    if path == ("version",) and value == 1 and "schema" not in present:
        return "did you mean `schema`?"
    if step := _of_another_level(word, path, value):
        return step
    if path[:-1] == ("publish",) and plain_word(word) in _INDEXES:
        return _for_publish(value)
    if step := _of_address(word, path, value, present):
        return step
    if isinstance(value, str) and (word_meant := _BY_VALUE.get(value.lower(), "")):
        return step_without_key(word_meant)
    near = nearest(word, keys)
    if near and near not in present and spelt_alike(word, near) and not synonyms_of(word, keys):
        return f"did you mean `{near}`?"
    if step := step_at(section, word, is_whole=True) or _as_version(word, path, value, data):
        return step
    if step := _synonym_here(word, keys, present, loc, value, is_fitting=True):
        return step
    if step := place_of_key(word, path, value, data) or _synonym_here(
        word, keys, present, loc, value, is_fitting=False
    ):
        return step
    if path[0] == "gates" and word == "at_most" and "at_least" in keys and "at_least" not in present:
        return "did you mean `at_least`? More is better here"
    if path[0] == "gates" and len(path) == 3 and (kinds := _gates_with(word)) and not _is_plural(word, near, value):
        of = f"the gate{'s' * (len(kinds) > 1)} {', '.join(kinds)}"
        return f"remove it, or change `kind`: `{word}` is a key of {of}"
    alike = bool(near) and (path[0] == "gates" or near.startswith(word) or _is_plural(word, near, value))
    if not alike and path[0] != "publish" and (owner := _owner_of(word, path, value, data)):
        return owner
    if near and spelt_alike(word, near):
        return (
            f"`{near}` is there already: write it there, or remove this one"
            if near in present
            else f"did you mean `{near}`?"
        )
    of_component = section if section not in ("wheel", "script") else "component"
    if step := step_without_key(word) or step_at(of_component, word, is_whole=True):
        return step
    if step := _synonym_elsewhere(word, path, value, data):
        return step
    if (part := _by_parts(word, keys)) and may_hold((*loc, part), value, by_form=False):
        return f"did you mean `{part}`?"
    if step := step_at(section, word) or step_of_part(word):
        return step
    if (
        near
        and may_hold((*loc, near), value, by_form=False)
        and (near.startswith(word) or word.startswith(near) or not keys_of_word(word))
    ):
        return f"did you mean `{near}`?"
    return f"remove it: nothing here is called so; known are: {', '.join(sorted(keys))}"


def _synonym_here(
    word: str, keys: list[str], present: AbstractSet[str], loc: tuple[int | str, ...], value: object, is_fitting: bool
) -> str:
    """The next step for another tool's word for a key of that mapping, `is_fitting` only one of the value's type; "" for none."""
    fitting = [key for key in keys if not is_fitting or key in present or may_hold((*loc, key), value, by_form=False)]
    synonym = _synonym(word, fitting, present)
    if synonym == "git" and "archive" in keys and re.search(r"\.(tar\.\w+|tgz|zip)$", str(value)):
        synonym = "archive"
    if loc[:1] == ("publish",) and synonym in ("url", "index") and isinstance(value, str):
        synonym = "url" if "://" in value else "index"
    lacking = [key for key in required_at(loc) if key not in present and may_hold((*loc, key), value)]
    if synonym in present and len(lacking) == 1:
        return f"did you mean `{lacking[0]}`?"
    if synonym in present:
        return f"`{synonym}` says it, and is there already: write it there, or remove this one"
    return f"did you mean `{synonym}`?" if synonym else ""


def _synonym_elsewhere(word: str, path: yaml.KeyPath, value: object, data: Json) -> str:
    """The next step for another tool's word for a key of another section; "" for none that may have the value."""
    for key in keys_of_word(word):
        if step := place_of_key(key, path, value, data):
            return f"did you mean `{key}`? {step[:1].upper()}{step[1:]}"
        if (owner := _owner_of(key, path, data=data)) and _may_be(key, value, path, owner):
            return f"did you mean `{key}`? {owner[:1].upper()}{owner[1:]}"
    return ""


def synonyms_of(word: str, keys: list[str]) -> list[str]:
    """Those of the keys that another tool's word may stand for."""
    return [key for key in keys_of_word(word) if key in keys]


def _at(data: Json, path: yaml.KeyPath) -> Any:
    """The value at a path; None where there is none."""
    value: Any = data
    for part in path:
        if isinstance(value, dict):
            value = value.get(part)
        else:
            value = value[part] if isinstance(value, list) and isinstance(part, int) and part < len(value) else None
    return value


def _section_name(path: yaml.KeyPath, data: Json) -> str:
    """What the table calls the mapping that a key stands in."""
    match path[:-1]:
        case ():
            return "recipe"
        case ("base" | "verify" | "bench" | "publish" | "matrix" as name,):
            return name
        case ("base", "debian" | "extend" as name):
            return name
        case ("sources", _):
            return "source"
        case ("components", _):
            kind = str((_at(data, path[:-1]) or {}).get("kind"))
            return kind if kind in ("wheel", "script") else "component"
        case ("components", _, "hipify"):
            return "hipify"
        case ("gates", _):
            return "gate"
        case ("gates", _, "waivers", _):
            return "waiver"
        case _:
            return ""


def place_of_key(word: str, path: yaml.KeyPath, value: object, data: Json) -> str:
    """Where a key of that very name belongs in this recipe, with the recipe's own names; "" where no place is plain."""
    if len(path) == 3 and path[0] in ("sources", "components") and word in ("name", "id"):
        return f"remove it: its name is the key above it, `{path[1]}:`"
    components = {str(n): c for n, c in _rows(_at(data, ("components",))) if isinstance(c, dict)}
    if len(path) == 3 and path[0] == "components":
        own = components.get(str(path[1]), {})
        packed_by = [
            n for n, c in components.items() if path[1] in _as_list(c.get("needs")) and c.get("kind") == "wheel"
        ]
        if step := _in_source(word, own.get("source"), data):
            return step
        if packed_by and _has_key("wheel", word) and may_hold(("components", packed_by[0], "wheel", word), value):
            return _said_or_moved(word, f"the wheel `{packed_by[0]}`", word in components[packed_by[0]])
    if len(path) == 3 and path[0] == "sources":
        users = [n for n, c in components.items() if c.get("source") == path[1] and _has_key(str(c.get("kind")), word)]
        if users:
            return _said_or_moved(word, f"the component `{users[0]}`", word in components[users[0]])
    if len(path) > 1 and word in schema()["properties"] and word != "name" and may_hold((word,), value):
        is_there = isinstance(data, dict) and word in data
        return (
            f"remove it: the recipe's own `{word}:` says it for all of its components"
            if is_there
            else f"`{word}` is a key of the recipe itself: write it without indentation"
        )
    if len(path) == 1:
        takers = [
            n
            for n, c in components.items()
            if _has_key(str(c.get("kind")), word) and may_hold(("components", n, str(c.get("kind")), word), value)
        ]
        if takers and (word in ("memory", "needs", "env") or word not in _KEYS_OF_SECTIONS):
            has = word in components[takers[0]] and len(takers) == 1
            which = (
                f"the component `{takers[0]}`"
                if len(takers) == 1
                else f"each component that needs it, such as `{takers[0]}`"
            )
            return _said_or_moved(word, which, has)
    return ""


_KEYS_OF_SECTIONS = ("packages", "size_budget", "providers")
"""Keys of components that sections of the recipe have, too."""


def _has_key(kind: str, key: str) -> bool:
    model = components_by_kind().get(kind)
    return model is not None and key in model.model_fields


def _in_source(word: str, source: object, data: Json) -> str:
    if word not in schema()["$defs"]["Source"]["properties"] or not isinstance(
        _at(data, ("sources", str(source))), dict
    ):
        return ""
    return _said_or_moved(word, f"the source `{source}`", word in _at(data, ("sources", str(source))))


def _as_version(word: str, path: yaml.KeyPath, value: object, data: Json) -> str:
    """The next step for a kind of component with a version behind it, at the top of a recipe; "" for anything else."""
    kinds = [kind for kind in (word, *kinds_of_word(word)) if _has_key(kind, "version")]
    if len(path) != 1 or not kinds or not re.fullmatch(r"v?\d+(\.\d+)*", str(value)):
        return ""
    owners = {n: c for n, c in _rows(_at(data, ("components",))) if isinstance(c, dict) and c.get("kind") == kinds[0]}
    for name, component in owners.items():
        return _said_or_moved("version", f"the component `{name}`", "version" in component)
    return f"write it as `version: {value}` in a component of kind `{kinds[0]}`"


def _said_or_moved(key: str, where: str, is_there: bool) -> str:
    return f"remove it: `{key}:` of {where} says it" if is_there else f"write `{key}:` in {where}, and remove it here"


def _rows(value: Any) -> list[tuple[Any, Any]]:
    return list(value.items()) if isinstance(value, dict) else []


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _may_be(key: str, value: object, path: yaml.KeyPath, owner: str) -> bool:
    """Whether a value may be of that key elsewhere: the recipe's own or a component's, and a mapping of its keys."""
    if len(path) > 1 and not (
        "recipe itself" in owner
        or ("key of gates" in owner and path[0] == "bench")
        or ("key of components" in owner and path[0] != "components")
    ):
        return False
    if isinstance(value, dict) and key in schema()["properties"]:
        keys = keys_at((key,))
        return not keys or not value or any(each in keys for each in value)
    return True


_INDEXES = (
    "repository", "repo", "registry", "upload_url", "upload_to", "upload", "pypi", "bucket", "host", "remote", "to", "server", "target",
)  # fmt: skip
"""What other tools call the place that wheels are uploaded to."""


def _for_publish(value: object) -> str:
    """The next step for a place to upload to: a build publishes onto a folder."""
    if isinstance(value, str) and "://" not in value and value.startswith((".", "/", "dist")):
        return f"did you mean `index`? Write `index: {value}`"
    url = (
        f"`stackbuild publish WHEEL --to {shell_word(value)}`"
        if isinstance(value, str) and "://" in value
        else "`stackbuild publish --to URL`"
    )
    return f"remove it: a build publishes onto the folder `index`, and {url} uploads from there; `url` is where it is served"


_BY_VALUE = {
    **dict.fromkeys(("release", "debug", "relwithdebinfo", "minsizerel"), "build_type"),
    **dict.fromkeys(("linux", "linux/amd64", "amd64", "x86_64", "linux-x86_64", "linux_x86_64", "windows", "win32", "aarch64", "arm64", "x86-64", "linux/arm64", "darwin", "macos"), "target_platform"),
}  # fmt: skip
"""Values that say what a key of any name was to choose, and the word of the table that has the answer."""


def _of_address(word: str, path: yaml.KeyPath, value: object, present: AbstractSet[str]) -> str:
    """The next step for an address or a digest of a source under another tool's key, with what must go or come beside it."""
    if path[0] != "sources" or len(path) != 3 or not isinstance(value, str):
        return ""
    if plain_word(word) in ("md5", "sha1", "sha512", "md5sum", "b2sum") and "sha256" not in present:
        return "did you mean `sha256`? It has the 64 digits that `sha256sum FILE` prints"
    if plain_word(word) not in ("url", "uri", "address", "link", "download") or {"git", "archive"} & present:
        return ""
    is_archive = is_archive_name(value) or ("sha256" in present and "ref" not in present)
    key, beside, wrong = ("archive", "sha256", "ref") if is_archive else ("git", "ref", "sha256")
    if wrong not in present:
        return ""
    also = "" if beside in present else f", `{beside}:` beside it"
    return f"write `{key}:` in place of `{word}:`{also}, and remove `{wrong}:`"


def _of_another_level(word: str, path: yaml.KeyPath, value: object) -> str:
    """The next step for an entry of `components` or `sources` that stands elsewhere, or another tool's section."""
    section = _section_of(value) if isinstance(value, dict) else ""
    if len(path) == 1 and section:
        return f"it is one of `{section}`: indent it below `{section}:`"
    if len(path) == 3 and section == path[0]:
        return f"it is one of `{path[0]}` itself: indent it as far as `{path[1]}:`"
    return step_for_section(word) if len(path) == 1 else ""


def _is_plural(word: str, near: str, value: object) -> bool:
    return bool(near) and word in (f"{near}s", f"{near}es") and isinstance(value, str)


def spelt_alike(word: str, near: str) -> bool:
    """Whether a key is so near to a word that no other reason for it is likely."""
    return difflib.SequenceMatcher(None, plain_word(word), near).ratio() >= 0.8


def _gates_with(word: str) -> list[str]:
    """The kinds of gates that have a key."""
    gates = get_args(get_args(Gate)[0])
    return [get_args(c.model_fields["kind"].annotation)[0] for c in gates if word in c.model_fields]


def _by_parts(word: str, keys: list[str]) -> str:
    """The key that a part of a longer word names, the longest part first: `git_ref_name` has `ref`; "" for none."""
    parts = plain_word(word).split("_")
    spans = sorted(((i, j) for i in range(len(parts)) for j in range(i + 1, len(parts) + 1)), key=lambda s: s[0] - s[1])
    for i, j in spans:
        part = "_".join(parts[i:j])
        if (i, j) != (0, len(parts)) and len(part) > 2:
            if part in keys:
                return part
            if synonym := _synonym(part, keys):
                return synonym
    return ""


def _section_of(value: dict[str, Any]) -> str:
    """Which of `components` and `sources` an entry is of, by its keys; "" for neither."""
    if "kind" in value:
        return "components"
    return "sources" if {*value} & {"git", "archive", "bundled", "path", "debian", "pypi"} else ""


_OWNERS = {
    "": "Recipe", "base": "Base", "base.debian": "Debian", "base.extend": "Extend", "verify": "Verify", "bench": "Bench",
    "publish": "Publish", "matrix": "Matrix",
}  # fmt: skip
"""The sections of a recipe that are one mapping each, and the names of their models in the schema."""


_ALSO_OF_SOURCES = ("debian",)
"""Keys of a section that a source has too: there with a text."""


def _owner_of(word: str, path: yaml.KeyPath, value: object = None, data: Json = None) -> str:
    """Where a key belongs that has its very name and may have that value, as a next step; "" where none has it."""
    whole = schema()
    here = ".".join(map(str, path[:-1]))
    owners = [
        name
        for name, model in _OWNERS.items()
        if name != here
        and not (word in _ALSO_OF_SOURCES and isinstance(value, str))
        and word in (whole if model == "Recipe" else whole["$defs"][model])["properties"]
        and may_hold((*name.split("."), word) if name else (word,), value)
    ]
    if "" in owners:
        return f"`{word}` is a key of the recipe itself: write it without indentation"
    if owners and not (here.startswith("components.") and word in ("packages", "providers")):
        below = sorted(owners, key=lambda name: (_at(data, tuple(name.split("."))) is None, not name.startswith(here)))[
            0
        ]
        return f"`{word}` belongs to `{below}`: indent it below `{below.rpartition('.')[2]}:`"
    kinds = [kind for kind, model in components_by_kind().items() if word in model.model_fields]
    if kinds and len(path) == 3 and path[0] == "components":
        return f"remove it, or change `kind`: it is a key of components of kind {' or '.join(kinds[:3])}"
    if kinds:
        which = f" of kind {' or '.join(kinds)}" if len(kinds) < 3 else ""
        return f"`{word}` is a key of components{which}: write it below one of `components:`"
    if word in whole["$defs"]["Source"]["properties"]:
        return f"`{word}` is a key of sources: write it below one of `sources:`"
    gates = _gates_with(word)
    return f"`{word}` is a key of gates ({', '.join(gates)})" if gates else ""


def _synonym(word: str, keys: list[str], present: AbstractSet[str] = frozenset()) -> str:
    """The first of those keys that another tool's word may stand for, one that is not there yet before others; "" for none."""
    candidates = [key for key in keys_of_word(word) if key in keys]
    return next((key for key in candidates if key not in present), candidates[0] if candidates else "")


def intended_key(word: str, keys: list[str]) -> str:
    """The key that was probably intended: one that is spelt like it, or another tool's word for it; "" for none."""
    return _synonym(word, keys) or nearest(word, keys) or _by_parts(word, keys)
