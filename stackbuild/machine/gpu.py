"""What this machine says of its AMD GPUs: the kernel's topology, device nodes, driver, groups. Reads files, runs nothing."""

from __future__ import annotations

import contextlib
import grp
import os
from dataclasses import dataclass
from pathlib import Path

KFD = Path("/sys/class/kfd/kfd/topology/nodes")


@dataclass(frozen=True)
class Gpu:
    """One GPU of the kernel's topology (KFD): its target, memory in bytes, and render node number."""

    node: int
    gfx: str
    memory: int
    render: int


@dataclass(frozen=True)
class Device:
    """A device node: whether it is there, whether this process may use it, and the group that may."""

    path: str
    there: bool
    usable: bool
    group: str


def gpus(topology: Path = KFD) -> tuple[Gpu, ...]:
    """The GPUs of the kernel's topology; none where the driver is not there."""
    devices = []
    for node in sorted(topology.glob("[0-9]*"), key=lambda p: int(p.name)) if topology.is_dir() else ():
        fields = _fields(node / "properties")
        version = fields.get("gfx_target_version", 0)
        if version:
            memory = sum(_fields(bank / "properties").get("size_in_bytes", 0) for bank in node.glob("mem_banks/*"))
            devices.append(Gpu(int(node.name), gfx_of(version), memory, fields.get("drm_render_minor", 0)))
    return tuple(devices)


PCI_MAKERS = {"0x1002": "AMD", "0x10de": "NVIDIA"}
"""Makers of GPUs by their PCI vendor (pci.ids)."""


def gpu_makers(topology: Path = KFD, cards: Path = Path("/sys/class/drm"), nvidia: Path = Path("/proc/driver/nvidia/gpus")) -> tuple[str, ...]:  # fmt: skip
    """The makers of this machine's GPUs, AMD before NVIDIA: by the kernel's topology, its graphics cards and NVIDIA's driver."""
    makers = {"AMD"} if gpus(topology) else set()
    if nvidia.is_dir() and any(nvidia.iterdir()):
        makers.add("NVIDIA")
    for vendor in cards.glob("card*/device/vendor"):
        with contextlib.suppress(OSError):
            makers.add(PCI_MAKERS.get(vendor.read_text().strip(), ""))
    return tuple(sorted(makers - {""}))


def gfx_of(version: int) -> str:
    """The target of KFD's `gfx_target_version`: 90010 is gfx90a, 110000 gfx1100 (major, minor, stepping in decimal pairs)."""
    return f"gfx{version // 10000}{version // 100 % 100:x}{version % 100:x}"


def _fields(path: Path) -> dict[str, int]:
    try:
        rows = [line.split() for line in path.read_text().splitlines()]
    except OSError:
        return {}
    return {row[0]: int(row[1]) for row in rows if len(row) == 2 and row[1].isdigit()}


def device(path: str) -> Device:
    """A device node as this process sees it."""
    node = Path(path)
    if not node.exists():
        return Device(path, False, False, "")
    gid = node.stat().st_gid
    try:
        group = grp.getgrgid(gid).gr_name
    except KeyError:
        group = str(gid)
    return Device(path, True, os.access(node, os.R_OK | os.W_OK), group)


def driver_version(path: Path = Path("/sys/module/amdgpu/version")) -> str:
    """The amdgpu driver's version; the kernel's own driver has none: then "in-kernel", or "" where it is not loaded."""
    try:
        return path.read_text().strip()
    except OSError:
        return "in-kernel" if path.parent.is_dir() else ""


def rocm_version(root: Path = Path("/opt/rocm")) -> str:
    """The installed ROCm's version, from its own file: HIP's version is another number (6.4.43482 is not a ROCm).

    ROCm 10 has the file in `core/` only, the link to the tree that is in use.
    """
    for name in (".info/version", ".info/version-dev", "core/.info/version"):
        try:
            return (root / name).read_text().strip()
        except OSError:
            continue
    return ""
