"""Whether a recipe agrees with itself: versions that are said twice, images and what is built on them. For `stackbuild.checking`.

A version that a person typed is checked against the `ref` that is built, since only the `ref` decides what is built.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator

from stackbuild.core.project_names import normal_name
from stackbuild.core.versions import numbers, series
from stackbuild.model.components import (
    Component,
    MIGraphX,
    MIGraphXPackage,
    OnnxRuntime,
    OnnxRuntimeRelease,
    Rocm,
    RocMLIR,
    Wheel,
)
from stackbuild.model.findings import Finding, Severity
from stackbuild.model.lock import Lock
from stackbuild.model.recipe import Recipe
from stackbuild.recipe import recipe_rules
from stackbuild.recipe.forms import yaml_text
from stackbuild.tables.compatibility import UBUNTU_PYTHON, MIGraphXRow, Table

_ORT_TAG = re.compile(r"(?:v|rel-)([0-9]+\.[0-9]+\.[0-9]+)(?![0-9])")
_IMAGE_ROCM = re.compile(r"rocm/[a-z0-9._/-]+:([0-9]+\.[0-9]+(?:\.[0-9]+)?)(?![0-9])")
_UBUNTU = re.compile(r"ubuntu[-:]?([0-9]{2}\.[0-9]{2})")
_NO_APT = re.compile(r"almalinux|alpine|centos|fedora|manylinux|opensuse|rocky|sles|ubi[0-9]|rhel")
_LOCAL_ROCM = re.compile(r"rocm\.([0-9]+(?:\.[0-9]+)*)")


def disagreements(recipe: Recipe, compatibility: Table) -> Iterator[Finding]:
    """Everything this module looks for."""
    checks: tuple[Callable[[Recipe, Table], Iterator[Finding]], ...] = (
        *(_migraphx, _rocmlir, _onnxruntime, _release, _image_rocm, _image_tag, _image_apt, _image_python, _cmake4),
        *(_wheel_version, _wheel_rocm, _wheel_names),
    )
    for check in checks:
        yield from check(recipe, compatibility)


def tree_versions(recipe: Recipe, lock: Lock) -> Iterator[Finding]:
    """A component's `version` decides how it is built (arguments, dependencies); the source says which one it is."""
    for name, component in recipe.components.items():
        version = lock.versions.get(component.source) if isinstance(component, MIGraphX | OnnxRuntime) else None
        if isinstance(component, MIGraphX | OnnxRuntime) and version and version != component.version:
            yield recipe_rules.TREE_VERSION.finding(
                f"components.{name}.version", f"{component.version}, but the source at {_ref(component, recipe)} says that it is {version}",
                fix=f"write `version: {version}`, or take another `ref`",
            )  # fmt: skip


def _ref(component: Rocm, recipe: Recipe) -> str:
    return recipe.sources[component.source].ref or ""


def _row(component: MIGraphX, recipe: Recipe, compatibility: Table) -> MIGraphXRow | None:
    """The row of the tag or commit that is built; where the table has neither, that of the ROCm version."""
    rocm = recipe.rocm or ""
    return compatibility.migraphx_at(_ref(component, recipe), rocm) or compatibility.latest_migraphx(rocm)


def _migraphx(recipe: Recipe, compatibility: Table) -> Iterator[Finding]:
    rocm = recipe.rocm or ""
    for name, component in recipe.components.items():
        if not isinstance(component, MIGraphX):
            continue
        ref, subject = _ref(component, recipe), f"components.{name}"
        row, due = compatibility.migraphx_at(ref, rocm), compatibility.latest_migraphx(rocm)
        if row and row.version != component.version:
            yield recipe_rules.MIGRAPHX.finding(
                f"{subject}.version", f"MIGraphX {component.version}, but {ref} is {row.version}",
                fix=f"write `version: {row.version}`", link=row.source,
            )  # fmt: skip
        elif row and rocm and series(row.rocm) != series(rocm):
            far = numbers(row.rocm)[0] != numbers(rocm)[0]
            yield recipe_rules.MIGRAPHX.finding(
                subject, f"MIGraphX {ref}, which is of ROCm {row.rocm}, with ROCm {rocm}",
                why="another ROCm's libraries have other sonames" if far else "nobody is known to have built that pair", fix=f"use `ref: {due.ref}`" if due else f"use the tag of ROCm {rocm}", link=row.source, severity=Severity.ERROR if far else Severity.WARNING,
            )  # fmt: skip
        elif not row and due and due.version != component.version:
            yield recipe_rules.MIGRAPHX.finding(
                f"{subject}.version", f"MIGraphX {component.version} with ROCm {rocm}",
                why=f"ROCm {rocm} has MIGraphX {due.version}", fix=f"use `ref: {due.ref}`", link=due.source, severity=Severity.WARNING,
            )  # fmt: skip
        if not due and rocm.count(".") == 2 and compatibility.latest_migraphx(series(rocm)):
            yield recipe_rules.ROCM_PATCH.finding(
                "rocm", f"ROCm {rocm}: the table has its line, not this release",
                fix=f"known are {', '.join(r.rocm for r in compatibility.migraphx if series(r.rocm) == series(rocm))}",
            )  # fmt: skip


