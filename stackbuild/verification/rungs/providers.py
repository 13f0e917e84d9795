"""Rungs 5 to 7 for execution providers: sessions that may not fall back, the share of real models, the numbers."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cached_property

from stackbuild.core.digest import Json
from stackbuild.model.findings import Finding
from stackbuild.verification.catalogue import NUMERICS, OPERATOR, SHARE
from stackbuild.verification.models import ReferenceModel
from stackbuild.verification.probe_sandbox import ProbeResult
from stackbuild.verification.rung import RungContext, RungOutcome, probe_finding
from stackbuild.verification.rungs.gpu import GpuWatch, check_gpu_activity
from stackbuild.verification.rungs.measures import format_errors, number
from stackbuild.verification.subject import Form

SECONDS = 600.0
CPU = "CPUExecutionProvider"
#: Least share of a model's nodes that the provider must be given.
FLOOR = 0.9
#: Largest relative RMS error: of one operator in float32 against float64, and of a whole float32 model against the CPU's.
OPERATOR_ERROR = 1e-4
MODEL_ERROR = 1e-2
#: The time in a line of ONNX Runtime's log: the same wheel gets the same claim twice.
_LOG_TIME = re.compile(r"\d{4}-\d\d-\d\d [\d:.]+ (?=\[[A-Z]:onnxruntime)")
#: What the in-tree ROCm and MIGraphX providers are held to; a plugin is held to what its package says in OPERATORS.
CLAIM_PATTERNS = (
    "Conv", "MatMul", "Gemm", "Add", "Sub", "Mul", "Div", "Relu", "LeakyRelu", "Sigmoid", "Tanh", "Erf", "Sqrt", "Exp", "Softmax",
    "LayerNormalization", "BatchNormalization", "MaxPool", "AveragePool", "GlobalAveragePool", "Transpose", "Concat", "ReduceMean",
)  # fmt: skip


@dataclass(frozen=True)
class ProviderProbes:
    """The providers of a subject and the results of their sessions, each run once.

    `blocker`: why none can be opened. `seconds`: what one probe may take.
    """

    context: RungContext
    models: tuple[ReferenceModel, ...]
    no_models: str
    blocker: str
    seconds: float = SECONDS

    @cached_property
    def plugin(self) -> ProbeResult | None:
        """What registering a plugin came to; None for other forms."""
        if self.context.subject.form is not Form.PLUGIN:
            return None
        return self.context.sandbox.probe("plugin", {"module": self.context.subject.package}, self.seconds)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Providers to open sessions on: a plugin's that offered a device, or those that the libraries name."""
        if self.plugin is None:
            return self.context.subject.providers
        provider_names = self.plugin.answer.get("providers")
        return (
            tuple(name for name, devices in provider_names.items() if devices)
            if isinstance(provider_names, dict)
            else ()
        )

    @cached_property
    def claimed_operators(self) -> tuple[str, ...]:
        """Operators that must run; () where the package does not say, and one will do."""
        if self.plugin is None:
            return CLAIM_PATTERNS
        operator_names = self.plugin.answer.get("operators")
        return tuple(str(op) for op in operator_names) if isinstance(operator_names, list) else ()

    @cached_property
    def operators(self) -> dict[str, ProbeResult]:
        return {name: self._ran_alone(name) for name in self.names}

    @cached_property
    def runs(self) -> dict[tuple[str, ReferenceModel], ProbeResult]:
        """Each model on each provider, and on the CPU alone for reference, in processes of their own."""
        names = dict.fromkeys((*self.names, CPU))
        return {(name, model): self._run(name, model) for model in self.models for name in names}

    def _ran_alone(self, name: str) -> ProbeResult:
        """Each operator's session on that provider: all in one process, or each in its own where one kills that."""
        together = self._probe(name)
        if together.timed_out or not together.termination or not self.claimed_operators:
            return together
        each = {op: self._probe(name, op) for op in self.claimed_operators}
        rows: dict[str, Json] = {op: _ops(result).get(op, {"error": result.problem}) for op, result in each.items()}
        return (
            replace(together, code=0, answer={"ops": rows})
            if any(not r.termination for r in each.values())
            else together
        )

    def _probe(self, name: str, *operators: str) -> ProbeResult:
        return self.context.sandbox.probe("epops", self.job(name) | {"ops": list(operators)}, self.seconds)

    def job(self, name: str) -> dict[str, Json]:
        return {
            "provider": name,
            "plugin": self.context.subject.package if self.plugin is not None and name != CPU else "",
        }

    def output_file(self, name: str, model: ReferenceModel) -> str:
        return str(self.context.sandbox.out / f"{model.name}-{name}.npz")

    def _run(self, name: str, model: ReferenceModel) -> ProbeResult:
        profile = str(self.context.sandbox.out / f"{model.name}-{name}")
        job = self.job(name) | {
            "model": str(model.path), "sizes": dict(model.sizes), "highs": dict(model.highs), "profile": profile,
            "keep": self.output_file(name, model), "runs": 2,
        }  # fmt: skip
        return self.context.sandbox.probe("share", job, SECONDS)


