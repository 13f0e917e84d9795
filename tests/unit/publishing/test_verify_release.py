"""`verify-release`: a table of tampering, each refused in words of its own."""

from __future__ import annotations

import base64
import io
import json
import os
import re
import shutil
import zipfile
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from stackbuild.core import digest
from stackbuild.core.errors import UsageError
from stackbuild.publishing.envelopes import envelope_text, read_envelope
from stackbuild.publishing.index import publish
from stackbuild.publishing.maintenance import cosign, damages, rebuild, set_status, sign, yank
from stackbuild.publishing.publication import Publication
from stackbuild.publishing.snapshot import SNAPSHOT_TYPE
from stackbuild.publishing.ssh_keys import load_signing_key, load_trusted_keys
from stackbuild.publishing.ssh_signatures import ssh_signature
from stackbuild.publishing.statements import STATEMENT_LIMIT, STATEMENT_TYPE, statement
from stackbuild.publishing.transaction import commit, locked_catalog
from stackbuild.publishing.verify_release import Trust, verify_release
from support.signed_index_samples import ENVELOPE, LATER, WHEEL, flip, signed_again, verify
from support.wheels import SMALL_LOCK, SignedIndex, descriptor_of, new_key, put_statements, small_sbom, small_wheel

LOCK = f"{WHEEL}.lock.yaml"


def test_an_index_as_it_was_signed_is_taken(signed: SignedIndex) -> None:
    proof = verify(signed)
    assert proof.problems == () and proof.number == 1
    (wheel,) = proof.wheels
    assert wheel.statements == ("provenance", "verification", "benchmarks") and wheel.sbom
    assert wheel.claim == "verified (static rules; not run: load: no GPU here); no GPU ran"


def replace_text(path: str, old: str, new: str) -> Callable[[SignedIndex], None]:
    def tamper(signed: SignedIndex) -> None:
        file = signed.folder / path
        text = file.read_text()
        assert old in text
        file.write_text(text.replace(old, new, 1))

    return tamper


def append(path: str) -> Callable[[SignedIndex], None]:
    def tamper(signed: SignedIndex) -> None:
        with (signed.folder / path).open("ab") as file:
            file.write(b" ")

    return tamper


def remove(path: str) -> Callable[[SignedIndex], None]:
    return lambda signed: (signed.folder / path).unlink()


def edit_payload(change: Callable[[dict], None], path: str = ENVELOPE) -> Callable[[SignedIndex], None]:
    """Change the payload of an envelope and leave its signatures."""

    def tamper(signed: SignedIndex) -> None:
        envelope = json.loads((signed.folder / path).read_text())
        body = json.loads(base64.b64decode(envelope["payload"]))
        change(body)
        envelope["payload"] = base64.b64encode(json.dumps(body).encode()).decode()
        (signed.folder / path).write_text(json.dumps(envelope))

    return tamper


def edit_envelope(change: Callable[[dict], None], path: str = ENVELOPE) -> Callable[[SignedIndex], None]:
    def tamper(signed: SignedIndex) -> None:
        envelope = json.loads((signed.folder / path).read_text())
        change(envelope)
        (signed.folder / path).write_text(json.dumps(envelope))

    return tamper


def statement_of(
    kind: str, change: Callable[[dict], None], payload_type: str = STATEMENT_TYPE
) -> Callable[[SignedIndex], None]:
    """The holder of the key signs another statement under the envelope's name."""

    def tamper(signed: SignedIndex) -> None:
        file = signed.folder / f"{WHEEL}.{kind}.dsse.json"
        body = json.loads(bytes(read_envelope(file.read_bytes()).payload))
        change(body)
        file.write_bytes(envelope_text(json.dumps(body).encode(), payload_type, [signed.key]))

    return tamper


def swap(one: str, other: str) -> Callable[[SignedIndex], None]:
    def tamper(signed: SignedIndex) -> None:
        a, b = (signed.folder / p for p in (one, other))
        first, second = a.read_bytes(), b.read_bytes()
        a.write_bytes(second), b.write_bytes(first)

    return tamper


def other_key(path: str, payload_type: str) -> Callable[[SignedIndex], None]:
    def tamper(signed: SignedIndex) -> None:
        key, _ = new_key(signed.folder.parent / "stranger")
        payload = bytes(read_envelope((signed.folder / path).read_bytes()).payload)
        (signed.folder / path).write_bytes(envelope_text(payload, payload_type, [key]))

    return tamper


def own_keyid(path: str, payload_type: str) -> Callable[[SignedIndex], None]:
    """A stranger signs and writes the trusted key's name on it."""

    def tamper(signed: SignedIndex) -> None:
        other_key(path, payload_type)(signed)
        edit_envelope(lambda e: e["signatures"][0].update(keyid=signed.key.fingerprint), path)(signed)

    return tamper


def write(path: str, text: str) -> Callable[[SignedIndex], None]:
    def tamper(signed: SignedIndex) -> None:
        (signed.folder / path).parent.mkdir(parents=True, exist_ok=True)
        (signed.folder / path).write_text(text)

    return tamper


def into_link(path: str, target: str) -> Callable[[SignedIndex], None]:
    def tamper(signed: SignedIndex) -> None:
        (signed.folder / path).unlink()
        (signed.folder / path).symlink_to(target)

    return tamper


def into_fifo(path: str) -> Callable[[SignedIndex], None]:
    def tamper(signed: SignedIndex) -> None:
        (signed.folder / path).unlink()
        os.mkfifo(signed.folder / path)

    return tamper


def into_folder(path: str) -> Callable[[SignedIndex], None]:
    def tamper(signed: SignedIndex) -> None:
        (signed.folder / path).unlink()
        (signed.folder / path).mkdir()

    return tamper


def sign_payload(signed: SignedIndex, payload: bytes) -> None:
    (signed.folder / ENVELOPE).write_bytes(envelope_text(payload, SNAPSHOT_TYPE, [signed.key]))


STATE = ".generations/00000001"
PROVENANCE, VERIFICATION = f"{WHEEL}.provenance", f"{WHEEL}.verification"


def sums_of_stranger(signed: SignedIndex) -> None:
    key, _ = new_key(signed.folder.parent / "stranger")
    (signed.folder / "SHA256SUMS.sig").write_bytes(ssh_signature((signed.folder / "SHA256SUMS").read_bytes(), key))


