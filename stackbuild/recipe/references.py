"""What a recipe names outside of itself, looked at before a step runs: folders, patches, suites, sides and cases of gates.

Every command that plans or builds calls `refuse_mistakes` first, so that a wrong word costs a second and not the hours up to
the stage that reads it. Reads files beside the recipe; starts nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from stackbuild.core.errors import Mistake, RecipeError, UsageError, with_lines
from stackbuild.core.resources import folder
from stackbuild.core.shell_words import shell_word
from stackbuild.core.yaml import KeyPath, Places
from stackbuild.model.components import CMake, Kernels, Scalar
from stackbuild.model.findings import Finding, SourceLocation
from stackbuild.model.gates import BaselineGate, Gate, LimitGate, MemoryGate, ShareGate, SpeedupGate
from stackbuild.model.loaded_recipe import LoadedRecipe
from stackbuild.model.recipe import Recipe
from stackbuild.model.suite import Suite
from stackbuild.recipe.forms import is_archive_name
from stackbuild.recipe.near_path import near_path
from stackbuild.recipe.suites import bundled_suites, load_suite
from stackbuild.recipe.wheels import KERNELS_EP
from stackbuild.tables.near_words import close_to, nearest
from stackbuild.tables.provider_options import builtin_providers, plugin_providers
from stackbuild.tables.providers import HIPDNN

SIDES = ("candidate", "baseline")
"""The sides of every measurement, where there is a baseline."""
OWN = "onnxruntime"
"""The side of a suite of kernels that runs ONNX Runtime's own operators."""


def refuse_mistakes(loaded_recipe: LoadedRecipe) -> None:
    """Raises RecipeError with every mistake that `mistakes_of` finds."""
    mistakes = sorted(mistakes_of(loaded_recipe), key=lambda m: [int(n) for n in m.place.rsplit(":", 2)[1:]])
    if mistakes:
        raise RecipeError(with_lines(mistakes, loaded_recipe.text))


def mistakes_of(loaded_recipe: LoadedRecipe) -> Iterator[Mistake]:
    """Every mistake that only the files beside the recipe, or the suite that it names, can show."""
    yield from _paths(loaded_recipe, loaded_recipe.places)
    yield from _gates(loaded_recipe, loaded_recipe.places)
    yield from _changed_numbers(loaded_recipe)


def _changed_numbers(loaded_recipe: LoadedRecipe) -> Iterator[Mistake]:
    """Options whose number is not the text of the recipe: `3.10` is 3.1 to YAML, and CMake would be given that."""
    recipe, rows = loaded_recipe.recipe, loaded_recipe.text.split("\n")
    mappings: dict[KeyPath, Mapping[str, Scalar]] = {
        ("components", name, "options"): getattr(component, "options", {})
        for name, component in recipe.components.items()
    }
    for variant, changes in recipe.matrix.variants.items():
        mappings |= {("matrix", "variants", variant, name): options for name, options in changes.items()}
    for path, options in mappings.items():
        for option, value in options.items():
            line, column = loaded_recipe.places.values.get((*path, option), (0, 0))
            number = re.match(r"[\w.+-]+", rows[line - 1][column - 1 :]) if line else None
            if number and type(value) in (int, float) and number[0] != str(value):
                what = f"`{option}`: {number[0]} is the number {value} to YAML"
                at = loaded_recipe.places.of_value((*path, option))
                yield Mistake(at, what, f'write `{option}: "{number[0]}"` for the text, or `{option}: {value}`')


def with_places(findings: Iterable[Finding], loaded_recipe: LoadedRecipe) -> tuple[Finding, ...]:
    """The findings of a recipe, each with the place of the key that its subject names, such as `sources.migraphx`."""
    places = loaded_recipe.places

    def with_place(finding: Finding) -> Finding:
        path: KeyPath = ()
        for part in finding.subject.split("."):
            deeper = (*path, int(part) if part.isdigit() else part)
            path = deeper if deeper in places.values else path
        if finding.place is not None or not path:
            return finding
        value, key = places.values[path], places.keys.get(path)
        line, column = key if key and key[0] < value[0] else value
        return replace(finding, place=SourceLocation(str(loaded_recipe.path), line, column))

    return tuple(map(with_place, findings))


