"""`gate`: judge a candidate against a baseline."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from stackbuild.cli.app import JsonOption, app, option
from stackbuild.cli.completion import recipes
from stackbuild.cli.shared_options import SessionArguments, sharing


@app.command()
@sharing(SessionArguments)
def gate(
    candidate: Annotated[Path, option("--candidate", "-c", metavar="C", help="The new wheel, or its results.")],
    baseline: Annotated[
        Path | None, option("--baseline", "-b", metavar="B", help="The old wheel, or its results.")
    ] = None,
    first: Annotated[
        bool,
        option("--without-baseline", help="A first release: leave out gates that need a baseline, and name them."),
    ] = False,
    gates: Annotated[
        Path | None,
        option(
            "--gates",
            metavar="FILE",
            help="YAML with `gates:`; default: accuracy for the data type, no slowdown.",
        ),
    ] = None,
    recipe: Annotated[
        str, option("--recipe", "-r", metavar="R", help="Take the gates from this recipe.", autocompletion=recipes)
    ] = "",
    suite: Annotated[
        str, option("--suite", help="A suite's name or file; default: the quick one of the wheel's kind.")
    ] = "",
    baseline_lock: Annotated[
        Path | None, option("--baseline-lock", help="The lock B was built under; default: B.lock.yaml beside it.")
    ] = None,
    candidate_lock: Annotated[
        Path | None, option("--candidate-lock", help="The lock C was built under; default: C.lock.yaml beside it.")
    ] = None,
    out: Annotated[Path | None, option("--out", "-o", help="Also write the results here.")] = None,
    verdict_out: Annotated[
        Path | None, option("--verdict", metavar="FILE", help="Also write the verdict here.")
    ] = None,
    statements: Annotated[
        Path | None,
        option("--statements", metavar="DIR", help="Write C.benchmarks.json there, for `publish --proof`."),
    ] = None,
    machine: Annotated[
        str, option("--machine", metavar="NAME", help="How the statement names this machine: gfx1100.")
    ] = "",
    json: JsonOption = False,
    arguments: SessionArguments = SessionArguments(),
) -> None:
    """Judge a release by gates; exit code 6 if one fails.

    Each gate and case is PASS, FAIL, INCONCLUSIVE or UNSTABLE. Two wheels are measured side by side, interleaved, in fresh processes; two results files are weaker evidence.

    Example: stackbuild gate --baseline old.whl --candidate new.whl
    """
    from dataclasses import replace

    from stackbuild.bench.gate import GateRequest, gates_of, run_gate, without_baseline
    from stackbuild.bench.providers import clock_name, provider_name, provider_options
    from stackbuild.bench.results_file import document, identity, require_writable, write
    from stackbuild.core import digest
    from stackbuild.core.errors import UsageError
    from stackbuild.judgement import require_open
    from stackbuild.model.results import VERDICT_SCHEMA
    from stackbuild.publishing.proofs import write_proof
    from stackbuild.publishing.statements import ResourceDescriptor, benchmarks
    from stackbuild.views.bench import draw_inputs, draw_verdict, progress
    from stackbuild.views.console import print_json

    if statements and candidate.suffix != ".whl":
        raise UsageError("a statement is about a wheel", where=str(candidate), next="give the wheel as --candidate")
    if machine and not statements:
        raise UsageError("--machine is a word of the statement", next="add --statements DIR")
    full = provider_name(arguments.provider)
    provider_settings = provider_options(
        full, arguments.options or (), plugin=candidate.name.startswith("onnxruntime_ep_")
    )
    request = GateRequest(
        candidate, baseline, suite, full, provider_settings, arguments.python, arguments.threads, arguments.seed, clock_name(arguments.clock),
        candidate_lock, baseline_lock,
    )  # fmt: skip
    if first and (baseline or baseline_lock):
        raise UsageError("--without-baseline and a baseline contradict each other", next="give one of them")
    gate_set, note = without_baseline(gates_of(gates, recipe)) if first else (gates_of(gates, recipe), "")
    require_writable(out, verdict_out)
    with progress() as tick:
        measurement = run_gate(request, gate_set, tick)
    notes = (*measurement.verdict.notes, note) if note else measurement.verdict.notes
    verdict = replace(measurement.verdict, of=identity(measurement.benchmarks), notes=notes)
    if out:
        write(measurement.benchmarks, out)
    if verdict_out:
        write(verdict, verdict_out)
    if statements:
        descriptor = ResourceDescriptor(candidate.name, digest.of_file(candidate))
        contents = benchmarks(descriptor, document(measurement.benchmarks), document(verdict), machine)
        write_proof(statements, descriptor, "benchmarks", contents)
    if json:
        print_json(document(verdict), VERDICT_SCHEMA)
    else:
        draw_verdict(verdict)
        draw_inputs(measurement.benchmarks.inputs)
    require_open(verdict)
