"""The schedule on random graphs: what the plan says is what is run, once each, in order, within the machine."""

from __future__ import annotations

import signal
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stackbuild.build.context import BuildContext
from stackbuild.build.schedule import Limits, schedule
from stackbuild.core.errors import Interruption, MachineLacks
from stackbuild.model.events import StepBroke
from stackbuild.model.plan import Plan, Step
from stackbuild.plan.status import StepStatus, status, steps_to_run
from stackbuild.runners.protocol import Exec, ExecResult, SessionSpec
from stackbuild.store import atomic as files
from stackbuild.store.history import read_history
from support.fake_build import BASE, MEMORY, FakeCommands, fake_context, fast_folder, output, plan_of, step
from support.stores import deep


@st.composite
def graphs(draw: st.DrawFn) -> Plan:
    steps: list[Step] = []
    for i in range(draw(st.integers(1, 9))):
        needs = draw(st.lists(st.sampled_from(steps), unique=True, max_size=3)) if steps else []
        steps.append(step(f"s{i}", tuple(needs), MEMORY * draw(st.integers(1, 4))))
    wanted = draw(st.lists(st.sampled_from([s.name for s in steps]), unique=True, max_size=2))
    return plan_of(*steps, wanted=tuple(wanted))


def downstream(plan: Plan, names: set[str]) -> set[str]:
    """The steps that need one of those, however far down."""
    reached = set(names)
    for one in plan.steps:
        if any(need.step in reached for need in one.needs):
            reached.add(one.name)
    return reached - names


def status_of(plan: Plan, context: BuildContext) -> tuple[StepStatus, ...]:
    """The plan with what its store has."""
    return status(plan, read_history(context.store, plan.recipe, [one.key for one in plan.steps]))


def missing(plan: Plan, context: BuildContext) -> tuple[Step, ...]:
    """The steps of a plan that its store lacks."""
    return steps_to_run(plan, context.store.find_all(one.key for one in plan.steps))



@settings(max_examples=40)
@given(graphs(), st.data())
def test_what_the_plan_says_is_what_runs(plan: Plan, data: st.DataObject) -> None:
    closure = [s.name for s in plan.closure(plan.goals)]
    failing = frozenset(data.draw(st.lists(st.sampled_from([n for n in closure if n != "base"]), unique=True, max_size=2)))
    jobs, keep_going = data.draw(st.integers(1, 4)), data.draw(st.booleans())
    built_before = data.draw(st.sampled_from(closure))
    memory = {s.name: s.resources.memory for s in plan.steps}
    with fast_folder() as root:
        with fake_context(FakeCommands(), root) as context:
            schedule(Plan("t", plan.steps, (built_before,)), context, Limits(2, MEMORY * 100))
        commands = FakeCommands(failing=failing, memory=memory)
        with fake_context(commands, root, jobs) as context:
            announced = {row.step for row in status_of(plan, context) if row.state == "run"}
            assert announced == {s.name for s in missing(plan, context)}
            built, broken = schedule(plan, context, Limits(jobs, MEMORY * 5, keep_going))
        assert len(commands.started) == len(set(commands.started)), "a step ran twice"
        assert set(commands.started) <= announced
        for name in commands.began:
            for need in plan.by_name[name].needs:
                if need.step in announced:
                    assert commands.ended.index(need.step) <= commands.began.index(name), f"{name} before its need {need.step}"
        assert commands.most_at_once <= jobs
        assert commands.most_memory <= MEMORY * 5
        failed = {event.step for event in broken}
        assert failed == failing & set(commands.started)
        assert not downstream(plan, failed) & set(commands.started)
        if keep_going or not failed:
            assert set(commands.started) == announced - downstream(plan, failed)
        assert set(built) >= set(commands.started) - failed
        if not failed:
            again = FakeCommands()
            with fake_context(again, root) as context:
                assert missing(plan, context) == ()
                schedule(plan, context, Limits(jobs, MEMORY * 5))
            assert again.began == []


