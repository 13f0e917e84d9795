"""What cannot work is refused by the verbs that only look, as by a real build."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from stackbuild.__main__ import main
from stackbuild.build.build import build
from stackbuild.build.dry_run import dry
from stackbuild.build.fetch import fetch_all
from stackbuild.build.order import Order, open_context
from stackbuild.core.errors import LockError, PlanError
from stackbuild.core.resources import folder
from stackbuild.model.choice import Choice
from stackbuild.model.events import Emit, Event, StepStarted
from stackbuild.model.loaded_recipe import LoadedRecipe
from stackbuild.model.lock import questions_digest
from stackbuild.plan.current import current_plan
from stackbuild.recipe.compatibility import doubts
from stackbuild.recipe.load import load
from stackbuild.recipe.prepare import prepare_loaded


@pytest.fixture
def impossible(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LoadedRecipe:
    """rocm-6.4 with a target that its ROCm has no code objects for. Its lock stays fresh: gfx is no question of it."""
    monkeypatch.setenv("STACKBUILD_STORE", str(tmp_path / "store"))
    text = (folder("recipes") / "rocm-6.4.yaml").read_text()
    assert "gfx: [gfx908, gfx90a," in text
    (tmp_path / "mine.yaml").write_text(text.replace("gfx: [gfx908, gfx90a,", "gfx: [gfx908, gfx950, gfx90a,"))
    shutil.copy(folder("recipes") / "rocm-6.4.lock.yaml", tmp_path / "mine.lock.yaml")
    return load(str(tmp_path / "mine.yaml"))


def test_plan_refuses_what_cannot_work(impossible: LoadedRecipe) -> None:
    with (
        pytest.raises(PlanError, match=r"ROCm 6\.4\.4 has no gfx950"),
        current_plan(prepare_loaded(impossible, Choice(python=("3.12",)))),
    ):
        pass


@pytest.mark.parametrize("words", [["plan"], ["build", "--dry-run"], ["build", "--runner", "fake"]])
def test_a_rocm_that_nobody_knows_is_named_and_not_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    assert doubts(load("rocm-7.2")) == ()
    monkeypatch.setenv("STACKBUILD_STORE", str(tmp_path / "store"))
    text = (folder("recipes") / "debian-13.yaml").read_text()
    recipe = tmp_path / "mine.yaml"
    recipe.write_text(f'rocm: "12.0"\n{text}')
    shutil.copy(folder("recipes") / "debian-13.lock.yaml", tmp_path / "mine.lock.yaml")
    (doubt,) = doubts(load(str(recipe)))
    assert "ROCm 12.0 is not in the compatibility table" in doubt
    monkeypatch.setattr("sys.argv", ["stackbuild", *words, "--recipe", str(recipe)])
    with pytest.raises(SystemExit) as left:
        main()
    assert not left.value.code
    assert "warning: ROCm 12.0 is not in the compatibility table" in " ".join(capsys.readouterr().err.split())


def test_a_source_alone_needs_no_base(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STACKBUILD_STORE", str(tmp_path / "store"))
    loaded = load("debian-13")
    order = Order(Choice(until="source.kernels"), runner="fake")
    began: list[str] = []

    def listen(event: Event) -> None:
        if isinstance(event, StepStarted):
            began.append(event.step)

    with open_context(loaded, order, (listen,)) as context:
        build(prepare_loaded(loaded, order.choice), order, context)
    assert began == ["source.kernels"]


def built(loaded: LoadedRecipe, listen: Emit) -> None:
    order = Order(runner="fake")
    with open_context(loaded, order, (listen,)) as context:
        build(prepare_loaded(loaded, order.choice), order, context)


def fetched(loaded: LoadedRecipe, listen: Emit) -> None:
    fetch_all(loaded, Order(runner="fake"), None, (listen,))


@pytest.mark.parametrize("verb", [built, fetched])
def test_what_the_lock_does_not_answer_is_refused_before_anything_begins(
    verb: Callable[[LoadedRecipe, Emit], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The base's image, a commit, and the dependencies of a source: as long as they are open no action is asked for them."""
    monkeypatch.setenv("STACKBUILD_STORE", str(tmp_path / "store"))
    recipe = tmp_path / "mine.yaml"
    shutil.copy(folder("recipes") / "rocm-7.2.yaml", recipe)
    question = questions_digest(load(str(recipe)).recipe)
    recipe.with_suffix(".lock.yaml").write_text(f'schema: 1\nasked: "{question}"\npackages: {{}}\n')
    began: list[Event] = []
    with pytest.raises(LockError, match=r"does not answer for base, source\.migraphx, ") as stopped:
        verb(load(str(recipe)), began.append)
    assert "source.onnxruntime.deps" in stopped.value.what and "stackbuild lock" in stopped.value.next
    assert not any(isinstance(event, StepStarted) for event in began)


def test_a_dry_run_refuses_what_cannot_work(impossible: LoadedRecipe) -> None:
    with pytest.raises(PlanError, match=r"ROCm 6\.4\.4 has no gfx950") as stopped:
        dry(prepare_loaded(impossible, Choice(python=("3.12",))), Order())
    assert f"recipe check --recipe {impossible.given_name}" in stopped.value.next
