"""ELF files: what the dynamic loader and a packager look at, and line tables. The only module that imports pyelftools.

What the loader reads comes from `loader`, which never looks at a section. pyelftools reads the sections. This module
checks their bounds first, since a false count must not cost memory or time, and turns every failure into MalformedError.
"""

from __future__ import annotations

import io
import re
import struct
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import IO, Any, NamedTuple, cast

from elftools.common.exceptions import DWARFError, ELFError
from elftools.construct import ConstructError
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import Section

from stackbuild.inspection.facts import Library
from stackbuild.inspection.limits import DESCRIBED_BYTES, NAME, READS, SECTIONS, TABLE, Cost
from stackbuild.inspection.readers.budget import ReadBudget
from stackbuild.inspection.readers.byte_parser import LimitError, MalformedError
from stackbuild.inspection.readers.loader import NEEDED_TAG, RPATH, RUNPATH, SONAME, ElfImage
from stackbuild.inspection.readers.source import ByteSource

#: What pyelftools raises on bytes that lie; its own errors are a fraction of them.
_ELFTOOLS_RAISES = (
    ELFError, DWARFError, ConstructError, struct.error, ValueError, KeyError, IndexError, TypeError, AttributeError, AssertionError,
    OverflowError, UnicodeDecodeError, MemoryError, RecursionError, NotImplementedError, OSError, ZeroDivisionError,
)  # fmt: skip

_LOADED_FLAG, _EXECUTABLE = 2, 4  # SHF_ALLOC, SHF_EXECINSTR
_SHARED_OBJECT = re.compile(r"\.so(\.\d+)*$")
SectionRange = tuple[int, int]
#: Name → (offset, size) of each section of that name; a file may have several.
Sections = dict[str, list[SectionRange]]
_LINE_BYTES = 4 << 20
"""The largest .debug_line that is read: a byte of it can make a row."""
_LINE_ROWS = 1_000_000
_LINE_UNITS = 10_000
"""Most rows of all units together, and most units: each unit that shares a program gives all its rows."""


class LineRow(NamedTuple):
    """From an address on, code is of this file and line; 0 is the line of code that has none."""

    address: int
    file: str
    line: int


class _SeekableSource(io.RawIOBase):
    """A source as the seekable file that pyelftools wants."""

    def __init__(self, source: ByteSource, budget: ReadBudget) -> None:
        self._source, self._budget = source, budget
        self._at = 0
        self._bytes, self._reads = DESCRIBED_BYTES, READS

    def seek(self, offset: int, whence: int = 0) -> int:
        self._at = offset + (0, self._at, self._source.size)[whence]
        return self._at

    def tell(self) -> int:
        return self._at

    def read(self, size: int = -1) -> bytes:
        if size > TABLE:
            raise LimitError(f"a table of {size} bytes; at most {TABLE} are read")
        data = self._source.read(self._at, min(TABLE, self._source.size) if size < 0 else size)
        self._bytes, self._reads = self._bytes - len(data), self._reads - 1
        if self._bytes < 0 or self._reads < 0:  # a name without an end, thousands of times
            raise LimitError("its tables refer to more bytes than a library's description takes")
        self._budget.spend(Cost.READS, 1)
        self._at += len(data)
        return data


def machine_of(head: bytes) -> int:
    """e_machine of an ELF that starts with `head`; 0 where it is not an ELF."""
    return struct.unpack_from("<H", head, 18)[0] if len(head) >= 20 and head[:4] == b"\x7fELF" else 0


def library(source: ByteSource, budget: ReadBudget) -> tuple[Library, Sections, list[SectionRange]]:
    """Read a host ELF; where its sections are; and which stretches hold text, none of them twice. Raises MalformedError."""
    try:
        elf = ELFFile(cast(IO[bytes], _SeekableSource(source, budget)))
        return _library(elf, source, budget)
    except MalformedError:
        raise
    except _ELFTOOLS_RAISES as error:
        for cause in _causes(error):
            if isinstance(cause, MalformedError):  # pyelftools' parser wraps what reading raised
                raise cause from None
        raise MalformedError(f"not a well-formed ELF: {type(error).__name__} {str(error)[:120]}") from None


def _causes(error: BaseException) -> Iterator[BaseException]:
    cause = error.__context__
    while cause is not None:
        yield cause
        cause = cause.__context__


def merge_spans(spans: Iterable[SectionRange]) -> list[SectionRange]:
    """Stretches in order, those that overlap made one."""
    ranges: list[SectionRange] = []
    for at, size in sorted(spans):
        if ranges and at < ranges[-1][0] + ranges[-1][1]:
            start, before = ranges.pop()
            ranges.append((start, max(before, at + size - start)))
        else:
            ranges.append((at, size))
    return ranges


