"""A code object → a folder of compiled kernels.

FOLDER/<sha256 of the code object>-<options>/ has image.bin (the loaded segments), kernels.json and kernels.txt (the same for
executor.c: a record a line, fields divided by tabs), a library and a listing for each translated kernel. Functions of
instructions lie in FOLDER/operations-<options>/, shared by all code objects.

Lists hold the digest of each of these files. A kernel is translated anew where a file of it, or a library of functions
that it was linked with, is not what was written.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from itertools import product
from pathlib import Path

from stackbuild.core.errors import MachineLacks, Stop
from stackbuild.emulator.allocation import lacks, register_need
from stackbuild.emulator.body import KernelBody, kernel_body
from stackbuild.emulator.cache_files import (
    LACKS,
    digest_of,
    lock,
    move_into_place,
    read_record,
    write_file,
    write_record,
)
from stackbuild.emulator.code_object import KernelImage, LoadedObject, load
from stackbuild.emulator.control_flow import KernelCode
from stackbuild.emulator.counts import block_counts
from stackbuild.emulator.decoder import DecodeError
from stackbuild.emulator.descriptor_modes import has_ieee_mode, unknown_modes
from stackbuild.emulator.encodings import EncodingFamily, family_name, target_tables
from stackbuild.emulator.function_table import FunctionTable
from stackbuild.emulator.listing import text_of
from stackbuild.emulator.native_library import NATIVE, compiler
from stackbuild.emulator.operands import UnknownInstruction

FLAGS = (
    "-std=gnu11", "-march=native", "-fPIC", "-shared", "-fno-math-errno", "-fno-trapping-math", "-ffp-contract=off", "-fwrapv",
    "-fno-strict-aliasing", "-w",
)  # fmt: skip


IMAGE = "image.bin"
"""The file of the loaded segments."""
_SECONDS, _MEMORY_KIB = 900, 8 << 20
"""What a compiler may take for one source: time, and KiB of memory. The source comes from a stranger's instructions."""
_LIMITS = ("sh", "-c", f'ulimit -v {_MEMORY_KIB}; ulimit -t {_SECONDS}; exec "$@"', "cc")
_POLL = 0.2


class TranslationError(Stop):
    """A code object that cannot be translated: another target's code, or C that the compiler refuses."""

    topic = "emulator"


@dataclass(frozen=True)
class Options:
    """What a translation has beside the kernels: checks, counts."""

    target: str
    sanitize: bool
    counters: bool

    def text(self, lanes: int, *, ieee: bool = False) -> str:
        """The name of a variant. `ieee` is whether its kernels' descriptors set IEEE_MODE."""
        parts = [
            str(lanes), "sanitized" if self.sanitize else "", "counted" if self.counters else "", "ieee" if ieee else ""
        ]  # fmt: skip
        return "-".join(part for part in parts if part)


def translate(
    code_object: bytes,
    target: str,
    folder: Path,
    *,
    sanitize: bool,
    counters: bool,
    kernels: Sequence[str] | None,
    check: Callable[[], None] = lambda: None,
) -> Path:
    """Translate kernels of a code object and return the folder below `folder` that holds them.

    `kernels` are mangled names; None for all. Kernels that lie there already are not translated again. A kernel with an
    unknown instruction is in the list with its problem. `check` is called while a compiler runs, and may raise. Raises EncodingError, CodeObjectError, TranslationError, and
    MachineLacks where there is no C compiler.
    """
    options = Options(target, sanitize, counters)
    loaded_object = load(code_object)
    tables = target_tables(target)
    if loaded_object.target.partition(":")[0] != target.partition(":")[0]:
        raise TranslationError(f"the code object is for {loaded_object.target}, not for {target}")
    out = folder / f"{sha256(code_object + _sources()).hexdigest()}-{options.text(0).lstrip('0-') or 'plain'}"
    out.mkdir(parents=True, exist_ok=True)
    with lock(out), lock(folder):
        _Translation(loaded_object, tables, options, folder, out, check).run(kernels)
    return out


@cache
def _sources() -> bytes:
    """A digest of what the emulator itself consists of, and of what this processor has: either translates anew.

    Compilers use all that the processor has (-march=native), and a store may move to a machine that has less. Taken once: a
    stand-in goes on reading the folder that it was given first.
    """
    files = sorted([*Path(__file__).parent.glob("*.py"), *NATIVE.glob("*.h")])
    return sha256(b"".join([*(file.read_bytes() for file in files), _processor(Path("/proc/cpuinfo"))])).digest()


