"""Git sources.

What a recipe names is hostile until it is checked, and git is run as `git_command` says. A submodule's name and URL are
checked before git sees them. What is checked out is the locked commit or nothing.
"""

from __future__ import annotations

import contextlib
import os
import re
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from urllib.parse import urlsplit

from stackbuild.core.errors import LockError, MachineLacks, StepFailed
from stackbuild.core.shell_words import shell_word
from stackbuild.sources.git_command import run_git
from stackbuild.sources.mirror import Mirror
from stackbuild.store import atomic

MOST_MODULES, DEEPEST_MODULE = 1000, 16
"""Submodules of a source, all together, and how deep they lie in each other."""
_URL = re.compile(
    r"(https://|ssh://([A-Za-z0-9][A-Za-z0-9._-]*@)?)[A-Za-z0-9][A-Za-z0-9._-]*(:[0-9]{1,5})?/[A-Za-z0-9._~/+-]+"
)
_FULL = re.compile(r"[0-9a-f]{40}")
_SHORT = re.compile(r"[0-9a-f]{7,39}")


@dataclass(frozen=True)
class Revision:
    """A commit of a repository: its URL, the ref that a recipe names, the locked commit, and the mirror to take it
    from.

    `commit` may be abbreviated (at least 7 digits) where no more is known: what is fetched must begin with it.
    """

    url: str
    ref: str
    commit: str
    mirror: Mirror | None = None
    exclude: tuple[str, ...] = ()
    """Paths and globs, as gitignore has them, of files that are neither fetched nor checked out."""


def require_safe_url(url: str) -> str:
    """The URL, if it is one that git may be given. Raises StepFailed."""
    if _URL.fullmatch(url) and ".." not in PurePosixPath(urlsplit(url).path).parts:
        return url
    address = re.sub(r"//[^/]*@", "//…@", url)  # what stands there may be a secret
    raise StepFailed(f"the git URL {address!r} is refused: https or ssh, a host and a plain path, and nothing else")


def in_mirror(url: str, mirror: Mirror | None) -> Path | None:
    """The repository of that URL in a mirror: `HOST/PATH`, else `PATH`, else its last name; with or without `.git`,
    bare or not. The commit says that it is the right one."""
    if mirror is None:
        return None
    parts = urlsplit(url)
    inside = PurePosixPath(parts.path.strip("/").removesuffix(".git"))
    root = mirror.folder
    for stem in (root / (parts.hostname or "") / inside, root / inside, root / inside.name):
        for place in (stem.with_name(stem.name + ".git"), stem):
            if (place / "HEAD").is_file() or (place / ".git").exists():
                return place
    return None


def _origin(url: str, mirror: Mirror | None) -> str:
    """What git is to ask: the server or, where a mirror is named, its repository. Raises StepFailed, MachineLacks."""
    require_safe_url(url)
    if mirror is None:
        return url
    place = in_mirror(url, mirror)
    if place is None:
        raise mirror.lacks(url, f"put a clone there: git clone --mirror {shell_word(url)} {shell_word(mirror.folder / usual_place(url))}")
    return str(place)


def usual_place(url: str) -> str:
    """Where a mirror has the repository of that URL: `HOST/PATH.git`."""
    return f"{urlsplit(url).hostname or ''}/{urlsplit(url).path.strip('/').removesuffix('.git')}.git"


def has_commit(place: Path, commit: str) -> bool:
    """Whether a repository of this machine has that commit, which may be abbreviated. Its objects are looked at from an empty
    repository: git run in the repository itself would heed what is set there."""
    with tempfile.TemporaryDirectory(prefix="stackbuild-git-") as folder:
        run_git(Path(folder), "init", "--quiet", ".")
        (Path(folder) / ".git" / "objects" / "info" / "alternates").write_text(f"{_objects(place.absolute())}\n")
        try:
            run_git(Path(folder), "rev-parse", "--verify", "--quiet", f"{commit}^{{commit}}")
        except StepFailed:
            return False
        return True


