"""SARIF checked against the schema of SARIF 2.1.0, which Debian's package of the crate serde-sarif carries: nightly.

SARIF_SCHEMA names a copy of the schema that is there already.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft7Validator

from stackbuild.hipify import SourceSelection, hipify_tree
from stackbuild.hipify.engines import Engine
from stackbuild.hipify.model import Target
from stackbuild.hipify.rules.rules import join, read
from stackbuild.hipify.tables.hipify_tools import Tools
from stackbuild.sources.debian_archive import download_package
from stackbuild.views import hipify
from support.hipify import bundled_rules, small_tables

GIVEN = os.environ.get("SARIF_SCHEMA")
pytestmark = [
    pytest.mark.network,
    pytest.mark.skipif(not GIVEN and not shutil.which("mmdebstrap"), reason="no mmdebstrap, which asks Debian's archive"),
]  # fmt: skip
OWN = read("schema: 1\nname: own\nrules:\n  - {id: own-none, identifier: nowhere, to: x, why: w}\n", "own.yaml")
CUDA = """\
#include <npp.h>
#define F cudaFuncSetAttribute
__global__ void k(float* p) { for (int o = 16; o >= 16; o /= 2) p[0] += __shfl_xor_sync(0xffffffff, p[1], o); asm("mov.u32 %0, %laneid;"); }
void f() { cudaNoSuchInHip(); cudaFooBar(); cudaTrial(); cudaFree(0); F(k<1, 2>); cudaMemcpyToSymbol(a b; }
"""


@pytest.fixture(scope="module")
def schema(tmp_path_factory: pytest.TempPathFactory) -> Draft7Validator:
    folder = tmp_path_factory.mktemp("schema")
    found = Path(GIVEN) if GIVEN else None
    if found is None:
        package = download_package("librust-serde-sarif-dev", "sid", folder)
        subprocess.run(["dpkg-deb", "--extract", str(package), str(folder)], check=True)
        (found,) = folder.rglob("serde-sarif-*/src/schema.json")
    text = json.loads(found.read_text(encoding="utf-8"))
    assert "Version 2.1.0" in text["title"]
    Draft7Validator.check_schema(text)
    return Draft7Validator(text, format_checker=Draft7Validator.FORMAT_CHECKER)


def document(source: Path, out: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    rules = join([OWN, bundled_rules("generic")])
    engine = Engine("fast", small_tables(), rules, Target(rocm="6.1", headers=frozenset()), Tools(None, None))
    selection = SourceSelection((source,), out)
    hipify.print_sarif(hipify_tree(selection, engine), selection)
    made: dict[str, Any] = json.loads(capsys.readouterr().out)
    return made


def test_a_report_is_valid_whatever_it_tells(
    schema: Draft7Validator, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / "src dir"
    source.mkdir()
    (source / "ünïcode #1%.cu").write_text(CUDA)
    (source / "bin.cu").write_bytes(b"\0\1")
    (source / "latin.cu").write_bytes(b"cuNothing(); // \xff\n")
    (source / os.fsdecode(b"odd\xff.cu")).write_text("cudaNoSuchInHip();\n")
    (source / "link.cu").symlink_to("nowhere")
    document(source, tmp_path / "out", capsys)
    (tmp_path / "out" / "latin.cu").write_text("edited\n")
    made = document(source, tmp_path / "out", capsys)
    told = {result["ruleId"] for result in made["runs"][0]["results"]}
    assert len(told) >= 10 and {"HIPIFY-NOT-CONVERTED", "HIPIFY-RULE-UNUSED", "HIPIFY-OUTPUT-EDITED"} <= told
    assert [error.message for error in schema.iter_errors(made)] == []


def test_an_empty_report_is_valid(schema: Draft7Validator, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a.cu").write_text("int a;\n")
    made = document(tmp_path / "src", tmp_path / "out", capsys)
    assert [error.message for error in schema.iter_errors(made)] == []
    made["runs"][0]["tool"]["driver"].pop("name")
    assert [error.message for error in schema.iter_errors(made)] == ["'name' is a required property"]
