"""A small build on the fake runner, in a process of its own that is there to be killed: `spine_killed.py STORE`."""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "unit" / "spine"))

from spine_shop import MEMORY, World, plan_of, step, workshop

from stackbuild.__main__ import _lacking
from stackbuild.errors import Stop
from stackbuild.plan import Plan
from stackbuild.schedule import Limits, schedule


def plan() -> Plan:
    one = step("one")
    return plan_of(one, step("two", (one,)), step("three"))


def build(root: Path) -> dict[str, str]:
    """Each step's output digest."""
    with workshop(World(), root) as shop:
        shop.store.reap()
        _, broken = schedule(plan(), shop, Limits(2, MEMORY * 10))
        assert not broken
        shop.store.remember("0" * 64, {"verified": True})
        found = [(s.name, shop.store.find(s.key)) for s in plan().steps]
        return {name: record.tree for name, record in found if record is not None}


def main() -> int:
    try:
        build(Path(sys.argv[1]))
    except (Stop, OSError) as error:
        stop = error if isinstance(error, Stop) else _lacking(error)
        with contextlib.suppress(OSError):  # the fault may be meant for this very write
            os.write(2, f"{stop}\n".encode())
        return stop.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
