"""Makes hipify/libraries.yaml and hipify/hipify.yaml: the argument changes of hipify-clang's table, as call rules.

    python tests/support/hipify_casts.py HIPIFY

libraries.yaml has those for the roc libraries, which every conversion with --flavour roc makes; hipify.yaml all others, which
--compat hipify makes in place of this package's own.

HIPIFY is a checkout of ROCm/HIPIFY. The table (`FuncArgCasts` in src/HipifyAction.cpp, MIT licence) tells what happens to an
argument by its number; how many arguments a function has is counted in the calls of HIPIFY's unit tests.
"""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from pathlib import Path

from stackbuild.hipify.cpp.scan import arguments, blank

FLAVOURS = {"": "", "roc": "    flavour: roc\n", "miopen": "    flavour: [miopen, roc]\n"}
LATEST = "700"  # HIP_LATEST / 10 of that HIPIFY
ENTRY = re.compile(r"\{\s*(s\w+),\s*\{(.*?)\n    \}\n  \}", re.S)
CAST = re.compile(
    r'\{(\d+),\s*\{(e_\w+),\s*cw_\w+(?:,\s*("[^"]*"|std::to_string\(int\(HIP_LATEST / 10\)\)|[\w:]+))?(?:,\s*(\d+))?(?:,\s*(\d+))?\}\}'
)
NAMES = re.compile(r'const std::string (s\w+)\s*=\s*"([^"]*)"')
WRAPS = {"e_HIP_SYMBOL": "HIP_SYMBOL({})", "e_reinterpret_cast": "reinterpret_cast<const void*>({})",
         "e_const_cast_char_pp": "const_cast<const char**>({})", "e_reinterpret_cast_size_t": "reinterpret_cast<size_t*>({})", "e_int32_t": "static_cast<int32_t>({})",
         "e_int64_t": "static_cast<int64_t>({})", "e_static_cast_uint64_t": "static_cast<uint64_t>({})"}  # fmt: skip


def changed(count: int, casts: list[tuple[int, str, str, int, int]]) -> str:
    """The argument list that the casts make of so many arguments, as a rule's template."""
    slots: list[list[str]] = [[f"{{{n}}}"] for n in range(count)] + [[]]
    before: dict[int, list[str]] = defaultdict(list)
    for number, kind, text, to, several in casts:
        at = min(number, count)
        if kind == "e_remove_argument":
            if number < count:
                slots[number] = []
        elif kind == "e_replace_argument_with_const":
            if number < count:
                slots[number] = [text]
        elif kind == "e_add_const_argument":
            before[at].append(text)
        elif kind == "e_add_var_argument":
            if number < count:
                before[min(to, count)].append(f"{{{number}}}")
        elif kind == "e_move_argument":
            moved = [f"{{{n}}}" for n in range(number, number + several)]
            if number + several <= count:
                before[min(to, count)] += moved
                for n in range(number, number + several):
                    slots[n] = []
        elif number < count:
            slots[number] = [WRAPS[kind].replace("{}", f"{{{number}}}")]
    return ", ".join(word for n, slot in enumerate(slots) for word in [*before[n], *slot])


def calls_in(tests: Path, names: set[str]) -> dict[str, set[int]]:
    """The argument counts of the calls of functions in the unit tests, their signatures in comments too."""
    found: dict[str, set[int]] = defaultdict(set)
    for path in tests.rglob("*.cu"):
        text = path.read_text("utf-8", "replace")
        for code in (blank(text), re.sub(r"//\s*(?:CUDA|CHECK)[\w-]*:", "", text)):
            for call in re.finditer(r"\b(cu\w+)\(", code):
                if call[1] in names and (parsed := arguments(code, call.end() - 1)):
                    found[call[1]].add(len(parsed[0]))
    return found


def main() -> None:
    root = Path(sys.argv[1])
    source = (root / "src/HipifyAction.cpp").read_text()
    table = source[source.index("FuncArgCasts {") :]
    table = table[: table.index("\n};")]
    names = dict(NAMES.findall(source))
    rules: dict[tuple[str, int, str], list[str]] = defaultdict(list)
    entries = []
    for found in ENTRY.finditer(table):
        for struct in re.split(r"\n      \},\n      \{", found[2]):
            casts = [
                (int(c[0]), c[1], LATEST if "HIP_LATEST" in c[2] else c[2].strip('"'), int(c[3] or 0), int(c[4] or 1))
                for c in CAST.findall(struct)
            ]
            flags = re.findall(r"^        (true|false),?$", struct, re.M)
            entries.append((names[found[1]], casts, flags[:1] == ["true"], flags[1:2] == ["true"]))
    counts = calls_in(root / "tests/unit_tests", {name for name, *_ in entries})
    lacking = []
    for name, casts, roc, miopen in entries:
        if not counts.get(name):
            lacking.append(name)
        flavour = "miopen" if miopen else "roc" if roc else ""
        for count in sorted(counts.get(name, ())):
            rules[flavour, count, changed(count, casts)].append(name)
    hand = (
        "rules:\n  - {id: hipify-cub-namespace, namespace: cub, to: hipcub, optional: true, why: hipCUB's namespace}\n"
    )
    for count, cuda, hip in (
        (2, "cudaEventCreate", "hipEventCreateWithFlags"),
        (3, "cudaGraphInstantiate", "hipGraphInstantiateWithFlags"),
    ):
        hand += f"  - {{id: hipify-{hip.lower()}, call: {cuda}, count: {count}, to: {hip}, optional: true, why: CUDA has an overload}}\n"
    write(
        "hipify",
        "What hipify-clang does beside its tables: the set of --compat hipify.",
        hand,
        {k: v for k, v in rules.items() if k[0] != "roc"},
    )
    write(
        "libraries",
        "Arguments of rocSPARSE's and rocBLAS's functions.",
        "rules:\n",
        {k: v for k, v in rules.items() if k[0] == "roc"},
    )
    print("not called in the unit tests, so without a rule:", ", ".join(sorted(set(lacking))) or "none")


def write(name: str, about: str, text: str, rules: dict[tuple[str, int, str], list[str]]) -> None:
    head = "# Made by tests/support/hipify_casts.py of the tables FuncArgCasts and FuncOverloads of HIPIFY 7.0.2 (https://github.com/ROCm/HIPIFY,\n"
    head += "# src/HipifyAction.cpp, MIT licence, see HIPIFY-LICENSE.txt).\n"
    for number, ((flavour, count, template), called) in enumerate(sorted(rules.items()), 1):
        if template != ", ".join(f"{{{n}}}" for n in range(count)):
            text += f"  - id: {name}-{flavour or 'hip'}-{number}\n    call: [{', '.join(sorted(set(called)))}]\n    count: {count}\n"
            text += f'    arguments: "{template}"\n' + FLAVOURS[flavour]
            text += "    why: the HIP form takes other arguments\n    optional: true\n"
    place = Path(__file__).resolve().parents[2] / "hipify" / f"{name}.yaml"
    place.write_text(f'{head}schema: 1\nname: {name}\nabout: "{about}"\n\n{text}', "utf-8")


if __name__ == "__main__":
    main()
