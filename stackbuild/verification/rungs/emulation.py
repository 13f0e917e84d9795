"""The rung "device code, emulated": the wheel's gfx code objects run on the CPU, inside the real ONNX Runtime."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path

from stackbuild.core.errors import MachineLacks, UsageError
from stackbuild.emulator.cache_files import is_lack
from stackbuild.emulator.hip_runtime import HostImports, imports_of, runtime_folder
from stackbuild.emulator.service import CHANNEL, EmulatorService
from stackbuild.inspection.readers.budget import ReadBudget
from stackbuild.inspection.readers.byte_parser import MalformedError
from stackbuild.inspection.readers.loader import NEEDED_TAG, ElfImage
from stackbuild.inspection.readers.source import LooseFile
from stackbuild.inspection.rules.rule import count_of
from stackbuild.model.findings import EMULATED_RUNG, Finding, RuleDescription
from stackbuild.tables.gpu_limits import limits_of
from stackbuild.verification.catalogue import EMULATED_ACCESS, EMULATED_CALL, EMULATED_CODE, OPERATOR
from stackbuild.verification.probe_sandbox import ProbeSandbox
from stackbuild.verification.rung import RungContext, RungOutcome
from stackbuild.verification.rungs import operators, providers
from stackbuild.verification.subject import Form, installed_path

SECONDS = 1800.0
NO_TABLES = "the emulator's tables are not installed here"
#: Where a machine has the libraries that an in-tree provider loads beside the wheel: MIGraphX, rocBLAS, MIOpen.
MACHINE_LIBRARIES = (
    "usr/lib/x86_64-linux-gnu/lib*.so.*", "usr/lib/x86_64-linux-gnu/migraphx/lib/lib*.so.*", "usr/lib64/lib*.so.*",
    "opt/rocm*/lib/lib*.so.*", "opt/rocm*/lib/migraphx/lib/lib*.so.*", "usr/local/lib/lib*.so.*",
    "usr/local/lib/migraphx/lib/lib*.so.*",
)  # fmt: skip
#: The most cases of an operator and element type, and the most values of one: enough to launch every family of kernels.
SAMPLE = (6, 20_000)
#: Errors of a launch whose device code cannot run. A call that the stand-in lacks is a report of its own.
_NO_CODE = frozenset(
    ("hipErrorNoBinaryForGpu", "hipErrorInvalidDeviceFunction", "hipErrorSharedObjectInitFailed", "hipErrorNotSupported")
)


@dataclass(frozen=True)
class Emulation:
    """What is emulated: a target, the folder that keeps translated kernels, and how much is run.

    `whole` runs every case instead of a sample. `operators` are the bundled ones that are run.
    """

    target: str
    folder: Path
    whole: bool = False
    sanitize: bool = False
    operators: tuple[str, ...] = operators.OPERATORS

    @property
    def rung_name(self) -> str:
        """The rung's name, which the claim repeats: it says what ran, and where."""
        return f"{EMULATED_RUNG}{self.target} on a CPU"


def check_emulated(context: RungContext, emulation: Emulation) -> RungOutcome:
    """Run the wheel's operators on an emulated GPU and compare their answers with float64 references."""
    if find_spec("tinygrad") is None:
        return RungOutcome(skip=f"{NO_TABLES}: pip install 'stackbuild[emulator]'")
    libraries = [context.sandbox.site / installed_path(lib.path) for lib in context.subject.libraries]
    try:
        libraries = [path for path in libraries if path.is_file()]
        imports = imports_of(libraries)
        if imports is None:
            return RungOutcome(skip="none of its libraries needs the HIP runtime")
        if context.subject.form is Form.RUNTIME:
            root = context.sandbox.root or Path("/")
            imports = imports_of([*libraries, *machine_libraries(root, imports.soname)]) or imports
        service = EmulatorService(
            limits_of(emulation.target), emulation.folder / "kernels", sanitize=emulation.sanitize
        )
        service.folder.mkdir(parents=True, exist_ok=True)
        with _emulating(context, imports, service, emulation) as emulation_run:
            outcome = _outcome(emulation_run, service, emulation)
            return RungOutcome(skip=service.lack) if service.lack else outcome
    except MachineLacks as lacks:
        return RungOutcome(skip=f"{lacks.what}: {lacks.next}" if lacks.next else lacks.what)
    except UsageError as wrong:
        return RungOutcome((EMULATED_CODE.finding(context.subject.name, wrong.what),))
    except OSError as error:
        if not is_lack(error):
            raise
        return RungOutcome(skip=f"the store takes no kernels: {error.strerror}")


