"""Keep-alive HTTP connections that another thread can end: the one module that imports urllib3.

urllib3 comes with the Docker library. It pools connections, is safe for threads, streams a body undecoded and reads
what has come so far (`read1`), so a slow server is noticed. A read that waits for a byte ends only by a byte, a timeout
or the end of its connection: `SocketPool.abort` ends all of them at once.
"""

from __future__ import annotations

import contextlib
import socket
import weakref
from collections.abc import Mapping
from typing import Any, Protocol, cast
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from urllib3 import BaseHTTPResponse, PoolManager, ProxyManager, Timeout
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.exceptions import ConnectTimeoutError, HTTPError, NewConnectionError, ProxyError, SSLError

from stackbuild.core.loopback import is_loopback

__all__ = ["NOT_REACHED", "BaseHTTPResponse", "Body", "HTTPError", "SocketPool"]

NOT_REACHED = (NewConnectionError, ConnectTimeoutError, SSLError, ProxyError)
"""Errors of a server that has seen nothing of the request."""

SENT_AT_ONCE = 1 << 18
"""Bytes of a body that one call sends."""


class Body(Protocol):
    """What is sent in pieces: a file, or a part of one."""

    def read(self, size: int = -1, /) -> bytes: ...

    def seek(self, place: int, /) -> object: ...


class SocketPool:
    """Connections to any host, through the proxy that the environment names; at most `parallel` are kept a host.

    No proxy is used for this machine: it would be another one's, and would read the logins that are sent in clear.
    No redirection is followed and nothing is tried again: both are the caller's to decide.
    """

    def __init__(self, timeout: float, parallel: int) -> None:
        self._sockets: weakref.WeakSet[socket.socket] = weakref.WeakSet()
        self._timeout = Timeout(connect=min(timeout, 10.0), read=timeout)
        self._parallel = parallel
        self._managers: dict[str, PoolManager] = {}

    def request(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes | Body | None = None
    ) -> BaseHTTPResponse:
        """The answer, its body unread. Raises HTTPError."""
        return self._manager(url).request(
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

    def _manager(self, url: str) -> PoolManager:
        parts = urlsplit(url)
        place = f"{parts.scheme}://{parts.netloc}"
        if place not in self._managers:
            is_direct = is_loopback(parts.hostname) or proxy_bypass(parts.hostname or "")
            self._managers[place] = self._new_manager("" if is_direct else getproxies().get(parts.scheme, ""))
        return self._managers[place]

    def _new_manager(self, proxy: str) -> PoolManager:
        settings: dict[str, Any] = {"maxsize": self._parallel, "block": False, "blocksize": SENT_AT_ONCE}
        manager = ProxyManager(proxy, **settings) if proxy else PoolManager(**settings)
        sockets = self._sockets

        class PlainConnection(HTTPConnection):
            def connect(self) -> None:
                super().connect()
                sockets.add(self.sock)

        class TlsConnection(HTTPSConnection):
            def connect(self) -> None:
                super().connect()
                sockets.add(self.sock)

        class PlainPool(HTTPConnectionPool):
            ConnectionCls = PlainConnection

        class TlsPool(HTTPSConnectionPool):
            ConnectionCls = TlsConnection

        manager.pool_classes_by_scheme = {"http": PlainPool, "https": TlsPool}
        return manager
