"""Reads the files of a run: only those whose stamp says that they may have changed, and only what is a file."""

from __future__ import annotations

import hashlib
import os
import stat
import time
from dataclasses import dataclass

from stackbuild.core.errors import UsageError
from stackbuild.hipify.tree.files import MAX_BYTES, ConversionJob
from stackbuild.hipify.tree.state import OutputRecord

REST = "it is copied as it is"
_TICK_NS = 100_000_000


@dataclass(frozen=True)
class InputFile:
    """A file as read: its bytes and their sha256, its stamp and time before that.

    `record` is what the last run made of the same. `data` is None where it was not read again, or is too large;
    `refusal` is why the file is not converted, or "".
    """

    job: ConversionJob
    record: OutputRecord | None
    digest: str
    source: tuple[int, ...]
    mtime_ns: int
    data: bytes | None
    refusal: str = ""

    @property
    def is_fresh(self) -> bool:
        """Whether the last run's output is what this run would make, and stands."""
        if self.record is None or self.record.source_digest != self.digest:
            return False
        return (self.data is None and not self.refusal) or output_stands(self.job, self.record)


def read(job: ConversionJob, record: OutputRecord | None) -> InputFile:
    """Read a file, unless its stamp says that it is what was read last time and its output is what was written.

    Raises OSError, and UsageError if it is not a regular file (any more).
    """
    if record is not None and any(record.source_stamp):
        now = os.stat(job.source)  # noqa: PTH116 (thousands of files: Path costs)
        if record.source_stamp == _stamp_of(now) and output_stands(job, record):
            return InputFile(job, record, record.source_digest, record.source_stamp, now.st_mtime_ns, None)
    # A FIFO that took the file's place would hang an ordinary open.
    with open(os.open(job.source, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:  # noqa: PTH123
        now = os.fstat(file.fileno())
        if not stat.S_ISREG(now.st_mode):
            raise UsageError("it is not a file any more", where=str(job.source), next="run it again")
        source = _stamp_of(now)
        if job.is_rest:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
            return InputFile(job, record, digest, source, now.st_mtime_ns, None, REST)
        if now.st_size > MAX_BYTES:
            large = f"{now.st_size >> 20} MiB are more than the {MAX_BYTES >> 20} MiB that are converted"
            return InputFile(
                job, record, hashlib.file_digest(file, "sha256").hexdigest(), source, now.st_mtime_ns, None, large
            )
        data = file.read()
    return InputFile(job, record, hashlib.sha256(data).hexdigest(), source, now.st_mtime_ns, data, _refusal(data))


def output_stands(job: ConversionJob, record: OutputRecord) -> bool:
    """Whether an output is where it was written and nobody wrote it since."""
    try:
        status = os.lstat(job.output)
        return stat.S_ISREG(status.st_mode) and (status.st_size, status.st_mtime_ns) == record.output_stamp
    except OSError:
        return False


def _refusal(data: bytes) -> str:
    if b"\0" not in data[:8192]:
        return ""
    utf16 = data[:2] in (b"\xff\xfe", b"\xfe\xff")
    return "it is UTF-16: convert it to UTF-8 first" if utf16 else "it is a binary file"


def _stamp_of(status: os.stat_result) -> tuple[int, ...]:
    """What tells that a file was not written since. Zeros where it was just written: a clock has ticks."""
    if time.time_ns() - max(status.st_ctime_ns, status.st_mtime_ns) < _TICK_NS:
        return (0, 0, 0, 0)
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino
