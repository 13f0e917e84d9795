"""The kernels' device code is the same wherever it was built, and whatever filled the compiler cache before."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from stackbuild.plan.steps.kernels import GENERATOR
from support.kernels import KERNELS, folders_stack, run

COMPILER = """\
#!/bin/sh
# HIP's clang as CMake asks it: it takes every HIP source, and is g++ for the others.
case " $* " in *" -x hip "*|*" -xhip "*) exit 0;; esac
exec g++ "$@"
"""
LONGEST = {
    "conv": "conv/conv_gemm.hip",
    "others": "group_norm/group_norm.hip",
    "ep-arithmetic": "ep/ops/elementwise/binary.hip",
}
"""Of each part the source with the most CPU seconds, by clang 17 for gfx1100. In `ep-others` no source has a tenth."""


def configured(folder: Path, **more: str) -> Path:
    """A build folder that CMake wrote for one AMD target. The compiler is only said to be HIP's."""
    compiler, headers, build = folder / "clang++", folder / "ort", folder / "build"
    headers.mkdir(parents=True)
    compiler.write_text(COMPILER)
    compiler.chmod(0o755)
    (headers / "onnxruntime_c_api.h").write_text("#define ORT_API_VERSION 27\n")
    (headers / "onnxruntime_ep_c_api.h").write_text("")
    options = {
        "CMAKE_CXX_COMPILER": compiler, "CMAKE_EXPORT_COMPILE_COMMANDS": "ON", "GPU_TARGETS": "gfx1100", "SBK_EP": "ON", "SBK_BENCH": "ON",
        "ONNXRUNTIME_INCLUDE_DIR": headers, "SBK_AMDHIP64": "libamdhip64.so", **more,
    }  # fmt: skip
    words = (f"-D{name}={value}" for name, value in options.items())
    run("cmake", "-S", KERNELS, "-B", build, "-G", GENERATOR, *words)
    return build


def names_of_device_code(folder: Path) -> dict[str, str]:
    """What CMake would have clang name the device code of each source, by the path of the source below kernels/."""
    build, names = configured(folder), {}
    for unit in json.loads((build / "compile_commands.json").read_text()):
        if re.search(" -x ?hip ", unit["command"]):
            (name,) = re.findall(r" -cuid=(\S+) ", unit["command"]) or [""]
            names[str(Path(unit["file"]).relative_to(KERNELS))] = name
    return names


@pytest.mark.skipif(any(shutil.which(tool) is None for tool in ("cmake", "g++")), reason="needs cmake and g++")
def test_each_source_of_device_code_has_a_name_that_is_the_same_in_every_folder(tmp_path: Path) -> None:
    names = names_of_device_code(tmp_path / "one")
    hopper = {"attention/attention_hopper.hip", "conv/conv_wgmma.hip"}  # for NVIDIA alone
    assert {str(path.relative_to(KERNELS)) for path in KERNELS.rglob("*.hip")} - hopper <= set(names)
    assert all(re.fullmatch("[A-Za-z0-9_]+", name) for name in names.values()), names  # clang 12 takes no other letters
    assert len(set(names.values())) == len(names)
    assert names_of_device_code(tmp_path / "another") == names


@pytest.mark.skipif(any(shutil.which(tool) is None for tool in ("cmake", "g++", "make")), reason="needs cmake, g++ and make")
@pytest.mark.parametrize("part", LONGEST)
def test_make_begins_a_part_with_what_takes_longest(part: str, tmp_path: Path) -> None:
    """That source is the end of the build where it begins last; so it may not wait for a core."""
    build = configured(tmp_path, SBK_PART=part)
    order = re.findall(r"-c \S*/kernels/(\S+)", run("make", "-C", build, "--dry-run"))
    assert order[0] == LONGEST[part] and len(order) > 5, order


@pytest.mark.slow
@pytest.mark.network
@pytest.mark.sandbox
@pytest.mark.timeout(5400)
def test_a_kernel_library_is_the_same_from_two_folders_and_with_or_without_compiler_cache() -> None:
    """By Debian sid's clang 21, which names device code by its options; clang 17 does not. The second is from the cache."""
    stack = folders_stack()
    first, second, alone = (stack.built(step) for step in ("one", "two", "alone"))
    assert first.name == second.name == alone.name
