"""A user's own model: its inputs read from the file, its shapes given by name."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from stackbuild.bench.experiment import Work
from stackbuild.bench.model_problem import require_model
from stackbuild.core import digest
from stackbuild.core.digest import Json
from stackbuild.core.errors import UsageError
from stackbuild.core.shell_words import shell_word
from stackbuild.model.results import Case

Shapes = dict[str, tuple[int, ...]]
DeclaredShape = tuple[int | str, ...] | None
"""As the model has it: a name for an open dimension, () for a scalar, None where nothing says how many dimensions."""
MOST_INPUT_BYTES = 16 << 30
"""All inputs of one run: they are made and held in memory."""
MOST_DIMENSIONS = 32


@dataclass(frozen=True)
class UserModel:
    """An .onnx file, and a shape for each input that has open dimensions."""

    path: Path
    shapes: Shapes


def parse_shape(text: str) -> tuple[str, tuple[int, ...]]:
    """`input=1x3x224x224` as a name and a shape."""
    name, equals, sizes = text.partition("=")
    try:
        shape = tuple(int(size) for size in sizes.split("x"))
    except ValueError:
        shape = ()
    if not (name and equals and shape) or min(shape) < 1:
        raise UsageError(f"--shape {text!r} is not NAME=AxBxC", next="write for example --shape input=1x3x224x224")
    return name, shape


def _no_model(error: ValueError, where: str) -> UsageError:
    what, _, step = str(error).partition("; ")
    return UsageError(what, where=where, next=step or "export it again, or check it with onnx.checker")


def user_case(user: UserModel) -> tuple[Case, Work]:
    """The case and the worker's job for it. Raises UsageError for a missing file, an unknown input or a wrong shape."""
    from stackbuild.bench.nets.graph import describe_inputs

    where = str(user.path)
    require_model(user.path)
    try:
        opset, inputs = describe_inputs(user.path)
    except ValueError as error:
        raise _no_model(error, where) from None
    for name in user.shapes.keys() - inputs.keys():
        raise UsageError(f"it has no input {name!r}", where=where, next=f"its inputs are {', '.join(inputs)}")
    for name, (dtype, _) in inputs.items():
        if dtype.startswith(("bfloat", "float8", "float4", "int4", "uint4", "object")):
            kind = "strings" if dtype == "object" else dtype
            raise UsageError(
                f"the input {name!r} is of {kind}, and a measurement makes no values of it", where=where,
                next=f"stackbuild model check {shell_word(user.path.name)} runs it, where onnxruntime has the type",
            )  # fmt: skip
    shapes = {name: _shape(name, declared_shape, user, where) for name, (_, declared_shape) in inputs.items()}
    _refuse_large(shapes, inputs, where)
    feeds: dict[str, Json] = {
        name: {"shape": list(shapes[name]), "dtype": dtype, "high": 2} for name, (dtype, _) in inputs.items()
    }
    first = next(iter(shapes.values()), ())
    batch = first[0] if first else 1
    dtype = next((d for d, _ in inputs.values() if d.startswith("float")), "float32")
    name = f"{user.path.stem}/{','.join('x'.join(map(str, s)) for s in shapes.values())}"
    case = Case(name, user.path.stem, dtype, shapes, batch, batch, "item", opset, digest.of_file(user.path), ())
    return case, {"name": name, "model": str(user.path.absolute()), "parts": [{"inputs": feeds}]}


def _shape(name: str, declared_shape: DeclaredShape, user: UserModel, where: str) -> tuple[int, ...]:
    shape = user.shapes.get(name)
    if declared_shape is None:
        if shape is None:
            raise UsageError(
                f"the input {name!r} has no shape in the model: it may have any number of dimensions", where=where,
                next=f"give it one, such as --shape {shell_word(name)}=1x3",
            )  # fmt: skip
        return shape
    shape_text = _shape_text(declared_shape)
    if shape is None:
        if not all(isinstance(size, int) for size in declared_shape):
            raise UsageError(
                f"the input {name!r} is {shape_text}: its open dimensions need sizes", where=where,
                next=f"--shape {shell_word(name)}={'x'.join(str(s) if isinstance(s, int) else '1' for s in declared_shape)}",
            )  # fmt: skip
        return tuple(int(size) for size in declared_shape)
    fits = len(shape) == len(declared_shape) and all(
        not isinstance(want, int) or want == size for want, size in zip(declared_shape, shape, strict=True)
    )
    if not fits:
        raise UsageError(
            f"the shape {'x'.join(map(str, shape))} does not fit the input {name!r}, which is {shape_text}", where=where,
            next="keep the fixed dimensions as the model has them" if declared_shape else f"leave out --shape {shell_word(name)}=…: a scalar has no dimensions",
        )  # fmt: skip
    return shape


