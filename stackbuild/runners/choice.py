"""The runners, and the choice among them."""

from __future__ import annotations

import shutil

from stackbuild.core.errors import UsageError
from stackbuild.runners.protocol import Runner
from stackbuild.store.store import Store
from stackbuild.tables.runners import runner_meant


def usable_runners() -> tuple[str, ...]:
    """The runners that this machine has the tools for: bubblewrap, and the Docker engine that answers."""
    names = ["sandbox"] if shutil.which("bwrap") else []
    return (*names, "docker") if _engine_answers() else tuple(names)


def _engine_answers() -> bool:
    from stackbuild.runners.engine import find_engine

    return find_engine() is not None


def choose(name: str, *, store: Store, base_is_image: bool) -> Runner:
    """The runner of that name for the run that has opened `store`; `auto` is the sandbox for a Debian base. For an image it
    is docker, where an engine answers, else the sandbox: skopeo pulls the image then."""
    if name == "auto":
        name = "sandbox" if shutil.which("bwrap") and not (base_is_image and _engine_answers()) else "docker"
    if name == "sandbox":
        from stackbuild.runners.sandbox import Sandbox

        return Sandbox()
    if name == "docker":
        from stackbuild.runners.docker import Docker

        return Docker(store)
    if name == "fake":
        from stackbuild.runners.fake import Fake

        return Fake()
    raise UsageError(f"no runner {name!r}", next=runner_meant(name))
