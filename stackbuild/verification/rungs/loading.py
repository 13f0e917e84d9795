"""Rungs 3 and 4: dlopen each library in a fresh process; those that need ROCm apart, where ROCm is not here."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from stackbuild.core.digest import Json
from stackbuild.emulator.hip_runtime import RUNTIME
from stackbuild.inspection.facts import Library
from stackbuild.inspection.rules.rule import count_of
from stackbuild.model.findings import Finding
from stackbuild.verification.catalogue import LOAD
from stackbuild.verification.machine_libraries import is_machine_library
from stackbuild.verification.probe_sandbox import ProbeResult
from stackbuild.verification.rung import RungContext, RungOutcome, probe_finding
from stackbuild.verification.rungs.gpu import GpuWatch
from stackbuild.verification.subject import installed_path

SECONDS = 60.0
_MOST = 64
NO_DEVICE = "no ROCm-capable device is detected"
"""HIP's words for hipErrorNoDevice. An initialiser of ONNX Runtime's ROCm provider asks for a device and throws: where there is
none the process ends before dlopen returns."""
_BRIDGE = re.compile(r"libonnxruntime_providers_\w+\.so$")


@dataclass(frozen=True)
class LoadProbes:
    """The results of loading every library, or `only` some; each is loaded once. `rocm`: with ROCm visible.

    Another root may have ROCm in /usr, where it cannot be hidden: what needs it there is not loaded without `rocm`.
    """

    context: RungContext
    only: frozenset[str] | None = None
    rocm: bool = False

    @cached_property
    def results(self) -> dict[str, ProbeResult]:
        """How the probe of each library ended, by its path in the wheel."""
        libraries = [lib for lib in self.context.subject.libraries if _is_opened(lib) or self._waits(lib)]
        if self.only is not None:
            libraries = [lib for lib in libraries if lib.path in self.only]
        return {lib.path: self._probe(lib) for lib in libraries[:_MOST] if lib.path not in self.needs_rocm}

    @cached_property
    def needs_rocm(self) -> dict[str, str]:
        """Libraries that this root's ROCm cannot be hidden from, each with what it needs of it."""
        if self.rocm or self.context.sandbox.root is None:
            return {}
        own = {f"{self.context.sandbox.site}/{installed_path(lib.path)}" for lib in self.context.subject.libraries}
        needs = {
            lib.path: [n for n in lib.needed if self._is_rocm(n) and own.isdisjoint(self._places(n, lib))]
            for lib in self.context.subject.libraries
            if not lib.is_program
        }
        files = {path.rpartition("/")[2] for path in own}
        return {
            path: ", ".join([name for name in names if name not in files] or names)
            for path, names in needs.items()
            if names
        }

    def missing(self, path: str) -> list[str]:
        """Sonames that the library needs and this machine has not."""
        names = self.results[path].answer.get("missing", [])
        return [str(name) for name in names] if isinstance(names, list) else []

    def missing_here(self, path: str) -> str:
        """What this machine is without that the library may rightly ask for, '' for nothing: ROCm, a driver's library, a
        newer system, or a GPU."""
        if self.asks_for_gpu(path):
            return f"AMD GPU (an initialiser of {path.rpartition('/')[2]} asks HIP for one)"
        if path in self.needs_rocm:
            return self.needs_rocm[path]
        names = self.missing(path)
        if names and all(self._is_rocm(name) for name in names):
            return ", ".join(names)
        newer = re.search(r"version `(\w+_[\d.]+)' not found", str(self.results[path].answer.get("why", "")))
        return newer[1] if newer else ""

    def asks_for_gpu(self, path: str) -> bool:
        """Whether the library needs HIP, and did not load because that found no device where none is."""
        result = self.results.get(path)
        if result is None or result.answer.get("loaded") or GpuWatch().is_here():
            return False
        words = f"{result.tail} {result.answer.get('why', '')}"
        sonames = next(lib.needed for lib in self.context.subject.libraries if lib.path == path)
        return NO_DEVICE in words and any(RUNTIME.fullmatch(name) for name in sonames)

    def _waits(self, lib: Library) -> bool:
        """Whether it is an extension module that no import can open where the machine has no ROCm."""
        by_name = {lib.path.rpartition("/")[2]: lib for lib in self.context.subject.libraries}
        sonames, todo = set[str](), list(lib.needed) if lib.is_extension else []
        while todo:
            if (name := todo.pop()) not in sonames:
                sonames.add(name)
                todo += by_name[name].needed if name in by_name else ()
        return any(self._is_rocm(name) for name in sonames - by_name.keys())

    def _is_rocm(self, soname: str) -> bool:
        return is_machine_library(soname, self.context.external)

    def _probe(self, lib: Library) -> ProbeResult:
        site = self.context.sandbox.site
        shared_libraries = [
            x.path for x in self.context.subject.libraries if re.search(r"libonnxruntime_providers_shared\.so$", x.path)
        ]
        before = [f"{site}/{installed_path(path)}" for path in shared_libraries if lib.path not in shared_libraries]
        job: dict[str, Json] = {
            "path": f"{site}/{installed_path(lib.path)}",
            "before": [*before],
            "host": bool(before and _BRIDGE.search(lib.path)),
            "needed": [*lib.needed],
            "beside": [self._expand(element, lib) for element in (*lib.rpath, *lib.runpath)],
        }
        return self.context.sandbox.probe("loading", job, SECONDS)

    def _places(self, soname: str, lib: Library) -> list[str]:
        """Where the library's own search path has another one that it needs."""
        return [f"{self._expand(element, lib)}/{soname}" for element in (*lib.rpath, *lib.runpath)]

    def _expand(self, element: str, lib: Library) -> str:
        """A search path's element with its $ORIGIN, the folder of the installed library, put in."""
        origin = f"{self.context.sandbox.site}/{installed_path(lib.path)}".rpartition("/")[0]
        return element.replace("${ORIGIN}", origin).replace("$ORIGIN", origin)


