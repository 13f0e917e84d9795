"""What a hostile or damaged remote may try: each is a miss with a warning, and the store stays as it was.

The remote is a folder here, `file://`: what a server adds to that is in tests/integration/remote.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import stat
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from stackbuild.core import digest
from stackbuild.core.zstd import ZstdCompressor
from stackbuild.publishing.envelopes import envelope_text
from stackbuild.remote.files import ExportFolder, blob_place, manifest_place
from stackbuild.remote.pull import Puller, TrustedRemote
from stackbuild.remote.records import PAYLOAD_TYPE, RemoteRecord, envelopes_of, listing_of, sign
from stackbuild.remote.signatures import signer_tag
from stackbuild.remote.trees import StoredBlob, layer_of, layers_in, listing_in, record_manifest, tree_manifest
from stackbuild.store.store import Store
from stackbuild.store.tree import Entry
from support.fake_build import fast_folder
from support.remotes import CONTENT_TEXT, TEXT, Said, a_key, asked, exported, open_at, puller, push_all, put, trusted

KEY = asked().key


@pytest.fixture(scope="module")
def template() -> Iterator[Path]:
    """A folder with a store that has one output, and the export of it."""
    with fast_folder() as folder:
        builder = open_at(folder / "builder")
        put(builder)
        builder.close()
        exported(folder / "builder", folder / "export")
        yield folder


@pytest.fixture
def remote(template: Path, tmp_path: Path) -> ExportFolder:
    """An export with one output, signed by `builder`, and the builder's store beside it."""
    for name in ("builder", "export"):
        shutil.copytree(template / name, tmp_path / name, symlinks=True)
    return ExportFolder(f"file://{tmp_path}/export", tmp_path / "export")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """An empty store that pulls."""
    opened = open_at(tmp_path / "store")
    yield opened
    opened.close()


def file_of(remote: ExportFolder, tag: str) -> Path:
    return remote.folder / manifest_place(tag)


def record_of(remote: ExportFolder) -> RemoteRecord:
    (envelope,) = envelopes_of(listing_in(file_of(remote, f"r-{KEY}").read_bytes()))
    return RemoteRecord.read(base64.b64decode(json.loads(envelope)["payload"]))


def write_record(remote: ExportFolder, *envelopes: bytes, tag: str = f"r-{KEY}") -> None:
    """Those envelopes in the list, and under the builder's own tag: who may write replaces both."""
    for place in (tag, signer_tag(tag, a_key().blob)):
        file_of(remote, place).write_bytes(record_manifest(listing_of(envelopes)))


def write_tree(remote: ExportFolder, lines: str, packs: tuple[bytes, ...], size: int, name: str = "builder") -> None:
    """A tree of that manifest text and these stored packs, and a well signed record of it."""
    text = lines.encode("utf-8", "surrogateescape")
    for blob in (text, *packs):
        place = remote.folder / blob_place(digest.of_bytes(blob))
        place.parent.mkdir(exist_ok=True)
        place.write_bytes(blob)
    tree = digest.of_bytes(text)
    place = file_of(remote, f"t-{tree}")
    place.parent.mkdir(exist_ok=True)
    place.write_bytes(tree_manifest(layer_of(text), [layer_of(pack) for pack in packs]))
    record = replace(record_of(remote), tree=tree, size=size, manifest_size=len(text))
    write_record(remote, sign(record, a_key(name)))


def pack(data: bytes) -> bytes:
    return ZstdCompressor().compress(data)


def line(path: str, data: bytes, mode: str = "444", kind: str = "f") -> str:
    return Entry(path, kind, mode, len(data), digest.of_bytes(data)).line()


def refused(store: Store, remote: ExportFolder, *keys: str, threshold: int = 1) -> str:
    """The one warning of a pull that took nothing and left nothing."""
    said = Said()
    assert puller(store, remote, said, *keys, threshold=threshold).pull(asked()) is None
    assert store.find(KEY) is None
    assert not list((store.root / "trees").glob("*/*"))
    assert not list(store.tmp.iterdir())
    (warning,) = said.warnings
    assert remote.url in warning
    return warning


