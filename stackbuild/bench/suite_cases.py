"""One case of a suite: an architecture at one dtype, form and size, as a result's case and as the worker's job."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise, product
from pathlib import Path

from stackbuild.bench.experiment import Work
from stackbuild.bench.model_cache import ModelFile
from stackbuild.bench.nets import NETS, Net
from stackbuild.core.digest import Json
from stackbuild.core.errors import UsageError
from stackbuild.model.results import Case
from stackbuild.model.suite import ModelCases
from stackbuild.tables.near_words import one_of


@dataclass(frozen=True)
class SuiteCase:
    """`sizes` has every symbolic dimension of the net, the batch too."""

    net: Net
    dtype: str
    optimised: bool
    sizes: dict[str, int]

    @property
    def name(self) -> str:
        """Such as `bert-base/b8/s128/float16/optimised`."""
        sizes = [f"{dimension[0]}{size}" for dimension, size in self.sizes.items()]
        return "/".join([self.net.name, *sizes, self.dtype] + ["optimised"] * self.optimised)

    def case(self, file: ModelFile) -> Case:
        batch, shapes = self.sizes["batch"], self.net.shapes(self.sizes)
        return Case(
            self.name, self.net.name, self.dtype, shapes, batch, batch, self.net.unit, file.opset, file.sha256, ()
        )

    def work(self, file: Path, dtype: str, devices: Sequence[dict[str, str]] = ({},)) -> Work:
        """The worker's job: the batch split over the devices (by their provider options), sizes fixed where one has all."""
        ends = list(accumulate(split(self.sizes["batch"], len(devices)), initial=0))
        inputs = self._inputs(dtype)
        parts: list[Json] = [
            {"inputs": inputs, "rows": list(rows), "device": dict(device)}
            for rows, device in zip(pairwise(ends), devices, strict=True)
        ]
        loop: Json = {"steps": self.net.steps, "feed": dict(self.net.feed)} if self.net.feed else None
        fixed_sizes = {"batch"} if self.net.feed else set(self.sizes)  # a cache that grows has no fixed length
        fixed_sizes -= {"batch"} if len(devices) > 1 else set()
        dims: dict[str, Json] = {name: self.sizes[name] for name in sorted(fixed_sizes)}
        return {"name": self.name, "model": str(file), "parts": parts, "loop": loop, "dims": dims}

    def _inputs(self, dtype: str) -> dict[str, Json]:
        shapes = self.net.shapes(self.sizes)
        return {
            name: {"shape": list(shapes[name]), "dtype": i.dtype or dtype, "fill": i.fill, "high": i.high}
            for name, i in self.net.inputs.items()
        }


def suite_cases(cases: ModelCases) -> list[SuiteCase]:
    """Every combination that the cases stand for. Raises UsageError for an unknown model or size."""
    if cases.model not in NETS:
        raise UsageError(
            f"no model {cases.model!r}",
            next=one_of(cases.model, tuple(NETS), "an .onnx file by --model FILE --shape …"),
        )
    net = NETS[cases.model]
    if unknown_sizes := sorted(set(cases.sizes) - set(net.sizes)):
        raise UsageError(f"{net.name} has no size {unknown_sizes[0]!r}", next=f"it has {', '.join(net.sizes)}")
    return [SuiteCase(net, dtype, optimised, net.sizes | sizes) for dtype, optimised, sizes in case_axes(cases)]


def split(batch: int, devices: int) -> list[int]:
    """The batch in nearly equal parts. Raises UsageError where a device would get none."""
    if batch < devices:
        raise UsageError(f"a batch of {batch} cannot be split over {devices} devices", next="use a larger batch")
    return [batch // devices + (n < batch % devices) for n in range(devices)]


def case_axes(cases: ModelCases) -> list[tuple[str, bool, dict[str, int]]]:
    """Each (dtype, optimised, sizes) of these cases, sizes with the batch."""
    axes = {"batch": cases.batch, **cases.sizes}
    sizes = [dict(zip(axes, row, strict=True)) for row in product(*axes.values())]
    return [(d, o, s) for s in sizes for d, o in product(cases.dtype, cases.optimised)]
