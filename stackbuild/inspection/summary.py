"""Sums over code objects: what a person asks of GPU code, per target."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from stackbuild.inspection.facts import CodeObject, DeviceCode, TargetSummary


def by_target(devices: Iterable[DeviceCode]) -> tuple[TargetSummary, ...]:
    """One summary per target ID, in natural order (gfx90a before gfx1030)."""
    objects_by_target: dict[str, list[CodeObject]] = defaultdict(list)
    for device in devices:
        for code in device.objects:
            objects_by_target[code.target].append(code)
    return tuple(_summary(target, objects_by_target[target]) for target in sorted(objects_by_target, key=natural))


def natural(target: str) -> tuple[int, str]:
    return len(target.split(":")[0]), target


def _summary(target: str, objects: list[CodeObject]) -> TargetSummary:
    kernels = [kernel for code in objects for kernel in code.kernels]
    spilling = [kernel for kernel in kernels if kernel.vgpr_spills]
    return TargetSummary(
        target=target, objects=len(objects), kernels=len(kernels), empty=sum(kernel.empty for kernel in kernels),
        size=sum(code.size for code in objects), versions=tuple(sorted({code.version for code in objects})),
        waves=tuple(sorted({kernel.wave for kernel in kernels})),
        max_vgprs=max((k.vgprs for k in kernels), default=0), max_sgprs=max((k.sgprs for k in kernels), default=0),
        max_agprs=max((k.agprs for k in kernels), default=0), max_lds=max((k.lds for k in kernels), default=0),
        max_scratch=max((k.scratch for k in kernels), default=0), spilling=len(spilling),
        sgpr_spilling=sum(k.sgpr_spills > 0 for k in kernels),
        worst=max(spilling, key=lambda k: (k.vgpr_spills, k.scratch), default=None),
    )  # fmt: skip
