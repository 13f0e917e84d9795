"""Compiles a converted tree's files that clang compiles as CUDA, and looks for a finding at each compiler error.

    PYTHONPATH=tests python tests/integration/hipify/tree_rate.py --root 6.4=SID --cuda CUDA --out OUT -I Common TREE

TREE is a folder of CUDA programs without HIP twins (NVIDIA's cuda-samples). What stands for the twin is the CUDA side:
a file counts where clang of the newest ROOT compiles it *as CUDA* (sm_80, host and device) with the headers of CUDA,
a folder that `compile_rate.py --get-cuda` fills. Each -I is relative to TREE; a file's own folder is searched as well.
Without -I a file has the folders of the tree in which `stackbuild hipify --check` finds its includes.
--most takes so many files in an order drawn by lot (--seed), after --skip others. With --quick only files whose
converted form fails are compiled as CUDA; the others count. See twin_rate.py for the rest.

    … --twin 'src/cuda/(.*)=src/hip/\\1' --word=-DNAME --twin-word=-DHIP_NAME TREE

With --twin the tree has hand-written HIP twins, and a file counts where its twin compiles as HIP on the same ROOT; clang
compiles nothing as CUDA. The pattern is a regular expression over whole paths, and only files with a twin are drawn. A
file may be its own twin: a project whose macros select the API. --twin-tree is the folder of the twins where they are
another project (NVIDIA's examples of Thrust beside those of rocThrust). --word and --twin-word are the compiler's words for the
converted files and for the twins, --std is for both. --count prints the drawn files and compiles nothing.
--check asks afterwards what `stackbuild hipify --check` says of the files that fail. The errors are still those of this
program's own run of the compiler.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path

from twin_rate import CALLS_CUDA, GPUS, CompileError, Compiler, Result, errors_of, tell, told

from stackbuild.hipify import FileReport, Report, SourceSelection, Target, hipify_tree, open_engine
from stackbuild.hipify.compilation.compile_check import check_report, compilation_units
from stackbuild.hipify.compilation.hip_compiler import HipCompiler, find_compiler, has_header
from stackbuild.hipify.compilation.include_folders import HeaderIndex
from stackbuild.hipify.tree.files import SUFFIXES
from support.root_file_system import run_in_root

CLANG = (
    "clang++-21",
    "-fsyntax-only",
    "-x",
    "cuda",
    "--cuda-path=/mnt/cuda",
    "--cuda-gpu-arch=sm_80",
    "-w",
    "-std=c++17",
)


SOURCE_SUFFIXES = (".cu", ".cpp", ".cc", ".c")


class Folders:
    """The include folders of a tree's files: those given, or those that the files' includes are found in."""

    def __init__(self, tree: Path, given: list[str], root: Path) -> None:
        self.given = given
        paths = [p for p in sorted(tree.rglob("*")) if not given and p.suffix.lower() in SUFFIXES and p.is_file()]
        texts = {str(p.relative_to(tree)): p.read_text("utf-8", "replace") for p in paths}
        self.headers = HeaderIndex(texts, partial(has_header, root))

    def words(self, file: str) -> list[str]:
        """The -I words of a file, relative to its own folder."""
        folders = self.given or self.headers.folders(file)
        return [f"-I{os.path.relpath(folder or '.', Path(file).parent)}" for folder in folders]


def twin_of(tree: Path, file: str, patterns: list[str]) -> str:
    """The path of a file's HIP twin by the first pattern `REGEX=PATH` that gives a file of the tree, or none."""
    for pattern in patterns:
        form, _, path = pattern.rpartition("=")
        if (match := re.fullmatch(form, file)) and (tree / match.expand(path)).is_file():
            return match.expand(path)
    return ""


def candidates(tree: Path, twin_tree: Path, patterns: list[str]) -> list[str]:
    """The files that may be drawn: .cu files that call CUDA, or all sources that have a twin."""
    if not patterns:
        return sorted(str(p.relative_to(tree)) for p in tree.rglob("*.cu") if CALLS_CUDA.search(p.read_bytes()))
    files = (str(p.relative_to(tree)) for p in tree.rglob("*") if p.suffix in SOURCE_SUFFIXES)
    return sorted(f for f in files if twin_of(twin_tree, f, patterns))


def is_cuda(root: Path, cuda: Path, tree: Path, file: str, words: list[str]) -> bool:
    """Whether clang compiles a file as CUDA, for the host and for the device."""
    mounts = {tree: "/mnt/src", cuda: "/mnt/cuda"}
    command = [*CLANG, *words, f"/mnt/src/{file}"]
    code, text = run_in_root(root, mounts, command, f"/mnt/src/{Path(file).parent}")
    return not code and not errors_of(text)


class CudaSide:
    """Which files of a tree clang compiles as CUDA; what is known of one is kept in a file."""

    def __init__(self, root: Path, cuda: Path, tree: Path, folders: Folders, kept: Path) -> None:
        self.root, self.cuda, self.tree, self.folders, self.kept = root, cuda, tree, folders, kept
        self.known: dict[str, bool] = json.loads(kept.read_text()) if kept.exists() else {}

    def compiles(self, file: str) -> bool:
        if file not in self.known:
            self.known[file] = is_cuda(self.root, self.cuda, self.tree, file, self.folders.words(file))
            self.kept.write_text(json.dumps(self.known))
        return self.known[file]


def by_path(report: Report, out: Path) -> dict[str, FileReport]:
    return {os.path.relpath(file.output, out): file for file in report.files}


