"""What two parts of a recipe say of one thing, and that cannot both hold: paths, names, options, versions, patches. Pure.

For `recipe check`, `plan` and `build`, as `completeness` is.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterator
from itertools import pairwise

from stackbuild.core.project_names import normal_name
from stackbuild.model.components import (
    Archive,
    CMake,
    Component,
    Convertible,
    Lc0,
    MIGraphX,
    OnnxRuntime,
    Rocm,
    RocMLIR,
    Script,
    Wheel,
)
from stackbuild.model.findings import Finding, Severity
from stackbuild.model.recipe import Recipe
from stackbuild.recipe import recipe_rules
from stackbuild.tables.near_words import nearest
from stackbuild.tables.packages import packages_of


def contradictions(recipe: Recipe) -> Iterator[Finding]:
    """Everything that this module looks for."""
    for check in (
        _unused_components,
        _paths_of_steps,
        _options_twice,
        _rocm_homes,
        _patches,
        _needed_files,
        _packages_twice,
        _pins,
        _conversions,
        _script_order,
        _gfx_twice,
        _distributions,
        _externals_twice,
    ):
        yield from check(recipe)


def _unused_components(recipe: Recipe) -> Iterator[Finding]:
    """Components that no file for users has in it, where the recipe makes such files."""
    outputs = [n for n, c in recipe.components.items() if isinstance(c, Wheel | Archive)]
    contents = {*outputs}.union(*(_all_needs(name, recipe) for name in outputs))
    for name, component in recipe.components.items():
        if outputs and name not in contents and not isinstance(component, Script):
            yield recipe_rules.UNUSED_COMPONENT.finding(
                f"components.{name}", f"no wheel and no archive has `{name}` in it", fix=f"name it in the `needs:` of what uses it, such as `needs: [{name}]`, or remove it",
            )  # fmt: skip


_STEP_PATH = re.compile(r"(?<![\w.})*])/(src|deps)/([A-Za-z0-9][\w-]*)")


def _texts(component: Component) -> Iterator[tuple[str, str]]:
    """The texts that reach the commands of a component, with the key path of each."""
    yield from ((f"env.{name}", value) for name, value in component.env.items())
    options = getattr(component, "options", {})
    yield from ((f"options.{name}", str(value)) for name, value in options.items())
    for i, command in enumerate(component.run if isinstance(component, Script) else ()):
        yield from ((f"run.{i}.{j}", word) for j, word in enumerate(command))
    conversion = component.hipify if isinstance(component, Convertible) else None
    yield from (
        (f"hipify.clang_flags.{i}", flag) for i, flag in enumerate(conversion.clang_flags if conversion else ())
    )


def _paths_of_steps(recipe: Recipe) -> Iterator[Finding]:
    """`/src/NAME` and `/deps/NAME` that a component does not see."""
    for name, component in recipe.components.items():
        sources = [
            str(value)
            for key in ("source", "headers", "onnxruntime", "pybind11")
            if (value := getattr(component, key, None))
        ]
        visible = {"src": sources, "deps": [*_all_needs(name, recipe)]}
        for key, text in _texts(component):
            for kind, of in _STEP_PATH.findall(text):
                if of in visible[kind]:
                    continue
                near = nearest(of, visible[kind]) or (visible[kind][0] if len(visible[kind]) == 1 else "")
                add = (
                    f"add `{of}` to the component's `needs:`"
                    if kind == "deps" and of in recipe.components
                    else f"name it with `source: {of}`" if kind == "src" and of in recipe.sources and not sources else ""
                )  # fmt: skip
                step = add or (
                    f"did you mean `/{kind}/{near}`?" if near else "remove it, or name what it is of in `needs:`"
                )
                tail = re.search(rf"/{kind}/{re.escape(of)}(/[\w./+-]*)", text)
                if not add and not near and (source := _name_of_option(key, of, visible[kind])):
                    step = f"write `/{kind}/{source}{tail[1] if tail else ''}`"
                yield recipe_rules.STEP_PATH.finding(
                    f"components.{name}.{key}", f"`/{kind}/{of}` is not there: the step of `{name}` sees {_names_of(kind, visible[kind])}", fix=step,
                )  # fmt: skip


def _name_of_option(key: str, word: str, names: list[str]) -> str:
    """The only name that the option's own has, as `ONNXRUNTIME_INCLUDE_DIR` has, or that the word shortens; else ""."""
    option = re.sub(r"[^a-z0-9]", "", key.rpartition(".")[2].lower())
    in_option = [name for name in names if re.sub(r"[^a-z0-9]", "", name) in option]
    by_letters = [name for name in names if re.match(".*?".join(map(re.escape, word.lower())), name)]
    return in_option[0] if len(in_option) == 1 else by_letters[0] if len(by_letters) == 1 else ""


