"""Reading tar archives that nobody vouches for: plain ones, and those of gzip, bzip2 and xz, in one pass and bounded memory."""

from __future__ import annotations

import bz2
import errno
import gzip
import lzma
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import IO, cast

CHUNK = 1 << 20
DAMAGE = (
    *(tarfile.TarError, zipfile.BadZipFile, EOFError, ValueError, NotImplementedError, RuntimeError, LookupError),
    *(zlib.error, lzma.LZMAError, struct.error, OverflowError),
)
"""What the libraries raise on bytes that are not an archive, beside OSErrors."""
OF_DAMAGE = (None, errno.EINVAL)
"""Numbers of OSErrors that bytes cause: a decompressor's own has none; a member's place below nothing is EINVAL."""
_FORMATS: dict[bytes, Callable[[Path], object]] = {
    b"\x1f\x8b": gzip.open,
    b"BZh": bz2.open,
    b"\xfd7zXZ\0": lzma.open,
}


class ForwardReader:
    """The bytes of a tar archive. While its members are listed nobody reads much at once or goes back.

    A header's own length may be gigabytes, which `tarfile` would read into memory, or negative, for which it would read
    the same members for ever (CVE-2025-8194). `block` is what was read last.
    """

    def __init__(self, file: IO[bytes]) -> None:
        self.file = file
        self.tell, self.close = file.tell, file.close
        self.is_listing = True
        self.block = b""

    def read(self, size: int = -1) -> bytes:
        if not 0 <= size <= CHUNK:
            raise tarfile.ReadError(f"a header of {size} bytes")
        self.block = self.file.read(size)
        return self.block

    def seek(self, place: int, whence: int = 0) -> int:
        if self.is_listing and (whence != 0 or place < self.file.tell() - 1):
            raise tarfile.ReadError("a header leads back")
        return self.file.seek(place, whence)


class TarStream(tarfile.TarFile):
    """A tar archive that closes what it reads."""

    def close(self) -> None:
        super().close()
        cast(ForwardReader, self.fileobj).close()


def open_plain(archive: Path) -> IO[bytes]:
    """The bytes of a tar archive, decompressed where its first bytes say so. Raises OSError."""
    file = archive.open("rb")
    try:
        magic = file.read(6)
        file.seek(0)
    except BaseException:
        file.close()
        raise
    open_ = next((open_ for start, open_ in _FORMATS.items() if magic.startswith(start)), None)
    if open_ is None:
        return file
    file.close()
    return cast(IO[bytes], open_(archive))


def open_tar(archive: Path) -> TarStream | None:
    """The archive as a tar, None where it is not one: its first bytes decide, as a zip may lie at a tar's end.

    Raises OSError, and one of `DAMAGE` where it is compressed and what is in it is not a tar.
    """
    plain = open_plain(archive)
    is_compressed = isinstance(plain, gzip.GzipFile | bz2.BZ2File | lzma.LZMAFile)
    reader = ForwardReader(plain)
    try:
        return TarStream(fileobj=cast(IO[bytes], reader))
    except BaseException as error:
        reader.close()
        if isinstance(error, tarfile.ReadError) and not is_compressed:
            return None
        raise


def is_header(info: tarfile.TarInfo) -> bool:
    """Whether a member is a header of others."""
    return info.type in (tarfile.XGLTYPE, tarfile.XHDTYPE)
