"""Readers of the files in which upstream projects list what their builds download. Pure: text in, dependencies out.

- ONNX Runtime's `cmake/deps.txt`: `name;url;sha1`, `#` comments.
- MIGraphX's `requirements.txt`, a cget file: `name@ref [-DNAME=VALUE]… [-X recipe] [-H sha256:…] [--build] [--cmake name]`.
- CMake's `FetchContent_Declare(name URL url [URL_HASH ALGO=hash] …)`, as in the plugin EP of AMD.
"""

from __future__ import annotations

import re
import shlex
from pathlib import PurePosixPath
from typing import Any

from stackbuild.core.errors import StepFailed
from stackbuild.core.model import ValidationError
from stackbuild.core.model_mistakes import cause_of
from stackbuild.model.lock import Dep

_FETCH = re.compile(r"FetchContent_Declare\s*\(\s*([^\s)]+)([^)]*)\)", re.IGNORECASE)
_ADDRESS = re.compile(r"\sURL\s+\"?(https://[^\s\")]+)")
_HASH = re.compile(r"URL_HASH\s+(SHA1|SHA256)=([0-9a-fA-F]+)")
_GITHUB = re.compile(r"[A-Za-z0-9_.-]+/[A-Za-z0-9_.-]+")
_REF = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/+-]*")
_ABSEIL = re.compile(r"set\s*\(\s*abseil-cpp-version\s+\"([0-9][0-9.]*)\"\s*\)")
_SETUP_VERSION = re.compile(r"^\s*rocm_setup_version\s*\(\s*VERSION\s+([0-9]+(?:\.[0-9]+)+)", re.MULTILINE)
_VERSION_NUMBER = re.compile(r"\s*([0-9]+(?:\.[0-9]+)+)\s*")
REGENERATED_ARCHIVES = {
    "5ea4d05e62d7f954a46b3213f9b2535bdd866803": "51982be81bbe52572b54180454df11a3ece9a934",
    "be8be39fdbc6e60e94fa7870b280707069b5b81a": "32b145f525a8308d7ab1c09388b2e288312d8eba",
}
"""Digests in `cmake/deps.txt` that nothing answers to any more, and what is served today: GitLab made its Eigen
archives anew (onnxruntime#24861, onnxruntime#25098, onnxruntime#26656). ONNX Runtime 1.17 to 1.22.0 name these two;
1.22.1 a mirror at GitHub."""

SUBFOLDERS = {"google/protobuf": "cmake"}
"""Projects whose CMakeLists.txt lies in a folder, where a line says `-X subdir`."""


def deps_txt(text: str) -> tuple[Dep, ...]:
    """The rows of ONNX Runtime's `cmake/deps.txt`. Raises StepFailed with the line that is not one."""
    dependencies = []
    for number, line in enumerate(text.splitlines(), 1):
        row = line.strip()
        if not row or row.startswith("#"):
            continue
        parts = row.split(";")
        if len(parts) != 3 or not re.fullmatch(r"[0-9a-fA-F]{40}", parts[2].strip()):
            raise StepFailed(f"line {number} is not name;url;sha1: {row[:120]!r}", where="cmake/deps.txt")
        name, url, sha1 = (p.strip() for p in parts)
        if not url.startswith("https://"):
            raise StepFailed(f"line {number}: {url[:120]!r} is not an https address", where="cmake/deps.txt")
        served_digest = REGENERATED_ARCHIVES.get(sha1.lower(), sha1.lower())
        dependencies.append(_dep(f"cmake/deps.txt:{number}", name=name, url=url, digest=f"sha1:{served_digest}"))
    return _agreeing(dependencies, "cmake/deps.txt")


def _dep(where: str, **fields: Any) -> Dep:
    """A dependency as a file of upstream says it: hostile until it passed. Raises StepFailed."""
    try:
        return Dep.model_validate(fields)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(map(str, first["loc"])) or "it"
        raise StepFailed(f"{field} is refused: {str(first['input'])[:120]!r}: it {cause_of(first)}", where=where) from None


def _agreeing(rows: list[Dep], where: str) -> tuple[Dep, ...]:
    """The dependencies, if no address is said to have two contents: a build could hold only one. Raises StepFailed."""
    answers: dict[str, str] = {}
    for dep in rows:
        if dep.digest and answers.setdefault(dep.url, dep.digest) != dep.digest:
            raise StepFailed(f"{dep.url} has two digests, {answers[dep.url]} and {dep.digest}", where=where)
    return tuple(rows)


def requirements_txt(text: str) -> tuple[Dep, ...]:
    """The lines of a cget requirements file. Raises StepFailed with the line that is not one."""
    dependencies = []
    for number, line in enumerate(text.splitlines(), 1):
        where = f"requirements.txt:{number}"
        try:
            words = shlex.split(line, comments=True)
        except ValueError as error:
            raise StepFailed(f"{line.strip()[:120]!r} cannot be read: {error}", where=where) from None
        if words:
            dependencies.append(_requirement(words, where))
    return _agreeing(dependencies, "requirements.txt")


def _requirement(words: list[str], where: str) -> Dep:
    alias, comma, rest_of = words[0].partition(",")
    name, at, ref = (rest_of if comma else words[0]).partition("@")
    options, digest, subdir = [], "", False
    rest = iter(words[1:])
    for word in rest:
        if word.startswith("-D") and "=" in word:
            options.append(word)
        elif word in ("-H", "--hash"):
            digest = next(rest, "")
        elif word in ("-X", "--cmake"):
            how = next(rest, "")
            subdir = how == "subdir" or subdir
            options += [] if how == "subdir" else [f"-X {how}"]
        elif word not in ("--build", "-b", "-t", "--test"):
            raise StepFailed(f"{word!r} is not understood in a requirement", where=where)
    if not at and not name.startswith("https://"):
        raise StepFailed(f"{words[0]!r} names no version", where=where, next="pin it: NAME@REF")
    if digest and not re.fullmatch(r"sha256:[0-9a-f]{64}", digest):
        raise StepFailed(f"{digest!r} is not a sha256:… digest", where=where)
    url = _url(name, ref, where)
    project = alias.rpartition("/")[2] if comma else _project(name)
    return _dep(
        where,
        name=project,
        url=url,
        digest=digest,
        options=tuple(options),
        subfolder=SUBFOLDERS.get(name, "") if subdir else "",
    )


def _project(name: str) -> str:
    """What a requirement is called: the repository's name, also where the line is an archive's address.

    GitHub and GitLab have it before `/archive/` (`/-/archive/`); of another address it is the file's name without its
    version and endings.
    """
    if not name.startswith("https://"):
        return PurePosixPath(name).name
    before, archive, _ = name.partition("/archive/")
    if archive:
        return PurePosixPath(before.removesuffix("/-")).name
    return re.sub(r"[-_]v?[0-9][0-9.]*(\.(tar|t?gz|t?xz|t?bz2|zip))+$", "", PurePosixPath(name).name)


def _url(name: str, ref: str, where: str) -> str:
    """The archive of `owner/name@ref` at GitHub; a bare name is a package of cget's own recipes, which have no
    archive."""
    if name.startswith("https://"):
        return name
    if not _REF.fullmatch(ref):
        raise StepFailed(f"{ref!r} is not a tag or commit", where=where)
    if _GITHUB.fullmatch(name):
        return f"https://github.com/{name}/archive/{ref}.tar.gz"
    return f"https://cget.invalid/{name}/{ref}"


def fetchcontent(text: str) -> tuple[Dep, ...]:
    """The declarations of FetchContent in a CMake file, comments left out.

    Raises StepFailed where one has a PATCH_COMMAND: a source that is given as a folder is not patched. Raises
    StepFailed where one has no plain https URL (a git repository, a variable): the build has no network, and nobody
    could fetch it beforehand.
    """
    bare = "\n".join(line.split("#", 1)[0] for line in text.splitlines())
    dependencies = []
    for name, rest in _FETCH.findall(bare):
        if "PATCH_COMMAND" in rest:
            raise StepFailed(
                f"{name} is patched by the project when it downloads it, and would not be here",
                next="take a commit without that patch, or say so in an issue of stackbuild",
            )
        address = _ADDRESS.search(rest)
        if address is None:
            raise StepFailed(
                f"{name[:120]!r} is declared without a plain https URL, and cannot be fetched before the build",
                where="FetchContent_Declare",
                next="take a commit that names archives, or say so in an issue of stackbuild",
            )
        match = _HASH.search(rest)
        digest = f"{match[1].lower()}:{match[2].lower()}" if match else ""
        dependencies.append(_dep(f"FetchContent_Declare({name})", name=name, url=address[1], digest=digest))
    return _agreeing(dependencies, "FetchContent_Declare")


def abseil_of_protobuf(text: str) -> Dep | None:
    """The abseil that protobuf's own `cmake/dependencies.cmake` names, and its build would clone."""
    match = _ABSEIL.search(text)
    return (
        _dep(
            "cmake/dependencies.cmake",
            name="absl",
            url=f"https://github.com/abseil/abseil-cpp/archive/refs/tags/{match[1]}.tar.gz",
        )
        if match
        else None
    )


def version_in(text: str) -> str:
    """The version that a source says it is: `VERSION_NUMBER` whole, or `rocm_setup_version(VERSION …)` of a CMakeLists.txt.
    "" where it says none."""
    match = _SETUP_VERSION.search(text) or _VERSION_NUMBER.fullmatch(text)
    return match[1] if match else ""


READERS = {
    "onnxruntime": deps_txt,
    "migraphx": requirements_txt,
    "migraphx-ep": fetchcontent,
    "amdgpu-ep": fetchcontent,
}
"""Kind of component to the reader of the file `stackbuild.lock.FILES` names."""
