"""The gates a recipe asks for under `gates:`; `stackbuild.judgement` decides them, `stackbuild.bench` measures for them.

    gates:
      - kind: baseline            # against the wheel of the last release, measured side by side
        delta: 5%
      - kind: speedup             # against another provider or side
        versus: CPUExecutionProvider
        at_least: 8
        cases: [resnet50/b1/*]
      - kind: limit               # an absolute floor or ceiling
        metric: latency
        at_most: 12 ms
      - kind: memory
        grows_at_most: 10%
      - kind: accuracy
        snr_db: 60
      - kind: share               # the provider really ran it
        provider: MIGraphXExecutionProvider
        nodes: 90%

Percentages, times and sizes may be written with their unit; they are held as shares of 1, seconds and bytes.
"""

from __future__ import annotations

import math
import re
from datetime import date
from typing import Annotated, Literal, Self

from stackbuild.core import sizes
from stackbuild.core.model import Field, Model, PathText, ValidationInfo, field_validator, model_validator

_UNITS: dict[str, dict[str, float]] = {
    "share": {"%": 0.01},
    "ratio": {"x": 1.0, "×": 1.0},
    "level": {"db": 1.0},
    "rate": {"/s": 1.0},
    "time": {"s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6},
    "size": sizes.UNITS,
}
"""The factor of each unit, by the kind of quantity that it measures. A plain number is of any kind."""
_EXAMPLES = {
    "share": "5% or 0.05", "ratio": "1.5, or 1.5x: twice as fast is 2", "level": "60, or 60 dB", "rate": "100, or 100 /s",
    "time": "a time such as 12 ms", "size": "a size such as 1.5 GiB",
}  # fmt: skip
_QUANTITY = re.compile(r"\s*([-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)\s*([^\d\s]*)\s*")
Metric = Literal["latency", "throughput", "create", "first", "host_memory", "device_memory"]
_METRIC_KINDS: dict[str, str] = {
    "latency": "time", "create": "time", "first": "time", "throughput": "rate", "host_memory": "size", "device_memory": "size",
}  # fmt: skip


def quantity(text: object, kind: str) -> object:
    """A number from a text such as `5%`, `12 ms`, `1.5 GiB` or `8`, with a unit of that kind alone; anything else is handed on
    for pydantic to refuse. Raises ValueError."""
    if isinstance(text, bool | list | tuple | dict):
        raise ValueError(f"{text!r} is not a {kind}; write {_EXAMPLES[kind]}")
    if isinstance(text, float):  # of a recipe that was read before, as a worker gets it
        return text
    if isinstance(text, int):
        return _with_unit(text, kind)
    if not isinstance(text, str):
        return text
    match = _QUANTITY.fullmatch(text)
    units = {"": 1.0, **_UNITS[kind]}
    if match and match[2] == "%" and kind == "level":
        raise ValueError(f"{text!r} is not a level; write `{match[1]} dB`")
    if kind == "ratio" and (fraction := re.fullmatch(r"\s*(\d+)\s*/\s*([1-9]\d*)\s*", text)):
        raise ValueError(f"{text!r} is not a number; write `{int(fraction[1]) / int(fraction[2]):.4g}`")
    if match and match[2] == "%" and kind == "ratio":
        raise ValueError(f"{text!r} is not a ratio; write {float(match[1]) / 100:g}: the same speed is 1")
    if match is None or match[2].lower() not in units:
        step = _quantity_meant(text, kind) or _of_another_kind(text, kind) or _EXAMPLES[kind]
        raise ValueError(f"{text!r} is not a {kind}; write {step}")
    return _with_unit(float(match[1]), kind) if not match[2] else float(match[1]) * units[match[2].lower()]


_UNIT_WORDS = {
    "time": {"msec": "ms", "millisecond": "ms", "milli": "ms", "sec": "s", "second": "s", "usec": "us", "microsecond": "us", "μs": "us"},
    "size": {"k": "KiB", "m": "MiB", "g": "GiB", "kilobyte": "kB", "megabyte": "MB", "gigabyte": "GB", "gi": "GiB", "mi": "MiB", "byte": "B"},
    "share": {"percent": "%", "pct": "%", "per cent": "%", "prozent": "%"},
    "ratio": {"time": "x", "times": "x", "fold": "x", "-fold": "x"}, "level": {"decibel": "dB"},
    "rate": {"hz": "/s", "fps": "/s", "qps": "/s", "per second": "/s", "inferences/s": "/s", "ips": "/s", "per s": "/s"},
}  # fmt: skip
"""Other words for the units, in the singular."""
_ALL = {"all": "100%", "every": "100%", "half": "50%", "none": "0%"}
"""Shares in words."""
_MINUTES = {"min": 60, "minute": 60, "m": 60, "h": 3600, "hour": 3600}


def _quantity_meant(text: str, kind: str) -> str:
    """`9 ms` of `9 milliseconds`, `< 9ms` and `9,0 ms`; "" where that is not plain."""
    match = re.fullmatch(
        r"\s*(?:<=?|>=?|≤|≥|~|\+|up to|at most|at least)?\s*(\d+(?:[.,]\d+)?)\s*([^\d\s].*?)?\s*", text
    )
    if kind == "share" and text.strip().lower() in _ALL:
        return f"`{_ALL[text.strip().lower()]}`"
    if match is None:
        return ""
    number, unit = match[1].replace(",", "."), (match[2] or "").lower().strip(". ")
    units = {each.lower(): each for each in ("", *_UNITS[kind], "kB", "MB", "GB", "KiB", "MiB", "GiB", "dB")}
    singular = unit if unit in _UNIT_WORDS[kind] or unit in units else unit.removesuffix("s")
    if kind == "time" and singular in _MINUTES:
        return f"`{float(number) * _MINUTES[singular]:g} s`"
    unit_name = _UNIT_WORDS[kind].get(singular) or (units[singular] if singular in {"", *_UNITS[kind]} else None)
    return "" if unit_name is None else f"`{number}{'' if unit_name in ('%', 'x', '') else ' '}{unit_name}`"


_KEYS = {
    ("time", "rate"): "a time such as 12 ms; a rate is `metric: throughput` with `at_least: {}`",
    ("rate", "time"): "100, or 100 /s; a time is `metric: latency` with `at_most: {}`",
    ("time", "size"): "a time such as 12 ms; a size is `metric: host_memory` with `at_most: {}`",
    ("ratio", "time"): "1.5, or 1.5x; a time is a gate `kind: limit` with `metric: latency` and `at_most: {}`",
    ("ratio", "rate"): "1.5, or 1.5x; a rate is a gate `kind: limit` with `metric: throughput` and `at_least: {}`",
    ("share", "size"): "a share such as 10%; a size is `at_most: {}` in its place",
    ("size", "share"): "a size such as 1.5 GiB; a share is `grows_at_most: {}` in its place",
    ("size", "time"): "a size such as 1.5 GiB; a time is `metric: latency` with `at_most: {}`",
}
"""Where a quantity of one kind is wanted and one of another is written, the keys that take that one."""


def _of_another_kind(text: str, kind: str) -> str:
    """The next step for a quantity of another kind: `9 fps` of a latency; "" where it is of no kind."""
    match = _QUANTITY.fullmatch(text)
    for each, other in _KEYS:
        is_other = match is not None and match[2].lower() in _UNITS[other] and bool(match[2])
        spelling = text.strip() if is_other else _quantity_meant(text, other).strip("`")
        if each == kind and re.search(r"[^\d.\s]", spelling):
            return _KEYS[each, other].format(spelling)
    return ""


_PLAIN = {"time": (2.0, math.inf, "s", "ms"), "size": (0.0, 1e6, "bytes", "GiB")}
"""Plain numbers that no gate means, from and below which, with their unit and the one that was probably meant."""


def _with_unit(number: float, kind: str) -> float:
    """A plain number, in seconds or bytes. Raises ValueError for one that was probably meant in another unit."""
    least, below, unit, usual = _PLAIN.get(kind, (math.inf, -math.inf, "", ""))
    if least <= number < below and number > 0:
        raise ValueError(f"{number:g} without a unit is {number:g} {unit}; write `{number:g} {usual}`, or its own unit")
    return number


def _share(text: object) -> object:
    return quantity(text, "share")


def _ratio(text: object) -> object:
    return quantity(text, "ratio")


def _level(text: object) -> object:
    return quantity(text, "level")


def _size(text: object) -> object:
    return quantity(text, "size")


def _of_metric(text: object, info: ValidationInfo) -> object:
    """A bound in the unit of the gate's metric, which is validated before it."""
    if metric := info.data.get("metric"):
        if metric in ("create", "first") and type(text) is int and text < 1000:
            return float(text)  # whole seconds are usual here
        return quantity(text, _METRIC_KINDS[metric])
    return None  # the metric itself is the mistake, and no unit can be checked without it


def least_samples(confidence: float) -> int:
    """How many samples it takes until their whole range holds the median with that confidence: 1 - 2 / 2^n."""
    return math.ceil(1 - math.log2(1 - confidence))


def _refuse_one_side(side: str, versus: str) -> None:
    if side == versus:
        raise ValueError(f"{side!r} is compared with itself; name another side under versus")


class Waiver(Model):
    """Why a failed gate counts as passed, who decided it, and until when (that day included), a year ahead at most."""

    case: str = Field(description="The case it is for; * and ? match as in file names.")
    reason: str = Field(min_length=8, description="Why, in a sentence.")
    by: str = Field(min_length=1, description="Who decided.")
    until: date = Field(description="The last day it holds; one more than a year ahead is not applied.")

    @field_validator("case", "reason", "by", mode="before")
    @classmethod
    def _strip(cls, text: object) -> object:
        """Blanks say nothing."""
        return text.strip() if isinstance(text, str) else text


class SelfCheck(Model):
    """How quiet the machine must be before a ratio counts: the pairs of the baseline against itself."""

    median: float = Field(
        default=0.01, gt=0, le=1, description="The largest |median ratio - 1|: a share up to 0.5, such as `1%`."
    )
    spread: float = Field(
        default=0.05,
        gt=0,
        le=1,
        description="The largest interquartile range of the ratios over their median: a share up to 0.5, such as `5%`.",
    )

    _quantities = field_validator("median", "spread", mode="before")(_share)

    @field_validator("median", "spread")
    @classmethod
    def _narrow(cls, share: float) -> float:
        if share > 0.5:
            raise ValueError(
                f"{share:g} is {share:.0%}, and no machine is that noisy; write `{share:g}%`, or a share below 0.5"
            )
        return share


class _GateBase(Model):
    name: str = Field(default="", description="What messages call it; its kind when left out.")
    cases: tuple[str, ...] = Field(
        default=("*",), min_length=1, description="Names of cases; * and ? match as in file names."
    )
    side: str = Field(default="candidate", description="The side that is judged: its label or its provider.")
    waivers: tuple[Waiver, ...] = Field(default=(), description="Cases that may fail for a while.")


class _PairedGateBase(_GateBase):
    confidence: float = Field(
        default=0.99,
        ge=0.5,
        lt=1,
        description="Of the bootstrap interval of the median ratio: from `50%` to below `100%`, or as a share such as `0.99`.",
    )
    pairs: tuple[int, ...] = Field(
        default=(20, 40, 60),
        min_length=1,
        description="Pairs to measure, rising; the next while undecided. A confidence of 99% needs 8 or more at first.",
    )

    _quantities = field_validator("confidence", mode="before")(_share)

    @field_validator("pairs")
    @classmethod
    def _rising(cls, pairs: tuple[int, ...]) -> tuple[int, ...]:
        if list(pairs) != sorted(set(pairs)):
            rising = ", ".join(map(str, sorted(set(pairs))))
            raise ValueError(f"pairs must rise, each number above the one before; write `pairs: [{rising}]`")
        return pairs

    @model_validator(mode="after")
    def _two_sides(self) -> Self:
        _refuse_one_side(self.side, str(getattr(self, "versus", "")))
        return self

    @model_validator(mode="after")
    def _enough(self) -> Self:
        """With fewer pairs even the whole range of the ratios holds the median with less than the wanted confidence."""
        least = least_samples(self.confidence)
        if self.pairs[0] < least:
            raise ValueError(
                f"`pairs` begins with {self.pairs[0]}, too few for a {self.confidence:.1%} interval; start at {least} or more"
            )
        return self


class BaselineGate(_PairedGateBase):
    """Not slower than the baseline artifact by more than `delta`."""

    kind: Literal["baseline"]
    versus: str = Field(default="baseline", description="The side it is compared with: its label or its provider.")
    wheel: PathText = Field(
        default="",
        description="The baseline artifact: a wheel's path from where stackbuild runs. `build` refuses a recipe whose gates have"
        " no baseline. `stackbuild gate --baseline` names one for a gate without it.",
    )
    lock: PathText = Field(default="", description="The lock it was built under; default: `WHEEL.lock.yaml` beside it.")
    delta: float | None = Field(
        default=None,
        gt=0,
        lt=1,
        description="Slower by less is not a failure: `5%` or `0.05`; a bare 5 is refused. Default 3% kernels, 5% models.",
    )
    self_check: SelfCheck = Field(default_factory=SelfCheck, description="What the machine must show of itself first.")

    _delta = field_validator("delta", mode="before")(_share)


class SpeedupGate(_PairedGateBase):
    """At least `at_least` times as fast as another side (below 1 allows it to be slower by so much)."""

    kind: Literal["speedup"]
    versus: str = Field(description="The side it is compared with: its label or its provider.")
    at_least: float = Field(gt=0, description="The smallest speed-up: `2` or `2x` is twice as fast, 1 the same speed.")

    _at_least = field_validator("at_least", mode="before")(_ratio)


class LimitGate(_GateBase):
    """An absolute floor or ceiling of one figure."""

    kind: Literal["limit"]
    metric: Metric = Field(
        description="The measure that is held to the limit. `latency`, `create` (of the session) and `first` (inference) are times,"
        " `throughput` is inferences a second, `host_memory` and `device_memory` are sizes."
    )
    at_most: float | None = Field(
        default=None,
        gt=0,
        description="The largest value, with its unit: `12 ms`, `1.5 GiB`. Exactly one of `at_most` and `at_least` is required:"
        " this one for times and sizes.",
    )
    at_least: float | None = Field(
        default=None, gt=0, description="The smallest value; for `throughput`, such as `100 /s` or `100`."
    )
    confidence: float = Field(
        default=0.99, ge=0.5, lt=1, description="Of the interval of the median: from `50%` to below `100%`."
    )

    _quantities = field_validator("at_most", "at_least", mode="before")(_of_metric)
    _confidence = field_validator("confidence", mode="before")(_share)

    @model_validator(mode="after")
    def _one_limit(self) -> Self:
        if (self.at_most is None) == (self.at_least is None):
            raise ValueError(
                "a limit gate has either `at_most` or `at_least`; add one, such as `at_most: 20 ms`"
                if self.at_most is None
                else "`at_most` and `at_least` cannot both be in a limit gate; remove one, or make a second gate of it"
            )
        return self


def growth_meant(growth: float) -> tuple[str, str]:
    """What a plain growth above 1 is, and the next step: from 2 on percents were meant, below it the ratio to what was."""
    percents = growth if growth >= 2 else 100 * (growth - 1)
    return f"{growth:g} is a growth of {growth:.0%}", f"write `grows_at_most: {percents:.3g}%`"


class MemoryGate(_GateBase):
    """Peak memory: an absolute ceiling, or growth over another side, or both."""

    kind: Literal["memory"]
    where: Literal["host", "device"] = Field(default="host", description="Whose memory.")
    at_most: float | None = Field(
        default=None, gt=0, description="The largest peak, such as `1.5 GiB`. It, `grows_at_most` or both are required."
    )
    grows_at_most: float | None = Field(
        default=None,
        ge=0,
        description="The largest growth beside `versus`: `10%` or `0.1`; above 100% with a `%` alone, such as `200%`.",
    )
    versus: str = Field(default="baseline", description="The side it is compared with: its label or its provider.")

    _at_most = field_validator("at_most", mode="before")(_size)

    @field_validator("grows_at_most", mode="before")
    @classmethod
    def _growth(cls, text: object) -> object:
        """A share; a whole number above 1 is refused, since percents were probably meant. `200%` says what it means."""
        growth = _share(text)
        if isinstance(text, int) and isinstance(growth, float | int) and growth > 1:
            raise ValueError("; ".join(growth_meant(growth)))
        return growth

    @model_validator(mode="after")
    def _some_limit(self) -> Self:
        if self.at_most is None and self.grows_at_most is None:
            raise ValueError(
                "a memory gate has `at_most`, `grows_at_most` or both; add one, such as `grows_at_most: 10%`"
            )
        if self.grows_at_most is not None:
            _refuse_one_side(self.side, self.versus)
        return self


class AccuracyGate(_GateBase):
    """How far the output may be from the reference, by the measures of `stackbuild.bench.error_metrics`. Decided before speed.

    Without a bound of its own it asks for the SNR that the case's element type allows (docs/benchmarks.md). A case that no
    accuracy gate judges on the candidate is judged by one without bounds.
    """

    kind: Literal["accuracy"]
    snr_db: float | None = Field(
        default=None,
        gt=0,
        le=400,
        description="The smallest signal-to-noise ratio in dB: `60` or `60 dB`; by element type where no bound is given at all.",
    )
    cosine: float | None = Field(
        default=None, gt=0, le=1, description="The smallest cosine similarity, such as `0.999`."
    )
    max_abs: float | None = Field(default=None, ge=0, allow_inf_nan=False, description="The largest absolute error.")
    max_rel: float | None = Field(default=None, ge=0, allow_inf_nan=False, description="The largest relative error.")
    rms: float | None = Field(
        default=None, ge=0, allow_inf_nan=False, description="The largest root mean square error."
    )

    _quantities = field_validator("snr_db", mode="before")(_level)

    @field_validator("cosine", mode="before")
    @classmethod
    def _not_in_percent(cls, text: object) -> object:
        """Raises ValueError for a cosine in percent, with the number that it is."""
        if isinstance(text, str) and (percents := re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*%\s*", text)):
            raise ValueError(f"{text!r} is a share, and a cosine is a number; write `{float(percents[1]) / 100:.10g}`")
        return text

    @property
    def has_bound(self) -> bool:
        """Whether it names a bound."""
        return any(v is not None for v in (self.snr_db, self.cosine, self.max_abs, self.max_rel, self.rms))


class ShareGate(_GateBase):
    """What the provider must really have run; a result below is not a result of that provider."""

    kind: Literal["share"]
    provider: str = Field(description="The execution provider that is to do the work.")
    nodes: float = Field(
        default=0.9, gt=0, le=1, description="The smallest share of the nodes it runs: `90%` or `0.9`."
    )
    seconds: float = Field(
        default=0.0,
        ge=0,
        le=1,
        description="The smallest share of the time spent in it: `50%` or `0.5`; 0 asks nothing.",
    )

    _quantities = field_validator("nodes", "seconds", mode="before")(_share)


Gate = Annotated[
    BaselineGate | SpeedupGate | LimitGate | MemoryGate | AccuracyGate | ShareGate, Field(discriminator="kind")
]
PairedGate = BaselineGate | SpeedupGate


def needs_baseline(gate: Gate) -> bool:
    """Whether a gate cannot be judged before somebody says which artifact is the baseline."""
    if isinstance(gate, BaselineGate):
        return not gate.wheel
    if isinstance(gate, MemoryGate) and gate.grows_at_most is None:
        return False
    return "baseline" in (gate.side, getattr(gate, "versus", ""))


class Gates(Model):
    """A file of gates: what `stackbuild gate --gates FILE` reads. A recipe embeds `tuple[Gate, ...]` itself."""

    gates: tuple[Gate, ...] = ()
