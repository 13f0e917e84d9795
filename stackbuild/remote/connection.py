"""Remotes by their URLs: a folder, a web server or a registry, to be read or written."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from stackbuild.core.errors import UsageError
from stackbuild.remote.faults import RemoteFault
from stackbuild.remote.files import ExportFolder, WebFolder
from stackbuild.remote.http import HttpClient, HttpLimits, Login
from stackbuild.remote.protocol import RemoteReader, RemoteWriter
from stackbuild.remote.pull import TrustedRemote
from stackbuild.remote.registry import OciRegistry
from stackbuild.remote.settings import Settings
from stackbuild.remote.url import kind_and_root


def open_reader(url: str, login: Login, limits: HttpLimits = HttpLimits()) -> RemoteReader:
    """The remote of a URL. Raises UsageError for what is not a URL of one, RemoteFault where a folder is not an export."""
    kind, root = kind_and_root(url)
    if kind == "file":
        return ExportFolder(url, Path(root))
    if kind == "web":
        return WebFolder(url, HttpClient(root, lambda host: None, limits))
    return OciRegistry(url, HttpClient(root, login, limits))


def open_writer(url: str, login: Login, limits: HttpLimits = HttpLimits()) -> RemoteWriter:
    """The same to be written. Raises UsageError where it is read only, RemoteFault."""
    kind, root = kind_and_root(url)
    if kind == "web":
        raise UsageError(f"{url} can only be read", next="push to oci://…, or `stackbuild store export DIR`")
    if kind == "file":
        return ExportFolder(url, Path(root), is_written=True)
    return OciRegistry(url, HttpClient(root, login, limits), is_written=True)


def trusted_remotes(
    settings: Settings, login: Login, warn: Callable[[str], None], limits: HttpLimits = HttpLimits()
) -> tuple[TrustedRemote, ...]:
    """The remotes that a build asks: those with a key. One that cannot be opened, or whose keys are too few, is left out
    with a warning."""
    remotes = []
    for one in settings.remotes:
        keys = one.trusted_keys()
        if not keys:
            continue
        if hindrance := one.hindrance(datetime.now(UTC)):
            warn(f"nothing is taken from {one.url}: {hindrance}")
            continue
        try:
            remotes.append(TrustedRemote(open_reader(one.url, login, limits), keys, one.threshold))
        except RemoteFault as fault:
            warn(f"nothing is taken from {one.url}: {fault}")
    return tuple(remotes)