def _paths(loaded_recipe: LoadedRecipe, places: Places) -> Iterator[Mistake]:
    yield from _subfolders(loaded_recipe, places)
    for name, source in loaded_recipe.recipe.sources.items():
        at = places.of_value(("sources", name, "path"))
        if source.path is not None:
            yield from _folder(source.path, loaded_recipe, at)
        if source.patches is not None and not loaded_recipe.patch_folder(source.patches).is_dir():
            at, folders = places.of_value(("sources", name, "patches")), _patch_folders(loaded_recipe)
            if re.search(r"\.(patch|diff)$", source.patches):
                next = "write the folder that has it, `COMPONENT/VERSION` below `patches/` beside the recipe"
                yield Mistake(at, f"`{source.patches}` is a patch, and `patches` is a folder of them", next)
                continue
            near = nearest(source.patches, folders)
            suggestion = f"did you mean `{near}`?" if near else f"there are {', '.join(folders) or 'none'}"
            next = (
                f"{suggestion}{'' if near else '.'} Make it below `patches/` beside the recipe, or leave `patches` out"
            )
            yield Mistake(at, f"there is no folder of patches `{source.patches}`", next)


def _subfolders(loaded_recipe: LoadedRecipe, places: Places) -> Iterator[Mistake]:
    """CMake components whose source is a folder beside the recipe, and has no CMakeLists.txt where it is looked for."""
    for name, component in loaded_recipe.recipe.components.items():
        path = loaded_recipe.recipe.sources[component.source].path if isinstance(component, CMake) else None
        if not isinstance(component, CMake) or path is None or not (loaded_recipe.folder / path).is_dir():
            continue
        if not (loaded_recipe.folder / path / component.subfolder / "CMakeLists.txt").is_file():
            beside = sorted(p.parent.name for p in (loaded_recipe.folder / path).glob("*/CMakeLists.txt"))
            next = (
                f"write `subfolder: {beside[0]}`"
                if len(beside) == 1
                else "name the folder of its CMakeLists.txt as `subfolder:`"
            )
            at = places.of_value(
                ("components", name, "subfolder" if "subfolder" in component.model_fields_set else "source")
            )
            yield Mistake(at, f"there is no CMakeLists.txt in `{(Path(path) / component.subfolder).as_posix()}`", next)


def _folder(path: str, loaded_recipe: LoadedRecipe, at: str) -> Iterator[Mistake]:
    """Whether a source's folder is there, and in a place that recipes may read."""
    target = (loaded_recipe.folder / path).resolve()
    name = re.split(r"[/\\]+", path.rstrip("/\\"))[-1]
    if "://" in path:
        key = "archive" if is_archive_name(path) else "git"
        other = {"git": "with its tag as `ref:`", "archive": "with its `sha256:`"}[key]
        bare = path.removeprefix("file://")
        next = (
            f"write `path: {name}`, from the recipe's folder"
            if bare != path
            else f"write `{key}: {path}`, {other}, in place of `path`"
        )
        yield Mistake(at, f"`{path}` is an address, and `path` is a folder beside the recipe", next)
        return
    if not target.is_dir() and (path.startswith("~") or "\\" in path or re.match(r"[A-Za-z]:", path)):
        what = (
            "`~` is filled in by a shell, and none runs" if path.startswith("~") else "it is a path as Windows has it"
        )
        next = f"write the path from the recipe's folder, with `/`, such as `path: {name}`; another folder needs --allow-path"
        yield Mistake(at, f"there is no folder `{path}` beside the recipe: {what}", next)
        return
    beside = sorted(p.name for p in loaded_recipe.folder.iterdir() if p.is_dir() and not p.name.startswith("."))
    if not any(target.is_relative_to(each.resolve()) for each in (loaded_recipe.folder, *loaded_recipe.allowed)):
        next = f"give a path below it, relative to the recipe, or allow that folder: --allow-path {shell_word(target)}"
        yield Mistake(at, f"`{path}` does not lie beside the recipe, in {loaded_recipe.folder.resolve()}", next)
    elif target.is_file():
        parent = Path(path).parent.as_posix()
        how = (
            "unpack it, and name the folder"
            if is_archive_name(path)
            else f"write `path: {parent}`"
            if parent != "."
            else "name a folder"
        )
        yield Mistake(at, f"`{path}` is a file, and `path` is a folder", how)
    elif not target.is_dir():
        near = near_path(path, loaded_recipe.folder)
        near = near if near and (loaded_recipe.folder / near).is_dir() else nearest(Path(path).name, beside)
        near = near or (beside[0] if len(beside) == 1 else "")
        suggestion = f"did you mean `{near}`? Paths" if near else "paths"
        yield Mistake(
            at,
            f"there is no folder `{path}` beside the recipe",
            f"{suggestion} start at {loaded_recipe.folder.resolve()}",
        )


