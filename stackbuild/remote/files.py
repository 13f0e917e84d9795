"""Records and packs as plain files: a folder that `store export` writes, and the same read from a web server.

    format             the version of this layout
    manifests/ab/TAG   manifests by tag: r-KEY, c-KEY and t-TREE; ab are the first digits of the key. Beside r-KEY and c-KEY
                       each signer has a tag of its own, r-KEY.SIGNER
    tags               every tag but the signers' own, one a line, some of them twice; it may name one that is not there yet.
                       Writers hold `.lock` meanwhile, and write it anew where a line is not a whole tag
    blobs/ab/DIGEST    blobs by sha256

The manifests are those of a registry. Any web server serves them; nothing is executed and nothing is negotiated.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import re
import secrets
import shutil
import stat
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import IO

from stackbuild.remote.faults import ListDamaged, RemoteFault, RemoteUnreachable
from stackbuild.remote.http import HttpBlob, HttpClient, HttpRequest
from stackbuild.remote.protocol import SIGNER_DIGITS, BlobContent, ByteCounter
from stackbuild.store import atomic

FORMAT = "stackbuild.export/1\n"
TAGS = "tags"
MOST_TAGS = 64 << 20
"""Bytes of a list of tags: of about a million."""
_TAG = re.compile(r"[rct]-[0-9a-f]{64}")
_SIGNER_TAG = re.compile(rf"[rc]-[0-9a-f]{{64}}\.[0-9a-f]{{{SIGNER_DIGITS}}}")
_TAG_LINE = re.compile(rb"^[rct]-[0-9a-f]{64}\n", re.MULTILINE)
"""A whole line of the list. Others are not held in memory: a million short ones would be a hundred times their size."""
_DIGEST = re.compile(r"[0-9a-f]{64}")


def manifest_place(tag: str) -> str:
    """Where the manifest of a tag lies. Raises RemoteFault for what is not a tag."""
    if not _TAG.fullmatch(tag) and not _SIGNER_TAG.fullmatch(tag):
        raise RemoteFault("no tag", actual=tag[:80])
    return f"manifests/{tag[2:4]}/{tag}"


def blob_place(digest: str) -> str:
    """Where a blob lies. Raises RemoteFault for what is not a digest."""
    if not _DIGEST.fullmatch(digest):
        raise RemoteFault("no digest", actual=digest[:80])
    return f"blobs/{digest[:2]}/{digest}"


class WebFolder:
    """An export on a web server: read only."""

    def __init__(self, url: str, client: HttpClient) -> None:
        self.url = url
        self.client = client

    def manifest(self, tag: str, most: int) -> bytes | None:
        return self.client.body(HttpRequest("GET", manifest_place(tag)), most)

    def tags(self) -> frozenset[str] | None:
        text = self.client.body(HttpRequest("GET", TAGS), MOST_TAGS)
        if not text:
            return None
        if not _is_whole_list(text):
            raise ListDamaged("its list of tags has a line that is cut, or is not a tag: each key is asked for", blob=TAGS)
        return _tags_in(text)

    def blob(self, digest: str, count: ByteCounter) -> AbstractContextManager[HttpBlob]:
        return self.client.blob(HttpRequest("GET", blob_place(digest)), count)

    def abort(self) -> None:
        self.client.abort()

    def close(self) -> None:
        self.client.close()


def _is_whole_list(text: bytes) -> bool:
    """Whether each line of a list of tags is a tag, with its end. A writer that was killed leaves a line that is cut."""
    return text.endswith(b"\n") and sum(1 for _ in _TAG_LINE.finditer(text)) == text.count(b"\n")


def _tags_in(text: bytes) -> frozenset[str]:
    return frozenset(match[0][:-1].decode() for match in _TAG_LINE.finditer(text))


class _CountedFile:
    """A file that is read in pieces and counted."""

    def __init__(self, file: IO[bytes], count: ByteCounter) -> None:
        self._file = file
        self._count = count

    def read(self, size: int) -> bytes:
        try:
            piece = self._file.read(size)
        except OSError as error:
            raise RemoteFault(f"a blob cannot be read: {error.strerror}", blob=self._file.name) from None
        self._count(len(piece))
        return piece


class ExportFolder:
    """An export on this machine, `file://`: read, and written by `store export`."""

    def __init__(self, url: str, folder: Path, is_written: bool = False) -> None:
        self.url = url
        self.folder = folder
        if is_written:
            folder.mkdir(parents=True, exist_ok=True)
            if not self._is_export():
                if any(folder.iterdir()):
                    raise RemoteFault("a folder with other files in it, and not an export", blob=str(folder))
                self._place(folder / "format", FORMAT.encode())
            with self._lock():
                self._complete_list()
        elif not self._is_export():
            raise RemoteUnreachable("no export lies there", blob=str(folder))

    def _is_export(self) -> bool:
        """Whether the folder has the mark of this layout. A store has a file of that name, too."""
        try:
            with self._open(self.folder / "format") as file:
                return file.read(100) == FORMAT.encode()
        except OSError:
            return False

    def manifest(self, tag: str, most: int) -> bytes | None:
        path = self.folder / manifest_place(tag)
        try:
            with self._open(path) as file:
                content = file.read(most + 1)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise RemoteFault(f"a manifest cannot be read: {error.strerror}", blob=tag) from None
        if len(content) > most:
            raise RemoteFault("a manifest without end", blob=tag, promise=f"at most {most} bytes")
        return content

    def tags(self) -> frozenset[str] | None:
        """None: opening the file of each costs as little."""
        return None

    @contextlib.contextmanager
    def blob(self, digest: str, count: ByteCounter) -> Iterator[_CountedFile]:
        try:
            file = self._open(self.folder / blob_place(digest))
        except OSError as error:
            raise RemoteFault(f"a blob cannot be read: {error.strerror}", blob=digest) from None
        with file:
            yield _CountedFile(file, count)

    def abort(self) -> None:
        """Reads of files end by themselves."""

    def close(self) -> None: ...

    def blob_size(self, digest: str) -> int | None:
        try:
            return (self.folder / blob_place(digest)).stat().st_size
        except FileNotFoundError:
            return None

    def put_blob(self, digest: str, content: BlobContent, size: int, count: ByteCounter) -> None:
        path = self.folder / blob_place(digest)
        with self._name_folder(), self._stage(path) as file:
            shutil.copyfileobj(content, file, 1 << 20)
        count(size)

    def put_manifest(self, tag: str, text: bytes, is_patient: bool = True) -> None:
        place = self.folder / manifest_place(tag)
        with self._name_folder():
            self._put_manifest(place, tag, text)

    def _put_manifest(self, place: Path, tag: str, text: bytes) -> None:
        if _TAG.fullmatch(tag) and not place.exists():  # listed before it is there: a list that lacks a tag hides it from web clients
            with self._lock():
                self._list_tag(tag)
        self._place(place, text)

    @contextlib.contextmanager
    def _name_folder(self) -> Iterator[None]:
        """An error of a write names no file. With the folder's name the store's disk is not called full in its place."""
        try:
            yield
        except OSError as error:
            error.filename = error.filename or str(self.folder)
            raise

    @contextlib.contextmanager
    def _lock(self) -> Iterator[None]:
        """Held by whoever writes to the list of tags. It ends with its process."""
        fd = os.open(self.folder / ".lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
        try:
            with contextlib.suppress(OSError):  # some network file systems have no locks
                fcntl.flock(fd, fcntl.LOCK_EX)
            yield
        finally:
            os.close(fd)

    def _list_tag(self, tag: str) -> None:
        line = f"{tag}\n".encode()
        with (self.folder / TAGS).open("ab+", 0) as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - 1))
            if file.read(1) != b"\n":  # whoever wrote before this one was killed
                self._complete_list(tag)
                return
            if file.write(line) != len(line):
                file.truncate(size)
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self.folder))
            os.fsync(file.fileno())

    def _complete_list(self, *more: str) -> None:
        """Write the list of tags anew unless each of its lines is whole: those, with the manifests that are there."""
        place = self.folder / TAGS
        text = place.read_bytes() if place.exists() else b""
        if _is_whole_list(text):
            return
        manifest_names = {path.name for path in self.folder.glob("manifests/*/*")}
        tags = {tag for tag in manifest_names if _TAG.fullmatch(tag)} | _tags_in(text) | set(more)
        self._place(place, "".join(f"{tag}\n" for tag in sorted(tags)).encode())

    def _place(self, path: Path, text: bytes) -> None:
        with self._stage(path) as file:
            file.write(text)

    @contextlib.contextmanager
    def _stage(self, path: Path) -> Iterator[IO[bytes]]:
        """A file that appears under its name whole, flushed, or not at all."""
        path.parent.mkdir(parents=True, exist_ok=True)
        staging_file = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
        try:
            with staging_file.open("xb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            atomic.move_whole((staging_file, path))
        finally:
            staging_file.unlink(missing_ok=True)

    def _open(self, path: Path) -> IO[bytes]:
        """A regular file of the export; no link is followed at its end. Raises OSError."""
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        file = os.fdopen(fd, "rb")
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            file.close()
            raise OSError(22, "not a file")
        return file
