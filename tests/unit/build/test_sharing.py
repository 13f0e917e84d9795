"""A build and its remotes, on the fake runner: what is taken, what runs, what is pushed, and that nothing is asked twice."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from stackbuild.build.context import StepOutput
from stackbuild.build.schedule import Limits, schedule
from stackbuild.build.sharing import RemoteSharing
from stackbuild.core.cancel import Interruption
from stackbuild.core.errors import MachineLacks, UsageError
from stackbuild.model.events import Note
from stackbuild.model.plan import Plan
from stackbuild.remote.ancestry import input_notes
from stackbuild.remote.faults import RemoteFault
from stackbuild.remote.files import ExportFolder
from stackbuild.remote.origin import Origin
from stackbuild.remote.push import Pusher
from stackbuild.remote.revoke import revoke, tainted_records, unknown_records
from stackbuild.remote.settings import RemoteSettings, Settings
from stackbuild.remote.url import kind_and_root
from stackbuild.store import atomic
from stackbuild.store.maintenance import collect, records
from stackbuild.store.revocations import read_revocations, revocations_path
from stackbuild.store.store import Store
from support.fake_build import FakeCommands, fake_context, fast_folder, plan_of, step
from support.remotes import a_key, key_files, open_at, push_all

ONE = step("one")
TWO = step("two", (ONE,))
PLAN = plan_of(ONE, TWO)


@dataclass
class Machine:
    """One machine of a team that shares an export on a common disk."""

    folder: Path
    settings: Settings

    def build(
        self, plan: Plan = PLAN, commands: FakeCommands | None = None, from_scratch: bool = False
    ) -> FakeCommands:
        """Build as `build` does: ask remotes, run what is left, push what ran."""
        done = commands or FakeCommands()
        with fake_context(done, self.folder, from_scratch=from_scratch, remotes=self.settings) as context:
            assert context.sharing is not None
            found = {} if from_scratch else context.store.find_all(s.key for s in plan.steps)
            stored = found if from_scratch else context.sharing.with_remotes(plan, found)
            built: dict[str, StepOutput] = {}
            built, broken = schedule(plan, context, Limits(2, 1 << 34), stored)
            assert not broken
            context.sharing.push_outputs({one.key for one in built.values() if one.how == "run"})
            context.sharing.close()
        return done

    def made(self, name: str, plan: Plan = PLAN) -> str:
        store = open_at(self.folder)
        record = store.find(plan.by_name[name].key)
        assert record is not None and not store.check(record.tree)
        text = (store.tree(record.tree) / "made").read_text()
        store.close()
        return text


def notes(commands: FakeCommands, level: str = "warning") -> list[str]:
    return [event.text for event in commands.events if isinstance(event, Note) and event.level == level]


@pytest.fixture
def place() -> Iterator[Path]:
    with fast_folder() as folder:
        yield folder


@pytest.fixture
def url(place: Path) -> str:
    ExportFolder("", place / "shared", is_written=True)
    return f"file://{place}/shared"


def key_line(place: Path, name: str = "builder") -> str:
    return key_files(place, name)[1].read_text().strip()


@pytest.fixture
def builder(place: Path, url: str) -> Machine:
    """A machine that pushes what it makes."""
    private, _ = key_files(place)
    return Machine(place / "builder", Settings(remotes=(RemoteSettings(url=url, write=True, sign=str(private)),)))


@pytest.fixture
def user(place: Path, url: str) -> Machine:
    """A machine that trusts the builder."""
    return Machine(place / "user", Settings(remotes=(RemoteSettings(url=url, read=(key_line(place),)),)))


def test_an_empty_store_takes_what_is_wanted_and_nothing_else(builder: Machine, user: Machine) -> None:
    assert builder.build().started == ["base", "one", "two"]
    done = user.build()
    assert done.began == [] and not notes(done)
    assert user.made("two") == builder.made("two")
    store = open_at(user.folder)
    assert store.find(TWO.key) is not None and store.find(ONE.key) is None  # what only `two` needs was not asked for
    (said,) = notes(done, "info")
    assert said.startswith("two: taken from file://") and a_key().fingerprint in said


def test_a_build_with_nothing_to_do_asks_nothing(
    builder: Machine, user: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    builder.build()
    user.build()

    def asked_again(*words: object) -> None:
        raise AssertionError(f"the remote was asked: {words}")

    for name in ("manifest", "blob"):
        monkeypatch.setattr(ExportFolder, name, asked_again)
    assert user.build().began == []


def test_without_a_key_all_is_built(builder: Machine, user: Machine, url: str) -> None:
    builder.build()
    user.settings = Settings(remotes=(RemoteSettings(url=url),))
    assert user.build().started == ["base", "one", "two"]


def test_a_stranger_is_not_believed_and_the_build_goes_on(
    builder: Machine, user: Machine, place: Path, url: str
) -> None:
    builder.build()
    user.settings = Settings(remotes=(RemoteSettings(url=url, read=(key_line(place, "other"),)),))
    done = user.build()
    assert sorted(done.started) == ["base", "one", "two"]
    assert len(notes(done)) == 3 and "not asked again in this run" in notes(done)[-1]
    assert user.made("two") == builder.made("two")


def test_from_scratch_takes_nothing(builder: Machine, user: Machine) -> None:
    builder.build()
    done = user.build(from_scratch=True)
    assert done.started == ["base", "one", "two"] and not notes(done, "info")


def test_a_damaged_remote_costs_a_rebuild_to_the_same_bytes(builder: Machine, user: Machine, place: Path) -> None:
    builder.build()
    for blob in (place / "shared" / "blobs").glob("*/*"):
        data = bytearray(blob.read_bytes())
        data[len(data) // 2] ^= 1
        blob.write_bytes(data)
    done = user.build()
    assert sorted(done.started) == ["base", "one", "two"] and notes(done)
    assert user.made("two") == builder.made("two")


def test_equal_inputs_are_found_by_content(builder: Machine, user: Machine) -> None:
    """`one` has another text here and the same output: `two` has another key, and the content key of the builder's."""
    same = FakeCommands(same=frozenset(("one",)))
    builder.build(commands=same)
    changed = step("one", word="other")
    plan = plan_of(changed, step("two", (changed,)))
    done = user.build(plan, FakeCommands(same=frozenset(("one",))))
    assert done.started == ["one"]  # the base came by its key, and `two` by its content
    assert done.finished("reused") == {"two"}


