"""Times the operators beside PyTorch and beside the naive baselines, in one run, interleaved.

Every contender is captured in a graph of enough launches for a millisecond, which leaves host overhead out for all alike.
A sample is the time of one replay, divided by its launches. Rows have the median and the middle half of the samples.
An operator of little arithmetic is compared with the bandwidth of a copy. Each of its launches takes other tensors, ROTATED
bytes of them in all: launches over the same tensors would read a part from the device's cache.
"""

from __future__ import annotations

import ctypes as c
import functools
import itertools
import math
import statistics
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from tools import device as d
from tools.case import RELATIVE_ERROR, WORST_ERROR

SAMPLES = 25
GRAPH_MS = 1.0
ROTATION = 2**30  # bytes of tensors; an H200 has a cache of 60 MB
SWEEP = 128 * 2**20  # bytes that are read to leave nothing else in that cache


@dataclass(frozen=True)
class Error:
    """‖got - expected‖ / ‖expected‖, and the largest single difference over max|expected|. NaN where something is NaN."""

    relative: float
    worst: float


@dataclass
class TimingRow:
    """One shape's result. Times in milliseconds: name → samples."""

    op: str
    shape: str
    dtype: str
    bytes: float  # least traffic: each input read once, each output written once
    flops: float
    samples: dict[str, list[float]] = field(default_factory=dict)
    error: dict[str, Error] = field(default_factory=dict)
    matrix_units: bool = False  # whether its products are made by them

    def wrong(self) -> str:
        """Whose answer is wrong and by how much; "" where all are right. PyTorch's is not asked."""
        return out_of_tolerance({name: error for name, error in self.error.items() if name != "torch"}, self.dtype)

    def median(self, name: str) -> float:
        return statistics.median(self.samples[name])


@dataclass
class TimedShape:
    op: str
    text: str
    make: Callable[[Any, Any], TimedProblem]


@dataclass
class TimedProblem:
    """Closures that launch once on PyTorch's current stream, and what they cost at least."""

    ours: Callable[[], None]
    torch: Callable[[], Any]
    naive: Callable[[], None] | None
    output: Any
    reference: Callable[[], Any]
    bytes: float
    flops: float
    keep: list[Any]
    # What else was timed: name → launch.
    more: dict[str, Callable[[], Any]] = field(default_factory=dict)
    matrix_units: bool = False  # whether our products are made by them


class Launcher:
    """Calls the launchers with torch tensors' memory on torch's current stream."""

    def __init__(self, torch: Any, device: d.GpuDevice, naive: Path | None, try_all: bool) -> None:
        self.torch, self.device, self.try_all = torch, device, try_all
        self.naive_library = c.CDLL(str(naive)) if naive else None
        if self.naive_library:
            self.naive_library.sbk_naive_attention_workspace.restype = c.c_size_t

    def ours(self, params: d.Params, keep: list[Any]) -> Callable[[], None]:
        bytes_ = self.device.workspace_bytes(params)
        workspace = self.torch.empty(max(bytes_, 1), dtype=self.torch.uint8, device="cuda")
        keep.append(workspace)
        return lambda: self.device.launch(params, self.torch.cuda.current_stream().cuda_stream, workspace.data_ptr(), bytes_)

    def naive(self, params: d.Params, keep: list[Any]) -> Callable[[], None] | None:
        if self.naive_library is None:
            return None
        bytes_ = int(self.naive_library.sbk_naive_attention_workspace(c.byref(params))) if isinstance(params, d.Attention) else 0
        workspace = self.torch.empty(max(bytes_, 1), dtype=self.torch.uint8, device="cuda")
        keep.append(workspace)
        function = getattr(self.naive_library, f"sbk_naive_{d.NAMES[type(params)]}")

        def launch() -> None:
            what = c.c_char_p()
            arguments = d.LaunchStruct(self.torch.cuda.current_stream().cuda_stream, workspace.data_ptr(), bytes_)
            if function(c.byref(params), c.byref(arguments), c.byref(what)):
                raise d.DeviceError(f"naive: {(what.value or b'').decode()}")

        return launch