def test_a_sound_remote_gives_the_builders_output(store: Store, remote: ExportFolder) -> None:
    said = Said()
    pulled = puller(store, remote, said).pull(asked())
    assert pulled is not None and not said.lines
    assert store.find(KEY) == pulled.record
    store._verified_trees.clear()  # `adopt` vouches for what it renamed: here every file is read again
    assert store.check(pulled.record.tree) == ""
    assert pulled.record.notes["signed_by"] == f"{a_key().fingerprint} (builder)"


def test_a_content_key_is_asked_for_by_its_own_tag(store: Store, remote: ExportFolder) -> None:
    assert puller(store, remote, Said()).pull(asked(CONTENT_TEXT, "c")) is not None
    assert store.find(digest.of_text(CONTENT_TEXT)) is not None


def test_without_a_key_nothing_is_taken(store: Store, remote: ExportFolder) -> None:
    said = Said()
    empty = Puller(store, (TrustedRemote(remote, ()),), said, lambda: None)
    assert empty.pull(asked()) is None
    assert "is not trusted" in said.warnings[0]


def test_a_wrong_key(store: Store, remote: ExportFolder) -> None:
    said = refused(store, remote, "stranger")
    assert f"key {a_key().fingerprint} is not trusted" in said


def test_unsigned(store: Store, remote: ExportFolder) -> None:
    envelope = json.loads(sign(record_of(remote), a_key()))
    write_record(remote, json.dumps({**envelope, "signatures": []}).encode())
    assert "nobody has signed it" in refused(store, remote)


def test_a_payload_that_was_changed_after_signing(store: Store, remote: ExportFolder) -> None:
    envelope = json.loads(sign(record_of(remote), a_key()))
    other = replace(record_of(remote), tree="0" * 64).payload()
    write_record(remote, json.dumps({**envelope, "payload": base64.b64encode(other).decode()}).encode())
    assert "is wrong (" in refused(store, remote)


def test_a_trusted_name_on_another_keys_signature(store: Store, remote: ExportFolder) -> None:
    envelope = json.loads(sign(record_of(remote), a_key("stranger")))
    envelope["signatures"][0]["keyid"] = a_key().fingerprint
    write_record(remote, json.dumps(envelope).encode())
    assert "is wrong (" in refused(store, remote)


def test_a_good_signature_of_another_kind_of_document(store: Store, remote: ExportFolder) -> None:
    """The same key may sign indexes and provenance: their payload type keeps them apart."""
    write_record(remote, envelope_text(record_of(remote).payload(), "application/vnd.in-toto+json", (a_key(),)))
    assert f"not '{PAYLOAD_TYPE}'" in refused(store, remote)


def test_a_record_of_another_key_replayed(store: Store, remote: ExportFolder) -> None:
    """Well signed, and of another step: who controls the tags can serve it under every key."""
    write_record(remote, sign(replace(record_of(remote), key="1" * 64), a_key()))
    said = refused(store, remote)
    assert "a record of another key" in said and f"expected {KEY}, got {'1' * 64}" in said


def test_a_content_record_under_a_step_key(store: Store, remote: ExportFolder) -> None:
    """A record that names the asked key as its content key is not one of the step key, and the other way round."""
    write_record(remote, sign(replace(record_of(remote), key="1" * 64, content_key=KEY), a_key()))
    assert "a record of another key" in refused(store, remote)


def test_an_expired_key(store: Store, remote: ExportFolder) -> None:
    (key,) = trusted()
    past = replace(key, valid_before=datetime.now(UTC) - timedelta(days=1))
    said = Said()
    assert Puller(store, (TrustedRemote(remote, (past,)),), said, lambda: None).pull(asked()) is None
    assert "expired on" in said.warnings[0]


def test_too_few_builders_agree(store: Store, remote: ExportFolder) -> None:
    write_record(
        remote, sign(record_of(remote), a_key()), sign(replace(record_of(remote), tree="2" * 64), a_key("second"))
    )
    assert "too few trusted keys agree" in refused(store, remote, "builder", "second", threshold=2)


