"""What a ROCm's headers declare, and with how many arguments: a name that becomes one they lack does not compile.

Read from the target's own include folders (`read`, `installed_declarations`), or from the lists that this package has of
released versions (`of_version`): `hipify/declarations/rocm-X.Y.tsv`, which `ci/hipify-data` makes of Debian's packages.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, reduce
from pathlib import Path

from stackbuild.core import resources
from stackbuild.hipify.cpp.scan import arguments, back_space, blank, is_name_char, line_start, words

FOLDER = "declarations"
FORMAT = 1
_LIBRARIES = (
    (("hipblasLt", "HIPBLASLT_", "HIPBLAS_LT"), "hipblaslt"), (("hipblas", "HIPBLAS"), "hipblas"), (("hipfft", "HIPFFT"), "hipfft"),
    (("hiprand", "HIPRAND"), "hiprand"), (("hipsparse", "HIPSPARSE"), "hipsparse"), (("hipsolver", "HIPSOLVER"), "hipsolver"),
    (("rocblas",), "rocblas"), (("rocfft",), "rocfft"), (("rocrand", "ROCRAND"), "rocrand"), (("rocsparse",), "rocsparse"),
    (("rocsolver",), "rocsolver"), (("miopen", "MIOPEN"), "miopen"), (("hiptensor", "HIPTENSOR"), "hiptensor"),
    (("hipdnn", "HIPDNN"), "hipdnn"), (("roctx",), "roctracer"), (("hip", "HIP", "__hip"), "hip"),
)  # fmt: skip
_FOLDERS = ("hip", "hipblas", "hipblas-common", "hipblaslt", "hipfft", "hiprand", "hipsparse", "hipsolver", "rocblas", "rocfft",
            "rocrand", "rocsparse", "rocsolver", "miopen", "hiptensor", "hipdnn", "roctracer", "rccl")  # fmt: skip
_COMPILER = "__clang_hip_*.h"
_OTHER_PLATFORM = ("nvidia_detail", "nvcc_detail")
_CALLABLE = re.compile(r"\b((?:hip|roc|miopen)[a-zA-Z]\w*)\s*\(")
_OBJECT_MACRO = re.compile(r"#[ \t]*define[ \t]+(\w+)(?!\()\b")
_NO_TYPE = frozenset(("return", "else", "case", "new", "throw", "define", "sizeof", "decltype"))
_OF_HIP = re.compile(r"hip(?:[A-Z]|rtc)|HIP(?:RTC|RT)?_|HIP[a-z]|__hip_")  # hip_stream and HIPContext are of Caffe2
_DEFAULT = re.compile(r"=|\b__dparm\s*\(")
_NESTS = {"(": 1, "[": 1, "{": 1, "<": 1, ")": -1, "]": -1, "}": -1, ">": -1}
ANY = -1
"""An argument count that stands for any."""


@dataclass(frozen=True, eq=False)
class Declarations:
    """The names that headers declare of those that were looked for, those they lack, and functions' argument counts.

    `device` are all names that begin with two underscores: HIP's device functions and the compiler's. A name that is in
    neither set was not looked for, or its library's headers were not there.
    """

    source: str
    digest: str
    names: frozenset[str]
    absent: frozenset[str]
    counts: Mapping[str, tuple[int, ...]]
    device: frozenset[str]

    def takes(self, name: str, count: int) -> bool:
        """Whether a function may be called with so many arguments; so too where that is not known."""
        counts = self.counts.get(name)
        return counts is None or ANY in counts or count in counts


def library_of(name: str) -> str:
    """The header folder of the library that a name is spelt like one of, "" for none."""
    library = next((folder for starts, folder in _LIBRARIES if name.startswith(starts)), "")
    return "" if library == "hip" and not _OF_HIP.match(name) else library


def read(folders: Sequence[Path], compiler: Path | None, requested_names: frozenset[str], source: str) -> Declarations:
    """What the headers below include folders declare of the names `requested_names`. `compiler` is clang's own include folder."""
    present: set[str] = set()
    present_names: set[str] = set()
    counts: dict[str, set[int]] = {}
    for library, path in _headers(folders):
        present.add(library)
        code = blank(path.read_text("utf-8", "replace"))
        present_names |= words(code)[0]
        for name, count in _parameter_counts(code, requested_names):
            counts.setdefault(name, set()).add(count)
    for path in sorted(compiler.glob(_COMPILER)) if compiler else ():
        present_names |= words(blank(path.read_text("utf-8", "replace")))[0]
    absent = frozenset(name for name in requested_names - present_names if library_of(name) in present)
    names = frozenset(requested_names & present_names)
    device = frozenset(name for name in present_names if name.startswith("__"))
    listed_names = {name: tuple(sorted(c)) for name, c in sorted(counts.items()) if name in names}
    return Declarations(source, _digest(names, absent, listed_names, device), names, absent, listed_names, device)


