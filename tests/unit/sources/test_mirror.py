"""A machine without a network: where a mirror is named, what it lacks is refused and nobody else is asked."""

import subprocess
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from stackbuild.actions import debian, image, package
from stackbuild.actions.job import Job
from stackbuild.core.errors import LockError, MachineLacks, UsageError
from stackbuild.recipe.load import load
from stackbuild.sources import debian_archive, git, image_registry, mirror, python_index
from stackbuild.sources.mirror import Mirror
from stackbuild.sources.stored_outputs import unpack_object
from support.paths import ROOT

pytestmark = pytest.mark.usefixtures("empty_mirror")
URL = "https://github.com/org/tool"
COMMIT = "1" * 40


@pytest.fixture
def given(empty_mirror: Path) -> Mirror:
    return Mirror(empty_mirror)


def image_step(given: Mirror) -> None:
    params = {"image": "rocm/dev:1", "digest": f"sha256:{'0' * 64}"}
    image.do(job(params, given))


def base_asked(given: Mirror) -> None:
    wanted = load("debian-13").recipe.base.debian
    assert wanted is not None
    debian_archive.ask(wanted, given)


def job(params: dict[str, str], given: Mirror) -> Job:
    step = SimpleNamespace(key="k", name="base")
    return SimpleNamespace(step=step, params=params, out=Path("/nowhere"), mirror=given)  # type: ignore[return-value]


ASKING: tuple[Callable[[Mirror], object], ...] = (
    lambda given: git.ask(URL, "v1", given),
    lambda given: git.ask(URL, "1234567", given),
    lambda given: git.read(git.Revision(URL, "v1", COMMIT, given), "cmake/deps.txt"),
    lambda given: image_registry.ask("rocm/dev:1", given),
    image_step,
    base_asked,
    lambda given: debian.do(job({}, given)),
    lambda given: python_index.ask_sdist("six==1.17.0", given),
    lambda given: package.do(job({"pypi": "six==1.17.0", "sha256": "0" * 64}, given)),
    lambda given: python_index.ask(("numpy",), "3.12", given),
)


@pytest.mark.parametrize("ask", ASKING)
def test_what_the_mirror_lacks_is_refused_and_no_process_asks_a_network(
    ask: Callable[[Mirror], object], given: Mirror
) -> None:
    with pytest.raises(MachineLacks, match="the mirror lacks"):
        ask(given)


def test_a_checkout_from_a_mirror_without_the_repository_is_refused(tmp_path: Path, given: Mirror) -> None:
    with pytest.raises(MachineLacks, match=f"the mirror lacks {URL}") as stopped:
        git.checkout(git.Revision(URL, "v1", COMMIT, given), tmp_path, submodules=True)
    place = given.folder / URL.removeprefix("https://").removesuffix(".git")
    assert f"git clone --mirror {URL} {place}.git" in stopped.value.next


def test_a_mirror_of_sources_leaves_packages_to_apt_and_pip(empty_mirror: Path) -> None:
    given = mirror.mirror_of(empty_mirror, {mirror.SCOPE: mirror.SOURCES})
    assert given == Mirror(empty_mirror, has_packages=False)
    mirror.refuse_packages(given, "wheels/")  # refuses nothing
    with pytest.raises(MachineLacks, match="the mirror lacks"):
        git.ask(URL, "v1", given)
    with pytest.raises(UsageError, match="STACKBUILD_MIRROR_FOR"):
        mirror.mirror_of(empty_mirror, {mirror.SCOPE: "some"})


def test_a_mirror_comes_from_the_option_else_from_the_environment(empty_mirror: Path, tmp_path: Path) -> None:
    assert mirror.mirror_of(None, {}) is None
    assert mirror.mirror_of(None, {mirror.VARIABLE: str(empty_mirror), mirror.DIGEST: "0" * 64}) == Mirror(
        empty_mirror, True, "0" * 64
    )
    assert mirror.mirror_of(tmp_path, {mirror.VARIABLE: str(empty_mirror)}, f"sha256:{'A' * 64}") == Mirror(
        tmp_path, True, "a" * 64
    )
    with pytest.raises(UsageError, match="is not a folder"):
        mirror.mirror_of(tmp_path / "gone", {})


def test_a_wheel_that_the_mirror_lacks_is_not_looked_for_elsewhere(
    empty_mirror: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (empty_mirror / "wheels").mkdir()
    said: list[list[str]] = []

    def pip(words: list[str], **more: object) -> subprocess.CompletedProcess[str]:
        said.append(words)
        return subprocess.CompletedProcess(words, 1, "", "ERROR: No matching distribution found for numpy")

    monkeypatch.setattr(python_index, "run_tool", pip)
    with pytest.raises(MachineLacks, match=r"the mirror lacks wheels of numpy for Python 3\.12"):
        python_index.ask(("numpy",), "3.12", Mirror(empty_mirror))
    assert {"--no-index", str(empty_mirror / "wheels")} <= set(said[0])


def test_a_mirror_named_by_a_relative_path_is_the_same_for_git_that_runs_elsewhere(
    empty_mirror: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(empty_mirror.parent)
    assert mirror.mirror_of(Path(empty_mirror.name), {}) == Mirror(empty_mirror)


@pytest.mark.parametrize("card", ["", "[]", "{}", '{"notes": 1, "sha256": "0"}', '{"notes": {}, "sha256": "0"}'])
def test_a_damaged_object_of_a_bundle_is_named(card: str, empty_mirror: Path) -> None:
    (empty_mirror / "objects").mkdir()
    (empty_mirror / "objects" / "k.json").write_text(card)
    with pytest.raises(LockError, match="the mirror is damaged"):
        unpack_object(Mirror(empty_mirror), "k", Path("/nowhere"))


def test_help_and_docs_say_what_objects_are_held_against() -> None:
    from stackbuild.cli.fetch import fetch

    assert "The lock has no checksum of the base" in " ".join((fetch.__doc__ or "").split())
    page = " ".join((ROOT / "docs" / "stacks.md").read_text().split())
    assert "as if it came from the" not in page
    assert "--digest" in page and "who may write to the bundle can write its index too" in page
