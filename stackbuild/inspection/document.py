"""Facts as the plain values that `--json` prints."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields

from stackbuild.core.digest import Json, plain
from stackbuild.inspection.facts import Bundle, CodeObject, DeviceCode, Facts
from stackbuild.model.findings import Finding


def document(facts: Facts, findings: Iterable[Finding], *, kernels: bool) -> dict[str, Json]:
    """One file's facts and findings. Without `kernels` the kernels of each code object are only counted."""
    body: dict[str, Json] = {f.name: plain(getattr(facts, f.name)) for f in fields(facts) if f.name != "device"}
    body["device"] = [_device(device, kernels) for device in facts.device]
    body["findings"] = plain(tuple(findings))
    return body


def _device(device: DeviceCode, kernels: bool) -> Json:
    return {
        "path": device.path, "section": device.section, "size": device.size,
        "bundles": [_bundle(bundle, kernels) for bundle in device.bundles],
    }  # fmt: skip


def _bundle(bundle: Bundle, kernels: bool) -> Json:
    body: dict[str, Json] = {f.name: plain(getattr(bundle, f.name)) for f in fields(bundle) if f.name != "objects"}
    body["objects"] = [_object(code, kernels) for code in bundle.objects]
    return body


def _object(code: CodeObject, kernels: bool) -> Json:
    body: dict[str, Json] = {f.name: plain(getattr(code, f.name)) for f in fields(code) if f.name != "kernels"}
    body["kernels"] = [dict(zip(k._fields, k, strict=True)) for k in code.kernels] if kernels else len(code.kernels)
    return body
