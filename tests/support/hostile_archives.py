"""Archives that nobody should be able to unpack, by name, and good ones to be mutated."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import tarfile
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from random import Random

ArchiveEntry = tuple[str, str, str]
"""Name, kind (a letter as tarfile has them: f file, d folder, l link, h hard link, c device, p fifo), content or target."""
KINDS = {
    **{"l": tarfile.SYMTYPE, "h": tarfile.LNKTYPE, "d": tarfile.DIRTYPE, "c": tarfile.CHRTYPE, "b": tarfile.BLKTYPE},
    **{"p": tarfile.FIFOTYPE, "s": tarfile.GNUTYPE_SPARSE, "7": tarfile.CONTTYPE},
}
BLOCK = 512


def tar_of(path: Path, entries: list[ArchiveEntry]) -> Path:
    with tarfile.open(path, "w:gz") as tar:
        for name, kind, content in entries:
            info = tarfile.TarInfo(name)
            if kind == "f":
                info.size = len(content)
                tar.addfile(info, io.BytesIO(content.encode()))
            else:
                info.type, info.linkname = KINDS[kind], content
                tar.addfile(info)
    return path


def zip_of(path: Path, entries: list[ArchiveEntry]) -> Path:
    with warnings.catch_warnings(action="ignore"), zipfile.ZipFile(path, "w") as archive:
        for name, kind, content in entries:
            info = zipfile.ZipInfo(name)
            info.external_attr = (0o120777 if kind == "l" else 0o040755 if kind == "d" else 0o100644) << 16
            archive.writestr(info, content)
    return path


HOSTILE: dict[str, list[ArchiveEntry]] = {
    "parent": [("a/../../out", "f", "x")],
    "parent alone": [("..", "f", "x")],
    "parent first": [("../out", "f", "x")],
    "parent in the middle": [("a/b/../../../out", "f", "x")],
    "absolute": [("/etc/out", "f", "x")],
    "absolute twice": [("//etc/out", "f", "x")],
    "a file without a name": [(".", "f", "x")],
    "a link without a name, longer": [("././.", "l", "x")],
    "a link without a name": [(".", "l", "x")],
    "link to parent": [("top/l", "l", "../../out")],
    "link out of the top folder that is left away": [("top/l", "l", "../f"), ("top/f", "f", "x")],
    "link out of it and back": [("top/l", "l", "../top/f"), ("top/f", "f", "x")],
    "parent of where a link leads": [("a/b/x", "l", "../.."), ("m", "l", "a/b/x/.."), ("f", "f", "y")],
    "the same through two links": [
        ("a/b/x", "l", "y"),
        ("a/b/y", "l", "../.."),
        ("m", "l", "a/b/x/.."),
        ("f", "f", "y"),
    ],
    "absolute link": [("top/l", "l", "/etc/passwd")],
    "absolute link, twice": [("top/l", "l", "//etc/passwd")],
    "through a link": [("top/l", "l", "d"), ("top/l/f", "f", "x")],
    "through a link that comes later": [("top/l/f", "f", "x"), ("top/l", "l", "d")],
    "through a link by another spelling": [("top/l", "l", "d"), ("top/./l//f", "f", "x")],
    "link chain": [("a", "l", "b"), ("b", "l", "../x")],
    "link in a folder of links": [("d/a", "l", "e"), ("d/e", "l", "../../x")],
    "backslash": [("a\\..\\b", "f", "x")],
    "drive": [("C:\\windows\\x", "f", "x")],
    "control character": [("a\nb", "f", "x")],
    "escape": [("\x1b[2Ja", "f", "x")],
    "git hook": [("top/.git/hooks/post-checkout", "f", "#!/bin/sh")],
    "git hook, case": [("top/.GIT/config", "f", "x")],
    "git link": [("top/.git", "l", "x")],
    "long part": [("a" * 300, "f", "x")],
    "long path": [("a/" * 600 + "f", "f", "x")],
    "deep": [("a/" * 129 + "f", "f", "x")],
    "file as folder": [("top/a", "f", "x"), ("top/a/b", "f", "y")],
    "folder as file": [("top/a/b", "f", "y"), ("top/a", "f", "x")],
    "file twice": [("top/a", "f", "x"), ("top/a", "f", "y")],
    "file twice by another spelling": [("top/a", "f", "x"), ("top/./a", "f", "y")],
    "file and link": [("top/a", "f", "x"), ("top/a", "l", "y")],
    "link and folder": [("top/a", "l", "y"), ("top/a/", "d", "")],
    "empty link": [("top/l", "l", "")],
    "long link": [("top/l", "l", "x/" * 600)],
}
TAR_ONLY: dict[str, list[ArchiveEntry]] = {
    "device": [("null", "c", "")],
    "block device": [("sda", "b", "")],
    "fifo": [("p", "p", "")],
    "hard link": [("a", "f", "x"), ("b", "h", "/etc/passwd")],
    "hard link to itself": [("a", "h", "a")],
    "sparse": [("a", "s", "")],
    "no name at all": [("", "f", "x")],
    "a folder of the name of a file": [("a", "d", ""), ("a", "f", "x")],
}


def header(name: bytes = b"a", kind: bytes = b"0", size: bytes = b"00000000000\0", link: bytes = b"", magic: bytes = b"ustar\x0000") -> bytes:
    """A tar header with those raw fields and a right checksum."""
    head = bytearray(BLOCK)
    head[0 : len(name)], head[100:108], head[124 : 124 + len(size)], head[156:157] = name, b"0000644\0", size, kind
    head[136:148], head[157 : 157 + len(link)], head[257 : 257 + len(magic)], head[148:156] = b"00000000000\0", link, magic, b" " * 8
    head[148:156] = b"%06o\0 " % sum(head)
    return bytes(head)


def block(data: bytes) -> bytes:
    return data + bytes(-len(data) % BLOCK)


def octal(size: int) -> bytes:
    return b"%011o\0" % size


NEGATIVE = b"\xff" * 11 + b"\x00"
"""-256 as a base-256 number."""
HUGE = b"\x80" + b"\x00" * 3 + b"\x7f" + b"\xff" * 7
END = bytes(2 * BLOCK)
PAX = b"30 path=../../outside-of-all\n"


def _pax(records: bytes) -> bytes:
    return header(b"pax", b"x", octal(len(records))) + block(records) + header(b"a") + END


RAW: dict[str, Callable[[], bytes]] = {
    "nothing": lambda: b"",
    "a tar of nothing": lambda: END * 10,
    "no archive": lambda: b"not an archive",
    "gzip of nothing": lambda: gzip.compress(b""),
    "gzip, broken": lambda: b"\x1f\x8b\x08broken",
    "gzip of noise": lambda: gzip.compress(Random(1).randbytes(5000)),
    "gzip, cut": lambda: gzip.compress(header(b"a", size=octal(9000)) + block(Random(1).randbytes(9000)) + END)[:4000],
    "bzip2, broken": lambda: b"BZh9" + b"\0" * 50,
    "bzip2, cut": lambda: bz2.compress(header(b"a", size=octal(9000)) + block(Random(1).randbytes(9000)) + END)[:4000],
    "xz, broken": lambda: b"\xfd7zXZ\0" + b"\1" * 50,
    "xz, cut": lambda: lzma.compress(header(b"a", size=octal(9000)) + block(Random(1).randbytes(9000)) + END)[:4000],
    "zstandard": lambda: b"\x28\xb5\x2f\xfd" + b"\0" * 50,
    "a size below nothing": lambda: header(size=NEGATIVE) + END,
    "a size below nothing, after a member": lambda: header(b"b") * 3 + header(size=NEGATIVE) + END,
    "a folder with a size below nothing": lambda: header(b"b") + header(kind=b"5", size=NEGATIVE) + END,
    "a huge size": lambda: header(size=HUGE) + END,
    "a long name that is huge": lambda: header(kind=b"L", size=HUGE) + END,
    "a long name of a gibibyte": lambda: gzip.compress(header(kind=b"L", size=octal(1 << 30)) + bytes(1 << 22)),
    "a long name below nothing": lambda: header(kind=b"L", size=NEGATIVE) + END,
    "a long link below nothing": lambda: header(kind=b"K", size=NEGATIVE) + END,
    "a pax header below nothing": lambda: header(kind=b"x", size=NEGATIVE) + END,
    "a pax header of a gibibyte": lambda: gzip.compress(header(kind=b"x", size=octal(1 << 30)) + bytes(1 << 22)),
    "pax: path outside": lambda: _pax(b"30 path=../../outside-of-all\n"),
    "pax: size below nothing": lambda: _pax(b"12 size=-99\n"),
    "pax: a length of nothing": lambda: _pax(b"0 path=x\n"),
    "pax: a length of too much": lambda: _pax(b"999999 path=x\n"),
    "pax: linkpath outside": lambda: header(b"p", b"x", octal(27)) + block(b"27 linkpath=../../outside..\n"[:27]) + header(b"l", b"2", link=b"x") + END,
    "pax: sparse of a million": lambda: _pax(b"22 GNU.sparse.major=1\n22 GNU.sparse.minor=0\n"),
    "many long names in a row": lambda: (header(kind=b"L", size=octal(2)) + block(b"a\0")) * 3000,
    "a wrong sum": lambda: header()[:148] + b"0000000\0" + header()[156:] + END,
    "a zip's end alone": lambda: b"PK\5\6" + bytes(18),
    "a zip with many promised": lambda: b"PK\5\6\0\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\0\0",
    "a bomb of zeros": lambda: lzma.compress(header(size=octal(2 << 30)) + bytes(1 << 22)),
    "a name that is not text": lambda: header(b"\xff\xfe/../x") + END,
}


def _zip_bomb(path: Path) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for i in range(3):
            archive.writestr(f"{i}", bytes(150 << 20))
    return path


def _zip_link_bomb(path: Path) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        info = zipfile.ZipInfo("l")
        info.external_attr = 0o120777 << 16
        archive.writestr(info, "x" * (1 << 20))
    return path


def _zip_patched(old: bytes, new: bytes) -> Callable[[Path], Path]:
    def make(path: Path) -> Path:
        zip_of(path, [("top/name-1", "f", "content-of-it" * 9), ("top/name-2", "f", "y")])
        path.write_bytes(path.read_bytes().replace(old, new))
        return path

    return make


def _written(data: Callable[[], bytes]) -> Callable[[Path], Path]:
    def make(path: Path) -> Path:
        path.write_bytes(data())
        return path

    return make


def _of(maker: Callable[[Path, list[ArchiveEntry]], Path], entries: list[ArchiveEntry]) -> Callable[[Path], Path]:
    return lambda path: maker(path, entries)


def hostile() -> dict[str, Callable[[Path], Path]]:
    """Every archive that must be refused: what writes it at a path, by name."""
    made: dict[str, Callable[[Path], Path]] = {}
    for name, entries in HOSTILE.items():
        made[f"tar: {name}"] = _of(tar_of, entries)
        made[f"zip: {name}"] = _of(zip_of, entries)
    made |= {f"tar: {name}": _of(tar_of, entries) for name, entries in TAR_ONLY.items()}
    made |= {f"raw: {name}": _written(data) for name, data in RAW.items()}
    made |= {"zip: bomb": _zip_bomb, "zip: a link that is a bomb": _zip_link_bomb}
    made |= {
        "zip: another content": _zip_patched(b"content-of-it", b"c0ntent-of-it"),
        "zip: another name in front": _zip_patched(b"PK\3\4", b"PK\3\5"),
        "zip: an unknown way to pack": _zip_patched(b"PK\1\2\x14\3\x14\0\0\0\0\0", b"PK\1\2\x14\3\x14\0\0\0\x63\0"),
        "zip: encrypted": _zip_patched(b"PK\1\2\x14\3\x14\0\0\0", b"PK\1\2\x14\3\x14\0\1\0"),
    }
    return made


GOOD: list[ArchiveEntry] = [
    ("p-1/", "d", ""),
    ("p-1/d/f", "f", "text" * 300),
    ("p-1/l", "l", "d/f"),
    ("p-1/d/up", "l", "../l"),
    ("p-1/" + "n" * 150 + "/x", "f", "long"),
]


def mutated(random: Random, path: Path) -> Path:
    """A good archive with bytes changed, cut out, doubled or put in; of a tar, before or after it is packed."""
    is_tar = random.random() < 0.7
    data = (tar_of if is_tar else zip_of)(path, GOOD).read_bytes()
    inside = is_tar and random.random() < 0.8
    data = gzip.decompress(data) if inside else data
    for _ in range(random.randrange(1, 6)):
        at, size = random.randrange(len(data)), random.randrange(1, 40)
        new = random.choice((random.randbytes(1), random.randbytes(size), b"", NEGATIVE, b"../", b"\xff" * size, data[at : at + size] * 2))
        data = data[:at] + new + data[at + (len(new) if random.random() < 0.7 else size) :]
    path.write_bytes(gzip.compress(data) if inside and random.random() < 0.5 else data)
    return path
