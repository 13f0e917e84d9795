"""`publish`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from stackbuild.cli.app import Json, app, argument, option


@app.command()
def publish(
    wheels: Annotated[list[Path], argument(help="Wheels to publish.")],
    to: Annotated[
        Path, option("--to", metavar="INDEX", help="Folder of the static index; made where it is not there.")
    ],
    replace: Annotated[
        bool, option("--replace", help="Allow other bytes under a published name: only for an index of your own.")
    ] = False,
    json: Json = False,
) -> None:
    """Put wheels on a static index that pip and uv install from.

    A published file name never changes its content.

    Example: stackbuild publish wheels/*.whl --to dist/simple
    """
    from stackbuild.core.errors import UsageError
    from stackbuild.pipeline import index
    from stackbuild.views.console import print_json
    from stackbuild.views.release import draw_published

    for wheel in wheels:
        if not wheel.is_file():
            raise UsageError("no such wheel", where=str(wheel), next="give the path of a .whl file")
    receipt = index.publish(tuple(wheels), to, replace)
    print_json(receipt, "stackbuild.receipt/1") if json else draw_published(receipt)
