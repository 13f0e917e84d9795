"""Requests to a remote: redirections, logins, tries, and blobs that resume where a connection broke.

Why no library for registries: oras-py does not compare what it pulls with its digest (0.2.43 returns a damaged file
without an error), and other clients are programs of their own. The protocol is five requests; the connections are
urllib3's and the logins Docker's.
"""

from __future__ import annotations

import base64
import contextlib
import re
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from urllib.parse import urlencode, urljoin, urlsplit

from stackbuild.core import digest
from stackbuild.core.cancel import check_signals, pause
from stackbuild.core.http_pool import NOT_REACHED, BaseHTTPResponse, Body, HTTPError, SocketPool
from stackbuild.core.loopback import is_loopback
from stackbuild.remote.faults import RemoteFault, RemoteUnreachable
from stackbuild.remote.protocol import PARALLEL, ByteCounter

REDIRECTIONS = 5
RESUMPTIONS = 2
"""How often a blob goes on after its connection broke."""
MOST_PAUSE = 30.0
"""Seconds that a server's Retry-After is obeyed at most."""
MOST_TOKEN = 1 << 16
MOST_DRAINED = 1 << 14
"""Bytes of an answer that nobody wants which are read all the same, so that its connection is used again."""
BUSY = (429, 500, 502, 503, 504)
"""Answers that another try may change."""
READS = ("GET", "HEAD")
PORTS = {"http": 80, "https": 443}
_CONNECTION = re.compile(r"^\w+\([^()]*\): ")
_NEXT = re.compile(r'<([^<>]*)>; *rel="?next"?')
_CHALLENGE = re.compile(r'([a-z]+)="([^"]*)"')

Login = Callable[[str], tuple[str, str] | None]
"""User and password for a host."""


@dataclass(frozen=True)
class HttpLimits:
    """`timeout`: seconds without a byte. `reads`, `writes`: tries of requests that ask and of those that change.

    `pause`: seconds before the second try, doubled before each further one.
    """

    timeout: float = 30.0
    reads: int = 2
    writes: int = 4
    pause: float = 0.5
    parallel: int = PARALLEL


LIMITS = HttpLimits()


@dataclass(frozen=True)
class HttpRequest:
    """One request. `scope` is what a token is asked for, as registries name it.

    `is_repeatable`: sent twice, it does what it does once. A part of an upload is not: the registry may have some of it.
    """

    method: str
    url: str
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes | Body | None = None
    scope: str = ""
    is_repeatable: bool = True

    def rewind(self) -> None:
        """Before the body is sent again."""
        if self.body is not None and not isinstance(self.body, bytes):
            self.body.seek(0)


@dataclass(frozen=True)
class HttpPage:
    """A body, and the page after it as the server names it, "" where there is none."""

    body: bytes
    following: str = ""


