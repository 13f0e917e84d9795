"""`stackbuild lock` where little or nothing can be reached: answers are kept, and nothing is kept in silence."""

import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from stackbuild.__main__ import main
from stackbuild.core.errors import LockError, MachineLacks, PlanError, StepFailed
from stackbuild.core.resources import folder
from stackbuild.lock import dependencies
from stackbuild.lock.update import LockUpdate, update
from stackbuild.model.loaded_recipe import LoadedRecipe
from stackbuild.model.lock import Dep, Lock, questions
from stackbuild.recipe.compatibility import refuse_impossible
from stackbuild.recipe.consistency import tree_versions
from stackbuild.recipe.load import load
from stackbuild.recipe.lock_file import parse_lock, read_lock, write_lock
from stackbuild.sources import git, image_registry, mirror
from stackbuild.sources.mirror import mirror_of


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of rocm-7.2 with its lock, before an empty mirror."""
    (tmp_path / "mirror").mkdir()
    monkeypatch.setenv(mirror.VARIABLE, str(tmp_path / "mirror"))
    monkeypatch.delenv(mirror.SCOPE, raising=False)
    for end in (".yaml", ".lock.yaml"):
        shutil.copy(folder("recipes") / f"rocm-7.2{end}", tmp_path / f"mine{end}")
    return tmp_path / "mine.yaml"


def locked(path: Path) -> tuple[Lock, LockUpdate]:
    """The lock before and the one made now."""
    loaded = load(str(path))
    return parse_lock(loaded), update(loaded, mirror_of(None, os.environ))


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def test_every_question_that_could_not_be_asked_is_named_and_keeps_its_answer(mine: Path) -> None:
    before, made = locked(mine)
    assert (made.lock.image, made.lock.commits, made.lock.wheelhouse) == (
        before.image,
        before.commits,
        before.wheelhouse,
    )
    said = "\n".join(made.unreachable)
    for name in ("base.image", "sources.migraphx", "wheelhouse.3.12"):
        assert f"{name} stays as it was: the mirror lacks" in said


def test_a_stale_lock_loses_the_answers_to_changed_questions_alone(mine: Path) -> None:
    edit(mine, f"ref: {load(str(mine)).recipe.sources['migraphx'].ref}", "ref: rocm-0.0.0")
    before, made = locked(mine)
    assert before.commits.keys() - made.lock.commits.keys() == {"migraphx"}
    assert (made.lock.image, made.lock.wheelhouse) == (before.image, before.wheelhouse)
    assert any(line.startswith("sources.migraphx is open") for line in made.unreachable)


def test_a_tag_that_is_gone_leaves_its_question_open_and_the_other_answers_are_written(
    mine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ask(url: str, ref: str, mirror: object) -> str:
        if "AMDMIGraphX" in url:
            raise StepFailed(f"{url} has no tag or branch {ref!r}")
        return "7" * 40

    monkeypatch.setattr(git, "ask", ask)
    kept = locked(mine)[1]
    assert kept.lock.commits["rocmlir"] == "7" * 40
    assert kept.lock.commits["migraphx"] == parse_lock(load(str(mine))).commits["migraphx"]
    assert any("sources.migraphx stays as it was, and has no answer now" in line for line in kept.unreachable)
    edit(mine, f"ref: {load(str(mine)).recipe.sources['migraphx'].ref}", "ref: rocm-0.0.0")
    made = locked(mine)[1]
    assert "migraphx" not in made.lock.commits and made.lock.commits["rocmlir"] == "7" * 40
    assert any(line.startswith("sources.migraphx is open: https://github.com/ROCm") for line in made.unreachable)


def test_what_cannot_be_asked_leaves_the_lock_as_it_was(mine: Path) -> None:
    loaded = load(str(mine))
    write_lock(read_lock(loaded), loaded)
    was = loaded.lock_path.read_text()
    write_lock(locked(mine)[1].lock, loaded)
    assert loaded.lock_path.read_text() == was


def test_what_the_sources_say_they_are_is_read_and_kept_for_the_same_commit(
    mine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commits = parse_lock(load(str(mine))).commits
    monkeypatch.setattr(git, "ask", lambda url, ref, mirror: next(c for n, c in commits.items() if n in url.lower()))
    texts = {"VERSION_NUMBER": "1.21.0\n", "CMakeLists.txt": "rocm_setup_version(VERSION 2.15.0)"}
    monkeypatch.setattr(git, "read", lambda revision, path: texts.get(path, ""))
    made = locked(mine)[1].lock
    assert made.versions == {"onnxruntime": "1.21.0", "migraphx": "2.15.0"}
    loaded = load(str(mine))
    write_lock(made, loaded)
    (found,) = tree_versions(loaded.recipe, made)
    assert found.rule == "SB-STACK-TREE-VERSION" and "says that it is 1.21.0" in found.found
    with pytest.raises(PlanError, match=r"says that it is 1\.21\.0"):
        refuse_impossible(loaded, made)

    def nothing(revision: git.Revision, path: str) -> str:
        raise MachineLacks("no network")

    monkeypatch.setattr(git, "read", nothing)
    assert locked(mine)[1].lock.versions == made.versions


def test_a_changed_image_does_not_keep_the_digest_of_the_one_before(mine: Path) -> None:
    image = load(str(mine)).recipe.base.image or ""
    edit(mine, image, f"{image}-other")
    assert locked(mine)[1].lock.image == ""


def test_the_command_names_them_and_exits_3(
    mine: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["stackbuild", "lock", "--recipe", str(mine)])
    with pytest.raises(SystemExit) as left:
        main()
    assert left.value.code == 3
    said = capsys.readouterr().err
    assert "could not be asked:" in said and "next: check the network" in said


def test_a_lock_that_says_the_same_is_not_written(
    mine: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """An older form of the same answers stays, too: nobody wants to commit what no answer moved."""
    path = load(str(mine)).lock_path
    path.write_text("# an older form\n" + path.read_text())
    was = path.read_text()
    monkeypatch.setattr("sys.argv", ["stackbuild", "lock", "--recipe", str(mine)])
    with pytest.raises(SystemExit):
        main()
    assert path.read_text() == was and f"{path} stays as it is" in capsys.readouterr().err.replace("\n", " ")


def test_downloads_are_kept_for_the_same_commit_and_digests_for_the_same_url(
    mine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded = load(str(mine))
    known = Dep(name="a", url="https://x/a.zip", digest=f"sha256:{'a' * 64}")
    before = parse_lock(loaded).model_copy(update={"deps": {"onnxruntime": (known,)}})
    write_lock(before, loaded)
    assert update(loaded, mirror_of(None, os.environ)).lock.deps == {"onnxruntime": (known,)}
    bare = known.model_copy(update={"digest": ""})
    monkeypatch.setattr(dependencies, "ask", lambda recipe, name, commit, mirror: (bare,))
    made = update(loaded, mirror_of(None, os.environ))
    assert made.lock.deps["onnxruntime"] == (known,)
    assert any("https://x/a.zip stays as it was" in line for line in made.unreachable)


def test_a_commit_that_is_gone_keeps_the_downloads_that_were_read_in_it(
    mine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A mirror's repository without the commit, or one that upstream deleted: the same question has its old answer."""
    loaded = load(str(mine))
    known = Dep(name="a", url="https://x/a.zip", digest=f"sha256:{'a' * 64}")
    write_lock(parse_lock(loaded).model_copy(update={"deps": {"onnxruntime": (known,)}}), loaded)

    def gone(recipe: object, name: str, commit: str, mirror: object) -> tuple[Dep, ...]:
        raise LockError(f"commit {commit} of {name} cannot be fetched", next="find it elsewhere")

    monkeypatch.setattr(dependencies, "ask", gone)
    made = update(loaded, mirror_of(None, os.environ))
    assert made.lock.deps["onnxruntime"] == (known,)
    assert any("deps.onnxruntime stays as it was" in line for line in made.unreachable)


