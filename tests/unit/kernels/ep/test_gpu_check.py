"""What kernels/ep/gpu-check refuses before it builds or checks anything."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest


@pytest.fixture
def gpu_check(checks: Callable[[str], ModuleType]) -> ModuleType:
    return checks("gpu_check")


def status(gpu_check: ModuleType, monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    monkeypatch.setattr(sys, "argv", ["gpu-check", *words])
    return gpu_check.main()


@pytest.mark.parametrize(
    ("words", "named"),
    (
        (("--cases", "0"), "--cases 0"),
        (("--cases", "-3"), "--cases -3"),
        (("--models", "foo:float16:1"), "no model 'foo'"),
        (("--models", "resnet50:float16:1,resnet50:float17:1"), "no type 'float17'"),
        (("--models", "resnet50:float16"), "no size ''"),
        (("--models", "bert-base:float16:1"), "such as bert-base:float16:1x37"),
        (("--models", "resnet50:float16:0"), "no size '0'"),
        (("--cpu-test-library", "gone.so", "--only", "times"), "--only times"),
        (("--cpu-test-library", "gone.so", "--only", "nodes", "--only", "devices"), "--only devices"),
        (("--cpu-test-library", "gone.so", "--only", "threads"), "--only threads"),
    ),
)  # fmt: skip
def test_what_would_check_nothing_is_refused_by_name(
    words: tuple[str, ...], named: str, gpu_check: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert status(gpu_check, monkeypatch, *words) == 2
    said = capsys.readouterr()
    assert named in said.err
    assert "next: " in said.err
    assert "all checks hold" not in said.out


def test_all_that_is_timed_unasked_is_accepted(gpu_check: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["gpu-check", "--models", gpu_check.DEFAULT_MODELS])
    assert gpu_check.refusal(gpu_check.arguments()) == ""


def test_a_report_that_cannot_be_written_is_told_before_the_checks(
    gpu_check: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    for path in (tmp_path, tmp_path / "file" / "out.json"):
        assert status(gpu_check, monkeypatch, "--library", "gone.so", "--json", str(path)) == 2
        assert f"--json {path}" in capsys.readouterr().err


def test_one_device_is_not_compared_with_itself(gpu_check: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    offered = SimpleNamespace(ep_name="RocKernels", ep_metadata={"device": "GPU", "target": "none", "built for": "none"})
    monkeypatch.setattr(gpu_check, "devices_of", lambda library: [offered])
    assert status(gpu_check, monkeypatch, "--library", "some.so", "--only", "devices") == 2
    assert "--only devices" in capsys.readouterr().err


@pytest.mark.parametrize(("words", "form"), (((), ""), (("--compiled",), "max-autotune"), (("--compiled", "plain"), "plain")))
def test_torch_is_compiled_in_the_form_asked_for(words: tuple[str, ...], form: str, gpu_check: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["gpu-check", *words])
    assert gpu_check.arguments().compile_form == form
