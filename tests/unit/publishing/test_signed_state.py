"""What a next signature rests on: nothing that somebody put into a signed index since the last one is signed."""

from __future__ import annotations

import errno
import json
import re
import shutil
from collections.abc import Callable
from datetime import datetime, timedelta, tzinfo
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from stackbuild.cli.publish import publish as publish_command
from stackbuild.core import digest
from stackbuild.core.errors import MachineLacks, UsageError
from stackbuild.publishing.envelopes import envelope_text, read_envelope
from stackbuild.publishing.generation import read_catalog
from stackbuild.publishing.index import publish
from stackbuild.publishing.index_numbers import IndexNumbers
from stackbuild.publishing.maintenance import cosign, rebuild, sign, yank
from stackbuild.publishing.publication import Publication
from stackbuild.publishing.snapshot import SNAPSHOT_TYPE
from stackbuild.publishing.ssh_keys import load_signing_key, load_trusted_keys
from stackbuild.publishing.statements import lock_name
from stackbuild.publishing.verify_release import Trust, verify_release
from support.wheels import SMALL_LOCK, SignedIndex, new_key, put_statements, signed_index, small_wheel

WHEEL = "demo-pkg/demo_pkg-1.0-py3-none-any.whl"
ENVELOPE, CATALOG = ".current/snapshot.dsse.json", ".current/catalog.json"


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> SignedIndex:
    return signed_index(tmp_path_factory.mktemp("signed"))


@pytest.fixture
def signed(template: SignedIndex, tmp_path: Path) -> SignedIndex:
    shutil.copytree(template.folder, tmp_path / "simple", symlinks=True)
    return SignedIndex(tmp_path / "simple", template.wheel, template.key, template.public)


def edit_catalog(folder: Path, change: Callable[[dict], None]) -> None:
    body = json.loads((folder / CATALOG).read_text())
    change(body)
    (folder / CATALOG).write_text(json.dumps(body))


def another_wheel(folder: Path) -> None:
    """The wheel is swapped and the catalog says so."""
    (folder / WHEEL).write_bytes(small_wheel(folder.parent / "evil", content="evil").read_bytes())
    file = folder / WHEEL

    def change(body: dict) -> None:
        row = body["projects"]["demo-pkg"]["files"][file.name]
        stat = file.stat()
        row.update(sha256=digest.of_file(file), size=stat.st_size, modified=stat.st_mtime_ns, attached=[])

    edit_catalog(folder, change)


def another_statement(folder: Path) -> None:
    file = folder / f"{WHEEL}.verification.json"
    file.write_text(file.read_text().replace("static rules", "all the rungs"))
    (folder / f"{WHEEL}.verification.dsse.json").unlink()


def another_url(folder: Path) -> None:
    edit_catalog(folder, lambda body: body.update(url="https://evil.invalid"))


def stripped(folder: Path) -> None:
    envelope = json.loads((folder / ENVELOPE).read_text())
    (folder / ENVELOPE).write_text(json.dumps({**envelope, "signatures": []}))


INTRUSIONS: list[tuple[str, Callable[[Path], None], str]] = [
    ("wheel", another_wheel, r"demo_pkg-1\.0-py3-none-any\.whl has (sha256|\d+ bytes)"),
    ("wheel removed", lambda folder: (folder / WHEEL).unlink(), r"demo_pkg-1\.0-py3-none-any\.whl is missing"),
    ("statement", another_statement, r"verification\.json has"),
    ("catalog", another_url, r"catalog\.json has other bytes than were signed"),
    ("page", lambda folder: (folder / ".current/index.html").write_text("x"), r"index\.html has"),
    ("signature", stripped, r"not one to build on: it has no signature"),
]


@pytest.mark.parametrize(("intrude", "words"), [row[1:] for row in INTRUSIONS], ids=[row[0] for row in INTRUSIONS])
def test_no_change_signs_what_somebody_put_there(
    signed: SignedIndex, tmp_path: Path, intrude: Callable[[Path], None], words: str
) -> None:
    intrude(signed.folder)
    before = (signed.folder / ENVELOPE).read_bytes()
    settings = Publication(keys=(signed.key,))
    new = small_wheel(tmp_path / "new", "2.0")
    second, _ = new_key(tmp_path / "second")
    for change in (
        lambda: publish((new,), signed.folder, settings),
        lambda: sign(signed.folder, settings),
        lambda: yank(signed.folder, "demo-pkg", "1.0", "bad", settings),
        lambda: cosign(signed.folder, (second,), load_trusted_keys([signed.public])),
    ):
        with pytest.raises(UsageError, match=words) as caught:
            change()
        assert "--accept-changes" in caught.value.next
    assert (signed.folder / ENVELOPE).read_bytes() == before and not (signed.folder / "demo-pkg" / new.name).exists()