def test_independent_steps_run_side_by_side(tmp_path: Path) -> None:
    commands = FakeCommands(seconds=0.1)
    with fake_context(commands, tmp_path, 3) as context:
        schedule(plan_of(*(step(f"s{i}") for i in range(3))), context, Limits(3, MEMORY * 10))
    assert commands.most_at_once == 3


def test_a_step_that_needs_more_memory_than_there_is_runs_alone(tmp_path: Path) -> None:
    commands = FakeCommands(seconds=0.03, memory={"big": MEMORY * 50})
    with fake_context(commands, tmp_path, 4) as context:
        built, broken = schedule(plan_of(step("a"), step("big", memory=MEMORY * 50), step("b")), context, Limits(4, MEMORY * 5))
    assert not broken and commands.most_memory <= MEMORY * 5
    assert {"a", "big", "b"} <= set(built)


def test_early_cut_off(tmp_path: Path) -> None:
    """A rebuilt step whose output is the same rebuilds nothing that depends on it; one whose output is another does."""

    def chain(word: str) -> Plan:
        first = step("first", word=word)
        second = step("second", (first,))
        return plan_of(first, second, step("third", (second,)))

    for same, reused in ((frozenset({"first"}), {"second", "third"}), (frozenset({"second"}), {"third"}), (frozenset(), set())):
        root = tmp_path / f"{len(reused)}"
        with fake_context(FakeCommands(same=same), root) as context:
            schedule(chain("-O1"), context, Limits(2, MEMORY * 10))
        commands = FakeCommands(same=same)
        with fake_context(commands, root) as context:
            schedule(chain("-O2"), context, Limits(2, MEMORY * 10))
        assert commands.finished("reused") == reused
        assert set(commands.started) == {"first", "second", "third"} - reused
        third = FakeCommands()
        with fake_context(third, root) as context:
            assert missing(chain("-O2"), context) == ()
            schedule(chain("-O1"), context, Limits(2, MEMORY * 10))
        assert third.began == []


def test_a_damaged_input_is_made_again_once_though_two_steps_find_it(tmp_path: Path) -> None:
    shared = step("shared")
    plan = plan_of(shared, step("left", (shared,)), step("right", (shared,)))
    with fake_context(FakeCommands(), tmp_path) as context:
        built, _ = schedule(Plan("t", plan.steps, ("shared",)), context, Limits(2, MEMORY * 10))
        made = context.store.tree(built["shared"].tree) / "made"
    made.chmod(0o644)
    made.write_text("flipped")
    commands = FakeCommands(seconds=0.02)
    with fake_context(commands, tmp_path) as context:
        again, broken = schedule(plan, context, Limits(2, MEMORY * 10))
        assert not broken
        assert made.read_text() != "flipped"
        assert [p.name.split(".")[2] for p in sorted((context.store.root / "quarantine").iterdir())] == ["trees", "manifests"]
    assert sorted(commands.began) == ["left", "right", "shared"]
    assert again["shared"].tree == built["shared"].tree


def test_a_plan_says_what_changed_by_the_names_that_people_know(tmp_path: Path) -> None:
    with fake_context(FakeCommands(), tmp_path) as context:
        schedule(plan_of(a := step("a"), step("b", (a,))), context, Limits(1, MEMORY))
        other = step("a", word="x")
        told = {row.step: row.why for row in status_of(plan_of(other, step("b", (other,))), context)}
        assert (told["a"], told["b"]) == ("changed: command build", "changed: a")
        sources = replace(a, params=(("tree", "0" * 64), ("wheel numpy", "2.4")))
        assert {row.step: row.why for row in status_of(plan_of(sources), context)}["a"] == "changed: its files, wheel numpy"


