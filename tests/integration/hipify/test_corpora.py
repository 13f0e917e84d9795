"""Real CUDA sources from public source distributions, fetched by name: nightly."""

from __future__ import annotations

import pytest

from stackbuild.hipify import Target, open_engine
from stackbuild.hipify.convert import convert
from stackbuild.hipify.cpp.source_text import View
from stackbuild.hipify.engines import perl
from stackbuild.hipify.lint.ladders.loops import Ladder
from stackbuild.hipify.lint.lanes import ladders
from stackbuild.hipify.perl.compare import compare
from support.cuda_corpora import fetch
from support.hipify import NO_PERL, PERL

pytestmark = [pytest.mark.network, pytest.mark.skipif(PERL is None, reason=NO_PERL)]
SMALL = (
    "torch-scatter==2.1.2",
    "torch-cluster==1.6.3",
    "torch-sparse==0.6.18",
    "auto-gptq==0.7.1",
    "mamba-ssm==2.3.2.post1",
)


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[str, str]]:
    folder = tmp_path_factory.mktemp("corpus")
    for requirement in SMALL:
        fetch(requirement, folder)
    paths = sorted(p for p in folder.rglob("*") if p.suffix in (".cu", ".cuh"))
    assert len(paths) > 30
    return [(p.name, p.read_bytes().decode("utf-8", "surrogateescape")) for p in paths]


def test_every_difference_from_hipify_perl_on_real_files_is_explained(corpus: list[tuple[str, str]]) -> None:
    engine = open_engine(hipify_perl=PERL)
    differences = [
        d for name, text in corpus for d in compare(text, name, engine, perl(engine.tools, text, engine.target))
    ]
    assert differences and [d for d in differences if d.defect is None] == []


def test_real_files_convert_once_and_for_all(corpus: list[tuple[str, str]]) -> None:
    engine = open_engine(hipify_perl=PERL, target=Target(rocm="6.4"))
    for name, text in corpus:
        once = convert(text, engine.tables, engine.rules, engine.target, name).text
        assert convert(once, engine.tables, engine.rules, engine.target, name).text == once, name


def test_line_ends_of_real_files_change_nothing_else(corpus: list[tuple[str, str]]) -> None:
    engine = open_engine(hipify_perl=PERL, target=Target(rocm="6.4"))
    for name, text in corpus:
        plain = text.replace("\r\n", "\n")
        one = convert(plain, engine.tables, engine.rules, engine.target, name)
        other = convert(plain.replace("\n", "\r\n"), engine.tables, engine.rules, engine.target, name)
        assert other.text == one.text.replace("\n", "\r\n"), name
        assert other.findings == one.findings and other.lines == one.lines, name


def test_no_real_ladder_of_these_is_called_incomplete(corpus: list[tuple[str, str]]) -> None:
    found = [one for name, text in corpus for one in ladders(View(text, name)) if isinstance(one, Ladder)]
    assert found and all(ladder.complete for ladder in found)
