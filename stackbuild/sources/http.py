"""Downloads of archives: the one HTTP client. Checked, resumed, bounded; never a partial file under its final name.

At most three tries for each address, with a pause between them; a try resumes with Range where the server says that the
file is still the same. A mirror (a folder with `HOST/PATH` of each URL) is asked first and is alone where it is given.

The connection is a thread's own. Whoever waits for it sees a stop at once, gives up a server that does not answer or
sends too little in a while, and leaves off at a deadline: a read of a socket only ends by a byte or by its closing.
"""

from __future__ import annotations

import contextlib
import functools
import http.client
import re
import socket
import threading
import time
import urllib.error
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import IO, Any
from urllib.parse import urlsplit

from stackbuild.core.cancel import Stopper
from stackbuild.core.copy_file import copy_file
from stackbuild.core.digest import of_stream
from stackbuild.core.errors import LockError, MachineLacks, StepFailed
from stackbuild.core.loopback import is_loopback, refuse_inward
from stackbuild.sources.mirror import Mirror

TRIES = 3
CHUNK = 1 << 16
HOPELESS = (400, 401, 403, 404, 410, 451)
"""Answers that another try will not change."""
POLL_SECONDS = 0.05
MESSAGE_LIMIT = 200
"""Characters of a server's own words in a message."""


@dataclass(frozen=True)
class TransferLimits:
    """How long a server is waited for, in seconds, and how much is taken of it.

    `answer`: from the connection's start to the end of the headers, of each try. `rate`: the least bytes a second over
    each `window`. `total`: all tries of one address. `most`: bytes of one file. `pause`: before the second try, and
    twice that before the third.
    """

    answer: float = 60.0
    window: float = 30.0
    rate: float = 1000.0
    total: float = 6 * 3600.0
    most: int = 8 << 30
    pause: float = 1.0


LIMITS = TransferLimits()


@dataclass(frozen=True)
class DownloadRequest:
    """A file to fetch: its URL and its digest, `sha256:…` or `sha1:…` (ONNX Runtime's `deps.txt` has sha1); "" only asks."""

    url: str
    digest: str = ""


def named_digest(digest: str) -> str:
    """A digest with its algorithm; bare digits, as locks and recipes have them, are a sha256."""
    return digest if ":" in digest else f"sha256:{digest}"


def without_secret(text: str) -> str:
    """A text with URLs in it, without the name and the password before a host: an index's address may have them."""
    return re.sub(r"//[^/\s@]*@", "//…@", text)


def place_in(mirror: Path, url: str) -> Path:
    """Where a mirror has the file of that URL: `HOST/PATH`, the layout ONNX Runtime's `--cmake_deps_mirror_dir` has too.

    Raises StepFailed for a URL that would lead out of the mirror.
    """
    try:
        parts = urlsplit(url)
    except ValueError:  # such as a host in half a pair of brackets
        parts = urlsplit("")
    inside = PurePosixPath(parts.path.lstrip("/"))
    if parts.scheme != "https" or not parts.hostname or ".." in inside.parts or not inside.name:
        raise StepFailed(f"the URL {without_secret(url)!r} is refused: https, a host and a plain path")
    return mirror / parts.hostname / inside


def place_inside(url: str, mirror: Mirror) -> str:
    """The same within the mirror."""
    return str(place_in(mirror.folder, url).relative_to(mirror.folder))


def fetch(
    download: DownloadRequest, target: Path, mirror: Mirror | None, stopper: Stopper, limits: TransferLimits = LIMITS
) -> str:
    """Put the file at `target`, whole and checked; its sha256. Where that fails, nothing is left.

    Raises LockError when its digest is another, MachineLacks when nobody has it, Stopped.
    """
    partial = target.with_name(target.name + ".part")
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        if mirror is not None:
            _copy(download.url, partial, mirror, limits.most)
        else:
            _download(download.url, partial, stopper, limits)
        _check(download, partial)
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)
    return _digest(target, "sha256")


def in_mirror(url: str, mirror: Mirror) -> Path | None:
    """Where the mirror has it: at `HOST/PATH`, else `PATH`, else under its last name; the digest tells the right one."""
    usual = place_in(mirror.folder, url)
    inside = usual.relative_to(mirror.folder)
    others = (mirror.folder.joinpath(*inside.parts[1:]), mirror.folder / inside.name)
    return next((p for p in (usual, *others) if p.is_file()), None)


def _copy(url: str, partial: Path, mirror: Mirror, most: int) -> None:
    place = in_mirror(url, mirror)
    if place is None:
        raise MachineLacks(
            f"the mirror lacks {without_secret(url)}",
            where=place_inside(url, mirror),
            next=f"put it there: {place_in(mirror.folder, url)}",
            topic="network",
        )
    try:
        copy_file(place, partial, most)
    except OverflowError:
        raise StepFailed(
            f"the mirror's file of {without_secret(url)} is refused: {_too_long(most)}", where=str(place)
        ) from None


