"""Signatures of several builders who push at the same moment: a registry has no compare-and-swap, and none is lost."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from stackbuild.publishing.ssh_keys import TrustedKey
from stackbuild.remote.faults import RemoteFault
from stackbuild.remote.files import TAGS, ExportFolder, manifest_place
from stackbuild.remote.pull import PullRequest
from stackbuild.remote.push import MOST_UNREAD, disagreements
from stackbuild.remote.signatures import SignatureReader, signer_tag
from stackbuild.remote.trees import record_manifest
from stackbuild.store.records import Record
from stackbuild.store.store import Store
from support.fake_build import fast_folder
from support.remotes import CONTENT_TEXT, Said, a_key, asked, open_at, puller, push_all, put

WRITES = 5
"""Manifests of a push: the tree, and for the key and the content key the builder's own tag and the list."""


class OvertakenFolder(ExportFolder):
    """An export whose write of that number waits until another builder has pushed."""

    def __init__(self, folder: Path, number: int, other: Callable[[], object]) -> None:
        super().__init__(folder.as_uri(), folder, is_written=True)
        self.remaining_writes = number
        self.other = other

    def put_manifest(self, tag: str, text: bytes, is_patient: bool = True) -> None:
        if self.remaining_writes == 0:
            self.other()
        self.remaining_writes -= 1
        super().put_manifest(tag, text, is_patient)


class CountedFolder(ExportFolder):
    """An export that counts the manifests that it is asked for."""

    count = 0

    def manifest(self, tag: str, most: int) -> bytes | None:
        self.count += 1
        return super().manifest(tag, most)


def store_with_output(root: Path, seed: int = 0) -> Store:
    store = open_at(root)
    put(store, seed=seed, large=0)
    return store


def overtaken(folder: Path, number: int, seed: int = 0) -> ExportFolder:
    """An export that two builders pushed to: the second one during the first one's write of that number."""
    export = folder / "export"
    first, second = store_with_output(folder / "first"), store_with_output(folder / "second", seed)

    def other() -> None:
        outcomes = [one.outcome for one in push_all(second, ExportFolder("", export, is_written=True), "other")]
        assert outcomes in (["pushed"], ["signed"])

    writer = OvertakenFolder(export, number, other)
    assert [one.outcome for one in push_all(first, writer)] in (["pushed"], ["signed"])
    assert writer.remaining_writes < 0
    first.close()
    second.close()
    return ExportFolder("", export)


@pytest.mark.parametrize("number", range(WRITES))
@pytest.mark.parametrize("request_of", [asked, lambda: asked(CONTENT_TEXT, "c")], ids=["key", "content key"])
def test_two_builders_who_push_at_the_same_moment_both_count(number: int, request_of: Callable[[], object]) -> None:
    with fast_folder() as folder:
        remote = overtaken(folder, number)
        user, said = open_at(folder / "user"), Said()
        taken = puller(user, remote, said, "builder", "other", threshold=2).pull(request_of())  # type: ignore[arg-type]
        assert taken is not None and not said.lines
        assert all(a_key(name).fingerprint in taken.origin.signed_by for name in ("builder", "other"))
        user.close()


@pytest.mark.parametrize("number", range(WRITES))
def test_each_of_them_alone_is_enough_for_who_trusts_it(number: int) -> None:
    with fast_folder() as folder:
        remote = overtaken(folder, number)
        for name in ("builder", "other"):
            user, said = open_at(folder / name), Said()
            assert puller(user, remote, said, name).pull(asked()) is not None and not said.lines
            user.close()


@pytest.mark.parametrize("number", range(WRITES))
def test_a_conflict_of_two_who_push_at_the_same_moment_is_seen(number: int) -> None:
    with fast_folder() as folder:
        remote = overtaken(folder, number, seed=1)
        store = open_at(folder / "first")
        keys = puller(store, remote, Said(), "builder", "other").remotes[0].keys
        rows, unread = [record for record in [store.find(asked().key)] if record], list[str]()
        (conflict,) = disagreements(rows, remote, keys, unread.append)
        assert not unread
        assert len(conflict.trees) == 2
        store.close()