def ask(url: str, ref: str, mirror: Mirror | None = None) -> str:
    """The commit that a branch or tag of a server means now; a full commit means itself. Raises StepFailed,
    MachineLacks."""
    if _FULL.fullmatch(ref):
        return ref
    if _SHORT.fullmatch(ref):
        with _repository(url, mirror) as tree:
            _fetch(tree, Revision(url, ref, ref, mirror))
            return run_git(tree, "rev-parse", "--verify", "FETCH_HEAD^{commit}")
    if revision := _resolve_name(url, ref, mirror):
        return revision[1]
    raise StepFailed(f"{url} has no tag or branch {ref!r}", next="check the name; a deleted one must be replaced")


def is_commit(ref: str) -> bool:
    """Whether a ref is a commit or its first digits, and not a name."""
    return bool(_FULL.fullmatch(ref) or _SHORT.fullmatch(ref))


def _resolve_name(url: str, ref: str, mirror: Mirror | None) -> tuple[str, str] | None:
    """What a name is, "tag" or "branch", and the commit it means now; None where there is none of that name."""
    names = {f"refs/tags/{ref}^{{}}": "tag", f"refs/tags/{ref}": "tag", f"refs/heads/{ref}": "branch"}
    listing = run_git(Path("/"), "ls-remote", "--", _origin(url, mirror), *names, mirror=mirror)
    commits = {name: commit for commit, _, name in (line.partition("\t") for line in listing.splitlines())}
    return next(((kind, commits[name]) for name, kind in names.items() if name in commits), None)


def tags(url: str, mirror: Mirror | None = None) -> dict[str, str]:
    """A server's tags, in no order, each with the commit that it means. Raises StepFailed, MachineLacks."""
    listing = run_git(Path("/"), "ls-remote", "--tags", "--", _origin(url, mirror), mirror=mirror)
    rows = [(commit, name) for commit, _, name in (line.partition("\trefs/tags/") for line in listing.splitlines())]
    commits = {name: commit for commit, name in rows if not name.endswith("^{}")}
    return commits | {name.removesuffix("^{}"): commit for commit, name in rows if name.endswith("^{}")}


def moved_tag(revision: Revision) -> str:
    """A line where the tag means another commit than the locked one now, or is gone, or that it cannot be asked; else
    "". A branch may move."""
    url, ref, commit = revision.url, revision.ref, revision.commit
    if is_commit(ref):
        return ""
    try:
        current = _resolve_name(url, ref, revision.mirror)
    except (StepFailed, MachineLacks) as failure:  # the commit is there: no reason to end a build
        return f"{url}: whether {ref} was moved cannot be asked: {failure.what}"
    match current:
        case None if revision.mirror is None:  # one that was fetched by its commit has no names
            return f"{url} has no tag or branch {ref!r} any more; commit {commit} of the lock is built"
        case "tag", now if not now.startswith(commit):
            return f"{url}: the tag {ref} was moved to {now}; commit {commit} of the lock is built"
    return ""


def checkout(revision: Revision, target: Path, *, submodules: bool) -> str:
    """Put the files of the locked commit into the empty folder `target`, without `.git`. Returns the full commit.

    Raises LockError where the ref has moved or the commit is gone, StepFailed, MachineLacks.
    """
    head, below = _checked_out(revision, target, submodules)
    todo = [(target / path, one, 1) for path, one in below]
    for folder, one, depth in todo:
        _refuse_maze(len(todo), depth, revision.url)
        folder.mkdir(parents=True, exist_ok=True)
        _, below = _checked_out(one, folder, submodules)
        todo += [(folder / path, inner, depth + 1) for path, inner in below]
    return head


def _refuse_maze(modules: int, depth: int, url: str) -> None:
    """A repository can have itself as a submodule, at an earlier commit, and that one again."""
    if modules > MOST_MODULES or depth > DEEPEST_MODULE:
        raise StepFailed(
            f"{url} has more than {MOST_MODULES} submodules, or submodules more than {DEEPEST_MODULE} deep",
            next="leave `submodules` out and take what is needed as sources of their own",
        )


