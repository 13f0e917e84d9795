"""A seeded mutator: the same seed makes the same input again, on any machine."""

from __future__ import annotations

import json
from copy import deepcopy
from random import Random
from typing import Any

_NUMBERS = (
    0,
    1,
    0x7F,
    0xFF,
    0xFFFF,
    0x7FFFFFFF,
    0x80000000,
    0xFFFFFFFF,
    1 << 40,
    (1 << 63) - 1,
    1 << 63,
    (1 << 64) - 1,
)
_TOKENS = (
    b"\x7fELF", b"__CLANG_OFFLOAD_BUNDLE__", b"CCOB", b"AMDGPU\0\0", b"amdhsa.kernels", b"PK\x01\x02", b"PK\x05\x06",
    b"\xdd\xff\xff\xff\xff", b"\xdf\xff\xff\xff\xff", b"\xc6\xff\xff\xff\xff", b"\x81\xa1x", b"\xc1", b"\0" * 64,
    b"\xff" * 16, b"..", b"/", b"\n", b"\r\n", b",", b"\"", b"sha256=", b"Requires-Dist: ", b"Tag: ", b"[console_scripts]\n",
    b"&a *a", b"!!python/object:os.system", b"- {", b"1e999", b"nan", b"\xe2\x80\xae", b"\xed\xa0\x80",
)  # fmt: skip
_VALUES: tuple[Any, ...] = (
    None, True, 0, -1, 1 << 70, 1e308, -0.0, "", "nan", "inf", "9999-12-31", "\u202e", "\ud800", [], {}, [[]], {"": None}, "x" * 5000,
)  # fmt: skip


def spoil(data: bytes, random: Random) -> bytes:
    """The bytes with one to six changes: bits, numbers, tokens, and pieces cut out, doubled, moved or cut off."""
    content = bytearray(data)
    for _ in range(random.choice((1, 1, 1, 2, 3, 6))):
        _spoil(content, random)
    return bytes(content)


def _spoil(content: bytearray, random: Random) -> None:
    at = random.randrange(len(content) + 1)
    size = random.choice((1, 2, 4, 8, 24, 56, 500))
    kind = random.randrange(9)
    if kind == 0 and at < len(content):
        content[at] ^= 1 << random.randrange(8)
    elif kind == 1 and at < len(content):
        content[at] = random.randrange(256)
    elif kind == 2:
        width = random.choice((1, 2, 4, 8))
        number = random.choice(_NUMBERS) + random.randrange(-2, 3)
        content[at : at + width] = (number % (1 << 8 * width)).to_bytes(width, random.choice(("little", "big")))
    elif kind == 3:
        del content[at : at + size]
    elif kind == 4:
        content[at:at] = content[at : at + size]
    elif kind == 5:
        token = random.choice(_TOKENS)
        content[at : at + random.choice((0, len(token)))] = token
    elif kind == 6:
        other = random.randrange(len(content) + 1)
        content[at : at + size] = content[other : other + size]
    elif kind == 7:
        del content[at:]
    elif kind == 8:
        content[at : at + size] = bytes(min(size, max(0, len(content) - at)))


def spoilt_json(value: Any, random: Random) -> Any:
    """The value with one to three members replaced, removed, doubled or renamed."""
    document = json.loads(json.dumps(value))
    for _ in range(random.choice((1, 1, 2, 3))):
        holder, key = _somewhere(document, random)
        if holder is None:
            return deepcopy(random.choice(_VALUES))
        kind = random.randrange(4)
        if kind == 0:
            del holder[key]
        elif kind == 1 and isinstance(holder, list):
            holder.insert(key, holder[key])
        elif kind == 2 and isinstance(holder, dict):
            holder[f"{key}x"] = holder.pop(key)
        else:
            holder[key] = deepcopy(random.choice(_VALUES))
    return document


def _somewhere(value: Any, random: Random) -> tuple[Any, Any]:
    """A random member of a value: what holds it, and its key."""
    holder, key = None, None
    while isinstance(value, dict | list) and value and (holder is None or random.random() < 0.8):
        holder = value
        key = random.choice(list(value)) if isinstance(value, dict) else random.randrange(len(value))
        value = holder[key]
    return holder, key
