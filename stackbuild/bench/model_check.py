"""The verb `model check`: whether a model really runs on a provider of an environment, which nodes do not, and why.

One session is opened in the environment's own interpreter, with the CPU as fallback as applications have it. Placement comes
from ONNX Runtime itself (1.24 and newer), or from its profile; times come from the profile.
"""

from __future__ import annotations

import json
import re
import subprocess
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from stackbuild.bench.environment import WorkerEnvironment
from stackbuild.bench.model_problem import CPU, Culprit, FailedSession, ModelProblem, explain, require_model
from stackbuild.core.digest import Json
from stackbuild.core.errors import MachineLacks
from stackbuild.core.plain_file import read_plain
from stackbuild.core.shell_words import shell_word

SCRIPT = Path(__file__).with_name("placement_worker.py")
MOST_OUTPUT, MOST_ANSWER = 64 << 20, 256 << 20
"""Bytes that are read of what the session printed, and of its answer: both grow with the model."""
USUAL = frozenset(("float", "float16"))
"""Element types that every provider for GPUs has kernels for."""
CONTROL = frozenset(("If", "Loop", "Scan"))
_CPU_NODE = re.compile(r"Force fallback to CPU execution for node: (.*?) because")
_LOAD = re.compile(r"(?:Failed to load library|Error loading|cannot open shared object)[^\n]*")


@dataclass(frozen=True)
class ModelRequest:
    """What is asked: a model, its inputs for one or two shapes, a provider, and the interpreter that has it."""

    model: Path
    parts: tuple[dict[str, Json], ...]
    provider: str
    options: dict[str, str]
    plugin: str
    environment: WorkerEnvironment
    libraries: tuple[str, ...] = ()
    runs: int = 5
    timeout: float = 3600.0


@dataclass(frozen=True)
class ProviderShare:
    """What one provider was given: nodes, their share, seconds of kernel time over all runs, and their share."""

    provider: str
    nodes: int
    node_share: float
    seconds: float
    time_share: float


@dataclass(frozen=True)
class FallbackNode:
    """A node that did not run on the provider. `why` is ONNX Runtime's reason, or follows from the model's other nodes."""

    name: str
    op: str
    provider: str
    types: tuple[str, ...]
    seconds: float
    why: str


@dataclass(frozen=True)
class ShapeTiming:
    """One set of input shapes: seconds of its first run and the median of the later ones (0 where there was none)."""

    sizes: dict[str, list[int]]
    first: float
    later: float


@dataclass(frozen=True)
class ModelCheck:
    """The answer. `problem` says why there was no session, no run, or no provider in it; `culprit` is what it is of."""

    model: str
    provider: str
    onnxruntime: str
    available: tuple[str, ...]
    shares: tuple[ProviderShare, ...]
    fallback: tuple[FallbackNode, ...]
    shapes: tuple[ShapeTiming, ...]
    create: float
    problem: str
    next: str
    culprit: Culprit | None

    @property
    def node_share(self) -> float:
        """The share of the nodes that the provider was given."""
        return next((s.node_share for s in self.shares if s.provider == self.provider), 0.0)

    @property
    def time_share(self) -> float:
        """The share of the kernels' time that was spent in the provider."""
        return next((s.time_share for s in self.shares if s.provider == self.provider), 0.0)

    @property
    def compiles(self) -> tuple[float, ...]:
        """Seconds that the first run of each shape took more than a later one: the provider's work on a new shape."""
        return tuple(max(0.0, shape.first - shape.later) for shape in self.shapes)


def check_model(request: ModelRequest) -> ModelCheck:
    """Run it. Raises UsageError for a missing model, MachineLacks for an interpreter that does not run or has no onnxruntime."""
    require_model(request.model)
    answer, output = _run(request)
    return read_answer(answer, output, request)


def _run(request: ModelRequest) -> tuple[dict[str, Any], str]:
    session: dict[str, Json] = {
        "provider": request.provider, "options": dict(request.options), "plugin": request.plugin, "libraries": list(request.libraries),
    }  # fmt: skip
    with tempfile.TemporaryDirectory(prefix="stackbuild-model-") as folder:
        file, answer = Path(folder) / "job.json", Path(folder) / "answer.json"
        job: dict[str, Json] = {
            "model": str(request.model.absolute()), "session": session, "parts": list(request.parts), "runs": request.runs,
            "answer": str(answer),
        }  # fmt: skip
        file.write_text(json.dumps(job))
        try:
            with (Path(folder) / "stderr").open("wb") as log:
                ran = subprocess.run(
                    [request.environment.python, "-s", SCRIPT, file], env=request.environment.variables(), cwd=folder, timeout=request.timeout,
                    stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=log, check=False,
                )  # fmt: skip
        except OSError as error:
            raise MachineLacks(
                f"there is no interpreter {request.environment.python}: {error.strerror}", next="give another --venv"
            ) from error
        except subprocess.TimeoutExpired:
            return {"problem": f"it took longer than {request.timeout:g} s and was stopped"}, ""
        output = (read_plain(Path(folder), "stderr", MOST_OUTPUT) or b"").decode("utf-8", "replace")
        text = read_plain(Path(folder), answer.name, MOST_ANSWER)
        if text is None:
            return {"problem": _death(ran.returncode, output, request)}, output
        try:
            document: dict[str, Any] = json.loads(text)
        except ValueError:
            return {"problem": f"what it answered cannot be read, or has more than {MOST_ANSWER >> 20} MiB"}, output
    return document, output


