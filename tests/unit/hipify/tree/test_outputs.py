"""What a run may write, what it must leave alone, and what it says of entries that are no files."""

from __future__ import annotations

import hashlib
import json
import os
import socket
import time
from dataclasses import fields, replace
from pathlib import Path

import pytest

from stackbuild.core.errors import UsageError
from stackbuild.hipify import hipify_tree
from stackbuild.hipify.cpp.tree_names import TreeNames
from stackbuild.hipify.engines import Engine
from stackbuild.hipify.model import Report, Target
from stackbuild.hipify.tables.hipify_tools import Tools
from stackbuild.hipify.tree import relocate, state
from stackbuild.hipify.tree.files import SourceSelection, walk
from stackbuild.hipify.tree.outputs import NEW, locked_folder
from stackbuild.hipify.tree.state import STATE
from stackbuild.hipify.tree.tree import run_key
from stackbuild.model.findings import Severity
from stackbuild.views.hipify import json_of
from support.hipify import bundled_rules, small_tables

CALL = "int f() { return cudaFree(0); }\n"
MADE = "#include <hip/hip_runtime.h>\nint f() { return hipFree(0); }\n"
SHIMMED = "__global__ void k() { __syncwarp(); }\n"
ENGINE = Engine("fast", small_tables(), bundled_rules("generic"), Target(), Tools(None, None))


def run(source: Path, out: Path, exclude: tuple[str, ...] = (), is_folder: bool = False, force: bool = False) -> Report:
    return hipify_tree(SourceSelection((source,), out, exclude=exclude, is_folder=is_folder), ENGINE, force=force)


NAMES = {
    "types": (("real", "double"),), "macros": ("#define CALL(x) x",), "members": frozenset({("cub", "Sum")}),
    "has_complex_operators": True, "has_pair_operators": True, "support": frozenset({"hip-extremes.h"}),
    "absent_macros": frozenset({"A"}), "zero_macros": frozenset({"B"}), "vector_operators": frozenset({("*", "float4")}),
    "own_spaces": frozenset({"cub"}),
}  # fmt: skip


def test_whatever_the_headers_of_a_tree_say_belongs_to_the_key_of_its_outputs() -> None:
    assert {each.name for each in fields(TreeNames)} == NAMES.keys()
    engines = [
        replace(ENGINE, target=replace(ENGINE.target, tree=TreeNames(**{name: value}))) for name, value in NAMES.items()
    ]
    engines += [
        ENGINE,
        *(
            replace(ENGINE, target=replace(ENGINE.target, **more))
            for more in ({"headers": frozenset({"a.h"})}, {"own_headers": frozenset({"a.h"})})
        ),
    ]
    assert len({run_key(each) for each in engines}) == len(NAMES) + 3


def files(folder: Path, **texts: str) -> Path:
    for name, text in texts.items():
        path = folder / name.replace("__", "/").replace("_cu", ".cu")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


@pytest.fixture
def src(tmp_path: Path) -> Path:
    return files(tmp_path / "src", sub__x_cu=CALL, y_cu=CALL)


def test_a_link_to_a_folder_in_the_output_is_not_written_through(src: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "sub").symlink_to(src / "sub")
    for force in (False, True):
        with pytest.raises(UsageError, match="is a link, and nothing is written through") as told:
            run(src, out, force=force)
        assert told.value.where == str(out / "sub")
    assert (src / "sub" / "x.cu").read_text() == CALL
    assert not (out / "y.cu").exists()


@pytest.mark.parametrize("text", ["hand made\n", CALL])
def test_a_link_in_place_of_an_output_is_refused_and_replaced_by_force(src: Path, tmp_path: Path, text: str) -> None:
    out, mine = tmp_path / "out", tmp_path / "mine.cu"
    out.mkdir()
    mine.write_text(text)
    (out / "y.cu").symlink_to(mine)
    with pytest.raises(UsageError, match=r"y\.cu: it is a link"):
        run(src, out)
    run(src, out, force=True)
    assert mine.read_text() == text
    assert not (out / "y.cu").is_symlink() and (out / "y.cu").read_text() == MADE


