"""AMDGPU targets: the numbers of e_flags and the spelling of target IDs.

Source: LLVM's AMDGPUUsage, tables "AMDGPU Processors" and "AMDGPU ELF Header - e_flags values".
"""

from __future__ import annotations

import re

MACH = {
    0x20: "gfx600", 0x21: "gfx601", 0x3A: "gfx602", 0x22: "gfx700", 0x23: "gfx701", 0x24: "gfx702", 0x25: "gfx703",
    0x26: "gfx704", 0x3B: "gfx705", 0x28: "gfx801", 0x29: "gfx802", 0x2A: "gfx803", 0x3C: "gfx805", 0x2B: "gfx810",
    0x2C: "gfx900", 0x2D: "gfx902", 0x2E: "gfx904", 0x2F: "gfx906", 0x30: "gfx908", 0x31: "gfx909", 0x32: "gfx90c",
    0x3F: "gfx90a", 0x40: "gfx940", 0x4B: "gfx941", 0x4C: "gfx942", 0x4F: "gfx950",
    0x33: "gfx1010", 0x34: "gfx1011", 0x35: "gfx1012", 0x42: "gfx1013", 0x36: "gfx1030", 0x37: "gfx1031", 0x38: "gfx1032",
    0x39: "gfx1033", 0x3E: "gfx1034", 0x3D: "gfx1035", 0x45: "gfx1036",
    0x41: "gfx1100", 0x46: "gfx1101", 0x47: "gfx1102", 0x44: "gfx1103", 0x43: "gfx1150", 0x4A: "gfx1151", 0x55: "gfx1152",
    0x58: "gfx1153", 0x57: "gfx1154", 0x5D: "gfx1170", 0x5E: "gfx1171", 0x5C: "gfx1172", 0x48: "gfx1200", 0x4E: "gfx1201",
    0x49: "gfx1250", 0x5A: "gfx1251", 0x50: "gfx1310",
    0x51: "gfx9-generic", 0x5F: "gfx9-4-generic", 0x52: "gfx10-1-generic", 0x53: "gfx10-3-generic", 0x54: "gfx11-generic",
    0x62: "gfx11-7-generic", 0x59: "gfx12-generic", 0x5B: "gfx12-5-generic",
}  # fmt: skip

_NAMES = frozenset(MACH.values())
_NAMED = re.compile(r"gfx[0-9]+[0-9a-f]*(?:-[0-9]+)?(?:-generic)?")
_SETTINGS = {0: "", 1: "", 2: "-", 3: "+"}  # unsupported, any, off, on


def target_id(flags: int, version: int = 5) -> str:
    """The target ID that e_flags say, such as `gfx90a:xnack-`. Code objects V3 know only on (one bit) or not said."""
    name = MACH.get(flags & 0xFF, f"unknown-0x{flags & 0xFF:02x}")
    if version == 3:
        sramecc, xnack = ("+" if flags & 0x200 else ""), ("+" if flags & 0x100 else "")
    else:
        sramecc, xnack = _SETTINGS[flags >> 10 & 3], _SETTINGS[flags >> 8 & 3]
    return name + (f":sramecc{sramecc}" if sramecc else "") + (f":xnack{xnack}" if xnack else "")


def normal(target: str) -> str:
    """One spelling of a target ID: features sorted by name, as LLVM prints them."""
    name, *features = target.split(":")
    return ":".join([name, *sorted(features)])


def processor(target: str) -> str:
    """The processor of a target ID: `gfx90a` of `gfx90a:xnack-`."""
    return target.split(":", 1)[0]


def is_known(target: str) -> bool:
    """Whether a target ID is of a processor in the table."""
    return processor(target) in _NAMES


def targets_named(path: str) -> frozenset[str]:
    """The known processors that a file's name names: `gfx942` of `Kernels.so-000-gfx942-xnack+.hsaco`."""
    found: set[str] = set()
    for text in _NAMED.findall(path.rsplit("/", 1)[-1]):
        found |= {text, text.split("-", 1)[0]} & _NAMES
    return frozenset(found)


def wave(target: str) -> int:
    """The wavefront size code is compiled for by default: 64 on gfx9 and before (GCN, CDNA), 32 from gfx10 (RDNA)."""
    digits = processor(target).removeprefix("gfx")
    return 32 if digits[:2] in ("10", "11", "12", "13") and (len(digits) == 4 or "-" in digits) else 64
