"""What components need of the base and of each other, and a recipe leaves out. Pure.

For `recipe check`, `plan` and `build`. What only the built files could show is not looked for here.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterator

from stackbuild.model.components import (
    AmdgpuEp,
    CMake,
    Component,
    HipdnnEp,
    Kernels,
    KernelsEp,
    Lc0,
    MIGraphX,
    MIGraphXEp,
    MIGraphXPackage,
    OnnxRuntime,
    OnnxRuntimeRelease,
    Rocm,
    RocMLIR,
    Script,
    Wheel,
)
from stackbuild.model.findings import Finding, Severity
from stackbuild.model.recipe import Recipe
from stackbuild.recipe import recipe_rules
from stackbuild.recipe.foreign_names import foreign_names
from stackbuild.recipe.step_commands import commands
from stackbuild.tables import providers
from stackbuild.tables.compatibility import Table
from stackbuild.tables.foreign_names import meanings
from stackbuild.tables.packages import AMD

_IMAGE_ROCM = re.compile(r"([0-9]+\.[0-9]+(?:\.[0-9]+)?)")
_PLAIN_IMAGE = re.compile(r"(?:docker\.io/)?(?:library/)?(ubuntu|debian|python|gcc|buildpack-deps)(?::|@|$)")
_NVIDIA_IMAGE = re.compile(r"(?:^|/)nvidia/")
_ROCM_PACKAGE = re.compile(r"(rocm|hip|libamdhip|amdrocm)")
_VERSION_WORDS = ("head", "latest", "newest", "stable", "none", "null", "yes", "no", "tbd", "todo")
REPOSITORIES = {
    "onnxruntime": "https://github.com/microsoft/onnxruntime",
    "migraphx": "https://github.com/ROCm/AMDMIGraphX",
    "rocmlir": "https://github.com/ROCm/rocMLIR",
    "lc0": "https://github.com/LeelaChessZero/lc0",
}
"""Where each kind of component is developed. A fork has another owner and the same name."""
DEBIAN_PYTHON = {"bullseye": "3.9", "bookworm": "3.11", "trixie": "3.13", "sid": "3.14"}
"""The one Python of each release of Debian, and the default one of sid in November 2026."""
_SONAMES = (
    *AMD, "libamd_comgr", "libhiprand", "libhiprtc", "libhipsolver", "libhipsparse", "libhipsparselt", "libhsa-runtime64",
    "libonnxruntime", "libprotobuf", "librocfft", "librocrand", "librocsolver", "librocsparse", "libroctx64", "libsqlite3", "libmigraphx",
)  # fmt: skip
_REQUIREMENTS = (
    "abseil-cpp", "blaze", "composable_kernel", "eigen", "half", "json", "msgpack-c", "protobuf", "pybind11", "rocm-cmake", "rocm-recipes", "rocMLIR", "sqlite3",
)  # fmt: skip
"""Lines of `requirements.txt` that bundled recipes and MIGraphX's releases have had, by project name."""
_PROGRAMS = {
    "make": "make", "cmake": "cmake", "ninja": "ninja-build", "meson": "meson", "git": "git", "g++": "g++", "gcc": "gcc", "hipcc": "hipcc",
    "python3": "python3", "cargo": "cargo", "patch": "patch",
}  # fmt: skip
"""Programs that commands often begin with, and the Debian package of each."""
_BRINGS = {
    "rocm-cmake": ("cmake",), "build-essential": ("g++", "gcc", "make"), "g++": ("gcc",), "meson": ("ninja-build", "python3"),
    "python3-dev": ("python3",), "python3-numpy": ("python3",), "python3-pip": ("python3",), "cython3": ("python3",),
    "rustc": ("gcc",), "debhelper": ("make", "patch"),
}  # fmt: skip
"""Packages that come with others: by what their own dependencies are in Debian 13."""


def omissions(recipe: Recipe, _: Table) -> Iterator[Finding]:
    """Everything this module looks for."""
    checks: tuple[Callable[[Recipe], Iterator[Finding]], ...] = (
        *(_migraphx, _image, _unsaid_rocm, _wheel_python, _wheel_packages, _externals),
        *(
            _sources,
            _refs,
            _from_base,
            _debian_python,
            _debian_tools,
            foreign_names,
            commands,
            _areas,
            _requires_python,
            _excludes,
            _archives,
        ),
    )
    for check in checks:
        yield from check(recipe)


