"""A code object as the emulator needs it: the loaded image, kernel descriptors, arguments, variables, relocations.

Layouts are those of LLVM's AMDGPUUsage. The metadata note is read by `stackbuild.inspection`'s reader of MessagePack.
"""

from __future__ import annotations

import struct
from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property

from stackbuild.core.errors import Stop
from stackbuild.inspection.limits import KERNELS, PROGRAM_HEADERS
from stackbuild.inspection.readers.byte_parser import MalformedError
from stackbuild.inspection.readers.codeobject import EM_AMDGPU, merged_metadata
from stackbuild.inspection.readers.messagepack import unpack
from stackbuild.tables.targets import of_e_flags

_PT_LOAD, _PT_DYNAMIC, _PT_NOTE = 1, 2, 4
_PF_X = 1
_DYNAMIC_STACK = 11
"""The bit of a kernel's properties that says that its calls need more scratch than the descriptor has."""
_STACK = 1 << 14
_NT_METADATA = 32
_R_ABS64 = 3
_R_RELATIVE64 = 13
_LARGEST = 1 << 30
_LARGEST_GROUP = 1 << 20
_LARGEST_KERNARG = 1 << 16
_LARGEST_SCRATCH = 1 << 20


class CodeObjectError(Stop):
    """A code object that cannot be loaded."""

    topic = "emulator"


@dataclass(frozen=True)
class KernelArgument:
    """One kernel argument of the metadata; `kind` is its `.value_kind`."""

    name: str
    kind: str
    offset: int
    bytes: int


@dataclass(frozen=True)
class Descriptor:
    """The 64 bytes at NAME.kd. `entry` is the address of the first instruction."""

    group_bytes: int
    private_bytes: int
    kernarg_bytes: int
    entry: int
    rsrc1: int
    rsrc2: int
    rsrc3: int
    properties: int
    """The code properties, and above bit 16 which arguments lie in scalar registers (KERNARG_PRELOAD)."""

    def bit(self, number: int) -> bool:
        """A bit of the kernel's code properties."""
        return bool(self.properties >> number & 1)

    @property
    def flushes_denormals(self) -> bool:
        """Whether float32 denormals are flushed: FLOAT_DENORM_MODE_32 is not 3."""
        return self.rsrc1 >> 16 & 3 != 3

    @property
    def scratch_bytes(self) -> int:
        """Bytes of scratch of a lane: those that the compiler counted, and a stack where it says that it cannot count them."""
        return self.private_bytes + (_STACK if self.bit(_DYNAMIC_STACK) else 0)


@dataclass(frozen=True)
class KernelImage:
    """One kernel: its descriptor, where its code lies, and its arguments."""

    name: str
    symbol: str
    descriptor: Descriptor
    code_end: int
    lanes: int
    registers: tuple[int, int, int]
    maximum_workgroup: int
    noted_group_bytes: int
    """Bytes of LDS by the metadata."""
    arguments: tuple[KernelArgument, ...]

    @property
    def group_bytes(self) -> int:
        """Static bytes of LDS: the metadata's, which HIP dispatches with, or the descriptor's if they are more."""
        return max(self.descriptor.group_bytes, self.noted_group_bytes)

    @property
    def kernarg_bytes(self) -> int:
        """Bytes of the kernarg segment: the descriptor's, which hand-written kernels leave 0, or where its arguments end."""
        return max(self.descriptor.kernarg_bytes, 0, *(a.offset + a.bytes for a in self.arguments))

    @property
    def explicit_bytes(self) -> int:
        """Bytes of the kernarg segment before the hidden arguments."""
        return max((a.offset + a.bytes for a in self.arguments if not a.kind.startswith("hidden_")), default=0)


