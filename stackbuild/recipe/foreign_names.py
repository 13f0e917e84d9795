"""Values that name the right thing in another tool's words: cache entries that a key sets, packages of other distributions,
distributions of ONNX Runtime that overwrite each other. Pure.

For `recipe check`, `plan` and `build`. The names are those of `stackbuild/tables/foreign_names.toml`.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator

from stackbuild.core.project_names import normal_name
from stackbuild.model.components import CMake, Component, Kernels, Lc0, MIGraphX, OnnxRuntime, Rocm, Scalar, Wheel
from stackbuild.model.findings import Finding, Severity
from stackbuild.model.recipe import Recipe
from stackbuild.recipe import recipe_rules
from stackbuild.tables.foreign_names import known_options, meanings, names

_REQUIREMENT_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_COMMON_REQUIREMENTS = (
    "numpy", "onnx", "onnxruntime", "coloredlogs", "flatbuffers", "packaging", "protobuf", "sympy", "torch", "transformers", "pytest",
)  # fmt: skip
"""Distributions that recipes often name, to find a slip by."""


def foreign_names(recipe: Recipe) -> Iterator[Finding]:
    """Everything this module looks for."""
    yield from _options(recipe)
    yield from _uses_gfx(recipe)
    yield from _variables(recipe)
    yield from _packages(recipe)
    yield from _from_base(recipe)
    yield from _requirements(recipe)


def _options(recipe: Recipe) -> Iterator[Finding]:
    """Cache entries of components, and of the variants that change them."""
    for name, component in recipe.components.items():
        if isinstance(component, CMake | Kernels | Rocm) and not isinstance(component, Lc0):
            yield from _options_at(f"components.{name}.options", name, component, component.options, recipe)
    for variant, changes in recipe.matrix.variants.items():
        for name, options in changes.items():
            component = recipe.components[name]
            if isinstance(component, CMake | Kernels | Rocm) and not isinstance(component, Lc0):
                yield from _options_at(f"matrix.variants.{variant}.{name}", name, component, options, recipe)


def _options_at(
    where: str, name: str, component: CMake | Kernels | Rocm, options: dict[str, Scalar], recipe: Recipe
) -> Iterator[Finding]:
    for option, value in options.items():
        bare = option.partition(":")[0]
        at, is_on = f"{where}.{option}", str(value).lower() not in ("false", "off", "0", "no", "")
        if key := meanings("option_keys").get(bare):
            if step := _in_place(key, bare, str(value), component, recipe):
                yield recipe_rules.OPTION_KEY.finding(at, f"`{bare}` of `{name}` is what `{key}` sets", fix=step)
        elif step := meanings("option_steps").get(bare, ""):
            severity = Severity.ERROR if bare == "CMAKE_INSTALL_PREFIX" else Severity.WARNING
            what = f"`{bare}` of `{name}` takes the place of stackbuild's own"
            yield recipe_rules.OPTION_KEY.finding(at, what, fix=step, severity=severity)
        elif bare in meanings("providers") and isinstance(component, OnnxRuntime):
            yield from _provider_option(at, bare, is_on, component)
        elif bare == "CMAKE_BUILD_TYPE":
            yield from _build_type(at, str(value))
        elif (near := _near_option(bare)) and near not in options:
            yield recipe_rules.OPTION_NAME.finding(
                at, f"`{bare}` is almost `{near}`, and CMake takes any name", fix=f"did you mean `{near}`?",
            )  # fmt: skip


def _uses_gfx(recipe: Recipe) -> Iterator[Finding]:
    gfx_options = [option for option, key in meanings("option_keys").items() if key == "gfx"]
    for name, component in recipe.components.items():
        option = component.uses_gfx if isinstance(component, CMake) else None
        near = difflib.get_close_matches((option or "").upper(), gfx_options, 1, 0.9)
        if option and near and option not in gfx_options:
            yield recipe_rules.OPTION_NAME.finding(
                f"components.{name}.uses_gfx", f"`{option}` is almost `{near[0]}`, and CMake takes any name", fix=f"did you mean `{near[0]}`?",
            )  # fmt: skip


def _in_place(key: str, option: str, value: str, component: Component, recipe: Recipe) -> str:
    """What to do in place of a cache entry that a key of the recipe sets; "" where it agrees with the key."""
    if key == "gfx":
        if {*re.split(r"[;, ]+", value)} == {*recipe.gfx}:
            return ""
        if isinstance(component, CMake) and component.uses_gfx != option:
            return f"write `uses_gfx: {option}` in the component: it takes the recipe's `gfx`"
        return "remove it, and write the targets as the recipe's `gfx`"
    if key == "python":
        return "remove it: each of the recipe's `python` is built for"
    if key not in type(component).model_fields:
        return ""
    return "" if value == getattr(component, key) else f"write `{key}: {value}` in the component"


def _provider_option(at: str, option: str, is_on: bool, component: OnnxRuntime) -> Iterator[Finding]:
    provider = meanings("providers")[option]
    listed = provider in component.providers
    if not provider and is_on:
        yield recipe_rules.OPTION_KEY.finding(
            at, f"`{option}` builds a provider for another maker's hardware", fix="remove it: `providers` has what is built, `migraphx`",
        )  # fmt: skip
    elif provider and is_on != listed:
        others = [each for each in component.providers if each != provider]
        providers = ", ".join([*others, provider] if is_on else others)
        yield recipe_rules.OPTION_KEY.finding(
            at, f"`{option}` is {'on' if is_on else 'off'}, and `providers` has {', '.join(component.providers)}",
            fix=f"remove it, and write `providers: [{providers}]`",
        )  # fmt: skip


def _build_type(at: str, value: str) -> Iterator[Finding]:
    types = names("build_types", "names")
    if value.lower() not in [each.lower() for each in types]:
        near = difflib.get_close_matches(value.lower(), [each.lower() for each in types], 1, 0.6)
        replacement = next((each for each in types if near and each.lower() == near[0]), "")
        step = f"did you mean `{replacement}`?" if replacement else f"write one of: {', '.join(types)}"
        yield recipe_rules.OPTION_NAME.finding(at, f"`{value}` is not a build type of CMake", fix=step)


def _near_option(option: str) -> str:
    if option in known_options():
        return ""
    by_lower_case = {option_name.lower(): option_name for option_name in known_options()}
    near = difflib.get_close_matches(option.lower(), by_lower_case, 1, 0.92)
    return by_lower_case[near[0]] if near else ""


def _variables(recipe: Recipe) -> Iterator[Finding]:
    for name, component in recipe.components.items():
        for variable in component.env:
            if step := meanings("env_steps").get(variable, ""):
                yield recipe_rules.ENV_NAME.finding(
                    f"components.{name}.env.{variable}", f"`{variable}` in the `env` of `{name}`", fix=step,
                )  # fmt: skip


def _packages(recipe: Recipe) -> Iterator[Finding]:
    base = recipe.base
    lists = (
        [("base.debian.packages", base.debian.packages), ("base.debian.extract", base.debian.extract)]
        if base.debian
        else []
    )
    lists += [("base.extend.packages", base.extend.packages)] if base.extend else []
    for where, packages in lists:
        amd = () if base.debian else names("image", "without")
        for i, package in enumerate(packages):
            replacement = "" if package in amd else meanings("debian").get(package, "")
            if not replacement and package.endswith("-devel"):
                replacement = f"{package.removesuffix('-devel')}-dev"
            if replacement:
                yield recipe_rules.PACKAGE_NAME.finding(
                    f"{where}.{i}", f"`{package}` is not a package of Debian by that name", fix=f"write `{replacement}`",
                )  # fmt: skip


def _from_base(recipe: Recipe) -> Iterator[Finding]:
    lines = {*meanings("from_base").values(), "rocm-cmake", "rocMLIR"}
    for name, component in recipe.components.items():
        for i, line in enumerate(component.from_base if isinstance(component, MIGraphX) else ()):
            if replacement := meanings("from_base").get(line, ""):
                yield recipe_rules.FROM_BASE.finding(
                    f"components.{name}.from_base.{i}", f"`{line}` is not a line of MIGraphX's requirements.txt", fix=f"write `{replacement}`",
                )  # fmt: skip
            elif line not in lines:
                near = difflib.get_close_matches(line.lower(), lines, 1, 0.7)
                yield recipe_rules.FROM_BASE.finding(
                    f"components.{name}.from_base.{i}", f"`{line}` is not a line of MIGraphX's requirements.txt",
                    fix=f"write `{near[0]}`" if near else f"remove it, or write one of {', '.join(sorted(lines))}",
                )  # fmt: skip


def _requirements(recipe: Recipe) -> Iterator[Finding]:
    """Requirements of the clean environment and of wheels."""
    if recipe.verify:
        yield from _requirements_at("verify.runtime", recipe.verify.runtime, "")
    for name, wheel in recipe.wheels.items():
        module = "onnxruntime" if "onnxruntime" in wheel.packages else ""
        yield from _requirements_at(f"components.{name}.requires", wheel.requires, module)
        yield from _requirement_of_itself(name, wheel)


def _requirements_at(where: str, requirements: tuple[str, ...], module: str) -> Iterator[Finding]:
    for i, requirement in enumerate(requirements):
        match = _REQUIREMENT_NAME.match(requirement)
        name = match[0] if match else ""
        plain = normal_name(name)
        if plain in names("onnxruntime", "others"):
            yield recipe_rules.RUNTIME_TWICE.finding(
                f"{where}.{i}", f"`{name}` installs the folder `onnxruntime/`, as the wheel{' itself' if module else ' and `onnxruntime`'} may",
                fix="remove it" if module else "write `onnxruntime`: where the recipe builds one, its wheel takes that place",
            )  # fmt: skip
        elif module and plain == module:
            yield recipe_rules.RUNTIME_TWICE.finding(
                f"{where}.{i}", "`onnxruntime` installs the folder that this wheel has itself", fix="remove it",
            )  # fmt: skip
        elif replacement := meanings("index").get(name, ""):
            yield recipe_rules.REQUIREMENT_NAME.finding(
                f"{where}.{i}", f"`{name}` is not the name of the distribution", fix=f"write `{requirement.replace(name, replacement, 1)}`",
            )  # fmt: skip
        elif plain not in _COMMON_REQUIREMENTS and (
            near := difflib.get_close_matches(plain, _COMMON_REQUIREMENTS, 1, 0.8)
        ):
            yield recipe_rules.REQUIREMENT_NAME.finding(
                f"{where}.{i}", f"`{name}` is almost `{near[0]}`", fix=f"did you mean `{near[0]}`?",
            )  # fmt: skip


def _requirement_of_itself(name: str, wheel: Wheel) -> Iterator[Finding]:
    for i, requirement in enumerate(wheel.requires):
        match = _REQUIREMENT_NAME.match(requirement)
        if match and normal_name(match[0]) == normal_name(wheel.distribution):
            yield recipe_rules.RUNTIME_TWICE.finding(
                f"components.{name}.requires.{i}", f"`{match[0]}` is the wheel's own distribution", fix="remove it",
            )  # fmt: skip
