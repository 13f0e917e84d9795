"""HTTP and HTTPS servers on the loopback that answer in every wrong way; each download ends soon and leaves nothing."""

from __future__ import annotations

import atexit
import gzip
import hashlib
import os
import resource
import shutil
import socket
import ssl
import struct
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from random import Random

from campaign.frame import CampaignCase, NotRun, Rig
from stackbuild.core.cancel import Stopper
from stackbuild.core.errors import Interruption, LockError, MachineLacks, Stop
from stackbuild.sources.http import DownloadRequest, TransferLimits, fetch

BODY = bytes(range(256)) * 200
DIGEST = "sha256:" + hashlib.sha256(BODY).hexdigest()
LIMITS = TransferLimits(answer=0.6, window=0.4, rate=1000, total=4, most=1 << 20, pause=0.01)
SOON = 9.0
"""Seconds after which a download must have ended, whatever the server does: three tries, on a busy machine."""
GROWTH = 200 << 20
"""Bytes by which a download may let this process grow."""
INWARD = ("http://127.0.0.1:PORT/x", "http://localhost:PORT/x", "http://[::ffff:127.0.0.1]:PORT/x", "http://0.0.0.0:PORT/x", "http://2130706433:PORT/x", "http://0x7f.1:PORT/x")
"""Ways to write this machine; the last ones as inet_aton(3) reads them."""
PLAIN = b"HTTP/1.1 200 OK\r\n"
OK = PLAIN + b'ETag: "one"\r\n'
LENGTH = b"Content-Length: %d\r\n\r\n" % len(BODY)


@dataclass(frozen=True)
class RawConnection:
    """The server's end of one connection, over which it sends any bytes."""

    line: socket.socket

    def say(self, *parts: bytes) -> None:
        for part in parts:
            self.line.sendall(part)

    def drip(self, data: bytes, pause: float = 0.5) -> None:
        """A byte every half a second: two a second."""
        for i in range(len(data)):
            self.line.sendall(data[i : i + 1])
            time.sleep(pause)


@dataclass(frozen=True)
class Talk(RawConnection):
    """One connection: what was asked, and the how-manieth it is."""

    request: bytes
    number: int
    url: str

    def wait(self) -> None:
        """Say nothing more until the other side goes."""
        self.line.settimeout(SOON)
        with suppress(OSError):
            while self.line.recv(1 << 16):
                pass


ServerScript = Callable[[Talk], None]


@dataclass(frozen=True)
class ServerCase:
    """What a server says. `ends`: what the download must come to; `whole`: it may also come whole."""

    script: ServerScript
    ends: type[Stop] | None = MachineLacks
    tls: bool = False
    trusted: bool = True


def says(*parts: bytes) -> ServerScript:
    return lambda talk: talk.say(*parts)


def says_and_waits(*parts: bytes) -> ServerScript:
    def script(talk: Talk) -> None:
        talk.say(*parts)
        talk.wait()

    return script


def leads_to(target: bytes) -> ServerScript:
    return says(b"HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: ", target, b"\r\n\r\n")


def endless(start: bytes, part: bytes) -> ServerScript:
    def script(talk: Talk) -> None:
        talk.say(start)
        for _ in range(1 << 16):
            talk.say(part)

    return script


