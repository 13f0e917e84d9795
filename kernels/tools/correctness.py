"""Every case on the device against float64: poisoned outputs and workspaces, and guards around every buffer.

Each case runs twice: with tensors as a framework allocates them, and in another placement that the headers allow. Placements are
pointers that are not aligned to a vector, an output in its own input's memory, and filters in the other layout than the image.
"""

from __future__ import annotations

import importlib
from collections.abc import Collection, Iterator
from dataclasses import dataclass

import numpy as np

from tools import device as d
from tools.case import OperatorCase, mismatch, poison
from tools.params import BUILDERS, LAYOUTS, KernelArguments
from tools.selection import EVERY, MODULES


@dataclass(frozen=True)
class MemoryPlacement:
    """How a case's tensors lie in memory. By default each has an allocation of its own."""

    name: str = ""
    offset: frozenset[str] = frozenset()  # tensors that start one element behind their allocation
    in_place_of: str = ""  # the input whose memory y is
    other_filter_layout: bool = False  # channels first where x has them last, and the other way round
    packed_filter: bool = False  # filters packed before, where the way that is taken packs them


AS_ALLOCATED = MemoryPlacement()
IN_PLACE = {"LeakyRelu": "x", "BatchNormalization": "x", "GroupNormalization": "x", "Conv": "residual"}


@dataclass
class DeviceCase:
    """A job with its memory on the device."""

    case: OperatorCase
    layout: str
    job: KernelArguments
    memory: dict[str, d.Buffer]
    workspace: d.Buffer
    output: d.Buffer
    placement: MemoryPlacement = AS_ALLOCATED
    filters: d.Buffer | None = None  # in the form that the convolution reads

    def run(self, device: d.GpuDevice, stream: int = 0) -> None:
        device.launch(self.job.params, stream, self.workspace.pointer, self.workspace.bytes)

    def poison(self) -> None:
        if self.placement.in_place_of:
            self.output.write(self.job.arrays[self.placement.in_place_of])
        else:
            self.output.poison(poison(self.case))

    def answer(self) -> np.ndarray:
        return self.job.to_case(self.output.read(self.job.output_shape, self.case.dtype))

    def verdict(self) -> str | None:
        why = mismatch(self.answer(), self.case)
        if why is None and (past := self.overrun()):
            why = f"wrote past the end of {', '.join(past)}"
        return why

    def overrun(self) -> list[str]:
        """The buffers, by their fields, whose guard is not as it was."""
        buffers = {**self.memory, "y": self.output, "workspace": self.workspace}
        if self.filters is not None:
            buffers["packed"] = self.filters
        return [field for field, buffer in buffers.items() if not buffer.guard_intact()]


def cases(seed: int, part: tuple[int, int], operators: str | Collection[str] = tuple(MODULES)) -> Iterator[tuple[OperatorCase, bool]]:
    """(case, channels last) for these operators (or this one), every type and layout, of this part of them."""
    operators = (operators,) if isinstance(operators, str) else operators
    number = 0
    for op, name in MODULES.items():
        if op not in operators:
            continue
        module = importlib.import_module(name)
        for dtype in (np.float32, np.float16):
            rng = np.random.default_rng([seed, len(op), np.dtype(dtype).itemsize])
            drawn_cases = [*module.cases(rng, dtype), *getattr(module, "device_cases", lambda rng, dtype: ())(rng, dtype)]
            for case in drawn_cases:
                for last in (False, True) if op in LAYOUTS else (False,):
                    number += 1
                    if number % part[1] == part[0]:
                        yield case, last


def placements(device_case: DeviceCase) -> list[MemoryPlacement]:
    """Every other placement in which the launchers take this case."""
    fields = [*device_case.job.arrays, "y"]
    variants = [MemoryPlacement(f"{field} one element on", frozenset([field])) for field in fields]
    variants.append(MemoryPlacement("everything one element on", frozenset(fields)))
    in_place_of = IN_PLACE.get(device_case.case.op)
    if in_place_of in fields:
        variants.append(MemoryPlacement(f"y is {in_place_of}", in_place_of=in_place_of))
    if device_case.case.op == "Conv":
        variants.append(MemoryPlacement("filters in the other layout", other_filter_layout=True))
        variants += [MemoryPlacement("packed filters", packed_filter=True), MemoryPlacement("packed filters of the other layout", frozenset(), "", True, True)]
    return variants


