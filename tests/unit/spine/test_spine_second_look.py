"""What a fresh eye found, held: publish twice in one call, a lost metadata file, mistakes in the file's order, odd names."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from stackbuild.build.runs import log_of
from stackbuild.core.errors import RecipeError, UsageError
from stackbuild.model.events import StageFinished
from stackbuild.pipeline.index import publish
from stackbuild.recipe.load import parse
from stackbuild.views.build import lines_of


def wheel(folder: Path, name: str, text: str) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / name
    stem = "-".join(name.split("-")[:2])
    with zipfile.ZipFile(path, "w") as archive:
        said = f"Metadata-Version: 2.4\nName: {stem.split('-')[0]}\nVersion: {stem.split('-')[1]}\nSummary: {text}\n"
        archive.writestr(f"{stem}.dist-info/METADATA", said)
    return path


def test_one_name_twice_in_a_call_is_refused(tmp_path: Path) -> None:
    one = wheel(tmp_path / "a", "foo-1.0-py3-none-any.whl", "one")
    two = wheel(tmp_path / "b", "foo-1.0-py3-none-any.whl", "two")
    with pytest.raises(UsageError, match="more than once"):
        publish((one, two), tmp_path / "index")


def test_a_lost_metadata_file_is_written_again(tmp_path: Path) -> None:
    index = tmp_path / "index"
    publish((wheel(tmp_path / "a", "foo-1.0-py3-none-any.whl", "one"),), index)
    lost = index / "foo" / "foo-1.0-py3-none-any.whl.metadata"
    before = lost.read_bytes()
    lost.unlink()
    publish((wheel(tmp_path / "a", "foo-2.0-py3-none-any.whl", "two"),), index)
    assert lost.read_bytes() == before and "foo-2.0" in (index / "foo" / "index.html").read_text()


def test_mistakes_of_one_place_have_one_order() -> None:
    said = set()
    for _ in range(5):
        with pytest.raises(RecipeError) as caught:
            parse("name: x\n", "n.yaml")
        said.add(str(caught.value))
    assert len(said) == 1


def test_a_log_outside_the_runs_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "secret.log").write_text("x")
    with pytest.raises(UsageError):
        log_of(tmp_path / "store", "", "../../../../secret")


def test_a_stage_that_does_not_stand_is_no_tick() -> None:
    line = lines_of(StageFinished("bench", "5 cases, gates FAIL", 1.0, stands=False))[0].plain
    assert line.startswith("✗")
