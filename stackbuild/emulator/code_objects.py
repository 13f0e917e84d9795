"""The code object for one target out of a bundle, or a code object alone, with what it is for compared."""

from __future__ import annotations

import mmap
from collections.abc import Callable, Iterable

from stackbuild.emulator.code_object import load
from stackbuild.emulator.encodings import family_name
from stackbuild.inspection.facts import CodeObject
from stackbuild.inspection.readers import bundle, ccob
from stackbuild.inspection.readers.budget import ReadBudget
from stackbuild.inspection.readers.byte_parser import MalformedError, read_all
from stackbuild.inspection.readers.codeobject import code_object
from stackbuild.tables.targets import processor

_WAVE32 = 10
"""The bit ENABLE_WAVEFRONT_SIZE32 of a descriptor's code properties (LLVM's AMDGPUUsage, "Kernel Descriptor")."""


def code_object_for(target: str, data: bytes | mmap.mmap) -> bytes:
    """The bytes of the code object for `target`. Raises MalformedError where there is none, or one for another target."""
    whole = inflated(bytes(data))
    if whole.startswith(b"\x7fELF"):
        return _checked(whole, target, "")
    found = dict(entries(whole))
    names = [name for name in found if processor(name) == processor(target)]
    if not names:
        has = ", ".join(sorted(found)) or "none"
        raise MalformedError(f"no code object for {target}; it has {has}")
    return _checked(found[names[0]], target, names[0])


def entries(whole: bytes) -> Iterable[tuple[str, bytes]]:
    """(target ID, code object) of every device entry of a plain bundle. Raises MalformedError."""
    budget = ReadBudget(len(whole))
    made = read_all(bundle.plain(0, len(whole), budget), _from(whole))
    rows, _ = read_all(bundle.directory(0, len(whole), budget), _from(whole))
    if made.problems:
        raise MalformedError(made.problems[0])
    for offset, size, name in rows:
        if size and not name.startswith("host-"):
            yield bundle.target_of(name), whole[offset : offset + size]


def inflated(data: bytes) -> bytes:
    """A bundle as it lies in memory: what CCOB compressed, inflated and compared with its hash; anything else as it is."""
    if not data.startswith(ccob.MAGIC):
        return data
    head = ccob.header(data[: ccob.LONGEST])
    ccob.check_size(head, len(data))
    inflater = ccob.Inflater(head)
    whole = b"".join(inflater.push(data[head.header : head.total or len(data)]))
    if not inflater.finish():
        raise MalformedError("the hash of the compressed bundle does not agree with its content")
    return whole


def described(code: bytes) -> CodeObject:
    """What a code object says of itself. Raises MalformedError."""
    return read_all(code_object(0, len(code), "", ReadBudget(len(code))), _from(code))


def check_descriptor(code: bytes, name: str) -> None:
    """Refuse a kernel whose descriptor, which the hardware obeys, says another thing than its metadata, which the runtime reads."""
    found = next((kernel for kernel in described(code).kernels if kernel.name == name), None)
    image = next((kernel for kernel in load(code).kernels if kernel.name == name), None)
    if found is None or image is None:
        return  # the translation says so
    made = image.descriptor
    rows = [
        ("bytes of LDS", made.group_bytes, found.lds),
        ("bytes of scratch", made.private_bytes, found.scratch),
        ("bytes of arguments", made.kernarg_bytes, found.kernarg),
    ]
    if family_name(described(code).target) != "cdna":
        rows.append(("lanes of a wave", 32 if made.bit(_WAVE32) else 64, found.wave))
    for what, said, noted in rows:
        if said != noted:
            raise MalformedError(f"{name}: its descriptor says {said} {what}, its metadata {noted}")


def _checked(code: bytes, target: str, claimed: str) -> bytes:
    """Refuse a code object of another processor than the one it lies under."""
    found = described(code)
    for said in (found.target, found.noted or found.target):
        if processor(said) != processor(target):
            under = f" under the name {claimed}" if claimed else ""
            raise MalformedError(f"the code object{under} is for {said}, not for {target}")
    return code


def _from(data: bytes) -> Callable[[int, int], bytes]:
    return lambda offset, size: data[offset : offset + size]
