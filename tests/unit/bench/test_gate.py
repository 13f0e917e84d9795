"""What `gate` makes of what it is given, before anything is measured."""

from __future__ import annotations

import json
import sys
import zipfile
from pathlib import Path

import pytest

from stackbuild.__main__ import run as main
from stackbuild.bench.experiment import Experiment, Task, no_progress
from stackbuild.bench.gate import (
    GateRequest,
    _gates_lock,
    _providers,
    gates_of,
    measure_wheel,
    run_gate,
    wheel_for,
    without_baseline,
)
from stackbuild.bench.job import TimingBudget
from stackbuild.bench.measure import baseline_of, run
from stackbuild.bench.results_file import document, read_benchmarks, write
from stackbuild.core.errors import GateClosed, UsageError
from stackbuild.judgement import require_open
from stackbuild.model.gates import Gates
from stackbuild.model.results import Evidence, GateOutcome
from support.benchmark_results import CPU, ROCM, measured, sealed


def gates(*written: dict[str, object]) -> Gates:
    return Gates.model_validate({"gates": written})


def test_every_provider_that_a_gate_names_is_measured() -> None:
    asked = GateRequest(Path("x.whl"), provider=ROCM)
    wanted = gates(
        {"kind": "speedup", "versus": CPU, "at_least": 8},
        {"kind": "speedup", "side": "MIGraphXExecutionProvider", "versus": ROCM, "at_least": 1},
        {"kind": "baseline"},
    ).gates
    assert _providers(wanted, asked) == (CPU, "MIGraphXExecutionProvider")


def test_the_baseline_is_as_given_or_as_a_gate_names_it() -> None:
    wanted = gates({"kind": "baseline"}, {"kind": "baseline", "wheel": "old.whl"}).gates
    assert baseline_of(None, wanted) == Path("old.whl") and baseline_of(Path("x.whl"), wanted) == Path("x.whl")
    assert baseline_of(None, wanted[:1]) is None


def test_one_baseline_is_judged_against() -> None:
    """A second wheel or lock would be judged by the first one's numbers."""
    two = gates({"kind": "baseline", "wheel": "old.whl"}, {"kind": "baseline", "wheel": "older.whl"}).gates
    with pytest.raises(UsageError, match=r"2 baselines: old\.whl and older\.whl"):
        baseline_of(None, two)
    with pytest.raises(UsageError, match="2 baselines"):
        baseline_of(Path("x.whl"), two)
    locks = gates({"kind": "baseline", "lock": "a.yaml"}, {"kind": "baseline", "lock": "b.yaml"}).gates
    assert _gates_lock(locks[:1]) == Path("a.yaml")
    with pytest.raises(UsageError, match=r"2 locks of the baseline: a\.yaml and b\.yaml"):
        _gates_lock(locks)


def test_the_candidate_is_not_compared_with_itself() -> None:
    wanted = gates({"kind": "speedup", "versus": CPU, "at_least": 0.5}).gates
    with pytest.raises(UsageError, match="compares the candidate with itself: it runs on CPUExecutionProvider"):
        measure_wheel(GateRequest(Path("x.whl"), provider=CPU), wanted, no_progress)


def test_two_cases_of_one_name_are_refused(tmp_path: Path) -> None:
    """Results go by a case's name: each would get the other's numbers."""
    case = measured().cases[0]
    tasks = tuple(Task(case, {"candidate": {"model": f"{folder}/m.onnx"}}) for folder in "ab")
    with pytest.raises(UsageError, match=r"two cases are called resnet50/b1/float32: a/m\.onnx and b/m\.onnx"):
        run(Experiment("s", "models", (), tasks, TimingBudget(), process_per_case=True), 1, (), None)
    written = document(measured())
    assert isinstance(written["cases"], list)
    written["cases"][1] = written["cases"][0]
    (tmp_path / "r.json").write_text(json.dumps(sealed(written)))
    with pytest.raises(UsageError, match="two cases are called resnet50/b1/float32"):
        read_benchmarks(tmp_path / "r.json")


def test_without_gates_the_output_and_the_time_are_judged() -> None:
    assert [gate.kind for gate in gates_of(None)] == ["accuracy", "baseline"]


def test_nothing_to_judge_is_refused(tmp_path: Path) -> None:
    """A recipe or a file without gates judges nothing: that is no PASS. Two places that name gates are one too many."""
    (tmp_path / "g.yaml").write_text("gates: []\n")
    with pytest.raises(UsageError, match="it has no gates") as stop:
        gates_of(None, "rocm-6.4")
    assert stop.value.where == "rocm-6.4" and "--recipe" in stop.value.next
    with pytest.raises(UsageError, match="it has no gates"):
        gates_of(tmp_path / "g.yaml")
    with pytest.raises(UsageError, match="both say which gates"):
        gates_of(tmp_path / "g.yaml", "debian-13")
    assert "accuracy" in [gate.kind for gate in gates_of(None, "debian-13")]


def test_stored_results_are_judged_and_a_closed_gate_says_which(tmp_path: Path) -> None:
    write(measured(), tmp_path / "old.json")
    write(measured(scale=2), tmp_path / "new.json")
    found = run_gate(GateRequest(tmp_path / "new.json", tmp_path / "old.json"), gates_of(None), no_progress)
    assert found.verdict.outcome is GateOutcome.FAIL and found.verdict.gates[-1].evidence is Evidence.STORED
    with pytest.raises(GateClosed, match=r"FAIL baseline: resnet50/b1/float32 is 100\.0% slower .* \(and 1 more\)"):
        require_open(found.verdict)
    write(measured(scale=1.001), tmp_path / "same.json")
    same = run_gate(GateRequest(tmp_path / "same.json", tmp_path / "old.json"), gates_of(None), no_progress)
    require_open(same.verdict)