def _rocmlir(recipe: Recipe, compatibility: Table) -> Iterator[Finding]:
    """Another release's rocMLIR is an error; one that the table does not know may be somebody's own, and is a warning."""
    migraphx = next((c for c in recipe.components.values() if isinstance(c, MIGraphX)), None)
    row = _row(migraphx, recipe, compatibility) if migraphx else compatibility.latest_migraphx(recipe.rocm or "")
    for component in (c for c in recipe.components.values() if isinstance(c, RocMLIR)):
        ref = _ref(component, recipe)
        if row is None or not ref or row.rocmlir.startswith(ref):
            continue
        others = [r.ref for r in compatibility.migraphx if len(ref) >= 7 and r.rocmlir.startswith(ref)]
        yield recipe_rules.ROCMLIR.finding(
            f"sources.{component.source}.ref", f"rocMLIR {ref[:12]}, but MIGraphX {row.ref} pins {row.rocmlir[:12]}",
            why=f"it is what MIGraphX {', '.join(others)} pins" if others
            else "a patch release of ROCm can change rocMLIR without changing MIGraphX's version", fix=f"use `ref: {row.rocmlir}`", link=row.source, severity=Severity.ERROR if others else Severity.WARNING,
        )  # fmt: skip


def _onnxruntime(recipe: Recipe, _: Table) -> Iterator[Finding]:
    for name, component in recipe.components.items():
        match = _ORT_TAG.match(_ref(component, recipe)) if isinstance(component, OnnxRuntime) else None
        if match and isinstance(component, OnnxRuntime) and match[1] != component.version:
            yield recipe_rules.ORT_VERSION.finding(
                f"components.{name}.version", f"ONNX Runtime {component.version}, but its ref is {_ref(component, recipe)}",
                fix=f"write `version: {match[1]}`, or `ref: v{component.version}`",
            )  # fmt: skip


def _release(recipe: Recipe, _: Table) -> Iterator[Finding]:
    for name, component in recipe.components.items():
        url = recipe.sources[component.source].archive if isinstance(component, OnnxRuntimeRelease) else None
        if isinstance(component, OnnxRuntimeRelease) and not url:
            yield recipe_rules.ORT_RELEASE.finding(
                f"components.{name}.source", f"`{component.source}` is not an archive"
            )
        elif isinstance(component, OnnxRuntimeRelease) and url and component.version not in url:
            yield recipe_rules.ORT_VERSION.finding(
                f"components.{name}.version", f"ONNX Runtime {component.version}, but its archive is {url}",
                why="the archive says which version it is, and the step ends there",
                fix=f"write `version: {own[0]}`" if (own := re.findall(r"[0-9]+\.[0-9]+\.[0-9]+", url)) else "write the version of that archive",
            )  # fmt: skip


def _image_rocm(recipe: Recipe, compatibility: Table) -> Iterator[Finding]:
    match = _IMAGE_ROCM.search(recipe.base.image or "")
    if not match or not recipe.rocm or numbers(match[1])[: len(numbers(recipe.rocm))] == numbers(recipe.rocm):
        return
    is_amds = (recipe.base.image or "").removeprefix("docker.io/").startswith("rocm/")
    if not is_amds and compatibility.line(match[1]) is None:
        return  # a tag of the image's own, such as a date
    same_line = series(match[1]) == series(recipe.rocm)
    others = {series(local[1]) for w in recipe.wheels.values() if (local := _LOCAL_ROCM.search(w.version))}
    by_recipe = f"write `rocm: {yaml_text(match[1])}`"
    alone = others == {series(match[1])} and not same_line
    yield recipe_rules.IMAGE_ROCM.finding(
        "rocm" if alone else "base.image",
        f"the image {'and the wheels have' if alone else 'has'} ROCm {match[1]}, the recipe says {recipe.rocm}",
        fix=f"{by_recipe}, or change image and wheels" if alone else f"write `image: {match.string.replace(match[1], recipe.rocm)}`, or {by_recipe}", severity=Severity.WARNING if same_line else Severity.ERROR,
    )  # fmt: skip


