"""Where the runners of a pipeline get stackbuild: bytes that are named by their digest, and what pip is given for them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from stackbuild.core import digest
from stackbuild.core.errors import UsageError
from stackbuild.core.packaging import InvalidRequirement, Requirement, canonicalize_name, distribution_of

URL = r"https://[A-Za-z0-9._~:@/%+-]+"
_INSTALLABLE = re.compile(
    rf"{URL}\.whl#sha256=[0-9a-f]{{64}}|git\+{URL}@[0-9a-f]{{40}}|(\./)?[A-Za-z0-9_][A-Za-z0-9._+/-]*\.(whl|txt)"
)
NOT_PINNED = (
    "what stackbuild requires is installed by name and version, on the machine with the release key too;"
    " --install-from FILE.txt has each package by its hash"
)
_MADE_BY = "make it with `uv pip compile --universal --generate-hashes --no-strip-extras --no-emit-index-url`"
_COMMENT = re.compile(r"(^|\s+)#.*$")
_ENCODING = re.compile(r"^[ \t\f]*#.*?coding[:=][ \t]*(?!utf-?8\b)", re.IGNORECASE)
_LINE = re.compile(r"(?P<what>.*?)(?P<hashes>(\s+--hash=sha256:[0-9a-f]{64})*)")
_LOCAL_WHEEL = re.compile(r"(?P<path>(\./)?[A-Za-z0-9_][A-Za-z0-9._+/-]*\.whl)(\[[A-Za-z0-9,_.-]*\])?")


@dataclass(frozen=True)
class StackbuildSource:
    """What runners install. `file` is a path below the repository's root and `sha256` the digest of its bytes, both "" for a URL."""

    spec: str
    file: str = ""
    sha256: str = ""

    @property
    def is_pinned(self) -> bool:
        """Whether what stackbuild requires is named by its bytes, too."""
        return self.file.endswith(".txt")

    def pip_words(self, extras: str) -> str:
        """What follows `pip install` in a shell. A source distribution runs code of its own while it is installed: none is taken."""
        if not self.file:
            return f'--only-binary :all: "stackbuild[{extras}] @ {self.spec}"'
        if not self.is_pinned:
            return f'--only-binary :all: "./{self.file}[{extras}]"'
        return f'--only-binary :all: --require-hashes -r "./{self.file}"'

    @property
    def check(self) -> str:
        """The shell command that stops a job where the file is another one than was read here; "" for a URL."""
        if not self.file:
            return ""
        return (
            f'echo "{self.sha256}  ./{self.file}" | sha256sum --check --quiet - ||'
            f' {{ echo "{self.file} is not the file that ci render has read. Render the pipeline again"; exit 1; }}'
        )


def read_source(install_from: str) -> StackbuildSource:
    """The source of that text: a wheel's URL with its sha256, a git URL with a commit, a wheel in the repository, or a file of
    requirements there which has the hash of each, dependencies too.

    A name and a version alone are refused: on a package index they may be anybody's. Raises UsageError.
    """
    if not _INSTALLABLE.fullmatch(install_from):
        raise UsageError(
            f"{install_from!r} does not say which bytes the runners are to install",
            where="--install-from",
            next="give `https://…/stackbuild-….whl#sha256=…`, `git+https://…@COMMIT`, or the path of a wheel or of a .txt file with"
            " the hash of each requirement in the repository",
        )
    if "://" in install_from:
        address = install_from.partition("#")[0]
        if address.endswith(".whl") and not _is_stackbuild(address.rpartition("/")[2]):
            raise UsageError(
                "this is not a wheel of stackbuild",
                where=f"--install-from {address}",
                next="give `https://…/stackbuild-VERSION-py3-none-any.whl#sha256=…`",
            )
        return StackbuildSource(install_from)
    path = install_from.removeprefix("./")
    file = Path(path)
    if path.endswith(".txt"):
        _refuse_loose(file)
    elif not file.is_file():
        raise UsageError(
            "no such wheel in the repository",
            where=path,
            next="run this at the root of the repository, and put the wheel of a release of stackbuild there",
        )
    elif not _is_stackbuild(file.name):
        raise UsageError(
            "this is not a wheel of stackbuild", where=path, next="give stackbuild-VERSION-py3-none-any.whl"
        )
    return StackbuildSource(install_from, path, digest.of_file(file))


