"""What kernels/gpu-check makes of timed answers and of two streams, with stand-ins for torch and for a device."""

from __future__ import annotations

import argparse
import ctypes
import functools
import sys
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, ClassVar

import pytest

from support.kernel_tools import KERNELS, kernels_on_path

np = pytest.importorskip("numpy")


@pytest.fixture(autouse=True)
def on_path() -> Iterator[None]:
    with kernels_on_path():
        yield


class Tensor:
    """As much of torch's as the measurements ask for, on an array."""

    def __init__(self, array: Any) -> None:
        self.array = array

    def double(self) -> Tensor:
        return Tensor(self.array.astype(np.float64))

    def sub_(self, other: Tensor) -> Tensor:
        self.array -= other.array
        return self

    def norm(self, kind: float = 2) -> float:
        return float(np.linalg.norm(self.array.ravel(), kind))

    def fill_(self, value: float) -> None:
        self.array[:] = value


class Nothing:
    """Streams, events and graphs: what is launched runs at once, in no time."""

    def __init__(self, *_: object, **__: object) -> None:
        pass

    def __enter__(self) -> Nothing:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def elapsed_time(self, other: Nothing) -> float:
        return 1.0

    def record(self) -> None:
        pass

    synchronize = replay = record


class Graph(Nothing):
    """A graph that repeats what was launched through `recorded` while it was captured."""

    captured: ClassVar[list[Graph]] = []

    def __init__(self, *_: object, **__: object) -> None:
        self.launches: list[Callable[[], None]] = []

    def replay(self) -> None:
        for launch in self.launches:
            launch()


class Capture(Nothing):
    def __init__(self, graph: Graph, **_: object) -> None:
        self.graph = graph

    def __enter__(self) -> Nothing:
        Graph.captured.append(self.graph)
        return self

    def __exit__(self, *_: object) -> None:
        Graph.captured.pop()


def recorded(launch: Callable[[], None]) -> Callable[[], None]:
    """A launch that runs at once, and that graphs being captured repeat."""

    def call() -> None:
        for graph in Graph.captured:
            graph.launches.append(launch)
        launch()

    return call


