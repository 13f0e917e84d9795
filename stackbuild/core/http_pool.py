"""Keep-alive HTTP connections that another thread can end: the one module that imports urllib3.

urllib3 comes with the Docker library. It pools connections, is safe for threads, streams a body undecoded and reads
what has come so far (`read1`). A read that waits for a byte ends only by a byte, a timeout or the end of its connection:
`SocketPool.abort` ends all of them at once, and a signal that stops the run ends each that waits. A server that sends a
byte now and then, in headers or in a body, is given up after the time that one which sends nothing has, and the time that
its last byte took. One that frames its body in more bytes than it has, in trailers or extensions of chunks, is given up, too.
"""

from __future__ import annotations

import contextlib
import io
import math
import select
import socket
import ssl
import time
import weakref
from collections.abc import Callable, Mapping
from http.client import HTTPResponse
from typing import Any, Protocol, cast
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from urllib3 import BaseHTTPResponse, PoolManager, ProxyManager, Timeout
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.exceptions import ConnectTimeoutError, HTTPError, NewConnectionError, ProxyError, SSLError

from stackbuild.core.cancel import POLL_SECONDS, check_signals
from stackbuild.core.loopback import is_loopback, refuse_inward

__all__ = ["NOT_REACHED", "BaseHTTPResponse", "Body", "HTTPError", "SocketPool", "make_steady"]

NOT_REACHED = (NewConnectionError, ConnectTimeoutError, SSLError, ProxyError)
"""Errors of a server that has seen nothing of the request."""

SENT_AT_ONCE = 1 << 18
"""Bytes of a body that one call sends."""
MOST_HEAD = 8 << 20
"""Bytes of an answer's headers: 100 lines of 64 KiB, which http.client takes, and more."""
MOST_FRAMING = 1 << 14
"""Bytes of a body's framing, its sizes of chunks and its trailers, which may come beyond as many as the body has."""
LEAST_RATE = 1000.0
"""Bytes a second of an answer, over each `timeout` of waiting for them."""


class Body(Protocol):
    """What is sent in pieces: a file, or a part of one."""

    def read(self, size: int = -1, /) -> bytes: ...

    def seek(self, place: int, /) -> object: ...


class _SteadyInput(io.RawIOBase):
    """What comes over a connection. Raises TimeoutError where too little came in a while that was spent waiting, OSError
    where more came than the bytes that are `room`, and what `check_signals` raises while it waits."""

    def __init__(self, raw: io.RawIOBase, window: float, source: socket.socket | None = None) -> None:
        self.room: float = MOST_HEAD
        self.size = 0
        self._raw = raw
        self._source = source
        self._window = window
        self._wait_seconds = 0.0
        self._came = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        began = time.monotonic()
        self._wait()
        size = self._raw.readinto(buffer)
        self._wait_seconds += time.monotonic() - began
        self._came += size or 0
        self.size += size or 0
        self.room -= size or 0
        if self.room < 0:
            raise OSError("an answer without end")
        if self._wait_seconds > self._window:
            if self._came < LEAST_RATE * self._window:
                raise TimeoutError(f"only {self._came} bytes in {self._wait_seconds:.0f} s")
            self._wait_seconds, self._came = 0.0, 0
        return size

    def _wait(self) -> None:
        """Wait for a byte. What TLS has decrypted already is one that no poll sees."""
        source = self._source
        if not isinstance(source, socket.socket) or (isinstance(source, ssl.SSLSocket) and source.pending()):
            return
        poll = select.poll()
        poll.register(source, select.POLLIN)
        end = time.monotonic() + self._window
        while not poll.poll(POLL_SECONDS * 1000):
            check_signals()
            if time.monotonic() > end:
                raise TimeoutError("timed out")

    def close(self) -> None:
        self._raw.close()
        super().close()


class _FramedReader(io.BufferedReader):
    """An answer whose lines are its framing once the headers are read. Raises OSError where that is more than its body."""

    def __init__(self, steady_input: _SteadyInput) -> None:
        super().__init__(steady_input)
        self._input = steady_input
        self._is_body = False
        self._framing = 0

    def begin_body(self, most: float) -> None:
        self._input.room, self._input.size, self._is_body = most, 0, True

    def readline(self, size: int | None = -1, /) -> bytes:
        line = super().readline(size)
        if self._is_body:
            check_signals()
            self._framing += len(line)
            if self._framing * 2 > MOST_FRAMING + self._input.size:
                raise OSError("an answer with more framing than body")
        return line


