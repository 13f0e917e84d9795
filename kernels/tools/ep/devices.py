"""Several devices in one process: sessions on each by turns and at once, replayed graphs, tensors that cross over.

Devices of one kind run the same kernels on the same numbers, so every answer must be the first device's, bit for bit.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator

import numpy as np
import onnxruntime as ort

from tools.ep import bench, models
from tools.ep.session import open_session

Answers = dict[str, np.ndarray]
# The name, element type and sizes of each model: convolutions by the copy engine, attention, products by BLAS.
MODELS = (
    ("resnet50", "float32", {"batch": 2}),
    ("resnet50", "float16", {"batch": 2}),
    ("bert-base", "float32", {"batch": 2, "sequence": 64}),
    ("bert-base", "float16", {"batch": 2, "sequence": 64}),
)
ROUNDS = 5


def run(devices: list[ort.OrtEpDevice]) -> list[tuple[str, str]]:
    """What was tried on two or more devices, each with what is wrong about it ("" where nothing is)."""
    results = []
    for name, dtype, sizes in MODELS:
        feeds = models.feeds(name, dtype, **sizes)
        sessions = [open_session(models.model(name, dtype), device) for device in devices]
        reference = answers(sessions[0], feeds)
        for how, outcomes in (("by turns", sequential_runs(sessions, feeds)), ("at once", concurrent_runs(sessions, feeds))):
            results.append((f"{name} {dtype} {how}", first_difference(outcomes, reference)))
        results.append((f"{name} {dtype} replayed", first_difference(graph_replays(devices, name, dtype, sizes), reference)))
        results.append((f"{name} {dtype} with tensors of another device", first_difference(foreign_inputs(sessions, devices, feeds), reference)))
        del sessions
        gc.collect()
    results.append(("memory of a session is its device's", memory(devices)))
    return results


def answers(session: ort.InferenceSession, feeds: Answers) -> Answers:
    """The outputs by name."""
    return dict(zip([o.name for o in session.get_outputs()], session.run(None, feeds), strict=True))


def sequential_runs(sessions: list[ort.InferenceSession], feeds: Answers) -> Iterator[tuple[int, Answers]]:
    """One thread, device after device."""
    for _ in range(ROUNDS):
        for number, session in enumerate(sessions):
            yield number, answers(session, feeds)


def concurrent_runs(sessions: list[ort.InferenceSession], feeds: Answers) -> list[tuple[int, Answers]]:
    """Two threads a device."""
    outcomes: list[tuple[int, Answers]] = []
    failures: list[Exception] = []

    def work(number: int) -> None:
        try:
            outcomes.extend((number, answers(sessions[number], feeds)) for _ in range(ROUNDS))
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(len(sessions)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
    return outcomes


def graph_replays(devices: list[ort.OrtEpDevice], name: str, dtype: str, sizes: dict[str, int]) -> Iterator[tuple[int, Answers]]:
    """With inputs and outputs bound in each device's memory, recorded into a graph and replayed, device after device."""
    bound = [bench.bind(device, name, dtype, graph=True, number=i, **sizes) for i, device in enumerate(devices)]
    for _ in range(ROUNDS):
        for number, one in enumerate(bound):
            one.run()
            yield number, one.results()


def foreign_inputs(sessions: list[ort.InferenceSession], devices: list[ort.OrtEpDevice], feeds: Answers) -> Iterator[tuple[int, Answers]]:
    """Each session is given inputs that lie in the next device's memory."""
    for number, session in enumerate(sessions):
        other = (number + 1) % len(sessions)
        place = {"device_type": "gpu", "device_id": other, "vendor_id": devices[other].device.vendor_id}
        values = {k: ort.OrtValue.ortvalue_from_numpy(np.ascontiguousarray(v), **place) for k, v in feeds.items()}
        outputs = session.run_with_ort_values(None, values)
        yield number, dict(zip([o.name for o in session.get_outputs()], [o.numpy() for o in outputs], strict=True))


def first_difference(outcomes: Iterator[tuple[int, Answers]] | list[tuple[int, Answers]], reference: Answers) -> str:
    """The first wrong answer or failure, in words."""
    try:
        for number, outputs in outcomes:
            for name, value in outputs.items():
                if not np.array_equal(value, reference[name], equal_nan=True):
                    off = np.abs(value.astype(np.float64) - reference[name].astype(np.float64)).max()
                    return f"device {number}: {name} differs from device 0's by {off:.1e}"
    except Exception as error:
        return f"{type(error).__name__}: {str(error)[:200]}"
    return ""


def memory(devices: list[ort.OrtEpDevice]) -> str:
    """A session on the last device takes memory there, and none worth a weight's on the others. Nothing else may run on them; torch tells."""
    try:
        import torch
    except ImportError:
        print("devices: their memory is not compared, torch is not installed")
        return ""

    def used_memory() -> list[int]:
        return [total - free for free, total in map(torch.cuda.mem_get_info, range(len(devices)))]

    before = used_memory()
    session = open_session(models.model("bert-base", "float32"), devices[-1])
    session.run(None, models.feeds("bert-base", "float32", batch=1, sequence=16))
    growth = [after - was for after, was in zip(used_memory(), before, strict=True)]
    least = 100 << 20  # a quarter of the weights
    if growth[-1] < least or max(growth[:-1]) > least // 10:
        return f"bytes taken, by device: {growth}"
    return ""