def _placeholders(declared_shape: tuple[int | str, ...]) -> str:
    """A shape for --shape with N1, N2 and so on for the open dimensions: their own names may be any text."""
    numbers = itertools.count(1)
    return "x".join(str(size) if isinstance(size, int) else f"N{next(numbers)}" for size in declared_shape)


def _shape_text(declared_shape: tuple[int | str, ...]) -> str:
    return "x".join(map(str, declared_shape)) or "a scalar"


def input_parts(path: Path, shapes: Sequence[str]) -> tuple[dict[str, Json], ...]:
    """The inputs of a model for the worker, a part for each shape.

    `shapes` are texts of `parse_shape`; the second one of an input makes the second part, and so on. An input with one shape
    keeps it. Without any, an open dimension is 1 in the first part and 2 in the second; `open` of such an input says which
    dimensions that were. Raises UsageError.
    """
    from stackbuild.bench.nets.graph import describe_inputs

    require_model(path)
    try:
        _, inputs = describe_inputs(path)
    except ValueError as error:
        raise _no_model(error, str(path)) from None
    given_shapes: dict[str, list[tuple[int, ...]]] = {}
    for name, shape in map(parse_shape, shapes):
        given_shapes.setdefault(name, []).append(shape)
    for name in given_shapes.keys() - inputs.keys():
        raise UsageError(f"it has no input {name!r}", where=str(path), next=f"its inputs are {', '.join(inputs)}")
    is_open = any(not isinstance(size, int) for _, dims in inputs.values() for size in dims or ())
    count = max(map(len, given_shapes.values()), default=2 if is_open else 1)
    _refuse_uneven(given_shapes, str(path))
    parts: list[dict[str, Json]] = []
    for number in range(count):
        feeds: dict[str, Json] = {}
        part_shapes: Shapes = {}
        for name, (dtype, declared_shape) in inputs.items():
            mine = given_shapes.get(name, [])
            size = mine[min(number, len(mine) - 1)] if mine else _concrete_shape(declared_shape, number + 1)
            model = UserModel(path, {} if size is None else {name: size})
            part_shapes[name] = _shape(name, declared_shape, model, str(path))
            placeholder = {"open": _placeholders(declared_shape or ())} if not mine and size != declared_shape else {}
            feeds[name] = {"shape": list(part_shapes[name]), "dtype": dtype, "high": 2, **placeholder}
        parts.append({"inputs": feeds})
        _refuse_large(part_shapes, inputs, str(path))
    return tuple(parts)


def _refuse_uneven(given_shapes: Mapping[str, Sequence[tuple[int, ...]]], where: str) -> None:
    """Raises UsageError where two inputs have several shapes, and not equally many: which go together nobody says."""
    counts = {name: len(each) for name, each in given_shapes.items() if len(each) > 1}
    if len(set(counts.values())) > 1:
        listing = ", ".join(f"{name!r} has {count}" for name, count in counts.items())
        raise UsageError(
            f"the inputs have different numbers of shapes: {listing}", where=where,
            next="give --shape once for an input that keeps its shape, else as often as for the others",
        )  # fmt: skip


def _refuse_large(shapes: Shapes, inputs: Mapping[str, tuple[str, DeclaredShape]], where: str) -> None:
    """Raises UsageError for shapes that no array has, and for more inputs than there may be."""
    size = 0
    for name, shape in shapes.items():
        if len(shape) > MOST_DIMENSIONS or min(shape, default=0) < 0:
            raise UsageError(
                f"the input {name!r} has {len(shape)} dimensions, the least {min(shape, default=0)}: no array has that shape",
                where=where, next="export it again",
            )  # fmt: skip
        size += math.prod(shape) * ITEM_BYTES.get(inputs[name][0], 4)
    if size > MOST_INPUT_BYTES:
        raise UsageError(
            f"its inputs take {min(size, 1 << 90) >> 30} GiB, more than {MOST_INPUT_BYTES >> 30}", where=where,
            next="export it with open dimensions, and give smaller ones by --shape",
        )  # fmt: skip


ITEM_BYTES = {
    "bool": 1,
    "bfloat16": 2,
    "float8_e4m3fn": 1,
    "float8_e4m3fnuz": 1,
    "float8_e5m2": 1,
    "float8_e5m2fnuz": 1,
    "int8": 1,
    "uint8": 1,
    "float16": 2,
    "int16": 2,
    "uint16": 2,
    "int64": 8,
    "uint64": 8,
    "float64": 8,
}
"""Bytes of an element; of every other type, 4."""


def _concrete_shape(declared_shape: DeclaredShape, size: int) -> tuple[int, ...] | None:
    """The declared shape with that size for every open dimension."""
    if declared_shape is None:
        return None
    return tuple(each if isinstance(each, int) else size for each in declared_shape)
