"""Rungs of execution providers, on a stand-in for the sandbox."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from stackbuild.verification.models import ReferenceModel
from stackbuild.verification.probe_sandbox import ProbeResult
from stackbuild.verification.rung import RungContext
from stackbuild.verification.rungs import providers
from stackbuild.verification.rungs.gpu import GpuWatch
from stackbuild.verification.subject import Form
from support.rung_samples import EP, GOOD, SUBJECT, CannedAnswers, card, rules

MODEL = ReferenceModel(Path("resnet50-v1.onnx"), (("batch", 1),), ())


def provider_probes(form: Form = Form.RUNTIME, blocker: str = "", **answers: Any) -> providers.ProviderProbes:
    context = RungContext(replace(SUBJECT, form=form), (), CannedAnswers(answers), Path("kernels"), Path("work"))  # type: ignore[arg-type]
    return providers.ProviderProbes(context, (MODEL,), "", blocker)


@pytest.mark.parametrize("outputs", [[], [GOOD | {"finite": 0}], [{"finite": "many"}]])
def test_outputs_that_show_nothing_are_no_right_ones(outputs: list[dict[str, Any]]) -> None:
    """No output at all, or NaN here and in the reference, which agree to the last bit."""
    made = provider_probes(epops=ran(), share=shared(99, 1), compare={"outputs": outputs})
    outcome = providers.check_numerics(made)
    assert rules(outcome) == ["SB-RUN-NUMERICS"] and "no output with a finite value" in outcome.findings[0].found


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
    assert (
        rules(providers.check_operators(made))
        == rules(providers.check_share(made))
        == rules(providers.check_numerics(made))
        == []
    )
    assert "23 of 23 operators" in providers.check_operators(made).says
    assert "95% of nodes, 90% of time" in providers.check_share(made).says
    assert "SNR 140 dB" in providers.check_numerics(made).says


def test_a_claimed_operator_that_is_refused():
    outcome = providers.check_operators(provider_probes(epops=ran(Conv={"refused": "FAIL: assigned to CPU"})))
    assert rules(outcome) == ["SB-RUN-OPERATOR"] and "assigned to CPU" in outcome.findings[0].found


def test_a_session_that_fell_back():
    outcome = providers.check_operators(
        provider_probes(epops=ran(Add={"error": "asked for X, the session runs on CPUExecutionProvider"}))
    )
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
    assert (
        providers.check_operators(made).skip
        == providers.check_share(made).skip
        == providers.check_numerics(made).skip
        == made.blocker
    )
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
    assert (
        providers.check_share(made).skip == providers.check_numerics(made).skip == "its library could not be registered"
    )


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
    assert (
        rules(providers.check_operators(provider_probes(Form.PLUGIN, plugin=said | {"operators": ["Conv"]}, epops=one)))
        == []
    )
    assert rules(
        providers.check_operators(
            provider_probes(Form.PLUGIN, plugin=said | {"operators": ["Conv", "Gemm"]}, epops=one)
        )
    ) == ["SB-RUN-OPERATOR"]
    none = {"ops": {"Conv": {"refused": "no kernel"}}}
    assert rules(
        providers.check_operators(provider_probes(Form.PLUGIN, plugin=said | {"operators": []}, epops=none))
    ) == ["SB-RUN-OPERATOR"]


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
