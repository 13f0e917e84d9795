"""Compiles converted benchmarks whose hand-written HIP twin compiles, and looks for a finding at each compiler error.

    PYTHONPATH=tests python tests/integration/hipify/twin_rate.py --root 6.4=SID --root 5.7=TRIXIE --out OUT --part held SUITE

SUITE is a folder of pairs `NAME-cuda` and `NAME-hip` (HeCBench's `src`). Each ROOT is a root file system with hipcc and
HIP's libraries, called by its ROCm version. The pairs are divided by lot (--seed) into `tune`, on which rules may be
written, and `held`, on which figures are taken; --skip leaves out the first so many of a part, in an order drawn by lot,
and --most takes the next so many.

A pair counts as clean or not for a ROOT and a GPU where every twin's source that has a CUDA source of the same name
compiles. The converted sources of these names are compiled with the CUDA Makefile's own -I, -D and -std words. An error
counts where the twin of the compiled file compiles: what fails there too, for a header or data that is not in the suite
or a file that is a part of another, says nothing of the conversion, and is counted apart. An error is *told* where
the report has a finding at its line, in the source or in a header of the pair; *at its statement* where the finding is at
a line of the same statement. What the compiler says after a pair's first error may follow from that one, so the pairs
whose first error is told are counted too. What was compiled is kept in OUT/cache by content. A file that includes HIP's runtime itself
is compiled with that header precompiled, and again without where that fails.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import re
import shutil
from collections import Counter
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

from stackbuild.hipify import FileReport, SourceSelection, Target, hipify_tree, open_engine
from stackbuild.hipify.tree.files import SUFFIXES
from support.root_file_system import run_in_root

WORD = re.compile(r"(?<=\s)-(?:[DI][^\s$\\]+|std=[^\s$\\]+|include [^\s$\\]+)")
PLACE = re.compile(r"^/mnt/src/([^:\n]+):(\d+):(\d+): (fatal error|error|note): (.*)$", re.M)
ANY_PLACE = re.compile(r"^(/[^:\n]+|<[^>\n]*>):(\d+):(\d+): (fatal error|error|note|warning): (.*)$")
CALLS_CUDA = re.compile(rb"__global__|\bcu(?:da|blas|rand|fft|sparse|solver|dnn)[A-Z_.]")
GPUS = ("gfx1100", "gfx942")
HOST = ("--offload-arch=gfx1100", "--cuda-host-only")
HIPCC = ("hipcc", "-fsyntax-only", "-x", "hip", "-w", "-ferror-limit=0", "-ftemplate-backtrace-limit=0")
RUNTIME = re.compile(r"^#include [<\"]hip/hip_runtime\.h", re.M)


@dataclass(frozen=True)
class CompileError:
    """One error of the compiler: its place in the converted tree (in a system header: where that was used), and its text."""

    file: str
    line: int
    text: str


@dataclass
class Result:
    """What became of one pair under one ROOT and GPU."""

    pair: str
    root: str
    gpu: str
    sources: int
    clean: bool
    errors: list[dict[str, object]]
    twin: bool = True


def errors_of(log: str) -> list[CompileError]:
    """The errors of a compiler's output. One in a system header counts at the place of the tree that its notes name."""
    found: list[CompileError] = []
    waiting = ""
    for line in log.split("\n"):
        if not (place := ANY_PLACE.match(line)):
            continue
        path, number, _, kind, text = place.groups()
        own = path.removeprefix("/mnt/src/").lstrip("/") if path.startswith("/mnt/src/") else ""
        if "error" in kind:
            if waiting:
                found.append(CompileError("", 0, waiting))
            waiting = "" if own else text
            if own:
                found.append(CompileError(os.path.normpath(own), int(number), text))
        elif (
            kind == "note"
            and waiting
            and own
            and ("requested here" in text or "in call to" in text or "expanded from" in text)
        ):
            found.append(CompileError(os.path.normpath(own), int(number), waiting))
            waiting = ""
    if waiting:
        found.append(CompileError("", 0, waiting))
    return list(dict.fromkeys(found))


