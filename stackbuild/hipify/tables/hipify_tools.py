"""Finds the HIPIFY of this machine, runs it, and keeps the tables made from it: the one module that starts HIPIFY.

The tools are looked for as: the option, then HIPIFY_PERL or HIPIFY_CLANG, then PATH, then /opt/rocm/bin.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

from stackbuild.core.errors import MachineLacks, UsageError
from stackbuild.core.user_folders import cache_home
from stackbuild.hipify.tables import bundled_tables, csv_table, perl_table
from stackbuild.hipify.tables.tables import FORMAT, Tables, from_json, to_json

PERL_PACKAGE = "hipify-perl"
CLANG_PACKAGE = "hipify-clang"
SECONDS = 120.0


@dataclass(frozen=True)
class Tools:
    """The HIPIFY programs of this machine, each None where it is not installed.

    `is_named`: by an option or a variable, and not found on PATH.
    """

    perl: Path | None
    clang: Path | None
    is_named: bool = False


def find(perl: str | None = None, clang: str | None = None) -> Tools:
    """The tools by option, environment and PATH; each None where it is not there. Raises UsageError."""
    named = bool(perl or clang or os.environ.get("HIPIFY_PERL") or os.environ.get("HIPIFY_CLANG"))
    return Tools(_one(perl, "HIPIFY_PERL", "hipify-perl"), _one(clang, "HIPIFY_CLANG", "hipify-clang"), named)


def need_perl(tools: Tools) -> Path:
    """hipify-perl itself. Raises MachineLacks."""
    if tools.perl is None:
        raise MachineLacks(
            "hipify-perl is not installed", where="PATH, HIPIFY_PERL", next=f"apt install {PERL_PACKAGE}"
        )
    return tools.perl


def need_clang(tools: Tools) -> Path:
    """hipify-clang itself. Raises MachineLacks."""
    if tools.clang is None:
        next = f"apt install {CLANG_PACKAGE} (Debian contrib)"
        raise MachineLacks("hipify-clang is not installed", where="PATH, HIPIFY_CLANG", next=next)
    return tools.clang


def _one(option: str | None, variable: str, name: str) -> Path | None:
    for program, source in ((option, f"--{name}"), (os.environ.get(variable), variable)):
        if program:
            path = shutil.which(program)
            if path is None:
                raise UsageError(f"{program} cannot be run", where=source, next=f"point {source} at the {name} program")
            return Path(path)
    default = shutil.which(name) or shutil.which(name, path="/opt/rocm/bin")
    return Path(default) if default else None


def tables_of_run(tools: Tools, file: Path | None) -> Tables:
    """The tables of a run: of a file of tables or a hipify-perl script, of the HIPIFY that was named, or the newer of two.

    Those two are this package's own and those of the HIPIFY on PATH or in /opt/rocm. Raises UsageError.
    """
    if file is not None:
        return bundled_tables.read(file) or _of_script(file)
    if tools.perl is None and tools.clang is None:
        return bundled_tables.load()
    if tools.is_named or tools.perl is None:
        return tables(tools)
    own = bundled_tables.load()
    return tables(tools) if _numbers(perl_table.version_of(_read(tools.perl))) > _numbers(own.tool) else own


def _of_script(file: Path) -> Tables:
    """The tables of a file that is to be a hipify-perl script. Raises UsageError."""
    try:
        return tables(Tools(file, None))
    except UsageError as error:
        what = "it is neither a file of HIPIFY's tables nor a hipify-perl script"
        advice = "give --tables the hipify-perl of a ROCm, or a file that `ci/hipify-data tables` made; or leave it out"
        raise UsageError(what, where=str(file), next=advice) from error


def _numbers(text: str) -> tuple[int, ...]:
    match = re.search(r"\d+(?:\.\d+)+", text)
    return tuple(map(int, match.group().split("."))) if match else ()


def tables(tools: Tools) -> Tables:
    """The tables of these tools, from the cache where the tools are the same bytes as then."""
    digest = _digest(tools)
    cache_file = cache_folder() / f"{digest}.json"
    try:
        return from_json(json.loads(cache_file.read_bytes()))
    except (OSError, ValueError, KeyError, TypeError):
        perl_tables = _make(tools, digest)
    _keep(cache_file, json.dumps(to_json(perl_tables)))
    return perl_tables


def read_tables(script: Path, csv: Path) -> Tables:
    """The tables of a hipify-perl and of a folder that `hipify-clang --csv` filled, where there is one."""
    texts = [_read(path) for path in sorted(csv.glob("*.csv"))]
    text = _read(script)
    digest = hashlib.sha256("\0".join((text, *texts)).encode("utf-8", "replace")).hexdigest()
    perl_tables = perl_table.parse(text, digest)
    return (
        replace(perl_tables, tool=f"{perl_tables.tool} + hipify-clang", versions=csv_table.versions(texts))
        if texts
        else perl_tables
    )


def cache_folder() -> Path:
    """Where parsed tables are kept: $XDG_CACHE_HOME/stackbuild/hipify."""
    return cache_home("hipify's tables") / "stackbuild" / "hipify"


def _digest(tools: Tools) -> str:
    hasher = hashlib.sha256(f"tables {FORMAT}\n".encode())
    for tool in (tools.perl, tools.clang):
        if tool is not None:
            with tool.open("rb") as file:
                hasher.update(hashlib.file_digest(file, "sha256").digest())
    return hasher.hexdigest()


def _keep(path: Path, text: str) -> None:
    """Write the cache in one rename; a cache that cannot be written does not stop the run."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=path.parent, prefix=".new-", delete=False) as file:
            file.write(text)
        Path(file.name).replace(path)
    except OSError:
        return


