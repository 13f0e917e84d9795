"""The file of budgets of emulated kernels: TOML, a table a target and kernel."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from pathlib import Path

from stackbuild.core.errors import UsageError
from stackbuild.emulator.counter_model import BUDGET_KEYS, Budgets, EmulatedCounters, budgets_of
from stackbuild.store.atomic import write_whole

_HEAD = """\
# What the bundled kernels do on emulated GPUs, all cases of the sample together: dispatches, waves' instructions, FLAT accesses.
# Written by `stackbuild bench kernels WHEEL --emulated TARGET --write-budgets FILE`, compared by `--budgets FILE`: 5 % more
# instructions, one more FLAT access or dispatch, or a kernel without a row is over budget. The compiler is the recipe's.
"""


def read_budgets(file: Path, target: str) -> Budgets:
    """The budgets of a target. Raises UsageError for a file that has none, or cannot be read."""
    try:
        tables = tomllib.loads(file.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UsageError(f"budgets cannot be read: {error}", where=str(file)) from None
    table = tables.get(target)
    if not isinstance(table, dict) or not all(_is_budget(row) for row in table.values()):
        raise UsageError(
            f"no budgets of {target}, or not of {', '.join(BUDGET_KEYS)}",
            where=str(file),
            next="--write-budgets writes them",
        )
    return table


def _is_budget(row: object) -> bool:
    return (
        isinstance(row, dict)
        and row.keys() == set(BUDGET_KEYS)
        and all(isinstance(value, int) for value in row.values())
    )


def write_budgets(file: Path, target: str, rows: Iterable[EmulatedCounters]) -> None:
    """Write the counts of a target as its budgets; those of other targets stay."""
    tables = tomllib.loads(file.read_text("utf-8")) if file.is_file() else {}
    tables[target] = budgets_of(rows)
    lines = [_HEAD]
    for name, kernels in sorted(tables.items()):
        lines += [f"\n[{name}]\n"]
        lines += [
            f"{kernel} = {{ {', '.join(f'{key} = {row[key]}' for key in BUDGET_KEYS)} }}\n"
            for kernel, row in sorted(kernels.items())
        ]
    write_whole(file, "".join(lines), file.parent)