def _is_stackbuild(file: str) -> bool:
    return re.fullmatch(r"stackbuild-[^-]+(-[^-]+)?(-[^-]+){3}\.whl", file) is not None


def _refuse_loose(file: Path) -> None:
    """The file has requirements with a hash each, stackbuild among them, and nothing else. Raises UsageError."""
    try:
        text = file.read_text("utf-8")
    except (OSError, ValueError) as error:
        raise UsageError(
            f"the requirements cannot be read: {getattr(error, 'strerror', None) or error}",
            where=str(file),
            next="run this at the root of the repository; docs/ci.md says how the file is made",
        ) from None
    if any(map(_ENCODING.match, text.splitlines()[:2])):
        raise UsageError(
            "pip would read this file in the encoding that its head names, and other lines would stand in it",
            where=str(file),
            next="take that comment out",
        )
    names = [_pinned_name(line, file) for line in _logical_lines(text)]
    if "stackbuild" not in names:
        raise UsageError("stackbuild is not among the requirements", where=str(file), next=_MADE_BY)


def _logical_lines(text: str) -> Iterator[str]:
    """The lines as pip takes them: `\\` joins two, a comment ends what was joined, and nothing of a comment counts."""
    begin = ""
    for line in [*text.splitlines(), ""]:
        is_comment = _COMMENT.match(line) is not None
        if line.endswith("\\") and not is_comment:
            begin += line.strip("\\")
            continue
        whole, begin = begin + (f" {line}" if is_comment else line), ""
        if logical_line := _COMMENT.sub("", whole).strip():
            yield logical_line


def _pinned_name(line: str, file: Path) -> str:
    """The name of the project that a line pins. Raises UsageError for an option, for what has no hash, and for another file than a wheel."""
    match = _LINE.fullmatch(line)
    what, hashes = (match["what"], match["hashes"]) if match else (line, "")
    requirement_text = f"{what[:80]!r}"
    if what.startswith("-") or re.search(r"\s-", what):
        raise UsageError(
            f"{requirement_text} has an option of pip, which the runners would follow",
            where=str(file),
            next="take it out: the hashes say which bytes are installed; a mirror is set up on the runner itself",
        )
    if "${" in what:
        raise UsageError(
            f"{requirement_text} has a variable, which pip fills in", where=str(file), next="write what it stands for"
        )
    if local := _LOCAL_WHEEL.fullmatch(what):
        _refuse_unhashed(requirement_text, hashes, file)
        if not Path(local["path"]).is_file():
            raise UsageError(
                f"{requirement_text} is not there", where=str(file), next="put that wheel into the repository"
            )
        return distribution_of(Path(local["path"]).name)[0]
    try:
        requirement = Requirement(what)
    except InvalidRequirement:
        raise UsageError(f"{requirement_text} is not a requirement", where=str(file), next=_MADE_BY) from None
    address, _, fragment = (requirement.url or "").partition("#")
    if address and not (re.fullmatch(rf"{URL}\.whl", address) and re.fullmatch("(sha256=[0-9a-f]{64})?", fragment)):
        raise UsageError(
            f"{requirement_text} is not a wheel at an https address: what builds one runs code of its own",
            where=str(file),
            next=_MADE_BY,
        )
    _refuse_unhashed(requirement_text, hashes or fragment, file)
    return str(canonicalize_name(requirement.name))


def _refuse_unhashed(requirement_text: str, hashes: str, file: Path) -> None:
    if not hashes:
        raise UsageError(f"{requirement_text} has no hash", where=str(file), next=_MADE_BY)
