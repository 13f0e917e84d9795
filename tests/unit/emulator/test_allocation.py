"""A descriptor that gives a kernel less than it needs is named, with the field and its value."""

from __future__ import annotations

import pytest

pytest.importorskip("tinygrad")

from stackbuild.emulator.allocation import RegisterNeed, lacks, register_need
from stackbuild.emulator.code_object import Descriptor, KernelImage
from stackbuild.emulator.decoder import decode
from stackbuild.emulator.encodings import target_tables

NEED = RegisterNeed(vectors=17, accumulators=0, scalars=20, scratch=False)


def kernel(
    *, vector_field: int = 2, scalar_field: int = 2, offset_field: int = 7, lanes: int = 64, noted: int = 17, scratch: int = 0,
    has_scratch: bool = False,
) -> KernelImage:
    """By default one for CDNA that has 24 vector registers, 32 of them before the accumulation registers, and 32 scalar ones."""
    descriptor = Descriptor(0, scratch, 8, 256, vector_field | scalar_field << 6, int(has_scratch), offset_field, 0)
    return KernelImage("k", "k.kd", descriptor, 512, lanes, (noted, 32, 0), 1024, 0, ())


def said(image: KernelImage, need: RegisterNeed = NEED, family: str = "cdna") -> list[str]:
    return list(lacks(image, need, family))


def test_a_descriptor_that_gives_enough_is_right() -> None:
    assert said(kernel()) == []
    assert said(kernel(vector_field=4, lanes=64), family="rdna3") == []
    assert said(kernel(has_scratch=True, scratch=16)) == []


@pytest.mark.parametrize(("family", "lanes", "field", "count"), [("cdna", 64, 1, 16), ("rdna3", 32, 1, 16), ("rdna4", 64, 3, 16)])
def test_too_few_vector_registers(family: str, lanes: int, field: int, count: int) -> None:
    (text,) = said(kernel(vector_field=field, lanes=lanes), family=family)
    assert text == (
        f"GRANULATED_WORKITEM_VGPR_COUNT = {field} of its descriptor gives {count} vector registers: the code uses 17, its metadata say 17"
    )


def test_fewer_than_the_metadata_say() -> None:
    (text,) = said(kernel(noted=25))
    assert text.endswith("gives 24 vector registers: the code uses 17, its metadata say 25")


def test_accumulation_registers_begin_behind_the_others_and_are_counted_with_them() -> None:
    (text,) = said(kernel(offset_field=3))
    assert text.startswith("ACCUM_OFFSET = 3 of its descriptor gives 16 vector registers before the accumulation registers")
    (text,) = said(kernel(), RegisterNeed(17, 4, 20, scratch=False))
    assert text.startswith("GRANULATED_WORKITEM_VGPR_COUNT = 2 of its descriptor gives 24 vector registers: the code uses 36")


def test_too_few_scalar_registers_are_cdnas_alone() -> None:
    (text,) = said(kernel(scalar_field=0))
    assert text == "GRANULATED_WAVEFRONT_SGPR_COUNT = 0 of its descriptor gives 16 scalar registers: the code uses 20"
    assert said(kernel(scalar_field=0, vector_field=4), family="rdna3") == []


@pytest.mark.parametrize(("image", "need"), [(kernel(scratch=16), NEED), (kernel(), RegisterNeed(17, 0, 20, scratch=True))])
def test_scratch_that_is_not_enabled(image: KernelImage, need: RegisterNeed) -> None:
    (text,) = said(image, need)
    assert text.startswith("ENABLE_PRIVATE_SEGMENT = 0 of its descriptor gives no scratch")


@pytest.mark.parametrize(
    ("target", "code", "need"),
    [
        ("gfx942", "004070dc00010f00", RegisterNeed(2, 0, 16, scratch=True)),  # scratch_store_dword off, v1, s15
        ("gfx942", "006050dc01007f08", RegisterNeed(9, 0, 0, scratch=True)),  # scratch_load_dword v8, v1, off
    ],
)
def test_what_code_needs_is_read_from_it(target: str, code: str, need: RegisterNeed) -> None:
    assert register_need([decode(bytes.fromhex(code), target_tables(target))], 64) == need
