"""The target's HIP compiler, which parses converted files in a sandbox and runs nothing of them."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from stackbuild.core.cancel import check_signals
from stackbuild.core.child_process import wait_within
from stackbuild.core.errors import MachineLacks
from stackbuild.core.root_path import path_inside
from stackbuild.runners import bwrap

TREE = "/tmp/src"
"""Where the tree lies in the sandbox. Every root file system has a /tmp."""
HOST = "host"
SECONDS = 120.0
"""Seconds that one side of one file may take."""
_MEMORY = 8 << 20  # KiB of address space
_LOG = 16 << 11  # blocks of 512 bytes that the messages of one side may have
_READ = 16 << 20
_PLACES = ("usr/bin/hipcc", "usr/local/bin/hipcc", "opt/rocm/bin/hipcc")
_FOLDERS = ("bin", "lib", "lib32", "lib64", "sbin", "usr", "opt")
_SETTINGS = ("alternatives", "ld.so.cache", "ld.so.conf", "ld.so.conf.d")
"""The parts of a root file system that a compiler needs. No other file can be included."""
_WITH_LIMITS = f'ulimit -c 0; ulimit -v {_MEMORY}; ulimit -f {_LOG}; exec "$@"'
_PREPROCESS = ("-E", "-w", "-fno-color-diagnostics")
_WORDS = (
    "-fsyntax-only", "-w", "-ferror-limit=0", "-ftemplate-backtrace-limit=0", "-fno-color-diagnostics",
    "-fno-caret-diagnostics", "-fno-diagnostics-show-option",
)  # fmt: skip


@dataclass(frozen=True)
class CompilerLog:
    """What the compiler says of one side of one file: its exit code, its messages, and whether it was stopped."""

    side: str
    code: int
    text: str
    is_late: bool = False


@dataclass(frozen=True)
class HipCompiler:
    """The hipcc at `program` in the root file system `root`, and what it compiles for.

    `words` are for the compiler and come before the tree's own folders. A relative -I in them is one of the tree.
    """

    root: Path
    program: str
    gpus: tuple[str, ...]
    words: tuple[str, ...] = ()
    seconds: float = SECONDS

    def logs(self, tree: Path, file: str, folders: tuple[str, ...]) -> Iterator[CompilerLog]:
        """Parse a file of a tree for the host and for each GPU. Raises MachineLacks, Stopped."""
        for side in (HOST, *self.gpus):
            yield self._log(tree, file, folders, side, _WORDS)

    def expansions(self, tree: Path, file: str, folders: tuple[str, ...]) -> Iterator[CompilerLog]:
        """What the preprocessor leaves of a file, with line markers, for the host and each GPU. Raises MachineLacks, Stopped."""
        for side in (HOST, *self.gpus):
            yield self._log(tree, file, folders, side, _PREPROCESS)

    def _log(
        self, tree: Path, file: str, folders: tuple[str, ...], side: str, mode: tuple[str, ...]
    ) -> CompilerLog:
        only = (f"--offload-arch={self.gpus[0]}", "--cuda-host-only")
        if side != HOST:
            only = (f"--offload-arch={side}", "--cuda-device-only")
        includes = tuple(f"-I{TREE}/{folder}".rstrip("/") for folder in folders)
        own = tuple(f"-I{TREE}/{word[2:]}" if _is_relative(word) else word for word in self.words)
        argv = (self.program, *mode, *only, *own, *includes, "-x", "hip", f"{TREE}/{file}")
        with tempfile.TemporaryFile() as output:
            code, is_late = self._run(tree, argv, output, str(Path(TREE, file).parent))
            output.seek(0)
            return CompilerLog(side, code, output.read(_READ).decode("utf-8", "replace"), is_late)

    @property
    def _installation(self) -> tuple[str, ...]:
        """The mount of a hipcc of this machine that lies outside of the folders of a system."""
        if self.root != Path("/") or self.program.startswith(("/usr/", "/opt/")):
            return ()
        folder = str(Path(self.program).parents[1])
        return ("--ro-bind", folder, folder)

    def _run(self, tree: Path, argv: tuple[str, ...], output: IO[bytes], folder: str) -> tuple[int, bool]:
        """The exit code, and whether it took too long."""
        sandbox = bwrap.Bwrap(
            bwrap.bwrap_path(": converted files are parsed in a sandbox"),
            root=bwrap.root_mounts(self.root, _FOLDERS, _SETTINGS),
            mounts=(*self._installation, "--ro-bind", str(tree), TREE),
            env=(("PATH", "/usr/bin:/bin:/opt/rocm/bin"), ("HOME", "/tmp"), ("LANG", "C.UTF-8")),
            cwd=folder,
        )
        with sandbox.start(("/bin/sh", "-c", _WITH_LIMITS, "sh", *argv), output, seconds=self.seconds) as process:
            return wait_within(process, self.seconds, check_signals)


def find_compiler(root: Path | None, gpus: tuple[str, ...], words: tuple[str, ...]) -> HipCompiler:
    """The hipcc of a root file system, or of this machine where `root` is None. Raises MachineLacks."""
    if root is None:
        program = shutil.which("hipcc") or shutil.which("hipcc", path="/opt/rocm/bin")
        if program is None:
            advice = "apt-get install hipcc, or give --check-root a root file system that has it"
            raise MachineLacks("hipcc is not installed", where="PATH, /opt/rocm/bin", next=advice)
        return HipCompiler(Path("/"), program, gpus, words)
    for place in _PLACES:
        if path_inside(root, place):
            return HipCompiler(root.resolve(), f"/{place}", gpus, words)
    advice = "give the root file system of a ROCm: `mmdebstrap --include=hipcc sid ROOT` makes one"
    raise MachineLacks("it has no hipcc", where=str(root), next=advice)


def has_header(root: Path, path: str) -> bool:
    """Whether the C, C++ or ROCm library of a root file system has a header. C++'s own have no suffix."""
    if "." not in path.rpartition("/")[2]:
        return True
    return any((root / folder / path).is_file() for folder in ("usr/include", "opt/rocm/include"))


def _is_relative(word: str) -> bool:
    return word.startswith("-I") and not word.startswith("-I/")
