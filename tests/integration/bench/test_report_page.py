"""The report in a real browser: drawn, light and dark, narrow and wide, and asking the network for nothing."""

from __future__ import annotations

import shutil
import struct
import subprocess
import threading
import zlib
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from stackbuild.model.results import Benchmarks, Case, Fingerprint, Series, Side
from stackbuild.pipeline.run_record import of_results
from stackbuild.views.html import html

CHROMIUM = shutil.which("chromium")
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
]

pytestmark = [pytest.mark.slow, pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")]


@pytest.fixture
def page(tmp_path: Path) -> Path:
    seconds = tuple(0.01 * (1 + n % 5 / 100) for n in range(20))
    series = (
        Series("candidate", seconds, seconds, seconds),
        Series("baseline", tuple(s * 1.02 for s in seconds), seconds, seconds),
    )
    cases = tuple(
        Case(f"resnet50/b{b}/float32", "resnet50", "float32", {}, b, b, "image", 17, "0" * 64, series) for b in (1, 8)
    )
    sides = (Side("candidate", "CPUExecutionProvider"), Side("baseline", "CPUExecutionProvider"))
    measured = Benchmarks("models", "models", "2026-11-20T09:00:00Z", Fingerprint({"cpu": "x"}), sides, cases)
    (tmp_path / "page.html").write_text(html(of_results(measured, None)))
    return tmp_path / "page.html"


def shot(page: Path, name: str, width: int, *flags: str) -> bytes:
    """The screenshot's pixels, and nothing but them."""
    picture = page.with_name(name)
    command = [str(CHROMIUM), *FLAGS, f"--user-data-dir={page.parent / name}.profile", f"--window-size={width},900"]
    subprocess.run(
        [*command, *flags, f"--screenshot={picture}", page.as_uri()], check=True, capture_output=True, timeout=120
    )
    return pixels(picture.read_bytes())


def pixels(png: bytes) -> bytes:
    """A PNG's inflated rows (filtered: enough to tell pictures apart and blank ones from drawn ones)."""
    at, data = 8, b""
    while at < len(png):
        (length,), kind = struct.unpack(">I", png[at : at + 4]), png[at + 4 : at + 8]
        data += png[at + 8 : at + 8 + length] if kind == b"IDAT" else b""
        at += 12 + length
    return zlib.decompress(data)


def test_it_is_drawn_light_and_dark_wide_and_on_a_phone(page: Path) -> None:
    light, phone = shot(page, "light.png", 1200), shot(page, "phone.png", 390)
    dark = shot(page, "dark.png", 1200, "--blink-settings=preferredColorScheme=0")
    assert len(set(light)) > 40 and len(set(phone)) > 40 and len(set(dark)) > 40
    assert light != dark and len(light) == len(dark)


def test_a_browser_fetches_the_page_and_nothing_else(page: Path, tmp_path: Path) -> None:
    asked: list[str] = []

    class Handler(SimpleHTTPRequestHandler):
        def log_message(self, format: str, *arguments: object) -> None:
            asked.append(self.path)

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(page.parent)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        command = [
            str(CHROMIUM),
            *FLAGS,
            f"--user-data-dir={tmp_path / 'profile'}",
            "--enable-logging=stderr",
            "--dump-dom",
        ]
        url = f"http://127.0.0.1:{server.server_address[1]}/page.html"
        done = subprocess.run([*command, url], check=True, capture_output=True, text=True, timeout=120)
    finally:
        server.shutdown()
        server.server_close()
    assert "resnet50/b8/float32" in done.stdout and "<svg" in done.stdout
    assert set(asked) <= {"/page.html", "/favicon.ico"} and "/page.html" in asked
