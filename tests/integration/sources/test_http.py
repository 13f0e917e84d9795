"""Downloads from a server that fails in every way it can."""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from stackbuild.core.cancel import Stopper
from stackbuild.core.errors import Interruption, LockError, MachineLacks
from stackbuild.sources.http import DownloadRequest, TransferLimits, fetch

BODY = bytes(range(256)) * 400
DIGEST = "sha256:" + hashlib.sha256(BODY).hexdigest()


SOON = TransferLimits(answer=0.5, window=0.5, rate=1000, total=20, most=1 << 20, pause=0.01)


@dataclass
class Server:
    """A server that answers by a script: one fault a request, then the whole file. Requests are kept."""

    faults: list[str] = field(default_factory=list)
    ranges: list[str] = field(default_factory=list)
    etag: str = '"one"'
    port: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/file.bin"


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: object) -> None:
            pass

        def do_GET(self) -> None:
            made.ranges.append(self.headers.get("Range", ""))
            answer(self, made, made.faults.pop(0) if made.faults else "")

    httpd = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    httpd.daemon_threads = True
    made.port = httpd.server_address[1]
    thread = threading.Thread(target=httpd.serve_forever, daemon=True)
    thread.start()
    yield made
    httpd.shutdown()
    httpd.server_close()
    thread.join()


def answer(handler: BaseHTTPRequestHandler, server: Server, fault: str) -> None:
    if fault.isdigit():
        handler.send_error(int(fault))
        return
    if fault == "loop":
        handler.send_response(302)
        handler.send_header("Location", server.url)
        handler.send_header("Content-Length", "0")
        handler.end_headers()
        return
    if fault == "stall":
        threading.Event().wait(1.2)
        handler.close_connection = True
        return
    start = 0
    asked = handler.headers.get("Range", "")
    if asked and handler.headers.get("If-Range") == server.etag:
        start = int(asked.removeprefix("bytes=").rstrip("-"))
    part = BODY[start:]
    handler.send_response(206 if start else 200)
    handler.send_header("ETag", server.etag)
    if start:
        handler.send_header("Content-Range", f"bytes {start}-{len(BODY) - 1}/{len(BODY)}")
    handler.send_header("Content-Length", str(len(part)))
    handler.end_headers()
    if fault.startswith("cut:"):
        handler.wfile.write(part[: int(fault[4:])])
        handler.wfile.flush()
        handler.close_connection = True
        handler.connection.close()
        return
    handler.wfile.write(part if fault != "other" else bytes(len(part)))


def get(server: Server, tmp_path: Path) -> Path:
    target = tmp_path / "got" / "file.bin"
    fetch(DownloadRequest(server.url, DIGEST), target, None, Stopper(), SOON)
    return target


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.parametrize("cut", [1, 2, 3, 100, 4096, 16384, 16385, 50_000, 100_000, len(BODY) - 1])
def test_a_cut_connection_is_resumed_where_it_ended(cut: int, server: Server, tmp_path: Path) -> None:
    server.faults = [f"cut:{cut}"]
    assert get(server, tmp_path).read_bytes() == BODY
    assert len(server.ranges) == 2
    assert server.ranges[1] in (f"bytes={cut}-", "")


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_file_that_changed_between_two_tries_is_fetched_anew(server: Server, tmp_path: Path) -> None:
    server.faults = ["cut:500"]
    original = server.etag

    def move_on() -> None:
        server.etag = '"two"'

    timer = threading.Timer(0.005, move_on)
    timer.start()
    assert get(server, tmp_path).read_bytes() == BODY
    timer.join()
    assert original == '"one"'


@pytest.mark.parametrize("fault", ["500", "429", "503", "stall"])
def test_a_passing_fault_is_tried_again(fault: str, server: Server, tmp_path: Path) -> None:
    server.faults = [fault, fault]
    assert get(server, tmp_path).read_bytes() == BODY
    assert len(server.ranges) == 3


@pytest.mark.parametrize(("fault", "tries"), [("404", 1), ("410", 1), ("500", 3), ("loop", 0), ("stall", 3)])
def test_a_lasting_fault_ends_after_three_tries_and_leaves_no_file(
    fault: str, tries: int, server: Server, tmp_path: Path
) -> None:
    server.faults = [fault] * 60
    with pytest.raises(MachineLacks, match=r"cannot be fetched"):
        get(server, tmp_path)
    assert not (tmp_path / "got" / "file.bin").exists()
    assert not tries or len(server.ranges) == tries


def test_other_bytes_are_refused_with_both_digests_and_leave_nothing(server: Server, tmp_path: Path) -> None:
    server.faults = ["other"]
    with pytest.raises(LockError, match=DIGEST.removeprefix("sha256:")) as stopped:
        get(server, tmp_path)
    assert hashlib.sha256(bytes(len(BODY))).hexdigest() in stopped.value.what
    assert stopped.value.where == server.url and not list((tmp_path / "got").iterdir())


def test_no_server_at_all_is_said_soon(tmp_path: Path) -> None:
    with pytest.raises(MachineLacks, match="refused"):
        fetch(DownloadRequest("http://127.0.0.1:9/x", ""), tmp_path / "x", None, Stopper(), SOON)


def test_a_stopped_run_stops_between_tries(server: Server, tmp_path: Path) -> None:
    server.faults = ["500"] * 3
    stopper = Stopper()
    stopper.signal = 2
    with pytest.raises(Interruption):
        fetch(DownloadRequest(server.url, DIGEST), tmp_path / "x", None, stopper)


def test_a_stop_is_seen_while_a_server_says_nothing(server: Server, tmp_path: Path) -> None:
    server.faults = ["stall"]
    stopper = Stopper()
    threading.Timer(0.1, stopper.set, (2,)).start()
    started = time.monotonic()
    with pytest.raises(Interruption):
        fetch(DownloadRequest(server.url, DIGEST), tmp_path / "x", None, stopper)
    assert time.monotonic() - started < 1.1 and not list(tmp_path.iterdir())
