"""The numbers of native/hip/hip_abi.h against the headers of Debian 13's libamdhip64-dev, HIP 5.7."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from stackbuild.emulator.native_library import NATIVE
from support.kernels import KernelStack, small_stack

pytestmark = [pytest.mark.sandbox, pytest.mark.timeout(1500)]
ABI = (NATIVE / "hip" / "hip_abi.h").read_text("utf-8")


@pytest.fixture(scope="module")
def stack() -> KernelStack:
    return small_stack()


def test_every_number_is_that_of_hip_5_7(stack: KernelStack, tmp_path: Path) -> None:
    headers = tmp_path / "include"
    shutil.copytree(stack.built("base") / "usr" / "include" / "hip", headers / "hip", symlinks=False)
    version = (headers / "hip" / "hip_version.h").read_text("utf-8")
    assert re.search(r"HIP_VERSION_MAJOR 5\b", version)
    assert _differences(headers, tmp_path) == ""


def _differences(headers: Path, work: Path) -> str:
    """What the header's own numbers differ in, a line each."""
    rows = [(name, value) for name, value in re.findall(r"E\((hip\w+), (\d+)\)", ABI)]
    rows += [(f"hipDeviceAttribute{name}", value) for name, value in re.findall(r"A\((\w+), (\d+),", ABI)]
    fields = re.findall(r"P\((\w+), (\d+), \d+, (\d), ", ABI)
    assert len(rows) > 60 and len(fields) > 20
    properties = "hipDeviceProp_t"
    lines = [f'if ((int){name} != {value}) printf("{name} %d\\n", (int){name});' for name, value in rows]
    lines += [
        f"if (offsetof({properties}, {name}) != {at} || sizeof((({properties}*)0)->{name}) != {size})"
        f' printf("{name} %zu\\n", offsetof({properties}, {name}));'
        for name, at, size in fields
    ]
    size, arch, threads, grid = (
        re.search(rf"{name}_R0000 = (\d+)", ABI) for name in ("PROPERTIES", "GCN_ARCH", "MAX_THREADS_DIM", "MAX_GRID")
    )
    for found, what in ((size, f"sizeof({properties})"), (arch, f"offsetof({properties}, gcnArchName)"),
                        (threads, f"offsetof({properties}, maxThreadsDim)"), (grid, f"offsetof({properties}, maxGridSize)")):  # fmt: skip
        assert found
        lines.append(f'if ({what} != {found[1]}) printf("{what} %zu\\n", {what});')
    source = work / "abi.cpp"
    source.write_text(
        "#define __HIP_PLATFORM_AMD__\n#include <hip/hip_runtime_api.h>\n#include <cstddef>\n#include <cstdio>\n"
        f"int main() {{ {' '.join(lines)} }}\n"
    )
    command = ["g++", "-w", "-I", str(headers), str(source), "-o", str(work / "abi")]
    built = subprocess.run(command, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr[-2000:]
    return subprocess.run([str(work / "abi")], capture_output=True, text=True, check=True).stdout
