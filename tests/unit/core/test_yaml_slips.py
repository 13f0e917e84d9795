"""The slip behind a text that is not YAML: its line and column, the cause and the next step."""

from __future__ import annotations

import pytest

from stackbuild.core.errors import RecipeError
from stackbuild.core.yaml import compose
from stackbuild.core.yaml_slips import slip_of


@pytest.mark.parametrize(
    ("text", "place", "what", "next"),
    [
        ("a:\n\tb: 1\n", "2:1", "indented with a tab", "with spaces"),
        ("a: @main\n", "1:4", "cannot begin with `@`", "`'@main'`"),
        ("a: `x`\n", "1:4", "cannot begin with ```", "quotes"),
        ('a: "C:\\path"\n', "1:7", "begins an escape", "write `/`"),
        ('a: "C:\\Users"\n', "1:7", "begins an escape", "write `/`"),
        ('a: "1 \\d 2"\n', "1:7", "begins an escape", "`'` quotes"),
        ("a:\n  b:\n  - c\n   d: e\n", "4:4", "below an item of a list", "indent `d:` by 2"),
        ("a: b\nc: 'd\ne: f\n", "2:4", "a quote `'` of this line is not closed", "close"),
        ('a: "b\nc: ["d"]\n', "1:4", 'a quote `"` of this line is not closed', "close"),
        ('a: ["b, "c"]\n', "1:5", 'a quote `"` of this line is not closed', "close"),
        ("a: {b: 1}\nc:1\nd: 2\n", "2:1", "no space after the colon of `c`", "`c: 1`"),
        ("a:\n  - b\n  -c\n  - d\n", "3:3", "no space after the `-`", "`- c`"),
        ("a:\n  b c\n  d: e\n", "2:3", "no colon after `b`", "`b: c`"),
        ("a = 1\nb: 2\n", "1:1", "no colon after `a`", "`a: 1`"),
        ("a: 1\nwhat is this text\nb: 2\n", "2:1", "is not a `key: value`", "`#` before a comment"),
        ("a: 1\nb\nc: 2\n", "2:1", "`b` is not a `key: value`", "remove it"),
        ("a:\n  b: 1\n   c: 2\n", "3:4", "indented by 3 spaces, and the key above it by 2", "by 2 spaces"),
        ("a: b C: d\n", "1:4", "a value that contains `: ` has no quotes", "`'b C: d'`"),
        ("a: b c: d\n", "1:6", "a second key, `c`, on this line", "`c:` on a line of its own"),
        ("a: b, c: d\n", "1:7", "a second key, `c`, on this line", "`a: b`"),
        ("a: [b] c: d\n", "1:8", "a second key, `c`, on this line", "on a line of its own"),
        ("a: c:\n  d: 1\n", "1:4", "`c:` on the line of `a:`", "indented below `a:`"),
        ("a:b: c\n  d: e\n", "1:1", "`a:` and `b:` on one line", "indented below `a:`"),
        ("a:;\n  b: c\n", "1:3", "`;` behind the colon", "`a:`"),
        ("a: [b],\nc: d\n", "1:7", "`,` at the end", "remove"),
        ('a: "b", "c"\n', "1:4", "a list has brackets", '`a: ["b", "c"]`'),
        ("a: [b,, c]\n", "1:7", "an item without a value", "remove this `,`"),
        ("a: ['b\"]\nc: d\n", "1:5", "a quote `'` of this line is not closed", "close"),
        ("a: - b\n", "1:4", "an item `- ` on the line", "`a: [b]`"),
        ("a: > b\n", "1:4", "text behind `>`", "`a: b`"),
        ("a: ? b\n", "1:4", "cannot begin with `? `", "`'? b'`"),
        ("a:\n  - b\n  c\n  - d\n", "3:3", "without its `- `", "`- c`"),
        ('a: b\n"c: d"\ne: f\n', "2:1", "a whole line in quotes", "`c: d`"),
        ("a:\nb\nc: d\n", "2:1", "the value of `a` is on a line of its own", "`a: b`"),
        (" a: b\nc: d\n", "1:1", "indented by 1 space", "remove the spaces"),
        ("a:\n  - b: c\n  d: e\n", "2:3", "a `- ` makes this key an item", "`b: c`"),
        ("a:\n  b: c\n  - d: e\n  f: g\n", "3:3", "a `- ` before a key", "`d: e`"),
        ("a: null\n  b: c\n", "1:1", "`a` has the value `null`", "`a:` alone"),
        ("a:\n    b: c\n  d: e\n", "2:5", "by 4 spaces, and the next key of `a:` by 2", "by 2"),
        ("a: b: d\n", "1:4", "a second key on this line", "on the next line"),
        ("a: [b, c\nd: e\n", "1:4", "`[` is not closed", "`]`"),
        ("a: [b, c}\n", "1:9", "`[` is closed with `}`", "`]`"),
        ('a: ["b" "c"]\n', "1:9", "without a comma", "`,`"),
        ("a: 1\n}\n", "2:1", "`}` closes nothing", "remove"),
        ('a: "b" c\n', "1:8", "`c` follows a value that has ended", "quotes"),
        ("a: 1\n- b\n", "2:1", "a list item among the keys that begin on line 1", "as items"),
        ("a:\n    b: 1\n   c: 2\n", "3:4", "indented by 3 spaces, and no key above it is", "by 4,"),
    ],
)
def test_a_slip_has_its_line_its_cause_and_a_next_step(text: str, place: str, what: str, next: str) -> None:
    with pytest.raises(RecipeError) as caught:
        compose(text, "r.yaml")
    (mistake,) = caught.value.mistakes
    assert mistake.place == f"r.yaml:{place}", mistake
    assert what in mistake.what and next in mistake.next, mistake