def test_an_entry_that_was_overwritten_is_listed_again_by_the_next_push() -> None:
    with fast_folder() as folder:
        remote = overtaken(folder, WRITES - 3)  # just before the first one's list
        first, second = open_at(folder / "first"), open_at(folder / "second")
        writer = ExportFolder("", folder / "export", is_written=True)
        outcomes = [push_all(store, writer, name)[0].outcome for store, name in ((first, "builder"), (second, "other"))]
        assert sorted(outcomes) == ["signed", "there"]
        list_alone = CountedFolder("", remote.folder)
        user = open_at(folder / "user")
        assert puller(user, list_alone, Said(), "builder", "other", threshold=2).look_up(asked(), is_new=True) is not None
        assert list_alone.count == 1
        for store in (first, second, user):
            store.close()


def test_another_output_by_the_same_key_is_a_conflict_where_the_list_lost_its_entry(tmp_path: Path) -> None:
    builder, other, again = (store_with_output(tmp_path / name, seed) for name, seed in (("a", 0), ("b", 0), ("c", 1)))
    remote = ExportFolder("", tmp_path / "export", is_written=True)
    push_all(builder, remote)
    push_all(other, remote, "other")
    own_list = remote.folder / manifest_place(asked().tag)
    own_list.write_bytes((remote.folder / manifest_place(signer_tag(asked().tag, a_key("other").blob))).read_bytes())
    assert [one.outcome for one in push_all(again, remote)] == ["conflict"]
    for store in (builder, other, again):
        store.close()


def test_what_nobody_signed_costs_one_request_and_so_does_a_list_that_is_enough(tmp_path: Path) -> None:
    builder, user = store_with_output(tmp_path / "builder"), open_at(tmp_path / "user")
    push_all(builder, ExportFolder("", tmp_path / "export", is_written=True))
    remote = CountedFolder("", tmp_path / "export")
    pulls = puller(user, remote, Said(), "builder", "other", "third")
    assert pulls.look_up(asked("step: other\n"), is_new=True) is None and remote.count == 1
    assert pulls.look_up(asked(), is_new=True) is not None and remote.count == 2
    builder.close()
    user.close()


def test_a_list_of_an_older_stackbuild_is_read_and_kept(tmp_path: Path) -> None:
    """It has no own tags beside it."""
    builder, other, user = (open_at(tmp_path / name) for name in ("builder", "other", "user"))
    for store in (builder, other):
        put(store, large=0)
    remote = ExportFolder("", tmp_path / "export", is_written=True)
    push_all(builder, remote)
    for tag in (asked().tag, asked(CONTENT_TEXT, "c").tag):
        (remote.folder / manifest_place(signer_tag(tag, a_key().blob))).unlink()
    assert [one.outcome for one in push_all(builder, remote)] == ["there"]
    assert [one.outcome for one in push_all(other, remote, "other")] == ["signed"]
    assert puller(user, remote, Said(), "builder", "other", threshold=2).pull(asked()) is not None
    for store in (builder, other, user):
        store.close()


def test_the_own_tag_of_a_signer_is_on_no_list_of_tags(tmp_path: Path) -> None:
    """A client reads the list where it looks for keys. So a longer one would only cost."""
    builder = store_with_output(tmp_path / "builder")
    remote = ExportFolder("", tmp_path / "export", is_written=True)
    push_all(builder, remote)
    tags = (remote.folder / TAGS).read_text().split()
    assert asked().tag in tags and not [tag for tag in tags if "." in tag]
    assert len(list(remote.folder.glob("manifests/*/*"))) == len(tags) + 2
    builder.close()


def test_what_lies_under_an_own_tag_hides_no_other_signature(tmp_path: Path) -> None:
    builder = store_with_output(tmp_path / "builder")
    remote = ExportFolder("", tmp_path / "export", is_written=True)
    push_all(builder, remote, "other")
    (remote.folder / manifest_place(asked().tag)).write_bytes(
        (remote.folder / manifest_place(signer_tag(asked().tag, a_key("other").blob))).read_bytes()
    )
    (remote.folder / manifest_place(signer_tag(asked().tag, a_key().blob))).write_bytes(b"no manifest")
    user, said = open_at(tmp_path / "user"), Said()
    assert puller(user, remote, said, "builder", "other").pull(asked()) is not None and not said.lines
    builder.close()
    user.close()


