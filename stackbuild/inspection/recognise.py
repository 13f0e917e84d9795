"""Reads one file: one pass over its bytes, recognised by its first bytes, then the reader for its kind."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field

from stackbuild.inspection.facts import (
    Bundle,
    CodeObject,
    DeviceCode,
    Extra,
    Library,
    Member,
    Problem,
    ProblemKind,
    TextHit,
)
from stackbuild.inspection.limits import PROBLEMS, SOURCE, TENSILE, TEXT, Cost
from stackbuild.inspection.readers import bundle, elf
from stackbuild.inspection.readers.budget import BudgetError, ReadBudget
from stackbuild.inspection.readers.byte_parser import LimitError, MalformedError, read_all
from stackbuild.inspection.readers.codeobject import EM_AMDGPU, code_object
from stackbuild.inspection.readers.single_pass import SinglePass
from stackbuild.inspection.readers.source import ByteSource, FileEntry
from stackbuild.inspection.readers.tensile import tensile_library

_GFX = re.compile(r"gfx[0-9]+[0-9a-f]{2}(?:-generic)?")
_FATBIN = ".hip_fatbin"
_WRAPPERS = ".hipFatBinSegment"
_KINDS = {"kpack": "kpack archive", "kdb": "MIOpen kernel database", "dat": "Tensile library"}
_STARTS = {"kpack": b"KPAK", "kdb": b"SQLite format 3\0"}  # rocm-kpack's archive.py; the SQLite file format
_KPACK_MAGIC = b"HIPK"  # in place of HIPF where the device code was split out into a .kpack archive


@dataclass
class FactCollector:
    """What has been read so far. `sources` are the Python sources among the files (`source_bytes` long in all), `budget` what the whole may cost."""

    budget: ReadBudget = field(default_factory=ReadBudget)
    members: list[Member] = field(default_factory=list)
    libraries: list[Library] = field(default_factory=list)
    device: list[DeviceCode] = field(default_factory=list)
    extras: list[Extra] = field(default_factory=list)
    texts: list[TextHit] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    sources: dict[str, bytes] = field(default_factory=dict)
    source_bytes: int = 0
    spent_costs: set[Cost] = field(default_factory=set)

    @property
    def has_something(self) -> bool:
        """Whether there was anything that the rules judge, or that could not be read."""
        return bool(self.libraries or self.device or self.extras or self.problems)

    def add_problem(self, subject: str, format_error: MalformedError) -> None:
        """Note what is wrong with a file: a budget that is spent once, and no more than a page can show."""
        if isinstance(format_error, BudgetError):
            if format_error.cost in self.spent_costs:
                return
            self.spent_costs.add(format_error.cost)
        kind = ProblemKind.LIMIT if isinstance(format_error, LimitError) else ProblemKind.FORMAT
        if len(self.problems) < PROBLEMS or isinstance(format_error, BudgetError):
            self.problems.append(Problem(subject, kind, str(format_error)))
        elif len(self.problems) == PROBLEMS:
            self.problems.append(
                Problem(subject, ProblemKind.LIMIT, f"more than {PROBLEMS} problems; the rest is not listed")
            )

    def source(self, path: str, source: ByteSource) -> None:
        """Keep a Python source for reading its imports."""
        if self.source_bytes + source.size <= TEXT:
            self.source_bytes += source.size
            self.sources[path] = source.read(0, source.size)


def read_file(entry: FileEntry, collector: FactCollector, *, hash_kind: str) -> None:
    """Read one file into `collector`; `hash_kind` names the hash that is asked for. What is wrong with it becomes a problem."""
    if entry.source is None:
        collector.members.append(Member(entry.path, entry.size, entry.packed_size, entry.crc32 or 0, ""))
        return
    scan = SinglePass(entry.source, collector.budget, hash_kind=hash_kind)
    try:
        scan.run()
        if entry.crc32 is not None and scan.crc32 != entry.crc32:
            raise MalformedError("the content does not have the CRC that the archive says")
        _recognise(entry.source, scan, collector)
    except MalformedError as format_error:
        collector.add_problem(entry.path, format_error)
    entry.source.release()
    collector.members.append(Member(entry.path, entry.size, entry.packed_size, scan.crc32, scan.sha256, scan.digest))
    collector.texts += scan.texts.hits(entry.path)


def _recognise(source: ByteSource, scan: SinglePass, collector: FactCollector) -> None:
    path = source.path
    machine = elf.machine_of(scan.head)
    suffix = path.rsplit(".", 1)[-1] if "." in path.rsplit("/", 1)[-1] else ""
    if machine == EM_AMDGPU:
        objects = read_all(code_object(0, source.size, "", collector.budget), source.read)
        collector.device.append(DeviceCode(path, "file", source.size, (_lone(objects),)))
    elif scan.head[:4] == b"\x7fELF":
        _host(source, scan, collector)
    elif bundle.is_start(scan.head):
        _device(source, "file", [(0, source.size)], [], scan, collector)
    elif suffix in _STARTS and not scan.head.startswith(_STARTS[suffix]):
        raise MalformedError(f"named like a {_KINDS[suffix]}, but it does not start as one")
    elif suffix in _STARTS or (suffix == "dat" and "Tensile" in path):
        target = _GFX.search(path.rsplit("/", 1)[-1])
        solutions, refers = _tensile(source, collector.budget) if suffix == "dat" else (0, ())
        collector.extras.append(
            Extra(path, _KINDS[suffix], target.group() if target else "", source.size, solutions, refers)
        )
    elif suffix in ("co", "hsaco") or re.search(r"\.so(\.\d+)*$", path):
        raise MalformedError(
            f"named like {'GPU code' if suffix in ('co', 'hsaco') else 'a library'}, but it is not an ELF and no bundle"
        )
    elif suffix == "py" and source.size <= SOURCE:
        collector.source(path, source)


def _tensile(source: ByteSource, budget: ReadBudget) -> tuple[int, tuple[str, ...]]:
    if source.size > TENSILE:
        raise LimitError(f"a Tensile library of {source.size:,} bytes")
    budget.spend(Cost.METADATA, source.size)
    return tensile_library(source.read(0, source.size))


def _lone(code: CodeObject) -> Bundle:
    """A code object that stands by itself, as the bundle of one that it is to a reader."""
    return Bundle(0, code.size, code.size, "none", 0, None, (), (code,))


def _host(source: ByteSource, scan: SinglePass, collector: FactCollector) -> None:
    library, sections, texts = elf.library(source, collector.budget)
    collector.libraries.append(library)
    spans = elf.merge_spans(sections.get(_FATBIN, ()))
    beside = _beside(scan, spans)
    scan.texts.search(source, texts if sections else _around(texts, beside))
    if spans or beside:
        _device(source, _FATBIN if spans else "elsewhere", spans, beside, scan, collector)
    for at, size in sections.get(_WRAPPERS, ()):
        if source.read(at, 4) in (_KPACK_MAGIC, _KPACK_MAGIC[::-1]):
            collector.extras.append(Extra(source.path, "kpack wrapper", "", size))


def _beside(scan: SinglePass, spans: list[elf.SectionRange]) -> list[Bundle]:
    """Bundles with code that passed by outside the sections for it: in a library without sections, or under another name."""
    starts = [at for at, _ in spans]
    bundles = []
    for at, each in sorted(scan.expected_bundles.items()):
        before = bisect_right(starts, at) - 1
        if each.objects and (before < 0 or at >= sum(spans[before])):
            bundles.append(each)
    return bundles


def _around(spans: list[elf.SectionRange], bundles: list[Bundle]) -> list[elf.SectionRange]:
    """What is left of stretches (sorted, apart from each other) without the bundles in them."""
    remaining_sections: list[elf.SectionRange] = []
    for at, size in spans:
        for each in bundles:
            if at <= each.offset < at + size:
                remaining_sections.append((at, each.offset - at))
                at, size = each.offset + each.size, at + size - each.offset - each.size
        remaining_sections.append((at, max(0, size)))
    return remaining_sections


def _device(
    source: ByteSource,
    section: str,
    spans: list[elf.SectionRange],
    beside: list[Bundle],
    scan: SinglePass,
    collector: FactCollector,
) -> None:
    objects = list(beside)
    format_errors: list[MalformedError] = []
    for at, size in spans:
        members, wrong = read_all(bundle.bundles(at, size, collector.budget, scan.expected_bundles.get), source.read)
        objects += members
        format_errors += wrong
    total = sum(size for _, size in spans) + sum(each.size for each in beside)
    collector.device.append(DeviceCode(source.path, section, total, tuple(objects)))
    for each in objects:
        for text in each.problems:
            collector.add_problem(source.path, MalformedError(f"bundle at offset {each.offset}: {text}"))
    for format_error in format_errors:
        collector.add_problem(source.path, format_error)
