"""The rungs on canned answers: what each makes of probes that refuse, fall back, err, or die."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from stackbuild.inspection.facts import Library
from stackbuild.verification.models import ReferenceModel
from stackbuild.verification.probe_sandbox import ProbeResult
from stackbuild.verification.rung import RungContext, RungOutcome
from stackbuild.verification.rungs import operators, providers
from stackbuild.verification.rungs.gpu import GpuWatch
from stackbuild.verification.rungs.loading import LoadProbes, check_loading, check_loading_with_rocm, unloaded_libraries
from stackbuild.verification.subject import Form, Subject
from support.paths import ROOT

EP = "MIGraphXExecutionProvider"
GOOD = {"max_abs": 1e-7, "max_rel": 1e-6, "rms": 1e-8, "rel_rms": 1e-7, "cosine": 1.0, "snr_db": 140.0, "finite": 9}
BAD = GOOD | {"rel_rms": 0.5, "snr_db": 6.0}
MODEL = ReferenceModel(Path("resnet50-v1.onnx"), (("batch", 1),), ())


def library(path: str, *needed: str) -> Library:
    return Library(path, 1, 62, "", needed, (), (), False, (), (), (), 0, 0, 0, ())


SUBJECT = Subject(
    Form.RUNTIME, (Path("x.whl"),), ("onnxruntime",), "onnxruntime_ep_x", (EP,),
    (library("capi/libonnxruntime_providers_migraphx.so", "libmigraphx_c.so.3"), library("capi/libonnxruntime.so.1", "libc.so.6")),
    (), (), (),
)  # fmt: skip


@dataclass
class Answers:
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


def provider_probes(form: Form = Form.RUNTIME, blocker: str = "", **answers: Any) -> providers.ProviderProbes:
    context = RungContext(replace(SUBJECT, form=form), (), Answers(answers), Path("kernels"), Path("work"))  # type: ignore[arg-type]
    return providers.ProviderProbes(context, (MODEL,), "", blocker)


@pytest.mark.parametrize("outputs", [[], [GOOD | {"finite": 0}], [{"finite": "many"}]])
def test_outputs_that_show_nothing_are_no_right_ones(outputs: list[dict[str, Any]]) -> None:
    """No output at all, or NaN here and in the reference, which agree to the last bit."""
    made = provider_probes(epops=ran(), share=shared(99, 1), compare={"outputs": outputs})
    outcome = providers.check_numerics(made)
    assert rules(outcome) == ["SB-RUN-NUMERICS"] and "no output with a finite value" in outcome.findings[0].found


def card(folder: Path) -> Path:
    """A folder with the counters of one AMD GPU that never moves."""
    device = folder / "card0" / "device"
    device.mkdir(parents=True, exist_ok=True)
    for name, text in (("vendor", "0x1002"), ("mem_info_vram_used", "0"), ("gpu_busy_percent", "0")):
        (device / name).write_text(text)
    return folder


def rules(outcome: RungOutcome) -> list[str]:
    return [finding.rule for finding in outcome.findings]


def ran(**changed: Any) -> dict[str, Any]:
    """Every claimed operator ran well, but for those changed."""
    return {"ops": {op: {"assigned": {EP: 1}, "errors": GOOD} for op in providers.CLAIM_PATTERNS} | changed}


def shared(on_ep: int, on_cpu: int) -> dict[str, Any]:
    return {
        "assigned": {EP: on_ep, providers.CPU: on_cpu},
        "nodes": {},
        "seconds": {EP: 0.9, providers.CPU: 0.1},
        "providers": [EP],
    }


def test_all_is_well():
    made = provider_probes(epops=ran(), share=shared(95, 5), compare={"outputs": [GOOD]})
    assert rules(providers.check_operators(made)) == rules(providers.check_share(made)) == rules(providers.check_numerics(made)) == []
    assert "23 of 23 operators" in providers.check_operators(made).says
    assert "95% of nodes, 90% of time" in providers.check_share(made).says
    assert "SNR 140 dB" in providers.check_numerics(made).says


def test_a_claimed_operator_that_is_refused():
    outcome = providers.check_operators(provider_probes(epops=ran(Conv={"refused": "FAIL: assigned to CPU"})))
    assert rules(outcome) == ["SB-RUN-OPERATOR"] and "assigned to CPU" in outcome.findings[0].found


def test_a_session_that_fell_back():
    outcome = providers.check_operators(provider_probes(epops=ran(Add={"error": "asked for X, the session runs on CPUExecutionProvider"})))
    assert rules(outcome) == ["SB-RUN-OPERATOR"] and "CPUExecutionProvider" in outcome.findings[0].found


def test_a_probe_that_was_killed_inside_the_launch():
    outcome = providers.check_operators(provider_probes(epops=ProbeResult(139, False, 1.0, {}, "")))
    assert rules(outcome) == ["SB-RUN-CRASH"] and "139" in outcome.findings[0].found


def test_a_silent_fall_back_of_most_nodes():
    made = provider_probes(epops=ran(), share=shared(3, 409), compare={"outputs": [GOOD]})
    outcome = providers.check_share(made)
    assert rules(outcome) == ["SB-RUN-SHARE"] and "1% of nodes" in outcome.findings[0].found


def test_an_old_runtime_tells_by_its_profile():
    said = shared(0, 0) | {"assigned": {}, "nodes": {EP: 99, providers.CPU: 1}}
    assert rules(providers.check_share(provider_probes(epops=ran(), share=said))) == []


@pytest.mark.parametrize("error", [0.5, float("nan"), float("inf")])
def test_wrong_numbers_are_found_also_when_they_are_not_numbers(error: float):
    made = provider_probes(epops=ran(), share=shared(99, 1), compare={"outputs": [GOOD, GOOD | {"rel_rms": error}]})
    assert rules(providers.check_numerics(made)) == ["SB-RUN-NUMERICS"]
    assert rules(providers.check_numerics(provider_probes(epops=ran(Gemm={"errors": GOOD | {"rel_rms": error}}), share=shared(99, 1), compare={"outputs": [GOOD]}))) == [
        "SB-RUN-NUMERICS"
    ]  # fmt: skip


def test_what_cannot_be_loaded_is_not_opened():
    made = provider_probes(blocker="this machine has no libmigraphx_c.so.3")
    assert providers.check_operators(made).skip == providers.check_share(made).skip == providers.check_numerics(made).skip == made.blocker
    assert made.context.sandbox.asked == []  # type: ignore[attr-defined]


def test_a_plugin_that_offers_no_device_is_not_a_failure():
    made = provider_probes(Form.PLUGIN, plugin={"providers": {"X": []}, "why": "no HIP runtime", "operators": []})
    assert providers.check_operators(made).skip == "the provider offers no device here: no HIP runtime"
    assert providers.check_share(made).skip and providers.check_numerics(made).skip


def test_where_the_package_cannot_say_why_there_is_no_device_the_log_does():
    """A HIP runtime that sees no GPU: the reason is a warning of the provider's, and the time in it is not the wheel's."""
    line = "2026-11-22 18:37:49.502454356 [W:onnxruntime:Default, x.hpp:66 x] X offers no device: the runtime sees none"
    answer = {"providers": {"X": []}, "why": "", "operators": []}
    made = provider_probes(Form.PLUGIN, plugin=ProbeResult(0, False, 0.1, answer, line))
    for rung in (providers.check_operators, providers.check_share, providers.check_numerics):
        assert rung(made).skip.endswith(
            ": it printed: [W:onnxruntime:Default, x.hpp:66 x] X offers no device: the runtime sees none"
        )
    silent = provider_probes(Form.PLUGIN, plugin=answer)
    assert providers.check_operators(silent).skip.endswith("neither it nor the log says why")


def test_a_plugin_that_cannot_be_registered_has_not_just_no_device():
    made = provider_probes(Form.PLUGIN, plugin={"error": "it needs ONNX Runtime 1.24 or newer"})
    assert rules(providers.check_operators(made)) == ["SB-RUN-OPERATOR"]
    assert providers.check_share(made).skip == providers.check_numerics(made).skip == "its library could not be registered"


def test_a_gpu_that_the_provider_offers_no_device_on_is_not_said_to_be_idle(tmp_path: Path):
    """A machine with an AMD GPU and no ROCm: the provider declines, and no one said that it ran."""
    answer = {"providers": {"X": []}, "why": "no HIP runtime", "operators": []}
    assert providers.check_gpu(provider_probes(Form.PLUGIN, plugin=answer), GpuWatch(card(tmp_path))).skip == (
        "the provider offers no device here: no HIP runtime"
    )
    there = answer | {"providers": {EP: [{"vendor": "AMD"}]}}
    made = provider_probes(Form.PLUGIN, plugin=there, share={"assigned": {EP: 9}, "seconds": {EP: 1.0}})
    assert rules(providers.check_gpu(made, GpuWatch(card(tmp_path)))) == ["SB-RUN-GPU-IDLE"]
    assert providers.check_gpu(made, GpuWatch(tmp_path / "none")).skip == "no AMD GPU here"


def test_a_plugin_is_held_to_what_its_package_says():
    one = {"ops": {"Conv": {"errors": GOOD}, "Gemm": {"refused": "no"}}}
    said = {"providers": {EP: [{"vendor": "AMD"}]}, "why": ""}
    assert rules(providers.check_operators(provider_probes(Form.PLUGIN, plugin=said | {"operators": ["Conv"]}, epops=one))) == []
    assert rules(providers.check_operators(provider_probes(Form.PLUGIN, plugin=said | {"operators": ["Conv", "Gemm"]}, epops=one))) == [
        "SB-RUN-OPERATOR"
    ]
    none = {"ops": {"Conv": {"refused": "no kernel"}}}
    assert rules(providers.check_operators(provider_probes(Form.PLUGIN, plugin=said | {"operators": []}, epops=none))) == [
        "SB-RUN-OPERATOR"
    ]


def custom(**rows: Any) -> operators.CustomOpProbes:
    good = {"rows": {"float32": {"cases": 10, "wrong": [], "failed": [], "worst": GOOD}}}
    subject = replace(SUBJECT, form=Form.CUSTOM_OPS, package=operators.PACKAGE)
    sandbox = Answers({"kernelops": lambda job: rows.get(job["op"], good)})
    kernels = ROOT / "kernels"
    return operators.CustomOpProbes(RungContext(subject, (), sandbox, kernels, Path("work")))  # type: ignore[arg-type]


def test_custom_operators():
    assert rules(operators.check_operators(custom())) == rules(operators.check_numerics(custom())) == []
    assert "60 cases" in operators.check_operators(custom()).says
    wrong = {"rows": {"float16": {"cases": 4, "wrong": ["odd shape: relative error 3e-1"], "failed": [], "worst": BAD}}}
    assert (
        rules(operators.check_numerics(custom(Conv=wrong))) == ["SB-RUN-NUMERICS"] and rules(operators.check_operators(custom(Conv=wrong))) == []
    )
    failed = {"rows": {"float32": {"cases": 4, "wrong": [], "failed": ["batch 1: Fail: x"], "worst": None}}}
    assert rules(operators.check_operators(custom(Attention=failed))) == ["SB-RUN-OPERATOR"]
    assert rules(operators.check_operators(custom(Attention=ProbeResult(-11, False, 1.0, {}, "")))) == ["SB-RUN-CRASH"]
    assert rules(operators.check_operators(custom(Attention={"rows": {}}))) == ["SB-RUN-OPERATOR"]


def test_custom_operators_on_a_gpu(tmp_path: Path):
    context = custom().context
    idle = operators.check_gpu(context, GpuWatch(card(tmp_path)), "")
    assert rules(idle) == ["SB-RUN-GPU-IDLE"]
    assert operators.check_gpu(context, GpuWatch(tmp_path), "no libamdhip64.so.6").skip == "no libamdhip64.so.6"
    assert operators.check_gpu(context, GpuWatch(tmp_path / "none"), "").skip == "no AMD GPU here"


def loaded(answer: Any) -> LoadProbes:
    return LoadProbes(RungContext(SUBJECT, (), Answers({"loading": answer}), Path("kernels"), Path("work")))  # type: ignore[arg-type]


def test_loading():
    def without(*missing: str, why: str = "libx: cannot open") -> dict[str, Any]:
        return {"loaded": False, "why": why, "missing": list(missing)}

    good = {"loaded": True, "why": "", "missing": []}
    assert "2 of 2" in check_loading(loaded(good)).says
    ep_lacks = loaded(lambda job: without("libmigraphx_c.so.3") if "migraphx" in job["path"] else good)
    assert check_loading(ep_lacks).says == "1 of 2 libraries; the rest: this machine has no libmigraphx_c.so.3" and len(unloaded_libraries(ep_lacks)) == 1
    assert "libmigraphx_c.so.3" in check_loading_with_rocm(replace(ep_lacks, only=unloaded_libraries(ep_lacks))).skip
    assert check_loading_with_rocm(replace(loaded(good), only=unloaded_libraries(ep_lacks))).says == "1 library"
    assert check_loading_with_rocm(replace(loaded(good), only=frozenset())).skip == "no library waits for it"
    still = replace(loaded(without(why="undefined symbol: hipNew")), only=unloaded_libraries(ep_lacks))
    assert rules(check_loading_with_rocm(still)) == ["SB-RUN-LOAD"]
    assert rules(check_loading(loaded(without("libfoo.so.1")))) == ["SB-RUN-LOAD"] * 2
    assert rules(check_loading(loaded(without(why="undefined symbol: miopenGet")))) == ["SB-RUN-LOAD"] * 2
    assert "GLIBCXX_3.4.32" in check_loading(loaded(without(why="version `GLIBCXX_3.4.32' not found"))).skip
    assert rules(check_loading(loaded(ProbeResult(134, False, 0.1, {}, "")))) == ["SB-RUN-CRASH"] * 2


def test_programs_are_not_opened_and_a_wheels_own_libraries_are_not_the_roots():
    core, api = "m/lib/libmigraphx.so.2015000", "m/lib/libmigraphx_c.so.3"
    libraries = (
        replace(library(core, "libamdhip64.so.7", "libc.so.6"), runpath=("$ORIGIN",)),
        replace(library(api, "libmigraphx.so.2015000"), runpath=("$ORIGIN",)),
        replace(library("m/bin/migraphx-driver", "libamdhip64.so.7"), is_program=True),
        library("capi/libonnxruntime_providers_migraphx.so", "libamdhip64.so.7", "libmigraphx_c.so.3"),
    )
    sandbox = Answers({"loading": {"loaded": True, "why": "", "missing": []}}, root=Path("/base"))
    context = RungContext(replace(SUBJECT, libraries=libraries), (), sandbox, Path("kernels"), Path("work"))  # type: ignore[arg-type]
    outcome = check_loading(LoadProbes(context))
    assert outcome.says == (
        "1 of 1 library; the rest: they need libamdhip64.so.7, which /base has where it cannot be hidden; 1 program not run"
    )
    assert [job["path"] for _, job in sandbox.asked] == [f"/nowhere/site-packages/{api}"]


def test_an_operator_that_kills_its_process_hides_no_other():
    def epops(job: dict[str, Any]) -> Any:
        if not job["ops"] or "Conv" in job["ops"]:
            return ProbeResult(-11, False, 0.1, {}, "")
        return {"ops": {op: {"assigned": {EP: 1}, "errors": GOOD} for op in job["ops"]}}

    outcome = providers.check_operators(provider_probes(epops=epops, share=shared(95, 5), compare={"outputs": [GOOD]}))
    assert [finding.subject for finding in outcome.findings] == [f"{EP} Conv"] and "22 of 23 operators" in outcome.says
    assert "SIGSEGV" in outcome.findings[0].found


def test_a_provider_that_ran_nothing_has_no_numbers():
    """The CPU's own answers were compared with themselves, and the rung passed."""
    nothing = {"ops": {op: {"refused": "no device"} for op in providers.CLAIM_PATTERNS}}
    made = provider_probes(epops=nothing, share=shared(0, 99), compare={"outputs": [GOOD]})
    assert providers.check_numerics(made).skip == "not one operator ran on the provider"
    made = provider_probes(epops=ran(), share=shared(0, 99), compare={"outputs": [GOOD]})
    outcome = providers.check_numerics(made)
    assert "no node of it ran on" in outcome.says and "SNR" not in outcome.says


