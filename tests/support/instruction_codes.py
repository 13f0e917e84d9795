"""Assembles the rows of `instruction_rows.py`, `buffer_rows.py`, `matrix_layouts.py`, `sanitizer_defects.py`, `budget_kernels.py` and `mode_kernels.py`: `python tests/support/instruction_codes.py LLVM-MC…` (a command) writes instruction_codes.txt.

A line is a target, the words' bytes in hexadecimal and a row's text, divided by tabs. A row that a target's assembler refuses
has no line for it.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from support.budget_kernels import KERNELS
from support.buffer_rows import BUFFERS
from support.instruction_rows import ROWS
from support.matrix_layouts import LAYOUTS
from support.mode_kernels import MAXIMUM, PRELOADED, ROWS_OF_ITEMS
from support.sanitizer_defects import DEFECTS

CODES = Path(__file__).parent / "instruction_codes.txt"
TARGETS = ("gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1151", "gfx1201")
_ERROR = re.compile(r"<stdin>:(\d+):\d+: error:")
_CODE = re.compile(r"encoding: \[([0-9a-fx,]+)\]")


def assembly(text: str, target: str) -> str:
    """A row's text in the words of one target."""
    wide = target.startswith("gfx9")
    for name, value in (("VCC", "vcc" if wide else "vcc_lo"), ("EXEC", "exec" if wide else "exec_lo"),
                        ("M6", "s[6:7]" if wide else "s6"), ("M8", "s[8:9]" if wide else "s8")):  # fmt: skip
        text = re.sub(rf"\b{name}\b", value, text)
    return text if target == "gfx1100" else re.sub(r"(v\d+)\.l\b", r"\1", text)


def assembled(tool: list[str], target: str, texts: list[str]) -> dict[str, str]:
    """The bytes of each text that the target has, in hexadecimal."""
    lines = [(text, line) for text in texts for line in assembly(text, target).split("; ")]
    source = "\n".join(line for _, line in lines) + "\n"
    command = [*tool, "-triple=amdgcn-amd-amdhsa", f"-mcpu={target}", "-show-encoding"]
    first = subprocess.run(command, input=source, capture_output=True, text=True, check=False)
    refused = {lines[int(number) - 1][0] for number in _ERROR.findall(first.stderr)}
    kept = [(text, line) for text, line in lines if text not in refused]
    done = subprocess.run(
        command, input="\n".join(line for _, line in kept) + "\n", capture_output=True, text=True, check=True
    )
    codes = [found.replace("0x", "").replace(",", "") for found in _CODE.findall(done.stdout)]
    made: dict[str, str] = {}
    for (text, _), code in zip(kept, codes, strict=True):
        made[text] = made.get(text, "") + code
    return made


def main() -> None:
    texts = list(dict.fromkeys([*(row.text for row in (*ROWS, *BUFFERS)), *(layout.text for layout in LAYOUTS)]))
    kernels = {"gfx1100": [*KERNELS]}
    for defect in DEFECTS:
        kernels.setdefault(defect.target, []).extend((defect.wrong, defect.right))
    for target, text in (*MAXIMUM.items(), ("gfx942", PRELOADED), ("gfx1100", ROWS_OF_ITEMS)):
        kernels.setdefault(target, []).append(text)
    rows = [(target, code, text) for target in TARGETS for text, code in assembled(sys.argv[1:], target, texts).items()]
    rows += [
        (target, code, text)
        for target, of_target in kernels.items()
        for text, code in assembled(sys.argv[1:], target, list(dict.fromkeys(of_target))).items()
        if text not in texts
    ]
    CODES.write_text("".join("\t".join(row) + "\n" for row in rows))
    missing = set(texts) - {text for _, _, text in rows}
    print(f"{len(rows)} codes of {len(texts)} texts; no target has: {sorted(missing)}")


if __name__ == "__main__":
    main()
