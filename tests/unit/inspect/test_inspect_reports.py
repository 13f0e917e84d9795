"""Renderers and comparisons: SARIF, JUnit, JSON, the rule pages, the difference of two releases."""

from __future__ import annotations

import json
import zipfile
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest
from inspect_forge import GOOD, bundle, ccob, code_object, kernel, library, section

from stackbuild.cli import app, load_commands
from stackbuild.core.errors import UsageError
from stackbuild.core.resources import folder
from stackbuild.inspection import inspect, judge, judge_together
from stackbuild.inspection.diff import difference
from stackbuild.inspection.document import document
from stackbuild.inspection.facts import Facts
from stackbuild.inspection.rules.conflicts import placed
from stackbuild.inspection.rules.rule import counted
from stackbuild.model.findings import Finding, Place, Rung, Severity, Status, Verification
from stackbuild.model.recipe import Recipe
from stackbuild.verification.catalogue import catalogue
from stackbuild.verification.expectations import expectations_of
from stackbuild.views.junit import junit_of_verifications
from stackbuild.views.rules import text_of_all
from stackbuild.views.sarif import RESULTS, sarif

load_commands()
NASTY = "a\x00b\x1b[31m]]><script>\ud800\uffff&\"'"


def finding(n: int, severity: Severity = Severity.ERROR, place: Place | None = None) -> Finding:
    return Finding("SB-X", severity, f"lib{n}.so {NASTY}", f"found {NASTY}", "why", "fix", "https://example.org", place)


def verified(*findings: Finding) -> Verification:
    rungs = (
        Rung("static rules", Status.FAILED, f"1 error {NASTY}", 0.5, findings), Rung("import", Status.PASSED, "", 1.0),
        Rung("GPU", Status.SKIPPED, "no GPU", 0.0),
    )  # fmt: skip
    return Verification(f"/secret/place/x.whl{NASTY}", "ab" * 32, rungs)


def test_junit_is_well_formed_whatever_is_in_it():
    root = ElementTree.fromstring(junit_of_verifications([verified(finding(1), finding(2, Severity.WARNING))]).encode())
    suite = root[0]
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("4", "2", "1")
    assert "\x1b" not in ElementTree.tostring(root, encoding="unicode")


def test_sarif_has_what_hosts_ask_for():
    made = json.loads(sarif([verified(finding(1), finding(2, Severity.NOTE, Place("src/a.cc", 3, 7)))]))
    (run,) = made["runs"]
    assert made["version"] == "2.1.0" and run["tool"]["driver"]["name"] == "stackbuild"
    first, second = run["results"]
    assert (first["level"], second["level"]) == ("error", "note")
    assert second["locations"][0]["physicalLocation"]["region"]["startLine"] == 3
    assert not first["locations"][0]["physicalLocation"]["artifactLocation"]["uri"].startswith("/")
    assert all(run["tool"]["driver"]["rules"][r["ruleIndex"]]["id"] == r["ruleId"] for r in run["results"])


def test_sarif_stays_within_the_hosts_limit_and_keeps_errors():
    many = [finding(n, Severity.NOTE) for n in range(RESULTS + 50)] + [finding(0, Severity.ERROR)]
    run = json.loads(sarif([verified(*many)]))["runs"][0]
    assert len(run["results"]) == RESULTS and run["results"][0]["level"] == "error"
    assert run["properties"]["resultsLeftOut"] == 51


def test_two_findings_of_one_kind_in_one_file_are_two_alerts_also_when_their_lines_move():
    def prints(*lines: int) -> list[str]:
        found = [replace(finding(1), place=Place("a.cu", line, 1)) for line in lines]
        return [
            r["partialFingerprints"]["stackbuild/v2"]
            for r in json.loads(sarif([verified(*found)]))["runs"][0]["results"]
        ]

    assert len(set(prints(3, 9))) == 2 and prints(3, 9) == prints(5, 11)


def test_what_a_recipe_may_demand_of_a_wheel():
    said = {
        "schema": 1, "name": "t", "summary": "s", "base": {"debian": {"suite": "trixie", "packages": ["g++"]}}, "gfx": ["gfx942"],
        "components": {"c": {"kind": "script", "run": [["true"]]}} | {
            name: {"kind": "wheel", "needs": ["c"], "distribution": name, "version": version, "summary": "s", "packages": ["p"], "external": [external]}
            for name, version, external in (("one", "1.0", "libamdhip64.so.6"), ("two", "2.0", "libmigraphx_c.so.3"))
        },
        "verify": {"x86_64_level": 3, "runpaths": ["/opt/rocm/lib"], "grafts": ["librocm_smi64.so.*"]},
    }  # fmt: skip
    expected = expectations_of(Recipe.model_validate(said), "two")
    assert (expected.version, expected.excludes, expected.isa) == ("2.0", ("libmigraphx_c.so.3",), 3)
    assert (expected.runpaths, expected.grafts) == (("/opt/rocm/lib",), ("librocm_smi64.so.*",))
    assert expectations_of(Recipe.model_validate(said), "One").version == "1.0"


