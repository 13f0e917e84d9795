"""The printed line as versions of uv read it: do they refuse other bytes than it names?"""

from __future__ import annotations

import functools
import http.server
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from stackbuild.publishing.index import publish
from stackbuild.publishing.publication import Publication
from support.wheels import small_wheel

pytestmark = [pytest.mark.network, pytest.mark.slow, pytest.mark.timeout(600)]


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """Nothing: the test's output is its own."""


@pytest.fixture
def served(tmp_path: Path) -> Iterator[str]:
    """The address at which the folder is served."""
    handler = functools.partial(QuietHandler, directory=str(tmp_path))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.mark.parametrize(
    ("version", "checks"),
    [("0.4.30", False), ("0.5.4", True), ("0.6.17", True), ("0.8.24", True), ("0.13.9", True)],
)
def test_uv_refuses_other_bytes_than_the_line_names(version: str, checks: bool, served: str, tmp_path: Path) -> None:
    """0.4.30 does not, nor does 0.5.0: docs/publishing.md asks for a later one."""
    index, venv, tool = tmp_path / "simple", tmp_path / "venv", tmp_path / "tool"
    receipt = publish((small_wheel(tmp_path / "w"),), index, Publication(url=f"{served}/simple"))
    download = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(tool), f"uv=={version}"]
    subprocess.run(download, check=True, capture_output=True, timeout=300)
    uv = str(tool / "bin" / "uv")
    subprocess.run([uv, "venv", "--quiet", "--python", sys.executable, str(venv)], check=True, capture_output=True)
    python = str(venv / "bin" / "python")

    def install() -> subprocess.CompletedProcess[str]:
        words = [uv, "pip", "install", "--no-cache", "--no-index", "--python", python, "--reinstall", receipt.wheels[0].requirement]
        return subprocess.run(words, capture_output=True, text=True, timeout=100)

    assert install().returncode == 0
    other = small_wheel(tmp_path / "other", content="other bytes")
    (index / "demo-pkg" / other.name).write_bytes(other.read_bytes())
    done = install()
    assert (done.returncode != 0 and "Hash mismatch" in done.stderr) is checks, done.stderr
