"""LLVM's disassembler on code objects, and what it says of each instruction.

A line of `llvm_decoded.txt` is a target, an instruction's words and LLVM's text, divided by tabs. It is written by
`STACKBUILD_SNAPSHOTS=write pytest -m slow tests/integration/emulator/test_llvm.py` from the code objects of the bundled kernels.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

DECODED = Path(__file__).parent / "llvm_decoded.txt"
_LINE = re.compile(r"\t(.*?)\s*// [0-9A-F]+: ((?:[0-9A-F]{8} ?)+)")
_SUFFIX = re.compile(r"_(?:e64_dpp|e32|e64|sdwa|dpp)(?= |$)")
_LOW = re.compile(r"\b(v\d+)\.l\b")
_AGAIN = re.compile(r" op_sel:\[[01,]+\]")
_MATRIX = re.compile(r"(v_mfma_\S*?x\d+)(?:_\d+b)?_?(b?f\d|i8)")


def objdump(store: Path) -> list[str]:
    """The command of an llvm-objdump: `LLVM_OBJDUMP`, or the newest in the bases of a store, with its own libraries."""
    if given := os.environ.get("LLVM_OBJDUMP"):
        return [given]
    found = sorted(
        store.glob("trees/*/*/usr/lib/llvm-*/bin/llvm-objdump"), key=lambda p: int(p.parts[-3].partition("-")[2])
    )
    if found:
        tool, root = found[-1], found[-1].parents[4]
        folders = [root / "usr/lib/x86_64-linux-gnu", tool.parents[1] / "lib", root / "lib/x86_64-linux-gnu"]
        loader = root / "lib64/ld-linux-x86-64.so.2"
        return [str(loader), "--library-path", ":".join(map(str, folders)), str(tool)]
    return [str(shutil.which("llvm-objdump") or "llvm-objdump")]


def disassembled(command: list[str], object_file: Path) -> Iterator[tuple[str, str]]:
    """Each instruction's words and text. Zeros between functions, which LLVM calls v_illegal, are left out."""
    said = subprocess.run([*command, "-d", object_file], capture_output=True, text=True, check=True).stdout
    for line in said.splitlines():
        found = _LINE.match(line)
        if found and found[1] != "v_illegal":
            yield found[2].strip(), found[1]


def machine_code(words: str) -> bytes:
    """The bytes of an instruction's words."""
    return b"".join(int(word, 16).to_bytes(4, "little") for word in words.split())


def comparable(text: str) -> str:
    """A text in one notation: without the suffix of the encoding, with the underscore and without the number of
    blocks that GFX90A's matrix instructions lack.

    A low half is not named, which LLVM 21 does for GFX1100 and GFX1103 alone. Where a high half is named `op_sel` says the
    same again.
    """
    text = _LOW.sub(r"\1", _MATRIX.sub(r"\1_\2", _SUFFIX.sub("", text)))
    return _AGAIN.sub("", text) if ".h" in text else text
