"""What a suite needs to know of an architecture."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from stackbuild.bench.nets.graph import Graph

Size = dict[str, int]


@dataclass(frozen=True)
class Input:
    """One input: its symbolic shape, its dtype ("" is the model's) and how the worker fills it."""

    shape: tuple[int | str, ...]
    dtype: str = ""
    fill: str = "normal"
    high: int = 1000


@dataclass(frozen=True)
class Net:
    """One architecture. `write` fills a graph; `sizes` are its symbolic dimensions' defaults, batch first.

    `items` names what one inference yields per batch entry. `optimiser` is (type, heads, hidden) for ONNX Runtime's
    transformer optimiser, where it applies. `feed` maps outputs to the inputs of the next step, `steps` per run.
    """

    name: str
    about: str
    write: Callable[[Graph], None]
    inputs: dict[str, Input]
    sizes: Size
    unit: str
    optimiser: tuple[str, int, int] | None = None
    feed: dict[str, str] = field(default_factory=dict)
    steps: int = 1
    version: int = 1

    def shapes(self, sizes: Size) -> dict[str, tuple[int, ...]]:
        """Each input's shape with every symbol replaced."""
        all_sizes = self.sizes | sizes
        return {n: tuple(all_sizes[d] if isinstance(d, str) else d for d in i.shape) for n, i in self.inputs.items()}
