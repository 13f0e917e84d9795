"""The conversion of a recipe's source."""

from __future__ import annotations

from pathlib import Path

import pytest

from stackbuild.core.errors import UsageError
from stackbuild.hipify.engines import Engine
from stackbuild.hipify.model import Target
from stackbuild.hipify.stage import ConversionOptions, convert_source
from stackbuild.hipify.tables.hipify_tools import Tools
from stackbuild.hipify.tree import files
from support.hipify import bundled_rules, small_tables

ASKED = ConversionOptions(
    ("generic",), "fast", include=(), exclude=(), keeps_twins=False, strict=False, resolve=False, target=Target()
)


def test_the_stage_looks_at_each_folder_of_a_source_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "src/below").mkdir(parents=True)
    (tmp_path / "src/a.cu").write_text("cudaFree(p);\n")
    (tmp_path / "src/below/link.cu").symlink_to("../a.cu")
    looked: list[str] = []

    def scandir(path: Path) -> object:
        if Path(path).is_relative_to(tmp_path / "src"):
            looked.append(Path(path).name)
        return scan(path)

    scan = files.os.scandir
    monkeypatch.setattr(files.os, "scandir", scandir)
    engine = Engine("fast", small_tables(), bundled_rules("generic"), Target(), Tools(None, None))
    report = convert_source(tmp_path / "src", tmp_path / "out", engine, ASKED)
    assert sorted(looked) == ["below", "src"]
    assert [Path(file.output).name for file in report.files] == ["a.cu"]


def test_a_source_of_nothing_but_links_is_refused(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "a.cu").write_text("cudaFree(p);\n")
    (tmp_path / "src/link.cu").symlink_to("../a.cu")
    engine = Engine("fast", small_tables(), bundled_rules("generic"), Target(), Tools(None, None))
    with pytest.raises(UsageError, match="its 1 C, C\\+\\+ and CUDA files are links"):
        convert_source(tmp_path / "src", tmp_path / "out", engine, ASKED)
