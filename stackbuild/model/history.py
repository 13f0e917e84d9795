"""A row of the history of measurements."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Figure:
    """One row: a figure of one case and side at one time on one machine (`machine` is its fingerprint's digest).

    `model` is the sha256 of the model's file; `how` says clock, copies, threads and options. Both are empty in rows that
    an older stackbuild wrote.
    """

    taken: str
    suite: str
    side: str
    artifact: str
    sha256: str
    provider: str
    onnxruntime: str
    machine: str
    about_machine: str
    case: str
    metric: str
    unit: str
    value: float
    samples: int
    model: str = ""
    how: str = ""
