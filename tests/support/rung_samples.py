"""Rungs on canned answers: a stand-in for the sandbox, and what it answers."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from stackbuild.inspection.facts import Library
from stackbuild.verification.probe_sandbox import ProbeResult
from stackbuild.verification.rung import RungOutcome
from stackbuild.verification.subject import Form, Subject

EP = "MIGraphXExecutionProvider"


GOOD = {"max_abs": 1e-7, "max_rel": 1e-6, "rms": 1e-8, "rel_rms": 1e-7, "cosine": 1.0, "snr_db": 140.0, "finite": 9}


def library(path: str, *needed: str) -> Library:
    return Library(path, 1, 62, "", needed, (), (), False, (), (), (), 0, 0, 0, ())


SUBJECT = Subject(
    Form.RUNTIME, (Path("x.whl"),), ("onnxruntime",), "onnxruntime_ep_x", (EP,),
    (library("capi/libonnxruntime_providers_migraphx.so", "libmigraphx_c.so.3"), library("capi/libonnxruntime.so.1", "libc.so.6")),
    (), (), (),
)  # fmt: skip


@dataclass
class CannedAnswers:
    """A cell that answers from a table instead of running anything: a remembered answer, or a function of the job."""

    answers: dict[str, Any]
    folder: Path = Path("/nowhere")
    out: Path = Path("/nowhere/out")
    root: Path | None = None
    site: Path = Path("/nowhere/site-packages")
    asked: list[tuple[str, Any]] = field(default_factory=list)

    def probe(self, name: str, job: Any, seconds: float, env: Any = ()) -> ProbeResult:
        self.asked.append((name, job))
        answer = self.answers[name](job) if callable(self.answers[name]) else self.answers[name]
        return answer if isinstance(answer, ProbeResult) else ProbeResult(0, False, 0.1, answer, "")


def card(folder: Path) -> Path:
    """A folder with the counters of one AMD GPU that never moves."""
    device = folder / "card0" / "device"
    device.mkdir(parents=True, exist_ok=True)
    for name, text in (("vendor", "0x1002"), ("mem_info_vram_used", "0"), ("gpu_busy_percent", "0")):
        (device / name).write_text(text)
    return folder


def rules(outcome: RungOutcome) -> list[str]:
    return [finding.rule for finding in outcome.findings]
