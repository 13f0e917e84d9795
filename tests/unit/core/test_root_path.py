"""Links of a foreign root lead nowhere outside it."""

from __future__ import annotations

from pathlib import Path

import pytest

from stackbuild.core.root_path import path_inside


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    (root / "etc").mkdir(parents=True)
    (root / "usr/share").mkdir(parents=True)
    (root / "usr/share/hosts").write_text("inside")
    (tmp_path / "secret").write_text("outside")
    return root


@pytest.mark.parametrize(
    "target", ["/usr/share/hosts", "../usr/share/hosts", "../../../../../usr/share/hosts", "/etc/../usr/./share//hosts"]
)
def test_a_link_is_followed_inside_the_root(root: Path, target: str) -> None:
    (root / "etc/hosts").symlink_to(target)
    assert path_inside(root, "etc/hosts") == root / "usr/share/hosts"


def test_links_that_lead_outside_lead_nowhere(root: Path, tmp_path: Path) -> None:
    (root / "etc/hosts").symlink_to(tmp_path / "secret")
    (root / "etc/group").symlink_to("../../secret")
    (root / "etc/a").symlink_to("b")
    (root / "etc/b").symlink_to("a")
    assert [path_inside(root, f"etc/{name}") for name in ("hosts", "group", "a", "none")] == [None] * 4


def test_a_link_in_place_of_a_folder(root: Path, tmp_path: Path) -> None:
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/hosts").write_text("outside")
    (root / "etc").rmdir()
    (root / "etc").symlink_to(tmp_path / "etc")
    assert path_inside(root, "etc/hosts") is None
