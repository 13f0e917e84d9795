"""A loaded code object of one kernel, made from its assembled instructions."""

from __future__ import annotations

import struct

from stackbuild.emulator.code_object import LoadedObject
from support.instruction_machine import codes
from support.sanitizer_defects import SeededDefect

ENTRY = 256
"""Where the code begins in the image; the descriptor lies before it."""


def code_object(defect: SeededDefect, text: str, name: str) -> LoadedObject:
    """A loaded code object of one kernel: its descriptor, its code and its metadata."""
    code = bytes.fromhex(codes()[defect.target, text])
    lanes = 64 if defect.target.startswith("gfx9") else 32
    rsrc1 = 0 if defect.flushes else 3 << 16
    rsrc2 = 2 << 1 | (1 << 7 if defect.groups > 1 else 0)
    descriptor = struct.pack(
        "<IIIIq20xIIIHH4x", defect.group, defect.private, 8, 0, ENTRY, 0, rsrc1, rsrc2, 1 << 3 | (lanes == 32) << 10, 0
    )
    image = descriptor.ljust(ENTRY, b"\0") + code
    symbols = {f"{name}.kd": (0, 64), name: (ENTRY, len(code))}
    argument = {b".name": b"memory", b".value_kind": b"global_buffer", b".offset": 0, b".size": 8}
    kernel = {
        b".name": name.encode(), b".symbol": f"{name}.kd".encode(), b".wavefront_size": lanes, b".vgpr_count": 8, b".sgpr_count": 16,
        b".agpr_count": 0, b".max_flat_workgroup_size": 1024, b".args": [argument],
    }  # fmt: skip
    return LoadedObject(defect.target, 5, image, symbols, (), {b"amdhsa.kernels": [kernel]})