class EndedFolder(ExportFolder):
    """An export whose writer ends before its manifest of that number."""

    def __init__(self, folder: Path, number: int) -> None:
        super().__init__(folder.as_uri(), folder, is_written=True)
        self.remaining_writes = number

    def put_manifest(self, tag: str, text: bytes, is_patient: bool = True) -> None:
        if self.remaining_writes == 0:
            raise KeyboardInterrupt
        self.remaining_writes -= 1
        super().put_manifest(tag, text, is_patient)


@pytest.mark.parametrize("number", range(WRITES))
@pytest.mark.parametrize("check", [False, True])
def test_a_push_that_ended_early_is_completed_by_the_next(number: int, check: bool) -> None:
    with fast_folder() as folder:
        store = store_with_output(folder / "store")
        with pytest.raises(KeyboardInterrupt):
            push_all(store, EndedFolder(folder / "export", number))
        export = ExportFolder("", folder / "export", is_written=True)
        assert [one.outcome for one in push_all(store, export, check=check)] in (["pushed"], ["signed"])
        assert [one.outcome for one in push_all(store, export, check=check)] == ["there"]
        for place, request in (("key", asked()), ("content", asked(CONTENT_TEXT, "c"))):
            user = open_at(folder / place)
            assert puller(user, export, Said()).pull(request) is not None
            user.close()
        store.close()


class FaultyFolder(ExportFolder):
    """An export that answers one tag with an error."""

    faulty_tag = ""

    def manifest(self, tag: str, most: int) -> bytes | None:
        if tag == self.faulty_tag:
            raise RemoteFault("HTTP 500", blob=tag)
        return super().manifest(tag, most)


@pytest.mark.parametrize("names", [("builder", "other"), ("other", "builder")])
def test_an_own_tag_that_cannot_be_read_hides_no_other_signer(names: tuple[str, str]) -> None:
    with fast_folder() as folder:
        store = store_with_output(folder / "store")
        push_all(store, ExportFolder("", folder / "export", is_written=True))
        (folder / "export" / manifest_place(asked().tag)).write_bytes(record_manifest(b"[]"))
        remote = FaultyFolder("", folder / "export")
        remote.faulty_tag = signer_tag(asked().tag, a_key("other").blob)
        user, said = open_at(folder / "user"), Said()
        assert puller(user, remote, said, *names).pull(asked()) is not None
        assert [remote.faulty_tag in text for text in said.warnings] == ([True] if names[0] == "other" else [])
        user.close()
        store.close()


def test_of_two_lines_of_one_key_the_last_counts_for_its_own_tag_too() -> None:
    with fast_folder() as folder:
        store = store_with_output(folder / "store")
        push_all(store, ExportFolder("", folder / "export", is_written=True))
        key = TrustedKey(a_key().blob)
        expired_key = replace(key, valid_before=datetime(2020, 1, 1, tzinfo=UTC))
        for keys, is_taken in (((key, expired_key), False), ((expired_key, key), True)):
            reader = SignatureReader(ExportFolder("", folder / "export"), keys, datetime.now(UTC))
            signatures = reader.read(asked().tag, lambda one: True)
            assert signatures is not None and bool(signatures.records) == is_taken
        store.close()


class ListlessFolder(ExportFolder):
    """An export that answers each list of some tags with an error, and own tags rightly."""

    def __init__(self, folder: Path, faulty_tags: frozenset[str], fault: RemoteFault | None = None) -> None:
        super().__init__(folder.as_uri(), folder)
        self.faulty_tags, self.fault = faulty_tags, fault

    def manifest(self, tag: str, most: int) -> bytes | None:
        if tag not in self.faulty_tags:
            return super().manifest(tag, most)
        if self.fault:
            raise self.fault
        return b"no manifest"


