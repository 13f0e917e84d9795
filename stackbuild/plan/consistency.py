"""Whether a recipe agrees with itself: versions that are said twice, images and what is built on them. For `stackbuild.checking`.

A version that a person typed is checked against the `ref` that is built, since only the `ref` decides what is built.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator

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
from stackbuild.tables.compatibility import UBUNTU_PYTHON, MIGraphXRow, Table

_ORT_TAG = re.compile(r"(?:v|rel-)([0-9]+\.[0-9]+\.[0-9]+)(?![0-9])")
_IMAGE_ROCM = re.compile(r"rocm/[a-z0-9._/-]+:([0-9]+\.[0-9]+(?:\.[0-9]+)?)(?![0-9])")
_UBUNTU = re.compile(r"ubuntu[-:]?([0-9]{2}\.[0-9]{2})")
_NO_APT = re.compile(r"almalinux|alpine|centos|fedora|manylinux|opensuse|rocky|sles|ubi[0-9]|rhel")
_LOCAL_ROCM = re.compile(r"rocm\.([0-9]+(?:\.[0-9]+)*)")


def finding(rule: str, severity: Severity, subject: str, evidence: str, why: str, fix: str, link: str = "") -> Finding:
    """A finding of `recipe check`."""
    return Finding(f"SB-STACK-{rule}", severity, subject, evidence, why, fix, link)


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
            yield finding(
                "TREE-VERSION", Severity.ERROR, f"components.{name}.version",
                f"{component.version}, but the source at {_ref(component, recipe)} says that it is {version}",
                "it would be built as another version is", f"write `version: {version}`, or take another `ref`",
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
            yield finding(
                "MIGRAPHX", Severity.ERROR, f"{subject}.version", f"MIGraphX {component.version}, but {ref} is {row.version}",
                "what is built is what `ref` says", f"write `version: {row.version}`", row.source,
            )  # fmt: skip
        elif row and rocm and series(row.rocm) != series(rocm):
            far = numbers(row.rocm)[0] != numbers(rocm)[0]
            yield finding(
                "MIGRAPHX", Severity.ERROR if far else Severity.WARNING, subject,
                f"MIGraphX {ref}, which is of ROCm {row.rocm}, with ROCm {rocm}",
                "another ROCm's libraries have other sonames" if far else "nobody is known to have built that pair",
                f"use `ref: {due.ref}`" if due else f"use the tag of ROCm {rocm}", row.source,
            )  # fmt: skip
        elif not row and due and due.version != component.version:
            yield finding(
                "MIGRAPHX", Severity.WARNING, f"{subject}.version", f"MIGraphX {component.version} with ROCm {rocm}",
                f"ROCm {rocm} has MIGraphX {due.version}", f"use `ref: {due.ref}`", due.source,
            )  # fmt: skip
        if not due and rocm.count(".") == 2 and compatibility.latest_migraphx(series(rocm)):
            yield finding(
                "ROCM-PATCH", Severity.WARNING, "rocm", f"ROCm {rocm}: the table has its line, not this release",
                "which MIGraphX and rocMLIR belong to it is not known",
                f"known are {', '.join(r.rocm for r in compatibility.migraphx if series(r.rocm) == series(rocm))}",
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
        yield finding(
            "ROCMLIR", Severity.ERROR if others else Severity.WARNING, f"sources.{component.source}.ref",
            f"rocMLIR {ref[:12]}, but MIGraphX {row.ref} pins {row.rocmlir[:12]}",
            f"it is what MIGraphX {', '.join(others)} pins" if others
            else "a patch release of ROCm can change rocMLIR without changing MIGraphX's version",
            f"use `ref: {row.rocmlir}`", row.source,
        )  # fmt: skip


def _onnxruntime(recipe: Recipe, _: Table) -> Iterator[Finding]:
    for name, component in recipe.components.items():
        match = _ORT_TAG.match(_ref(component, recipe)) if isinstance(component, OnnxRuntime) else None
        if match and isinstance(component, OnnxRuntime) and match[1] != component.version:
            yield finding(
                "ORT-VERSION", Severity.ERROR, f"components.{name}.version",
                f"ONNX Runtime {component.version}, but its ref is {_ref(component, recipe)}",
                "providers, Pythons and options are chosen by `version`, what is built is what `ref` says",
                f"write `version: {match[1]}`, or `ref: v{component.version}`",
            )  # fmt: skip


def _release(recipe: Recipe, _: Table) -> Iterator[Finding]:
    for name, component in recipe.components.items():
        url = recipe.sources[component.source].archive if isinstance(component, OnnxRuntimeRelease) else None
        if isinstance(component, OnnxRuntimeRelease) and not url:
            yield finding(
                "ORT-RELEASE", Severity.ERROR, f"components.{name}.source", f"`{component.source}` is not an archive",
                "a release of ONNX Runtime is one", "write `archive:` and `sha256:` in that source",
            )  # fmt: skip
        elif isinstance(component, OnnxRuntimeRelease) and url and component.version not in url:
            yield finding(
                "ORT-VERSION", Severity.ERROR, f"components.{name}.version", f"ONNX Runtime {component.version}, but its archive is {url}",
                "the archive says which version it is, and the step ends there", "write the version of that archive",
            )  # fmt: skip


def _image_rocm(recipe: Recipe, _: Table) -> Iterator[Finding]:
    match = _IMAGE_ROCM.search(recipe.base.image or "")
    if not match or not recipe.rocm or numbers(match[1])[: len(numbers(recipe.rocm))] == numbers(recipe.rocm):
        return
    same_line = series(match[1]) == series(recipe.rocm)
    yield finding(
        "IMAGE-ROCM", Severity.WARNING if same_line else Severity.ERROR, "base.image",
        f"the image has ROCm {match[1]}, the recipe says {recipe.rocm}",
        "what is compiled and linked is the image's", f"take the image of ROCm {recipe.rocm}, or write `rocm: {match[1]}`",
    )  # fmt: skip


def _image_tag(recipe: Recipe, _: Table) -> Iterator[Finding]:
    image = recipe.base.image or ""
    if image and "@" not in image and ":" not in image.rpartition("/")[2]:
        yield finding(
            "IMAGE-TAG", Severity.WARNING, "base.image", f"{image} has no tag: it is `latest` of the day it is locked",
            "the next `stackbuild lock` takes another image, with another ROCm", f"write one, such as `image: {image}:TAG`",
        )  # fmt: skip


def _image_apt(recipe: Recipe, _: Table) -> Iterator[Finding]:
    match = _NO_APT.search(recipe.base.image or "")
    if match:
        yield finding(
            "IMAGE-APT", Severity.ERROR, "base.image", f"{recipe.base.image}: {match[0]} has no apt-get",
            "Dockerfile.base extends an image with apt-get", "take an image of Debian or Ubuntu",
        )  # fmt: skip


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
            yield finding(
                "IMAGE-PYTHON", Severity.ERROR, "python", f"Python {python} on Ubuntu {match[1]}, which has {own}",
                "the image has no other, with no headers and no packages for it", f'write `python: ["{own}"]`',
            )  # fmt: skip


def _cmake4(recipe: Recipe, _: Table) -> Iterator[Finding]:
    extend = recipe.base.extend
    for name, component in recipe.components.items():
        policy = isinstance(component, OnnxRuntime) and "CMAKE_POLICY_VERSION_MINIMUM" in component.options
        if extend and isinstance(component, OnnxRuntime) and numbers(extend.cmake) >= (4,) and not policy:
            yield finding(
                "CMAKE-4", Severity.ERROR, f"components.{name}.options", f"CMake {extend.cmake} and ONNX Runtime {component.version}",
                "CMake 4 refuses dependencies of it whose cmake_minimum_required is below 3.5",
                'set `CMAKE_POLICY_VERSION_MINIMUM: "3.5"` in its options, or `base.extend.cmake: 3.31.10`', "onnxruntime#23888",
            )  # fmt: skip


def _wheels(recipe: Recipe) -> Iterator[tuple[str, Wheel, Component]]:
    return ((n, w, recipe.components[w.needs[0]]) for n, w in recipe.wheels.items())


def _wheel_version(recipe: Recipe, _: Table) -> Iterator[Finding]:
    for name, wheel, packed_wheel in _wheels(recipe):
        public = wheel.version.partition("+")[0]
        what = "ONNX Runtime"
        if isinstance(packed_wheel, MIGraphXPackage):
            what, packed_wheel = "MIGraphX", recipe.components[packed_wheel.needs[0]]
        if isinstance(packed_wheel, OnnxRuntime | MIGraphX) and not re.fullmatch(
            rf"{re.escape(packed_wheel.version)}(\.post[0-9]+)?", public
        ):
            yield finding(
                "WHEEL-VERSION", Severity.ERROR, f"components.{name}.version",
                f"the wheel is {wheel.version}, what it packs is {what} {packed_wheel.version}",
                "who installs it gets another version than its name says", f"write {packed_wheel.version}+rocm.{recipe.rocm or '…'}",
            )  # fmt: skip


def _wheel_rocm(recipe: Recipe, _: Table) -> Iterator[Finding]:
    for name, wheel, _packed_wheel in _wheels(recipe):
        match = _LOCAL_ROCM.fullmatch(wheel.version.partition("+")[2])
        least = numbers(recipe.rocm or "")
        if match and least and numbers(match[1])[: len(least)] != least[: len(numbers(match[1]))]:
            yield finding(
                "WHEEL-VERSION", Severity.ERROR, f"components.{name}.version",
                f"the wheel says ROCm {match[1]}, the recipe {recipe.rocm}", "its name would promise another ROCm",
                f"write +rocm.{recipe.rocm}",
            )  # fmt: skip


def _wheel_names(recipe: Recipe, _: Table) -> Iterator[Finding]:
    count = Counter(re.sub(r"[-_.]+", "-", w.distribution).lower() for w in recipe.wheels.values())
    for name in (name for name, times in count.items() if times > 1):
        yield finding(
            "WHEEL-NAME", Severity.ERROR, "components", f"{count[name]} wheels of one distribution, {name}",
            "one file takes the place of the other", "give each wheel a distribution of its own",
        )  # fmt: skip