def _packages(recipe: Recipe) -> set[str]:
    """The packages that the recipe installs in its base, with what some of them bring."""
    base = recipe.base
    packages = (*(base.debian.packages if base.debian else ()), *(base.extend.packages if base.extend else ()))
    names = {name.partition(":")[0] for name in packages}  # NAME:ARCH, as apt has it
    return names | {other for name in names for other in _BRINGS.get(name, ())}


def _migraphx(recipe: Recipe) -> Iterator[Finding]:
    """The MIGraphX provider and AMD's plugins link MIGraphX: a needed component's, the base's, or that of an image."""
    in_image = "rocm" in (recipe.base.image or "")
    in_packages = any("migraphx" in name for name in _packages(recipe))
    for name, component in recipe.components.items():
        linked = isinstance(component, MIGraphXEp) or (
            isinstance(component, OnnxRuntime) and "migraphx" in component.providers
        )
        if not linked or not isinstance(component, MIGraphXEp | OnnxRuntime) or component.migraphx_home:
            continue
        builders = [each for each, other in recipe.components.items() if isinstance(other, MIGraphX)]
        if any(need in builders for need in component.needs) or (
            not component.needs and not builders and (in_image or in_packages)
        ):
            continue
        other_needs = [need for need in component.needs if not isinstance(recipe.components[need], Wheel)]
        fix = (
            f"write `needs: [{', '.join((*other_needs, builders[0]))}]`"
            if builders
            else "add a component of kind `migraphx` and name it in `needs`, or say where the base has it: `migraphx_home: /opt/rocm`"
        )
        key = (
            "needs"
            if component.needs
            else "providers"
            if isinstance(component, OnnxRuntime) and "providers" in component.model_fields_set
            else ""
        )
        yield recipe_rules.NO_MIGRAPHX.finding(
            f"components.{name}.{key}".rstrip("."), f"`{name}` links MIGraphX, and needs no component that builds it", fix=fix,
        )  # fmt: skip


def _for_rocm(component: Component) -> bool:
    """Whether it is compiled with ROCm's compiler, or linked with its libraries."""
    if isinstance(component, Lc0):
        return component.backend == "hip"
    return isinstance(component, Rocm | Kernels)


def _image(recipe: Recipe) -> Iterator[Finding]:
    image = recipe.base.image or ""
    users = [name for name, component in recipe.components.items() if _for_rocm(component)]
    plain, nvidia = _PLAIN_IMAGE.match(image), _NVIDIA_IMAGE.search(image)
    if not image or not users or not (plain or nvidia) or any(_ROCM_PACKAGE.match(name) for name in _packages(recipe)):
        return
    whose = "NVIDIA's image" if nvidia else f"the plain image of {plain[1] if plain else ''}"
    yield recipe_rules.IMAGE_NO_ROCM.finding(
        "base.image", f"{image} is {whose}: it has no ROCm, and `{users[0]}` is built with it",
        fix=f"write such as `image: rocm/dev-ubuntu-{'22.04' if recipe.python == ('3.10',) else '24.04'}:{recipe.rocm or '7.2.4'}-complete`",
    )  # fmt: skip


def _unsaid_rocm(recipe: Recipe) -> Iterator[Finding]:
    users = [name for name, c in recipe.components.items() if isinstance(c, RocMLIR | MIGraphX | MIGraphXEp | HipdnnEp)]
    image = recipe.base.image or ""
    if recipe.rocm is not None or not (users or "rocm" in image):
        return
    match = _IMAGE_ROCM.search(image.rpartition(":")[2])
    subject = "base.image" if image else f"components.{users[0]}"
    yield recipe_rules.NO_ROCM.finding(
        subject, "the recipe has no `rocm:`", fix=f"write `rocm: {match[1] if match else '7.2.4'}` beside `name:`",
    )  # fmt: skip


def _wheels(recipe: Recipe) -> Iterator[tuple[str, Wheel, Component]]:
    return ((n, w, recipe.components[w.needs[0]]) for n, w in recipe.wheels.items())


