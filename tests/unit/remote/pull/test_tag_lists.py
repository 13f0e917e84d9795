"""Many keys that a remote lacks: its tags are listed once, and the list is only ever a hint."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from stackbuild.remote import pull
from stackbuild.remote.faults import ListDamaged, RemoteFault
from stackbuild.remote.files import TAGS, ExportFolder, WebFolder, manifest_place
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


OTHER_TAG = "r-" + "ab" * 32


@pytest.mark.parametrize("cut", [1, 20, 66])
def test_a_line_that_was_cut_hides_no_tag_of_the_next_writer(cut: int, export: ExportFolder) -> None:
    before = listed(export)
    with (export.folder / TAGS).open("ab") as file:
        file.write(f"r-{'cd' * 32}"[:cut].encode())  # of a writer that was killed: its manifest is not there
    export.put_manifest(OTHER_TAG, b"{}")
    assert listed(export) == before | {OTHER_TAG}


def test_a_list_with_a_line_that_was_cut_is_written_anew(export: ExportFolder) -> None:
    """As writers of before left it: the tag after the cut line has its manifest, and no line."""
    before = listed(export)
    export.put_manifest(OTHER_TAG, b"{}")
    for text in (f"r-12{OTHER_TAG}\n", "", f"{OTHER_TAG}", f"\n{OTHER_TAG}\n\n"):
        (export.folder / TAGS).write_text(text)
        ExportFolder(export.url, export.folder, is_written=True)
        assert listed(export) == before | {OTHER_TAG}
        assert (export.folder / TAGS).read_text() == "".join(f"{tag}\n" for tag in sorted(before | {OTHER_TAG}))


def test_writers_at_the_same_moment_lose_no_line(export: ExportFolder) -> None:
    """Each begins at a list that another one has cut, as a killed one would, so that it is written anew meanwhile."""
    before, tags = listed(export), [f"r-{number:064x}" for number in range(40)]

    def write(tag: str) -> None:
        writer = ExportFolder(export.url, export.folder, is_written=True)
        with writer._lock(), (export.folder / TAGS).open("ab") as file:
            file.write(b"r-12")
        writer.put_manifest(tag, b"{}")

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, tags))
    ExportFolder(export.url, export.folder, is_written=True)
    assert listed(export) == before | set(tags)


@dataclass
class ServedText:
    """A client of a web server that has one list of tags."""

    text: bytes | None

    def body(self, request: object, most: int) -> bytes | None:
        return self.text


@pytest.mark.parametrize("end", ["r-12", "r-12\n", f"r-12{OTHER_TAG}\n", OTHER_TAG, "\n"])
def test_a_client_of_a_web_server_does_not_use_a_list_that_was_cut(end: str, export: ExportFolder, tmp_path: Path) -> None:
    text = (export.folder / TAGS).read_bytes()
    whole = WebFolder("", ServedText(text))  # type: ignore[arg-type]
    assert whole.tags() == listed(export)
    with pytest.raises(ListDamaged, match="each key is asked for"):
        WebFolder("", ServedText(text + end.encode())).tags()  # type: ignore[arg-type]


def test_a_list_that_was_cut_is_said_once_and_each_key_is_asked_for(export: ExportFolder, tmp_path: Path) -> None:
    reader = CountingReader(export, ListDamaged("its list of tags has a line that is cut", blob="tags"))
    came, said = ask_for(reader, tmp_path, 100)
    assert came and reader.lists == 1
    assert said.warnings == [f"{export.url}: its list of tags has a line that is cut (tags)"]


def test_a_disk_that_takes_a_part_of_a_line_leaves_none_of_it(
    export: ExportFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, opened = (export.folder / TAGS).read_bytes(), Path.open

    class FullDisk:
        def __init__(self, file: Any) -> None:
            self.file = file

        def __enter__(self) -> FullDisk:
            return self

        def __exit__(self, *words: object) -> None:
            self.file.close()

        def __getattr__(self, name: str) -> object:
            return getattr(self.file, name)

        def write(self, data: bytes) -> int:
            return int(self.file.write(data[:10]))

    with monkeypatch.context() as patch:
        patch.setattr(Path, "open", lambda path, *words: FullDisk(opened(path, *words)))
        with pytest.raises(OSError, match="No space left"):
            export.put_manifest(OTHER_TAG, b"{}")
    assert (export.folder / TAGS).read_bytes() == before
    assert not (export.folder / manifest_place(OTHER_TAG)).exists()
