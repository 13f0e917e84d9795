"""How many files still compile after conversion: the fast engine with its generic rules beside hipify-perl, same files, one run.

    PYTHONPATH=tests python tests/integration/hipify/compile_rate.py --root ROOT --cuda CUDA PACKAGE…

ROOT is a root file system with hipcc and HIP's libraries (Debian sid), CUDA a folder with CUDA's headers in `include/`
(--get-cuda fetches NVIDIA's wheels and takes the headers out of them), each PACKAGE an unpacked source tree.

Which files: of each package's `.cu` files in an order drawn by lot (--seed), the first --most that clang compiles *as
CUDA* for sm_80 with nothing but CUDA's headers, the C and C++ library and the package's own tree, and that have a
kernel or a CUDA call left after preprocessing. So a file is chosen before either engine has seen it. Include folders are
those of the package under which a file's includes are found. Both engines' trees are compiled with the same words:
`hipcc -fsyntax-only -x hip --offload-arch=GFX -std=c++17 -w -I…`.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shutil
import subprocess
import sys
import time
import zipfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from stackbuild.hipify import SourceSelection, Target, hipify_tree, open_engine
from stackbuild.hipify.tree.files import SUFFIXES
from support.root_file_system import run_in_root

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*[<"]([^>"]+)[>"]', re.M)
MEANT = re.compile(
    r"__global__|__attribute__\(\((?:global|device)\)\)|<<<|\bcu(?:da|blas|rand|fft|sparse|solver)[A-Z]\w*\s*\("
)
SUBFOLDERS = ("", "include", "src", "csrc", "source")
WHEELS = (
    "nvidia-cuda-runtime-cu12==12.6.77", "nvidia-cuda-nvcc-cu12==12.6.85", "nvidia-cuda-cccl-cu12==12.9.27",
    "nvidia-curand-cu12==10.3.7.77", "nvidia-cublas-cu12==12.6.4.1", "nvidia-cufft-cu12==11.3.0.4",
    "nvidia-cusparse-cu12==12.5.4.2", "nvidia-cusolver-cu12==11.7.1.2",
)  # fmt: skip


@dataclass(frozen=True)
class Chosen:
    """A file of a package, the include folders it needs, and the package's own files it includes, relative to it."""

    package: Path
    name: str
    folders: tuple[str, ...]
    closure: frozenset[str]


def get_cuda(target: Path) -> None:
    """CUDA's headers from NVIDIA's wheels, by pip."""
    target.mkdir(parents=True, exist_ok=True)
    words = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "--quiet",
        "--no-deps",
        "--only-binary=:all:",
        "--dest",
        str(target),
    ]
    subprocess.run([*words, *WHEELS], check=True)
    for wheel in sorted(target.glob("*.whl")):
        with zipfile.ZipFile(wheel) as archive:
            for member in archive.namelist():
                _, found, path = member.partition("/include/")
                if found and path and not path.endswith("/"):
                    place = target / "include" / path
                    place.parent.mkdir(parents=True, exist_ok=True)
                    place.write_bytes(archive.read(member))
        wheel.unlink()
    for folder in ("bin", "nvvm/libdevice"):  # what clang looks for to believe that this is CUDA
        (target / folder).mkdir(parents=True, exist_ok=True)
    (target / "nvvm/libdevice/libdevice.10.bc").touch()
    (target / "version.json").write_text(json.dumps({"cuda": {"version": "12.6.0"}}))


def chosen(package: Path, name: str) -> Chosen:
    """A file with everything of its own tree that it may include."""
    folders: dict[str, None] = {}
    closure: set[str] = {name}
    todo = [name]
    while todo:
        file = package / todo.pop()
        for path in INCLUDE.findall(file.read_text("utf-8", "replace")):
            found = _found(package, file, path)
            if found is None:
                continue
            folder, header = found
            if folder is not None:
                folders.setdefault(folder)
            if header not in closure:
                closure.add(header)
                todo.append(header)
    return Chosen(package, name, tuple(folders), frozenset(closure))


