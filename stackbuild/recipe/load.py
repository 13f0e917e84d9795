"""text → Recipe: every mistake at once, each with its place, its cause and the next step.

Pure but for reading the named file.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from pathlib import Path

from stackbuild.core import yaml
from stackbuild.core.digest import Json
from stackbuild.core.errors import Mistake, RecipeError, UsageError, with_lines
from stackbuild.core.model import ValidationError
from stackbuild.core.model_mistakes import short
from stackbuild.core.resources import folder
from stackbuild.core.shell_words import shell_word
from stackbuild.core.versions import numbers
from stackbuild.core.yaml import Places
from stackbuild.model.components import Archive, Convertible, OnnxRuntime, Script, Wheel
from stackbuild.model.loaded_recipe import LoadedRecipe
from stackbuild.model.recipe import Recipe
from stackbuild.recipe.component_sources import sources_of
from stackbuild.recipe.followed_steps import with_tried_steps
from stackbuild.recipe.near_path import near_path
from stackbuild.recipe.other_namespaces import other_namespace
from stackbuild.recipe.validation import mistakes
from stackbuild.recipe.value_mistakes import keys_in_open_sections, value_mistakes
from stackbuild.recipe.wheels import NAMES, providers_of, unmatched_demands, wheels_of
from stackbuild.tables.near_words import close_to, nearest
from stackbuild.tables.provider_options import builtin_providers, plugin_providers
from stackbuild.tables.targets import processor

RESERVED_NAMES = ("base", "configure", "source", "wheelhouse")
"""Names, or first parts of names, of steps that no component makes."""

def bundled_recipes() -> dict[str, Path]:
    """The recipes that ship with stackbuild, by name."""
    files = sorted(folder("recipes").glob("*.yaml"))
    tables = ("compatibility", "evidence")
    return {p.stem: p for p in files if not p.name.endswith(".lock.yaml") and p.stem not in tables}


def load(name: str, allowed_folders: Sequence[Path] = ()) -> LoadedRecipe:
    """The recipe of that bundled name or path; `allowed_folders` are the folders beside its own that its paths may lead into.

    Raises UsageError where there is none, RecipeError where it is wrong.
    """
    path = _find(name)
    text = _read(path)
    data, places = _compose(text, str(path))
    recipe, lock_path = _validate(data, places, text), path.with_name(f"{path.stem}.lock.yaml")
    return LoadedRecipe(recipe, name, path.parent, lock_path, path, text, places, tuple(allowed_folders))


def _find(name: str) -> Path:
    recipes = bundled_recipes()
    if name in recipes:
        return recipes[name]
    path = Path(name)
    try:
        if path.is_file():
            return path
    except OSError as error:  # such as a name that is too long, or a folder that is closed to us
        raise UsageError(
            f"cannot read it: {error.strerror}", where=short(name), next="give a recipe's name or path"
        ) from None
    if path.is_dir():
        files = sorted(each.as_posix() for each in path.glob("*.yaml") if not each.name.endswith(".lock.yaml"))
        example = f"name a recipe in it, such as `{files[0]}`" if files else "it has no .yaml file; name a recipe"
        raise UsageError(f"{short(name)} is a folder, not a recipe", next=example)
    if name.endswith((".yaml", ".yml")) and name.rpartition("/")[2].removesuffix(".yaml") not in recipes:
        near = _file_near(path) or near_path(name)
        step = f"did you mean `{near}`?" if near else f"`stackbuild recipe new --rocm 7.2 -o {shell_word(path.name)}` writes one"
        raise UsageError(f"there is no file {short(name)}, and no bundled recipe of that name", next=step)
    near = nearest(name, [*recipes])
    every = f"`stackbuild recipe list` shows the bundled ones: {', '.join(recipes) or 'none'}"
    raise UsageError(
        f"no recipe {short(name)}: neither a bundled recipe nor a file", next=f"did you mean {near}?" if near else every
    )


def _file_near(path: Path) -> str:
    """The YAML file of the same folder whose name is almost that one; "" where there is none."""
    try:
        names = [each.name for each in path.parent.iterdir() if each.suffix in (".yaml", ".yml")]
    except OSError:
        return ""
    by_stem = {each.rpartition(".")[0]: each for each in names if not each.endswith(".lock.yaml")}
    near = difflib.get_close_matches(path.name.rpartition(".")[0], by_stem, n=1, cutoff=0.7)
    return path.with_name(by_stem[near[0]]).as_posix() if near else ""


BINARY = (b"\x7fELF", b"PK\x03\x04", b"\x1f\x8b")
"""What an ELF file, a zip archive such as a wheel, and a gzip file begin with."""


def _read(path: Path) -> str:
    try:
        if path.stat().st_size > yaml.MAX_BYTES:
            raise RecipeError((Mistake(f"{path}:1:1", "larger than 1 MiB", "a recipe is a page; split it"),))
        with path.open("rb") as file:
            if file.read(4).startswith(BINARY):
                raise RecipeError(
                    (Mistake(f"{path}:1:1", "a program or an archive, not a recipe", "name the recipe's YAML file"),)
                )
        return path.read_text("utf-8")
    except UnicodeDecodeError as error:
        raise RecipeError((Mistake(f"{path}:1:1", f"not UTF-8: byte {error.start}", "save it as UTF-8"),)) from None
    except OSError as error:
        raise UsageError(f"cannot read it: {error.strerror}", where=str(path), next="check its permissions") from None


def parse(text: str, name: str) -> Recipe:
    """A recipe from its text; `name` is said in messages. Raises RecipeError with every mistake found."""
    return _validate(*_compose(text, name), text)


def _compose(text: str, name: str) -> tuple[Json, Places]:
    """The text as YAML. A table of TOML at its beginning is refused as such, and not for what YAML makes of it."""
    if re.match(r"(?:#.*\n|\s)*\[[\w.-]+\]\s*\n", text):
        return text, Places(name)
    return yaml.compose(text, name)


_NAME_ONE = "name a recipe; `stackbuild recipe show debian-13` prints one"
_OF_CI = "name a recipe; `stackbuild ci render` writes pipelines"
_OF_CONDA = "name a recipe; `stackbuild recipe new --rocm 7.2 -o my.yaml` writes one"
_OTHER_DOCUMENTS = (
    ({"asked", "questions"}, "a lock", "name its recipe, the file without `.lock` in its name"),
    ({"gates"}, "a file of gates", "name a recipe; `stackbuild gate --gates FILE` reads it"),
    ({"kind", "models"}, "a suite of benchmarks", "name a recipe, and write this as `bench: {suite: FILE}` in it"),
    ({"kind", "kernels"}, "a suite of benchmarks", "name a recipe, and write this as `bench: {suite: FILE}` in it"),
    ({"jobs", "on"}, "a workflow of GitHub", "name a recipe; `stackbuild ci render` writes workflows"),
    ({"services"}, "a compose file", "name a recipe; `stackbuild recipe show debian-13` prints one"),
    *(
        (names, f"a recipe of {tool}", _OF_CONDA)
        for names, tool in (
            ({"package", "build"}, "rattler-build or conda-build"),
            ({"package", "requirements"}, "rattler-build or conda-build"),
            ({"package", "source"}, "rattler-build or conda-build"),
            ({"recipe", "outputs"}, "rattler-build"),
        )
    ),
    ({"dependencies", "channels"}, "an environment of conda", "name a recipe; its packages are `base: {debian: {…}}` there"),
    ({"dependencies", "name"}, "an environment of conda", "name a recipe; its packages are `base: {debian: {…}}` there"),
    ({"stages", "script"}, "a pipeline of GitLab", _OF_CI),
    ({"stages"}, "a pipeline", _OF_CI),
    ({"trigger", "pool"}, "a pipeline of Azure", _OF_CI),
    ({"version", "jobs"}, "a pipeline of CircleCI", _OF_CI),
    ({"version", "updates"}, "a file of Dependabot", _NAME_ONE),
    ({"repos"}, "a file of pre-commit or of vcs", _NAME_ONE),
    ({"spack"}, "an environment of Spack", _NAME_ONE),
    ({"modules"}, "a manifest of Flatpak or of Spack", _NAME_ONE),
    ({"apiVersion", "kind"}, "a manifest of Kubernetes", "name a recipe; `stackbuild image` writes container images"),
    ({"apiVersion"}, "a chart of Helm", "name a recipe; `stackbuild image` writes container images"),
    ({"runs", "inputs"}, "an action of GitHub", _OF_CI),
    ({"configurePresets"}, "a file of CMake presets", "name a recipe, and write the presets' cache variables as a component's `options`"),
    ({"site_name"}, "a file of MkDocs", _NAME_ONE),
    ({"build", "python"}, "a file of Read the Docs", _NAME_ONE),
    ({"hosts", "tasks"}, "a playbook of Ansible", _NAME_ONE),
    ({"$schema"}, "a JSON schema or a document with one", _NAME_ONE),
    ({"remotes"}, "a file of remotes", "name a recipe; STACKBUILD_REMOTES names this file"),
)
"""Keys at the top of other documents, what each is, and what to do with it."""


def _refuse_other_document(data: Json, places: Places, text: str) -> None:
    """Raises RecipeError for what is not a recipe at all, with what it is."""
    keys = {*data} if isinstance(data, dict) else set[str]()
    what, step = "a recipe is a mapping", "start from `stackbuild recipe show debian-13`"
    if not isinstance(data, dict):
        if re.match(r"(?:#.*\n|\s)*(?:\[[\w.\"-]+\]|[\w-]+ *= *\S)", text):
            what, step = (
                "it is TOML, and a recipe is YAML",
                "name a recipe; `stackbuild recipe show debian-13` prints one",
            )
        elif re.search(r"(?m)^FROM \S", text):
            what, step = (
                "it is a Dockerfile, not a recipe",
                "write the image that it begins with as `base: {image: …}` in a recipe",
            )
        raise RecipeError((Mistake(f"{places.name}:1:1", what, step),))
    for names, kind, advice in _OTHER_DOCUMENTS:
        if names <= keys and not keys & {"base", "components"}:
            raise RecipeError((Mistake(f"{places.name}:1:1", f"it is {kind}, not a recipe", advice),))


def _validate(data: Json, places: Places, text: str) -> Recipe:
    _refuse_other_document(data, places, text)
    assert isinstance(data, dict)
    if nul := _with_nul(data, ()):
        raise RecipeError(
            tuple(
                Mistake(
                    places.of_value(p), "a NUL character in a text", "take the `\\0` out: no command can be given it"
                )
                for p in nul
            )
        )
    templates = [
        Mistake(
            places.of_value(path),
            f"`{template[:60]}` is a variable or a template",
            _without_template(path, template),
        )
        for path, template in _templates(data, ())
    ]
    recipe, wrong = _recipe_and_mistakes(data, places, text, {each.place for each in templates})
    if templates or wrong:
        final_mistakes = with_tried_steps(wrong, data, places, lambda other, at: _recipe_and_mistakes(other, at, "", set())[1])
        raise RecipeError(with_lines((*templates, *final_mistakes), text))
    assert recipe is not None
    return recipe


def _recipe_and_mistakes(data: Json, places: Places, text: str, known_places: set[str]) -> tuple[Recipe | None, list[Mistake]]:
    """The recipe of that data, if it is of the schema, and what is wrong with it at places that are not known to be wrong."""
    try:
        recipe = Recipe.model_validate(data)
    except ValidationError as error:
        return None, [each for each in mistakes(error, places, text, data) if each.place not in known_places]
    if known_places:
        return recipe, []
    wrong = [*(mistake for mistake, _, _ in keys_in_open_sections(data, places)), *value_mistakes(data, recipe, places)]
    at = {mistake.place for mistake in wrong}
    references = (*_wrong_references(recipe, places), *_wrong_demands(recipe, places), *_cycle(recipe, places))
    wrong += [mistake for mistake in references if mistake.place not in at]
    if not wrong:
        wrong = _idle_demands(recipe, places)
    return recipe, sorted(wrong, key=_line)


def _without_template(path: yaml.KeyPath, template: str) -> str:
    if path[0] == "publish":
        return "write `{rocm}`, which is the recipe's `rocm:`, or the value: nothing else is filled in"
    if "runpaths" in path and template.strip("${}") == "ORIGIN":
        return "remove it: a RUNPATH from `$ORIGIN` is always allowed, and `runpaths` names absolute ones"
    if path[-1] == "path":
        return "write the path from the recipe's folder, such as `path: src`: no variable is filled in"
    return yaml.NO_TEMPLATES


def _line(mistake: Mistake) -> int:
    number = mistake.place.rsplit(":", 2)[1]
    return int(number) if number.isdigit() else 0


def _with_nul(data: Json, path: yaml.KeyPath) -> list[yaml.KeyPath]:
    """The paths of texts with a NUL: nothing that is handed to the system can hold one."""
    if isinstance(data, str):
        return [path] if "\0" in data else []
    rows = list(data.items()) if isinstance(data, dict) else list(enumerate(data)) if isinstance(data, list) else []
    paths = [(*path, key) for key, _ in rows if isinstance(key, str) and "\0" in key]
    return paths + [deep for key, value in rows for deep in _with_nul(value, (*path, key))]


_TEMPLATE = re.compile(r"\$\{\{.*?\}\}|\{\{.*?\}\}|\{%.*?%\}|\$\{[A-Za-z_]\w*[^}]*\}|\$\([^)]*\)|\$[A-Za-z_]\w*")
_COMMANDS = ("run", "env", "options", "clang_flags", "summary")
"""Keys whose values reach a command or a reader as they are: a `$` in them is somebody else's."""


