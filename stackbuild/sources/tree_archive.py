"""Tar archives of whole trees: outputs of steps in a mirror, root file systems of mmdebstrap, layers of images.

Every such archive is unpacked here. First its members are listed within the bounds of the store. Then tar unpacks it in a
sandbox that can write to the new folder and to nothing else, without the right to make a device. A link to the machine's
files is kept, for a root file system has such, and what is written through it reaches a read-only file system.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import select
import stat
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import IO, cast

from stackbuild.core.cancel import POLL_SECONDS, check_signals
from stackbuild.core.errors import StepFailed
from stackbuild.core.tree_walk import BOUNDS, Bounds
from stackbuild.runners import bwrap
from stackbuild.sources.tar_stream import (
    CHUNK,
    DAMAGE,
    OF_DAMAGE,
    ForwardReader,
    TarStream,
    is_header,
    open_plain,
    open_tar,
)
from stackbuild.store import atomic

DEVICES = ("dev/*", "./dev/*")
"""What is left out of root file systems: a sandbox has a /dev of its own."""
_MESSAGE_LIMIT = 400


def create(tree: Path, archive: Path) -> None:
    """Write a tree as an archive: the same bytes for the same tree."""
    words = ["tar", "--create", "--sort=name", "--numeric-owner", "--owner=0", "--group=0", "--mtime=@1700000000"]
    subprocess.run([*words, f"--file={archive}", f"--directory={tree}", "."], check=True)


def member_names(archive: Path, archive_name: str = "", bounds: Bounds = BOUNDS) -> Iterator[str]:
    """The name of each member, after it was found to be within the bounds.

    Raises StepFailed for a member that is beyond them, leads out of the tree or is a device, and for what is not an
    archive.
    Messages call the archive `archive_name`.
    """
    archive_name = archive_name or archive.name
    if not stat.S_ISREG(archive.stat().st_mode):
        raise StepFailed("not a file", where=archive_name)
    with _damage_named(archive_name):
        if (tar := open_tar(archive)) is None:
            raise StepFailed("not a tar archive", where=archive_name)
        with contextlib.closing(tar):
            yield from _names(tar, archive_name, bounds)


@contextlib.contextmanager
def _damage_named(archive_name: str) -> Iterator[None]:
    """Raises StepFailed for what the libraries raise on bytes that are not an archive."""
    try:
        yield
    except (*DAMAGE, OSError) as error:
        if isinstance(error, OSError) and error.errno not in OF_DAMAGE:
            raise
        raise StepFailed(f"the archive is damaged: {error}", where=archive_name) from None


def _names(tar: TarStream, archive_name: str, bounds: Bounds) -> Iterator[str]:
    count = size = holes = 0
    while (info := tar.next()) is not None:
        check_signals()
        tar.members.clear()  # type: ignore[attr-defined]  # two million of them would take gigabytes
        if is_header(info):
            continue
        count, size, holes = count + 1, size + info.size, holes + info.size * info.issparse()
        if count > bounds.entries or size > bounds.bytes or holes > bounds.sparse:
            raise StepFailed(
                f"more than {bounds.entries:,} members, {bounds.bytes >> 30} GiB, or {bounds.sparse >> 30} GiB of sparse files",
                where=archive_name,
                next="that is a bomb, or no tree that a store takes",
            )
        if why := _refusal(info, bounds):
            raise StepFailed(f"the member {info.name[:120]!r} is refused: {why}", where=archive_name)
        yield info.name
    if cast(ForwardReader, tar.fileobj).block.strip(b"\0"):
        raise StepFailed("the archive is damaged: what follows its last member is not a header", where=archive_name)


def _refusal(info: tarfile.TarInfo, bounds: Bounds) -> str:
    """Why a member is not unpacked, "" where it is."""
    path = PurePosixPath(info.name)
    parts = path.parts[path.is_absolute() :]
    if info.size < 0:
        return f"it has {info.size} bytes"
    if ".." in parts or (info.islnk() and ".." in PurePosixPath(info.linkname).parts):
        return "it leads out of the tree"
    if (info.ischr() or info.isblk()) and parts[:1] != ("dev",):
        return "it is a device"
    return bounds.of_path(info.name, len(parts) - 1)


def unpack_tree(archive: Path, out: Path, archive_name: str = "", sha256: str = "") -> None:
    """Unpack into the empty folder `out`: without owners, setuid, setgid and sticky bits, devices, and what is in /dev.

    Where its `sha256` is given, the bytes unpacked are compared with it. Raises StepFailed, MachineLacks, Stopped, OSError;
    nothing is left then.
    """
    archive_name = archive_name or archive.name
    try:
        for _ in member_names(archive, archive_name):
            pass
        unpacked_names = extract(archive, out, archive_name, DEVICES)
        if sha256 and unpacked_names != sha256:
            raise StepFailed("it was changed while it was unpacked", where=archive_name, next="copy it again")
    except BaseException:
        for leftover in out.iterdir():
            atomic.remove(leftover)
        raise


def extract(
    archive: Path, out: Path, archive_name: str, exclude: Sequence[str] = (), *, keeps_modes: bool = False
) -> str:
    """Run tar on an archive whose members were listed. Returns the sha256 of the plain archive, in hex.

    `keeps_modes` is for what root unpacks and runs before the store takes it: setuid bits and modes of folders are then
    as the archive says. Raises StepFailed, MachineLacks, Stopped.
    """
    sandbox = bwrap.Bwrap(
        bwrap.bwrap_path(),
        root=("--ro-bind", "/", "/"),
        mounts=("--dir", "/tmp/root", "--bind", str(out), "/tmp/root"),
        env=(("PATH", "/usr/bin:/bin"), ("LANG", "C.UTF-8")),
        capabilities=("CAP_DAC_OVERRIDE",),  # a layer may write into a folder that an earlier one made read-only
    )
    reading, writing = os.pipe2(os.O_CLOEXEC)
    with contextlib.suppress(OSError):  # a user's pipes together have a bound
        fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, CHUNK)
    with tempfile.TemporaryFile() as output:
        with (
            contextlib.ExitStack() as sandboxes,
            os.fdopen(writing, "wb", buffering=0) as pipe,
            open_plain(archive) as plain,
        ):
            with os.fdopen(reading, "rb", buffering=0):  # closed here once tar has it: a write fails when tar ends
                words = _words(reading, exclude, keeps_modes)
                process = sandboxes.enter_context(sandbox.start(words, output, pass_fds=(reading,)))
            try:
                with _damage_named(archive_name):
                    sha256 = _feed(plain, pipe)
            finally:  # the end of its input ends tar
                pipe.close()
                process.wait()
        output.seek(0)
        text = output.read(1 << 16).decode("utf-8", "replace").strip()
    if process.returncode != 0:
        raise StepFailed(f"{archive_name} cannot be unpacked: {text[-_MESSAGE_LIMIT:]}", where=str(archive))
    return sha256


def _words(archive: int, exclude: Sequence[str], keeps_modes: bool) -> tuple[str, ...]:
    """tar's command line, which reads the archive from an open file. The caller's umask has no say."""
    return (
        *("/bin/sh", "-c", 'umask 022; exec "$@"', "sh"),
        *("tar", "--extract", f"--file=/proc/self/fd/{archive}", "--directory=/tmp/root", "--no-same-owner"),
        *("--delay-directory-restore", "--same-permissions" if keeps_modes else "--no-same-permissions"),
        *(f"--exclude={pattern}" for pattern in exclude),
    )


def _feed(plain: IO[bytes], pipe: IO[bytes]) -> str:
    """Copy the bytes to tar and digest them; tar may end before the archive does. Raises StepFailed, Stopped, OSError."""
    os.set_blocking(pipe.fileno(), False)
    hasher, is_open = hashlib.sha256(), True
    while piece := plain.read(CHUNK):
        hasher.update(piece)
        view = memoryview(piece)
        while view:
            check_signals()
            try:
                view = view[os.write(pipe.fileno(), view) :] if is_open else view[:0]
            except BlockingIOError:
                select.select([], [pipe], [], POLL_SECONDS)
            except BrokenPipeError:
                is_open = False
    return hasher.hexdigest()