def test_what_was_taken_over_is_not_pushed_as_ones_own(builder: Machine, user: Machine, place: Path, url: str) -> None:
    builder.build()
    private, _ = key_files(place, "second")
    ExportFolder("", place / "theirs", is_written=True)
    mine = RemoteSettings(url=f"file://{place}/theirs", write=True, sign=str(private))
    user.settings = Settings(remotes=(*user.settings.remotes, mine))
    user.build()
    assert not list((place / "theirs" / "manifests").glob("*/*"))


def test_no_step_sees_the_key(builder: Machine) -> None:
    """No mount and no variable of a step leads to the private key."""
    seen: list[str] = []
    commands = FakeCommands()
    plain = commands.answer

    def answer(spec, exec):  # type: ignore[no-untyped-def]
        seen.extend([*(str(mount.source) for mount in spec.mounts), *map(str, exec.env)])
        return plain(spec, exec)

    commands.answer = answer  # type: ignore[method-assign]
    builder.build(commands=commands)
    assert seen and not [text for text in seen if "builder.key" in text or "KEY" in text]


def test_where_an_output_came_from_is_in_its_record(builder: Machine, user: Machine, url: str) -> None:
    builder.build()
    user.build()
    for machine, expected in ((user, url), (builder, None)):
        record = open_at(machine.folder).find(TWO.key)
        assert record is not None
        origin = Origin.of(record)
        assert (origin.url if origin else None) == expected


