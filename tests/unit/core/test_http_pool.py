"""Answers of servers that send too little, or too much, are given up; which addresses are this machine's."""

from __future__ import annotations

import io
from itertools import count
from typing import Any

import pytest

from stackbuild.core import http_pool
from stackbuild.core.loopback import is_inward, refuse_inward


class Pieces(io.RawIOBase):
    """A connection over which so many bytes come at a time, for ever."""

    def __init__(self, size: int) -> None:
        self.size = size

    def readinto(self, buffer: Any) -> int:
        buffer[: self.size] = b"x" * self.size
        return self.size


def steady(monkeypatch: pytest.MonkeyPatch, size: int, seconds: float) -> http_pool._SteadyInput:
    """What comes in pieces of that size, each after so many seconds of waiting; given up after 30."""
    clock = (at * seconds for number in count() for at in (number, number + 1))
    monkeypatch.setattr(http_pool.time, "monotonic", lambda: next(clock))
    return http_pool._SteadyInput(Pieces(size), 30.0)


def test_a_byte_now_and_then_is_given_up_after_the_window(monkeypatch: pytest.MonkeyPatch) -> None:
    reads = 0
    found = steady(monkeypatch, 1, 0.5)
    with pytest.raises(TimeoutError, match="only 61 bytes in 30 s"):
        while found.read(10):
            reads += 1
    assert reads == 60


def test_a_steady_answer_is_read_and_one_without_end_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    found = steady(monkeypatch, 1000, 0.5)
    assert sum(len(found.read(1000)) for _ in range(5000)) == 5_000_000
    found.room = 999
    with pytest.raises(OSError, match="without end"):
        found.read(1000)


@pytest.mark.parametrize(
    "address", ("127.0.0.1", "127.9.9.9", "::1", "169.254.169.254", "fe80::1%eth0", "::ffff:127.0.0.1", "0.0.0.0", "::")
)
def test_an_address_of_this_machine_is_refused(address: str) -> None:
    assert is_inward(address)
    with pytest.raises(ConnectionRefusedError, match="this machine"):
        refuse_inward(address)


@pytest.mark.parametrize("address", ("192.0.2.1", "10.0.0.1", "2001:db8::1", "::ffff:192.0.2.1"))
def test_another_address_is_not(address: str) -> None:
    assert not is_inward(address)
    refuse_inward(address)
