"""Which variables of the caller are kept from probes and workers."""

from __future__ import annotations

import pytest

from stackbuild.tables.runtime_variables import scrubbed_variables


def test_overrides_are_named(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HSA_OVERRIDE_GFX_VERSION", "11.0.0")
    monkeypatch.setenv("ORT_MIGRAPHX_FP16_ENABLE", "1")
    monkeypatch.setenv("PYTHONUNBUFFERED", "1")
    assert {"HSA_OVERRIDE_GFX_VERSION", "ORT_MIGRAPHX_FP16_ENABLE"} <= set(scrubbed_variables())
    assert "PYTHONUNBUFFERED" not in scrubbed_variables(), "it changes nothing of what ONNX Runtime or ROCm do"


@pytest.mark.parametrize("name", ["ROCR_DEBUG", "NVIDIA_TF32_OVERRIDE", "LD_PRELOAD", "PYTHONPATH"])
def test_each_kind_is_known_to_probes_and_to_workers(name: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(name, "1")
    assert name in scrubbed_variables()
    assert name not in scrubbed_variables((name,))