def test_changes_are_signed_where_somebody_says_so(signed: SignedIndex) -> None:
    another_url(signed.folder)
    sign(signed.folder, Publication(keys=(signed.key,), accept_changes=True))
    assert verify_release(signed.folder, Trust(load_trusted_keys([signed.public]))).problems == ()


def rolled_back(signed: SignedIndex, numbers: Path) -> None:
    """A bad version is published and yanked; then somebody puts the state from before the yank in its place."""
    settings = Publication(keys=(signed.key,), numbers=numbers)
    publish((small_wheel(signed.folder.parent / "bad", "2.0"),), signed.folder, settings)
    shutil.copytree(signed.folder, signed.folder.parent / "old", symlinks=True)
    yank(signed.folder, "demo-pkg", "2.0", "wrong results", settings)
    shutil.rmtree(signed.folder)
    (signed.folder.parent / "old").rename(signed.folder)


def test_no_change_is_built_on_an_older_state(signed: SignedIndex, tmp_path: Path) -> None:
    """Else the yank would be lost, under the owner's own signature."""
    rolled_back(signed, tmp_path / "numbers.json")
    settings = Publication(keys=(signed.key,), numbers=tmp_path / "numbers.json")
    new = small_wheel(tmp_path / "new", "3.0")
    for change in (
        lambda: publish((new,), signed.folder, settings),
        lambda: sign(signed.folder, settings),
        lambda: cosign(signed.folder, (signed.key,), numbers=IndexNumbers(tmp_path / "numbers.json")),
    ):
        with pytest.raises(UsageError, match="number 2, and number 3 was seen here before: it was rolled back") as caught:
            change()
        assert "--accept-changes" in caught.value.next
    assert not (signed.folder / "demo-pkg" / new.name).exists()


def test_a_machine_that_saw_nothing_is_told_the_lowest_number(signed: SignedIndex, tmp_path: Path) -> None:
    """As a fresh runner of a pipeline, which has no file of numbers."""
    rolled_back(signed, tmp_path / "numbers.json")
    new = small_wheel(tmp_path / "new", "3.0")
    settings = Publication(keys=(signed.key,), at_least=3)
    for change in (
        lambda: publish((new,), signed.folder, settings),
        lambda: yank(signed.folder, "demo-pkg", "1.0", "bad", settings),
        lambda: cosign(signed.folder, (signed.key,), at_least=3),
    ):
        with pytest.raises(UsageError, match="number 2, and 3 is the lowest that is accepted: it was rolled back"):
            change()
    trust = Trust(load_trusted_keys([signed.public]), at_least=3)
    assert [line for line in verify_release(signed.folder, trust).problems if "lowest that is accepted" in line]
    assert not (signed.folder / "demo-pkg" / new.name).exists()
    accepted = sign(signed.folder, Publication(keys=(signed.key,), accept_changes=True, at_least=3))
    assert accepted.number == 4 and verify_release(signed.folder, trust).problems == ()


def test_an_index_that_is_gone_does_not_begin_again_where_a_number_is_expected(signed: SignedIndex, tmp_path: Path) -> None:
    new = small_wheel(tmp_path / "new", "3.0")
    settings = Publication(keys=(signed.key,), at_least=1)
    for folder in (tmp_path / "empty", signed.folder):
        (signed.folder / ENVELOPE).unlink(missing_ok=True)
        with pytest.raises(UsageError, match="number 1 or above is expected, and what lies there is not signed"):
            publish((new,), folder, settings)
        assert not (folder / "demo-pkg" / new.name).exists()
    with pytest.raises(UsageError, match="no key is given to sign the next state"):
        Publication(at_least=1)


def test_an_older_state_that_is_accepted_gets_the_next_number(signed: SignedIndex, tmp_path: Path) -> None:
    """Who has seen number 3 takes number 4."""
    rolled_back(signed, tmp_path / "numbers.json")
    settings = Publication(keys=(signed.key,), numbers=tmp_path / "numbers.json", accept_changes=True)
    assert sign(signed.folder, settings).number == 4
    trust = Trust(load_trusted_keys([signed.public]), numbers_file=tmp_path / "numbers.json")
    assert verify_release(signed.folder, trust).problems == ()


