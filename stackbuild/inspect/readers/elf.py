"""Host ELF files: what the dynamic loader and a packager look at. The only module that imports pyelftools.

pyelftools reads the structures; this module bounds them first (a lying count must not cost memory or time), takes the
dynamic section from the program headers as the loader does, and turns every way it fails into Broken.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Iterator
from itertools import islice
from typing import IO, Any, cast

from elftools.common.exceptions import ELFError
from elftools.construct import ConstructError
from elftools.elf.dynamic import DynamicSegment
from elftools.elf.elffile import ELFFile
from elftools.elf.gnuversions import GNUVerNeedSection
from elftools.elf.sections import Section

from stackbuild.inspect.facts import Library
from stackbuild.inspect.limits import DESCRIBED, DYNAMIC_TAGS, PROGRAM_HEADERS, READS, SECTIONS, TABLE, VERSION_NEEDS
from stackbuild.inspect.readers.pull import Broken, TooMuch
from stackbuild.inspect.readers.source import Source

#: What pyelftools raises on bytes that lie; its own errors are a fraction of them.
_ELFTOOLS_RAISES = (
    ELFError, ConstructError, struct.error, ValueError, KeyError, IndexError, TypeError, AttributeError, AssertionError,
    OverflowError, UnicodeDecodeError, MemoryError, RecursionError, NotImplementedError, OSError, ZeroDivisionError,
)  # fmt: skip

EM_X86_64 = 62
_ISA_NEEDED = 0xC0008002  # GNU_PROPERTY_X86_ISA_1_NEEDED
_LOADED, _EXECUTABLE = 2, 4  # SHF_ALLOC, SHF_EXECINSTR
Sections = dict[str, tuple[int, int]]


class _File(io.RawIOBase):
    """A source as the seekable file that pyelftools wants."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._at = 0
        self._bytes, self._reads = DESCRIBED, READS

    def seek(self, offset: int, whence: int = 0) -> int:
        self._at = offset + (0, self._at, self._source.size)[whence]
        return self._at

    def tell(self) -> int:
        return self._at

    def read(self, size: int = -1) -> bytes:
        if size > TABLE:
            raise TooMuch(f"a table of {size} bytes; at most {TABLE} are read")
        data = self._source.read(self._at, min(TABLE, self._source.size) if size < 0 else size)
        self._bytes, self._reads = self._bytes - len(data), self._reads - 1
        if self._bytes < 0 or self._reads < 0:  # a name without an end, thousands of times
            raise TooMuch("its tables refer to more bytes than a library's description takes")
        self._at += len(data)
        return data


def machine_of(head: bytes) -> int:
    """e_machine of an ELF that starts with `head`; 0 where it is no ELF."""
    return struct.unpack_from("<H", head, 18)[0] if len(head) >= 20 and head[:4] == b"\x7fELF" else 0


def library(source: Source) -> tuple[Library, Sections, list[tuple[int, int]]]:
    """Read a host ELF; where its sections are (name → offset, size); and which stretches hold text. Raises Broken."""
    try:
        elf = ELFFile(cast(IO[bytes], _File(source)))
        return _library(elf, source)
    except Broken:
        raise
    except _ELFTOOLS_RAISES as error:
        raise Broken(f"not a well-formed ELF: {type(error).__name__} {str(error)[:120]}") from None


def _library(elf: Any, source: Source) -> tuple[Library, Sections, list[tuple[int, int]]]:
    sections = _sections(elf, source)
    tags = list(_dynamic(elf))
    exports, undefined = _symbols(elf, source)
    spans = {
        s.name: (int(s["sh_offset"]), int(s["sh_size"]))
        for s in sections
        if s["sh_type"] not in ("SHT_NOBITS", "SHT_NULL")
    }
    one = dict(tags)
    made = Library(
        path=source.path, size=source.size, machine=int(machine_of(source.read(0, 64))), soname=str(one.get("DT_SONAME", "")),
        needed=tuple(str(v) for k, v in tags if k == "DT_NEEDED"), rpath=_elements(one, "DT_RPATH"),
        runpath=_elements(one, "DT_RUNPATH"), exec_stack=_exec_stack(elf), versions=_versions(sections),
        exports=exports, undefined=undefined, isa=_isa(elf), symtab_bytes=_bytes_of(spans, ".symtab", ".strtab"),
        debug_bytes=_bytes_of(spans, *(n for n in spans if n.startswith((".debug_", ".zdebug_")))),
        sections=tuple((name, size) for name, (_, size) in spans.items()),
    )  # fmt: skip
    return made, spans, [(s["sh_offset"], s["sh_size"]) for s in sections if _holds_text(s)]


def _sections(elf: Any, source: Source) -> list[Section]:
    count = elf.num_sections()
    if count > SECTIONS:
        raise TooMuch(f"{count} sections; at most {SECTIONS} are read")
    sections = list(elf.iter_sections())
    for section in sections:
        if section["sh_type"] != "SHT_NOBITS" and section["sh_offset"] + section["sh_size"] > source.size:
            raise Broken(f"section {section.name[:40]} ends beyond the file's {source.size} bytes")
    return sections


