"""Tools that ask a package archive: what one prints, and its failures as errors."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

from stackbuild.core.errors import MachineLacks, StepFailed

_OFFLINE = re.compile(
    r"Temporary failure|Could not resolve|Could not connect|Failed to establish|Network is unreachable"
)


def tool_output(words: list[str], package: str, folder: Path) -> str:
    """The standard output of a tool that Debian's `package` has. Raises MachineLacks without it or without a network, StepFailed."""
    if not shutil.which(words[0]):
        raise MachineLacks(f"`{words[0]}` is not installed", next=f"apt-get install {package}")
    env = {**os.environ, "LC_ALL": "C"}
    process = subprocess.run(words, capture_output=True, text=True, check=False, cwd=folder, env=env)
    if process.returncode == 0:
        return process.stdout
    message = (process.stderr or process.stdout).strip()
    if _OFFLINE.search(message):
        raise MachineLacks(
            f"the archive cannot be reached: {message[-300:]}", next="check the network", topic="network"
        )
    raise StepFailed(
        f"`{' '.join(words[:2])}` failed: {message[-400:]}", next="check the name, the version and the suite"
    )
