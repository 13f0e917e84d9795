"""The code object for one target out of a bundle, or a code object alone, with what it is for compared."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from stackbuild.emulator.code_object import load
from stackbuild.emulator.encodings import family_name
from stackbuild.inspection.facts import CodeObject
from stackbuild.inspection.readers import bundle, ccob
from stackbuild.inspection.readers.budget import ReadBudget
from stackbuild.inspection.readers.byte_parser import MalformedError, read_all
from stackbuild.inspection.readers.codeobject import code_object
from stackbuild.inspection.readers.descriptors import is_same_lds
from stackbuild.tables.targets import device_id, is_loadable

_WAVE32 = 10
"""The bit ENABLE_WAVEFRONT_SIZE32 of a descriptor's code properties (LLVM's AMDGPUUsage, "Kernel Descriptor")."""


def code_object_for(target: str, data: bytes) -> bytes:
    """The bytes of the code object that a GPU of `target` loads, as HIP chooses it: by processor, xnack and sramecc.

    Raises MalformedError where there is none, or one for another target.
    """
    whole = inflate(data)
    if whole.startswith(b"\x7fELF"):
        return _check_target(whole, target, "")
    objects = dict(entries(whole))
    device = device_id(target)
    names = [name for name in objects if is_loadable(name, device)]
    if not names:
        has = ", ".join(sorted(objects)) or "none"
        raise MalformedError(f"no code object for {device}; it has {has}")
    return _check_target(objects[names[0]], target, names[0])


def entries(whole: bytes) -> Iterable[tuple[str, bytes]]:
    """(target ID, code object) of every device entry of a plain bundle. Raises MalformedError."""
    budget = ReadBudget(len(whole))
    members = read_all(bundle.plain(0, len(whole), budget), _from(whole))
    rows, _ = read_all(bundle.directory(0, len(whole), budget), _from(whole))
    if members.problems:
        raise MalformedError(members.problems[0])
    for offset, size, name in rows:
        if size and not name.startswith("host-"):
            yield bundle.target_of(name), whole[offset : offset + size]


def inflate(data: bytes) -> bytes:
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


def describe(code: bytes) -> CodeObject:
    """What a code object says of itself. Raises MalformedError."""
    return read_all(code_object(0, len(code), "", ReadBudget(len(code))), _from(code))


def check_descriptor(code: bytes, name: str) -> None:
    """Refuse a kernel whose descriptor, which the hardware obeys, says another thing than its metadata, which the runtime reads.

    A descriptor may leave the bytes of arguments out (0), as that of Tensile's assembled kernels does.
    """
    match = next((kernel for kernel in describe(code).kernels if kernel.name == name), None)
    image = next((kernel for kernel in load(code).kernels if kernel.name == name), None)
    if match is None or image is None:
        return  # the translation says so
    descriptor = image.descriptor
    rows = [
        (
            "bytes of LDS",
            match.lds if is_same_lds(descriptor.group_bytes, match.lds) else descriptor.group_bytes,
            match.lds,
        ),
        ("bytes of scratch", descriptor.private_bytes, match.scratch),
        ("bytes of arguments", descriptor.kernarg_bytes or match.kernarg, match.kernarg),
    ]
    if family_name(describe(code).target) != "cdna":
        rows.append(("lanes of a wave", 32 if descriptor.bit(_WAVE32) else 64, match.wave))
    for what, value, noted_value in rows:
        if value != noted_value:
            raise MalformedError(f"{name}: its descriptor says {value} {what}, its metadata {noted_value}")


def _check_target(code: bytes, target: str, claimed_target: str) -> bytes:
    """Refuse a code object that a GPU of the target does not load, whatever the name it lies under."""
    description, device = describe(code), device_id(target)
    for name_in_metadata in (description.target, description.noted or description.target):
        if not is_loadable(name_in_metadata, device):
            under = f" under the name {claimed_target}" if claimed_target else ""
            raise MalformedError(f"the code object{under} is for {name_in_metadata}, not for {device}")
    return code


def _from(data: bytes) -> Callable[[int, int], bytes]:
    return lambda offset, size: data[offset : offset + size]
