"""Each wrong recipe gives one message: place, cause, next step. The snapshots lie beside the recipes.

To take them anew after a change of words: `STACKBUILD_SNAPSHOTS=1 pytest tests/unit/recipe/load/test_wrong_recipes.py`, and
read the diff.
"""

from __future__ import annotations

import json
import os
import re
import resource
import time
from pathlib import Path

import pytest

from stackbuild.core.errors import RecipeError, UsageError
from stackbuild.model.inputs import Inputs
from stackbuild.model.recipe import Recipe
from stackbuild.plan.resolve import resolve
from stackbuild.recipe.load import load, parse
from support.paths import ROOT, TESTS

RECIPES = ROOT / "recipes"
FOLDER = TESTS / "wrong-recipes"
WRONG = sorted(FOLDER.glob("*.yaml"))
LISTS = re.compile(r"(known are:?|one of:) (?:[\w-]+, )+[\w-]+")
"""Lists of all choices grow with the schema; a test of their own looks at them."""
PLACE = re.compile(r"[\w-]+\.yaml:\d+:\d+")


def mistakes_of(text: str, name: str = "r.yaml") -> RecipeError:
    started = time.process_time()
    with pytest.raises(RecipeError) as caught:
        parse(text, name)
    assert time.process_time() - started < 2
    return caught.value


@pytest.mark.parametrize("path", WRONG, ids=lambda p: p.stem)
def test_message_is_the_snapshot(path: Path) -> None:
    said = LISTS.sub(r"\1 …", f"{mistakes_of(path.read_text(), path.name)}\n")
    snapshot = path.with_suffix(".txt")
    if os.environ.get("STACKBUILD_SNAPSHOTS"):
        snapshot.write_text(said)
    assert said == snapshot.read_text()


def test_where_nothing_is_near_all_choices_are_listed() -> None:
    keys = str(mistakes_of((FOLDER / "unknown-key-far-from-any.yaml").read_text()))
    assert all(name in keys for name in Recipe.model_json_schema()["properties"])
    kinds = str(mistakes_of((FOLDER / "missing-kind.yaml").read_text()))
    assert "script, cmake, kernels" in kinds and "wheel" in kinds


@pytest.mark.parametrize("path", WRONG, ids=lambda p: p.stem)
def test_message_has_place_cause_and_next_step(path: Path) -> None:
    text = path.read_text()
    for mistake in mistakes_of(text, path.name).mistakes:
        assert PLACE.fullmatch(mistake.place), mistake
        line = int(mistake.place.split(":")[1])
        assert 1 <= line <= text.count("\n") + 1
        assert len(mistake.what) > 5 and len(mistake.next) > 5, mistake
        assert "pydantic" not in str(mistake) and "valid tuple" not in str(mistake)
        assert all(c.isprintable() for line in str(mistake).split("\n") for c in line)
        rows = str(mistake).split("\n")
        assert len(rows) == 2 or (len(rows) == 4 and rows[2].strip() == "^" and rows[1].strip() in text), mistake
        assert "^[" not in mistake.what + mistake.next, "a regular expression is no explanation"


def test_there_are_many_and_each_has_its_snapshot() -> None:
    assert len(WRONG) >= 60
    assert {p.stem for p in WRONG} == {p.stem for p in FOLDER.glob("*.txt")}


