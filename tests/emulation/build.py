#!/usr/bin/env python3
"""Builds the kernels' HIP sources for an emulated AMD target, with g++ (12 or newer, x86-64).

    tests/emulation/build.py KERNELS TARGET OUT.so [--only OP]... [--provider ONNXRUNTIME_HEADERS] [--grid-threads N] [--objects DIR]
    tests/emulation/build.py KERNELS TARGET OUT --program tests/emulation/integer_products.cpp --provider ONNXRUNTIME_HEADERS

OUT.so has the interface of libstackbuild_kernels_hip.so; check.py beside this runs the cases on it. `--only attention` leaves the
other operators out. With --provider OUT is a folder: the plugin execution provider, its loader and a hipBLAS; with --program too, that program, which
includes the provider's kernels. --objects keeps
what was compiled in DIR, by the digest of the preprocessed source and of the compiler: a later build of the same takes it from there.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

DEVICE = Path(__file__).resolve().parent / "device"
WAVES = {
    "gfx908": 64,
    "gfx90a": 64,
    "gfx942": 64,
    "gfx950": 64,
    "gfx1030": 32,
    "gfx1100": 32,
    "gfx1151": 32,
    "gfx1200": 32,
    "gfx1201": 32,
}
"""Targets and the width of their waves as the product builds for them."""

STATIC = (
    r"using emulated_\2 = \1\3; auto& \2 = *static_cast<emulated_\2*>(::emulation::static_lds("
    r"__FILE__, __LINE__, sizeof(emulated_\2), alignof(emulated_\2) < 16 ? 16 : alignof(emulated_\2)));"
)
REWRITES = (
    (r"extern __shared__ (?:__align__\(\d+\) )?([\w:]+) (\w+)\[\];", r"\1* \2 = reinterpret_cast<\1*>(::emulation::dynamic_lds());"),
    (r"__shared__ ([\w:]+(?:<[^;]*?>)?) (\w+)((?:\[[^;]*\])*);", STATIC),
    (r"typedef (\w+) (\w+) __attribute__\(\(ext_vector_type\(([^;]*)\)\)\);",
     r"typedef \1 \2 __attribute__((vector_size(sizeof(\1) * (\3)), aligned(sizeof(\1) * (\3))));"),
)  # fmt: skip


def closing(text: str, at: int) -> int:
    """Where the bracket closes that opens at `at`."""
    depth = 0
    for i in range(at, len(text)):
        depth += (text[i] == "(") - (text[i] == ")")
        if depth == 0:
            return i
    raise ValueError(f"no end of {text[at : at + 80]!r}")


def kernel_before(text: str, at: int) -> int:
    """Where the kernel's name begins whose `<<<` is at `at`, its template's arguments included."""
    start = len(text[:at].rstrip())
    if text[start - 1] == ">":
        angles, rounds, start = 0, 0, start - 1
        while True:  # "(N > 1)" is no bracket of a template
            rounds += (text[start] == ")") - (text[start] == "(")
            angles += ((text[start] == ">") - (text[start] == "<")) * (rounds == 0)
            if rounds == 0 and angles == 0:
                break
            start -= 1
    found = re.search(r"[\w:]+$", text[:start])
    assert found
    return found.start()


def translate(text: str) -> str:
    """HIP as g++ takes it: launches, LDS and vector types."""
    for pattern, becomes in REWRITES:
        text = re.sub(pattern, becomes, text)
    while (at := text.find("<<<")) >= 0:
        if "//" in text[text.rfind("\n", 0, at) : at]:
            text = text[:at] + "< < <" + text[at + 3 :]
            continue
        start, end = kernel_before(text, at), text.index(">>>", at)
        opening = text.index("(", end)
        close = closing(text, opening)
        kernel, config, arguments = text[start:at].strip(), text[at + 3 : end], text[opening + 1 : close]
        name = kernel.partition("<")[0]
        launch = f'::emulation::launch("{name}", [=]() mutable {{ {kernel}({arguments}); }}, {config})'
        text = text[:start] + launch + text[close + 1 :]
    return text


def sources(kernels: Path, only: list[str], provider: bool) -> list[str]:
    """What kernels/cmake and kernels/ep compile for a device, as they name it."""
    named = (kernels / "cmake" / "operators.cmake").read_text()
    operators = re.findall(r"set\(SBK_OPERATORS ([^)]*)\)", named)[0].split()
    found = [f"{op}/{op}.hip" for op in operators] + re.findall(r"(?<!/)\b\w+/\w+\.hip", named)
    found = [s for s in dict.fromkeys(found) if not s.startswith("gpu_api/") and (not only or s.split("/")[0] in only)]
    if not provider:
        return [*found, "gpu_api/gpu_api.hip"]
    listed = re.search(r"set\(RK_CORE.*?set\(CMAKE_INSTALL", (kernels / "ep" / "CMakeLists.txt").read_text(), re.S)
    assert listed
    return [
        *found,
        *("ep/" + s for s in re.findall(r"(?:core|ops)/[\w/]+\.(?:cpp|hip)", listed[0])),
        "ep/core/device/device_hip.cpp",
        "ep/core/device/blas_hip.cpp",
    ]


def run(*command: str | Path) -> str:
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(map(str, command))}\n{done.stderr[:4000]}")
    return done.stdout


def flags(target: str, folder: Path, headers: Path | None, grid_threads: int | None) -> list[str]:
    """The compiler's command for one source of the translated tree in `folder`."""
    wave = WAVES[target]
    chosen = [
        *(
            "g++",
            "-std=c++17",
            "-O2",
            "-march=native",
            "-fPIC",
            "-w",
            "-fpermissive",
            "-fmax-errors=3",
            "-fvisibility=hidden",
            "-fno-strict-aliasing",
            "-fsanitize=alignment",  # what is not on its boundary ends the process, as on a device: x86 takes it
            "-fsanitize-undefined-trap-on-error",
        ),
        *(
            f"-DEMULATED_WAVE={wave}",
            f"-DEMULATED_TARGET={target}",
            f"-D__{target}__",
            f"-D__AMDGCN_WAVEFRONT_SIZE__={wave}",
        ),
        *(
            "-D__HIP_PLATFORM_AMD__",
            "-D__HIP_DEVICE_COMPILE__=1",
            f"-I{DEVICE}",
            f"-I{folder}",
            "-include",
            "hip/hip_runtime.h",
        ),
    ]
    if grid_threads:
        chosen += [f"-DSBK_GRID_THREADS={grid_threads}"]
    if headers:
        chosen += [f"-I{headers}", f"-I{folder}/ep", "-DRK_CPU=0", f'-DRK_TARGETS="{target}"', '-DRK_VERSION="0.1.0"']
    return chosen


