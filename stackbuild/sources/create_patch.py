"""The verb `patch new`: a patch file with its header, from an edited copy of a source."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from stackbuild.core.errors import Defect, MachineLacks, UsageError
from stackbuild.core.tree_walk import open_folder, walk
from stackbuild.sources.patches import Patch, check, parse


@dataclass(frozen=True)
class Reason:
    """The three things a patch must say of itself."""

    why: str
    upstream: str
    remove_when: str


def new_patch(original: Path, edited_copy: Path, series: Path, what: str, reason: Reason) -> Path:
    """Write the difference of two trees as the next patch of the folder `series`; its path. Raises UsageError."""
    for place in (original, edited_copy):
        if not place.is_dir():
            raise UsageError("no such folder", where=str(place), next="give the source as it was, and the edited copy")
    number = 1 + max((int(p.name[:4]) for p in series.glob("[0-9][0-9][0-9][0-9]-*.patch")), default=0)
    slug = re.sub(r"[^a-z0-9]+", "-", what.lower()).strip("-") or "change"
    why, upstream, remove_when = (" ".join(t.split()) for t in (reason.why, reason.upstream, reason.remove_when))
    head = f"Why: {why}\nUpstream: {upstream}\nRemove-When: {remove_when}\n\n"
    patch: Patch = parse(f"{number:04}-{slug}.patch", head + _difference(original, edited_copy))
    if mistakes := check(patch, patch.name):
        raise UsageError("; ".join(m.what for m in mistakes), where=patch.name, next=mistakes[0].next)
    series.mkdir(parents=True, exist_ok=True)
    path = series / patch.name
    path.write_bytes(patch.text.encode("utf-8", "surrogateescape"))
    return path


_FILE = re.compile(r'^diff --git "?a/(.+?)"? "?b/\1"?\n(?:(new|deleted) file mode)?', re.MULTILINE)
_DOES = {"new": "adds", "deleted": "removes", "": "changes"}


def changes(path: Path) -> tuple[str, ...]:
    """What a patch that was written does, a line for each file: build products of an edited copy are seen there."""
    text = path.read_bytes().decode("utf-8", "replace")
    return tuple(f"{_DOES[how]} {name}" for name, how in _FILE.findall(text))


def _difference(original: Path, edited_copy: Path) -> str:
    """The unified diff of two folders, binary files and modes included, with paths as inside the source.

    Proved before it is handed out: applied to the original it gives the edited tree, byte for byte. Raises UsageError.
    """
    with tempfile.TemporaryDirectory(prefix="stackbuild-patch-") as folder:
        scratch = Path(folder)
        _git(scratch, "init", "--quiet", "--bare", ".")
        before, after = _tree(scratch, original), _tree(scratch, edited_copy)
        if before == after:
            raise UsageError("the two trees are equal", where=str(edited_copy), next="edit the copy first")
        difference = _git(scratch, *_DIFF, before, after)
        _git(scratch, "read-tree", before)
        _git(scratch, "apply", "--cached", "--whitespace=nowarn", "-", stdin=difference)
        if _write_tree(scratch) != after:
            raise Defect("the patch does not make the edited tree of the original", where=str(edited_copy))
    return difference.decode("utf-8", "surrogateescape")


_DIFF = (
    "diff-tree",
    "-r",
    "-p",
    "--binary",
    "--full-index",
    "--no-renames",
    "--no-color",
    "--no-ext-diff",
    "--no-textconv",
)


def _tree(scratch: Path, source: Path) -> str:
    """A folder as a tree of the scratch repository: files and links byte for byte, no `.git` of any depth; its id."""
    paths = _files(source)
    plain = [path for path in paths if not (source / path).is_symlink()]
    path_lines = "".join(f"{(source / path).absolute()}\n" for path in plain)
    ids = (
        _git(scratch, "hash-object", "-w", "--no-filters", "--stdin-paths", stdin=os.fsencode(path_lines))
        .decode()
        .split()
    )
    rows = [(f"100{'755' if os.access(source / p, os.X_OK) else '644'}", i, p) for p, i in zip(plain, ids, strict=True)]
    for path in (p for p in paths if (source / p).is_symlink()):
        target = os.fsencode(os.readlink(source / path))
        rows.append(("120000", _git(scratch, "hash-object", "-w", "--stdin", stdin=target).decode().strip(), path))
    _git(scratch, "read-tree", "--empty")
    index = "".join(f"{mode} {id_}\t{path}\0" for mode, id_, path in rows)
    _git(scratch, "update-index", "-z", "--index-info", stdin=os.fsencode(index))
    return _write_tree(scratch)


def _files(source: Path) -> list[str]:
    paths = []
    with open_folder(source) as top:
        for path, kind, _ in walk(top, accepts=lambda path: path.rpartition("/")[2] != ".git"):
            if kind == "d":
                continue
            if "\n" in path or kind == "s":
                where = str(source / path)
                raise UsageError("no file that a patch can change", where=where, next="take it out of the tree")
            paths.append(path)
    return paths


def _write_tree(scratch: Path) -> str:
    return _git(scratch, "write-tree").decode().strip()


def _git(scratch: Path, *words: str, stdin: bytes = b"") -> bytes:
    """git in the scratch repository, deaf to every setting of the machine. Raises UsageError, MachineLacks."""
    environment = {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C", "HOME": "/nonexistent"}
    environment |= {"GIT_DIR": str(scratch), "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null"}
    settings = ("core.quotePath=false", "core.autocrlf=false", "diff.noprefix=false", "core.compression=0")
    command = ["git", *(word for setting in settings for word in ("-c", setting)), *words]
    try:
        process = subprocess.run(command, cwd=scratch, env=environment, input=stdin, capture_output=True, check=False)
    except FileNotFoundError:
        raise MachineLacks("`git` is not installed", next="apt-get install git") from None
    if process.returncode != 0:
        message = process.stderr.decode("utf-8", "replace").strip()[-400:]
        raise UsageError(f"git {words[0]} refuses the trees: {message}", next="look at the file it names")
    return process.stdout
