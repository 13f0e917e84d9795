"""The source line of an instruction, where a code object was compiled with -gline-tables-only or -g."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field

from stackbuild.emulator.code_object import CodeObjectError, load
from stackbuild.inspection.readers.byte_parser import MalformedError
from stackbuild.inspection.readers.elf import LineRow, line_rows


@dataclass
class SourceLines:
    """Lines of one code object's kernels. The table is read at the first question."""

    code: bytes = field(repr=False)
    _rows: list[LineRow] | None = None
    _entries: Mapping[str, int] = field(default_factory=dict)

    def of(self, kernel: str, pc: int) -> str:
        """`FILE:LINE` of the instruction at an offset from a kernel's first, "" where the code object does not say."""
        if self._rows is None:
            self._read()
        if kernel not in self._entries or not self._rows:
            return ""
        before = pc - (1 << 32) if 1 << 31 <= pc < 1 << 32 else pc  # a function may lie before the kernel
        address = self._entries[kernel] + before
        at = bisect_right(self._rows, address, key=lambda row: row.address) - 1
        row = self._rows[at] if at >= 0 else None
        return f"{row.file}:{row.line}" if row and row.line else ""

    def _read(self) -> None:
        self._rows = []
        try:
            self._rows = line_rows(self.code)
            self._entries = {each.name: each.descriptor.entry for each in load(self.code).kernels}
        except (MalformedError, CodeObjectError):  # a table that lies takes the line from a finding, not the finding
            self._rows = []
