"""The options of each execution provider, with their source: `provider_options.yaml`."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from stackbuild.core.model import Field, Model
from stackbuild.core.yaml_file import read_yaml

TABLE = Path(__file__).with_name("provider_options.yaml")


class ProviderOptions(Model):
    """One provider of the table. `gone` tells what became of options that older guides still name.

    A `plugin` is a library of its own; it may bear the name of a provider that is built in, and take other options.
    """

    name: str
    short: str = ""
    plugin: bool = False
    source: str
    options: tuple[str, ...]
    gone: dict[str, str] = Field(default_factory=dict)


class _ProviderTable(Model):
    providers: tuple[ProviderOptions, ...]


@cache
def builtin_providers() -> dict[str, ProviderOptions]:
    """The built-in providers by short and by full name."""
    builtin = [p for p in read_yaml(TABLE, _ProviderTable, "see docs/benchmarks.md").providers if not p.plugin]
    return {p.short: p for p in builtin} | {p.name: p for p in builtin}


@cache
def plugin_providers() -> dict[str, ProviderOptions]:
    """The plugin EPs by name."""
    return {p.name: p for p in read_yaml(TABLE, _ProviderTable, "see docs/benchmarks.md").providers if p.plugin}