def _templates(data: Json, path: yaml.KeyPath) -> list[tuple[yaml.KeyPath, str]]:
    """What other tools would fill in, such as `${{ matrix.gfx }}`, `{{ version }}` and `$VERSION`, and where it stands."""
    if path and path[-1] in _COMMANDS:
        return []
    if isinstance(data, str):
        return [(path, match[0])] if (match := _TEMPLATE.search(data)) else []
    rows = list(data.items()) if isinstance(data, dict) else list(enumerate(data)) if isinstance(data, list) else []
    return [deep for key, value in rows for deep in _templates(value, (*path, key))]


def _wrong_references(recipe: Recipe, places: Places) -> list[Mistake]:
    wrong = [
        Mistake(
            places.of_key(("components", name)),
            f"`{name}` is reserved: a step of stackbuild's own has it",
            f"give the component another name; reserved are {', '.join(RESERVED_NAMES)}",
        )
        for name in recipe.components
        if name in RESERVED_NAMES
    ]
    wrong += _missing_components(recipe, places)
    wrong += _missing_sources(recipe, places)
    wrong += _needs_of_files(recipe, places)
    wrong += _tools(recipe, places)
    for variant, changes in recipe.matrix.variants.items():
        for name in changes:
            if not hasattr(recipe.components.get(name), "options"):
                at = places.of_key(("matrix", "variants", variant, name))
                names = sorted(n for n, c in recipe.components.items() if hasattr(c, "options"))
                kinds = [n for n in names if recipe.components[n].kind == name]
                what, other = other_namespace(name, recipe, names) or ("", "")
                step = f"write the component's name, `{kinds[0]}`" if len(kinds) == 1 else other or close_to(name, names)
                wrong.append(Mistake(at, f"`{name}` is not a component with options{what}", step))
    for name, source in recipe.sources.items():
        if source.bundled is not None and not _ships(source.bundled):
            at = places.of_value(("sources", name, "bundled"))
            wrong.append(Mistake(at, f"no folder `{source.bundled}` ships with stackbuild", "write `kernels`, the only one"))
    return wrong


