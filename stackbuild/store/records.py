"""Records: which tree a key's output is, and who made it when."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from stackbuild.core import digest
from stackbuild.core.digest import json_of

SCHEMA = "stackbuild.record/1"
PEAK_MEMORY = "peak_memory"
"""The note with the most memory of a step's processes at once, in bytes. It is that machine's, and in no signed record."""
INPUT_SIGNERS, INPUT_REMOTES = "input_signers", "input_remotes"
"""The notes with the keys that signed what an output was made from, and with the remotes that it came from, one a line.

A record of before 29 November 2026 has neither. The remotes are that machine's, and in no signed record.
"""
MOST_SECONDS = 1e9
"""More than a step can take, some 30 years."""
CONTENT = "content\n"
"""How the text of a content key begins."""
FILE_KINDS = ("x", "-", "link")
"""How `stackbuild.sources.local.survey` says that a file can be executed, cannot, or is a link."""


@dataclass(frozen=True)
class Record:
    """One output: `tree` is its digest; `key_text` what it was made from; `notes` what the action said of it.

    `key` is the digest of `key_text`. `made_by` is the run that made it; `like` the key of the step whose identical inputs
    let this one be reused. Under a content key, `key_text` is the text that the content key is the digest of.
    """

    key: str
    step: str
    recipe: str
    tree: str
    key_text: str
    seconds: float
    made_by: str
    made_at: str
    notes: dict[str, str]
    like: str = ""

    def text(self) -> str:
        body = {"schema": SCHEMA, **asdict(self)}
        return json.dumps({**body, "sha256": digest.of_value(body)}, indent=1, ensure_ascii=True) + "\n"

    @classmethod
    def read(cls, text: str) -> Record:
        """Raises ValueError on anything but a whole record with the digest it was written with and the key of its text."""
        try:
            data = json_of(text)
            if data.pop("sha256") != digest.of_value(data):
                raise ValueError("its digest is another")
            if data.pop("schema") != SCHEMA:
                raise ValueError("another schema")
            record = cls(**data)
            if digest.of_text(record.key_text) != record.key:
                raise ValueError("its key is that of another text")
            refuse_form(record.seconds, record.notes)
            return record
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"not a record: {error}") from None


def refuse_form(seconds: object, notes: object) -> None:
    """Raises ValueError where a step could not have taken that long, or noted that."""
    if type(seconds) not in (int, float) or not 0 <= seconds <= MOST_SECONDS:  # type: ignore[operator]
        raise ValueError("a step cannot take that many seconds")
    if not isinstance(notes, dict) or not all(isinstance(one, str) for pair in notes.items() for one in pair):
        raise ValueError("its notes are not texts by name")
    packages_in(notes)
    patches_in(notes)


def packages_in(notes: dict[str, str]) -> dict[str, str] | None:
    """The packages that a base really got, name to version; None where none are noted. Raises ValueError."""
    if "packages" not in notes:
        return None
    rows = json_of(notes["packages"])
    if not isinstance(rows, dict) or not all(_is_word(one) for pair in rows.items() for one in pair):
        raise ValueError("its note `packages` is not versions by name")
    return rows


def patches_in(notes: dict[str, str]) -> list[tuple[str, str, str]] | None:
    """The patches of a source as `survey` lists files; None where none are noted. Raises ValueError."""
    if "patches" not in notes:
        return None
    rows = json_of(notes["patches"])
    if not isinstance(rows, list) or not all(_is_file(row) for row in rows):
        raise ValueError("its note `patches` is not a list of files")
    return [(path, kind, content) for path, kind, content in rows]


def _is_word(text: object) -> bool:
    return isinstance(text, str) and text != "" and text.isprintable() and " " not in text


def _is_file(row: object) -> bool:
    return isinstance(row, list) and len(row) == 3 and all(isinstance(one, str) for one in row) and row[1] in FILE_KINDS