def _all_needs(name: str, recipe: Recipe) -> set[str]:
    needs, todo = set[str](), [name]
    while todo:
        for need in recipe.components[todo.pop()].needs:
            if need not in needs:
                needs.add(need)
                todo.append(need)
    return needs


def _names_of(kind: str, names: list[str]) -> str:
    return ", ".join(f"`/{kind}/{each}`" for each in sorted(names)) or (
        "no source" if kind == "src" else "no other component"
    )


def _options_twice(recipe: Recipe) -> Iterator[Finding]:
    for name, component in recipe.components.items():
        bare_names: dict[str, str] = {}
        for option in getattr(component, "options", {}):
            bare = option.partition(":")[0]
            if bare in bare_names:
                yield recipe_rules.SAID_TWICE.finding(
                    f"components.{name}.options.{option}", f"`{bare_names[bare]}` and `{option}` are one option", fix=f"remove `{option}`",
                )  # fmt: skip
            bare_names.setdefault(bare, option)
    variants = list(recipe.matrix.variants.items())
    for i, (name, changes) in enumerate(variants):
        if not any(changes.values()):
            yield recipe_rules.SAID_TWICE.finding(
                f"matrix.variants.{name}", f"the variant `{name}` changes nothing", fix=f"write options in it, such as `{name}: {{COMPONENT: {{OPTION: true}}}}`, or remove it",
            )  # fmt: skip
        elif other := next((each for each, same in variants[:i] if same == changes), ""):
            yield recipe_rules.SAID_TWICE.finding(
                f"matrix.variants.{name}", f"the variants `{other}` and `{name}` are the same", fix=f"change one of them, or remove `{name}`",
            )  # fmt: skip


_PROGRAM = re.compile(r"(?:hipcc|clang(?:\+\+)?|amdclang(?:\+\+)?|gcc|g\+\+|cc|c\+\+)(?:-[\d.]+)?")


def _rocm_homes(recipe: Recipe) -> Iterator[Finding]:
    """Folders of ROCm and of its compiler: of another release, relative, or a program."""
    for name, component in recipe.components.items():
        for key in ("rocm_home", "compiler", "migraphx_home", "onnxruntime_home"):
            path = getattr(component, key, None)
            if not isinstance(path, str) or key not in component.model_fields_set:
                continue
            at, folder, last = (
                f"components.{name}.{key}",
                path.rpartition("/")[0] or "/",
                path.rstrip("/").rpartition("/")[2],
            )
            release = re.search(r"rocm-(\d+\.\d+(?:\.\d+)?)", path)
            if not path.startswith("/"):
                yield recipe_rules.HOME.finding(
                    at, f"`{path}` is not an absolute path in the base", fix=f"write `{key}: /{path.lstrip('./~')}`"
                )
            elif _PROGRAM.fullmatch(last):
                yield recipe_rules.HOME.finding(
                    at, f"`{path}` is a program, and `{key}` is a folder", fix=f"write `{key}: {folder}`"
                )
            elif (
                release
                and recipe.rocm
                and not recipe.rocm.startswith(release[1])
                and not release[1].startswith(recipe.rocm)
            ):
                yield recipe_rules.HOME.finding(
                    at, f"`{path}` is of ROCm {release[1]}, and the recipe is for {recipe.rocm}", fix=f"write `{key}: {path.replace(release[1], recipe.rocm)}`",
                )  # fmt: skip
            elif key == "migraphx_home" and any(isinstance(recipe.components[n], MIGraphX) for n in component.needs):
                builder = next(n for n in component.needs if isinstance(recipe.components[n], MIGraphX))
                yield recipe_rules.SAID_TWICE.finding(
                    at, f"`{name}` needs `{builder}`, which builds MIGraphX, and has `migraphx_home` too", fix="remove `migraphx_home`, or take it out of `needs:`",
                )  # fmt: skip


def _users(source: str, recipe: Recipe) -> list[tuple[str, Component]]:
    return [(n, c) for n, c in recipe.components.items() if getattr(c, "source", None) == source]


_PATCH_KINDS = {"migraphx": MIGraphX, "onnxruntime": OnnxRuntime, "rocmlir": RocMLIR}
"""Kinds that a folder of patches is often named after."""