def sums_flipped(signed: SignedIndex) -> None:
    """One bit of the signature itself."""
    lines = (signed.folder / "SHA256SUMS.sig").read_text().splitlines()
    blob = bytearray(base64.b64decode("".join(lines[1:-1])))
    blob[-1] ^= 1
    lines[1:-1] = [base64.b64encode(blob).decode()]
    (signed.folder / "SHA256SUMS.sig").write_text("\n".join(lines) + "\n")


def state_copied(number: int) -> Callable[[SignedIndex], None]:
    """The state that is served, once more under another number."""
    return lambda signed: shutil.copytree(signed.folder / STATE, signed.folder / ".generations" / f"{number:08d}")


def signed_by_another_too(signed: SignedIndex) -> None:
    """A second key has signed; the second signature of the list is a stranger's."""
    cosign(signed.folder, (new_key(signed.folder.parent, "second")[0],), load_trusted_keys([signed.public]))
    shutil.copy(signed.folder / STATE / ENVELOPE, signed.folder / ENVELOPE)
    stranger, _ = new_key(signed.folder.parent / "stranger")
    (signed.folder / "SHA256SUMS.sig.2").unlink()
    (signed.folder / "SHA256SUMS.sig.2").write_bytes(ssh_signature((signed.folder / "SHA256SUMS").read_bytes(), stranger))


def link(path: str, target: str) -> Callable[[SignedIndex], None]:
    def tamper(signed: SignedIndex) -> None:
        (signed.folder / path).unlink(missing_ok=True)
        (signed.folder / path).symlink_to(target)

    return tamper


def another_lock(signed: SignedIndex) -> None:
    data = SMALL_LOCK.encode() + b"# another\n"
    (signed.folder / LOCK).write_bytes(data)
    signed_again(lambda body: body["files"][LOCK].update(sha256=digest.of_bytes(data), size=len(data)))(signed)


def other_index(signed: SignedIndex) -> Path:
    """An index of the same key, with a wheel and a number that the other one has not."""
    folder = signed.folder.parent / "rocm-6.4" / "simple"
    wheel = small_wheel(signed.folder.parent / "older", "0.9")
    attached = {wheel: put_statements(wheel, "another machine")}
    publish((wheel,), folder, Publication(keys=(signed.key,), attachments=attached))
    return folder


def second_state(signed: SignedIndex) -> None:
    """The index as it stands is signed once more; the first state goes."""
    sign(signed.folder, Publication(keys=(signed.key,)))
    shutil.rmtree(signed.folder / STATE)
    assert verify(signed).problems == ()


def state_of_another_index(signed: SignedIndex) -> None:
    """Its state as one before this, and its wheels, all signed by the trusted key."""
    second_state(signed)
    other = other_index(signed)
    shutil.copytree(other / STATE, signed.folder / STATE, symlinks=True)
    for path in (other / "demo-pkg").iterdir():
        if not path.is_symlink():
            shutil.copy(path, signed.folder / "demo-pkg" / path.name)


def later_state_of_it(signed: SignedIndex) -> None:
    """A later state of the same index, with its wheel: rolled back by the link."""
    shutil.copytree(signed.folder, signed.folder.parent / "later", symlinks=True)
    publish(
        (small_wheel(signed.folder.parent / "new", "2.0"),),
        signed.folder.parent / "later",
        Publication(keys=(signed.key,)),
    )
    shutil.copytree(
        signed.folder.parent / "later" / ".generations" / "00000002", signed.folder / ".generations" / "00000002"
    )
    for path in (signed.folder.parent / "later" / "demo-pkg").glob("*-2.0-*"):
        shutil.copy(path, signed.folder / "demo-pkg")


def another_envelope_of_before(signed: SignedIndex) -> None:
    """The state before had a statement that this one has not: its envelope holds something else."""
    with locked_catalog(signed.folder) as catalog:
        commit(signed.folder, catalog.model_copy(update={"projects": {}}), Publication(keys=(signed.key,)))
    for name in ("index.html", "index.json"):
        (signed.folder / "demo-pkg" / name).unlink()
    assert verify(signed).problems == ()
    (signed.folder / f"{PROVENANCE}.dsse.json").write_text("evil")


