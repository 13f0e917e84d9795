"""Which module adds which command: for `stackbuild plan` one of them is imported."""

from __future__ import annotations

import sys

from stackbuild.cli import TOPICS, app, load_commands


def test_the_table_names_every_command_and_the_module_that_adds_it() -> None:
    load_commands()
    added = {c.name or c.callback.__name__: c.callback.__module__ for c in app.registered_commands if c.callback}
    for group in (g.typer_instance for g in app.registered_groups if g.typer_instance):
        modules = {c.callback.__module__ for c in group.registered_commands if c.callback}
        # Of a group in several modules the topic is the one that imports the group from the other.
        added[str(group.info.name)] = max(modules, key=lambda module: module == f"stackbuild.cli.{TOPICS.get(str(group.info.name))}")
        assert all(vars(sys.modules[module])[str(group.info.name)] is group for module in modules if len(modules) > 1)
    assert {name: f"stackbuild.cli.{topic}" for name, topic in TOPICS.items()} == added
