"""A library as the dynamic loader sees it: through its program headers and PT_DYNAMIC, never through section headers.

Sections are for linkers and debuggers: the loader never reads them, and a library without them loads all the same.
Offsets and sizes are those of the ELF-64 little-endian format and of the GNU extensions (gABI chapter 5). What is followed
is as in glibc's elf/dl-load.c and dl-version.c: the last PT_DYNAMIC, by address; chains of version needs by their links,
not by their counts.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

from stackbuild.inspection.limits import (
    DYNAMIC_TAGS,
    NAME,
    PROGRAM_HEADERS,
    PROPERTIES,
    SYMBOLS,
    TABLE,
    VERSION_NEEDS,
    Cost,
)
from stackbuild.inspection.readers.budget import ReadBudget
from stackbuild.inspection.readers.byte_parser import LimitError, MalformedError
from stackbuild.inspection.readers.source import ByteSource

_LOAD, _DYNAMIC, _STACK, _PROPERTY = 1, 2, 0x6474E551, 0x6474E553
_PLTRELSZ, _HASH, _STRTAB, _SYMTAB, _RELA, _RELASZ, _STRSZ, _TEXTREL, _JMPREL, _FLAGS = 2, 4, 5, 6, 7, 8, 10, 22, 23, 30
_DF_TEXTREL = 4
_FLAGS_1, _DF_1_PIE = 0x6FFFFFFB, 0x08000000
_GNU_HASH, _VERSYM, _VERNEED = 0x6FFFFEF5, 0x6FFFFFF0, 0x6FFFFFFE
NEEDED_TAG, SONAME, RPATH, RUNPATH = 1, 14, 15, 29
_ISA_NEEDED = 0xC0008002  # GNU_PROPERTY_X86_ISA_1_NEEDED
_BATCH = 4_096


class Segment(NamedTuple):
    """One program header: sizes and offsets in bytes of the file, `address` as loaded."""

    kind: int
    flags: int
    offset: int
    address: int
    size: int


class ElfImage:
    """The tables that the program headers lead to. Every method raises MalformedError where they lead nowhere."""

    def __init__(self, source: ByteSource, budget: ReadBudget) -> None:
        self._source, self._budget = source, budget
        self.segments = _segments(source)
        self.tags = self._dynamic()
        self.is_dynamic = bool(self.tags)
        self._last = dict(self.tags)
        at, size = self._last.get(_STRTAB, 0), self._last.get(_STRSZ, 0)
        _at_most("dynamic strings", size, TABLE)
        self._text = self._read(at, size) if at else b""

    def names(self, tag: int) -> tuple[str, ...]:
        """The strings of every dynamic tag of one kind, in order."""
        return tuple(self._string(value) for kind, value in self.tags if kind == tag)

    def name(self, tag: int) -> str | None:
        """The string of the last tag of a kind, which is the one that counts; None where there is none."""
        return self._string(self._last[tag]) if tag in self._last else None

    def exec_stack(self) -> bool | None:
        flags = [segment.flags for segment in self.segments if segment.kind == _STACK]
        return bool(flags[-1] & 1) if flags else None

    def text_relocations(self) -> bool:
        """Whether the loader has to make machine code writable: DT_TEXTREL, or that flag of DT_FLAGS."""
        return _TEXTREL in self._last or bool(self._last.get(_FLAGS, 0) & _DF_TEXTREL)

    def is_position_independent_executable(self) -> bool:
        """Whether DT_FLAGS_1 has DF_1_PIE: glibc's dlopen refuses such a file (elf/dl-load.c)."""
        return bool(self._last.get(_FLAGS_1, 0) & _DF_1_PIE)

    def stretches(self) -> list[tuple[int, int]]:
        """(offset, size) of what is loaded, machine code too: older linkers put constants beside it."""
        return [(segment.offset, segment.size) for segment in self.segments if segment.kind == _LOAD]

    def isa(self) -> int:
        """The x86-64 level that the GNU property note says is needed (1 to 4); 0 where it says none."""
        for segment in self.segments:
            if segment.kind == _PROPERTY and segment.size <= PROPERTIES:
                return _isa(self._source.read(segment.offset, segment.size))
        return 0

    def versions(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """(soname, symbol versions asked of it), by following the links from DT_VERNEED."""
        return tuple((file, tuple(name for _, name in rows)) for file, rows in self._version_needs())

    def required_versions(self) -> dict[str, tuple[str, str]]:
        """Each undefined symbol to the (soname, version) that is asked of it; ("", "") where none is."""
        numbers = {number: (file, name) for file, rows in self._version_needs() for number, name in rows}
        at, versym = self._last.get(_SYMTAB, 0), self._last.get(_VERSYM, 0)
        count = self._hash_table_count() or self._relocation_count() if at else 0
        _at_most("dynamic symbols", count, SYMBOLS)
        table = struct.iter_unpack("<IBBHQQ", self._exactly(at, 24 * count)) if count else ()
        words = struct.unpack(f"<{count}H", self._exactly(versym, 2 * count)) if versym else (0,) * count
        return {
            self._string(name): numbers.get(word & 0x7FFF, ("", ""))
            for (name, info, _, section, _, _), word in zip(table, words, strict=True)
            if name and info >> 4 and not section
        }

    def _version_needs(self) -> list[tuple[str, list[tuple[int, str]]]]:
        """(soname, (number in DT_VERSYM, version) of each version asked of it)."""
        needs: list[tuple[str, list[tuple[int, str]]]] = []
        at, remaining_needs = self._last.get(_VERNEED, 0), VERSION_NEEDS
        while at:
            _, _, file, first, following = struct.unpack("<HHIII", self._exactly(at, 16))
            versions: list[tuple[int, str]] = []
            aux = at + first
            while True:
                remaining_needs -= 1
                if remaining_needs < 0:
                    raise LimitError(f"more than {VERSION_NEEDS} symbol-version needs")
                _, _, number, name, step = struct.unpack("<IHHII", self._exactly(aux, 16))
                versions.append((number, self._string(name)))
                if not step:
                    break
                aux += step
            needs.append((self._string(file), versions))
            at = at + following if following else 0
        return needs

    def symbols(self, entries: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """(exported, undefined) symbols. `entries` is the number in a section header, used only without a hash table."""
        exports: list[str] = []
        undefined_names: list[str] = []
        at = self._last.get(_SYMTAB, 0)
        count = (self._hash_table_count() or entries or self._relocation_count()) if at else 0
        _at_most("dynamic symbols", count, SYMBOLS)
        text = self._text
        for first in range(0, count, _BATCH):
            memory = 0
            data = self._exactly(at + 24 * first, 24 * min(_BATCH, count - first))
            for name, info, _, section, _, _ in struct.iter_unpack("<IBBHQQ", data):
                if name and info >> 4:  # named and not local
                    end = text.find(b"\0", name, name + NAME)
                    name_text = text[name : end if end >= 0 else name + NAME].decode("utf-8", "replace")
                    (exports if section else undefined_names).append(name_text)
                    memory += len(name_text) + 64
            self._budget.spend(Cost.TEXT, memory)
        return tuple(exports), tuple(undefined_names)

    def offset(self, address: int) -> int:
        """Where the byte at an address is in the file."""
        for segment in self.segments:
            if segment.kind == _LOAD and segment.address <= address < segment.address + segment.size:
                return segment.offset + address - segment.address
        raise MalformedError(f"address {address:#x}, which it refers to, is not loaded from the file")

    def symbol_table(self) -> int:
        """File offset of the dynamic symbols; -1 where there are none."""
        return self.offset(self._last[_SYMTAB]) if self._last.get(_SYMTAB) else -1

    def _dynamic(self) -> list[tuple[int, int]]:
        places = [s.address for s in self.segments if s.kind == _DYNAMIC and s.size]
        if not places:
            return []
        data = self._read(places[-1], 16 * DYNAMIC_TAGS)
        tags: list[tuple[int, int]] = []
        for kind, value in struct.iter_unpack("<QQ", data[: len(data) // 16 * 16]):
            if not kind:
                return tags
            tags.append((kind, value))
        if len(data) < 16 * DYNAMIC_TAGS:
            raise MalformedError("it ends inside its dynamic tags")
        raise LimitError(f"no end of its dynamic tags; at most {DYNAMIC_TAGS} are read")

    def _read(self, address: int, size: int) -> bytes:
        self._budget.spend(Cost.READS, 1)
        return self._source.read(self.offset(address), size)

    def _exactly(self, address: int, size: int) -> bytes:
        data = self._read(address, size)
        if len(data) < size:
            raise MalformedError(f"it ends inside a table at address {address:#x}")
        return data

    def _string(self, at: int) -> str:
        """A dynamic string. The loader goes on to the zero byte, whatever DT_STRSZ says."""
        inside = at < len(self._text) and self._text.find(b"\0", at) >= 0
        raw = self._text[at : at + NAME] if inside else self._read(self._last.get(_STRTAB, 0) + at, NAME)
        raw = raw.partition(b"\0")[0]
        self._budget.text(len(raw))
        return raw.decode("utf-8", "replace")

    def _hash_table_count(self) -> int:
        """The number of symbols according to the hash table; 0 if there is none."""
        if _GNU_HASH in self._last:
            return self._gnu_hashed(self._last[_GNU_HASH])
        if _HASH in self._last:
            return int(struct.unpack("<II", self._exactly(self._last[_HASH], 8))[1])
        return 0

    def _gnu_hashed(self, at: int) -> int:
        """One more than the last symbol of the highest chain; 0 where nothing is hashed (a library that exports nothing)."""
        buckets, first, blooms, _ = struct.unpack("<IIII", self._exactly(at, 16))
        _at_most("hash buckets", buckets, SYMBOLS)
        start = at + 16 + 8 * blooms
        highest = max(struct.unpack(f"<{buckets}I", self._exactly(start, 4 * buckets)), default=0)
        if highest < max(first, 1):
            return 0
        chains = start + 4 * buckets
        while highest < SYMBOLS:
            words = self._read(chains + 4 * (highest - first), 256)
            for (word,) in struct.iter_unpack("<I", words[: len(words) // 4 * 4]):
                highest += 1
                if word & 1:
                    return highest
            if len(words) < 256:
                raise MalformedError("its symbol hash table has no end")
        raise LimitError(f"a chain of more than {SYMBOLS} symbols")

    def _relocation_count(self) -> int:
        """One more than the highest symbol that a relocation names."""
        highest = 0
        for table, size in ((_RELA, _RELASZ), (_JMPREL, _PLTRELSZ)):
            if table in self._last:
                length = self._last.get(size, 0) // 24 * 24
                _at_most("relocations", length, TABLE)
                rows = struct.iter_unpack("<QQq", self._exactly(self._last[table], length))
                highest = max(highest, max((info >> 32 for _, info, _ in rows), default=0))
        return highest + 1 if highest else 0


def _segments(source: ByteSource) -> tuple[Segment, ...]:
    head = source.read(0, 64)
    if len(head) < 64 or head[4:6] != b"\x02\x01":
        return ()
    at, entry, count = *struct.unpack_from("<Q", head, 32), *struct.unpack_from("<HH", head, 54)
    if not count:
        return ()
    _at_most("program headers", count, PROGRAM_HEADERS)
    table = source.read(at, 56 * count)
    if entry != 56 or len(table) < 56 * count:
        raise MalformedError(f"{count} program headers of {entry} bytes at {at}, which a loader does not take")
    rows = struct.iter_unpack("<IIQQQQQQ", table)
    segments = tuple(
        Segment(kind, flags, offset, address, size) for kind, flags, offset, address, _, size, _, _ in rows
    )
    end = max((segment.offset + segment.size for segment in segments if segment.kind == _LOAD), default=0)
    if end > source.size:
        raise MalformedError(f"it was cut short: what is loaded of it ends at {end:,}, it has {source.size:,} bytes")
    return segments


def _isa(data: bytes) -> int:
    return next((_isa_property(desc) for kind, desc in _notes(data) if kind == 5), 0)


def _notes(data: bytes) -> Iterator[tuple[int, bytes]]:
    """(type, description) of the notes named GNU, which are padded to 8 bytes here."""
    at = 0
    while at + 16 <= len(data):
        name_size, desc_size, kind = struct.unpack_from("<III", data, at)
        start = at + 12 + (name_size + 3 & ~3)
        if data[at + 12 : at + 16] == b"GNU\0":
            yield kind, data[start : start + desc_size]
        at = start + (desc_size + 7 & ~7)


def _isa_property(desc: bytes) -> int:
    at = 0
    while at + 8 <= len(desc):
        kind, size = struct.unpack_from("<II", desc, at)
        if kind == _ISA_NEEDED and size >= 4 and at + 12 <= len(desc):
            return int(struct.unpack_from("<I", desc, at + 8)[0] & 0xF).bit_length()
        at += 8 + (size + 7 & ~7)
    return 0


def _at_most(what: str, count: int, most: int) -> None:
    if count > most:
        raise LimitError(f"{count} {what}; at most {most} are read")
