"""What two builds were made of otherwise: the locks beside a baseline and its candidate."""

from __future__ import annotations

import os
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from stackbuild.bench.gate import GateRequest, measure_wheel
from stackbuild.bench.lock_diff import compare_inputs, lock_beside
from stackbuild.bench.results_file import read_benchmarks, write
from stackbuild.core.errors import UsageError
from stackbuild.judgement import judge
from stackbuild.model.gates import BaselineGate
from stackbuild.model.results import ChangedInput
from stackbuild.pipeline.run_record import of_results
from stackbuild.views.formats import render_run
from support.benchmark_results import measured

OLD = """schema: 1
asked: "{asked}"
commits: {{migraphx: 0123456789abcdef0123456789abcdef01234567}}
packages: {{hipcc: 5.7.1-6, cmake: 3.31.6-2}}
deps: {{migraphx: [{{name: abseil, url: "https://example.org/a-1.tar.gz"}}]}}
wheelhouse: {{"3.11": {{numpy: {{version: 2.3.0, sha256: ["{pin}"]}}}}}}
""".format(asked="a" * 64, pin="b" * 64)
NEW = (
    OLD.replace("0123456789abcdef", "fedcba9876543210")
    .replace("hipcc: 5.7.1-6", "hipcc: 5.7.1-7, gcc: 14.2.0-19")
    .replace("a-1.tar.gz", "a-2.tar.gz")
)


@pytest.fixture
def locks(tmp_path: Path) -> tuple[Path, Path]:
    old, new = lock_beside(tmp_path / "old-1-py3-none-any.whl"), lock_beside(tmp_path / "new-2-py3-none-any.whl")
    old.write_text(OLD)
    new.write_text(NEW)
    return old, new


def test_every_difference_is_told_sources_first(locks: tuple[Path, Path]) -> None:
    found = compare_inputs(*locks)
    assert found.moved == (
        ChangedInput("source migraphx", "0123456789abcdef" * 2 + "01234567", "fedcba9876543210" * 2 + "01234567"),
        ChangedInput("dependency of migraphx: abseil", "https://example.org/a-1.tar.gz", "https://example.org/a-2.tar.gz"),
        ChangedInput("base package hipcc", "5.7.1-6", "5.7.1-7"),
        ChangedInput("base package gcc", "", "14.2.0-19"),
    )
    assert found.says.startswith("4 locked inputs differ from the baseline's: source migraphx 0123")
    assert found.says.endswith("base package hipcc 5.7.1-6 → 5.7.1-7, and 1 more")
    assert found.baseline != found.candidate and len(found.baseline) == 64
    same = compare_inputs(locks[0], locks[0])
    assert same.moved == () and "equal locks" in same.says


def test_they_are_in_the_results_the_verdict_and_every_report(locks: tuple[Path, Path], tmp_path: Path) -> None:
    found = replace(measured(), inputs=compare_inputs(*locks))
    write(found, tmp_path / "r.json")
    assert read_benchmarks(tmp_path / "r.json") == found
    verdict = judge(found, (), date(2026, 11, 20))
    assert found.inputs and verdict.notes == (found.inputs.says,)
    run = of_results(found, verdict)
    for format in ("html", "markdown", "json"):
        text = render_run(run, format, 1_000_000)
        assert "base package hipcc" in text and "5.7.1-7" in text, format


@pytest.mark.parametrize(
    ("text", "what"),
    [("", "not a lock"), ("schema: 2", "not a lock"), ("a: [", "not a lock"), (None, "there is no such file")],
)
def test_what_is_no_lock(locks: tuple[Path, Path], text: str | None, what: str) -> None:
    if text is None:
        locks[0].unlink()
    else:
        locks[0].write_text(text)
    with pytest.raises(UsageError, match=what):
        compare_inputs(*locks)


def test_a_lock_that_is_named_must_be_there(tmp_path: Path) -> None:
    """Found before anything is measured."""
    wheel = tmp_path / "stackbuild_kernels-1-py3-none-any.whl"
    gate = BaselineGate(kind="baseline", wheel=str(wheel), lock=str(tmp_path / "none.yaml"))
    lock_beside(wheel).write_text(OLD)
    with pytest.raises(UsageError, match="there is no such file"):
        measure_wheel(GateRequest(wheel), (gate,), lambda *_: None)


@pytest.mark.parametrize("kind", ["FIFO", "holes", "device"])
def test_a_lock_is_a_file_of_a_bounded_length(locks: tuple[Path, Path], kind: str) -> None:
    """Nobody waits for it, and it takes no memory: who gives away a baseline wheel chooses what lies beside it."""
    locks[0].unlink()
    if kind == "FIFO":
        os.mkfifo(locks[0])
    elif kind == "holes":
        locks[0].touch()
        os.truncate(locks[0], 1 << 40)
    else:
        locks[0].symlink_to("/dev/zero")
    with pytest.raises(UsageError, match=r"cannot read it: (it is not a file|longer than)"):
        compare_inputs(*locks)