def _first_cut(talk: Talk) -> None:
    """Half of it; then, asked for the rest, the whole again."""
    if talk.number == 0:
        talk.say(OK + LENGTH, BODY[: len(BODY) // 2])
    else:
        talk.say(OK + LENGTH, BODY)


def _resume(reply: bytes) -> ServerScript:
    def script(talk: Talk) -> None:
        if b"Range:" not in talk.request:
            talk.say(OK + LENGTH, BODY[:1000])
        else:
            talk.say(b'HTTP/1.1 206 Partial Content\r\nETag: "one"\r\n' + reply, BODY[1000:])

    return script


def _reset(talk: Talk) -> None:
    talk.say(OK + LENGTH, BODY[:100])
    talk.line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def _another_each_time(talk: Talk) -> None:
    data = bytes([talk.number]) * len(BODY)
    talk.say(PLAIN + b'ETag: "%d"\r\n' % talk.number + LENGTH, data[:1000] if talk.number < 2 else data)


REST = b"Content-Range: bytes 1000-%d/%d\r\nContent-Length: %d\r\n\r\n" % (len(BODY) - 1, len(BODY), len(BODY) - 1000)
SERVERS: dict[str, ServerCase] = {
    "a good one": ServerCase(says(OK + LENGTH, BODY), None),
    "a good one over TLS": ServerCase(says(OK + LENGTH, BODY), None, tls=True),
    "good without a length": ServerCase(says(PLAIN + b"Connection: close\r\n\r\n", BODY), None),
    "good in chunks": ServerCase(
        says(PLAIN + b"Transfer-Encoding: chunked\r\n\r\n%x\r\n" % len(BODY), BODY, b"\r\n0\r\n\r\n"), None
    ),
    "cut once": ServerCase(_first_cut, None),
    "cut once, and resumed": ServerCase(_resume(REST), None),
    "says nothing": ServerCase(lambda talk: talk.wait()),
    "says nothing over TLS": ServerCase(lambda talk: talk.wait(), tls=True),
    "closes at once": ServerCase(lambda talk: None),
    "resets in the middle": ServerCase(_reset),
    "2 bytes a second of headers": ServerCase(lambda talk: talk.drip(OK + LENGTH)),
    "2 bytes a second of headers over TLS": ServerCase(lambda talk: talk.drip(OK + LENGTH), tls=True),
    "2 bytes a second of the body": ServerCase(lambda talk: (talk.say(OK + LENGTH), talk.drip(BODY))[0]),
    "2 bytes a second of the body over TLS": ServerCase(lambda talk: (talk.say(OK + LENGTH), talk.drip(BODY))[0], tls=True),
    "half a body, then nothing": ServerCase(says_and_waits(OK + LENGTH, BODY[:9000])),
    "chunks of one byte, slowly": ServerCase(
        lambda talk: (talk.say(PLAIN + b"Transfer-Encoding: chunked\r\n\r\n"), talk.drip(b"1\r\nx\r\n" * 99, 0.1))[0]
    ),
    "a Content-Length of letters": ServerCase(says(PLAIN + b"Content-Length: abc\r\n\r\n", BODY)),
    "a Content-Length below nothing": ServerCase(says(PLAIN + b"Content-Length: -5\r\n\r\n", BODY)),
    "a Content-Length of too many digits": ServerCase(says(PLAIN + b"Content-Length: " + b"9" * 5000 + b"\r\n\r\n", BODY)),
    "a Content-Length of Arabic digits": ServerCase(says(PLAIN + "Content-Length: ٥\r\n\r\n".encode(), BODY)),
    "a Content-Length of a sign": ServerCase(says(PLAIN + b"Content-Length: +%d\r\n\r\n" % len(BODY), BODY)),
    "two Content-Lengths": ServerCase(says(PLAIN + b"Content-Length: 5\r\nContent-Length: 9\r\n\r\n", BODY), LockError),
    "less than promised": ServerCase(says(OK + LENGTH, BODY[:-1])),
    "more than promised": ServerCase(says(PLAIN + b"Content-Length: 9\r\n\r\n", BODY), LockError),
    "a promise of too much": ServerCase(says(PLAIN + b"Content-Length: 99999999999\r\n\r\n", BODY)),
    "a body without end": ServerCase(endless(PLAIN + b"\r\n", bytes(1 << 16))),
    "chunks without end": ServerCase(
        endless(PLAIN + b"Transfer-Encoding: chunked\r\n\r\n", b"10000\r\n" + bytes(1 << 16) + b"\r\n")
    ),
    "a chunk of no number": ServerCase(says(PLAIN + b"Transfer-Encoding: chunked\r\n\r\nxyz\r\n", BODY)),
    "a chunk below nothing": ServerCase(says(PLAIN + b"Transfer-Encoding: chunked\r\n\r\n-5\r\n", BODY)),
    "a huge chunk": ServerCase(says(PLAIN + b"Transfer-Encoding: chunked\r\n\r\nfffffffffffffff\r\n", BODY)),
    "chunks without their end": ServerCase(says(PLAIN + b"Transfer-Encoding: chunked\r\n\r\n%x\r\n" % len(BODY), BODY)),
    "a chunk's extension without end": ServerCase(endless(PLAIN + b"Transfer-Encoding: chunked\r\n\r\n5;", b"x" * 65536)),
    "a header line without end": ServerCase(endless(PLAIN + b"X: ", b"x" * 65536)),
    "headers without end": ServerCase(endless(PLAIN, b"X: y\r\n" * 1000)),
    "a status line of noise": ServerCase(says(b"\x00\xff\x1b[2J\r\n\r\n", BODY)),
    "an answer before HTTP": ServerCase(says(BODY)),
    "status 99999": ServerCase(says(b"HTTP/1.1 99999 X\r\n" + LENGTH, BODY)),
    "status 204": ServerCase(says(b"HTTP/1.1 204 No Content\r\n\r\n")),
    "status 226": ServerCase(says(b"HTTP/1.1 226 IM Used\r\n" + LENGTH, BODY)),
    "Continue without end": ServerCase(endless(b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 100)),
    "a part that nobody asked for": ServerCase(
        says(
            b"HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 0-99/%d\r\nContent-Length: 100\r\n\r\n" % len(BODY),
            BODY[:100],
        )
    ),
    "another part": ServerCase(_resume(b"Content-Range: bytes 5-%d/%d\r\n\r\n" % (len(BODY) - 1, len(BODY)))),
    "a part of a longer one": ServerCase(_resume(b"Content-Range: bytes 1000-%d/99999999\r\n\r\n" % (len(BODY) - 1))),
    "a part of noise": ServerCase(_resume(b"Content-Range: \x00\xff\r\n\r\n")),
    "another file each time": ServerCase(_another_each_time, LockError),
    "other bytes": ServerCase(says(OK + LENGTH, bytes(len(BODY))), LockError),
    "packed although not asked": ServerCase(
        lambda talk: talk.say(PLAIN + b"Content-Encoding: gzip\r\nConnection: close\r\n\r\n", gzip.compress(BODY)),
        LockError,
    ),
    "an ETag with a line": ServerCase(says(PLAIN + b'ETag: "a\r\n b"\r\n' + LENGTH, BODY[:50])),
    "an ETag of 60,000": ServerCase(says(PLAIN + b'ETag: "' + b"e" * 60000 + b'"\r\n' + LENGTH, BODY[:50])),
    "leads to itself": ServerCase(lambda talk: leads_to(talk.url.encode())(talk)),
    "leads to longer and longer": ServerCase(lambda talk: leads_to(talk.request.split()[1] + b"/x" * 500)(talk)),
    "leads to a file": ServerCase(leads_to(b"file:///etc/passwd")),
    "leads to ftp": ServerCase(leads_to(b"ftp://127.0.0.1/x")),
    "leads to data": ServerCase(leads_to(b"data:text/plain,x")),
    "leads to what is not an address": ServerCase(leads_to(b"http://[::1/x")),
    "leads to a number that is not a port": ServerCase(leads_to(b"http://127.0.0.1:99999/x")),
    "leads to nowhere": ServerCase(leads_to(b"")),
    "leads to control characters": ServerCase(leads_to(b"/\x1b[2J\x07\x00x")),
    "leads from TLS to plain": ServerCase(leads_to(b"http://127.0.0.1:9/x"), tls=True),
    "leads on, with a body without end": ServerCase(endless(b"HTTP/1.1 302 Found\r\nLocation: /x\r\n\r\n", bytes(1 << 20))),
    "asks for a password": ServerCase(
        says(b'HTTP/1.1 401 No\r\nWWW-Authenticate: Basic realm="\x1b[2J"\r\nContent-Length: 0\r\n\r\n')
    ),
    "not there, with a page without end": ServerCase(endless(b"HTTP/1.1 404 No\r\n\r\n", bytes(1 << 16))),
    "fails with a long reason": ServerCase(says(b"HTTP/1.1 500 " + b"x" * 60000 + b"\r\nContent-Length: 0\r\n\r\n")),
    "a certificate of nobody": ServerCase(says(OK + LENGTH, BODY), tls=True, trusted=False),
    "noise instead of TLS": ServerCase(says(b"\x16\x03\x01" + b"\xff" * 500)),
}


@cache
def _certificate() -> Path:
    """A key and a certificate of its own for the loopback, in one folder. Raises NotRun without openssl."""
    if not shutil.which("openssl"):
        raise NotRun("openssl is not installed")
    folder = Path(tempfile.mkdtemp(prefix="stackbuild-campaign-tls-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    words = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=campaign"]
    words += ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(folder / "key"), "-out", str(folder / "cert")]
    subprocess.run(words, check=True, capture_output=True)
    return folder


@dataclass
class _Serving:
    server: ServerCase
    listener: socket.socket
    speaks_tls: bool
    count: int = 0
    requests: list[bytes] = field(default_factory=list)
    threads: list[threading.Thread] = field(default_factory=list)

    @property
    def url(self) -> str:
        host, port = self.listener.getsockname()
        return f"http{'s' * self.speaks_tls}://{host}:{port}/file.bin"

    def accept(self) -> None:
        while True:
            try:
                line, _ = self.listener.accept()
            except OSError:
                return
            self.threads.append(threading.Thread(target=self._answer, args=(line, self.count), daemon=True))
            self.count += 1
            self.threads[-1].start()

    def _answer(self, line: socket.socket, number: int) -> None:
        with suppress(OSError, ValueError):
            line.settimeout(SOON)
            if self.server.tls:
                context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
                context.load_cert_chain(_certificate() / "cert", _certificate() / "key")
                line = context.wrap_socket(line, server_side=True)
            request = b""
            while self.speaks_tls is self.server.tls and b"\r\n\r\n" not in request and (part := line.recv(1 << 16)):
                request += part
            self.requests += [request] if request else []
            self.server.script(Talk(line, request, number, self.url))
        line.close()


@contextmanager
def serving(server: ServerCase, speaks_tls: bool, host: str = "127.0.0.1") -> Iterator[_Serving]:
    with socket.create_server((host, 0)) as listener:
        server_loop = _Serving(server, listener, speaks_tls)
        thread = threading.Thread(target=server_loop.accept, daemon=True)
        thread.start()
        try:
            yield server_loop
        finally:
            listener.shutdown(socket.SHUT_RDWR)
    thread.join()


def cases(random: Random) -> Sequence[CampaignCase]:
    rows = [CampaignCase(name, partial(_attempt, server, name)) for name, server in SERVERS.items()]
    silent = (name for name in SERVERS if name.startswith(("says nothing", "2 bytes", "half a body")))
    rows += [CampaignCase(f"led inward: {target}", partial(_led_inward, target)) for target in INWARD]
    return [*rows, *(CampaignCase(f"stopped: {name}", partial(_interrupt, SERVERS[name])) for name in silent)]


def _fetch(server: ServerCase, url: str, folder: Path, stopper: Stopper) -> type[Stop] | None:
    if server.tls and server.trusted:
        os.environ["SSL_CERT_FILE"] = str(_certificate() / "cert")
    try:
        fetch(DownloadRequest(url, DIGEST), folder / "file", None, stopper, LIMITS)
    except Stop as stop:
        return type(stop)
    finally:
        os.environ.pop("SSL_CERT_FILE", None)
    return None


def _attempt(server: ServerCase, name: str, folder: Path) -> str:
    with serving(server, server.tls or "noise instead of TLS" in name) as there:
        began, before = time.monotonic(), _memory()
        came_to = _fetch(server, there.url, folder, Stopper())
        took, growth = time.monotonic() - began, _memory() - before
    if took > SOON:
        return f"it took {took:.1f} s"
    if growth > GROWTH:
        return f"it took {growth >> 20} MiB"
    if came_to is not server.ends:
        return f"it came to {came_to}, not to {server.ends}"
    there_now = {path.name: path.read_bytes() for path in folder.iterdir()}
    if there_now != ({} if server.ends else {"file": BODY}):
        return f"it left {sorted(there_now)}"
    return ""


def _memory() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _led_inward(target: str, folder: Path) -> str:
    """A server elsewhere (127.0.0.2 plays it) leads to this machine: nothing is sent there."""
    with serving(ServerCase(says(OK + LENGTH, BODY)), False) as inner:
        place = target.replace("PORT", inner.url.rpartition(":")[2].partition("/")[0]).encode()
        with serving(ServerCase(leads_to(place)), False, "127.0.0.2") as outer:
            came_to = _fetch(outer.server, outer.url, folder, Stopper())
    if came_to is not MachineLacks or any(inner.requests):
        return f"it came to {came_to}, and {len(inner.requests)} requests came there"
    return ""


def _interrupt(server: ServerCase, folder: Path) -> str:
    """A signal while the server keeps the download waiting."""
    stopper = Stopper()
    with serving(server, server.tls) as there:
        timer = threading.Timer(0.3, stopper.set, (2,))
        began = time.monotonic()
        timer.start()
        came_to = _fetch(server, there.url, folder, stopper)
        took = time.monotonic() - began - 0.3
        timer.join()
    if came_to is not Interruption or took > 1.5:
        return f"it came to {came_to} after {took:.1f} s"
    return f"it left {[path.name for path in folder.iterdir()]}" if any(folder.iterdir()) else ""


RIG = Rig("servers", "downloads from hostile HTTP and HTTPS servers on the loopback", cases, needs=(), minimum=75)