def _wheel_python(recipe: Recipe) -> Iterator[Finding]:
    """A wheel with an extension module is for one Python; one without is for all."""
    for name, wheel, content in _wheels(recipe):
        subject = f"components.{name}" + (".abi" if "abi" in wheel.model_fields_set else "")
        if isinstance(content, OnnxRuntime) and not content.python_package:
            yield recipe_rules.WHEEL_EMPTY.finding(
                f"components.{wheel.needs[0]}.python_package", f"`{name}` packs `{wheel.needs[0]}`, which builds no Python package",
            )  # fmt: skip
        elif isinstance(content, OnnxRuntime) and wheel.abi != "cpython":
            yield recipe_rules.WHEEL_ABI.finding(
                subject, f"`{name}` packs ONNX Runtime, which has an extension module, and has no `abi: cpython`", fix="write `abi: cpython`",
            )  # fmt: skip
        elif isinstance(content, MIGraphXPackage) and content.source and wheel.abi != "cpython":
            yield recipe_rules.WHEEL_ABI.finding(
                subject, f"`{name}` packs MIGraphX's Python module, which is compiled for each Python, and has no `abi: cpython`",
                fix="write `abi: cpython`",
            )  # fmt: skip
        elif isinstance(content, MIGraphX | RocMLIR | OnnxRuntimeRelease):
            packs = [each for each, c in recipe.components.items() if isinstance(c, MIGraphXPackage)]
            packed_fix = f"write `needs: [{packs[0]}]`" if packs and isinstance(content, MIGraphX) else ""
            yield recipe_rules.WHEEL_EMPTY.finding(
                f"components.{name}.needs.0", f"`{name}` packs `{wheel.needs[0]}`, and the kind {content.kind} installs no Python package",
                fix=packed_fix or _PACKABLE[isinstance(content, MIGraphX)],
            )  # fmt: skip
        elif isinstance(content, Kernels | MIGraphXEp | HipdnnEp) and wheel.abi == "cpython":
            yield recipe_rules.WHEEL_ABI.finding(
                subject, f"`{name}` has `abi: cpython`, and nothing in it depends on a Python",
                why="the same files go into a wheel for each Python", fix="remove `abi`, or write `abi: none`", severity=Severity.WARNING,
            )  # fmt: skip


_PACKABLE = {
    True: "add a component of kind `migraphx-package` that needs it, and pack that",
    False: "name a component that installs one, such as of kind `onnxruntime`, `kernels` or `script`",
}
"""What to pack in place of a component without a Python package, by whether it is MIGraphX."""


def module_of(component: Component) -> str:
    """The import package that a component of that kind installs; "" where the recipe's own build decides."""
    match component:
        case OnnxRuntime():
            return "onnxruntime"
        case AmdgpuEp():
            return providers.AMDGPU.module
        case MIGraphXEp():
            return providers.MIGRAPHX.module
        case HipdnnEp():
            return providers.HIPDNN.module
        case KernelsEp():
            return "onnxruntime_ep_rockernels"
        case Kernels():
            return "stackbuild_kernels"
        case MIGraphXPackage():
            return "migraphx_rocm"
        case _:
            return ""


def _wheel_packages(recipe: Recipe) -> Iterator[Finding]:
    for name, wheel, content in _wheels(recipe):
        module = module_of(content)
        modules = {module, "migraphx"} if isinstance(content, MIGraphXPackage) else {module}
        for i, package in enumerate(wheel.packages):
            if module and re.split(r"[./]", package)[0] not in modules:
                yield recipe_rules.WHEEL_PACKAGE.finding(
                    f"components.{name}.packages.{i}", f"`{wheel.needs[0]}` installs no package `{package}`", fix=f"write `{module}`",
                )  # fmt: skip
        for i, path in enumerate(wheel.license_files):
            top = path.split("/")[0]
            if module and top not in modules:
                yield recipe_rules.WHEEL_LICENSE.finding(
                    f"components.{name}.license_files.{i}", f"`{wheel.needs[0]}` installs no folder `{top}`",
                    fix=f"write `{module}/{path.partition('/')[2] or path}`",
                )  # fmt: skip


