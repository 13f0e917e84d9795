"""How far an output is from its reference: every error measure this project uses, defined here once.

Notation: `y` is what was computed, `r` the reference, `d = y - r`, all flattened and taken in float64; n elements.

    max_abs     max |d|                                              0 is perfect
    max_rel     max |d| / max(|r|, floor)                            0 is perfect; floor keeps zeros of r harmless
    rms         sqrt(mean d²)                                        0 is perfect, in the unit of r
    rel_rms     sqrt(sum d² / sum r²)                                0 is perfect, no unit
    cosine      sum y·r / (|y| |r|)                                  1 is perfect (a similarity, not a distance)
    snr_db      10 log10(sum r² / sum d²)                            larger is better; +inf when d = 0

Elements that are not finite are never averaged away. Where `y` and `r` disagree on which elements are NaN or infinite,
every distance is +inf, the cosine 0 and the SNR -inf. Where they agree, these elements count as equal. If no element is
finite (`finite` is 0), all measures are perfect and mean nothing: check `is_conclusive` first.

It imports numpy alone, and only when a measure is taken: probes run a copy of it where stackbuild is not installed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    Vector = NDArray[np.float64]

#: Below this magnitude a reference element is treated as this big in `max_rel`.
REL_FLOOR = 1e-6


@dataclass(frozen=True)
class Errors:
    """All the measures of one output against its reference, and how many elements were compared (`count`).

    `mismatched` counts elements where only one side is NaN or infinite, or the infinities differ in sign; `finite` those
    where both are finite.
    """

    count: int
    mismatched: int
    max_abs: float
    max_rel: float
    rms: float
    rel_rms: float
    cosine: float
    snr_db: float
    finite: int = 0

    @property
    def is_conclusive(self) -> bool:
        """Whether anything was compared: a mismatch, or a finite element. NaN beside NaN tests no kernel."""
        return self.mismatched > 0 or self.finite > 0


def errors(y: ArrayLike, r: ArrayLike, rel_floor: float = REL_FLOOR) -> Errors:
    """Every measure of `y` against `r`: one shape, any rank, any real dtype. Raises ValueError if shapes differ."""
    import numpy as np

    a, b, mismatches = _pair(y, r)
    finite = int(np.count_nonzero(np.isfinite(np.asarray(y)) & np.isfinite(np.asarray(r))))
    if mismatches:
        inf = float("inf")
        return Errors(a.size, mismatches, inf, inf, inf, inf, 0.0, -inf, finite)
    return Errors(
        a.size, 0, max_abs(a, b), max_rel(a, b, rel_floor), rms(a, b), rel_rms(a, b), cosine(a, b), snr_db(a, b), finite
    )  # fmt: skip


def max_abs(y: ArrayLike, r: ArrayLike) -> float:
    """max |y - r|; 0.0 for empty arrays."""
    import numpy as np

    a, b, mismatches = _pair(y, r)
    if mismatches:
        return float("inf")
    return float(np.max(np.abs(a - b), initial=0.0))


def max_rel(y: ArrayLike, r: ArrayLike, rel_floor: float = REL_FLOOR) -> float:
    """max |y - r| / max(|r|, rel_floor); 0.0 for empty arrays."""
    import numpy as np

    a, b, mismatches = _pair(y, r)
    if mismatches:
        return float("inf")
    return float(np.max(np.abs(a - b) / np.maximum(np.abs(b), rel_floor), initial=0.0))


def rms(y: ArrayLike, r: ArrayLike) -> float:
    """sqrt(mean (y - r)²); 0.0 for empty arrays."""
    import numpy as np

    a, b, mismatches = _pair(y, r)
    if mismatches:
        return float("inf")
    return float(np.sqrt(np.mean(np.square(a - b)))) if a.size else 0.0


def rel_rms(y: ArrayLike, r: ArrayLike) -> float:
    """sqrt(sum (y - r)² / sum r²): noise as a share of the signal. 0.0 where y = r, +inf where only r is zero."""
    import numpy as np

    a, b, mismatches = _pair(y, r)
    if mismatches:
        return float("inf")
    return _ratio(float(np.linalg.norm(a - b)), float(np.linalg.norm(b)))


def cosine(y: ArrayLike, r: ArrayLike) -> float:
    """Cosine similarity sum(y·r) / (|y| |r|), in [-1, 1]. Two zero arrays are alike (1.0), one alone is not (0.0)."""
    import numpy as np

    a, b, mismatches = _pair(y, r)
    if mismatches:
        return 0.0
    na, nb = float(np.linalg.norm(a)), float(np.linalg.norm(b))
    if na == 0.0 or nb == 0.0:
        return 1.0 if na == nb else 0.0
    return float(np.clip(np.dot(a / na, b / nb), -1.0, 1.0))


def snr_db(y: ArrayLike, r: ArrayLike) -> float:
    """Signal-to-noise ratio 10 log10(sum r² / sum (y - r)²) in dB; +inf where y = r, -inf where only r is zero."""
    import math

    share = rel_rms(y, r)
    if share == 0.0:
        return math.inf
    return -20.0 * math.log10(share) if math.isfinite(share) else -math.inf


def _ratio(noise: float, signal: float) -> float:
    if noise == 0.0:
        return 0.0
    return noise / signal if signal else float("inf")


def _pair(y: ArrayLike, r: ArrayLike) -> tuple[Vector, Vector, int]:
    """Both as flat float64 with agreeing non-finite elements set to 0, and the number that disagree."""
    import numpy as np

    a, b = np.asarray(y), np.asarray(r)
    if a.shape != b.shape:
        raise ValueError(f"cannot compare shape {a.shape} with {b.shape}")
    a, b = a.astype(np.float64).ravel(), b.astype(np.float64).ravel()
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    odd = ~(np.isfinite(a) & np.isfinite(b))
    mismatches = int(np.count_nonzero(odd & ~same))
    settled_values = odd & same
    if settled_values.any():
        a, b = np.where(settled_values, 0.0, a), np.where(settled_values, 0.0, b)
    return a, b, mismatches
