"""What an unknown key of a recipe was probably meant to be: another tool's word, or a key of another section. Pure."""

from __future__ import annotations

import re
from typing import Any, get_args

from stackbuild.core import yaml
from stackbuild.model.gates import Gate
from stackbuild.recipe.schema_nodes import components_by_kind, keys_at, schema
from stackbuild.tables.near_words import nearest

SYNONYMS = {
    "clone": "git", "checkout": "ref", "remote": "git", "uri": "git archive", "url": "git", "repo": "git", "repository": "git", "tag": "ref", "branch": "ref", "commit": "ref", "rev": "ref", "revision": "ref",
    "sha": "sha256", "checksum": "sha256", "hash": "sha256", "depends": "needs", "depends_on": "needs", "services": "components", "requires": "needs",
    "dependencies": "needs", "targets": "gfx", "gpu": "gfx", "gpus": "gfx", "arch": "gfx", "archs": "gfx", "gfx_targets": "gfx",
    "release": "suite", "codename": "suite", "distribution_release": "suite", "max_size": "size_budget", "size_limit": "size_budget",
    "max_wheel_size": "size_budget", "patch": "patches", "resources": "memory", "limits": "memory", "mem_limit": "memory",
    "pythons": "python", "python_versions": "python", "cmake_args": "options", "args": "options", "cmake_options": "options",
    "description": "summary", "type": "kind", "commands": "run", "script": "run", "cmd": "run", "steps": "run", "ram": "memory",
    "recursive": "submodules", "recurse_submodules": "submodules", "environment": "env", "distro": "debian", "docker": "image", "container": "image", "dir": "subfolder path", "subdir": "subfolder", "directory": "path subfolder index",
    "folder": "path subfolder index", "local": "path", "location": "path index", "apt": "debian packages", "apt_packages": "packages", "deb": "debian",
    "package": "packages debian", "pkgs": "packages", "package_name": "distribution", "dist": "distribution", "dist_name": "distribution",
    "wheel_name": "distribution", "project": "distribution", "title": "summary", "desc": "summary", "license_file": "license_files",
    "licence": "license", "modules": "packages", "import": "packages", "install_requires": "requires", "python_requires": "requires_python",
    "eps": "providers", "execution_providers": "providers", "ep": "provider", "libs": "external", "system_libs": "external",
    "rocm_version": "rocm", "rocm_path": "rocm_home", "targets_option": "uses_gfx", "branch_or_tag": "ref", "at": "ref", "jobs": "threads", "cores": "threads",
    "owner": "by", "author": "by", "approved_by": "by", "expires": "until", "expiry": "until", "why": "reason", "because": "reason",
    "destination": "index", "output": "index", "repo_url": "url", "base_url": "url", "overwrite": "replace", "force": "replace",
    "tolerance": "delta max_abs max_rel", "atol": "max_abs", "rtol": "max_rel", "snr": "snr_db", "psnr": "snr_db", "unit": "metric", "measure": "metric",
    "pip_packages": "pip", "python_packages": "pip", "requirements": "requires runtime pip", "ignore": "exclude", "excludes": "exclude",
    "flags": "options", "defines": "options", "variables": "env", "vars": "env", "mem": "memory", "build": "run", "command": "run", "tests": "verify", "test": "verify", "benchmark": "bench", "benchmarks": "bench",
    "against": "versus", "vs": "versus", "baseline": "versus", "compare": "versus", "compared_with": "versus", "min": "at_least", "max": "at_most", "minimum": "at_least", "maximum": "at_most", "threshold": "at_least",
}  # fmt: skip
"""Words of other tools for keys of a recipe: the first that a mapping has."""
FOREIGN_SECTIONS = {
    "requirements": "what the build needs is `base.debian.packages` or `base.extend.packages`, what a wheel needs its `requires`",
    "volumes": "steps see their sources and what they need, nothing else: write files of yours as a source with `path:`",
    "networks": "steps have no network: remove it, and name what is fetched in `sources:`",
    "about": "write `summary:`, and `license:` in the wheel",
    "package": "write `name:`, and the version in the component of kind `wheel`",
    "outputs": "write each as a component of kind `wheel` in `components:`",
    "context": "write the values where they are used: a recipe has no variables",
}
"""Sections of files of other tools, and where a recipe has their content."""
KINDS = {
    "shell": "script", "bash": "script", "sh": "script", "command": "script", "make": "script", "meson": "script", "autotools": "script",
    "tar": "archive", "tgz": "archive", "ort": "onnxruntime", "pip": "wheel", "perf": "speedup", "performance": "speedup",
    "latency": "limit", "throughput": "limit", "precision": "accuracy", "numerics": "accuracy", "regression": "baseline",
}  # fmt: skip
"""Words for kinds of components and of gates."""


def next_for_unknown_key(detail: Any, path: yaml.KeyPath) -> str:
    """The next step for an unknown key: one of that mapping, or who else takes it."""
    word, keys, value = str(path[-1]), keys_at(detail["loc"][:-1]), detail["input"]
    synonym = _synonym(word, keys)
    if synonym == "git" and "archive" in keys and re.search(r"\.(tar\.\w+|tgz|zip)$", str(value)):
        synonym = "archive"
    if synonym in keys:
        return f"did you mean `{synonym}`?"
    takers = sorted({kind for kind, model in components_by_kind().items() if word in model.model_fields})
    if path[:1] == ("components",) and len(path) == 3 and takers:
        near = nearest(word, keys)
        also = f"did you mean `{near}`? Else remove it" if near else "remove it"
        return f"{also}: other kinds take it, one of: {', '.join(takers)}; here known are: {', '.join(keys)}"
    if len(path) == 1 and isinstance(value, dict) and (section := _section_of(value)):
        return f"it is one of `{section}`: indent it below `{section}:`"
    if len(path) == 3 and isinstance(value, dict) and _section_of(value) == path[0]:
        return f"it is one of `{path[0]}` itself: indent it as far as `{path[1]}:`"
    if len(path) == 1 and word in FOREIGN_SECTIONS:
        return FOREIGN_SECTIONS[word]
    near = nearest(word, keys)
    is_plural = word in (f"{near}s", f"{near}es") and isinstance(value, str)
    alike = bool(near) and (path[0] == "gates" or near.startswith(word) or is_plural)
    if alike or path[0] == "publish" or not (owner := _owner_of(word, path)):
        return f"did you mean `{near}`?" if near else f"known are: {', '.join(keys)}"
    return f"{owner}; here known are: {', '.join(keys)}"


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


def _owner_of(word: str, path: yaml.KeyPath) -> str:
    """Where a key belongs that has its very name, as a next step; "" where none has it."""
    whole = schema()
    here = ".".join(map(str, path[:-1]))
    owners = [
        name
        for name, model in _OWNERS.items()
        if name != here and word in (whole if model == "Recipe" else whole["$defs"][model])["properties"]
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
    gates = [
        get_args(c.model_fields["kind"].annotation)[0] for c in get_args(get_args(Gate)[0]) if word in c.model_fields
    ]
    return f"`{word}` is a key of gates ({', '.join(gates)})" if gates else ""


def _synonym(word: str, keys: list[str]) -> str:
    """The first of those keys that another tool's word may stand for, "" for none."""
    return next((key for key in SYNONYMS.get(word.lower().replace("-", "_"), "").split() if key in keys), "")


def key_meant(word: str, keys: list[str]) -> str:
    """The key that was probably meant: one that is spelt like it, or another tool's word for it; "" for none."""
    return _synonym(word, keys) or nearest(word, keys)
