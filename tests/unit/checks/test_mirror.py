"""What a half-filled mirror lacks, all of it before the first step."""

from __future__ import annotations

from pathlib import Path

import pytest

from stackbuild.checks.mirror import lacking, refuse_lacking
from stackbuild.core.errors import MachineLacks
from stackbuild.model.plan import Step
from stackbuild.sources.mirror import Mirror

ARCHIVES = {f"https://github.com/org/{name}/archive/v1.zip": "sha1:" + "0" * 40 for name in ("one", "two", "three")}
DIGEST = "sha256:" + "0" * 64


def a_step(action: str, **params: str) -> Step:
    return Step(f"{action}-step", action, params=tuple(params.items()))


def test_every_archive_is_named_at_once_with_its_place(tmp_path: Path) -> None:
    (tmp_path / "github.com/org/two/archive").mkdir(parents=True)
    (tmp_path / "github.com/org/two/archive/v1.zip").touch()
    steps = (a_step("deps", **ARCHIVES), a_step("archive", url="https://gitlab.com/x/a.tgz", sha256="0" * 64))
    with pytest.raises(MachineLacks) as stopped:
        refuse_lacking(steps, Mirror(tmp_path, has_packages=False))
    assert stopped.value.what.splitlines() == [
        "the mirror lacks 3 things that would be taken from it:",
        "github.com/org/one/archive/v1.zip",
        "github.com/org/three/archive/v1.zip",
        "gitlab.com/x/a.tgz",
    ]
    assert stopped.value.where == str(tmp_path) and "git clone --mirror" in stopped.value.next


def test_an_archive_in_a_flatter_mirror_is_not_missing(tmp_path: Path) -> None:
    (tmp_path / "v1.zip").touch()
    assert lacking((a_step("deps", **ARCHIVES),), Mirror(tmp_path)) == ()


def test_a_repository_is_named_by_its_place(tmp_path: Path) -> None:
    step = a_step("git", url="https://host.test/a/b", ref="v1", commit="1" * 40)
    assert lacking((step, step), Mirror(tmp_path)) == ("host.test/a/b.git",)


def test_a_step_that_the_lock_leaves_open_names_nothing(tmp_path: Path) -> None:
    assert lacking((a_step("git", unlocked="sources.tool"),), Mirror(tmp_path)) == ()


def test_packages_come_as_whole_outputs_where_the_mirror_stands_for_their_archives(tmp_path: Path) -> None:
    base = a_step("debian", suite="sid")
    steps = (base, a_step("wheelhouse", python="3.12"))
    place = f"objects/{base.key}.json"
    assert lacking(steps, Mirror(tmp_path)) == (f"{place} (the output of debian-step)", "wheels/")
    assert lacking(steps, Mirror(tmp_path, has_packages=False)) == ()
    (tmp_path / "objects").mkdir()
    (tmp_path / place).touch()
    (tmp_path / "wheels").mkdir()
    assert lacking(steps, Mirror(tmp_path)) == ()


def test_an_image_lies_as_a_layout_where_packages_are_asked_for(tmp_path: Path) -> None:
    image = a_step("image", image="rocm/dev:7.2", digest=DIGEST)
    assert lacking((image,), Mirror(tmp_path, has_packages=False)) == ("images/rocm/dev/7.2",)
    assert lacking((image,), Mirror(tmp_path)) == (f"objects/{image.key}.json (the output of image-step)",)
    (tmp_path / "images/rocm/dev/7.2").mkdir(parents=True)
    (tmp_path / "images/rocm/dev/7.2/index.json").touch()
    assert lacking((image,), Mirror(tmp_path, has_packages=False)) == ()


def test_what_comes_from_this_machine_is_not_looked_for(tmp_path: Path) -> None:
    assert lacking((a_step("snapshot"), a_step("run"), a_step("wheel")), Mirror(tmp_path)) == ()