def test_two_builders_agree(store: Store, remote: ExportFolder) -> None:
    second = replace(record_of(remote), made_by="another run")
    write_record(remote, sign(record_of(remote), a_key()), sign(second, a_key("second")))
    pulled = puller(store, remote, Said(), "builder", "second", threshold=2).pull(asked())
    assert pulled is not None and pulled.origin.signed_by.count("SHA256:") == 2


def test_one_builder_who_signs_twice_is_one(store: Store, remote: ExportFolder) -> None:
    second = replace(record_of(remote), made_by="another run")
    write_record(remote, sign(record_of(remote), a_key()), sign(second, a_key()))
    assert "too few" in refused(store, remote, "builder", "second", threshold=2)


@pytest.mark.parametrize("other", [{"notes": {"packages": '{"libc6": "6.6.6"}'}}, {"size": 7}, {"manifest_size": 7}])
def test_one_of_two_keys_says_nothing_for_both(store: Store, remote: ExportFolder, other: dict[str, object]) -> None:
    """A stolen key puts its record first, of the right tree and with other notes or sizes."""
    record = record_of(remote)
    honest = sign(record, a_key()), sign(replace(record, made_by="another run"), a_key("second"))
    stolen = sign(replace(record, **other), a_key("third"))  # type: ignore[arg-type]
    names = ("builder", "second", "third")
    write_record(remote, stolen, honest[0])
    assert "too few trusted keys agree" in refused(store, remote, *names, threshold=2)
    write_record(remote, stolen, *honest)
    pulled = puller(store, remote, Said(), *names, threshold=2).pull(asked())
    assert pulled is not None and pulled.origin.signed_by.count("SHA256:") == 2
    assert a_key("third").fingerprint not in pulled.origin.signed_by
    assert pulled.record.notes.items() >= record.notes.items()


EVIL = "\x1b]0;x\x07\n::error::" + "x" * 1_000_000


@pytest.mark.parametrize("place", ["keyid", "payloadType", "key", "signatures"])
def test_a_servers_text_is_one_short_line_of_a_warning(place: str, store: Store, remote: ExportFolder) -> None:
    envelope = json.loads(sign(record_of(remote), a_key("stranger")))
    match place:
        case "keyid":
            envelope["signatures"][0]["keyid"] = EVIL
        case "payloadType":
            envelope["payloadType"] = EVIL
        case "key":
            envelope = json.loads(sign(replace(record_of(remote), key=EVIL), a_key()))
        case _:
            envelope["signatures"] = {EVIL: EVIL}
    write_record(remote, json.dumps(envelope).encode())
    warning = refused(store, remote)
    assert warning.isprintable() and len(warning) < 1500


FORMS: dict[str, dict[str, object]] = {
    "packages that are no JSON": {"notes": {"packages": "not json"}},
    "packages in a list": {"notes": {"packages": '["libc6"]'}},
    "a number for a version": {"notes": {"packages": '{"libc6": 1}'}},
    "packages that are nested": {"notes": {"packages": "[" * 100_000}},
    "patches that are no JSON": {"notes": {"patches": "{"}},
    "patches that are no rows": {"notes": {"patches": '[["a.patch", "-"]]'}},
    "patches of a number": {"notes": {"patches": '[["a.patch", "-", 1]]'}},
    "a patch whose name moves the cursor": {"notes": {"patches": '[["\\u001b[2J", "-", "x"]]'}},
    "notes in a list": {"notes": ["a"]},
    "notes that are a text": {"notes": ""},
    "a list for a note": {"notes": {"commit": ["a"]}},
    "a note that moves the cursor": {"notes": {"commit": "\x1b[2J"}},
    "more seconds than a float has": {"seconds": 10**400},
    "negative seconds": {"seconds": -1.0},
    "seconds without end": {"seconds": float("inf")},
    "seconds that are no number": {"seconds": float("nan")},
    "yes for seconds": {"seconds": True},
    "a text for a time": {"made_at": "now"},
    "a day that is none": {"made_at": "2026-02-30T00:00:00+00:00"},
    "a line after the time": {"made_at": "2026-01-01T00:00:00+00:00\n::error::"},
    "a run that moves the cursor": {"made_by": "\x1b]0;x\x07"},
    "a size of 4,000 digits": {"size": 10**4000},
}