def installed_declarations(folders: Sequence[Path], requested_names: frozenset[str], cache: Path) -> Declarations:
    """What the target's include folders declare, kept in `cache` for as long as no header changes."""
    stamps = [(str(p), p.stat().st_size, p.stat().st_mtime_ns) for _, p in _headers(folders)]
    key = hashlib.sha256(
        json.dumps([FORMAT, stamps, sorted(requested_names)]).encode("utf-8", "surrogateescape")
    ).hexdigest()
    file = cache / f"declarations-{key}.tsv"
    try:
        return parse(file.read_text("utf-8"), "the target's headers")
    except (OSError, ValueError):
        declarations = read(folders, None, requested_names, "the target's headers")
    try:
        cache.mkdir(parents=True, exist_ok=True)
        file.write_text(dump(declarations), "utf-8")
    except OSError:
        pass  # a cache that cannot be written does not stop the run
    return declarations


def of_version(rocm: str, numbers: tuple[int, ...]) -> Declarations | None:
    """What the bundled lists tell of a ROCm version: of one between two that are listed, what both say.

    Of no version in particular it is what all of them say. None for one before the first or after the last.
    """
    lists = sorted((tuple(map(int, p.stem.removeprefix("rocm-").split("."))), p) for p in _bundled_files())
    if not numbers:
        argument_list = [
            parse(
                path.read_text("utf-8"),
                f"the headers of ROCm {_version_text(lists[0][0])} to {_version_text(lists[-1][0])}",
            )
            for _, path in lists
        ]
        return reduce(_both, argument_list)
    below = [path for version, path in lists if version <= numbers[:2]]
    above = [path for version, path in lists if version >= numbers[:2]]
    if not below or not above:
        return None
    first, last = (parse(path.read_text("utf-8"), f"the headers of ROCm {rocm}") for path in (below[-1], above[0]))
    return first if below[-1] == above[0] else _both(first, last)


@cache
def for_device(major: int) -> Mapping[str, frozenset[str]]:
    """Functions that CUDA has for the host too and HIP for the device alone, of the bundled lists.

    Each has the types of a first argument with which that is so; none where it is so with any. `major` is the first
    number of a ROCm version. Without one (0) they are those of all lists.
    """
    lists = {int(path.stem.removeprefix("device-").partition(".")[0]): path for path in _folder().glob("device-*.tsv")}
    if not major:
        every = [set(_rows(path)) for path in lists.values()]
        return _types_of(set.intersection(*every))
    return _types_of(_rows(lists[max((number for number in lists if number <= major), default=min(lists))]))


def _rows(path: Path) -> list[str]:
    return [line for line in path.read_text("utf-8").split("\n") if line and line[0] != "#"]


def _types_of(rows: Iterable[str]) -> dict[str, frozenset[str]]:
    """Names with the types that stand after them, by the first word of each row."""
    types: dict[str, set[str]] = {}
    for row in rows:
        name, _, of = row.partition("\t")
        types.setdefault(name, set()).update((of, of.removeprefix("__")) if of else ())
    return {name: frozenset(of) for name, of in types.items()}


def _both(one: Declarations, other: Declarations) -> Declarations:
    names = one.names | other.names
    absent = one.absent & other.absent
    counts = {n: tuple(sorted({*c, *other.counts[n]})) for n, c in one.counts.items() if n in other.counts}
    device = one.device | other.device
    return Declarations(one.source, _digest(names, absent, counts, device), names, absent, counts, device)


