"""Results files: there and back, and every way of not being one."""

from __future__ import annotations

import json
import math
import os
import stat
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from stackbuild.bench.results_file import document, read_benchmarks, read_verdict, require_writable, write
from stackbuild.core.errors import UsageError
from stackbuild.model.results import Evidence, GateOutcome, GateVerdict, Verdict, append_rounds
from support.benchmark_results import measured, sealed


def test_results_come_back_equal(tmp_path: Path) -> None:
    file = tmp_path / "deep" / "results.json"
    write(measured(), file)
    assert read_benchmarks(file) == measured()
    assert [p.name for p in file.parent.iterdir()] == ["results.json"]


def test_infinity_is_strict_json(tmp_path: Path) -> None:
    file = tmp_path / "r.json"
    write(measured(), file)
    found = json.loads(file.read_text(), parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
    assert found["schema"] == "stackbuild.benchmarks/2"
    accuracy = read_benchmarks(file).cases[0].series[0].accuracy
    assert accuracy is not None and accuracy.snr_db == math.inf


def test_a_verdict_comes_back_equal(tmp_path: Path) -> None:
    verdict = Verdict(
        (GateVerdict("g", "c", GateOutcome.FAIL, "slow", 1.1, 1.05, math.inf, 1.03, "× time", 20, Evidence.INTERLEAVED),),
        1.1,
        ("n",),
    )
    write(verdict, tmp_path / "v.json")
    assert read_verdict(tmp_path / "v.json") == verdict


@pytest.mark.parametrize(
    ("text", "what", "next"),
    [
        ("", "not JSON", "bench wrote"),
        ("[1]", "names no schema", "bench wrote"),
        ("[" * 100_000, "not JSON", "bench wrote"),
        (
            '{"schema": "stackbuild.benchmarks/1"}',
            "its schema is stackbuild.benchmarks/1",
            "measure again with this version",
        ),
        ('{"schema": "stackbuild.plan/1"}', "its schema is stackbuild.plan/1", "bench wrote"),
        ('{"schema": "stackbuild.benchmarks/2", "suite": "x"}', "it has no digest of its content", "measure again"),
        (json.dumps(sealed({"schema": "stackbuild.benchmarks/2", "suite": "x"})), "`kind`", "cut short"),
    ],
)
def test_what_is_no_results_file_is_told(tmp_path: Path, text: str, what: str, next: str) -> None:
    file = tmp_path / "x.json"
    file.write_text(text)
    with pytest.raises(UsageError) as stop:
        read_benchmarks(file)
    assert what in stop.value.what and next in stop.value.next and stop.value.where == str(file)


def test_a_file_that_was_changed_by_hand_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "r.json"
    for old, new in (('"suite": "models-quick"', '"suite": "models"'), ("0.01,", "0.009,"), ('"inf"', "99")):
        write(measured(), file)
        assert old in file.read_text()
        file.write_text(file.read_text().replace(old, new, 1))
        with pytest.raises(UsageError, match="it was changed after it was written"):
            read_benchmarks(file)
    verdict = Verdict((GateVerdict("g", "c", GateOutcome.FAIL, "slow"),))
    write(verdict, file)
    file.write_text(file.read_text().replace("FAIL", "PASS"))
    with pytest.raises(UsageError, match="it was changed after it was written"):
        read_verdict(file)


def test_a_missing_file_and_a_folder(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no such file"):
        read_benchmarks(tmp_path / "none.json")
    with pytest.raises(UsageError, match="it is a folder"):
        read_benchmarks(tmp_path)


def test_more_rounds_follow_the_first(tmp_path: Path) -> None:
    both = append_rounds(measured(), measured(batches=(8,)))
    assert [len(c.series[0].seconds) for c in both.cases] == [12, 24]
    assert both.cases[1].series[0].accuracy == measured().cases[1].series[0].accuracy
    assert "schema" in document(both)


def test_a_link_stays_one_and_its_target_gets_the_results(tmp_path: Path) -> None:
    real, link = tmp_path / "kept" / "real.json", tmp_path / "link.json"
    real.parent.mkdir()
    link.symlink_to(real)
    for _ in range(2):  # the first time the link leads nowhere yet
        require_writable(link)
        write(measured(), link)
        assert link.is_symlink() and read_benchmarks(real) == measured()


def test_a_pipe_is_written_into_and_stays(tmp_path: Path) -> None:
    pipe, got = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: got.append(pipe.read_text()))
    reader.start()
    require_writable(pipe)
    write(measured(), pipe)
    reader.join(10)
    assert stat.S_ISFIFO(pipe.stat().st_mode) and json.loads(got[0])["suite"] == "models-quick"
    assert [p.name for p in tmp_path.iterdir()] == ["pipe"]


def test_a_device_is_written_into(tmp_path: Path) -> None:
    (tmp_path / "null").symlink_to(os.devnull)
    for path in (Path(os.devnull), tmp_path / "null"):
        require_writable(path)
        write(measured(), path)
    assert stat.S_ISCHR(Path(os.devnull).stat().st_mode) and (tmp_path / "null").is_symlink()


def test_lone_surrogates_are_written_and_read_as_escapes(tmp_path: Path) -> None:
    file, torn = tmp_path / "r.json", replace(measured(), suite="a\udcff.onnx")
    write(torn, file)
    assert read_benchmarks(file).suite == "a\\udcff.onnx"
    file.write_text(json.dumps(sealed(document(measured()) | {"suite": "b\\ud800"})))
    json.dumps(document(read_benchmarks(file)), ensure_ascii=False).encode()


@pytest.mark.parametrize(
    "odd", [{"seconds": (1e-300,)}, {"create": (1e300,)}, {"host_bytes": -1}, {"device_bytes": -1}]
)
def test_what_nothing_can_measure_is_refused(tmp_path: Path, odd: dict[str, Any]) -> None:
    case = measured().cases[0]
    write(replace(measured(), cases=(replace(case, series=(replace(case.series[0], **odd),)),)), tmp_path / "r.json")
    with pytest.raises(UsageError, match="no measurement gives such results"):
        read_benchmarks(tmp_path / "r.json")