def _missing_components(recipe: Recipe, places: Places) -> list[Mistake]:
    """`needs` that name no component."""
    needs: list[tuple[str, yaml.KeyPath, str]] = [
        (need, ("components", name, "needs", i), f"`{name}` needs `{need}`, which is not a component")
        for name, component in recipe.components.items()
        for i, need in enumerate(component.needs)
    ]
    return _missing_names(needs, "components", sorted(recipe.components), places, recipe)


def _needs_of_files(recipe: Recipe, places: Places) -> list[Mistake]:
    """`needs` that name a wheel or an archive: those are files for users, and hold nothing to compile or link with."""
    wrong = []
    for name, component in recipe.components.items():
        for i, need in enumerate(component.needs if not isinstance(component, Script) else ()):
            wheel = recipe.components.get(need)
            if isinstance(wheel, Wheel | Archive) and name not in (need, wheel.needs[0]):
                at = places.of_value(("components", name, "needs", i))
                what = f"`{name}` needs `{need}`, which is a file for users: nothing is built with it"
                wrong.append(Mistake(at, what, f"write what it packs, `{wheel.needs[0]}`, or remove it"))
    return wrong


def _tools(recipe: Recipe, places: Places) -> list[Mistake]:
    """`tool` of a conversion that names a source of another kind, and keys of `hipify` that its engine does not read."""
    wrong = []
    source_names = {str(getattr(c, "source", "")) for c in recipe.components.values()}
    tools = [n for n, s in recipe.sources.items() if (s.debian or "").startswith("hipify")]
    for name, component in recipe.components.items():
        conversion = component.hipify if isinstance(component, Convertible) else None
        if conversion is None:
            continue
        source = recipe.sources.get(conversion.tool or "")
        if (
            source
            and (conversion.tool in source_names or source.bundled or source.pypi)
            and not (source.debian or "").startswith("hipify")
        ):
            at = places.of_value(("components", name, "hipify", "tool"))
            step = (
                f"write `tool: {tools[0]}`"
                if tools
                else "add a source `debian: hipify-perl` and name that, or remove `tool`"
            )
            wrong.append(Mistake(at, f"the source `{conversion.tool}` has no hipify-perl", step))
        for key in ("clang_flags", "cuda"):
            if getattr(conversion, key) and conversion.engine != "clang":
                at = places.of_key(("components", name, "hipify", key))
                what = f"`{key}` is read by `engine: clang` alone, and the engine here is {conversion.engine}"
                wrong.append(Mistake(at, what, "write `engine: clang`, or remove it"))
    return wrong