TAMPERING: list[tuple[str, Callable[[SignedIndex], None], str]] = [
    ("no signature", remove(ENVELOPE), r"snapshot.*is missing: the index is not signed"),
    ("empty envelope", write(ENVELOPE, ""), r"snapshot.*not a DSSE envelope"),
    ("envelope is a list", write(ENVELOPE, "[]"), r"snapshot.*not a DSSE envelope"),
    ("envelope without payload", edit_envelope(lambda e: e.pop("payload")), r"snapshot.*not a DSSE envelope"),
    ("payload is no base64", edit_envelope(lambda e: e.update(payload="###")), r"snapshot.*not a DSSE envelope"),
    ("no signatures", edit_envelope(lambda e: e.update(signatures=[])), r"0 of 1 .*nobody has signed it"),
    ("one signature twice", edit_envelope(lambda e: e["signatures"].extend(e["signatures"])), r"Multiple signatures"),
    ("the payload twice in the envelope", lambda s: (s.folder / ENVELOPE).write_text('{"payload": "e30=",' + (s.folder / ENVELOPE).read_text()[1:]), r"snapshot.*the key 'payload' stands there twice"),
    ("NaN in the envelope", lambda s: (s.folder / ENVELOPE).write_text('{"x": NaN,' + (s.folder / ENVELOPE).read_text()[1:]), r"snapshot.*NaN is not a number of JSON"),
    ("a key twice in the snapshot, signed", lambda s: sign_payload(s, b'{"number": 9,' + bytes(read_envelope((s.folder / ENVELOPE).read_bytes()).payload)[1:]), r"it is not a snapshot: the key 'number' stands there twice"),
    ("signature changed", edit_envelope(lambda e: e["signatures"][0].update(sig=base64.b64encode(bytes(64)).decode())), r"signature of key .* is wrong"),
    ("signature cut", edit_envelope(lambda e: e["signatures"][0].update(sig="AAAA")), r"signature of key .* is wrong"),
    ("key id changed", edit_envelope(lambda e: e["signatures"][0].update(keyid="SHA256:x")), r"key SHA256:x is not trusted"),
    ("payload type changed", edit_envelope(lambda e: e.update(payloadType="text/plain")), r"payload is 'text/plain'"),
    ("a stranger's key", other_key(ENVELOPE, SNAPSHOT_TYPE), r"key SHA256:\S+ is not trusted"),
    ("a stranger's key under the trusted name", own_keyid(ENVELOPE, SNAPSHOT_TYPE), r"signature of key .* is wrong"),
    ("number raised", edit_payload(lambda b: b.update(number=99)), r"signature of key .* is wrong"),
    ("expiry moved", edit_payload(lambda b: b.update(expires=LATER)), r"signature of key .* is wrong"),
    ("digest replaced in the snapshot", edit_payload(lambda b: b["files"][WHEEL].update(sha256="0" * 64)), r"signature of key"),
    ("another format, signed", signed_again(lambda b: b.update(type="other/1")), r"it is not a snapshot"),
    ("unknown field, signed", signed_again(lambda b: b.update(more=1)), r"it is not a snapshot"),
    ("path out of the index, signed", signed_again(lambda b: b["files"].update({"../x": {"sha256": "0" * 64, "size": 1}})), r"leads out of the index"),
    ("absolute path, signed", signed_again(lambda b: b["files"].update({"/etc/passwd": {"sha256": "0" * 64, "size": 1}})), r"/etc/passwd: the path leads out"),
    ("signed for the future", signed_again(lambda b: b.update(issued="2089-01-01T00:00:00Z", expires=LATER)), r"one of the two clocks is wrong"),
    ("expired, signed", signed_again(lambda b: b.update(expires="2020-01-01T00:00:00Z")), r"expired on 2020-01-01"),
    ("wheel changed", flip(WHEEL), r"\.whl has sha256 .* was signed"),
    ("wheel longer", append(WHEEL), r"\.whl has \d+ bytes, \d+ were signed"),
    ("wheel gone", remove(WHEEL), r"\.whl is missing"),
    ("wheel cut to nothing", write(WHEEL, ""), r"\.whl has 0 bytes"),
    ("wheel is a link to nowhere", into_link(WHEEL, "gone"), r"\.whl is missing"),
    ("metadata changed", flip(f"{WHEEL}.metadata", 20), r"\.metadata has sha256"),
    ("metadata gone", remove(f"{WHEEL}.metadata"), r"\.metadata is missing"),
    ("SBOM changed", replace_text(f"{WHEEL}.cdx.json", "1.6", "1.5"), r"cdx\.json has sha256"),
    ("SBOM gone", remove(f"{WHEEL}.cdx.json"), r"cdx\.json is missing"),
    ("HTML page leads elsewhere", replace_text("demo-pkg/index.html", 'href="demo', 'href="//evil/demo'), r"index\.html has \d+ bytes"),
    ("HTML page without a digest", flip("demo-pkg/index.html", 400), r"index\.html has sha256"),
    ("JSON page changed", replace_text("demo-pkg/index.json", "demo_pkg-1.0", "demo_pkg-2.0"), r"index\.json has sha256"),
    ("root page changed", replace_text("index.html", "demo-pkg", "demo-pgk"), r"index\.html has sha256"),
    ("root page gone", remove("index.json"), r"index\.json is missing"),
    ("a project added", write("evil/index.html", "<a href=x.whl>x</a>"), r"evil/index\.html is a page that was not signed"),
    ("a JSON page added", write("evil/index.json", "{}"), r"evil/index\.json is a page that was not signed"),
    ("provenance changed", replace_text(f"{PROVENANCE}.json", '"kind"', '"kinb"'), r"provenance\.json has sha256"),
    ("provenance gone", remove(f"{PROVENANCE}.json"), r"provenance\.json is missing"),
    ("envelope of the provenance gone", remove(f"{PROVENANCE}.dsse.json"), r"provenance\.dsse\.json: it is missing"),
    ("provenance signed by a stranger", other_key(f"{PROVENANCE}.dsse.json", STATEMENT_TYPE), r"provenance\.dsse\.json: .* is not trusted"),
    ("a stranger's provenance under the trusted name", own_keyid(f"{PROVENANCE}.dsse.json", STATEMENT_TYPE), r"provenance\.dsse\.json: .* is wrong"),
    ("claim changed", edit_payload(lambda b: b["predicate"].update(claim="all rungs"), f"{VERIFICATION}.dsse.json"), r"verification\.dsse\.json: .* is wrong"),
    ("claim changed, signed", statement_of("verification", lambda b: b["predicate"].update(claim="all")), r"not the one that lies beside"),
    ("lock changed", flip(LOCK, 20), r"lock\.yaml has sha256 .* was signed"),
    ("lock gone", remove(LOCK), r"lock\.yaml is missing"),
    ("another lock, signed", another_lock, r"lock\.yaml: it is not the lock that the wheel's provenance names"),
    ("statements swapped", swap(f"{PROVENANCE}.dsse.json", f"{VERIFICATION}.dsse.json"), r"not the one that lies beside"),
    ("statement of another type of payload", statement_of("provenance", lambda b: None, SNAPSHOT_TYPE), r"its payload is"),
    ("envelope is nested without end", write(ENVELOPE, "[" * 200_000), r"snapshot.*nested too deep"),
    ("snapshot nested without end, signed", lambda s: sign_payload(s, b"[" * 200_000), r"it is not a snapshot"),
    ("statement nested without end", write(f"{PROVENANCE}.dsse.json", "[" * 200_000), r"provenance\.dsse\.json: .*nested too deep"),
    ("envelope is a FIFO", into_fifo(ENVELOPE), r"snapshot.*it is not a file"),
    ("wheel is a FIFO", into_fifo(WHEEL), r"\.whl: it is not a file"),
    ("wheel is a folder", into_folder(WHEEL), r"\.whl: it is not a file"),
    ("wheel is a link out of the index", into_link(WHEEL, "/etc/hostname"), r"\.whl: the link leads out of the index"),
    ("wheel is a link to itself", into_link(WHEEL, Path(WHEEL).name), r"\.whl(: the link leads to itself| cannot be read)"),
    ("envelope of the provenance is a FIFO", into_fifo(f"{PROVENANCE}.dsse.json"), r"provenance\.dsse\.json: it is not a file"),
    ("envelope without end", lambda s: os.truncate(s.folder / ENVELOPE, 1 << 40), r"snapshot.*it has more than 32 MiB"),
    ("statement without signatures", edit_envelope(lambda e: e.update(signatures=[]), f"{PROVENANCE}.dsse.json"), r"provenance\.dsse\.json: 0 of 1"),
    ("a wheel added that no page names", write("demo-pkg/demo_pkg-9.0-py3-none-any.whl", "x"), r"demo_pkg-9\.0-py3-none-any\.whl lies in the index and was not signed"),
    ("a source distribution added", write("demo-pkg/demo_pkg-9.0.tar.gz", "x"), r"demo_pkg-9\.0\.tar\.gz lies in the index and was not signed"),
    ("a web server's configuration added", write(".htaccess", "RewriteEngine On"), r"^\.htaccess lies in the index and was not signed"),
    ("a page added in a folder below", write("demo-pkg/sub/index.html", "x"), r"demo-pkg/sub/index\.html is a page that was not signed"),
    ("a folder added that is a link", lambda s: (s.folder / "more").symlink_to("/"), r"^more lies in the index and was not signed"),
    ("a statement added", write(f"{WHEEL}.more.json", "{}"), r"whl\.more\.json lies in the index and was not signed"),
    ("thirty files added", lambda s: [(s.folder / f"{n}.whl").touch() for n in range(30)], r"10 more files lie in the index"),
    ("sums replaced", write("SHA256SUMS", "x"), r"SHA256SUMS is not the list of the files that were signed"),
    ("sums gone", remove("SHA256SUMS"), r"SHA256SUMS is missing"),
    ("sums are a FIFO", into_fifo("SHA256SUMS"), r"SHA256SUMS cannot be read: it is not a file"),
    ("signature of the sums gone", remove("SHA256SUMS.sig"), r"SHA256SUMS\.sig is missing"),
    ("signature of the sums is none", write("SHA256SUMS.sig", "x"), r"SHA256SUMS\.sig is not a signature of that list"),
    ("signature of the sums by a stranger", sums_of_stranger, r"SHA256SUMS\.sig is not a signature of that list by a trusted key"),
    ("signature of the sums changed", sums_flipped, r"SHA256SUMS\.sig is not a signature of that list by a trusted key"),
    ("a seventh signature of the sums", write("SHA256SUMS.sig.7", "x"), r"SHA256SUMS\.sig\.7 is a signature more than there are keys"),
    ("a signature of the sums twice", lambda s: shutil.copy(s.folder / "SHA256SUMS.sig", s.folder / "SHA256SUMS.sig.2"), r"SHA256SUMS\.sig\.2 is a signature more"),
    ("a stranger's signature in the place of the second", signed_by_another_too, r"SHA256SUMS\.sig\.2 is not a signature of that list by a key that signed"),
    ("a signature of the sums that leads nowhere", link("SHA256SUMS.sig.2", ".current/SHA256SUMS.sig.2"), r"SHA256SUMS\.sig\.2 leads nowhere"),
    ("a catalog added as in an object store", write(".catalog.json", "{}"), r"^\.catalog\.json is not the catalog that was signed"),
    ("the sign of a publisher in an object store", write(".publishing", "me"), r"^\.publishing says that somebody published"),
    ("the lock has a text", write(".lock", "evil"), r"^\.lock is not what stackbuild makes of that name"),
    ("the lock is a link", link(".lock", WHEEL), r"^\.lock is not what stackbuild makes of that name"),
    ("the lock is a FIFO", into_fifo(".lock"), r"^\.lock is not what stackbuild makes of that name"),
    ("the link to the state leads elsewhere", link(".current", "demo-pkg"), r"^\.current is not the link to \.generations/00000001"),
    ("the link to the state is a file", lambda s: [(s.folder / ".current").unlink(), (s.folder / ".current").touch()], r"^\.current is not the link"),
    ("the states are a link", lambda s: [(s.folder / ".generations").rename(s.folder.parent / "g"), (s.folder / ".generations").symlink_to("../g")], r"^\.generations lies in the index and was not signed"),
    ("a file among the states", write(".generations/evil.html", "x"), r"^\.generations/evil\.html lies in the index, and was not signed"),
    ("a link among the states", link(".generations/00000009", "/"), r"^\.generations/00000009 lies in the index, and was not signed"),
    ("a state that nobody signed", write(".generations/00000000/index.html", "x"), r"00000000 is a state that no trusted key has signed"),
    ("a state under a lower number", state_copied(0), r"00000000 is the state with number 1"),
    ("a state under a higher number", state_copied(2), r"00000002 is a later state than the one that is served, 1"),
    ("a state of another index of the key", state_of_another_index, r"00000001 is a state of another index, rocm-6\.4/simple"),
    ("a wheel of another index of the key", state_of_another_index, r"demo_pkg-0\.9-py3-none-any\.whl lies in the index and was not signed"),
    ("a statement of another index of the key", state_of_another_index, r"demo_pkg-0\.9-.*\.provenance\.dsse\.json lies in the index and was not signed"),
    ("a wheel of a later state", later_state_of_it, r"demo_pkg-2\.0-py3-none-any\.whl lies in the index and was not signed"),
    ("another envelope of a statement before", another_envelope_of_before, r"provenance\.dsse\.json lies in the index and was not signed"),
    ("two hundred states", lambda s: [(s.folder / ".generations" / f"{n:08d}").mkdir() for n in range(2, 202)], r"^\.generations has 201 entries"),
    ("a page in a state changed", replace_text(f"{STATE}/demo-pkg/index.html", "demo", "damo"), r"00000001/demo-pkg/index\.html has sha256"),
    ("a file in a state added", write(f"{STATE}/evil/index.html", "x"), r"00000001/evil/index\.html lies in the index and was not signed"),
    ("a link in a state added", link(f"{STATE}/demo-pkg/x.whl", "/etc/passwd"), r"00000001/demo-pkg/x\.whl lies in the index and was not signed"),
    ("a wheel in a state added", lambda s: shutil.copy(s.folder / WHEEL, s.folder / STATE / "demo-pkg"), r"00000001/demo-pkg/.*\.whl lies in the index and was not signed"),
    ("the catalog of a state changed", append(f"{STATE}/catalog.json"), r"00000001/catalog\.json is not the catalog that was signed"),
    ("the sums of a state changed", append(f"{STATE}/SHA256SUMS"), r"00000001/SHA256SUMS is not the list"),
    ("the sums' signature of a state changed", write(f"{STATE}/SHA256SUMS.sig", "x"), r"00000001/SHA256SUMS\.sig is not a signature of that list"),
    ("a staged page", write(".index.html.staged", "x"), r"^\.index\.html\.staged was staged by a publisher"),
    ("a staged wheel", write(f"demo-pkg/.{Path(WHEEL).name}.staged", "x"), r"whl\.staged was staged by a publisher"),
    ("a staged state", write(".generations/00000002.staged/index.html", "x"), r"00000002\.staged was staged by a publisher"),
    ("a folder with nothing in it", lambda s: (s.folder / "evil").mkdir(), r"^evil lies in the index and was not signed"),
    ("a folder with nothing in it beside the wheel", lambda s: (s.folder / "demo-pkg" / "0" ).mkdir(), r"^demo-pkg/0 lies in the index and was not signed"),
    ("named as another index, signed", signed_again(lambda b: b.update(root="../x")), r"it is not a snapshot"),
]  # fmt: skip


