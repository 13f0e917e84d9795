"""The GPU targets LLVM's AMDGPU backend knows that this field uses, with the products behind them.

Sources: LLVM's AMDGPUUsage (processors, target features), ROCm's gpu-arch-specs page, TheRock's
cmake/therock_amdgpu_targets.cmake (facts/stack.md 2.2). Of a processor with graphics the code name stands among them.
"""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Target:
    """One GPU architecture: wavefront width its compiler defaults to, and products that carry it."""

    gfx: str
    wave: int
    products: tuple[str, ...]


_WAVE64 = {
    "gfx900": ("Radeon RX Vega 56", "Radeon RX Vega 64"),
    "gfx906": ("MI50", "MI60", "Radeon VII"),
    "gfx908": ("MI100",),
    "gfx90a": ("MI210", "MI250", "MI250X"),
    "gfx942": ("MI300A", "MI300X", "MI325X"),
    "gfx950": ("MI350X", "MI355X"),
}
_WAVE32 = {
    "gfx1010": ("RX 5700 XT",),
    "gfx1030": ("RX 6800", "RX 6800 XT", "RX 6900 XT", "RX 6950 XT", "W6800", "V620"),
    "gfx1031": ("RX 6700 XT", "RX 6750 XT"),
    "gfx1032": ("RX 6600", "RX 6650 XT"),
    "gfx1034": ("RX 6500 XT",),
    "gfx1035": ("Radeon 680M",),
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
TARGETS = {gfx: Target(gfx, 64, names) for gfx, names in _WAVE64.items()} | {
    gfx: Target(gfx, 32, names) for gfx, names in _WAVE32.items()
}
_FEATURES = re.compile(r"(:(xnack|sramecc)[+-]){0,2}")


def is_known(target_id: str) -> bool:
    """Whether a target ID such as `gfx90a:xnack-` names a known processor and only known features."""
    gfx, colon, rest = target_id.partition(":")
    return gfx in TARGETS and bool(_FEATURES.fullmatch(colon + rest))


def known_like(target_id: str) -> str:
    """The tail of an error message: what was probably meant."""
    close = difflib.get_close_matches(target_id.partition(":")[0], TARGETS, n=3, cutoff=0.7)
    return f"; did you mean {' or '.join(close)}?" if close else f"; known are {', '.join(TARGETS)}"
