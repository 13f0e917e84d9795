"""Downloads of archives: the one HTTP client. Checked, resumed, bounded; never a partial file under its final name.

At most three tries for each address, with a pause between them; a try resumes with Range where the server says that the
file is still the same. A mirror (a folder with `HOST/PATH` of each URL) is asked first and is alone where it is given.
"""

from __future__ import annotations

import hashlib
import http.client
import shutil
import time
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO
from urllib.parse import urlsplit

from stackbuild.core.cancel import Stopper
from stackbuild.core.errors import LockError, MachineLacks, StepFailed
from stackbuild.sources.mirror import Mirror

TRIES = 3
PAUSE_SECONDS = 1.0
"""Before the second try; twice that before the third."""
TIMEOUT_SECONDS = 60.0
STALL_BYTES_PER_SECOND = 100
MOST_BYTES = 8 << 30
CHUNK = 1 << 14
HOPELESS = (400, 401, 403, 404, 410, 451)
"""Answers that another try will not change."""


@dataclass(frozen=True)
class Wanted:
    """A file to fetch: its URL and its digest, `sha256:…` or `sha1:…` (ONNX Runtime's `deps.txt` has sha1); "" only asks."""

    url: str
    digest: str = ""


def named(digest: str) -> str:
    """A digest with its algorithm; bare digits, as locks and recipes have them, are a sha256."""
    return digest if ":" in digest else f"sha256:{digest}"


def place_in(mirror: Path, url: str) -> Path:
    """Where a mirror has the file of that URL: `HOST/PATH`, the layout ONNX Runtime's `--cmake_deps_mirror_dir` has too.

    Raises StepFailed for a URL that would lead out of the mirror.
    """
    parts = urlsplit(url)
    inside = PurePosixPath(parts.path.lstrip("/"))
    if parts.scheme != "https" or not parts.hostname or ".." in inside.parts or not inside.name:
        raise StepFailed(f"the URL {url!r} is refused: https, a host and a plain path")
    return mirror / parts.hostname / inside


def fetch(wanted: Wanted, target: Path, mirror: Mirror | None, stopper: Stopper) -> str:
    """Put the file at `target`, whole and checked; its sha256.

    Raises LockError when its digest is another (the bytes stay beside it as `.refused`), MachineLacks when nobody has it.
    """
    partial = target.with_name(target.name + ".part")
    target.parent.mkdir(parents=True, exist_ok=True)
    if mirror is not None:
        _copy(_found_in(mirror.folder, wanted.url), partial, wanted.url, mirror)
    else:
        _download(wanted.url, partial, stopper)
    _check(wanted, partial)
    partial.replace(target)
    return _digest(target, "sha256")


def _found_in(mirror: Path, url: str) -> Path:
    """Where the mirror has it: at `HOST/PATH`, else `PATH`, else under its last name; the digest tells the right one."""
    usual = place_in(mirror, url)
    inside = usual.relative_to(mirror)
    others = (mirror.joinpath(*inside.parts[1:]), mirror / inside.name)
    return next((p for p in (usual, *others) if p.is_file()), usual)


def _copy(place: Path, partial: Path, url: str, mirror: Mirror) -> None:
    if not place.is_file():
        where = str(place.relative_to(mirror.folder))
        raise MachineLacks(f"the mirror lacks {url}", where=where, next=f"put it there, in {mirror.folder}")
    shutil.copyfile(place, partial)


def _check(wanted: Wanted, partial: Path) -> None:
    kind, _, digest = wanted.digest.partition(":")
    found = _digest(partial, kind) if kind else digest
    if found != digest:
        refused = partial.with_suffix(".refused")
        partial.replace(refused)
        raise LockError(
            f"{wanted.url} has {kind} {found}, the lock has {digest}",
            where=str(refused),
            next="somebody changed the file, or the mirror is damaged: compare, then run `stackbuild lock`",
        )


def _digest(path: Path, kind: str) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, kind).hexdigest()


def _download(url: str, partial: Path, stopper: Stopper) -> None:
    partial.unlink(missing_ok=True)
    download = _Download(url, partial, stopper)
    problem, attempt = "", 0
    for attempt in range(TRIES):
        if attempt:
            _pause(PAUSE_SECONDS * 2 ** (attempt - 1), stopper)
        try:
            return download.once()
        except urllib.error.HTTPError as error:
            problem = f"HTTP {error.code} {error.reason}"
            if error.code in HOPELESS:
                break
        except (http.client.HTTPException, OSError, _Short) as error:  # URLError is an OSError
            problem = str(getattr(error, "reason", "") or error) or type(error).__name__
    raise MachineLacks(
        f"{url} cannot be fetched: {problem}",
        where=f"tried {attempt + 1} time{'s' * (attempt > 0)}",
        next="check the address and the network, or give a mirror: --mirror DIR",
    )


def _pause(seconds: float, stopper: Stopper) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        stopper.check()
        time.sleep(0.05)


class _Short(Exception):
    """The answer ended before its promised length, is too slow, or is too long."""


class _OnlySafer(urllib.request.HTTPRedirectHandler):
    """Follows a redirection (ten at most) to https, or to the scheme it came from; never to another."""

    def redirect_request(self, req, fp, code, msg, headers, newurl):  # type: ignore[no-untyped-def]
        if urlsplit(newurl).scheme not in ("https", urlsplit(req.full_url).scheme):
            raise urllib.error.HTTPError(newurl, 400, "redirected away from https", headers, fp)
        return super().redirect_request(req, fp, code, msg, headers, newurl)


@dataclass
class _Download:
    """One file under way over several tries. `mark` is its strong ETag: only the same file is resumed."""

    url: str
    partial: Path
    stopper: Stopper
    mark: str = ""

    def once(self) -> None:
        """One try, from where the last one ended if the server still has the same file."""
        have = self.partial.stat().st_size if self.mark and self.partial.exists() else 0
        request = urllib.request.Request(self.url, headers={"User-Agent": "stackbuild", "Accept-Encoding": "identity"})
        if have:
            request.add_header("Range", f"bytes={have}-")
            request.add_header("If-Range", self.mark)
        opener = urllib.request.build_opener(_OnlySafer)
        with opener.open(request, timeout=TIMEOUT_SECONDS) as answer:
            resumed = answer.status == 206
            if resumed and not answer.headers.get("Content-Range", "").startswith(f"bytes {have}-"):
                self.mark = ""
                raise _Short("the server resumed at another place")
            tag = answer.headers.get("ETag") or ""
            self.mark = "" if tag.startswith("W/") else tag
            length = answer.headers.get("Content-Length")
            with self.partial.open("ab" if resumed else "wb") as file:
                got = self._drain(answer, file)
        if length is not None and got != int(length):
            raise _Short(f"{got} of {length} bytes came")

    def _drain(self, answer: IO[bytes], file: IO[bytes]) -> int:
        started, got = time.monotonic(), 0
        while chunk := answer.read(CHUNK):
            self.stopper.check()
            file.write(chunk)
            got += len(chunk)
            slow = time.monotonic() - started
            if slow > TIMEOUT_SECONDS and got / slow < STALL_BYTES_PER_SECOND:
                raise _Short(f"only {got} bytes in {slow:.0f} s")
            if got > MOST_BYTES:
                raise _Short("larger than 8 GiB")
        return got