@pytest.mark.parametrize("other", FORMS.values(), ids=FORMS)
def test_a_signed_field_of_another_form(other: dict[str, object], store: Store, remote: ExportFolder) -> None:
    """A stolen key signs what no build writes: none of it comes into the store, where each run would read it again."""
    write_record(remote, sign(replace(record_of(remote), **other), a_key()))  # type: ignore[arg-type]
    assert "a signed record" in refused(store, remote)


def test_a_strangers_record_before_the_trusted_one_is_passed_over(store: Store, remote: ExportFolder) -> None:
    stranger = sign(replace(record_of(remote), tree="3" * 64), a_key("stranger"))
    write_record(remote, stranger, b'{"garbage": true}', sign(record_of(remote), a_key()))
    assert puller(store, remote, Said()).pull(asked()) is not None


# --- trees


PATHS = {
    "absolute": "/etc/cron.d/evil",
    "above": "../evil",
    "above within": "d/../../evil",
    "dot": "./evil",
    "empty part": "d//evil",
    "no folder of it": "elsewhere/evil",
    "NUL": "d/evil\0",
    "long name": "n" * 256,
    "half a character": "\ud800",
    "empty": "",
}


@pytest.mark.parametrize("path", PATHS.values(), ids=PATHS)
def test_a_path_that_leads_out_of_the_tree(path: str, store: Store, remote: ExportFolder, tmp_path: Path) -> None:
    before = sorted(tmp_path.iterdir())
    write_tree(remote, Entry("d", "d").line() + line(path, b"x"), (pack(b"x"),), 1)
    assert "the manifest is refused" in refused(store, remote)
    assert sorted(tmp_path.iterdir()) == before and not (store.tmp / "evil").exists()


def test_a_file_below_a_link(store: Store, remote: ExportFolder, tmp_path: Path) -> None:
    (tmp_path / "target").mkdir()
    link = Entry("d", "l", what=str(tmp_path / "target")).line()
    write_tree(remote, link + line("d/evil", b"x"), (pack(b"x"),), 1)
    assert "whose folder is not in the tree" in refused(store, remote)
    assert not list((tmp_path / "target").iterdir())


def test_a_folder_and_a_link_of_one_path(store: Store, remote: ExportFolder) -> None:
    write_tree(
        remote, Entry("d", "d").line() + Entry("d", "l", what="/").line() + line("d/evil", b"x"), (pack(b"x"),), 1
    )
    assert "or one is there twice" in refused(store, remote)


MANIFESTS = {
    "setuid": line("f", b"x", "4555"),
    "writable": line("f", b"x", "666"),
    "unreadable": line("f", b"x", "000"),
    "no mode": line("f", b"x", ""),
    "device": Entry("f", "s", what="special file").line(),
    "negative size": f'f 444 -1 "{digest.of_bytes(b"x")}" "f"\n' + line("g", b"xx"),
    "other spelling": line("f", b"x").replace(" ", "  ", 1),
    "no line": "garbage\n",
    "no digest": Entry("f", "f", "444", 1, "../../../etc/passwd").line(),
    "a number for a path": f'f 444 1 "{digest.of_bytes(b"x")}" 7\n',
    "a list for a digest": 'f 444 1 ["x"] "f"\n',
    "nested": "f 444 1 " + "[" * 100_000 + "\n",
    "not sorted": line("g", b"x") + line("f", b""),
    "no end of line": line("f", b"x") + "f",
    "empty link": Entry("f", "l").line(),
    "long link": Entry("f", "l", what="x" * 5000).line(),
    "folder with a size": 'd - 1 "" "d"\n',
}


@pytest.mark.parametrize("text", MANIFESTS.values(), ids=MANIFESTS)
def test_a_manifest_that_the_store_would_not_write(text: str, store: Store, remote: ExportFolder) -> None:
    write_tree(remote, text, (pack(b"x"),), 1)
    assert "refused" in refused(store, remote)