def _holds_text(section: Any) -> bool:
    """Constant data, dynamic names and comments; not machine code, unwinding tables, GPU code or the symbol table."""
    if section["sh_type"] == "SHT_NOBITS" or section["sh_flags"] & _EXECUTABLE:
        return False
    name = str(section.name)
    if name.startswith((".eh_frame", ".gcc_except", ".rela", ".hip_fatbin", ".nv_fatbin", "__nv_", ".dynsym", ".gnu.")):
        return False
    return bool(section["sh_flags"] & _LOADED) or name in (".comment", ".debug_str", ".debug_line_str")


def _dynamic(elf: Any) -> Iterator[tuple[str, object]]:
    """The dynamic tags, strings resolved, as the loader sees them: from PT_DYNAMIC."""
    names = {"DT_NEEDED": "needed", "DT_SONAME": "soname", "DT_RPATH": "rpath", "DT_RUNPATH": "runpath"}
    if elf.num_segments() > PROGRAM_HEADERS:
        raise TooMuch(f"{elf.num_segments()} program headers; at most {PROGRAM_HEADERS} are read")
    for segment in elf.iter_segments("PT_DYNAMIC"):
        if not isinstance(segment, DynamicSegment):
            continue
        for tag in islice(segment.iter_tags(), DYNAMIC_TAGS):
            kind = str(tag.entry.d_tag)
            yield kind, getattr(tag, names[kind]) if kind in names else tag.entry.d_val


def _elements(tags: dict[str, object], kind: str) -> tuple[str, ...]:
    """The elements of a search path as written, empty ones included (an empty one is the current directory)."""
    return tuple(str(tags[kind]).split(":")) if kind in tags else ()


def _exec_stack(elf: Any) -> bool | None:
    for segment in elf.iter_segments("PT_GNU_STACK"):
        return bool(segment["p_flags"] & 1)
    return None


def _versions(sections: list[Section]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    for section in sections:
        if isinstance(section, GNUVerNeedSection):
            if section["sh_info"] > VERSION_NEEDS:
                raise TooMuch(f"{section['sh_info']} symbol-version needs; at most {VERSION_NEEDS} are read")
            return tuple((str(need.name), _names(aux, int(need["vn_cnt"]))) for need, aux in section.iter_versions())
    return ()


def _names(auxiliaries: Iterator[Any], count: int) -> tuple[str, ...]:
    if count > VERSION_NEEDS:
        raise TooMuch(f"{count} versions of one library; at most {VERSION_NEEDS} are read")
    return tuple(str(aux.name) for aux in auxiliaries)


def _symbols(elf: Any, source: Source) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """(exported, undefined) dynamic symbols. The table is unpacked at once: libraries export tens of thousands."""
    table = elf.get_section_by_name(".dynsym")
    if table is None:
        return (), ()
    if elf.elfclass != 64 or not elf.little_endian:
        raise Broken("not a 64-bit little-endian ELF")
    strings = elf.get_section(table["sh_link"])
    for part in (table, strings):
        if part["sh_size"] > TABLE:
            raise TooMuch(f"dynamic symbols of {part['sh_size']} bytes; at most {TABLE} are read")
    text = source.read(strings["sh_offset"], strings["sh_size"])
    data = source.read(table["sh_offset"], table["sh_size"] // 24 * 24)
    exports: list[str] = []
    undefined: list[str] = []
    for name, info, _, section, _, _ in struct.iter_unpack("<IBBHQQ", data):
        if name and info >> 4:  # named and not local
            end = text.find(b"\0", name)
            spelt = text[name : end if 0 <= end < name + 4096 else name + 4096].decode("utf-8", "replace")
            (exports if section else undefined).append(spelt)
    return tuple(exports), tuple(undefined)


def _isa(elf: Any) -> int:
    """The x86-64 level that the GNU property note says is needed (1 to 4); 0 where it says none."""
    section = elf.get_section_by_name(".note.gnu.property")
    if section is None or section["sh_size"] > 1 << 16:
        return 0
    at, data = 0, section.data()
    while at + 16 <= len(data):
        name_size, desc_size, kind = struct.unpack_from("<III", data, at)
        desc = data[at + 12 + (name_size + 3 & ~3) :][:desc_size]
        if kind == 5 and data[at + 12 : at + 16] == b"GNU\0":
            return _isa_property(desc)
        at += 12 + (name_size + 3 & ~3) + (desc_size + 7 & ~7)
    return 0


def _isa_property(desc: bytes) -> int:
    at = 0
    while at + 8 <= len(desc):
        kind, size = struct.unpack_from("<II", desc, at)
        if kind == _ISA_NEEDED and size >= 4 and at + 12 <= len(desc):
            return int(struct.unpack_from("<I", desc, at + 8)[0] & 0xF).bit_length()
        at += 8 + (size + 7 & ~7)
    return 0


def _bytes_of(spans: Sections, *names: str) -> int:
    return sum(spans[name][1] for name in names if name in spans)