def _make(tools: Tools, digest: str) -> Tables:
    if tools.clang is None:
        return perl_table.parse(_read(need_perl(tools)), digest)
    with tempfile.TemporaryDirectory(prefix="stackbuild-hipify-") as folder:
        script = _read(tools.perl) if tools.perl else _generate_perl(tools.clang, Path(folder))
        texts = _generate_csv(tools.clang, Path(folder))
    perl_tables = perl_table.parse(script, digest)
    also = " + hipify-clang" if tools.perl else " (generated by hipify-clang)"
    return replace(perl_tables, tool=perl_tables.tool + also, versions=csv_table.versions(texts))


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace")


def _generate_csv(clang: Path, folder: Path) -> list[str]:
    out = folder / "csv"
    out.mkdir()
    run([str(clang), "--csv", "--doc-format=full", "--doc-roc=joint", f"--o-dir={out}"], folder)
    return [_read(path) for path in sorted(out.glob("*.csv"))]


def _generate_perl(clang: Path, folder: Path) -> str:
    run([str(clang), "--perl", f"--o-hipify-perl-dir={folder}"], folder)
    return _read(folder / "hipify-perl")


def run(argv: list[str], folder: Path) -> subprocess.CompletedProcess[bytes]:
    """Run one HIPIFY program in `folder`; its output is bytes. Raises UsageError where it fails or hangs."""
    try:
        process = subprocess.run(
            argv, cwd=folder, capture_output=True, timeout=SECONDS, check=False, stdin=subprocess.DEVNULL
        )
    except subprocess.TimeoutExpired as late:
        raise UsageError(f"{argv[0]} took longer than {SECONDS:.0f} s", next="try the fast engine") from late
    except OSError as error:  # such as a script whose interpreter is not there
        raise MachineLacks(f"cannot be run: {error.strerror}", where=argv[0], next="apt install perl") from error
    if process.returncode != 0:
        lines = process.stderr.decode("utf-8", "replace").strip().splitlines()
        messages = [line for line in lines if "error" in line][:2] or lines[-3:]
        raise UsageError(
            f"{argv[0]} failed with code {process.returncode}: {' / '.join(messages)}", where=" ".join(argv)
        )
    return process
