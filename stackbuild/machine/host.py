"""This machine as a host of builds."""

from __future__ import annotations

import os


def machine_memory() -> int:
    """Nine tenths of the machine's memory, in bytes."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") * 9 // 10
