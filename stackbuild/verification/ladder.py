"""The rungs of verification in order. One that cannot run on this machine is skipped with the reason."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from stackbuild.core.copy_file import copy_file
from stackbuild.core.digest import of_file, of_text
from stackbuild.core.errors import MachineLacks, UsageError
from stackbuild.core.packaging import Claim
from stackbuild.core.resources import folder
from stackbuild.emulator.hip_runtime import RUNTIME
from stackbuild.inspection import NOTHING, Expectations, inspect, judge, judge_together
from stackbuild.model.findings import GPU_RUNG, STATIC_RUNG, Rung, Status, Verification
from stackbuild.tables.gpu_limits import limits_of
from stackbuild.tables.providers import MIGRAPHX_PACKAGE
from stackbuild.verification.clean_env import PythonHost, install, make_venv, other_root, this_machine
from stackbuild.verification.installation import environment_findings
from stackbuild.verification.models import write_models
from stackbuild.verification.rung import RungContext, RungOutcome, rung, skipped_rung
from stackbuild.verification.rungs import operators, providers
from stackbuild.verification.rungs.emulation import Emulation, check_emulated
from stackbuild.verification.rungs.gpu import NO_GPU_HERE, GpuWatch
from stackbuild.verification.rungs.importing import check_import
from stackbuild.verification.rungs.loading import (
    LoadProbes,
    check_loading,
    check_loading_with_rocm,
    missing_names,
    unloaded_libraries,
)
from stackbuild.verification.rungs.static import static_rung
from stackbuild.verification.subject import Form, Subject, subject_of
from stackbuild.verification.workspace import workspace

IMPORT, LOAD, LOAD_ROCM, OPERATORS = "install and import", "load", "load with ROCm", "operators"
SHARE, NUMERICS, GPU = "share of nodes", "numerics", GPU_RUNG
LADDER = (STATIC_RUNG, IMPORT, LOAD, LOAD_ROCM, OPERATORS, SHARE, NUMERICS, GPU)
RungCallback = Callable[[Rung], None]
ExpectationsOf = Callable[[str], Expectations]


@dataclass(frozen=True)
class VerifyOptions:
    """What verification works with.

    `wheelhouse` has the dependencies, `runtime` is what to install beside the wheel to use it, `python` is the
    interpreter to take, and `rocm` lets probes see this machine's ROCm. `wheelhouses` (by Python version, "3.11") replace
    `wheelhouse`: the one of the interpreter's version is used.

    `root` is another root file system, such as the recipe's base. It replaces this machine where that is too old or lacks
    the Python, and libraries that need a ROCm which this machine lacks are loaded there. `check` is called often and may
    raise to stop. `emulate` are the targets whose device code is run on the CPU; translated kernels are kept in
    `emulator_folder`. `migraphx` is a wheel of a `migraphx-package`: what packs an ONNX Runtime has its libraries from the rung
    "load with ROCm" on. Each target is a rung of its own; `emulate_whole` runs every case instead of a sample, `sanitize` looks for races and their like.
    """

    wheelhouse: Path | None = None
    wheelhouses: tuple[tuple[str, Path], ...] = ()
    runtime: tuple[str, ...] = ("onnxruntime", "numpy", "onnx")
    python: Path | None = None
    rocm: bool = True
    root: Path | None = None
    migraphx: Path | None = None
    emulate: tuple[str, ...] = ()
    emulator_folder: Path | None = None
    emulate_whole: bool = False
    sanitize: bool = False
    check: Callable[[], None] = lambda: None

    @property
    def emulations(self) -> tuple[Emulation, ...]:
        """What the rungs of device code run. Raises UsageError for a target that cannot be emulated."""
        folder = self.emulator_folder or Path(tempfile.gettempdir()) / f"stackbuild-emulator-{os.geteuid()}"
        return tuple(
            Emulation(limits_of(target, "--emulate").target, folder, self.emulate_whole, self.sanitize) for target in self.emulate
        )


def verify(
    wheels: tuple[Path, ...],
    expectations: ExpectationsOf = lambda distribution: NOTHING,
    options: VerifyOptions | None = None,
    tick: RungCallback = lambda _: None,
) -> Verification:
    """Verify wheels that belong together; `expectations` gives each one's by its distribution.

    `tick` is called with each rung when it ends. Raises UsageError where a wheel does not exist, and what `options.check`
    raises.
    """
    rungs: list[Rung] = []
    options = options or VerifyOptions()
    emulated_names = tuple(
        each.rung_name for each in options.emulations
    )  # a wrong target is refused before anything runs
    for rung_result in _rungs(wheels, expectations, options, (*LADDER[:-1], *emulated_names, GPU)):
        rungs.append(rung_result)
        tick(rung_result)
    digests = [of_file(path) for path in wheels]
    name = " + ".join(path.name for path in wheels)
    return Verification(name, digests[0] if len(digests) == 1 else of_text("\n".join(digests)), tuple(rungs))


def _rungs(
    wheels: tuple[Path, ...], expectations: ExpectationsOf, options: VerifyOptions, ladder: tuple[str, ...]
) -> Iterator[Rung]:
    for path in wheels:
        if not path.exists():
            raise UsageError("there is no such wheel", where=str(path), next="give the path of a .whl file")
        if path.suffix != ".whl" or not path.is_file():
            raise UsageError(
                "not a wheel", where=str(path), next="`verify` proves wheels; `inspect` reads other files too"
            )
    start_time = time.monotonic()
    facts = tuple(inspect(path.absolute()) for path in wheels)
    expectation_list = tuple(expectations(each.wheel.name) if each.wheel else NOTHING for each in facts)
    findings = (
        *(f for each, of in zip(facts, expectation_list, strict=True) for f in judge(each, of)),
        *judge_together(facts),
    )
    yield static_rung(findings, time.monotonic() - start_time)
    if any(each.wheel is None or any(p.subject == Path(each.path).name for p in each.problems) for each in facts):
        yield from (skipped_rung(name, "the wheel cannot be read") for name in ladder[1:])
        return
    external = tuple(name for each in expectation_list for name in each.external)
    with workspace() as work:
        try:
            yield from _run(subject_of(facts), external, options, work, ladder)
        except MachineLacks as lacks:
            yield from (skipped_rung(name, lacks.what) for name in ladder[1:])


def _run(
    subject: Subject, external: tuple[str, ...], options: VerifyOptions, work: Path, ladder: tuple[str, ...]
) -> Iterator[Rung]:
    """The rungs that run something."""
    host, lacking = _place(subject, options, work)
    if host is None:
        yield from (skipped_rung(name, lacking) for name in ladder[1:])
        return
    if options.wheelhouses:
        options = replace(options, wheelhouse=dict(options.wheelhouses).get(host.version))
    subject = replace(subject, wheels=tuple(_link_wheel(wheel, work / "wheels") for wheel in subject.wheels))
    if options.migraphx:
        needs_it = subject.form is Form.RUNTIME and not subject.preloads
        beside = _link_wheel(options.migraphx, work / "wheels") if needs_it else None
        options = replace(options, migraphx=beside)
    readable = (work / "wheels", *(p.resolve() for p in (*filter(None, (options.wheelhouse,)), folder("kernels"))))
    (work / "clean").mkdir()
    clean, result = make_venv(work / "clean", host, readable, options.check)
    if result.code:
        yield from (skipped_rung(name, f"no virtual environment can be made: {result.problem}") for name in ladder[1:])
        return
    import_rung = rung(IMPORT, lambda: check_import(subject, clean, options.wheelhouse, external), clean.budget)
    yield import_rung
    if not any(clean.site.glob("*.dist-info")):
        why = import_rung.reason if import_rung.status is Status.SKIPPED else f"{IMPORT} failed"
        yield from (skipped_rung(name, why) for name in ladder[2:])
        return
    yield from _use(options, RungContext(subject, external, clean, folder("kernels"), work), import_rung, ladder)


def _link_wheel(wheel: Path, beside: Path) -> Path:
    """The wheel under its own name in a folder that probes may read; the given path may be a link."""
    beside.mkdir(exist_ok=True)
    try:
        os.link(wheel.resolve(), beside / wheel.name)
    except OSError:  # another file system
        copy_file(wheel, beside / wheel.name)
    return beside / wheel.name


def _place(subject: Subject, options: VerifyOptions, work: Path) -> tuple[PythonHost | None, str]:
    """This machine where it can take the wheels, else the other root; or None and why neither can."""
    machine = this_machine(subject.claim, options.python)
    lacking = machine.refusal(subject.libraries, subject.claim)
    if not lacking:
        return machine, ""
    if options.root is None:
        return None, lacking
    (work / "root").mkdir()
    other, why = other_root(options.root, subject.claim, work / "root", options.check)
    why = other.refusal(subject.libraries, subject.claim) if other else why
    return (None, f"{lacking}; {why}") if why else (other, "")


def _load_in_other_root(context: RungContext, root: Path, names: frozenset[str], skipped_rung: Rung) -> Rung:
    """Load in another root what needs a ROCm that this machine lacks; `skipped_rung` with the reason where that has no Python."""
    (folder := context.work / "elsewhere").mkdir()
    host, why = other_root(root, Claim(()), folder, context.sandbox.check)
    if host is None:
        return replace(skipped_rung, reason=f"{skipped_rung.reason}; {why}")
    sandbox = replace(context.sandbox, python=host.python, root=root, preload=())  # its Python sees no environment
    probes = LoadProbes(replace(context, sandbox=sandbox), names, rocm=True)
    loading = rung(LOAD_ROCM, lambda: check_loading_with_rocm(probes), sandbox.budget)
    return replace(loading, reason=f"{loading.reason}, in {host.description}")


def _use(options: VerifyOptions, context: RungContext, import_rung: Rung, ladder: tuple[str, ...]) -> Iterator[Rung]:
    """The rungs above import: load without ROCm, load with it, then, where it can be imported, use within ONNX Runtime."""
    probes = LoadProbes(context)
    first = rung(LOAD, lambda: check_loading(probes), context.sandbox.budget)
    yield first
    beside = _install_migraphx(options, context)
    preload = (MIGRAPHX_PACKAGE,) if beside else context.subject.preloads
    context = replace(context, sandbox=replace(context.sandbox, rocm=options.rocm, preload=preload))
    rocm_probes = LoadProbes(context, unloaded_libraries(probes), rocm=True)
    second = rung(LOAD_ROCM, lambda: check_loading_with_rocm(rocm_probes), context.sandbox.budget)
    if beside and second.status is Status.PASSED:
        second = replace(second, reason=f"{second.reason}, beside {beside.name}")
    if options.migraphx and not beside:
        refusal = f"pip does not install {options.migraphx.name} beside it"
        second = replace(second, reason="; ".join(filter(None, (second.reason, refusal))))
    other = (
        options.root
        if second.status is Status.SKIPPED and unloaded_libraries(probes) and context.sandbox.root is None
        else None
    )
    yield _load_in_other_root(context, other, unloaded_libraries(probes), second) if other else second
    if reason := _no_use(options, context, import_rung):
        yield from (skipped_rung(name, reason) for name in ladder[4:])
    elif changes := environment_findings(
        context.sandbox, (*context.subject.wheels, *filter(None, (beside,))), options.wheelhouse
    ):
        yield rung(OPERATORS, lambda: RungOutcome(changes), context.sandbox.budget)
        yield from (
            skipped_rung(name, "what is installed beside it is not what its wheels hold") for name in ladder[5:]
        )
    elif context.subject.form is Form.CUSTOM_OPS:
        yield from _custom_ops(context, second, options.emulations)
    else:
        yield from _providers(context, _session_blocker(context.subject, first, rocm_probes), options.emulations)


def _install_migraphx(options: VerifyOptions, context: RungContext) -> Path | None:
    """Installs MIGraphX's wheel beside the subject; that wheel, None where there is none or pip refuses it."""
    if options.migraphx is None:
        return None
    exit_code = install(context.sandbox, options.wheelhouse, (str(options.migraphx),)).code
    return None if exit_code else options.migraphx


