"""Rungs 5 to 7 for execution providers: sessions that may not fall back, the share of real models, the numbers."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cached_property

from stackbuild.core.digest import Json
from stackbuild.model.findings import Finding
from stackbuild.verification.catalogue import NUMERICS, OPERATOR, SHARE
from stackbuild.verification.models import Model
from stackbuild.verification.probe_sandbox import Ended
from stackbuild.verification.rung import Climb, Outcome, trouble
from stackbuild.verification.rungs.gpu import Watch, gpu_worked
from stackbuild.verification.rungs.operators import described, number
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
CLAIMED = (
    "Conv", "MatMul", "Gemm", "Add", "Sub", "Mul", "Div", "Relu", "LeakyRelu", "Sigmoid", "Tanh", "Erf", "Sqrt", "Exp", "Softmax",
    "LayerNormalization", "BatchNormalization", "MaxPool", "AveragePool", "GlobalAveragePool", "Transpose", "Concat", "ReduceMean",
)  # fmt: skip


@dataclass(frozen=True)
class Providers:
    """The providers of a subject and what their sessions came to, each asked once. `waits` says why none can be opened."""

    climb: Climb
    models: tuple[Model, ...]
    no_models: str
    waits: str

    @cached_property
    def plugin(self) -> Ended | None:
        """What registering a plugin came to; None for other forms."""
        if self.climb.subject.form is not Form.PLUGIN:
            return None
        return self.climb.cell.probe("plugin", {"module": self.climb.subject.package}, SECONDS)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Providers to open sessions on: a plugin's that offered a device, or those told from the libraries."""
        if self.plugin is None:
            return self.climb.subject.providers
        offered = self.plugin.answer.get("providers")
        return tuple(name for name, devices in offered.items() if devices) if isinstance(offered, dict) else ()

    @cached_property
    def claimed(self) -> tuple[str, ...]:
        """Operators that must run; () where the package does not say, and one will do."""
        if self.plugin is None:
            return CLAIMED
        listed = self.plugin.answer.get("operators")
        return tuple(str(op) for op in listed) if isinstance(listed, list) else ()

    @cached_property
    def operators(self) -> dict[str, Ended]:
        return {name: self.climb.cell.probe("epops", self.job(name) | {"ops": []}, SECONDS) for name in self.names}

    @cached_property
    def runs(self) -> dict[tuple[str, Model], Ended]:
        """Each model on each provider, and on the CPU alone for reference, in processes of their own."""
        wanted = dict.fromkeys((*self.names, CPU))
        return {(name, model): self._run(name, model) for model in self.models for name in wanted}

    def job(self, name: str) -> dict[str, Json]:
        return {
            "provider": name,
            "plugin": self.climb.subject.package if self.plugin is not None and name != CPU else "",
        }

    def kept(self, name: str, model: Model) -> str:
        return str(self.climb.cell.out / f"{model.name}-{name}.npz")

    def _run(self, name: str, model: Model) -> Ended:
        profile = str(self.climb.cell.out / f"{model.name}-{name}")
        job = self.job(name) | {
            "model": str(model.path), "sizes": dict(model.sizes), "highs": dict(model.highs), "profile": profile,
            "keep": self.kept(name, model), "runs": 2,
        }  # fmt: skip
        return self.climb.cell.probe("share", job, SECONDS)


def sessions(made: Providers) -> Outcome:
    """Each claimed operator runs alone on the provider, which may not fall back."""
    if made.waits:
        return Outcome(skip=made.waits)
    if made.plugin is not None and made.plugin.how:
        return Outcome((trouble(OPERATOR, made.climb.subject.package, made.plugin),))
    if not made.names:
        return Outcome(skip=_no_device(made))
    found = [finding for name, ended in made.operators.items() for finding in _judge(made, name, ended)]
    return Outcome(tuple(found), says="; ".join(f"{name}: {_ran(ended)}" for name, ended in made.operators.items()))


def _no_device(made: Providers) -> str:
    """Why no session can be opened where no device is: the package's reason, else what ONNX Runtime's log said."""
    if made.plugin is None:
        return "the provider offers no device here"
    if made.plugin.how:
        return "its library could not be registered"
    logged = _LOG_TIME.sub("", made.plugin.tail)
    why = made.plugin.answer.get("why") or (f"it printed: {logged}" if logged else "neither it nor the log says why")
    return f"the provider offers no device here: {why}"


