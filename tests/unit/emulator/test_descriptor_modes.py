"""Modes of a kernel's descriptor: what compilers write is emulated, each other value is named."""

from __future__ import annotations

import pytest

from stackbuild.emulator.code_object import Descriptor
from stackbuild.emulator.descriptor_modes import FIELDS, DescriptorField, has_ieee_mode, unknown_modes

WRITTEN = [
    ("cdna", 0xAF0000, 0, True),
    ("cdna", 0x2F0000, 0, False),
    ("rdna3", 0x60AF0000, 0, True),
    ("rdna3", 0x602F0000, 0, False),
    ("rdna3", 0xE0AF0000, 0x3F0, True),
    ("rdna4", 0xE00F0000, 0xFF0, False),
]
"""Family, words 1 and 3 with all that HIP's compilers write but registers, and whether it is IEEE_MODE (`-mno-amdgpu-ieee`: not)."""


def descriptor(rsrc1: int, rsrc2: int = 0, rsrc3: int = 0) -> Descriptor:
    return Descriptor(0, 0, 8, 256, rsrc1, rsrc2, rsrc3, 0)


@pytest.mark.parametrize(("family", "rsrc1", "rsrc3", "ieee"), WRITTEN)
def test_what_compilers_write_is_emulated(family: str, rsrc1: int, rsrc3: int, ieee: bool) -> None:
    written = descriptor(rsrc1 | 0x3FF, 0x1FFF & ~(1 << 6), rsrc3 | 0x1003F if family == "cdna" else rsrc3)
    assert list(unknown_modes(written, family)) == []
    assert has_ieee_mode(written, family) is ieee


@pytest.mark.parametrize("field", FIELDS, ids=lambda field: field.name)
def test_each_other_value_is_named(field: DescriptorField) -> None:
    family = field.families[-1]
    words = {"rsrc1": next(rsrc1 for name, rsrc1, _, _ in WRITTEN if name == family), "rsrc2": 0, "rsrc3": 0}
    for value in range(1 << field.size):
        mask = ((1 << field.size) - 1) << field.bit
        changed = words | {field.word: words[field.word] & ~mask | value << field.bit}
        problem = f"{field.name} = {value} of its descriptor is not known: {field.value} is"
        assert list(unknown_modes(descriptor(**changed), family)) == ([] if value == field.value else [problem])
