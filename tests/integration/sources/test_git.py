"""Git from repositories that moved, hostile submodules, mirrors."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from stackbuild.actions import git as action
from stackbuild.actions.job import Job
from stackbuild.core.cancel import Stopper
from stackbuild.core.errors import LockError, MachineLacks, StepFailed
from stackbuild.sources import git
from stackbuild.sources.mirror import Mirror
from support.miniatures import repository


def upstream(tmp_path: Path, name: str = "tool") -> tuple[Path, str]:
    tree = tmp_path / name
    (tree / "folder").mkdir(parents=True)
    (tree / "folder" / "file").write_text("text")
    (tree / "link").symlink_to("folder/file")
    bare = tmp_path / "mirror" / "github.com" / "org" / f"{name}.git"
    return bare, repository(tree, bare, ("v1",))


URL = "https://github.com/org/tool"
ENVIRONMENT = {"PATH": os.environ["PATH"], "GIT_CONFIG_GLOBAL": "/dev/null"}


def run_git(tree: Path, *words: str) -> str:
    person = ("-c", "user.name=t", "-c", "user.email=t@t")
    done = subprocess.run(
        ["git", *person, *words], cwd=tree, check=True, env=ENVIRONMENT, capture_output=True, text=True
    )
    return done.stdout.strip()


def take(tmp_path: Path, ref: str, commit: str, **more: bool) -> Path:
    target = tmp_path / "out"
    target.mkdir()
    git.checkout(git.Revision(URL, ref, commit, Mirror(tmp_path / "mirror")), target, submodules=more.get("submodules", False))
    return target


@pytest.mark.parametrize("digits", [7, 12, 40])
def test_the_locked_commit_is_checked_out_without_its_repository(digits: int, tmp_path: Path) -> None:
    _, commit = upstream(tmp_path)
    out = take(tmp_path, "v1", commit[:digits])
    assert sorted(p.name for p in out.iterdir()) == ["folder", "link"]
    assert (out / "link").read_text() == "text"


def test_a_ref_that_is_an_abbreviated_commit_is_found(tmp_path: Path) -> None:
    _, commit = upstream(tmp_path)
    assert git.ask(URL, commit[:8], Mirror(tmp_path / "mirror")) == commit
    assert (take(tmp_path, commit[:8], commit[:8]) / "folder").is_dir()


def test_a_moved_tag_is_refused_and_names_both_commits(tmp_path: Path) -> None:
    upstream(tmp_path)
    with pytest.raises(LockError, match="moved") as stopped:
        take(tmp_path, "v1", "0123456789ab")
    assert "0123456789ab" in str(stopped.value)


def test_a_moved_tag_is_named_while_the_locked_commit_is_built(tmp_path: Path) -> None:
    bare, commit = upstream(tmp_path)
    said: list[str] = []
    given = Mirror(tmp_path / "mirror")

    def built(ref: str) -> None:
        (tmp_path / "out").mkdir()
        params = (("url", URL), ("ref", ref), ("commit", commit), ("submodules", "False"))
        step: Any = SimpleNamespace(key="k", name="source.tool", params=params)
        action.do(Job(step, tmp_path / "out", tmp_path, tmp_path / "log", Stopper(), {}, {}, given, said.append))
        assert (tmp_path / "out" / "link").read_text() == "text"
        shutil.rmtree(tmp_path / "out")

    for ref in ("v1", "main", commit, commit[:8]):
        built(ref)
    assert said == []
    tree = run_git(bare, "rev-parse", "HEAD^{tree}")
    now = run_git(bare, "commit-tree", "-p", "HEAD", "-m", "moved", tree)
    run_git(bare, "tag", "-f", "-a", "-m", "moved", "v1", now)
    run_git(bare, "update-ref", "refs/heads/main", now)
    for ref in ("main", commit, "v1"):
        built(ref)
    assert said == [f"{URL}: the tag v1 was moved to {now}; commit {commit} of the lock is built"]


def test_a_deleted_commit_is_said_to_be_gone(tmp_path: Path) -> None:
    upstream(tmp_path)
    with pytest.raises(LockError, match=r"cannot be fetched|the lock has"):
        take(tmp_path, "gone", "1" * 40)


def test_a_tag_that_is_not_there_is_named(tmp_path: Path) -> None:
    upstream(tmp_path)
    with pytest.raises(StepFailed, match="no tag or branch 'v9'"):
        git.ask(URL, "v9", Mirror(tmp_path / "mirror"))


@pytest.mark.parametrize(
    "entry",
    [
        '[submodule "a"]\n\tpath = a\n\turl = ext::sh -c touch% canary',
        '[submodule "a"]\n\tpath = a\n\turl = --upload-pack=touch canary',
        '[submodule "a"]\n\tpath = a\n\turl = file:///etc',
        '[submodule "a"]\n\tpath = ../a\n\turl = https://github.com/org/sub',
        '[submodule "../../x"]\n\tpath = a\n\turl = https://github.com/org/sub',
        '[submodule "a"]\n\tpath = .git/hooks\n\turl = https://github.com/org/sub',
        '[submodule "a"]\n\tpath = "a\\r"\n\turl = https://github.com/org/sub\r',
        '[submodule "a"]\n\tpath = "a\rb"\n\turl = https://github.com/org/sub',
        '[submodule "a"]\n\tpath = "a b"\n\turl = https://github.com/org/sub',
        '[submodule "a"]\n\tpath = "-a"\n\turl = https://github.com/org/sub',
        '[submodule "a"]\n\tpath\n\turl = https://github.com/org/sub',
        '[submodule "a"]\n\tpath = a\n\turl = "https://github.com/org/sub;touch canary"',
        '[submodule "a"]\n\tpath = a\n\turl = https://github.com/org/sub\n\turl = https://github.com/org/other',
        '[include]\n\tpath = /etc/passwd\n[submodule "a"]\n\tpath = a\n\turl = ext::sh',
        '[submodule "\udcff"]\n\tpath = "\udcff"\n\turl = https://github.com/org/sub',
        "not a git config at all [",
    ],
)
def test_a_hostile_submodule_is_refused_and_nothing_runs(entry: str, tmp_path: Path) -> None:
    tree = tmp_path / "tool"
    tree.mkdir()
    (tree / ".gitmodules").write_text(entry + "\n", errors="surrogateescape")
    commit = repository(tree, tmp_path / "mirror/github.com/org/tool.git", ("v1",))
    with pytest.raises(StepFailed, match=r"refused|cannot be read|no submodule"):
        take(tmp_path, "v1", commit, submodules=True)
    assert not list(tmp_path.rglob("canary"))


LISTING = '[submodule "s"]\n\tpath = libs/s\n\turl = {url}\n'


def with_submodule(tmp_path: Path, sub: str, url: str = "https://github.com/org/sub", listing: str = LISTING) -> str:
    """The repository `tool` of the mirror, with the repository `sub` at `libs/s`; its commit."""
    tree = tmp_path / "tool"
    (tree / "libs" / "s").mkdir(parents=True)
    run_git(tree, "init", "-q", ".")
    (tree / ".gitmodules").write_text(listing.format(url=url), newline="")
    run_git(tree, "update-index", "--add", "--cacheinfo", f"160000,{sub},libs/s")
    run_git(tree, "add", ".gitmodules")
    run_git(tree, "commit", "-q", "-m", "x")
    run_git(tree, "tag", "v1")
    run_git(tree, "clone", "-q", "--bare", ".", str(tmp_path / "mirror/github.com/org/tool.git"))
    return git.ask(URL, "v1", Mirror(tmp_path / "mirror"))


@pytest.mark.parametrize("url", ["https://github.com/org/sub", "../sub.git"])
def test_a_submodule_comes_at_the_commit_of_its_parent(url: str, tmp_path: Path) -> None:
    _, sub = upstream(tmp_path, "sub")
    commit = with_submodule(tmp_path, sub, url)
    out = take(tmp_path, "v1", commit, submodules=True)
    assert (out / "libs" / "s" / "folder" / "file").read_text() == "text"


@pytest.mark.parametrize(
    "listing",
    [
        '[submodule "s"] # theirs\n\tpath = "libs/s" ; quoted\n\turl = "https://github.com/org/sub" # and commented\n',
        "# a remark\n; another\n[Submodule \"a s\"]\n\tPath = libs/\"s\"\n\tURL=https://github.com/org/sub\n\tshallow = true\n",
        '[submodule "s"]\r\n\tpath = libs/s\r\n\turl = https://github.com/org/sub\r\n',
        '[submodule "s"]\n\tpath = libs/s\n\turl = https://github.com/\\\norg/sub\n\tbranch\n[core]\n\tx = 1\n',
        '[submodule "s"]\n\tpath = libs/s\n[submodule "s"]\n\turl = https://github.com/org/sub\n',
    ],
)
def test_a_list_of_submodules_is_read_as_git_reads_it(listing: str, tmp_path: Path) -> None:
    """Quotes, comments, continued lines, letter case, a section in two parts, what is not about submodules."""
    _, sub = upstream(tmp_path, "sub")
    commit = with_submodule(tmp_path, sub, listing=listing)
    out = take(tmp_path, "v1", commit, submodules=True)
    assert (out / "libs" / "s" / "folder" / "file").read_text() == "text"


def test_an_empty_list_of_submodules_names_none(tmp_path: Path) -> None:
    (tmp_path / ".gitmodules").touch()
    assert git.modules(tmp_path, URL) == ()


def test_a_bundle_has_submodules_where_they_are_asked_for_and_else_needs_none(tmp_path: Path) -> None:
    bare, sub = upstream(tmp_path, "sub")
    commit = with_submodule(tmp_path, sub)
    git.copy(git.Revision(URL, "v1", commit, Mirror(tmp_path / "mirror")), tmp_path / "both", submodules=True)
    assert git.ask("https://github.com/org/sub", sub[:8], Mirror(tmp_path / "both")) == sub
    shutil.rmtree(bare)
    git.copy(git.Revision(URL, "v1", commit, Mirror(tmp_path / "mirror")), tmp_path / "alone", submodules=False)
    assert git.ask(URL, "v1", Mirror(tmp_path / "alone")) == commit
    with pytest.raises(MachineLacks, match=r"the mirror lacks https://github\.com/org/sub"):
        git.copy(git.Revision(URL, "v1", commit, Mirror(tmp_path / "mirror")), tmp_path / "again", submodules=True)


def without_a_ref(tmp_path: Path, how: str) -> str:
    """A mirror whose repository no branch or tag leads into, as `git fetch URL COMMIT` leaves it; its commit."""
    bare, commit = upstream(tmp_path)
    origin = tmp_path / "origin.git"
    bare.rename(origin)
    place = tmp_path / "main" if how == "worktree" else bare.with_name("tool")
    place.mkdir()
    run_git(place, "init", "-q", ".")
    run_git(place, "fetch", "-q", "--depth=1", "--no-tags", str(origin), commit)
    if how == "detached":
        run_git(place, "checkout", "-q", "--detach", "FETCH_HEAD")
    if how == "worktree":
        run_git(place, "worktree", "add", "-q", "--detach", str(bare.with_name("tool")), "FETCH_HEAD")
    return commit


@pytest.mark.parametrize("how", ["fetched", "detached", "worktree"])
def test_an_abbreviated_commit_is_found_in_a_mirror_without_branches_and_tags(how: str, tmp_path: Path) -> None:
    commit, mirror = without_a_ref(tmp_path, how), Mirror(tmp_path / "mirror")
    short = commit[:8]
    assert git.ask(URL, short, mirror) == commit
    assert (take(tmp_path, short, commit) / "link").read_text() == "text"
    assert git.read(git.Revision(URL, short, short, mirror), "folder/file") == "text"
    git.copy(git.Revision(URL, short, short, mirror), tmp_path / "bundle", submodules=False)
    assert git.ask(URL, short, Mirror(tmp_path / "bundle")) == commit
    with pytest.raises(LockError, match="has no commit 0123456"):
        git.ask(URL, "0123456", mirror)


def test_objects_that_a_mirror_only_shows_are_not_taken_unchecked(tmp_path: Path) -> None:
    commit = without_a_ref(tmp_path, "fetched")
    (target := tmp_path / "out").mkdir()
    git._begin(target, URL, Mirror(tmp_path / "mirror"))
    git._expand(target, URL, commit[:8], Mirror(tmp_path / "mirror"))
    assert not (target / ".git/objects/info/alternates").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
@pytest.mark.parametrize("ref", ["v1", "short", "full"])
def test_a_mirror_that_another_user_owns_is_read(ref: str, tmp_path: Path) -> None:
    bare, commit = upstream(tmp_path)
    for place in (bare, *bare.rglob("*")):
        os.chown(place, 1234, 1234)
    ref = {"short": commit[:8], "full": commit}.get(ref, ref)
    assert git.ask(URL, ref, Mirror(tmp_path / "mirror")) == commit
    assert (take(tmp_path, ref, commit) / "link").read_text() == "text"


def test_git_reads_neither_hooks_nor_configuration_of_the_caller(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, commit = upstream(tmp_path)
    home = tmp_path / "home"
    hooks = home / "hooks"
    hooks.mkdir(parents=True)
    (hooks / "post-checkout").write_text(f"#!/bin/sh\ntouch {tmp_path}/canary\n")
    (hooks / "post-checkout").chmod(0o755)
    (home / ".gitconfig").write_text(f"[core]\n\thooksPath = {hooks}\n")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "core.hooksPath")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", str(hooks))
    take(tmp_path, "v1", commit)
    assert not (tmp_path / "canary").exists()
    assert not (tmp_path / "elsewhere").exists()


def test_a_bundle_of_git_can_be_taken_from_again(tmp_path: Path) -> None:
    _, commit = upstream(tmp_path)
    git.copy(git.Revision(URL, "v1", commit, Mirror(tmp_path / "mirror")), tmp_path / "bundle", submodules=False)
    target = tmp_path / "again"
    target.mkdir()
    assert git.checkout(git.Revision(URL, "v1", commit, Mirror(tmp_path / "bundle")), target, submodules=False) == commit
