"""How much of a file inspect is willing to believe: every bound of the readers on one page.

A file that exceeds one is reported (`SB-READ-LIMIT`), never followed. All sizes in bytes.
"""

from __future__ import annotations

from enum import StrEnum

MIB = 1 << 20

#: Chunk that streams are read, inflated and hashed in: small enough to stay in a core's cache between those.
CHUNK = 256 << 10
#: Decompressed bytes between two restart points of a deflated member (each keeps a 32 KiB window).
CHECKPOINT = 8 * MIB
#: Bytes of host code kept in memory for one member; beyond it they are inflated again when asked for.
KEEP = 96 * MIB

#: Members of one archive, and files of one folder.
MEMBERS = 100_000
#: Sum of the uncompressed sizes of one archive: some ten times the largest ROCm wheel in the field.
ARCHIVE = 64 << 30
#: The same for a small archive: this much for free, then this ratio (10 is met with GPU code; deflate can do 1000).
ARCHIVE_FREE = 512 * MIB
ARCHIVE_RATIO = 64
#: Problems with the archive itself, and with what is in it, that are listed.
PROBLEMS = 1_000
#: Times a member is inflated again from a restart point, and bytes kept of what that gave.
AGAIN = 1_000
STRETCHES = 32 * MIB
#: Hashes of RECORD's rows that are compared, and the only ones that it may have: those of the specification.
HASHES = ("sha256", "sha384", "sha512")
#: Entry points of a wheel.
ENTRY_POINTS = 2_000
#: Requirements of a wheel, tags that one `Tag:` line may stand for, and findings of one rule on one file.
REQUIREMENTS = 2_000
TAGS = 1_000
FINDINGS = 100
#: Bytes of RECORD and of all Python sources together, of METADATA and WHEEL each; rows of RECORD.
TEXT = 32 * MIB
METADATA = MIB
ROWS = 2 * MEMBERS
#: Python: bytes and tokens (names, numbers, signs) of one source that is parsed, dots in the name of a module.
SOURCE = 2 * MIB
TOKENS = 300_000
DOTS = 64
#: Different texts of one kind counted apart in one file.
DISTINCT = 1_000

#: ELF tables of host libraries; bytes of one name in them; bytes of a property note.
SECTIONS = 4_096
SYMBOLS = 2_000_000
DYNAMIC_TAGS = 4_096
VERSION_NEEDS = 4_096
NAME = 4_096
PROPERTIES = 64 << 10
#: Bytes and single reads that describing one library may take.
DESCRIBED_BYTES = 128 * MIB
READS = 100_000
#: A string or symbol table that is read whole.
TABLE = 64 * MIB

#: Code-object bundles: entries of one, bytes of one entry's ID, bundles of one section.
BUNDLE_ENTRIES = 1_024
ENTRY_ID = 1_024
BUNDLES = 100_000
#: What a compressed bundle may inflate to: this much for free, then this ratio (8 to 10 is met; padding can raise it).
INFLATED_BYTES = 2 << 30
INFLATED_FREE = 16 * MIB
RATIO = 64
#: Compressed payload is asked for in pieces of this size.
PIECE = 256 << 10
#: Largest zstd window: compressors use 128 MiB at most.
WINDOW = 128 * MIB

#: Metadata of one code object; kernels and arguments in it. Bytes that need no count of their values, and values beyond that.
NOTE = 32 * MIB
KERNELS = 131_072
MAP_KEYS = 256
FEW = MIB
VALUES = 4_000_000
#: Bytes of a Tensile library file that is read; entries of an array or map in it (a rocBLAS file has thousands).
TENSILE = 64 * MIB
SOLUTIONS = 1 << 20
#: The first segment of a code object: metadata, symbols, descriptors and constants.
READ_ONLY = 96 * MIB
#: Program headers of one code object.
PROGRAM_HEADERS = 64


class Cost(StrEnum):
    """What a whole inspection pays for, in the words of a finding."""

    INFLATION = "bytes out of compressed bundles"
    METADATA = "bytes of kernel metadata"
    KERNELS = "kernels"
    TEXT = "bytes of names"
    READS = "reads of ELF tables"
    AGAIN = "bytes inflated a second time"
    TOKENS = "tokens of Python"
    TEXTS = "texts that start like a path or a secret"


#: Each budget: this much for free, and this much for each byte of the file itself (of a folder: of its files together).
#: onnxruntime-rocm 1.22.2 (57 MB) takes 100 MB of metadata, 81,688 kernels, 6 MB of names, 2,138 reads, 9 MB a second time,
#: 34,936 tokens and 1,892 texts.
BUDGETS = {
    Cost.INFLATION: (1 << 30, RATIO),
    Cost.METADATA: (256 * MIB, 4),
    Cost.KERNELS: (500_000, 1 / 256),
    Cost.TEXT: (192 * MIB, 2),
    Cost.READS: (2 * READS, 1 / 64),
    Cost.AGAIN: (2 << 30, 16),
    Cost.TOKENS: (4_000_000, 1 / 8),
    Cost.TEXTS: (4_000_000, 1 / 8),
}
VARIANT_VALUES = 1_000
"""Labels of variants, and values of their static properties, that are kept of a variant.json."""
