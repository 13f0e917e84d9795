"""MessagePack within bounds. The only module that imports msgpack."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import msgpack

from stackbuild.inspection.limits import FEW, MAP_KEYS, VALUES
from stackbuild.inspection.readers.byte_parser import LimitError, MalformedError

_SMALL_NUMBERS = bytes(range(0x80))  # a byte each, and no object: so are most characters of a string


def unpack(data: bytes, what: str, arrays: int, keys: int = MAP_KEYS) -> dict[bytes, object]:
    """The map that the bytes are; strings stay bytes. `arrays` and `keys` bound what one array and one map may hold.

    Maps inside may have numbers as keys: `custom.config` of Tensile's kernels has.

    Raises MalformedError, naming `what`, if they are not such a map.
    """
    _count(data, what)
    with _explain_errors(what):
        value = msgpack.unpackb(
            data, raw=True, strict_map_key=False, max_array_len=min(len(data), arrays), max_map_len=min(len(data), keys)
        )  # fmt: skip
    if not isinstance(value, dict):
        raise MalformedError(f"{what} is not a map")
    return value


def members(data: bytes, what: str, keys: int) -> dict[bytes, bytes]:
    """The values of the map that the bytes are, each as its own bytes: nothing in them is made. Raises MalformedError."""
    values: dict[bytes, bytes] = {}
    with _explain_errors(what):
        unpacker = msgpack.Unpacker(raw=True, strict_map_key=False, max_buffer_size=len(data) + 1)
        unpacker.feed(data)
        count = unpacker.read_map_header()
        if count > keys:
            raise LimitError(f"{what} is a map of {count} keys; at most {keys} are read")
        for _ in range(count):
            key = unpacker.unpack()
            start = unpacker.tell()
            unpacker.skip()
            if isinstance(key, bytes):
                values[key] = data[start : unpacker.tell()]
        if unpacker.tell() != len(data):
            raise MalformedError(f"{what} is followed by {len(data) - unpacker.tell()} bytes more")
    return values


def length(data: bytes) -> int | None:
    """How many elements the array has that the bytes start with; None where they start with none."""
    unpacker = msgpack.Unpacker(raw=True)
    unpacker.feed(data[:16])
    try:
        return int(unpacker.read_array_header())
    except (ValueError, msgpack.exceptions.UnpackException):
        return None


def _count(data: bytes, what: str) -> None:
    """Refuse what would take a hundred times its bytes as objects: every value but a small number starts beyond 0x7f."""
    if len(data) > FEW and len(data.translate(None, _SMALL_NUMBERS)) > VALUES:
        raise LimitError(f"{what} of {len(data)} bytes may hold more than {VALUES} values")


@contextmanager
def _explain_errors(what: str) -> Iterator[None]:
    try:
        yield
    except (ValueError, msgpack.exceptions.UnpackException, TypeError, MemoryError, RecursionError) as error:
        raise MalformedError(
            f"{what} is not the MessagePack it should be: {type(error).__name__} {error}"[:200]
        ) from None