GOOD = """schema: 1
name: demo
summary: SUMMARY
base: {debian: {suite: SUITE, packages: [PACKAGE], areas: [main], extract: [EXTRACT]}}
gfx: [gfx90a]
sources: {code: {path: PATH, exclude: [EXCLUDE]}, far: {git: URL, ref: REF}}
components:
  lib: {kind: script, source: code, env: {NAME: VALUE}, run: [[echo, ARGUMENT]]}
  pack: {kind: cmake, source: code, options: {OPTION: CHOICE}, subfolder: SUBFOLDER, uses_gfx: USES}
  wheel: {kind: wheel, needs: [lib], distribution: DISTRIBUTION, version: VERSION, summary: s, packages: [IMPORT]}
verify: {runtime: [RUNTIME]}
publish: {index: INDEX}
"""
FIELDS = {
    "SUMMARY": "s", "SUITE": "trixie", "PACKAGE": "make", "EXTRACT": "libx", "PATH": "code", "EXCLUDE": "x", "URL": "https://example.org/x",
    "REF": "main", "NAME": "NAME", "VALUE": "v", "ARGUMENT": "a", "OPTION": "O", "CHOICE": "c", "SUBFOLDER": "sub", "USES": "GPU",
    "DISTRIBUTION": "demo", "VERSION": "1.0", "IMPORT": "demo", "RUNTIME": "numpy", "INDEX": "dist",
}  # fmt: skip
PAYLOADS = (
    "$(touch owned)", "`touch owned`", "; touch owned", "| touch owned", "&& touch owned", "../../../../etc/passwd", "/etc/passwd",
    "--upload-pack=touch owned", "-oProxyCommand=touch owned", "ext::sh -c touch% owned", "file:///etc/passwd", "{{ ().__class__.__mro__ }}",
    "{% import os %}", "${HOME}", "%s%n", "\x1b]0;owned\x07", "a\nb", "a\r\nb", "a\u2028b", "\u202eevil", "x" * 5000, "!!python/object:os.system",
    "*alias", "<script>alert(1)</script>", "::error::owned", "[link=file:///etc/passwd]x[/link]", "'; DROP TABLE", "a: b", "#", "",
)  # fmt: skip
MUST_REFUSE = {"SUITE", "PACKAGE", "EXTRACT", "URL", "REF", "NAME", "DISTRIBUTION", "RUNTIME"}
"""Fields that reach a tool of this machine's own command line or a file name: nothing of the above passes them."""


def injected(field: str, payload: str) -> str:
    text = GOOD
    for name, value in FIELDS.items():
        text = re.sub(rf"\b{name}\b", lambda _, v=value, n=name: json.dumps(payload if n == field else v), text)
    return text


def test_the_control_of_the_injections_is_right() -> None:
    assert parse(injected("", ""), "r.yaml").publish.index == "dist"


@pytest.mark.parametrize("field", FIELDS)
def test_injections_are_refused_with_their_place_or_stay_text(field: str) -> None:
    for payload in PAYLOADS:
        if field == "REF" and payload == "x" * 5000:
            continue  # a long ref is a ref
        try:
            recipe = parse(injected(field, payload), "r.yaml")
        except RecipeError as error:
            assert all(PLACE.fullmatch(m.place) for m in error.mistakes)
            assert all(c.isprintable() or c == "\n" for c in str(error))
            assert len(str(error)) < 1000
        else:
            allowed = field not in MUST_REFUSE or payload == "x" * 5000
            assert allowed, f"{field} took {payload!r}"
            assert resolves_to_plain_words(recipe, payload)


def resolves_to_plain_words(recipe: Recipe, payload: str) -> bool:
    """The payload is one word of one command, or a field of the key; the key's text keeps one field a line."""
    inputs = Inputs((("make", "1"),), (("far", "0" * 40),), (), (("code", "1" * 64),))
    for step in resolve(recipe, inputs).steps:
        assert len(step.key_text.split("\n")) == len(step.fields) + 1
        assert all(isinstance(word, str) for c in step.commands for word in c.argv)
    return True


@pytest.mark.parametrize(
    "text",
    [
        "x" * 1_100_000,
        "a: &a [x]\n" + "".join(f"k{i}: &k{i} [{', '.join([f'*k{i - 1}' if i else '*a'] * 50)}]\n" for i in range(100)),
        "{" * 200_000,
        "[" * 200_000,
        "- " * 200_000,
        "? " * 100_000,
        "a:\n" + "".join(" " * i + f"k{i}:\n" for i in range(1, 1000)),
        "x: " + "'" * 100_000,
        "x: |\n" + " a\n" * 200_000,
        "\n" * 1_000_000,
        "#" * 1_000_000,
        "x: " + "0x" + "f" * 100_000,
        "".join(f"k{i}: 1\n" for i in range(60_000)),
        "k: 1\n" * 60_000,
        "gfx: [" + "gfx90b, " * 60_000 + "]",
        "components: {" + ", ".join(f"c{i}: {{kind: nope}}" for i in range(20_000)) + "}",
        "%TAG ! tag:evil,2000:\n---\nx: !a 1\n",
        "\ufeffschema: 1\n",
        "x: \"\\ud800\"\n",
        "x: 2001-01-01\n" * 2,
    ],
    ids=range(20),
)  # fmt: skip
def test_bombs_end_soon_with_a_place(text: str) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    error = mistakes_of(text)
    assert PLACE.fullmatch(error.mistakes[0].place)
    assert len(str(error)) < 10_000
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 400_000  # KiB


