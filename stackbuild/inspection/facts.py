"""What inspect knows about a file: frozen, complete values that rules judge and views draw.

Readers make them from bytes; nothing here reads anything.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple


class Kind(StrEnum):
    WHEEL = "wheel"
    FOLDER = "folder"
    FILE = "file"
    LOG = "log"


class ProblemKind(StrEnum):
    """Why something could not be read: it breaks its format, it exceeds a bound, or nothing here reads it."""

    FORMAT = "malformed"
    LIMIT = "limit"
    UNREAD = "unread"


@dataclass(frozen=True, slots=True)
class Problem:
    subject: str
    trouble: ProblemKind
    what: str


class Kernel(NamedTuple):
    """One kernel as its code object's metadata describes it. Registers are counts per lane, sizes are bytes.

    `dynamic_stack` means that the kernel needs more scratch memory than `scratch`, by an amount that is not known at
    build time (recursion, calls by pointer).
    """

    name: str
    vgprs: int
    sgprs: int
    agprs: int
    vgpr_spills: int
    sgpr_spills: int
    lds: int
    scratch: int
    wave: int
    workgroup: int
    kernarg: int
    dynamic_stack: bool

    @property
    def empty(self) -> bool:
        """No vector register: a kernel that moves no data (a trampoline compiled for another target, for one)."""
        return self.vgprs == 0 and self.agprs == 0


@dataclass(frozen=True, slots=True)
class CodeObject:
    """One AMDGPU ELF. `claimed` is the target ID of its bundle entry, `target` that of its ELF header, `noted` that of its
    metadata ('' if there is none).

    `version` is the code-object version (3 to 6), `metadata` the (major, minor) of its metadata. `unsaid` are the fields
    missing from the metadata of some kernel: they read as 0.
    """

    claimed: str
    target: str
    version: int
    metadata: tuple[int, int]
    size: int
    kernels: tuple[Kernel, ...]
    noted: str = ""
    unsaid: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Bundle:
    """One code-object bundle. `compression` is `none`, `zlib` or `zstd`; `format` 0 is plain, 1 to 3 the CCOB version.

    `size` is what it takes in the file, `inflated` what it holds; `hash_ok` is None for plain bundles. `vacant` are the
    entries of device code that have no bytes.
    """

    offset: int
    size: int
    inflated: int
    compression: str
    format: int
    hash_ok: bool | None
    entries: tuple[str, ...]
    objects: tuple[CodeObject, ...]
    problems: tuple[str, ...] = ()
    vacant: tuple[str, ...] = ()

    @property
    def device_entries(self) -> tuple[str, ...]:
        """The IDs of entries that are not for the host."""
        return tuple(entry for entry in self.entries if not entry.startswith("host-"))


@dataclass(frozen=True, slots=True)
class DeviceCode:
    """The device code of one file or section. `size` is the section's or file's length in bytes."""

    path: str
    section: str
    size: int
    bundles: tuple[Bundle, ...]

    @property
    def objects(self) -> tuple[CodeObject, ...]:
        return tuple(o for b in self.bundles for o in b.objects)


@dataclass(frozen=True, slots=True)
class TargetSummary:
    """The GPU code for one target ID. `size` is bytes of code objects as they would lie in memory, uncompressed.

    `empty` kernels have no vector register; `spilling` ones spill some, `worst` the most; `sgpr_spilling` ones scalar ones,
    into lanes of vector registers. `waves` are the wavefront widths.
    """

    target: str
    objects: int
    kernels: int
    empty: int
    size: int
    versions: tuple[int, ...]
    waves: tuple[int, ...]
    max_vgprs: int
    max_sgprs: int
    max_agprs: int
    max_lds: int
    max_scratch: int
    spilling: int
    sgpr_spilling: int
    worst: Kernel | None

    @property
    def working(self) -> int:
        """Kernels that are not empty."""
        return self.kernels - self.empty


@dataclass(frozen=True, slots=True)
class Library:
    """One host ELF: what the dynamic loader will look at.

    `versions` maps a needed soname to the symbol versions required of it. `undefined` and `exports` are dynamic symbols.
    `isa` is the x86-64 level in the GNU property note, 0 without one.
    `exec_stack` is None without a PT_GNU_STACK header (the loader then assumes an executable stack). `text_relocations`:
    whether the loader has to write to machine code. `unfilled` are sections that have a size and no bytes in the file.
    `is_program`: the loader starts it, and opens it for no other program. A file with a library's name is never one.
    """

    path: str
    size: int
    machine: int
    soname: str
    needed: tuple[str, ...]
    rpath: tuple[str, ...]
    runpath: tuple[str, ...]
    exec_stack: bool | None
    versions: tuple[tuple[str, tuple[str, ...]], ...]
    exports: tuple[str, ...]
    undefined: tuple[str, ...]
    isa: int
    symtab_bytes: int
    debug_bytes: int
    sections: tuple[tuple[str, int], ...]
    text_relocations: bool = False
    unfilled: tuple[str, ...] = ()
    is_program: bool = False

    @property
    def is_extension(self) -> bool:
        """A Python extension module: found by its path, so it needs no soname. Its initialiser has the file's name."""
        return f"PyInit_{self.path.rsplit('/', 1)[-1].partition('.')[0]}" in self.exports