def test_libraries_of_the_machine_that_need_the_wheels_hip_runtime(tmp_path: Path) -> None:
    from stackbuild.verification.rungs.emulation import machine_libraries
    from support.binaries import library

    folder = tmp_path / "usr" / "lib" / "x86_64-linux-gnu"
    (folder / "migraphx" / "lib").mkdir(parents=True)
    (local := tmp_path / "usr" / "local" / "lib" / "migraphx" / "lib").mkdir(parents=True)
    for path, needs in (
        (folder / "librocblas.so.4", "libamdhip64.so.6"), (folder / "libold.so.1", "libamdhip64.so.5"),
        (folder / "migraphx" / "lib" / "libmigraphx_gpu.so.2", "libamdhip64.so.6"),
        (local / "libmigraphx_device.so.2", "libamdhip64.so.6"),
    ):  # fmt: skip
        path.write_bytes(library(needed=(needs,)))
    (folder / "libscript.so.1").write_text("GROUP ( libc.so.6 )")
    (folder / "liblink.so.1").symlink_to("librocblas.so.4")
    assert [path.name for path in machine_libraries(tmp_path, "libamdhip64.so.6")] == [
        "librocblas.so.4", "libmigraphx_gpu.so.2", "libmigraphx_device.so.2",
    ]  # fmt: skip