def _missing_sources(recipe: Recipe, places: Places) -> list[Mistake]:
    """Keys of components that name no source."""
    uses: list[tuple[str, yaml.KeyPath, str]] = [
        (source, ("components", name, *key), f"`{source}` is not a source")
        for name, component in recipe.components.items()
        for key, source in sources_of(component).items()
    ]
    return _missing_names(uses, "sources", sorted(recipe.sources), places, recipe)


def _missing_names(
    uses: list[tuple[str, yaml.KeyPath, str]], section: str, names: list[str], places: Places, recipe: Recipe
) -> list[Mistake]:
    """A mistake for each use of a name that is not defined. Where several uses agree, and one definition that nothing uses is
    spelt like them, the definition is the mistake.
    """
    wrong, idle_names = [], [name for name in names if name not in {use for use, _, _ in uses}]
    for missing in dict.fromkeys(use for use, _, _ in uses if use not in names):
        paths = [(path, what) for use, path, what in uses if use == missing]
        spelling = nearest(missing, idle_names)
        if spelling and len(paths) > 1:
            lines = ", ".join(str(places.values[path][0]) for path, _ in paths)
            what = f"`{section}` has `{spelling}`, and lines {lines} name `{missing}`, which is not there"
            wrong.append(
                Mistake(places.of_key((section, spelling)), what, f"did you mean `{missing}:`? Else change those lines")
            )
            continue
        step = close_to(missing, names)
        owners = {path[1] for path, _ in paths} if section == "components" else set()
        others = [name for name in names if name not in owners]
        if (other := other_namespace(missing, recipe, others, section)) and not nearest(missing, names):
            wrong += [Mistake(places.of_value(path), f"{what}{other[0]}", other[1]) for path, what in paths]
            continue
        if near := nearest(missing, names):
            step = f"{step} It is defined on line {places.keys[section, near][0]}"
        elif names:
            step = f"{step}; or define `{missing}:` below `{section}:`"
        wrong += [Mistake(places.of_value(path), what, step) for path, what in paths]
    return wrong