def _image_tag(recipe: Recipe, _: Table) -> Iterator[Finding]:
    image = recipe.base.image or ""
    name, tag = f"{image.rpartition('/')[2]}:".split(":")[:2]
    if not image or "@" in image or (tag and (re.search(r"\d\.\d", tag) or not _MOVING_TAG.fullmatch(tag))):
        return
    path = f"{image.rpartition('/')[0]}/{name}".lstrip("/")
    release = f"{recipe.rocm}-complete" if recipe.rocm and path.startswith("rocm/dev-") else "TAG"
    what = f"the tag of {image} moves" if tag else f"{image} has no tag"
    yield recipe_rules.IMAGE_TAG.finding(
        "base.image", f"{what}: it is `{tag or 'latest'}` of the day it is locked", fix=f"write a release, such as `image: {path}:{release}`",
    )  # fmt: skip


_MOVING_TAG = re.compile(
    r"(?:.*[-_.])?(?:latest|nightly|edge|main|master|devel?|develop|stable|rolling|complete)", re.IGNORECASE
)
"""Tags that name no release of ROCm or of a distribution: what they stand for changes."""


def _image_apt(recipe: Recipe, _: Table) -> Iterator[Finding]:
    match = _NO_APT.search(recipe.base.image or "")
    if match:
        yield recipe_rules.IMAGE_APT.finding("base.image", f"{recipe.base.image}: {match[0]} has no apt-get")


def _image_python(recipe: Recipe, _: Table) -> Iterator[Finding]:
    """`Dockerfile.base` adds packages to the image's `python3`; wheels with an extension module need each Python."""
    match = _UBUNTU.search(recipe.base.image or "")
    own = UBUNTU_PYTHON.get(match[1]) if match else None
    split = any(
        (isinstance(c, OnnxRuntime) and c.python_package) or (isinstance(c, Wheel) and c.abi == "cpython")
        for c in recipe.components.values()
    )
    for python in recipe.python if match and own and split else ():
        if match and python != own:
            yield recipe_rules.IMAGE_PYTHON.finding(
                "python", f"Python {python} on Ubuntu {match[1]}, which has {own}", fix=f'write `python: ["{own}"]`',
            )  # fmt: skip


def _cmake4(recipe: Recipe, _: Table) -> Iterator[Finding]:
    extend = recipe.base.extend
    for name, component in recipe.components.items():
        policy = isinstance(component, OnnxRuntime) and "CMAKE_POLICY_VERSION_MINIMUM" in component.options
        if extend and isinstance(component, OnnxRuntime) and numbers(extend.cmake) >= (4,) and not policy:
            yield recipe_rules.CMAKE_4.finding(
                f"components.{name}.options", f"CMake {extend.cmake} and ONNX Runtime {component.version}",
            )  # fmt: skip


def _wheels(recipe: Recipe) -> Iterator[tuple[str, Wheel, Component]]:
    return ((n, w, recipe.components[w.needs[0]]) for n, w in recipe.wheels.items())


def _wheel_version(recipe: Recipe, _: Table) -> Iterator[Finding]:
    for name, wheel, content in _wheels(recipe):
        public = wheel.version.partition("+")[0]
        what = "ONNX Runtime"
        if isinstance(content, MIGraphXPackage):
            what, content = "MIGraphX", recipe.components[content.needs[0]]
        if isinstance(content, OnnxRuntime | MIGraphX) and not re.fullmatch(
            rf"{re.escape(content.version)}(\.post[0-9]+)?", public
        ):
            yield recipe_rules.WHEEL_VERSION.finding(
                f"components.{name}.version", f"the wheel is {wheel.version}, what it packs is {what} {content.version}",
                fix=f"write `{content.version}{f'+rocm.{recipe.rocm}' if recipe.rocm else ''}`",
            )  # fmt: skip


def _wheel_rocm(recipe: Recipe, _: Table) -> Iterator[Finding]:
    for name, wheel, _content in _wheels(recipe):
        match = _LOCAL_ROCM.fullmatch(wheel.version.partition("+")[2])
        least = numbers(recipe.rocm or "")
        if match and least and numbers(match[1])[: len(least)] != least[: len(numbers(match[1]))]:
            yield recipe_rules.WHEEL_VERSION.finding(
                f"components.{name}.version", f"the wheel says ROCm {match[1]}, the recipe {recipe.rocm}",
                why="its name would promise another ROCm", fix=f"write `{wheel.version.partition('+')[0]}+rocm.{recipe.rocm}`",
            )  # fmt: skip


def _wheel_names(recipe: Recipe, _: Table) -> Iterator[Finding]:
    count = Counter(normal_name(w.distribution) for w in recipe.wheels.values())
    for name in (name for name, times in count.items() if times > 1):
        yield recipe_rules.WHEEL_NAME.finding("components", f"{count[name]} wheels of one distribution, {name}")
