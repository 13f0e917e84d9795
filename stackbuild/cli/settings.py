"""Settings that stand in files: `stackbuild.toml` where stackbuild runs, and the user's own in ~/.config/stackbuild.

An option counts before an environment variable, that before `./stackbuild.toml`, that before the user's file, that before the
default. A key of a file becomes its variable where that is not set, so every reader of the variable sees it.

`./stackbuild.toml` may be a stranger's: it comes with a checkout. What decides whose outputs are believed counts there only
where the user's file names its folder in `trusted`.
"""

from __future__ import annotations

import difflib
import json
import os
import re
from collections.abc import MutableMapping
from dataclasses import dataclass
from pathlib import Path

from stackbuild.cli.option_forms import scheduler_meant
from stackbuild.core.conflict_markers import STEP, first_marker
from stackbuild.core.errors import UsageError
from stackbuild.core.plain_file import read_regular
from stackbuild.core.user_folders import folder_of
from stackbuild.recipe.near_path import near_path
from stackbuild.tables.near_words import close_to, one_of
from stackbuild.tables.runners import RUNNERS, runner_meant

FILE = "stackbuild.toml"
TRUSTED_KEY = "trusted"
"""The key of the user's file that lists folders, each with all below it, whose `stackbuild.toml` may name paths."""


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
    def example(self) -> str:
        """A value as the file has it."""
        words = {"recipe": "debian-13", "store": "store", "mirror": "bundle", "remotes": "remotes.yaml"}
        return "4" if self.is_number else json.dumps(self.choices[0] if self.choices else words[self.key])

    @property
    def variable(self) -> str:
        """The environment variable that it sets."""
        return f"STACKBUILD_{self.key.upper()}"

    def refuse_wrong(self, text: str, name: str, where: str) -> None:
        """Raises UsageError for a value that is not one of the words, or not a number; `name` is what it is called at `where`."""
        if self.choices and text not in self.choices:
            step = runner_meant(text) if self.choices is RUNNERS else one_of(text, self.choices)
            raise UsageError(f"`{name}` cannot be {text!r}", where=where, next=step)
        if self.is_number and not (text.isdecimal() and text.isascii()):
            sign = "=" if name.isupper() else " = "
            is_all = text.lower() in ("all", "auto", "max", "nproc", "cores")
            step = f"write `{name}{sign}0`: one job a core" if is_all else f"write a number such as `{name}{sign}4`"
            raise UsageError(f"`{name}` cannot be {text!r}", where=where, next=step)


