"""The word that was probably meant, and what is said where none is near."""

from __future__ import annotations

import pytest

from stackbuild.tables.near_words import nearest, one_of, rule_near, rules_meant, step_meant


@pytest.mark.parametrize(
    ("word", "candidates", "meant"),
    [
        ("kernels-wheel", ["base", "kernels", "wheel"], "wheel"),
        ("onnxruntime-whel", ["onnxruntime", "onnxruntime-wheel"], "onnxruntime-wheel"),
        ("resnet-50", ["bert-base", "resnet50"], "resnet50"),
        ("operator", ["operators", "share"], "operators"),
        ("wheels", ["kernels", "wheel"], "wheel"),
    ],
)
def test_a_whole_part_counts_before_a_likeness(word: str, candidates: list[str], meant: str) -> None:
    assert nearest(word, candidates) == meant


def test_all_are_listed_only_where_none_is_near() -> None:
    assert one_of("dockr", ("docker", "fake")) == "did you mean `docker`?"
    assert one_of("zzz", ("docker", "fake")) == "one of: docker, fake"
    assert one_of("dockr", ("docker", "fake"), "a name") == "did you mean `docker`? Else a name"
    assert one_of("zzz", ("docker", "fake"), "a name") == "one of: docker, fake, or a name"
    assert step_meant("kernels-wheel", ["kernels", "wheel"]).startswith("did you mean `wheel`?")
    assert step_meant("zzz", ["kernels", "wheel"]) == "steps are: kernels, wheel"


def test_the_beginning_of_all_ids_makes_no_rule_near() -> None:
    ids = ["SB-RUN-OPERATOR", "SB-STACK-GFX"]
    assert rule_near("SB-NOPE", ids) == ""
    assert rule_near("SB-STACK-GFXX", ids) == "SB-STACK-GFX"
    of_family = ["SB-ELF-CWD-RUNPATH", "SB-ELF-RUNPATH-SEPARATOR", "SB-ELF-ESCAPING-RUNPATH"]
    assert rule_near("SB-ELF-RUNPATH", of_family) == "SB-ELF-CWD-RUNPATH"
    assert rule_near("SB-ELF-RUNPATH-SEP", of_family) == "SB-ELF-RUNPATH-SEPARATOR"


def test_an_id_whose_last_word_was_cut_is_answered_by_all_rules_that_begin_so() -> None:
    ids = ["SB-VENV-CHANGED", "SB-VENV-CPU-ONLY", "SB-VENV-TWICE", "SB-ELF-RUNPATH-A", "SB-ELF-RUNPATH-B"]
    for cut in ("SB-VENV-C", "sb-venv-c"):
        assert rules_meant(cut, ids) == "these begin so: SB-VENV-CHANGED, SB-VENV-CPU-ONLY"
    assert rules_meant("SB-VENV-TWIC", ids) == "did you mean `SB-VENV-TWICE`?"
    assert rules_meant("SB-VENV-CHANGD", ids) == "did you mean `SB-VENV-CHANGED`?"
    assert rules_meant("SB-NOPE", ids) == ""
