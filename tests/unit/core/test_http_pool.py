"""Answers of servers that send too little, or too much, are given up; which addresses are this machine's."""

from __future__ import annotations

import io
import os
import signal
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.client import HTTPResponse
from itertools import count
from typing import Any

import pytest

from stackbuild.core import http_pool
from stackbuild.core.cancel import Stopper
from stackbuild.core.errors import Interruption
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


@contextmanager
def answer_of(sent: bytes) -> Iterator[HTTPResponse]:
    """The answer of a server that sends that, its headers unread."""
    near, far = socket.socketpair()
    near.settimeout(3.0)

    def send() -> None:
        with suppress(OSError):
            far.sendall(sent)

    sender = threading.Thread(target=send, daemon=True)
    sender.start()
    response_class = http_pool._steady_pools(3.0, lambda open_socket: None)["http"].ConnectionCls.response_class
    with near, far, response_class(near, method="GET") as answer:  # type: ignore[attr-defined]
        yield answer
        near.shutdown(socket.SHUT_RDWR)
        sender.join(5)


def body_of(answer: HTTPResponse) -> bytes:
    answer.begin()
    return b"".join(iter(lambda: answer.read1(1 << 16), b""))


CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize(
    "framing",
    (
        b"2\r\n{}\r\n0\r\n" + (b"X-A: " + b"b" * 200 + b"\r\n") * 1000 + b"\r\n",
        (b"1;" + b"x" * 60000 + b"\r\na\r\n") * 4 + b"0\r\n\r\n",
    ),
    ids=("trailers", "extensions"),
)
def test_an_answer_with_more_framing_than_body_is_given_up(framing: bytes) -> None:
    with answer_of(CHUNKED + framing) as answer, pytest.raises(OSError, match="more framing than body"):
        body_of(answer)


def test_small_chunks_and_trailers_are_read() -> None:
    with answer_of(CHUNKED + b"1\r\na\r\n" * 50_000 + b"0\r\nX-A: b\r\nX-B: c\r\n\r\n") as answer:
        assert body_of(answer) == b"a" * 50_000


@pytest.mark.parametrize("sent", (b"", CHUNKED, CHUNKED + b"2\r\n{}\r\n0\r\n"), ids=("nothing", "headers", "body"))
def test_a_signal_ends_the_wait_for_a_silent_server(sent: bytes) -> None:
    with Stopper().on_signals(), answer_of(sent) as answer:
        since = time.monotonic()
        threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGTERM)).start()
        with pytest.raises(Interruption):
            body_of(answer)
        assert time.monotonic() - since < 1.5


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
