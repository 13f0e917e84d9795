"""Members of zip archives that nobody vouches for, within bounds of memory, whatever the archive says of them.

`ZipFile.read` inflates all the bytes that a member is packed in at once, even where its header names a few.
"""

from __future__ import annotations

from typing import IO
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo


def open_member(archive: ZipFile, member: ZipInfo) -> IO[bytes]:
    """A member to read piece by piece. Raises BadZipFile for bzip2 and LZMA: Python inflates those without a bound."""
    if member.compress_type not in (ZIP_STORED, ZIP_DEFLATED):
        raise BadZipFile(f"{member.filename[:120]!r} is packed by method {member.compress_type}; only deflate is read")
    return archive.open(member)


def read_member(archive: ZipFile, member: ZipInfo, limit: int) -> bytes:
    """A member's bytes. Raises BadZipFile where they are more than the limit, and as `open_member`."""
    if member.file_size > limit:
        raise BadZipFile(f"{member.filename[:120]!r} has {member.file_size} bytes, more than {limit}")
    with open_member(archive, member) as file:
        return file.read(member.file_size)
