"""The pool of device memory: what may be handed to whom, and when (pool_orders.cpp has the orders)."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

EP = Path(__file__).parents[3] / "kernels" / "ep"


@pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")
def test_memory_is_handed_on_when_no_stream_may_work_on_it_and_joined(tmp_path: Path) -> None:
    program = tmp_path / "orders"
    sources = [Path(__file__).with_name("pool_orders.cpp"), EP / "core" / "memory" / "pool.cpp"]
    flags = ["-std=c++17", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover", f"-I{EP}"]
    built = subprocess.run(
        ["g++", *flags, *map(str, sources), "-o", str(program)], capture_output=True, text=True, check=False
    )
    assert built.returncode == 0, built.stderr
    done = subprocess.run([str(program)], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "all orders hold", done.stdout + done.stderr
