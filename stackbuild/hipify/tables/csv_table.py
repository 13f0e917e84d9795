"""Reads ROCm versions of HIP names out of the CSV tables that `hipify-clang --csv --doc-format=full` writes.

Rows are `CUDA,A,D,C,R,HIP,A,D,C,R,E`, in joint tables followed by `ROC,A,D,C,R,E`: added, deprecated, changed, removed,
experimental. The CUDA side's versions are in hipify-perl too; the HIP and ROC sides' are only here.
Read from hipify-clang 7.0.2 as Debian packages it.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable

from stackbuild.hipify.tables.tables import Versions


def versions(texts: Iterable[str]) -> dict[str, Versions]:
    """Each HIP or ROC name of these tables with the ROCm versions that added, deprecated and removed it."""
    by_name: dict[str, Versions] = {}
    for text in texts:
        sides: list[int] = []
        for row in csv.reader(text.splitlines()):
            if row[:1] == ["CUDA"]:
                sides = [i for i, head in enumerate(row) if head in ("HIP", "ROC")]
                continue
            for side in sides:
                if len(row) > side + 4 and row[side] and any(row[side + 1 : side + 5]):
                    by_name.setdefault(row[side], Versions(row[side + 1], row[side + 2], row[side + 4]))
    return by_name
