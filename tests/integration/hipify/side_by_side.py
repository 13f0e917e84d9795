"""The same files by stackbuild hipify, hipify-perl, hipify-clang and torch.utils.hipify: CPU seconds, compile-clean, told.

    PYTHONPATH=tests python tests/integration/hipify/side_by_side.py --root 6.4=SID --cuda CUDA --torch FOLDER --out OUT SUITE

SUITE, --part, --seed, --skip and --most are as in twin_rate.py. Of the pairs those count whose program is one CUDA file,
beside which nothing of the folder names CUDA, and whose HIP twin compiles: --files of them. ROOT has hipify-perl and
hipify-clang beside hipcc; CUDA is what `compile_rate.py --get-cuda` fills; FOLDER has a `torch/utils/hipify` below it.
Times are CPU seconds of whole commands with their start-up: one command for stackbuild and torch, one a file for the
others. What a tool tells is taken from its output by line, and laid over the output's lines by a line diff.
"""

from __future__ import annotations

import argparse
import re
import resource
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from pathlib import Path

from twin_rate import CALLS_CUDA, Compiler, chosen, sources_of, words_of

from support.root_file_system import run_in_root

SIDES = ("host", "gfx1100")
TOOLS = ("stackbuild", "hipify-perl", "hipify-clang", "torch.utils.hipify")
TOLD = re.compile(r"(?:^|[ /])([\w.+-]+-cuda/[\w./+-]+?):#?(\d+)(?::\d+)?:? ")
TORCH = """
import sys; sys.path.insert(0, sys.argv[1])
from torch.utils.hipify import hipify_python
hipify_python.hipify(sys.argv[2], output_directory=sys.argv[3], show_progress=False, hip_clang_launch=True)
"""


@dataclass
class ToolResult:
    """What became of the files by one tool: texts by file, lines that it told, CPU seconds."""

    told: set[tuple[str, int]] = field(default_factory=set)
    seconds: float = 0.0