def _checked_out(revision: Revision, target: Path, submodules: bool) -> tuple[str, tuple[tuple[str, Revision], ...]]:
    """The files of one repository, without `.git`: the full commit, and the paths and revisions of its submodules."""
    url, ref, commit = revision.url, revision.ref, revision.commit
    # All files are wanted, but not of all history.
    _begin(target, url, revision.mirror, partial=bool(_SHORT.fullmatch(ref) or revision.exclude))
    _fetch(target, revision)
    head = run_git(target, "rev-parse", "--verify", "FETCH_HEAD^{commit}")
    if not head.startswith(commit):
        raise LockError(
            f"{url}: {ref} is commit {head} now, the lock has {commit}",
            where=str(target),
            next="someone moved the tag: look at what changed, then run `stackbuild lock`",
        )
    if revision.exclude:
        run_git(target, "config", "core.sparseCheckout", "true")
        rows = ("/*", *(f"!/{pattern.lstrip('/')}" for pattern in revision.exclude))
        (target / ".git" / "info" / "sparse-checkout").write_text("\n".join(rows) + "\n")
    run_git(
        target,
        "-c",
        "core.protectNTFS=true",
        "checkout",
        "--quiet",
        "--force",
        "--detach",
        head,
        mirror=revision.mirror,
    )
    below = modules(target, url) if submodules else ()
    atomic.remove(target / ".git")
    return head, tuple((path, Revision(at, sub, sub, revision.mirror)) for path, at, sub in below)


def _begin(target: Path, url: str, mirror: Mirror | None, *, partial: bool = True) -> None:
    """An empty repository whose `origin` is the server, which may leave out file contents until they are asked for, or
    the mirror's repository."""
    origin = _origin(url, mirror)
    run_git(target, "init", "--quiet", ".")
    run_git(target, "remote", "add", "origin", origin)
    if partial:
        run_git(target, "config", "remote.origin.promisor", "true")
        run_git(target, "config", "remote.origin.partialclonefilter", "blob:none")


@contextlib.contextmanager
def _repository(url: str, mirror: Mirror | None) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="stackbuild-git-") as folder:
        _begin(Path(folder), url, mirror)
        yield Path(folder)


def _fetch(target: Path, revision: Revision) -> None:
    """Fetch the commit alone as FETCH_HEAD, or its ref where a server does not give out a commit by its name.

    Where only the first digits are known, the whole history is fetched without file contents. A mirror has it whole.
    """
    url, ref, commit, mirror = revision.url, revision.ref, revision.commit, revision.mirror
    if _SHORT.fullmatch(ref):
        if mirror is None:
            _fetch_short(target, url, ref)
            return
        ref = commit if _FULL.fullmatch(commit) else _expand(target, url, ref, mirror)
    refs = (commit, ref) if _FULL.fullmatch(commit) else (ref,)
    problem = ""
    for name in refs:
        spec = name if _FULL.fullmatch(name) else _spec(target, url, name, mirror)
        try:
            run_git(target, "fetch", "--quiet", "--depth=1", "--no-tags", "origin", spec, mirror=mirror)
        except StepFailed as failure:
            problem = failure.what
            if mirror is not None and (lacking := _absent(target, revision)):
                raise LockError(
                    f"{url}: the mirror's repository lacks {_few(lacking)} of commit {commit}",
                    where=_origin(url, mirror),
                    next="fetch the repository whole or, where the build does not need them, list them in the source's `exclude`",
                ) from None
            if "fsck error" in problem:
                raise StepFailed(f"{url}: what the server sent is refused: {problem}") from None
        else:
            return
    raise LockError(
        f"{url}: commit {commit} of {ref} cannot be fetched: {problem}",
        next="it was deleted upstream, or the mirror lacks it: find it elsewhere, or lock another one",
    )


