"""`gate`: judge a candidate against a baseline."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from stackbuild.cli.app import JsonOption, app, option
from stackbuild.cli.completion import recipes
from stackbuild.cli.shared_options import SessionArguments, sharing

if TYPE_CHECKING:
    from stackbuild.bench.gate import GateRequest
    from stackbuild.bench.measure import Measurement
    from stackbuild.model.gates import Gate
    from stackbuild.model.results import Benchmarks, Verdict


@dataclass(frozen=True)
class GateArguments:
    """What a candidate is compared with, by which gates, and where the verdict goes."""

    baseline: Annotated[Path | None, option("--baseline", "-b", metavar="B", help="The old wheel, or its results.")] = (
        None
    )
    first: Annotated[
        bool,
        option("--without-baseline", help="A first release: leave out gates that need a baseline, and name them."),
    ] = False
    gates: Annotated[
        Path | None,
        option(
            "--gates",
            metavar="FILE",
            help="YAML with `gates:`; default: accuracy for the data type, no slowdown.",
        ),
    ] = None
    recipe: Annotated[
        str, option("--recipe", "-r", metavar="R", help="Take the gates from this recipe.", autocompletion=recipes)
    ] = ""
    suite: Annotated[
        str, option("--suite", help="A suite's name or file; default: the quick one of the wheel's kind.")
    ] = ""
    baseline_lock: Annotated[
        Path | None, option("--baseline-lock", help="The lock B was built under; default: B.lock.yaml beside it.")
    ] = None
    candidate_lock: Annotated[
        Path | None, option("--candidate-lock", help="The lock C was built under; default: C.lock.yaml beside it.")
    ] = None
    out: Annotated[Path | None, option("--out", "-o", help="Also write the results here.")] = None
    verdict_out: Annotated[Path | None, option("--verdict", metavar="FILE", help="Also write the verdict here.")] = None
    statements: Annotated[
        Path | None,
        option("--statements", metavar="DIR", help="Write C.benchmarks.json there, for `publish --proof`."),
    ] = None
    machine: Annotated[
        str, option("--machine", metavar="NAME", help="How the statement names this machine: gfx1100.")
    ] = ""
    json: JsonOption = False

    def refuse_contradictions(self, candidate: Path) -> None:
        """Raises UsageError for options that do not go together."""
        from stackbuild.core.errors import UsageError

        if self.statements and candidate.suffix != ".whl":
            raise UsageError("a statement is about a wheel", where=str(candidate), next="give the wheel as --candidate")
        if self.machine and not self.statements:
            raise UsageError("--machine is a word of the statement", next="add --statements DIR")
        if self.first and (self.baseline or self.baseline_lock):
            raise UsageError("--without-baseline and a baseline contradict each other", next="give one of them")

    def gate_set(self) -> tuple[tuple[Gate, ...], str]:
        """The gates that are applied, and a note where some of them are left out."""
        from stackbuild.bench.gate import gates_of, without_baseline

        gates = gates_of(self.gates, self.recipe)
        return without_baseline(gates) if self.first else (gates, "")


@app.command()
@sharing(GateArguments, SessionArguments)
def gate(
    candidate: Annotated[Path, option("--candidate", "-c", metavar="C", help="The new wheel, or its results.")],
    arguments: GateArguments = GateArguments(),
    session: SessionArguments = SessionArguments(),
) -> None:
    """Judge a release by gates; exit code 6 if one fails.

    Each gate and case is PASS, FAIL, INCONCLUSIVE or UNSTABLE. Two wheels are measured side by side, interleaved, in fresh processes; two results files are weaker evidence.

    Example: stackbuild gate --baseline old.whl --candidate new.whl
    """
    from stackbuild.bench.gate import run_gate
    from stackbuild.bench.results_file import require_writable
    from stackbuild.judgement import require_open
    from stackbuild.views.bench import progress

    arguments.refuse_contradictions(candidate)
    request = _request(candidate, arguments, session)
    gate_set, note = arguments.gate_set()
    require_writable(arguments.out, arguments.verdict_out)
    with progress() as tick:
        measurement = run_gate(request, gate_set, tick)
    require_open(_report(candidate, arguments, measurement, note))


def _request(candidate: Path, arguments: GateArguments, session: SessionArguments) -> GateRequest:
    """What is measured. Raises UsageError for an unknown provider, option or clock."""
    from stackbuild.bench.gate import GateRequest
    from stackbuild.bench.providers import clock_name, provider_name, provider_options

    provider = provider_name(session.provider)
    settings = provider_options(provider, session.options or (), plugin=candidate.name.startswith("onnxruntime_ep_"))
    return GateRequest(
        candidate,
        arguments.baseline,
        arguments.suite,
        provider,
        settings,
        session.python,
        session.threads,
        session.seed,
        clock_name(session.clock),
        arguments.candidate_lock,
        arguments.baseline_lock,
    )


def _report(candidate: Path, arguments: GateArguments, measurement: Measurement, note: str) -> Verdict:
    """Write the results, the verdict and the statement that were asked for, and draw the verdict."""
    from dataclasses import replace

    from stackbuild.bench.results_file import document, identity, write
    from stackbuild.model.results import VERDICT_SCHEMA
    from stackbuild.views.bench import draw_inputs, draw_verdict
    from stackbuild.views.console import print_json

    notes = (*measurement.verdict.notes, note) if note else measurement.verdict.notes
    verdict = replace(measurement.verdict, of=identity(measurement.benchmarks), notes=notes)
    if arguments.out:
        write(measurement.benchmarks, arguments.out)
    if arguments.verdict_out:
        write(verdict, arguments.verdict_out)
    if arguments.statements:
        _write_statement(candidate, arguments.statements, arguments.machine, measurement.benchmarks, verdict)
    if arguments.json:
        print_json(document(verdict), VERDICT_SCHEMA)
    else:
        draw_verdict(verdict)
        draw_inputs(measurement.benchmarks.inputs)
    return verdict


def _write_statement(wheel: Path, folder: Path, machine: str, results: Benchmarks, verdict: Verdict) -> None:
    from stackbuild.bench.results_file import document
    from stackbuild.core import digest
    from stackbuild.publishing.proofs import write_proof
    from stackbuild.publishing.statements import ResourceDescriptor, benchmarks

    descriptor = ResourceDescriptor(wheel.name, digest.of_file(wheel))
    contents = benchmarks(descriptor, document(results), document(verdict), machine)
    write_proof(folder, descriptor, "benchmarks", contents)
