"""Patches of a component: their order, their headers, and whether each still applies, asked of `git apply --check`.

A patch is `patches/COMPONENT/VERSION/NNNN-what.patch`. Before its first diff it says in lines `Key: value`:

    Why: what it is for                            (required)
    Upstream: a link to the change or report       (required, or `none`)
    Remove-When: when it can go                    (required)
    Moved-By: hipify rules or upstream changes that touch the same lines
    File-Digest: FILE sha256:…  (a file of the source, before the patch; all of them, or none)

A patch that says the digest of each file it changes applies to that very text alone. So it needs no context lines, which would
be a copy of the project's own.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from stackbuild.core.digest import of_file, of_text
from stackbuild.core.errors import MachineLacks, Mistake, PlanError, RecipeError
from stackbuild.core.plain_file import read_regular
from stackbuild.sources.patch_drift import HunkChange, changes, hunks

REQUIRED_HEADERS = ("Why", "Upstream", "Remove-When")
_NAME = re.compile(r"(\d{4})-[\w.+-]+\.patch")
_FIELD = re.compile(r"^([A-Z][A-Za-z-]*):[ \t]*(.*)$")
_DIGEST = re.compile(r"(\S+) sha256:([0-9a-f]{64})")
_FILE = re.compile(r"^(?:\+\+\+|---) (?:[ab]/)?([^\t\n]+)", re.M)
_SAME = re.compile(r"^diff --git a/([^\n]+) b/\1$", re.M)
_HUNKLESS = re.compile(r"^(?:GIT binary patch|old mode \d+|(?:new|deleted) file mode \d+)$", re.M)
"""What a file's part of a patch may have in place of hunks."""
_HUNK = re.compile(r"^@@ -(\d{1,9})(?:,(\d{1,9}))? \+\d{1,9}(?:,\d{1,9})? @@", re.M)
_FAILED_PATCH = re.compile(r"^error: patch failed: (.+):(\d+)$", re.M)
_MISSING = re.compile(r"^error: (.+): No such file or directory$", re.M)
SECONDS = 60.0


@dataclass(frozen=True)
class Patch:
    """One patch: its name, the text, the fields of its header, and the files it changes."""

    name: str
    text: str
    fields: tuple[tuple[str, str], ...]
    files: tuple[str, ...]

    @property
    def sha256(self) -> str:
        return of_text(self.text)

    @property
    def file_digests(self) -> dict[str, str]:
        """The sha256 that each changed file must have before the patch; none where the patch has context lines instead."""
        matches = (_DIGEST.fullmatch(value) for key, value in self.fields if key == "File-Digest")
        return {match[1]: match[2] for match in matches if match}

    def of(self, key: str) -> str:
        """The value of a header field, "" where it is not given."""
        return dict(self.fields).get(key, "")


@dataclass(frozen=True)
class HunkCause:
    """What changed the lines that a hunk looks at: rules by name; whether upstream did (None: it may have)."""

    by: tuple[str, ...] = ()
    upstream: bool | None = True

    def __str__(self) -> str:
        if not self.by:
            return "no rule changes it: upstream moved"
        also = {True: ", and upstream moved", False: "", None: ", or upstream moved"}[self.upstream]
        return f"changed there by {', '.join(self.by)}{also}"


@dataclass(frozen=True)
class Misfit:
    """A hunk that no longer applies: where it says, on which line its text is now (0: not known), and what moved it."""

    patch: str
    file: str
    line: int
    now: int
    cause: HunkCause
    upstream: str

    def __str__(self) -> str:
        now = f" (now about line {self.now})" if self.now and abs(self.now - self.line) > 1 else ""
        return f"{self.patch}: the hunk at {self.file}:{self.line}{now} does not apply; {self.cause} (upstream: {self.upstream})"


@dataclass(frozen=True)
class PatchSeries:
    """The patches of a component's version in the order they are applied in."""

    folder: str
    patches: tuple[Patch, ...] = field(default=())


