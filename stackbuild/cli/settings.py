"""Settings that stand in files: `stackbuild.toml` where stackbuild runs, and the user's own in ~/.config/stackbuild.

An option counts before an environment variable, that before `./stackbuild.toml`, that before the user's file, that before the
default. A key of a file becomes its variable where that is not set, so every reader of the variable sees it.
"""

from __future__ import annotations

import os
from collections.abc import MutableMapping
from dataclasses import dataclass
from pathlib import Path

from stackbuild.core.errors import UsageError
from stackbuild.tables.near_words import close_to

FILE = "stackbuild.toml"


@dataclass(frozen=True)
class FileSetting:
    """A key of the file, the option that it stands in for, what it is, and what its value is: a path, one of some words, or a
    number from 0 on."""

    key: str
    option: str
    summary: str
    is_path: bool = False
    choices: tuple[str, ...] = ()
    is_number: bool = False

    @property
    def variable(self) -> str:
        """The environment variable that it sets."""
        return f"STACKBUILD_{self.key.upper()}"

    def refuse_wrong(self, text: str, name: str, where: str) -> None:
        """Raises UsageError for a value that is none of the words, or no number; `name` is what it is called at `where`."""
        if self.choices and text not in self.choices:
            raise UsageError(f"`{name}` cannot be {text!r}", where=where, next=f"one of: {', '.join(self.choices)}")
        if self.is_number and not (text.isdecimal() and text.isascii()):
            raise UsageError(f"`{name}` cannot be {text!r}", where=where, next=f"write a number such as `{name}=4`")


SETTINGS = (
    FileSetting("recipe", "--recipe", "the recipe of commands that take one"),
    FileSetting("store", "", "the folder of built outputs", is_path=True),
    FileSetting("runner", "--runner", "what runs steps", choices=("auto", "sandbox", "docker", "fake")),
    FileSetting("jobs", "--jobs", "jobs at once over all steps", is_number=True),
    FileSetting("mirror", "--mirror", "the folder that every source is taken from", is_path=True),
    FileSetting("remotes", "", "the file that names remote stores, or none", is_path=True),
    FileSetting("color", "--color", "colours", choices=("auto", "always", "never")),
)
"""Every setting; docs/command-line.md has the table of it."""


def apply_settings(environ: MutableMapping[str, str], folder: Path | None = None) -> None:
    """Set the variables of the files' keys where they are not set. Raises UsageError for a wrong file or variable."""
    for setting in SETTINGS:
        if text := environ.get(setting.variable):
            setting.refuse_wrong(text, setting.variable, "the environment")
    for file in (Path(FILE) if folder is None else folder / FILE, _users(environ)):
        if file is not None and _is_there(file):
            _apply(file, environ)


def _is_there(file: Path) -> bool:
    """False too in a folder that this user may not enter: with `sudo -u`, HOME can be another user's."""
    try:
        return file.is_file()
    except PermissionError:
        return False


def _users(environ: MutableMapping[str, str]) -> Path | None:
    home = environ.get("XDG_CONFIG_HOME") or (f"{environ['HOME']}/.config" if environ.get("HOME") else "")
    return Path(home) / "stackbuild" / FILE if home else None


def _apply(file: Path, environ: MutableMapping[str, str]) -> None:
    import tomllib

    if file.stat().st_uid not in (os.geteuid(), 0):
        raise UsageError(
            "it belongs to another user",
            where=str(file),
            next=f"chown it, or remove it: {file} decides where the store lies",
        )
    try:
        settings = tomllib.loads(file.read_text("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"not TOML: {error}", where=str(file), next="write lines such as `jobs = 4`") from None
    known = {setting.key: setting for setting in SETTINGS}
    for key, value in settings.items():
        if key not in known:
            raise UsageError(f"unknown key `{key}`", where=str(file), next=close_to(key, list(known)))
        if isinstance(value, bool) or not isinstance(value, str | int):
            raise UsageError(
                f"`{key}` is a text or a number, not {value!r}", where=str(file), next=f'write `{key} = "…"`'
            )
        setting, text = known[key], str(value)
        setting.refuse_wrong(text, key, str(file))
        if setting.is_path and text != "none":  # STACKBUILD_REMOTES=none switches them off
            text = str((file.parent / Path(text).expanduser()).absolute())
        environ.setdefault(setting.variable, text)