KEPT_DAYS = 14


class Objects:
    """Objects that were compiled before, in a folder. Those that no build took for KEPT_DAYS are removed.

    The key has the preprocessed text, the options, the compiler's version and what `-march=native` means here.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self.compiler = run("g++", "--version") + run("g++", "-march=native", "-Q", "--help=target")
        for old in folder.glob("*.o"):
            if old.stat().st_mtime < time.time() - KEPT_DAYS * 86400:
                old.unlink(missing_ok=True)

    def compile(self, compiler: list[str], source: Path, to: Path, tree: Path) -> None:
        """Compile `source` of the translated tree `tree`, or copy what an equal compilation made."""
        text = run(*compiler, "-x", "c++", "-E", "-P", source)
        words = "\0".join([self.compiler, *compiler, text]).replace(str(tree), "TREE")
        kept = self.folder / f"{hashlib.sha256(words.encode()).hexdigest()}.o"
        if not kept.is_file():
            run(*compiler, "-x", "c++", "-c", source, "-o", to)
            new = kept.with_suffix(f".{os.getpid()}-{to.stem}")
            shutil.copyfile(to, new)
            new.replace(kept)  # whole, or not there: another build may look for it now
            return
        os.utime(kept)
        shutil.copyfile(kept, to)


def absent(objects: list[Path]) -> list[str]:
    """Options that point what no object defines, launchers that were left out, at one function."""
    needed = set(re.findall(r"U (_ZN3sbk\w+)", run("nm", "-u", *objects)))
    defined = set(re.findall(r"[TWV] (_ZN3sbk\w+)", run("nm", "--defined-only", *objects)))
    return [f"-Wl,--defsym={name}=emulation_left_out" for name in sorted(needed - defined)]


def translate_tree(kernels: Path, folder: Path) -> None:
    """The kernels' sources as g++ takes them, in `folder`."""
    for path in kernels.rglob("*"):
        if path.suffix in (".hip", ".hpp", ".h", ".cpp") and path.is_file():
            to = folder / path.relative_to(kernels)
            to.parent.mkdir(parents=True, exist_ok=True)
            to.write_text(translate(path.read_text()))