def _externals(recipe: Recipe) -> Iterator[Finding]:
    """A soname that is almost one of ROCm's: no library would match it, which ends the wheel's step."""
    for name, wheel in recipe.wheels.items():
        for i, pattern in enumerate(wheel.external):
            stem, _, tail = pattern.partition(".so")
            if re.match(r"lib(cu[a-z]|nv[a-z]|nccl)", stem):
                yield recipe_rules.EXTERNAL.finding(
                    f"components.{name}.external.{i}", f"`{pattern}` is a library of CUDA", fix="remove it, or write ROCm's, such as `libamdhip64.so.*`",
                )  # fmt: skip
            if pattern.strip("*") in ("", ".so", "lib", ".so."):
                yield recipe_rules.EXTERNAL.finding(
                    f"components.{name}.external.{i}", f"`{pattern}` matches every library: none would be packed",
                    fix="name those of ROCm, such as `libamdhip64.so.*`",
                )  # fmt: skip
            if stem in _SONAMES and pattern == f"{stem}.so":
                yield recipe_rules.EXTERNAL.finding(
                    f"components.{name}.external.{i}", f"`{pattern}` is not a soname: those of ROCm have a number", fix=f"write `{pattern}.*`",
                )  # fmt: skip
            near = difflib.get_close_matches(stem, _SONAMES, 1, 0.88)
            if near and stem not in _SONAMES and "*" not in stem:
                yield recipe_rules.EXTERNAL.finding(
                    f"components.{name}.external.{i}", f"no library is known as `{pattern}`", fix=f"did you mean `{near[0]}.so{tail}`?",
                )  # fmt: skip


def _sources(recipe: Recipe) -> Iterator[Finding]:
    """A source of another kind, or one whose address is almost that of its kind."""
    names = {url.rpartition("/")[2].lower(): kind for kind, url in REPOSITORIES.items()}
    for name, component in recipe.components.items():
        key = getattr(component, "source", None)
        source = recipe.sources[key] if key else None
        repository = (source.git or "").rstrip("/").removesuffix(".git").rpartition("/")[2].lower() if source else ""
        own, of = REPOSITORIES.get(component.kind, ""), names.get(repository, "")
        if source and source.debian and isinstance(component, CMake | Rocm):
            yield recipe_rules.SOURCE_KIND.finding(
                f"components.{name}.source", f"`{key}` is Debian's binary package {source.debian}",
                why="it has nothing to configure", fix="name a source with `git`, `archive` or `path`",
            )  # fmt: skip
        elif of and of != component.kind and (own or isinstance(component, Kernels)):
            yield recipe_rules.SOURCE_KIND.finding(
                f"components.{name}.source", f"`{key}` is {source.git if source else ''}, and `{name}` is of kind {component.kind}",
                fix=f"name a source of {own}" if own else "name a source with `bundled: kernels`",
            )  # fmt: skip
        elif (
            own
            and repository
            and not of
            and difflib.get_close_matches(repository, [own.rpartition("/")[2].lower()], 1, 0.75)
        ):
            yield recipe_rules.SOURCE_NAME.finding(
                f"sources.{key}.git", f"`{repository}` is almost the name of {component.kind}'s repository", fix=f"did you mean `{own}`?",
            )  # fmt: skip


def _refs(recipe: Recipe) -> Iterator[Finding]:
    """A `ref` that is a word for a version, a commit of the wrong length, or almost the tag of the component's version."""
    kinds = {getattr(c, "source", ""): c for c in recipe.components.values() if isinstance(c, MIGraphX | OnnxRuntime)}
    for name, source in recipe.sources.items():
        ref, component = source.ref or "", kinds.get(name)
        tag = (
            f"v{component.version}"
            if isinstance(component, OnnxRuntime)
            else f"rocm-{recipe.rocm}"
            if component and recipe.rocm
            else ""
        )
        if ref.lower() in _VERSION_WORDS or re.fullmatch(r"[0-9a-fA-F]{32,39}|[0-9a-fA-F]{41,48}", ref):
            what = (
                f"`{ref}` is not a tag"
                if ref.lower() in _VERSION_WORDS
                else f"`{ref[:12]}…` has {len(ref)} digits, a commit 40"
            )
            fix = f"write `ref: {tag}`" if tag else "write a tag, such as `ref: v1.0.0`, or all 40 digits of a commit"
            yield recipe_rules.REF.finding(f"sources.{name}.ref", what, fix=fix, severity=Severity.WARNING)
        elif tag and ref != tag and ref.lower() != "main" and (_is_almost(ref, tag) or _has_other_word(ref, tag)):
            yield recipe_rules.REF.finding(
                f"sources.{name}.ref", f"`{ref}` is almost the tag `{tag}`", fix=f"did you mean `{tag}`?", severity=Severity.WARNING,
            )  # fmt: skip
        elif tag and _of_other_rocm(ref, tag):
            yield recipe_rules.REF.finding(
                f"sources.{name}.ref", f"`{ref}` is not the tag of ROCm {recipe.rocm}", fix=f"write `ref: {tag}`", severity=Severity.WARNING,
            )  # fmt: skip


