"""Why a step's key is what it is, and what changed since the last build: in the key, in what it needs, and in which
files."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from stackbuild.core.errors import UsageError
from stackbuild.model.lock import patches_of
from stackbuild.model.plan import Plan, Step, rows_of
from stackbuild.remote.origin import Origin
from stackbuild.sources.local import LocalSource, survey
from stackbuild.store.records import Record, patches_in
from stackbuild.store.store import Store
from stackbuild.tables.near_words import step_meant

Rows = Iterable[tuple[str, str, str]]
"""Files as `survey` has them."""
_BESIDE_NEED = re.compile(r" at | part ")


@dataclass(frozen=True)
class Cause:
    """A step that changed while none of its needs did.

    `text`: lines of its key text, `-` then and `+` now. `files`: its files, `+` new, `-` gone and `~` with another
    content.
    """

    step: str
    text: tuple[str, ...]
    files: tuple[str, ...]


@dataclass(frozen=True)
class Explanation:
    """A step's key, its text, and the text of the last build of the step ("" when there was none).

    `folders`: what on this machine the digests in the text are of, a line each. `causes`: what changed since that
    build, in the step itself and in what it needs.
    """

    step: str
    key: str
    text: str
    before: str
    folders: tuple[str, ...] = ()
    causes: tuple[Cause, ...] = ()
    origin: Origin | None = None
    """The remote that the stored output of this key came from; None where it was made here or is not there."""


def explain_step(plan: Plan, name: str, store: Store, places: Mapping[str, LocalSource]) -> Explanation:
    """`places` are the recipe's local sources and patches. Raises UsageError where the plan has no such step."""
    if name not in plan.by_name:
        raise UsageError(f"no step {name!r}", next=step_meant(name, [*plan.by_name]))
    step = plan.by_name[name]
    last = next((r for r in store.latest(plan.recipe) if r.step == name), None)
    causes = _ChangeTracer(plan, store, places).causes(step, last) if last else ()
    stored_record = store.find(step.key)
    return Explanation(
        name,
        step.key,
        step.key_text,
        last.key_text if last else "",
        _folders(step, places),
        causes,
        Origin.of(stored_record) if stored_record else None,
    )


def _folders(step: Step, places: Mapping[str, LocalSource]) -> tuple[str, ...]:
    """What the digests of a source are of."""
    folders = []
    for param, local in _digested_sources(step, places):
        names = [path for path, _, _ in survey(local)]
        if param == "patches":
            folders.append(f"patches: {local.folder}: {', '.join(names)}")
        else:
            without = f", without {' '.join(local.exclude)}" if local.exclude else ""
            folders.append(f"tree: {local.folder}: {len(names)} files{without}")
    return tuple(folders)


def _digested_sources(step: Step, places: Mapping[str, LocalSource]) -> list[tuple[str, LocalSource]]:
    """The parameters of a source that are digests of folders on this machine, with the folders."""
    name = step.name.removeprefix("source.")
    params, folders = dict(step.params), {"tree": name, "patches": patches_of(name)}
    return [(param, places[place]) for param, place in folders.items() if param in params and place in places]


@dataclass(frozen=True)
class _ChangeTracer:
    """Follows what changed from a step to where it began."""

    plan: Plan
    store: Store
    places: Mapping[str, LocalSource]

    def causes(self, step: Step, last: Record) -> tuple[Cause, ...]:
        """The changes since a record of the step: its own, then those of the needs that are others now."""
        causes: dict[str, Cause] = {}
        self._follow(step, last, causes)
        return tuple(causes.values())

    def _follow(self, step: Step, last: Record, causes: dict[str, Cause]) -> None:
        if step.name in causes or last.key == step.key:
            return
        then, now = rows_of(last.key_text), rows_of(step.key_text)
        changed_names = [name for name in dict.fromkeys((*then, *now)) if then.get(name) != now.get(name)]
        followed_causes = {name: other for name in changed_names if (other := self._before(name, then, now))}
        own = [
            f"{sign}{name}: {rows[name]}"
            for name in changed_names
            if name not in followed_causes
            for sign, rows in (("-", then), ("+", now))
            if name in rows
        ]
        if own:
            causes[step.name] = Cause(step.name, tuple(own), self._files(step, last))
        for name, other in followed_causes.items():
            self._follow(self.plan.by_name[_needed_step(name)], other, causes)

    def _before(self, row: str, then: Mapping[str, str], now: Mapping[str, str]) -> Record | None:
        """The record of a need that was there then and is another now, None where that cannot be followed."""
        if (
            not row.startswith("need ")
            or row not in then
            or row not in now
            or _needed_step(row) not in self.plan.by_name
        ):
            return None
        return self.store.find(then[row])

    def _files(self, step: Step, last: Record) -> tuple[str, ...]:
        lines: list[str] = []
        for param, local in _digested_sources(step, self.places):
            before = rows_of(last.key_text).get(f"param {param}")
            if before == dict(step.params)[param]:
                continue
            if param == "tree":
                lines += _changed_files(survey(LocalSource(self.store.tree(last.tree))), survey(local), "")
            elif (noted_patches := patches_in(last.notes)) is not None or before is None:
                lines += _changed_files(noted_patches or (), survey(local), "patches/")
        return tuple(lines)


def _changed_files(then: Rows, now: Rows, lead: str) -> list[str]:
    """The files that differ, by path."""
    old, new = ({path: tuple(rest) for path, *rest in rows} for rows in (then, now))
    signs = {
        path: "-" if path not in new else "+" if path not in old else "~" for path in sorted(old.keys() | new.keys())
    }
    return [f"{sign} {lead}{path}" for path, sign in signs.items() if old.get(path) != new.get(path)]


def _needed_step(row: str) -> str:
    """The step of a row `need STEP at PLACE part FOLDER`."""
    return _BESIDE_NEED.split(row.removeprefix("need "), maxsplit=1)[0]