def _found(package: Path, file: Path, path: str) -> tuple[str | None, str] | None:
    """The package's own header that an include means, and the folder it is found under (None: beside the file)."""
    beside = (file.parent / path).resolve()
    if beside.is_file() and beside.is_relative_to(package):
        return None, str(beside.relative_to(package))
    for above in file.parents:
        if not above.is_relative_to(package):
            return None
        for below in SUBFOLDERS:
            place = (above / below / path).resolve()
            if place.is_file() and place.is_relative_to(package):
                return str((above / below).resolve().relative_to(package)), str(place.relative_to(package))
    return None


def choose(package: Path, args: argparse.Namespace) -> list[Chosen]:
    """The package's files that can be compiled alone, at most so many."""
    names = sorted(str(p.relative_to(package)) for p in package.rglob("*.cu") if p.is_file())
    random.Random(args.seed).shuffle(names)
    found: list[Chosen] = []
    tried = 0
    for name in names[: args.tries]:
        tried += 1
        if len(found) < args.most and _alone(one := chosen(package, name), args):
            found.append(one)
    print(f"{package.name}: {len(found)} of {tried} tried, of {len(names)}", flush=True)
    return found


def _alone(one: Chosen, args: argparse.Namespace) -> bool:
    mounts = {args.cuda: "/mnt/cuda", one.package: "/mnt/src"}
    cuda = [
        args.clang,
        "-x",
        "cuda",
        "--cuda-path=/mnt/cuda",
        "--cuda-gpu-arch=sm_80",
        "-std=c++17",
        "-w",
    ]
    words = [*cuda, "-isystem", "/mnt/cuda/include", *(f"-I/mnt/src/{f}" for f in one.folders), f"/mnt/src/{one.name}"]
    if run_in_root(args.root, mounts, [*words, "-fsyntax-only"])[0] != 0:
        return False
    code, text = run_in_root(args.root, mounts, [*words, "-E", "--cuda-host-only"])
    return code == 0 and bool(MEANT.search(_own(text)))


def _own(text: str) -> str:
    """The lines of a preprocessed text that are the package's own."""
    kept, own = [], False
    for line in text.split("\n"):
        if line.startswith("# "):
            own = '"/mnt/src/' in line
        elif own:
            kept.append(line)
    return "\n".join(kept)


def convert(packages: dict[Path, list[Chosen]], out: Path, args: argparse.Namespace) -> None:
    """Both engines' trees of each package in `out/fast` and `out/perl`: what hipify-perl is not given is as it was."""
    engine = open_engine(
        rule_sets=args.rules,
        target=Target(rocm=args.rocm),
        include_folders=[args.root / "usr" / "include"],
        hipify_perl=args.perl,
    )
    for package, files in packages.items():
        closure = sorted({name for one in files for name in one.closure})
        for name in closure:
            source, target = package / name, out / "perl" / package.name / name
            target.parent.mkdir(parents=True, exist_ok=True)
            if source.suffix.lower() in SUFFIXES:
                done = subprocess.run(
                    [engine.tools.perl or args.perl, "-quiet-warnings", source], capture_output=True, check=False
                )
                target.write_bytes(done.stdout)
            else:
                shutil.copyfile(source, target)
        include = tuple(n for n in closure if not set(n) & set("*?{}"))
        hipify_tree(SourceSelection((package,), out / "fast" / package.name, include), engine)
        for name in closure:
            target = out / "fast" / package.name / name
            if not target.exists():
                shutil.copyfile(package / name, target)


