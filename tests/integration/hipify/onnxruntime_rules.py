"""The set `onnxruntime` beside upstream's own script, on every file of ONNX Runtime (up to 1.22) that its build converts.

    HIPIFY_PERL=… python tests/integration/hipify/onnxruntime_rules.py ONNXRUNTIME OUT

ONNXRUNTIME is a source tree with `tools/ci_build/amd_hipify.py`. Identifiers outside comments, strings and includes are compared;
the script's hipify-perl runs without its warnings, which it discards. Prints the counts, then each kind of difference.
"""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from difflib import SequenceMatcher
from pathlib import Path
from types import ModuleType, SimpleNamespace

from stackbuild.hipify import SourceSelection, Target, hipify_tree, open_engine

PARTS = {
    "onnxruntime/contrib_ops": "contrib_ops_excluded_files",
    "onnxruntime/core/providers": "provider_excluded_files",
}
WORD = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|^\s*#\s*include[^\n]*|[A-Za-z_]\w*", re.S | re.M)


def converted(tree: Path) -> Iterator[str]:
    """The files that `cmake/onnxruntime_rocm_hipify.cmake` gives the script."""
    cmake = (tree / "cmake/onnxruntime_rocm_hipify.cmake").read_text()
    for part, variable in PARTS.items():
        listed = re.search(rf"set\({variable}(.*?)\n\)", cmake, re.S)
        assert listed is not None
        folder, left_out = tree / part / "cuda", set[Path]()
        for pattern in re.findall(r'^\s*"([^"]+)"', listed[1], re.M):
            head, _, tail = pattern.rpartition("/")
            left_out |= set((folder / head).rglob(tail)) if (folder / head).is_dir() else set()
        found = (p for p in sorted(folder.rglob("*")) if p.suffix in (".h", ".cc", ".cuh", ".cu") and p not in left_out)
        yield from (p.relative_to(tree).as_posix() for p in found)


def script(tree: Path) -> ModuleType:
    """Upstream's script, with a quiet hipify-perl."""
    spec = importlib.util.spec_from_file_location("amd_hipify", tree / "tools/ci_build/amd_hipify.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)

    def run(argv: list[str], **more: object) -> subprocess.CompletedProcess[str]:
        return subprocess.run([argv[0], "-quiet-warnings", *argv[1:]], stderr=subprocess.DEVNULL, **more)  # type: ignore[call-overload, no-any-return]

    module.subprocess = SimpleNamespace(run=run, PIPE=subprocess.PIPE)  # type: ignore[attr-defined]
    return module


def words(path: Path) -> list[str]:
    return [
        w for w in WORD.findall(path.read_text(errors="replace").replace("\\\n", " ")) if w[0].isalpha() or w[0] == "_"
    ]


def main(tree: Path, out: Path) -> None:
    perl, upstream = os.environ["HIPIFY_PERL"], script(tree)
    files = list(converted(tree))
    for file in files:
        upstream.hipify(perl, str(tree / file), str(out / "theirs" / file.replace("cuda", "rocm")))
    engine = open_engine(rule_sets=["onnxruntime", "generic"], target=Target(flavour="miopen"), hipify_perl=perl)
    include = tuple(re.sub(r"([{}])", "?", file) for file in files)
    hipify_tree(SourceSelection((tree,), out / "ours", include), engine)
    same = total = 0
    kinds: Counter[tuple[str, str]] = Counter()
    for file in files:
        to = file.replace("cuda", "rocm")
        theirs, ours = words(out / "theirs" / to), words(out / "ours" / to.replace("cudnn", "miopen"))
        same, total = same + (theirs == ours), total + len(theirs)
        for tag, a, b, c, d in SequenceMatcher(None, theirs, ours, autojunk=False).get_opcodes():
            if tag != "equal":
                kinds[" ".join(theirs[a:b])[:100], " ".join(ours[c:d])[:100]] += max(b - a, d - c)
    print(f"{len(files)} files, {same} the same; {total} identifiers, {sum(kinds.values())} differ")
    for (before, after), count in kinds.most_common():
        print(f"{count:5} {before!r} {after!r}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
