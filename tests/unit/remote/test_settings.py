"""Whom the user trusts: the file, its mistakes, keys that come and go."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import pytest

from stackbuild.core.errors import UsageError
from stackbuild.remote import settings
from stackbuild.remote.connection import trusted_remotes
from stackbuild.remote.settings import (
    RemoteSettings,
    Settings,
    add_keys,
    read_settings,
    remove_keys,
    settings_of,
    settings_path,
    write_settings,
)
from support.remotes import a_key, key_files

URL = "https://builds.example.org/sb"
NOW = datetime(2026, 11, 29, tzinfo=UTC)


def test_nothing_is_trusted_and_nothing_written_to_by_default(tmp_path: Path) -> None:
    assert read_settings() == Settings()
    _, public = key_files(tmp_path)
    added = add_keys(URL, [public])
    assert read_settings().remotes == (added,) and not added.write and added.threshold == 1
    assert [key.fingerprint for key in added.trusted_keys()] == [a_key().fingerprint]


def test_keys_come_and_go(tmp_path: Path) -> None:
    for name in ("first", "second"):
        add_keys(URL, [key_files(tmp_path, name)[1]])
    left = remove_keys(URL, a_key("first").fingerprint)
    assert left is not None and [key.name for key in left.trusted_keys()] == ["second"]
    with pytest.raises(UsageError, match="is not trusted for"):
        remove_keys(URL, a_key("first").fingerprint)
    assert remove_keys(URL) is None and read_settings() == Settings()
    with pytest.raises(UsageError, match="is not a remote of yours"):
        remove_keys(URL)


def test_a_key_that_is_added_again_is_replaced(tmp_path: Path) -> None:
    """So a stolen key gets its last day."""
    _, public = key_files(tmp_path)
    add_keys(URL, [public])
    signers = tmp_path / "allowed_signers"
    signers.write_text(f'builder valid-before="20260101" {" ".join(public.read_text().split()[:2])}\n')
    (key,) = add_keys(URL, [signers]).trusted_keys()
    assert key.valid_before is not None and key.valid_before.year == 2026


def test_comments_and_several_keys_in_one_block(tmp_path: Path) -> None:
    first, second = (key_files(tmp_path, name)[1].read_text() for name in ("first", "second"))
    settings_path().parent.mkdir(parents=True)
    settings_path().write_text(f"""remotes:
  - url: {URL}
    read:
      - "# the team"
      - |
        # both builders
        {first.strip()}
        {second.strip()}
