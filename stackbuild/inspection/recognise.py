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
    spent: set[Cost] = field(default_factory=set)

    @property
    def has_something(self) -> bool:
        """Whether there was anything that the rules judge, or that could not be read."""
        return bool(self.libraries or self.device or self.extras or self.problems)

    def add_problem(self, subject: str, broken: MalformedError) -> None:
        """Note what is wrong with a file: a budget that is spent once, and no more than a page can show."""
        if isinstance(broken, BudgetError):
            if broken.cost in self.spent:
                return
            self.spent.add(broken.cost)
        kind = ProblemKind.LIMIT if isinstance(broken, LimitError) else ProblemKind.MALFORMED
        if len(self.problems) < PROBLEMS or isinstance(broken, BudgetError):
            self.problems.append(Problem(subject, kind, str(broken)))
        elif len(self.problems) == PROBLEMS:
            self.problems.append(
                Problem(subject, ProblemKind.LIMIT, f"more than {PROBLEMS} problems; the rest is not listed")
            )

    def source(self, path: str, source: ByteSource) -> None:
        """Keep a Python source for reading its imports."""
        if self.source_bytes + source.size <= TEXT:
            self.source_bytes += source.size
            self.sources[path] = source.read(0, source.size)


def read_file(entry: FileEntry, collected: FactCollector, *, hashed: str) -> None:
    """Read one file into `collected`; `hashed` names the hash that is asked for. What is wrong with it becomes a problem."""
    if entry.source is None:
        collected.members.append(Member(entry.path, entry.size, entry.packed, entry.crc32 or 0, ""))
        return
    scan = SinglePass(entry.source, collected.budget, hashed=hashed)
    try:
        scan.run()
        if entry.crc32 is not None and scan.crc32 != entry.crc32:
            raise MalformedError("the content does not have the CRC that the archive says")
        _recognise(entry.source, scan, collected)
    except MalformedError as broken:
        collected.add_problem(entry.path, broken)
    entry.source.release()
    collected.members.append(Member(entry.path, entry.size, entry.packed, scan.crc32, scan.sha256, scan.digest))
    collected.texts += scan.texts.hits(entry.path)


def _recognise(source: ByteSource, scan: SinglePass, collected: FactCollector) -> None:
    path = source.path
    machine = elf.machine_of(scan.head)
    suffix = path.rsplit(".", 1)[-1] if "." in path.rsplit("/", 1)[-1] else ""
    if machine == EM_AMDGPU:
        objects = read_all(code_object(0, source.size, "", collected.budget), source.read)
        collected.device.append(DeviceCode(path, "file", source.size, (_lone(objects),)))
    elif scan.head[:4] == b"\x7fELF":
        _host(source, scan, collected)
    elif bundle.is_start(scan.head):
        _device(source, "file", [(0, source.size)], [], scan, collected)
    elif suffix in _STARTS and not scan.head.startswith(_STARTS[suffix]):
        raise MalformedError(f"named like a {_KINDS[suffix]}, but it does not start as one")
    elif suffix in _STARTS or (suffix == "dat" and "Tensile" in path):
        target = _GFX.search(path.rsplit("/", 1)[-1])
        solutions, refers = _tensile(source, collected.budget) if suffix == "dat" else (0, ())
        collected.extras.append(
            Extra(path, _KINDS[suffix], target.group() if target else "", source.size, solutions, refers)
        )
    elif suffix in ("co", "hsaco") or re.search(r"\.so(\.\d+)*$", path):
        raise MalformedError(
            f"named like {'GPU code' if suffix in ('co', 'hsaco') else 'a library'}, but it is not an ELF and no bundle"
        )
    elif suffix == "py" and source.size <= SOURCE:
        collected.source(path, source)


def _tensile(source: ByteSource, budget: ReadBudget) -> tuple[int, tuple[str, ...]]:
    if source.size > TENSILE:
        raise LimitError(f"a Tensile library of {source.size:,} bytes")
    budget.spend(Cost.METADATA, source.size)
    return tensile_library(source.read(0, source.size))


def _lone(code: CodeObject) -> Bundle:
    """A code object that stands by itself, as the bundle of one that it is to a reader."""
    return Bundle(0, code.size, code.size, "none", 0, None, (), (code,))


def _host(source: ByteSource, scan: SinglePass, collected: FactCollector) -> None:
    library, sections, texts = elf.library(source, collected.budget)
    collected.libraries.append(library)
    spans = elf.merge_spans(sections.get(_FATBIN, ()))
    beside = _beside(scan, spans)
    scan.texts.search(source, texts if sections else _around(texts, beside))
    if spans or beside:
        _device(source, _FATBIN if spans else "elsewhere", spans, beside, scan, collected)
    for at, size in sections.get(_WRAPPERS, ()):
        if source.read(at, 4) in (_KPACK_MAGIC, _KPACK_MAGIC[::-1]):
            collected.extras.append(Extra(source.path, "kpack wrapper", "", size))


def _beside(scan: SinglePass, spans: list[elf.SectionRange]) -> list[Bundle]:
    """Bundles with code that passed by outside the sections for it: in a library without sections, or under another name."""
    starts = [at for at, _ in spans]
    bundles = []
    for at, each in sorted(scan.foreseen.items()):
        before = bisect_right(starts, at) - 1
        if each.objects and (before < 0 or at >= sum(spans[before])):
            bundles.append(each)
    return bundles


def _around(spans: list[elf.SectionRange], bundles: list[Bundle]) -> list[elf.SectionRange]:
    """What is left of stretches (sorted, apart from each other) without the bundles in them."""
    left: list[elf.SectionRange] = []
    for at, size in spans:
        for each in bundles:
            if at <= each.offset < at + size:
                left.append((at, each.offset - at))
                at, size = each.offset + each.size, at + size - each.offset - each.size
        left.append((at, max(0, size)))
    return left


def _device(
    source: ByteSource,
    section: str,
    spans: list[elf.SectionRange],
    beside: list[Bundle],
    scan: SinglePass,
    collected: FactCollector,
) -> None:
    objects = list(beside)
    stopped: list[MalformedError] = []
    for at, size in spans:
        members, wrong = read_all(bundle.bundles(at, size, collected.budget, scan.foreseen.get), source.read)
        objects += members
        stopped += wrong
    total = sum(size for _, size in spans) + sum(each.size for each in beside)
    collected.device.append(DeviceCode(source.path, section, total, tuple(objects)))
    for each in objects:
        for text in each.problems:
            collected.add_problem(source.path, MalformedError(f"bundle at offset {each.offset}: {text}"))
    for broken in stopped:
        collected.add_problem(source.path, broken)