SETTINGS = (
    FileSetting("recipe", "--recipe", "the recipe of commands that take one"),
    FileSetting("store", "", "the folder of built outputs", is_path=True),
    FileSetting("runner", "--runner", "what runs steps", choices=RUNNERS),
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
    users = _users(environ)
    own = _values(users) if users is not None and _is_there(users) else {}
    trusted_folders = _trusted_folders(own.pop(TRUSTED_KEY, []), users)
    here = Path(FILE) if folder is None else folder / FILE
    if _is_there(here):
        values = _values(here)
        for setting in SETTINGS:
            if setting.is_path and setting.key in values and setting.variable not in environ:
                _refuse_foreign(setting, values[setting.key], here, trusted_folders, users)
        _apply(values, here, environ)
    if users is not None:
        _apply(own, users, environ)
    refuse_wrong_variables(environ)


def place_in(file: Path, key: str) -> str:
    """`stackbuild.toml:LINE:COLUMN` of a key, the file alone where no line has it."""
    return _line_of(file, key)[0] or str(file)


def _line_of(file: Path, key: str) -> tuple[str, str]:
    """The place of a key in a file, and its line; ("", "") where no line has it."""
    text = read_regular(file, MOST + 1) or b""
    for number, line in enumerate(text.decode("utf-8", "replace").splitlines(), 1):
        if re.match(rf"\s*(?:\[\s*)?[\"']?{re.escape(key)}[\"']?\s*[\]=.]", line):
            return f"{file}:{number}:{len(line) - len(line.lstrip()) + 1}", line
    return "", ""


def origin_of(variable: str, value: str) -> str:
    """Where a variable has its value from: the key of a file, with its line; else the variable's own name."""
    key = variable.removeprefix("STACKBUILD_").lower()
    for file in (Path(FILE), _users(os.environ)):
        place, line = _line_of(file, key) if file is not None and _is_there(file) else ("", "")
        if f'"{value}"' in line or f"'{value}'" in line:
            return place
    return variable


def _is_there(file: Path) -> bool:
    """False too in a folder that this user may not enter: with `sudo -u`, HOME can be another user's."""
    try:
        return file.exists()
    except PermissionError:
        return False


def _users(environ: MutableMapping[str, str]) -> Path | None:
    home = folder_of("XDG_CONFIG_HOME", environ)
    return home / "stackbuild" / FILE if home else None


def _values(file: Path) -> dict[str, object]:
    """What a file says. Raises UsageError where it is another user's, or not TOML."""
    import tomllib

    if file.stat().st_uid not in (os.geteuid(), 0):
        raise UsageError(
            "it belongs to another user",
            where=str(file),
            next=f"chown it, or remove it: {file} decides where the store lies",
        )
    if (data := read_regular(file, MOST + 1)) is None:
        raise UsageError(
            "it is not a file that can be read", where=str(file), next="remove it, or check its permissions"
        )
    if len(data) > MOST:
        raise UsageError(f"it has more than {MOST} bytes", where=str(file), next="write lines such as `jobs = 4`")
    try:
        return tomllib.loads(data.decode("utf-8"))
    except (ValueError, RecursionError) as error:  # also a number of more digits than Python reads
        what, place, step = _slip(str(error), data.decode("utf-8", "replace"), file)
        raise UsageError(what, where=place, next=step) from None


def _slip(reason: str, text: str, file: Path) -> tuple[str, str, str]:
    """What is wrong with a text that is not TOML, where, and the line that was probably meant."""
    at = re.search(r" ?\(at (?:line (\d+), column (\d+)|end of document)\)", reason)
    reason = reason.replace(at[0], "") if at else reason
    line_number, marker = first_marker(text)
    if line_number:
        return f"a conflict marker of git: `{marker[:60]}`", f"{file}:{line_number}:1", STEP
    if at is None or not at[1]:
        return f"not TOML: {reason}", str(file), "write lines such as `jobs = 4`"
    place = f"{file}:{at[1]}:{at[2]}"
    line = text.splitlines()[int(at[1]) - 1] if int(at[1]) <= text.count("\n") + 1 else ""
    pair = re.fullmatch(r"\s*([A-Za-z_]+)\s*(?:[:=]\s*|\s)(.*?)\s*[;,]?\s*", line)
    if reason == "Cannot overwrite a value":
        return f"not TOML: `{pair[1] if pair else line}` is there twice", place, "remove one of the two lines"
    if pair is None or pair[1] not in [setting.key for setting in SETTINGS]:
        return f"not TOML: {reason}", place, "write lines such as `jobs = 4`"
    value = pair[2].strip("\"'“”‘’")
    is_number = next(setting.is_number for setting in SETTINGS if setting.key == pair[1]) and value.isdecimal()
    return f"not TOML: {reason}", place, f"write `{pair[1]} = {value if is_number else json.dumps(value)}`"


MOST = 1 << 14
"""Bytes of a file that are read: the time for keys with many dots grows with their square."""


def _trusted_folders(value: object, file: Path | None) -> tuple[Path, ...]:
    """The folders that the user's file trusts. Raises UsageError."""
    if not isinstance(value, list) or not all(isinstance(one, str) and "\0" not in one for one in value):
        raise UsageError(
            f"`{TRUSTED_KEY}` is a list of folders", where=str(file), next=f'write `{TRUSTED_KEY} = ["~/project"]`'
        )
    return tuple(_path(one, TRUSTED_KEY, file).resolve() for one in value) if file else ()


def _refuse_foreign(
    setting: FileSetting, value: object, file: Path, trusted_folders: tuple[Path, ...], users: Path | None
) -> None:
    """Raises UsageError for a path of `./stackbuild.toml` in a folder that the user does not trust."""
    folder = file.absolute().parent.resolve()
    if value == "none" or any(folder.is_relative_to(one) for one in trusted_folders):
        return
    consent = f"add {folder} to `{TRUSTED_KEY}` in {users}, or " if users else ""
    raise UsageError(
        f"`{setting.key}` decides whose outputs are believed, and this folder is not trusted",
        where=str(file),
        next=f"{consent}set {setting.variable}",
    )


def _apply(values: dict[str, object], file: Path, environ: MutableMapping[str, str]) -> None:
    by_key = {setting.key: setting for setting in SETTINGS}
    for key, value in values.items():
        if key not in by_key:
            if isinstance(values[key], dict):
                step = f'remove the line `[{key}]`: keys stand without a table, such as `recipe = "debian-13"`'
                raise UsageError(f"`[{key}]` is a table", where=place_in(file, key), next=step)
            raise UsageError(f"unknown key `{key}`", where=place_in(file, key), next=_step_for_key(key, list(by_key)))
        setting, where = by_key[key], place_in(file, key)
        if isinstance(value, bool) or not isinstance(value, str | int):
            kind = "a number" if setting.is_number else "a text"
            step = f"write `{key} = {_value_meant(setting, value)}`"
            raise UsageError(f"`{key}` is {kind}, not {value!r}", where=where, next=step)
        text = str(value)
        if "\0" in text:
            raise UsageError(f"`{key}` holds a null character", where=where, next="remove it")
        if not text.strip():
            raise UsageError(f"`{key}` is empty", where=where, next=f"write `{key} = {setting.example}`, or remove the line")
        setting.refuse_wrong(text, key, where)
        if setting.is_path and text != "none":  # STACKBUILD_REMOTES=none switches them off
            text = str(_path(text, key, file))
        environ.setdefault(setting.variable, text)


_INSTEAD = {
    "verbose": "remove it, and call `stackbuild -v`", "quiet": "remove it, and call `stackbuild -q`", "remote": "did you mean `remotes`?",
    "gfx": "remove it: the recipe has `gfx:`", "rocm": "remove it: the recipe has `rocm:`", "python": "remove it: the recipe has `python:`",
    "memory": "remove it: the recipe's components have `memory:`", "on": "remove it, and set STACKBUILD_ON",
    **dict.fromkeys(("parallel", "cores", "workers", "threads", "concurrency", "processes", "nproc", "j", "cpus"), "did you mean `jobs`?"),
    **dict.fromkeys(("cache", "cache_dir", "store_dir", "root", "data_dir"), "did you mean `store`?"),
    **dict.fromkeys(("config", "file", "default_recipe", "stack"), "did you mean `recipe`?"),
    **dict.fromkeys(("engine", "executor", "backend", "container", "container_engine"), "did you mean `runner`?"),
}  # fmt: skip
"""Words that are not keys of the file, and what to do in place of each."""


def _step_for_key(key: str, keys: list[str]) -> str:
    bare = key.lower().removeprefix("stackbuild_").replace("-", "_")
    return _INSTEAD.get(bare) or close_to(bare, keys)


def _value_meant(setting: FileSetting, value: object) -> str:
    """What to write for a value of another type: the one value of a list, the whole number of `1.5`, else an example."""
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], str):
        return json.dumps(value[0])
    if setting.is_number and isinstance(value, float) and 1 <= value < 1024:
        return str(round(value))
    return setting.example