def _is_opened(library: Library) -> bool:
    """Whether something opens it by dlopen: the import opens extension modules, and nothing opens a program."""
    return not library.is_extension and not library.is_program


def check_loading(probes: LoadProbes) -> RungOutcome:
    """Everything that this machine can load, loads."""
    findings = [finding for path, result in probes.results.items() for finding in _judge(probes, path, result)]
    able = [path for path in probes.results if not probes.missing_here(path)]
    if not probes.results and not probes.needs_rocm:
        return RungOutcome(skip="there is no library to load")
    if not able:
        return RungOutcome(tuple(findings), skip=_reason(probes))
    total = sum(map(_is_opened, probes.context.subject.libraries))
    rest = f" (the first {_MOST} of {total})" if total > _MOST else ""
    waits = f"; the rest: {_reason(probes)}" if unloaded_libraries(probes) else ""
    programs = sum(library.is_program for library in probes.context.subject.libraries)
    idle = f"; {count_of(programs, 'program')} not run" if programs else ""
    says = f"{len(able)} of {count_of(len(probes.results), 'library')}{rest}{waits}{idle}"
    return RungOutcome(tuple(findings), says=says)


def unloaded_libraries(probes: LoadProbes) -> frozenset[str]:
    """The libraries that did not load because ROCm or a newer system is missing."""
    return frozenset(path for path in (*probes.results, *probes.needs_rocm) if probes.missing_here(path))


def missing_names(probes: LoadProbes) -> str:
    """What of ROCm or of a newer system its libraries wait for, or ''."""
    return _reason(probes) if unloaded_libraries(probes) else ""


def check_loading_with_rocm(probes: LoadProbes) -> RungOutcome:
    """What did not load without ROCm loads with it, where ROCm is here."""
    findings = [finding for path, result in probes.results.items() for finding in _judge(probes, path, result)]
    if not probes.results:
        return RungOutcome(skip="no library waits for it")
    if unloaded_libraries(probes):
        return RungOutcome(tuple(findings), skip=_reason(probes))
    return RungOutcome(tuple(findings), says=count_of(len(probes.results), "library"))


def _reason(probes: LoadProbes) -> str:
    names = sorted(
        {
            name
            for path in (*probes.results, *probes.needs_rocm)
            for name in probes.missing_here(path).split(", ")
            if name
        }
    )
    if probes.needs_rocm:
        return f"they need {', '.join(names)}, which {probes.context.sandbox.root} has where it cannot be hidden"
    return f"this machine has no {', '.join(names)}"


def _judge(probes: LoadProbes, path: str, result: ProbeResult) -> list[Finding]:
    if result.problem and not probes.asks_for_gpu(path):
        return [probe_finding(LOAD, path, result)]
    if result.answer.get("loaded") or probes.missing_here(path):
        return []
    missing = [name for name in probes.missing(path) if not probes._is_rocm(name)]
    return [
        LOAD.finding(path, f"{result.answer.get('why', '')}" + (f" (missing: {', '.join(missing)})" if missing else ""))
    ]
