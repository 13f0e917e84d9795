"""The Python and the C library that stackbuild itself runs on."""

from __future__ import annotations

import os
import sys


def this_python() -> str:
    """The Python version that stackbuild itself runs on, as recipes write it: the one wheels are proved in here."""
    return f"{sys.version_info.major}.{sys.version_info.minor}"


def this_glibc() -> str:
    """The version of this machine's C library, "" where it is not glibc."""
    return (os.confstr("CS_GNU_LIBC_VERSION") or "").rpartition(" ")[2]
