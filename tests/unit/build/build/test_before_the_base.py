"""What a build says and refuses before it makes a base: an open lock, and hours that nobody expected."""

import importlib
import io
import shutil
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from stackbuild.build.build import build, long_build
from stackbuild.build.context import StepOutput
from stackbuild.build.order import Order
from stackbuild.cli.build import _agrees
from stackbuild.core.errors import LockError, MachineLacks, PlanError
from stackbuild.core.resources import folder
from stackbuild.model.choice import Choice
from stackbuild.model.events import Event, Note, RunFinished
from stackbuild.model.lock import questions_digest
from stackbuild.model.plan import Plan
from stackbuild.plan.current import CurrentPlan, plan_now
from stackbuild.plan.resolve import CONFIGURE
from stackbuild.recipe.load import load
from stackbuild.recipe.lock_file import parse_lock, write_lock
from stackbuild.recipe.prepare import prepare
from stackbuild.sources.mirror import Mirror

MODULE = importlib.import_module("stackbuild.build.build")


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of debian-rocm-7.2 with its lock, a store with nothing in it, and a schedule that must not be reached."""
    monkeypatch.setenv("STACKBUILD_STORE", str(tmp_path / "store"))
    for end in (".yaml", ".lock.yaml"):
        shutil.copy(folder("recipes") / f"debian-rocm-7.2{end}", tmp_path / f"mine{end}")
    return tmp_path / "mine.yaml"


def empty_store(folder: Path) -> SimpleNamespace:
    return SimpleNamespace(find=lambda key: None, find_all=lambda keys: {}, root=folder / "store")


def begin(
    path: Path, monkeypatch: pytest.MonkeyPatch, first_plan: CurrentPlan | None = None, order: Order = Order()
) -> list[object]:
    """What a build of that recipe emits until it wants its base; the schedule stops it there."""

    def schedule(*asked: object) -> None:
        raise StopIteration

    said: list[object] = []
    monkeypatch.setattr(MODULE, "schedule", schedule)
    monkeypatch.setattr(MODULE, "recover", lambda context: None)
    store = empty_store(path.parent)
    with pytest.raises(StopIteration):
        build(prepare(str(path), order.choice), order, SimpleNamespace(store=store, emit=said.append, find_record=store.find, sharing=None, placement=None, given_name=str(path)), first_plan)  # type: ignore[arg-type]
    return said


def test_the_hours_are_said_before_the_base_is_made(mine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda place: SimpleNamespace(free=400 << 30))
    (said,) = begin(mine, monkeypatch)
    assert said == Note("info", "never built here: about 3.6 hours of one core, a guess (migraphx 2); measured on 2026-11-23, two busy cores [docs/stacks.md] (onnxruntime.cp314 1.6)")


def test_a_disk_that_may_be_too_small_is_said_before_the_base_is_made(
    mine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda place: SimpleNamespace(free=9 << 30))
    warning = begin(mine, monkeypatch)[0]
    assert isinstance(warning, Note) and warning.level == "warning" and warning.text.startswith("9 GiB free")


def test_a_missing_tool_is_refused_before_the_base_is_made(mine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    have = shutil.which
    monkeypatch.setattr("shutil.which", lambda tool, *more: None if tool == "mmdebstrap" else have(tool, *more))
    with pytest.raises(MachineLacks, match="`mmdebstrap` is not installed") as stopped:
        begin(mine, monkeypatch)
    assert stopped.value.next == "apt-get install mmdebstrap"


def test_an_open_question_is_refused_before_the_base_is_made(mine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = load(str(mine))
    lock = parse_lock(loaded)
    write_lock(lock.model_copy(update={"deps": {"migraphx": lock.deps["migraphx"]}}), loaded)
    with pytest.raises(LockError, match=r"does not answer for source\.onnxruntime\.deps"):
        begin(mine, monkeypatch)


ORDER_OF_SOURCES = Order(mirror=Mirror(Path("/nowhere"), has_packages=False))


def test_all_that_a_mirror_lacks_is_refused_before_the_base_is_made(
    mine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(MachineLacks, match="the mirror lacks 17 things") as stopped:
        begin(mine, monkeypatch, order=ORDER_OF_SOURCES)
    lines = stopped.value.what.splitlines()
    assert {f"github.com/{name}.git" for name in ("ROCm/AMDMIGraphX", "microsoft/onnxruntime", "pybind/pybind11")} <= set(lines)
    assert "github.com/onnx/onnx/archive/refs/tags/v1.17.0.zip" in lines and len(lines) == 18


def test_with_keep_going_what_a_mirror_lacks_is_a_warning(mine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said = begin(mine, monkeypatch, order=replace(ORDER_OF_SOURCES, keep_going=True))
    assert any(isinstance(note, Note) and note.level == "warning" and "v1.17.0.zip" in note.text for note in said)


def test_a_base_is_not_made_where_nothing_can_be_configured_on_it(
    mine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, _, after = mine.read_text().partition("  wheel:\n")[0].partition("components:\n")
    after = after.replace("    kind: migraphx\n", "    kind: migraphx\n    needs: [tool]\n")
    mine.write_text(f"{before}components:\n  tool: {{kind: script, run: [[make]]}}\n{after}")
    shorter = load(str(mine))
    write_lock(parse_lock(shorter).model_copy(update={"asked": questions_digest(shorter.recipe)}), shorter)
    order = Order(Choice(until=CONFIGURE))
    begin(mine, monkeypatch, order=order)  # ONNX Runtime is configured against a stand-in for MIGraphX
    mine.write_text(mine.read_text().replace("    needs: [migraphx]\n", "    needs: [migraphx, tool]\n"))
    with pytest.raises(PlanError, match=r"2 of 2 steps are not configured: migraphx cannot be configured") as stopped:
        begin(mine, monkeypatch, order=order)
    assert stopped.value.next == f"run `stackbuild build -r {mine} --until tool`, then this once more"


def test_a_base_that_was_made_first_counts_as_made(mine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The plan finds it in the store by then; `--until base` said "nothing to do" after it had made one."""

    def schedule(plan: Plan, context: object, limits: object, records: object = None) -> tuple[object, tuple[()]]:
        how = "run" if records is None else "cached"
        return {s.name: StepOutput(s.name, s.key, "tree", how, 1.0) for s in plan.steps}, ()  # type: ignore[arg-type]

    monkeypatch.setattr(MODULE, "schedule", schedule)
    monkeypatch.setattr(MODULE, "recover", lambda context: None)
    monkeypatch.setattr(MODULE, "_announce", lambda *words: None)
    said: list[Event] = []
    store = empty_store(mine.parent)
    context = SimpleNamespace(
        store=store, emit=said.append, find_record=store.find, sharing=None, placement=None, run="run"
    )
    order = Order(Choice(until="base"))
    outputs = build(prepare(str(mine), order.choice), order, context)  # type: ignore[arg-type]
    assert outputs.ran == 1
    (finished,) = (event for event in said if isinstance(event, RunFinished))
    assert (finished.ran, finished.cached) == (1, 0)