def _library(elf: Any, source: ByteSource, budget: ReadBudget) -> tuple[Library, Sections, list[SectionRange]]:
    elf_image = ElfImage(source, budget)
    _check_kind(elf, elf_image, source.path)
    sections = _sections(elf, source, budget)
    spans: Sections = {}
    for name, section in sections:
        if section["sh_type"] not in ("SHT_NOBITS", "SHT_NULL"):
            spans.setdefault(name, []).append((int(section["sh_offset"]), int(section["sh_size"])))
    exports, undefined_names = elf_image.symbols(_symbol_count(sections, elf_image))
    library = Library(
        path=source.path, size=source.size, machine=int(machine_of(source.read(0, 64))), soname=elf_image.name(SONAME) or "",
        needed=elf_image.names(NEEDED_TAG), rpath=_elements(elf_image.name(RPATH)), runpath=_elements(elf_image.name(RUNPATH)),
        exec_stack=elf_image.exec_stack(), versions=elf_image.versions(), exports=exports, undefined=undefined_names, isa=elf_image.isa(),
        symtab_bytes=_bytes_of(spans, ".symtab", ".strtab"),
        debug_bytes=_bytes_of(spans, *(n for n in spans if n.startswith((".debug_", ".zdebug_")))),
        sections=tuple((name, _bytes_of(spans, name)) for name in spans), text_relocations=elf_image.text_relocations(),
        unfilled=tuple(name for name, section in sections if section["sh_type"] == "SHT_NOBITS" and section["sh_size"]),
        is_program=not _SHARED_OBJECT.search(source.path)
        and (elf["e_type"] == "ET_EXEC" or elf_image.is_position_independent_executable()),
    )  # fmt: skip
    text = [(int(s["sh_offset"]), int(s["sh_size"])) for name, s in sections if _holds_text(name, s)]
    return library, spans, merge_spans(text if sections else elf_image.stretches())


def _check_kind(elf: Any, elf_image: ElfImage, path: str) -> None:
    """Refuse what is named a library and what no loader would take for one."""
    if not _SHARED_OBJECT.search(path):
        return
    if elf.elfclass != 64 or not elf.little_endian:
        raise MalformedError("not a 64-bit little-endian ELF")
    if elf["e_type"] == "ET_DYN" and not elf_image.is_dynamic:
        raise MalformedError("it has no dynamic section (PT_DYNAMIC), so no loader takes it for a library")


def _symbol_count(sections: list[tuple[str, Section]], elf_image: ElfImage) -> int:
    """How many dynamic symbols the section has that lies where the loader finds them."""
    at = elf_image.symbol_table()
    return max(
        (int(s["sh_size"]) // 24 for _, s in sections if s["sh_type"] == "SHT_DYNSYM" and s["sh_offset"] == at),
        default=0,
    )


def _sections(elf: Any, source: ByteSource, budget: ReadBudget) -> list[tuple[str, Section]]:
    count = elf.num_sections()
    if count > SECTIONS:
        raise LimitError(f"{count} sections; at most {SECTIONS} are read")
    sections = [(str(section.name)[:NAME], section) for section in elf.iter_sections()]
    for name, section in sections:
        budget.text(len(name))
        if section["sh_type"] != "SHT_NOBITS" and section["sh_offset"] + section["sh_size"] > source.size:
            raise MalformedError(f"section {name[:40]} ends beyond the file's {source.size} bytes")
    return sections


def _holds_text(name: str, section: Any) -> bool:
    """Constant data, dynamic names and comments; not machine code, unwinding tables, GPU code or the symbol table."""
    if section["sh_type"] == "SHT_NOBITS" or section["sh_flags"] & _EXECUTABLE:
        return False
    if name.startswith((".eh_frame", ".gcc_except", ".rela", ".hip_fatbin", ".nv_fatbin", "__nv_", ".dynsym", ".gnu.")):
        return False
    return bool(section["sh_flags"] & _LOADED_FLAG) or name in (".comment", ".debug_str", ".debug_line_str")


def _elements(path: str | None) -> tuple[str, ...]:
    """The elements of a search path as written, empty ones included (an empty one is the current directory)."""
    return tuple(path.split(":")) if path is not None else ()


def _bytes_of(spans: Sections, *names: str) -> int:
    return sum(size for name in names for _, size in spans.get(name, ()))


def line_rows(data: bytes) -> list[LineRow]:
    """The DWARF line table of an ELF file, by address; [] where it has none. Raises MalformedError."""
    try:
        elf: Any = ELFFile(io.BytesIO(data))
        section = elf.get_section_by_name(".debug_line")
        if section is None:
            return []
        if section.data_size > _LINE_BYTES:
            raise LimitError(f"a line table of {section.data_size} bytes; at most {_LINE_BYTES} are read")
        dwarf = elf.get_dwarf_info(relocate_dwarf_sections=False)
        programs = (dwarf.line_program_for_CU(unit) for unit in dwarf.iter_CUs())
        rows: list[LineRow] = []
        for number, program in enumerate(programs):
            rows += islice(_program_rows(program) if program is not None else (), _LINE_ROWS + 1 - len(rows))
            if len(rows) > _LINE_ROWS or number >= _LINE_UNITS:  # units may share a program
                raise LimitError(f"a line table of over {_LINE_ROWS} rows or {_LINE_UNITS} units")
        return sorted(rows)
    except _ELFTOOLS_RAISES as error:
        raise MalformedError(f"not a well-formed line table: {type(error).__name__} {str(error)[:120]}") from None


def _program_rows(program: Any) -> Iterator[LineRow]:
    """The rows of one compilation unit. DWARF 5 counts files from 0, earlier versions from 1."""
    header = program.header
    first = 0 if header["version"] >= 5 else 1
    files = [entry.name.decode("utf-8", "replace")[:NAME] for entry in header["file_entry"]]
    for entry in program.get_entries():
        state = entry.state
        if state is None:
            continue
        at = state.file - first
        has_line = 0 <= at < len(files) and not state.end_sequence
        yield LineRow(int(state.address), files[at] if has_line else "", int(state.line) if has_line else 0)
