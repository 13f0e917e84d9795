"""Tools that ask a package archive, an index or a registry: what one prints, and its failures as errors.

A server behind a tool can make it wait and print for ever. `run_tool` bounds both, for tools that may be killed: pip and
skopeo. mmdebstrap may not, which unmounts what it has mounted; apt within it has limits of its own.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

from stackbuild.core.child_process import collect_output
from stackbuild.core.errors import MachineLacks, StepFailed

SECONDS = 3600.0
"""A whole call of a tool."""
OUTPUT_LIMIT = 64 << 20
"""Bytes that a tool may print."""
_OFFLINE = re.compile(
    r"Temporary failure|Could not resolve|Could not connect|Failed to establish|Network is unreachable"
    r"|apt-get update --error-on=any"  # all that `mmdebstrap --quiet` says of it
)


def run_tool(words: list[str], seconds: float = SECONDS, most: int = OUTPUT_LIMIT) -> subprocess.CompletedProcess[str]:
    """A tool's exit code and what it printed. Its whole process group ends with it, and by a Ctrl-C at once.

    Raises StepFailed where it takes longer or prints more than that, FileNotFoundError where it is not there.
    """
    process = subprocess.Popen(
        words,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        out, err = collect_output(process, seconds, most)
    except (TimeoutError, OverflowError) as error:
        raise StepFailed(
            f"`{Path(words[0]).name}`: {error}", next="look at the server that it asks, or give a mirror: --mirror DIR"
        ) from None
    return subprocess.CompletedProcess(
        words, process.returncode, out.decode("utf-8", "replace"), err.decode("utf-8", "replace")
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
