"""HIPIFY's own unit tests, by their CHECK lines: those of the fast engine's output that are met, beside hipify-perl's.

    python tests/integration/hipify/unit_tests.py HIPIFY [--compat hipify] [--show NAME]

HIPIFY is a checkout of ROCm/HIPIFY. Each file of tests/unit_tests with a `RUN:` line and CHECK lines is converted with the
options of that line that the engine has (--roc, --miopen, --experimental, --hip-kernel-execution-syntax) and checked against
the CHECKs as LLVM's FileCheck does: in order, NEXT on the following line, white space alike. hipify-perl gets the same
options. A file passes where all its CHECKs are met; the share of texts is that of CHECK and CHECK-NEXT lines met.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

from stackbuild.hipify import Target, open_engine

CHECK = re.compile(r"//\s*CHECK(-NEXT|-NOT)?:\s*(.*?)\s*$")
RUN = re.compile(r"//\s*RUN:(.*)")


@dataclass(frozen=True)
class Score:
    """How many CHECK texts of a file are met, and those that are not."""

    met: int
    missed: tuple[str, ...]


def squeezed(line: str) -> str:
    return " ".join(line.split())


def is_in(text: str, line: str) -> bool:
    """Whether a line has a CHECK's text, in which `{{…}}` is a regular expression."""
    if "{{" not in text:
        return text in line
    parts = re.split(r"\{\{(.*?)\}\}", text)
    return re.search("".join(part if n % 2 else re.escape(part) for n, part in enumerate(parts)), line) is not None


def score(test: str, output: str) -> Score:
    """Hold an output against the CHECK lines of its test. Directives themselves are no part of the output."""
    lines = [squeezed(line) for line in output.split("\n") if not CHECK.search(line) and not RUN.search(line)]
    met, missed, at, banned = 0, [], -1, []
    for found in filter(None, map(CHECK.search, test.split("\n"))):
        kind, text = found[1], squeezed(found[2])
        if not text:
            continue
        if kind == "-NOT":
            banned.append((at, text))
            continue
        places = [at + 1] if kind == "-NEXT" else range(at + 1, len(lines))
        place = next((n for n in places if n < len(lines) and is_in(text, lines[n])), None)
        if place is None:
            missed.append(text)
            continue
        missed += [f"not {one}" for since, one in banned if any(one in line for line in lines[since + 1 : place])]
        banned = []
        met, at = met + 1, place
    missed += [f"not {one}" for since, one in banned if any(one in line for line in lines[since + 1 :])]
    return Score(met, tuple(missed))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("hipify", type=Path)
    parser.add_argument("--perl", default=os.environ.get("HIPIFY_PERL"))
    parser.add_argument("--compat", default="")
    parser.add_argument("--tables", type=Path)
    parser.add_argument("--show", default="")
    parser.add_argument("--all", action="store_true", help="print each file's first missed CHECK")
    args = parser.parse_args()
    totals = {"fast": [0, 0, 0], "perl": [0, 0, 0]}
    files = 0
    for path in sorted((args.hipify / "tests" / "unit_tests").rglob("*")):
        if path.suffix not in (".cu", ".cpp", ".c", ".cuh", ".h") or "CHECK" not in (
            test := path.read_text("utf-8", "replace")
        ):
            continue
        run = RUN.search(test)
        if run is None or "hipify_args" not in run[1] or "-examine" in run[1]:
            continue
        files += 1
        words = run[1].replace('"', " ").split()
        roc, miopen = any(w in ("-roc", "--roc") for w in words), "--miopen" in words
        trial, ggl = "--experimental" in words, "--hip-kernel-execution-syntax" in words
        target = Target(
            flavour="roc" if roc else "miopen" if miopen else "hip",
            experimental=trial,
            launch="ggl" if ggl else "keep",
            lint=False,
            compat=args.compat,
        )
        engine = open_engine(rule_sets=["generic"], target=target, tables_file=args.tables)
        flags = [
            "-quiet-warnings",
            *["-roc"] * roc,
            *["-miopen"] * miopen,
            *["-experimental"] * trial,
            *["-hip-kernel-execution-syntax"] * ggl,
        ]
        perl = (
            subprocess.run([args.perl, *flags, path], capture_output=True, check=False).stdout.decode(
                "utf-8", "replace"
            )
            if args.perl
            else ""
        )
        fast = engine.run(test, path.name).text
        for name, output in (("fast", fast), ("perl", perl)):
            made = score(test, output)
            totals[name][0] += not made.missed
            totals[name][1] += made.met
            totals[name][2] += made.met + sum(not m.startswith("not ") for m in made.missed)
            if name == "fast" and made.missed and (args.all or args.show == path.name):
                print(
                    f"{path.relative_to(args.hipify / 'tests/unit_tests')}: {len(made.missed)} of {made.met + len(made.missed)}: {made.missed[0]}"
                )
            if args.show == path.name:
                print(name, *made.missed[:40], sep="\n    ")
    for name, (passed, met, texts) in totals.items():
        print(f"{name}: {passed} of {files} files, {met} of {texts} CHECK texts ({met / texts:.2%})")


if __name__ == "__main__":
    main()