@dataclass(frozen=True)
class LoadedObject:
    """A code object: `image` is its memory from address 0; `relocations` are (address, place in the image) of pointers."""

    target: str
    version: int
    image: bytes
    symbols: dict[str, tuple[int, int]]
    relocations: tuple[tuple[int, int], ...]
    metadata: dict[bytes, object]
    code: tuple[int, int] = (0, 0)
    """The first byte of the executable segments, and their end."""

    @cached_property
    def kernels(self) -> tuple[KernelImage, ...]:
        """The kernels of the metadata, in their order. Raises CodeObjectError."""
        entries = self.metadata.get(b"amdhsa.kernels", [])
        if not isinstance(entries, list):
            raise CodeObjectError("the code object's list of kernels is not a list")
        return tuple(self._kernel(entry) for entry in entries)

    @cached_property
    def _addresses(self) -> list[int]:
        """The addresses of all symbols, in order."""
        return sorted({address for address, _ in self.symbols.values()})

    def _kernel(self, entry: object) -> KernelImage:
        if not isinstance(entry, dict):
            raise CodeObjectError("a kernel in the code object's metadata is not a map")
        name, symbol = _text(entry, b".name"), _text(entry, b".symbol")
        if symbol not in self.symbols:
            raise CodeObjectError(f"kernel {name} has no descriptor {symbol}")
        descriptor = self._descriptor(symbol)
        start, size = self.symbols.get(name, (descriptor.entry, 0))
        if not size:
            later = bisect_right(self._addresses, start)
            size = (self._addresses[later] if later < len(self._addresses) else len(self.image)) - start
        arguments = entry.get(b".args", [])
        entries = arguments if isinstance(arguments, list) else []
        kernel = KernelImage(
            name, symbol, descriptor, start + size, _number(entry, b".wavefront_size"),
            (_number(entry, b".vgpr_count"), _number(entry, b".sgpr_count"), _number(entry, b".agpr_count")),
            _number(entry, b".max_flat_workgroup_size"),
            _number(entry, b".group_segment_fixed_size"), tuple(_argument(a) for a in entries),
        )  # fmt: skip
        if kernel.lanes not in (32, 64):
            raise CodeObjectError(f"kernel {name} has waves of {kernel.lanes} lanes; 32 and 64 are known")
        if kernel.descriptor.private_bytes > _LARGEST_SCRATCH:
            scratch = kernel.descriptor.private_bytes
            raise CodeObjectError(
                f"kernel {name} takes {scratch} bytes of scratch a lane; at most {_LARGEST_SCRATCH} are"
            )
        if not 0 <= kernel.group_bytes <= _LARGEST_GROUP:
            raise CodeObjectError(
                f"kernel {name} takes {kernel.group_bytes} bytes of LDS; at most {_LARGEST_GROUP} are"
            )
        if kernel.kernarg_bytes > _LARGEST_KERNARG:
            raise CodeObjectError(
                f"kernel {name} takes {kernel.kernarg_bytes} bytes of arguments; at most {_LARGEST_KERNARG} are"
            )
        return kernel

    def _descriptor(self, symbol: str) -> Descriptor:
        at, _ = self.symbols[symbol]
        if at + 64 > len(self.image):
            raise CodeObjectError(f"descriptor {symbol} lies outside of the code object")
        group, private, kernarg, _, offset = struct.unpack_from("<IIIIq", self.image, at)
        rsrc3, rsrc1, rsrc2, properties = struct.unpack_from("<IIII", self.image, at + 44)
        return Descriptor(group, private, kernarg, at + offset, rsrc1, rsrc2, rsrc3, properties)


def load(data: bytes) -> LoadedObject:
    """Load a code object's segments and read its symbols and metadata. Raises CodeObjectError."""
    try:
        return _load(data)
    except (struct.error, IndexError, MalformedError, OverflowError, ValueError) as error:
        raise CodeObjectError(f"the code object is broken: {error}") from None


def _load(data: bytes) -> LoadedObject:
    if data[:6] != b"\x7fELF\x02\x01":
        raise CodeObjectError("the code object is no 64-bit ELF file")
    machine, _, _, phoff, _, flags, _, _, count = struct.unpack_from("<HIQQQIHHH", data, 18)
    if machine != EM_AMDGPU:
        raise CodeObjectError(f"the ELF file is of machine {machine}, not AMDGPU ({EM_AMDGPU})")
    if count > PROGRAM_HEADERS:
        raise CodeObjectError(f"the code object has {count} program headers; at most {PROGRAM_HEADERS} are read")
    version = {1: 3, 2: 4, 3: 5, 4: 6}.get(data[8], 0)
    headers = [struct.unpack_from("<IIQQQQQQ", data, phoff + 56 * i) for i in range(count)]
    end = max((h[3] + h[6] for h in headers if h[0] == _PT_LOAD), default=0)
    if not 0 < end <= _LARGEST:
        raise CodeObjectError(f"the code object takes {end} bytes when loaded; at most {_LARGEST} are")
    image = bytearray(end)
    for kind, _, offset, address, _, size, _, _ in headers:
        if kind == _PT_LOAD:
            if address + size > end:
                raise CodeObjectError("a segment of the code object has more bytes in the file than in memory")
            if offset + size > len(data):
                raise CodeObjectError("a segment of the code object lies beyond the file")
            image[address : address + size] = data[offset : offset + size]
    dynamic = next((h for h in headers if h[0] == _PT_DYNAMIC), None)
    symbols, relocations = _dynamic(bytes(image), dynamic[3], dynamic[6]) if dynamic else ({}, ())
    note = next((h for h in headers if h[0] == _PT_NOTE), None)
    metadata = _metadata(data[note[2] : note[2] + note[5]]) if note else {}
    code = [(h[3], h[3] + h[6]) for h in headers if h[0] == _PT_LOAD and h[1] & _PF_X]
    bounds = (min(low for low, _ in code), max(high for _, high in code)) if code else (0, 0)
    return LoadedObject(of_e_flags(flags, version), version, bytes(image), symbols, relocations, metadata, bounds)