def _check(download: DownloadRequest, partial: Path) -> None:
    kind, _, digest = download.digest.partition(":")
    value = _digest(partial, kind) if kind else digest
    if value != digest:
        raise LockError(
            f"{kind} {value} came, the lock has {digest}",
            where=without_secret(download.url),
            next="somebody changed the file, or the mirror is damaged: fetch it by hand and compare, then run `stackbuild lock`",
        )


def _digest(path: Path, kind: str) -> str:
    with path.open("rb") as file:
        return of_stream(file, kind)


def _download(url: str, partial: Path, stopper: Stopper, limits: TransferLimits) -> None:
    if not url.startswith(("https://", "http://")):
        raise StepFailed(
            f"the URL {without_secret(url)[:MESSAGE_LIMIT]!r} is refused: https, or http of an index that is set up so"
        )
    partial.unlink(missing_ok=True)
    mark, problem, attempt = "", "", 0
    end = time.monotonic() + limits.total
    for attempt in range(TRIES):
        if attempt:
            _pause(limits.pause * 2 ** (attempt - 1), stopper)
        transfer = _Transfer(url, partial, mark, limits)
        try:
            transfer.run(stopper, end)
            return
        except urllib.error.HTTPError as error:
            problem = f"HTTP {error.code} {error.reason}"
            if error.code in HOPELESS:
                break
        except (http.client.HTTPException, OSError, ValueError, _RefusedAnswer) as error:  # URLError is an OSError
            problem = str(getattr(error, "reason", "") or error) or type(error).__name__
        if time.monotonic() >= end:
            break
        mark = transfer.mark
    raise MachineLacks(
        f"{without_secret(url)} cannot be fetched: {without_secret(problem)[:MESSAGE_LIMIT]}",
        where=f"tried {attempt + 1} time{'s' * (attempt > 0)}",
        next="check the address and the network, or give a mirror: --mirror DIR",
        topic="network",
    )


def _pause(seconds: float, stopper: Stopper) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        stopper.check()
        time.sleep(POLL_SECONDS)


class _RefusedAnswer(Exception):
    """The answer is not taken: too slow, too short, too long, or for another question."""


class _OnlySafer(urllib.request.HTTPRedirectHandler):
    """Follows a redirection (ten at most) to https, or to the scheme it came from; never to another."""

    def redirect_request(self, req, fp, code, msg, headers, newurl):  # type: ignore[no-untyped-def]
        fp.close()  # the handler would read all of its body, which may have no end
        if urlsplit(newurl).scheme not in ("https", urlsplit(req.full_url).scheme):
            raise urllib.error.HTTPError(newurl, 400, "redirected away from https", headers, fp)
        return super().redirect_request(req, fp, code, msg, headers, newurl)


@dataclass
class _Connections:
    """The connections of a transfer from `host`, which another thread may close."""

    host: str | None = None
    sockets: list[socket.socket] = field(default_factory=list)

    def opener(self, kind: type[http.client.HTTPConnection], request: urllib.request.Request) -> Any:
        """What opens a connection for a request.

        A server elsewhere does not lead to this machine or its link. Who is reached through a proxy is the proxy's to say.
        """
        parts = urlsplit(request.full_url)
        is_own = parts.hostname == self.host or is_loopback(self.host)
        is_direct = parts.scheme not in urllib.request.getproxies() or urllib.request.proxy_bypass(parts.hostname or "")
        return functools.partial(_connection, kind, self.sockets, not is_own and bool(is_direct))


class _PlainHandler(urllib.request.HTTPHandler):
    """Opens connections that the transfer knows, to close them from another thread."""

    def __init__(self, connections: _Connections) -> None:
        super().__init__()
        self.connections = connections

    def http_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(self.connections.opener(http.client.HTTPConnection, req), req)


class _Tls(urllib.request.HTTPSHandler):
    """The same over TLS."""

    def __init__(self, connections: _Connections) -> None:
        super().__init__()
        self.connections = connections

    def https_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(self.connections.opener(http.client.HTTPSConnection, req), req)


def _connection(
    kind: type[http.client.HTTPConnection],
    sockets: list[socket.socket],
    is_outward: bool,
    host: str,
    **words: Any,
) -> Any:
    connection = kind(host, **words)
    connect = connection.connect

    def connect_and_note() -> None:
        connect()
        if is_outward:
            refuse_inward(connection.sock.getpeername()[0])
        sockets.append(connection.sock)

    connection.connect = connect_and_note  # type: ignore[method-assign]
    return connection


