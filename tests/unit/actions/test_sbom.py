"""The SBOM of a wheel: all of the lock and nothing else, valid CycloneDX 1.6, the same bytes twice."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

from stackbuild.actions.sbom import sbom
from stackbuild.model.inputs import Inputs
from stackbuild.model.lock import Lock
from stackbuild.model.materials import Material, materials_of, materials_text, read_materials
from stackbuild.plan.resolve import resolve
from stackbuild.recipe.load import bundled_recipes, load
from stackbuild.recipe.lock_file import read_lock
from stackbuild.recipe.wheels import wheels_of

TIME = 1_700_000_000
STRICT = JsonStrictValidator(SchemaVersion.V1_6)


def wheel_materials(name: str) -> tuple[Lock, dict[str, tuple[Material, ...]]]:
    """A bundled recipe's lock, and the materials of each wheel of its plan by the wheel's step."""
    loaded = load(name)
    lock = read_lock(loaded)
    inputs = Inputs.of(lock, dict.fromkeys([*loaded.recipe.sources, *(f"{s}.patches" for s in loaded.recipe.sources)], "0" * 64))
    plan = resolve(loaded.recipe, inputs)
    found = {step.name: read_materials(dict(step.params)["materials"]) for step in plan.steps if step.action == "wheel"}
    return lock, found


@pytest.mark.parametrize("name", [name for name in sorted(bundled_recipes()) if any(wheels_of(load(name).recipe))])
def test_the_sbom_of_a_bundled_recipe_has_all_that_is_locked(name: str) -> None:
    lock, wheels = wheel_materials(name)
    rows = {material for one in wheels.values() for material in one}
    assert {(m.name, m.version) for m in rows if m.role == "build-package"} == set(lock.packages.items())
    assert {m.digests for m in rows if m.role == "base-image"} == ({(("sha256", lock.image.removeprefix("sha256:")),)} if lock.image else set())
    commits = {dict(m.digests).get("gitCommit") for m in rows if m.role == "source"} - {None}
    assert commits <= {*lock.commits.values(), "unlocked"} and ("unlocked" in commits or commits == set(lock.commits.values()))
    assert {dict(m.digests)["sha256"] for m in rows if m.role == "source" and "sha256" in dict(m.digests)} >= {f.sha256 for f in lock.files.values()}
    asked = {dep.url for deps in lock.deps.values() for dep in deps}
    assert {m.uri for m in rows if m.role == "dependency"} <= asked
    for materials in wheels.values():
        text = sbom("demo", "1.0", "MIT", materials, TIME)
        assert STRICT.validate_str(text.decode()) is None
        body = json.loads(text)
        (depends,) = [row["dependsOn"] for row in body["dependencies"] if row["ref"] == "subject"]
        assert len(body["components"]) == len(set(materials)) == len(depends)


def test_the_same_materials_give_the_same_bytes() -> None:
    _, wheels = wheel_materials("debian-13")
    (materials,) = wheels.values()
    assert sbom("a", "1", "MIT", materials, TIME) == sbom("a", "1", "MIT", tuple(reversed(materials)), TIME)
    assert sbom("a", "1", "MIT", materials, TIME) != sbom("a", "1", "MIT", materials[1:], TIME)
    assert read_materials(materials_text(materials)) == materials == materials_of(()) + materials


def test_what_lies_in_a_wheel_is_told_from_what_made_it() -> None:
    materials = (
        Material("bundled-library", "pkg/libx.so", "", "file:pkg/libx.so", "", (("sha256", "ab" * 32),)),
        Material("external-library", "libamdhip64.so.6", "", "soname:libamdhip64.so.6"),
        Material("build-package", "g++", "4:14.2", "pkg:deb/debian/g%2B%2B@4:14.2?distro=trixie", "pkg:deb/debian/g%2B%2B@4:14.2?distro=trixie"),
        Material("source", "ort", "v1", "git+https://example.invalid/ort@" + "0" * 40, "", (("gitCommit", "0" * 40),)),
    )
    body = json.loads(sbom("a", "1", "MIT AND Apache-2.0", materials, TIME))
    scopes = {c["name"]: c["scope"] for c in body["components"]}
    assert scopes == {"pkg/libx.so": "required", "libamdhip64.so.6": "required", "g++": "excluded", "ort": "excluded"}
    (library,) = [c for c in body["components"] if c["name"] == "pkg/libx.so"]
    assert library["hashes"] == [{"alg": "SHA-256", "content": "ab" * 32}]
    (source,) = [c for c in body["components"] if c["name"] == "ort"]
    assert {"name": "stackbuild:gitCommit", "value": "0" * 40} in source["properties"]
    assert source["externalReferences"][0]["type"] == "vcs"


def test_no_material_is_lost_where_two_have_one_name(tmp_path: Path) -> None:
    twins = tuple(Material("dependency", "x.zip", "", f"https://example.invalid/{n}/x.zip", "", (("sha1", str(n) * 40),)) for n in (1, 2))
    assert len(json.loads(sbom("a", "1", "MIT", twins, TIME))["components"]) == 2
