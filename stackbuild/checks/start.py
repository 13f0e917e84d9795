"""The verb `start`: for one GPU, which wheels exist, which recipe builds for it, what was proved of that, and what it costs.

Reads the compatibility table, the bundled recipes and what is known to have run of them. Nothing is fetched.
"""

from __future__ import annotations

from dataclasses import dataclass

from stackbuild.checks.needs import disk_wanted
from stackbuild.checks.new_recipe import newest_version
from stackbuild.core.errors import UsageError
from stackbuild.core.shell_words import shell_word
from stackbuild.core.versions import numbers
from stackbuild.machine.env import target_of
from stackbuild.machine.gpu import Gpu
from stackbuild.model.components import Component, Kernels, KernelsEp, Lc0, MIGraphXEp, OnnxRuntime
from stackbuild.model.recipe import Recipe
from stackbuild.plan.estimates import hours_in_words, step_hours
from stackbuild.recipe.load import bundled_recipes, load
from stackbuild.tables.compatibility import Table
from stackbuild.tables.proofs import STAGES, proofs
from stackbuild.tables.targets import processor


@dataclass(frozen=True)
class ExistingWheel:
    """A wheel that others made, for a ROCm that has code objects for the GPU. `claim` is the table's word for that.

    `install` is the command, "" where the wheel's address depends on the Python: then `page` lists the addresses.
    A `distribution` of "" is ONNX Runtime with a plugin provider, as AMD delivers it since ROCm 10.
    """

    distribution: str
    version: str
    rocm: str
    claim: str
    publisher: str
    install: str
    page: str
    source: str


@dataclass(frozen=True)
class RecipeChoice:
    """A bundled recipe for that GPU. `use` says which models run on the GPU with what it builds.

    `hours` are of one core; `takes` says of each part whether it was measured or is a guess. `disk` is in bytes, a guess.
    """

    recipe: str
    summary: str
    rocm: str
    use: str
    proof: str
    proof_source: str
    hours: float
    takes: str
    disk: int
    command: str


@dataclass(frozen=True)
class StartAnswer:
    """The answer for one GPU. `notes` say what nobody offers for it."""

    gpu: str
    gfx: str
    wheels: tuple[ExistingWheel, ...]
    recipes: tuple[RecipeChoice, ...]
    notes: tuple[str, ...]


def start(gpu: str, here: tuple[Gpu, ...], table: Table) -> StartAnswer:
    """The answer for a GPU's name or target; for "" the GPU of this machine. Raises UsageError where it is not known."""
    if not gpu and not here:
        raise UsageError(
            "no AMD GPU is in this machine, and none is named",
            next='stackbuild start --gpu "RX 7900 XTX", or its gfx target, as rocminfo prints it',
        )
    target = target_of(gpu or here[0].gfx)
    wheels = tuple(
        sorted(_wheels(target.gfx, table), key=lambda w: (numbers(w.rocm), numbers(w.version)), reverse=True)
    )
    recipes = tuple(sorted(_recipes(target.gfx), key=_rank))
    return StartAnswer(gpu or here[0].gfx, target.gfx, wheels, recipes, tuple(_notes(target.gfx, recipes, table)))


def _wheels(gfx: str, table: Table) -> list[ExistingWheel]:
    choices = []
    for row in table.onnxruntime:
        target = table.targets(row.rocm).get(gfx) if row.page else None
        if target:
            publisher = "a third party" if row.page == "third-party" else "AMD"
            choices.append(
                ExistingWheel(row.distribution, row.version, row.rocm, target.status, publisher, "", table.pages[row.page], row.source)
            )  # fmt: skip
    for wheel in table.index_wheels:
        target = table.targets(wheel.rocm).get(gfx) if not wheel.gfx or gfx in wheel.gfx else None
        if target:
            install = " ".join(("python -m pip install", f"{wheel.distribution}=={wheel.version}", *wheel.beside))
            choices.append(
                ExistingWheel(wheel.distribution, wheel.version, wheel.rocm, target.status, "a third party", install, "", wheel.source)
            )  # fmt: skip
    return choices


def _recipes(gfx: str) -> list[RecipeChoice]:
    choices = []
    for name in bundled_recipes():
        recipe = load(name).recipe
        if gfx in map(processor, recipe.gfx):
            proof, hours = proofs()[name], step_hours(recipe)
            choices.append(
                RecipeChoice(
                    name, recipe.summary, recipe.rocm or "", use_of(recipe), proof.words, proof.source,
                    sum(row.cpu_hours for row in hours.values()), hours_in_words(hours), disk_wanted(recipe), f"stackbuild build --recipe {shell_word(name)} --gfx {gfx}",
                )
            )  # fmt: skip
    return choices


USES: dict[type[Component], str] = {
    OnnxRuntime: "unchanged ONNX models, through MIGraphX",
    MIGraphXEp: "unchanged ONNX models, through MIGraphX",
    KernelsEp: "unchanged ONNX models; its provider takes the operators that it has, the CPU the others",
    Kernels: "models that name its custom operators; unchanged models stay on the CPU",
    Lc0: "the chess program's own networks",
}
"""What a component's output runs on a GPU, the most useful first."""


def use_of(recipe: Recipe) -> str:
    """The best use among its components."""
    kinds = {type(c) for c in recipe.components.values()}
    return next((use for kind, use in USES.items() if kind in kinds), "what its own components do")


def _rank(choice: RecipeChoice) -> tuple[int, int, float]:
    """Those for unchanged models first, then by what was proved of them, then the shorter ones."""
    stages = list(STAGES)
    uses = [*dict.fromkeys(USES.values()), choice.use]
    return uses.index(choice.use), stages.index(proofs()[choice.recipe].stage), choice.hours


def _recipe_without_rocm() -> str:
    """The bundled recipe whose targets no ROCm's libraries bind: it compiles kernels that call none of them."""
    return next(name for name in sorted(bundled_recipes()) if not load(name).recipe.rocm)


def _notes(gfx: str, recipes: tuple[RecipeChoice, ...], table: Table) -> list[str]:
    lines = sorted({r for row in table.gfx if gfx in row.targets for r in row.rocm}, key=numbers)
    notes = []
    if not lines:
        notes.append(
            f"no ROCm of the compatibility table has code objects for {gfx}: the first kernel launch would fail"
        )
    elif not any(gfx in row.targets and row.status == "supported" for row in table.gfx):
        notes.append(f"{gfx} is on no list of AMD's; binaries for it were made with ROCm {', '.join(lines)}")
    if not recipes:
        line = newest_version(lines)
        if line:
            way = f"`stackbuild recipe new --rocm {line} -o my.yaml`, then add {gfx} to its `gfx:`"
        elif lines:
            way = "and `recipe new` has no ROCm of its"
        else:
            name = _recipe_without_rocm()
            way = (
                f"`stackbuild recipe show {shell_word(name)} > my.yaml`, then add {gfx} to its `gfx:`, builds the custom operators alone, "
                "as far as that recipe's compiler knows the target"
            )
        notes.append(f"no bundled recipe builds for {gfx}: {way}")
    elif not any(choice.use == USES[OnnxRuntime] for choice in recipes):
        notes.append("none of these recipes runs whole models through MIGraphX")
    return notes