def test_what_is_none_of_the_usual_slips_has_the_parsers_words() -> None:
    assert slip_of("%a\n", "found unknown directive name", (0, 0), None) is None
    with pytest.raises(RecipeError, match="check quotes, brackets and indentation"):
        compose("a: !<tag\n", "r.yaml")


@pytest.mark.parametrize(
    ("text", "place", "what", "step"),
    [
        ("%YAML 1.2\nschema: 1\n", "1:1", "is a directive", "remove the line"),
        ('a:\n  kind: "kernels\nb:\n  - "*.cu"\n', "2:9", 'a quote `"` of this line is not closed', "close each text"),
        ("a:\n  b: 1\n\tc: 2\nd: e: f\n", "3:1", "indented with a tab", "indent with spaces"),
        ("a:\n  * b\n", "2:4", "begins with `- `, not with `*`", "write `- b`"),
        ("base: debian\n  debian:\n    suite: a\n", "1:1", "`base:` has a value, and lines of its own below it", "write `base:` alone"),
    ],
)  # fmt: skip
def test_a_slip_above_the_place_where_the_parser_gave_up_is_told(text: str, place: str, what: str, step: str) -> None:
    with pytest.raises(RecipeError) as raised:
        compose(text, "r.yaml")
    (mistake,) = raised.value.mistakes
    assert mistake.place == f"r.yaml:{place}" and what in mistake.what and step in mistake.next


def test_a_text_of_several_lines_is_not_an_open_quote() -> None:
    with pytest.raises(RecipeError) as raised:
        compose('a: "one\n  two"\nb: c: d\n', "r.yaml")
    assert [mistake.place for mistake in raised.value.mistakes] == ["r.yaml:3:4"]


@pytest.mark.parametrize("line_break", ["\r", "\r\n", "\x85", "\u2028", "\u2029"])
def test_lines_are_counted_as_the_parser_counts_them(line_break: str) -> None:
    text = line_break.join(["# one", "# two", "schema: 1", "summary: 'a", "gfx: [gfx90a", "base: x", "- y"])
    with pytest.raises(RecipeError) as stopped:
        compose(text, "recipe.yaml")
    assert stopped.value.mistakes
