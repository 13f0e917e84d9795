"""The rungs that load libraries, on a stand-in for the sandbox."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from stackbuild.verification.probe_sandbox import ProbeResult
from stackbuild.verification.rung import RungContext
from stackbuild.verification.rungs.gpu import GpuWatch
from stackbuild.verification.rungs.loading import LoadProbes, check_loading, check_loading_with_rocm, unloaded_libraries
from support.rung_samples import SUBJECT, CannedAnswers, library, rules


def loaded(answer: Any) -> LoadProbes:
    return LoadProbes(RungContext(SUBJECT, (), CannedAnswers({"loading": answer}), Path("kernels"), Path("work")))  # type: ignore[arg-type]


def test_loading():
    def without(*missing: str, why: str = "libx: cannot open") -> dict[str, Any]:
        return {"loaded": False, "why": why, "missing": list(missing)}

    good = {"loaded": True, "why": "", "missing": []}
    assert "2 of 2" in check_loading(loaded(good)).says
    ep_lacks = loaded(lambda job: without("libmigraphx_c.so.3") if "migraphx" in job["path"] else good)
    assert (
        check_loading(ep_lacks).says == "1 of 2 libraries; the rest: this machine has no libmigraphx_c.so.3"
        and len(unloaded_libraries(ep_lacks)) == 1
    )
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
    sandbox = CannedAnswers({"loading": {"loaded": True, "why": "", "missing": []}}, root=Path("/base"))
    context = RungContext(replace(SUBJECT, libraries=libraries), (), sandbox, Path("kernels"), Path("work"))  # type: ignore[arg-type]
    outcome = check_loading(LoadProbes(context))
    assert outcome.says == (
        "1 of 1 library; the rest: they need libamdhip64.so.7, which /base has where it cannot be hidden; 1 program not run"
    )
    assert [job["path"] for _, job in sandbox.asked] == [f"/nowhere/site-packages/{api}"]


@pytest.mark.parametrize("says", ["HIP failure 100: no ROCm-capable device is detected ; GPU=0", "Segmentation fault"])
@pytest.mark.parametrize("gpu", [False, True])
@pytest.mark.parametrize("needed", ["libamdhip64.so.6", "libc.so.6"])
def test_an_initialiser_that_asks_hip_for_a_device_is_no_crash_where_there_is_no_gpu(
    says: str, gpu: bool, needed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ONNX Runtime's ROCm provider throws while it is loaded. Another crash, a GPU or a library without HIP is none of it."""
    monkeypatch.setattr(GpuWatch, "is_here", lambda self: gpu)
    path = "capi/libonnxruntime_providers_rocm.so"
    subject = replace(SUBJECT, libraries=(library(path, needed),))
    cell = CannedAnswers({"loading": ProbeResult(-6, False, 0.1, {}, f"terminate called …  what():  {says}")})
    context = RungContext(subject, (), cell, Path("kernels"), Path("work"))  # type: ignore[arg-type]
    outcome = check_loading_with_rocm(LoadProbes(context, frozenset((path,)), rocm=True))
    if says.startswith("HIP") and needed.startswith("libamdhip64") and not gpu:
        assert outcome.skip == "this machine has no AMD GPU (an initialiser of libonnxruntime_providers_rocm.so asks HIP for one)"
        assert not outcome.findings
    else:
        assert rules(outcome) == ["SB-RUN-CRASH"]
