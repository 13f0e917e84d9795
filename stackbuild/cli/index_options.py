"""Options that commands on an index share, and the index that they name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from stackbuild.cli.app import JsonOption, option

if TYPE_CHECKING:
    from stackbuild.publishing.publication import Publication

REGISTRY_SCHEMES = ("oci://", "oci+http://")
UPLOAD_SCHEMES = ("http://", "https://")
SignIndexOption = Annotated[
    list[Path] | None,
    option(
        "--sign",
        metavar="KEY",
        help="OpenSSH ed25519 private key (`ssh-keygen -t ed25519`); may be repeated. Its passphrase comes from"
        " $STACKBUILD_KEY_PASSPHRASE.",
    ),
]
UnsignedOption = Annotated[
    bool, option("--unsigned", help="Write a signed index without a signature: it is signed no more.")
]
LowestNumber = Annotated[
    int,
    option(
        "--at-least",
        metavar="N",
        min=0,
        envvar="STACKBUILD_INDEX_AT_LEAST",
        show_envvar=False,
        help="Refuse a signed state with a number below N: for a machine that has not seen the index before;"
        " $STACKBUILD_INDEX_AT_LEAST.",
    ),
]
RootOption = Annotated[
    str,
    option(
        "--root",
        metavar="NAME",
        help="The name that the signature binds the index to, as `rocm-7.2/simple`; default: the one it has, or its folder's.",
    ),
]
Days = Annotated[float, option("--days", metavar="N", help="How long the signature of the index holds.")]


@dataclass(frozen=True)
class SigningOptions:
    """How the next state of an index is signed: OpenSSH private keys, or none on purpose; so many days; the least number; the
    index's name."""

    sign: Sequence[Path] | None
    unsigned: bool = False
    days: float = 90.0
    at_least: int = 0
    root: str = ""

    def publication(self) -> Publication:
        """The publication that these options alone ask for. Raises UsageError for a key that cannot be read."""
        from stackbuild.publishing.index_numbers import default_numbers_file
        from stackbuild.publishing.publication import Publication
        from stackbuild.publishing.ssh_keys import load_signing_key

        return Publication(
            numbers=default_numbers_file() if self.sign or self.unsigned else None,
            keys=tuple(load_signing_key(path) for path in self.sign or ()),
            unsigned=self.unsigned,
            days=self.days,
            at_least=self.at_least,
            root=self.root,
        )


@dataclass(frozen=True)
class IndexChange:
    """How a change of an index is signed, and how the command answers."""

    sign: SignIndexOption = None
    unsigned: UnsignedOption = False
    days: Days = 90.0
    at_least: LowestNumber = 0
    json: JsonOption = False

    @property
    def signing(self) -> SigningOptions:
        return SigningOptions(self.sign, self.unsigned, self.days, self.at_least)


def refuse_scheme(place: str, others: Sequence[str] = ()) -> None:
    """A URL that is not an object store's is not a folder. `others` are the schemes that the command takes besides."""
    from stackbuild.core.errors import UsageError
    from stackbuild.publishing.object_store import SCHEMES, is_object_url

    if not place:
        raise UsageError("the place of the index is empty", next="give a folder: is a variable of the command not set?")
    schemes = (*SCHEMES, *others)
    if "://" in place and not is_object_url(place):
        raise UsageError(
            f"{place!r} is not a place for an index",
            next=f"give a folder, or a URL that begins with {' or '.join(schemes)}",
        )
    if scheme := next(
        (one for one in schemes if place.lower().startswith(one.replace("//", "/")) and "://" not in place), ""
    ):
        raise UsageError(
            f"{place!r} would be a folder: it has one slash after its colon",
            next=f"write {scheme}{place.partition(':')[2].lstrip('/')}, or ./{place} for the folder",
        )


@contextmanager
def open_index(place: str, signed: bool) -> Iterator[Path]:
    """The folder of an index to change it in; for one in an object store a working copy, which is written afterwards."""
    from stackbuild.publishing.index_numbers import IndexNumbers, default_numbers_file
    from stackbuild.publishing.object_store import is_object_url, open_objects, working_copy
    from stackbuild.views.console import err

    refuse_scheme(place)
    if not is_object_url(place):
        with err().status("reading the signed index …") if signed else nullcontext():
            yield Path(place)
        return
    with (
        err().status("connecting …") as status,
        open_objects(place) as objects,
        working_copy(objects, place, status.update, signed, IndexNumbers(default_numbers_file())) as copy,
    ):
        yield copy.folder
