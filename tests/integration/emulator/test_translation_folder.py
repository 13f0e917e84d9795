"""The folder of translated kernels: it may be moved, lie at an odd path, be used by two at once, and hold the rest of a crash."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("tinygrad")

from stackbuild.core.errors import MachineLacks
from stackbuild.emulator import translate as translation
from stackbuild.emulator.cache_files import LACKS
from support.budget_kernels import HOT_LOOP
from support.one_kernel_object import code_object
from support.paths import ROOT
from support.sanitizer_defects import SeededDefect

Translate = Callable[[Path], Path]


@pytest.fixture
def translate(monkeypatch: pytest.MonkeyPatch) -> Translate:
    plain = SeededDefect("", "", HOT_LOOP, HOT_LOOP)
    monkeypatch.setattr(translation, "load", lambda data: code_object(plain, HOT_LOOP, "hot_loop"))
    return translate_hot_loop


def translate_hot_loop(folder: Path) -> Path:
    return translation.translate(b"made", "gfx1100", folder, sanitize=False, counters=True, kernels=["hot_loop"])


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of translated kernels that nobody damaged."""
    plain = SeededDefect("", "", HOT_LOOP, HOT_LOOP)
    folder = tmp_path_factory.mktemp("translated")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(translation, "load", lambda data: code_object(plain, HOT_LOOP, "hot_loop"))
        translate_hot_loop(folder)
    return folder


RUN = """
import ctypes, struct, sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from support.emulator_executor import Executor, LaunchSize, executor_library
memory = (ctypes.c_uint8 * 512)()
executor = Executor(Path(sys.argv[2]), executor_library(Path(sys.argv[3])))
print(executor.dispatch("hot_loop", LaunchSize((1, 1, 1), (32, 1, 1)), struct.pack("<Q", ctypes.addressof(memory)))["instructions"])
"""


def instructions(folder: Path, tools: Path) -> int:
    """How many the kernel ran, in a process of its own, which has no library loaded before."""
    command = [sys.executable, "-c", RUN, str(ROOT / "tests"), str(folder), str(tools)]
    return int(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)


def test_it_runs_where_it_was_moved_to(translate: Translate, tmp_path: Path) -> None:
    out = translate(tmp_path / "a store, sanitized: the first")
    assert instructions(out, tmp_path) == 1707
    out.parent.rename(tmp_path / "moved")
    assert instructions(tmp_path / "moved" / out.name, tmp_path) == 1707


def test_what_a_crash_left_is_translated_anew(translate: Translate, tmp_path: Path) -> None:
    out = translate(tmp_path / "store")
    text = (out / "kernels.json").read_text()
    (operations,) = (tmp_path / "store").glob("operations-*")
    for file, rest in ((out / "kernels.json", text[: len(text) // 2]), (operations / "index.json", "")):
        file.write_text(rest)
    for library in (*out.glob("*.so"), *operations.glob("*.so")):
        library.unlink()
    assert instructions(translate(tmp_path / "store"), tmp_path) == 1707


def cut(data: bytes) -> bytes:
    return data[: len(data) // 2]


def flip(data: bytes) -> bytes:
    return data[: len(data) // 2] + bytes([data[len(data) // 2] ^ 4]) + data[len(data) // 2 + 1 :]


def empty(data: bytes) -> bytes:
    return b""


@pytest.mark.parametrize("damage", [cut, flip, empty])
@pytest.mark.parametrize(
    "pattern",
    ["*/kernel_*.so", "*/kernel_*.txt", "*/kernel_*.counts", "*/image.bin", "operations-*/*.so", "*/kernels.json"],
)
def test_a_damaged_file_is_made_anew(
    pattern: str, damage: Callable[[bytes], bytes], store: Path, translate: Translate, tmp_path: Path
) -> None:
    shutil.copytree(store, tmp_path / "store")
    (file,) = (tmp_path / "store").glob(pattern)
    before = file.read_bytes()
    file.write_bytes(damage(before))
    out = translate(tmp_path / "store")
    assert file.read_bytes() == before
    assert instructions(out, store) == 1707


@pytest.mark.parametrize("text", ["null", "[]", '{"kernels": 5}', '{"kernels": [{}]}', "[" * 100_000, "\0", "{}"])
def test_a_list_of_another_form_counts_as_none(text: str, store: Path, translate: Translate, tmp_path: Path) -> None:
    shutil.copytree(store, tmp_path / "store")
    for file in (*(tmp_path / "store").glob("*/kernels.json"), *(tmp_path / "store").glob("*/index.json")):
        file.write_text(text)
    assert instructions(translate(tmp_path / "store"), store) == 1707


def test_what_is_whole_is_not_translated_again(
    store: Path, translate: Translate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(store, tmp_path / "store")
    monkeypatch.setattr(translation, "compiler", lambda: "/nothing")
    translate(tmp_path / "store")


def test_the_image_is_whole_while_another_process_reads_it(translate: Translate, tmp_path: Path) -> None:
    image = translate(tmp_path / "store") / translation.IMAGE
    before = image.stat().st_ino, image.stat().st_mtime_ns
    assert translate(tmp_path / "store") == image.parent
    assert (image.stat().st_ino, image.stat().st_mtime_ns) == before
    image.write_bytes(image.read_bytes()[:-1])
    translate(tmp_path / "store")
    assert image.stat().st_ino != before[0]


def test_another_processor_has_another_folder(
    translate: Translate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A store that moves to a processor without AVX-512 would end there with an illegal instruction."""
    first = translate(tmp_path / "store")
    monkeypatch.setattr(translation, "_processor", lambda file: b"flags\t\t: fpu sse2\n")
    translation._sources.cache_clear()
    try:
        assert translate(tmp_path / "store") != first
    finally:
        monkeypatch.undo()
        translation._sources.cache_clear()


def test_a_processor_is_known_by_its_features(tmp_path: Path) -> None:
    listing = tmp_path / "cpuinfo"
    listing.write_text("processor\t: 0\nflags\t\t: fpu sse2\n\nprocessor\t: 1\nflags\t\t: fpu sse2 avx\n")
    assert translation._processor(listing) == b"flags\t\t: fpu sse2\n"
    assert translation._processor(tmp_path / "none") == b""


@pytest.mark.parametrize("lack", [text for text in LACKS if text != "Disk quota exceeded"])
def test_a_compiler_that_says_so_is_the_same(lack: str, tmp_path: Path) -> None:
    process = subprocess.Popen(["sh", "-c", f"echo 'as: {lack}' >&2; exit 1"], stderr=subprocess.PIPE)
    with pytest.raises(MachineLacks, match=f"the store takes no kernels: {lack}"):
        translation._finish((tmp_path / "k.new", tmp_path / "k.so", process), "cc", lambda: None)


@pytest.mark.parametrize("data", [b"junk", b"", None])
def test_the_command_says_in_one_line_what_is_wrong(data: bytes | None, tmp_path: Path) -> None:
    place = tmp_path / "object.co"
    if data is not None:
        place.write_bytes(data)
    command = [sys.executable, "-m", "stackbuild.emulator", "translate", str(place), "--target", "gfx1100", "--folder", str(tmp_path / "f")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and done.stdout == ""
    assert len(done.stderr.splitlines()) == 1 and "Traceback" not in done.stderr
