"""Copying a file of any size: a signal ends it within milliseconds."""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path

from stackbuild.core.cancel import check_signals

PIECE = 4 << 20
"""Bytes that the kernel copies between two looks at whether a signal has come."""


def copy_file(source: Path, target: Path, most: int | None = None) -> None:
    """Write the bytes of a regular file to `target`; the mode is that of a new file.

    Raises Stopped and, where there are more than `most` bytes, OverflowError: both leave a part at the target. Raises
    SpecialFileError where the source is not a regular file, OSError.
    """
    with os.fdopen(os.open(source, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb", buffering=0) as reader:
        if not stat.S_ISREG(os.fstat(reader.fileno()).st_mode):
            raise shutil.SpecialFileError(f"{source} is not a file")
        if most is not None and os.fstat(reader.fileno()).st_size > most:
            raise OverflowError(f"{source} has more than {most:,} bytes")
        with target.open("wb", buffering=0) as writer:
            while os.sendfile(writer.fileno(), reader.fileno(), None, PIECE):
                check_signals()
                if most is not None and writer.tell() > most:  # it grows
                    raise OverflowError(f"{source} has more than {most:,} bytes")


def copy_with_status(source: str, target: str) -> str:
    """The same with the mode and the times, for `shutil.copytree`."""
    copy_file(Path(source), Path(target))
    shutil.copystat(source, target)
    return target