def _processor(file: Path) -> bytes:
    """The line of Linux that names a processor's features, or b"" where there is none."""
    with suppress(OSError), file.open("rb") as lines:
        return next((line for line in lines if line.startswith((b"flags", b"Features"))), b"")
    return b""


class _Translation:
    def __init__(
        self,
        loaded_object: LoadedObject,
        tables: EncodingFamily,
        options: Options,
        folder: Path,
        out: Path,
        check: Callable[[], None],
    ) -> None:
        self.loaded_object, self.tables, self.options, self.folder, self.out = (
            loaded_object,
            tables,
            options,
            folder,
            out,
        )
        self.check = check
        self.family = family_name(loaded_object.target)
        self.rows: dict[str, dict[str, object]] = {}
        self.record = read_record(out / "kernels.json")
        self.rows = {row["name"]: row for row in self.record.get("kernels", []) if _is_whole(out, row["digests"])}

    def run(self, names: Sequence[str] | None) -> None:
        """Translate what is asked for and not there, then write the lists."""
        kernels = {kernel.name: kernel for kernel in self.loaded_object.kernels}
        for name in names or ():
            if name not in kernels:
                raise TranslationError(f"the code object has no kernel {name}")
        todo = [k for n, k in kernels.items() if (names is None or n in names) and not self._is_translated(n)]
        for lanes, ieee in product((32, 64), (False, True)):
            some = [k for k in todo if k.lanes == lanes and has_ieee_mode(k.descriptor, self.family) is ieee]
            if some:
                self._compile(some, lanes, ieee=ieee)
        self._write()

    def _is_translated(self, name: str) -> bool:
        row = self.rows.get(name)
        return bool(row and (row["library"] or row["problem"]))

    def _compile(self, kernels: list[KernelImage], lanes: int, *, ieee: bool) -> None:
        variant = self.options.text(lanes, ieee=ieee)
        table = FunctionTable(lanes, f"{variant} {_sources().hex()}")
        bodies: list[tuple[KernelImage, KernelBody, str]] = []
        for kernel in kernels:
            symbol = f"kernel_{sha256(kernel.name.encode()).hexdigest()[:16]}"
            try:
                body = self._body(kernel, lanes, table, symbol)
            except (UnknownInstruction, DecodeError) as error:
                self.rows[kernel.name] = {"library": "", "problem": error.what}
                continue
            bodies.append((kernel, body, symbol))
        operations = _Operations(self.folder / f"operations-{variant}", variant, self.check)
        libraries = operations.provide(table)
        jobs = [self._source(kernel, body, symbol, table) for kernel, body, symbol in bodies]
        flags = f"-Og -Xlinker -rpath=$ORIGIN/../{operations.folder.name}"  # the folder may be moved
        _compile_all([(source, library, flags, libraries) for source, library in jobs], variant, self.check)
        shared_files = {f"../{path.parent.name}/{path.name}": digest_of(path) for path in libraries}
        for (kernel, body, symbol), (_, library) in zip(bodies, jobs, strict=True):
            files = (library.name, f"{symbol}.txt", f"{symbol}.counts")
            self.rows[kernel.name] = {
                "library": library.name, "function": symbol, "problem": "", "rows": body.rows, "blocks": body.blocks,
                "instructions": len(body.instructions),
                "digests": {**shared_files, **{name: digest_of(self.out / name) for name in files}},
            }  # fmt: skip

    def _body(self, kernel: KernelImage, lanes: int, table: FunctionTable, symbol: str) -> KernelBody:
        if kernel.descriptor.flushes_denormals and not self.options.sanitize:
            raise UnknownInstruction("a kernel that flushes float32 denormals is not known")
        for problem in unknown_modes(kernel.descriptor, self.family):
            raise UnknownInstruction(problem)
        pointers = dict(self.loaded_object.relocations)
        entry, end = kernel.descriptor.entry, kernel.code_end
        code = KernelCode(self.loaded_object.image, self.tables, entry, end, self.loaded_object.code, pointers)
        body = kernel_body(
            code, lanes, table, symbol=symbol, counters=self.options.counters, sanitize=self.options.sanitize
        )
        for problem in lacks(kernel, register_need(body.instructions.values(), lanes), self.family):
            raise UnknownInstruction(problem)
        return body

    def _source(self, kernel: KernelImage, body: KernelBody, symbol: str, table: FunctionTable) -> tuple[Path, Path]:
        """Write the C file and the listing of a kernel."""
        body_text = "\n".join(body.lines)
        declaration_text = "\n".join(f"{text};" for name, text in table.declarations.items() if f"{name}(" in body_text)
        source = self.out / f"{symbol}.c"
        source.write_text(f'#include "wave.h"\n{declaration_text}\n{body_text}\n')
        entry = kernel.descriptor.entry
        listing = [f"{at - entry & 0xFFFFFFFF}\t{text_of(inst)}\n" for at, inst in body.instructions.items()]
        (self.out / f"{symbol}.txt").write_text("".join(listing))
        (self.out / f"{symbol}.counts").write_text(block_counts(body.instructions, body.blocks))
        return source, self.out / f"{symbol}.so"

    def _write(self) -> None:
        rows = [self._row(kernel) for kernel in self.loaded_object.kernels]
        image, image_digest = self.out / IMAGE, self.record.get("image", "")
        if not image_digest or digest_of(image) != image_digest:  # else it stays: others read it without the lock
            write_file(image, self.loaded_object.image)
            image_digest = digest_of(image)
        record = {"target": self.loaded_object.target, "image": image_digest, "kernels": rows}
        if record != {key: value for key, value in self.record.items() if key != "sha256"}:
            write_record(self.out / "kernels.json", record)
        write_file(self.out / "kernels.txt", "".join(self._records(rows)).encode())

    def _row(self, kernel: KernelImage) -> dict[str, object]:
        d = kernel.descriptor
        outcome = self.rows.get(kernel.name, {})
        return {
            "name": kernel.name, "symbol": kernel.symbol, "library": outcome.get("library", ""), "function": outcome.get("function", ""),
            "problem": outcome.get("problem", ""), "wavefront": kernel.lanes, "kernarg_bytes": kernel.kernarg_bytes,
            "explicit_bytes": kernel.explicit_bytes, "group_bytes": kernel.group_bytes, "private_bytes": d.scratch_bytes,
            "vgprs": kernel.registers[0], "sgprs": kernel.registers[1], "agprs": kernel.registers[2],
            "maximum_workgroup": kernel.maximum_workgroup, "rsrc1": d.rsrc1, "rsrc2": d.rsrc2, "properties": d.properties,
            "rows": outcome.get("rows", 0), "blocks": outcome.get("blocks", []), "instructions": outcome.get("instructions", 0), "entry": d.entry,
            "digests": outcome.get("digests", {}),
            "arguments": [{"name": a.name, "kind": a.kind, "offset": a.offset, "bytes": a.bytes} for a in kernel.arguments],
        }  # fmt: skip

    def _records(self, rows: list[dict[str, object]]) -> Iterator[str]:
        yield f"emulator\t1\t{self.loaded_object.target.partition(':')[0]}\t{self.family}\t{len(self.loaded_object.image)}\n"
        for at, addend in self.loaded_object.relocations:
            yield f"relocation\t{at}\t{addend}\n"
        for name, (at, size) in self.loaded_object.symbols.items():
            if not name.endswith(".kd") and name.isprintable() and at + size <= len(self.loaded_object.image):
                yield f"variable\t{name}\t{at}\t{size}\n"
        keys = ("wavefront", "kernarg_bytes", "explicit_bytes", "group_bytes", "private_bytes", "vgprs", "sgprs", "agprs",
                "maximum_workgroup", "rsrc1", "rsrc2", "properties", "rows")  # fmt: skip
        for row in rows:
            numbers = "\t".join(str(row[key]) for key in keys)
            blocks = row["blocks"]
            count = len(blocks) if isinstance(blocks, list) else 0
            problem = str(row["problem"]).replace("\t", " ").replace("\n", " ")
            yield f"kernel\t{row['name']}\t{row['symbol']}\t{row['library']}\t{row['function']}\t{numbers}\t{count}\t{problem}\n"
            arguments = row["arguments"]
            for a in arguments if isinstance(arguments, list) else []:
                yield f"argument\t{a['offset']}\t{a['bytes']}\t{a['kind']}\t{a['name']}\n"


