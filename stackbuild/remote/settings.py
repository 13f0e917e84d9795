"""Which remotes are asked, and whose signatures count: `remotes.yaml` of the user. A recipe cannot name any.

    remotes:
      - url: oci://ghcr.io/acme/stackbuild
        read: ["ssh-ed25519 AAAA… alice@acme"]
        write: false

With no key in `read`, nothing is pulled. `write: true` needs `sign`, the path of a private key from this file's folder:
then `build` pushes what it made. Keys are lines of `.pub` files or of `allowed_signers` (ssh-keygen(1)), with `valid-before` for a key that has
been replaced or stolen.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import stat
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path

from stackbuild.core import yaml
from stackbuild.core.cancel import check_signals
from stackbuild.core.errors import RecipeError, UsageError
from stackbuild.core.model import Field, Model, ValidationError, field_validator
from stackbuild.core.shell_words import shell_word
from stackbuild.core.user_folders import user_folder
from stackbuild.core.yaml_file import mistakes_of
from stackbuild.publishing.ssh_keys import TrustedKey, distinct_keys, load_trusted_keys, trusted_keys_of
from stackbuild.remote.url import kind_and_root, place_of
from stackbuild.store import atomic, locks

VARIABLE = "STACKBUILD_REMOTES"
"""Names another file of settings; `none` stands for no remote."""
HEADER = "# Remotes of stackbuild; `stackbuild store trust` changes it. docs/sharing.md says what each field means.\n"


class RemoteSettings(Model):
    """One remote: its URL, the public keys whose records count, how many must agree, and whether builds push to it."""

    url: str
    read: tuple[str, ...] = ()
    threshold: int = Field(default=1, ge=1, le=16)
    write: bool = False
    sign: str = ""

    @field_validator("read")
    @classmethod
    def _one_key_a_line(cls, read: tuple[str, ...]) -> tuple[str, ...]:
        """A block of YAML can have several lines, each of them a key or a comment."""
        return tuple(line.strip() for entry in read for line in entry.splitlines() if line.strip())

    @property
    def signing_key(self) -> Path:
        """The file that `sign` names. A relative path starts at the folder of the settings, `~` at the home folder."""
        return settings_path().parent / Path(self.sign).expanduser()

    def trusted_keys(self) -> tuple[TrustedKey, ...]:
        """Each key once. Raises UsageError where a line is not a key, and where two lines of a key have other times."""
        where = f"{settings_path()}: {self.url}"
        return distinct_keys(trusted_keys_of(self.read, where), where)

    def hindrance(self, now: datetime) -> str:
        """Why nothing can be taken from it at that time although it has keys, "" where something can. Raises UsageError."""
        keys = self.trusted_keys()
        refusals = {key.fingerprint: key.refusal(now) for key in keys}
        count = sum(not refusal for refusal in refusals.values())
        if not keys or count >= self.threshold:
            return ""
        why = "".join(f"; {refusal}" for refusal in refusals.values() if refusal)
        return f"its threshold is {self.threshold}, and {count} of its keys count{why}"


class Settings(Model):
    """All remotes, in the order in which they are asked."""

    remotes: tuple[RemoteSettings, ...] = ()

    def of(self, url: str) -> RemoteSettings:
        """Those of a URL; without keys where there are none."""
        return next((one for one in self.remotes if place_of(one.url) == place_of(url)), RemoteSettings(url=url))


def settings_of(url: str, keys: Sequence[Path]) -> Settings:
    """One remote with the keys of these files, to be read. Raises UsageError."""
    kind_and_root(url)
    load_trusted_keys(keys)
    return Settings(remotes=(RemoteSettings(url=url, read=_lines(keys)),))


def _lines(keys: Sequence[Path]) -> tuple[str, ...]:
    lines = (line.strip() for path in keys for line in path.read_text("utf-8").splitlines())
    return tuple(line for line in lines if line and not line.startswith("#"))


def settings_path() -> Path:
    """`$STACKBUILD_REMOTES`, else `stackbuild/remotes.yaml` in `$XDG_CONFIG_HOME` or `~/.config`."""
    if text := os.environ.get(VARIABLE):
        return Path(text).absolute()
    return user_folder("XDG_CONFIG_HOME") / "stackbuild" / "remotes.yaml"


_ENTRY = "an entry is such as `remotes: [{url: \"oci://registry.example.org/stack\", read: [KEY]}]`"


def read_settings(*, may_lack: bool = False) -> Settings:
    """The user's settings; none where there is no file. Raises UsageError where they are wrong, or others may write them.

    A key that a remote lists twice with other times of validity is wrong: which of them counts would depend on their order.

    A file that `$STACKBUILD_REMOTES` names must exist, but for `may_lack`, as a command wants it that writes the file.
    """
    if os.environ.get(VARIABLE) == "none":
        return Settings()
    path = settings_path()
    try:
        with path.open("rb") as file:
            status, text = os.fstat(file.fileno()), file.read(yaml.MAX_BYTES + 1)
    except FileNotFoundError:
        if os.environ.get(VARIABLE) and not may_lack:
            raise UsageError(
                "no such file, which STACKBUILD_REMOTES or `remotes` of stackbuild.toml names", where=str(path),
                next="correct the path, write `none` for no remotes, or `stackbuild store trust add` makes the file",
            ) from None  # fmt: skip
        return Settings()
    except OSError as error:
        if isinstance(error, PermissionError) and not os.access(
            path.parent, os.X_OK
        ):  # another user's HOME, as with `sudo -u`
            return Settings()
        raise UsageError(
            f"the remotes cannot be read: {error.strerror}", where=str(path), next="fix the file"
        ) from None
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH) or status.st_uid not in (os.getuid(), 0):
        raise UsageError("others may say whom you trust", where=str(path), next=f"chmod 600 {shell_word(path)}, as its owner")
    try:
        data, places = yaml.compose(text.decode("utf-8"), str(path))
        settings = Settings.model_validate(data or {})
    except ValidationError as error:
        raise mistakes_of(error, places, Settings, _ENTRY) from None
    except RecipeError as error:
        first = error.mistakes[0]
        raise UsageError(f"the remotes cannot be read: {first.what}", where=first.place, next=first.next) from None
    except UnicodeDecodeError as error:
        raise UsageError(f"the remotes cannot be read: {error}", where=str(path), next="save it as UTF-8") from None
    urls: dict[tuple[str, str], str] = {}
    for i, one in enumerate(settings.remotes):
        _refuse_place(one.url, places.of_value(("remotes", i, "url")))
        _refuse_files(one.read, places.of_value(("remotes", i, "read")))
        one.trusted_keys()
        if twin := urls.get(place_of(one.url)):
            raise UsageError(
                f"{twin} and {one.url} are one remote", where=places.of_value(("remotes", i, "url")), next="make one entry of the two in that file"
            )
        urls[place_of(one.url)] = one.url
        if one.write and not one.sign:
            at = places.of_value(("remotes", i, "write"))
            raise UsageError(
                f"`write: true` of {one.url} without `sign`", where=at,
                next="add `sign: FILE` beside it, with the path of a private key",
            )  # fmt: skip
    return settings


def _refuse_place(url: str, where: str) -> None:
    """Raises UsageError for what is not a URL of a remote: nothing would ever be taken from it."""
    try:
        kind_and_root(url)
    except UsageError as error:
        if "://" in url:
            raise UsageError(error.what, where=where, next=error.next) from None
        is_registry = re.match(r"[\w-]+(?:\.[\w-]+)*\.[a-z]{2,}(?::\d+)?/|localhost[:/]", url) is not None
        url_with_scheme = f"file://{url}" if url.startswith("/") else f"oci://{url}" if is_registry else ""
        step = f"write `url: {url_with_scheme}`" if url_with_scheme else error.next
        raise UsageError(f"{url!r} has no scheme, so it is not a URL of a remote", where=where, next=step) from None


def _refuse_files(lines: tuple[str, ...], where: str) -> None:
    """Raises UsageError for the path of a key where its text belongs."""
    for line in lines:
        if " " not in line and re.search(r"\.pub$|^[~./]|/", line):
            step = f"write the text of that file, such as `read: [\"ssh-ed25519 AAAA… you@host\"]`: `cat {line}` prints it"
            raise UsageError(f"`read` has the path {line!r}, and the text of a public key belongs there", where=where, next=step)


def write_settings(settings: Settings) -> Path:
    """Write them, readable for the user alone; where. Raises OSError."""
    path = settings_path()
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = ["remotes:\n" if settings.remotes else "remotes: []\n"]
    for one in settings.remotes:
        lead = "  - "
        for name, value in one.model_dump(exclude_defaults=True).items():
            lines.append(f"{lead}{name}: {json.dumps(value)}\n")
            lead = "    "
    atomic.write_whole(path, HEADER + "".join(lines), path.parent)
    path.chmod(0o600)
    return path


@contextlib.contextmanager
def _change() -> Iterator[None]:
    """Held while the settings are read, changed and written: two commands at once lose no entry. Raises UsageError."""
    path = settings_path()
    if os.environ.get(VARIABLE) == "none":
        raise UsageError(
            f"{VARIABLE}=none stands for no remotes, so there is no file to change",
            next=f"unset {VARIABLE}, or let it name a file; `remotes` of stackbuild.toml sets it, too",
        )
    with locks.hold(path.with_name(f".{path.name}.lock"), lambda pid: None, check_signals):
        yield


def add_keys(url: str, keys: Sequence[Path], threshold: int = 0) -> RemoteSettings:
    """Add public keys to a remote; what is set for it now. Raises UsageError, OSError."""
    kind_and_root(url)
    with _change():
        return _add_keys(url, keys, threshold)


def _add_keys(url: str, keys: Sequence[Path], threshold: int) -> RemoteSettings:
    settings = read_settings(may_lack=True)
    old = settings.of(url)
    load_trusted_keys(keys)
    fresh = _lines(keys)
    keys_by_fingerprint = {key.fingerprint for line in fresh for key in trusted_keys_of((line,), url)}
    lines = [
        line
        for line in old.read
        if not keys_by_fingerprint & {key.fingerprint for key in trusted_keys_of((line,), url)}
    ]
    new = old.model_copy(update={"read": (*lines, *fresh), **({"threshold": threshold} if threshold else {})})
    count = len({key.fingerprint for key in new.trusted_keys()})
    if threshold > count:
        raise UsageError(
            f"{threshold} keys cannot agree where {count} {'are' if count != 1 else 'is'} trusted for {url}",
            next="name all public keys in one command, or a lower --threshold",
        )
    _replace(settings, new)
    return new


def remove_keys(url: str, fingerprint: str = "") -> RemoteSettings | None:
    """Remove a key of a remote, or the remote as a whole; what is left of it. Raises UsageError, OSError."""
    with _change():
        return _remove_keys(url, fingerprint)


def _remove_keys(url: str, fingerprint: str) -> RemoteSettings | None:
    settings = read_settings()
    old = next((one for one in settings.remotes if place_of(one.url) == place_of(url)), None)
    if old is None:
        raise UsageError(f"{url} is not a remote of yours", next="`stackbuild store trust ls` lists them")
    if not fingerprint:
        write_settings(Settings(remotes=tuple(one for one in settings.remotes if one.url != old.url)))
        return None
    lines = tuple(
        line for line in old.read if fingerprint not in {key.fingerprint for key in trusted_keys_of((line,), url)}
    )
    if len(lines) == len(old.read):
        raise UsageError(f"{fingerprint} is not trusted for {url}", next="`stackbuild store trust ls` lists the keys")
    new = old.model_copy(update={"read": lines})
    _replace(settings, new)
    return new


def _replace(settings: Settings, new: RemoteSettings) -> None:
    others = [one for one in settings.remotes if one.url != new.url]
    at = next((i for i, one in enumerate(settings.remotes) if one.url == new.url), len(others))
    write_settings(Settings(remotes=(*others[:at], new, *others[at:])))
