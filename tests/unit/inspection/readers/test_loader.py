"""Facts of libraries for the host."""

from __future__ import annotations

from pathlib import Path

import pytest

from stackbuild.inspection import inspect
from stackbuild.inspection.readers.budget import ReadBudget
from stackbuild.inspection.readers.elf import library as read_library
from stackbuild.inspection.readers.policy import satisfied_policy
from support.binaries import library
from support.inspected_files import on_disk


def test_host_library_facts(tmp_path: Path):
    made = library(
        exports=["OrtGetApiBase"], soname="libonnxruntime.so.1", runpath="$ORIGIN:/opt/x", isa=3, stack=7, symtab=5000,
        needed=["libstdc++.so.6", "libc.so.6"], versions={"libstdc++.so.6": ["GLIBCXX_3.4.30"], "libc.so.6": ["GLIBC_2.14"]},
    )  # fmt: skip
    read, sections, _ = read_library(on_disk(tmp_path / "lib.so", made), ReadBudget())
    assert (read.soname, read.needed, read.runpath) == (
        "libonnxruntime.so.1",
        ("libstdc++.so.6", "libc.so.6"),
        ("$ORIGIN", "/opt/x"),
    )
    assert read.versions == (("libstdc++.so.6", ("GLIBCXX_3.4.30",)), ("libc.so.6", ("GLIBC_2.14",)))
    assert (read.isa, read.exec_stack, read.symtab_bytes, read.exports) == (3, True, 5000, ("OrtGetApiBase",))
    assert ".rodata" in sections
    policy = satisfied_policy([read], ["manylinux_2_34_x86_64", "manylinux_2_35_x86_64", "not_a_policy"])
    assert policy and policy.name == "manylinux_2_35_x86_64"
    assert policy.deciding == ("lib.so", "GLIBCXX_3.4.30")
    assert policy.too_new == (("manylinux_2_34_x86_64", "lib.so", "GLIBCXX_3.4.30"),)


@pytest.mark.parametrize(("name", "is_program"), [("bin/driver", True), ("lib/libx.so.1", False), ("libx.so", False)])
def test_a_position_independent_executable_is_a_program_unless_it_has_a_librarys_name(
    name: str, is_program: bool, tmp_path: Path
) -> None:
    """A provider's library with that flag stays one: dlopen refuses it, and `verify` must find that."""
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_bytes(library(tags=[(0x6FFFFFFB, 0x08000000)]))
    assert inspect(tmp_path / name).libraries[0].is_program is is_program
    (tmp_path / name).write_bytes(library())
    assert not inspect(tmp_path / name).libraries[0].is_program