def check_operators(probes: ProviderProbes) -> RungOutcome:
    """Each claimed operator runs alone on the provider, which may not fall back."""
    if probes.blocker:
        return RungOutcome(skip=probes.blocker)
    if probes.plugin is not None and probes.plugin.problem:
        return RungOutcome((probe_finding(OPERATOR, probes.context.subject.package, probes.plugin),))
    if not probes.names:
        return RungOutcome(skip=_no_device(probes))
    findings = [finding for name, result in probes.operators.items() for finding in _judge(probes, name, result)]
    return RungOutcome(
        tuple(findings), says="; ".join(f"{name}: {_ran(result)}" for name, result in probes.operators.items())
    )


def _no_device(probes: ProviderProbes) -> str:
    """Why no session can be opened where no device is: the package's reason, else what ONNX Runtime's log said."""
    if probes.plugin is None:
        return "the provider offers no device here"
    if probes.plugin.problem:
        return "its library could not be registered"
    log_text = _LOG_TIME.sub("", probes.plugin.tail)
    why = probes.plugin.answer.get("why") or (
        f"it printed: {log_text}" if log_text else "neither it nor the log says why"
    )
    return f"the provider offers no device here: {why}"


def _ops(result: ProbeResult) -> dict[str, dict[str, Json]]:
    ops = result.answer.get("ops")
    return {k: v for k, v in ops.items() if isinstance(v, dict)} if isinstance(ops, dict) else {}


def _judge(probes: ProviderProbes, name: str, result: ProbeResult) -> list[Finding]:
    if result.problem:
        return [probe_finding(OPERATOR, name, result)]
    findings = []
    ops = _ops(result)
    for op, row in ops.items():
        problem = row.get("error") or (row.get("refused") if op in probes.claimed_operators else "")
        if problem:
            findings.append(OPERATOR.finding(f"{name} {op}", str(problem)))
    if all("errors" not in row for row in ops.values()):
        refusal = str(next(iter(ops.values()), {}).get("refused", "nothing was tried"))
        findings.append(OPERATOR.finding(name, f"not one operator runs on it: {refusal}"))
    return findings


def _ran(result: ProbeResult) -> str:
    ops = _ops(result)
    return f"{sum('errors' in row for row in ops.values())} of {len(ops)} operators"


