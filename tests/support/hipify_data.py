"""Makes the data of `stackbuild hipify` out of root file systems with Debian's packages: see ci/hipify-data."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from stackbuild.hipify.cpp.scan import blank
from stackbuild.hipify.rules import rule_files
from stackbuild.hipify.rules.target_headers import wanted_names
from stackbuild.hipify.tables import bundled_tables, declarations, hipify_tools, spaces

REPOSITORY = Path(__file__).resolve().parents[2]
PACKAGES = ("lib*hip*-dev", "libroc*-dev", "libmiopen-dev", "librccl-dev", "hipify-*", "libclang-common-*-dev")
LICENCES = (
    "# Names and argument counts, read from headers under these licences: HIP, hipBLAS, hipFFT, hipRAND, hipSPARSE, hipSOLVER, rocBLAS,\n"
    "# rocFFT, rocRAND, rocSPARSE, rocSOLVER, MIOpen: MIT; RCCL: BSD-3-Clause; clang's own: Apache-2.0 WITH LLVM-exception.\n"
)


def versions(root: Path) -> str:
    """The packages of a root file system that the data come from, as comment lines."""
    asked = ["dpkg-query", f"--root={root}", "-W", "-f", "${Package} ${Version}\n", *PACKAGES]
    said = subprocess.run(asked, capture_output=True, text=True, check=False).stdout
    lines = sorted({line for line in said.split("\n") if len(line.split()) == 2})
    return "".join(f"#   {line}\n" for line in lines)


def make_tables(root: Path) -> None:
    tools = hipify_tools.Tools(root / "usr/bin/hipify-perl", None)
    csv = Path(sys.argv[3]) if len(sys.argv) > 3 else Path("/nonexistent")
    made = hipify_tools.read_tables(root / "usr/bin/hipify-perl", csv) if csv.is_dir() else hipify_tools.tables(tools)
    head = "# HIPIFY's tables. Source: https://github.com/ROCm/HIPIFY, Copyright Advanced Micro Devices, Inc., MIT licence.\n"
    head += "# Read from Debian's packages by `ci/hipify-data tables`:\n" + versions(root)
    place = REPOSITORY / "hipify" / bundled_tables.FILE
    place.write_text(head + bundled_tables.dump(made), "utf-8")
    print(f"{place}: {made.tool}, {len(made.simple)} substitutions, {len(made.versions)} versions")


def make_declarations(root: Path, rocm: str) -> None:
    wanted = wanted_names(bundled_tables.load(), rule_files.load([name for name in rule_files.names() if name != "base"]))
    clang = sorted((root / "usr/lib").glob("llvm-*/lib/clang/*/include"))[-1]
    made = declarations.read([root / "usr/include"], clang, wanted, rocm)
    place = REPOSITORY / "hipify" / declarations.FOLDER / f"rocm-{rocm}.tsv"
    place.parent.mkdir(exist_ok=True)
    head = f"# What the headers of ROCm {rocm} declare of the names that a conversion may give, and device functions.\n"
    head += "# A name, then the argument counts it takes (-1: any); `-` before a name that they do not declare.\n"
    head += f"{LICENCES}# Made by `ci/hipify-data declarations` from Debian's packages:\n{versions(root)}"
    place.write_text(head + declarations.dump(made), "utf-8")
    print(
        f"{place}: {len(made.names)} names, {len(made.counts)} functions, {len(made.absent)} absent, {len(made.device)} device"
    )


def make_spaces(root: Path, rocm: str) -> None:
    made = spaces.read(root / "usr/include")
    place = REPOSITORY / "hipify" / declarations.FOLDER / f"spaces-{rocm}.tsv"
    head = f"# The words of hipCUB's and rocThrust's headers of ROCm {rocm}, each after the namespace that CUDA has for it.\n"
    head += "# Words alone, read from headers under these licences: hipCUB BSD-3-Clause, rocThrust Apache-2.0.\n"
    head += f"# Made by `ci/hipify-data spaces` from Debian's packages:\n{versions(root)}"
    place.write_text(head + spaces.dump(made), "utf-8")
    print(f"{place}: {({space: len(words) for space, words in made.items()})}")


def make_macros(cuda: Path, roots: list[Path]) -> None:
    """Names of macros that CUDA's CUB, Thrust and libcu++ define and no header of the roots has."""
    defined: set[str] = set()
    for folder in ("cub", "thrust", "cuda", "nv"):
        for path in sorted((cuda / "include" / folder).rglob("*")):
            if path.is_file():
                code = blank(path.read_text("utf-8", "replace"))
                defined.update(n for n in _DEFINED.findall(code) if n.startswith(spaces.MACRO_STEMS))
    known = {
        word
        for root in roots
        for folder in ("hip", "hipcub", "rocprim", "thrust")
        for path in (root / "usr/include" / folder).rglob("*")
        if path.is_file()
        for word in _DEFINED.findall(blank(path.read_text("utf-8", "replace")))
    }
    place = REPOSITORY / "hipify" / declarations.FOLDER / "macros.tsv"
    head = "# Names of macros that CCCL 2.5 to 2.8 (CUB, Thrust, libcu++; Apache-2.0 WITH LLVM-exception, BSD-3-Clause) defines\n"
    head += "# and no header of hipCUB, rocThrust, rocPRIM and HIP 5.7 and 6.4 defines. Made by `ci/hipify-data macros`.\n"
    place.write_text(head + "".join(f"{name}\n" for name in sorted(defined - known)), "utf-8")
    print(f"{place}: {len(defined - known)} macros")


_DEFINED = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)", re.M)


if __name__ == "__main__":
    if sys.argv[1] == "spaces":
        make_spaces(Path(sys.argv[2]), sys.argv[3])
    elif sys.argv[1] == "macros":
        make_macros(Path(sys.argv[2]), [Path(path) for path in sys.argv[3:]])
    elif sys.argv[1] == "tables":
        make_tables(Path(sys.argv[2]))
    else:
        make_declarations(Path(sys.argv[2]), sys.argv[3])
