"""A loaded code object of one kernel, made from its assembled instructions."""

from __future__ import annotations

import struct

from stackbuild.emulator.code_object import LoadedObject
from support.instruction_machine import codes
from support.sanitizer_defects import SeededDefect

ENTRY = 256
"""Where the code begins in the image; the descriptor lies before it."""


MODES = 3 << 16 | 3 << 18 | 1 << 21 | 1 << 23
"""What HIP's compiler writes for gfx9 and gfx11: denormals are kept, DX10_CLAMP and IEEE_MODE are set."""


def code_object(
    defect: SeededDefect, text: str, name: str, modes: tuple[int, int, int] = (MODES, 0, 0), preload: int = 0
) -> LoadedObject:
    """A loaded code object of one kernel: its descriptor, its code and its metadata.

    `modes` are bits of the descriptor's three words, `preload` is its last field.
    """
    code = bytes.fromhex(codes()[defect.target, text])
    lanes = 64 if defect.target.startswith("gfx9") else 32
    rsrc1 = modes[0] & ~(3 << 16) if defect.flushes else modes[0]
    rsrc1 |= 15  # 128 vector registers
    rsrc3 = modes[2] | (15 if lanes == 64 else 0)  # those from the 64th on are accumulation registers
    rsrc2 = int(defect.private > 0) | 2 << 1 | (1 << 7 if defect.groups > 1 else 0) | modes[1]
    descriptor = struct.pack(
        "<IIIIq20xIIIHH4x", defect.group, defect.private, 8, 0, ENTRY, rsrc3, rsrc1, rsrc2, 1 << 3 | (lanes == 32) << 10, preload
    )
    image = descriptor.ljust(ENTRY, b"\0") + code
    symbols = {f"{name}.kd": (0, 64), name: (ENTRY, len(code))}
    argument = {b".name": b"memory", b".value_kind": b"global_buffer", b".offset": 0, b".size": 8}
    kernel = {
        b".name": name.encode(), b".symbol": f"{name}.kd".encode(), b".wavefront_size": lanes, b".vgpr_count": 8, b".sgpr_count": 16,
        b".agpr_count": 0, b".max_flat_workgroup_size": 1024, b".args": [argument],
    }  # fmt: skip
    return LoadedObject(defect.target, 5, image, symbols, (), {b"amdhsa.kernels": [kernel]})
