"""SARIF names files as they lie, so that editors and code hosts can open them."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

from stackbuild.hipify import hipify_tree
from stackbuild.hipify.engines import Engine
from stackbuild.hipify.model import Target
from stackbuild.hipify.rules.rules import join, read
from stackbuild.hipify.tables.hipify_tools import Tools
from stackbuild.hipify.tree.files import SourceSelection
from stackbuild.views import hipify
from stackbuild.views.console import print_json
from support.hipify import bundled_rules, small_tables

OWN = read("schema: 1\nname: own\nrules:\n  - {id: own-none, identifier: nowhere, to: x, why: w}\n", "own.yaml")


def document(sources: list[Path], out: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    engine = Engine("fast", small_tables(), join([OWN, bundled_rules("generic")]), Target(), Tools(None, None))
    selection = SourceSelection(tuple(sources), out)
    hipify.print_sarif(hipify_tree(selection, engine), selection)
    (run,) = json.loads(capsys.readouterr().out)["runs"]
    return run


def opened(run: dict[str, Any]) -> dict[str, set[Path]]:
    """The files that each rule's findings are in, by the rules of URIs."""
    files: dict[str, set[Path]] = {}
    for result in run["results"]:
        for place in (one["physicalLocation"] for one in result["locations"] if "physicalLocation" in one):
            artifact = place["artifactLocation"]
            base = run["originalUriBaseIds"][artifact["uriBaseId"]]["uri"] if "uriBaseId" in artifact else ""
            files.setdefault(result["ruleId"], set()).add(Path(unquote(urlsplit(base + artifact["uri"]).path)))
    return files


@pytest.fixture
def src(tmp_path: Path) -> Path:
    (tmp_path / "src" / "sub dir").mkdir(parents=True)
    (tmp_path / "src" / "bin.cu").write_bytes(b"\0\1")
    (tmp_path / "src" / "sub dir" / "latin.cu").write_bytes(b"cuNothing(); // \xff\n")
    (tmp_path / "src" / "link.cu").symlink_to("nowhere")
    return tmp_path / "src"


@pytest.mark.parametrize("below", [True, False])
@pytest.mark.parametrize("several", [True, False])
def test_every_finding_about_a_file_names_that_file(
    src: Path,
    tmp_path: Path,
    below: bool,
    several: bool,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "ok.cu").write_text("cuNothing();\n")
    monkeypatch.chdir(tmp_path if below else tmp_path / "elsewhere")
    run = document([src, tmp_path / "elsewhere"] if several else [src], tmp_path / "out", capsys)
    found = opened(run)
    latin = src / "sub dir" / "latin.cu"
    assert found["HIPIFY-NOT-CONVERTED"] == {src / "bin.cu", src / "link.cu"}
    assert found["HIPIFY-NOT-UTF8"] == {latin}
    assert found["HIPIFY-UNSUPPORTED"] == ({latin, tmp_path / "elsewhere" / "ok.cu"} if several else {latin})
    assert "HIPIFY-RULE-UNUSED" not in found and any(r["ruleId"] == "HIPIFY-RULE-UNUSED" for r in run["results"])


def test_an_output_that_was_edited_is_the_file_told(
    src: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    document([src], tmp_path / "out", capsys)
    (tmp_path / "out" / "sub dir" / "latin.cu").write_text("edited\n")
    found = opened(document([src], tmp_path / "out", capsys))
    assert found["HIPIFY-OUTPUT-EDITED"] == {tmp_path / "out" / "sub dir" / "latin.cu"}


def test_a_name_that_is_no_utf_8_leaves_the_document_utf_8(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name = os.fsdecode(b"odd\xff.cu")
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / name).write_text("cuNothing();\n")
    found = opened(document([tmp_path / "src"], tmp_path / "out", capsys))
    assert found["HIPIFY-UNSUPPORTED"] == {tmp_path / "src" / "odd\ufffd.cu"}  # as unquote reads %FF
    engine = Engine("fast", small_tables(), bundled_rules("generic"), Target(), Tools(None, None))
    print_json(hipify_tree(SourceSelection((tmp_path / "src",), tmp_path / "out"), engine), "stackbuild.hipify/1")
    text = capsys.readouterr().out
    assert text.encode("utf-8") and json.loads(text)["files"][0]["source"].endswith(name)


def test_one_file_is_named_from_a_folder_below_it(
    src: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(src / "sub dir")
    found = opened(document([Path("latin.cu")], tmp_path / "o.hip", capsys))
    assert found["HIPIFY-UNSUPPORTED"] == {src / "sub dir" / "latin.cu"}
