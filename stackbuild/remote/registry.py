"""An OCI registry as a remote: the distribution protocol of https://github.com/opencontainers/distribution-spec, v1.1.

Manifests, blobs and tags only: no referrers and no deletion. Tags are listed where many are asked for. Debian's docker-registry 2.8.2 verifies digests of
what it is sent and of nothing that it serves: a blob that its disk damaged comes with status 200 and is not replaced by
sending it again. Tags can be overwritten by whoever may write.
"""

from __future__ import annotations

import hashlib
import re
import time
from contextlib import AbstractContextManager
from dataclasses import dataclass
from urllib.parse import urlsplit

from stackbuild.core.digest import json_of
from stackbuild.core.http_pool import Body
from stackbuild.remote.faults import BlobAbsent, RemoteFault
from stackbuild.remote.http import HttpBlob, HttpClient, HttpRequest
from stackbuild.remote.protocol import BlobContent, ByteCounter

MANIFEST_TYPE = "application/vnd.oci.image.manifest.v1+json"
WHOLE = 32 << 20
"""Bytes up to which a blob is sent by one request; a longer one resumes where its connection broke."""
UPLOADS_RESUMED = 3
TAGS_A_PAGE = 1000
LONGEST_TAG = 128
"""Characters of a tag, by the specification."""
BLOB_ABSENT = "MANIFEST_BLOB_UNKNOWN"
"""The specification's code for a manifest that names a blob which the registry lacks."""
MOST_PAGES = 90
"""Pages of tags that are read: with more of them, asking for each key costs less."""
MOST_TAGS = 1_000_000
"""Tags of a list that are held in memory, some 150 bytes each: with more of them, asking for each key costs less."""
MOST_PAGE = 8 << 20
"""Bytes of a page of tags. Some registries list all on one page."""
ROUND = 100
"""A list that ends without a next page at a multiple of so many tags may have been cut there: no list at all is better."""
OCTETS = ("Content-Type", "application/octet-stream")


class OciRegistry:
    """One repository of a registry. `client.root` is `https://HOST/v2/REPOSITORY/`."""

    def __init__(self, url: str, client: HttpClient, is_written: bool = False) -> None:
        self.url = url
        self.client = client
        repository = urlsplit(client.root).path.removeprefix("/v2/").rstrip("/")
        self._scope = f"repository:{repository}:{'pull,push' if is_written else 'pull'}"

    def manifest(self, tag: str, most: int) -> bytes | None:
        return self.client.body(self._request("GET", f"manifests/{tag}", ("Accept", MANIFEST_TYPE)), most)

    def tags(self) -> frozenset[str] | None:
        place, names = f"tags/list?n={TAGS_A_PAGE}", set[str]()
        for _ in range(MOST_PAGES):
            page = self.client.page(self._request("GET", place), MOST_PAGE)
            if page is None:
                return None
            names.update(_tags_in(page.body))
            if len(names) > MOST_TAGS:
                return None
            if not page.following:
                return frozenset(names) if len(names) % ROUND else None
            place = self.client.own(page.following)
        return None

    def blob(self, digest: str, count: ByteCounter) -> AbstractContextManager[HttpBlob]:
        return self.client.blob(self._request("GET", f"blobs/sha256:{digest}"), count)

    def abort(self) -> None:
        self.client.abort()

    def close(self) -> None:
        self.client.close()

    def blob_size(self, digest: str) -> int | None:
        with self.client.send(self._request("HEAD", f"blobs/sha256:{digest}")) as answer:
            if answer.status == 404:
                return None
            size = _number(answer.headers.get("Content-Length", ""))
            if answer.status != 200:
                raise RemoteFault(f"HTTP {answer.status}", blob=digest)
            if size is None:
                raise RemoteFault("a blob without a length", blob=digest)
            return size

    def put_blob(self, digest: str, content: BlobContent, size: int, count: ByteCounter) -> None:
        limits, upload = self.client.limits, _Upload(digest, content, size, count)
        for attempt in range(limits.writes):
            try:
                self._put(upload)
                return
            except RemoteFault:
                if attempt + 1 == limits.writes:
                    raise
                time.sleep(limits.pause * 2**attempt)

    def put_manifest(self, tag: str, text: bytes, is_patient: bool = True) -> None:
        limits = self.client.limits
        tries = limits.writes if is_patient else 1
        for attempt in range(tries):
            try:
                answer = self._change("PUT", f"manifests/{tag}", (201,), ("Content-Type", MANIFEST_TYPE), body=text)
                _refuse_other_digest(answer, hashlib.sha256(text).hexdigest())
                return
            except BlobAbsent:
                if attempt + 1 == tries:
                    raise
                time.sleep(limits.pause * 2**attempt)

    def _put(self, upload: _Upload) -> None:
        """One try: a long blob in a request that is resumed, another with the request that ends the upload."""
        if upload.size > WHOLE:
            self._put_resumed(upload)
            return
        place = upload.ended_at(self._begin_upload())
        length = ("Content-Length", str(upload.size))
        answer = self._change("PUT", place, (201,), OCTETS, length, body=_Rest(upload, 0))
        _refuse_other_digest(answer, upload.digest)

    def _put_resumed(self, upload: _Upload) -> None:
        place, at, size = self._begin_upload(), 0, upload.size
        for attempt in range(UPLOADS_RESUMED + 1):
            try:
                piece = _Rest(upload, at)
                headers = (OCTETS, ("Content-Range", f"{at}-{size - 1}"), ("Content-Length", str(size - at)))
                place = self._change("PATCH", place, (202,), *headers, body=piece)["Location"]
                break
            except RemoteFault:
                if attempt == UPLOADS_RESUMED:
                    raise
                place, at = self._resume(place, size)
        answer = self._change("PUT", upload.ended_at(place), (201,), ("Content-Length", "0"), body=b"")
        _refuse_other_digest(answer, upload.digest)

    def _resume(self, place: str, size: int) -> tuple[str, int]:
        """Where a broken upload goes on, and from which byte; a new one where the registry does not know.

        Debian's 2.8.2 forgets an upload whose connection broke within a request.
        """
        try:
            headers = self._change("GET", place, (204,))
            return self.client.own(headers.get("Location", place)), _received_bytes(headers.get("Range", ""), size)
        except RemoteFault:
            return self._begin_upload(), 0

    def _begin_upload(self) -> str:
        return self._change("POST", "blobs/uploads/", (202,), ("Content-Length", "0"), body=b"")["Location"]

    def _change(
        self,
        method: str,
        url: str,
        statuses: tuple[int, ...],
        *headers: tuple[str, str],
        body: bytes | Body | None = None,
    ) -> dict[str, str]:
        """The headers of the answer to a request that has one of these statuses. Raises RemoteFault."""
        is_repeatable = "uploads/" not in url or method in ("GET", "POST")
        with self.client.send(HttpRequest(method, url, headers, body, self._scope, is_repeatable)) as answer:
            if answer.status not in statuses:
                excerpt = answer.read(300).decode("utf-8", "replace")
                kind = BlobAbsent if BLOB_ABSENT in excerpt else RemoteFault
                raise kind(f"HTTP {answer.status} to {method}: {excerpt}", blob=url.partition("?")[0])
            answer_headers = {name.title(): text for name, text in answer.headers.items()}
        if statuses == (202,):
            if "Location" not in answer_headers:
                raise RemoteFault("an upload without a place", blob=url.partition("?")[0])
            answer_headers["Location"] = self.client.own(answer_headers["Location"])
        return answer_headers

    def _request(self, method: str, url: str, *headers: tuple[str, str]) -> HttpRequest:
        return HttpRequest(method, url, headers, None, self._scope)


