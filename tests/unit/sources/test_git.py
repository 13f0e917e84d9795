"""Addresses that git is given, and what it may speak to."""

from pathlib import Path
from types import SimpleNamespace

import git as library
import pytest

from stackbuild.core.errors import StepFailed
from stackbuild.sources import git, git_command
from stackbuild.sources.git import in_mirror, require_safe_url
from stackbuild.sources.git_command import run_git
from stackbuild.sources.mirror import Mirror

pytestmark = pytest.mark.usefixtures("empty_mirror")
URL = "https://github.com/org/tool"
COMMIT = "1" * 40
ENDED = SimpleNamespace(returncode=0)


def test_a_list_of_submodules_that_is_no_file_or_no_text_is_refused(tmp_path: Path) -> None:
    assert git.modules(tmp_path, URL) == ()
    listing = tmp_path / ".gitmodules"
    listing.write_bytes(b"a\0")
    with pytest.raises(StepFailed, match="is refused"):
        git.modules(tmp_path, URL)
    listing.unlink()
    for target in ("empty", "nowhere"):
        (tmp_path / "empty").touch()
        listing.symlink_to(target)
        with pytest.raises(StepFailed, match="is refused"):
            git.modules(tmp_path, URL)
        listing.unlink()


@pytest.mark.parametrize(
    "url",
    [
        "https://[::1",
        "https://[x]/y",
        "https://x/../y",
        "file:///etc",
        "https://a:b@x/y",
        "https://token@x/y",
        "ssh://h:-x/a",
        "ssh://a@-h/x",
        "ssh://-a@h/x",
    ],
)
def test_a_hostile_git_url_is_refused_whoever_asks(url: str, tmp_path: Path) -> None:
    with pytest.raises(StepFailed, match="is refused"):
        git.ask(url, "v1", Mirror(tmp_path))
    with pytest.raises(StepFailed, match="is refused"):
        git.copy(git.Revision(url, "v1", COMMIT, Mirror(tmp_path)), tmp_path, submodules=False)


def test_a_secret_in_a_refused_url_is_not_repeated() -> None:
    with pytest.raises(StepFailed) as stopped:
        git.require_safe_url("https://ghp_secret@github.com/o/r")
    assert "secret" not in str(stopped.value)
    assert git.require_safe_url("ssh://git@github.com:22/o/r.git")


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("../sub.git", "https://github.com/org/sub.git"),
        ("../../other/sub", "https://github.com/other/sub"),
        ("./sub", "https://github.com/org/tool/sub"),
        ("https://host/x", "https://host/x"),
    ],
)
def test_a_relative_submodule_leads_from_its_parent(said: str, meant: str) -> None:
    assert git.require_safe_url(git._beside(said, URL)) == meant


@pytest.mark.parametrize("said", ["../../../x", "../../../../x", "../../../../../x"])
def test_a_relative_submodule_does_not_lead_out_of_the_host(said: str) -> None:
    with pytest.raises(StepFailed, match="is refused"):
        git.require_safe_url(git._beside(said, URL))


def test_git_may_speak_to_nothing_but_the_mirror(empty_mirror: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[list[str]] = []
    monkeypatch.setattr(library.Git, "execute", lambda self, words, **more: said.append(words) or SimpleNamespace(proc=ENDED))
    monkeypatch.setattr(git_command, "collect_output", lambda process, seconds, most: (b"", b""))
    (empty_mirror / "org" / "tool.git").mkdir(parents=True)
    (empty_mirror / "org" / "tool.git" / "HEAD").touch()
    run_git(Path("/"), "ls-remote", str(empty_mirror / "org" / "tool.git"), mirror=Mirror(empty_mirror))
    run_git(Path("/"), "ls-remote", URL)
    assert "GIT_ALLOW_PROTOCOL=file" in said[0]
    assert "GIT_ALLOW_PROTOCOL=https:ssh" in said[1]
    assert f"GIT_CONFIG_GLOBAL={git_command.OF_A_MIRROR}" in said[0]
    assert "GIT_CONFIG_GLOBAL=/dev/null" in said[1]
    assert git_command.OF_A_MIRROR.is_file()


@pytest.mark.parametrize(
    "url",
    [
        "ext::sh -c touch% /tmp/x", "file:///etc", "/etc", "http://host/x", "git://host/x", "-u./x", "--upload-pack=x",
        "https://host", "https://host/../x", "https://user:secret@host/x", "https://host/x\n", "https://host/$HOME",
        "https://-oProxyCommand=x/y", "ssh://-oProxyCommand=x/y", "https://host/x y", "https:///x", "HTTPS://host/x",
    ],
)  # fmt: skip
def test_a_git_url_that_is_more_than_an_address_is_refused(url: str) -> None:
    with pytest.raises(StepFailed, match="is refused"):
        require_safe_url(url)


def test_a_mirror_is_found_by_host_and_path(tmp_path: Path) -> None:
    (tmp_path / "github.com/a/b.git").mkdir(parents=True)
    (tmp_path / "github.com/a/b.git/HEAD").touch()
    assert in_mirror("https://github.com/a/b", Mirror(tmp_path)) == tmp_path / "github.com/a/b.git"
    assert in_mirror("https://github.com/a/c", Mirror(tmp_path)) is None


@pytest.mark.parametrize("place", ["github.com/a/b", "a/b.git", "b", "b.git"])
def test_a_mirror_may_be_laid_out_flatter(place: str, tmp_path: Path) -> None:
    (tmp_path / place).mkdir(parents=True)
    (tmp_path / place / "HEAD").touch()
    assert in_mirror("https://github.com/a/b.git", Mirror(tmp_path)) == tmp_path / place
