"""Error measures in a probe's answer, read with care: it may be anything."""

from __future__ import annotations

import math

from stackbuild.core.digest import Json


def number(value: Json) -> float:
    """A measure of a probe's answer; NaN, which fails every bound, where it is not a number."""
    return float(value) if isinstance(value, int | float) else math.nan


def format_errors(errors: dict[str, Json]) -> str:
    """One line of an output's measures."""
    value = {name: number(errors.get(name)) for name in ("max_abs", "max_rel", "rms", "rel_rms", "cosine", "snr_db")}
    return (
        f"max abs {value['max_abs']:.1e}, max rel {value['max_rel']:.1e}, RMS {value['rms']:.1e},"
        f" cosine {value['cosine']:.9f}, SNR {value['snr_db']:.0f} dB"
    )
