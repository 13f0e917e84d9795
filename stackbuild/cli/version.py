"""`version`: which stackbuild this is."""

from __future__ import annotations

from stackbuild.cli.app import JsonOption, app


@app.command()
def version(json: JsonOption = False) -> None:
    """Print the version, as `stackbuild --version` does.

    Example: stackbuild version
    """
    from stackbuild.version import __version__
    from stackbuild.views.console import out, print_json

    if json:
        print_json({"version": __version__}, "stackbuild.version/1")
    else:
        out().print(f"stackbuild {__version__}")
