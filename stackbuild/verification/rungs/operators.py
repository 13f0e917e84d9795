"""The rungs for custom-op libraries: every operator runs, every answer is right, on the CPU and on a GPU."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from stackbuild.core.digest import Json
from stackbuild.model.findings import Finding
from stackbuild.verification.catalogue import NUMERICS, OPERATOR
from stackbuild.verification.probe_sandbox import ProbeResult
from stackbuild.verification.rung import RungContext, RungOutcome, probe_finding
from stackbuild.verification.rungs.gpu import GpuWatch, check_gpu_activity
from stackbuild.verification.rungs.measures import format_errors, number

SECONDS = 300.0
#: The package whose operators have cases: the bundled kernels.
PACKAGE = "stackbuild_kernels"
#: Tells the bundled operators to copy their tensors to the GPU and run there.
ON_GPU = (("STACKBUILD_KERNELS_DEVICE", "gpu"),)
OPERATORS = ("Attention", "BatchNormalization", "Conv", "GroupNormalization", "LeakyRelu", "MultiHeadAttention")


@dataclass(frozen=True)
class CustomOpProbes:
    """The results of every case of every operator, taken once for both rungs; a process for each operator."""

    context: RungContext
    env: tuple[tuple[str, str], ...] = ()
    sample: tuple[int, int] = (0, 0)
    """The most cases of an operator and element type, and the most values that one has; (0, 0) for all of them."""
    seconds: float = SECONDS
    operators: tuple[str, ...] = OPERATORS

    @property
    def has_cases(self) -> bool:
        return self.context.subject.package == PACKAGE and (self.context.kernels / "tools" / "cases.py").is_file()

    @cached_property
    def results(self) -> dict[str, ProbeResult]:
        return {op: self._probe(op) for op in self.operators}

    def rows(self, op: str) -> list[tuple[str, dict[str, Json]]]:
        """(element type, what came of its cases) of an operator that answered."""
        rows = self.results[op].answer.get("rows")
        return [(k, v) for k, v in rows.items() if isinstance(v, dict)] if isinstance(rows, dict) else []

    def _probe(self, op: str) -> ProbeResult:
        job: dict[str, Json] = {
            "op": op,
            "module": self.context.subject.package,
            "cases": str(self.context.kernels),
            "seed": 0,
            "sample": [*self.sample],
        }
        return self.context.sandbox.probe("kernelops", job, self.seconds, self.env)


def check_operators(probes: CustomOpProbes) -> RungOutcome:
    """Every operator was registered, took each case and wrote every element."""
    if not probes.has_cases:
        return RungOutcome(
            skip=f"no cases are known for the operators of {probes.context.subject.package or 'this library'}"
        )
    findings: list[Finding] = []
    for op, result in probes.results.items():
        if result.problem:
            findings.append(probe_finding(OPERATOR, op, result))
        elif not probes.rows(op):
            findings.append(OPERATOR.finding(op, "no case of it was run"))
        for dtype, row in probes.rows(op):
            failure_texts = _texts(row, "failed")
            if failure_texts:
                findings.append(
                    OPERATOR.finding(
                        f"{op} {dtype}", f"{len(failure_texts)} of {row.get('cases')} cases: {failure_texts[0]}"
                    )
                )
    return RungOutcome(tuple(findings), says=f"{', '.join(probes.operators)}: {case_count(probes)} cases on the CPU")


def check_numerics(probes: CustomOpProbes) -> RungOutcome:
    """Every answer is within the operators' tolerances of its float64 reference."""
    if not probes.has_cases:
        return RungOutcome(skip="no reference is known for its operators")
    findings = [
        NUMERICS.finding(f"{op} {dtype}", f"{len(wrong)} of {row.get('cases')} cases: {wrong[0]}")
        for op in probes.operators
        for dtype, row in probes.rows(op)
        if (wrong := _texts(row, "wrong"))
    ]
    if not case_count(probes):
        return RungOutcome(tuple(findings), skip="no operator ran")
    return RungOutcome(tuple(findings), says=f"{case_count(probes)} cases against float64; {worst_errors(probes)}")


def check_gpu(context: RungContext, watch: GpuWatch, blocker: str) -> RungOutcome:
    """All cases again with the operators on the GPU, whose counters must move; `blocker` is why that cannot run."""
    probes = CustomOpProbes(context, ON_GPU)
    gpu_activity = check_gpu_activity(
        watch,
        lambda: probes.results,
        blocker if probes.has_cases else blocker or "no cases are known for its operators",
    )
    if gpu_activity.skip:
        return gpu_activity
    return RungOutcome(
        (*gpu_activity.findings, *check_operators(probes).findings, *check_numerics(probes).findings),
        says=f"{gpu_activity.says}; {worst_errors(probes)}",
    )


def _texts(row: dict[str, Json], key: str) -> list[str]:
    entries = row.get(key)
    return [str(text) for text in entries] if isinstance(entries, list) else []


def case_count(probes: CustomOpProbes) -> int:
    """How many cases were run."""
    return sum(
        int(cases)
        for op in probes.operators
        for _, row in probes.rows(op)
        if isinstance(cases := row.get("cases"), int)
    )


def worst_errors(probes: CustomOpProbes) -> str:
    """The worst relative RMS error of each element type, with its other measures."""
    worst: dict[str, dict[str, Json]] = {}
    for op in probes.operators:
        for dtype, row in probes.rows(op):
            errors = row.get("worst")
            if isinstance(errors, dict) and not number(errors.get("rel_rms")) < number(
                worst.get(dtype, {}).get("rel_rms", -1.0)
            ):
                worst[dtype] = errors
    return ", ".join(f"{dtype}: {format_errors(errors)}" for dtype, errors in sorted(worst.items()))
