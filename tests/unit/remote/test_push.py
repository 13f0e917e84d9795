"""An output without a file is shared like any other."""

from __future__ import annotations

from pathlib import Path

import pytest
import typer

from stackbuild.cli.share import export
from stackbuild.core import digest
from stackbuild.machine.os_errors import machine_lack
from stackbuild.remote.faults import BlobAbsent, RemoteFault
from stackbuild.remote.files import ExportFolder
from stackbuild.remote.push import MOST_ABSENCES, Pusher
from stackbuild.store.records import Record
from stackbuild.store.store import disk_full
from support.remotes import TEXT, Said, a_key, asked, key_files, open_at, puller, push_all, put


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


def test_a_push_that_conflicts_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The step was made anew, and this key has signed another output of it: nothing is put there."""
    private, _ = key_files(tmp_path)
    shared = tmp_path / "shared"
    for number in range(2):
        root = tmp_path / f"store{number}"
        builder = open_at(root)
        put(builder, seed=number, large=0)
        builder.close()
        monkeypatch.setenv("STACKBUILD_STORE", str(root))
        if number == 0:
            export(shared, private)
            continue
        capsys.readouterr()
        with pytest.raises(typer.Exit) as end:
            export(shared, private)
    said = " ".join(capsys.readouterr().err.split())
    assert end.value.exit_code == 5
    assert f"stackbuild store conflicts file://{shared}" in said and "new repository" in said


def test_a_full_disk_of_an_export_is_not_the_stores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    builder = open_at(tmp_path / "builder")
    put(builder, large=0)
    shared = ExportFolder("", tmp_path / "shared", is_written=True)

    def full(*words: object) -> None:
        raise OSError(28, "No space left on device")

    for place in ("shutil.copyfileobj", "os.fsync"):
        with monkeypatch.context() as patch:
            patch.setattr(place, full)
            with pytest.raises(OSError, match="No space left") as error:
                push_all(builder, shared)
            assert machine_lack(error.value).where == str(shared.folder)
    builder.close()


def test_room_is_made_on_the_disk_that_is_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tmp_path / "store"
    root.mkdir()
    assert "store gc" in disk_full(tmp_path, root).next and "store gc" in disk_full(root).next
    other = Path("/dev/shm")
    if other.is_dir() and other.stat().st_dev != root.stat().st_dev:
        assert "make room there" in disk_full(other, root).next