def test_an_index_whose_signature_was_taken_away_is_not_signed_again(signed: SignedIndex, tmp_path: Path) -> None:
    settings = Publication(keys=(signed.key,), numbers=tmp_path / "numbers.json")
    new = small_wheel(tmp_path / "new", "3.0")
    publish((new,), signed.folder, settings)
    (signed.folder / ENVELOPE).unlink()
    another_wheel(signed.folder)
    with pytest.raises(UsageError, match="signed here with number 2, and its signature is gone"):
        sign(signed.folder, settings)
    shutil.rmtree(signed.folder)
    assert publish((new,), signed.folder, settings).number == 1, "a folder that was removed begins again"


def test_an_index_that_is_signed_no_more_is_forgotten(signed: SignedIndex, tmp_path: Path) -> None:
    numbers = tmp_path / "numbers.json"
    sign(signed.folder, Publication(keys=(signed.key,), numbers=numbers))
    publish((small_wheel(tmp_path / "new", "3.0"),), signed.folder, Publication(unsigned=True, numbers=numbers))
    assert sign(signed.folder, Publication(keys=(signed.key,), numbers=numbers)).number == 4


def test_a_new_key_signs_what_the_old_one_signed(signed: SignedIndex, tmp_path: Path) -> None:
    second, public = new_key(tmp_path / "second")
    with pytest.raises(UsageError, match="is not trusted") as caught:
        sign(signed.folder, Publication(keys=(second,)))
    assert "--key OTHER.pub" in caught.value.next
    sign(signed.folder, Publication(keys=(second,), trusted_keys=load_trusted_keys([signed.public])))
    assert verify_release(signed.folder, Trust(load_trusted_keys([public]))).problems == ()


def test_a_snapshot_that_names_no_catalog_is_checked_by_its_pages(signed: SignedIndex, tmp_path: Path) -> None:
    """As the versions before wrote it."""
    body = json.loads(bytes(read_envelope((signed.folder / ENVELOPE).read_bytes()).payload))
    del body["catalog"]
    (signed.folder / ENVELOPE).write_bytes(envelope_text(json.dumps(body).encode(), SNAPSHOT_TYPE, [signed.key]))
    settings = Publication(keys=(signed.key,))
    publish((small_wheel(tmp_path / "new", "2.0"),), signed.folder, settings)
    body = json.loads(bytes(read_envelope((signed.folder / ENVELOPE).read_bytes()).payload))
    assert re.fullmatch("[0-9a-f]{64}", body["catalog"])
    del body["catalog"]
    (signed.folder / ENVELOPE).write_bytes(envelope_text(json.dumps(body).encode(), SNAPSHOT_TYPE, [signed.key]))
    another_url(signed.folder)
    with pytest.raises(UsageError, match=r"does not make the demo-pkg/index\.html that was signed"):
        sign(signed.folder, settings)


def test_a_catalog_is_made_again_of_the_signed_wheels_alone(signed: SignedIndex) -> None:
    (signed.folder / CATALOG).write_text("{")
    rebuild(signed.folder, Publication(keys=(signed.key,)))
    assert verify_release(signed.folder, Trust(load_trusted_keys([signed.public]))).problems == ()
    another_wheel(signed.folder)
    with pytest.raises(UsageError, match=r"\.whl has"):
        rebuild(signed.folder, Publication(keys=(signed.key,)))


def test_one_more_signature_needs_a_key_of_the_others(signed: SignedIndex, tmp_path: Path) -> None:
    second, _ = new_key(tmp_path / "second")
    with pytest.raises(UsageError, match="is not trusted"):
        cosign(signed.folder, (second,))


def test_one_more_signature_is_not_put_under_another_number_or_an_expired_one(signed: SignedIndex, tmp_path: Path) -> None:
    second, _ = new_key(tmp_path / "second")
    body = json.loads(bytes(read_envelope((signed.folder / ENVELOPE).read_bytes()).payload))
    for change, words in (
        ({"number": 99}, "catalog has number 1, 99 was signed"),
        ({"expires": "2020-01-01T00:00:00Z"}, "expired on 2020-01-01"),
    ):
        text = json.dumps({**body, **change}).encode()
        (signed.folder / ENVELOPE).write_bytes(envelope_text(text, SNAPSHOT_TYPE, [signed.key]))
        with pytest.raises(UsageError, match=words):
            cosign(signed.folder, (second,), load_trusted_keys([signed.public]))