def _no_use(options: VerifyOptions, context: RungContext, import_rung: Rung) -> str:
    """Installs beside the wheel what a session needs; why the wheel cannot be used in one, or ''."""
    if import_rung.status is Status.FAILED:
        return f"{IMPORT} failed"
    if context.subject.form is Form.OTHER:
        return f"it is {context.subject.form}"
    beside = _runtime(context.subject, options)
    if not install(context.sandbox, options.wheelhouse, beside).code:
        return ""
    names = ", ".join(beside)
    return (
        f"the wheelhouse does not give {names} for Python {context.sandbox.site.parent.name.removeprefix('python')}"
        if options.wheelhouse
        else f"there is no wheelhouse to take {names} from (a whole `stackbuild build` makes one, `verify` takes --wheelhouse DIR)"
    )


def _runtime(subject: Subject, options: VerifyOptions) -> tuple[str, ...]:
    """What to install to use the wheel: the runtime, unless the wheel is one."""
    if subject.form is Form.RUNTIME:
        return tuple(name for name in options.runtime if not name.startswith("onnxruntime"))
    return options.runtime


def _custom_ops(context: RungContext, rocm: Rung, emulations: tuple[Emulation, ...]) -> Iterator[Rung]:
    probes = operators.CustomOpProbes(context)
    yield rung(OPERATORS, lambda: operators.check_operators(probes), context.sandbox.budget)
    yield skipped_rung(SHARE, "not applicable: custom operators have no fallback")
    yield rung(NUMERICS, lambda: operators.check_numerics(probes), context.sandbox.budget)
    yield from _emulation_rungs(context, emulations)
    blocker = rocm.reason if rocm.status is not Status.PASSED else ""
    yield rung(GPU, lambda: operators.check_gpu(context, GpuWatch(), blocker), context.sandbox.budget)


