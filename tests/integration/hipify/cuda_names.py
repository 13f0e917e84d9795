"""Every name that CUDA's headers declare: converted to one that the target's headers have, or with a finding.

    python tests/integration/hipify/cuda_names.py --cuda CUDA --root 6.4=SID --clang 21

CUDA is a folder with CUDA's headers in `include/` (`compile_rate.py --get-cuda`), ROOT a root file system with HIP's and
clang's. For each function, macro, type and enumerator a line that uses it is converted, for each function one call with
each number of arguments that CUDA takes. *Silent* is a name that stays, that neither HIP's nor the C library's headers
have, and for which nothing is told; and a call whose converted form has a number of arguments that HIP does not take.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from stackbuild.hipify import Target, open_engine
from stackbuild.hipify.convert import convert
from stackbuild.hipify.cpp.scan import arguments, blank, words
from stackbuild.hipify.engines import Engine
from stackbuild.model.findings import Severity

HEADERS = (
    "cuda.h", "cuda_runtime.h", "cuda_runtime_api.h", "driver_types.h", "library_types.h", "texture_types.h", "surface_types.h",
    "vector_types.h", "vector_functions.h", "cuComplex.h", "cuda_fp16.h", "cuda_bf16.h", "cuda_fp8.h", "curand.h",
    "crt/device_functions.h", "crt/device_double_functions.h", "crt/math_functions.h", "crt/host_defines.h",
    "device_atomic_functions.h", "texture_indirect_functions.h", "surface_indirect_functions.h", "cooperative_groups.h", "sm_*.h",
)  # fmt: skip
DECLARED = re.compile(
    r"\b([A-Za-z_]\w{3,})\s*\(|#\s*define\s+([A-Za-z_]\w{3,})|\btypedef\b[^;{]*?\b(\w+)\s*;|\b((?:cu|CU)\w+)\s*="
)
INTERNAL = re.compile(
    r"_+(?:CUDA|COOP|CG_|NV|DEVICE|TEX|SURF|SM_|MATH|STATIC|UNDEF|VECTOR|CHANNEL|LIBRARY|HOST|nv_|cuda_)|.*_H_*$"
)
LETTERS = "abcdefghijklmnopqrstuvwxyz"


def texts(folder: Path) -> list[str]:
    """The blanked texts of CUDA's headers."""
    return [blank(p.read_text("utf-8", "replace")) for name in HEADERS for p in sorted(folder.glob(name))]


def counts(code: str) -> dict[str, set[int]]:
    """The numbers of arguments by function of CUDA's API, by its declarations; defaults may be left out."""
    found: dict[str, set[int]] = {}
    for one in re.finditer(r"\b((?:cu|__|tex|surf)[A-Za-z]\w+)\s*\(", code):
        parsed = arguments(code, one.end() - 1)
        before = code[: one.start()].rstrip()[-1:]
        if parsed is None or not (before.isalnum() or before in "*&_"):
            continue
        given = [code[slice(*span)].strip() for span in parsed[0]]
        given = [] if given in ([""], ["void"]) else given
        needed = sum("=" not in text and "__dparm" not in text for text in given)
        found.setdefault(one[1], set()).update(range(needed, len(given) + 1))
    return found


def installed(root: Path, clang: str) -> set[str]:
    """Every word of the C library's, HIP's and clang's headers of a root file system."""
    include = root / "usr/include"
    paths = [
        p for d in ("hip", "hiprand", "rocrand") for p in (include / d).rglob("*") if "nvidia_detail" not in p.parts
    ]
    paths += (root / f"usr/lib/llvm-{clang}/lib/clang/{clang}/include").glob("__clang_hip*.h")
    paths += [*include.glob("*.h"), *(include / "x86_64-linux-gnu/bits").glob("*.h")]
    found: set[str] = set()
    for path in paths:
        if path.is_file():
            found |= words(blank(path.read_text("utf-8", "replace")))[0]
    return found


def is_told(engine: Engine, text: str) -> tuple[str, bool]:
    """The HIP text of a line, and whether there is a finding or a support header that has the name."""
    made = convert(text, engine.tables, engine.rules, engine.target, "a.cu")
    return made.text, bool(made.needs) or any(f.severity is not Severity.NOTE for f in made.findings)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--cuda", type=Path, required=True)
    parser.add_argument("--root", required=True, metavar="ROCM=PATH")
    parser.add_argument("--clang", required=True, help="clang's version in ROOT")
    args = parser.parse_args()
    rocm, _, root = args.root.partition("=")
    code = texts(args.cuda / "include")
    names = {name for text in code for one in DECLARED.findall(text) for name in one if name}
    names = {name for name in names if not INTERNAL.match(name)}
    have = installed(Path(root), args.clang)
    engine = open_engine(target=Target(rocm=rocm), include_folders=[Path(root) / "usr/include"])
    silent = []
    for name in sorted(names - have):
        made, told = is_told(engine, f"__global__ void k() {{ x = {name}(1, 2); }}\n")
        if not told and re.search(rf"\b{name}\b", made):
            silent.append(name)
    print(f"ROCm {rocm}: {len(names)} names, {len(silent)} silent: {' '.join(silent)}")
    calls = wrong = 0
    known = engine.target.declared
    for function, numbers in sorted(counts("\n".join(code)).items()):
        for number in sorted(numbers):
            calls += 1
            made, told = is_told(engine, f"void f() {{ x = {function}({', '.join(LETTERS[:number])}); }}\n")
            call = re.search(r"x = (\w+)\(", made)
            parsed = arguments(made, call.end() - 1) if call else None
            if known and call and parsed and not told and not known.takes(call[1], len(parsed[0])):
                wrong += 1
                print(f"  {function} with {number} arguments becomes {call[1]} with {len(parsed[0])}")
    print(
        f"ROCm {rocm}: {calls} calls, {wrong} with a number of arguments that HIP does not take and without a finding"
    )


if __name__ == "__main__":
    main()