def _absent(target: Path, revision: Revision) -> list[str]:
    """Files of the commit whose content the mirror's repository lacks: it was fetched in part. None where the commit itself
    cannot be read."""
    place = Path(_origin(revision.url, revision.mirror)).absolute()
    alternates = target / ".git" / "objects" / "info" / "alternates"
    alternates.write_text(f"{_objects(place)}\n")
    try:
        tree_lines = run_git(
            target, "ls-tree", "-r", "-z", "--format=%(objecttype) %(objectname) %(path)", revision.commit
        )
        listing = run_git(target, "rev-list", "--objects", "--missing=print", "--no-walk", revision.commit)
    except StepFailed:
        return []
    finally:
        alternates.unlink()
    missing = {line[1:] for line in listing.splitlines() if line.startswith("?")}
    rows = (row.split(" ", 2) for row in tree_lines.split("\0") if row)
    return sorted(path for kind, name, path in rows if kind == "blob" and name in missing)


def _few(names: list[str]) -> str:
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return f"{', '.join(names[:5])}{more}"


def _fetch_short(target: Path, url: str, short: str) -> None:
    heads = ("+refs/heads/*:refs/remotes/origin/*", "+refs/tags/*:refs/tags/*")
    run_git(target, "fetch", "--quiet", "--no-tags", "origin", *heads)
    (target / ".git" / "FETCH_HEAD").write_text(f"{_resolve_commit(target, url, short)}\t\t{short}\n")


def _resolve_commit(target: Path, url: str, short: str) -> str:
    try:
        return run_git(target, "rev-parse", "--verify", f"{short}^{{commit}}")
    except StepFailed:
        raise LockError(
            f"{url} has no commit {short}, or several", next="it was deleted upstream: lock another one"
        ) from None


def _expand(target: Path, url: str, short: str, mirror: Mirror) -> str:
    """The full commit of a mirror's repository, whether or not a branch or tag leads to it: one fetched by its commit
    has none. Its objects are looked at from `target`, since git run in the repository itself would heed what is set
    there."""
    place = Path(_origin(url, mirror)).absolute()
    alternates = target / ".git" / "objects" / "info" / "alternates"
    alternates.parent.mkdir(parents=True, exist_ok=True)
    alternates.write_text(f"{_objects(place)}\n")
    try:
        return _resolve_commit(target, url, short)
    finally:
        alternates.unlink()


def _objects(place: Path) -> Path:
    """Where a repository has its objects: bare or not, or a work tree of another one, whose `.git` is a file."""
    folder = place if (place / "HEAD").is_file() else place / ".git"
    if folder.is_file():
        folder = place / folder.read_text("utf-8", "replace").removeprefix("gitdir:").strip()
    common = folder / "commondir"
    if common.is_file():
        folder = folder / common.read_text("utf-8", "replace").strip()
    return folder.resolve() / "objects"


def _spec(target: Path, url: str, ref: str, mirror: Mirror | None) -> str:
    listing = run_git(target, "ls-remote", "origin", f"refs/tags/{ref}", f"refs/heads/{ref}", mirror=mirror)
    names = [line.partition("\t")[2] for line in listing.splitlines()]
    return names[0] if names else ref


def read(revision: Revision, path: str) -> str:
    """One text file of a commit, with as little of the rest as the server lets be left out. Raises as `checkout`."""
    with _repository(revision.url, revision.mirror) as tree:
        _fetch(tree, revision)
        return run_git(tree, "cat-file", "blob", f"FETCH_HEAD:{path}", mirror=revision.mirror)


def copy(revision: Revision, folder: Path, *, submodules: bool) -> None:
    """Put a bare repository with the commit, and those of its submodules where they are asked for, into the mirror
    `folder`. Raises as `checkout`."""
    todo = [(revision, 0)]
    for one, depth in todo:
        _refuse_maze(len(todo), depth, revision.url)
        todo += [(inner, depth + 1) for inner in _copy_repository(one, folder, submodules)]


