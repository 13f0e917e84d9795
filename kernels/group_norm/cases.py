"""Shapes GroupNormalization is checked on."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from group_norm.reference import group_norm
from tools.case import AttributeValue, OperatorCase, activate

# (shape, groups)
SHAPES = [((1, 1, 1, 1), 1), ((1, 4, 1, 1), 2), ((2, 6, 3, 3), 3), ((2, 6, 7, 7), 6), ((3, 8, 5), 2), ((1, 8, 3, 4, 5), 4),
          ((0, 4, 3, 3), 2), ((2, 32, 14, 14), 32), ((1, 64, 33, 33), 8), ((1, 6, 131, 97), 1), ((2, 320, 8, 8), 32)]
# Channels of more than one strip in channels last (256 vectors of one value, of 16 bytes), whole vectors to a group and not.
WIDE = [((2, 301, 3, 2), 7), ((1, 1100, 3, 3), 4), ((2, 2056, 3, 1), 8), ((1, 2560, 8, 8), 32), ((1, 4104, 2, 3), 8)]
# A pixel's group has more vectors than a block has threads, and there are images enough for a device of 132 compute units.
WIDE_GROUPS = [((33, 4128, 2), 1), ((33, 8256, 2), 2)]
# In one block's registers and in chunks; channels last in one pass and in two.
AROUND = [((2, 8, 7, 9), 4), ((2, 32, 14, 14), 4), ((1, 6, 131, 99), 1)]
BENCH = [((8, 64, 56, 56), 32)]


def make(rng: np.random.Generator, shape: tuple[int, ...], groups: int, dtype: type, per_group: bool = False,
         offset: float = 0.0, width: float = 1.0, activation: str = "none", alpha: float | None = None,
         epsilon: float | None = 1e-5, parameters: type | None = None, spread: float = 1.0) -> OperatorCase:
    """The input's values are `width` wide around `offset`, the parameters' `spread` around 0. `alpha`, `epsilon` None: not given."""
    x = (width * rng.standard_normal(shape) + offset).astype(dtype)
    values, kind = groups if per_group else shape[1], parameters or dtype
    scale, bias = ((spread * rng.standard_normal(values)).astype(kind) for _ in range(2))
    attributes: dict[str, AttributeValue] = {"num_groups": groups}
    if epsilon is not None:
        attributes["epsilon"] = epsilon
    if activation != "none":
        attributes["activation"] = activation
    if alpha is not None:
        attributes["activation_alpha"] = alpha
    # A value per group where groups == channels looks like a value per channel, and means the same.
    # Far from zero ONNX's evaluator is not a reference: its sums are float32's, which is 6 % off around 1000.
    own = activation != "none" or kind != dtype or offset >= 1e3
    opset = 0 if own else (18 if per_group else 21)
    name = f"{'x'.join(map(str, shape))} groups={groups}" + " opset 18" * per_group
    name += f" around {offset:g}" * (offset != 0) + f" {width:g} wide" * (width != 1)
    name += f" {activation}" * (activation != "none") + f" alpha={alpha}" * (alpha is not None)
    name += f" eps={epsilon}" * (epsilon != 1e-5) + f" {kind.__name__} parameters" * (kind != dtype) + f" times {spread:g}" * (spread != 1)
    plain = group_norm(x, scale, bias, groups, float(np.float32(1e-5 if epsilon is None else epsilon)))
    reference = activate(plain, activation, 0.01 if alpha is None else alpha)
    return OperatorCase("GroupNormalization", name, {"X": x, "scale": scale, "bias": bias}, attributes, reference, opset=opset)


def nearly_alike(case: OperatorCase, rng: np.random.Generator, value: float, share: float) -> OperatorCase:
    """Values that are all `value`, but for about `share` of them, which are the next number: a mean rounded to float32 would show."""
    before, scale, groups = case.inputs["X"], case.inputs["scale"], case.attributes["num_groups"]
    assert before is not None and scale is not None and isinstance(groups, int)
    x = np.full_like(before, value)
    x[rng.random(x.shape) < share] = np.nextafter(x.dtype.type(value), x.dtype.type(np.inf))
    bias = np.zeros_like(case.inputs["bias"])
    name = f"{case.name} of {value:g} or one step more, {share:g}"
    return OperatorCase(case.op, name, {"X": x, "scale": scale, "bias": bias}, case.attributes, group_norm(x, scale, bias, groups, float(np.float32(1e-5))), opset=0)


def far_first(case: OperatorCase, rng: np.random.Generator, far: float) -> OperatorCase:
    """The first value of each group is `far` from the others: what is summed relative to it would lose their digits."""
    before, scale, groups = case.inputs["X"], case.inputs["scale"], case.attributes["num_groups"]
    assert before is not None and scale is not None and isinstance(groups, int)
    x = before.copy()
    x.reshape(x.shape[0], groups, -1)[:, :, 0] = far
    bias = rng.standard_normal(scale.shape).astype(scale.dtype)
    name = f"{case.name}, the first values {far:g}"
    return OperatorCase(case.op, name, {"X": x, "scale": scale, "bias": bias}, case.attributes, group_norm(x, scale, bias, groups, float(np.float32(1e-5))), opset=0)


def cases(rng: np.random.Generator, dtype: type) -> Iterator[OperatorCase]:
    for shape, groups in SHAPES:
        yield make(rng, shape, groups, dtype)
    yield make(rng, (2, 12, 9, 9), 3, dtype, per_group=True)
    for activation, alpha in (("silu", None), ("relu", None), ("leaky_relu", None), ("leaky_relu", 0.3)):
        yield make(rng, (2, 12, 9, 9), 3, dtype, activation=activation, alpha=alpha)
    yield make(rng, (2, 12, 9, 9), 3, dtype, activation="silu", spread=300.0)  # beyond where exp overflows
    yield make(rng, (2, 12, 9, 9), 3, dtype, epsilon=None)
    yield make(rng, (2, 12, 9, 9), 3, dtype, epsilon=0.5)
    yield make(rng, (2, 12, 9, 9), 3, dtype, parameters=np.float16 if dtype is np.float32 else np.float32)
    for shape, groups in WIDE + WIDE_GROUPS:
        yield make(rng, shape, groups, dtype)
    for shape, groups in (((1, 8, 40, 40), 2), ((2, 32, 14, 14), 4)):
        # Sums of squares would cancel; a mean summed up in float16 would be off by a hundredth and more.
        yield make(rng, shape, groups, dtype, offset=100.0 if dtype is np.float32 else 500.0)
        yield make(rng, shape, groups, dtype, width=100.0)  # whose squares have no sum in float16
    if dtype is np.float32:
        # float32 holds such a mean to 3e-5, 1e-3 and 0.03 at best: in an answer that is more than its own rounding.
        for shape, groups in AROUND:
            for offset in (1e3, 3e4, 1e6):
                yield make(rng, shape, groups, dtype, offset=offset)
            yield make(rng, shape, groups, dtype, offset=1e8, width=0.0)  # all alike, and float32's mean is still off by 8
    if dtype is np.float16:
        for shape, groups in AROUND:
            for share in (0.002, 0.5):
                yield nearly_alike(make(rng, shape, groups, dtype), rng, 60000.0, share)
    for _ in range(30):
        groups = int(rng.integers(1, 5))
        shape = (int(rng.integers(1, 4)), groups * int(rng.integers(1, 5)))
        yield make(rng, (*shape, *(int(n) for n in rng.integers(1, 9, size=rng.integers(1, 4)))), groups, dtype)


# Channels first, groups that one block keeps in shared memory: more of them than units, vectors within a channel and across two.
RESIDENT_SHAPES = [((150, 8, 64, 65), 2), ((140, 8, 61, 70), 2), ((20, 8, 92, 91), 2)]
# (shape, groups): channels last in one pass with strips of each width and as many rows a thread as there are forms; images
# that take two passes; and groups of more vectors than a block has threads, on devices of up to 304 compute units.
DEVICE_SHAPES = [((64, 16, 31, 33), 4), ((40, 64, 28, 28), 32), ((33, 32, 56, 56), 2), ((34, 24, 40, 40), 3), ((70, 32, 7, 7), 32),
                 ((36, 64, 9, 9), 4), ((2, 320, 48, 50), 32), ((3, 40, 100, 97), 8), ((1, 128, 80, 81), 32), ((76, 4128, 2), 1), *RESIDENT_SHAPES]


def device_cases(rng: np.random.Generator, dtype: type) -> Iterator[OperatorCase]:
    for shape, groups in DEVICE_SHAPES:
        yield make(rng, shape, groups, dtype)
    yield make(rng, (64, 16, 31, 33), 4, dtype, activation="silu")
    yield make(rng, (64, 16, 31, 33), 4, dtype, per_group=True)
    yield far_first(make(rng, (40, 16, 24, 25), 4, dtype), rng, 1e5 if dtype is np.float32 else 6e4)
    if dtype is np.float32:
        for offset in (100.0, 1e6):
            yield make(rng, (40, 16, 24, 25), 4, dtype, offset=offset)
    else:
        for shape, groups in ((40, 16, 24, 25), 4), ((33, 32, 56, 56), 2):  # channels last by one block, and by a cluster
            yield nearly_alike(make(rng, shape, groups, dtype), rng, 60000.0, 0.002)
    yield make(rng, (65540, 2, 3), 1, dtype)  # more images than a grid has blocks in y or z: channels last in two launches


def bench(rng: np.random.Generator, dtype: type) -> Iterator[OperatorCase]:
    for shape, groups in BENCH:
        yield make(rng, shape, groups, dtype)
