"""The machine's fingerprint: what must be equal before results are compared, and what only went by.

Everything is read below `root`, so that tests hand in a made-up tree; only NVIDIA's figures need its own program.
Sources: the kernel's documentation of amdgpu's sysfs (gpu/amdgpu/thermal.rst, driver-misc.rst) and of kfd's topology.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

from stackbuild.bench.environment import WORKER_VARIABLES
from stackbuild.machine.gpu import gfx_of
from stackbuild.model.results import Fingerprint
from stackbuild.tables.runtime_variables import scrubbed_variables

_NVIDIA = ("name", "driver_version", "memory.total", "power.limit")
_NVIDIA_NOW = ("clocks.sm", "clocks.mem", "temperature.gpu", "power.draw")


def fingerprint(root: Path = Path("/")) -> Fingerprint:
    """The machine as it is now."""
    stable = _host(root) | _amd(root) | _nvidia(_NVIDIA)
    passing = _host_now(root) | _amd_now(root) | _nvidia(_NVIDIA_NOW)
    if hidden_variables := scrubbed_variables(WORKER_VARIABLES):
        passing["variables not passed on"] = " ".join(hidden_variables)
    return Fingerprint(stable, passing)


def busy_notes(machine: Fingerprint) -> tuple[str, ...]:
    """A note when more than half of the cores had other work as the measurement began."""
    load, cores = float(machine.passing.get("load", "0")), int(machine.stable.get("cores", "1"))
    return (f"the machine was busy when this began: load {load:g} on {cores} cores",) if load > cores / 2 else ()


def _host(root: Path) -> dict[str, str]:
    cpuinfo = _text(root / "proc/cpuinfo")
    memory = re.search(r"MemTotal:\s+(\d+) kB", _text(root / "proc/meminfo"))
    governor = _text(root / "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
    model = re.search(r"model name\s*:\s*(.+)", cpuinfo)
    return {
        "cpu": model[1] if model else os.uname().machine,
        "cores": str(len(os.sched_getaffinity(0))),
        "memory": f"{round(int(memory[1]) / 2**20)} GiB" if memory else "unknown",
    } | ({"governor": governor} if governor else {})


def _host_now(root: Path) -> dict[str, str]:
    clocks = [float(mhz) for mhz in re.findall(r"cpu MHz\s*:\s*([\d.]+)", _text(root / "proc/cpuinfo"))]
    load = _text(root / "proc/loadavg").split()
    facts = {"kernel": os.uname().release}
    if load:
        facts |= {"load": load[0], "runnable": load[3].partition("/")[0]}
    if clocks:
        facts["cpu clock"] = f"{max(clocks):.0f} MHz"
    return facts


def _amd(root: Path) -> dict[str, str]:
    devices = {}
    for number, node in enumerate(_gpus(root)):
        facts = dict(line.split() for line in _text(node / "properties").splitlines() if len(line.split()) == 2)
        units = int(facts.get("simd_count", 0)) // max(1, int(facts.get("simd_per_cu", 1)))
        devices[f"gpu {number}"] = f"{gfx_of(int(facts['gfx_target_version']))}, {units} CUs"
    for number, device in enumerate(_cards(root)):
        if cap := _number(device, "power1_cap"):
            devices[f"power cap {number}"] = f"{cap // 1_000_000} W"
    if driver := _text(root / "sys/module/amdgpu/version"):
        devices["driver"] = f"amdgpu {driver}"
    if rocm := _text(root / "opt/rocm/.info/version"):
        devices["rocm"] = rocm
    return devices


def _amd_now(root: Path) -> dict[str, str]:
    states = {}
    for number, device in enumerate(_cards(root)):
        if heat := _number(device, "temp1_input"):
            states[f"temperature {number}"] = f"{heat / 1000:.0f} °C"
        for name in ("sclk", "mclk"):
            now = re.search(r"\d+: (\S+) \*", _text(device / f"pp_dpm_{name}"))
            if now:
                states[f"{name} {number}"] = now[1]
    return states


def _gpus(root: Path) -> list[Path]:
    """kfd's nodes that are GPUs: a CPU's node has gfx_target_version 0."""
    nodes = sorted(
        (root / "sys/class/kfd/kfd/topology/nodes").glob("*"), key=lambda p: int(p.name) if p.name.isdigit() else 0
    )
    return [n for n in nodes if re.search(r"gfx_target_version [1-9]", _text(n / "properties"))]


def _cards(root: Path) -> list[Path]:
    return [p.parent for p in sorted((root / "sys/class/drm").glob("card*/device/pp_dpm_sclk"))]


def _number(device: Path, file: str) -> int:
    texts = [_text(path) for path in sorted(device.glob(f"hwmon/hwmon*/{file}"))]
    return next((int(text) for text in texts if text.isdigit()), 0)


def _nvidia(fields: tuple[str, ...]) -> dict[str, str]:
    if not shutil.which("nvidia-smi"):
        return {}
    query = ["nvidia-smi", f"--query-gpu={','.join(fields)}", "--format=csv,noheader"]
    ran = subprocess.run(query, capture_output=True, text=True, check=False, timeout=30)
    rows = [line.split(", ") for line in ran.stdout.splitlines()] if ran.returncode == 0 else []
    return {
        f"gpu {n} {field}": value
        for n, row in enumerate(rows)
        for field, value in zip(fields, row, strict=False)
    }  # fmt: skip


def _text(path: Path) -> str:
    """A small file's text without its end, or "" where the machine has no such file."""
    try:
        return path.read_text(errors="replace").strip()
    except OSError:
        return ""
