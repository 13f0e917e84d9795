"""The custom-op library, built in a sandbox and run in the installed onnxruntime; the device code, compiled and held to its
register budgets.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from support.kernels import KERNELS, KernelStack, run

ALL_TARGETS = "[gfx90a, gfx942, gfx950, gfx1030, gfx1100, gfx1151, gfx1200, gfx1201]"
pytestmark = [pytest.mark.sandbox, pytest.mark.timeout(1500)]


def check(library: Path, *options: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(KERNELS / "tools" / "check.py"), str(library), *options],
        capture_output=True,
        text=True,
        env={**os.environ, **env},
    )


def test_every_case_is_right_on_the_cpu(cpu: Path) -> None:
    done = check(cpu, "--seed", "3", "--json")
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-500:]
    counts = json.loads(done.stdout)["cases"]
    assert len(counts) == 12
    assert min(counts.values()) >= 30


def test_the_library_for_amd_gives_the_same_answers_without_a_gpu_runtime(amd: Path) -> None:
    done = check(amd / "libstackbuild_kernels.so", "--op", "LeakyRelu", "--op", "GroupNormalization")
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-500:]


def test_asking_for_a_gpu_that_is_not_there_is_an_error_not_the_cpu(amd: Path) -> None:
    """Where a GPU is there, the same run must be right on it."""
    done = check(amd / "libstackbuild_kernels.so", "--op", "LeakyRelu", "--device", "gpu")
    if done.returncode != 0:
        assert "cannot load the kernels for the GPU" in done.stdout or "hip" in done.stdout.lower(), done.stdout[:500]
        assert "0 of " in done.stdout


def test_device_code_stays_inside_its_register_budgets(amd: Path) -> None:
    command = (sys.executable, KERNELS / "tools" / "resources.py", amd / "libstackbuild_kernels_hip.so")
    said = run(*command, "--targets", "gfx90a,gfx942,gfx1030,gfx1100")
    assert "(wave32: gfx1030, gfx1100; wave64: gfx90a, gfx942), 0 over budget" in said


@pytest.mark.parametrize(
    ("was", "becomes", "status", "says"),
    [
        (rb"(\.vgpr_spill_count)\0", b"\\1\x05", 1, "5 spills"),
        (rb"(\.private_segment_fixed_size)\0", b"\\1\x10", 2, "16 of scratch, its descriptor 0 and 0"),
        (rb"(\.sgpr_spill_count)\0", b"\\1\x7f", 1, "127 SGPRs spilled"),
        (rb"(amdhsa\.kernels(?:(?!amdhsa\.target).)*?leaky_relu_vector)s", rb"\1z", 1, "that other targets have are missing"),
        (b"amdhsa.kernels", b"amdhsa.kernelz", 2, "names no kernel"),
        (rb"\x7fELF(?=\x02\x01\x01\x40)", b"XXXX", 2, "is not an ELF"),
        *((re.escape(key), key[:-1] + b"x", 2, f"does not say its {key.decode()}") for key in (b".vgpr_count", b".vgpr_spill_count", b".wavefront_size")),
    ],
)
def test_the_gate_closes_on_what_it_is_there_for(
    amd: Path, tmp_path: Path, was: bytes, becomes: bytes, status: int, says: str
) -> None:
    """One place of the library's metadata changed; it passes unchanged."""
    data = (amd / "libstackbuild_kernels_hip.so").read_bytes()
    changed, found = re.subn(was, becomes, data, count=1, flags=re.DOTALL)
    assert found == 1
    (tmp_path / "changed.so").write_bytes(changed)
    command = [sys.executable, str(KERNELS / "tools" / "resources.py"), str(tmp_path / "changed.so")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, says in done.stdout + done.stderr) == (status, True), done.stdout + done.stderr


def test_the_inspector_sees_every_target_and_no_spills(amd: Path) -> None:
    library = amd / "libstackbuild_kernels_hip.so"
    said = json.loads(run(sys.executable, "-m", "stackbuild", "inspect", library, "--json"))
    targets = {t["target"]: t for t in said["files"][0]["targets"]}
    assert {(name, *t["waves"]) for name, t in targets.items()} == {
        ("gfx90a", 64),
        ("gfx942", 64),
        ("gfx1030", 32),
        ("gfx1100", 32),
    }
    assert len({t["kernels"] for t in targets.values()}) == 1
    assert not any(t["spilling"] for t in targets.values())


def test_a_library_without_device_code_has_no_budget_to_keep(cpu: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(KERNELS / "tools" / "resources.py"), str(cpu)], capture_output=True, text=True
    )
    assert done.returncode == 2
    assert "no device code" in done.stderr


def test_without_stackbuild_it_says_so(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-S", "-I", str(KERNELS / "tools" / "resources.py"), "any.so"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "cannot be imported: install stackbuild" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.slow
@pytest.mark.network
@pytest.mark.timeout(3600)
def test_every_target_compiles_with_the_newest_compiler_in_debian(tmp_path: Path) -> None:
    """The bundled recipe debian-sid, for all targets that its compiler knows, locked anew: sid moves on.

    Two of them the libraries of its ROCm lack, so that `build` refuses them; code objects need none of those, and so the
    recipe says no `rocm` here.
    """
    text, found = re.subn(
        r"(?m)^gfx: .*$", f"gfx: {ALL_TARGETS}", (KERNELS.parent / "recipes" / "debian-sid.yaml").read_text()
    )
    assert found == 1
    text, found = re.subn(r"(?m)^rocm: .*\n", "", text)
    assert found == 1
    (tmp_path / "sid.yaml").write_text(text)
    stack = KernelStack("sid.yaml", tmp_path, tmp_path / "store")
    stack.run("lock")
    libraries = (
        stack.built("kernels") / "stackbuild_kernels" / "libstackbuild_kernels_hip.so",
        stack.built("kernels-ep") / "onnxruntime_ep_rockernels" / "librockernels_ep_hip.so",
    )
    said = run(sys.executable, KERNELS / "tools" / "resources.py", *libraries, "--targets", ALL_TARGETS.strip("[]").replace(" ", ""))
    for words in (
        "wave32: gfx1030, gfx1100, gfx1151, gfx1200, gfx1201",
        "wave64: gfx90a, gfx942, gfx950",
        " 0 over budget",
    ):
        assert words in said
    for library in libraries:  # docs/kernels-ep.md says so of what the recipe makes
        found = re.findall(r"GLIBC_(2\.\d+)", run("readelf", "--version-info", library))
        assert max(tuple(map(int, v.split("."))) for v in found) <= (2, 34), library


def test_a_missing_library_is_exit_2() -> None:
    assert check(Path("/nonexistent/lib.so")).returncode == 2


def test_a_file_that_is_no_library_is_exit_2(tmp_path: Path) -> None:
    (tmp_path / "lib.so").write_text("not a library")
    done = check(tmp_path / "lib.so")
    assert done.returncode == 2
    assert "does not load" in done.stderr
    assert done.stdout == ""


def test_gpu_check_without_a_library_is_exit_2(tmp_path: Path) -> None:
    command = [
        sys.executable,
        str(KERNELS / "gpu-check"),
        "--library",
        str(tmp_path / "none.so"),
        "--out",
        str(tmp_path),
    ]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 2
    assert "gpu-check:" in done.stderr
    assert "Traceback" not in done.stderr
