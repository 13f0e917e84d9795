"""The report in a real browser: drawn whole, light and dark, narrow and wide, accessible, fetching nothing."""

from __future__ import annotations

import json
import re
import shutil
import struct
import subprocess
import tarfile
import threading
import zlib
from functools import partial
from html import unescape
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from stackbuild.model.findings import Rung, Status, Verification
from stackbuild.model.results import Benchmarks, Case, Fingerprint, OpTime, Series, Side
from stackbuild.pipeline.run_record import BuiltFile, Delivery, RunRecord, TimeSpan, of_results
from stackbuild.views.html import html
from support.report_samples import verdict

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
# A screenshot is taken when the page has been drawn, not at whichever frame a busy machine has got to.
DRAWN = ["--run-all-compositor-stages-before-draw", "--virtual-time-budget=10000"]

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
        [*command, *DRAWN, *flags, f"--screenshot={picture}", page.as_uri()], check=True, capture_output=True, timeout=120
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


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with every section, four sides, long names and long reasons."""
    seconds = tuple(0.01 * (1 + n % 5 / 100) for n in range(20))
    labels = ("candidate", "baseline", "MIGraphXExecutionProvider", "CPUExecutionProvider")
    ops = (OpTime("FusedConvolutionWithBiasAndActivation", "CPUExecutionProvider", 0.01, 3),)
    series = tuple(Series(label, tuple(s * (1 + n / 9) for s in seconds), seconds, seconds, 1 << 28, 1 << 30, ops=ops)
                   for n, label in enumerate(labels))  # fmt: skip
    name = "Attention/float32/B1_H4/4_S128_T128_D64/64_mask=none_4-D_with_a_long_name"
    cases = tuple(Case(f"{name}/b{b}", name, "float32", {}, b, b, "image", 17, "0" * 64, series) for b in (1, 8))
    sides = tuple(Side(label, "CPUExecutionProvider", "x" * 60 + ".whl") for label in labels)
    measured = Benchmarks("models", "models", "2026-11-20T09:00:00Z", Fingerprint({"cpu": "x"}), sides, cases)
    wheel = "stackbuild_kernels-0.1.0-py3-none-manylinux_2_34_x86_64.whl"
    rungs = (Rung("load with ROCm", Status.PASSED, "in the root file system /root/.cache/" + "0123456789abcdef" * 8, 1.0),
             Rung("GPU at work", Status.SKIPPED, "no AMD GPU here", 0.0))  # fmt: skip
    folder = tmp_path_factory.mktemp("whole")
    install = f'pip install "stackbuild-kernels @ file:///srv/dist/{wheel}#sha256={"ab" * 32}"'
    run = RunRecord(
        "debian-13, run 20261123T045429", "2026-11-23", 300.0,
        (TimeSpan("kernels", 0, 200, "run", 9, 1), TimeSpan("a.step.with.a.long.name", 200, 2, "failed", says="line\n" * 9)),
        (TimeSpan("verify", 202, 60, "run", says="6 checks passed, 2 not run, 0 failed"),), ("a warning",),
        (Verification(wheel, "ab" * 32, rungs),), measured, verdict(), facts={"recipe": "debian-13"},
        delivery=Delivery((BuiltFile(wheel, 9_123_456, "ab" * 32),), install, "dist/simple", (("lock", folder / "x.lock.yaml"),)),
    )  # fmt: skip
    (folder / "page.html").write_text(html(run))
    return folder / "page.html"


def in_browser(page: Path, script: str, width: int, *flags: str) -> Any:
    """What a script finds in the page at that width: it puts JSON into `document.title`. The policy against scripts is left out."""
    text = re.sub(r"<meta http-equiv=.*?>", "", page.read_text())
    probe = page.with_name(f"probe-{width}.html")
    probe.write_text(text.replace("</body>", f"<script>{script}</script></body>"))
    frame = page.with_name(f"frame-{width}.html")
    frame.write_text(
        f'<!doctype html><title>none</title><iframe src="{probe.name}" style="width:{width}px;height:900px"></iframe>'
        "<script>addEventListener('message', e => { document.title = e.data })</script>"
    )
    command = [str(CHROMIUM), *FLAGS, *flags, f"--user-data-dir={page.parent / 'probe.profile'}", "--allow-file-access-from-files",
               "--virtual-time-budget=10000", "--dump-dom"]  # fmt: skip
    done = subprocess.run([*command, frame.as_uri()], check=True, capture_output=True, text=True, timeout=120)
    found = re.search(r"<title>(.*?)</title>", done.stdout, re.DOTALL)
    assert found and found[1] != "none", done.stdout[:500]
    return json.loads(unescape(found[1]))


@pytest.mark.parametrize("width", [1280, 390])
def test_no_column_is_clipped(whole: Path, width: int) -> None:
    """The screenshot is the same with every overflow shown, and no element is wider than what shows it."""
    shown = whole.with_name(f"shown-{width}.html")
    shown.write_text(whole.read_text().replace("</style>", "* { overflow: visible !important; }</style>"))
    hidden_head = "thead { overflow: hidden !important; }" if width < 640 else ""
    shown.write_text(shown.read_text().replace("</style>", hidden_head + "</style>"))
    assert framed(whole, f"as-is-{width}.png", width) == framed(shown, f"shown-{width}.png", width)
    script = """
      const wide = [...document.querySelectorAll('main *, header *')].filter(e => !e.closest('svg') && !e.closest('thead')
        && (e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).display !== 'inline'
            || e.getBoundingClientRect().right > innerWidth + 1));
      parent.postMessage(JSON.stringify({width: innerWidth, wide: wide.map(e => e.outerHTML.slice(0, 200))}), '*');"""
    found = in_browser(whole, script, width)
    assert found == {"width": width, "wide": []}


def test_no_word_in_a_card_is_broken(whole: Path) -> None:
    """The first column of a case's table has one line a row beside four sides."""
    script = """
      const high = [...document.querySelectorAll('article tbody th, article thead th')].filter(e => !e.closest('details') && e.offsetHeight > 30);
      parent.postMessage(JSON.stringify(high.map(e => e.textContent)), '*');"""
    assert in_browser(whole, script, 1280) == []
    narrow = whole.with_name("anywhere.html")
    narrow.write_text(
        whole.read_text().replace(
            "</style>", "article { width: 24rem; } article th { overflow-wrap: anywhere; }</style>"
        )
    )
    assert "latency, ms" in in_browser(narrow, script, 1280)


