"""AMD GPU targets: processors with their e_flags numbers, wavefront widths and products, and the spelling of target IDs.

Sources: LLVM's AMDGPUUsage (https://llvm.org/docs/AMDGPUUsage.html: tables "AMDGPU Processors" and "AMDGPU ELF Header -
e_flags values", target features); products from ROCm's gpu-arch-specs page and TheRock's
cmake/therock_amdgpu_targets.cmake. A processor with graphics has its code name among the products.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class GpuTarget:
    """One processor. `mach` is its number in e_flags, `wave` the wavefront width that its compiler defaults to.

    `products` carry it; a processor without products is read in files, and a recipe cannot name it.
    """

    gfx: str
    mach: int
    wave: int
    products: tuple[str, ...]


INSTRUCTION_FAMILIES = {
    "gfx90a": "cdna",
    "gfx942": "cdna",
    "gfx950": "cdna",
    "gfx1100": "rdna3",
    "gfx1101": "rdna3",
    "gfx1102": "rdna3",
    "gfx1103": "rdna3",
    "gfx1150": "rdna3",
    "gfx1151": "rdna3",
    "gfx1152": "rdna3",
    "gfx1153": "rdna3",
    "gfx1200": "rdna4",
    "gfx1201": "rdna4",
}
"""Each target whose instructions the emulator knows, and the family whose tables decode them."""
_DEVICE_FEATURES = dict.fromkeys(("gfx90a", "gfx942", "gfx950"), ":sramecc+:xnack-")
"""How a GPU of a target is set without options: memory has ECC, and HSA_XNACK=1 was not asked for. Others have neither feature."""
_WAVE64 = {
    0x20: "gfx600", 0x21: "gfx601", 0x3A: "gfx602", 0x22: "gfx700", 0x23: "gfx701", 0x24: "gfx702", 0x25: "gfx703",
    0x26: "gfx704", 0x3B: "gfx705", 0x28: "gfx801", 0x29: "gfx802", 0x2A: "gfx803", 0x3C: "gfx805", 0x2B: "gfx810",
    0x2C: "gfx900", 0x2D: "gfx902", 0x2E: "gfx904", 0x2F: "gfx906", 0x30: "gfx908", 0x31: "gfx909", 0x32: "gfx90c",
    0x3F: "gfx90a", 0x40: "gfx940", 0x4B: "gfx941", 0x4C: "gfx942", 0x4F: "gfx950",
    0x51: "gfx9-generic", 0x5F: "gfx9-4-generic",
}  # fmt: skip
_WAVE32 = {
    0x33: "gfx1010", 0x34: "gfx1011", 0x35: "gfx1012", 0x42: "gfx1013", 0x36: "gfx1030", 0x37: "gfx1031", 0x38: "gfx1032",
    0x39: "gfx1033", 0x3E: "gfx1034", 0x3D: "gfx1035", 0x45: "gfx1036",
    0x41: "gfx1100", 0x46: "gfx1101", 0x47: "gfx1102", 0x44: "gfx1103", 0x43: "gfx1150", 0x4A: "gfx1151", 0x55: "gfx1152",
    0x58: "gfx1153", 0x57: "gfx1154", 0x5D: "gfx1170", 0x5E: "gfx1171", 0x5C: "gfx1172", 0x48: "gfx1200", 0x4E: "gfx1201",
    0x49: "gfx1250", 0x5A: "gfx1251", 0x50: "gfx1310",
    0x52: "gfx10-1-generic", 0x53: "gfx10-3-generic", 0x54: "gfx11-generic", 0x62: "gfx11-7-generic",
    0x59: "gfx12-generic", 0x5B: "gfx12-5-generic",
}  # fmt: skip
_PRODUCTS = {
    "gfx900": ("Radeon RX Vega 56", "Radeon RX Vega 64"),
    "gfx906": ("MI50", "MI60", "Radeon VII"),
    "gfx908": ("MI100",),
    "gfx90c": ("Ryzen 7 4700G", "Ryzen 7 5700G"),
    "gfx90a": ("MI210", "MI250", "MI250X"),
    "gfx942": ("MI300A", "MI300X", "MI325X"),
    "gfx950": ("MI350X", "MI355X"),
    "gfx1010": ("RX 5700 XT",),
    "gfx1012": ("RX 5500", "RX 5500 XT"),
    "gfx1030": ("RX 6800", "RX 6800 XT", "RX 6900 XT", "RX 6950 XT", "W6800", "V620"),
    "gfx1031": ("RX 6700 XT", "RX 6750 XT"),
    "gfx1032": ("RX 6600", "RX 6650 XT"),
    "gfx1034": ("RX 6500 XT",),
    "gfx1035": ("Radeon 680M",),
    "gfx1036": ("Radeon 610M", "Raphael"),
    "gfx1100": ("RX 7900 XTX", "RX 7900 XT", "RX 7900 GRE", "W7900", "W7800"),
    "gfx1101": ("RX 7800 XT", "RX 7700 XT", "W7700", "V710"),
    "gfx1102": ("RX 7600", "RX 7700S"),
    "gfx1103": ("Radeon 780M",),
    "gfx1150": ("Radeon 890M", "Strix Point"),
    "gfx1151": ("Radeon 8060S", "Strix Halo", "Ryzen AI Max+ 395"),
    "gfx1152": ("Radeon 860M", "Krackan"),
    "gfx1153": ("Radeon 820M",),
    "gfx1200": ("RX 9060", "RX 9060 XT"),
    "gfx1201": ("RX 9070", "RX 9070 XT"),
    "gfx1250": ("MI450",),
}
TARGETS = {
    gfx: GpuTarget(gfx, mach, wave, _PRODUCTS.get(gfx, ()))
    for wave, row in ((64, _WAVE64), (32, _WAVE32))
    for mach, gfx in row.items()
}
"""Every processor by its name."""
BUILDABLE = {gfx: TARGETS[gfx] for gfx in _PRODUCTS}
"""The processors that a recipe may name."""
_BY_MACH = {target.mach: target.gfx for target in TARGETS.values()}
FEATURES = re.compile(r"(:sramecc[+-])?(:xnack[+-])?")
"""In LLVM's own order: the compiler writes a target ID so, and what it built is looked for by that name."""
_NAMED_TARGET = re.compile(r"gfx[0-9]+[0-9a-f]*(?:-[0-9]+)?(?:-generic)?")
_SETTINGS = {0: "", 1: "", 2: "-", 3: "+"}  # unsupported, any, off, on


