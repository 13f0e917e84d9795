"""Every case on the device against float64: poisoned outputs and workspaces, guards behind them, two streams at once."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from bench import device as d
from bench.params import BUILDERS, LAYOUTS, Job
from common.case import Case, mismatch, poison

MODULES = {"Attention": "attention.cases", "BatchNormalization": "batch_norm.cases", "Conv": "conv.cases",
           "GroupNormalization": "group_norm.cases", "LeakyRelu": "leaky_relu.cases",
           "MultiHeadAttention": "attention.multi_head_cases"}


@dataclass
class Placed:
    """A job with its memory on the device."""

    case: Case
    layout: str
    job: Job
    memory: dict[str, d.Memory]
    workspace: d.Memory
    output: d.Memory

    def run(self, device: d.Device, stream: int = 0) -> None:
        device.launch(self.job.params, stream, self.workspace.pointer, self.workspace.bytes)

    def poison(self) -> None:
        self.output.poison(poison(self.case))

    def answer(self) -> np.ndarray:
        return self.job.to_case(self.output.read(self.job.output_shape, self.case.dtype))

    def verdict(self) -> str | None:
        why = mismatch(self.answer(), self.case)
        if why is None and not (self.output.guard_intact() and self.workspace.guard_intact()):
            why = "wrote past the end of the output or the workspace"
        return why


EVERY = (0, 1)
QUICK = (0, 6)  # a part of the cases: those whose number leaves the first when divided by the second


def cases(seed: int, part: tuple[int, int], only: str = "") -> Iterator[tuple[Case, bool]]:
    """(case, channels last) for every operator (or one), type and layout, of this part of them."""
    number = 0
    for op, name in MODULES.items():
        if only not in ("", op):
            continue
        module = importlib.import_module(name)
        for dtype in (np.float32, np.float16):
            rng = np.random.default_rng([seed, len(op), np.dtype(dtype).itemsize])
            drawn = [*module.cases(rng, dtype), *getattr(module, "device_cases", lambda rng, dtype: ())(rng, dtype)]
            for case in drawn:
                for last in (False, True) if op in LAYOUTS else (False,):
                    number += 1
                    if number % part[1] == part[0]:
                        yield case, last


def place(device: d.Device, case: Case, last: bool) -> Placed:
    job = BUILDERS[case.op](case, last)
    memory = {}
    for field, array in job.arrays.items():
        memory[field] = d.Memory(device, max(array.nbytes, 1)).write(np.ascontiguousarray(array))
        setattr(job.params, field, memory[field].pointer)
    output = d.Memory(device, int(np.prod(job.output_shape)) * case.dtype.itemsize)
    job.params.y = output.pointer
    workspace = d.Memory(device, device.workspace_bytes(job.params))
    placed = Placed(case, "channels last" if last else "", job, memory, workspace, output)
    placed.poison()
    return placed


def check_one(device: d.Device, placed: Placed) -> str | None:
    try:
        placed.run(device)
        device.synchronize()
        return placed.verdict()
    except d.DeviceError as error:
        return str(error)


def check_ways(device: d.Device, placed: Placed) -> tuple[int, list[str]]:
    """The same convolution made in every other way that takes it: how many, and what is wrong with which."""
    params = placed.job.params
    if not isinstance(params, d.Conv):
        return 0, []
    wrong = []
    ways = device.conv_choices(params)
    for params.algorithm, params.variant in ways:
        placed.poison()
        placed.workspace = d.Memory(device, device.workspace_bytes(params))
        if why := check_one(device, placed):
            wrong.append(f"algorithm {params.algorithm}, variant {params.variant}: {why}")
    return len(ways), wrong


def check_all(device: d.Device, seed: int, part: tuple[int, int] = EVERY) -> tuple[dict[str, int], list[str]]:
    """Cases run per operator, type and layout; and one line for each that is wrong."""
    counts: dict[str, int] = {}
    wrong = []
    for case, last in cases(seed, part):
        placed = place(device, case, last)
        key = " ".join(filter(None, (case.op, str(case.dtype), placed.layout)))
        counts[key] = counts.get(key, 0) + 1
        if why := check_one(device, placed):
            wrong.append(f"{key} {case.name}: {why}")
        more, troubles = check_ways(device, placed)
        if more:
            counts[f"{key} each way"] = counts.get(f"{key} each way", 0) + more
        wrong += [f"{key} {case.name}: {trouble}" for trouble in troubles]
    return counts, wrong


def check_streams(device: d.Device, seed: int, rounds: int = 20) -> list[str]:
    """Two streams at once, each with its own buffers: the answers must be those of one stream, bit for bit."""
    wrong = []
    streams = [device.stream(), device.stream()]
    for case, last in cases(seed, QUICK):
        pair = [place(device, case, last) for _ in streams]
        if case.expected.size == 0:
            continue
        if why := check_one(device, pair[0]):
            wrong.append(f"two streams: {case.op} {case.dtype} {case.name}: {why}")
            continue
        alone = pair[0].answer().tobytes()
        for placed in pair:
            placed.poison()
        device.synchronize()
        for _ in range(rounds):
            for placed, stream in zip(pair, streams, strict=True):
                placed.run(device, stream)
        for stream in streams:
            device.synchronize(stream)
        if any(placed.answer().tobytes() != alone for placed in pair):
            wrong.append(f"two streams: {case.op} {case.dtype} {case.name}: another answer than on one stream")
    return wrong
