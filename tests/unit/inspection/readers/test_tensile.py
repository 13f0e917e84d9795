"""Libraries of Tensile."""

from __future__ import annotations

from pathlib import Path

import msgpack

from stackbuild.inspection import inspect, judge
from support.binaries import ccob
from support.inspected_files import ONE, looked


def test_tensile_file_that_is_a_compressed_bundle(tmp_path: Path):
    facts = looked(tmp_path / "TensileLibrary_gfx90a.co", ccob(ONE))
    assert len(facts.device[0].objects) == 2 and not facts.problems


def test_a_tensile_library_and_its_lazy_index(tmp_path: Path):
    """The layout is that of rocBLAS 6.4's files."""
    leaf = {"type": "Matching", "table": [{"key": [64, 64], "value": 0, "index": 7}]}
    lazy = {
        "type": "Hardware",
        "rows": [
            {"predicate": {"type": "AMDGPU"}, "library": {"type": "Placeholder", "value": "TensileLibrary_SS_gfx90a"}}
        ],
    }
    (tmp_path / "TensileLibrary_SS_gfx90a.dat").write_bytes(
        msgpack.packb({"solutions": [{"name": "a"}, {"name": "b"}], "library": leaf})
    )
    (tmp_path / "TensileLibrary_lazy_gfx90a.dat").write_bytes(msgpack.packb({"solutions": [], "library": lazy}))
    (tmp_path / "TensileLibrary_SS_gfx90a.co").write_bytes(ccob(ONE))
    facts = inspect(tmp_path)
    assert [(e.target, e.solutions, e.refers) for e in facts.extras] == [
        ("gfx90a", 2, ()), ("gfx90a", 0, ("TensileLibrary_SS_gfx90a",)),
    ]  # fmt: skip
    assert not facts.problems and not [f for f in judge(facts) if "TENSILE" in f.rule]