class _Operations:
    """The libraries of operations' functions of one variant, and which function is in which."""

    def __init__(self, folder: Path, variant: str, check: Callable[[], None]) -> None:
        self.folder, self.variant, self.check = folder, variant, check
        folder.mkdir(parents=True, exist_ok=True)
        self.index = folder / "index.json"
        record = read_record(self.index)
        digests = record.get("digests", {})
        self.digests: dict[str, str] = {name: value for name, value in digests.items() if digest_of(folder / name) == value}
        functions = record.get("functions", {})
        self.where: dict[str, str] = {name: file for name, file in functions.items() if file in self.digests}

    def provide(self, table: FunctionTable) -> list[Path]:
        """Compile the functions that are not there yet; the libraries that hold those of the table."""
        missing = [name for name in table.definitions if name not in self.where]
        jobs = []
        for start in range(0, len(missing), 64):
            names = missing[start : start + 64]
            library = self.folder / f"{sha256(' '.join(names).encode()).hexdigest()[:16]}.so"
            source = library.with_suffix(".c")
            source.write_text('#include "wave.h"\n' + "\n".join(table.definitions[name] for name in names) + "\n")
            jobs.append((source, library, f"-O2 -ftree-vectorize -Xlinker -soname={library.name}", list[Path]()))
            self.where.update(dict.fromkeys(names, library.name))
        _compile_all(jobs, self.variant, self.check)
        if missing:
            self.digests.update({library.name: digest_of(library) for _, library, _, _ in jobs})
            write_record(self.index, {"functions": self.where, "digests": self.digests})
        return sorted({self.folder / self.where[name] for name in table.definitions})