def with_check(report: Report, selection: SourceSelection, compiler: HipCompiler, files: Iterable[str]) -> Report:
    """The report as `--check` makes it of a tree whose other programs are not there: `files` alone are compiled."""
    reports = by_path(report, selection.out)
    texts = {path: Path(f.output).read_text("utf-8", "replace") for path, f in reports.items() if Path(f.output).is_file()}
    units = set(compilation_units(reports, HeaderIndex(texts, partial(has_header, compiler.root)))) - set(files)
    return check_report(replace(report, files=tuple(f for path, f in reports.items() if path not in units)), selection, compiler)


def tell_check(results: list[Result]) -> None:
    """How many of the errors that count have a finding at their line with --check, by ROOT and GPU."""
    for rocm, gpu in sorted({(r.root, r.gpu) for r in results}):
        errors = [e for r in results if (r.root, r.gpu) == (rocm, gpu) for e in r.errors if e["ours"]]
        print(f"with --check {rocm} {gpu}: {sum(bool(e['checked']) for e in errors)} of {len(errors)} errors at the line")
        for e in errors:
            if not e["checked"]:
                print(f"NOT CHECKED {rocm} {gpu} {e['file']}:{e['line']}: {e['text']}")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("tree", type=Path)
    parser.add_argument("--root", action="append", required=True, metavar="ROCM=PATH")
    parser.add_argument("--cuda", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("-I", dest="folders", action="append", default=[])
    parser.add_argument("--twin", dest="twins", action="append", default=[], metavar="REGEX=PATH")
    parser.add_argument("--twin-tree", type=Path, help="the folder of the twins, where it is not TREE")
    parser.add_argument("--word", dest="words", action="append", default=[])
    parser.add_argument("--twin-word", dest="twin_words", action="append", default=[])
    parser.add_argument("--std", default="c++17")
    parser.add_argument("--count", action="store_true", help="print the drawn files and stop")
    parser.add_argument("--seed", type=int, default=19)
    parser.add_argument("--skip", type=int, default=0)
    parser.add_argument("--most", type=int, default=100)
    parser.add_argument("--side", nargs="+", choices=("host", *GPUS), default=["host", *GPUS])
    parser.add_argument("--quick", action="store_true", help="a file that compiles after conversion is one that counts")
    parser.add_argument("--check", action="store_true", help="ask --check of the files that fail")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--perl", default=os.environ.get("HIPIFY_PERL"))
    args = parser.parse_args()
    tree, out, cuda = args.tree.resolve(), args.out.resolve(), args.cuda.resolve()
    roots = {name: Path(path).resolve() for name, _, path in (word.partition("=") for word in args.root)}
    newest = roots[max(roots, key=lambda name: [int(n) for n in name.split(".")])]
    twin_tree = (args.twin_tree or tree).resolve()
    files = candidates(tree, twin_tree, args.twins)
    random.Random(args.seed).shuffle(files)
    drawn = files[args.skip : args.skip + args.most]
    if args.count:
        print("\n".join(drawn), f"{len(drawn)} of {len(files)}", sep="\n")
        return
    out.mkdir(parents=True, exist_ok=True)
    folders = Folders(tree, args.folders, newest)
    cuda_side = CudaSide(newest, cuda, tree, folders, out / "cuda.json")
    with ThreadPoolExecutor(args.jobs) as pool:
        if not args.quick and not args.twins:
            drawn = [file for file, is_good in zip(drawn, pool.map(cuda_side.compiles, drawn), strict=True) if is_good]
        print(f"{len(drawn)} files of {len(files)}", flush=True)
        compiler = Compiler(roots, out / "cache", args.side)
        results: list[Result] = []
        for rocm, root in roots.items():
            engine = open_engine(
                target=Target(rocm=rocm), include_folders=[root / "usr/include"], hipify_perl=args.perl
            )
            selection = SourceSelection((tree,), out / rocm, has_rest=True)
            made = hipify_tree(selection, engine, force=True)
            reports = by_path(made, out / rocm)

            def one(file: str, rocm: str = rocm, reports: dict[str, FileReport] = reports) -> list[Result]:
                folder, name = os.path.split(file)
                words = [*folders.words(file), f"-std={args.std}"]
                by_gpu = compiler.run(rocm, out / rocm, folder, name, [*words, *args.words])
                good = set(by_gpu)
                if any(by_gpu.values()) and args.twins:
                    twin = twin_of(twin_tree, file, args.twins)
                    words = [*folders.words(twin), f"-std={args.std}", *args.twin_words]
                    theirs = compiler.run(rocm, twin_tree, *os.path.split(twin), words)
                    good = {gpu for gpu, errors in theirs.items() if not errors}
                elif any(by_gpu.values()) and not cuda_side.compiles(file):
                    good = set()
                found = []
                for gpu, errors in by_gpu.items():
                    is_good = gpu in good
                    rows = [
                        {**asdict(e), "told": how, "by": by, "ours": is_good}
                        for e in errors
                        for how, by in [told(e, reports, tree)]
                    ]
                    found.append(Result(file, rocm, gpu, 1, not errors, rows, is_good))
                return found

            rows = [row for rows in pool.map(one, drawn) for row in rows]
            if args.check and (failures := {r.pair for r in rows if not r.clean}):
                words = tuple(f"-I{folder}" for folder in args.folders)
                hipcc = find_compiler(root, tuple(compiler.gpus), (f"-std={args.std}", *words, *args.words))
                checked = by_path(with_check(made, selection, hipcc, failures), out / rocm)
                for error in (error for row in rows for error in row.errors):
                    place = CompileError(str(error["file"]), int(str(error["line"])), "")
                    error["checked"] = told(place, checked, tree)[0] == "line"
            results += rows
    (out / "results.json").write_text(json.dumps([asdict(r) for r in results], indent=1))
    tell(results)
    if args.check:
        tell_check(results)


if __name__ == "__main__":
    main()