@dataclass(frozen=True, slots=True)
class Member:
    """One file of a wheel or folder. `sha256` is '' where nothing needed it (no hash was declared, or another one).

    `digest` is the hash that RECORD's row names, as `sha512=` and its hex.
    """

    path: str
    size: int
    packed: int
    crc32: int
    sha256: str
    digest: str = ""


@dataclass(frozen=True, slots=True)
class RecordRow:
    path: str
    hash: str
    size: str


@dataclass(frozen=True, slots=True)
class EntryPoint:
    """One line of entry_points.txt: `name = value` under `[group]`."""

    group: str
    name: str
    value: str


@dataclass(frozen=True, slots=True)
class WheelVariant:
    """What a wheel variant says of itself (PEP 825, a draft).

    `label` is the file name's last part, `labels` are those of variant.json. `static_values` are the values of its static
    properties, which hold on every machine.
    """

    label: str
    has_metadata: bool = False
    labels: tuple[str, ...] = ()
    static_values: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class WheelMetadata:
    """What a wheel says of itself: file name, METADATA, WHEEL, RECORD and entry points, as written.

    `wheel_version` is the `Wheel-Version:` of WHEEL. `variant` is None where the wheel is a plain one.
    """

    filename: str
    name: str
    version: str
    filename_tags: tuple[str, ...]
    wheel_tags: tuple[str, ...]
    metadata_name: str
    metadata_version: str
    requires_python: str
    requires: tuple[str, ...]
    licence_files: tuple[str, ...]
    description_type: str
    has_description: bool
    record: tuple[RecordRow, ...]
    has_record: bool
    top_level: tuple[str, ...]
    wheel_version: str = ""
    entry_points: tuple[EntryPoint, ...] = ()
    variant: WheelVariant | None = None


@dataclass(frozen=True, slots=True)
class Policy:
    """The manylinux policy a set of libraries satisfies by its versioned symbols.

    `deciding` is the (library, symbol version) that rules out the next older policy. `external` are the sonames outside
    every policy's list: the user's machine must supply them. `too_new` are (tag, library, symbol version) triples: the
    wheel claims the tag, and the tag does not promise that version. `unjudged` are claimed manylinux tags without a known
    policy.
    """

    name: str
    deciding: tuple[str, str] | None
    too_new: tuple[tuple[str, str, str], ...]
    external: tuple[str, ...]
    unjudged: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TextHit:
    """Text of one kind in one file: `kind` is home-path, secret, build-info or numpy; `count` of them, with some `samples`."""

    path: str
    kind: str
    count: int
    samples: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Extra:
    """A file that belongs to GPU code but holds none itself or none that is read: `kind` says what it is.

    A Tensile library has `solutions` to choose from, and `refers` to the stems of other library files beside it.
    """

    path: str
    kind: str
    target: str
    size: int
    solutions: int = 0
    refers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Import:
    """A module that importing this package asks for, unconditionally, and that the wheel does not carry."""

    path: str
    module: str


@dataclass(frozen=True, slots=True)
class ProviderLibrary:
    """An execution provider or custom-op library found: `form` is bridge, plugin or custom-ops."""

    name: str
    form: str
    path: str


@dataclass(frozen=True, slots=True)
class BuildLog:
    """What a build's log or compile_commands.json shows: unused CMake options, and code for the build machine alone."""

    unused_options: tuple[str, ...]
    native: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Facts:
    """Everything read from one path. `size` and `sha256` are of the file itself ('' for a folder)."""

    path: str
    kind: Kind
    size: int
    sha256: str
    wheel: WheelMetadata | None
    members: tuple[Member, ...]
    libraries: tuple[Library, ...]
    device: tuple[DeviceCode, ...]
    targets: tuple[TargetSummary, ...]
    policy: Policy | None
    providers: tuple[ProviderLibrary, ...]
    extras: tuple[Extra, ...]
    texts: tuple[TextHit, ...]
    imports: tuple[Import, ...]
    problems: tuple[Problem, ...]
    packaging: tuple[Problem, ...]
    log: BuildLog | None = None

    @property
    def subject(self) -> str:
        return self.path.rsplit("/", 1)[-1]
