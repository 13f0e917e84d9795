"""An output without a file is shared like any other."""

from __future__ import annotations

from pathlib import Path

import pytest

from stackbuild.core import digest
from stackbuild.remote.faults import BlobAbsent, RemoteFault
from stackbuild.remote.files import ExportFolder
from stackbuild.remote.push import MOST_ABSENCES, Pusher
from stackbuild.store.records import Record
from support.remotes import TEXT, Said, a_key, asked, open_at, puller, push_all, put


def test_an_empty_output_is_pushed_and_taken(tmp_path: Path) -> None:
    builder, user = open_at(tmp_path / "builder"), open_at(tmp_path / "user")
    tree = builder.keep(builder.stage("s"))
    made_at = "2026-01-01T00:00:00+00:00"
    builder.record(Record(digest.of_text(TEXT), "s", "r", tree, TEXT, 1.5, builder.run, made_at, {"runner": "fake"}))
    shared = ExportFolder("", tmp_path / "shared", is_written=True)
    assert [(push.outcome, push.why) for push in push_all(builder, shared)] == [("pushed", "")]
    assert [push.outcome for push in push_all(builder, shared)] == ["there"]
    said = Said()
    taken = puller(user, shared, said).pull(asked())
    record = user.find(digest.of_text(TEXT))
    assert taken is not None and record is not None and record.tree == tree and said.warnings == []
    assert user.check(tree) == ""
    builder.close()
    user.close()


def test_an_output_without_its_manifest_is_damaged(tmp_path: Path) -> None:
    builder = open_at(tmp_path / "builder")
    tree = builder.keep(builder.stage("s"))
    made_at = "2026-01-01T00:00:00+00:00"
    builder.record(Record(digest.of_text(TEXT), "s", "r", tree, TEXT, 1.5, builder.run, made_at, {"runner": "fake"}))
    (builder.root / "manifests" / tree[:2] / tree).write_text("f")
    assert [push.outcome for push in push_all(builder, ExportFolder("", tmp_path / "shared", is_written=True))] == ["damaged"]
    builder.close()


class RefusingFolder(ExportFolder):
    """An export that refuses each manifest."""

    fault: RemoteFault = RemoteFault("HTTP 500")

    def put_manifest(self, tag: str, text: bytes, is_patient: bool = True) -> None:
        raise self.fault


@pytest.mark.parametrize(("fault", "strikes"), [(RemoteFault("HTTP 400"), 3), (BlobAbsent("HTTP 400"), 0)])
def test_a_blob_that_is_not_seen_for_a_moment_is_no_strike(fault: RemoteFault, strikes: int, tmp_path: Path) -> None:
    builder = open_at(tmp_path / "builder")
    remote = RefusingFolder("", tmp_path / "shared", is_written=True)
    remote.fault = fault
    pusher = Pusher(builder, remote, a_key())
    for number in range(MOST_ABSENCES):
        record = put(builder, f"step: {number}\n", "", number, large=0)
        push = pusher.push(record, "")
        assert (push.outcome, push.why) == ("failed", "HTTP 400")
    assert pusher.strikes == strikes
    builder.close()