def _ops(ended: Ended) -> dict[str, dict[str, Json]]:
    ops = ended.answer.get("ops")
    return {k: v for k, v in ops.items() if isinstance(v, dict)} if isinstance(ops, dict) else {}


def _judge(made: Providers, name: str, ended: Ended) -> list[Finding]:
    if ended.how:
        return [trouble(OPERATOR, name, ended)]
    found = []
    ops = _ops(ended)
    for op, said in ops.items():
        problem = said.get("error") or (said.get("refused") if op in made.claimed else "")
        if problem:
            found.append(OPERATOR.finding(f"{name} {op}", str(problem)))
    if all("errors" not in said for said in ops.values()):
        refused = str(next(iter(ops.values()), {}).get("refused", "nothing was tried"))
        found.append(OPERATOR.finding(name, f"not one operator runs on it: {refused}"))
    return found


def _ran(ended: Ended) -> str:
    ops = _ops(ended)
    return f"{sum('errors' in said for said in ops.values())} of {len(ops)} operators"


def share(made: Providers) -> Outcome:
    """The provider is given most nodes of real models, and their time."""
    if reason := _not_yet(made):
        return Outcome(skip=reason)
    found: list[Finding] = []
    lines = []
    for (name, model), ended in made.runs.items():
        if ended.how:
            found.append(trouble(SHARE, f"{name} {model.name}", ended))
        elif name in made.names:
            nodes, seconds = (
                _share(ended, "assigned", name) or _share(ended, "nodes", name),
                _share(ended, "seconds", name),
            )
            lines.append(f"{model.name} on {name}: {nodes:.0%} of nodes, {seconds:.0%} of time")
            if nodes < FLOOR:
                found.append(
                    SHARE.finding(f"{name} {model.name}", f"{nodes:.0%} of nodes; at least {FLOOR:.0%} are asked for")
                )
    return Outcome(tuple(found), says="; ".join(lines))


def _not_yet(made: Providers) -> str:
    if made.waits:
        return made.waits
    return (_no_device(made) if not made.names else "") or made.no_models


def _share(ended: Ended, key: str, name: str) -> float:
    counts = ended.answer.get(key)
    if not isinstance(counts, dict) or not counts:
        return 0.0
    total = sum(map(number, counts.values()))
    return number(counts.get(name, 0)) / total if total > 0 else 0.0


def numerics(made: Providers) -> Outcome:
    """Operators against float64, models against the CPU alone."""
    if made.waits or not made.names:
        return Outcome(skip=made.waits or _no_device(made))
    found: list[Finding] = []
    lines = []
    for name, ended in made.operators.items():
        # `not … <=`, so that NaN is wrong as well
        wrong = {
            op: said["errors"] for op, said in _ops(ended).items() if not _error(said.get("errors")) <= OPERATOR_ERROR
        }
        found += [NUMERICS.finding(f"{name} {op}", described(e)) for op, e in wrong.items() if isinstance(e, dict)]
        lines.append(f"{name}: {_ran(ended)} against float64")
    for name in made.names if made.models and not made.no_models else ():
        for model in made.models:
            finding, line = _model(made, name, model)
            found += finding
            lines.append(line)
    return Outcome(tuple(found), says="; ".join(filter(None, lines)))


def at_work(made: Providers, watch: Watch) -> Outcome:
    """A GPU moves while the first model runs on the provider; one that offers no device is not said to have run."""
    first = replace(made, models=made.models[:1])
    return gpu_worked(watch, lambda: first.runs, _not_yet(made))


def _error(errors: Json) -> float:
    return number(errors.get("rel_rms")) if isinstance(errors, dict) else 0.0


def _model(made: Providers, name: str, model: Model) -> tuple[list[Finding], str]:
    if any(made.runs[who, model].how for who in (name, CPU)):
        return [], ""  # said by the rung before
    ended = made.climb.cell.probe("compare", {"ours": made.kept(name, model), "theirs": made.kept(CPU, model)}, SECONDS)
    if ended.how:
        return [trouble(NUMERICS, f"{name} {model.name}", ended)], ""
    outputs = ended.answer.get("outputs")
    rows = [each for each in outputs if isinstance(each, dict)] if isinstance(outputs, list) else []
    wrong = [each for each in rows if not _error(each) <= MODEL_ERROR]
    found = [NUMERICS.finding(f"{name} {model.name}", described(each)) for each in wrong[:1]]
    worst = max(rows, key=_error, default={})
    return found, f"{model.name} on {name} against the CPU: {described(worst)}" if worst else ""