def compile_one(one: Chosen, engine: str, out: Path, args: argparse.Namespace) -> dict[str, str]:
    """The first error of hipcc on a converted file by GPU, "" for none: all GPUs at once, and each alone where that fails."""
    folders = [f"-I/mnt/src/{f}" for f in one.folders if (out / engine / one.package.name / f).is_dir()]

    def errors(gfxs: list[str]) -> str:
        words = [
            "hipcc",
            "-fsyntax-only",
            "-x",
            "hip",
            *(f"--offload-arch={g}" for g in gfxs),
            "-std=c++17",
            "-w",
            *folders,
        ]
        code, text = run_in_root(
            args.root, {out / engine / one.package.name: "/mnt/src"}, [*words, f"/mnt/src/{one.name}"]
        )
        said = [line for line in text.split("\n") if "error:" in line]
        return "" if code == 0 else (said or [text[-200:]])[0].replace("/mnt/src/", "")

    return dict.fromkeys(args.gfx, "") if not errors(args.gfx) else {gfx: errors([gfx]) for gfx in args.gfx}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("packages", type=Path, nargs="*")
    parser.add_argument("--root", type=Path)
    parser.add_argument("--cuda", type=Path, required=True)
    parser.add_argument("--get-cuda", action="store_true")
    parser.add_argument("--gfx", nargs="+", default=["gfx1100", "gfx942"])
    parser.add_argument("--rules", nargs="+", default=["generic"])
    parser.add_argument("--rocm", default="6.4")
    parser.add_argument("--most", type=int, default=15)
    parser.add_argument("--tries", type=int, default=100)
    parser.add_argument("--seed", type=int, default=4)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--perl", default=os.environ.get("HIPIFY_PERL") or shutil.which("hipify-perl"))
    parser.add_argument("--clang", default="clang++-21", help="the clang in ROOT that compiles CUDA")
    parser.add_argument("--again", type=Path, metavar="CHOSEN", help="chosen.json of an earlier run: the same files")
    parser.add_argument(
        "--out", type=Path, required=True, help="where the converted trees and rates.json go; it is emptied"
    )
    args = parser.parse_args()
    if args.get_cuda:
        get_cuda(args.cuda)
    args.root, args.cuda = (args.root or Path("/")).resolve(), args.cuda.resolve()
    shutil.rmtree(args.out, ignore_errors=True)
    args.out.mkdir(parents=True)
    with ThreadPoolExecutor(args.jobs) as pool:
        packages = _again(args.again) if args.again else _choose_all(pool, args)
        chosen_names = {str(package): [one.name for one in files] for package, files in packages.items()}
        (args.out / "chosen.json").write_text(json.dumps(chosen_names, indent=1))
        began = time.monotonic()
        convert(packages, args.out, args)
        print(f"converted in {time.monotonic() - began:.0f} s", flush=True)
        jobs = [(one, engine) for files in packages.values() for one in files for engine in ("fast", "perl")]
        errors = list(pool.map(lambda job: compile_one(*job, args.out.resolve(), args), jobs))
    rows = [
        (one.package.name, one.name, e, g, error)
        for (one, e), by in zip(jobs, errors, strict=True)
        for g, error in by.items()
    ]
    tell(rows, args.out)


def _choose_all(pool: ThreadPoolExecutor, args: argparse.Namespace) -> dict[Path, list[Chosen]]:
    paths = [p.resolve() for p in args.packages]
    return {p: files for p, files in zip(paths, pool.map(lambda p: choose(p, args), paths), strict=True) if files}


def _again(file: Path) -> dict[Path, list[Chosen]]:
    """The files that an earlier run chose."""
    return {Path(p): [chosen(Path(p), name) for name in names] for p, names in json.loads(file.read_text()).items()}


def tell(rows: list[tuple[str, str, str, str, str]], out: Path) -> None:
    """The table by package and GPU, then every failure with its first error."""
    (out / "rates.json").write_text(json.dumps(rows, indent=1))
    clean = Counter((package, engine, gfx) for package, _, engine, gfx, error in rows if not error)
    total = Counter((package, gfx) for package, _, engine, gfx, _ in rows if engine == "fast")
    gfxs = sorted({gfx for _, gfx in total})
    print("\n| package | files | " + " | ".join(f"fast {g} | perl {g}" for g in gfxs) + " |")
    for package in [*sorted({p for p, _ in total}), ""]:
        parts = [p for p, g in total if package in ("", p) and g == gfxs[0]]
        files = sum(total[p, gfxs[0]] for p in parts)
        cells = [
            f"{sum(clean[p, e, g] for p in parts)} ({sum(clean[p, e, g] for p in parts) / files:.0%})"
            for g in gfxs
            for e in ("fast", "perl")
        ]
        print(f"| {package or 'all'} | {files} | " + " | ".join(cells) + " |")
    for package, name, engine, gfx, error in rows:
        if error:
            print(f"{engine} {gfx} {package}/{name}: {error}")


if __name__ == "__main__":
    main()