def test_a_measurement_is_not_compared_with_itself(tmp_path: Path) -> None:
    write(measured(), tmp_path / "old.json")
    write(measured(), tmp_path / "copy.json")
    (tmp_path / "link.json").symlink_to("old.json")
    for name, says in (("old", "the same file"), ("link", "the same file"), ("copy", "the same measurement")):
        with pytest.raises(UsageError, match=says):
            run_gate(GateRequest(tmp_path / f"{name}.json", tmp_path / "old.json"), gates_of(None), no_progress)


def test_a_first_release_is_judged_by_the_gates_that_need_no_baseline(tmp_path: Path) -> None:
    """What is left out is named; accuracy is judged where nothing else is left."""
    wanted = gates(
        {"kind": "baseline", "name": "no slowdown"}, {"kind": "baseline", "wheel": "old.whl"},
        {"kind": "speedup", "versus": "baseline", "at_least": 1}, {"kind": "speedup", "versus": CPU, "at_least": 8},
        {"kind": "memory", "at_most": "1 GiB"}, {"kind": "memory", "grows_at_most": "10%"},
    ).gates  # fmt: skip
    kept, says = without_baseline(wanted)
    assert kept == (wanted[1], wanted[3], wanted[4])
    assert says == "not judged, since there is no baseline: no slowdown, speedup, memory"
    assert without_baseline(kept) == (kept, "")
    assert [gate.kind for gate in without_baseline(wanted[:1])[0]] == ["accuracy"]


def test_a_verdict_without_a_baseline_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write(measured(), tmp_path / "new.json")
    words = ["stackbuild", "gate", "--candidate", str(tmp_path / "new.json"), "--verdict", str(tmp_path / "v.json")]
    monkeypatch.setattr(sys, "argv", [*words, "--without-baseline"])
    assert main() == 0
    assert "not judged, since there is no baseline: baseline" in capsys.readouterr().err
    assert "there is no baseline: baseline" in (tmp_path / "v.json").read_text()
    monkeypatch.setattr(sys, "argv", [*words, "--without-baseline", "--baseline", str(tmp_path / "new.json")])
    assert main() == 2 and "contradict each other" in capsys.readouterr().err


def test_one_file_may_hold_both_sides(tmp_path: Path) -> None:
    write(measured(), tmp_path / "r.json")
    wanted = gates({"kind": "speedup", "versus": CPU, "at_least": 1.5, "pairs": [12]}).gates
    found = run_gate(GateRequest(tmp_path / "r.json"), wanted, no_progress)
    assert found.verdict.outcome is GateOutcome.PASS and found.verdict.gates[-1].evidence is Evidence.INTERLEAVED
    with pytest.raises(UsageError, match="the results have no side 'baseline'"):
        run_gate(GateRequest(tmp_path / "r.json"), gates_of(None), no_progress)


@pytest.mark.parametrize(
    ("top", "what"),
    [
        ("numpy", "neither stackbuild_kernels, nor onnxruntime, nor a plugin EP"),
        ("onnxruntime", "there is no baseline"),
    ],
)
def test_wheels_that_cannot_be_judged(tmp_path: Path, top: str, what: str) -> None:
    wheel = tmp_path / "x-1-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr(f"{top}/__init__.py", "")
    baseline = tmp_path / "y-1-py3-none-any.whl" if top == "numpy" else None
    if baseline:
        baseline.write_bytes(wheel.read_bytes())
    with pytest.raises(UsageError, match=what):
        run_gate(GateRequest(wheel, baseline), gates_of(None), no_progress)


def test_files_that_do_not_go_together(tmp_path: Path) -> None:
    write(measured(), tmp_path / "r.json")
    (tmp_path / "x.whl").write_bytes(b"")
    with pytest.raises(UsageError, match=r"cannot judge \.json and \.whl together"):
        run_gate(GateRequest(tmp_path / "x.whl", tmp_path / "r.json"), gates_of(None), no_progress)
    with pytest.raises(UsageError, match="there is no such file"):
        run_gate(GateRequest(tmp_path / "none.whl"), gates_of(None), no_progress)


@pytest.mark.parametrize(
    ("tops", "kind", "found"),
    [
        (("stackbuild_kernels", "onnxruntime"), "kernels", "stackbuild_kernels"),
        (("onnxruntime",), "models", "onnxruntime"),
        (("onnxruntime_ep_rockernels", "onnxruntime_ep_rockernels-1.dist-info"), "models", "onnxruntime_ep_rockernels"),
        (("onnxruntime_ep_rockernels",), "kernels", ""),
        (("numpy",), "models", ""),
    ],
)
def test_what_a_wheel_has_decides_who_measures_it(tmp_path: Path, tops: tuple[str, ...], kind: str, found: str) -> None:
    wheel = tmp_path / "x-1-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for top in tops:
            archive.writestr(f"{top}/a", "")
    name = {"kernels": "kernels-quick", "models": "models-quick"}[kind]
    if found:
        assert wheel_for(name, (wheel,)) == wheel
    else:
        with pytest.raises(UsageError, match="and no wheel has it"):
            wheel_for(name, (wheel,))
    if found.startswith("onnxruntime_ep_"):
        with pytest.raises(UsageError, match="is a plugin EP's") as stop:
            measure_wheel(GateRequest(wheel), (), lambda *_: None)
        assert "--provider" in stop.value.next
