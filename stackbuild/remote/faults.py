"""What can be wrong with an answer of a remote: each is a miss with a warning, never an error of a build."""

from __future__ import annotations


class RemoteFault(Exception):
    """An answer that is not taken: what is wrong, of which blob or tag, and what was expected and came."""

    def __init__(self, what: str, *, blob: str = "", expected: str = "", got: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.blob = blob
        self.expected = expected
        self.got = got

    def __str__(self) -> str:
        rows = (("", self.blob), ("expected ", self.expected), ("got ", self.got))
        more = ", ".join(f"{name}{value}" for name, value in rows if value)
        return f"{self.what} ({more})" if more else self.what


class NoRoom(RemoteFault):
    """This disk has no room for an output. It says nothing about the remote."""


class RemoteUnreachable(RemoteFault):
    """The remote cannot be reached at all: it is not asked again in this run."""
