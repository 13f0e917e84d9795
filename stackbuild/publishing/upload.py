"""Uploads of wheels to an index that takes them (pypiserver, devpi, a package registry) by twine's library.

User and password come from where twine has them: `$TWINE_USERNAME`, `$TWINE_PASSWORD`, the keyring, `~/.pypirc`.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from stackbuild.core import digest
from stackbuild.core.errors import MachineLacks, UsageError
from stackbuild.core.http_pool import make_steady
from stackbuild.publishing.placement import read_wheel
from stackbuild.publishing.refusals import refuse_malformed, refuse_misnamed, refuse_names
from stackbuild.publishing.ssh_keys import INSTALL

ANSWER_SECONDS = 120.0
"""An index may look a wheel over before it answers."""
MOST_ANSWER = 1 << 18
"""Bytes of an answer, its headers included."""


@dataclass(frozen=True)
class UploadedWheel:
    """One wheel that an index took."""

    file: str
    sha256: str
    url: str


def upload(
    wheels: tuple[Path, ...], url: str, attestations: tuple[Path, ...] = (), seconds: float = ANSWER_SECONDS
) -> tuple[UploadedWheel, ...]:
    """Upload wheels one after the other, each with its attestation where there are `attestations`.

    An index that says nothing or little for so many `seconds` is given up.

    Raises UsageError for a wheel that no index should have and with what the index answered, MachineLacks without twine.
    """
    try:
        parts = urlsplit(url)
    except ValueError as error:
        raise UsageError(f"{url!r} is not a URL: {error}", next="give it as https://HOST/PATH") from None
    if parts.username is not None or parts.password is not None:
        raise UsageError(
            "a login stands in the URL",
            where=parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl(),
            next="leave it out, and set $TWINE_USERNAME and $TWINE_PASSWORD",
        )
    refuse_names(wheels)
    for wheel in map(read_wheel, wheels):
        refuse_misnamed(wheel)
        refuse_malformed(wheel)
    try:
        from twine.commands.upload import upload as twine_upload
        from twine.exceptions import TwineException
        from twine.settings import Settings
    except ImportError as error:
        raise MachineLacks(f"an upload needs {error.name}, which is not installed", next=INSTALL) from None

    class BoundedSettings(Settings):
        """Connections that give up an index which says nothing, or does not end."""

        def create_repository(self) -> Any:
            repository = super().create_repository()
            adapter: Any = repository.session.get_adapter(url)
            make_steady(adapter.poolmanager, seconds, MOST_ANSWER)
            send = adapter.send
            adapter.send = lambda request, **words: send(request, **{**words, "timeout": seconds})
            return repository

    try:
        settings = BoundedSettings(
            repository_url=url,
            username=os.environ.get("TWINE_USERNAME"),
            password=os.environ.get("TWINE_PASSWORD"),
            non_interactive=True,
            disable_progress_bar=True,
            attestations=bool(attestations),
        )
        twine_upload(settings, [str(path) for path in (*wheels, *attestations)])
    except (TwineException, OSError, ValueError) as error:  # the last: a redirection to what cannot be a URL
        raise UsageError(
            f"the index did not take the wheels: {str(error).partition('Retry with')[0].strip()[:300]}",
            where=url,
            next="check the URL, and $TWINE_USERNAME and $TWINE_PASSWORD; a name that is taken needs a new version; where the"
            " first wheels are there already, give the others alone",
        ) from None
    return tuple(UploadedWheel(wheel.name, digest.of_file(wheel), url) for wheel in wheels)