def test_a_stolen_keys_outputs_and_what_was_made_of_them_are_forgotten(builder: Machine, user: Machine) -> None:
    builder.build(plan_of(ONE))
    user.build()  # `one` is taken, `two` is made here on it
    store = open_at(user.folder)
    (store.root / "ccache" / "domain").mkdir()
    found = tainted_records(store, a_key().fingerprint, "")
    assert {(one.step, one.is_pulled) for one in found} >= {("one", True), ("base", True), ("two", False)}
    assert revoke(store, a_key().fingerprint, "") == found
    assert not [s.name for s in PLAN.steps if store.find(s.key)]
    assert not list((store.root / "ccache").iterdir()) and not list((store.root / "trees").glob("*/*"))
    assert not tainted_records(store, a_key("another").fingerprint, "")


def test_a_forgetting_that_ended_early_is_completed_by_the_next(
    builder: Machine, user: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After each removal of a record or a cache: what is left leads to all the rest."""
    builder.build(plan_of(ONE))
    user.build()
    store = open_at(user.folder)
    (store.root / "ccache" / "domain").mkdir()
    unlink, remove, calls = Path.unlink, atomic.remove, 0

    def end_after_one() -> None:
        nonlocal calls
        calls += 1
        raise KeyboardInterrupt

    def unlink_and_end(path: Path, missing_ok: bool = False) -> None:
        unlink(path, missing_ok)
        if path.suffix == ".json":
            end_after_one()

    def remove_and_end(path: Path) -> None:
        remove(path)
        if path.parent.name == "ccache":
            end_after_one()

    monkeypatch.setattr(Path, "unlink", unlink_and_end)
    monkeypatch.setattr(atomic, "remove", remove_and_end)
    while tainted_records(store, a_key().fingerprint, ""):
        with contextlib.suppress(KeyboardInterrupt):
            revoke(store, a_key().fingerprint, "")
        assert calls < 20
    assert calls >= 4 and not [s.name for s in PLAN.steps if store.find(s.key)]
    assert not list((store.root / "ccache").iterdir())
    store.close()


def collect_inputs(store: Store, *names: str) -> None:
    """Let `store gc` remove the records of these steps, as it does once other builds have been the latest."""
    for name in names:
        (store.root / "latest" / f"{PLAN.recipe}.{name}.key").unlink()
    collect(store, 0.0, time.time() + 10.0)
    assert not [name for name in names if store.find(PLAN.by_name[name].key)]


def test_what_was_made_from_a_stolen_keys_output_is_found_once_gc_removed_that(
    builder: Machine, user: Machine, url: str
) -> None:
    """However far back it came in: `two` is made here from it, and `three` from `two`."""
    builder.build(plan_of(ONE))
    three = step("three", (TWO,))
    user.build(plan_of(ONE, TWO, three))
    store = open_at(user.folder)
    collect_inputs(store, "base", "one")
    (store.root / "ccache" / "domain").mkdir()
    for signed_by, origin in ((a_key().fingerprint, ""), ("", url + "/")):
        tainted = tainted_records(store, signed_by, origin)
        assert {(one.step, one.is_pulled) for one in tainted} == {("two", False), ("three", False)}
    collect_inputs(store, "two")  # by now only the note of `three` itself leads there
    assert {one.step for one in revoke(store, a_key().fingerprint, "")} == {"three"}
    assert not store.find(three.key) and not list((store.root / "ccache").iterdir())
    assert not unknown_records(store)
    store.close()


def without_notes(store: Store, key: str) -> None:
    """Make of a record, and of that under its content key, records of before the notes of inputs."""
    for record in [one for one in records(store) if key in (one.key, one.like)]:
        notes = {name: text for name, text in record.notes.items() if not name.startswith("input_")}
        place = store.root / "records" / record.key[:2] / f"{record.key}.json"
        place.write_text(replace(record, notes=notes).text())


def test_a_record_of_before_the_notes_is_found_by_the_records_and_named_where_those_are_gone(
    builder: Machine, user: Machine
) -> None:
    builder.build(plan_of(ONE))
    user.build()
    store = open_at(user.folder)
    without_notes(store, TWO.key)
    assert "two" in {one.step for one in tainted_records(store, a_key().fingerprint, "")}
    three = step("three", (TWO,))
    assert input_notes(store, {TWO.key: "0" * 64})["input_signers"] == a_key().fingerprint
    store.close()
    user.build(plan_of(ONE, TWO, three))
    store = open_at(user.folder)
    assert "three" in {one.step for one in tainted_records(store, a_key().fingerprint, "")}
    collect_inputs(store, "base", "one")
    assert {one.step for one in tainted_records(store, a_key().fingerprint, "")} == {"three"}
    assert [one.step for one in unknown_records(store)] == ["two"]
    assert input_notes(store, {TWO.key: "0" * 64})["input_signers"] == "?"
    store.close()


class SilentFolder(ExportFolder):
    """A remote that answers nothing for five seconds, unless its connections are ended."""

    def manifest(self, tag: str, most: int) -> bytes | None:
        self.end.wait(5.0)
        raise RemoteFault("no answer")

    def abort(self) -> None:
        self.end.set()

    end = threading.Event()


def test_a_stop_during_a_push_waits_for_no_silent_registry(builder: Machine) -> None:
    builder.build(plan_of(ONE))
    store, asked_at = open_at(builder.folder), time.monotonic()

    def check() -> None:
        if time.monotonic() - asked_at > 0.3:
            raise Interruption(2)

    pusher = Pusher(store, SilentFolder("", Path(builder.settings.remotes[0].url.removeprefix("file://"))), a_key())
    sharing = RemoteSharing("r", store, lambda event: None, check, pushers=(pusher,))
    with pytest.raises(Interruption):
        sharing.push_outputs({ONE.key})
    assert time.monotonic() - asked_at < 3.0
    store.close()


@dataclass(frozen=True)
class Team:
    """`second` trusts the stolen key for one remote, and pushes what it makes to another with a key of its own."""

    second: Machine
    own: RemoteSettings


@pytest.fixture
def team(builder: Machine, place: Path, url: str) -> Team:
    ExportFolder("", place / "own", is_written=True)
    private, _ = key_files(place, "second")
    own = RemoteSettings(url=f"file://{place}/own", read=(key_line(place, "second"),), write=True, sign=str(private))
    builder.build(plan_of(ONE))
    stolen = RemoteSettings(url=url, read=(key_line(place),))
    return Team(Machine(place / "second", Settings(remotes=(stolen, own))), own)


def forget_stolen(machine: Machine) -> set[tuple[str, bool]]:
    store = open_at(machine.folder)
    rows = revoke(store, a_key().fingerprint, "")
    store.close()
    return {(row.step, row.is_made_here) for row in rows}


@pytest.mark.parametrize("is_noted", [True, False])
def test_a_revoked_output_does_not_come_back_under_the_builders_own_key(
    team: Team, is_noted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`two` was made from what the stolen key signed, and pushed; also by a stackbuild whose records do not say so."""
    with monkeypatch.context() as patch:
        if not is_noted:
            patch.setattr("stackbuild.remote.push.signers_in", lambda notes: frozenset())
        team.second.build()
    assert forget_stolen(team.second) == {("base", False), ("one", False), ("two", True)}
    team.second.settings = Settings(remotes=(team.own,))
    done = team.second.build()
    assert sorted(done.started) == ["base", "one", "two"]
    warning, _ = [text for text in notes(done) if text.startswith("two: ")]  # by its key, and by its content key
    assert team.own.url in warning and "`store forget` has revoked" in warning and "revoked.json" in warning
    assert not [text for text in notes(done) if "not asked again" in text]
    assert (a_key().fingerprint in warning) == is_noted


def test_who_pulled_what_another_builder_made_from_a_stolen_keys_output_finds_it(team: Team, place: Path) -> None:
    """They never trusted the stolen key: the signed record says who signed the inputs."""
    team.second.build()
    third = Machine(place / "third", Settings(remotes=(RemoteSettings(url=team.own.url, read=team.own.read),)))
    assert third.build().began == []
    assert forget_stolen(third) == {("two", False)}
    done = third.build()
    assert "two" in done.started and [text for text in notes(done) if a_key().fingerprint in text]


def test_what_the_owner_signs_anew_with_another_key_is_taken(team: Team, builder: Machine, place: Path) -> None:
    team.second.build(plan_of(ONE))
    forget_stolen(team.second)
    ExportFolder("", place / "fresh", is_written=True)
    store = open_at(builder.folder)
    assert all(one.outcome == "pushed" for one in push_all(store, ExportFolder("", place / "fresh"), "fresh"))
    store.close()
    fresh = RemoteSettings(url=f"file://{place}/fresh", read=(key_line(place, "fresh"),))
    team.second.settings = Settings(remotes=(fresh,))
    assert team.second.build(plan_of(ONE)).began == []


def test_what_was_revoked_is_kept_by_gc_and_added_to(team: Team) -> None:
    team.second.build()
    forget_stolen(team.second)
    store = open_at(team.second.folder)
    revoke(store, a_key("other").fingerprint, "")
    collect(store, 0.0, time.time() + 10.0)
    revocations = read_revocations(store)
    assert revocations.keys == {a_key().fingerprint, a_key("other").fingerprint} and len(revocations.trees) == 1
    revocations_path(store).write_text("{")
    with pytest.raises(MachineLacks, match="cannot be read"):
        read_revocations(store)
    store.close()


def test_a_forgetting_removes_what_verbs_and_the_emulator_remember(user: Machine) -> None:
    """Keys of memos are of keys of steps, so a passed verification of a tainted output would count for the next one."""
    store = open_at(user.folder)
    store.remember("ab" * 32, "passed")
    (store.root / "emulator" / "translated").mkdir(parents=True)
    revoke(store, a_key().fingerprint, "")
    assert store.recall("ab" * 32) is None and not list((store.root / "emulator").iterdir())
    store.close()


def test_the_notes_of_own_inputs_are_not_signed_and_not_taken(builder: Machine, user: Machine, place: Path) -> None:
    builder.build()
    user.build()
    made, taken = (open_at(machine.folder).find(TWO.key) for machine in (builder, user))
    assert made is not None and taken is not None
    assert made.notes["input_signers"] == made.notes["input_remotes"] == ""
    assert not [name for name in taken.notes if name.startswith("input_")]


def test_an_input_that_a_worker_has_by_another_key_is_found_by_its_tree(builder: Machine, user: Machine) -> None:
    builder.build(plan_of(ONE))
    user.build(plan_of(ONE))
    store = open_at(user.folder)
    record = store.find(ONE.key)
    assert record is not None
    assert input_notes(store, {"0" * 64: record.tree})["input_signers"] == a_key().fingerprint
    assert input_notes(store, {"0" * 64: "1" * 64})["input_signers"] == "?"
    store.close()


def test_the_caches_go_also_where_no_record_is_left(user: Machine) -> None:
    store = open_at(user.folder)
    (store.root / "ccache" / "domain").mkdir()
    assert revoke(store, a_key().fingerprint, "") == () and not list((store.root / "ccache").iterdir())
    store.close()


@pytest.mark.parametrize(
    "text", ["alice", "SHA256:another", "MD5:" + "ab:" * 16, "SHA256:" + "a" * 44, "SHA256:" + "a" * 42 + "=", "ssh-ed25519 AAAA"]
)
def test_what_is_no_fingerprint_forgets_nothing(builder: Machine, text: str) -> None:
    store = open_at(builder.folder)
    with pytest.raises(UsageError, match="is not the fingerprint of a key") as refusal:
        tainted_records(store, text, "")
    assert "ssh-keygen -lf" in refusal.value.next
    with pytest.raises(UsageError, match="is not a URL of a remote"):
        tainted_records(store, "", text)
    store.close()


@pytest.mark.parametrize(
    "url", ["oci://:secret@h/x", "https://@h/x", "https://name@h/x", "oci://h:99999/x", "oci://h:x/x", "http://[h/x"]
)
def test_a_url_with_a_login_or_no_port_is_refused(url: str) -> None:
    with pytest.raises(UsageError, match=r"has a login|is not a URL"):
        kind_and_root(url)


def test_outputs_of_a_remote_are_forgotten_by_another_spelling_of_it(builder: Machine, user: Machine, url: str) -> None:
    builder.build()
    user.build()
    store = open_at(user.folder)
    assert tainted_records(store, "", url.replace("file:///", "file:////") + "/") == tainted_records(store, "", url) != ()
    assert not tainted_records(store, "", f"{url}2")
    store.close()
