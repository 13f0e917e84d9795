"""Real libraries from the machine's compiler: what the reader says is what the linker was told."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from stackbuild.inspection import Expectations, inspect, judge

pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")

SOURCE = """
extern int rocblas_create_handle(void *);
int GetProvider(void) { return 0; }
__attribute__((visibility("hidden"))) int hidden(void) { return 1; }
"""
STRIPPED = ("-Wl,-soname,libonnxruntime_providers_rocm.so", "-Wl,-z,noexecstack", "-s")


def compiled(folder: Path, *flags: str, source: str = SOURCE) -> Path:
    path = folder / "libonnxruntime_providers_rocm.so"
    (folder / "x.c").write_text(source)
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", path, folder / "x.c", *flags], check=True)
    return path


def rules(path: Path, expected: Expectations | None = None) -> set[str]:
    return {finding.rule for finding in judge(inspect(path), expected)}


def test_a_clean_library_has_no_finding(tmp_path: Path):
    path = compiled(tmp_path, *STRIPPED, "-Wl,-rpath,$ORIGIN", "-Wl,--enable-new-dtags")
    (lib,) = inspect(path).libraries
    assert lib.soname == "libonnxruntime_providers_rocm.so" and lib.runpath == ("$ORIGIN",) and lib.rpath == ()
    assert "GetProvider" in lib.exports and "hidden" not in lib.exports and lib.exec_stack is False
    assert rules(path) == set()


@pytest.mark.parametrize(
    ("flags", "rule"),
    [
        (("-Wl,-z,execstack",), "SB-ELF-EXEC-STACK"),
        (("-Wl,-rpath,$ORIGIN:",), "SB-ELF-CWD-RUNPATH"),
        (("-Wl,-rpath,/opt/rocm/lib", "-Wl,--disable-new-dtags"), "SB-ELF-ABSOLUTE-RUNPATH"),
        (("-Wl,-z,x86-64-v3",), "SB-ELF-ISA"),
    ],
)
def test_what_the_linker_was_told(flags: tuple[str, ...], rule: str, tmp_path: Path):
    assert rule in rules(compiled(tmp_path, *STRIPPED, *flags))


def test_a_library_without_a_soname(tmp_path: Path):
    assert rules(compiled(tmp_path, "-s", "-Wl,-z,noexecstack")) == {"SB-ELF-SONAME"}


def test_an_undefined_symbol_of_an_unnamed_library(tmp_path: Path):
    source = SOURCE + "int f(void) { return rocblas_create_handle(0); }"
    assert "SB-ELF-UNDERLINKED" in rules(compiled(tmp_path, *STRIPPED, source=source))


def test_debug_information_and_the_builders_home(tmp_path: Path):
    source = SOURCE + f'const char *where = "/home/builder/src/{"x" * 20}.cc"; char big[1];'
    source += "".join(f"int a_rather_long_name_of_a_function_{n}(void) {{ return {n}; }}\n" for n in range(9000))
    path = compiled(tmp_path, "-g", "-fvisibility=hidden", source=source)
    assert {"SB-ELF-UNSTRIPPED", "SB-TEXT-HOME-PATH"} <= rules(path)


def test_the_command_ends_with_5_and_says_why(tmp_path: Path):
    path = compiled(tmp_path, *STRIPPED, "-Wl,-z,execstack")
    reports = ["--sarif", tmp_path / "o.sarif", "--junit", tmp_path / "o.xml"]
    ran = subprocess.run(
        [sys.executable, "-m", "stackbuild", "inspect", path, *reports], capture_output=True, text=True, check=False
    )
    assert ran.returncode == 5 and "SB-ELF-EXEC-STACK" in ran.stdout and "\x1b" not in ran.stdout
    assert "SB-ELF-EXEC-STACK" in (tmp_path / "o.sarif").read_text() and "failure" in (tmp_path / "o.xml").read_text()
