"""Statements about one wheel that several machines made become one."""

from __future__ import annotations

import json
import os
import time
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from stackbuild.core.errors import UsageError
from stackbuild.model.findings import EMULATED_RUNG, GPU_RUNG, STATIC_RUNG, Rung, Status, Verification
from stackbuild.publishing.index import publish
from stackbuild.publishing.proofs import merge_statements, with_proofs, write_proof
from stackbuild.publishing.publication import Publication
from stackbuild.publishing.statements import NAMES, ResourceDescriptor, benchmarks, claim_about, statement, verification
from stackbuild.store import atomic
from support.wheels import descriptor_of, put_statements, small_wheel, verdict_document


def verified(wheel: Path, machine: str, status: Status = Status.PASSED) -> bytes:
    about = descriptor_of(wheel)
    rungs = (Rung("load", Status.PASSED, "", 1.0), Rung(GPU_RUNG, status, "no GPU" if status is Status.SKIPPED else "", 1.0))
    return verification(about, Verification(wheel.name, about.sha256, rungs), machine)


def predicate(data: bytes) -> dict[str, Any]:
    value: dict[str, Any] = json.loads(data)["predicate"]
    return value


def test_the_index_has_what_each_machine_proved(tmp_path: Path) -> None:
    wheel = small_wheel(tmp_path / "w")
    about = descriptor_of(wheel)
    own = tmp_path / "w" / f"{wheel.name}.verification.json"
    own.write_bytes(verified(wheel, "", Status.SKIPPED))
    for machine in ("gfx942", "gfx1100"):
        write_proof(tmp_path / "proof" / machine, about, "verification", verified(wheel, machine))
        write_proof(tmp_path / "proof" / machine, about, "benchmarks", benchmarks(about, {}, verdict_document(), machine))
    (tmp_path / "proof" / "verify.xml").touch()
    (tmp_path / "joined").mkdir()
    attached = with_proofs((wheel,), {wheel: (own,)}, (tmp_path / "proof",), tmp_path / "joined")
    receipt = publish((wheel,), tmp_path / "simple", Publication(attachments=attached))
    claims = receipt.wheels[0].claim.split("; on ")
    assert [claim.partition(":")[0] for claim in claims] == [claims[0].partition(":")[0], "gfx1100", "gfx942"]
    assert claims[0].endswith("no GPU ran") and GPU_RUNG in claims[1]
    folder = tmp_path / "simple" / "demo-pkg"
    rungs = predicate((folder / own.name).read_bytes())["rungs"]
    assert [(row.get("machine", ""), row["how"]) for row in rungs if row["name"] == GPU_RUNG] == [
        ("", "not run here"), ("gfx1100", "ran"), ("gfx942", "ran"),
    ]  # fmt: skip
    measured = predicate((folder / f"{wheel.name}.benchmarks.json").read_bytes())["measurements"]
    assert {row["machine"] for row in measured} == {"gfx942", "gfx1100"}


def test_joining_again_changes_nothing_and_the_order_does_not_matter(tmp_path: Path) -> None:
    wheel = small_wheel(tmp_path)
    about = ResourceDescriptor(wheel.name, descriptor_of(wheel).sha256)
    one, two = verified(wheel, "", Status.SKIPPED), verified(wheel, "gfx1100")
    both = merge_statements(about, "verification", (one, two))
    assert merge_statements(about, "verification", (two, one)) == both == merge_statements(about, "verification", (both, two, one))
    assert merge_statements(about, "verification", (two, two)) == two


@pytest.mark.parametrize("case", ["empty", "other wheel", "other bytes", "provenance"])
def test_a_proof_of_something_else_is_refused(tmp_path: Path, case: str) -> None:
    """A proof that would silently be left out is an error, too."""
    wheel = small_wheel(tmp_path / "w")
    other = small_wheel(tmp_path / "other", "2.0") if case == "other wheel" else small_wheel(tmp_path / "other", content="y")
    proof = tmp_path / "proof"
    proof.mkdir()
    if case == "provenance":
        (proof / f"{wheel.name}.provenance.json").write_bytes(verified(wheel, "gfx1100"))
    elif case != "empty":
        write_proof(proof, descriptor_of(other), "verification", verified(other, "gfx1100"))
    words = {"empty": "no statement", "other bytes": "about demo_pkg-1.0", "other wheel": "none of these", "provenance": "none of these"}
    with pytest.raises(UsageError, match=words[case]):
        with_proofs((wheel,), {}, (proof,), tmp_path)


