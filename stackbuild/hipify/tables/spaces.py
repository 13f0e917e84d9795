"""The words of hipCUB's and rocThrust's headers, by version: what is named in their namespaces and is none of them is lacking.

`hipify/declarations/spaces-X.Y.tsv`, which `ci/hipify-data spaces` makes of Debian's packages: a namespace of CUDA's
and a word each line. Beside them stands `macros.tsv`: macros of CUDA's CUB, Thrust and libcu++ that none of these
headers has.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

from stackbuild.core import resources
from stackbuild.hipify.cpp.scan import blank, words
from stackbuild.hipify.tables.declarations import FOLDER

FOLDERS = {"cub": "hipcub", "thrust": "thrust"}
"""Namespaces of CUDA's, each with the folder of headers that stands for it."""
_OTHER_SYSTEMS = frozenset(("cuda", "tbb", "omp", "cpp"))
MACRO_STEMS = ("CUB_", "THRUST_", "CCCL_", "_CCCL_", "NV_IF_", "NV_IS_", "NV_PROVIDES_")


@cache
def of_version(numbers: tuple[int, ...]) -> Mapping[str, frozenset[str]]:
    """The words of each namespace's headers: of a version between two that are listed, of both; {} outside of them.

    Of no version in particular it is those of all lists.
    """
    lists = sorted(
        (tuple(map(int, p.stem.removeprefix("spaces-").split("."))), p) for p in _folder().glob("spaces-*.tsv")
    )
    if not numbers:
        return _union(path for _, path in lists)
    below = [path for version, path in lists if version <= numbers[:2]]
    above = [path for version, path in lists if version >= numbers[:2]]
    return _union((below[-1], above[0])) if below and above else {}


@cache
def macros() -> frozenset[str]:
    """Macros of CUDA's CUB, Thrust and libcu++ that no headers of ROCm's have."""
    return frozenset(_rows(_folder() / "macros.tsv"))


def read(folder: Path) -> dict[str, frozenset[str]]:
    """The words of the headers below an include folder by namespace, but those of other systems than HIP."""
    return {space: _words(folder / name) for space, name in FOLDERS.items()}


def _words(folder: Path) -> frozenset[str]:
    header_words: set[str] = set()
    for path in sorted(folder.rglob("*")):
        if path.is_file() and _OTHER_SYSTEMS.isdisjoint(path.relative_to(folder).parts):
            header_words |= words(blank(path.read_text("utf-8", "replace")))[0]
    return frozenset(header_words)


def dump(by_space: Mapping[str, Iterable[str]]) -> str:
    rows = (f"{space}\t{word}\n" for space, words_of in sorted(by_space.items()) for word in sorted(words_of))
    return "".join(rows)


def _union(paths: Iterable[Path]) -> dict[str, frozenset[str]]:
    word_sets: dict[str, set[str]] = {space: set() for space in FOLDERS}
    for path in paths:
        for row in _rows(path):
            space, _, word = row.partition("\t")
            word_sets[space].add(word)
    return {space: frozenset(words_of) for space, words_of in word_sets.items()}


def _rows(path: Path) -> list[str]:
    return [line for line in path.read_text("utf-8").split("\n") if line and line[0] != "#"]


def _folder() -> Path:
    return resources.folder("hipify") / FOLDER