def test_one_more_signature_is_one_of_the_sums_too(signed: SignedIndex, tmp_path: Path) -> None:
    second, _ = new_key(tmp_path / "second")
    for _ in range(2):  # the second time it is there already
        cosign(signed.folder, (second,), load_trusted_keys([signed.public]))
        names = sorted(path.name for path in signed.folder.glob("SHA256SUMS*"))
        assert names == ["SHA256SUMS", "SHA256SUMS.sig", "SHA256SUMS.sig.2"]
    assert (signed.folder / "SHA256SUMS.sig.2").read_text().startswith("-----BEGIN SSH SIGNATURE-----")


def test_a_key_without_a_passphrase_takes_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The passphrase in the environment is that of another key of the same command."""
    key, public = new_key(tmp_path)
    monkeypatch.setenv("STACKBUILD_KEY_PASSPHRASE", "of another key")
    assert load_signing_key(public.with_suffix("")).fingerprint == key.fingerprint


@pytest.mark.parametrize("mode", [0o600, 0o644])
def test_a_public_key_does_not_sign(tmp_path: Path, mode: int) -> None:
    """It is not told to be closed to others, which it need not be."""
    _, public = new_key(tmp_path)
    public.chmod(mode)
    with pytest.raises(UsageError, match="this is a public key") as refusal:
        load_signing_key(public)
    assert f"`--sign {public.with_suffix('')}`" in refusal.value.next and "chmod" not in refusal.value.next


@pytest.mark.parametrize("mode", [0o600, 0o666])
def test_what_is_no_key_is_not_told_to_be_closed_to_others(tmp_path: Path, mode: int) -> None:
    """`chmod 600 /dev/null` would end more than a publish."""
    file = tmp_path / "any.whl"
    file.write_bytes(b"PK")
    file.chmod(mode)
    for path in (file, Path("/dev/null")):
        with pytest.raises(UsageError, match="this is not a private key") as refusal:
            load_signing_key(path)
        assert "chmod" not in refusal.value.next


def test_a_wrong_passphrase_is_not_taken_for_a_file_that_is_no_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    key = tmp_path / "release.key"
    form = serialization.PrivateFormat.OpenSSH
    password = serialization.BestAvailableEncryption(b"right")
    key.write_bytes(Ed25519PrivateKey.generate().private_bytes(serialization.Encoding.PEM, form, password))
    key.chmod(0o600)
    for passphrase, words, step in (
        ("", "the key has a passphrase", "set $STACKBUILD_KEY_PASSPHRASE"),
        ("wrong", r"the passphrase in \$STACKBUILD_KEY_PASSPHRASE is not that of this key", "ssh-keygen -y"),
    ):
        monkeypatch.setenv("STACKBUILD_KEY_PASSPHRASE", passphrase)
        with pytest.raises(UsageError, match=words) as refusal:
            load_signing_key(key)
        assert step in refusal.value.next and str(refusal.value.where) == str(key)
    monkeypatch.setenv("STACKBUILD_KEY_PASSPHRASE", "right")
    assert load_signing_key(key).fingerprint.startswith("SHA256:")
    key.write_text("-----BEGIN PRIVATE KEY-----\n")
    with pytest.raises(UsageError, match="not an OpenSSH private key"):
        load_signing_key(key)


def clock(days: float) -> type[datetime]:
    """A clock that is ahead by so many days, or behind."""

    class Clock(datetime):
        @classmethod
        def now(cls, zone: tzinfo | None = None) -> datetime:  # type: ignore[override]
            return datetime.now(zone) + timedelta(days=days)

    return Clock


def test_a_publisher_whose_clock_is_behind_signs_nothing(signed: SignedIndex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The last signature shows it; where there is none, the time of the wheel does."""
    new, before = small_wheel(tmp_path / "new", "2.0"), read_catalog(signed.folder)
    monkeypatch.setattr("stackbuild.publishing.snapshot.datetime", clock(-3))
    with pytest.raises(UsageError, match=r"this machine's clock says .*, and the index was signed at") as refusal:
        publish((new,), signed.folder, Publication(keys=(signed.key,)))
    assert "set the clock" in refusal.value.next
    monkeypatch.setattr("stackbuild.publishing.index.datetime", clock(-3))
    with pytest.raises(UsageError, match=r"this machine's clock says .*, and this wheel was written at") as refusal:
        publish((new,), tmp_path / "fresh", Publication(keys=(signed.key,)))
    assert "touch" in refusal.value.next and not list((tmp_path / "fresh").glob("[!.]*"))
    assert publish((new,), tmp_path / "fresh").number == 1, "without a signature no time matters"
    assert read_catalog(signed.folder) == before and not list(signed.folder.glob("*/*-2.0-*"))