def test_a_clipped_column_would_be_found(whole: Path) -> None:
    narrow = whole.with_name("narrow.html")
    narrow.write_text(whole.read_text().replace("</style>", "table { min-width: 60rem; }</style>"))
    script = "parent.postMessage(JSON.stringify(document.documentElement.scrollWidth > innerWidth), '*');"
    assert in_browser(narrow, script, 390) is True and in_browser(whole, script, 390) is False


def framed(page: Path, name: str, width: int) -> bytes:
    """The pixels of the page in a frame of that width: a window of 390 pixels is narrower than Chromium's own least."""
    frame = page.with_name(f"{name}.html")
    frame.write_text(
        f'<!doctype html><body style="margin:0"><iframe src="{page.name}" style="width:{width}px;height:7000px;border:0">'
    )
    picture = page.with_name(name)
    flags = [f"--user-data-dir={page.parent / 'framed.profile'}", f"--window-size={max(width, 600)},7000"]
    subprocess.run(
        [str(CHROMIUM), *FLAGS, *DRAWN, *flags, f"--screenshot={picture}", frame.as_uri()],
        check=True,
        capture_output=True,
        timeout=120,
    )
    return pixels(picture.read_bytes())


@pytest.mark.network
@pytest.mark.parametrize("flags", [(), ("--blink-settings=preferredColorScheme=0",)], ids=["light", "dark"])
def test_axe_finds_no_barrier(whole: Path, tmp_path: Path, flags: tuple[str, ...]) -> None:
    """Contrast, labels, headings, keyboard: axe-core's rules for WCAG 2.2 AA and its best practices."""
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("npm is not installed")
    subprocess.run([npm, "pack", "--silent", "axe-core@4"], cwd=tmp_path, check=True, capture_output=True, timeout=120)
    (packed,) = tmp_path.glob("axe-core-*.tgz")
    with tarfile.open(packed) as archive:
        member = archive.extractfile("package/axe.min.js")
        assert member
        axe = member.read().decode().replace("</script>", "<\\/script>")
    script = (
        axe
        + """
      axe.run(document).then(r => parent.postMessage(JSON.stringify({
        dark: matchMedia('(prefers-color-scheme: dark)').matches, passes: r.passes.length,
        violations: r.violations.map(v => v.id + ': ' + v.nodes.map(n => n.html).slice(0, 3).join(' | '))}), '*'));"""
    )
    for width in (1280, 390):
        found = in_browser(whole, script, width, *flags)
        assert found["violations"] == [] and found["passes"] > 15 and found["dark"] == bool(flags)
    seeded = whole.with_name("seeded.html")
    seeded.write_text(
        whole.read_text().replace('<html lang="en">', "<html>").replace("--quiet: #5b646d", "--quiet: #bbb")
    )
    found = in_browser(seeded, script, 1280)
    assert {v.partition(":")[0] for v in found["violations"]} >= {"html-has-lang", "color-contrast"}


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
