"""What an interpreter and the system under it are."""

from __future__ import annotations

import os
import sys

from probe import JobDict, main


def do(job: JobDict) -> JobDict:
    import venv  # noqa: F401 - Debian can leave it out; without it there is no clean environment

    return {"python": "{}.{}".format(*sys.version_info[:2]), "glibc": os.confstr("CS_GNU_LIBC_VERSION") or ""}


main(do)