def capture(torch: Any, launch: Callable[[], Any]) -> tuple[Any, int]:
    """A graph of launches that takes about GRAPH_MS, and how many they are."""
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(3):
            launch()
        start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        for _ in range(3):
            launch()
        stop.record()
        stop.synchronize()
        count = max(1, min(100, int(GRAPH_MS / max(start.elapsed_time(stop) / 3, 1e-3))))
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        for _ in range(count):
            launch()
    graph.replay()
    torch.cuda.synchronize()
    return graph, count


class ColdCache:
    """Times launches that find none of their tensors in the device's cache.

    Before each, SWEEP bytes of another tensor are read, in the same graph; a graph of nothing but such reads is subtracted.
    """

    def __init__(self, torch: Any) -> None:
        self.torch = torch
        values = torch.ones(SWEEP // 4, device="cuda")
        total = torch.empty((), device="cuda")
        self.sweep: Callable[[], Any] = lambda: torch.sum(values, 0, out=total)

    def measure(self, launches: dict[str, Callable[[], Any]], samples: int) -> dict[str, list[float]]:
        """Milliseconds per launch; each contender's sample has one of the reads alone before it."""
        captures = {}
        for name, launch in launches.items():
            graph, count = capture(self.torch, self._after_sweep(launch))
            captures[name] = graph, self._repeat(self.sweep, count), count
        times: dict[str, list[float]] = {name: [] for name in launches}
        for _ in range(samples):
            for name, (graph, reads, count) in captures.items():
                times[name].append(max(replay_ms(self.torch, graph) - replay_ms(self.torch, reads), 0.0) / count)
        return times

    def _after_sweep(self, launch: Callable[[], Any]) -> Callable[[], Any]:
        def both() -> None:
            self.sweep()
            launch()

        return both

    def _repeat(self, launch: Callable[[], Any], count: int) -> Any:
        """A graph of `count` launches."""
        stream, graph = self.torch.cuda.Stream(), self.torch.cuda.CUDAGraph()
        with self.torch.cuda.graph(graph, stream=stream):
            for _ in range(count):
                launch()
        return graph


class LastOutputs:
    """The outputs of the last replay of each contender, which hold NaN before: what an earlier one left is not an answer.

    `problems` are those that a contender's launches go over in turn; `error` has a contender's error by its name.
    """

    def __init__(self, torch: Any, problems: list[TimedProblem], names: list[str], want: Any = None) -> None:
        self.torch, self.problems, self.names = torch, problems, names
        self.error: dict[str, Error] = {}
        self._want = {} if want is None else {0: want}

    def clear(self, name: str) -> None:
        """Before the last replay of a contender."""
        if name in self.names:
            for problem in self.problems:
                problem.output.fill_(math.nan)
            self.torch.cuda.synchronize()

    def compare(self, name: str, launches: int) -> None:
        """After it. A graph of `launches` writes as many outputs, or all; one of them is compared."""
        if name not in self.names:
            return
        places = [i for i, problem in enumerate(self.problems) if not bool(self.torch.isnan(problem.output).all())]
        if len(places) < min(launches, len(self.problems)):
            self.error[name] = Error(math.nan, math.nan)
            return
        first = next((i for i in places if i in self._want), places[0])
        if first not in self._want:
            self._want[first] = self.problems[first].reference()
        self.error[name] = error_of(self.torch, self.problems[first].output, self._want[first])


def replay_ms(torch: Any, graph: Any) -> float:
    """Milliseconds that one replay takes."""
    start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    graph.replay()
    stop.record()
    stop.synchronize()
    return float(start.elapsed_time(stop))


def measure(
    torch: Any, launches: dict[str, Callable[[], Any]], samples: int = SAMPLES, last: LastOutputs | None = None
) -> dict[str, list[float]]:
    """Milliseconds per launch; one sample of each contender in turn. `last` looks at the outputs of the last sample."""
    graphs = {name: capture(torch, launch) for name, launch in launches.items()}
    times: dict[str, list[float]] = {name: [] for name in launches}
    for number in range(samples):
        watch = last if number == samples - 1 else None
        for name, (graph, count) in graphs.items():
            if watch:
                watch.clear(name)
            times[name].append(replay_ms(torch, graph) / count)
            if watch:
                watch.compare(name, count)
    return times


def error_of(torch: Any, actual: Any, want: Any) -> Error:
    """`want` is float64 and finite; at least one value of it is not 0."""
    off = actual.double().sub_(want)  # the largest shapes take 1.6 GB each time
    return Error(float(off.norm() / want.norm()), float(off.norm(math.inf) / want.norm(math.inf)))


def errors(torch: Any, problem: TimedProblem, launches: dict[str, Callable[[], Any]], want: Any = None) -> dict[str, Error]:
    """Of each launch that writes the problem's output, which holds NaN before."""
    want = problem.reference() if want is None else want
    by_name = {}
    for name, launch in launches.items():
        problem.output.fill_(float("nan"))
        launch()
        torch.cuda.synchronize()
        by_name[name] = error_of(torch, problem.output, want)
    return by_name


def out_of_tolerance(errors_by_name: dict[str, Error], dtype: str) -> str:
    """Which errors are not within what tools/case.py takes for right, in words; "" where all are. NaN is not within."""
    kind = np.dtype(dtype)
    return ", ".join(
        f"{name} has relative error {error.relative:.2e} (limit {RELATIVE_ERROR[kind]:.0e}), worst {error.worst:.2e} (limit {WORST_ERROR[kind]:.0e})"
        for name, error in errors_by_name.items()
        if not (error.relative <= RELATIVE_ERROR[kind] and error.worst <= WORST_ERROR[kind])
    )


def run(torch: Any, shape: TimedShape, dtype: Any, launcher: Launcher) -> TimingRow:
    problem = shape.make(dtype, launcher)
    row = TimingRow(shape.op, shape.text, str(dtype).removeprefix("torch."), problem.bytes, problem.flops, matrix_units=problem.matrix_units)
    want = problem.reference()  # 1.6 GB at the largest shape
    row.error = errors(torch, problem, contenders(problem), want)
    row.error["torch"] = error_of(torch, problem.torch(), want)
    others = [shape.make(dtype, launcher) for _ in range(sets(problem) - 1)]
    launches = [contenders(each) | {"torch": each.torch} for each in (problem, *others)]
    last = LastOutputs(torch, [problem, *others], list(contenders(problem)), want)
    times = {name: round_robin([each[name] for each in launches]) for name in launches[0]}
    row.samples = measure(torch, times, last=last)
    row.error |= {name: error for name, error in last.error.items() if not error.relative <= row.error[name].relative}
    return row


def contenders(problem: TimedProblem) -> dict[str, Callable[[], Any]]:
    """Those that write the problem's output."""
    naive = {} if problem.naive is None else {"naive": problem.naive}
    return {"ours": problem.ours, **problem.more, **naive}


def sets(problem: TimedProblem) -> int:
    """How many of a problem's tensors are ROTATED bytes together; 1 where arithmetic counts."""
    return 1 if problem.flops else math.ceil(ROTATION / problem.bytes)


def round_robin(launches: list[Callable[[], Any]]) -> Callable[[], Any]:
    """Launches the first, at the next call the second, and so on, round and round."""
    following = itertools.cycle(launches)
    return lambda: next(following)()


def ceilings(torch: Any) -> dict[str, float]:
    """Copy bandwidth in bytes/s (read + written), matrix products of 8192³ in FLOP/s. On NVIDIA "tf32" is of float32 values that are cut to TF32."""
    def seconds(launch: Callable[[], Any]) -> float:
        return statistics.median(measure(torch, {"it": launch}, 9)["it"]) * 1e-3

    a = torch.randn(1 << 29, device="cuda")
    b = torch.empty_like(a)
    # A kernel that copies; a copy command in a graph may go to the slower copy engine.
    by_name = {"copy": _bytes(a, b) / seconds(lambda: torch.mul(a, 1.0, out=b))}
    cut = {} if torch.version.cuda is None else {"tf32": torch.float32}
    for name, dtype in ({"float32": torch.float32, "float16": torch.float16} | cut).items():
        x, y, z = (torch.randn(8192, 8192, device="cuda", dtype=dtype) for _ in range(3))
        product = functools.partial(torch.mm, x, y, out=z)
        torch.backends.cuda.matmul.allow_tf32 = name == "tf32"
        by_name[name] = 2 * 8192**3 / seconds(product)
    torch.backends.cuda.matmul.allow_tf32 = False
    return by_name


def _bytes(*tensors: Any) -> float:
    return float(sum(t.numel() * t.element_size() for t in tensors))


def numpy_dtype(torch: Any, dtype: Any) -> int:
    return d.FLOAT32 if dtype == torch.float32 else d.FLOAT16