def _of_other_rocm(ref: str, tag: str) -> bool:
    """Whether a tag of MIGraphX is of another release line than the recipe's ROCm, or lacks the third number that AMD's tags have."""
    ours, theirs = re.fullmatch(r"rocm-(\d+\.\d+)(\.\d+)?", tag), re.fullmatch(r"rocm-(\d+\.\d+)(\.\d+)?", ref)
    return ours is not None and theirs is not None and (ours[1] != theirs[1] or theirs[2] is None)


def _has_other_word(ref: str, tag: str) -> bool:
    """Whether a text has the tag's numbers behind another word: `onnxruntime-1.21.1`. Branches `rel-…` and `release/…` are real."""
    numbers = re.findall(r"\d+", tag)
    return (
        re.findall(r"\d+", ref) == numbers
        and bool(re.fullmatch(r"[a-z]*[-_/]?v?[\d._]+", ref, re.IGNORECASE))
        and "rel" not in ref
    )


def _is_almost(ref: str, tag: str) -> bool:
    """Whether a text is that tag but for a slip: other numbers are another tag."""
    marks = re.compile(r"[^a-z0-9]")
    same = marks.sub("", ref.lower()) == marks.sub("", tag.lower())
    return same or (
        re.findall(r"\d+", ref) == re.findall(r"\d+", tag)
        and difflib.SequenceMatcher(None, ref.lower(), tag).ratio() > 0.75
    )


def _from_base(recipe: Recipe) -> Iterator[Finding]:
    """A line of MIGraphX's requirements that is almost one that it has had; the lock says which ones it has."""
    for name, component in recipe.components.items():
        for i, line in enumerate(component.from_base if isinstance(component, MIGraphX) else ()):
            if line.lower() == "rocmlir":
                yield recipe_rules.FROM_BASE.finding(
                    f"components.{name}.from_base.{i}", f"`{line}` comes from the component's `needs`", fix="remove it, and name the `rocmlir` component in `needs`",
                )  # fmt: skip
                continue
            near = difflib.get_close_matches(line.lower(), _REQUIREMENTS, 1, 0.7)
            if near and line not in _REQUIREMENTS and line not in meanings("from_base"):
                yield recipe_rules.FROM_BASE.finding(
                    f"components.{name}.from_base.{i}", f"`{line}` is not a known line of MIGraphX's requirements.txt",
                    fix=f"did you mean `{near[0]}`?",
                )  # fmt: skip


_AREAS = ("main", "contrib", "non-free", "non-free-firmware")
_UBUNTU_AREAS = {"universe": "main", "multiverse": "non-free", "restricted": "non-free"}


def _areas(recipe: Recipe) -> Iterator[Finding]:
    for i, area in enumerate(recipe.base.debian.areas if recipe.base.debian else ()):
        if area not in _AREAS:
            near = _UBUNTU_AREAS.get(area) or next(iter(difflib.get_close_matches(area, _AREAS, 1, 0.6)), "")
            yield recipe_rules.AREA.finding(
                f"base.debian.areas.{i}", f"`{area}` is {'an area of Ubuntu' if area in _UBUNTU_AREAS else 'not an area of Debian'}",
                fix=f"write `{near}`" if near else f"write one of {', '.join(_AREAS)}",
            )  # fmt: skip


def _requires_python(recipe: Recipe) -> Iterator[Finding]:
    for name, wheel in recipe.wheels.items():
        if wheel.requires_python == ">=3.9":
            continue
        from stackbuild.core.packaging import SpecifierSet  # takes a while to load

        missing_pythons = [
            python for python in recipe.python if f"{python}.99" not in SpecifierSet(wheel.requires_python)
        ]
        if missing_pythons and (wheel.abi == "cpython" or len(missing_pythons) == len(recipe.python)):
            yield recipe_rules.REQUIRES_PYTHON.finding(
                f"components.{name}.requires_python", f"`{wheel.requires_python}` refuses Python {missing_pythons[0]}, which the recipe builds for",
                fix=f"write `requires_python: \">={min(recipe.python, key=lambda each: int(each[2:]))}\"`",
            )  # fmt: skip


