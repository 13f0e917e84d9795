"""What an unknown key of a recipe was probably meant to be: another tool's word, or a key of another section. Pure."""

from __future__ import annotations

import difflib
import re
from collections.abc import Set as AbstractSet
from typing import Any, get_args

from stackbuild.core import yaml
from stackbuild.model.gates import Gate
from stackbuild.recipe.schema_nodes import components_by_kind, keys_at, schema
from stackbuild.tables.key_words import keys_of_word, plain_word, step_for_section, step_without_key
from stackbuild.tables.near_words import nearest


def next_for_unknown_key(detail: Any, path: yaml.KeyPath, present: AbstractSet[str] = frozenset()) -> str:
    """The next step for an unknown key: one of that mapping, who else takes it, or what to do without it.

    `present` are the keys that the mapping has: one of them is meant only where no other is.
    """
    word, value = str(path[-1]), detail["input"]
    keys = sorted(keys_at(detail["loc"][:-1]), key=lambda key: key in present)
    if step := _of_another_level(word, path, value):
        return step
    if path[:-1] == ("publish",) and plain_word(word) in _INDEXES:
        return _for_publish(value)
    if isinstance(value, str) and (word_meant := _BY_VALUE.get(value.lower(), "")):
        return step_without_key(word_meant)
    if synonym := _synonym(word, keys, present):
        if synonym == "git" and "archive" in keys and re.search(r"\.(tar\.\w+|tgz|zip)$", str(value)):
            synonym = "archive"
        if path[0] == "publish" and synonym in ("url", "index") and isinstance(value, str):
            synonym = "url" if "://" in value else "index"
        if synonym in present:
            return f"`{synonym}` says it, and is there already: write it there, or remove this one"
        return f"did you mean `{synonym}`?"
    takers = sorted({kind for kind, model in components_by_kind().items() if word in model.model_fields})
    if path[:1] == ("components",) and len(path) == 3 and takers:
        near = nearest(word, keys)
        also = f"did you mean `{near}`? Else remove it" if near else "remove it"
        return f"{also}: other kinds take it, one of: {', '.join(takers)}; here known are: {', '.join(keys)}"
    if (
        path[0] == "gates"
        and len(path) == 3
        and (kinds := _gates_with(word))
        and not _is_plural(word, nearest(word, keys), value)
    ):
        of = f"the gate{'s' * (len(kinds) > 1)} {', '.join(kinds)}"
        return f"remove it, or change `kind`: `{word}` is a key of {of}; here known are: {', '.join(keys)}"
    near = nearest(word, keys)
    alike = bool(near) and (path[0] == "gates" or near.startswith(word) or _is_plural(word, near, value))
    if not alike and path[0] != "publish" and (owner := _owner_of(word, path, value)):
        return f"{owner}; here known are: {', '.join(keys)}"
    if near and spelt_alike(word, near):
        return (
            f"`{near}` is there already: write it there, or remove this one"
            if near in present
            else f"did you mean `{near}`?"
        )
    if step := step_without_key(word):
        return step
    if part := _by_parts(word, keys):
        return f"did you mean `{part}`?"
    if near and (near.startswith(word) or word.startswith(near) or not keys_of_word(word)):
        return f"did you mean `{near}`?"
    for key in keys_of_word(word):
        if (owner := _owner_of(key, path)) and _may_be(key, value, path, owner):
            return f"did you mean `{key}`? {owner[:1].upper()}{owner[1:]}"
    return f"remove it: nothing here is called so; known are: {', '.join(sorted(keys))}"


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
        f"`stackbuild publish WHEEL --to {value}`"
        if isinstance(value, str) and "://" in value
        else "`stackbuild publish --to URL`"
    )
    return f"remove it: a build publishes onto the folder `index`, and {url} uploads from there; `url` is where it is served"


_BY_VALUE = {
    **dict.fromkeys(("release", "debug", "relwithdebinfo", "minsizerel"), "build_type"),
    **dict.fromkeys(("linux", "linux/amd64", "amd64", "x86_64", "linux-x86_64", "linux_x86_64", "windows", "win32", "aarch64"), "target_platform"),
}  # fmt: skip
"""Values that say what a key of any name was to choose, and the word of the table that has the answer."""


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


def _owner_of(word: str, path: yaml.KeyPath, value: object = None) -> str:
    """Where a key belongs that has its very name, as a next step; "" where none has it."""
    whole = schema()
    here = ".".join(map(str, path[:-1]))
    owners = [
        name
        for name, model in _OWNERS.items()
        if name != here
        and not (word in _ALSO_OF_SOURCES and isinstance(value, str))
        and word in (whole if model == "Recipe" else whole["$defs"][model])["properties"]
    ]
    if "" in owners:
        return f"`{word}` is a key of the recipe itself: write it without indentation"
    if owners and not (here.startswith("components.") and word in ("packages", "providers")):
        below = sorted(owners, key=lambda name: not name.startswith(here))[0]
        return f"`{word}` belongs to `{below}`: indent it below `{below.rpartition('.')[2]}:`"
    if kinds := [kind for kind, model in components_by_kind().items() if word in model.model_fields]:
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
