"""One-operator sessions on a provider that may not fall back to the CPU, each run against a float64 reference."""

from __future__ import annotations

import dataclasses

import error_metrics
import oneop
import onnxruntime as ort
from probe import JobDict, error_text, main
from sessions import NO_FALLBACK, RECORD, assigned_nodes, options, session


def do(job: JobDict) -> JobDict:
    return {"ops": {op: one(op, job) for op in job["ops"] or oneop.TABLE}, "onnxruntime": ort.__version__}


def one(op: str, job: JobDict) -> JobDict:
    """`refused` where no session could be made, `error` where it could and failed, otherwise who ran it and how well."""
    config = RECORD if job["provider"] == "CPUExecutionProvider" else NO_FALLBACK | RECORD
    try:
        inference = session(oneop.model(op).SerializeToString(), job, options(config))
    except Exception as error:  # ONNX Runtime raises many types
        return {"refused": error_text(error)}
    first = inference.get_providers()[0]
    if first != job["provider"]:
        return {"error": f"asked for {job['provider']}, the session runs on {first}"}
    try:
        actual = inference.run(None, oneop.inputs(op))[0]
    except Exception as error:
        return {"error": error_text(error)}
    return {
        "assigned": assigned_nodes(inference),
        "errors": dataclasses.asdict(error_metrics.errors(actual, oneop.reference(op))),
    }


main(do)
