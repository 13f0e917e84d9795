"""The rungs for custom-op libraries: every operator runs, every answer is right, on the CPU and on a GPU."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

from stackbuild.core.digest import Json
from stackbuild.model.findings import Finding
from stackbuild.verification.catalogue import NUMERICS, OPERATOR
from stackbuild.verification.probe_sandbox import Ended
from stackbuild.verification.rung import Climb, Outcome, trouble
from stackbuild.verification.rungs.gpu import Watch, gpu_worked

SECONDS = 300.0
#: The package whose operators have cases: the bundled kernels.
PACKAGE = "stackbuild_kernels"
#: Tells the bundled operators to copy their tensors to the GPU and run there.
ON_GPU = (("STACKBUILD_KERNELS_DEVICE", "gpu"),)
OPERATORS = ("Attention", "BatchNormalization", "Conv", "GroupNormalization", "LeakyRelu", "MultiHeadAttention")


@dataclass(frozen=True)
class CustomOps:
    """What running every case of every operator came to, asked once for both rungs; a process for each operator."""

    climb: Climb
    env: tuple[tuple[str, str], ...] = ()

    @property
    def known(self) -> bool:
        return self.climb.subject.package == PACKAGE and (self.climb.kernels / "tools" / "cases.py").is_file()

    @cached_property
    def ended(self) -> dict[str, Ended]:
        return {op: self._probe(op) for op in OPERATORS}

    def rows(self, op: str) -> list[tuple[str, dict[str, Json]]]:
        """(element type, what came of its cases) of an operator that answered."""
        rows = self.ended[op].answer.get("rows")
        return [(k, v) for k, v in rows.items() if isinstance(v, dict)] if isinstance(rows, dict) else []

    def _probe(self, op: str) -> Ended:
        job: dict[str, Json] = {
            "op": op,
            "module": self.climb.subject.package,
            "cases": str(self.climb.kernels),
            "seed": 0,
        }
        return self.climb.cell.probe("kernelops", job, SECONDS, self.env)


def running(made: CustomOps) -> Outcome:
    """Every operator was registered, took each case and wrote every element."""
    if not made.known:
        return Outcome(skip=f"no cases are known for the operators of {made.climb.subject.package or 'this library'}")
    found: list[Finding] = []
    for op, ended in made.ended.items():
        if ended.how:
            found.append(trouble(OPERATOR, op, ended))
        elif not made.rows(op):
            found.append(OPERATOR.finding(op, "no case of it was run"))
        for dtype, row in made.rows(op):
            failed = _texts(row, "failed")
            if failed:
                found.append(
                    OPERATOR.finding(f"{op} {dtype}", f"{len(failed)} of {row.get('cases')} cases: {failed[0]}")
                )
    return Outcome(tuple(found), says=f"{', '.join(OPERATORS)}: {_cases(made)} cases on the CPU")


def numerics(made: CustomOps) -> Outcome:
    """Every answer is within the operators' tolerances of its float64 reference."""
    if not made.known:
        return Outcome(skip="no reference is known for its operators")
    found = [
        NUMERICS.finding(f"{op} {dtype}", f"{len(wrong)} of {row.get('cases')} cases: {wrong[0]}")
        for op in OPERATORS
        for dtype, row in made.rows(op)
        if (wrong := _texts(row, "wrong"))
    ]
    if not _cases(made):
        return Outcome(tuple(found), skip="no operator ran")
    return Outcome(tuple(found), says=f"{_cases(made)} cases against float64; {_worst(made)}")


def on_gpu(climb: Climb, watch: Watch, waits: str) -> Outcome:
    """All cases once more with the operators on the GPU, which has to be seen working; `waits` says why that cannot be."""
    made = CustomOps(climb, ON_GPU)
    worked = gpu_worked(
        watch, lambda: made.ended, waits if made.known else waits or "no cases are known for its operators"
    )
    if worked.skip:
        return worked
    return Outcome(
        (*worked.findings, *running(made).findings, *numerics(made).findings), says=f"{worked.says}; {_worst(made)}"
    )


def _texts(row: dict[str, Json], key: str) -> list[str]:
    listed = row.get(key)
    return [str(text) for text in listed] if isinstance(listed, list) else []


def _cases(made: CustomOps) -> int:
    return sum(int(cases) for op in OPERATORS for _, row in made.rows(op) if isinstance(cases := row.get("cases"), int))


def _worst(made: CustomOps) -> str:
    """The worst relative RMS error of each element type, with its other measures."""
    worst: dict[str, dict[str, Json]] = {}
    for op in OPERATORS:
        for dtype, row in made.rows(op):
            errors = row.get("worst")
            if isinstance(errors, dict) and not number(errors.get("rel_rms")) < number(
                worst.get(dtype, {}).get("rel_rms", -1.0)
            ):
                worst[dtype] = errors
    return ", ".join(f"{dtype}: {described(errors)}" for dtype, errors in sorted(worst.items()))


def number(value: Json) -> float:
    """A measure of a probe's answer; NaN, which no bound lets pass, where it is no number."""
    return float(value) if isinstance(value, int | float) else math.nan


def described(errors: dict[str, Json]) -> str:
    """One line of an output's measures."""
    value = {name: number(errors.get(name)) for name in ("max_abs", "max_rel", "rms", "rel_rms", "cosine", "snr_db")}
    return (
        f"max abs {value['max_abs']:.1e}, max rel {value['max_rel']:.1e}, RMS {value['rms']:.1e},"
        f" cosine {value['cosine']:.9f}, SNR {value['snr_db']:.0f} dB"
    )
