"""Which state of an index was seen last: what is older, or another's, is refused."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from stackbuild.core.errors import UsageError
from stackbuild.publishing.index import publish
from stackbuild.publishing.index_numbers import IndexNumbers
from stackbuild.publishing.publication import Publication
from stackbuild.publishing.ssh_keys import load_trusted_keys
from stackbuild.publishing.verify_release import Trust, verify_release
from support.signed_index_samples import LATER, WHEEL, flip, signed_again, verify
from support.wheels import SignedIndex, new_key, small_wheel


def test_an_older_state_of_the_index_is_refused(signed: SignedIndex, tmp_path: Path) -> None:
    trust = Trust(load_trusted_keys([signed.public]), numbers_file=tmp_path / "seen.json")
    shutil.copytree(signed.folder, tmp_path / "old", symlinks=True)
    publish((small_wheel(tmp_path / "new", "2.0"),), signed.folder, Publication(keys=(signed.key,)))
    assert verify(signed, trust).problems == ()
    shutil.rmtree(signed.folder)
    (tmp_path / "old").rename(signed.folder)
    assert any("it was rolled back" in p for p in verify(signed, trust).problems)
    assert verify(signed).problems == (), "without a memory an old state is as good as it was"


@pytest.mark.parametrize("how", ["copied elsewhere", "one more key"])
def test_a_rollback_is_seen_wherever_the_index_lies_and_whoever_is_trusted(
    signed: SignedIndex, tmp_path: Path, how: str
) -> None:
    keys, seen = load_trusted_keys([signed.public]), tmp_path / "seen.json"
    old = tmp_path / "old"
    shutil.copytree(signed.folder, old, symlinks=True)
    publish((small_wheel(tmp_path / "new", "2.0"),), signed.folder, Publication(keys=(signed.key,)))
    assert verify(signed, Trust(keys, numbers_file=seen)).problems == ()
    if how == "one more key":
        shutil.rmtree(signed.folder)
        old = old.rename(signed.folder)
        keys = (*keys, *load_trusted_keys([new_key(tmp_path / "second")[1]]))
    assert any("it was rolled back" in p for p in verify_release(old, Trust(keys, numbers_file=seen)).problems)


def test_another_index_of_the_same_key_is_no_rollback(signed: SignedIndex, tmp_path: Path) -> None:
    trust = Trust(load_trusted_keys([signed.public]), numbers_file=tmp_path / "seen.json")
    publish((small_wheel(tmp_path / "new", "2.0"),), signed.folder, Publication(keys=(signed.key,)))
    assert verify(signed, trust).problems == ()
    publish((small_wheel(tmp_path / "new", "3.0"),), tmp_path / "other", Publication(keys=(signed.key,)))
    assert verify_release(tmp_path / "other", trust).problems == ()


def test_an_index_without_a_name_is_known_by_its_place(signed: SignedIndex, tmp_path: Path) -> None:
    """As the versions before signed it."""
    trust = Trust(load_trusted_keys([signed.public]), numbers_file=tmp_path / "seen.json")
    signed_again(lambda body: body.update(number=2))(signed)
    assert verify(signed, trust).problems == ()
    signed_again(lambda body: (body.pop("index"), body.update(number=1)))(signed)
    assert any("it was rolled back" in p for p in verify(signed, trust).problems)


@pytest.mark.parametrize("text", ["[]", "[" * 200_000, "{"], ids=["list", "nested", "cut"])
def test_a_damaged_memory_is_told(signed: SignedIndex, tmp_path: Path, text: str) -> None:
    (tmp_path / "seen.json").write_text(text)
    with pytest.raises(UsageError, match="numbers of indexes seen before cannot be read"):
        verify(signed, Trust(load_trusted_keys([signed.public]), numbers_file=tmp_path / "seen.json"))


def test_a_number_never_sinks_whoever_writes_last(tmp_path: Path) -> None:
    """Two verifications at once: the one of the older state ends last."""
    numbers = IndexNumbers(tmp_path / "seen.json")
    numbers.remember(["one", "two"], 7, "a" * 64)
    numbers.remember(["one"], 5, "b" * 64)
    assert numbers.last("one") == 7 and not numbers.problem("one", 7, "a" * 64)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(IndexNumbers, "last", lambda self, name: 0)  # read before the other one wrote
        numbers.remember(["one"], 6, "c" * 64)
    assert numbers.last("one") == 7 and numbers.last("two") == 7
    numbers.forget("one")
    assert numbers.last("one") == 0 and numbers.last("two") == 7


def test_a_memory_that_cannot_be_written_says_what_to_do(signed: SignedIndex, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="the number of the index cannot be noted") as caught:
        verify(signed, Trust(load_trusted_keys([signed.public]), numbers_file=tmp_path / "file" / "seen.json"))
    assert "--no-seen" in caught.value.next and "XDG" not in caught.value.next


def test_two_states_under_one_number_are_refused(signed: SignedIndex, tmp_path: Path) -> None:
    trust = Trust(load_trusted_keys([signed.public]), numbers_file=tmp_path / "seen.json")
    assert verify(signed, trust).problems == ()
    signed_again(lambda body: body.update(expires=LATER))(signed)
    assert any("two states under number 1" in p for p in verify(signed, trust).problems)


def test_a_refused_index_is_not_remembered(signed: SignedIndex, tmp_path: Path) -> None:
    trust = Trust(load_trusted_keys([signed.public]), numbers_file=tmp_path / "seen.json")
    flip(WHEEL)(signed)
    assert verify(signed, trust).problems and not (tmp_path / "seen.json").exists()


@pytest.mark.parametrize("more", [0, 3], ids=["lower", "higher"])
def test_another_index_of_the_same_key_does_not_take_a_seen_ones_place(
    signed: SignedIndex, tmp_path: Path, more: int
) -> None:
    """Neither with a lower number nor with a higher one; for who verifies it and for who signs its next state."""
    settings = Publication(keys=(signed.key,), numbers=tmp_path / "signer.json")
    trust = Trust(load_trusted_keys([signed.public]), numbers_file=tmp_path / "seen.json")
    for version in ("2.0", "3.0"):
        publish((small_wheel(tmp_path / version, version),), signed.folder, settings)
    assert verify_release(signed.folder, trust).problems == ()
    other = tmp_path / "other"
    for number in range(1 + more):
        publish((small_wheel(tmp_path / f"o{number}", f"1.{number}"),), other, Publication(keys=(signed.key,)))
    shutil.rmtree(signed.folder)
    other.rename(signed.folder)
    assert any(
        "put in its place; if you have put it there: `--no-seen`" in line
        for line in verify_release(signed.folder, trust).problems
    )
    with pytest.raises(UsageError, match="was put in its place") as refusal:
        publish((small_wheel(tmp_path / "9", "9.0"),), signed.folder, settings)
    assert "--accept-changes" in refusal.value.next
    assert verify_release(signed.folder, Trust(trust.keys)).problems == ()


def test_a_link_that_leads_to_another_index_than_before_is_seen(signed: SignedIndex, tmp_path: Path) -> None:
    """The other one lies where it always did; by the link it is in the place of the first."""
    settings = Publication(keys=(signed.key,), numbers=tmp_path / "signer.json")
    trust = Trust(load_trusted_keys([signed.public]), numbers_file=tmp_path / "seen.json")
    link, other = tmp_path / "served", tmp_path / "other"
    link.symlink_to(signed.folder)
    publish((small_wheel(tmp_path / "2", "2.0"),), link, settings)
    publish((small_wheel(tmp_path / "o", "1.0"),), other, settings)
    assert [verify_release(place, trust).problems for place in (link, signed.folder, other)] == [(), (), ()]
    link.unlink()
    link.symlink_to(other)
    assert any("put in its place" in line for line in verify_release(link, trust).problems)
    assert verify_release(other, trust).problems == ()
    with pytest.raises(UsageError, match="was put in its place"):
        publish((small_wheel(tmp_path / "9", "9.0"),), link, settings)
    link.unlink()
    (tmp_path / "bare").mkdir()
    link.symlink_to(tmp_path / "bare")
    publish((small_wheel(tmp_path / "9", "9.0"),), tmp_path / "bare")
    with pytest.raises(UsageError, match=r"was signed here with number \d, and its signature is gone"):
        publish((small_wheel(tmp_path / "8", "8.0"),), link, settings)
