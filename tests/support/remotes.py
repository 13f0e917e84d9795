"""Remotes for tests: a registry in this process with faults to order, keys, and stores with something to share."""

from __future__ import annotations

import hashlib
import json
import os
import re
import tempfile
import threading
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from random import Random
from typing import Any

from stackbuild.core import digest
from stackbuild.publishing.ssh_keys import SigningKey, TrustedKey
from stackbuild.remote.files import ExportFolder
from stackbuild.remote.http import HttpClient, HttpLimits
from stackbuild.remote.pull import Puller, PullRequest, TrustedRemote
from stackbuild.remote.push import Push, Pusher, made_here
from stackbuild.remote.registry import OciRegistry
from stackbuild.remote.watch import MinimumRate
from stackbuild.store.maintenance import records
from stackbuild.store.records import Record
from stackbuild.store.store import Store, new_run_id

QUICK = HttpLimits(timeout=8.0, reads=2, writes=3, pause=0.01)
PATIENT = MinimumRate(window=6.0, rate=2000.0)
TEXT = "step: s\n"
CONTENT_TEXT = "content\nstep: s\n"


@cache
def a_key(name: str = "builder") -> SigningKey:
    """A private key; the same one for a name within a process."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    private = Ed25519PrivateKey.from_private_bytes(hashlib.sha256(name.encode()).digest())
    line = private.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH)
    import base64

    return SigningKey(private, base64.b64decode(line.split()[1]))


def trusted(*names: str) -> tuple[TrustedKey, ...]:
    return tuple(TrustedKey(a_key(name).blob, name) for name in names or ("builder",))


def key_files(folder: Path, name: str = "builder") -> tuple[Path, Path]:
    """The private and the public file of a key, as ssh-keygen would write them. Others may read them meanwhile."""
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

    private, public = folder / f"{name}.key", folder / f"{name}.key.pub"
    key = a_key(name).private
    line = key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH)
    texts = {private: key.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption()), public: line + f" {name}\n".encode()}
    for path, text in texts.items():
        fd, scratch = tempfile.mkstemp(dir=folder)  # of mode 0600
        with os.fdopen(fd, "wb") as file:
            file.write(text)
        Path(scratch).replace(path)
    return private, public


def open_at(root: Path) -> Store:
    return Store(root, new_run_id())


def fill(folder: Path, seed: int = 0, large: int = 2) -> None:
    """Files of all kinds: large ones in packs of their own, small ones, empty ones, links, odd names and modes."""
    random = Random(seed)
    for number in range(large):
        (folder / f"lib{number}.so").write_bytes(random.randbytes(600_000) * 2)
    (folder / "include" / "deep").mkdir(parents=True)
    for number in range(40):
        (folder / "include" / f"h{number}.h").write_bytes(random.randbytes(random.randrange(5000)))
    (folder / "include" / "deep" / "ü x\n.h").write_text("odd\n")
    (folder / "bin").mkdir()
    (folder / "bin" / "tool").write_text("#!/bin/sh\n")
    (folder / "bin" / "tool").chmod(0o755)
    (folder / "bin" / "alias").symlink_to("tool")
    (folder / "away").symlink_to("/etc/passwd")
    (folder / "empty").mkdir()
    (folder / "nothing").touch()


def put(store: Store, text: str = TEXT, content_text: str = CONTENT_TEXT, seed: int = 0, large: int = 2) -> Record:
    """An output in a store, under its key and its content key."""
    staging = store.stage("s")
    fill(staging.out, seed, large)
    tree = store.keep(staging)
    record = Record(
        digest.of_text(text), "s", "r", tree, text, 1.5, store.run, "2026-01-01T00:00:00+00:00", {"runner": "fake"}
    )
    store.record_alike(record, content_text)
    store.record(record)
    return record


def asked(text: str = TEXT, kind: Any = "r") -> PullRequest:
    return PullRequest(digest.of_text(text), text, "s", "r", kind)


def push_all(store: Store, writer: Any, name: str = "builder", check: bool = False) -> list[Push]:
    pusher = Pusher(store, writer, a_key(name), check)
    return [pusher.push(record, content) for record, content in made_here(tuple(records(store)))]


@dataclass
class Said:
    """What a pull said."""

    lines: list[tuple[str, str]] = field(default_factory=list)

    def __call__(self, level: str, text: str) -> None:
        self.lines.append((level, text))

    @property
    def warnings(self) -> list[str]:
        return [text for level, text in self.lines if level == "warning"]


def puller(store: Store, reader: Any, said: Said, *names: str, threshold: int = 1) -> Puller:
    return Puller(store, (TrustedRemote(reader, trusted(*names), threshold),), said, lambda: None, PATIENT)


@dataclass
class Answer:
    """What a fault answers in place of the registry: status, headers and body; `pause` seconds go by between its bytes.

    `is_cut`: the connection ends after the body, whatever length was promised.
    """

    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    pause: float = 0.0
    is_cut: bool = False


Fault = Callable[[str, str, "FakeRegistry"], Answer | None]
"""Method and path of a request → what is answered in place of the right answer, None for the right one."""


@dataclass
class FakeRegistry:
    """The part of the distribution protocol that stackbuild uses, with Debian's registry's habits: it verifies uploads
    and nothing that it serves, and refuses manifests that name blobs it lacks."""

    blobs: dict[str, bytes] = field(default_factory=dict)
    manifests: dict[str, bytes] = field(default_factory=dict)
    uploads: dict[str, bytes] = field(default_factory=dict)
    fault: Fault = lambda method, path, registry: None
    after: Callable[[str, str, FakeRegistry], None] = lambda method, path, registry: None
    seen: list[tuple[str, str]] = field(default_factory=list)
    peers: set[int] = field(default_factory=set)
    """Ports of the connections that requests came over."""
    has_ranges: bool = True
    has_list: bool = True
    page: int = 1000
    """Tags on a page of their list."""
    headers: Any = None
    """Of the request that a fault is asked about."""
    lock: threading.Lock = field(default_factory=threading.Lock)
    """Held by each request of an upload: whoever asks how far it is waits for the part that is under way."""
    port: int = 0

    def copy(self) -> FakeRegistry:
        return FakeRegistry(dict(self.blobs), dict(self.manifests))

    @property
    def url(self) -> str:
        return f"oci+http://127.0.0.1:{self.port}/t/sb"

    def client(self, limits: HttpLimits = QUICK) -> HttpClient:
        return HttpClient(f"http://127.0.0.1:{self.port}/v2/t/sb/", lambda host: None, limits)

    def reader(self, limits: HttpLimits = QUICK) -> OciRegistry:
        return OciRegistry(self.url, self.client(limits))

    def writer(self, limits: HttpLimits = QUICK) -> OciRegistry:
        return OciRegistry(self.url, self.client(limits), is_written=True)

    def answer(self, method: str, path: str, headers: Any, body: bytes) -> Answer:
        place, _, query = path.removeprefix("/v2/t/sb/").partition("?")
        kind, _, name = place.partition("/")
        if kind == "manifests":
            return self._manifest(method, name, body)
        if kind == "blobs" and name.startswith("uploads/"):
            return self._upload(method, name.removeprefix("uploads/"), query, body)
        if kind == "blobs":
            return self._blob(name.removeprefix("sha256:"), headers)
        if place == "tags/list" and self.has_list:
            return self._tags(query)
        return Answer(404)

    def _tags(self, query: str) -> Answer:
        """A page of tags after the `last` one, with a link to the next page."""
        words = dict(word.split("=") for word in query.split("&"))
        rest = [tag for tag in sorted(self.manifests) if tag > words.get("last", "")]
        page = rest[: self.page]
        body = json.dumps({"name": "t/sb", "tags": page}).encode()
        more = {"Link": f'</v2/t/sb/tags/list?n={words["n"]}&last={page[-1]}>; rel="next"'} if rest != page else {}
        return Answer(200, more, body)

    def _manifest(self, method: str, tag: str, body: bytes) -> Answer:
        if method == "PUT":
            value = json.loads(body)
            named = [value["config"]["digest"], *(layer["digest"] for layer in value["layers"])]
            if any(one.removeprefix("sha256:") not in self.blobs for one in named):
                return Answer(400, body=b'{"errors":[{"code":"MANIFEST_BLOB_UNKNOWN"}]}')
            self.manifests[tag] = body
            return Answer(201)
        return Answer(200, body=self.manifests[tag]) if tag in self.manifests else Answer(404)

    def _blob(self, name: str, headers: Any) -> Answer:
        if name not in self.blobs:
            return Answer(404)
        body = self.blobs[name]
        wanted = re.fullmatch(r"bytes=([0-9]+)-", headers.get("Range", ""))
        if wanted and self.has_ranges:
            at = int(wanted[1])
            return Answer(206, {"Content-Range": f"bytes {at}-{len(body) - 1}/{len(body)}"}, body[at:])
        return Answer(200, body=body)

    def _upload(self, method: str, name: str, query: str, body: bytes) -> Answer:
        if method == "POST":
            name = f"u{len(self.uploads)}"
            self.uploads[name] = b""
            return Answer(202, {"Location": f"/v2/t/sb/blobs/uploads/{name}"})
        if method == "GET":
            return Answer(
                204, {"Range": f"0-{max(0, len(self.uploads[name]) - 1)}", "Location": f"/v2/t/sb/blobs/uploads/{name}"}
            )
        self.uploads[name] += body
        if method == "PATCH":
            return Answer(202, {"Location": f"/v2/t/sb/blobs/uploads/{name}"})
        wanted = query.removeprefix("digest=sha256:")
        if digest.of_bytes(self.uploads[name]) != wanted:
            return Answer(400, body=b'{"errors":[{"code":"DIGEST_INVALID"}]}')
        self.blobs.setdefault(wanted, self.uploads[name])  # a damaged one is not replaced
        return Answer(201, {"Docker-Content-Digest": f"sha256:{wanted}"})

    @contextmanager
    def served(self) -> Iterator[FakeRegistry]:
        registry = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def log_message(self, *words: object) -> None: ...

            def handle_one(self) -> None:
                with registry.lock if "/uploads/" in self.path else nullcontext():
                    self._handled()

            def _body(self, size: int) -> bytes:
                """What comes of a body before the connection breaks: an upload keeps it."""
                found = bytearray()
                with suppress(OSError):
                    while len(found) < size and (piece := self.rfile.read1(size - len(found))):
                        found += piece
                return bytes(found)

            def _handled(self) -> None:
                method, path = self.command, self.path
                body = self._body(int(self.headers.get("Content-Length") or 0))
                registry.seen.append((method, path))
                registry.peers.add(self.client_address[1])
                registry.headers = self.headers
                answer = registry.fault(method, path, registry)
                if answer is None:
                    answer = registry.answer(method, path, self.headers, body)
                registry.after(method, path, registry)
                self._send(answer, method)

            do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = handle_one

            def _send(self, answer: Answer, method: str) -> None:
                try:
                    answer.body = answer.body or (b"{}" if answer.status == 404 else b"")
                    self.send_response(answer.status)
                    for name, text in answer.headers.items():
                        self.send_header(name, text)
                    if "Content-Length" not in answer.headers:
                        self.send_header("Content-Length", str(len(answer.body)))
                    self.end_headers()
                    if method != "HEAD":
                        step = 1 if answer.pause else len(answer.body) or 1
                        for at in range(0, len(answer.body), step):
                            self.wfile.write(answer.body[at : at + step])
                            time.sleep(answer.pause)
                    if answer.is_cut:
                        self.close_connection = True
                except OSError:
                    self.close_connection = True

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            block_on_close = False
            request_queue_size = 64

            def handle_error(self, request: object, address: object) -> None:
                """A client that gave up is what the faults are for."""

        server = Server(("127.0.0.1", 0), Handler)
        self.port = server.server_address[1]
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        try:
            yield self
        finally:
            server.shutdown()
            server.server_close()


def exported(root: Path, folder: Path, name: str = "builder") -> ExportFolder:
    """An export of all of a store."""
    store = open_at(root)
    try:
        writer = ExportFolder(f"file://{folder}", folder, is_written=True)
        push_all(store, writer, name)
    finally:
        store.close()
    return ExportFolder(f"file://{folder}", folder)


@dataclass
class SlowPulls:
    """A fault of a registry: each pull of one of these trees waits so long at its manifest. `most` were under way at once."""

    seconds: float
    trees: Collection[str]
    most: int = 0
    _current: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def fault(self, method: str, path: str, registry: FakeRegistry) -> Answer | None:
        if method == "GET" and path.rpartition("/")[2] in self.trees:
            with self._lock:
                self._current += 1
                self.most = max(self.most, self._current)
            time.sleep(self.seconds)
            with self._lock:
                self._current -= 1
        return None