@pytest.mark.parametrize(("tamper", "words"), [row[1:] for row in TAMPERING], ids=[row[0] for row in TAMPERING])
def test_tampering_is_refused_in_its_own_words(
    signed: SignedIndex, tamper: Callable[[SignedIndex], None], words: str
) -> None:
    for path in signed.folder.rglob("*"):
        if path.is_symlink() and ".current" in str(path.readlink()):  # a page is tampered with where it lies
            data = path.read_bytes()
            path.unlink()
            path.write_bytes(data)
    assert verify(signed).problems == ()
    tamper(signed)
    problems = verify(signed).problems
    assert problems and re.search(words, "\n".join(problems), re.MULTILINE), problems


def test_there_are_enough_rows() -> None:
    assert len(TAMPERING) >= 40 and len({row[0] for row in TAMPERING}) == len(TAMPERING)


def publish_signed(signed: SignedIndex, wheel: Path, statements: dict[str, bytes]) -> None:
    """Publish a wheel with statements of these bytes, by kind, all signed by the trusted key."""
    attached = []
    for kind, data in statements.items():
        path = wheel.with_name(f"{wheel.name}.{kind}.json")
        path.write_bytes(data)
        attached.append(path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("stackbuild.publishing.placement.claim_about", lambda *_: "")  # a publisher that does not look
        publish((wheel,), signed.folder, Publication(attachments={wheel: tuple(attached)}, keys=(signed.key,)))


def test_a_statement_about_another_wheel_is_refused(signed: SignedIndex, tmp_path: Path) -> None:
    """A replay: a good statement of version 1.0 beside version 2.0."""
    new = small_wheel(tmp_path / "new", "2.0")
    replayed = (signed.folder / f"{PROVENANCE}.json").read_bytes()
    publish_signed(signed, new, {"provenance": replayed})
    assert any("it is about demo_pkg-1.0" in p for p in verify(signed).problems)


def test_a_statement_with_one_more_subject_is_refused(signed: SignedIndex, tmp_path: Path) -> None:
    new, more = small_wheel(tmp_path / "new", "2.0"), small_wheel(tmp_path / "more", "3.0")
    publish_signed(
        signed,
        new,
        {"provenance": statement([descriptor_of(new), descriptor_of(more)], "https://slsa.dev/provenance/v1", {})},
    )
    assert any("it is about demo_pkg-2.0" in p and "demo_pkg-3.0" in p for p in verify(signed).problems)


@pytest.mark.parametrize("times", [0, 2, 1000])
def test_a_statement_has_its_wheel_once(signed: SignedIndex, tmp_path: Path, times: int) -> None:
    new = small_wheel(tmp_path / "new", "2.0")
    text = statement([descriptor_of(new)] * times, "https://slsa.dev/provenance/v1", {})
    beside = new.with_name(f"{new.name}.provenance.json")
    beside.write_bytes(text)
    with pytest.raises(UsageError, match="the statement cannot be published: it is about"):
        publish((new,), signed.folder, Publication(attachments={new: (beside,)}, keys=(signed.key,)))
    publish_signed(signed, new, {"provenance": text})
    (problem,) = verify(signed).problems
    assert "it is about" in problem and len(problem) < 1000


def test_a_statement_that_nobody_would_verify_is_not_published(signed: SignedIndex, tmp_path: Path) -> None:
    new = small_wheel(tmp_path / "new", "2.0")
    beside = new.with_name(f"{new.name}.provenance.json")
    text = statement([descriptor_of(new)], "https://slsa.dev/provenance/v1", {})
    for size, words in ((STATEMENT_LIMIT, ""), (STATEMENT_LIMIT + 1, "it has more than 16 MiB")):
        beside.write_bytes(text.ljust(size))
        how = Publication(attachments={new: (beside,)}, keys=(signed.key,))
        if words:
            with pytest.raises(UsageError, match=words):
                publish((new,), signed.folder, how)
        else:
            publish((new,), signed.folder, how)
        assert verify(signed).problems == ()


def test_a_fifo_that_a_person_names_is_not_waited_for(signed: SignedIndex, tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    with pytest.raises(UsageError, match="the key cannot be read: it is not a file"):
        load_trusted_keys([fifo])
    with pytest.raises(UsageError, match="this is not a private key"):
        load_signing_key(fifo)
    with pytest.raises(UsageError, match="cannot be read: it is not a file"):
        verify(signed, Trust(load_trusted_keys([signed.public]), numbers_file=fifo))


def test_a_statement_of_another_kind_is_refused(signed: SignedIndex, tmp_path: Path) -> None:
    new = small_wheel(tmp_path / "new", "2.0")
    publish_signed(signed, new, {"provenance": statement([descriptor_of(new)], "https://example.invalid/other", {})})
    assert any("it states https://example.invalid/other" in p for p in verify(signed).problems)


def test_an_sbom_that_lists_nothing_is_refused_though_it_is_signed(signed: SignedIndex, tmp_path: Path) -> None:
    """`--require sbom` asks for one that agrees with the lock beside the wheel."""
    for number, (text, words) in enumerate(
        (
            (json.dumps({"bomFormat": "CycloneDX", "specVersion": "1.6", "components": []}), "it lists nothing"),
            (small_sbom().replace("g++", "gcc"), "the lock beside it: 1 of 1 are left out, as g++"),
            (small_sbom().replace("a" * 40, "b" * 40), "the source demo is at the commit bbbbbbbbbbbb, which is not in it"),
        )
    ):
        new = small_wheel(tmp_path / str(number), f"2.{number}", sbom=text)
        lock = new.with_name(f"{new.name}.lock.yaml")
        lock.write_text(SMALL_LOCK)
        how = Publication(attachments={new: (lock,)}, keys=(signed.key,))
        with pytest.raises(UsageError, match="its SBOM cannot be published"):
            publish((new,), signed.folder, how)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("stackbuild.publishing.placement.sbom_problem", lambda *_: "")  # a publisher that does not look
            publish((new,), signed.folder, how)
        problems = verify(signed, Trust(load_trusted_keys([signed.public]), require=("sbom",))).problems
        mine = [problem for problem in problems if f"2.{number}-" in problem]
        assert len(mine) == 2 and words in mine[0] and mine[1].endswith("has no sbom, which is required"), mine


def test_a_signed_index_is_bound_to_its_name_and_its_address(tmp_path: Path) -> None:
    """One key signs the indexes of two ROCm: the one is not taken in the place of the other."""
    key, public = new_key(tmp_path / "keys")
    keys, at = load_trusted_keys([public]), "https://wheels.example.invalid"
    for root in ("rocm-6.4/simple", "rocm-7.2/simple", "simple"):
        how = Publication(keys=(key,), url=f"{at}/{root}")
        publish((small_wheel(tmp_path / root),), tmp_path / "dist" / root, how)
        proof = verify_release(tmp_path / "dist" / root, Trust(keys, root=root, url=f"{at}/{root}/"))
        assert (proof.problems, proof.root, proof.url) == ((), root, f"{at}/{root}")
    stranger = tmp_path / "mirror" / "rocm-7.2" / "simple"
    for other in ("rocm-6.4/simple", "simple"):
        shutil.rmtree(tmp_path / "mirror", ignore_errors=True)
        shutil.copytree(tmp_path / "dist" / other, stranger, symlinks=True)
        (problem,) = verify_release(stranger, Trust(keys)).problems
        assert problem.startswith(f"the index was signed as {other}, and it lies where that of rocm-7.2 belongs: another index")
        with pytest.raises(UsageError, match=f"signed as {other}, and it lies where that of rocm-7.2 belongs"):
            publish((small_wheel(tmp_path / "new", "2.0"),), stranger, Publication(keys=(key,)))
    copy = tmp_path / "copy"
    stranger.rename(copy)
    assert verify_release(copy, Trust(keys)).problems == (), "nothing says which index this is to be"
    (problem,) = verify_release(copy, Trust(keys, root="rocm-7.2/simple")).problems
    assert problem.startswith("the index was signed as simple, and rocm-7.2/simple is expected")
    (problem,) = verify_release(copy, Trust(keys, url=f"{at}/rocm-7.2/simple")).problems
    assert problem.startswith(f"the index was signed for {at}/simple, and {at}/rocm-7.2/simple is expected")
    with pytest.raises(UsageError, match=r"was signed as simple, and rocm-7\.2/simple is expected"):
        sign(copy, Publication(keys=(key,), root="rocm-7.2/simple"))
    sign(copy, Publication(keys=(key,), root="rocm-7.2/simple", accept_changes=True))
    assert verify_release(copy, Trust(keys, root="rocm-7.2/simple")).problems == ()


@pytest.mark.parametrize(
    "place",
    ["rocm-7.2/simple", "ROCm-7.2/simple", "rocm7.2/simple", "rocm_7_2/simple", "rocm-7.2/other", "rocm-7.2/x/simple", "rocm-6.4/rocm-7.2", "rocm-6.40/simple"],
)  # fmt: skip
@pytest.mark.parametrize("how", ["copied", "link", "folder is a link", "entered"])
def test_the_index_of_another_rocm_is_refused_in_each_place_that_names_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str, how: str
) -> None:
    """Also where a link leads to it, which says where it really lies."""
    key, public = new_key(tmp_path / "keys")
    keys, index, at = load_trusted_keys([public]), tmp_path / "rocm-6.4" / "simple", tmp_path / "served" / place
    publish((small_wheel(tmp_path / "wheels"),), index, Publication(keys=(key,)))
    assert verify_release(index, Trust(keys)).root == "rocm-6.4/simple"
    at.parent.mkdir(parents=True)
    match how:
        case "copied":
            shutil.copytree(index, at, symlinks=True)
        case "link":
            at.symlink_to(index)
        case "folder is a link":
            shutil.copytree(index, tmp_path / "plain" / at.name, symlinks=True)
            at.parent.rmdir()
            at.parent.symlink_to(tmp_path / "plain")
        case "entered":
            at.symlink_to(index)
            monkeypatch.chdir(at)
            monkeypatch.setenv("PWD", str(at))
            at = Path()
    (problem,) = verify_release(at, Trust(keys)).problems
    assert re.search(r"signed as rocm-6\.4/simple, and it lies where that of (?i:rocm)\S+ belongs: another", problem)
    with pytest.raises(UsageError, match=r"signed as rocm-6\.4/simple, and it lies where that of"):
        publish((small_wheel(tmp_path / "new", "2.0"),), at, Publication(keys=(key,)))


@pytest.mark.parametrize(
    ("place", "root"),
    [
        ("rocm-7.2/simple", "rocm-7.2/simple"),
        ("rocm-7.2/a/other", "rocm-7.2/a/other"),
        ("rocm-6.4/rocm7.2", "rocm7.2"),
        ("rocm-7.2/dist/simple", "simple"),
        ("dist/rocm-7.2/simple", "rocm-7.2/simple"),
        ("rocm-6.4/dist/rocm-7.2/simple", "rocm-7.2/simple"),
    ],
)
def test_an_index_is_taken_where_it_was_made_and_through_links_to_it(tmp_path: Path, place: str, root: str) -> None:
    key, public = new_key(tmp_path / "keys")
    trust = Trust(load_trusted_keys([public]))
    for number, version in enumerate(("1.0", "2.0"), 1):
        publish((small_wheel(tmp_path / version, version),), tmp_path / place, Publication(keys=(key,)))
        proof = verify_release(tmp_path / place, trust)
        assert (proof.problems, proof.root, proof.number) == ((), root, number)
    for link in ("latest", *(["ROCm_7_2"] if "7.2" in root else [])):
        (tmp_path / link).symlink_to(tmp_path / place)
        assert verify_release(tmp_path / link, trust).problems == ()


def test_an_index_of_an_older_version_has_no_name_and_gets_one(signed: SignedIndex) -> None:
    keys = load_trusted_keys([signed.public])
    signed_again(lambda body: [body.pop("root"), body.pop("url")])(signed)
    assert verify(signed).problems == () and verify(signed).root == ""
    (problem,) = verify(signed, Trust(keys, root="simple")).problems
    assert "was signed without a name, by an older stackbuild" in problem
    publish((signed.wheel,), signed.folder, Publication(keys=(signed.key,), root="simple"))
    assert verify(signed, Trust(keys, root="simple")).problems == ()
    with pytest.raises(UsageError, match="is not a name of an index"):
        Publication(root="../x")


def test_a_state_that_no_key_signed_goes_with_the_first_signature(tmp_path: Path) -> None:
    """And so does one of a key that signs no more: who trusts the new key alone takes the index."""
    folder = tmp_path / "simple"
    publish((small_wheel(tmp_path / "a"),), folder)
    (one, first), (two, second) = new_key(tmp_path, "one"), new_key(tmp_path, "two")
    sign(folder, Publication(keys=(one,)))
    assert verify_release(folder, Trust(load_trusted_keys([first]))).problems == ()
    publish((small_wheel(tmp_path / "a", "2.0"),), folder, Publication(keys=(one,)))
    assert [path.name for path in sorted((folder / ".generations").iterdir())] == ["00000002", "00000003"]
    sign(folder, Publication(keys=(two,), trusted_keys=load_trusted_keys([first])))
    assert [path.name for path in (folder / ".generations").iterdir()] == ["00000004"]
    assert verify_release(folder, Trust(load_trusted_keys([second]))).problems == ()


SBOM = "demo_pkg-1.0.dist-info/sboms/stackbuild.cdx.json"


def zip_with(entry: str, method: int = zipfile.ZIP_DEFLATED, size: int = 10) -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as archive:
        archive.writestr(entry, bytes(size), method)
    return held.getvalue()


def patched(data: bytes, local: int, central: int, value: int) -> bytes:
    """The zip with one byte of both headers of its only entry set."""
    changed = bytearray(data)
    changed[local] = changed[data.index(b"PK\x01\x02") + central] = value
    return bytes(changed)


HOSTILE_WHEELS = {
    "broken stream": (zip_with(SBOM).replace(b"\x63\x60\x80\x01\x00", b"\xff\xff\xff\xff\xff"), "invalid|Error -3"),
    "encrypted": (patched(zip_with(SBOM), 6, 8, 1), "encrypted|password"),
    "unknown method": (patched(zip_with(SBOM), 8, 10, 99), "packed by method 99"),
    "method without a bound": (zip_with(SBOM, zipfile.ZIP_LZMA), "packed by method 14"),
    "bomb": (zip_with(SBOM, size=(16 << 20) + 1), "bytes, more than 16777216"),
    "no zip": (b"PK", "not a zip file"),
}


def test_a_signed_sbom_that_is_none_is_refused(signed: SignedIndex) -> None:
    data, beside = zip_with(SBOM), f"{WHEEL}.cdx.json"
    (signed.folder / WHEEL).write_bytes(data)
    (signed.folder / beside).write_bytes(bytes(10))

    def change(body: dict[str, dict[str, dict[str, object]]]) -> None:
        body["files"][WHEEL].update(sha256=digest.of_bytes(data), size=len(data))
        body["files"][beside].update(sha256=digest.of_bytes(bytes(10)), size=10)

    signed_again(change)(signed)
    assert [p for p in verify(signed).problems if "cdx.json: it is not a CycloneDX document" in p]


@pytest.mark.parametrize(("data", "words"), HOSTILE_WHEELS.values(), ids=HOSTILE_WHEELS)
def test_a_signed_wheel_that_cannot_be_unpacked_is_refused(signed: SignedIndex, data: bytes, words: str) -> None:
    assert data != zip_with(SBOM)
    (signed.folder / WHEEL).write_bytes(data)
    signed_again(lambda b: b["files"][WHEEL].update(sha256=digest.of_bytes(data), size=len(data)))(signed)
    problems = [p for p in verify(signed).problems if "its SBOM cannot be read" in p]
    assert len(problems) == 1 and re.search(words, problems[0]), verify(signed).problems


@pytest.mark.parametrize("data", [data for data, _ in HOSTILE_WHEELS.values()], ids=HOSTILE_WHEELS)
def test_a_wheel_with_other_bytes_than_were_signed_is_not_opened(
    signed: SignedIndex, data: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    (signed.folder / WHEEL).write_bytes(data)

    def opened(*words: object) -> None:
        raise AssertionError(words)

    monkeypatch.setattr(zipfile, "ZipFile", opened)
    (problem,) = verify(signed).problems
    assert re.search(r"\.whl has \d+ bytes, \d+ were signed", problem)


def test_bytes_that_were_replaced_are_as_the_last_state_signed_them(signed: SignedIndex, tmp_path: Path) -> None:
    """Whoever has their digest in a lock may still ask for them; no page names them. They stay in every later state."""
    bytes_before = (signed.folder / WHEEL).read_bytes()
    other, how = small_wheel(tmp_path / "b", content="y"), Publication(keys=(signed.key,), replace=True)
    publish((other,), signed.folder, how)
    publish((small_wheel(tmp_path / "c", content="z"),), signed.folder, how)
    publish((small_wheel(tmp_path / "c", "2.0"),), signed.folder, Publication(keys=(signed.key,)))
    assert verify(signed).problems == () and damages(signed.folder) == ()
    assert (signed.folder / WHEEL).read_bytes() == bytes_before
    place = f"demo-pkg/{digest.of_file(other)[:16]}/{other.name}"
    assert (signed.folder / place).read_bytes() == other.read_bytes()
    page = (signed.folder / "demo-pkg" / "index.html").read_text()
    assert page.count(".whl#sha256=") == 2 and digest.of_file(other) not in page
    (signed.folder / ".current" / "catalog.json").unlink()
    assert rebuild(signed.folder, Publication(keys=(signed.key,))) == () and verify(signed).problems == ()
    flip(WHEEL)(signed)
    assert any(p.startswith(f"{WHEEL} has sha256 ") for p in verify(signed).problems)


def test_a_name_whose_last_bytes_were_lost_keeps_the_earlier_ones(signed: SignedIndex, tmp_path: Path) -> None:
    """Other bytes under it are refused as before, and nothing is written over what lies there."""
    bytes_before = (signed.folder / WHEEL).read_bytes()
    other, how = small_wheel(tmp_path / "b", content="y"), Publication(keys=(signed.key,), replace=True)
    publish((other,), signed.folder, how)
    (signed.folder / "demo-pkg" / digest.of_file(other)[:16] / other.name).unlink()
    third, settings = small_wheel(tmp_path / "c", content="z"), Publication(keys=(signed.key,), accept_changes=True)
    with pytest.raises(UsageError, match="published already, with other bytes"):
        publish((third,), signed.folder, settings)
    publish((third,), signed.folder, replace(settings, replace=True))
    assert (signed.folder / WHEEL).read_bytes() == bytes_before
    publish((signed.wheel,), signed.folder, how)
    page = (signed.folder / "demo-pkg" / "index.html").read_text()
    assert page.count(".whl#sha256=") == 1 and digest.of_file(signed.wheel) in page


def test_a_frozen_index_expires(signed: SignedIndex) -> None:
    assert any("expired" in p for p in verify(signed, now=datetime.now(UTC) + timedelta(days=91)).problems)
    sign(signed.folder, Publication(keys=(signed.key,), days=365))
    assert verify(signed, now=datetime.now(UTC) + timedelta(days=91)).problems == ()


def test_a_threshold_of_two_needs_two_people(signed: SignedIndex, tmp_path: Path) -> None:
    second, public = new_key(tmp_path / "second")
    trust = Trust(load_trusted_keys([signed.public, public]), threshold=2)
    assert any("1 of 2 needed signatures" in p for p in verify(signed, trust).problems)
    cosign(signed.folder, (second,), load_trusted_keys([signed.public]))
    assert verify(signed, trust).problems == ()
    assert verify(signed).problems == (), "one key is still enough for who asks for one"
    with pytest.raises(UsageError, match="3 signatures are asked for, and 2 keys are trusted"):
        verify(signed, Trust(trust.keys, threshold=3))


def test_a_key_counts_only_while_it_is_valid(signed: SignedIndex, tmp_path: Path) -> None:
    line = " ".join(signed.public.read_text().split()[:2])
    allowed = tmp_path / "allowed_signers"
    for option, words in (
        ('valid-before="20200101"', "expired on 2020-01-01"),
        ('valid-after="20890101"', "not valid before 2089-01-01"),
    ):
        allowed.write_text(f"release@example.invalid {option} {line}\n")
        problems = verify(signed, Trust(load_trusted_keys([allowed]))).problems
        assert any(words in p for p in problems), problems
    allowed.write_text(f'# ours\nrelease@example.invalid namespaces="stackbuild",valid-before="20890101" {line}\n')
    assert verify(signed, Trust(load_trusted_keys([allowed]))).problems == ()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("ssh-rsa AAAA x", "not an ed25519 public key"),
        ("ssh-ed25519 #### x", "not a public key"),
        ("ssh-ed25519 AAAA x", "not an ed25519 public key"),
        ("-----BEGIN OPENSSH PRIVATE KEY-----", "this is a private key"),
        ("", "no public key in it"),
        ('a namespaces="git" @', "not for the namespace"),
        ('a valid-before="tomorrow" @', "is not a time"),
        ("a cert-authority @", "option cert-authority is not known"),
    ],
)
def test_a_public_key_that_is_none_is_refused(signed: SignedIndex, tmp_path: Path, text: str, words: str) -> None:
    file = tmp_path / "key.pub"
    file.write_text(text.replace("@", " ".join(signed.public.read_text().split()[:2])))
    with pytest.raises(UsageError, match=words) as caught:
        load_trusted_keys([file])
    assert caught.value.next


