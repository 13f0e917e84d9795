"""The command line. Each module beside this one adds the commands of one topic to `app.app`."""

from __future__ import annotations

import pkgutil
from collections.abc import Sequence
from importlib import import_module

from stackbuild.cli.app import app, run_words

TOPICS = {
    "bench": "bench",
    "build": "build",
    "ci": "ci",
    "doctor": "machine",
    "env": "machine",
    "explain": "plan",
    "fetch": "fetch",
    "gate": "gate",
    "help": "help",
    "hipify": "hipify",
    "image": "image",
    "index": "index",
    "inspect": "inspect",
    "lock": "plan",
    "logs": "store",
    "model": "model",
    "patch": "patch",
    "plan": "plan",
    "publish": "publish",
    "recipe": "recipe",
    "report": "report",
    "rules": "inspect",
    "scheduler": "cluster",
    "shell": "store",
    "start": "machine",
    "store": "share",
    "verify": "verify",
    "verify-release": "index",
    "version": "version",
    "worker": "cluster",
}
"""Commands and groups to the module that adds them: nothing of the others is imported for one."""


def load_commands(argv: Sequence[str] = ()) -> None:
    """Import the topic of a command line, so that its commands are on the app; all where that names no command."""
    topic = TOPICS.get(argv[0]) if argv else None
    for module in [topic] if topic else sorted(m.name for m in pkgutil.iter_modules(__path__)):
        import_module(f"{__name__}.{module}")


__all__ = ["app", "load_commands", "run_words"]