def question(recipe: str, order: Order, folder: Path) -> str:
    store = empty_store(folder)
    return long_build(plan_now(prepare(recipe, order.choice), store), order, store)  # type: ignore[arg-type]


@pytest.mark.parametrize("is_asked", [True, False])
def test_a_build_plans_once(is_asked: bool, mine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    for module in (MODULE, importlib.import_module("stackbuild.plan.current")):
        whole = module.resolve_prepared
        monkeypatch.setattr(module, "resolve_prepared", lambda *words, whole=whole: calls.append(words) or whole(*words))
    first_plan = plan_now(prepare(str(mine), Order().choice), empty_store(mine.parent)) if is_asked else None  # type: ignore[arg-type]
    begin(mine, monkeypatch, first_plan)
    assert len(calls) == 1


def test_a_person_is_asked_before_many_hours_and_not_before_few(tmp_path: Path) -> None:
    said = question("rocm-7.2", Order(jobs=2), tmp_path)
    assert said.startswith("Never built here: about 15.9 hours of one core") and "8 hours or more with 2 jobs" in said
    assert question("debian-13", Order(), tmp_path) == ""


@pytest.mark.parametrize(
    ("typed", "begins"), [("\n", True), ("y\n", True), ("Yes\n", True), ("n\n", False), ("", False)]
)
def test_enter_begins_and_the_end_of_input_does_not(typed: str, begins: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(typed))
    assert _agrees("about 8 hours") is begins
