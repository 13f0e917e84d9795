"""Execution providers by what they export."""

from __future__ import annotations

import os

from stackbuild.inspection.facts import ProviderLibrary
from stackbuild.inspection.readers.budget import ReadBudget
from stackbuild.inspection.readers.elf import library as read_library
from stackbuild.inspection.readers.providers import providers
from stackbuild.inspection.readers.source import FileRange
from support.binaries import library


def test_providers_by_what_they_export():
    def made(path: str, *exports: str) -> ProviderLibrary | None:
        read, _, _ = read_library_of(path, *exports)
        found = providers([read])
        return found[0] if found else None

    assert made("capi/libonnxruntime_providers_migraphx.so", "GetProvider") == ProviderLibrary(
        "MIGraphXExecutionProvider", "bridge", "capi/libonnxruntime_providers_migraphx.so"
    )
    assert made("a/libx.so", "CreateEpFactories", "ReleaseEpFactory") == ProviderLibrary("x", "plugin", "a/libx.so")
    assert made("a/libx.so", "RegisterCustomOps") == ProviderLibrary("x", "custom-ops", "a/libx.so")
    assert (
        made("capi/libonnxruntime_providers_cuda.so", "GetProvider", "CreateEpFactories", "ReleaseEpFactory").form
        == "bridge"
    )
    assert made("a/libx.so", "CreateEpFactories") is None and made("a/libx.so", "f") is None


def read_library_of(path: str, *exports: str):
    import tempfile

    with tempfile.NamedTemporaryFile() as file:
        file.write(library(exports=exports))
        file.flush()
        return read_library(FileRange(file.fileno(), path, 0, os.path.getsize(file.name)), ReadBudget())  # noqa: PTH202