def allocate(device: d.GpuDevice, case: OperatorCase, last: bool, placement: MemoryPlacement = AS_ALLOCATED) -> DeviceCase:
    job = BUILDERS[case.op](case, last)
    if placement.other_filter_layout:
        swap_filter_layout(job, case, last)
    job.arrays = {field: np.ascontiguousarray(array) for field, array in job.arrays.items()}
    memory = {}
    for field, array in job.arrays.items():
        memory[field] = d.Buffer(device, max(array.nbytes, 1), array.itemsize if field in placement.offset else 0).write(array)
        setattr(job.params, field, memory[field].pointer)
    room = int(np.prod(job.output_shape)) * case.dtype.itemsize
    output = memory[placement.in_place_of] if placement.in_place_of else d.Buffer(device, room, case.dtype.itemsize if "y" in placement.offset else 0)
    job.params.y = output.pointer
    filters = pack_filter(device, job.params, placement)
    workspace = d.Buffer(device, device.workspace_bytes(job.params))
    device_case = DeviceCase(case, "channels last" if last else "", job, memory, workspace, output, placement, filters)
    device_case.poison()
    return device_case


def pack_filter(device: d.GpuDevice, params: d.Params, placement: MemoryPlacement) -> d.Buffer | None:
    return device.pack_filter(params) if placement.packed_filter and isinstance(params, d.Conv) else None


def swap_filter_layout(job: KernelArguments, case: OperatorCase, last: bool) -> None:
    filters = case.inputs["W"]
    assert filters is not None
    assert isinstance(job.params, d.Conv)
    job.params.filter_layout = d.CHANNELS_FIRST if last else d.CHANNELS_LAST
    job.arrays["w"] = filters if last else np.moveaxis(filters, 1, -1)


def check_one(device: d.GpuDevice, device_case: DeviceCase) -> str | None:
    try:
        device_case.run(device)
        device.synchronize()
        return device_case.verdict()
    except d.DeviceError as error:
        return str(error)


def check_algorithms(device: d.GpuDevice, device_case: DeviceCase, turn: int | None = None) -> tuple[int, list[str]]:
    """A convolution by every other algorithm and tile that takes its shape (with `turn` by one of them): how many, and what is wrong."""
    params = device_case.job.params
    if not isinstance(params, d.Conv):
        return 0, []
    wrong = []
    ways = device.conv_choices(params)
    if ways and turn is not None:
        ways = [ways[turn % len(ways)]]
    for params.algorithm, params.variant in ways:
        device_case.poison()
        device_case.filters = pack_filter(device, params, device_case.placement)
        device_case.workspace = d.Buffer(device, device.workspace_bytes(params))
        if why := check_one(device, device_case):
            wrong.append(f"algorithm {params.algorithm}, variant {params.variant}: {why}")
    return len(ways), wrong


def check_placement(device: d.GpuDevice, case: OperatorCase, last: bool, placement: MemoryPlacement, turn: int | None = None) -> tuple[int, list[str]]:
    """The case in another placement, a convolution by other algorithms too (with `turn` by one): how many runs, and what is wrong."""
    device_case = allocate(device, case, last, placement)
    why = check_one(device, device_case)
    more, troubles = check_algorithms(device, device_case, turn)
    return 1 + more, [f"{placement.name}: {trouble}" for trouble in ([why] if why else []) + troubles]


@dataclass(frozen=True)
class Selection:
    """The runs of a check: a part of some operators' cases.

    Each convolution runs by every algorithm, with `one_way` by one other in turn. With `with_placements` each case runs in one other
    placement too, which the seed chooses.
    """

    seed: int
    part: tuple[int, int] = EVERY
    operators: tuple[str, ...] = tuple(MODULES)
    one_way: bool = False
    with_placements: bool = True

    def cases(self) -> Iterator[tuple[OperatorCase, bool]]:
        return cases(self.seed, self.part, self.operators)


def check_all(device: d.GpuDevice, selection: Selection) -> tuple[dict[str, int], list[str]]:
    """Runs per operator, type and layout; and one line for each that is wrong."""
    counts: dict[str, int] = {}
    wrong = []
    for number, (case, last) in enumerate(selection.cases()):
        device_case = allocate(device, case, last)
        key = " ".join(filter(None, (case.op, str(case.dtype), device_case.layout)))
        counts[key] = counts.get(key, 0) + 1
        if why := check_one(device, device_case):
            wrong.append(f"{key} {case.name}: {why}")
        more, troubles = check_algorithms(device, device_case, number if selection.one_way else None)
        if more:
            counts[f"{key} each way"] = counts.get(f"{key} each way", 0) + more
        if selection.with_placements:
            others = placements(device_case)
            more, placement_troubles = check_placement(device, case, last, others[(number + selection.seed) % len(others)], number)
            counts[f"{key} in another form"] = counts.get(f"{key} in another form", 0) + more
            troubles += placement_troubles
        wrong += [f"{key} {case.name}: {trouble}" for trouble in troubles]
    return counts, wrong