def _patches(recipe: Recipe) -> Iterator[Finding]:
    """A folder of patches that is named after another component, or another version of it."""
    for name, source in recipe.sources.items():
        project, _, version = (source.patches or "").partition("/")
        users = _users(name, recipe)
        if not users or project not in _PATCH_KINDS:
            continue
        user, component = users[0]
        own, kind = getattr(component, "version", ""), getattr(component, "kind", "")
        if not any(isinstance(c, _PATCH_KINDS[project]) for _, c in users):
            yield recipe_rules.PATCHES.finding(
                f"sources.{name}.patches", f"patches of {project} for the source of `{user}`, which is of kind {kind}",
                fix=f"write such as `patches: {kind}/{own or 'VERSION'}`, or remove `patches`",
            )  # fmt: skip
        elif own and re.fullmatch(r"[\d.]+", version) and own != version and not own.startswith(f"{version}."):
            yield recipe_rules.PATCHES.finding(
                f"sources.{name}.patches", f"patches of {project} {version}, and `{user}` is {own}", fix=f"write `patches: {project}/{own}`, or remove `patches`",
            )  # fmt: skip


def _needed_files(recipe: Recipe) -> Iterator[Finding]:
    """Patterns of `exclude` that leave out the project's own CMakeLists.txt."""
    for name, source in recipe.sources.items():
        for user, component in _users(name, recipe):
            if isinstance(component, OnnxRuntime):
                file = "cmake/CMakeLists.txt"
            elif isinstance(component, CMake):
                file = f"{component.subfolder}/CMakeLists.txt".removeprefix("./")
            elif isinstance(component, Rocm) and not isinstance(component, Lc0):
                file = "CMakeLists.txt"
            else:
                continue
            parents = [file.rsplit("/", n)[0] for n in range(file.count("/") + 1)]
            for i, pattern in enumerate(source.exclude):
                if pattern.strip("*") and any(fnmatch.fnmatch(each, pattern.rstrip("/")) for each in (file, *parents)):
                    yield recipe_rules.EXCLUDE.finding(
                        f"sources.{name}.exclude.{i}", f"`{pattern}` leaves out `{file}`, which `{user}` is configured by",
                        fix="remove it, or write what is not built, such as `docs/*`",
                    )  # fmt: skip


def _packages_twice(recipe: Recipe) -> Iterator[Finding]:
    debian = recipe.base.debian
    if debian is None:
        return
    for i, package in enumerate(debian.extract):
        if package in debian.packages:
            yield recipe_rules.SAID_TWICE.finding(
                f"base.debian.extract.{i}", f"`{package}` is in `packages` too, which installs it", fix="remove it from `extract`",
            )  # fmt: skip
    if "main" not in debian.areas and {*debian.areas} <= {"contrib", "non-free", "non-free-firmware"}:
        yield recipe_rules.AREA.finding(
            "base.debian.areas", "the areas have no `main`, where all that a base needs is", fix=f"write `areas: [main, {', '.join(debian.areas)}]`",
        )  # fmt: skip
    for suite in debian.pin:
        if suite == debian.suite:
            yield recipe_rules.SAID_TWICE.finding(
                f"base.debian.pin.{suite}", f"`{suite}` is the base's own suite: nothing is pinned", fix="write another suite, such as `sid`, or remove it",
            )  # fmt: skip
    if debian.suite in ("stable", "oldstable", "testing"):
        release = {"stable": "trixie", "oldstable": "bookworm", "testing": "forky"}[debian.suite]
        yield recipe_rules.SUITE_MOVES.finding(
            "base.debian.suite", f"`{debian.suite}` is another release after the next one", fix=f"write `suite: {release}`",
        )  # fmt: skip


def _pins(recipe: Recipe) -> Iterator[Finding]:
    """Python packages of an image: twice, of tools that have a key, or with what is not a version."""
    extend = recipe.base.extend
    names: dict[str, str] = {}
    for i, pin in enumerate(extend.pip if extend else ()):
        name, _, version = pin.partition("==")
        plain = normal_name(name)
        at = f"base.extend.pip.{i}"
        if plain in names:
            yield recipe_rules.SAID_TWICE.finding(
                at, f"`{names[plain]}` is listed before: one of them wins", fix=f"remove `{pin}` or `{names[plain]}`"
            )
        elif plain in ("cmake", "ninja"):
            yield recipe_rules.SAID_TWICE.finding(
                at,
                f"`{plain}` has a key of its own in `extend`",
                fix=f"write `{plain}: {version}` in `extend:`, and remove it here",
            )
        elif not re.fullmatch(r"\d+(?:\.\d+)*(?:(?:a|b|rc|\.post|\.dev)\d+)*", version):
            number = re.match(r"\d+(?:\.\d+)*", version)
            yield recipe_rules.PIN.finding(
                at, f"`{version}` is not a version", fix=f"write such as `{name}=={number[0] if number else '1.2.3'}`"
            )
        names.setdefault(plain, pin)
    for key in ("cmake", "ninja") if extend else ():
        version = getattr(extend, key)
        if not re.fullmatch(r"\d+(?:\.\d+){1,3}", version):
            parts = [part for part in version.split(".") if part]
            step = ".".join(parts) if len(parts) > 1 else {"cmake": "3.31.10", "ninja": "1.13.0"}[key]
            yield recipe_rules.PIN.finding(
                f"base.extend.{key}", f"`{version}` is not a version of {key}", fix=f"write `{key}: {step}`"
            )


