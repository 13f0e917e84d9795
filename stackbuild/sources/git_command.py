"""One call of git, hardened: the one user of GitPython.

git speaks only https and ssh, or reads a mirror's own folder. It reads no configuration of the machine or the user,
runs no hook and asks no question.
"""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path
from typing import Any

from stackbuild.core.child_process import collect_output
from stackbuild.core.errors import MachineLacks, StepFailed
from stackbuild.sources.mirror import Mirror

SETTINGS = (
    *("core.hooksPath=/dev/null", "core.fsmonitor=false", "core.symlinks=true", "credential.helper="),
    *("protocol.allow=never", "protocol.https.allow=always", "protocol.ssh.allow=always"),
    *("fetch.fsckObjects=true", "transfer.fsckObjects=true", "fetch.fsck.zeroPaddedFilemode=ignore"),
    *("http.lowSpeedLimit=1000", "http.lowSpeedTime=30"),
    *("advice.detachedHead=false", "init.defaultBranch=main", "submodule.recurse=false", "gc.auto=0"),
)
ENVIRONMENT = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "/bin/false",
    "SSH_ASKPASS": "/bin/false",
    "GIT_SSH_COMMAND": "ssh -oBatchMode=yes -oConnectTimeout=30 -oServerAliveInterval=15 -oServerAliveCountMax=4",
    "GIT_LFS_SKIP_SMUDGE": "1",
    "LC_ALL": "C",
}
GIT_VARIABLES = ("PATH", "HOME", "SSH_AUTH_SOCK", "https_proxy", "HTTPS_PROXY", "no_proxy", "NO_PROXY", "SSL_CERT_FILE")
"""All that git sees of the caller's environment: none of the caller's GIT_* can lead it elsewhere."""

OF_A_MIRROR = Path(__file__).with_name("mirror.gitconfig")
SECONDS = 3600.0
"""A whole call of git. A server that sends less than http.lowSpeedLimit bytes a second is given up long before."""
OUTPUT_LIMIT = 64 << 20
"""Bytes that git may say: names of refs, or one file."""
_OFFLINE = re.compile(
    r"Could not resolve host|Failed to connect|Connection refused|Network is unreachable|timed out|Operation too slow"
)


def run_git(folder: Path, *words: str, mirror: Mirror | None = None) -> str:
    """One git call in `folder`; its output. A call that reads from a mirror may read from this machine, and
    from nowhere else."""
    import git

    settings = (*SETTINGS, *(("protocol.file.allow=always",) if mirror else ()))
    schemes = "file" if mirror else "https:ssh"
    runner: Any = git.Git(str(folder))
    if not shutil.which("git"):
        raise MachineLacks("`git` is not installed", next="apt-get install git")
    inherited_variables = {name: os.environ[name] for name in GIT_VARIABLES if name in os.environ}
    environment = {**inherited_variables, **ENVIRONMENT, "GIT_ALLOW_PROTOCOL": schemes}
    if mirror:
        environment["GIT_CONFIG_GLOBAL"] = str(OF_A_MIRROR)
    alone = ("env", "-i", *(f"{name}={value}" for name, value in sorted(environment.items())))
    command = [*alone, "git", *(w for s in settings for w in ("-c", s)), *words]
    try:
        running = runner.execute(command, as_process=True, start_new_session=True)  # it ends the process when forgotten
        process = running.proc
        out, err = collect_output(process, SECONDS, OUTPUT_LIMIT)
    except (TimeoutError, OverflowError) as error:
        raise StepFailed(
            f"git {words[0]}: {error}", next="look at the server, or give a mirror: --mirror DIR"
        ) from None
    if process.returncode != 0:
        text = err.decode("utf-8", "replace").strip()
        if _OFFLINE.search(text):
            raise MachineLacks(
                f"a git server cannot be reached: {text[-200:]}",
                next="check the network, or give a mirror: --mirror DIR",
                topic="network",
            ) from None
        raise StepFailed(f"git {words[0]}: {text[-400:]}") from None
    return out.decode("utf-8", "surrogateescape").removesuffix("\n")
