"""The address that an index is served at: it stands in command lines that people paste, and in pages."""

from __future__ import annotations

import re
from urllib.parse import unquote

_NO_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")
_ADDRESS = re.compile(
    r"https?://[A-Za-z0-9.-]+(:[0-9]{1,5})?(/[A-Za-z0-9._~%+,=@:/-]*)?|file:///[A-Za-z0-9._~%+,=@:/-]*"
)


def is_index_address(url: str) -> bool:
    """Whether it is an http, https or file URL without a login, a query, and any sign that a shell or a page reads.

    What else a path has is written percent-encoded, as in RFC 3986. No part of it leads up, and it hides no control sign.
    """
    if not _ADDRESS.fullmatch(url) or _NO_ESCAPE.search(url):
        return False
    plain_url = unquote(url)
    return plain_url.isprintable() and not {".", ".."} & set(plain_url.split("/"))