def check_share(probes: ProviderProbes) -> RungOutcome:
    """The provider is given most nodes of real models, and their time."""
    if reason := _not_yet(probes):
        return RungOutcome(skip=reason)
    findings: list[Finding] = []
    lines = []
    for (name, model), result in probes.runs.items():
        if result.problem:
            findings.append(probe_finding(SHARE, f"{name} {model.name}", result))
        elif name in probes.names:
            nodes, seconds = (
                _share(result, "assigned", name) or _share(result, "nodes", name),
                _share(result, "seconds", name),
            )
            lines.append(f"{model.name} on {name}: {nodes:.0%} of nodes, {seconds:.0%} of time")
            if nodes < FLOOR:
                findings.append(
                    SHARE.finding(f"{name} {model.name}", f"{nodes:.0%} of nodes; at least {FLOOR:.0%} are asked for")
                )
    return RungOutcome(tuple(findings), says="; ".join(lines))


def _not_yet(probes: ProviderProbes) -> str:
    if probes.blocker:
        return probes.blocker
    return (_no_device(probes) if not probes.names else "") or probes.no_models


def _share(result: ProbeResult, key: str, name: str) -> float:
    counts = result.answer.get(key)
    if not isinstance(counts, dict) or not counts:
        return 0.0
    total = sum(map(number, counts.values()))
    return number(counts.get(name, 0)) / total if total > 0 else 0.0


def check_numerics(probes: ProviderProbes) -> RungOutcome:
    """Operators against float64, models against the CPU alone."""
    if probes.blocker or not probes.names:
        return RungOutcome(skip=probes.blocker or _no_device(probes))
    if not any("errors" in row for result in probes.operators.values() for row in _ops(result).values()):
        return RungOutcome(skip="not one operator ran on the provider")
    findings: list[Finding] = []
    lines = []
    for name, result in probes.operators.items():
        # `not … <=`, so that NaN is wrong as well
        wrong = {
            op: row["errors"] for op, row in _ops(result).items() if not _error(row.get("errors")) <= OPERATOR_ERROR
        }
        findings += [
            NUMERICS.finding(f"{name} {op}", format_errors(e)) for op, e in wrong.items() if isinstance(e, dict)
        ]
        lines.append(f"{name}: {_ran(result)} against float64")
    for name in probes.names if probes.models and not probes.no_models else ():
        for model in probes.models:
            finding, line = _model(probes, name, model)
            findings += finding
            lines.append(line)
    return RungOutcome(tuple(findings), says="; ".join(filter(None, lines)))


def check_gpu(probes: ProviderProbes, watch: GpuWatch) -> RungOutcome:
    """A GPU moves while the first model runs on the provider; one that offers no device is not said to have run."""
    first = replace(probes, models=probes.models[:1])
    return check_gpu_activity(watch, lambda: first.runs, _not_yet(probes))


def _error(errors: Json) -> float:
    return number(errors.get("rel_rms")) if isinstance(errors, dict) else 0.0


def _model(probes: ProviderProbes, name: str, model: ReferenceModel) -> tuple[list[Finding], str]:
    if any(probes.runs[who, model].problem for who in (name, CPU)):
        return [], ""  # said by the rung before
    if not (_share(probes.runs[name, model], "assigned", name) or _share(probes.runs[name, model], "nodes", name)):
        return [], f"{model.name}: no node of it ran on {name}"
    result = probes.context.sandbox.probe(
        "compare", {"ours": probes.output_file(name, model), "theirs": probes.output_file(CPU, model)}, SECONDS
    )
    if result.problem:
        return [probe_finding(NUMERICS, f"{name} {model.name}", result)], ""
    outputs = result.answer.get("outputs")
    rows = [each for each in outputs if isinstance(each, dict)] if isinstance(outputs, list) else []
    if not any(number(each.get("finite")) > 0 for each in rows):
        return [NUMERICS.finding(f"{name} {model.name}", "no output with a finite value, here or in the reference")], ""
    wrong = [each for each in rows if not _error(each) <= MODEL_ERROR]
    findings = [NUMERICS.finding(f"{name} {model.name}", format_errors(each)) for each in wrong[:1]]
    worst = max(rows, key=_error, default={})
    return findings, f"{model.name} on {name} against the CPU: {format_errors(worst)}" if worst else ""