def test_a_manifest_with_another_size_than_was_signed(store: Store, remote: ExportFolder) -> None:
    write_tree(remote, line("f", b"x" * 1000), (pack(b"x" * 1000),), 10)
    assert "another size (expected 10 bytes, got 1000)" in refused(store, remote)


def test_a_zip_bomb_is_left_at_its_first_byte_too_many(store: Store, remote: ExportFolder) -> None:
    bomb = pack(bytes(1 << 26))  # some 2 kB
    write_tree(remote, line("f", bytes(100_000)), (bomb,), 100_000)
    said = refused(store, remote)
    assert "a pack has more in it than its files" in said


def test_a_window_that_would_take_gigabytes(store: Store, remote: ExportFolder) -> None:
    from zstandard import ZstdCompressionParameters, ZstdCompressor

    data = bytes(200_000)
    parameters = ZstdCompressionParameters(window_log=30, write_content_size=0)
    machine = ZstdCompressor(compression_params=parameters).compressobj()
    write_tree(remote, line("f", data), (machine.compress(data) + machine.flush(),), len(data))
    assert "cannot be inflated" in refused(store, remote)


def test_a_pack_larger_than_what_is_in_it_is_not_read(store: Store, remote: ExportFolder) -> None:
    write_tree(remote, line("f", b"x"), (os.urandom(100_000),), 1)
    assert "larger than what is in it" in refused(store, remote)


def test_more_after_the_frame(store: Store, remote: ExportFolder) -> None:
    write_tree(remote, line("f", b"x"), (pack(b"x") + b"more",), 1)
    assert "Unknown frame descriptor" in refused(store, remote)


def test_a_second_frame(store: Store, remote: ExportFolder) -> None:
    write_tree(remote, line("f", b"x"), (pack(b"x") + pack(b"y"),), 1)
    assert "more in it than its files" in refused(store, remote)


def test_a_pack_that_ends_within_a_file(store: Store, remote: ExportFolder) -> None:
    write_tree(remote, line("f", b"xy"), (pack(b"x"),), 2)
    assert "ends within 'f'" in refused(store, remote)


def test_a_pack_of_other_content(store: Store, remote: ExportFolder) -> None:
    write_tree(remote, line("f", b"good"), (pack(b"evil"),), 4)
    said = refused(store, remote)
    assert f"expected {digest.of_bytes(b'good')}, got {digest.of_bytes(b'evil')}" in said


def test_an_empty_file_whose_digest_is_anothers(store: Store, remote: ExportFolder) -> None:
    write_tree(remote, Entry("f", "f", "444", 0, "0" * 64).line(), (), 0)
    assert "another content" in refused(store, remote)


def test_another_number_of_packs(store: Store, remote: ExportFolder) -> None:
    write_tree(remote, line("f", b"x"), (pack(b"x"), pack(b"y")), 1)
    assert "another number of packs" in refused(store, remote)


def test_a_tree_of_another_record(store: Store, remote: ExportFolder) -> None:
    """The registry puts another tree's manifest under the tag that the record names."""
    tree = record_of(remote).tree
    text = line("f", b"x").encode()
    file_of(remote, f"t-{tree}").write_bytes(tree_manifest(layer_of(text), [layer_of(pack(b"x"))]))
    assert "the tree's manifest is another's" in refused(store, remote)


TREES: dict[str, Callable[[Path], object]] = {
    "gone": lambda path: path.unlink(),
    "empty": lambda path: path.write_bytes(b""),
    "no JSON": lambda path: path.write_bytes(b"\xff\xfe{"),
    "nested": lambda path: path.write_bytes(b"[" * 200_000),
    "a list": lambda path: path.write_bytes(b"[]"),
    "layers that are none": lambda path: path.write_bytes(b'{"config": 1, "layers": [2]}'),
    "endless": lambda path: path.write_bytes(b" " * (5 << 20)),
    "a folder": lambda path: (path.unlink(), path.mkdir()),
    "a link": lambda path: (path.unlink(), path.symlink_to("/dev/zero")),
    "a FIFO": lambda path: (path.unlink(), os.mkfifo(path)),
}


