"""`fetch`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

from stackbuild.cli.app import AllowPath, JsonOption, RecipeName, app, option

BundleOption = Annotated[
    Path | None,
    option("--bundle", metavar="DIR", help="Also write everything into this new folder, a mirror to carry away."),
]
FetchMirrorOption = Annotated[
    Path | None, option("--mirror", metavar="DIR", help="Take everything from this folder and nothing from a network.")
]
Digest = Annotated[
    str, option("--digest", metavar="SHA256", help="Believe the mirror only if its bundle was sealed with this digest.")
]


@app.command()
def fetch(
    recipe: RecipeName,
    bundle: BundleOption = None,
    mirror: FetchMirrorOption = None,
    digest: Digest = "",
    allow_path: AllowPath = None,
    json: JsonOption = False,
) -> None:
    """Fetch all that a recipe takes from a network, by its lock.

    That is sources, dependencies, wheels and the base. Builds need no network afterwards. The lock has no checksum of the
    base; one from a bundle is checked against the bundle's index. Send the digest that --bundle prints over a separate
    channel; --digest accepts only that bundle.

    Example: stackbuild fetch --recipe debian-13 --bundle carry-away
    """
    from stackbuild.build.fetch import fetch_all
    from stackbuild.build.order import Order
    from stackbuild.core.errors import UsageError
    from stackbuild.core.interpreter import this_glibc, this_python
    from stackbuild.model.choice import Choice
    from stackbuild.recipe.load import load
    from stackbuild.sources.mirror import mirror_of
    from stackbuild.views.build import view
    from stackbuild.views.console import err, print_json

    source_mirror = mirror_of(mirror, os.environ, digest)
    if digest and source_mirror is None:
        raise UsageError("--digest is of a mirror's bundle, and no mirror is named", next="add --mirror DIR")
    order = Order(Choice(python=(this_python(),), glibc=this_glibc()), mirror=source_mirror)
    with view() as watching:
        fetch_report = fetch_all(load(recipe, allow_path or ()), order, bundle, (watching,))
    if json:
        print_json(fetch_report, "stackbuild.fetched/1")
        return
    where = (
        f"; {fetch_report.files} files, {fetch_report.bytes >> 20} MiB in {fetch_report.bundle}"
        if fetch_report.bundle
        else ""
    )
    read = f"; {fetch_report.checked} files of the mirror as its index says" if fetch_report.checked else ""
    err().print(f"{fetch_report.recipe}: {len(fetch_report.steps)} fetched and verified{read}{where}", markup=False)
    if fetch_report.bundle:
        err().print(
            f"sealed: send this over a separate channel, for `fetch --mirror DIR --digest {fetch_report.sha256}`",
            markup=False,
        )