def _conversions(recipe: Recipe) -> Iterator[Finding]:
    for name, conversion in recipe.conversions.items():
        at = f"components.{name}.hipify"
        for i, pattern in enumerate(conversion.exclude):
            if pattern in conversion.include or pattern in ("*", "**", "**/*"):
                yield recipe_rules.SAID_TWICE.finding(
                    f"{at}.exclude.{i}", f"`{pattern}` is in `include` too: nothing is converted" if pattern in conversion.include else f"`{pattern}` leaves out every file: nothing is converted",
                    fix="remove it",
                )  # fmt: skip
        for i, folder in enumerate(conversion.headers):
            if re.search(r"\.(?:h|hpp|hh|hxx|cuh)$", folder):
                yield recipe_rules.HOME.finding(
                    f"{at}.headers.{i}", f"`{folder}` is a header, and `headers` lists folders", fix=f"write `{re.sub(r'/include/.*', '/include', folder)}`",
                )  # fmt: skip
    for name, conversion in recipe.conversions.items():
        source = recipe.sources.get(conversion.tool or "")
        if source and source.debian and source.debian != "hipify-perl":
            yield recipe_rules.HIPIFY.finding(
                f"components.{name}.hipify.tool", f"the source `{conversion.tool}` is Debian's package {source.debian}, which has no hipify-perl", fix="write `debian: hipify-perl` in that source",
            )  # fmt: skip
    for name, component in recipe.components.items():
        option = component.uses_gfx if isinstance(component, CMake) else None
        if option and re.search(r"CUDA|NVCC|(?:^|_)SM(?:_|$)|COMPUTE_CAP", option):
            yield recipe_rules.OPTION_NAME.finding(
                f"components.{name}.uses_gfx", f"`{option}` takes architectures of CUDA, and gets the recipe's gfx targets", fix="write `uses_gfx: CMAKE_HIP_ARCHITECTURES`",
            )  # fmt: skip


_CONFIGURES = ("cmake", "meson")
_BUILDS = ("make", "ninja")


def _script_order(recipe: Recipe) -> Iterator[Finding]:
    """Commands of a script in an order that cannot work, and programs that are almost known ones."""
    programs = [
        "cmake",
        "make",
        "ninja",
        "meson",
        "python3",
        "cargo",
        "install",
        "cp",
        "mkdir",
        "sh",
        "bash",
        "patch",
        "env",
        "mv",
        "tar",
        "hipcc",
    ]
    for name, component in recipe.components.items():
        commands = component.run if isinstance(component, Script) else ()
        for i, command in enumerate(commands):
            at, program = f"components.{name}.run.{i}", command[0]
            near = nearest(program, programs)
            if program not in programs and near and sorted(near) == sorted(program):
                yield recipe_rules.COMMAND.finding(
                    f"{at}.0", f"no program is known as `{program}`", fix=f"did you mean `{near}`?"
                )
            configures = program in _CONFIGURES and not {"--build", "--install", "compile", "install", "-E", "-P"} & {
                *command
            }
            before = next((c[0] for c in commands[:i] if c[0] in _BUILDS and "-C" not in c and "-f" not in c), "")
            if configures and before:
                yield recipe_rules.COMMAND.finding(
                    at, f"`{program}` configures after `{before}` was to build", fix=f"write the command of `{program}` before that of `{before}`", severity=Severity.WARNING,
                )  # fmt: skip
            if jobs := next(
                (
                    word
                    for word in command[1:]
                    if program in (*_BUILDS, "cmake") and re.fullmatch(r"-j\d+|--jobs=\d+|--parallel=\d+", word)
                ),
                "",
            ):
                yield recipe_rules.COMMAND.finding(
                    at, f"`{jobs}`: how many jobs run at once is the build's to say, over all steps", fix=f"remove `{jobs}`; `stackbuild build --jobs N` says it",
                )  # fmt: skip
            place = command[-1]
            if program in ("cp", "install", "mv", "mkdir") and re.match(
                r"/(?!out(?:/|$)|build(?:/|$)|tmp(?:/|$))", place
            ):
                step = (
                    f"`/out/{place.lstrip('/').removeprefix('output').lstrip('/')}`"
                    if not place.startswith("/src")
                    else "a path below `/out` or the working folder"
                )
                yield recipe_rules.COMMAND.finding(
                    at, f"`{place}` is written to, and `/out` alone is kept", fix=f"write {step}",
                )  # fmt: skip
            for flag, folder in pairwise(command):
                if flag in ("-B", "-b") and folder.startswith("/src/"):
                    yield recipe_rules.COMMAND.finding(
                        at, f"`{folder}` lies in the source, which is read-only", fix="write `-B .`: commands run in `/build/NAME`",
                    )  # fmt: skip


