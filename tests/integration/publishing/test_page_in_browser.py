"""A project's page in Chromium: what it shows on a phone and on a desk, and in a dark system it is dark."""

from __future__ import annotations

import html
import shutil
import subprocess
import zlib
from pathlib import Path

import pytest

from stackbuild.publishing.index import publish
from stackbuild.publishing.publication import Publication
from stackbuild.publishing.wheel_readme import readme
from support.wheels import put_statements, small_wheel

CHROMIUM = shutil.which("chromium")
FLAGS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--allow-file-access-from-files")
pytestmark = [pytest.mark.slow, pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")]
FRAME = """<iframe src="{page}" style="border:0;width:{width}px;height:900px"></iframe>
<script>onload = () => {{ const page = frames[0].document.documentElement
document.title = page.scrollWidth + " of " + page.clientWidth
document.body.dataset.text = page.innerText }}</script>"""
WIDTHS = (390, 1280)


@pytest.fixture
def page(tmp_path: Path) -> Path:
    name = "onnxruntime-with-a-long-name"
    text = readme(name, "", "onnxruntime", "onnxruntime", ("gfx1100", "gfx942:sramecc+:xnack-"), ("libamdhip64.so.7",))
    version, headers = "1.22.1+rocm7.2.4.of.a.long.local.version", ("Summary: ONNX Runtime for AMD GPUs",)
    wheel = small_wheel(tmp_path / "a", version, name=name, requires=("numpy>=1.26",), headers=headers, description=text)
    url = "https://wheels.example.invalid/rocm-7.2/simple"
    publish((wheel,), tmp_path / "simple", Publication(attachments={wheel: put_statements(wheel)}, url=url))
    return tmp_path / "simple" / "onnxruntime-with-a-long-name" / "index.html"


def chromium(folder: Path, *words: str) -> str:
    command = [str(CHROMIUM), *FLAGS, f"--user-data-dir={folder / 'profile'}", *words]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=120).stdout


def shown(page: Path, folder: Path, width: int, style: str = "") -> tuple[int, int, str]:
    """How wide the page is in a frame of that width, the frame's own width, and the text that is visible."""
    (folder / "seen.html").write_text(page.read_text().replace("</head>", f"{style}</head>"))
    frame = folder / "frame.html"
    frame.write_text(FRAME.format(page="seen.html", width=width))
    document = chromium(folder, "--window-size=1400,1000", "--dump-dom", frame.as_uri())
    wide, _, room = document.partition("<title>")[2].partition("</title>")[0].partition(" of ")
    return int(wide), int(room), html.unescape(document.partition('data-text="')[2].partition('"')[0])


@pytest.mark.parametrize("width", WIDTHS)
def test_nothing_is_wider_than_the_window(page: Path, tmp_path: Path, width: int) -> None:
    wide, room, _ = shown(page, tmp_path, width)
    assert room == width and wide <= width
    assert shown(page, tmp_path, width, "<style>pre{white-space:pre!important}</style>")[0] > width


@pytest.mark.parametrize("width", WIDTHS)
def test_name_summary_claim_targets_size_install_line_and_use_are_seen(page: Path, tmp_path: Path, width: int) -> None:
    _, _, text = shown(page, tmp_path, width)
    for words in (
        *("onnxruntime-with-a-long-name\n", "ONNX Runtime for AMD GPUs\n", "verified (static rules; not run: load: no GPU here)"),
        *("gfx1100, gfx942:sramecc+:xnack-; ", " kB", 'pip install "onnxruntime-with-a-long-name @ https://wheels.example.invalid/'),
        *("#sha256=", "pip takes from its default index: numpy", "session = onnxruntime.InferenceSession("),
        *("GPU code for gfx1100: RX 7900 XTX", "libamdhip64.so.7 comes from the machine", "beside it: benchmarks.json"),
    ):
        assert words in text, (words, text)


def first_pixel(picture: Path) -> int:
    """The red of the upper left corner: the data of the first row begins after its filter's byte."""
    png, at, data = picture.read_bytes(), 8, b""
    while at < len(png):
        length = int.from_bytes(png[at : at + 4])
        data += png[at + 8 : at + 8 + length] if png[at + 4 : at + 8] == b"IDAT" else b""
        at += 12 + length
    return zlib.decompress(data)[1]


def test_it_is_dark_where_the_system_is(page: Path, tmp_path: Path) -> None:
    for flags, is_dark in (((), False), (("--blink-settings=preferredColorScheme=0",), True)):
        chromium(tmp_path, "--window-size=800,600", *flags, f"--screenshot={tmp_path / 'shot.png'}", page.as_uri())
        assert (first_pixel(tmp_path / "shot.png") < 64) is is_dark