def test_a_stored_output_that_is_gone_is_made_again(tmp_path: Path) -> None:
    plan = plan_of(step("a"))
    with fake_context(FakeCommands(), tmp_path) as context:
        built, _ = schedule(plan, context, Limits(1, MEMORY))
        files.remove(context.store.tree(built["a"].tree))
    commands = FakeCommands()
    with fake_context(commands, tmp_path) as context:
        assert [(r.step, r.state, r.why) for r in status_of(plan, context)][1] == ("a", "run", "never built here")
        schedule(plan, context, Limits(1, MEMORY))
    assert commands.began == ["a"]


def test_a_stop_ends_the_run_and_what_was_made_is_kept(tmp_path: Path) -> None:
    first = step("first")
    plan = plan_of(first, step("second", (first,)))
    commands = FakeCommands()
    with fake_context(commands, tmp_path) as context:
        commands.during = lambda name: context.stopper.set(signal.SIGTERM) if name == "first" else None
        with pytest.raises(Interruption) as caught:
            schedule(plan, context, Limits(2, MEMORY * 10))
    assert caught.value.exit_code == 143 and "first" in commands.began and "second" not in commands.began
    rest = FakeCommands()
    with fake_context(rest, tmp_path) as context:
        schedule(plan, context, Limits(2, MEMORY * 10))
    assert "base" not in rest.began and rest.began[-1] == "second"


def test_a_full_disk_is_the_machines_fault_and_no_step_fails(tmp_path: Path) -> None:
    def full(name: str) -> None:
        raise OSError(28, "No space left on device")

    with fake_context(FakeCommands(during=full), tmp_path) as context, pytest.raises(MachineLacks, match="disk is full"):
        schedule(plan_of(step("a")), context, Limits(1, MEMORY))


def test_what_the_machine_lacks_hides_no_failure_of_another_step(tmp_path: Path) -> None:
    def lacking(name: str) -> None:
        if name == "a":
            raise MachineLacks("`skopeo` is not installed", next="install it")

    plan = plan_of(step("a"), step("b"), step("c"))
    with fake_context(FakeCommands(during=lacking, failing=frozenset({"b"})), tmp_path) as context:
        built, broken = schedule(plan, context, Limits(1, MEMORY, keep_going=True))
    assert {b.step: b.what for b in broken} == {"b": "exit code 1", "a": "`skopeo` is not installed"}
    assert "c" in built
    with fake_context(FakeCommands(during=lacking), tmp_path) as context, pytest.raises(MachineLacks, match="skopeo") as stopped:
        schedule(plan, context, Limits(1, MEMORY, keep_going=True))
    assert stopped.value.next == "install it"
    commands = FakeCommands(during=lacking, failing=frozenset({"b"}))
    with fake_context(commands, tmp_path / "other") as context, pytest.raises(MachineLacks, match="skopeo"):
        schedule(plan, context, Limits(1, MEMORY))
    assert commands.began == ["base", "a"]


def test_each_step_that_the_machine_cannot_run_is_a_line_with_its_own_remedy(tmp_path: Path) -> None:
    def lacking(name: str) -> None:
        if name != "base":
            raise MachineLacks(f"`{name}` is not installed", next=f"apt-get install {name}")

    plan = plan_of(step("a"), step("b"))
    with fake_context(FakeCommands(during=lacking), tmp_path) as context, pytest.raises(MachineLacks) as stopped:
        schedule(plan, context, Limits(1, MEMORY, keep_going=True))
    assert str(stopped.value).splitlines()[:3] == [
        "2 steps cannot run here:",
        "  │ a: `a` is not installed (apt-get install a)",
        "  │ b: `b` is not installed (apt-get install b)",
    ]


def test_a_reader_that_goes_away_stops_the_run(tmp_path: Path) -> None:
    commands = FakeCommands()
    with fake_context(commands, tmp_path) as context:

        def gone(name: str) -> None:
            raise BrokenPipeError

        commands.during = gone
        with pytest.raises(Interruption) as caught:
            schedule(plan_of(step("a"), step("b")), context, Limits(1, MEMORY))
    assert caught.value.exit_code == 141 and len(commands.began) == 2  # base and one step