class Compiler:
    """Compiles sources in the root file systems, each content once for each side: the host and the GPUs."""

    def __init__(self, roots: dict[str, Path], cache: Path, sides: Iterable[str]) -> None:
        self.roots, self.cache, self.sides = roots, cache, frozenset(sides)
        self.gpus = [gpu for gpu in GPUS if gpu in self.sides]
        cache.mkdir(parents=True, exist_ok=True)

    def run(self, root: str, tree: Path, folder: str, file: str, words: list[str]) -> dict[str, list[CompileError]]:
        """The errors of one file by GPU, of the host's side and the GPU's; none where it compiles."""
        key = f"6 {root} {words} {folder}/{file} {content(tree, folder, tuple(words))}"
        made = {side: self._side(key, side, root, tree, folder, file, words) for side in sorted(self.sides)}
        return {gpu: list(dict.fromkeys(made.get("host", []) + made[gpu])) for gpu in self.gpus}

    def _side(
        self, key: str, side: str, root: str, tree: Path, folder: str, file: str, words: list[str]
    ) -> list[CompileError]:
        kept = self.cache / f"{hashlib.sha256(f'{side} {key}'.encode()).hexdigest()}.json"
        if kept.exists():
            return [CompileError(**one) for one in json.loads(kept.read_text())]
        made = self._compile(side, root, tree, folder, file, words)
        kept.write_text(json.dumps([asdict(one) for one in made]))
        return made

    def _compile(
        self, side: str, root: str, tree: Path, folder: str, file: str, words: list[str]
    ) -> list[CompileError]:
        """The errors of one side. What fails with a precompiled header is compiled again without."""
        standard = next((word for word in words if word.startswith("-std")), "")
        only = HOST if side == "host" else (f"--offload-arch={side}", "--cuda-device-only")
        words = [*only, *(absolute(word, folder) for word in words)]
        is_quick = RUNTIME.search((tree / folder / file).read_text("utf-8", "replace")) is not None
        if is_quick and not self._errors(root, tree, folder, file, words, self._header(root, standard, only)):
            return []
        return self._errors(root, tree, folder, file, words)

    def _errors(
        self, root: str, tree: Path, folder: str, file: str, words: list[str], header: Path | None = None
    ) -> list[CompileError]:
        mounts = {tree: "/mnt/src"}
        if header is not None:
            mounts[self.cache] = "/mnt/headers"
            words = [*words, "-Xclang", "-include-pch", "-Xclang", f"/mnt/headers/{header.name}"]
        command = [*HIPCC, *words, f"/mnt/src/{folder}/{file}"]
        code, text = run_in_root(self.roots[root], mounts, command, f"/mnt/src/{folder}")
        found = errors_of(text)
        return found or ([CompileError("", 0, text[-300:])] if code else [])

    def _header(self, root: str, standard: str, side: tuple[str, ...]) -> Path:
        """HIP's runtime header precompiled for one side of the compilation, made where it is not there."""
        name = f"{root}{standard}{''.join(side)}".replace("=", "-")
        header = self.cache / f"{name}.pch"
        if not header.exists():
            (self.cache / "runtime.h").write_text("#include <hip/hip_runtime.h>\n")
            made = ["-Xclang", "-emit-pch", "/mnt/out/runtime.h", "-Xclang", "-o", "-Xclang", f"/mnt/out/{name}.pch"]
            run_in_root(self.roots[root], {}, [*HIPCC, *side, standard, *made], out=self.cache)
        return header


def absolute(word: str, folder: str) -> str:
    """A word with the folder of a relative -I as the compiler's mount has it, so that errors name it in full."""
    is_relative = word.startswith("-I") and not word.startswith("-I/")
    return f"-I/mnt/src/{os.path.normpath(f'{folder}/{word[2:]}')}" if is_relative else word


@cache
def content(tree: Path, folder: str, words: tuple[str, ...]) -> str:
    """The digest of all that a file of a folder may include: its folder, those of its -I words, and support headers."""
    hashed = hashlib.sha256()
    folders = {folder} | {
        os.path.normpath(f"{folder or '.'}/{w[2:]}") for w in words if w.startswith("-I") and not w.startswith("-I/")
    }
    for name in sorted(folders):
        for path in sorted((tree / name).rglob("*")) if not name.startswith("..") else ():
            if path.is_file() and path.suffix.lower() in {*SUFFIXES, ".inc", ".hpp"}:
                hashed.update(str(path.relative_to(tree)).encode() + b"\0" + path.read_bytes())
    return hashed.hexdigest()


