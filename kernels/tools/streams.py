"""Two streams at once, each with inputs, buffers and answers of its own: what one stream gives alone, both must give, bit for bit."""

from __future__ import annotations

import dataclasses

import numpy as np

from tools import device as d
from tools.case import OperatorCase, poison
from tools.correctness import DeviceCase, Selection, allocate, check_one

ROUNDS = 10  # launches on each stream, one after the other; every one's answer is kept
ALIGNMENT = 512  # bytes, as an allocation of its own would be


class Stream:
    """A stream with a case's memory, and outputs for every round."""

    def __init__(self, device: d.GpuDevice, handle: int, case: OperatorCase, last: bool) -> None:
        self._device, self._handle = device, handle
        self.device_case: DeviceCase = allocate(device, case, last)
        self._bytes = self.device_case.output.bytes
        self._step = -(-self._bytes // ALIGNMENT) * ALIGNMENT
        self._outputs = d.Buffer(device, ROUNDS * self._step)
        self.alone = b""

    def poison(self) -> None:
        self._outputs.poison(poison(self.device_case.case))

    def launch(self, number: int) -> None:
        """The launch of a round, into that round's output."""
        self.device_case.job.params.y = self._outputs.pointer + number * self._step
        self.device_case.run(self._device, self._handle)

    def wait(self) -> None:
        self._device.synchronize(self._handle)

    def overrun(self) -> bool:
        return bool(self.device_case.overrun()) or not self._outputs.guard_intact()

    def mismatched_rounds(self) -> list[int]:
        """The rounds whose answer is another than on one stream."""
        answers = self._outputs.read((ROUNDS, self._step), np.dtype(np.uint8))
        return [number for number, answer in enumerate(answers) if answer[: self._bytes].tobytes() != self.alone]


def shift_values(case: OperatorCase) -> OperatorCase:
    """The same case with other numbers: those of its inputs, moved on by one (integers and masks stay, they say what is read)."""
    inputs = {name: np.roll(x, 1) if x is not None and x.dtype.kind == "f" else x for name, x in case.inputs.items()}
    return dataclasses.replace(case, inputs=inputs)


def check(device: d.GpuDevice, selection: Selection) -> tuple[int, list[str]]:
    """Pairs that were run, and one line for each that is wrong."""
    handles = [device.stream(), device.stream()]
    count, wrong = 0, []
    for case, last in selection.cases():
        if case.expected_values.size == 0:
            continue
        count += 1
        try:
            why = _check_pair(device, [Stream(device, handle, one, last) for handle, one in zip(handles, (case, shift_values(case)), strict=True)])
        except d.DeviceError as error:
            why = str(error)
        if why:
            wrong.append(f"two streams: {case.op} {case.dtype} {case.name}: {why}")
    return count, wrong


def _check_pair(device: d.GpuDevice, pair: list[Stream]) -> str | None:
    if why := check_one(device, pair[0].device_case):  # the other's numbers have no answer in float64: it is held to its own
        return why
    pair[1].device_case.run(device)
    device.synchronize()
    for stream in pair:
        stream.alone = stream.device_case.output.read((stream.device_case.output.bytes,), np.dtype(np.uint8)).tobytes()
        stream.poison()
    device.synchronize()
    for number in range(ROUNDS):
        for stream in pair:
            stream.launch(number)
    for stream in pair:
        stream.wait()
    off = [f"round {number} on stream {which}" for which, stream in enumerate(pair) for number in stream.mismatched_rounds()]
    if off:
        return f"another answer than on one stream: {', '.join(off[:4])}"
    return "wrote past the end of a buffer" if any(stream.overrun() for stream in pair) else None
