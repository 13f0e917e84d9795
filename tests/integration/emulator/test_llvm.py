"""Every instruction of the shipped code objects beside LLVM's disassembler: the same length and the same operation.

Needs an llvm-objdump of version 17 or newer: `LLVM_OBJDUMP` names it, or it is in PATH with or without its version.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

pytest.importorskip("tinygrad")

from stackbuild.emulator.code_objects import code_object_for
from stackbuild.emulator.decoder import decode
from stackbuild.emulator.encodings import family, family_name

LINE = re.compile(r"\t(\S+).*// ([0-9A-F]+): ((?:[0-9A-F]{8} ?)+)")
SAME = {
    "v_accvgpr_write_b32": "v_accvgpr_write", "v_accvgpr_read_b32": "v_accvgpr_read", "v_fma_mix_f32": "v_mad_mix_f32",
    "v_fma_mixlo_f16": "v_mad_mixlo_f16", "v_fma_mixhi_f16": "v_mad_mixhi_f16", "v_mfma_f32_16x16x4f32": "v_mfma_f32_16x16x4_f32",
    "v_mfma_f32_16x16x16f16": "v_mfma_f32_16x16x16_f16", "v_mac_f32": "v_dot2c_f32_bf16",
}  # fmt: skip
"""LLVM's name to the tables' name where they differ; of GFX90A, `v_mac_f32` is `NAMES` in corrections.py."""


def objdump() -> str:
    names = [os.environ.get("LLVM_OBJDUMP", ""), *(f"llvm-objdump-{n}" for n in range(25, 16, -1))]
    found = next((path for name in names if name and (path := shutil.which(name))), None)
    if found is None:
        pytest.skip("no llvm-objdump of version 17 or newer")
    return found


@pytest.mark.slow
@pytest.mark.parametrize("target", ["gfx90a", "gfx942", "gfx1100"])
def test_instructions_are_decoded_as_llvm_does(amd: Path, tmp_path: Path, target: str) -> None:
    tool, tables, counted = objdump(), family(family_name(target)), 0
    data = (amd / "libstackbuild_kernels_hip.so").read_bytes()
    for number, start in enumerate(m.start() for m in re.finditer(rb"__CLANG_OFFLOAD_BUNDLE__", data)):
        object_file = tmp_path / f"{number}.co"
        object_file.write_bytes(code_object_for(target, data[start:]))
        text = subprocess.run([tool, "-d", object_file], capture_output=True, text=True, check=True).stdout
        for line in text.splitlines():
            found = LINE.match(line)
            if not found or found[1] == "v_illegal":  # zeros between functions
                continue
            code = b"".join(int(word, 16).to_bytes(4, "little") for word in found[3].split())
            inst, name = decode(code, tables), re.sub(r"_(e32|e64|sdwa|dpp)$", "", found[1])
            assert (inst.size, inst.name) == (len(code), SAME.get(name, name)), line
            counted += 1
    assert counted > 300_000
