"""Modes that a kernel's descriptor sets at a wave's start: which are emulated, and the name of one that is not.

Names, bits and the targets that have them are those of LLVM's AMDGPUUsage, "Kernel Descriptor".
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from stackbuild.emulator.code_object import Descriptor

_OLD = ("cdna", "rdna3")
_ALL = (*_OLD, "rdna4")


@dataclass(frozen=True)
class DescriptorField:
    """A field of a descriptor's word: its lowest bit, how many bits, the value that is emulated, and the families that have it."""

    name: str
    word: str
    bit: int
    size: int
    value: int
    families: tuple[str, ...] = _ALL


FIELDS = (
    DescriptorField("FLOAT_ROUND_MODE_32", "rsrc1", 12, 2, 0),
    DescriptorField("FLOAT_ROUND_MODE_16_64", "rsrc1", 14, 2, 0),
    DescriptorField("FLOAT_DENORM_MODE_16_64", "rsrc1", 18, 2, 3),
    DescriptorField("PRIV", "rsrc1", 20, 1, 0),
    DescriptorField("ENABLE_DX10_CLAMP", "rsrc1", 21, 1, 1, _OLD),
    DescriptorField("DEBUG_MODE", "rsrc1", 22, 1, 0),
    DescriptorField("FP16_OVFL", "rsrc1", 26, 1, 0),
    DescriptorField("ENABLE_EXCEPTION_ADDRESS_WATCH", "rsrc2", 13, 1, 0),
    DescriptorField("ENABLE_EXCEPTION_MEMORY", "rsrc2", 14, 1, 0),
    DescriptorField("ENABLE_EXCEPTION_IEEE_754_FP_INVALID_OPERATION", "rsrc2", 24, 1, 0),
    DescriptorField("ENABLE_EXCEPTION_FP_DENORMAL_SOURCE", "rsrc2", 25, 1, 0),
    DescriptorField("ENABLE_EXCEPTION_IEEE_754_FP_DIVISION_BY_ZERO", "rsrc2", 26, 1, 0),
    DescriptorField("ENABLE_EXCEPTION_IEEE_754_FP_OVERFLOW", "rsrc2", 27, 1, 0),
    DescriptorField("ENABLE_EXCEPTION_IEEE_754_FP_UNDERFLOW", "rsrc2", 28, 1, 0),
    DescriptorField("ENABLE_EXCEPTION_IEEE_754_FP_INEXACT", "rsrc2", 29, 1, 0),
    DescriptorField("ENABLE_EXCEPTION_INT_DIVIDE_BY_ZERO", "rsrc2", 30, 1, 0),
    DescriptorField("TRAP_ON_START", "rsrc3", 10, 1, 0, ("rdna3",)),
    DescriptorField("TRAP_ON_END", "rsrc3", 11, 1, 0, ("rdna3",)),
)
"""What changes results or ends waves. FLOAT_DENORM_MODE_32 is a finding of the sanitizer of its own."""
_IEEE = 23


def unknown_modes(descriptor: Descriptor, family: str) -> Iterator[str]:
    """A sentence for each field that asks for what is not emulated."""
    words = {"rsrc1": descriptor.rsrc1, "rsrc2": descriptor.rsrc2, "rsrc3": descriptor.rsrc3}
    for field in FIELDS:
        value = words[field.word] >> field.bit & (1 << field.size) - 1
        if family in field.families and value != field.value:
            yield f"{field.name} = {value} of its descriptor is not known: {field.value} is"


def has_ieee_mode(descriptor: Descriptor, family: str) -> bool:
    """Whether minimum and maximum of a signalling NaN are quiet NaNs: IEEE_MODE, which RDNA4 has not."""
    return family in _OLD and bool(descriptor.rsrc1 >> _IEEE & 1)
