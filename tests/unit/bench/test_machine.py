"""The machine's fingerprint."""

from __future__ import annotations

from pathlib import Path

import pytest

from stackbuild.bench.machine import busy_notes, fingerprint
from stackbuild.model.results import Fingerprint


def test_a_busy_machine_is_noted() -> None:
    assert busy_notes(Fingerprint({"cores": "2"}, {"load": "9.4"})) == (
        "the machine was busy when this began: load 9.4 on 2 cores",
    )
    assert busy_notes(Fingerprint({"cores": "2"}, {"load": "0.4"})) == () == busy_notes(Fingerprint({}))


def test_the_fingerprint_of_an_amd_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    node = tmp_path / "sys/class/kfd/kfd/topology/nodes"
    device = tmp_path / "sys/class/drm/card0/device"
    files = {
        node / "0/properties": "cpu_cores_count 64\nsimd_count 0\ngfx_target_version 0\n",
        node / "1/properties": "simd_count 1216\nsimd_per_cu 4\ngfx_target_version 90402\n",
        device / "pp_dpm_sclk": "0: 132Mhz\n1: 2100Mhz *\n",
        device / "hwmon/hwmon3/power1_cap": "750000000\n",
        device / "hwmon/hwmon3/temp1_input": "41000\n",
        tmp_path / "sys/module/amdgpu/version": "6.12.12\n",
        tmp_path / "opt/rocm/.info/version": "7.2.1-81\n",
        tmp_path / "proc/cpuinfo": "model name\t: AMD EPYC 9654\ncpu MHz\t\t: 2400.1\n",
        tmp_path / "proc/meminfo": "MemTotal:       1584000000 kB\n",
        tmp_path / "proc/loadavg": "0.42 0.30 0.20 3/900 1234\n",
    }
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    monkeypatch.setenv("PATH", "")
    monkeypatch.setenv("ORT_MIGRAPHX_FP16_ENABLE", "1")
    found = fingerprint(tmp_path)
    assert found.stable["gpu 0"] == "gfx942, 304 CUs" and found.stable["power cap 0"] == "750 W"
    assert found.stable["driver"] == "amdgpu 6.12.12" and found.stable["rocm"] == "7.2.1-81"
    assert found.passing["temperature 0"] == "41 °C" and found.passing["sclk 0"] == "2100Mhz"
    assert found.passing["runnable"] == "3" and "ORT_MIGRAPHX_FP16_ENABLE" in found.passing["variables not passed on"]
    assert Fingerprint({"cpu": "a"}).differences(Fingerprint({"gpu": "b"})) == (
        "cpu: a against unknown",
        "gpu: unknown against b",
    )
