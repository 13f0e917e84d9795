"""The command line. Each module beside this one adds the commands of one topic to `app.app`."""

from __future__ import annotations

import pkgutil
from importlib import import_module

from stackbuild.cli.app import app


def load_commands() -> None:
    """Import every topic, so that its commands are on the app."""
    for module in sorted(m.name for m in pkgutil.iter_modules(__path__)):
        import_module(f"{__name__}.{module}")


__all__ = ["app", "load_commands"]
