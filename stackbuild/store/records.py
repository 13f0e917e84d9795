"""Records: which tree a key's output is, and who made it when."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from stackbuild.core import digest
from stackbuild.core.digest import json_of

SCHEMA = "stackbuild.record/1"


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
            return record
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"not a record: {error}") from None