def cpu(command: list[str], **words: object) -> tuple[str, float]:
    """The output of a command and the CPU seconds of it and its children."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, capture_output=True, check=False, **words)  # type: ignore[call-overload]
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return (done.stdout + done.stderr).decode("utf-8", "replace"), spent


def told_lines(text: str) -> set[tuple[str, int]]:
    return {(file, int(line)) for file, line in TOLD.findall(text)}


def run_tool(tool: str, args: argparse.Namespace, source: Path, out: Path, files: list[str]) -> ToolResult:
    """Converts a tree of files into `out` by one tool; what a tool leaves out is copied."""
    made = ToolResult()
    if tool == "stackbuild":
        root, rocm = args.roots
        words = ["-o", str(out), "--target-rocm", rocm, "--target-include", str(root / "usr/include"), "--force"]
        text, made.seconds = cpu([sys.executable, "-m", "stackbuild", "hipify", str(source), *words, "-j", "1"])
        made.told = told_lines(text)
    elif tool == "torch.utils.hipify":
        _, made.seconds = cpu([sys.executable, "-c", TORCH, str(args.torch), str(source), str(out)])
    for file in files:
        target = out / file
        target.parent.mkdir(parents=True, exist_ok=True)
        if tool == "hipify-perl":
            text, spent = cpu([str(args.roots[0] / "usr/bin/hipify-perl"), "-o", str(target), file], cwd=source)
        elif tool == "hipify-clang":
            words = ["hipify-clang", "--cuda-path=/mnt/cuda", f"/mnt/src/{file}", "-o", f"/mnt/out/{file}"]
            flags = [w for w in words_of(source / Path(file).parent) if w.startswith(("-std", "-D"))]
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            mounts = {source: "/mnt/src", args.cuda.resolve(): "/mnt/cuda"}
            _, text = run_in_root(
                args.roots[0], mounts, [*words, "--", *flags], f"/mnt/src/{Path(file).parent}", out=out
            )
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            text = re.sub(r"/tmp/([\w.+-]+?)-[0-9a-f]{6}\.hip:", f"{file}:", text)
        else:
            if tool == "torch.utils.hipify":
                written = Path(str(out / file.replace("-cuda/", "-hip/"))).with_suffix(
                    ".hip"
                )  # it renames folders, too
                shutil.copyfile(written, target)
            continue
        made.seconds += spent
        made.told |= told_lines(text)
    for path in source.rglob("*"):
        beside = out / path.relative_to(source)
        if path.is_file() and not beside.exists():
            beside.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, beside)
    return made


def original_line(source: Path, made: Path, line: int) -> int:
    """The line of the source that a line of the output was made of, by a diff of their lines."""
    one, other = (p.read_text("utf-8", "replace").split("\n") for p in (source, made))
    for _, start, end, first, last in SequenceMatcher(None, one, other, autojunk=False).get_opcodes():
        if first < line <= last:
            return min(start + line - first, max(end, start + 1))
    return line


def single_files(args: argparse.Namespace, compiler: Compiler, rocm: str) -> list[str]:
    """The programs of one CUDA file whose twin compiles."""
    found: list[str] = []
    for name in chosen(args):
        folder = args.suite / f"{name}-cuda"
        files = sources_of(args.suite, name)
        words = words_of(folder)
        calls = [
            p
            for p in folder.rglob("*")
            if p.suffix in (".cu", ".cuh", ".h", ".hpp", ".cpp", ".cc")
            if CALLS_CUDA.search(p.read_bytes())
        ]
        if len(files) != 1 or len(calls) != 1 or any(w.startswith("-I") for w in words):
            continue
        twin = compiler.run(rocm, args.suite, f"{name}-hip", files[0], words_of(args.suite / f"{name}-hip"))
        if not any(twin.values()):
            found.append(f"{name}-cuda/{files[0]}")
        if len(found) == args.files:
            break
    return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("suite", type=Path)
    parser.add_argument("--root", required=True, metavar="ROCM=PATH")
    parser.add_argument("--cuda", type=Path, required=True)
    parser.add_argument("--torch", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--part", choices=("tune", "held"), default="held")
    parser.add_argument("--seed", type=int, default=19)
    parser.add_argument("--skip", type=int, default=0)
    parser.add_argument("--most", type=int, default=1000)
    parser.add_argument("--files", type=int, default=30)
    parser.add_argument("--only", nargs="+")
    parser.add_argument("--tool", nargs="+", choices=TOOLS, default=TOOLS)
    args = parser.parse_args()
    args.suite, out = args.suite.resolve(), args.out.resolve()
    rocm, _, path = args.root.partition("=")
    args.roots = (Path(path).resolve(), rocm)
    compiler = Compiler({rocm: args.roots[0]}, out / "cache", SIDES)
    files = single_files(args, compiler, rocm)
    source = out / "source"
    for file in files:
        shutil.copytree(args.suite / Path(file).parts[0], source / Path(file).parts[0], dirs_exist_ok=True)
    print(f"{len(files)} files: {' '.join(f.split('-cuda')[0] for f in files)}", flush=True)
    print(
        "\n| tool | CPU seconds | compile clean | errors | with a finding at the line |\n|---|---|---|---|---|",
        flush=True,
    )
    rows: list[str] = []
    for tool in args.tool:
        made = run_tool(tool, args, source, out / tool, files)
        clean = errors = told = 0
        for file in files:
            folder, _, name = file.partition("/")
            found = set(compiler.run(rocm, out / tool, folder, name, words_of(source / folder))["gfx1100"])
            clean += not found
            for error in sorted(found, key=lambda e: (e.file, e.line)):
                line = original_line(source / error.file, out / tool / error.file, error.line) if error.file else 0
                is_known = (error.file, line) in made.told
                rows.append(f"{tool}: {error.file}:{error.line}: {error.text} {'(told)' if is_known else ''}")
                errors, told = errors + 1, told + is_known
        print(f"| {tool} | {made.seconds:.2f} | {clean} of {len(files)} | {errors} | {told} |", flush=True)
    print("", *rows, sep="\n")


if __name__ == "__main__":
    main()