def _metadata(notes: bytes) -> dict[bytes, object]:
    """The metadata of all notes: a code object that was linked of many has a note of each."""
    maps, at = [], 0
    while at + 12 <= len(notes):
        name_size, size, kind = struct.unpack_from("<III", notes, at)
        start = at + 12 + (name_size + 3 & ~3)
        if kind == _NT_METADATA:
            maps.append(unpack(notes[start : start + size], "kernel metadata", KERNELS))
        at = start + (size + 3 & ~3)
    return merged_metadata(maps)


_SYMBOLS = 1 << 16
_NAME_BYTES = 1 << 26


def _dynamic(image: bytes, at: int, size: int) -> tuple[dict[str, tuple[int, int]], tuple[tuple[int, int], ...]]:
    """Symbols by name as (address, bytes), and pointers as (address, place that they point to). Raises CodeObjectError."""
    tags: dict[int, int] = {}
    for tag, value in struct.iter_unpack("<QQ", image[at : at + (size & ~15)]):
        if tag == 0:
            break
        tags[tag] = value
    symbols: dict[str, tuple[int, int]] = {}
    places: list[int | None] = []  # of symbols by number, None for those of other objects
    table, names = tags.get(6, 0), tags.get(5, 0)
    count = struct.unpack_from("<I", image, tags[4] + 4)[0] if 4 in tags else max(0, (names - table) // 24)
    if count > _SYMBOLS:
        raise CodeObjectError(f"the code object has {count} symbols; at most {_SYMBOLS} are read")
    names_size = 0
    for i in range(count):
        name, _, _, section, address, length = struct.unpack_from("<IBBHQQ", image, table + 24 * i)
        places.append(address if section else None)
        end = image.index(b"\0", names + name)
        names_size += end - names - name
        if names_size > _NAME_BYTES:  # names may overlap: together they can be longer than the file
            raise CodeObjectError(f"the names of the code object's symbols have more than {_NAME_BYTES} bytes together")
        if name:
            symbols[image[names + name : end].decode()] = (address, length)
    relocations = []
    for offset, info, addend in struct.iter_unpack("<QQq", image[tags.get(7, 0) : tags.get(7, 0) + tags.get(8, 0)]):
        kind, number = info & 0xFFFFFFFF, info >> 32
        if kind not in (_R_RELATIVE64, _R_ABS64):
            raise CodeObjectError(f"relocation {kind} of the code object is not known")
        place = 0 if kind == _R_RELATIVE64 else places[number] if number < len(places) else None
        if offset + 8 > len(image):
            raise CodeObjectError(f"a pointer at {offset:#x} lies outside of the code object")
        if place is None:
            raise CodeObjectError(f"a pointer at {offset:#x} of the code object leads to a symbol that it has not")
        relocations.append((offset, place + addend))
    return symbols, tuple(relocations)


def _text(entry: dict[bytes, object], key: bytes) -> str:
    value = entry.get(key, b"")
    try:
        text = value.decode() if isinstance(value, bytes) else ""
    except UnicodeDecodeError:
        text = "\n"
    if not text.isprintable():
        raise CodeObjectError(f"{key.decode()} in the code object's metadata is not a text: {value!r:.80}")
    return text


def _number(entry: dict[bytes, object], key: bytes) -> int:
    value = entry.get(key, 0)
    return value if isinstance(value, int) else 0


def _argument(entry: object) -> KernelArgument:
    if not isinstance(entry, dict):
        raise CodeObjectError("a kernel argument in the code object's metadata is not a map")
    return KernelArgument(
        _text(entry, b".name"),
        _text(entry, b".value_kind"),
        max(0, _number(entry, b".offset")),
        max(0, _number(entry, b".size")),
    )