def test_a_hard_link_to_the_source_does_not_lead_back(src: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    os.link(src / "y.cu", out / "y.cu")
    run(src, out, force=True)
    assert (src / "y.cu").read_text() == CALL and (out / "y.cu").read_text() == MADE


def test_an_output_folder_may_itself_be_a_link(src: Path, tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "out").symlink_to("real")
    run(src, tmp_path / "out")
    assert (tmp_path / "real" / "y.cu").read_text() == MADE
    assert run(src, tmp_path / "real").changed_outputs == 0


def test_what_this_tool_did_not_make_is_refused_before_anything_is_written(src: Path, tmp_path: Path) -> None:
    out = files(tmp_path / "out", y_cu="hand made\n")
    with pytest.raises(UsageError, match=r"y\.cu: stackbuild did not make it") as told:
        run(src, out)
    assert "--force" in told.value.next
    assert (out / "y.cu").read_text() == "hand made\n" and not (out / "sub").exists() and not (out / STATE).exists()
    run(src, out, force=True)
    assert (out / "y.cu").read_text() == MADE


def test_a_file_that_is_the_same_or_empty_is_taken_over(src: Path, tmp_path: Path) -> None:
    out = files(tmp_path / "out", y_cu=MADE, sub__x_cu="")
    assert run(src, out).changed_outputs == 1
    files(src, y_cu=CALL + CALL)
    assert run(src, out).changed_outputs == 1


def test_a_hand_made_support_header_is_not_overwritten(tmp_path: Path) -> None:
    source = files(tmp_path / "src", k_cu=SHIMMED)
    out = tmp_path / "out"
    out.mkdir()
    (out / "stackbuild_hip_compat.h").write_text("MINE\n")
    with pytest.raises(UsageError, match=r"stackbuild_hip_compat\.h: stackbuild did not make it"):
        run(source, out)
    (out / "stackbuild_hip_compat.h").unlink()
    (source / "stackbuild_hip_compat.h").write_text("MINE\n")
    with pytest.raises(UsageError, match=r"the source has a stackbuild_hip_compat\.h of its own"):
        run(source, out)


def test_a_change_in_an_output_is_kept_beside_the_new_one_and_told(src: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    run(src, out)
    for number in ("", ".1"):
        (out / "y.cu").write_text(f"mine{number}")
        report = run(src, out)
        assert [(f.rule, f.subject) for f in report.findings] == [("HIPIFY-OUTPUT-EDITED", "y.cu")]
        assert (out / "y.cu").read_text() == MADE and (out / f"y.cu.edited{number}").read_text() == f"mine{number}"
    assert json_of(report)["entries"][0]["found"].endswith("the changed one is now y.cu.edited.1")
    assert not run(src, out).findings


def test_sources_that_share_an_output_folder_keep_their_own(tmp_path: Path) -> None:
    one, two = files(tmp_path / "one", a_cu=CALL), files(tmp_path / "two", b_cu=CALL, c_cu=CALL)
    out = tmp_path / "out"
    run(one, out)
    assert run(two, out).removed == () == run(one / "a.cu", out, is_folder=True).removed
    assert sorted(p.name for p in out.glob("*.cu")) == ["a.cu", "b.cu", "c.cu"]
    assert run(one, out).changed_outputs == run(two, out).changed_outputs == 0
    (two / "c.cu").unlink()
    assert run(one, out).removed == () and run(two, out).removed == ("c.cu",)


def test_an_output_that_was_made_of_another_source_is_refused_until_that_is_gone(tmp_path: Path) -> None:
    one, two = files(tmp_path / "one", a_cu=CALL), files(tmp_path / "two", a_cu=CALL + "int x;\n")
    out = tmp_path / "out"
    run(one, out)
    with pytest.raises(UsageError, match=r"a\.cu: it was made of .*one/a\.cu"):
        run(two, out)
    one.rename(tmp_path / "gone")
    run(two, out)
    assert (out / "a.cu").read_text() == MADE + "int x;\n"


def test_source_and_output_may_be_moved_together(src: Path, tmp_path: Path) -> None:
    run(src, tmp_path / "out")
    (tmp_path / "new").mkdir()
    for name in ("src", "out"):
        (tmp_path / name).rename(tmp_path / "new" / name)
    report = run(tmp_path / "new" / "src", tmp_path / "new" / "out")
    assert report.changed_outputs == 0 and {f.state for f in report.files} == {"unchanged"}
    assert report.files[0].output == str(tmp_path / "new" / "out" / "sub" / "x.cu")


def test_a_source_that_is_newer_makes_its_output_newer_also_where_the_text_is_the_same(
    src: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    run(src, out)
    before = {p: p.stat().st_mtime_ns for p in out.rglob("*.cu")}
    later = time.time_ns() + 10**10
    os.utime(src / "y.cu", ns=(later, later))
    assert run(src, out).changed_outputs == 0
    assert (out / "y.cu").stat().st_mtime_ns == later
    assert (out / "sub" / "x.cu").stat().st_mtime_ns == before[out / "sub" / "x.cu"]
    assert run(src, out).changed_outputs == 0
    files(src, sub__x_cu=MADE)  # other bytes, the same output
    os.utime(src / "sub" / "x.cu", ns=(later, later))
    report = run(src, out)
    assert report.changed_outputs == 0 and (out / "sub" / "x.cu").stat().st_mtime_ns == later


def test_entries_that_are_no_files_are_told_and_skipped(src: Path, tmp_path: Path) -> None:
    os.mkfifo(src / "fifo.cu")
    (src / "gone.cu").symlink_to("nowhere")
    (src / "loop.cu").symlink_to("loop.cu")
    (src / "here").symlink_to(".")
    (src / "folder.cu").symlink_to("sub")
    (src / "null.h").symlink_to("/dev/null")
    (src / "link.cu").symlink_to("y.cu")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(src / "s.cu"))
    report = run(src, tmp_path / "out")
    assert [Path(f.output).name for f in report.files] == ["link.cu", "x.cu", "y.cu"]
    assert {f.subject: (f.found, f.severity.value) for f in report.findings} == {
        "fifo.cu": ("it is a FIFO", "warning"),
        "folder.cu": ("it is a folder", "warning"),
        "gone.cu": ("the link leads nowhere", "warning"),
        "here": ("a link to a folder is not followed", "note"),
        "loop.cu": ("cannot be read: Too many levels of symbolic links", "warning"),
        "null.h": ("it is a character device", "warning"),
        "s.cu": ("it is a socket", "warning"),
    }
    assert [f.subject for f in run(src, tmp_path / "o2", exclude=("*[.]*", "here", "?*.cu", "*.h")).entries] == []


def test_what_is_no_file_is_refused_where_it_was_named(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo.cu")
    (tmp_path / "gone.cu").symlink_to("nowhere")
    for name, says in (("fifo.cu", "it is a FIFO"), ("gone.cu", "the link leads nowhere"), ("no.cu", "no such file")):
        with pytest.raises(UsageError, match=says):
            run(tmp_path / name, tmp_path / "out")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_what_may_not_be_read_is_an_error_and_keeps_its_output(src: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    run(src, out)
    (src / "y.cu").chmod(0)
    (src / "sub").chmod(0)
    try:
        report = run(src, out)
    finally:
        (src / "sub").chmod(0o755)
    assert {(f.subject, f.severity) for f in report.entries} == {("y.cu", Severity.ERROR), ("sub", Severity.ERROR)}
    assert report.removed == () and (out / "y.cu").exists() and (out / "sub" / "x.cu").exists()


def test_a_file_that_goes_while_the_run_reads_is_told(
    src: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from stackbuild.hipify.tree import inputs

    ordinary = inputs.read

    def read(job, kept):  # type: ignore[no-untyped-def]
        if job.name == "y.cu":
            job.source.unlink()
        return ordinary(job, kept)

    monkeypatch.setattr(inputs, "read", read)
    report = run(src, tmp_path / "out")
    assert [(f.subject, f.found) for f in report.entries] == [("y.cu", "cannot be read: No such file or directory")]
    assert (tmp_path / "out" / "sub" / "x.cu").read_text() == MADE


def test_after_a_killed_run_its_outputs_are_known_and_its_scraps_go(src: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    run(src, out)
    known = state.load(out)
    files(src, y_cu=CALL + "int later;\n", sub__x_cu=CALL + "int later;\n")
    run(src, out)
    # As a run leaves it that is killed between the first output and its state, with the second one half written.
    pending = {path: (record.output_digest,) for path, record in state.load(out).files.items()}
    files(out, sub__x_cu=MADE)
    (out / "sub" / NEW).write_text("half")
    (out / STATE).write_bytes(state.dump(replace(known, pending=pending)))
    files(src, y_cu=CALL + "int last;\n")
    report = run(src, out)
    assert report.findings == () and report.changed_outputs == 2
    assert (out / "y.cu").read_text() == MADE + "int last;\n" and (
        out / "sub" / "x.cu"
    ).read_text() == MADE + "int later;\n"
    assert not (out / "sub" / NEW).exists() and state.load(out).pending == {}


def test_a_write_that_fails_leaves_nothing_half_written(tmp_path: Path) -> None:
    with locked_folder(tmp_path / "out") as place:
        place.write("a/b.cu", b"whole")
        with pytest.raises(UsageError, match="cannot be written: No such file"):
            place.write("a/b.cu", tmp_path / "gone")
    assert [p.name for p in (tmp_path / "out" / "a").iterdir()] == ["b.cu"]
    assert (tmp_path / "out" / "a" / "b.cu").read_bytes() == b"whole"


def test_a_state_that_somebody_wrote_leads_nowhere(src: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    run(src, out)
    known = state.load(out)
    kept = replace(
        known.files["y.cu"], output_digest=hashlib.sha256(CALL.encode()).hexdigest(), origin="../src/gone.cu"
    )
    paths = ("../src/y.cu", "sub/../../src/y.cu", f"{src}/y.cu", "./../src/y.cu", "")
    pending = dict.fromkeys(paths, ("x",))
    (out / STATE).write_bytes(
        state.dump(replace(known, files={**known.files, **dict.fromkeys(paths, kept)}, pending=pending))
    )
    assert run(src, out).removed == ()
    assert (src / "y.cu").read_text() == CALL
    for path in paths:
        with locked_folder(out) as place, pytest.raises(UsageError, match="leads out of the folder"):
            place.write(path, b"x")


def test_an_output_folder_that_is_none_is_told(src: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    (tmp_path / "link").symlink_to("nowhere")
    for name in ("file", "link"):
        with pytest.raises(UsageError, match="it is not a folder"):
            run(src, tmp_path / name)
    (tmp_path / "out" / "y.cu").mkdir(parents=True)
    with pytest.raises(UsageError, match=r"y\.cu: it is a folder"):
        run(src, tmp_path / "out")


def test_an_output_in_place_of_its_source_is_refused_even_by_force(src: Path, tmp_path: Path) -> None:
    for sources, out in (([src / "y.cu"], src), ([src / "y.cu", tmp_path / "z.cu"], src)):
        (tmp_path / "z.cu").write_text(CALL)
        with pytest.raises(UsageError, match="would overwrite the source"):
            hipify_tree(SourceSelection(tuple(sources), out), ENGINE, force=True)
    assert (src / "y.cu").read_text() == CALL


def test_a_source_that_is_given_twice_counts_once(src: Path, tmp_path: Path) -> None:
    (tmp_path / "again").symlink_to(src)
    assert [
        j.name for j in walk(SourceSelection((src, src / "sub" / "..", tmp_path / "again"), tmp_path / "o")).jobs
    ] == [
        "sub/x.cu",
        "y.cu",
    ]


def test_one_file_made_beside_its_source_hides_nothing_from_a_later_run(src: Path, tmp_path: Path) -> None:
    run(src / "sub" / "x.cu", src / "sub" / "x.hip")
    run(src / "y.cu", src / "y.hip")
    report = run(src, tmp_path / "out")
    assert [Path(f.source).name for f in report.files] == ["x.cu", "y.cu"]
    again = run(tmp_path / "out", tmp_path / "again")
    assert [Path(f.source).name for f in again.files] == ["x.cu", "y.cu"]


@pytest.mark.parametrize(
    ("text", "is_header"),
    [
        ("// Eigen\n#ifndef EIGEN_CORE_H\n#define EIGEN_CORE_H\ncudaFree(0);\n#endif\n", True),
        ("/* a\n b */\n\n#pragma once\ncudaFree(0);\n", True),
        ("#if !defined(X) // c\n/* d */ #  define X\ncudaFree(0);\n#endif\n", True),
        ('#include "src/Core"\ncudaFree(0);\n', True),
        ("#!/bin/sh\n#include <x>\ncudaFree\n", False),
        ("# if you read this\n# define nothing\ncudaFree\n", False),
        ("#ifndef A\n#define B\ncudaFree\n", False),
        ("All: cudaFree\n", False),
        ("", False),
        ("// only a comment", False),
    ],
)  # fmt: skip
def test_headers_without_a_suffix_are_told_by_how_they_begin(tmp_path: Path, text: str, is_header: bool) -> None:
    source = files(tmp_path / "src", y_cu=CALL)
    (source / "Core").write_text(text)
    run(source, tmp_path / "out")
    assert (tmp_path / "out" / "Core").exists() is is_header
    if is_header:
        assert "hipFree(0)" in (tmp_path / "out" / "Core").read_text()


@pytest.mark.parametrize("name", ["new\nline.cu", "\udcff.cu", "tab\t<&>'\".cu", "[x](y)`.cu", "{a,b}.cu", "*.cu"])
def test_odd_names_survive_and_the_report_stays_valid(tmp_path: Path, name: str) -> None:
    from stackbuild.model.findings import Rung, Status, Verification
    from stackbuild.views.sarif import sarif

    source = files(tmp_path / "src", y_cu=CALL)
    (source / name).write_text("cuNothing();\n")
    report = run(source, tmp_path / "out")
    assert (tmp_path / "out" / name).is_file()
    json.loads(json.dumps(json_of(report)))
    (verified,) = json.loads(sarif([Verification("h", "", (Rung("h", Status.FAILED, "", 0.0, report.findings),))]))[
        "runs"
    ]
    assert verified["results"]
    assert run(source, tmp_path / "out").changed_outputs == 0


def test_names_that_differ_in_case_alone_are_two(tmp_path: Path) -> None:
    source = files(tmp_path / "src", a_cu=CALL, A_cu=CALL + "int x;\n")
    run(source, tmp_path / "out")
    assert (tmp_path / "out" / "a.cu").read_text() != (tmp_path / "out" / "A.cu").read_text()


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("{out}/a b.cu:2:3: error: x\n", "{src}/a b.cu:1:3: error: x\n"),
        ("In file included from {out}/a b.cu:3,\n", "In file included from {src}/a b.cu:2,\n"),
        ("a b.cu:2: x\n", "{src}/a b.cu:1: x\n"),
        ("./my out/a b.cu(2): y, see my out/b.cu:1\n", "{src}/a b.cu(1): y, see {src}/b.cu:1\n"),
        ('"{out}/a b.cu", line 2: z\n', '"{src}/a b.cu", line 1: z\n'),
        ("\x1b[1m{out}/a b.cu:2:3: \x1b[0m\x1b[31merror\n", "\x1b[1m{src}/a b.cu:1:3: \x1b[0m\x1b[31merror\n"),
        ("    2 | f(x::y); // a:2\r\n", "    2 | f(x::y); // a:2\r\n"),
        ("{out}/b.cu: In function f:\n{out}/b.cu:1:1\n", "{out}/b.cu: In function f:\n{src}/b.cu:1:1\n"),
        ("/else/c_b.cu:2:1\n", "/else/c_b.cu:2:1\n"),
    ],
)
def test_places_in_a_log_may_have_spaces(tmp_path: Path, line: str, told: str) -> None:
    source, out = tmp_path / "my src", tmp_path / "my out"
    source.mkdir()
    (source / "a b.cu").write_text("__global__ void k();\n" + CALL)
    (source / "b.cu").write_text("int x;\n")
    run(source, out)
    assert relocate.relocate(line.format(out=out, src=source), out) == told.format(out=out, src=source)


def test_a_sources_name_adds_no_line_to_a_log(tmp_path: Path) -> None:
    source, out = tmp_path / "src", tmp_path / "out"
    (source / "x\ny").mkdir(parents=True)
    (source / "x\ny" / "a.cu").write_text("__global__ void k();\n" + CALL)
    run(source, out)
    assert relocate.relocate("a.cu:2: x\n", out) == f"{source}/x\\ny/a.cu:1: x\n"


def test_a_long_log_is_read_in_time(src: Path, tmp_path: Path) -> None:
    run(src, tmp_path / "out")
    start = time.process_time()
    relocate.relocate("a b " * 20_000 + ":1 " * 20_000 + "\n" + "x (1) " * 50_000, tmp_path / "out")
    assert time.process_time() - start < 5


def test_a_link_out_of_the_source_is_left_out(src: Path, tmp_path: Path) -> None:
    (tmp_path / "secret.cu").write_text(CALL)
    (src / "secret.cu").symlink_to("../secret.cu")
    (src / "sub" / "inside.cu").symlink_to("../y.cu")
    report = hipify_tree(SourceSelection((src,), tmp_path / "out", has_rest=True), ENGINE)
    assert not (tmp_path / "out" / "secret.cu").exists() and (tmp_path / "out" / "sub" / "inside.cu").is_file()
    assert [(f.rule, f.subject, f.severity) for f in report.findings] == [
        ("HIPIFY-NOT-CONVERTED", "secret.cu", Severity.WARNING)
    ]


@pytest.mark.parametrize("kind", ["fifo", "/dev/zero"])
def test_a_build_file_that_is_none_is_not_waited_for(src: Path, tmp_path: Path, kind: str) -> None:
    if kind == "fifo":
        os.mkfifo(src / "CMakeLists.txt")
    else:
        (src / "CMakeLists.txt").symlink_to(kind)
    assert not run(src, tmp_path / "out").findings
