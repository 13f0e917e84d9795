"""A small made-up measurement for tests of files, history, tables and reports."""

from __future__ import annotations

from stackbuild.core import digest
from stackbuild.core.digest import Json
from stackbuild.model.results import Accuracy, Benchmarks, Case, Fingerprint, OpTime, Series, Share, Side

CPU = "CPUExecutionProvider"
ROCM = "ROCMExecutionProvider"


def sealed(document: dict[str, Json]) -> dict[str, Json]:
    """A results document with the digest of what it holds, as one who means to deceive writes it."""
    body = {key: value for key, value in document.items() if key not in ("schema", "digest")}
    return document | {"digest": digest.of_value([document["schema"], body])}


def measured(
    scale: float = 1.0, taken: str = "2026-11-20T09:00:00Z", cpu: str = "EPYC", batches: tuple[int, ...] = (1, 8)
) -> Benchmarks:
    """ResNet-50 on the CPU and twice as fast on ROCm; `scale` makes all of it slower."""
    sides = (
        Side("candidate", ROCM, "ort-2.whl", "ab" * 32, {"device_id": "0"}, {"onnxruntime": "1.22.1"}),
        Side(CPU, CPU, libraries={"onnxruntime": "1.22.1"}),
    )
    cases = tuple(_case(batch, scale) for batch in batches)
    return Benchmarks(
        "models-quick", "models", taken, Fingerprint({"cpu": cpu, "cores": "2"}, {"load": "0.1"}), sides, cases
    )


def _case(batch: int, scale: float) -> Case:
    seconds = tuple(scale * batch**0.8 * 0.01 * (1 + 0.01 * (n % 5)) for n in range(12))
    fast = Series(
        "candidate", seconds, tuple(s * 3 for s in seconds), tuple(s * 2 for s in seconds), 100 << 20, 300 << 20,
        Accuracy("float32 on the CPU", 0.0, 0.0, 0.0, 1.0, float("inf")), (Share(ROCM, 0.9, 0.97), Share(CPU, 0.1, 0.03)),
        (OpTime("Conv", ROCM, 0.008, 53),),
    )  # fmt: skip
    slow = Series(CPU, tuple(2 * s for s in seconds), seconds, seconds, 90 << 20)
    name = f"resnet50/b{batch}/float32"
    shape = {"input": (batch, 3, 224, 224)}
    return Case(name, "resnet50", "float32", shape, batch, batch, "image", 17, "cd" * 32, (fast, slow))