@dataclass
class _Transfer:
    """One try for one file, in a thread of its own. `mark` is the file's strong ETag: only the same file is resumed."""

    url: str
    partial: Path
    mark: str
    limits: TransferLimits
    received_bytes: int = 0
    is_answered: bool = False
    is_given_up: bool = False
    error: BaseException | None = None
    end_event: threading.Event = field(default_factory=threading.Event)
    connections: _Connections = field(default_factory=lambda: _Connections())

    def run(self, stopper: Stopper, end: float) -> None:
        """Wait for the file, no longer than the limits say. Raises what the connection raised, _Refused, Stopped."""
        thread = threading.Thread(target=self._fetch, name="download", daemon=True)
        thread.start()
        try:
            self._watch(stopper, end)
        finally:
            self.is_given_up = True
            for open_socket in self.connections.sockets:
                with contextlib.suppress(OSError):
                    socket.socket.shutdown(
                        open_socket, socket.SHUT_RDWR
                    )  # under TLS, whose own shutdown is not for two threads
            thread.join(1.0)  # it may be asking for an address yet, which nothing ends; then it writes nothing
        if self.error is not None:
            raise self.error

    def _watch(self, stopper: Stopper, end: float) -> None:
        limits = self.limits
        began = since = time.monotonic()
        before = 0
        while not self.end_event.wait(POLL_SECONDS):
            stopper.check()
            now = time.monotonic()
            if now >= end:
                raise _RefusedAnswer(f"not whole after {limits.total:g} s")
            if not self.is_answered:
                if now - began > limits.answer:
                    raise _RefusedAnswer(f"no answer in {limits.answer:g} s")
                since = now
            elif now - since > limits.window:
                if self.received_bytes - before < limits.rate * limits.window:
                    raise _RefusedAnswer(f"only {self.received_bytes - before} bytes in {limits.window:g} s")
                since, before = now, self.received_bytes

    def _fetch(self) -> None:
        try:
            self._once()
        except BaseException as error:  # raised again by who waits
            self.error = error
            if isinstance(error, urllib.error.HTTPError):
                error.close()
        finally:
            self.end_event.set()

    def _once(self) -> None:
        """The whole try, from where the last one ended if the server still has the same file."""
        self.connections.host = urlsplit(self.url).hostname
        have = self.partial.stat().st_size if self.mark and self.partial.exists() else 0
        request = urllib.request.Request(self.url, headers={"User-Agent": "stackbuild", "Accept-Encoding": "identity"})
        if have:
            request.add_header("Range", f"bytes={have}-")
            request.add_header("If-Range", self.mark)
        with _opener(self.connections).open(request, timeout=self.limits.answer) as answer:
            if self.is_given_up:
                return
            self.mark = ""  # of an answer that is not taken, nothing is resumed
            start, length = _promised_range(answer, have, self.limits.most)
            tag = answer.headers.get("ETag") or ""
            self.mark = tag if re.fullmatch(r'"[\x21\x23-\x7e]{1,200}"', tag) else ""
            self.is_answered = True
            with self.partial.open("ab" if start else "wb") as file:
                self._drain(answer, file, start)
        if length is not None and self.received_bytes != length:
            raise _RefusedAnswer(f"{self.received_bytes} of {length} bytes came")

    def _drain(self, answer: http.client.HTTPResponse, file: IO[bytes], start: int) -> None:
        while (chunk := answer.read1(CHUNK)) and not self.is_given_up:
            self.received_bytes += len(chunk)
            if start + self.received_bytes > self.limits.most:
                raise _RefusedAnswer(_too_long(self.limits.most))
            file.write(chunk)


def _opener(connections: _Connections) -> urllib.request.OpenerDirector:
    """What speaks http and https, through a proxy where the environment names one, and nothing else."""
    opener = urllib.request.OpenerDirector()
    own = (_PlainHandler(connections), _Tls(connections), _OnlySafer(), urllib.request.ProxyHandler())
    for handler in (*own, urllib.request.HTTPDefaultErrorHandler(), urllib.request.HTTPErrorProcessor()):
        opener.add_handler(handler)
    return opener


def _promised_range(answer: http.client.HTTPResponse, have: int, most: int) -> tuple[int, int | None]:
    """From which byte on the answer goes, and how many bytes it promises (None: it does not say). Raises _Refused."""
    value = answer.headers.get("Content-Length")
    if value is not None and not re.fullmatch(r"[0-9]{1,18}", value):
        raise _RefusedAnswer(f"its Content-Length is {value[:40]!r}")
    length = None if value is None else int(value)
    start = 0
    if answer.status == 206:
        place = re.fullmatch(
            r"bytes ([0-9]{1,18})-([0-9]{1,18})/([0-9]{1,18}|\*)", answer.headers.get("Content-Range", "")
        )
        if not have or place is None or int(place[1]) != have or place[3] not in ("*", str(int(place[2]) + 1)):
            raise _RefusedAnswer("the server sent another part than was asked for")
        start, length = have, int(place[2]) + 1 - have
    elif answer.status != 200:
        raise _RefusedAnswer(f"HTTP {answer.status} is not a file")
    if start + (length or 0) > most:
        raise _RefusedAnswer(_too_long(most))
    return start, length


def _too_long(most: int) -> str:
    return f"larger than {most >> 30} GiB" if most >= 1 << 30 else f"larger than {most} bytes"
