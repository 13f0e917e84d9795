"""Keys: a fixed recipe on fixed inputs has fixed keys, and each change changes those it must and no other.

When the meaning of a step changes on purpose: `STACKBUILD_SNAPSHOTS=1 pytest tests/unit/plan/resolve/test_keys.py`, and read
the diff: every store out there will build those steps again.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from stackbuild.build.order import Order
from stackbuild.core import digest
from stackbuild.core.errors import UsageError
from stackbuild.model.choice import Choice
from stackbuild.model.inputs import Inputs
from stackbuild.model.lock import questions_digest
from stackbuild.model.plan import Command, Need, Plan, Resources, Step
from stackbuild.model.recipe import Recipe
from stackbuild.plan.resolve import resolve
from stackbuild.recipe.load import parse
from support.paths import ROOT

GOLDEN = Path(__file__).with_name("golden-keys.json")
TEXT = """schema: 1
name: golden
summary: fixed
base: {debian: {suite: trixie, packages: [cmake, make], extract: [libonnxruntime-dev]}}
gfx: [gfx90a, gfx1100]
python: ["3.11"]
sources:
  code: {path: code}
  far: {git: "https://example.org/far.git", ref: v1}
  tar: {archive: "https://example.org/a.tar.gz", sha256: "1111111111111111111111111111111111111111111111111111111111111111"}
components:
  tool: {kind: script, source: code, env: {LEVEL: "2"}, run: [[make, all], [make, install]]}
  lib: {kind: cmake, source: far, needs: [tool], options: {A: true, B: "x;y", C: 3}, uses_gfx: GPU_TARGETS, memory: 2G}
  plain: {kind: cmake, source: tar, subfolder: sub}
  kernels: {kind: kernels, source: code}
  wheel: {kind: wheel, needs: [kernels], distribution: golden, version: "1.0", summary: s, packages: [golden]}