@pytest.fixture
def torch(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    module: Any = ModuleType("torch")
    module.__version__, module.float32, module.float16 = "stand-in", "torch.float32", "torch.float16"
    idle = dict.fromkeys(("Stream", "stream", "Event"), Nothing)
    module.isnan = lambda tensor: np.isnan(tensor.array)
    module.cuda = SimpleNamespace(**idle, CUDAGraph=Graph, graph=Capture, synchronize=lambda: None, empty_cache=lambda: None, is_available=lambda: True)
    module.backends = SimpleNamespace(
        cuda=SimpleNamespace(matmul=SimpleNamespace()), cudnn=SimpleNamespace(version=lambda: 0)
    )
    monkeypatch.setitem(sys.modules, "torch", module)
    return module


WANTED = np.linspace(1.0, 2.0, 1000)
Launch = Callable[[Any], None]


def right(output: Any) -> None:
    output[:] = WANTED


def last_off(by: float) -> Launch:
    """One answer of a thousand is off."""

    def launch(output: Any) -> None:
        right(output)
        output[-1] += by

    return launch


def half_written(output: Any) -> None:
    output[:500] = WANTED[:500]


def measured(
    torch: ModuleType, monkeypatch: pytest.MonkeyPatch, ours: Launch, naive: Launch, theirs: Launch = right
) -> list[str]:
    """What the stage "time" finds wrong with one shape."""
    from tools import shapes, stage, timing

    def make(dtype: str, launcher: object) -> timing.TimedProblem:
        output = np.zeros(1000, dtype.removeprefix("torch."))

        def library() -> Tensor:
            answer = np.zeros(1000, np.float32)
            theirs(answer)
            return Tensor(answer)

        launches = (recorded(lambda: ours(output)), library, recorded(lambda: naive(output)))
        return timing.TimedProblem(*launches, Tensor(output), lambda: Tensor(WANTED), 1.0, 1.0, [])

    monkeypatch.setattr(shapes, "SHAPES", [timing.TimedShape("LeakyRelu", "a shape", make)])
    monkeypatch.setattr(shapes, "HALF_ONLY", [])
    monkeypatch.setattr(timing, "ceilings", lambda torch: {"copy": 1e12, "float32": 1e12, "float16": 1e12})
    monkeypatch.setattr(timing, "Launcher", lambda torch, device, naive, try_all: SimpleNamespace(naive_library=naive))
    result: dict[str, Any] = {"wrong": []}
    args = argparse.Namespace(library=Path("none.so"), try_all=False, json=None)
    stage.time_shapes(SimpleNamespace(), args, result)  # type: ignore[arg-type]
    assert len(result["timing"]["rows"]) == 2
    return list(result["wrong"])


def test_right_answers_at_timed_shapes(torch: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    assert measured(torch, monkeypatch, right, right) == []


def test_only_pytorchs_own_error_is_not_asked(torch: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    assert measured(torch, monkeypatch, right, right, theirs=last_off(9.0)) == []


@pytest.mark.parametrize("wrong", [last_off(0.1), half_written, lambda output: None], ids=["off", "half", "none"])
def test_a_wrong_answer_at_a_timed_shape_is_wrong(
    torch: ModuleType, monkeypatch: pytest.MonkeyPatch, wrong: Launch
) -> None:
    for ours, naive, name in ((wrong, right, "ours"), (right, wrong, "naive")):
        told = measured(torch, monkeypatch, ours, naive)
        assert len(told) == 2  # each type
        assert all(line.startswith("LeakyRelu a shape") and f"{name} has relative error" in line for line in told)


@pytest.mark.parametrize("launches", [5, 40])
def test_a_kernel_that_stops_computing_while_it_is_timed_is_wrong(
    torch: ModuleType, monkeypatch: pytest.MonkeyPatch, launches: int
) -> None:
    """Right for a few launches, and then nothing: what it left is right, and no answer of the last replay."""
    done: list[int] = []

    def stops(output: Any) -> None:
        done.append(0)
        if len(done) < launches:
            right(output)

    told = measured(torch, monkeypatch, stops, right)
    assert len(done) > 100 and told and all("ours has relative error nan" in line for line in told)


def made_of(torch: ModuleType, monkeypatch: pytest.MonkeyPatch, flops: float) -> list[list[int]]:
    """Which tensors each launch of a shape of 300 bytes had, with 1000 bytes to take turns in: ours', then PyTorch's."""
    from tools import timing

    monkeypatch.setattr(timing, "ROTATION", 1000)
    monkeypatch.setattr(timing, "error_of", lambda *_: timing.Error(0.0, 0.0))
    monkeypatch.setattr(timing, "SAMPLES", 2)
    taken: list[list[int]] = [[], []]
    made = iter(range(100))

    def make(dtype: str, launcher: object) -> timing.TimedProblem:
        number = next(made)
        ours, library = (functools.partial(of.append, number) for of in taken)
        return timing.TimedProblem(ours, library, None, Tensor(np.zeros(1)), lambda: None, 300.0, flops, [])

    timing.run(torch, timing.TimedShape("LeakyRelu", "a shape", make), "torch.float32", None)  # type: ignore[arg-type]
    return [of[1:] for of in taken]  # the first is for the answer


def test_what_is_held_to_a_copy_takes_other_tensors_with_each_launch(
    torch: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A device's cache would otherwise give back what the launch before wrote."""
    for launched in made_of(torch, monkeypatch, 0.0):
        assert len(launched) > 4
        assert launched == [number % 4 for number in range(len(launched))]


def test_what_multiplies_takes_the_same_tensors(torch: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    for launched in made_of(torch, monkeypatch, 1.0):
        assert set(launched) == {0}


class Device:
    """LeakyRelu on the host's memory. A stream's work is done when it is waited for."""

    def __init__(self, library: SimpleNamespace) -> None:
        self.library = library
        self.guard = 512
        self._kept: dict[int, Any] = {}
        self._queued: list[Any] = []
        self._streams = 0

    def call(self, function: str, *arguments: Any) -> None:
        if function == "malloc":
            memory = ctypes.create_string_buffer(arguments[1].value)
            self._kept[ctypes.addressof(memory)] = memory
            arguments[0]._obj.value = ctypes.addressof(memory)
        elif function == "fill":
            ctypes.memset(arguments[0].value, arguments[1], arguments[2].value)
        else:
            ctypes.memmove(arguments[0].value, arguments[1].value, arguments[2].value)

    def stream(self) -> int:
        self._streams += 1
        return self._streams

    def workspace_bytes(self, params: Any) -> int:
        return 0

    def launch(self, params: Any, stream: int, workspace: int, bytes_: int) -> None:
        self._queued.append(type(params).from_buffer_copy(params))

    def synchronize(self, stream: int = 0) -> None:
        for params in self._queued:
            self.run(params, self._queued)
        self._queued = []

    def run(self, params: Any, queued: list[Any]) -> None:
        kind = {1: np.float32, 10: np.float16}[params.dtype]
        x, y = (
            np.frombuffer((ctypes.c_char * (params.count * np.dtype(kind).itemsize)).from_address(at), kind)
            for at in (params.x, params.y)
        )
        with np.errstate(over="ignore", invalid="ignore"):
            y[:] = np.where(x < 0, (np.float64(params.alpha) * x.astype(np.float64)).astype(kind), x)


class Sharing(Device):
    """Where two streams are busy, a launch in the middle reads the inputs of another."""

    def run(self, params: Any, queued: list[Any]) -> None:
        if len(queued) > 2 and params is queued[len(queued) // 2]:
            params.x = queued[len(queued) // 2 - 1].x
        super().run(params, queued)


def pairs(device: Device) -> tuple[int, list[str]]:
    from tools import correctness, streams

    return streams.check(device, correctness.Selection(0, (0, 20), ("LeakyRelu",)))  # type: ignore[arg-type]


def test_two_streams_that_keep_apart() -> None:
    count, wrong = pairs(Device(SimpleNamespace(sbk_gpu_free=lambda *_: None)))
    assert count > 2
    assert wrong == []


def test_two_streams_that_share_something_for_one_launch() -> None:
    count, wrong = pairs(Sharing(SimpleNamespace(sbk_gpu_free=lambda *_: None)))
    assert count > 2
    assert len(wrong) >= count - 1  # one value alone is the same on both
    assert all("another answer than on one stream: round" in line for line in wrong)


def test_every_second_case_is_channels_last_in_a_sample_too() -> None:
    from tools import correctness, selection

    for seed in range(2):
        layouts = {last for case, last in correctness.cases(seed, selection.sample(seed), ("BatchNormalization",))}
        assert layouts == {False, True}


def test_another_seed_samples_other_cases() -> None:
    from tools import sanitizer, selection

    assert len({selection.sample(seed) for seed in range(selection.SAMPLE)}) == selection.SAMPLE
    assert set(sanitizer.parts(0, False)).isdisjoint(sanitizer.parts(1, False))


@pytest.mark.parametrize(("version", "says"), [("1.30.0", "onnxruntime 1.30 is older than 1.31"), ("1.31.1", "")])
def test_an_onnxruntime_that_cannot_register_a_provider_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str, says: str
) -> None:
    """Told without importing it; under whatever name its distribution goes."""
    from tools import provider

    for module in ("onnxruntime", "onnx"):
        (tmp_path / module).mkdir()
        (tmp_path / module / "__init__.py").touch()
    told = tmp_path / "onnxruntime_for_tests-1.dist-info"
    told.mkdir()
    (told / "METADATA").write_text(f"Metadata-Version: 2.1\nName: onnxruntime-for-tests\nVersion: {version}\n")
    (told / "top_level.txt").write_text("onnxruntime\n")
    monkeypatch.setattr(sys, "path", [str(tmp_path), str(KERNELS)])
    (tmp_path / "ep").mkdir()
    assert "is not there" in provider.missing_for(tmp_path / "it.so")
    (tmp_path / "ep" / "libonnxruntime_ep_rockernels.so").touch()
    assert provider.missing_for(tmp_path / "it.so") == says


def test_a_package_that_is_missing_is_named() -> None:
    from tools import provider

    modules = {"json": find_spec("json"), "no_such_module": find_spec("no_such_module")}
    assert provider.missing_modules(**modules) == "no_such_module is not installed"
    assert provider.missing_modules(no_such=None, nor_this=None) == "no_such, nor_this are not installed"
    assert provider.missing_modules(json=find_spec("json")) == ""
