"""Objects of a store by their keys: the four requests that an index needs, through obstore.

The one module that imports obstore. Its HTTP client reads whatever length a server names into memory and ends the
process where there is not so much, so `object_worker` runs it in a process of its own. It follows redirections, without
the signature of a request but with the session token that the server has seen before.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, Protocol, TypeVar

from stackbuild.core.errors import MachineLacks, UsageError

INSTALL = 'pip install "stackbuild[object-store]"'
RETRIES, RETRY_SECONDS = 3, 60.0
"""A request is tried again so often and for so long. One try takes 30 s at most ($AWS_TIMEOUT), its body included."""
MESSAGE_LIMIT = 300
"""Characters of a store's own words in a message."""
PIECE = 1 << 20
_TYPES = {".html": "text/html; charset=utf-8", ".json": "application/json", ".whl": "application/zip"}

_Result = TypeVar("_Result")


class ObjectFault(Exception):
    """The store did not do it, or its answer is not taken. The text says why."""


@dataclass(frozen=True)
class StoredObject:
    """The bytes of an object, and the ETag that a put on a condition names, "" where the store has none."""

    data: bytes
    etag: str


class ObjectStore(Protocol):
    """What an index needs of a store. Each raises ObjectFault."""

    def get(self, key: str, most: int) -> StoredObject | None:
        """An object of at most so many bytes; None where there is none."""
        ...

    def create(self, key: str, data: bytes) -> bool:
        """Put an object where there is none; whether there was none."""
        ...

    def replace(self, key: str, data: bytes, etag: str) -> bool:
        """Put an object in place of the one with that ETag; whether it was there."""
        ...

    def put_file(self, key: str, path: Path) -> None:
        """Put a file, with the type that its name says."""
        ...

    def delete(self, key: str) -> None: ...


def connect(url: str) -> Any:
    """The store of obstore below that URL: `s3://BUCKET/PREFIX`. Raises UsageError, MachineLacks without obstore."""
    try:
        from obstore.exceptions import BaseError
        from obstore.store import from_url
    except ImportError as error:
        raise MachineLacks(f"an object store needs {error.name}, which is not installed", next=INSTALL) from None
    retries: Any = {"max_retries": RETRIES, "retry_timeout": timedelta(seconds=RETRY_SECONDS)}
    try:
        return from_url(url, retry_config=retries)
    except (BaseError, ValueError) as error:
        raise refusal(url, _first_words(error)) from None


def refusal(url: str, why: str) -> UsageError:
    """The error of a command whose store did not do something."""
    return UsageError(
        f"the object store did not do it: {why}",
        where=url,
        next="check the URL, the credentials in the environment (for S3 $AWS_ACCESS_KEY_ID, $AWS_SECRET_ACCESS_KEY,"
        " $AWS_REGION) and the server ($AWS_ENDPOINT_URL)",
    )


class ObstoreObjects:
    """The objects of a store of obstore, in this process."""

    def __init__(self, store: Any) -> None:
        self._store = store

    def get(self, key: str, most: int) -> StoredObject | None:
        import obstore

        def get() -> StoredObject | None:
            try:
                answer = obstore.get(self._store, key)
            except FileNotFoundError:
                return None
            size = int(answer.meta["size"])
            if size > most:
                raise ObjectFault(f"{key} has {size} bytes; {most} are read at most")
            pieces, length = [], 0
            for piece in answer.stream(PIECE):
                pieces.append(bytes(piece))
                length += len(pieces[-1])
                if length > size:
                    raise ObjectFault(f"{key} is longer than the {size} bytes that the store names")
            return StoredObject(b"".join(pieces), str(answer.meta["e_tag"] or ""))

        return _ask(get)

    def create(self, key: str, data: bytes) -> bool:
        return self._put_if(key, data, "create")

    def replace(self, key: str, data: bytes, etag: str) -> bool:
        return self._put_if(key, data, {"e_tag": etag})

    def put_file(self, key: str, path: Path) -> None:
        import obstore

        kind = _TYPES.get(path.suffix, "application/octet-stream")
        _ask(lambda: obstore.put(self._store, key, path, attributes={"Content-Type": kind}))

    def delete(self, key: str) -> None:
        import obstore

        _ask(lambda: obstore.delete(self._store, key))

    def _put_if(self, key: str, data: bytes, condition: Any) -> bool:
        import obstore
        from obstore.exceptions import AlreadyExistsError, PreconditionError

        def put() -> bool:
            try:
                obstore.put(self._store, key, data, mode=condition)
            except (AlreadyExistsError, PreconditionError):
                return False
            return True

        return _ask(put)


def _ask(request: Callable[[], _Result]) -> _Result:
    from obstore.exceptions import BaseError

    try:
        return request()
    except (BaseError, OSError) as error:
        raise ObjectFault(_first_words(error)) from None


def _first_words(error: Exception) -> str:
    """What a library says of an error, without its own data structures."""
    return str(error).split("\n\nDebug source")[0].strip()[:MESSAGE_LIMIT]