def test_what_is_required_must_be_there(signed: SignedIndex, tmp_path: Path) -> None:
    publish((small_wheel(tmp_path / "bare", "2.0"),), signed.folder, Publication(keys=(signed.key,)))
    trust = Trust(load_trusted_keys([signed.public]), require=("provenance", "sbom"))
    problems = verify(signed, trust).problems
    assert [p.partition(" has no ")[2] for p in problems] == [
        "provenance, which is required",
        "sbom, which is required",
    ]


def test_a_signed_index_stays_signed(signed: SignedIndex, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="this index is signed, and no key is given"):
        publish((small_wheel(tmp_path / "new", "2.0"),), signed.folder)
    assert verify(signed).problems == ()
    yank(signed.folder, "demo-pkg", "1.0", "wrong results", Publication(keys=(signed.key,)))
    set_status(signed.folder, "demo-pkg", "quarantined", "stolen key", Publication(keys=(signed.key,)))
    proof = verify(signed)
    assert proof.problems == () and proof.number == 3


def test_a_page_of_the_state_before_is_not_taken_for_one_of_this(signed: SignedIndex) -> None:
    """Its wheels may stay, as they were signed: nobody is led to them. A page leads to them."""
    page = signed.folder / "demo-pkg" / "index.html"
    old = page.read_bytes()
    with locked_catalog(signed.folder) as catalog:
        commit(signed.folder, catalog.model_copy(update={"projects": {}}), Publication(keys=(signed.key,)))
    for name in ("index.html", "index.json"):
        (signed.folder / "demo-pkg" / name).unlink()
    assert verify(signed).problems == ()
    page.write_bytes(old)
    assert verify(signed).problems == ("demo-pkg/index.html is a page that was not signed",)


def test_a_million_foreign_signatures_are_told_in_a_line(signed: SignedIndex) -> None:
    envelope = signed.folder / ENVELOPE
    content = json.loads(envelope.read_text())
    content["signatures"] = [{"keyid": f"SHA256:{n}", "sig": "AAAA"} for n in range(10_000)]
    envelope.write_text(json.dumps(content))
    (problem,) = verify(signed).problems
    assert "and 9995 more" in problem and len(problem) < 1000


def test_a_snapshot_with_times_of_no_zone_is_none(signed: SignedIndex) -> None:
    payload = json.loads(read_envelope((signed.folder / ENVELOPE).read_bytes()).payload)
    for name in ("issued", "expires"):
        data = json.dumps({**payload, name: payload[name].removesuffix("Z")}).encode()
        (signed.folder / ".current" / ENVELOPE).write_bytes(envelope_text(data, SNAPSHOT_TYPE, (signed.key,)))
        (problem,) = verify(signed).problems
        assert "it is not a snapshot" in problem