def words_of(folder: Path) -> list[str]:
    """The words of a Makefile that say how to compile: -I, -D, -std."""
    try:
        text = (folder / "Makefile").read_text("utf-8", "replace")
    except OSError:
        return ["-std=c++17"]
    active = "\n".join(line for line in text.split("\n") if not line.lstrip().startswith("#")).replace("-DDEBUG", "")
    found = list(dict.fromkeys(word for one in WORD.findall(active) for word in one.split()))
    return found if any(w.startswith("-std") for w in found) else [*found, "-std=c++17"]


def sources_of(suite: Path, name: str) -> list[str]:
    """The sources that both sides of a pair have and that call CUDA."""
    cuda, hip = suite / f"{name}-cuda", suite / f"{name}-hip"
    files = (p for p in sorted(cuda.rglob("*")) if p.is_file() and p.suffix in (".cu", ".cpp", ".cc"))
    names = [str(p.relative_to(cuda)) for p in files if p.suffix == ".cu" or CALLS_CUDA.search(p.read_bytes())]
    return [n for n in names if (hip / n).is_file()]


def is_held(seed: int, name: str) -> bool:
    return random.Random(f"{seed}:{name}").random() < 0.5


def chosen(args: argparse.Namespace) -> list[str]:
    names = sorted(
        p.name.removesuffix("-cuda") for p in args.suite.glob("*-cuda") if (args.suite / f"{p.name[:-5]}-hip").is_dir()
    )
    if args.only:
        return [n for n in names if n in args.only]
    part = [n for n in names if is_held(args.seed, n) == (args.part == "held")]
    random.Random(args.seed).shuffle(part)
    return [n for n in part if sources_of(args.suite, n)][args.skip : args.skip + args.most]


def convert(args: argparse.Namespace, names: list[str], rocm: str, root: Path) -> dict[str, FileReport]:
    """The pairs' CUDA sides converted for a ROOT, in OUT/ROCM; the reports by path in that tree."""
    out = args.out / rocm
    engine = open_engine(target=Target(rocm=rocm), include_folders=[root / "usr/include"], hipify_perl=args.perl)
    reports: dict[str, FileReport] = {}
    wanted = {f"{n}-cuda" for n in names}
    for name in names:  # and what they include of other pairs
        for word in words_of(args.suite / f"{name}-cuda"):
            beside = Path(os.path.normpath(f"{name}-cuda/{word[2:]}")).parts[:1]
            if word.startswith("-I") and not word.startswith("-I/") and (args.suite / Path(*beside)).is_dir():
                wanted.update(beside)
    for folder in sorted(wanted - {".", ".."}):
        report = hipify_tree(SourceSelection((args.suite / folder,), out / folder), engine, force=True)
        reports |= {os.path.relpath(file.output, out): file for file in report.files}
        for path in (args.suite / folder).rglob("*"):
            target = out / folder / path.relative_to(args.suite / folder)
            if path.is_file() and not target.exists() and path.stat().st_size < 1 << 20:
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, target)
    return reports