verify: {runtime: [onnxruntime]}
"""
INPUTS = Inputs(
    packages=(("cmake", "3.31.6-2"), ("make", "4.4.1-2")),
    commits=(("far", "0123456789abcdef0123456789abcdef01234567"),),
    wheelhouse=(("3.11", "onnxruntime", "1.22.1", ("2" * 64,)),),
    trees=(("code", "3" * 64),),
)
CHOICE = Choice(python=("3.11",))
KERNELS = {"kernels.conv", "kernels.others", "kernels"}
EVERYTHING = {"base", "tool", "lib", "plain", *KERNELS, "wheel"}


def plan(text: str = TEXT, inputs: Inputs = INPUTS, choice: Choice = CHOICE) -> Plan:
    return resolve(parse(text, "golden.yaml"), inputs, choice)


def keys(made: Plan) -> dict[str, str]:
    return {step.name: step.key for step in made.steps}


def test_golden_keys() -> None:
    found = {step.name: {"key": step.key, "text": step.key_text.splitlines()} for step in plan().steps}
    if os.environ.get("STACKBUILD_SNAPSHOTS"):
        GOLDEN.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n")
    golden = json.loads(GOLDEN.read_text())
    for name, step in found.items():
        assert step == golden[name], f"the key of {name} has changed: every store builds it again"
    assert found.keys() == golden.keys()


def test_keys_are_the_digest_of_their_printed_text() -> None:
    for step in plan().steps:
        assert step.key == digest.of_text(step.key_text)
        assert step.key_text.startswith("format: 1\nstep: ")


def edit(old: str, new: str) -> Callable[[], Plan]:
    assert old in TEXT
    return lambda: plan(TEXT.replace(old, new, 1))


def inputs(**changes: object) -> Callable[[], Plan]:
    return lambda: plan(inputs=replace(INPUTS, **changes))  # type: ignore[arg-type]


CHANGES: dict[str, tuple[Callable[[], Plan], set[str]]] = {
    "a package's version": (inputs(packages=(("cmake", "3.31.7-1"), ("make", "4.4.1-2"))), EVERYTHING),
    "one package more": (inputs(packages=(*INPUTS.packages, ("zlib", "1"))), EVERYTHING),
    "the suite": (edit("trixie", "sid"), EVERYTHING),
    "an extracted package": (edit("[libonnxruntime-dev]", "[libonnxruntime-dev, libfoo]"), EVERYTHING),
    "a commit": (inputs(commits=(("far", "f" * 40),)), {"source.far", "lib"}),
    "a git URL": (edit("example.org/far.git", "example.org/fork.git"), {"source.far", "lib"}),
    "an archive's digest": (edit("1" * 64, "4" * 64), {"source.tar", "plain"}),
    "a file of a local source": (inputs(trees=(("code", "5" * 64),)), {"source.code", "tool", "lib", *KERNELS, "wheel"}),
    "a wheel of the environment": (inputs(wheelhouse=(("3.11", "onnxruntime", "1.23.0", ("2" * 64,)),)), {"wheelhouse.3.11"}),
    "an argument": (edit("[make, all]", "[make, most]"), {"tool", "lib"}),
    "the order of commands": (edit("[make, all], [make, install]", "[make, install], [make, all]"), {"tool", "lib"}),
    "two arguments joined": (edit("[make, install]", "[make, 'install all']"), {"tool", "lib"}),
    "an environment variable": (edit('LEVEL: "2"', 'LEVEL: "3"'), {"tool", "lib"}),
    "an option": (edit("A: true", "A: false"), {"lib"}),
    "an option's type, not its spelling": (edit("C: 3", 'C: "3"'), set()),
    "the generator": (edit("subfolder: sub", "subfolder: sub, generator: Unix Makefiles"), {"plain"}),
    "a gfx target": (edit("gfx1100]", "gfx1101]"), {"lib", *KERNELS, "wheel"}),
    "one need less": (edit("source: far, needs: [tool]", "source: far"), {"lib"}),
    "the wheel's version": (edit('version: "1.0"', 'version: "1.1"'), {"wheel"}),
    "memory": (edit("memory: 2G", "memory: 8G"), set()),
    "the summary": (edit("summary: fixed", "summary: other"), set()),
    "the recipe's name": (edit("name: golden", "name: other"), set()),
    "where it is published": (lambda: plan(TEXT + "publish: {index: elsewhere}\n"), set()),
    "the order of options": (edit('A: true, B: "x;y"', 'B: "x;y", A: true'), set()),
    "where the source lies": (edit("path: code", "path: ../elsewhere/code"), set()),
    "the gfx targets on the command line": (lambda: plan(choice=replace(CHOICE, gfx=("gfx90a",))), {"lib", *KERNELS, "wheel"}),
    "their order on the command line": (lambda: plan(choice=replace(CHOICE, gfx=("gfx1100", "gfx90a"))), set()),
    "a gfx target named twice": (lambda: plan(choice=replace(CHOICE, gfx=("gfx90a", "gfx1100", "gfx90a"))), set()),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_changes_the_keys_it_must_and_no_other(change: str) -> None:
    make, expected = CHANGES[change]
    before, after = keys(plan()), keys(make())
    assert {name for name in before if after.get(name) != before[name]} == expected


def test_keys_know_no_paths_jobs_or_times(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    before = keys(plan())
    for name, value in (("STACKBUILD_STORE", "/elsewhere"), ("TZ", "Asia/Tokyo"), ("LANG", "de_DE"), ("MAKEFLAGS", "-j9"), ("CC", "clang")):
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("time.time", lambda: 1.0)
    assert keys(plan()) == before
    texts = "".join(step.key_text for step in plan().steps)
    assert str(Path.cwd()) not in texts and str(ROOT) not in texts and os.uname().nodename not in texts
    assert not re.search(r"(?<![a-z])-j *\d|\bjobs\b|parallel", texts)
    assert Order(jobs=3).limits.jobs == 3  # jobs are the run's, not the plan's


FIELDS = {
    "name": "other", "action": "wheel", "needs": (Need("n", "k2", "/at"),), "params": (("p", "2"),),
    "commands": (Command(("a", "c")),), "env": (("E", "2"),),
}  # fmt: skip
STEP = Step("s", "run", (Need("n", "k", "/at"),), (("p", "1"),), (Command(("a", "b")),), (("E", "1"),), "base")


@pytest.mark.parametrize("name", FIELDS)
def test_every_field_of_a_step_is_in_its_key(name: str) -> None:
    assert replace(STEP, **{name: FIELDS[name]}).key != STEP.key  # type: ignore[arg-type]


def test_what_cannot_change_an_output_is_in_no_key() -> None:
    assert replace(STEP, resources=Resources(memory=1, network=True)).key == STEP.key


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"env": (("A", "1\nenv B: 2"),)}, {"env": (("A", "1"), ("B", "2"))}),
        ({"env": (("A", "1\\nx"),)}, {"env": (("A", "1\nx"),)}),
        ({"env": (("A: 1\nenv B", "2"),)}, {"env": (("A", "1"), ("B", "2"))}),
        ({"env": (("A: B", "C"),)}, {"env": (("A", "B: C"),)}),
        ({"commands": (Command(("a", "b")),)}, {"commands": (Command(("a b",)),)}),
        ({"commands": (Command(("a",)), Command(("b",)))}, {"commands": (Command(("a", "b")),)}),
        ({"params": (("x", "1"),), "env": ()}, {"params": (), "env": (("x", "1"),)}),
    ],
)  # fmt: skip
def test_different_steps_have_different_texts(one: dict[str, object], other: dict[str, object]) -> None:
    """A value cannot be written so that it reads as another field."""
    assert replace(STEP, **one).key_text != replace(STEP, **other).key_text  # type: ignore[arg-type]


def test_the_content_key_follows_outputs_and_not_how_they_came_about() -> None:
    rebuilt = replace(STEP, needs=(Need("n", "another key", "/at"),))
    assert rebuilt.key != STEP.key
    assert rebuilt.content_key({"n": "tree"}) == STEP.content_key({"n": "tree"})
    assert STEP.content_key({"n": "tree"}) != STEP.content_key({"n": "other"})
    assert STEP.content_key({"n": "tree"}) != STEP.key


def test_the_lock_goes_stale_with_what_it_answers_and_with_nothing_else() -> None:
    def of(text: str) -> str:
        recipe: Recipe = parse(text, "r.yaml")
        return questions_digest(recipe)

    same = ("summary: fixed", "summary: x"), ("gfx1100", "gfx1101"), ("memory: 2G", "memory: 4G"), ("path: code", "path: d")
    other = ("trixie", "sid"), ("[cmake, make]", "[cmake]"), ("ref: v1", "ref: v2"), ("[onnxruntime]", "[numpy]"), ('["3.11"]', '["3.12"]')
    assert all(of(TEXT.replace(a, b, 1)) == of(TEXT) for a, b in same)
    assert len({of(TEXT), *(of(TEXT.replace(a, b, 1)) for a, b in other)}) == len(other) + 1


def test_what_cannot_be_planned_says_what_to_do() -> None:
    for choice, said in (
        (Choice(gfx=("gfx942",)), "gfx target 'gfx942' is not in the recipe"),
        (Choice(until="nothing"), "no step 'nothing'"),
    ):
        with pytest.raises(UsageError, match=said) as caught:
            plan(choice=choice)
        assert caught.value.next


def test_until_keeps_what_the_step_needs_and_no_more() -> None:
    assert {s.name for s in plan(choice=Choice(until="plain")).steps} == {"base", "source.tar", "plain"}


def test_planning_is_quick_enough_for_a_thousand_steps() -> None:
    """The budget with start-up, 0.5 s, is tested in tests/integration; this one is CPU time without it."""
    import time

    rows = "".join(f"  c{i}: {{kind: script, run: [[make, t{i}]]{f', needs: [c{i - 1}]' if i % 10 else ''}}}\n" for i in range(1000))
    text = TEXT[: TEXT.index("components:")] + "components:\n" + rows
    recipe = parse(text, "r.yaml")
    started = time.process_time()
    made = resolve(recipe, INPUTS)
    assert len(keys(made)) == 1001
    assert time.process_time() - started < 0.5