def _is_whole(folder: Path, digests: dict[str, str]) -> bool:
    """Whether files below a folder are what was written. Digests are by path."""
    return all(digest_of(folder / name) == value for name, value in digests.items())


CompilerProcess = tuple[Path, Path, "subprocess.Popen[bytes]"]
"""The library under its new name, its name, and what compiles it."""


def _compile_all(
    jobs: Sequence[tuple[Path, Path, str, Sequence[Path]]], variant: str, check: Callable[[], None]
) -> None:
    """Compile sources to libraries, as many at once as there are cores. Raises MachineLacks, TranslationError."""
    program = compiler() if jobs else ""
    lanes, *features = variant.split("-")
    defines = [
        f"-DLANES={lanes}",
        f"-DSANITIZE={int('sanitized' in features)}",
        f"-DCOUNTERS={int('counted' in features)}",
        f"-DIEEE={int('ieee' in features)}",
    ]
    waiting, running = list(jobs), list[CompilerProcess]()
    try:
        while waiting or running:
            while waiting and len(running) < (os.cpu_count() or 1):
                source, library, level, libraries = waiting.pop()
                fresh = library.with_suffix(f".{os.getpid()}.new")
                command = [
                    *_LIMITS,
                    program,
                    *level.split(),
                    *FLAGS,
                    *defines,
                    f"-I{NATIVE}",
                    str(source),
                    "-o",
                    str(fresh),
                    *map(str, libraries),
                    "-lm",
                ]
                process = subprocess.Popen(command, stderr=subprocess.PIPE, start_new_session=True)
                running.append((fresh, library, process))
            _finish(running[0], program, check)
            running.pop(0)
    finally:
        for _, _, process in running:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.communicate()


def _finish(run: CompilerProcess, program: str, check: Callable[[], None]) -> None:
    """Wait for a compiler and put its library in place. Raises TranslationError, MachineLacks, and what `check` raises."""
    fresh, library, process = run
    until = time.monotonic() + _SECONDS
    errors = None
    while errors is None:
        try:
            _, errors = process.communicate(timeout=_POLL)
        except subprocess.TimeoutExpired:
            check()
            if time.monotonic() > until:
                raise TranslationError(f"{program} takes longer than {_SECONDS} s for {library.stem}") from None
    if process.returncode:
        error_text = errors.decode(errors="replace")
        if lack := next((text for text in LACKS if text in error_text), ""):
            raise MachineLacks(f"the store takes no kernels: {lack}")
        raise TranslationError(
            f"{program} failed on {library.with_suffix('.c')}: {error_text[:400]}"
        )
    move_into_place(fresh, library)
