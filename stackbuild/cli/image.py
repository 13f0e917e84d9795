"""`image`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

from stackbuild.cli.app import AllowPath, JsonOption, RecipeName, app, option
from stackbuild.cli.completion import recipe_gfx
from stackbuild.cli.recipe_options import Jobs, MirrorOption, RunnerName


@app.command()
def image(
    recipe: RecipeName,
    gfx: Annotated[
        str,
        option("--gfx", metavar="T", help="The one GPU target that the image is for.", autocompletion=recipe_gfx),
    ],
    to: Annotated[
        Path | None,
        option("--to", metavar="DIR", help="A new folder for the OCI layout; dist/images/RECIPE-T if left out."),
    ] = None,
    mirror: MirrorOption = None,
    runner: RunnerName = "auto",
    jobs: Jobs = 0,
    allow_path: AllowPath = None,
    json: JsonOption = False,
) -> None:
    """Write a container image for one GPU target.

    It has the recipe's wheels, and what they need of its base.

    It is an OCI layout: `skopeo copy oci:DIR docker-daemon:NAME:TAG`, `podman pull oci:DIR`, or `tar -C DIR -c . | docker load`.
    In it are the base's Python, the packages behind the wheels' libraries, and the wheels. Files for other GPU targets are left
    out. Before the folder appears, the image is unpacked and each package of the recipe is loaded in it.

    Example: stackbuild image --recipe debian-13 --gfx gfx1100
    """
    from stackbuild.build.order import Order
    from stackbuild.pipeline.image import image
    from stackbuild.recipe.load import load
    from stackbuild.sources.mirror import mirror_of
    from stackbuild.views.build import view
    from stackbuild.views.console import print_json
    from stackbuild.views.image import draw_image

    loaded_recipe = load(recipe, allow_path or ())
    order = Order(runner=runner, jobs=jobs, mirror=mirror_of(mirror, os.environ))
    folder = to or Path("dist/images") / f"{loaded_recipe.recipe.name}-{gfx}"
    with view() as watching:
        result = image(loaded_recipe, order, gfx, folder, (watching,))
    print_json(result, "stackbuild.image/1") if json else draw_image(result)