def _patch_folders(loaded_recipe: LoadedRecipe) -> list[str]:
    """Every folder of patches that a recipe may name: COMPONENT/VERSION."""
    roots = (loaded_recipe.folder / "patches", folder("patches"))
    return sorted(
        {p.relative_to(root).as_posix() for root in roots if root.is_dir() for p in root.glob("*/*") if p.is_dir()}
    )


def _gates(loaded_recipe: LoadedRecipe, places: Places) -> Iterator[Mistake]:
    recipe = loaded_recipe.recipe
    if recipe.bench is None:
        if recipe.gates:
            has_kernels = any(isinstance(component, Kernels) for component in recipe.components.values())
            suite_name = _suite_of_all(recipe) or ("kernels-quick" if has_kernels else "models-quick")
            next = f"add `bench: {{suite: {suite_name}}}`, or remove the gates"
            yield Mistake(
                places.of_key(("gates",)), "the recipe has gates and measures nothing: it has no `bench`", next
            )
        return
    beside = loaded_recipe.folder / recipe.bench.suite
    at = places.of_value(("bench", "suite"))
    if recipe.bench.suite not in bundled_suites() and not beside.is_file():
        suites = sorted(bundled_suites())
        builds = "models" if any(c.kind == "onnxruntime" for c in recipe.components.values()) else "kernels"
        fitting = [each for each in suites if each.startswith(builds) and recipe.bench.suite in each]
        file = near_path(recipe.bench.suite, loaded_recipe.folder) if re.search(r"[./]", recipe.bench.suite) else ""
        file = file if file.endswith((".yaml", ".yml")) else ""
        near = file or (fitting or [nearest(recipe.bench.suite, suites)])[0]
        every = f"There are {', '.join(suites)}, or give a .yaml file beside the recipe"
        next = f"did you mean `{near}`?" if near else every
        yield Mistake(at, f"there is no suite {recipe.bench.suite!r}", next)
        return
    try:
        suite = load_suite(str(beside) if beside.is_file() else recipe.bench.suite)
    except RecipeError as error:
        yield from (Mistake(at, f"the suite is wrong: {one.place}: {one.what}", one.next) for one in error.mistakes)
        return
    except UsageError as error:
        yield Mistake(at, f"the suite cannot be read: {error.what}", error.next)
        return
    has_kernels = any(isinstance(component, Kernels) for component in recipe.components.values())
    if suite.kind == "kernels" and not has_kernels and not (recipe.verify and recipe.verify.providers):
        next = "add a component of kind `kernels` or `kernels-ep`, take the suite `models-quick`, or remove `bench:`"
        yield Mistake(
            at, f"the suite {recipe.bench.suite} measures kernels, and no component of the recipe builds any", next
        )
        return
    mistakes = [each for i, gate in enumerate(recipe.gates) for each in _gate(gate, ("gates", i), recipe, suite, places)]
    others = [each for each in mistakes if "no case of the suite" in each.what]
    if len(others) > 1 and (other := _suite_of_all(recipe)):
        what = f"the suite {recipe.bench.suite} has none of the cases that the gates name, and {other} has them"
        yield Mistake(at, what, f"write `suite: {other}`")
        return
    yield from mistakes