def build_program(kernels: Path, target: str, out: Path, source: Path, headers: Path) -> Path:
    """The program `source`, which launches kernels of the provider, at `out`. RuntimeError with the compiler's words where it refuses."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        translate_tree(kernels, folder)
        program = folder / source.name
        program.write_text(translate(source.read_text()))
        run(*flags(target, folder, headers, None), "-x", "c++", program, DEVICE / "scheduler.cpp", DEVICE / "runtime.cpp", "-o", out, "-ldl")
    return out


def build(
    kernels: Path,
    target: str,
    out: Path,
    only: list[str] | None = None,
    headers: Path | None = None,
    jobs: int = 2,
    grid_threads: int | None = None,
    kept: Path | None = None,
) -> Path:
    """The library (with `headers`, the provider's folder) at `out`. RuntimeError with the compiler's words where it refuses.

    `kept`: the folder of objects that were compiled before. `grid_threads`: the most threads that a launch takes in x, for kernels and emulation alike; None is HIP's limit, 2³² - 1.
    """
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        translate_tree(kernels, folder)
        compiler = flags(target, folder, headers, grid_threads)
        work = [folder / s for s in sources(kernels, only or [], headers is not None)] + [
            DEVICE / "scheduler.cpp",
            DEVICE / "runtime.cpp",
        ]
        objects = [folder / f"{i}.o" for i in range(len(work))]
        before = Objects(kept) if kept else None

        def compile_one(pair: tuple[Path, Path]) -> None:
            if before:
                before.compile(compiler, *pair, folder)
            else:
                run(*compiler, "-x", "c++", "-c", pair[0], "-o", pair[1])

        with ThreadPoolExecutor(jobs) as pool:
            list(pool.map(compile_one, zip(work, objects, strict=True)))
        if headers:
            out.mkdir(parents=True, exist_ok=True)
            run(
                *compiler,
                "-shared",
                folder / "ep/loader/loader.cpp",
                "-o",
                out / "libonnxruntime_ep_rockernels.so",
                "-ldl",
            )
            run(*compiler, "-shared", DEVICE / "hipblas.cpp", "-o", out / "libhipblas.so.2")
        library = out / "librockernels_ep_hip.so" if headers else out
        run(
            "g++",
            "-shared",
            "-Wl,-Bsymbolic",
            "-Wl,--no-undefined",
            "-o",
            library,
            *objects,
            *(absent(objects) if only else ()),
            "-ldl",
        )
    return library


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kernels", type=Path)
    parser.add_argument("target", choices=WAVES)
    parser.add_argument("out", type=Path)
    parser.add_argument("--only", action="append", metavar="OP", help="this operator's sources alone (repeatable)")
    parser.add_argument("--provider", type=Path, metavar="HEADERS", help="ONNX Runtime's headers, 1.27 or newer")
    parser.add_argument("--program", type=Path, metavar="SOURCE", help="this program in place of the provider; needs --provider")
    parser.add_argument("--grid-threads", type=int, metavar="N", help="a launch takes N threads in x and no more")
    parser.add_argument("--objects", type=Path, metavar="DIR", help="what was compiled before, and is now, by its digest")
    args = parser.parse_args()
    if args.program and not args.provider:
        parser.error("--program needs --provider HEADERS")
    try:
        if args.program:
            print(build_program(args.kernels, args.target, args.out, args.program, args.provider))
            return 0
        print(build(args.kernels, args.target, args.out, args.only, args.provider, grid_threads=args.grid_threads, kept=args.objects))
    except RuntimeError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
