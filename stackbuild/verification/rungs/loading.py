"""Rungs 3 and 4: dlopen each library in a fresh process; those that need ROCm apart, where ROCm is not here."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property

from stackbuild.core.digest import Json
from stackbuild.inspection.facts import Library
from stackbuild.inspection.rules.rocm import ROCM_LIBRARIES
from stackbuild.inspection.rules.rule import counted
from stackbuild.model.findings import Finding
from stackbuild.verification.catalogue import LOAD
from stackbuild.verification.probe_sandbox import Ended
from stackbuild.verification.rung import Climb, Outcome, trouble
from stackbuild.verification.subject import installed

SECONDS = 60.0
_MOST = 64


@dataclass(frozen=True)
class Loading:
    """What loading every library came to, or `only` some; asked once. `rocm`: with ROCm in sight.

    Another root may have ROCm in /usr, where it cannot be hidden: what needs it there is not loaded without `rocm`.
    """

    climb: Climb
    only: frozenset[str] | None = None
    rocm: bool = False

    @cached_property
    def ended(self) -> dict[str, Ended]:
        """How the probe of each library ended, by its path in the wheel."""
        libraries = [lib for lib in self.climb.subject.libraries if not lib.is_extension]
        if self.only is not None:
            libraries = [lib for lib in libraries if lib.path in self.only]
        return {lib.path: self._probe(lib) for lib in libraries[:_MOST] if lib.path not in self.unhidden}

    @cached_property
    def unhidden(self) -> dict[str, str]:
        """Libraries that this root's ROCm cannot be hidden from, each with what it needs of it."""
        if self.rocm or self.climb.cell.root is None:
            return {}
        needs = {lib.path: [n for n in lib.needed if self._is_rocm(n)] for lib in self.climb.subject.libraries}
        return {path: ", ".join(names) for path, names in needs.items() if names}

    def missing(self, path: str) -> list[str]:
        """Sonames that the library needs and this machine has not."""
        names = self.ended[path].answer.get("missing", [])
        return [str(name) for name in names] if isinstance(names, list) else []

    def lacks(self, path: str) -> str:
        """What this machine is without that the library may rightly ask for: ROCm, or a newer system; '' for nothing."""
        if path in self.unhidden:
            return self.unhidden[path]
        names = self.missing(path)
        if names and all(self._is_rocm(name) for name in names):
            return ", ".join(names)
        newer = re.search(r"version `(\w+_[\d.]+)' not found", str(self.ended[path].answer.get("why", "")))
        return newer[1] if newer else ""

    def _is_rocm(self, soname: str) -> bool:
        return soname in self.climb.external or any(fnmatchcase(soname, p) for p in ROCM_LIBRARIES)

    def _probe(self, lib: Library) -> Ended:
        site = self.climb.cell.site
        shared = [
            x.path for x in self.climb.subject.libraries if re.search(r"libonnxruntime_providers_shared\.so$", x.path)
        ]
        before = [f"{site}/{installed(path)}" for path in shared if lib.path not in shared]
        job: dict[str, Json] = {"path": f"{site}/{installed(lib.path)}", "before": [*before], "needed": [*lib.needed]}
        return self.climb.cell.probe("loading", job, SECONDS)


def loading(made: Loading) -> Outcome:
    """Everything that this machine can load, loads."""
    found = [finding for path, ended in made.ended.items() for finding in _judge(made, path, ended)]
    able = [path for path in made.ended if not made.lacks(path)]
    if not made.ended and not made.unhidden:
        return Outcome(skip="there is no library to load")
    if not able:
        return Outcome(tuple(found), skip=_reason(made))
    total = sum(not lib.is_extension for lib in made.climb.subject.libraries)
    rest = f" (the first {_MOST} of {total})" if total > _MOST else ""
    waits = f"; the rest: {_reason(made)}" if waiting(made) else ""
    return Outcome(tuple(found), says=f"{len(able)} of {counted(len(made.ended), 'library')}{rest}{waits}")


def waiting(made: Loading) -> frozenset[str]:
    """The libraries that did not load for want of ROCm or a newer system."""
    return frozenset(path for path in (*made.ended, *made.unhidden) if made.lacks(path))


def lacking(made: Loading) -> str:
    """What of ROCm or of a newer system its libraries wait for, or ''."""
    return _reason(made) if waiting(made) else ""


def loading_with_rocm(made: Loading) -> Outcome:
    """What did not load without ROCm loads with it, where ROCm is here."""
    found = [finding for path, ended in made.ended.items() for finding in _judge(made, path, ended)]
    if not made.ended:
        return Outcome(skip="no library waits for it")
    if waiting(made):
        return Outcome(tuple(found), skip=_reason(made))
    return Outcome(tuple(found), says=counted(len(made.ended), "library"))


def _reason(made: Loading) -> str:
    names = sorted({name for path in (*made.ended, *made.unhidden) for name in made.lacks(path).split(", ") if name})
    if made.unhidden:
        return f"they need {', '.join(names)}, which {made.climb.cell.root} has where it cannot be hidden"
    return f"this machine has no {', '.join(names)}"


def _judge(made: Loading, path: str, ended: Ended) -> list[Finding]:
    if ended.how:
        return [trouble(LOAD, path, ended)]
    if ended.answer.get("loaded") or made.lacks(path):
        return []
    missing = [name for name in made.missing(path) if not made._is_rocm(name)]
    return [
        LOAD.finding(path, f"{ended.answer.get('why', '')}" + (f" (missing: {', '.join(missing)})" if missing else ""))
    ]
