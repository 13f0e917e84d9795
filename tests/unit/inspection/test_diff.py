"""The difference of two releases, and `inspect --diff`."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from stackbuild.cli import app, load_commands
from stackbuild.core.errors import UsageError
from stackbuild.inspection import inspect
from stackbuild.inspection.diff import difference
from stackbuild.inspection.facts import Facts
from stackbuild.model.findings import Severity
from support.binaries import GOOD, bundle, code_object, kernel, library, section

load_commands()


def fat(**counts: int) -> bytes:
    return section([bundle({t: code_object(t, [kernel(f"k{n}") for n in range(c)]) for t, c in counts.items()})])


def test_a_release_that_lost_kernels_and_a_target(tmp_path: Path):
    (tmp_path / "old").mkdir()
    (tmp_path / "new").mkdir()
    old = inspect(GOOD.but(lib={"fatbin": fat(gfx90a=10, gfx1100=10)}).write(tmp_path / "old"))
    new = inspect(GOOD.but(lib={"fatbin": fat(gfx90a=8, gfx942=10), "needed": ["libc.so.6"]}).write(tmp_path / "new"))
    made = difference(old, new)
    assert {f.subject for f in made.findings} == {"gfx90a", "gfx1100"}
    assert {f.rule for f in made.findings} == {"SB-DIFF-LOST"}
    topics = {(c.topic, c.subject) for c in made.changes}
    assert {("targets", "gfx942"), ("targets", "gfx1100"), ("external", "libamdhip64.so.6")} <= topics
    assert difference(old, old).changes == () and difference(old, old).findings == ()


def test_a_lost_kernel_is_named_as_lost(tmp_path: Path):
    def code(*names: str) -> Facts:
        path = tmp_path / "x.co"
        path.write_bytes(bundle({"gfx90a": code_object("gfx90a", [kernel(name) for name in names])}))
        return inspect(path)

    def kernels(old: Facts, new: Facts) -> list[tuple[str, str]]:
        return [(c.before, c.after) for c in difference(old, new).changes if c.topic == "kernels"]

    one, two, both = code("a"), code("b"), code("a", "b")
    assert kernels(both, two) == [("1 kernel only here, such as a", "")]
    assert kernels(two, both) == [("", "1 kernel only here, such as a")]
    assert kernels(one, two) == [("1 kernel only here, such as a", "1 kernel only here, such as b")]


def test_libraries_are_compared_across_versions_and_hashes(tmp_path: Path):
    def wheel(version: str, files: dict[str, bytes]) -> Facts:
        return inspect(GOOD.but(version=version, files=files).write(tmp_path))

    one = library(soname="x", exports=["a", *(f"old{n}" for n in range(40))], runpath=None, rpath="$ORIGIN")
    two = library(soname="x", exports=["a", *(f"new{n}" for n in range(40))])
    for before, after in (
        ("x/libonnxruntime.so.1.22.2", "x/libonnxruntime.so.1.27.1"),
        ("x.libs/libgomp-1a2b3c4d.so.1", "x.libs/libgomp-5e6f7a8b.so.1"),
        ("x/s.cpython-311-x86_64-linux-gnu.so", "x/s.cpython-312-x86_64-linux-gnu.so"),
    ):
        changes = difference(wheel("1", {before: one}), wheel("2", {after: two})).changes
        found = {(c.topic, c.subject): (c.before, c.after) for c in changes}
        assert found["libraries", after] == (before, after)
        assert found["exports", f"{after}: 30 more"] == ("30 of them", "0 of them")
        assert found["exports", f"{after}: new0"] == ("", "yes")
        assert found["rpath", after] == ("$ORIGIN", "") and found["runpath", after] == ("", "$ORIGIN")
    two_of_a_name = {"x/liba.so.1": one, "x/liba.so.2": one}
    changes = difference(wheel("1", two_of_a_name), wheel("2", {"x/liba.so.3": two})).changes
    assert sorted(c.subject for c in changes if c.topic == "libraries") == ["x/liba.so.1", "x/liba.so.2", "x/liba.so.3"]


def test_two_single_libraries_are_compared_whatever_they_are_called(tmp_path: Path):
    (tmp_path / "old.so").write_bytes(library(soname="x", exports=["gone", "stays"]))
    (tmp_path / "new.so").write_bytes(library(soname="x", exports=["stays"]))
    made = difference(inspect(tmp_path / "old.so"), inspect(tmp_path / "new.so"))
    assert ("exports", "new.so: gone", "yes", "") in [(c.topic, c.subject, c.before, c.after) for c in made.changes]


def test_a_side_that_cannot_be_read_is_an_error(tmp_path: Path):
    (tmp_path / "cut").mkdir()
    good, cut = GOOD.write(tmp_path), tmp_path / "cut" / GOOD.filename
    cut.write_bytes(good.read_bytes()[:-100])
    for pair in ((good, cut), (cut, good)):
        found = [f for f in difference(*map(inspect, pair)).findings if f.rule == "SB-DIFF-UNREAD"]
        assert [(f.subject, f.severity) for f in found] == [(GOOD.filename, Severity.ERROR)]


def test_things_of_two_kinds_are_not_compared(tmp_path: Path):
    (tmp_path / "x.log").write_text("fine\n")
    (tmp_path / "x.so").write_bytes(library(soname="x"))
    wheel, log, lib = (inspect(p) for p in (GOOD.write(tmp_path), tmp_path / "x.log", tmp_path / "x.so"))
    for one, two in ((log, lib), (lib, wheel), (wheel, log)):
        with pytest.raises(UsageError, match="two things of one kind"):
            difference(one, two)
    unpacked = tmp_path / "folder"
    zipfile.ZipFile(tmp_path / GOOD.filename).extractall(unpacked)
    assert not difference(wheel, inspect(unpacked)).findings


def test_what_two_build_logs_say(tmp_path: Path):
    text = "CMake Warning:\n  Manually-specified variables were not used by the project:\n\n    A\n\n\n"
    (tmp_path / "old.log").write_text("fine\n")
    (tmp_path / "new.log").write_text(text + "cc -march=native -c a.c\n")
    made = difference(inspect(tmp_path / "old.log"), inspect(tmp_path / "new.log"))
    assert {(c.topic, c.subject, c.after) for c in made.changes} >= {
        ("options not used", "A", "yes"),
        ("for this machine only", "a.c", "yes"),
    }


@pytest.mark.parametrize("more", [["--recipe", "debian-13"], ["--kernels"]])
def test_diff_refuses_what_it_does_not_do(more: list[str], tmp_path: Path):
    path = str(GOOD.write(tmp_path))
    with pytest.raises(UsageError, match="do not go with --diff"):
        app(["inspect", "--diff", path, path, *more], standalone_mode=False)


def test_diff_writes_the_reports_asked_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    old, new = GOOD.write(tmp_path), tmp_path / GOOD.but(version="2").filename
    new.write_bytes(GOOD.but(version="2", lib={"fatbin": fat(gfx90a=5)}).bytes())
    reports = ["--sarif", str(tmp_path / "o.sarif"), "--junit", str(tmp_path / "o.xml")]
    assert app(["inspect", "--diff", str(old), str(new), *reports], standalone_mode=False) == 5
    assert "SB-DIFF-LOST" in (tmp_path / "o.sarif").read_text() and "failure" in (tmp_path / "o.xml").read_text()
    assert "gfx1100" in capsys.readouterr().out


def test_a_gain_is_no_finding(tmp_path: Path):
    (tmp_path / "new").mkdir()
    old = inspect(GOOD.write(tmp_path))
    new = inspect(GOOD.but(lib={"fatbin": fat(gfx90a=9, gfx1100=9)}).write(tmp_path / "new"))
    assert difference(old, new).findings == () and difference(old, new).changes
