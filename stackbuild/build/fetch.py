"""The verb `fetch`: everything of a recipe that comes from a network, into the store; and bundles for machines without
one.

A bundle is a mirror. It has archives and git repositories under `HOST/PATH` of their URLs, wheels under `wheels/`,
whole outputs (root file systems, packages) under `objects/KEY.tar`, and an index of all that (`sources/bundle.py`).
What comes out of one is checked against the lock: archives by their digests, git by the commit, wheels by pip. Objects the
lock cannot know: they are checked against the index, and that against the digest that was printed when the bundle was
sealed, where it is given.
"""

from __future__ import annotations

import shutil
import time
from dataclasses import dataclass, replace
from pathlib import Path

from stackbuild.build.context import BuildContext, StepOutput
from stackbuild.build.order import Order, open_context
from stackbuild.build.schedule import schedule
from stackbuild.core.copy_file import copy_file, copy_with_status
from stackbuild.core.errors import StepFailed, UsageError
from stackbuild.model.events import Emit, Note
from stackbuild.model.loaded import LoadedRecipe
from stackbuild.model.plan import Plan, Step
from stackbuild.plan.inputs import observe, refuse_unlocked
from stackbuild.plan.resolve import resolve
from stackbuild.recipe.lock_file import read_lock
from stackbuild.sources import git
from stackbuild.sources.bundle import seal, verify
from stackbuild.sources.http import DownloadRequest, fetch, named_digest, place_in
from stackbuild.sources.mirror import pack_object
from stackbuild.store import atomic


@dataclass(frozen=True)
class FetchReport:
    """What was fetched: steps and, of a bundle, files, bytes and its index's sha256. `checked`: files of the mirror's
    index."""

    recipe: str
    steps: tuple[str, ...]
    bundle: str
    files: int
    bytes: int
    seconds: float
    sha256: str = ""
    checked: int = 0


def fetch_all(loaded: LoadedRecipe, order: Order, bundle: Path | None, listeners: tuple[Emit, ...]) -> FetchReport:
    """Fetch every source, wheel and base of a recipe, and write them into `bundle` where one is named.

    A mirror with an index is read whole first. Raises LockError where the lock does not answer or the mirror is
    damaged, StepFailed with everything that failed, MachineLacks.
    """
    started = time.monotonic()
    mirror = order.mirror
    checked = verify(mirror.folder, mirror.index_digest) if mirror else 0
    lock = read_lock(loaded)
    if bundle is not None and bundle.exists() and any(bundle.iterdir()):
        raise UsageError("the bundle's folder is not empty", where=str(bundle), next="name a new one")
    with open_context(loaded, order, listeners) as context:
        inputs = observe(loaded, lock, context.store)
        plan = resolve(loaded.recipe, inputs, order.choice)
        steps = tuple(s for s in plan.steps if s.resources.network)
        refuse_unlocked(steps, loaded)
        wanted = Plan(plan.recipe, plan.closure(tuple(s.name for s in steps)), tuple(s.name for s in steps))
        built, broken = schedule(wanted, context, replace(order.limits, keep_going=True))
        if broken:
            raise StepFailed(
                "; ".join(f"{b.step}: {b.what}" for b in broken), where=broken[0].log, next=broken[0].look or ""
            )
        sha256 = _bundled(bundle, steps, built, context) if bundle is not None else ""
    files = tuple(p for p in bundle.rglob("*") if p.is_file()) if bundle else ()
    size = sum(p.stat().st_size for p in files)
    seconds = round(time.monotonic() - started, 3)
    names = tuple(s.name for s in steps)
    return FetchReport(loaded.recipe.name, names, str(bundle or ""), len(files), size, seconds, sha256, checked)


def _bundled(bundle: Path, steps: tuple[Step, ...], built: dict[str, StepOutput], context: BuildContext) -> str:
    """Write and seal the bundle; the sha256 of its index. One that fails leaves an empty folder: what was fetched is in
    the store, and half a bundle would be taken for a mirror."""
    bundle.mkdir(parents=True, exist_ok=True)
    try:
        _write(bundle, steps, built, context)
        return seal(bundle)
    except BaseException:
        for part in bundle.iterdir():
            atomic.remove(part)
        raise


def _write(bundle: Path, steps: tuple[Step, ...], built: dict[str, StepOutput], context: BuildContext) -> None:
    for step in steps:
        context.stopper.check()
        context.emit(Note("info", f"bundling {step.name}"))
        params = dict(step.params)
        tree = context.store.tree(built[step.name].tree)
        match step.action:
            case "archive":
                _take(bundle, params["url"], named_digest(params["sha256"]), context)
            case "deps":
                for url in params:
                    place = place_in(bundle, url)
                    place.parent.mkdir(parents=True, exist_ok=True)
                    copy_file(place_in(tree, url), place)
            case "git":
                below = params["submodules"] == "True"
                git.copy(
                    git.Revision(params["url"], params["ref"], params["commit"], context.mirror),
                    bundle,
                    submodules=below,
                )
            case "wheelhouse":
                shutil.copytree(tree, bundle / "wheels", copy_function=copy_with_status, dirs_exist_ok=True)
            case _:
                record = context.store.find(step.key)
                pack_object(bundle, step.key, tree, record.notes if record else {})


def _take(bundle: Path, url: str, digest: str, context: BuildContext) -> None:
    fetch(DownloadRequest(url, digest), place_in(bundle, url), context.mirror, context.stopper)