VARIABLES = {
    "STACKBUILD_MIRROR_FOR": ("sources", "`sources`, or unset it: a mirror then stands for all servers"),
    "STACKBUILD_MIRROR_DIGEST": (r"(?:sha256:)?[0-9a-f]{64}", "the 64 digits that `stackbuild fetch --bundle` printed"),
    "STACKBUILD_ON": (r"(?:tcp(?:\+tls)?|tls)://.+:\d+", "the scheduler's address, such as `tcp+tls://host.example.org:8786`"),
    "STACKBUILD_STORE": (r"[^~].*", "the whole path: a shell alone fills in `~`"),
    "STACKBUILD_OLDER": (r"(?i)0|1|true|false|yes|no|on|off|t|f|y|n", "`1`, or unset it"),
    "STACKBUILD_INDEX_AT_LEAST": (r"\d+", "the number of a signed index, such as `3`"),
}
"""Variables that are not keys of the file, the pattern of each, and what to write."""
_OTHER_VARIABLES = ("STACKBUILD_TLS_CA", "STACKBUILD_TLS_CERT", "STACKBUILD_TLS_KEY", "STACKBUILD_KEY_PASSPHRASE")


def refuse_wrong_variables(environ: MutableMapping[str, str]) -> None:
    """Raises UsageError for a variable that cannot have its value, and for one that is almost the name of a setting."""
    for name, (pattern, step) in VARIABLES.items():
        text = environ.get(name, "")
        if name == "STACKBUILD_ON" and (address := scheduler_meant(text)):
            step = f"`{address}`"
        if text and not re.fullmatch(pattern, text):
            raise UsageError(f"`{name}` cannot be {text!r}", where="the environment", next=f"write {step}")
    for name in _OTHER_VARIABLES[:3]:
        file = environ.get(name, "")
        if file and not Path(file).is_file():
            similar = near_path(file)
            step = f"did you mean `{similar}`?" if similar else "write the path of a PEM file, or unset it"
            raise UsageError(f"`{name}`: there is no file {file!r}", where="the environment", next=step)
    names = [*(setting.variable for setting in SETTINGS), *VARIABLES, *_OTHER_VARIABLES]
    for name in environ:
        if name.startswith("STACKBUILD_") and name not in names and (near := difflib.get_close_matches(name, names, 1, 0.93)):
            raise UsageError(f"`{name}` is not a variable of stackbuild", where="the environment", next=f"did you mean `{near[0]}`?")


def _path(text: str, key: str, file: Path) -> Path:
    """A path of a file, which starts at its folder. Raises UsageError where it names a user who is not there."""
    try:
        return (file.parent / Path(text).expanduser()).absolute()
    except RuntimeError:
        raise UsageError(
            f"`{key}`: {text!r} has no home folder", where=str(file), next="write the whole path"
        ) from None
