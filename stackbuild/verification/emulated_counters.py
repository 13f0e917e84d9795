"""Counters of a wheel's kernels on an emulated GPU: its operators run in the sandbox of `verify`, with this Python's packages."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from stackbuild.core.errors import MachineLacks, UsageError, VerificationFailed
from stackbuild.core.resources import folder
from stackbuild.core.shell_words import shell_word
from stackbuild.emulator.counter_model import EmulatedCounters, sum_by_kernel
from stackbuild.emulator.hip_runtime import imports_of, runtime_folder
from stackbuild.emulator.service import CHANNEL, EmulatorService
from stackbuild.inspection import inspect
from stackbuild.model.findings import Finding
from stackbuild.sources.archive import unpack
from stackbuild.tables.gpu_limits import limits_of
from stackbuild.verification.probe_sandbox import ProbeSandbox
from stackbuild.verification.rung import RungContext
from stackbuild.verification.rungs import providers
from stackbuild.verification.rungs.emulation import NO_TABLES, SAMPLE, SECONDS
from stackbuild.verification.rungs.operators import ON_GPU, PACKAGE, CustomOpProbes, check_numerics, check_operators
from stackbuild.verification.subject import Form, subject_of
from stackbuild.verification.workspace import workspace


@dataclass(frozen=True)
class CounterRequest:
    """What is counted: a wheel's kernels on a target; `whole`: in every case. Translated kernels are kept in `cache`."""

    wheel: Path
    target: str
    cache: Path
    whole: bool = False


def count(request: CounterRequest, check: Callable[[], None] = lambda: None) -> tuple[EmulatedCounters, ...]:
    """The counters of every kernel that the wheel's operators launch.

    Raises UsageError for a wheel of other operators, MachineLacks where something is missing, VerificationFailed where an
    operator fails or is wrong: counters of wrong work are worth nothing.
    """
    limits = limits_of(request.target)
    if find_spec("tinygrad") is None:
        raise MachineLacks(NO_TABLES, next="pip install 'stackbuild[emulator]'", topic="emulator")
    if not request.wheel.exists():
        raise UsageError("there is no such wheel", where=str(request.wheel), next="give the path of a .whl file")
    if request.wheel.suffix != ".whl" or not request.wheel.is_file():
        raise UsageError(
            "not a wheel",
            where=str(request.wheel),
            next="give a wheel of stackbuild-kernels or of a plugin execution provider",
        )
    subject = subject_of((inspect(request.wheel),))
    is_plugin = subject.form is Form.PLUGIN
    if not is_plugin and subject.package != PACKAGE:
        raise UsageError(
            "no cases are known for its operators",
            where=request.wheel.name,
            next="counters are of the bundled kernels and of plugin execution providers",
        )
    if is_plugin and request.whole:
        raise UsageError(
            "a plugin has no more cases than the sample", where=request.wheel.name, next="leave --emulate-all out"
        )
    service = EmulatorService(limits, request.cache / "kernels", counters=True)
    service.folder.mkdir(parents=True, exist_ok=True)
    with workspace() as work:
        wheel_folder = work / "wheel"
        wheel_folder.mkdir()
        unpack(request.wheel, wheel_folder)
        imports = imports_of(sorted(wheel_folder.rglob("*.so")))
        if imports is None:
            raise UsageError("none of its libraries needs the HIP runtime", where=request.wheel.name)
        runtime = runtime_folder(imports, request.cache / "runtime")
        with service.running() as descriptor:
            (work / "probes-folder").mkdir()
            sandbox = ProbeSandbox(
                work / "probes-folder", Path(sys.executable), check=check,
                readable=(wheel_folder, Path(sys.prefix), folder("kernels").resolve(), runtime.parent, service.folder),
                env=(("PYTHONPATH", str(wheel_folder)), ("LD_LIBRARY_PATH", str(runtime)), (CHANNEL, str(descriptor))),
                inherited_fds=(descriptor,),
            )  # fmt: skip
            context = RungContext(subject, (), sandbox, folder("kernels"), work)
            findings = _plugin_findings(context) if is_plugin else _custom_op_findings(context, request)
    if findings:
        raise VerificationFailed(
            f"{findings[0].subject}: {findings[0].found}",
            next=f"stackbuild verify {shell_word(request.wheel)} --emulate {shell_word(request.target)}",
        )
    rows = sum_by_kernel(service.reports)
    if not rows:
        raise MachineLacks("no kernel was launched", where=request.wheel.name)
    return rows


def _custom_op_findings(context: RungContext, request: CounterRequest) -> tuple[Finding, ...]:
    probes = CustomOpProbes(context, ON_GPU, (0, 0) if request.whole else SAMPLE, SECONDS)
    return (*check_operators(probes).findings, *check_numerics(probes).findings)


def _plugin_findings(context: RungContext) -> tuple[Finding, ...]:
    """Every operator of the probes alone, quantized ones too."""
    probes = providers.ProviderProbes(context, (), "models are not counted", "", SECONDS)
    return (*providers.check_operators(probes).findings, *providers.check_numerics(probes).findings)
