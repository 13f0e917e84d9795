"""The dpkg database of a root: what is installed, what it needs, which package has a file."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from stackbuild.core.errors import StepFailed
from stackbuild.sources.dpkg import DpkgRoot

STATUS = """\
Package: python3
Status: install ok installed
Version: 3.13.5-1
Depends: python3.13 (>= 3.13.5-1~), libpython3-stdlib (= 3.13.5-1)
Pre-Depends: python3-minimal (= 3.13.5-1)
Description: interactive high-level object-oriented language
 Depends: this is text, no field

Package: python3.13
Status: install ok installed
Depends: mail-agent | awk, libc6 (>= 2.38)

Package: libpython3-stdlib
Status: install ok installed

Package: python3-minimal
Status: install ok installed

Package: mawk
Status: install ok installed
Provides: awk

Package: libc6
Status: install ok installed
Depends: python3.13:any

Package: gone
Status: deinstall ok config-files
"""


@pytest.fixture
def base(tmp_path: Path) -> DpkgRoot:
    info = tmp_path / "var/lib/dpkg/info"
    info.mkdir(parents=True)
    (info.parent / "status").write_text(STATUS)
    folder = tmp_path / "usr/lib/x86_64-linux-gnu"
    folder.mkdir(parents=True)
    (tmp_path / "lib").symlink_to("usr/lib")
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "out").symlink_to("/etc")
    (folder / "libc.so.6").write_text("ELF")
    (info / "libc6:amd64.list").write_text("/.\n/lib\n/lib/x86_64-linux-gnu\n/lib/x86_64-linux-gnu/libc.so.6\n")
    return DpkgRoot(tmp_path)


def test_only_what_is_installed_is_there(base: DpkgRoot) -> None:
    assert "gone" not in base.packages and len(base.packages) == 6


def test_the_closure_follows_every_kind_of_dependency(base: DpkgRoot) -> None:
    """Pre-Depends, alternatives, names that another package provides, and a circle."""
    assert base.closure(["python3"]) == {
        "python3",
        "python3.13",
        "python3-minimal",
        "libpython3-stdlib",
        "mawk",
        "libc6",
    }
    assert base.closure(["mawk"]) == {"mawk"}
    with pytest.raises(StepFailed, match="no package libmissing"):
        base.closure(["libmissing"])


def test_a_file_has_its_owner_by_where_it_really_lies(base: DpkgRoot) -> None:
    place = base.library("libc.so.6")
    assert place == "usr/lib/x86_64-linux-gnu/libc.so.6" and base.owners[place] == "libc6"
    assert base.library("libother.so.1") == ""


def test_no_link_leads_out_of_the_root(base: DpkgRoot) -> None:
    (base.root / "up").symlink_to("../../../..")
    assert base.place("out/passwd") == "etc/passwd"
    assert base.place("up/etc/passwd") == "etc/passwd"
    assert base.place("loop/x") == "x"


def test_the_database_is_read_inside_the_root_and_waited_for_by_nobody(tmp_path: Path) -> None:
    """A base is foreign: its links lead where they lead in it, and it may hold a FIFO, or a link to a device."""
    root, outside = tmp_path / "root", tmp_path / "outside"
    for folder in ("var/lib/dpkg/info", "etc/ld.so.conf.d", "usr/lib/x"):
        (root / folder).mkdir(parents=True)
    outside.write_text(STATUS)
    (root / "var/lib/dpkg/status").symlink_to(outside)
    with pytest.raises(StepFailed, match="no dpkg database"):
        DpkgRoot(root).packages  # noqa: B018
    (root / "var/lib/dpkg/status").unlink()
    (root / "kept").write_text(STATUS)
    (root / "var/lib/dpkg/status").symlink_to("/kept")
    os.mkfifo(root / "var/lib/dpkg/info/mawk.list")
    (root / "var/lib/dpkg/info/libc6.list").symlink_to("/dev/zero")
    os.mkfifo(root / "etc/ld.so.conf.d/a.conf")
    (root / "etc/ld.so.conf.d/b.conf").symlink_to("/dev/zero")
    (root / "etc/ld.so.conf.d/c.conf").write_text("/usr/lib/x\n")
    (root / "usr/lib/x/liba.so").touch()
    base = DpkgRoot(root)
    assert "mawk" in base.packages and base.owners == {} and base.library("liba.so") == "usr/lib/x/liba.so"


def test_a_root_without_a_database_is_told(tmp_path: Path) -> None:
    with pytest.raises(StepFailed, match="no dpkg database"):
        DpkgRoot(tmp_path).closure(["x"])
