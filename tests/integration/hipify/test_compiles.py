"""Converted sources through hipcc, in root file systems with HIP: STACKBUILD_HIP_ROOT names one with 6.4 (Debian sid: hipcc,
hipblas, hiprand, hipcub, rocthrust, hipfft, hipsparse, hipsolver, roctx development packages), STACKBUILD_HIP_5_ROOT one with
5.7 (trixie). HIPIFY_PERL must name one of 7.0 or newer, such as sid's: the tables of 6.0 lack names that 6.4 has."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from stackbuild.hipify import SourceSelection, Target, hipify_tree, open_engine
from support.hipify import PERL
from support.root_file_system import run_in_root

ROOT = os.environ.get("STACKBUILD_HIP_ROOT", "")
OLDER = os.environ.get("STACKBUILD_HIP_5_ROOT", "")
pytestmark = [
    pytest.mark.sandbox,
    pytest.mark.skipif(not ROOT or PERL is None, reason="STACKBUILD_HIP_ROOT or hipify-perl is not given"),
]
PROGRAMS = Path(__file__).parent / "programs"


def hipcc(folder: Path, file: str, gfx: str, root: str = ROOT) -> str:
    """The errors of hipcc -fsyntax-only on a file, "" for none."""
    compile = ["hipcc", "-fsyntax-only", "-x", "hip", f"--offload-arch={gfx}", "-std=c++17", "-w", file]
    code, output = run_in_root(Path(root), {folder: "/mnt/src"}, compile, "/mnt/src")
    return output if code else ""


@pytest.mark.parametrize("rocm", ["5.7", "6.4"])
@pytest.mark.parametrize("gfx", ["gfx1100", "gfx942"])
@pytest.mark.parametrize("program", ["everything.cu", "aliases.cu", "brain_floats.cu", "own_overloads.cu", "libraries.cu", "complex_operators.cu", "pair_operators.cu", "groups.cu"])
def test_a_little_of_everything_compiles(program: str, gfx: str, rocm: str, tmp_path: Path) -> None:
    root = ROOT if rocm == "6.4" else OLDER
    if not root or (rocm == "5.7" and program in ("everything.cu", "groups.cu")):
        pytest.skip("STACKBUILD_HIP_5_ROOT is not given" if not root else "it names what HIP 5.7 lacks")
    folders = [Path(root) / "usr" / "include"]
    engine = open_engine(hipify_perl=PERL, target=Target(rocm=rocm), include_folders=folders)
    wanted = (program, "own_types.h")
    report = hipify_tree(SourceSelection((PROGRAMS,), tmp_path, wanted), engine)
    assert hipcc(tmp_path, program, gfx, root) == ""
    assert [f for f in report.findings if f.severity == "error"] == []


def test_hipify_perl_s_output_of_the_same_does_not(tmp_path: Path) -> None:
    assert PERL is not None
    done = subprocess.run([PERL, "-quiet-warnings", PROGRAMS / "everything.cu"], capture_output=True, check=True)
    (tmp_path / "p.cu").write_bytes(done.stdout)
    assert "empty filename" in hipcc(tmp_path, "p.cu", "gfx1100")
