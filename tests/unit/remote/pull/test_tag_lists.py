"""Many keys that a remote lacks: its tags are listed once, and the list is only ever a hint."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import pytest

from stackbuild.remote import pull
from stackbuild.remote.faults import RemoteFault
from stackbuild.remote.files import ExportFolder
from stackbuild.remote.pull import LISTED_AFTER
from support.remotes import CONTENT_TEXT, Said, asked, open_at, puller, push_all, put


@dataclass
class CountingReader:
    """An export that counts what it is asked, and lists its tags as a registry does."""

    folder: ExportFolder
    tag_list: frozenset[str] | RemoteFault | None
    asked: list[str] = field(default_factory=list)
    lists: int = 0

    @property
    def url(self) -> str:
        return self.folder.url

    def manifest(self, tag: str, most: int) -> bytes | None:
        self.asked.append(tag)
        return self.folder.manifest(tag, most)

    def tags(self) -> frozenset[str] | None:
        self.lists += 1
        if isinstance(self.tag_list, RemoteFault):
            raise self.tag_list
        return self.tag_list

    def __getattr__(self, name: str) -> object:
        return getattr(self.folder, name)


@pytest.fixture
def export(tmp_path: Path) -> ExportFolder:
    builder = open_at(tmp_path / "builder")
    put(builder, large=0)
    folder = ExportFolder(f"file://{tmp_path}/export", tmp_path / "export", is_written=True)
    push_all(builder, folder)
    builder.close()
    return folder


def ask_for(reader: CountingReader, tmp_path: Path, misses: int) -> tuple[bool, Said]:
    """Whether the key that is there came, once so many others were asked for."""
    store, said = open_at(tmp_path / "store"), Said()
    pulls = puller(store, reader, said)
    for number in range(misses):
        assert pulls.pull(asked(f"step: {number}\n")) is None
    came = pulls.pull(asked()) is not None
    store.close()
    return came, said


def listed(export: ExportFolder) -> frozenset[str]:
    return frozenset((export.folder / "tags").read_text().split())


def test_many_misses_cost_one_list_and_what_is_there_is_found(export: ExportFolder, tmp_path: Path) -> None:
    reader = CountingReader(export, listed(export))
    came, said = ask_for(reader, tmp_path, 300)
    assert came and not said.warnings
    assert reader.lists == 1
    assert len([tag for tag in reader.asked if tag.startswith("r-")]) == LISTED_AFTER + 1


def test_few_misses_list_nothing(export: ExportFolder, tmp_path: Path) -> None:
    reader = CountingReader(export, listed(export))
    assert ask_for(reader, tmp_path, LISTED_AFTER - 1)[0] and reader.lists == 0


@pytest.mark.parametrize("answer", [None, RemoteFault("HTTP 403")])
def test_a_remote_that_lists_nothing_is_asked_for_each(
    export: ExportFolder, tmp_path: Path, answer: RemoteFault | None
) -> None:
    reader = CountingReader(export, answer)
    came, said = ask_for(reader, tmp_path, 100)
    assert came and not said.warnings and reader.lists == 1
    assert len([tag for tag in reader.asked if tag.startswith("r-")]) == 101


def test_a_list_that_names_everything_changes_nothing(export: ExportFolder, tmp_path: Path) -> None:
    wrong = listed(export) | {asked(f"step: {number}\n").tag for number in range(100)}
    came, said = ask_for(CountingReader(export, wrong), tmp_path, 100)
    assert came and not said.warnings


def test_a_list_is_used_for_a_minute(export: ExportFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reader = CountingReader(export, frozenset({"r-" + "0" * 64}))
    store, said = open_at(tmp_path / "store"), Said()
    pulls, now = puller(store, reader, said), [1000.0]
    monkeypatch.setattr(pull.time, "monotonic", lambda: now[0])
    for number in range(LISTED_AFTER + 10):
        pulls.pull(asked(f"step: {number}\n"))
    assert pulls.look_up(asked(), is_new=False) is None  # pushed after the list was read
    assert pulls.look_up(asked(), is_new=True) is not None
    assert pulls.pull(asked()) is not None  # the list of before hides nothing that was seen since
    content = asked(CONTENT_TEXT, "c")
    assert pulls.look_up(content, is_new=False) is None
    pulls.missing.clear()
    now[0] += pull.LISTING_SECONDS + 1
    assert pulls.look_up(content, is_new=False) is not None
    store.close()


def test_an_export_lists_each_tag_before_it_is_there(export: ExportFolder, tmp_path: Path) -> None:
    there = {path.name for path in export.folder.glob("manifests/*/*") if "." not in path.name}
    assert listed(export) == there and len(there) == 3
    (export.folder / "tags").unlink()  # an export of before there was a list
    ExportFolder(export.url, export.folder, is_written=True)
    assert listed(export) == there
