"""A bundle's index: every file is read and compared, and with the index's own digest nothing in it can be exchanged."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from stackbuild.core import digest
from stackbuild.core.errors import LockError, UsageError
from stackbuild.sources import bundle
from stackbuild.sources.mirror import Mirror
from stackbuild.sources.stored_outputs import unpack_object


@pytest.fixture
def sealed(tmp_path: Path) -> Path:
    """A bundle with an object, a wheel, an archive and a git repository, sealed."""
    folder = tmp_path / "carried"
    for name in ("objects/k.tar", "wheels/a.whl", "github.com/o/a.zip", "github.com/o/r.git/HEAD"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(name.encode())
    card = {"notes": {}, "sha256": digest.of_file(folder / "objects" / "k.tar")}
    (folder / "objects" / "k.json").write_text(digest.canonical(card))
    bundle.seal(folder)
    return folder


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def test_the_index_names_every_file_but_those_of_git_repositories(sealed: Path) -> None:
    assert set(bundle.index(sealed, "")) == {"objects/k.tar", "objects/k.json", "wheels/a.whl", "github.com/o/a.zip"}
    assert bundle.verify(sealed, "") == 4


@pytest.mark.parametrize("name", ["objects/k.tar", "objects/k.json", "wheels/a.whl", "github.com/o/a.zip"])
def test_a_flipped_bit_is_named_with_both_digests(sealed: Path, name: str) -> None:
    wanted = digest.of_file(sealed / name)
    flip(sealed / name)
    with pytest.raises(LockError) as stopped:
        bundle.verify(sealed, "")
    assert name in stopped.value.what and wanted in stopped.value.what
    assert digest.of_file(sealed / name) in stopped.value.what


def test_every_damaged_file_is_named_at_once_and_many_are_counted(sealed: Path) -> None:
    flip(sealed / "wheels" / "a.whl")
    (sealed / "objects" / "k.tar").unlink()
    with pytest.raises(LockError) as stopped:
        bundle.verify(sealed, "")
    assert "wheels/a.whl has sha256" in stopped.value.what and "objects/k.tar is not there" in stopped.value.what


def test_an_index_may_not_name_files_outside(sealed: Path) -> None:
    (sealed / bundle.INDEX).write_text(json.dumps({"files": {"../../etc/hostname": "0"}}))
    with pytest.raises(LockError, match="lies outside"):
        bundle.verify(sealed, "")


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"files": []}', '{"files": 1}'])
def test_an_index_that_is_none_is_damage(sealed: Path, text: str) -> None:
    (sealed / bundle.INDEX).write_text(text)
    with pytest.raises(LockError, match="index cannot be read"):
        bundle.index(sealed, "")


def exchange(folder: Path) -> None:
    """What an attacker who may write to the bundle does: another object, its card, and the index."""
    (folder / "objects" / "k.tar").write_bytes(b"another")
    card = {"notes": {}, "sha256": digest.of_file(folder / "objects" / "k.tar")}
    (folder / "objects" / "k.json").write_text(digest.canonical(card))


def test_an_exchanged_object_is_refused_by_the_index_though_its_card_agrees(sealed: Path, tmp_path: Path) -> None:
    exchange(sealed)
    with pytest.raises(LockError, match=r"objects/k\.tar has sha256 .* its index says"):
        unpack_object(Mirror(sealed), "k", tmp_path)


def test_an_exchanged_index_is_refused_by_the_digest_that_came_another_way(sealed: Path, tmp_path: Path) -> None:
    wanted = bundle.digits("sha256:" + digest.of_file(sealed / bundle.INDEX).upper())
    assert bundle.verify(sealed, wanted) == 4
    exchange(sealed)
    bundle.seal(sealed)
    given = Mirror(sealed, index_digest=wanted)
    for act in (lambda: bundle.verify(sealed, wanted), lambda: unpack_object(given, "k", tmp_path)):
        with pytest.raises(LockError, match=r"index has sha256 .*, it must have"):
            act()


def test_with_a_digest_an_object_that_the_index_does_not_know_is_refused(sealed: Path, tmp_path: Path) -> None:
    given = Mirror(sealed, index_digest=digest.of_file(sealed / bundle.INDEX))
    for end in ("tar", "json"):
        (sealed / "objects" / f"other.{end}").write_bytes((sealed / "objects" / f"k.{end}").read_bytes())
    with pytest.raises(LockError, match="its index does not know it"):
        unpack_object(given, "other", tmp_path)


def test_with_a_digest_a_mirror_without_an_index_is_refused(sealed: Path) -> None:
    (sealed / bundle.INDEX).unlink()
    with pytest.raises(LockError, match="not there"):
        bundle.verify(sealed, "0" * 64)


def test_a_mirror_without_an_index_needs_none(sealed: Path) -> None:
    (sealed / bundle.INDEX).unlink()
    assert bundle.verify(sealed, "") == 0


@pytest.mark.parametrize("wanted", ["", "sha256:", "12", "g" * 64])
def test_a_digest_that_is_none_is_refused(wanted: str) -> None:
    with pytest.raises(UsageError, match="no sha256"):
        bundle.digits(wanted)
