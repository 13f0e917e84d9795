"""GPUs of other makers, and AMD's old ones: named as what they are, and never a GPU that stackbuild builds for."""

from __future__ import annotations

import pytest

from stackbuild.core.errors import UsageError
from stackbuild.machine.env import target_of
from stackbuild.tables.gpu_names import names
from stackbuild.tables.other_gpus import other_gpus_of
from stackbuild.tables.targets import BUILDABLE


@pytest.mark.parametrize(
    ("name", "maker", "package"),
    [
        ("RTX 4090", "NVIDIA", "onnxruntime-gpu"), ("NVIDIA RTX A6000", "NVIDIA", "onnxruntime-gpu"), ("H100", "NVIDIA", "onnxruntime-gpu"),
        ("GeForce GTX 1080 Ti", "NVIDIA", "onnxruntime-gpu"), ("L40S", "NVIDIA", "onnxruntime-gpu"), ("A10", "NVIDIA", "onnxruntime-gpu"),
        ("Jetson Orin", "NVIDIA", "onnxruntime-gpu"), ("Intel Arc A770", "Intel", "onnxruntime-openvino"),
        ("Arc B580", "Intel", "onnxruntime-openvino"), ("UHD 770", "Intel", "onnxruntime-openvino"),
        ("Intel(R) Iris(R) Xe Graphics", "Intel", "onnxruntime-openvino"), ("Apple M2", "Apple", "CoreML"), ("M3 Max", "Apple", "CoreML"),
        ("Adreno 740", "Qualcomm", "onnxruntime-qnn"), ("RX 580", "AMD, before gfx900", "CPU"), ("R9 Fury X", "AMD, before gfx900", "CPU"),
        ("HD 7970", "AMD, before gfx900", "CPU"), ("gfx803", "AMD, before gfx900", "CPU"),
    ],
)  # fmt: skip
def test_a_gpu_that_no_rocm_has_binaries_for_is_named_with_what_runs_there(name: str, maker: str, package: str) -> None:
    with pytest.raises(UsageError) as error:
        target_of(name)
    assert f"no ROCm has binaries for {name!r} ({maker})" in str(error.value)
    assert package in error.value.next


def test_no_gpu_that_stackbuild_builds_for_is_called_another_makers() -> None:
    known = [*names(), *BUILDABLE, *(product for target in BUILDABLE.values() for product in target.products)]
    assert [name for name in known if other_gpus_of(name)] == []


@pytest.mark.parametrize("name", ["RX 9999", "MI455X", "gfx11OO", "Radeon"])
def test_an_unknown_name_is_nobodys(name: str) -> None:
    assert other_gpus_of(name) is None