def _suite_of_all(recipe: Recipe) -> str:
    """The bundled suite that has all cases that the gates name, where the recipe's has none of them; "" for none."""
    patterns = [pattern for gate in recipe.gates for pattern in gate.cases if re.split(r"[*?\[/]", pattern)[0]]
    own = recipe.bench.suite if recipe.bench else ""
    if any(_has_case(own, each) for each in patterns if own in bundled_suites()):
        return ""
    names = sorted(bundled_suites(), key=lambda name: not name.endswith("-quick"))
    return next((name for name in names if all(_has_case(name, each) for each in patterns)), "") if patterns else ""


def _gate(gate: Gate, path: KeyPath, recipe: Recipe, suite: Suite, places: Places) -> Iterator[Mistake]:
    """What of one gate the suite's measurement will not have."""
    sides = _sides(recipe, suite)
    named_fields = {"side": gate.side}
    if isinstance(gate, BaselineGate | SpeedupGate) or (
        isinstance(gate, MemoryGate) and gate.grows_at_most is not None
    ):
        named_fields["versus"] = gate.versus
    if isinstance(gate, ShareGate):
        named_fields["provider"] = gate.provider
    for key, name in named_fields.items():
        names = [s for s in sides if s.endswith("Provider") or s == HIPDNN.provider] if key == "provider" else sides
        if _OTHER_MAKERS.match(name):
            what = f"`{name}` is for another maker's hardware: no recipe builds or measures it"
            yield Mistake(
                places.of_value((*path, key)),
                what,
                "write `CPUExecutionProvider`, or a provider that the recipe builds",
            )
        elif name not in names and not (name.endswith("ExecutionProvider") and not nearest(name, names)):
            what = "provider" if key == "provider" else "side of this measurement"
            step = close_to(name, names)
            short_names = {short: full.name for short, full in builtin_providers().items() if full.name in names}
            parts = re.split(r"[-_. ]+", name.lower())
            if full_names := [short_names[part] for part in parts if part in short_names]:
                step = f"did you mean `{full_names[-1]}`?"
            yield Mistake(places.of_value((*path, key)), f"`{name}` is not a {what}", step)
    waiver_cases = [(("waivers", i, "case"), waiver.case) for i, waiver in enumerate(gate.waivers)]
    for i, pattern in enumerate(gate.cases):
        if re.search(r"\.[*+]|^\^|\$$|\\|\(.*\)", pattern):
            glob = re.sub(r"\.[*+]", "*", pattern.strip("^$").replace("\\", "")).replace("(", "").replace(")", "")
            what = f"{pattern!r} is a regular expression, and cases are matched as file names are"
            yield Mistake(places.of_value((*path, "cases", i)), what, f"write `{glob.replace('**', '*')}`")
            return
    for at, pattern in [*((("cases", i), pattern) for i, pattern in enumerate(gate.cases)), *waiver_cases]:
        if pattern in _case_heads(suite) and not suite.files:
            what = f"{pattern!r} is the head of cases, and a pattern is matched with whole names, such as `{pattern}/{_dtypes(suite)[0]}`"
            yield Mistake(places.of_value((*path, *at)), what, f"write `{pattern}/*`")
            return
    for at, pattern in [*((("cases", i), pattern) for i, pattern in enumerate(gate.cases)), *waiver_cases]:
        if not may_match(pattern, suite):
            elsewhere = [name for name in sorted(bundled_suites()) if _has_case(name, pattern)]
            elsewhere = [name for name in elsewhere if name.partition("-")[0] in ("models", "kernels")] or elsewhere
            if elsewhere and recipe.bench:
                what = f"no case of the suite {recipe.bench.suite} matches {pattern!r}, and {' and '.join(elsewhere)} {'have' if len(elsewhere) > 1 else 'has'} such"
                yield Mistake(
                    places.of_value((*path, *at)),
                    what,
                    f"write `suite: {elsewhere[0]}` in `bench:`, or other cases here: {', '.join(_case_heads(suite))}",
                )
                continue
            names = _case_heads(suite)
            if pattern.strip().lower() in ("all", "any", "every", "everything") and at[0] == "cases":
                step = "write `cases: [\"*\"]`, or leave `cases` out: a gate is for all cases without it"
                yield Mistake(places.of_value((*path, *at)), f"{pattern!r} is a word, and a case of that name is looked for", step)
                continue
            near = nearest(re.split(r"[/*?\[]", pattern)[0], names)
            suggestion = f"did you mean `{near}/*`? " if near else ""
            yield Mistake(
                places.of_value((*path, *at)), f"no case of the suite {recipe.bench.suite if recipe.bench else ''} matches {pattern!r}",
                f"{suggestion}its cases begin with {', '.join(names)}; a type that it measures follows: {', '.join(_dtypes(suite))}",
            )  # fmt: skip
    if isinstance(gate, LimitGate):
        is_rate = gate.metric == "throughput"
        worse, better = ("at_most", "at_least") if is_rate else ("at_least", "at_most")
        if getattr(gate, worse) is not None and getattr(gate, better) is None:
            what = f"`{worse}` of {gate.metric} fails where the wheel gets better, and passes where it gets worse"
            yield Mistake(places.of_key((*path, worse)), what, f"write `{better}:` in place of `{worse}:`")
    if isinstance(gate, BaselineGate) and gate.wheel and not Path(gate.wheel).is_file():
        near = near_path(gate.wheel)
        next = "write its path from where stackbuild runs, or leave `wheel` out and give --baseline"
        next = f"write `wheel: {near}`, which is there" if near else next
        yield Mistake(places.of_value((*path, "wheel")), f"there is no file `{gate.wheel}` in {Path.cwd()}", next)


