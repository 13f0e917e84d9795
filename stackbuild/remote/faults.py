"""What can be wrong with an answer of a remote: each is a miss with a warning, never an error of a build."""

from __future__ import annotations

from stackbuild.core.errors import safe

MOST_WHAT = 500
"""Characters that are shown of what is wrong. Some of it is a server's text."""
MOST_VALUE = 200
"""Characters that are shown of a blob's name, and of what was expected and came."""


class RemoteFault(Exception):
    """An answer that is not taken: what is wrong, of which blob or tag, and what was expected and came."""

    def __init__(self, what: str, *, blob: str = "", promise: str = "", actual: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.blob = blob
        self.promise = promise
        self.actual = actual

    def __str__(self) -> str:
        """One line of bounded length, control characters as escapes: whoever serves the answer can choose the text."""
        rows = (("", self.blob), ("expected ", self.promise), ("got ", self.actual))
        more = ", ".join(f"{name}{excerpt(value, MOST_VALUE)}" for name, value in rows if value)
        what = excerpt(self.what, MOST_WHAT)
        return f"{what} ({more})" if more else what


def excerpt(text: str, most: int) -> str:
    """The beginning of a text, on one line."""
    return safe(text[:most], keep="") + ("…" if len(text) > most else "")


class NoRoom(RemoteFault):
    """This disk has no room for an output. It says nothing about the remote."""


class RecordRevoked(RemoteFault):
    """A record of what `store forget` has revoked. It says nothing about the remote's other records."""


class ListDamaged(RemoteFault):
    """A remote's list of tags that is damaged: it hides tags that are there. So it is not used."""


class RemoteUnreachable(RemoteFault):
    """The remote cannot be reached at all: it is not asked again in this run."""


class BlobAbsent(RemoteFault):
    """A registry refuses a manifest, for it does not see a blob that it was just sent.

    Debian's does so for a moment where two clients send the same blob. So it says nothing about the remote as a whole.
    """
