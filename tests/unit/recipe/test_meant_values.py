"""Values of another type, and names of another namespace: the one that is meant is said, and it passes."""

from __future__ import annotations

import re

import pytest

from stackbuild.core.errors import RecipeError
from stackbuild.recipe.load import load, parse
from support.paths import ROOT

RECIPES = ROOT / "recipes"


@pytest.mark.parametrize(
    ("word", "meant"), [("recursive", "true"), ("yes", "true"), ("none", "false"), ("no-fetch", "false"), ("'true'", "true")]
)
def test_a_word_in_place_of_true_or_false_is_one_of_them(word: str, meant: str) -> None:
    text = "name: x\nsummary: x\nbase: {debian: {suite: trixie, packages: [cmake]}}\n"
    text += f"sources: {{s: {{git: https://example.org/s, ref: v1, submodules: {word}}}}}\n"
    text += "gfx: [gfx1100]\ncomponents: {c: {kind: cmake, source: s}}\nschema: 1\n"
    with pytest.raises(RecipeError) as stop:
        parse(text, "r.yaml")
    assert stop.value.mistakes[0].next.startswith(f"write `submodules: {meant}`")


def test_a_pin_the_wrong_way_round_is_turned() -> None:
    text = "schema: 1\nname: x\nsummary: x\nbase: {debian: {suite: sid, packages: [cmake], pin: {hipcc: experimental}}}\n"
    with pytest.raises(RecipeError) as stop:
        parse(text, "r.yaml")
    assert "`pin: {experimental: [hipcc]}`" in str(stop.value)


def test_rocm_of_an_index_is_written_out() -> None:
    text = (RECIPES / "debian-13.yaml").read_text()
    assert load("debian-13").recipe.rocm is None
    with pytest.raises(RecipeError) as stop:
        parse(text.replace("index: dist/simple", "index: 'dist/rocm-{rocm}/simple'"), "r.yaml")
    assert "write it out: `index: dist/simple`" in str(stop.value)


def test_a_name_of_another_namespace_is_said_with_the_one_that_is_meant() -> None:
    text = (RECIPES / "debian-13.yaml").read_text()
    loaded = load("debian-13").recipe
    (wheel,) = loaded.wheels
    distribution = loaded.wheels[wheel].distribution
    wrong = re.sub(r"(?m)^verify:\n", f"verify:\n  wheels: {{{distribution}: {{kernels_floor: 4}}}}\n", text)
    with pytest.raises(RecipeError) as stop:
        parse(wrong, "r.yaml")
    assert f"`{distribution}` is not a wheel component: it is a distribution" in str(stop.value)
    assert f"write `{wheel}`" in str(stop.value)
    parse(wrong.replace(f"{distribution}: {{kern", f"{wheel}: {{kern"), "r.yaml")


def test_keys_of_a_section_that_stands_twice_go_below_the_first() -> None:
    text = "a:\n  options:\n    X: 1\n  other: 1\n  options:\n    Y: 2\n    X: 3\n"
    with pytest.raises(RecipeError) as stop:
        parse(text, "r.yaml")
    step = stop.value.mistakes[0].next
    assert step == "put `Y` below the first, line 2, and remove this `options:`; `X` stands in both: keep one"


PLAIN = """schema: 1
name: x
summary: x
base: {debian: {suite: trixie, packages: [cmake]}}
sources:
  s: {git: https://example.org/s, ref: v1.0}
gfx: [gfx1100]
components:
  c: {kind: cmake, source: s}
bench: {suite: models-quick}
gates:
  - {kind: limit, metric: latency, at_most: 9 ms}
matrix: {variants: {fast: {c: {X: true}}, plain: {}}}
"""


@pytest.mark.parametrize(
    ("old", "new", "step"),
    [
        ("at_most: 9 ms", "at_most: 9 fps", "`metric: throughput` with `at_least: 9 /s`"),
        ("{kind: limit, metric: latency, at_most: 9 ms}", "{kind: memory, where: device, grows_at_most: 100M}", "`at_most: 100M`"),
        ("ref: v1.0", "ref: pull/123/head", "`git ls-remote https://example.org/s refs/pull/123/head` prints"),
        ("git: https://example.org/s, ref", "url: https://example.org/s-1.tar.gz, ref", "`archive:` in place of `url:`, `sha256:` beside it, and remove `ref:`"),
        ("git: https://example.org/s, ref: v1.0", "archive: https://example.org/s-1.zip, md5: abc", "`sha256sum FILE` prints"),
        ("name: x\n", "name: x\narch: arm64\n", "Linux on x86-64"),
        ("fast: {c: {X: true}}", "fast: {X: true}", "write it below the component that takes it"),
        ("fast: {c: {X: true}}", "fast: {X: Debug}", "component that takes it: `fast: {c: {X: Debug}}`"),
        ("source: s}", "source: s, options: {GPU_TARGETS: [gfx1100, gfx942]}}", "write `uses_gfx: GPU_TARGETS` beside"),
        ("source: s}", "source: s, options: {X_VERSION: [3, 5]}}", 'write `X_VERSION: "3.5"`'),
        ("source: s}", "source: s, options: {PARTS: [a, b]}}", 'write `PARTS: "a;b"`'),
        ("ref: v1.0", "ref: v1.0, patches: [patches/s/1.0/0001-a.patch]", "`patches: s/1.0`"),
        ("{git: https://example.org/s, ref: v1.0}", "{path: s, patches: s/1.0}", "remove the key, and change the source itself"),
        ("matrix:", "publish: {index: https://example.org/simple}\nmatrix:", "`index: dist/simple`, and `url: https://example.org/simple`"),
        ("source: s}", "source: s, needs: [cmake]}", "known are: c"),
    ],
)
def test_a_value_of_another_kind_has_one_message_with_what_is_meant(old: str, new: str, step: str) -> None:
    assert PLAIN.count(old) == 1
    with pytest.raises(RecipeError) as stop:
        parse(PLAIN.replace(old, new), "r.yaml")
    (mistake,) = stop.value.mistakes
    assert step in mistake.next
