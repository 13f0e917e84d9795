"""The ladder: every rung in order, each climbed as far as this machine can, the reason said where it cannot."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from stackbuild.core.digest import of_file, of_text
from stackbuild.core.errors import MachineLacks, UsageError
from stackbuild.core.packaging import Claim
from stackbuild.core.resources import folder
from stackbuild.inspection import NOTHING, Expectations, inspect, judge, judge_together
from stackbuild.model.findings import Rung, Status, Verification
from stackbuild.verification.clean_env import Place, here, install, make, there
from stackbuild.verification.models import write_models
from stackbuild.verification.rung import Climb, rung, skipped
from stackbuild.verification.rungs import providers as eps
from stackbuild.verification.rungs.gpu import Watch
from stackbuild.verification.rungs.importing import importing
from stackbuild.verification.rungs.loading import Loading, lacking, loading, loading_with_rocm, waiting
from stackbuild.verification.rungs.operators import CustomOps, numerics, on_gpu, running
from stackbuild.verification.rungs.static import static_rung, verification
from stackbuild.verification.subject import Form, Subject, subject_of
from stackbuild.verification.workspace import workspace

IMPORT, LOAD, LOAD_ROCM, OPERATORS = "install and import", "load", "load with ROCm", "operators"
SHARE, NUMERICS, GPU = "share of nodes", "numerics", "GPU at work"
LADDER = ("static rules", IMPORT, LOAD, LOAD_ROCM, OPERATORS, SHARE, NUMERICS, GPU)
Tick = Callable[[Rung], None]
Demands = Callable[[str], Expectations]


@dataclass(frozen=True)
class Ground:
    """What the ladder stands on: the wheelhouse with dependencies, what to install beside the wheel to use it, an
    interpreter of choice, and whether probes may see this machine's ROCm.

    `wheelhouses`, by Python version ("3.11"), are taken in its place: the one of the Python that it is climbed with.
    `root` is a root file system that takes this machine's place where that is too old or has no such Python, and where the
    libraries are loaded that wait for a ROCm which this machine has not: the recipe's base. `check` is called often and may
    raise, to end it.
    """

    wheelhouse: Path | None = None
    wheelhouses: tuple[tuple[str, Path], ...] = ()
    runtime: tuple[str, ...] = ("onnxruntime", "numpy", "onnx")
    python: Path | None = None
    rocm: bool = True
    root: Path | None = None
    check: Callable[[], None] = lambda: None


def verify(
    wheels: tuple[Path, ...],
    expected: Demands = lambda distribution: NOTHING,
    ground: Ground | None = None,
    tick: Tick = lambda _: None,
) -> Verification:
    """Climb the ladder with wheels that belong together; `expected` of each by its distribution. `tick` is told each rung
    when it ends.

    Raises UsageError where there is no such wheel, and what `ground.check` raises.
    """
    rungs: list[Rung] = []
    for made in _climbed(wheels, expected, ground or Ground()):
        rungs.append(made)
        tick(made)
    digests = [of_file(path) for path in wheels]
    name = " + ".join(path.name for path in wheels)
    return verification(name, digests[0] if len(digests) == 1 else of_text("\n".join(digests)), rungs)


def _climbed(wheels: tuple[Path, ...], expected: Demands, ground: Ground) -> Iterator[Rung]:
    for path in wheels:
        if path.suffix != ".whl" or not path.is_file():
            raise UsageError(
                "not a wheel", where=str(path), next="`verify` proves wheels; `inspect` reads other files too"
            )
    started = time.monotonic()
    facts = tuple(inspect(path.absolute()) for path in wheels)
    asked = tuple(expected(each.wheel.name) if each.wheel else NOTHING for each in facts)
    findings = (*(f for each, of in zip(facts, asked, strict=True) for f in judge(each, of)), *judge_together(facts))
    yield static_rung(findings, time.monotonic() - started)
    if any(each.wheel is None or any(p.subject == Path(each.path).name for p in each.problems) for each in facts):
        yield from (skipped(name, "the wheel cannot be read") for name in LADDER[1:])
        return
    external = tuple(name for each in asked for name in each.external)
    with workspace() as work:
        try:
            yield from _run(subject_of(facts), external, ground, work)
        except MachineLacks as lacks:
            yield from (skipped(name, lacks.what) for name in LADDER[1:])


def _run(subject: Subject, external: tuple[str, ...], ground: Ground, work: Path) -> Iterator[Rung]:
    """The rungs that run something."""
    place, lacking = _place(subject, ground, work)
    if place is None:
        yield from (skipped(name, lacking) for name in LADDER[1:])
        return
    if ground.wheelhouses:
        ground = replace(ground, wheelhouse=dict(ground.wheelhouses).get(place.version))
    subject = replace(subject, wheels=tuple(_at_hand(wheel, work / "wheels") for wheel in subject.wheels))
    readable = (work / "wheels", *(p.resolve() for p in (*filter(None, (ground.wheelhouse,)), folder("kernels"))))
    (work / "clean").mkdir()
    clean, ended = make(work / "clean", place, readable, ground.check)
    if ended.code:
        yield from (skipped(name, f"no virtual environment can be made: {ended.how}") for name in LADDER[1:])
        return
    imported = rung(IMPORT, lambda: importing(subject, clean, ground.wheelhouse))
    yield imported
    if not any(clean.site.glob("*.dist-info")):
        why = imported.reason if imported.status is Status.SKIPPED else f"{IMPORT} failed"
        yield from (skipped(name, why) for name in LADDER[2:])
        return
    yield from _use(subject, ground, Climb(subject, external, clean, folder("kernels"), work), imported)


def _at_hand(wheel: Path, beside: Path) -> Path:
    """The wheel under its own name in a folder that probes may read; what it links to may lie anywhere."""
    beside.mkdir(exist_ok=True)
    try:
        os.link(wheel.resolve(), beside / wheel.name)
    except OSError:  # another file system
        shutil.copyfile(wheel, beside / wheel.name)
    return beside / wheel.name


def _place(subject: Subject, ground: Ground, work: Path) -> tuple[Place | None, str]:
    """This machine where it can take the wheels, else the other root; or None and why neither can."""
    machine = here(subject.claim, ground.python)
    lacking = machine.lacks(subject.libraries, subject.claim)
    if not lacking:
        return machine, ""
    if ground.root is None:
        return None, lacking
    (work / "asked").mkdir()
    other, why = there(ground.root, subject.claim, work / "asked", ground.check)
    why = other.lacks(subject.libraries, subject.claim) if other else why
    return (None, f"{lacking}; {why}") if why else (other, "")


def _elsewhere(climb: Climb, root: Path, names: frozenset[str], waits: Rung) -> Rung:
    """Load in another root what waits for a ROCm that this machine has not; `waits` with the reason where it has no Python."""
    (folder := climb.work / "elsewhere").mkdir()
    place, why = there(root, Claim(()), folder, climb.cell.check)
    if place is None:
        return replace(waits, reason=f"{waits.reason}; {why}")
    cell = replace(climb.cell, python=place.python, root=root)
    made = rung(LOAD_ROCM, lambda: loading_with_rocm(Loading(replace(climb, cell=cell), names, rocm=True)))
    return replace(made, reason=f"{made.reason}, in {place.called}")


def _use(subject: Subject, ground: Ground, climb: Climb, imported: Rung) -> Iterator[Rung]:
    """The rungs above import: load without ROCm, load with it, then, where it can be imported, use within ONNX Runtime."""
    hidden = Loading(climb)
    first = rung(LOAD, lambda: loading(hidden))
    yield first
    climb = replace(climb, cell=replace(climb.cell, rocm=ground.rocm))
    shown = Loading(climb, waiting(hidden), rocm=True)
    second = rung(LOAD_ROCM, lambda: loading_with_rocm(shown))
    other = ground.root if second.status is Status.SKIPPED and waiting(hidden) and climb.cell.root is None else None
    yield _elsewhere(climb, other, waiting(hidden), second) if other else second
    if reason := _no_use(subject, ground, climb, imported):
        yield from (skipped(name, reason) for name in LADDER[4:])
    elif subject.form is Form.CUSTOM_OPS:
        yield from _custom_ops(climb, second)
    else:
        yield from _providers(climb, _waits(subject, first, shown))


def _no_use(subject: Subject, ground: Ground, climb: Climb, imported: Rung) -> str:
    """Why the wheel cannot be used in a session, or '' once what that takes is installed beside it."""
    if imported.status is Status.FAILED:
        return f"{IMPORT} failed"
    if subject.form is Form.OTHER:
        return f"it is {subject.form}"
    beside = _beside(subject, ground)
    if not install(climb.cell, ground.wheelhouse, beside).code:
        return ""
    names = ", ".join(beside)
    return (
        f"the wheelhouse does not give {names} for Python {climb.cell.site.parent.name.removeprefix('python')}"
        if ground.wheelhouse
        else f"there is no wheelhouse to take {names} from (a whole `stackbuild build` makes one, `verify` takes --wheelhouse DIR)"
    )


def _beside(subject: Subject, ground: Ground) -> tuple[str, ...]:
    """What to install to use the wheel: the runtime, unless the wheel is one."""
    if subject.form is Form.RUNTIME:
        return tuple(name for name in ground.runtime if not name.startswith("onnxruntime"))
    return ground.runtime


def _custom_ops(climb: Climb, rocm: Rung) -> Iterator[Rung]:
    made = CustomOps(climb)
    yield rung(OPERATORS, lambda: running(made))
    yield skipped(SHARE, "custom operators have no other implementation that could take their nodes")
    yield rung(NUMERICS, lambda: numerics(made))
    waits = rocm.reason if rocm.status is not Status.PASSED else ""
    yield rung(GPU, lambda: on_gpu(climb, Watch(), waits))


def _providers(climb: Climb, waits: str) -> Iterator[Rung]:
    models, no_models = write_models(climb.work / "models")
    climb = replace(climb, cell=replace(climb.cell, readable=(*climb.cell.readable, *{m.path.parent for m in models})))
    made = eps.Providers(climb, models, no_models, waits)
    yield rung(OPERATORS, lambda: eps.sessions(made))
    yield rung(SHARE, lambda: eps.share(made))
    yield rung(NUMERICS, lambda: eps.numerics(made))
    yield rung(GPU, lambda: eps.at_work(made, Watch()))


def _waits(subject: Subject, loaded: Rung, shown: Loading) -> str:
    """Why no session can be opened: the provider's library does not load here. A plugin opens its GPU runtime itself."""
    if loaded.status is Status.FAILED:
        return f"{LOAD} failed"
    return lacking(shown) if subject.form is Form.RUNTIME else ""
