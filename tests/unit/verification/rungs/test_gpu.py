"""A GPU's counters as proof that it worked."""

from __future__ import annotations

from pathlib import Path

from stackbuild.verification.rungs.gpu import GpuWatch, check_gpu_activity


def sysfs(root: Path, vendor: str, memory: int, busy: int) -> Path:
    device = root / "card0" / "device"
    device.mkdir(parents=True)
    for name, value in (("vendor", vendor), ("mem_info_vram_used", str(memory)), ("gpu_busy_percent", str(busy))):
        (device / name).write_text(f"{value}\n")
    return device


def test_a_gpu_that_moved_is_proof_and_one_that_did_not_is_a_finding(tmp_path: Path):
    device = sysfs(tmp_path / "a", "0x1002", 100 << 20, 0)

    def work() -> None:
        import time

        (device / "mem_info_vram_used").write_text(str(400 << 20))
        time.sleep(0.15)

    moved = check_gpu_activity(GpuWatch(tmp_path / "a"), work, "")
    assert not moved.findings and "300 MiB" in moved.says
    sysfs(tmp_path / "b", "0x1002", 100 << 20, 3)
    idle = check_gpu_activity(GpuWatch(tmp_path / "b"), lambda: None, "")
    assert [f.rule for f in idle.findings] == ["SB-RUN-GPU-IDLE"]


def test_without_an_amd_gpu_nothing_is_claimed(tmp_path: Path):
    sysfs(tmp_path / "a", "0x10de", 1, 1)
    assert check_gpu_activity(GpuWatch(tmp_path / "a"), lambda: None, "").skip == "no AMD GPU here"
    sysfs(tmp_path / "b", "0x1002", 1, 1)
    assert check_gpu_activity(GpuWatch(tmp_path / "b"), lambda: None, "no libamdhip64").skip == "no libamdhip64"
