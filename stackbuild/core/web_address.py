"""The address that an index is served at: it stands in command lines that people paste, and in pages."""

from __future__ import annotations

import re

_ADDRESS = re.compile(
    r"https?://[A-Za-z0-9.-]+(:[0-9]{1,5})?(/[A-Za-z0-9._~%+,=@:/-]*)?|file:///[A-Za-z0-9._~%+,=@:/-]*"
)


def is_index_address(url: str) -> bool:
    """Whether it is an http, https or file URL without a login, a query, and any sign that a shell or a page reads.

    What else a path has is written percent-encoded, as in RFC 3986.
    """
    return _ADDRESS.fullmatch(url) is not None
