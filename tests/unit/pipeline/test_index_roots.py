"""The indexes that a pipeline publishes onto: their folders, addresses and variables."""

from __future__ import annotations

import pytest

from stackbuild.core.errors import UsageError
from stackbuild.model.recipe import Publish, Recipe
from stackbuild.pipeline.index_roots import index_roots, root_of
from stackbuild.recipe.load import bundled_recipes, load


def recipe(index: str, url: str = "", rocm: str | None = "7.2.4") -> Recipe:
    publish = Publish.model_validate({"index": index, "url": url})
    return load("debian-13").recipe.model_copy(update={"publish": publish, "rocm": rocm})


@pytest.mark.parametrize(
    ("index", "root"),
    [
        ("dist/simple", "simple"),
        ("./dist/simple/", "simple"),
        ("dist/rocm-{rocm}/simple", "rocm-7.2.4/simple"),
        ("dist/a/b/pypi", "a/b/pypi"),
    ],
)
def test_the_root_is_the_folder_below_what_a_build_keeps(index: str, root: str) -> None:
    assert root_of(recipe(index)) == root


@pytest.mark.parametrize("index", ["simple", "dist", "/dist/simple", "dist/../simple", "dist/a b", "dist/$(id)", "dist/-x", "out/dist/simple", "dist/.x"])
def test_a_folder_that_a_build_job_does_not_keep_is_refused(index: str) -> None:
    with pytest.raises(UsageError, match="a build job keeps what lies below dist/"):
        root_of(recipe(index))


def test_bundled_recipes_of_two_rocms_never_share_an_index() -> None:
    of_root: dict[str, set[str | None]] = {}
    for name in bundled_recipes():
        one = load(name).recipe
        if one.wheels:
            of_root.setdefault(root_of(one), set()).add(one.rocm)
    assert {root: len(rocms) for root, rocms in of_root.items()} == dict.fromkeys(of_root, 1)
    assert {"simple", "rocm-6.4/simple", "rocm-7.2/simple"} <= set(of_root)


def roots(*recipes: Recipe, url: str = "") -> list[tuple[str, str, str]]:
    groups: dict[str, list[Recipe]] = {}
    for one in recipes:
        groups.setdefault(root_of(one), []).append(one)
    found = index_roots(groups, {root: (f"dist/{root}",) for root in groups}, {}, url)
    return [(one.path, one.options, one.number) for one in found]


def test_an_address_is_that_of_the_option_or_of_the_recipe() -> None:
    own = recipe("dist/rocm-{rocm}/simple", "https://w.example/rocm-{rocm}/simple")
    number = 'STACKBUILD_INDEX_AT_LEAST="${STACKBUILD_INDEX_AT_LEAST_ROCM_7_2_4:-}" '
    assert roots(own) == [("rocm-7.2.4/simple", "--url https://w.example/rocm-7.2.4/simple ", number)]
    assert roots(own, url="https://o.example/{root}")[0][1] == "--url https://o.example/rocm-7.2.4/simple "
    assert roots(recipe("dist/simple"), url="https://o.example/wheels") == [("simple", "--url https://o.example/wheels ", "")]
    assert roots(recipe("dist/simple"), own)[1][1] == ""


def test_proofs_go_to_the_index_of_their_wheels() -> None:
    groups = {"simple": [recipe("dist/simple")], "x/simple": [recipe("dist/x/simple")]}
    found = index_roots(groups, {"simple": ("a", "a"), "x/simple": ("b",)}, {"x/simple": ("proof/1", "proof/2", "proof/1")}, "")
    assert [(one.folders, one.options) for one in found] == [(("a",), ""), (("b",), "--proof proof/1 --proof proof/2 ")]


@pytest.mark.parametrize(
    ("recipes", "url", "words"),
    [
        ((("dist/simple", ""), ("dist/simple/rocm", "")), "", "the index simple/rocm would lie in the index simple"),
        ((("dist/a/simple", ""), ("dist/b/simple", "")), "https://w.example/simple", "would have one address"),
        ((("dist/a/simple", "https://a.example"), ("dist/a/simple", "https://b.example")), "", "at https://a.example and at https://b.example"),
        ((("dist/a-1/simple", ""), ("dist/a_1/simple", "")), "", "one variable, STACKBUILD_INDEX_AT_LEAST_A_1"),
        ((("dist/simple", ""),), "https://x/$(id)", "not an address"),
        ((("dist/simple", ""),), "https://x/{rocm}", "not an address"),
    ],
)
def test_indexes_that_would_be_mixed_are_refused(recipes: tuple[tuple[str, str], ...], url: str, words: str) -> None:
    with pytest.raises(UsageError) as stopped:
        roots(*(recipe(*one) for one in recipes), url=url)
    assert words in str(stopped.value) and stopped.value.next