class HttpClient:
    """One server, with the login that it asks for. Safe for threads. `request_count` counts the requests."""

    def __init__(self, root: str, login: Login = lambda host: None, limits: HttpLimits = LIMITS) -> None:
        self.root = root
        self.request_count = 0
        self.limits = limits
        self._login = login
        self._pool = SocketPool(limits.timeout, limits.parallel)
        self._authorization: dict[str, str] = {}
        self._lock = threading.Lock()

    def own(self, place: str) -> str:
        """A URL that this server named, absolute. Raises RemoteFault where it is another server's."""
        url = _join(self.root, place)
        if _origin(url) != _origin(self.root):
            raise RemoteFault("a place on another server", promise=urlsplit(self.root).netloc, actual=url)
        return url

    def abort(self) -> None:
        """End what other threads wait for."""
        self._pool.abort()

    def close(self) -> None:
        self._pool.close()

    @contextlib.contextmanager
    def send(self, request: HttpRequest) -> Iterator[BaseHTTPResponse]:
        """The answer, its body unread. Raises RemoteFault; what is read of the body raises it, too."""
        answer = self._try(request)
        try:
            yield answer
        except HTTPError as error:
            raise RemoteFault(f"the answer broke off: {_error_text(error)}", blob=request.url) from None
        finally:
            if request.method == "HEAD" or _is_read(answer):
                answer.release_conn()  # to be used again
            else:
                answer.close()

    def _try(self, request: HttpRequest) -> BaseHTTPResponse:
        tries = self._tries(request)
        fault = RemoteFault("no answer", blob=request.url)
        for attempt in range(tries):
            check_signals()
            if attempt:
                pause(self.limits.pause * 2 ** (attempt - 1))
                request.rewind()
            try:
                answer = self._authorize(request)
            except HTTPError as error:
                kind = RemoteUnreachable if isinstance(error, NOT_REACHED) else RemoteFault
                fault = kind(f"no answer: {_error_text(error)}", blob=request.url)
                continue
            if answer.status not in BUSY:
                return answer
            fault = RemoteFault(f"HTTP {answer.status}", blob=request.url)
            seconds = answer.headers.get("Retry-After", "")
            answer.close()
            if request.method not in READS and re.fullmatch(r"[0-9]{1,9}", seconds):
                pause(min(MOST_PAUSE, float(seconds)))
        raise fault

    def _tries(self, request: HttpRequest) -> int:
        if not request.is_repeatable:
            return 1
        return self.limits.reads if request.method in READS else self.limits.writes

    def _authorize(self, request: HttpRequest) -> BaseHTTPResponse:
        """The answer; where the server asks for a login, that to a second request with one."""
        answer, url = self._follow(request, self._authorization.get(request.scope, ""))
        if answer.status != 401 or _origin(url) != _origin(self.root):
            return answer  # who is redirected to asks for no login of this server's
        challenge = answer.headers.get("WWW-Authenticate", "")
        token = self._answer_to(challenge, request.scope)
        if not token:
            return answer
        answer.close()
        request.rewind()
        with self._lock:
            self._authorization[request.scope] = token
        return self._follow(request, token)[0]

    def _follow(self, request: HttpRequest, authorization: str) -> tuple[BaseHTTPResponse, str]:
        """The answer after redirections, and its URL. The login goes to this server alone, and never from https to http."""
        url = _join(self.root, request.url)
        for _ in range(REDIRECTIONS):
            headers = {"User-Agent": "stackbuild", "Accept-Encoding": "identity", **dict(request.headers)}
            if authorization and _origin(url) == _origin(self.root):
                headers["Authorization"] = authorization
            self.request_count += 1
            answer = self._pool.request(request.method, url, headers, request.body, self._is_outward(url))
            place = answer.headers.get("Location", "")
            if answer.status not in (301, 302, 303, 307, 308) or not place or request.method not in READS:
                return answer, url
            answer.close()
            target = _join(url, place)
            if urlsplit(target).scheme not in ("https", urlsplit(url).scheme):
                raise RemoteFault("redirected away from https", blob=request.url)
            url = target
        raise RemoteFault(f"redirected more than {REDIRECTIONS} times", blob=request.url)

    def _is_outward(self, url: str) -> bool:
        """Whether a URL is one that this server named, of another host, and this server is not of this machine itself."""
        return not _is_loopback(self.root) and urlsplit(url).hostname != urlsplit(self.root).hostname

    def _answer_to(self, challenge: str, scope: str) -> str:
        """The Authorization header that a 401 asks for, "" where none can be given. A login never goes over plain http."""
        kind, _, rest = challenge[:2000].partition(" ")
        host = urlsplit(self.root).netloc
        login = self._login(host) if _is_https(self.root) or _is_loopback(self.root) else None
        basic = "Basic " + base64.b64encode(":".join(login).encode()).decode() if login else ""
        if kind.lower() == "basic":
            return basic
        words = dict(_CHALLENGE.findall(rest))
        realm = _join("", words.get("realm", ""))
        if kind.lower() != "bearer" or not (_is_https(realm) or (_is_loopback(realm) and _is_loopback(self.root))):
            return ""
        query = {name: text for name, text in (("service", words.get("service", "")), ("scope", scope)) if text}
        headers = {"User-Agent": "stackbuild", **({"Authorization": basic} if basic else {})}
        self.request_count += 1
        url = f"{realm}{'&' if '?' in realm else '?'}{urlencode(query)}"
        answer = self._pool.request("GET", url, headers, None, self._is_outward(url))
        try:
            document = (
                digest.json_of(answer.read(MOST_TOKEN).decode("utf-8", "replace")) if answer.status == 200 else {}
            )
            token = document.get("token") or document.get("access_token")
        except (ValueError, AttributeError):
            return ""
        finally:
            answer.close()
        return f"Bearer {token}" if isinstance(token, str) and re.fullmatch(r"[\x21-\x7e]+", token) else ""

    def body(self, request: HttpRequest, most: int) -> bytes | None:
        """The whole body, None for 404. Raises RemoteFault, also where it is longer than `most`."""
        page = self.page(request, most)
        return page.body if page else None

    def page(self, request: HttpRequest, most: int) -> HttpPage | None:
        """The same with the page that follows, where its header `Link` names one."""
        with self.send(request) as answer:
            if answer.status == 404:
                return None
            if answer.status != 200:
                raise RemoteFault(f"HTTP {answer.status}", blob=request.url)
            pieces, size = [], 0
            while piece := answer.read1(1 << 16):
                pieces.append(piece)
                size += len(piece)
                if size > most:
                    raise RemoteFault("an answer without end", blob=request.url, promise=f"at most {most} bytes")
            following = _NEXT.search(answer.headers.get("Link", "")[:2000])
            return HttpPage(b"".join(pieces), following[1] if following else "")

    @contextlib.contextmanager
    def blob(self, request: HttpRequest, count: ByteCounter) -> Iterator[HttpBlob]:
        """The stored bytes at a URL. Raises RemoteFault."""
        reader = HttpBlob(self, request, count)
        try:
            yield reader
        finally:
            reader.close()