def _wrong_demands(recipe: Recipe, places: Places) -> list[Mistake]:
    """Demands on wheels that are none, or for targets that the recipe does not build."""
    wrong = []
    processors = sorted({processor(target) for target in recipe.gfx})
    for i, target in enumerate(recipe.verify.emulate if recipe.verify else ()):
        if target not in processors:
            at = places.of_value(("verify", "emulate", i))
            next = f"add it to `gfx:`, or emulate one of {', '.join(processors)}"
            wrong.append(Mistake(at, f"{target} is to be emulated, and the recipe does not build it", next))
    for name, required_rungs in (recipe.verify.wheels if recipe.verify else {}).items():
        if name not in recipe.wheels:
            at = places.of_key(("verify", "wheels", name))
            what, step = other_namespace(name, recipe, sorted(recipe.wheels)) or ("", "")
            step = step or close_to(name, sorted(recipe.wheels))
            wrong.append(Mistake(at, f"`{name}` is not a wheel component{what}", step))
        for i, target in enumerate(required_rungs.gfx or ()):
            if target not in recipe.gfx:
                at = places.of_value(("verify", "wheels", name, "gfx", i))
                wrong.append(
                    Mistake(
                        at, f"{short(target)} is none of the recipe's gfx targets", close_to(target, list(recipe.gfx))
                    )
                )
    return wrong


