"""The engines."""

from __future__ import annotations

from pathlib import Path

import pytest

from stackbuild.core.errors import UsageError
from stackbuild.hipify.engines import Engine
from stackbuild.hipify.model import Target
from stackbuild.hipify.tables.hipify_tools import Tools
from support.hipify import bundled_rules, small_tables


def test_the_text_of_cu_files_is_hipify_clang_s(tmp_path: Path) -> None:
    (tmp_path / "k").mkdir()
    (tmp_path / "k" / "a.cu").write_text("#include <hip/hip_runtime.h>\nby clang\n")
    engine = Engine("clang", small_tables(), bundled_rules("generic"), Target(), Tools(None, None), tmp_path)
    assert engine.run("cudaFree(p);\n", "k/a.cu").text == "#include <hip/hip_runtime.h>\nby clang\n"
    assert engine.run("cudaFree(p);\n", "k/a.cpp").text == "hipFree(p);\n"
    with pytest.raises(UsageError, match="hipify-clang could not read it"):
        engine.run("cudaFree(p);\n", "k/b.cu")
