"""A project's page in Chromium: on a phone nothing is wider than the window, and in a dark system it is dark."""

from __future__ import annotations

import shutil
import subprocess
import zlib
from pathlib import Path

import pytest

from stackbuild.publishing.index import publish
from stackbuild.publishing.publication import Publication
from support.wheels import put_statements, small_wheel

CHROMIUM = shutil.which("chromium")
FLAGS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--allow-file-access-from-files")
pytestmark = [pytest.mark.slow, pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")]
FRAME = """<iframe src="{page}" style="border:0;width:390px;height:900px"></iframe>
<script>onload = () => {{ const page = frames[0].document.documentElement
document.title = page.scrollWidth + " of " + page.clientWidth }}</script>"""


@pytest.fixture
def page(tmp_path: Path) -> Path:
    wheel = small_wheel(tmp_path / "a", "1.22.1+rocm7.2.4.of.a.long.local.version", name="onnxruntime-with-a-long-name")
    url = "https://wheels.example.invalid/rocm-7.2/simple"
    publish((wheel,), tmp_path / "simple", Publication(attachments={wheel: put_statements(wheel)}, url=url))
    return tmp_path / "simple" / "onnxruntime-with-a-long-name" / "index.html"


def chromium(folder: Path, *words: str) -> str:
    command = [str(CHROMIUM), *FLAGS, f"--user-data-dir={folder / 'profile'}", *words]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=120).stdout


def test_nothing_is_wider_than_a_phone(page: Path, tmp_path: Path) -> None:
    frame = tmp_path / "frame.html"
    for style, expected in (("", True), ("<style>pre{white-space:pre!important}</style>", False)):
        seen = tmp_path / "seen.html"
        seen.write_text(page.read_text().replace("</head>", f"{style}</head>"))
        frame.write_text(FRAME.format(page=seen.name))
        wide, _, room = chromium(tmp_path, "--dump-dom", frame.as_uri()).partition("<title>")[2].partition("</title>")[0].partition(" of ")
        assert room == "390" and (int(wide) <= 390) is expected


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
