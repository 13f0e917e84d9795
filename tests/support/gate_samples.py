"""Benchmarks made up for the judge's tests: noise models of a quiet, a noisy and an awful machine."""

from __future__ import annotations

import random

from stackbuild.model.results import Accuracy, Benchmarks, Case, Fingerprint, Series, Share, Side

#: White noise, slow drift (a random walk over the whole run) and the share of outliers of 5 to 30 %.
MACHINES = {"quiet": (0.005, 0.005, 0.01), "noisy": (0.02, 0.03, 0.05), "awful": (0.06, 0.08, 0.15)}


def timings(effect: float, machine: str, pairs: int, rng: random.Random) -> tuple[Series, Series, Series]:
    """Candidate, baseline and control as one interleaved measurement would see them; `effect` 0.05 is 5 % slower."""
    white, drift, outliers = MACHINES[machine]
    level, ours, theirs, control = 0.0, [], [], []
    for _ in range(pairs):
        level += rng.gauss(0, drift / pairs**0.5)
        for samples, factor in ((ours, 1 + effect), (theirs, 1.0), (control, 1.0)):
            odd = rng.uniform(0.05, 0.3) if rng.random() < outliers else 0.0
            samples.append(0.01 * factor * (1 + level + rng.gauss(0, white) + odd))
    return (
        Series("candidate", tuple(ours), host_bytes=100 << 20, accuracy=exact(), shares=(Share("CPU", 1.0, 1.0),)),
        Series("baseline", tuple(theirs), host_bytes=100 << 20),
        Series("control", tuple(control)),
    )


def exact(snr_db: float = 120.0, max_abs: float = 1e-6) -> Accuracy:
    return Accuracy("float64 on the CPU", max_abs, 1e-5, 1e-7, 1.0, snr_db)


def benchmarks(*cases: tuple[Series, ...], kind: str = "models") -> Benchmarks:
    sides = tuple(Side(label, "CPU") for label in ("candidate", "baseline", "control"))
    made = tuple(
        Case(f"case{n}", "resnet50", "float32", {"input": (1, 3, 224, 224)}, 1, 1, "image", 17, "0" * 64, series)
        for n, series in enumerate(cases)
    )
    return Benchmarks("models", kind, "2026-11-20T09:00:00Z", Fingerprint({"cpu": "x"}), sides, made)
