"""The verb `image`: a recipe's wheels, for one GPU target, as a container image with no more than they need.

Four layers: what every program needs, Python, the machine's libraries behind the wheels, and the wheels. All but the wheels
are files of the recipe's own base, taken package by package (dpkg's dependencies), so that the wheels run on the very
libraries that they were linked and proved with. Where the base has a library without what that needs, a root with just
these packages is made for the image. Files that name other GPU targets than the one wanted are left out.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from stackbuild.build.context import BuildContext
from stackbuild.build.order import Order, open_context
from stackbuild.core.errors import UsageError
from stackbuild.model.events import Emit, Note
from stackbuild.model.loaded_recipe import LoadedRecipe
from stackbuild.pipeline.image_contents import ImageContents, contents_of, install_wheels, refuse_unsuited
from stackbuild.pipeline.image_layers import TargetFilter, layers_of
from stackbuild.pipeline.image_root import runtime_root
from stackbuild.pipeline.image_sandbox import PATH, loaded_packages
from stackbuild.recipe.matrix import selected_values
from stackbuild.recipe.prepare import prepare_loaded
from stackbuild.sources.local import refuse_outside
from stackbuild.sources.oci import Layout
from stackbuild.sources.oci_writer import ImageSettings, WrittenLayer, write_layout


@dataclass(frozen=True)
class WrittenImage:
    """The image: where its layout lies, its layers, what was left out of them, and what its packages said when loaded."""

    recipe: str
    gfx: str
    python: str
    folder: str
    digest: str
    layers: tuple[WrittenLayer, ...]
    left_out_files: int
    left_out_bytes: int
    loaded: tuple[str, ...]

    @property
    def compressed_size(self) -> int:
        return sum(layer.compressed for layer in self.layers)


def image(loaded_recipe: LoadedRecipe, order: Order, gfx: str, folder: Path, listeners: Iterable[Emit]) -> WrittenImage:
    """Build the recipe's wheels for one target, and write the image. Raises every Stop but Defect.

    `folder` must not be there yet: it appears whole or not at all.
    """
    refuse_outside(loaded_recipe)
    selected_values("gfx target", loaded_recipe.recipe.gfx, (gfx,))
    if os.path.lexists(folder):
        raise UsageError("the image's folder is there already", where=str(folder), next="name a new one with --to")
    narrow = replace(order, choice=replace(order.choice, gfx=(gfx,)))
    prepared_recipe = prepare_loaded(loaded_recipe, narrow.choice)
    refuse_unsuited(prepared_recipe)
    with open_context(loaded_recipe, narrow, listeners) as context:
        contents = contents_of(prepared_recipe, narrow, context)
        context.emit(Note("info", "reading which libraries the wheels need"))
        root, outside = runtime_root(contents, loaded_recipe, narrow.limits, context)
        left_out: dict[str, int] = {}
        scratch = context.store.tmp / "image"
        scratch.mkdir()
        context.emit(Note("info", f"installing {len(contents.runtime) + len(contents.own)} wheels"))
        site = install_wheels(contents, scratch)
        layers = layers_of(root, contents, site, outside, TargetFilter(gfx, left_out))
        settings = _settings(loaded_recipe, gfx, contents)
        written_layers = write_layout(scratch / "layout", layers, settings, _layer_note(context))
        layout = Layout(scratch / "layout")
        context.emit(Note("info", f"unpacking the image, and loading {', '.join(contents.packages)} in it"))
        proofs = loaded_packages(layout, scratch, contents.packages)
        _place(layout.folder, folder, context.run)
        shutil.rmtree(scratch, ignore_errors=True)
        image_layout = Layout(folder)
    return WrittenImage(
        loaded_recipe.recipe.name,
        gfx,
        contents.python,
        str(folder),
        image_layout.digest,
        written_layers,
        len(left_out),
        sum(left_out.values()),
        proofs,
    )


def _place(layout: Path, folder: Path, run: str) -> None:
    """Move the layout to where it is wanted, which may be another file system: copied under a name of its own, then renamed."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    beside = folder.with_name(f".{folder.name}.{run}")
    try:
        shutil.move(layout, beside)
        beside.rename(folder)
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def _layer_note(context: BuildContext) -> Callable[[WrittenLayer], None]:
    def tell(layer: WrittenLayer) -> None:
        context.emit(Note("info", f"layer {layer.name}: {layer.files} files, {layer.compressed / 1e6:.1f} MB"))

    return tell


def _settings(loaded_recipe: LoadedRecipe, gfx: str, contents: ImageContents) -> ImageSettings:
    labels = {
        "org.opencontainers.image.title": f"{loaded_recipe.recipe.name} for {gfx}",
        "org.opencontainers.image.description": loaded_recipe.recipe.summary,
        "io.stackbuild.gfx": gfx,
        "io.stackbuild.recipe": loaded_recipe.recipe.name,
        "io.stackbuild.wheels": " ".join(wheel.name for wheel in contents.own),
    }
    name = f"{loaded_recipe.recipe.name}:{gfx}"
    return ImageSettings(name, (PATH, "LANG=C.UTF-8"), ("python3",), labels)
