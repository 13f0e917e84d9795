"""Measures the figures of docs/hipify.md on a folder of CUDA sources, fast engine and hipify-perl in one run.

    python tests/integration/hipify/figures.py CORPUS [--perl-files N] [--report-files N]

CORPUS is what tests/support/cuda_corpora.py makes. Needs hipify-perl on PATH or HIPIFY_PERL. Times are CPU seconds (user + system).
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import subprocess
import tempfile
import time
from collections import Counter
from pathlib import Path

from stackbuild.hipify import SourceSelection, Target, hipify_tree, open_engine
from stackbuild.hipify.convert import convert
from stackbuild.hipify.cpp.source_text import View
from stackbuild.hipify.engines import Engine
from stackbuild.hipify.lint.ladders.loops import Ladder
from stackbuild.hipify.lint.lanes import ladders
from stackbuild.hipify.perl.compare import compare


def children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def perl_run(path: Path, quiet: bool) -> tuple[str, float]:
    before = children()
    flags = ["-quiet-warnings"] if quiet else []
    done = subprocess.run(
        [os.environ.get("HIPIFY_PERL", "hipify-perl"), *flags, str(path)], capture_output=True, check=False
    )
    return done.stdout.decode("utf-8", "surrogateescape"), children() - before


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--perl-files", type=int, default=1000)
    parser.add_argument("--report-files", type=int, default=3)
    args = parser.parse_args()
    engine = open_engine(target=Target(rocm="6.4"))
    paths = sorted(p for p in args.corpus.rglob("*") if p.suffix in (".cu", ".cuh"))
    texts = {p: p.read_bytes().decode("utf-8", "surrogateescape") for p in paths}
    print(f"{len(paths)} files, {sum(t.count(chr(10)) for t in texts.values()):,} lines, {engine.tables.tool}")
    speed(engine, texts)
    one_file(engine, texts)
    recall(engine)
    lint(texts)
    unchanged(engine, args.corpus)
    against_perl(engine, texts, args.perl_files, args.report_files)


def speed(engine: Engine, texts: dict[Path, str]) -> None:
    convert("", engine.tables, engine.rules, engine.target, "warm.cu")
    start = time.process_time()
    made = {p: convert(t, engine.tables, engine.rules, engine.target, p.name) for p, t in texts.items()}
    spent = time.process_time() - start
    findings = Counter(f.rule for m in made.values() for f in m.findings)
    print(
        f"fast with report and lint: {spent:.2f} CPU-s, {len(texts) / spent:.0f} files/s/core, {sum(findings.values())} findings"
    )
    again = sum(
        convert(m.text, engine.tables, engine.rules, engine.target, p.name).text != m.text for p, m in made.items()
    )
    print(f"idempotent: {len(made) - again} of {len(made)}")


def one_file(engine: Engine, texts: dict[Path, str]) -> None:
    near = sorted(texts.values(), key=lambda t: abs(t.count("\n") - 1000))[:20]
    times = []
    for text in near:
        start = time.process_time()
        convert(text, engine.tables, engine.rules, engine.target, "a.cu")
        times.append(time.process_time() - start)
    lines = sorted(t.count("\n") for t in near)
    times.sort()
    print(
        f"files of {lines[0]} to {lines[-1]} lines: median {times[10] * 1000:.1f} ms, slowest {times[-1] * 1000:.1f} ms"
    )


def recall(engine: Engine) -> None:
    names = [
        n
        for n, by in engine.tables.unsupported.items()
        if {"hip", "hipdnn", "device_function", "device_type"} & set(by)
    ]
    missed = []
    for name in names:
        found = convert(f"auto x = {name}(a);\n", engine.tables, engine.rules, engine.target, "a.cpp").findings
        if not any(name in f.found for f in found):
            missed.append(name)
    print(f"unsupported names reported: {len(names) - len(missed)} of {len(names)} {missed[:5]}")


def lint(texts: dict[Path, str]) -> None:
    found = [(p, one) for p, t in texts.items() for one in ladders(View(t, str(p))) if isinstance(one, Ladder)]
    incomplete = [
        (p, one) for p, one in found if one.scales and one.mode != "index" and not one.complete
    ]  # what lint tells
    print(
        f"ladders: {len(found)}, called incomplete: {len(incomplete)} ({100 * len(incomplete) / max(1, len(found)):.1f} %)"
    )


def unchanged(engine: Engine, corpus: Path) -> None:
    """Convert a tree of 3,000 files twice: the CUDA files, filled up with headers beside them."""
    found = sorted(p for p in corpus.rglob("*") if p.suffix in (".cu", ".cuh")) + sorted(corpus.rglob("*.h"))
    with tempfile.TemporaryDirectory() as folder:
        for number, path in enumerate(found[:3000]):
            copy = Path(folder, "src", str(number % 50), f"{number}-{path.name}")
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(path.read_bytes())
        out = Path(folder, "out")
        hipify_tree(SourceSelection((Path(folder, "src"),), out), engine)
        cpu, wall = time.process_time(), time.monotonic()
        again = hipify_tree(SourceSelection((Path(folder, "src"),), out), engine)
        cpu, wall = time.process_time() - cpu, time.monotonic() - wall
    print(f"unchanged tree of {len(again.files)} files: {cpu:.2f} CPU-s, {wall:.2f} s wall, {again.changed_outputs} written")


def against_perl(engine: Engine, texts: dict[Path, str], files: int, reported: int) -> None:
    chosen = random.Random(7).sample(sorted(texts), min(files, len(texts)))
    reasons: Counter[str | None] = Counter()
    perl_spent = fast_spent = 0.0
    for path in chosen:
        theirs, spent = perl_run(path, quiet=True)
        perl_spent += spent
        start = time.process_time()
        convert(texts[path], engine.tables, engine.rules, engine.target, path.name)
        fast_spent += time.process_time() - start
        reasons.update(d.defect for d in compare(texts[path], path.name, engine, theirs))
    print(
        f"hipify-perl quiet: {len(chosen) / perl_spent:.1f} files/s/core; fast with report on the same: {len(chosen) / fast_spent:.0f}"
    )
    print(f"differences: {sum(reasons.values())}, unexplained {reasons[None]}: {reasons.most_common()}")
    small = sorted(chosen, key=lambda p: len(texts[p]))[len(chosen) // 2 : len(chosen) // 2 + reported]
    spent = sum(perl_run(p, quiet=False)[1] for p in small)
    start = time.process_time()
    for path in small:
        convert(texts[path], engine.tables, engine.rules, engine.target, path.name)
    fast = time.process_time() - start
    lines = sum(texts[p].count("\n") for p in small)
    print(
        f"with its report, {len(small)} median files ({lines} lines): hipify-perl {spent:.1f} CPU-s, fast {fast * 1000:.1f} ms: {spent / fast:.0f} times"
    )


if __name__ == "__main__":
    main()