MOST = 64 << 20
"""Bytes of a patch that are read: a checkout may have a link to a device among its patches."""


def series(folder: Path) -> PatchSeries:
    """The patches of a folder in order of their numbers; none where there is no folder. Raises RecipeError."""
    if not folder.is_dir():
        return PatchSeries(str(folder))
    mistakes: list[Mistake] = []
    patches = []
    for path in sorted(folder.glob("*.patch")):
        data = read_regular(path, MOST)
        if data is None:
            mistakes.append(Mistake(f"{path}:1:1", "no file that can be read", "remove it, or check its permissions"))
            continue
        patch = parse(path.name, data.decode("utf-8", "surrogateescape"))
        mistakes += check(patch, str(path))
        patches.append(patch)
    mistakes += _same_numbers(patches, str(folder))
    if mistakes:
        raise RecipeError(tuple(mistakes))
    return PatchSeries(str(folder), tuple(patches))


def parse(name: str, text: str) -> Patch:
    """A patch of its text. `check` reports what it lacks."""
    head = text.split("\n--- ", 1)[0].split("\ndiff --git", 1)[0]
    fields: list[tuple[str, str]] = []
    for line in head.split("\n"):
        if match := _FIELD.match(line):
            fields.append((match.group(1), match.group(2).strip()))
        elif fields and line[:1] in (" ", "\t") and line.strip():
            fields[-1] = (fields[-1][0], f"{fields[-1][1]} {line.strip()}")
    names = (*_SAME.findall(text), *_FILE.findall(text))
    files = dict.fromkeys(f for f in names if f != "/dev/null")
    return Patch(name, text, tuple(fields), tuple(files))


def check(patch: Patch, where: str) -> list[Mistake]:
    """What is wrong with a patch as a file, before it is tried."""
    at = f"{where}:1:1"
    mistakes = []
    if not _NAME.fullmatch(patch.name):
        mistakes.append(Mistake(at, f"the name {patch.name!r} has no number", "name it NNNN-what.patch"))
    mistakes += [
        Mistake(at, f"the header has no `{key}:`", f"add a line `{key}: …` above the diff")
        for key in REQUIRED_HEADERS
        if not patch.of(key)
    ]
    if not patch.files or not (_HUNK.search(patch.text) or _HUNKLESS.search(patch.text)):
        mistakes.append(Mistake(at, "there is no unified diff in it", "make it with `git diff`"))
    if "File-Digest" in dict(patch.fields) and sorted(patch.file_digests) != sorted(patch.files):
        mistakes.append(
            Mistake(
                at,
                "its File-Digest lines are not those of the files it changes",
                "write `File-Digest: FILE sha256:…` for each",
            )
        )
    outside = (file for file in patch.files if file.startswith("/") or ".." in file.split("/"))
    mistakes += [Mistake(at, f"it changes {file!r}", "a patch stays inside the source") for file in outside]
    return mistakes


def _same_numbers(patches: Iterable[Patch], folder: str) -> list[Mistake]:
    names: dict[str, str] = {}
    mistakes = []
    for patch in patches:
        other = names.setdefault(patch.name[:4], patch.name)
        if other != patch.name:
            what = f"{other} and {patch.name} have one number"
            mistakes.append(Mistake(f"{folder}:1:1", what, "renumber one: the order decides"))
    return mistakes


CauseFinder = Callable[[str, tuple[HunkChange, ...]], HunkCause]
"""What made a file's lines other than a hunk expects them: a misfit names it."""


def no_cause(file: str, changes: tuple[HunkChange, ...]) -> HunkCause:
    """No causes: for a source that was not converted."""
    return HunkCause()


