"""Execution providers and custom-op libraries, recognised by what libraries export."""

from __future__ import annotations

from collections.abc import Iterable

from stackbuild.inspection.facts import Library, ProviderLibrary
from stackbuild.tables.providers import BRIDGE_NAMES

_PREFIX = "libonnxruntime_providers_"


def providers(libraries: Iterable[Library]) -> tuple[ProviderLibrary, ...]:
    """The providers among libraries: bridges (`GetProvider`), plugins (`CreateEpFactories`), custom ops (`RegisterCustomOps`)."""
    return tuple(provider for lib in libraries if (provider := _provider(lib)))


def bridge_stem(path: str) -> str:
    """`migraphx` of `…/libonnxruntime_providers_migraphx.so`; '' for other files and for the shared bridge itself."""
    stem = path.rsplit("/", 1)[-1].partition(".so")[0]
    return stem.removeprefix(_PREFIX) if stem.startswith(_PREFIX) and stem != _PREFIX + "shared" else ""


def _provider(lib: Library) -> ProviderLibrary | None:
    exports = set(lib.exports)
    stem = lib.path.rsplit("/", 1)[-1].partition(".so")[0]
    if "GetProvider" in exports:  # first: a bridge may offer the plugin interface as well
        short = bridge_stem(lib.path)
        return ProviderLibrary(BRIDGE_NAMES.get(short, short or stem), "bridge", lib.path)
    if {"CreateEpFactories", "ReleaseEpFactory"} <= exports and "OrtGetApiBase" not in exports:
        return ProviderLibrary(stem.removeprefix("lib"), "plugin", lib.path)
    if "RegisterCustomOps" in exports and "OrtGetApiBase" not in exports:
        return ProviderLibrary(stem.removeprefix("lib"), "custom-ops", lib.path)
    return None