def test_what_is_no_text_is_refused(tmp_path: Path) -> None:
    for name, data, cause in (
        ("latin.yaml", "summary: é".encode("latin-1"), "not UTF-8"),
        ("utf16.yaml", "schema: 1".encode("utf-16"), "not UTF-8"),
        ("big.yaml", b"#" * (1 << 20) + b"\n", "larger than 1 MiB"),
    ):
        (tmp_path / name).write_bytes(data)
        with pytest.raises(RecipeError, match=cause) as caught:
            load(str(tmp_path / name))
        assert caught.value.mistakes[0].place.endswith(f"{name}:1:1")


def test_a_recipe_that_is_not_there_names_the_near_one(tmp_path: Path) -> None:
    for name in ("debian-12", str(tmp_path), "x" * 5000, "a/b/c", "/dev/zero", ""):
        with pytest.raises(UsageError) as caught:
            load(name)
        assert caught.value.exit_code == 2 and caught.value.next
    with pytest.raises(UsageError, match="did you mean debian-13"):
        load("debian-12")


ACCURACY = re.compile(r"  - kind: accuracy.*\n    snr_db: 100\n")


@pytest.mark.parametrize(
    ("old", "new", "line", "next"),
    [
        ("gfx1030, gfx1100]\n", "gfx1030, gfx1100\n", "gfx: [gfx90a", "close it with `]`"),
        ("memory: 6G", "memory: 6144", "memory: 6144", "write `6144M`"),
        ("size_budget: 20M", "size_budget: 60", "size_budget: 60", "write `60M`"),
        ("cases: [LeakyRelu/*, ", "cases: [*, ", "cases: [*", 'put it into quotes: `"*"`'),
        ("version: 0.1.0", "version: v0.1.0-rocm", "version: v0", "write `0.1.0+rocm`"),
        ("version: 0.1.0", "version: 1.2+rocm-7.2.4_x", "version: 1.2", "write `1.2+rocm.7.2.4.x`"),
        ("    external: [", "  external: [", "external: [", "indent `external:` below `wheel:`"),
        (ACCURACY, "  - accuracy\n", "- accuracy", "write `- kind: accuracy`"),
        ("schema: 1\n", "", "name: debian-13", "add `schema: 1`"),
    ],
)
def test_a_newcomers_mistake_is_told_with_what_can_be_written(
    old: str | re.Pattern[str], new: str, line: str, next: str
) -> None:
    right = (RECIPES / "debian-13.yaml").read_text()
    text = old.sub(new, right) if isinstance(old, re.Pattern) else right.replace(old, new)
    mistake = mistakes_of(text).mistakes[0]
    assert next in mistake.next
    assert line in text.splitlines()[int(mistake.place.split(":")[1]) - 1]


def test_gates_without_a_dash_are_told_to_begin_with_one() -> None:
    right = (RECIPES / "debian-13.yaml").read_text().partition("gates:")[0]
    mistake = mistakes_of(f"{right}gates:\n  kind: accuracy\n  snr_db: 100\n").mistakes[0]
    assert "`- kind: accuracy`" in mistake.next


@pytest.mark.parametrize("data", [b"\x7fELF\x02\x01\x01\0\x40", b"\x7fELF\xff\0", b"PK\x03\x04"])
def test_a_program_or_an_archive_is_no_recipe(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_bytes(data)
    with pytest.raises(RecipeError, match="not a recipe"):
        load(str(tmp_path / "a.yaml"))
