"""Libraries of an older C library, made from this machine's, and a C++ library that is linked with them."""

import ctypes
import re
import subprocess
from pathlib import Path

import pytest

from stackbuild.plan.steps import older_libc

SOURCE = """
#include <cmath>
#include <dlfcn.h>
#include <filesystem>
#include <iostream>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
extern "C" __attribute__((visibility("default"))) double run(const char* text, double x) {
  std::thread other([&] { x = std::pow(x, 2.0) + std::fmod(x, 3.0); });
  other.join();
  std::random_device device;
  if (!std::filesystem::exists("/") || !dlopen(nullptr, RTLD_NOW) || device() == device()) return -2;
  try {
    return x + static_cast<double>(std::stoul(text));
  } catch (const std::exception&) {
    return -1;
  }
}
"""


def make(folder: Path, glibc: str) -> subprocess.CompletedProcess[str]:
    """Run the step's command, with this folder in the place of `/out`."""
    step_words = (
        *(older_libc.VERSIONS, older_libc.STUB, older_libc.LATER, str(older_libc.LATER_PARTS)),
        *(str(folder), str(folder)),
    )
    words = ("sh", "-c", older_libc.MAKE, older_libc.STEP, glibc, *step_words)
    return subprocess.run(words, capture_output=True, text=True)


def link(folder: Path, *flags: str) -> Path:
    """The C++ program above as a library."""
    library = folder / "library.so"
    (folder / "library.cpp").write_text(SOURCE)
    words = ("g++", "-std=c++17", "-O2", "-fPIC", "-shared", "-fvisibility=hidden", "-Wl,--no-undefined")
    subprocess.run([*words, "-o", library, folder / "library.cpp", *flags], check=True)
    return library


def versions(library: Path) -> set[tuple[int, ...]]:
    """The versions of the C library's functions that a library needs."""
    text = subprocess.run(["readelf", "--wide", "-V", library], capture_output=True, text=True, check=True).stdout
    return {tuple(map(int, found.split("."))) for found in re.findall(r"Name: GLIBC_([0-9.]+)", text)}


@pytest.mark.parametrize("glibc", ["2.25", "2.28", "2.34"])
def test_a_library_needs_nothing_newer_and_runs(tmp_path: Path, glibc: str) -> None:
    made = tmp_path / "made"
    assert make(made, glibc).returncode == 0
    library = link(tmp_path, f"-L{made}", "-static-libstdc++", "-Wl,--exclude-libs,ALL")
    assert max(versions(library)) <= tuple(map(int, glibc.split(".")))
    text = subprocess.run(["readelf", "-d", library], capture_output=True, text=True, check=True).stdout
    assert "libstdc++" not in text
    run = ctypes.CDLL(str(library)).run
    run.restype, run.argtypes = ctypes.c_double, (ctypes.c_char_p, ctypes.c_double)
    assert run(b"42", 1.5) == 45.75 and run(b"none", 1.5) == -1


def test_without_them_it_needs_newer_ones(tmp_path: Path) -> None:
    """Or the test above would show nothing."""
    assert max(versions(link(tmp_path))) > (2, 28)


def test_two_makings_are_the_same_bytes(tmp_path: Path) -> None:
    trees = [tmp_path / "one", tmp_path / "two"]
    for tree in trees:
        assert make(tree, "2.28").returncode == 0
    one, two = ({f.name: f.read_bytes() for f in tree.iterdir() if f.name != "libc.so"} for tree in trees)
    assert one == two and {"libc.so.6", "libpthread.so.0", "liblater.a"} <= one.keys()


def test_a_release_newer_than_the_base_is_refused(tmp_path: Path) -> None:
    process = make(tmp_path / "made", "2.99")
    assert process.returncode == 1
    assert re.search(r"the base has glibc 2\.[0-9]+, which is older than 2\.99", process.stderr)