def test_an_archive_that_cannot_be_read_keeps_what_it_named(mine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The abseil that protobuf's archive names: without its row the configure phase would clone it."""
    for end in (".yaml", ".lock.yaml"):
        shutil.copy(folder("recipes") / f"rocm-10.1{end}", mine.with_name(f"mine{end}"))
    loaded = load(str(mine))
    before = parse_lock(loaded).deps["migraphx-ep"]
    assert [dep.name for dep in before[4:6]] == ["protobuf", "absl"]
    bare = tuple(dep.model_copy(update={"digest": ""}) for dep in before if dep.name != "absl")
    monkeypatch.setattr(dependencies, "ask", lambda recipe, name, commit, mirror: bare if name == "migraphx-ep" else ())
    assert update(loaded, mirror_of(None, os.environ)).lock.deps["migraphx-ep"] == before
    newer = tuple(dep.model_copy(update={"url": dep.url.replace("v34.1", "v35.0")}) for dep in bare)
    monkeypatch.setattr(dependencies, "ask", lambda recipe, name, commit, mirror: newer if name == "migraphx-ep" else ())
    rows = update(loaded, mirror_of(None, os.environ)).lock.deps["migraphx-ep"]
    assert "absl" not in [dep.name for dep in rows]


def test_what_means_something_else_than_in_the_lock_before_is_named_with_both(
    mine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded = load(str(mine))
    before = parse_lock(loaded)
    url, one, two = "https://x/a.zip", f"sha256:{'a' * 64}", f"sha256:{'b' * 64}"
    then = before.model_copy(
        update={
            "image": one,
            "commits": {"migraphx": "1" * 40, "rocmlir": "2" * 9},
            "deps": {"onnxruntime": (Dep(name="a", url=url, digest=one),)},
        }
    )
    write_lock(then, loaded)
    monkeypatch.setattr(image_registry, "ask", lambda name, mirror: two)
    monkeypatch.setattr(git, "ask", lambda url, ref, mirror: ("2" if "rocMLIR" in url else "3") * 40)
    rows = {"onnxruntime": (Dep(name="a", url=url, digest=two),)}
    monkeypatch.setattr(dependencies, "ask", lambda recipe, name, commit, mirror: rows.get(name, ()))
    made = update(loaded, mirror_of(None, os.environ))
    assert set(made.moves) == {
        f"sources.migraphx: {'1' * 40} → {'3' * 40}",
        f"base.image: {one} → {two}",
        f"deps.onnxruntime: {url}: {one} → {two}",
    }
    edit(mine, f"ref: {loaded.recipe.sources['migraphx'].ref}", "ref: rocm-0.0.0")
    assert not any("migraphx" in line for line in update(load(str(mine)), mirror_of(None, os.environ)).moves)
    write_lock(made.lock, loaded)
    edit(mine, "ref: rocm-0.0.0", f"ref: {loaded.recipe.sources['migraphx'].ref}")
    assert update(loaded, mirror_of(None, os.environ)).moves == ()


def test_the_header_names_the_recipe_that_was_given(mine: Path) -> None:
    loaded = load(str(mine))
    write_lock(read_lock(loaded), loaded)
    first = loaded.lock_path.read_text().splitlines()[0]
    assert "answered to mine.yaml" in first
    assert f"--recipe {mine}" in first


@pytest.mark.parametrize(
    "name", [p.stem for p in folder("recipes").glob("*.yaml") if p.with_suffix(".lock.yaml").exists()]
)
def test_bundled_locks_say_which_questions_they_answer(name: str) -> None:
    loaded: LoadedRecipe = load(name)
    assert read_lock(loaded).questions == questions(loaded.recipe)


def test_a_recipe_without_a_lock_is_asked_for_everything(mine: Path) -> None:
    mine.with_suffix(".lock.yaml").unlink()
    with pytest.raises(MachineLacks, match="the mirror lacks wheels"):
        update(load(str(mine)), mirror_of(None, os.environ))


@pytest.mark.parametrize(
    "name", [p.stem for p in folder("recipes").glob("*.yaml") if p.with_suffix(".lock.yaml").exists()]
)
def test_a_bundled_lock_is_written_as_it_is_read(name: str, tmp_path: Path) -> None:
    loaded = load(name)
    copy = replace(loaded, lock_path=tmp_path / loaded.lock_path.name)
    write_lock(read_lock(loaded), copy)
    was, now = (_rows(path.read_text()) for path in (loaded.lock_path, copy.lock_path))
    assert now == was


def _rows(text: str) -> list[str]:
    """The lines of a lock without comments, and without empty answers, which older locks do not have."""
    return [line for line in text.splitlines() if line[0] != "#" and not line.endswith(": {}")]
