"""One-operator sessions on a provider that may not fall back to the CPU, each run against a float64 reference.

A plugin also runs the quantized operators.
"""

from __future__ import annotations

import dataclasses

import error_metrics
import oneop
import onnxruntime as ort
import quantization
from probe import JobDict, error_text, main
from sessions import NO_FALLBACK, RECORD, assigned_nodes, options, session


def do(job: JobDict) -> JobDict:
    tried_operators = job["ops"] or [*oneop.TABLE, *(quantization.TABLE if job["plugin"] else ())]
    return {"ops": {op: one(op, job) for op in tried_operators}, "onnxruntime": ort.__version__}


def one(op: str, job: JobDict) -> JobDict:
    """`refused` where no session could be made, `error` where it could and failed, otherwise who ran it and how well."""
    cases = quantization if op in quantization.TABLE else oneop
    config = RECORD if job["provider"] == "CPUExecutionProvider" else NO_FALLBACK | RECORD
    try:
        inference = session(cases.model(op).SerializeToString(), job, options(config))
    except Exception as error:  # ONNX Runtime raises many types
        return {"refused": error_text(error)}
    first = inference.get_providers()[0]
    if first != job["provider"]:
        return {"error": f"asked for {job['provider']}, the session runs on {first}"}
    try:
        actual = inference.run(None, cases.inputs(op))[0]
    except Exception as error:
        return {"error": error_text(error)}
    return {
        "assigned": assigned_nodes(inference),
        "errors": dataclasses.asdict(error_metrics.errors(actual, cases.reference(op))),
    }


main(do)