@pytest.mark.parametrize("fault", [None, RemoteFault("HTTP 500")])
@pytest.mark.parametrize("request_of", [asked, lambda: asked(CONTENT_TEXT, "c")], ids=["key", "content key"])
def test_a_list_that_cannot_be_read_hides_no_own_tag(fault: RemoteFault | None, request_of: Callable[[], PullRequest]) -> None:
    with fast_folder() as folder:
        store, user, said = store_with_output(folder / "store"), open_at(folder / "user"), Said()
        push_all(store, ExportFolder("", folder / "export", is_written=True))
        remote = ListlessFolder(folder / "export", frozenset((request_of().tag,)), fault)
        pulls = puller(user, remote, said, "other", "builder")
        assert pulls.pull(request_of()) is not None
        (warning,) = said.warnings
        assert request_of().tag in warning and ("HTTP 500" if fault else "cannot be read") in warning
        assert not pulls.remotes[0].strikes
        user.close()
        store.close()


def test_a_list_that_cannot_be_read_is_a_miss_where_no_trusted_key_has_an_own_tag() -> None:
    with fast_folder() as folder:
        store, user, said = store_with_output(folder / "store"), open_at(folder / "user"), Said()
        push_all(store, ExportFolder("", folder / "export", is_written=True))
        remote = ListlessFolder(folder / "export", frozenset((asked().tag,)), RemoteFault("HTTP 500"))
        pulls = puller(user, remote, said, "other")
        assert pulls.pull(asked()) is None
        assert pulls.remotes[0].strikes == 1 and "HTTP 500" in said.warnings[0]
        user.close()
        store.close()


def test_a_list_that_cannot_be_read_is_named_also_where_too_few_keys_agree() -> None:
    with fast_folder() as folder:
        store, user, said = store_with_output(folder / "store"), open_at(folder / "user"), Said()
        push_all(store, ExportFolder("", folder / "export", is_written=True))
        remote = ListlessFolder(folder / "export", frozenset((asked().tag,)), RemoteFault("HTTP 500"))
        assert puller(user, remote, said, "builder", "other", threshold=2).pull(asked()) is None
        assert asked().tag in said.warnings[0] and "HTTP 500" in said.warnings[0]
        assert "too few trusted keys agree" in said.warnings[1] and len(said.warnings) == 2
        user.close()
        store.close()


def store_with_outputs(folder: Path, seed: int, count: int = 3) -> tuple[Store, list[Record]]:
    store = open_at(folder)
    return store, [put(store, f"step: {number}\n", "", seed * 10 + number, large=0) for number in range(count)]


def test_a_conflict_is_seen_beside_lists_that_cannot_be_read() -> None:
    with fast_folder() as folder:
        store, rows = store_with_outputs(folder / "store", 0)
        theirs, _ = store_with_outputs(folder / "theirs", 1)
        push_all(theirs, ExportFolder("", folder / "export", is_written=True))
        tags = [f"r-{record.key}" for record in rows]
        (folder / "export" / manifest_place(signer_tag(tags[0], a_key().blob))).unlink()
        remote, unread = ListlessFolder(folder / "export", frozenset(tags[:2])), list[str]()
        conflicts = tuple(disagreements(rows, remote, (TrustedKey(a_key().blob),), unread.append))
        assert [f"r-{one.key}" for one in conflicts] == tags[1:]  # the second by its own tag
        assert [tag for tag in tags if any(tag in what for what in unread)] == tags[:2]
        store.close()
        theirs.close()


def test_a_remote_whose_lists_all_fail_is_not_asked_for_each() -> None:
    with fast_folder() as folder:
        store, rows = store_with_outputs(folder / "store", 0, MOST_UNREAD + 5)
        ExportFolder("", folder / "export", is_written=True)
        tags = frozenset(f"r-{record.key}" for record in rows)
        remote, unread = ListlessFolder(folder / "export", tags, RemoteFault("HTTP 500")), list[str]()
        assert not tuple(disagreements(rows, remote, (TrustedKey(a_key().blob),), unread.append))
        assert len(unread) == MOST_UNREAD + 1 and unread[-1].startswith("5 more outputs are not asked for")
        store.close()