def _death(code: int, output: str, request: ModelRequest) -> str:
    last = (output.strip() or "it said nothing").splitlines()[-1][:300]
    if "ModuleNotFoundError" in last:
        python = request.environment.python
        raise MachineLacks(f"{python}: {last}", next=f"{shell_word(python)} -m pip install onnxruntime numpy, or another --venv")
    ending = f"signal {-code}" if code < 0 else f"exit {code}"
    return f"the process ended with {ending}: {last}"


def read_answer(answer: dict[str, Any], output: str, request: ModelRequest) -> ModelCheck:
    """The worker's answer and what it wrote to stderr, as a ModelCheck."""
    ran = answer.get("nodes", [])
    placements = answer.get("assigned") or _placed_by_profile(ran)
    seconds: Counter[str] = Counter()
    for node in ran:
        seconds[node["provider"]] += node["seconds"]
    counts = Counter(node["provider"] for node in placements)
    whole, total = sum(counts.values()) or 1, sum(seconds.values()) or 1.0
    shares = tuple(
        ProviderShare(name, count, count / whole, seconds[name], seconds[name] / total)
        for name, count in counts.most_common()
    )
    shapes = tuple(
        ShapeTiming(s["sizes"], s["first"], median(s["later"]) if s["later"] else 0.0) for s in answer.get("shapes", [])
    )
    problem = _problem(answer, output, request)
    return ModelCheck(
        str(request.model), request.provider, answer.get("onnxruntime", ""), tuple(answer.get("available", ())), shares,
        _fallback(placements, ran, output, request, answer), shapes, answer.get("create", 0.0),
        problem.text if problem else "", problem.next if problem else "", problem.culprit if problem else None,
    )  # fmt: skip


def _placed_by_profile(ran: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The placement as far as the profile shows it: a compiled subgraph counts as one node there."""
    return [{"name": n["name"], "op": n["op"], "domain": "", "provider": n["provider"]} for n in ran]


def _problem(answer: dict[str, Any], output: str, request: ModelRequest) -> ModelProblem | None:
    """Why there was no session, no run or no provider in it, and the next step; None where all went well."""
    python = request.environment.python
    doctor = f"stackbuild doctor --venv {shell_word(Path(python).parent.parent)}"
    if text := str(answer.get("problem", "")):
        sizes = answer.get("sizes", {})
        inputs: Any = request.parts[0]["inputs"] if request.parts else {}
        return explain(
            FailedSession(
                answer.get("stage", ""), text, answer.get("onnxruntime", ""), answer.get("library", ""), sizes, inputs, request.provider,
            ),
            doctor,
        )  # fmt: skip
    if request.provider not in answer.get("providers", ()):
        why = _LOAD.search(output)
        return ModelProblem(
            Culprit.PROVIDER,
            f"the session was made without it: {why[0].strip() if why else 'ONNX Runtime said no reason'}",
            f"`{doctor}` says which libraries are missing",
        )
    return None


def _fallback(
    placements: list[dict[str, Any]],
    ran: list[dict[str, Any]],
    output: str,
    request: ModelRequest,
    answer: dict[str, Any],
) -> tuple[FallbackNode, ...]:
    """Every node that the provider was not given, those that took most time first."""
    if request.provider == CPU:
        return ()
    cpu_nodes = set(_CPU_NODE.findall(output))
    times = {node["name"]: node for node in ran}
    placed_ops = Counter(node["op"] for node in placements if node["provider"] == request.provider)
    took_any = bool(placed_ops)
    rows = []
    for node in placements:
        if node["provider"] != request.provider:
            time_row = times.get(node["name"], {})
            types = tuple(dict.fromkeys(time_row.get("types", ())))
            why = _why(node, types, cpu_nodes, placed_ops, took_any)
            rows.append(
                FallbackNode(node["name"], node["op"], node["provider"], types, time_row.get("seconds", 0.0), why)
            )
    return tuple(sorted(rows, key=lambda n: -n.seconds))


def _why(
    node: dict[str, Any], types: tuple[str, ...], cpu_nodes: set[str], placed_ops: Counter[str], took_any: bool
) -> str:
    unusual = [kind for kind in types if kind not in USUAL]
    if node["name"] in cpu_nodes:
        return "ONNX Runtime keeps it on the CPU: it computes a shape, and a copy to the GPU would cost more"
    if node["op"] in CONTROL:
        return "control flow: the nodes inside of it are placed one by one"
    if node.get("domain") not in ("", "ai.onnx", None):
        return f"its operator is of the domain {node['domain']}: the provider has no kernel for it"
    if not took_any:
        return "the provider took no node of this model"
    if unusual and placed_ops[node["op"]]:
        return f"its inputs are {', '.join(unusual)}: the provider took {placed_ops[node['op']]} other {node['op']} of this model"
    if placed_ops[node["op"]]:
        return f"the provider took {placed_ops[node['op']]} other {node['op']} of this model: its shapes or attributes differ"
    if unusual:
        return f"the provider took no {node['op']} of this model; its inputs are {', '.join(unusual)}"
    return f"the provider took no {node['op']} of this model"
