"""`bench`, `gate` and `report` for real: processes, ONNX Runtime on the CPU, files, exit codes."""

from __future__ import annotations

import json
import subprocess
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from support.benchmark_results import sealed
from support.slowed_wheels import RunCommand, pack


def test_a_users_model_from_measurement_to_report(stackbuild: RunCommand, small_suite: Path, tmp_path: Path) -> None:
    arguments = [
        "bench",
        "models",
        "-m",
        "small.onnx",
        "--shape",
        "x=8x256",
        "--rounds",
        "3",
        "--profile",
        "--history",
        "h.sqlite",
    ]
    done = stackbuild(*arguments, "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found == json.loads((tmp_path / "bench-models.json").read_text())
    (case,) = found["cases"]
    (series,) = case["series"]
    assert len(series["seconds"]) == 3 and min(series["seconds"] + series["create"] + series["first"]) > 0
    assert series["accuracy"]["snr_db"] == "inf" or series["accuracy"]["snr_db"] > 100
    assert series["shares"] == [{"provider": "CPUExecutionProvider", "nodes": 1.0, "seconds": 1.0}]
    assert {op["op"] for op in series["ops"]} >= {"FusedGemm"} or {op["op"] for op in series["ops"]} >= {"MatMul"}
    assert found["machine"]["stable"]["cores"]
    page = stackbuild("report", "bench-models.json", "-o", "r.html")
    assert page.returncode == 0 and "small/8x256" in (tmp_path / "r.html").read_text()
    compared = stackbuild("bench", "compare", "bench-models.json", "bench-models.json")
    assert compared.returncode == 0 and "latency" in compared.stdout and "same" in compared.stdout
    history = stackbuild("bench", "history", "small/8x256", "--history", "h.sqlite")
    assert history.returncode == 0 and "1 results" in history.stdout
    assert stackbuild("bench", "history", "--csv", "--history", "h.sqlite").stdout.startswith("taken,suite,side,")


@pytest.mark.timeout(900)
def test_a_gate_opens_for_the_same_and_closes_for_the_slower(
    stackbuild: RunCommand, small_suite: Path, slowed_wheel: Callable[[float], Path], tmp_path: Path
) -> None:
    """Four times slower is told; on a machine that is not even as fast as itself twice, UNSTABLE is the honest answer."""
    gates = tmp_path / "gates.yaml"
    calm = "self_check: {median: 50%, spread: 50%}"
    gates.write_text(
        f"gates:\n  - {{kind: baseline, delta: 90%, pairs: [8], {calm}}}\n  - {{kind: accuracy, snr_db: 100}}\n"
    )
    same, slow = slowed_wheel(0.0), slowed_wheel(3.0)
    shared = ["--suite", small_suite, "--gates", gates, "--verdict", "v.json", "--out", "r.json"]

    def judged(baseline: Path, candidate: Path) -> subprocess.CompletedProcess[str]:
        for _ in range(2):
            done = stackbuild("gate", "-b", baseline, "-c", candidate, *shared)
            if "UNSTABLE" not in done.stdout:
                break
        return done

    done = judged(same, slow)
    assert done.returncode == 6, done.stdout + done.stderr
    if "UNSTABLE baseline: small/64x256 is" not in done.stderr:
        assert "FAIL baseline: small/64x256 is" in done.stderr and "slower than baseline" in done.stderr
        verdict = json.loads((tmp_path / "v.json").read_text())
        assert next(g["value"] for g in verdict["gates"] if g["gate"] == "baseline") > 2
    opened = judged(slow, same)
    restless = "UNSTABLE baseline: small/64x256 is" in opened.stderr
    assert opened.returncode == (6 if restless else 0), opened.stdout + opened.stderr
    assert opened.stdout.count("PASS") == (1 if restless else 2)
    report = stackbuild("report", "r.json", "--verdict", "v.json", "-f", "junit")
    assert report.returncode == 0 and f'failures="{int(restless)}"' in report.stdout


@pytest.mark.slow
def test_batches_are_advised(stackbuild: RunCommand, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done = stackbuild("bench", "batches", "yolov5s", "--sizes", "1,2", "--rounds", "1", "--mix", "1:1,2:3", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert [point["batch"] for point in found["curve"]] == [1, 2] and found["ladders"]
    assert found["best"]["throughput"] >= found["advised"]["throughput"] >= 0.95 * found["best"]["throughput"]


@pytest.mark.slow
def test_int8_and_two_devices(stackbuild: RunCommand, tmp_path: Path) -> None:
    """Quantised by ONNX Runtime itself; on the CPU two devices are two sessions, which still split the batch."""
    done = stackbuild(
        "bench",
        "models",
        "-m",
        "yolov5s",
        "-b",
        "2",
        "--dtype",
        "int8",
        "--rounds",
        "1",
        "--devices",
        "0,1",
        "--json",
        "--no-history",
    )
    assert done.returncode == 0, done.stderr
    (case,) = json.loads(done.stdout)["cases"]
    assert [s["side"] for s in case["series"]] == ["candidate", "2 devices"]
    assert all(s["problem"] == "" and len(s["seconds"]) == 1 for s in case["series"])
    assert 5 < float(case["series"][0]["accuracy"]["snr_db"]) < 100


EMPTY = {
    "schema": "stackbuild.benchmarks/2", "suite": "s", "kind": "models", "taken": "2026-11-20T09:00:00Z", "cases": [],
    "machine": {"stable": {"cpu": "x"}}, "sides": [{"label": "candidate", "provider": "CPUExecutionProvider"}],
}  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "code", "says", "next"),
    [
        (["bench", "models", "-m", "none.onnx"], 2, "there is no such model", "path of an .onnx file"),
        (["bench", "models", "-m", "small.onnx"], 2, "its open dimensions need sizes", "--shape x=1x256"),
        (["bench", "models", "-m", "small.onnx", "--shape", "x=1x255"], 2, "does not fit", "fixed dimensions"),
        (["bench", "models", "-p", "rocm", "-m", "small.onnx", "--shape", "x=1x256"], 7, "has no ROCMExecutionProvider", "CPUExecutionProvider"),
        (["bench", "models", "-p", "rocm", "--option", "cudnn_conv_algo_search=1"], 2, "it is one of CUDA", "miopen_conv_exhaustive_search"),
        (["bench", "models", "--python", "/nonexistent/python", "-m", "small.onnx", "--shape", "x=1x256"], 7, "no interpreter", "another --python"),
        (["bench", "models", "--wheel", "none.whl"], 2, "--wheel: there is no file 'none.whl'", ".whl"),
        (["bench", "kernels", "none.whl"], 2, "there is no such wheel", ".whl"),
        (["bench", "kernels", "small.onnx", "--suite", "models"], 2, "is of models", "bench models --suite models"),
        (["bench", "compare", "none.json", "none.json"], 2, "there is no such file", "bench"),
        (["bench", "history", "x", "--history", "none.sqlite"], 2, "no history yet", "appends"),
        (["gate", "-c", "small.onnx"], 2, "cannot judge .onnx", "two wheels"),
        (["gate", "-c", "broken.whl", "-b", "broken2.whl"], 2, "not a wheel", "pip installs"),
        (["gate", "-c", "other.json"], 2, "its schema is stackbuild.benchmarks/9", "measure again"),
        (["gate", "-c", "full.json", "-b", "empty.json"], 2, "the baseline is empty: it has no samples", "measure it again"),
        (["gate", "-c", "full.json", "-b", "hand.json"], 2, "its schema is stackbuild.run/1", "stackbuild bench wrote"),
        (["gate", "-c", "full.json"], 2, "the results have no side 'baseline'", "give --baseline"),
        (["gate", "-c", "wheel.whl", "-b", "wheel.whl"], 2, "are the same file", "the last release"),
        (["gate", "-c", "wheel.whl", "-b", "wheel2.whl", "--baseline-lock", "none.yaml"], 2, "there is no file 'none.yaml'", "the path of a lock"),
        (["bench", "models", "-m", "small.onnx", "--shape", "x=1x256", "--clock", "device"], 2, "takes no stream", "--clock wall"),
        (["bench", "models", "-m", "small.onnx", "--shape", "x=1x256", "-o", "/proc/no.json"], 2, "cannot be written", "another file"),
        (["bench", "models", "-m", "small.onnx", "--shape", "x=1x256", "-o", "."], 2, "cannot be written", "another file"),
        (["gate", "-c", "full.json", "--verdict", "/proc/no.json"], 2, "cannot be written", "another file"),
        (["bench", "models", "-m", "yolov5s", "--devices", "0,a"], 2, "--devices: it cannot be '0,a'", "--devices 0,1"),
        (["bench", "models", "-p", "XExecutionProvider", "--plugin", "none.so"], 2, "there is no file 'none.so'", "the path of a plugin's library"),
        (["bench", "batches", "yolov5s", "--mix", "many"], 2, "is not BATCH:WEIGHT", "a batch a line"),
        (["report", "full.json", "--history", "none.sqlite"], 2, "there is no such history", "appends"),
        (["report", "full.json", "--history", "empty.json"], 7, "the history cannot be used", "move it away"),
        (["report", "full.json", "-f", "pdf"], 2, "--format: it cannot be 'pdf'", "html, markdown"),
        (["gate", "-c", "small.onnx", "--gates", "wrong.yaml"], 2, "`gates.0.delta`", "write 5% or 0.05"),
        (["gate", "-c", "small.onnx", "--gates", "empty.yaml"], 2, "it has no gates", "at least one"),
        (["report", "nothing"], 2, "no file, folder or run", "results file"),
    ],
)  # fmt: skip
def test_bad_input_is_told_with_the_next_step(
    stackbuild: RunCommand, small_model: Path, tmp_path: Path, arguments: list[str], code: int, says: str, next: str
) -> None:
    for broken in ("broken.whl", "broken2.whl"):
        (tmp_path / broken).write_text("not a zip")
    (tmp_path / "other.json").write_text('{"schema": "stackbuild.benchmarks/9"}')
    (tmp_path / "empty.json").write_text(json.dumps(sealed(EMPTY)))
    case = {
        "name": "a",
        "model": "a",
        "dtype": "float32",
        "shapes": {},
        "batch": 1,
        "items": 1,
        "unit": "item",
        "opset": 17,
    }
    (tmp_path / "full.json").write_text(
        json.dumps(
            sealed(EMPTY | {"cases": [case | {"sha256": "0" * 64, "series": [{"side": "candidate", "seconds": [0.1]}]}]})
        )
    )
    (tmp_path / "hand.json").write_text('{"schema": "stackbuild.run/1"}')
    for wheel in ("wheel.whl", "wheel2.whl"):
        with zipfile.ZipFile(tmp_path / wheel, "w") as archive:
            archive.writestr("onnxruntime/__init__.py", "")
    (tmp_path / "wheel.whl.lock.yaml").write_text("schema: 1")
    (tmp_path / "wrong.yaml").write_text("gates:\n  - {kind: baseline, delta: 5 furlongs}\n")
    (tmp_path / "empty.yaml").write_text("gates: []\n")
    done = stackbuild(*arguments)
    assert done.returncode == code, done.stderr
    assert says in done.stderr and next in done.stderr and "Traceback" not in done.stderr
    assert done.stdout == ""


def test_a_worker_that_dies_is_one_cases_failure(
    stackbuild: RunCommand, small_suite: Path, slowed_wheel: Callable[[float], Path], tmp_path: Path
) -> None:
    """A wheel that kills its process by a signal: named in the results, closed at the gate, no traceback."""
    wheel = slowed_wheel(0.0)
    package = tmp_path / "slowed-0.0" / "onnxruntime" / "__init__.py"
    package.write_text(
        package.read_text().replace("    began =", "    import os; os.kill(os.getpid(), 11)\n    began =", 1)
    )
    deadly = pack(package.parent, tmp_path / "wheels", "6.6")
    gates = tmp_path / "g.yaml"
    gates.write_text("gates: [{kind: limit, metric: latency, at_most: 10 s}]\n")
    done = stackbuild("gate", "-c", deadly, "--suite", small_suite, "--gates", gates, "--out", "r.json")
    assert done.returncode == 6 and "did not run: died by SIGSEGV" in done.stderr, done.stderr
    assert stackbuild("gate", "-c", wheel, "--suite", small_suite, "--gates", gates).returncode == 0