def _has_case(suite: str, pattern: str) -> bool:
    """Whether a bundled suite may have a case of that pattern that names its head."""
    literal = re.split(r"[*?\[/]", pattern)[0]
    content = load_suite(suite)
    return literal in _case_heads(content) and may_match(pattern, content)


_OTHER_MAKERS = re.compile(
    r"(CUDA|Tensorrt|NvTensorRT\w*|Dml|CoreML|QNN|CANN|OpenVINO|Nnapi|WebGpu)ExecutionProvider$", re.IGNORECASE
)


def _sides(recipe: Recipe, suite: Suite) -> list[str]:
    """What a gate may call a side: a label, or a provider's full name."""
    providers = {p.name for p in builtin_providers().values()} | set(plugin_providers()) | {KERNELS_EP, HIPDNN.provider}
    providers |= set(recipe.verify.providers if recipe.verify else ())
    return [*SIDES, *([OWN] if suite.kind == "kernels" else []), *sorted(providers)]


def _case_heads(suite: Suite) -> list[str]:
    """What the names of the suite's cases begin with: an operator, a model, a file's name."""
    return [
        *dict.fromkeys(
            (
                *(k.op for k in suite.kernels),
                *(m.model for m in suite.models),
                *(Path(f.file).stem for f in suite.files),
            )
        )
    ]


def _dtypes(suite: Suite) -> list[str]:
    return sorted({d for k in suite.kernels for d in k.dtype} | {d for m in suite.models for d in m.dtype})


def may_match(pattern: str, suite: Suite) -> bool:
    """Whether a case of that suite may have a name of that pattern: its head, its element type and its batch.

    What else is in a name is known when the cases are made; a pattern that differs only there is not refused.
    """
    literal = re.split(r"[*?\[]", pattern)[0]
    if suite.files and not (suite.models or suite.kernels):
        return True
    if not any(f"{head}/".startswith(literal) or literal.startswith(f"{head}/") for head in (*_case_heads(suite),)):
        return bool(suite.files)
    parts = pattern.split("/")
    named_fields = [part for part in parts[1:] if re.fullmatch(r"(?:bfloat|float|uint|int|fp|bf)\d+|half|double", part)]
    if named_fields and not set(named_fields) <= set(_dtypes(suite)):
        return False
    of = [m for m in suite.models if m.model == parts[0]]
    batches = {f"b{size}" for m in of for size in m.batch}
    return not batches or not any(re.fullmatch(r"b\d+", part) and part not in batches for part in parts[1:2])