def test_what_a_publisher_signs_whose_clock_is_ahead_is_refused_elsewhere(signed: SignedIndex, tmp_path: Path) -> None:
    """By whoever verifies it, and by the next publisher. Within ten minutes nobody minds."""
    trust = Trust(load_trusted_keys([signed.public]))
    one, two = (small_wheel(tmp_path / "new", version) for version in ("2.0", "3.0"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("stackbuild.publishing.snapshot.datetime", clock(5 / 60 / 24))
        publish((one,), signed.folder, Publication(keys=(signed.key,)))
        assert verify_release(signed.folder, trust).problems == ()
        patch.setattr("stackbuild.publishing.snapshot.datetime", clock(3))
        sign(signed.folder, Publication(keys=(signed.key,)))
    (problem,) = verify_release(signed.folder, trust).problems
    assert "which is after this machine's time" in problem and "one of the two clocks is wrong" in problem
    with pytest.raises(UsageError, match=r"this machine's clock says .*, and the index was signed at") as refusal:
        publish((two,), signed.folder, Publication(keys=(signed.key,)))
    assert "if it is right, the last signature was made by a wrong one" in refusal.value.next
    sign(signed.folder, Publication(keys=(signed.key,), accept_changes=True))
    assert verify_release(signed.folder, trust).problems == ()


def test_the_lock_of_another_build_does_not_travel(tmp_path: Path) -> None:
    """Neither with new provenance nor beside that which is published."""
    wheel = small_wheel(tmp_path)
    lock = wheel.with_name(lock_name(wheel.name))
    lock.write_text(SMALL_LOCK)
    statements = put_statements(wheel)
    lock.write_text(f"# another\n{SMALL_LOCK}")
    with pytest.raises(UsageError, match="and the wheel's provenance names"):
        publish((wheel,), tmp_path / "simple", Publication(attachments={wheel: (lock, *statements)}))
    publish((wheel,), tmp_path / "simple", Publication(attachments={wheel: statements}))
    with pytest.raises(UsageError, match="take the file away"):
        publish((wheel,), tmp_path / "simple", Publication(attachments={wheel: (lock,)}))
    lock.write_text(SMALL_LOCK)
    publish((wheel,), tmp_path / "simple", Publication(attachments={wheel: (lock,)}))
    assert (tmp_path / "simple" / "demo-pkg" / lock.name).read_text() == SMALL_LOCK


def test_the_command_takes_the_lock_that_lies_beside_a_wheel(tmp_path: Path) -> None:
    """It is in the signed list, and `verify-release --require lock` asks for it."""
    wheel = small_wheel(tmp_path / "wheels")
    key, public = new_key(tmp_path)
    wheel.with_name(lock_name(wheel.name)).write_text(SMALL_LOCK)
    publish_command([wheel], str(tmp_path / "simple"), sign=[public.with_suffix("")])
    trust = Trust(load_trusted_keys([public]), require=("lock",))
    proof = verify_release(tmp_path / "simple", trust)
    assert proof.problems == () and proof.wheels[0].lock and key.fingerprint in proof.signed_by
    publish_command([small_wheel(tmp_path / "more", "2.0")], str(tmp_path / "simple"), sign=[public.with_suffix("")])
    assert any("has no lock, which is required" in problem for problem in verify_release(tmp_path / "simple", trust).problems)


def test_a_signature_of_a_wrong_clock_is_put_right(signed: SignedIndex) -> None:
    body = json.loads(bytes(read_envelope((signed.folder / ENVELOPE).read_bytes()).payload))
    text = json.dumps({**body, "issued": "2089-01-01T00:00:00Z", "expires": "2090-01-01T00:00:00Z"}).encode()
    (signed.folder / ENVELOPE).write_bytes(envelope_text(text, SNAPSHOT_TYPE, [signed.key]))
    with pytest.raises(UsageError, match="this machine's clock says") as caught:
        sign(signed.folder, Publication(keys=(signed.key,)))
    assert "--unsigned" in caught.value.next and "--accept-changes" in caught.value.next
    sign(signed.folder, Publication(keys=(signed.key,), accept_changes=True))
    assert verify_release(signed.folder, Trust(load_trusted_keys([signed.public]))).problems == ()


def test_after_a_second_person_signed_the_first_one_publishes_again(signed: SignedIndex, tmp_path: Path) -> None:
    """The second signature of SHA256SUMS was one of the last state: its link goes with it, another's link stays."""
    second, _ = new_key(tmp_path, "second")
    cosign(signed.folder, (second,), load_trusted_keys([signed.public]))
    assert (signed.folder / "SHA256SUMS.sig.2").is_file()
    (signed.folder / "of-another").symlink_to("nowhere")
    publish((small_wheel(tmp_path / "w", "2.0"),), signed.folder, Publication(keys=(signed.key,)))
    proof = verify_release(signed.folder, Trust(load_trusted_keys([signed.public])))
    assert proof.number == 2 and proof.problems == ("of-another lies in the index and was not signed",)
    assert not (signed.folder / "SHA256SUMS.sig.2").is_symlink()
    (signed.folder / "SHA256SUMS.sig.2").symlink_to(
        ".current/SHA256SUMS.sig.2"
    )  # a publisher was killed before the switch
    killed = "SHA256SUMS.sig.2 leads nowhere: a publisher was killed or is at work"
    assert verify_release(signed.folder, Trust(load_trusted_keys([signed.public]))).problems == (killed, *proof.problems)
    publish((small_wheel(tmp_path / "w", "3.0"),), signed.folder, Publication(keys=(signed.key,)))
    assert verify_release(signed.folder, Trust(load_trusted_keys([signed.public]))).problems == proof.problems


def test_a_statement_that_a_killed_publisher_left_is_finished_by_the_same_command_alone(
    signed: SignedIndex, tmp_path: Path
) -> None:
    attached = put_statements(signed.wheel, "another machine")
    newer = next(path for path in attached if path.name.endswith(".verification.json"))
    (signed.folder / "demo-pkg" / newer.name).write_bytes(newer.read_bytes())  # killed before the switch
    other = small_wheel(tmp_path / "w", "2.0")
    with pytest.raises(UsageError, match="is not as it was signed") as caught:
        publish((other,), signed.folder, Publication(keys=(signed.key,)))
    assert caught.value.next.startswith("if a publish was killed here, run the same command again")
    with pytest.raises(
        UsageError, match="is not as it was signed"
    ):  # of another wheel, the same bytes are not expected
        publish((other,), signed.folder, Publication(keys=(signed.key,), attachments={other: attached[:0]}))
    publish((signed.wheel,), signed.folder, Publication(keys=(signed.key,), attachments={signed.wheel: attached}))
    assert verify_release(signed.folder, Trust(load_trusted_keys([signed.public]))).problems == ()


@pytest.mark.parametrize("links", [True, False])
def test_a_disk_that_fills_before_the_switch_leaves_the_signed_statements(
    signed: SignedIndex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, links: bool
) -> None:
    """The newer statement has the place of the old one by then. A file system without links cannot give it back."""

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    def no_link(*_: object) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    attached = {signed.wheel: put_statements(signed.wheel, "another machine")}
    trust = Trust(load_trusted_keys([signed.public]))
    with monkeypatch.context() as patches:
        patches.setattr("stackbuild.publishing.transaction.switch", full)
        if not links:
            patches.setattr("os.link", no_link)
        with pytest.raises(MachineLacks, match="the disk of the index is full"):
            publish((signed.wheel,), signed.folder, Publication(keys=(signed.key,), attachments=attached))
    assert (verify_release(signed.folder, trust).problems == ()) is links
    assert not list(signed.folder.rglob("*.staged"))
    publish((signed.wheel,), signed.folder, Publication(keys=(signed.key,), attachments=attached))
    proof = verify_release(signed.folder, trust)
    assert (proof.number, proof.problems, proof.wheels[0].claim) == (2, (), "verified (static rules; not run: load: another machine); no GPU ran")


def test_numbers_that_cannot_be_noted_stop_a_publish_before_the_switch(signed: SignedIndex, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    before = read_catalog(signed.folder)
    settings = Publication(keys=(signed.key,), numbers=tmp_path / "file" / "indexes.json")
    with pytest.raises(UsageError, match="the number of the index cannot be noted") as refusal:
        publish((small_wheel(tmp_path / "new", "2.0"),), signed.folder, settings)
    assert "$XDG_STATE_HOME" in refusal.value.next and "seen" not in refusal.value.next, "publish has no such option"
    assert read_catalog(signed.folder) == before and not list(signed.folder.glob("*/*-2.0-*"))