_XNACK = re.compile(r"gfx(?:801|810|9(?!06x)\w+|101\d)$")
_SRAMECC = ("gfx906", "gfx908", "gfx90a", "gfx942", "gfx950")


def _gfx_twice(recipe: Recipe) -> Iterator[Finding]:
    """Features that a target does not have, and a target with and without a feature. LLVM's AMDGPUUsage, "Target ID"."""
    plain = {target for target in recipe.gfx if ":" not in target}
    for i, target in enumerate(recipe.gfx):
        name, *features = target.split(":")
        for feature in features:
            has = name in _SRAMECC if feature.startswith("sramecc") else bool(_XNACK.match(name))
            if not has:
                yield recipe_rules.GFX_FEATURE.finding(
                    f"gfx.{i}", f"{name} has no feature `{feature[:-1]}`", fix=f"write `{name}`"
                )
        if features and name in plain:
            yield recipe_rules.GFX_FEATURE.finding(
                f"gfx.{i}", f"`{name}` and `{target}`: the compiler takes a target with a feature or without it", fix=f"remove `{name}` or `{target}`",
            )  # fmt: skip


_OTHERS_DISTRIBUTIONS = ("numpy", "onnx", "torch", "protobuf", "flatbuffers", "packaging", "sympy", "coloredlogs", "setuptools", "pip", "wheel", "scipy", "transformers")  # fmt: skip


def _distributions(recipe: Recipe) -> Iterator[Finding]:
    for name, wheel in recipe.wheels.items():
        plain = normal_name(wheel.distribution)
        own = {normal_name(package) for package in wheel.packages}
        if plain not in own and (plain in _OTHERS_DISTRIBUTIONS or plain == "onnxruntime"):
            step = re.sub(r"[^a-z0-9]+", "-", f"{recipe.name}-{name.removesuffix('-wheel')}")
            yield recipe_rules.WHEEL_NAME.finding(
                f"components.{name}.distribution", f"`{wheel.distribution}` is another project's distribution, and the wheel packs `{wheel.packages[0]}`",
                why="pip takes the one for the other", fix=f"write a name of its own, such as `distribution: {step}`", severity=Severity.WARNING,
            )  # fmt: skip


def _externals_twice(recipe: Recipe) -> Iterator[Finding]:
    for name, wheel in recipe.wheels.items():
        for i, pattern in enumerate(wheel.external):
            wider = next((each for each in wheel.external if each != pattern and fnmatch.fnmatch(pattern, each)), "")
            at = f"components.{name}.external.{i}"
            if wider and "*" not in pattern:
                yield recipe_rules.SAID_TWICE.finding(
                    at,
                    f"`{wider}` names `{pattern}` too",
                    fix=f"remove one of them: the wheel is for one ROCm with `{pattern}`",
                )
            elif (file := re.fullmatch(r"(lib[\w+-]+\.so\.\d+)(?:\.\d+){1,3}", pattern)) and packages_of(file[1])[1]:
                yield recipe_rules.EXTERNAL.finding(
                    at, f"`{pattern}` is the name of a file, and the library's soname is `{file[1]}`", fix=f"write `{file[1]}`",
                )  # fmt: skip
            elif re.match(r"lib(?:c|m|pthread|dl|rt|stdc\+\+|gcc_s)\.so", pattern):
                yield recipe_rules.EXTERNAL.finding(
                    at,
                    f"`{pattern}` is the system's, and of no ROCm",
                    fix="remove it: the system's libraries are never packed",
                )
            elif re.match(r"libonnxruntime(?:_providers_\w+)?\.so", pattern):
                yield recipe_rules.EXTERNAL.finding(
                    at,
                    f"`{pattern}` is ONNX Runtime's, and of no ROCm",
                    fix="remove it: the wheel has it, or its plugin is loaded by it",
                )