@pytest.mark.parametrize("damage", TREES.values(), ids=TREES)
@pytest.mark.parametrize("kind", ["r", "t"])
def test_a_manifest_that_is_damaged(
    kind: str, damage: Callable[[Path], object], store: Store, remote: ExportFolder
) -> None:
    name = f"r-{KEY}" if kind == "r" else f"t-{record_of(remote).tree}"
    if (kind, damage) == ("r", TREES["gone"]):
        pytest.skip("without a record it is a plain miss")
    damage(file_of(remote, name))
    if kind == "t":
        refused(store, remote)
        return
    said = Said()  # the builder's own tag is beside the list
    assert puller(store, remote, said).pull(asked()) is not None and name in said.warnings[0]


def test_a_layer_whose_digest_is_a_path(store: Store, remote: ExportFolder) -> None:
    record = record_of(remote)
    _, layers = layers_in(file_of(remote, f"t-{record.tree}").read_bytes())
    evil = [StoredBlob("../../../etc/passwd", layers[0].size), *layers[1:]]
    text = StoredBlob(record.tree, record.manifest_size)
    file_of(remote, f"t-{record.tree}").write_bytes(tree_manifest(text, evil))
    assert "cannot be read" in refused(store, remote)


# --- strikes


def test_three_wrong_answers_switch_the_remote_off(store: Store, remote: ExportFolder) -> None:
    said = Said()
    pulls = puller(store, remote, said)
    texts = [f"step: {number}\n" for number in range(5)]
    for text in texts:
        place = file_of(remote, asked(text).tag)
        place.parent.mkdir(exist_ok=True)
        place.write_bytes(b"{}")
    assert [pulls.pull(asked(text)) for text in texts] == [None] * 5
    assert len(said.warnings) == 3 and "not asked again in this run: 3 wrong answers" in said.warnings[-1]
    assert pulls.pull(asked()) is None  # a sound record, of a remote that is off
    assert puller(store, remote, said).pull(asked()) is not None  # the next run asks again


def test_what_no_remote_has_is_no_strike_and_asked_for_once(store: Store, remote: ExportFolder) -> None:
    said = Said()
    pulls = puller(store, remote, said)
    for number in range(5):
        assert pulls.pull(asked(f"step: {number}\n")) is None
    assert not said.lines
    assert pulls.pull(asked()) is not None


def test_the_second_remote_is_asked_where_the_first_is_damaged(
    store: Store, remote: ExportFolder, tmp_path: Path
) -> None:
    sound = exported(tmp_path / "builder", tmp_path / "second")
    for blob in (remote.folder / "blobs").glob("*/*"):
        blob.write_bytes(b"damaged")
    said = Said()
    both = tuple(TrustedRemote(one, trusted()) for one in (remote, sound))
    pulled = Puller(store, both, said, lambda: None).pull(asked())
    assert pulled is not None and pulled.origin.url == sound.url and len(said.warnings) == 1


def test_a_stop_is_seen_and_nothing_is_left(store: Store, remote: ExportFolder) -> None:
    class StoppedError(Exception):
        pass

    def check() -> None:
        raise StoppedError

    with pytest.raises(StoppedError):
        Puller(store, (TrustedRemote(remote, trusted()),), Said(), check).pull(asked())
    assert store.find(KEY) is None and not list((store.root / "trees").glob("*/*"))


# --- what is pushed


def test_what_came_from_a_remote_is_not_signed_again(store: Store, remote: ExportFolder, tmp_path: Path) -> None:
    assert puller(store, remote, Said()).pull(asked()) is not None
    assert push_all(store, ExportFolder("file:///x", tmp_path / "other", is_written=True), "second") == []


def test_a_damaged_output_is_not_signed(tmp_path: Path) -> None:
    builder = open_at(tmp_path / "b")
    record = put(builder)
    file = builder.tree(record.tree) / "bin" / "tool"
    file.chmod(0o644)
    file.write_text("#!/bin/sh -")
    again = open_at(tmp_path / "b")
    (push,) = push_all(again, ExportFolder("file:///x", tmp_path / "export", is_written=True))
    assert push.outcome == "damaged" and "bin/tool" in push.why
    assert not list((tmp_path / "export").glob("manifests/*/*"))