@pytest.mark.parametrize(
    ("outcome", "log", "said"),
    [
        (ExecResult(2, 0.0), "x.c:1: error: no", "exit code 2"),
        (ExecResult(137, 0.0, out_of_memory=True), "", "out of memory: it may use 1 MiB"),
        (ExecResult(1, 0.0), "g++: fatal error: Killed signal terminated program cc1plus", "out of memory"),
        (ExecResult(1, 0.0), "what(): std::bad_alloc", "out of memory"),
        (ExecResult(3, 0.0, out_of_memory=False), "std::bad_alloc", "exit code 3"),
    ],
)
def test_out_of_memory_is_told_from_an_error(tmp_path: Path, outcome: ExecResult, log: str, said: str) -> None:
    commands = FakeCommands(codes={"a": outcome})
    with fake_context(commands, tmp_path) as context:

        def say(name: str) -> None:
            with (context.logs / "a.log").open("a") as file:
                file.write(log + "\n")

        commands.during = say
        _, broken = schedule(plan_of(step("a")), context, Limits(1, MEMORY))
        assert said in broken[0].what
        assert broken[0].command == "make a" and "shell" in broken[0].look
        assert (context.store.root / "failed" / "t.a" / "out" / "made").exists()
    assert [e for e in commands.events if isinstance(e, StepBroke)] == list(broken)


def test_a_command_that_takes_the_build_tree_away_is_named(tmp_path: Path) -> None:
    commands = FakeCommands()
    with fake_context(commands, tmp_path) as context:

        def take_away(name: str) -> None:
            if name == "a" and not (tree := context.store.tmp / "a" / "build" / "a").is_symlink():
                tree.rename(tree.with_name("z"))
                tree.symlink_to("/nonexist")

        commands.during = take_away
        once = step("a")
        _, broken = schedule(plan_of(replace(once, commands=once.commands * 2)), context, Limits(1, MEMORY))
        assert broken[0].what == "a command before this one put another thing in place of /build/a"


def test_what_a_failure_left_goes_when_the_step_is_made(tmp_path: Path) -> None:
    with fake_context(FakeCommands(failing=frozenset({"a"})), tmp_path) as context:
        schedule(plan_of(step("a")), context, Limits(1, MEMORY))
        assert (tmp_path / "failed" / "t.a").is_dir()
    with fake_context(FakeCommands(), tmp_path) as context:
        schedule(plan_of(step("a")), context, Limits(1, MEMORY))
    assert not (tmp_path / "failed" / "t.a").exists()


def test_a_failure_without_keep_going_starts_nothing_more(tmp_path: Path) -> None:
    commands = FakeCommands(failing=frozenset({"s0"}))
    with fake_context(commands, tmp_path, 1) as context:
        _, broken = schedule(plan_of(*(step(f"s{i}") for i in range(4))), context, Limits(1, MEMORY))
    assert len(broken) == 1 and commands.began == ["base", "s0"]


def test_the_base_is_what_every_step_stands_on() -> None:
    assert all(s.needs[0].step == "base" and s.needs[0].key == BASE.key for s in plan_of(step("a")).steps[1:])


class Hoarder(FakeCommands):
    """The step `one` leaves folders that no path reaches any more."""

    def answer(self, spec: SessionSpec, exec: Exec) -> ExecResult:
        if exec.argv[1] == "one":
            deep(output(spec), 3000, "d" * 99)
        return super().answer(spec, exec)


def test_an_output_beyond_the_bounds_is_the_steps_failure_and_leaves_nothing(tmp_path: Path) -> None:
    commands = Hoarder()
    with fake_context(commands, tmp_path) as context:
        _, broken = schedule(plan_of(step("one")), context, Limits(1, MEMORY * 4))
    assert [event.step for event in broken] == ["one"]
    assert "its output is refused: it holds a path of" in broken[0].what and "hold less" in broken[0].look
    assert not list((tmp_path / "tmp").iterdir())