def _providers(context: RungContext, blocker: str, emulations: tuple[Emulation, ...]) -> Iterator[Rung]:
    models, no_models = write_models(context.work / "models")
    context = replace(
        context,
        sandbox=replace(context.sandbox, readable=(*context.sandbox.readable, *{m.path.parent for m in models})),
    )
    probes = providers.ProviderProbes(context, models, no_models, blocker)
    yield rung(OPERATORS, lambda: providers.check_operators(probes), context.sandbox.budget)
    yield rung(SHARE, lambda: providers.check_share(probes), context.sandbox.budget)
    yield rung(NUMERICS, lambda: providers.check_numerics(probes), context.sandbox.budget)
    yield from _emulation_rungs(context, emulations)
    yield rung(GPU, lambda: providers.check_gpu(probes, GpuWatch()), context.sandbox.budget)


def _emulation_rungs(context: RungContext, emulations: tuple[Emulation, ...]) -> Iterator[Rung]:
    """A rung for each target whose device code is run on the CPU."""
    for emulation in emulations:
        yield rung(emulation.rung_name, partial(check_emulated, context, emulation), context.sandbox.budget)


def _session_blocker(subject: Subject, load_rung: Rung, rocm_probes: LoadProbes) -> str:
    """Why no session can be opened: the provider's library does not load here, or it needs HIP and no GPU is here.

    A plugin opens its GPU runtime itself, and says what it found.
    """
    if load_rung.status is Status.FAILED:
        return f"{LOAD} failed"
    if subject.form is not Form.RUNTIME:
        return ""
    needs_gpu = any(RUNTIME.fullmatch(name) for lib in subject.libraries for name in lib.needed)
    return missing_names(rocm_probes) or (NO_GPU_HERE if needs_gpu and not GpuWatch().is_here() else "")