HARMS: dict[str, Callable[[Path], object]] = {
    "folder": lambda path: (path.unlink(), path.mkdir()),
    "link to itself": lambda path: (path.unlink(), path.symlink_to(path.name)),
    "link to the same bytes": lambda path: (path.rename(path.with_name("moved")), path.symlink_to("moved")),
    "FIFO": lambda path: (path.unlink(), os.mkfifo(path)),
    "socket": lambda path: (path.unlink(), os.mknod(path, stat.S_IFSOCK | 0o600)),
    "its folder is a file": lambda path: (shutil.rmtree(path.parent), path.parent.touch()),
    "its folder links to itself": lambda path: (shutil.rmtree(path.parent), path.parent.symlink_to(path.parent.name)),
}


@pytest.mark.parametrize("harm", HARMS.values(), ids=HARMS)
def test_something_else_in_place_of_a_file_is_not_signed(harm: Callable[[Path], object], tmp_path: Path) -> None:
    builder = open_at(tmp_path / "b")
    record = put(builder)
    file = builder.tree(record.tree) / "bin" / "tool"
    file.parent.chmod(0o755)
    harm(file)
    (push,) = push_all(open_at(tmp_path / "b"), ExportFolder("file:///x", tmp_path / "export", is_written=True))
    assert push.outcome == "damaged" and "bin" in push.why
    assert not list((tmp_path / "export").glob("manifests/*/*"))


def test_a_record_that_no_pull_takes_is_not_signed(tmp_path: Path) -> None:
    builder = open_at(tmp_path / "b")
    builder.record(replace(put(builder), made_at="now"))
    (push,) = push_all(builder, ExportFolder("file:///x", tmp_path / "export", is_written=True))
    assert push.outcome == "refused" and "another type or form" in push.why


def test_a_second_output_of_one_key_is_a_conflict(tmp_path: Path) -> None:
    first, second = open_at(tmp_path / "1"), open_at(tmp_path / "2")
    put(first, seed=1)
    put(second, seed=2)
    writer = ExportFolder("file:///x", tmp_path / "export", is_written=True)
    assert [one.outcome for one in push_all(first, writer)] == ["pushed"]
    assert [one.outcome for one in push_all(second, writer)] == ["conflict"]
    assert [one.outcome for one in push_all(second, writer, "second")] == ["pushed"]  # under a key of its own it may


def test_a_second_builder_adds_its_envelope(tmp_path: Path, store: Store) -> None:
    first, second = open_at(tmp_path / "1"), open_at(tmp_path / "2")
    put(first)
    put(second)
    writer = ExportFolder("file:///x", tmp_path / "export", is_written=True)
    assert [one.outcome for one in push_all(first, writer)] == ["pushed"]
    assert [one.outcome for one in push_all(second, writer, "second")] == ["signed"]
    assert puller(store, writer, Said(), "builder", "second", threshold=2).pull(asked()) is not None


def test_a_damaged_blob_gets_another_identity(tmp_path: Path, store: Store, remote: ExportFolder) -> None:
    """A registry does not replace a blob that it has: `--check` stores the pack under another digest."""
    for blob in (remote.folder / "blobs").glob("*/*"):
        if blob.stat().st_size > 500_000:
            blob.write_bytes(blob.read_bytes()[:-1] + b"?")
    refused(store, remote)
    builder = open_at(tmp_path / "builder")
    writer = ExportFolder(remote.url, remote.folder, is_written=True)
    assert [one.outcome for one in push_all(builder, writer)] == ["there"]
    assert [one.outcome for one in push_all(builder, writer, check=True)] == ["pushed"]
    assert puller(store, remote, Said()).pull(asked()) is not None


def test_the_text_of_the_key_is_not_published(remote: ExportFolder) -> None:
    assert TEXT.encode() not in b"".join(p.read_bytes() for p in remote.folder.rglob("*") if p.is_file())
