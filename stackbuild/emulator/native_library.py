"""C sources compiled by the machine's compiler when they are used, and kept by the digest of all that went in."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from stackbuild.core.digest import of_text
from stackbuild.core.errors import MachineLacks
from stackbuild.emulator.cache_files import digest_of, lock, move_into_place, read_record, write_record

NATIVE = Path(__file__).with_name("native")
_RECORD = "digest.json"
"""The file beside a library that has its digest."""
_SECONDS = 300.0
_FLAGS = ("-std=gnu11", "-O2", "-g1", "-fPIC", "-shared", "-fvisibility=hidden", "-pthread")


def compiler() -> str:
    """The machine's C compiler. Raises MachineLacks where there is none."""
    path = shutil.which(os.environ.get("CC", "cc")) or shutil.which("gcc") or shutil.which("clang")
    if path is None:
        raise MachineLacks(
            "there is no C compiler, which the emulator needs", next="apt-get install gcc libc6-dev", topic="emulator"
        )
    return path


def compile_library(
    sources: Sequence[Path],
    name: str,
    folder: Path,
    *,
    defines: Sequence[str] = (),
    generated_code: str = "",
    versions: str = "",
    libraries: Sequence[str] = (),
) -> Path:
    """A shared library NAME, its soname too, in a folder below `folder`.

    `generated_code` is one more C source, `versions` a version script. Raises MachineLacks with what the compiler said.
    """  # fmt: skip
    command = [compiler(), *_FLAGS, *(f"-D{define}" for define in defines), "-Xlinker", f"-soname={name}"]
    texts = [
        path.read_text("utf-8") for path in (*sources, *sorted({h for s in sources for h in s.parent.glob("*.h")}))
    ]
    key = of_text("\0".join([*command[1:], generated_code, versions, *libraries, *texts]))
    home = folder / f"{name}-{key[:24]}"
    home.mkdir(parents=True, exist_ok=True)
    with lock(home):
        record = read_record(home / _RECORD)
        if not record or record["digest"] != digest_of(home / name):
            with tempfile.TemporaryDirectory(dir=folder) as work:
                library, script, more = Path(work) / name, Path(work) / "versions.map", Path(work) / "generated.c"
                more.write_text(generated_code, "utf-8")
                script.write_text(versions, "utf-8")
                parts = [*map(str, sources), str(more), "-o", str(library), *libraries]
                _run([*command, *(["-Xlinker", f"--version-script={script}"] if versions else []), *parts], name)
                move_into_place(library, home / name)
            write_record(home / _RECORD, {"digest": digest_of(home / name)})
    return home / name


def _run(command: Sequence[str], name: str) -> None:
    """Run a compiler that makes the library `name`. Raises MachineLacks with what it said."""
    process = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=_SECONDS, stdin=subprocess.DEVNULL
    )
    if process.returncode:
        raise MachineLacks(
            f"{name} does not compile: {(process.stderr or process.stdout).strip()[-600:]}", where=command[0]
        )
