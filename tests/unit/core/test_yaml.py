from __future__ import annotations

import time

import pytest

from stackbuild.core.errors import RecipeError
from stackbuild.core.yaml import MAX_BYTES, compose


def mistakes(text: str) -> list[str]:
    with pytest.raises(RecipeError) as caught:
        compose(text, "r.yaml")
    return [f"{m.place}: {m.what}" for m in caught.value.mistakes]


def test_data_and_places() -> None:
    data, places = compose("a: 1\nb:\n  - x: [1, 2.5]\n    y: 'on'\n", "r.yaml")
    assert data == {"a": 1, "b": [{"x": [1, 2.5], "y": "on"}]}
    assert places.keys[("b", 0, "y")] == (4, 5)
    assert places.values[("b", 0, "x", 1)] == (3, 12)
    assert places.values[()] == (1, 1)
    assert places.of_value(("b", 0, "x", 1)) == "r.yaml:3:12"
    assert places.of_key(("b", 0, "y")) == "r.yaml:4:5"
    assert places.of_value(("b", 0, "y", "gone", 3)) == "r.yaml:4:8"


def test_scalars_follow_the_core_schema() -> None:
    data, _ = compose(
        "[on, yes, no, True, false, null, ~, , 3.10, 0x1f, 0o17, 012, 1e3, .5, -7, .inf, .nan, 2024-01-02, 1_000, "
        "1e999, '1', \"true\", +, -, 1:30]".replace(", , ", ", "),
        "r.yaml",
    )
    assert data == [
        "on", "yes", "no", True, False, None, None, 3.1, 31, 15, 12, 1000.0, 0.5, -7, ".inf", ".nan", "2024-01-02",
        "1_000", "1e999", "1", "true", "+", "-", "1:30",
    ]  # fmt: skip


def test_keys_are_always_text() -> None:
    data, places = compose("6.4: a\ntrue: b\n7: {8: c}\n", "r.yaml")
    assert data == {"6.4": "a", "true": "b", "7": {"8": "c"}}
    assert places.keys[("7", "8")] == (3, 5)


@pytest.mark.parametrize("text", ["", "# only a comment\n", "---\n", "null"])
def test_empty_is_none(text: str) -> None:
    assert compose(text, "r.yaml")[0] is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: &x 1\nb: *x\n", ["r.yaml:1:4: `&x` is an anchor", "r.yaml:2:4: `*x` is an alias"]),
        ("a: !!str 1\n", ["r.yaml:1:4: `!!str` is a tag"]),
        ("a: !!python/object:os.system x\n", ["r.yaml:1:4: `!!python/object:os.system` is a tag"]),
        ("a: !own {b: 1}\n", ["r.yaml:1:4: `!own` is a tag"]),
        ("a: 1\nb: 2\na: 3\n", ["r.yaml:3:1: the key 'a' stands here twice, first on line 1"]),
        ("a: {b: {c: 1}, b: {c: 2}}\n", ["r.yaml:1:16: the key 'b' stands here twice, first on line 1"]),
        ("a: 1\n---\nb: 2\n", ["r.yaml:2:1: a second document begins here"]),
        ("? [x]\n: 1\n", ["r.yaml:1:3: a key that is a mapping or a list"]),
        ("{[x]: 1, '': 2}\n", ["r.yaml:1:2: a key that is a mapping or a list"]),
        ("{*x : 1, '': 2}\n", ["r.yaml:1:2: `*x` is an alias"]),
        ("a: b: c\n", ["r.yaml:1:4: not YAML: a second key on this line, or a text with `: ` and without quotes"]),
        ("a:\n\t- b\n", ["r.yaml:2:1: not YAML: the line is indented with a tab"]),
        ("a: 1\nb: \x01\n", ["r.yaml:2:4: the character U+0001 is not allowed in YAML"]),
        ("a: ü\nb: \udc80\n", ["r.yaml:2:4: the character U+DC80 is not allowed in YAML"]),
        (f"a: {'9' * 5000}\n", ["r.yaml:1:4: a number of 5000 characters"]),
        ("[" * 100_000, ["r.yaml:1:51: nested deeper than 50 levels"]),
        ("- " * 100_000, ["r.yaml:1:101: nested deeper than 50 levels"]),
        ("a" * (MAX_BYTES + 1), [f"r.yaml:1:1: {MAX_BYTES + 1:,} bytes; at most {MAX_BYTES:,} are read"]),
    ],
)
def test_refusals_name_their_place(text: str, expected: list[str]) -> None:
    assert mistakes(text) == expected


def test_all_mistakes_of_one_reading_come_together() -> None:
    assert len(mistakes("a: &x 1\na: 2\nc: *x\nd: !t 3\n")) == 4


def test_fifty_levels_are_fine() -> None:
    data, _ = compose("[" * 50 + "]" * 50, "r.yaml")
    assert isinstance(data, list)


def test_six_thousand_lines_are_quick() -> None:
    text = "".join(f"k{i}:\n  name: n{i}\n  size: {i}\n" for i in range(2000))
    start = time.process_time()
    data, places = compose(text, "r.yaml")
    assert time.process_time() - start < 0.5  # measured 0.03 s alone
    assert isinstance(data, dict) and len(data) == 2000 and len(places.keys) == 6000
