"""A cold cache's times, the limit that binds float32 products, and the summary of kernels/gpu-check --sweep, with stand-ins for torch."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest

from support.kernel_tools import kernels_on_path

np = pytest.importorskip("numpy")


@pytest.fixture(autouse=True)
def on_path() -> Iterator[None]:
    with kernels_on_path():
        yield


class Clock:
    """A device's time in milliseconds: each launch adds what it costs, at once or whenever the graph that has it is replayed."""

    now = 0.0
    capturing: ClassVar[list[list[float]]] = []

    @classmethod
    def launch(cls, cost: float) -> None:
        if cls.capturing:
            cls.capturing[-1].append(cost)
        else:
            cls.now += cost


class Event:
    def __init__(self, **_: object) -> None:
        self.at = 0.0

    def record(self) -> None:
        self.at = Clock.now

    def synchronize(self) -> None:
        pass

    def elapsed_time(self, other: Event) -> float:
        return other.at - self.at


class Graph:
    def __init__(self) -> None:
        self.costs: list[float] = []

    def replay(self) -> None:
        Clock.now += sum(self.costs)


class Capture:
    def __init__(self, graph: Graph, **_: object) -> None:
        self.graph = graph

    def __enter__(self) -> None:
        Clock.capturing.append(self.graph.costs)

    def __exit__(self, *_: object) -> None:
        Clock.capturing.pop()


READ = 0.03


def torch() -> Any:
    cuda = SimpleNamespace(Stream=object, stream=lambda _: nullcontext(), Event=Event, CUDAGraph=Graph, graph=Capture, synchronize=lambda: None)
    return SimpleNamespace(cuda=cuda, ones=lambda *_, **__: None, empty=lambda *_, **__: None, sum=lambda *_, **__: Clock.launch(READ))


def test_what_empties_the_cache_is_not_counted() -> None:
    from tools import timing

    times = timing.ColdCache(torch()).measure({"short": lambda: Clock.launch(0.002), "long": lambda: Clock.launch(7.0)}, 3)
    assert times["short"] == pytest.approx([0.002] * 3)
    assert times["long"] == pytest.approx([7.0] * 3)


def test_the_cache_is_emptied_before_each_launch() -> None:
    from tools import timing

    order: list[str] = []
    module = torch()
    module.sum = lambda *_, **__: order.append("read")
    timing.ColdCache(module).measure({"ours": lambda: order.append("ours")}, 1)
    launches = [i for i, name in enumerate(order) if name == "ours"]
    assert len(launches) > 10
    assert all(order[i - 1] == "read" for i in launches)


def rate_of(dtype: str, matrix_units: bool, limits: dict[str, float]) -> str:
    from tools import report, timing

    row = timing.TimingRow("Conv", "a shape", dtype, 1e6, 2e9, {"ours": [0.02]}, matrix_units=matrix_units)  # 100 TFLOP/s
    return report.rate(row, limits)


def test_float32_products_are_held_to_a_third_of_tf32() -> None:
    limits = {"copy": 4e12, "float32": 50e12, "float16": 800e12, "tf32": 400e12}
    assert rate_of("float32", True, limits) == "100.0 TF/s, 200% of GEMM, 75% of TF32 / 3"
    assert rate_of("float32", False, limits) == "100.0 TF/s, 200% of GEMM"  # depthwise: multiply-add
    assert "TF32" not in rate_of("float16", True, limits)
    assert "TF32" not in rate_of("float32", True, {key: value for key, value in limits.items() if key != "tf32"})  # AMD


def row(shape: str, hot: float, cold: float) -> dict[str, Any]:
    """Ours takes 1 ms; PyTorch's best is so many times that."""
    return {"model": "random", "shape": shape, "ms": {"ours": 1.0, "torch a": hot, "torch b": 99.0}, "ms cold": {"ours": 1.0, "torch a": cold, "torch b": 99.0}}


def test_the_ten_slowest_are_named_for_each_cache() -> None:
    from tools import sweep

    rows = [row(f"Attention {i} float16", 1.0 + i / 100, 2.0 - i / 100) for i in range(20)]
    text = sweep.summary(rows)
    assert "Attention float16, hot: 20 timings; times PyTorch's best: least 1.00" in text
    assert "Attention float16, cold: 20 timings; times PyTorch's best: least 1.81" in text
    hot, cold = (part.splitlines() for part in text.split("the slowest, hot:")[1].split("the slowest, cold:"))
    assert len([line for line in hot if "Attention" in line]) == len([line for line in cold if "Attention" in line]) == 10
    assert "Attention 0 float16" in hot[1] and "Attention 19 float16" in cold[1]


def test_random_shapes_are_those_of_their_seed() -> None:
    from tools import sweep

    first, again, other = (sweep.random_shapes(np.random.default_rng(seed), 200) for seed in (1, 1, 2))
    assert first == again != other
    assert len({*sweep.attention_shapes(), *sweep.conv_shapes(), *first}) >= 300
