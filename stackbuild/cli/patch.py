"""`patch new`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from stackbuild.cli.app import argument, group, option

patch = group("patch", "Patches of sources. Example: stackbuild patch new --help")


@patch.callback()
def _group() -> None:
    """Patches of sources."""


@patch.command()
def new(
    original: Annotated[Path, argument(help="The source as it was fetched.")],
    edited_copy: Annotated[Path, argument(metavar="edited", help="Your edited copy of it.")],
    series: Annotated[Path, option("--series", help="The folder to add it to: patches/COMPONENT/VERSION.")],
    what: Annotated[str, option("--what", help="What it does, in a few words; the file is named after it.")],
    why: Annotated[str, option("--why", help="Why it is needed.")],
    upstream: Annotated[str, option("--upstream", help="A link to upstream's change or report, or `none`.")],
    remove_when: Annotated[str, option("--remove-when", help="When it can go.")],
) -> None:
    """Write a patch from an edited copy of a source.

    It has the header that every patch must have. The command prints which files it changes.

    Example: stackbuild patch new fetched edited --series patches/onnxruntime/1.22.0 --what "find hip" --why "…"
    --upstream none --remove-when "1.23"
    """
    from stackbuild.sources.create_patch import Reason, changes, new_patch
    from stackbuild.views.console import err

    path = new_patch(original, edited_copy, series, what, Reason(why, upstream, remove_when))
    err().print(f"wrote {path}; name it in the recipe: `patches: {'/'.join(series.parts[-2:])}`", markup=False)
    err().print("\n".join(f"  {line}" for line in changes(path)), markup=False, highlight=False)