def told(error: CompileError, reports: dict[str, FileReport], suite: Path) -> tuple[str, list[str]]:
    """How an error is told, "line", "statement" or "", and by which rules."""
    report = reports.get(error.file)
    if report is None:
        return "", []
    line = report.lines.original(error.line)
    by = [f.rule for f in report.findings if f.place and f.place.line == line]
    if by:
        return "line", by
    text = Path(report.source).read_text("utf-8", "replace").split("\n")
    first = last = line
    while first > 1 and line - first < 12 and not re.search(r"[;{}]\s*(//.*)?$", text[first - 2]):
        first -= 1
    while last < len(text) and last - line < 12 and not re.search(r"[;{}]\s*(//.*)?$", text[last - 1]):
        last += 1
    by = [f.rule for f in report.findings if f.place and first <= f.place.line <= last]
    return ("statement", by) if by else ("", [])


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("suite", type=Path)
    parser.add_argument("--root", action="append", required=True, metavar="ROCM=PATH")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--part", choices=("tune", "held"), default="tune")
    parser.add_argument("--seed", type=int, default=19)
    parser.add_argument("--most", type=int, default=100)
    parser.add_argument("--skip", type=int, default=0, help="leave out so many of the part: those of earlier counts")
    parser.add_argument("--only", nargs="+", metavar="NAME")
    parser.add_argument(
        "--quick", action="store_true", help="a twin counts as compiling where the converted sources do"
    )
    parser.add_argument(
        "--side", nargs="+", choices=("host", *GPUS), default=["host", *GPUS], help="what to compile for"
    )
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--perl", default=os.environ.get("HIPIFY_PERL"))
    args = parser.parse_args()
    args.suite, args.out = args.suite.resolve(), args.out.resolve()
    roots = {name: Path(path).resolve() for name, _, path in (word.partition("=") for word in args.root)}
    names = chosen(args)
    compiler = Compiler(roots, args.out / "cache", args.side)
    results: list[Result] = []
    for rocm, root in roots.items():
        reports = convert(args, names, rocm, root)

        def one(name: str, rocm: str = rocm, reports: dict[str, FileReport] = reports) -> list[Result]:
            files = sources_of(args.suite, name)
            mine = [
                compiler.run(rocm, args.out / rocm, f"{name}-cuda", f, words_of(args.suite / f"{name}-cuda"))
                for f in files
            ]
            if args.quick and not any(errors for made in mine for errors in made.values()):
                return [Result(name, rocm, gpu, len(files), True, []) for gpu in compiler.gpus]
            twin = [
                compiler.run(rocm, args.suite, f"{name}-hip", f, words_of(args.suite / f"{name}-hip")) for f in files
            ]
            good = [gpu for gpu in compiler.gpus if not any(made[gpu] for made in twin)]
            found = []
            for gpu in compiler.gpus:
                ours = {e for made, theirs in zip(mine, twin, strict=True) if not theirs[gpu] for e in made[gpu]}
                errors = list(dict.fromkeys(e for made in mine for e in made[gpu]))
                rows = [
                    {**asdict(e), "told": how, "by": by, "ours": e in ours}
                    for e in errors
                    for how, by in [told(e, reports, args.suite)]
                ]
                found.append(Result(name, rocm, gpu, len(files), not errors, rows, gpu in good))
            return found

        with ThreadPoolExecutor(args.jobs) as pool:
            for number, made in enumerate(pool.map(one, names), 1):
                results += made
                if number % 20 == 0:
                    print(f"ROCm {rocm}: {number} of {len(names)} pairs", flush=True)
    (args.out / f"{args.part}.json").write_text(json.dumps([asdict(r) for r in results], indent=1))
    tell(results)


def tell(results: list[Result]) -> None:
    print("\n| ROCm | GPU | pairs whose twin compiles | of them clean | errors | told at the line | at the statement |")
    for rocm, gpu in sorted({(r.root, r.gpu) for r in results}):
        mine = [r for r in results if (r.root, r.gpu) == (rocm, gpu)]
        errors = Counter(e["told"] for r in mine for e in r.errors if e["ours"])
        theirs = sum(not e["ours"] for r in mine for e in r.errors)
        mine = [r for r in mine if r.twin]
        clean, total = sum(r.clean for r in mine), errors.total()
        portion = f" ({clean / len(mine):.1%})" if mine else ""
        share = [
            f"{n} ({n / total:.0%})" if total else "0" for n in (errors["line"], errors["line"] + errors["statement"])
        ]
        print(
            f"| {rocm} | {gpu} | {len(mine)} | {clean}{portion} | {total} | {share[0]} | {share[1]} |"
        )
        print(f"in files whose twin does not compile either, not counted: {theirs} errors")
        firsts = [next((e["told"] for e in r.errors if e["ours"]), "line") for r in mine if not r.clean]
        print(f"pairs that fail: {len(firsts)}; the first error of {firsts.count('line')} is told at its line")
    print()
    seen: set[tuple[str, object, object]] = set()
    for r in results:
        for e in r.errors:
            if e["ours"] and (r.root, e["file"], e["line"]) not in seen:
                seen.add((r.root, e["file"], e["line"]))
                print(
                    f"{e['told'] or 'SILENT':9} {r.root} {r.gpu} {e['file']}:{e['line']}: {e['text']} {','.join(sorted(set(e['by'])))}"
                )  # type: ignore[call-overload]


if __name__ == "__main__":
    main()