@pytest.mark.parametrize("more", [{"digest": {"sha256": "", "sha512": "0" * 128}}, {"uri": "https://example.invalid/other.whl"}])
def test_a_subject_that_says_more_than_is_checked_is_refused(tmp_path: Path, more: dict[str, Any]) -> None:
    """Another tool may go by the other digest."""
    wheel = small_wheel(tmp_path / "w")
    body = json.loads(verified(wheel, "gfx1100"))
    (subject,) = body["subject"]
    subject |= more
    subject["digest"]["sha256"] = descriptor_of(wheel).sha256
    beside = tmp_path / "w" / f"{wheel.name}.verification.json"
    beside.write_text(json.dumps(body))
    with pytest.raises(UsageError, match="a subject has more than a name and a sha256"):
        publish((wheel,), tmp_path / "simple", Publication(attachments={wheel: (beside,)}))


LIES: list[tuple[str, str, Any, str]] = [
    ("verification", "claim", "verified (load + GPU at work)", "its rungs come to"),
    ("verification", "rungs", [], "at least 1 item"),
    ("verification", "rungs", None, "`predicate.rungs`"),
    ("verification", "rungs", 7, "`predicate.rungs`"),
    ("verification", "rungs", "ran", "`predicate.rungs`"),
    ("verification", "machine", {"a": 1}, "`predicate.machine`"),
    ("verification", "note", "x", "`predicate.note`"),
    ("verification", "rungs.1.result", "failed", "its rung 'GPU at work' failed on gfx1100"),
    ("verification", "rungs.1.how", "ran", "which is 'not run here'"),
    ("verification", "rungs.1.name", "load", "stands there twice on gfx1100"),
    ("verification", "rungs.1.name", "load + GPU at work", "`predicate.rungs.1.name`"),
    ("verification", "rungs.1.machine", "gfx942", "names gfx942"),
    ("benchmarks", "verdict.gates.0.outcome", "FAIL", "its gate 'speed' did not pass on gfx1100"),
    ("benchmarks", "verdict", {"passed": False}, "`predicate.verdict"),
    ("benchmarks", "measurements", 7, "`predicate.measurements`"),
]


@pytest.mark.parametrize(("kind", "where", "value", "words"), LIES, ids=[f"{kind} {where} {value}" for kind, where, value, _ in LIES])
@pytest.mark.parametrize("beside", [False, True], ids=["proof", "beside"])
def test_what_a_statement_says_is_checked_field_by_field(
    tmp_path: Path, kind: str, where: str, value: object, words: str, beside: bool
) -> None:
    """The same for a proof of another machine and for a wheel's own statement."""
    wheel = small_wheel(tmp_path / "w")
    about = descriptor_of(wheel)
    data = verified(wheel, "gfx1100", Status.SKIPPED) if kind == "verification" else benchmarks(about, {}, verdict_document(), "gfx1100")
    body = json.loads(data)
    place: Any = body["predicate"]
    *path, last = where.split(".")
    for key in path:
        place = place[int(key) if key.isdigit() else key]
    place[last] = value
    write_proof(tmp_path / "proof", about, kind, json.dumps(body).encode())
    file = tmp_path / "proof" / f"{wheel.name}.{kind}.json"
    with pytest.raises(UsageError, match=words):
        if beside:
            publish((wheel,), tmp_path / "simple", Publication(attachments={wheel: (file,)}))
        else:
            with_proofs((wheel,), {wheel: put_statements(wheel)}, (tmp_path / "proof",), tmp_path)
    assert not (tmp_path / "simple" / "index.html").exists()


def test_a_key_that_stands_twice_and_two_words_of_one_machine_are_refused(tmp_path: Path) -> None:
    wheel = small_wheel(tmp_path / "w")
    about = descriptor_of(wheel)
    twice = verified(wheel, "gfx1100").replace(b'"claim":', b'"claim": "verified", "claim":')
    write_proof(tmp_path / "twice", about, "verification", twice)
    with pytest.raises(UsageError, match="the key 'claim' stands there twice"):
        with_proofs((wheel,), {}, (tmp_path / "twice",), tmp_path)
    one, other = verified(wheel, "gfx1100"), verified(wheel, "gfx1100", Status.SKIPPED)
    with pytest.raises(UsageError, match="'GPU at work' stands there twice on gfx1100"):
        merge_statements(about, "verification", (one, other))
    measured = (benchmarks(about, {"a": number}, verdict_document(), "gfx1100") for number in range(2))
    with pytest.raises(UsageError, match="two measurements on gfx1100"):
        merge_statements(about, "benchmarks", tuple(measured))