def apply(source: Path, patch_series: PatchSeries, find_cause: CauseFinder = no_cause) -> tuple[str, ...]:
    """Apply a series to a source folder, each patch checked before it; the names applied.

    Raises PlanError with every misfit of the first patch that does not apply; patches before it stay applied.
    """
    reports = []
    for patch in patch_series.patches:
        if misfits := try_one(source, patch, find_cause):
            message = "\n".join(map(str, misfits))
            next = "refresh the patch against this version, or remove it if upstream took it"
            raise PlanError(message, where=f"{patch_series.folder}/{patch.name}", next=next)
        _git(source, [*_apply(patch), "-"], patch.text)
        reports.append(patch.name)
    return tuple(reports)


def is_taken(source: Path, patch: Patch) -> bool:
    """Whether a source has a patch's change already: it can be taken back, and cannot be made."""
    back, _ = _git(source, [*_apply(patch), "--reverse", "--check", "-"], patch.text, failing=True)
    return back == 0 and bool(try_one(source, patch))


def try_one(source: Path, patch: Patch, find_cause: CauseFinder = no_cause) -> tuple[Misfit, ...]:
    """Whether a patch applies to a source folder, changing nothing: its misfits, none where it does."""
    upstream = patch.of("Upstream") or "none"
    other = [
        f for f, sha256 in patch.file_digests.items() if not (source / f).is_file() or of_file(source / f) != sha256
    ]
    if other:
        return tuple(Misfit(patch.name, file, 0, 0, HunkCause(), upstream) for file in other)
    code, output = _git(source, [*_apply(patch), "--check", "-"], patch.text, failing=True)
    if code == 0:
        return ()
    places = [(file, int(line)) for file, line in _FAILED_PATCH.findall(output)] + [
        (file, 0) for file in _MISSING.findall(output)
    ]
    if not places:
        places = [(patch.files[0] if patch.files else "?", 0)]
    return tuple(_misfit(source, patch, file, line, find_cause, upstream) for file, line in places)


def _apply(patch: Patch) -> list[str]:
    """git's words to apply a patch: context lines may be missing where the whole file's digest is checked."""
    return ["apply", "--whitespace=nowarn", *(["--unidiff-zero"] if patch.file_digests else [])]


def _misfit(source: Path, patch: Patch, file: str, line: int, find_cause: CauseFinder, upstream: str) -> Misfit:
    """Why the hunk that begins at a line does not fit; line 0 is the whole file."""
    hunk = next((h for h in hunks(patch.text) if (h.file, h.line) == (file, line)), None)
    try:
        now = (source / file).read_bytes().decode("utf-8", "surrogateescape").split("\n") if hunk else []
    except OSError:
        now = []
    hunk_changes = changes(hunk.before, now, line) if hunk and now else ()
    cause = find_cause(file, hunk_changes) if hunk_changes else HunkCause()
    names = tuple(n.strip() for n in patch.of("Moved-By").split(",") if n.strip())
    cause = replace(cause, by=tuple(dict.fromkeys((*cause.by, *names))))
    return Misfit(patch.name, file, line, hunk_changes[0].line if hunk_changes else 0, cause, upstream)


def _git(source: Path, arguments: Sequence[str], text: str, failing: bool = False) -> tuple[int, str]:
    """Run git in a folder with a patch on its standard input.

    A repository around the folder is not looked for: `git apply` would take paths relative to its root and skip them.
    """
    argv = ["git", "-c", "core.autocrlf=false", *arguments]
    environment = {
        "GIT_DIR": "/dev/null",
        "PATH": os.environ.get("PATH", os.defpath),
        "LC_ALL": "C.UTF-8",
        "GIT_CONFIG_NOSYSTEM": "1",
    }
    try:
        process = subprocess.run(
            argv, cwd=source, input=text.encode("utf-8", "surrogateescape"), capture_output=True,
            env=environment, timeout=SECONDS, check=False,
        )  # fmt: skip
    except FileNotFoundError as missing:
        raise MachineLacks("git is not installed", where="PATH", next="apt install git") from missing
    message = process.stderr.decode("utf-8", "replace")
    if process.returncode != 0 and not failing:
        raise PlanError(f"git {arguments[0]} failed: {message.strip()}", where=str(source), next="check the patch")
    return process.returncode, message