def test_the_document_has_everything_and_kernels_only_when_asked(tmp_path: Path):
    facts = inspect(GOOD.write(tmp_path))
    brief = json.loads(json.dumps(document(facts, judge(facts), kernels=False)))
    whole = json.loads(json.dumps(document(facts, judge(facts), kernels=True)))
    assert brief["device"][0]["bundles"][0]["objects"][0]["kernels"] == 3
    assert whole["device"][0]["bundles"][0]["objects"][0]["kernels"][0]["name"] == "gfx90a_a0"
    assert [t["target"] for t in brief["targets"]] == ["gfx90a", "gfx1100"]


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


def test_kernels_are_listed_in_json_only(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = str(GOOD.write(tmp_path))
    with pytest.raises(UsageError, match="JSON document only"):
        app(["inspect", path, "--kernels"], standalone_mode=False)
    app(["inspect", path, "--kernels", "--json"], standalone_mode=False)
    assert "gfx90a_a0" in capsys.readouterr().out


def test_diff_writes_the_reports_asked_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    old, new = GOOD.write(tmp_path), tmp_path / GOOD.but(version="2").filename
    new.write_bytes(GOOD.but(version="2", lib={"fatbin": fat(gfx90a=5)}).bytes())
    reports = ["--sarif", str(tmp_path / "o.sarif"), "--junit", str(tmp_path / "o.xml")]
    assert app(["inspect", "--diff", str(old), str(new), *reports], standalone_mode=False) == 5
    assert "SB-DIFF-LOST" in (tmp_path / "o.sarif").read_text() and "failure" in (tmp_path / "o.xml").read_text()
    assert "gfx1100" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("number", "noun", "said"),
    [(1, "library", "1 library"), (2, "library", "2 libraries"), (0, "copy", "0 copies"), (3, "match", "3 matches"), (1_000, "file", "1,000 files")],
)  # fmt: skip
def test_counted(number: int, noun: str, said: str):
    assert counted(number, noun) == said


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (code_object("gfx90a"), "x.co: 1 code object (V5)"),
        (bundle({"gfx90a": code_object("gfx90a")}), "1 bundle (plain), 1 code object (V5)"),
        (section([ccob(bundle({}))] * 2), "2 bundles (zstd v3), 0 code objects"),
    ],
)
def test_how_code_is_drawn(data: bytes, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "x.co").write_bytes(data)
    app(["inspect", str(tmp_path / "x.co")], standalone_mode=False)
    (line,) = [line for line in capsys.readouterr().out.splitlines() if "GPU code" in line]
    assert line.rstrip().endswith(said)


def test_a_gain_is_no_finding(tmp_path: Path):
    (tmp_path / "new").mkdir()
    old = inspect(GOOD.write(tmp_path))
    new = inspect(GOOD.but(lib={"fatbin": fat(gfx90a=9, gfx1100=9)}).write(tmp_path / "new"))
    assert difference(old, new).findings == () and difference(old, new).changes


@pytest.mark.parametrize(
    ("path", "where"),
    [
        ("a/b.py", "a/b.py"), ("./a/b.py", "a/b.py"), ("a//b.py", "a/b.py"), ("a/./b.py", "a/b.py"),
        ("x-1.data/purelib/a/b.py", "a/b.py"), ("x-1.data/platlib/a/b.py", "a/b.py"),
        ("x-1.data/scripts/run", "<scripts>/run"), ("x-1.data/headers/h.h", "x-1.data/headers/h.h"), ("x-1.data/b.py", "x-1.data/b.py"),
    ],
)  # fmt: skip
def test_where_installers_put_a_file(path: str, where: str) -> None:
    assert placed(path) == where


def test_wheels_that_install_one_file_by_two_paths_overwrite_each_other(tmp_path: Path) -> None:
    one = GOOD.but(name="one", files={"pkg/__init__.py": b""}).write(tmp_path)
    two = GOOD.but(name="two", files={"two-1.data/purelib/pkg/__init__.py": b""}, without=("__init__.py", "forge.so"))
    two = two.but(without=("forge/__init__.py", "forge.so")).write(tmp_path)
    (finding,) = judge_together((inspect(one), inspect(two)))
    assert finding.rule == "SB-DIST-OVERWRITE" and finding.found == "1 file of the same name: pkg/__init__.py"


def test_summaries(tmp_path: Path):
    first, second = inspect(GOOD.write(tmp_path)).targets
    assert (first.target, first.kernels, first.working, first.objects, first.waves) == ("gfx90a", 5, 5, 2, (64,))
    assert second.target == "gfx1100"


def test_rule_ids_are_unique_and_said_in_full():
    abouts = [about for _, group in catalogue() for about in group]
    assert len({about.id for about in abouts}) == len(abouts) >= 60
    for about in abouts:
        assert about.id.startswith("SB-") and about.when and about.why and about.fix and about.title, about.id
        assert not about.title.endswith(".") and about.why.endswith("."), about.id


def test_the_rule_pages_are_current():
    """Regenerate with: stackbuild rules --markdown > docs/rules.md"""
    try:
        written = (folder("docs") / "rules.md").read_text(encoding="utf-8")
    except FileNotFoundError:
        pytest.skip("docs are not here")
    assert written == text_of_all(catalogue())
