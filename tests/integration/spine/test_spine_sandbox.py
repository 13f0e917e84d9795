from __future__ import annotations

import pytest
from spine_bench import Bench

pytestmark = pytest.mark.sandbox


def test_hello(bench: Bench) -> None:
    bench.write("  hello: {kind: script, run: [[sh, -c, 'echo hi > /out/hi']]}\n")
    bench.build()
    assert (bench.tree("hello") / "hi").read_text() == "hi\n"
