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
from stackbuild.checks.mirror import refuse_lacking
from stackbuild.core.copy_file import copy_file, copy_with_status
from stackbuild.core.errors import StepFailed, UsageError
from stackbuild.model.events import Emit, Note
from stackbuild.model.loaded_recipe import LoadedRecipe
from stackbuild.model.plan import Plan, Step
from stackbuild.plan.current import plan_now
from stackbuild.plan.inputs import refuse_unlocked
from stackbuild.plan.status import steps_to_run
from stackbuild.recipe.prepare import prepare_loaded
from stackbuild.sources import git
from stackbuild.sources.bundle import seal, verify
from stackbuild.sources.http import DownloadRequest, fetch, named_digest, place_in
from stackbuild.sources.stored_outputs import pack_object
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


def fetch_all(
    loaded_recipe: LoadedRecipe, order: Order, bundle: Path | None, listeners: tuple[Emit, ...]
) -> FetchReport:
    """Fetch every source, wheel and base of a recipe, and write them into `bundle` where one is named.

    A mirror with an index is read whole first. Raises LockError where the lock does not answer or the mirror is
    damaged, StepFailed with everything that failed, MachineLacks.
    """
    start_time = time.monotonic()
    prepared_recipe = prepare_loaded(loaded_recipe, order.choice)
    mirror = order.mirror
    checked_count = verify(mirror.folder, mirror.index_digest) if mirror else 0
    if bundle is not None and bundle.exists() and any(bundle.iterdir()):
        raise UsageError("the bundle's folder is not empty", where=str(bundle), next="name a new one")
    with open_context(loaded_recipe, order, listeners) as context:
        plan = plan_now(prepared_recipe, context.store).plan
        steps = tuple(s for s in plan.steps if s.resources.network)
        refuse_unlocked(steps, loaded_recipe)
        sources = Plan(plan.recipe, plan.closure(tuple(s.name for s in steps)), tuple(s.name for s in steps))
        if mirror is not None:
            refuse_lacking(steps_to_run(sources, context.store.find_all(step.key for step in sources.steps)), mirror)
        outputs, failures = schedule(sources, context, replace(order.limits, keep_going=True))
        if failures:
            raise StepFailed(
                "; ".join(f"{b.step}: {b.what}" for b in failures), where=failures[0].log, next=failures[0].look or ""
            )
        sha256 = _BundleWriter(bundle, steps, outputs, context).write_and_seal() if bundle is not None else ""
    files = tuple(p for p in bundle.rglob("*") if p.is_file()) if bundle else ()
    size = sum(p.stat().st_size for p in files)
    seconds = round(time.monotonic() - start_time, 3)
    names = tuple(s.name for s in steps)
    return FetchReport(
        loaded_recipe.recipe.name, names, str(bundle or ""), len(files), size, seconds, sha256, checked_count
    )


@dataclass(frozen=True)
class _BundleWriter:
    """The folder of a bundle, the steps whose outputs go into it, and these outputs by step."""

    folder: Path
    steps: tuple[Step, ...]
    outputs: dict[str, StepOutput]
    context: BuildContext

    def write_and_seal(self) -> str:
        """Write and seal the bundle; the sha256 of its index.

        One that fails leaves an empty folder: what was fetched is in the store, and half a bundle would be taken for a
        mirror.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        try:
            for step in self.steps:
                self.context.stopper.check()
                self.context.emit(Note("info", f"bundling {step.name}"))
                self._add(step, self.context.store.tree(self.outputs[step.name].tree))
            return seal(self.folder)
        except BaseException:
            for part in self.folder.iterdir():
                atomic.remove(part)
            raise

    def _add(self, step: Step, tree: Path) -> None:
        params = dict(step.params)
        match step.action:
            case "archive":
                request = DownloadRequest(params["url"], named_digest(params["sha256"]))
                fetch(request, place_in(self.folder, request.url), self.context.mirror, self.context.stopper)
            case "deps":
                for url in params:
                    place = place_in(self.folder, url)
                    place.parent.mkdir(parents=True, exist_ok=True)
                    copy_file(place_in(tree, url), place)
            case "git":
                revision = git.Revision(params["url"], params["ref"], params["commit"], self.context.mirror)
                git.copy(revision, self.folder, submodules=params["submodules"] == "True")
            case "wheelhouse":
                shutil.copytree(tree, self.folder / "wheels", copy_function=copy_with_status, dirs_exist_ok=True)
            case _:
                record = self.context.store.find(step.key)
                pack_object(self.folder, step.key, tree, record.notes if record else {})