def _idle_demands(recipe: Recipe, places: Places) -> list[Mistake]:
    """Demands that would be checked against no wheel, and so never fail."""
    wrong = []
    for key in unmatched_demands(recipe):
        path: yaml.KeyPath = ("verify", *(int(part) if part.isdigit() else part for part in key.split(".")))
        name = recipe.verify.providers[at] if recipe.verify and isinstance(at := path[-1], int) else ""
        providers = sorted({p for each in wheels_of(recipe) for p in providers_of(each, recipe)})
        near = nearest(name, providers) if name not in NAMES.values() else ""
        which = "say which wheel does: `verify: {wheels: {NAME: {…}}}`; see docs/recipes.md, Verify"
        all_providers = [*(each.name for each in builtin_providers().values()), *plugin_providers()]
        if name and not near and name not in all_providers:
            what = f"{name} is not an execution provider that is known"
            which = f"{close_to(name, sorted(all_providers))} One of the recipe's wheels must bring it"
        else:
            what = f"no wheel of this recipe brings {name or 'it'}, so it would never be checked"
        if short_names := [short for short, full in NAMES.items() if full == name]:
            which = f"add `{short_names[0]}` to the `providers` of the `onnxruntime` component, or remove it here"
        next = f"did you mean `{near}`?" if near else which
        if name == NAMES["migraphx"] and (owner := _only_rocm_provider(recipe)):
            what = f"ROCm {recipe.rocm} has no `rocm` provider, and `{owner}` builds no other"
            at_providers = places.of_value(("components", owner, "providers"))
            wrong.append(Mistake(at_providers, what, "write `providers: [migraphx]`"))
            continue
        wrong.append(Mistake(places.of_value(path), f"`verify.{key.partition('.')[0]}`: {what}", next))
    return wrong


def _only_rocm_provider(recipe: Recipe) -> str:
    """The component that builds the ROCm provider alone, for a ROCm that no longer has it (7.1); "" for none."""
    owners = [n for n, c in recipe.components.items() if isinstance(c, OnnxRuntime) and c.providers == ("rocm",)]
    return owners[0] if owners and numbers(recipe.rocm or "0") >= (7, 1) else ""


def _ships(name: str) -> bool:
    try:
        return folder(name).is_dir()
    except FileNotFoundError:
        return False


def _needs_itself(name: str, recipe: Recipe, places: Places) -> Mistake:
    needs = recipe.components[name].needs
    at = places.of_value(("components", name, "needs", needs.index(name)))
    others = [each for each, other in recipe.components.items() if each not in (name, *needs) and name not in other.needs]
    near = nearest(name.removesuffix("-wheel"), others) if others else ""
    step = f"write the component that it packs or links: `{near}`" if near else f"remove `{name}` from its `needs`"
    return Mistake(at, f"`{name}` needs itself", step)


def _cycle(recipe: Recipe, places: Places) -> list[Mistake]:
    """The first cycle of `needs`, if there is one."""
    from graphlib import CycleError, TopologicalSorter

    try:
        TopologicalSorter({n: c.needs for n, c in recipe.components.items()}).prepare()
    except CycleError as error:
        round_ = error.args[1]
        lines = sorted({places.values["components", name, "needs"][0] for name in round_})
        at = places.of_value(("components", round_[1], "needs"))
        if len({*round_}) == 1:
            return [_needs_itself(round_[0], recipe, places)]
        return [
            Mistake(
                at,
                f"components need each other: {' → '.join(reversed(round_))}",
                f"remove one of these `needs`, at lines {', '.join(map(str, lines))}",
            )
        ]
    return []