def _copy_repository(revision: Revision, folder: Path, submodules: bool) -> tuple[Revision, ...]:
    """The same of one repository; its submodules' revisions."""
    url, ref, mirror = revision.url, revision.ref, revision.mirror
    parts = urlsplit(require_safe_url(url))
    bare = folder / (parts.hostname or "") / (parts.path.strip("/").removesuffix(".git") + ".git")
    with tempfile.TemporaryDirectory(prefix="stackbuild-git-") as scratch:
        tree = Path(scratch)
        _begin(tree, url, mirror, partial=False)
        _fetch(tree, revision)
        head = run_git(tree, "rev-parse", "--verify", "FETCH_HEAD^{commit}")
        name = (
            f"refs/heads/stackbuild-{head[:12]}"
            if _FULL.fullmatch(ref) or _SHORT.fullmatch(ref)
            else f"refs/tags/{ref}"
        )
        run_git(tree, "update-ref", name, head)
        run_git(tree, "checkout", "--quiet", "--force", "--detach", head)
        below = modules(tree, url) if submodules else ()
        bare.mkdir(parents=True, exist_ok=True)
        run_git(bare, "init", "--quiet", "--bare", ".")
        run_git(bare, "config", "uploadpack.allowAnySHA1InWant", "true")
        run_git(bare, "fetch", "--quiet", "--depth=1", "--no-tags", str(tree), f"{name}:{name}", mirror=Mirror(folder))
    return tuple(Revision(at, commit, commit, mirror) for _, at, commit in below)


def _beside(url: str, of: str) -> str:
    """A submodule's URL; a relative one leads from that of the repository, as git has it."""
    if not url.startswith(("./", "../")):
        return url
    parts = urlsplit(of)
    path = parts.path.strip("/").split("/")
    for part in url.split("/"):
        if part == ".." and path and path[-1] != "..":
            path.pop()
        elif part != ".":
            path.append(part)  # a `..` too many stays, and is refused
    return f"{parts.scheme}://{parts.netloc}/{'/'.join(path)}"


def modules(tree: Path, url: str) -> tuple[tuple[str, str, str], ...]:
    """Path, URL and commit of each submodule of a checked-out tree of the repository `url`, vetted. Raises StepFailed
    on a hostile one."""
    submodules = []
    for name, entry in _listed_submodules(tree).items():
        path, sub = entry.get("path", ""), entry.get("url", "")
        if not re.fullmatch(r"[A-Za-z0-9._/+-]+", path) or path[0] in "/-" or ".." in PurePosixPath(path).parts:
            raise StepFailed(f"submodule {name}: the path {path!r} is refused")
        if ".." in name or ".git" in PurePosixPath(path).parts:
            raise StepFailed(f"submodule {name}: its name or path is refused")
        origin = require_safe_url(_beside(sub, url))
        there = run_git(tree, "ls-tree", "HEAD", "--", path).split()
        if len(there) < 3 or there[1] != "commit":
            raise StepFailed(f"submodule {name}: {path} is not a submodule in the commit")
        submodules.append((path, origin, there[2]))
    return tuple(submodules)


def _listed_submodules(tree: Path) -> dict[str, dict[str, str]]:
    """What `.gitmodules` says of each submodule, read by git itself, which follows no include of it. Raises
    StepFailed."""
    listing = tree / ".gitmodules"
    if not os.path.lexists(listing):
        return {}
    if listing.is_symlink() or not listing.is_file() or b"\0" in listing.read_bytes():
        raise StepFailed("its .gitmodules is refused: no file, or no text")
    try:
        entries = run_git(tree, "config", "--no-includes", "--null", "--file", ".gitmodules", "--list")
    except StepFailed as failure:
        raise StepFailed(f"its .gitmodules cannot be read: {failure.what}") from None
    sections: dict[str, dict[str, str]] = {}
    for row in entries.split("\0"):
        key, _, value = row.partition("\n")
        section, _, last = key.rpartition(".")
        if section.startswith("submodule."):
            values = sections.setdefault(section.removeprefix("submodule."), {})
            if values.setdefault(last, value) != value:  # git takes the first in one place and the last in another
                raise StepFailed(f"submodule {section.removeprefix('submodule.')}: {last} is said twice; it is refused")
    return sections