def _excludes(recipe: Recipe) -> Iterator[Finding]:
    for name, source in recipe.sources.items():
        for i, pattern in enumerate(source.exclude):
            bare = re.sub(r"^(?:\.\.?/|/)+", "", pattern)
            if pattern in ("*", "**", "**/*", ".", "./"):
                yield recipe_rules.EXCLUDE.finding(
                    f"sources.{name}.exclude.{i}", f"`{pattern}` leaves out the whole source", fix="write the folders to leave out, such as `docs/*`",
                )  # fmt: skip
            elif bare != pattern:
                yield recipe_rules.EXCLUDE.finding(
                    f"sources.{name}.exclude.{i}", f"no path of a source begins as `{pattern}`", fix=f"write `{bare}`",
                )  # fmt: skip


_ARCHIVE = re.compile(
    r"\.(?:tar(?:\.\w+)?|t[gbx]z2?|zip|crate|whl|gem)(?:[?#].*)?$|/(?:tarball|zipball|archive)/", re.IGNORECASE
)


_OF_NOTHING = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
"""The SHA-256 of no bytes."""


def _archives(recipe: Recipe) -> Iterator[Finding]:
    for name, source in recipe.sources.items():
        if source.sha256 and (source.sha256 == _OF_NOTHING or source.sha256 == "0" * 64):
            what = "an empty file" if source.sha256 == _OF_NOTHING else "no file"
            yield recipe_rules.ARCHIVE.finding(
                f"sources.{name}.sha256", f"it is the digest of {what}", why="the fetched file has another: the build stops there",
                fix="write what `sha256sum FILE` prints",
            )  # fmt: skip
        if source.archive and not _ARCHIVE.search(source.archive):
            page = re.fullmatch(r"(https://[^/]+/[^/]+/[^/]+)/releases/tag/([^/]+)/?", source.archive)
            package = re.search(r"/([a-z0-9][a-z0-9+.-]*)_[^/]*\.deb$", source.archive)
            fix = (
                f"write `debian: {package[1]}` in place of `archive:` and `sha256:`, where the suite has it"
                if package
                else f"write `{page[1]}/archive/refs/tags/{page[2]}.tar.gz`"
                if page
                else "write the address of the file, such as `….tar.gz`"
            )
            yield recipe_rules.ARCHIVE.finding(
                f"sources.{name}.archive", f"`{source.archive.rpartition('/')[2]}` has no ending of an archive", fix=fix,
            )  # fmt: skip


def _debian_python(recipe: Recipe) -> Iterator[Finding]:
    suite = recipe.base.debian.suite if recipe.base.debian else ""
    own = DEBIAN_PYTHON.get(suite)
    split = any(
        (isinstance(c, OnnxRuntime) and c.python_package) or (isinstance(c, Wheel) and c.abi == "cpython")
        for c in recipe.components.values()
    )
    for i, python in enumerate(recipe.python) if own and split else ():
        if python != own:
            yield recipe_rules.DEBIAN_PYTHON.finding(
                f"python.{i}" if "python" in recipe.model_fields_set else "base.debian.suite", f"Python {python} on Debian's {suite}, which has {own}",
                fix=f'write `python: ["{own}"]`', severity=Severity.WARNING if suite == "sid" else None,
            )  # fmt: skip


def _debian_tools(recipe: Recipe) -> Iterator[Finding]:
    """Programs that a kind's commands start and no package of the recipe brings. What a dependency brings is not known here."""
    debian = recipe.base.debian
    if debian is None:
        return
    has = _packages(recipe)
    for name, component in recipe.components.items():
        for package in _tools(component):
            if package not in has:
                near = difflib.get_close_matches(package, debian.packages, 1, 0.75)
                at = f".{debian.packages.index(near[0])}" if near else ""
                fix = f"did you mean `{package}`?" if near else f"add `{package}` to `base.debian.packages`"
                what = f", but `{near[0]}`" if near else ""
                yield recipe_rules.TOOL.finding(
                    f"base.debian.packages{at}", f"`{name}` starts {package.removesuffix('-build')}, and the base lists no package of it{what}",
                    fix=fix,
                )  # fmt: skip
                return


def _tools(component: Component) -> list[str]:
    match component:
        case Script():
            return [_PROGRAMS[argv[0]] for argv in component.run if argv[0] in _PROGRAMS]
        case Kernels():
            return ["hipcc", "cmake"]
        case Lc0():
            return ["meson", "ninja-build"]
        case CMake() | Rocm():
            return ["cmake", "ninja-build" if component.generator == "Ninja" else "make"]
        case _:
            return []
