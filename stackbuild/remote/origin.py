"""Where a local record's output came from, as its notes say."""

from __future__ import annotations

from dataclasses import dataclass

from stackbuild.store.records import Record


@dataclass(frozen=True)
class Origin:
    """Where an output came from: the remote, who signed its record, and the run that made it at that time."""

    url: str
    signed_by: str
    run: str
    made_at: str

    @classmethod
    def of(cls, record: Record) -> Origin | None:
        """That of a local record; None where the output was made here."""
        notes = record.notes
        if "remote" not in notes:
            return None
        return cls(notes["remote"], notes.get("signed_by", ""), notes.get("signed_run", ""), record.made_at)