def processor(target_id: str) -> str:
    """The processor of a target ID: `gfx90a` of `gfx90a:xnack-`."""
    return target_id.partition(":")[0]


def device_id(target_id: str) -> str:
    """The target ID of a GPU as the HIP runtime reports it: `gfx90a:sramecc+:xnack-` of `gfx90a`."""
    gfx = processor(target_id)
    return gfx + _DEVICE_FEATURES.get(gfx, "")


def is_loadable(code_target: str, device: str) -> bool:
    """Whether a GPU loads a code object: the same processor, and each feature that the code states is set so on the GPU.

    The rule is LLVM's AMDGPUUsage, "Target ID". A feature that the code leaves out fits either setting.
    """
    gfx, *features = code_target.split(":")
    return gfx == processor(device) and set(features) <= set(device.split(":"))


def is_known(target_id: str) -> bool:
    """Whether a target ID is of a processor in the table."""
    return processor(target_id) in TARGETS


def is_buildable(target_id: str) -> bool:
    """Whether a recipe may name a target ID: a processor with products, and only features that exist."""
    gfx, colon, rest = target_id.partition(":")
    return gfx in BUILDABLE and bool(FEATURES.fullmatch(colon + rest))


def target_named(name: str) -> GpuTarget | None:
    """The buildable target of a product's name or of a gfx, as people write them: `AMD Radeon RX 7900 XTX`, `mi 300x`."""
    plain = plain_name(name)
    if not plain:
        return None
    return next((t for t in BUILDABLE.values() if plain in (t.gfx, *map(plain_name, t.products))), None)


def plain_name(name: str) -> str:
    """A name without what people leave out or put in: the vendor, `RX`, spaces, signs, what stands in parentheses."""
    return _VENDOR.sub("", name.lower()).removeprefix("rx")


_VENDOR = re.compile(r"\(.*?\)|\b([0-9]+ ?gb|amd|radeon|instinct|pro|graphics|gpu|series|vf|hf)\b|[^a-z0-9+:]")


def of_e_flags(flags: int, version: int = 5) -> str:
    """The target ID that e_flags encode, such as `gfx90a:xnack-`. Code objects V3 have one bit a feature: on, or not stated."""
    name = _BY_MACH.get(flags & 0xFF, f"unknown-0x{flags & 0xFF:02x}")
    if version == 3:
        sramecc, xnack = ("+" if flags & 0x200 else ""), ("+" if flags & 0x100 else "")
    else:
        sramecc, xnack = _SETTINGS[flags >> 10 & 3], _SETTINGS[flags >> 8 & 3]
    return name + (f":sramecc{sramecc}" if sramecc else "") + (f":xnack{xnack}" if xnack else "")


def normal(target_id: str) -> str:
    """One spelling of a target ID: features sorted by name, as LLVM prints them."""
    name, *features = target_id.split(":")
    return ":".join([name, *sorted(features)])


def in_file_name(path: str) -> frozenset[str]:
    """The known processors that a file's name contains: `gfx942` of `Kernels.so-000-gfx942-xnack+.hsaco`."""
    targets: set[str] = set()
    for text in _NAMED_TARGET.findall(path.rsplit("/", 1)[-1]):
        targets |= {text, text.split("-", 1)[0]} & TARGETS.keys()
    return frozenset(targets)
