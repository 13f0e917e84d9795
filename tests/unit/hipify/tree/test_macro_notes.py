"""A macro of a header that does not compile has a note at each use in another file."""

from __future__ import annotations

from pathlib import Path

import pytest

from stackbuild.hipify import hipify_tree
from stackbuild.hipify.engines import Engine
from stackbuild.hipify.model import Target
from stackbuild.hipify.tables.hipify_tools import Tools
from stackbuild.hipify.tree.files import SourceSelection
from support.hipify import bundled_rules, small_tables

CHECK = "#define CHECK(e) \\\n  do { if (e) \\\n    cuNothing(); } while (0)\n"


def told(folder: Path, files: dict[str, str]) -> list[tuple[str, int, str, str]]:
    """The findings of `.cu` files of a tree: file, line, severity and text."""
    tree, out = folder / "tree", folder / "out"
    tree.mkdir(exist_ok=True)
    for name, text in files.items():
        (tree / name).write_text(text)
    engine = Engine("fast", small_tables(), bundled_rules("generic"), Target(rocm="6.4"), Tools(None, None))
    found = hipify_tree(SourceSelection((tree,), out), engine).findings
    return [(f.subject, f.place.line, f.severity.value, f.found) for f in found if f.place and f.subject.endswith(".cu")]


def test_a_use_is_a_note_that_names_the_macro(tmp_path: Path) -> None:
    found = told(tmp_path, {"a.h": CHECK, "a.cu": "void f() {\n  CHECK(1);\n  g();\n}\n"})
    assert [row[:3] for row in found] == [("a.cu", 2, "note")]
    assert found[0][3].startswith("CHECK has in its body: cuNothing has no counterpart")
    assert told(tmp_path, {}) == found  # also of what the first run kept


def test_a_macro_that_uses_it_counts_as_well(tmp_path: Path) -> None:
    files = {"a.h": CHECK, "b.h": '#include "a.h"\n#define BOTH(e) CHECK(e)\n', "a.cu": "void f() { BOTH(1); }\n"}
    assert [row[:3] for row in told(tmp_path, files)] == [("a.cu", 1, "note")]


@pytest.mark.parametrize(
    ("header", "source"),
    [
        (CHECK, "#define CHECK(e) e\nvoid f() { CHECK(1); }\n"),
        (CHECK, "#ifdef CHECK\n#endif\n// CHECK(1)\n"),
        ("#if CUDA_VERSION >= 12000\n" + CHECK + "#endif\n", "void f() { CHECK(1); }\n"),
        ("#define CHECK(e) e\nvoid f() { cuNothing(); }\n", "void f() { CHECK(1); }\n"),
        ("extern int cuNothing();\n" + CHECK, "void f() { CHECK(1); }\n"),
    ],
)
def test_what_is_another_macro_or_not_compiled_is_not_told(header: str, source: str, tmp_path: Path) -> None:
    assert told(tmp_path, {"a.h": header, "a.cu": source}) == []
