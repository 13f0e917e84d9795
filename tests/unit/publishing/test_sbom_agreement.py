"""An SBOM is held to the lock beside its wheel and to its provenance."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from stackbuild.actions.sbom import sbom
from stackbuild.model.inputs import Inputs
from stackbuild.model.materials import Material, read_materials
from stackbuild.plan.resolve import resolve
from stackbuild.publishing.sbom_agreement import read_lock, sbom_problem
from stackbuild.publishing.statements import ResourceDescriptor, provenance
from stackbuild.recipe.load import bundled_recipes, load
from stackbuild.recipe.lock_file import read_lock as lock_of
from stackbuild.recipe.wheels import wheels_of

TIME = 1_700_000_000
LIBRARIES = (
    Material("bundled-library", "pkg/libx.so", "", "file:pkg/libx.so", "", (("sha256", "ab" * 32),)),
    Material("external-library", "libamdhip64.so.7", "", "soname:libamdhip64.so.7"),
)
Rows = tuple[Material, ...]


@cache
def locked(name: str) -> tuple[bytes, dict[str, Rows]]:
    """The lock of a bundled recipe, and what each of its wheels is made from."""
    loaded = load(name)
    trees = dict.fromkeys([*loaded.recipe.sources, *(f"{s}.patches" for s in loaded.recipe.sources)], "0" * 64)
    plan = resolve(loaded.recipe, Inputs.of(lock_of(loaded), trees))
    rows = {step.name: read_materials(dict(step.params)["materials"]) for step in plan.steps if step.action == "wheel"}
    return loaded.lock_path.read_bytes(), rows


def stated(rows: Rows) -> dict[str, Any]:
    value: dict[str, Any] = json.loads(provenance(ResourceDescriptor("x.whl", "0" * 64), {}, rows, (), "1"))
    return value


@pytest.mark.parametrize("name", [name for name in sorted(bundled_recipes()) if any(wheels_of(load(name).recipe))])
def test_the_sbom_of_each_bundled_recipe_agrees_with_its_lock_and_its_provenance(name: str) -> None:
    lock, wheels = locked(name)
    for rows in wheels.values():
        if any(("gitCommit", "unlocked") in row.digests for row in rows):
            continue  # an open lock: nothing is built under it
        assert sbom_problem(sbom("demo", "1.0", "MIT", (*rows, *LIBRARIES), TIME), lock, stated(rows)) == ""


def test_a_wheel_of_a_script_needs_no_source_where_its_provenance_says_so() -> None:
    lock, wheels = locked("debian-13")
    rows = without("source")(next(iter(wheels.values())))
    text = sbom("demo", "1.0", "MIT", rows, TIME)
    assert sbom_problem(text, lock, stated(rows)) == ""
    assert "names no source" in sbom_problem(text, lock, None)


def without(role: str) -> Callable[[Rows], Rows]:
    return lambda rows: tuple(row for row in rows if row.role != role)


def other_commit(rows: Rows) -> Rows:
    return tuple(
        Material(row.role, row.name, row.version, row.uri, row.purl, (("gitCommit", "f" * 40),))
        if dict(row.digests).get("gitCommit") else row
        for row in rows
    )  # fmt: skip


EDITS: list[tuple[str, str, Callable[[Rows], Rows], str]] = [
    ("nothing", "debian-13", lambda rows: (), "lists nothing"),
    ("no package", "debian-13", without("build-package"), r"the lock beside it: \d+ of \d+ are left out, as "),
    ("one package less", "debian-13", lambda rows: tuple(r for r in rows if r.name != "libc6"), "1 of .* left out, as libc6"),
    ("one package more", "debian-13", lambda rows: (*rows, Material("build-package", "evil", "1", "")), "evil 1 is not in it"),
    ("no source", "debian-13", without("source"), "names no source"),
    ("no image", "rocm-7.2", without("base-image"), "another base image"),
    ("another commit", "rocm-7.2", other_commit, "at the commit ffffffffffff, which is not in it"),
    ("another name of a source", "rocm-7.2", lambda rows: tuple(replace(r, name="evil") if r.name == "onnxruntime" else r for r in rows), "the source evil is at the commit"),
    ("a source without its commit", "rocm-7.2", lambda rows: tuple(replace(r, digests=()) if r.name == "onnxruntime" else r for r in rows), "the source onnxruntime has no commit"),
    ("a source with two digests", "rocm-7.2", lambda rows: tuple(replace(r, digests=(*r.digests, ("sha256", "0" * 64))) if r.name == "onnxruntime" else r for r in rows), "the source onnxruntime has no commit, or more"),
    ("a package of Debian as a source", "debian-sid", lambda rows: tuple(replace(r, version="9") if r.name == "libonnxruntime-dev" else r for r in rows), "the source libonnxruntime-dev 9 is not in it"),
    ("a source without a digest", "debian-13", lambda rows: (*rows, Material("source", "evil", "", "")), "the source evil has no commit or digest"),
    ("a package with a digest", "debian-13", lambda rows: tuple(replace(r, digests=(("sha256", "0" * 64),)) if r.name == "libc6" else r for r in rows), "1 of .* left out, as libc6"),
    ("a download without a digest", "rocm-7.2", lambda rows: (*rows, Material("dependency", "x.zip", "", "")), "x.zip has another digest"),
    ("another name of a download", "rocm-7.2", lambda rows: tuple(replace(r, name="evil.zip") if r.role == "dependency" else r for r in rows), "evil.zip has another digest"),
    ("two images", "rocm-7.2", lambda rows: (*rows, Material("base-image", "evil", "", "")), "another base image"),
    ("another download", "rocm-7.2", lambda rows: (*rows, Material("dependency", "x.zip", "", "", "", (("sha1", "0" * 40),))), "x.zip has another digest"),
]  # fmt: skip


@pytest.mark.parametrize(("recipe", "edit", "words"), [row[1:] for row in EDITS], ids=[row[0] for row in EDITS])
def test_an_sbom_that_contradicts_the_lock_is_named(recipe: str, edit: Callable[[Rows], Rows], words: str) -> None:
    lock, wheels = locked(recipe)
    rows = max(wheels.values(), key=len)
    assert sbom_problem(sbom("demo", "1.0", "MIT", rows, TIME), lock, None) == ""
    problem = sbom_problem(sbom("demo", "1.0", "MIT", edit(rows), TIME), lock, None)
    assert re.search(words, problem), problem


def test_an_sbom_that_leaves_a_source_out_contradicts_the_provenance() -> None:
    """The lock may have sources that this wheel does not use; the provenance says which it used."""
    lock, wheels = locked("rocm-7.2")
    rows = max(wheels.values(), key=len)
    first = next(row for row in rows if row.name == "onnxruntime")
    data = sbom("demo", "1.0", "MIT", tuple(row for row in rows if row != first), TIME)
    part_of_lock = stated(tuple(row for row in rows if row != first))
    assert sbom_problem(data, lock, part_of_lock) == ""
    assert sbom_problem(data, lock, None).endswith(f"the source {first.name} is left out"), "nothing says that it was not used"
    assert "does not agree with the wheel's provenance: 1 of" in sbom_problem(data, lock, stated(rows))
    assert sbom_problem(data, None, {"predicate": {}}) == ""


@pytest.mark.parametrize(
    "components", [[1], [{}], [{"name": 1}], [{"name": "a", "hashes": [1]}], [{"name": "a", "properties": {"x": 1}}], {"a": 1}, 5]
)
def test_components_that_are_none_are_named(components: object) -> None:
    data = json.dumps({"bomFormat": "CycloneDX", "specVersion": "1.6", "components": components}).encode()
    assert sbom_problem(data, None, None) == "its components cannot be read"


ROLE = {"name": "stackbuild:role", "value": "build-package"}
EVIL = {"name": "evil", "version": "6", "properties": [ROLE]}


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"components": [{"name": "evil"}]}, "the component evil has no role"),
        ({"components": [EVIL | {"properties": [ROLE | {"value": "banana"}]}]}, "has the role 'banana'"),
        ({"components": [EVIL | {"components": [EVIL]}]}, "the component evil has 'components'"),
        ({"components": [EVIL | {"pedigree": {"ancestors": [EVIL]}}]}, "the component evil has 'pedigree'"),
        ({"components": [EVIL | {"properties": [ROLE, ROLE]}]}, "a property or a hash of one name twice"),
        ({"components": [EVIL | {"properties": [ROLE, {"name": "stackbuild:sha3", "value": ""}]}]}, "has 'stackbuild:sha3'"),
        ({"components": [EVIL | {"hashes": [{"alg": "MD5", "content": "0"}]}]}, "has 'MD5'"),
        ({"formulation": [{"components": [EVIL]}]}, "the document has 'formulation'"),
        ({"metadata": {"component": {"components": [EVIL]}}}, "its subject has 'components'"),
    ],
)
def test_what_stackbuild_does_not_write_is_refused(more: dict[str, object], words: str) -> None:
    """What is not compared could say anything."""
    document = {"bomFormat": "CycloneDX", "specVersion": "1.6", "components": [EVIL]}
    assert sbom_problem(json.dumps(document).encode(), None, None) == ""
    assert words in sbom_problem(json.dumps(document | more).encode(), None, None)


@pytest.mark.parametrize("data", [b"lock: 1\n", b"\xff", b"[", b"a: " + b"[" * 2000])
def test_a_lock_that_is_none_is_named(data: bytes) -> None:
    rows = next(iter(locked("debian-13")[1].values()))
    assert read_lock(data) is None
    assert sbom_problem(sbom("demo", "1.0", "MIT", rows, TIME), data, None).endswith("the lock cannot be read")