@dataclass(frozen=True)
class _Upload:
    """A blob that is sent: its sha256, its bytes and how many they are; `count` hears of those that went."""

    digest: str
    content: BlobContent
    size: int
    count: ByteCounter

    def ended_at(self, place: str) -> str:
        """The URL that ends the upload of a place."""
        return f"{place}{'&' if '?' in place else '?'}digest=sha256:{self.digest}"


class _Rest:
    """What is left of an upload from a place on, as a body that is read in pieces and counted."""

    def __init__(self, upload: _Upload, at: int) -> None:
        self._content = upload.content
        self._at = at
        self._count = upload.count
        self._content.seek(at)

    def read(self, size: int = -1) -> bytes:
        piece = self._content.read(size)
        self._count(len(piece))
        return piece

    def seek(self, place: int) -> None:
        """To its own beginning: it is sent again from there."""
        self._content.seek(self._at + place)


def _tags_in(body: bytes) -> frozenset[str]:
    """The tags of a page. Raises RemoteFault."""
    try:
        tags = json_of(body.decode("utf-8"))["tags"] or ()
        return frozenset(tag for tag in tags if isinstance(tag, str) and len(tag) <= LONGEST_TAG)
    except (ValueError, KeyError, TypeError) as error:
        raise RemoteFault(f"a list of tags cannot be read: {error!r}"[:200]) from None


def _received_bytes(range_header: str, size: int) -> int:
    """How many bytes of an upload a registry has, by its header `Range: 0-LAST`."""
    last = _number(range_header.removeprefix("bytes=").rpartition("-")[2])
    return min(last + 1, size) if last else 0


def _number(text: str) -> int | None:
    """The number of bytes that a header states, None where it cannot be a size."""
    return int(text) if re.fullmatch(r"[0-9]{1,18}", text) else None


def _refuse_other_digest(answer: dict[str, str], digest: str) -> None:
    actual = answer.get("Docker-Content-Digest", f"sha256:{digest}")
    if actual != f"sha256:{digest}":
        raise RemoteFault("the registry names what it was sent by another digest", promise=digest, actual=actual)
