"""Local sources: which of their files count, and that a recipe's paths stay where they belong."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from stackbuild.core.errors import UsageError
from stackbuild.core.tree_walk import OutOfBounds
from stackbuild.recipe.load import load
from stackbuild.sources.local import LocalSource, files, local_sources, refuse_outside, settle
from support.stores import deep

RECIPE = """\
schema: 1
name: t
summary: a test
base: {{debian: {{suite: trixie, packages: [make]}}}}
gfx: [gfx90a]
sources: {{code: {{path: {path}}}}}
components: {{one: {{kind: script, source: code, run: [["true"]]{more}}}}}
publish: {{index: {index}}}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The recipe's folder: with a source, and links to folders inside and outside."""
    made = tmp_path / "recipe"
    (made / "code").mkdir(parents=True)
    (tmp_path / "outside" / "series").mkdir(parents=True)
    (made / "inner").symlink_to("code")
    (made / "outer").symlink_to(tmp_path / "outside")
    (made / "patches").symlink_to(tmp_path / "outside")
    monkeypatch.chdir(made)
    return made


def write(folder: Path, path: str = "code", index: str = "dist/simple", more: str = "") -> str:
    (folder / "t.yaml").write_text(RECIPE.format(path=path, index=index, more=more))
    return str(folder / "t.yaml")


@pytest.mark.parametrize("path", ["code", "./code", "inner", ".", "code/../code"])
def test_a_path_inside_is_taken(folder: Path, path: str) -> None:
    assert local_sources(load(write(folder, path)))["code"].folder.is_relative_to(folder.resolve())


@pytest.mark.parametrize("path", ["/etc", "..", "../outside", "outer", "outer/../../..", "inner/../../outside"])
def test_a_path_outside_is_refused_with_what_to_do(folder: Path, path: str) -> None:
    with pytest.raises(UsageError, match=r"sources.code.path: .* leads to /.*, outside of") as refused:
        local_sources(load(write(folder, path)))
    assert "--allow-path" in refused.value.next


def test_an_allowed_folder_may_be_led_into(folder: Path) -> None:
    outside = folder.parent / "outside"
    assert local_sources(load(write(folder, "../outside"), [outside]))["code"].folder == outside.resolve()
    with pytest.raises(UsageError, match="leads to"):
        local_sources(load(write(folder, "/etc"), [outside]))


@pytest.mark.parametrize("index", ["/srv/simple", "../simple", "outer/simple"])
def test_an_index_outside_the_working_directory_is_refused(folder: Path, index: str) -> None:
    with pytest.raises(UsageError, match=r"publish.index"):
        refuse_outside(load(write(folder, index=index)))
    refuse_outside(load(write(folder, index=index), [Path("/srv"), folder.parent]))


@pytest.mark.parametrize(
    ("more", "place"),
    [(", hipify: {patches: series}", "hipify.patches"), (", hipify: {rules: [../evil.yaml]}", "hipify.rules")],
)
def test_patches_and_rules_stay_inside_too(folder: Path, more: str, place: str) -> None:
    with pytest.raises(UsageError, match=place):
        refuse_outside(load(write(folder, more=more)))


def test_a_source_3000_deep_is_refused_in_words(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    deep(source, 200)
    with pytest.raises(UsageError, match="too large: it holds folders 129 deep"):
        files(LocalSource(source))
    assert files(LocalSource(source, ("d",))) == []
    with pytest.raises(OutOfBounds):
        settle(source)


def test_links_count_as_links_and_are_not_followed(folder: Path) -> None:
    (folder / "code" / "a.c").touch()
    (folder / "code" / "__pycache__").mkdir()
    (folder / "code" / "__pycache__" / "a.pyc").touch()
    (folder / "code" / "etc").symlink_to("/etc")
    assert files(LocalSource(folder / "code")) == ["a.c", "etc"]
    settle(folder / "code")
    assert os.lstat("/etc").st_mtime != 1_700_000_000
