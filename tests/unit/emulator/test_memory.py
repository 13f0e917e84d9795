"""Where scratch instructions of CDNA take their address from: a vector register, a scalar one, or the offset alone."""

from __future__ import annotations

import pytest

pytest.importorskip("tinygrad")

from stackbuild.emulator.decoder import decode
from stackbuild.emulator.encodings import target_tables
from stackbuild.emulator.listing import text_of
from stackbuild.emulator.memory import memory_call


@pytest.mark.parametrize(
    ("target", "code", "text", "vector", "scalar"),
    [
        ("gfx942", "024048dc00007f08", "scratch_load_ushort v8, off, off offset:2", None, None),
        ("gfx942", "006050dc01007f08", "scratch_load_dword v8, v1, off", 1, None),
        ("gfx942", "004070dc00010f00", "scratch_store_dword off, v1, s15", None, 15),
        ("gfx90a", "004050dc01007f08", "scratch_load_dword v8, v1, off", 1, None),
    ],
)
def test_an_address_is_where_the_target_has_it(
    target: str, code: str, text: str, vector: int | None, scalar: int | None
) -> None:
    """The bytes are LLVM's. gfx90a has no bit that says whether the vector register counts."""
    inst = decode(bytes.fromhex(code), target_tables(target))
    call = memory_call(inst)
    assert (text_of(inst), call.address, call.base) == (text, vector, scalar)