class SocketPool:
    """Connections to any host, through the proxy that the environment names; at most `parallel` are kept a host.

    No proxy is used for this machine: it would be another one's, and would read the logins that are sent in clear.
    No redirection is followed and nothing is tried again: both are the caller's to decide.
    """

    def __init__(self, timeout: float, parallel: int) -> None:
        self._sockets: weakref.WeakSet[socket.socket] = weakref.WeakSet()
        self._window = timeout
        self._timeout = Timeout(connect=min(timeout, 10.0), read=timeout)
        self._parallel = parallel
        self._managers: dict[tuple[str, bool], PoolManager] = {}

    def request(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        body: bytes | Body | None = None,
        is_outward: bool = False,
    ) -> BaseHTTPResponse:
        """The answer, its body unread. Raises HTTPError.

        `is_outward`: a server elsewhere named this URL, so it is not one of this machine or of its link.
        """
        return self._manager(url, is_outward).request(
            method,
            url,
            headers=dict(headers),
            body=cast(Any, body),
            redirect=False,
            retries=False,
            timeout=self._timeout,
            preload_content=False,
            decode_content=False,
        )

    def abort(self) -> None:
        """End every connection now: reads that wait in other threads fail. Later requests open new ones."""
        for one in tuple(self._sockets):
            with contextlib.suppress(OSError):
                socket.socket.shutdown(one, socket.SHUT_RDWR)  # under TLS, whose own shutdown is not for two threads

    def close(self) -> None:
        """Close the connections that nobody uses."""
        for manager in self._managers.values():
            manager.clear()

    def _manager(self, url: str, is_outward: bool) -> PoolManager:
        parts = urlsplit(url)
        place = f"{parts.scheme}://{parts.netloc}", is_outward
        if place not in self._managers:
            is_direct = is_loopback(parts.hostname) or proxy_bypass(parts.hostname or "")
            proxy = "" if is_direct else getproxies().get(parts.scheme, "")
            self._managers[place] = self._new_manager(proxy, is_outward and not proxy)
        return self._managers[place]

    def _new_manager(self, proxy: str, is_outward: bool) -> PoolManager:
        settings: dict[str, Any] = {"maxsize": self._parallel, "block": False, "blocksize": SENT_AT_ONCE}
        manager = ProxyManager(proxy, **settings) if proxy else PoolManager(**settings)

        def note(open_socket: socket.socket) -> None:
            if is_outward:
                refuse_inward(open_socket.getpeername()[0])
            self._sockets.add(open_socket)

        manager.pool_classes_by_scheme = _steady_pools(self._window, note)
        return manager


def make_steady(manager: Any, seconds: float, most: int) -> None:
    """Let another library's PoolManager give up a server that sends nothing or little for so long, or more than `most`
    bytes in one answer. Who calls it sets the timeout of reads."""
    manager.pool_classes_by_scheme = _steady_pools(seconds, lambda open_socket: None, most)


def _steady_pools(
    window: float, note: Callable[[socket.socket], None], most: float = math.inf
) -> dict[str, type[HTTPConnectionPool]]:
    """The classes of pools whose answers are steady; `note` hears of each connection before anything is sent."""

    class SteadyResponse(HTTPResponse):
        def __init__(self, sock: socket.socket, *arguments: Any, **words: Any) -> None:
            super().__init__(sock, *arguments, **words)
            self.fp = self._reader = _FramedReader(_SteadyInput(cast(Any, self.fp).detach(), window, sock))

        def begin(self) -> None:
            """Read the headers: those of interim answers (100 Continue) too, whose number http.client does not bound."""
            super().begin()
            self._reader.begin_body(most)

    class PlainConnection(HTTPConnection):
        response_class = SteadyResponse

        def connect(self) -> None:
            super().connect()
            note(self.sock)

    class TlsConnection(HTTPSConnection):
        response_class = SteadyResponse

        def connect(self) -> None:
            super().connect()
            note(self.sock)

    class PlainPool(HTTPConnectionPool):
        ConnectionCls = PlainConnection

    class TlsPool(HTTPSConnectionPool):
        ConnectionCls = TlsConnection

    return {"http": PlainPool, "https": TlsPool}