def _outcome(context: RungContext, service: EmulatorService, emulation: Emulation) -> RungOutcome:
    if context.subject.form is Form.CUSTOM_OPS:
        return _custom_ops(context, service, emulation)
    if context.subject.form in (Form.PLUGIN, Form.RUNTIME):
        return _provider(context, service)
    return RungOutcome(skip="only custom-op libraries and execution providers can be run on an emulated GPU")


def machine_libraries(root: Path, runtime: str) -> Iterator[Path]:
    """The libraries below a root file system that need that HIP runtime: what a provider loads is not in its wheel."""
    for pattern in MACHINE_LIBRARIES:
        for path in sorted(root.glob(pattern)):
            if not path.is_symlink() and path.is_file():
                with contextlib.suppress(MalformedError, OSError):  # a linker script, or what this user may not read
                    size = path.stat().st_size
                    if runtime in ElfImage(LooseFile(path, path.name, size), ReadBudget(size)).names(NEEDED_TAG):
                        yield path


@contextmanager
def _emulating(
    context: RungContext, imports: HostImports, service: EmulatorService, emulation: Emulation
) -> Iterator[RungContext]:
    """The context with probes that load the stand-in in the place of ROCm, which they do not see."""
    runtime = runtime_folder(imports, emulation.folder / "runtime")
    with service.running() as descriptor:
        sandbox: ProbeSandbox = replace(
            context.sandbox,
            rocm=context.sandbox.rocm and context.subject.form is Form.RUNTIME,  # its own HIP is behind the stand-in
            readable=(*context.sandbox.readable, runtime.parent, service.folder),
            env=(*context.sandbox.env, ("LD_LIBRARY_PATH", str(runtime)), (CHANNEL, str(descriptor))),
            inherited_fds=(*context.sandbox.inherited_fds, descriptor),
        )
        yield replace(context, sandbox=sandbox)


def _custom_ops(context: RungContext, service: EmulatorService, emulation: Emulation) -> RungOutcome:
    sample = (0, 0) if emulation.whole else SAMPLE
    probes = operators.CustomOpProbes(context, operators.ON_GPU, sample, SECONDS, emulation.operators)
    ran = operators.check_operators(probes)
    if ran.skip:
        return ran
    findings = (
        *_findings(service),
        *ran.findings,
        *operators.check_numerics(probes).findings,
        *_idle(context, service),
    )
    says = f"{operators.case_count(probes)} cases in {_work(service)}; {operators.worst_errors(probes)}"
    return RungOutcome(findings, says=says)


def _provider(context: RungContext, service: EmulatorService) -> RungOutcome:
    probes = providers.ProviderProbes(context, (), "models are not run on an emulated GPU", "", SECONDS)
    ran = providers.check_operators(probes)
    if ran.skip:
        return ran
    findings = (
        *_findings(service),
        *ran.findings,
        *providers.check_numerics(probes).findings,
        *_idle(context, service),
    )
    return RungOutcome(findings, says=f"{ran.says} in {_work(service)}")


def _work(service: EmulatorService) -> str:
    """What ran, in a few words."""
    dispatches = service.of("dispatch")
    count = len(dispatches) + service.omitted_dispatches
    return f"{count} dispatches of {count_of(len({each.get('kernel') for each in dispatches}), 'kernel')}"


def _idle(context: RungContext, service: EmulatorService) -> Iterator[Finding]:
    """A finding where no kernel was launched: what answered was not device code."""
    if not service.of("dispatch") and not service.of("error"):
        yield OPERATOR.finding(context.subject.name, "no kernel was launched: its operators ran on the CPU")


def _findings(service: EmulatorService) -> Iterator[Finding]:
    """What the stand-in reported: each kernel's defect, missing call and failed call once."""
    rows: list[tuple[RuleDescription, str, str]] = []
    for report in service.reports:
        fields = report.fields
        if report.kind == "finding":
            place = " ".join(
                filter(None, (fields.get("pc", ""), fields.get("instruction", ""), fields.get("source", "")))
            )
            rows.append(
                (EMULATED_ACCESS, fields.get("kernel", ""), f"{fields.get('kind')} at {place}: {fields.get('text')}")
            )
        elif report.kind == "host call":
            rows.append((EMULATED_CALL, fields.get("name", ""), "the stand-in of the HIP runtime has no such call"))
        elif report.kind == "error":
            rule = EMULATED_CODE if fields.get("code") in _NO_CODE else EMULATED_CALL
            rows.append((rule, fields.get("call", ""), f"{fields.get('text')} ({fields.get('code')})"))
    yield from (rule.finding(subject, text) for rule, subject, text in dict.fromkeys(rows))