class HttpBlob:
    """A body that is read in pieces. Where its connection breaks, it goes on with a Range request.

    A server or proxy that ignores Range sends the body from its beginning: what came before is then read again and
    dropped. Whether the bytes are right is for who reads them.
    """

    def __init__(self, client: HttpClient, request: HttpRequest, count: ByteCounter) -> None:
        self._client = client
        self._request = request
        self._count = count
        self._size = 0
        self._breaks = 0
        self._responses = contextlib.ExitStack()
        self._answer = self._begin()

    def read(self, size: int) -> bytes:
        """At most so many bytes, b"" at the end. Raises RemoteFault."""
        while True:
            try:
                piece = self._answer.read1(size)
                if not piece and self._answer.length_remaining:
                    raise HTTPError(f"{self._answer.length_remaining} bytes are missing")
            except HTTPError as error:
                self._breaks += 1
                if self._breaks > RESUMPTIONS:
                    raise RemoteFault(f"the answer broke off: {_error_text(error)}", blob=self._request.url) from None
                self._answer = self._begin()
                continue
            self._size += len(piece)
            self._count(len(piece))
            return piece

    def close(self) -> None:
        self._responses.close()

    def _begin(self) -> BaseHTTPResponse:
        self._responses.close()
        more = (("Range", f"bytes={self._size}-"),) if self._size else ()
        request = HttpRequest("GET", self._request.url, (*self._request.headers, *more), None, self._request.scope)
        answer = self._responses.enter_context(self._client.send(request))
        if answer.status == 206 and self._size:
            if not answer.headers.get("Content-Range", "").startswith(f"bytes {self._size}-"):
                raise RemoteFault("another part than was asked for", blob=self._request.url)
        elif answer.status != 200:
            raise RemoteFault(f"HTTP {answer.status}", blob=self._request.url)
        else:
            self._skip(answer)
        return answer

    def _skip(self, answer: BaseHTTPResponse) -> None:
        remaining_bytes = self._size
        while remaining_bytes:
            piece = answer.read1(min(remaining_bytes, 1 << 18))
            if not piece:
                raise RemoteFault("a body shorter than before", blob=self._request.url)
            self._count(len(piece))
            remaining_bytes -= len(piece)


def _is_read(answer: BaseHTTPResponse) -> bool:
    """Whether a body has come to its end. What is left of a short one, such as that of a 404, is read now."""
    remaining_bytes = answer.length_remaining
    try:
        while remaining_bytes and remaining_bytes <= MOST_DRAINED and answer.read1(remaining_bytes):
            remaining_bytes = answer.length_remaining
    except HTTPError:
        return False
    return remaining_bytes == 0


def _error_text(error: Exception) -> str:
    """What a library says of an error, without the connection that it names first."""
    return _CONNECTION.sub("", str(error))[:200] or type(error).__name__


def _join(base: str, url: str) -> str:
    """The URL that a server names, absolute. Raises RemoteFault where it is not a URL."""
    try:
        joined_url = urljoin(base, url)
        _origin(joined_url)
    except ValueError as error:
        raise RemoteFault(f"not a URL: {error}", actual=url) from None
    return joined_url


def _origin(url: str) -> tuple[str, str | None, int | None]:
    """Scheme, host and port. Raises ValueError where the text is not a URL."""
    parts = urlsplit(url)
    return parts.scheme, parts.hostname, parts.port or PORTS.get(parts.scheme)


def _is_https(url: str) -> bool:
    return urlsplit(url).scheme == "https"


def _is_loopback(url: str) -> bool:
    return is_loopback(urlsplit(url).hostname)