def test_a_rung_says_how_it_was_checked(tmp_path: Path) -> None:
    about = descriptor_of(small_wheel(tmp_path))
    rungs = [(STATIC_RUNG, "inspected"), ("load", "ran"), (f"{EMULATED_RUNG}gfx1100 on a CPU", "emulated")]
    rows = (*(Rung(name, Status.PASSED, "", 1.0) for name, _ in rungs), Rung(GPU_RUNG, Status.SKIPPED, "no GPU", 0.0))
    stated = predicate(verification(about, Verification(about.name, about.sha256, rows)))["rungs"]
    assert [(row["name"], row["how"]) for row in stated] == [*rungs, (GPU_RUNG, "not run here")]


ROWS = 20_000
"""Rungs or keys of a statement that compares each with each: 90 s of CPU time. Statements may have eight times as many."""


@pytest.mark.parametrize("kind", ["rungs", "measurements", "keys"])
def test_a_statement_of_many_rows_is_read_in_the_time_of_its_length(kind: str) -> None:
    about = ResourceDescriptor("demo_pkg-1.0-py3-none-any.whl", "0" * 64)
    rung = {"name": "load", "how": "ran", "result": "passed", "reason": ""}
    measurement = {"verdict": verdict_document(), "results": {"sha256": "0" * 64}}
    rows = {
        "rungs": lambda: {"claim": "x", "rungs": [{**rung, "machine": f"m{number}"} for number in range(ROWS)]},
        "measurements": lambda: {"measurements": [{**measurement, "machine": f"m{number}"} for number in range(ROWS)]},
        "keys": lambda: {f"key{number}": 0 for number in range(4 * ROWS)},
    }[kind]()
    name = "benchmarks" if kind == "measurements" else "verification"
    data = statement([about], NAMES[name], rows)
    if kind == "keys":
        data = data.replace(b'"key1": 0', b'"key0": 0')
    began = time.process_time()
    with pytest.raises(ValueError, match=r"come to|twice") if kind != "measurements" else nullcontext() as refused:
        claim_about(about, f"{about.name}.{name}.json", data)
    assert refused is None or len(str(refused.value)) < 1200
    assert time.process_time() - began < 4


@pytest.mark.parametrize("kind", ["link", "FIFO", "holes", "folder"])
def test_a_proof_is_a_file_of_a_bounded_length(tmp_path: Path, kind: str) -> None:
    wheel = small_wheel(tmp_path / "w")
    proof = tmp_path / "proof" / f"{wheel.name}.verification.json"
    write_proof(tmp_path, descriptor_of(wheel), "verification", verified(wheel, "gfx1100"))
    proof.parent.mkdir()
    if kind == "link":
        proof.symlink_to(tmp_path / proof.name)
    elif kind == "FIFO":
        os.mkfifo(proof)
    elif kind == "holes":
        proof.touch()
        os.truncate(proof, 1 << 40)
    else:
        proof.mkdir()
    words = {"link": "a link", "FIFO": "not a file", "holes": "more than 16 MiB", "folder": "no statement"}
    with pytest.raises(UsageError, match=words[kind]):
        with_proofs((wheel,), {}, (proof.parent,), tmp_path)


def test_proofs_far_down_end_in_words(tmp_path: Path) -> None:
    folder = tmp_path / "proof"
    folder.mkdir()
    fd = os.open(folder, os.O_RDONLY)
    for _ in range(1500):
        os.mkdir("d", dir_fd=fd)
        below = os.open("d", os.O_RDONLY, dir_fd=fd)
        os.close(fd)
        fd = below
    os.close(fd)
    try:
        with pytest.raises(UsageError, match="no statement about a wheel"):
            with_proofs((small_wheel(tmp_path / "w"),), {}, (folder,), tmp_path)
    finally:
        atomic.remove(folder)
