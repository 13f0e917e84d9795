"""A machine without a network: where a mirror is named, what it lacks is refused and nobody else is asked."""

import hashlib
import subprocess
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import git as library
import pytest

from stackbuild.actions import debian, image, package, wheelhouse
from stackbuild.actions.job import Job
from stackbuild.build import fetch as fetching
from stackbuild.core.cancel import Stopper
from stackbuild.core.errors import LockError, MachineLacks, StepFailed, UsageError
from stackbuild.model.recipe import Source
from stackbuild.recipe.load import load
from stackbuild.sources import git, mirror
from stackbuild.sources.mirror import Mirror

URL = "https://github.com/org/tool"
COMMIT = "1" * 40


@pytest.fixture
def given(empty: Path) -> Mirror:
    return Mirror(empty)


@pytest.fixture(autouse=True)
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty mirror that is named, on a machine where no process can be started."""
    folder = tmp_path / "mirror"
    folder.mkdir()

    def refused(*words: object, **more: object) -> None:
        raise AssertionError(f"a process was started: {words}")

    for name in ("run", "Popen", "call", "check_output"):
        monkeypatch.setattr(subprocess, name, refused)
    return folder


def image_step(given: Mirror) -> None:
    params = {"image": "rocm/dev:1", "digest": f"sha256:{'0' * 64}"}
    image.do(job(params, given))


def base_asked(given: Mirror) -> None:
    wanted = load("debian-13").recipe.base.debian
    assert wanted is not None
    debian.ask(wanted, given)


def job(params: dict[str, str], given: Mirror) -> Job:
    step = SimpleNamespace(key="k", name="base")
    return SimpleNamespace(step=step, params=params, out=Path("/nowhere"), mirror=given)  # type: ignore[return-value]


ASKING: tuple[Callable[[Mirror], object], ...] = (
    lambda given: git.ask(URL, "v1", given),
    lambda given: git.ask(URL, "1234567", given),
    lambda given: git.read(git.Revision(URL, "v1", COMMIT, given), "cmake/deps.txt"),
    lambda given: image.ask("rocm/dev:1", given),
    image_step,
    base_asked,
    lambda given: debian.do(job({}, given)),
    lambda given: package.ask(Source(pypi="six==1.17.0"), given),
    lambda given: package.do(job({"pypi": "six==1.17.0", "sha256": "0" * 64}, given)),
    lambda given: wheelhouse.ask(("numpy",), "3.12", given),
)


@pytest.mark.parametrize("ask", ASKING)
def test_what_the_mirror_lacks_is_refused_and_no_process_asks_a_network(
    ask: Callable[[Mirror], object], given: Mirror
) -> None:
    with pytest.raises(MachineLacks, match="the mirror lacks"):
        ask(given)


def test_a_checkout_from_a_mirror_without_the_repository_is_refused(tmp_path: Path, given: Mirror) -> None:
    with pytest.raises(MachineLacks, match=f"the mirror lacks {URL}"):
        git.checkout(git.Revision(URL, "v1", COMMIT, given), tmp_path, submodules=True)


def test_a_mirror_of_sources_leaves_packages_to_apt_and_pip(empty: Path) -> None:
    given = mirror.mirror_of(empty, {mirror.SCOPE: mirror.SOURCES})
    assert given == Mirror(empty, has_packages=False)
    mirror.refuse_packages(given, "wheels/")  # refuses nothing
    with pytest.raises(MachineLacks, match="the mirror lacks"):
        git.ask(URL, "v1", given)
    with pytest.raises(UsageError, match="STACKBUILD_MIRROR_FOR"):
        mirror.mirror_of(empty, {mirror.SCOPE: "some"})


def test_a_mirror_comes_from_the_option_else_from_the_environment(empty: Path, tmp_path: Path) -> None:
    assert mirror.mirror_of(None, {}) is None
    assert mirror.mirror_of(None, {mirror.VARIABLE: str(empty), mirror.DIGEST: "0" * 64}) == Mirror(empty, True, "0" * 64)
    assert mirror.mirror_of(tmp_path, {mirror.VARIABLE: str(empty)}, f"sha256:{'A' * 64}") == Mirror(tmp_path, True, "a" * 64)
    with pytest.raises(UsageError, match="is no folder"):
        mirror.mirror_of(tmp_path / "gone", {})


def test_a_wheel_that_the_mirror_lacks_is_not_looked_for_elsewhere(
    empty: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (empty / "wheels").mkdir()
    said: list[list[str]] = []

    def pip(words: list[str], **more: object) -> subprocess.CompletedProcess[str]:
        said.append(words)
        return subprocess.CompletedProcess(words, 1, "", "ERROR: No matching distribution found for numpy")

    monkeypatch.setattr(subprocess, "run", pip)
    with pytest.raises(MachineLacks, match=r"the mirror lacks wheels of numpy for Python 3\.12"):
        wheelhouse.ask(("numpy",), "3.12", Mirror(empty))
    assert {"--no-index", str(empty / "wheels")} <= set(said[0])


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
        git.vetted("https://ghp_secret@github.com/o/r")
    assert "secret" not in str(stopped.value)
    assert git.vetted("ssh://git@github.com:22/o/r.git")


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
    assert git.vetted(git._beside(said, URL)) == meant


@pytest.mark.parametrize("said", ["../../../x", "../../../../x", "../../../../../x"])
def test_a_relative_submodule_does_not_lead_out_of_the_host(said: str) -> None:
    with pytest.raises(StepFailed, match="is refused"):
        git.vetted(git._beside(said, URL))


def test_git_may_speak_to_nothing_but_the_mirror(empty: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[list[str]] = []
    monkeypatch.setattr(library.Git, "execute", lambda self, words, **more: said.append(words) or "")
    (empty / "org" / "tool.git").mkdir(parents=True)
    (empty / "org" / "tool.git" / "HEAD").touch()
    git._git(Path("/"), "ls-remote", str(empty / "org" / "tool.git"), mirror=Mirror(empty))
    git._git(Path("/"), "ls-remote", URL)
    assert "GIT_ALLOW_PROTOCOL=file" in said[0]
    assert "GIT_ALLOW_PROTOCOL=https:ssh" in said[1]
    assert f"GIT_CONFIG_GLOBAL={git.OF_A_MIRROR}" in said[0]
    assert "GIT_CONFIG_GLOBAL=/dev/null" in said[1]
    assert git.OF_A_MIRROR.is_file()


def test_a_mirror_named_by_a_relative_path_is_the_same_for_git_that_runs_elsewhere(
    empty: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(empty.parent)
    assert mirror.mirror_of(Path(empty.name), {}) == Mirror(empty)


@pytest.mark.parametrize("digest", [f"sha1:{hashlib.sha1(b'hello').hexdigest()}", hashlib.sha256(b"hello").hexdigest()])
def test_a_failed_bundle_leaves_nothing_and_a_whole_one_has_archives_under_either_digest(
    digest: str, empty: Path, tmp_path: Path
) -> None:
    url = "https://github.com/f/f.zip"
    step = SimpleNamespace(name="a", action="archive", params=(("url", url), ("sha256", digest)))
    store = SimpleNamespace(tree=lambda tree: tmp_path)
    context: Any = SimpleNamespace(stopper=Stopper(), emit=lambda note: None, store=store, mirror=Mirror(empty))
    built: Any = {"a": SimpleNamespace(tree="t")}
    steps: Any = (step,)
    place = empty / "github.com" / "f" / "f.zip"
    place.parent.mkdir(parents=True)
    bundle = tmp_path / "bundle"
    place.write_bytes(b"other")
    with pytest.raises(LockError, match=r"f\.zip"):
        fetching._bundled(bundle, steps, built, context)
    assert not list(bundle.iterdir())
    place.write_bytes(b"hello")
    assert fetching._bundled(bundle, steps, built, context)
    assert (bundle / "github.com/f/f.zip").read_bytes() == b"hello"
    assert (bundle / "bundle.json").is_file()


@pytest.mark.parametrize("card", ["", "[]", "{}", '{"notes": 1, "sha256": "0"}', '{"notes": {}, "sha256": "0"}'])
def test_a_damaged_object_of_a_bundle_is_named(card: str, empty: Path) -> None:
    (empty / "objects").mkdir()
    (empty / "objects" / "k.json").write_text(card)
    with pytest.raises(LockError, match="the mirror is damaged"):
        mirror.unpack_object(Mirror(empty), "k", Path("/nowhere"))


def test_help_and_docs_say_what_objects_are_held_against() -> None:
    from stackbuild.cli.fetch import fetch

    assert "cannot know a base's bytes" in (fetch.__doc__ or "")
    page = (Path(__file__).parents[3] / "docs" / "stacks.md").read_text()
    assert "as if it came from the" not in page
    assert "--digest" in page and "who may write to the bundle can write its index too" in page