def with_device(headers: Declarations, device: frozenset[str]) -> Declarations:
    """Declarations with more device functions: the compiler's, which are not in the target's include folders."""
    digest = hashlib.sha256("\n".join((headers.digest, *sorted(device))).encode()).hexdigest()
    return Declarations(headers.source, digest, headers.names, headers.absent, headers.counts, headers.device | device)


def compiler_functions() -> frozenset[str]:
    """The device functions of all bundled lists."""
    return frozenset().union(*(parse(path.read_text("utf-8"), "").device for path in _bundled_files()))


def _version_text(numbers: tuple[int, ...]) -> str:
    return ".".join(map(str, numbers))


def _folder() -> Path:
    return resources.folder("hipify") / FOLDER


def _bundled_files() -> list[Path]:
    return sorted(_folder().glob("rocm-*.tsv"))


def dump(lists: Declarations) -> str:
    """The text of declarations: a name a line with the argument counts that it takes; `-` before one that is not declared."""
    rows = [
        f"{name}\t{','.join(map(str, lists.counts.get(name, ())))}".rstrip()
        for name in sorted(lists.names | lists.device)
    ]
    return "\n".join((*rows, *(f"-{name}" for name in sorted(lists.absent)))) + "\n"


def parse(text: str, source: str) -> Declarations:
    """Declarations of a text that `dump` made; lines that begin with `#` are comments. Raises ValueError."""
    names, absent, device = set(), set(), set()
    counts: dict[str, tuple[int, ...]] = {}
    for line in text.split("\n"):
        if not line or line.startswith("#"):
            continue
        name, _, count_text = line.partition("\t")
        if name.startswith("-"):
            absent.add(name[1:])
            continue
        names.add(name)
        if name.startswith("__"):
            device.add(name)
        if count_text:
            counts[name] = tuple(int(n) for n in count_text.split(","))
    if not names:
        raise ValueError("no declarations")
    return Declarations(
        source,
        hashlib.sha256(text.encode()).hexdigest(),
        frozenset(names),
        frozenset(absent),
        counts,
        frozenset(device),
    )


def _digest(*parts: Iterable[object]) -> str:
    return hashlib.sha256(repr([sorted(map(str, part)) for part in parts]).encode()).hexdigest()


def _headers(folders: Sequence[Path]) -> Iterator[tuple[str, Path]]:
    """The headers of ROCm's libraries below include folders, each with its library's folder."""
    for folder in folders:
        for library in _FOLDERS:
            for path in sorted((folder / library).rglob("*")) if (folder / library).is_dir() else ():
                if path.is_file() and not any(part in _OTHER_PLATFORM for part in path.parts):
                    yield library, path


def _parameters(text: str) -> list[str]:
    """The parameters of a declaration: in one, `<` always opens template arguments."""
    texts, depth, start = [], 0, 0
    for at, sign in enumerate(text):
        depth += _NESTS.get(sign, 0) if text[at - 1 : at + 1] != "->" else 0
        if sign == "," and depth == 0:
            texts.append(text[start:at].strip())
            start = at + 1
    last = text[start:].strip()
    return [*texts, last] if texts or last not in ("", "void") else []


def _parameter_counts(code: str, requested_names: frozenset[str]) -> Iterator[tuple[str, int]]:
    """Each function that a header declares with a number of arguments that it takes; defaults may be left out."""
    for match in _CALLABLE.finditer(code):
        name, at = match[1], match.start()
        if name not in requested_names:
            continue
        argument_list = arguments(code, match.end() - 1)
        before = back_space(code, at)
        word = before
        while word and is_name_char(code[word - 1]):
            word -= 1
        if argument_list is None or (word == before and code[before - 1 : before] not in ("*", "&", ">")):
            continue
        if code[word:before] == "define":
            yield name, ANY
        elif code[word:before] not in _NO_TYPE and not code[line_start(code, at) : at].lstrip().startswith("#"):
            texts = _parameters(code[match.end() : argument_list[1]])
            if any("..." in text for text in texts):
                yield name, ANY
            needed_count = sum(_DEFAULT.search(text) is None for text in texts)
            yield from ((name, count) for count in range(needed_count, len(texts) + 1))
    for macro in _OBJECT_MACRO.finditer(code):
        if macro[1] in requested_names:
            yield macro[1], ANY
