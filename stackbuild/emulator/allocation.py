"""What a kernel's descriptor has the hardware give to a wave, beside what the kernel's code and metadata need.

Names, bits and granules of the fields are those of LLVM's AMDGPUUsage, "Kernel Descriptor".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from stackbuild.emulator.code_object import KernelImage
from stackbuild.emulator.control_flow import NOTHING
from stackbuild.emulator.decoder import Instruction
from stackbuild.emulator.registers import scalars_of, vectors_of

_ACCUMULATION = 256
"""The number from which accumulation registers count here."""
_SCRATCH_FORMATS = ("SCRATCH", "VSCRATCH")


@dataclass(frozen=True)
class RegisterNeed:
    """How many registers of each kind a kernel's code touches, from the first on, and whether it has instructions of scratch."""

    vectors: int
    accumulators: int
    scalars: int
    scratch: bool


def register_need(instructions: Iterable[Instruction], lanes: int) -> RegisterNeed:
    """What instructions of a kernel touch. Raises UnknownInstruction."""
    vectors = accumulators = scalars = 0
    has_scratch = False
    for inst in instructions:
        if inst.name in NOTHING:
            continue
        has_scratch = has_scratch or inst.format.name in _SCRATCH_FORMATS
        for first, count in vectors_of(inst, lanes):
            if first >= _ACCUMULATION:
                accumulators = max(accumulators, first + count - _ACCUMULATION)
            else:
                vectors = max(vectors, first + count)
        scalars = max([scalars, *(first + count for first, count in scalars_of(inst, lanes))])
    return RegisterNeed(vectors, accumulators, scalars, has_scratch)


def lacks(kernel: KernelImage, need: RegisterNeed, family: str) -> Iterator[str]:
    """A sentence for each field of a descriptor that gives a kernel less than it needs."""
    descriptor = kernel.descriptor
    vector_field, scalar_field = descriptor.rsrc1 & 63, descriptor.rsrc1 >> 6 & 15
    vectors = (vector_field + 1) * (4 if family != "cdna" and kernel.lanes == 64 else 8)
    boundary = ((descriptor.rsrc3 & 63) + 1) * 4 if family == "cdna" else 0
    total = boundary + need.accumulators if need.accumulators else need.vectors
    metadata_count = kernel.registers[0]
    if max(total, metadata_count) > vectors:
        yield _sentence("GRANULATED_WORKITEM_VGPR_COUNT", vector_field, f"{vectors} vector registers", total, f", its metadata say {metadata_count}")
    scalars = (scalar_field // 2 + 1) * 16
    if family == "cdna" and need.scalars > scalars:  # RDNA's waves have all that there are
        yield _sentence("GRANULATED_WAVEFRONT_SGPR_COUNT", scalar_field, f"{scalars} scalar registers", need.scalars)
    if boundary and need.vectors > boundary:
        yield _sentence("ACCUM_OFFSET", descriptor.rsrc3 & 63, f"{boundary} vector registers before the accumulation registers", need.vectors)
    if (need.scratch or descriptor.private_bytes) and not descriptor.rsrc2 & 1:
        yield (
            f"ENABLE_PRIVATE_SEGMENT = 0 of its descriptor gives no scratch: the kernel takes {descriptor.private_bytes} bytes a lane"
        )


def _sentence(name: str, value: int, gives: str, count: int, metadata: str = "") -> str:
    return f"{name} = {value} of its descriptor gives {gives}: the code uses {count}{metadata}"