""")
    (one,) = read_settings().remotes
    assert [key.name for key in one.trusted_keys()] == ["first", "second"]
    left = remove_keys(URL, a_key("first").fingerprint)
    assert left is not None and [key.name for key in left.trusted_keys()] == ["second"]
    assert read_settings().remotes == (left,) and left.read[:2] == ("# the team", "# both builders")


@pytest.mark.parametrize("mode", [0o666, 0o620])
def test_a_file_that_others_may_write_is_refused(mode: int, tmp_path: Path) -> None:
    add_keys(URL, [key_files(tmp_path)[1]])
    settings_path().chmod(mode)
    with pytest.raises(UsageError, match="others may say whom you trust"):
        read_settings()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("remotes: [{url: x, wirte: true}]", "remotes.0.wirte"),
        ("remotes: [{url: 'oci://h/r', write: true}]", "without `sign`"),
        ("remotes: [{url: 'oci://h/r', read: [no key]}]", "not an ed25519 public key"),
        ("remotes: [{url: ghcr.io/acme/builds}]", "has no scheme"),
        ("remotes: [{url: 'oci://h/r', read: [~/.ssh/acme.pub]}]", "the text of a public key belongs there"),
        ("remotes: [{url: 'oci://h/r', threshold: 0}]", "must be at least 1"),
        ("remotes: [", "cannot be read"),
        ("7", "must be a mapping"),
    ],
)
def test_a_mistake_is_named_with_its_place(text: str, said: str) -> None:
    settings_path().parent.mkdir(parents=True)
    settings_path().write_text(text)
    with pytest.raises(UsageError) as error:
        read_settings()
    assert said in str(error.value) and str(settings_path()) in str(error.value)


def test_none_stands_for_no_remote(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    add_keys(URL, [key_files(tmp_path)[1]])
    monkeypatch.setenv("STACKBUILD_REMOTES", "none")
    assert read_settings() == Settings()


def test_a_file_that_is_named_and_not_there_is_refused_until_it_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STACKBUILD_REMOTES", str(tmp_path / "mine.yaml"))
    with pytest.raises(UsageError, match="STACKBUILD_REMOTES") as stopped:
        read_settings()
    assert "none" in stopped.value.next and stopped.value.where == str(tmp_path / "mine.yaml")
    add_keys(URL, [key_files(tmp_path)[1]])
    assert read_settings().remotes[0].url == URL


def test_settings_are_written_as_they_are_read(tmp_path: Path) -> None:
    settings = settings_of(URL, [key_files(tmp_path)[1]])
    write_settings(settings)
    assert read_settings() == settings and settings_path().stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (URL, f"{URL}/"),
        (URL, "HTTPS://Builds.Example.org:443/sb//"),
        ("oci://ghcr.io/acme/sb", "oci://GHCR.io:443/acme/sb/"),
        ("oci://127.0.0.1:5000/sb", "oci+http://127.0.0.1:5000/sb"),
        ("file:///srv/sb", "file:///srv//./x/../sb/"),
        ("file:///srv/a b", "file:///srv/a%20b"),
    ],
)
def test_one_remote_under_two_spellings_is_one_entry(first: str, second: str, tmp_path: Path) -> None:
    for url, name in ((first, "first"), (second, "second")):
        add_keys(url, [key_files(tmp_path, name)[1]])
    (one,) = read_settings().remotes
    assert one.url == first and [key.name for key in one.trusted_keys()] == ["first", "second"]
    assert read_settings().of(second) == one
    assert remove_keys(second) is None and read_settings() == Settings()


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (URL, "http://builds.example.org/sb"),
        (URL, "https://builds.example.org:8443/sb"),
        (URL, "https://builds.example.org/SB"),
        ("oci://ghcr.io/acme/sb", "oci+http://ghcr.io/acme/sb"),
        ("oci://ghcr.io/acme/sb", "https://ghcr.io/v2/acme/sb"),
    ],
)
def test_other_remotes_are_other_entries(first: str, second: str, tmp_path: Path) -> None:
    for url in (first, second):
        add_keys(url, [key_files(tmp_path)[1]])
    assert len(read_settings().remotes) == 2


def test_two_entries_of_one_remote_in_the_file_are_refused(tmp_path: Path) -> None:
    add_keys(URL, [key_files(tmp_path)[1]])
    entry = settings_path().read_text().partition("remotes:\n")[2]
    settings_path().write_text(settings_path().read_text() + entry.replace(URL, f"{URL}/"))
    with pytest.raises(UsageError, match=f"{URL} and {URL}/ are one remote") as refusal:
        read_settings()
    assert str(settings_path()) in refusal.value.where and "one entry" in refusal.value.next


def test_a_threshold_above_the_number_of_keys_is_refused(tmp_path: Path) -> None:
    first, second = (key_files(tmp_path, name)[1] for name in ("first", "second"))
    with pytest.raises(UsageError, match="2 keys cannot agree where 1 is trusted") as refusal:
        add_keys(URL, [first, first], threshold=2)
    assert "name all public keys in one command" in refusal.value.next and read_settings() == Settings()
    assert add_keys(URL, [first, second], threshold=2).threshold == 2
    left = remove_keys(URL, a_key("first").fingerprint)  # a stolen key is removed all the same
    assert left is not None and left.hindrance(NOW) == "its threshold is 2, and 1 of its keys count"


def test_an_expired_key_is_said_to_hinder_where_the_others_are_too_few(tmp_path: Path) -> None:
    signers = tmp_path / "allowed_signers"
    line = " ".join(key_files(tmp_path)[1].read_text().split()[:2])
    signers.write_text(f'builder valid-before="20260101" {line}\n')
    remote = add_keys(URL, [signers])
    assert "0 of its keys count; key SHA256:" in remote.hindrance(NOW) and "expired on 2026-01-01" in remote.hindrance(NOW)
    assert not remote.hindrance(datetime(2025, 12, 1, tzinfo=UTC))
    assert not add_keys(URL, [key_files(tmp_path, "other")[1]]).hindrance(NOW)


def test_a_remote_without_enough_keys_is_not_asked_and_said_so(tmp_path: Path) -> None:
    read = (key_files(tmp_path)[1].read_text(),)
    settings = Settings(remotes=(RemoteSettings(url=URL, read=read, threshold=3), RemoteSettings(url=f"{URL}2", read=read)))
    warnings: list[str] = []
    remotes = trusted_remotes(settings, lambda host: None, warnings.append)
    assert [one.reader.url for one in remotes] == [f"{URL}2"]
    assert warnings == [f"nothing is taken from {URL}: its threshold is 3, and 1 of its keys count"]


@pytest.mark.parametrize(("first", "second"), [("", 'valid-before="20260101" '), ('valid-before="20270101" ', 'valid-after="20260101" ')])
def test_a_key_that_a_remote_lists_twice_with_other_times_is_refused(first: str, second: str, tmp_path: Path) -> None:
    """Which of them counts would depend on their order."""
    line = " ".join(key_files(tmp_path)[1].read_text().split()[:2])
    for lines in ((first, second), (second, first)):
        write_settings(Settings(remotes=(RemoteSettings(url=URL, read=tuple(f"builder {one}{line}" for one in lines)),)))
        for settings_of_command in (read_settings, lambda: add_keys(URL, [key_files(tmp_path, "other")[1]])):
            with pytest.raises(UsageError, match="is there twice, with other times of validity") as refusal:
                settings_of_command()
            assert refusal.value.where == f"{settings_path()}: {URL}" and refusal.value.next == "keep one of them"


def test_a_key_that_is_listed_twice_with_the_same_times_is_one_key(tmp_path: Path) -> None:
    line = " ".join(key_files(tmp_path)[1].read_text().split()[:2])
    write_settings(Settings(remotes=(RemoteSettings(url=URL, read=(line, f"builder {line}")),)))
    (remote,) = read_settings().remotes
    assert [key.fingerprint for key in remote.trusted_keys()] == [a_key().fingerprint]


@pytest.mark.parametrize("change", [lambda public: add_keys(URL, [public]), lambda public: remove_keys(URL)])
def test_no_remotes_have_no_file_to_change(
    change: Callable[[Path], object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("STACKBUILD_REMOTES", "none")
    _, public = key_files(tmp_path)
    with pytest.raises(UsageError, match="STACKBUILD_REMOTES=none") as refusal:
        change(public)
    assert "unset STACKBUILD_REMOTES" in refusal.value.next and not (tmp_path / "none").exists()


def test_keys_that_are_added_at_once_are_all_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each command reads the settings before it writes them: a slow one takes nothing away."""
    write = settings.write_settings

    def write_late(changed: Settings) -> Path:
        time.sleep(0.1)
        return write(changed)

    monkeypatch.setattr(settings, "write_settings", write_late)
    publics = [key_files(tmp_path, f"key{number}")[1] for number in range(4)]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda public: add_keys(f"{URL}/{public.stem}", [public]), publics))
    assert len(read_settings().remotes) == 4


@pytest.mark.parametrize(("sign", "file"), [("build.key", "keys/build.key"), ("~/build.key", "home/build.key"), ("/k", "/k")])
def test_a_signing_key_is_looked_for_from_the_folder_of_the_settings(
    sign: str, file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A build may be started in any folder."""
    (tmp_path / "keys").mkdir()
    path = tmp_path / "keys" / "remotes.yaml"
    path.write_text(f"remotes: [{{url: 'oci://h/r', write: true, sign: '{sign}'}}]\n")
    path.chmod(0o600)
    monkeypatch.setenv("STACKBUILD_REMOTES", str(path))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (remote,) = read_settings().remotes
    assert remote.signing_key == tmp_path / file
