"""Runs the steps that are not in the store, independent ones side by side, within the machine's memory."""

from __future__ import annotations

import signal
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field

from stackbuild.build.perform import BadInput, Broken, Built, Workshop, finished, perform
from stackbuild.core.errors import MachineLacks, Stop, Stopped
from stackbuild.model.events import StepBroke
from stackbuild.model.plan import Plan, Step
from stackbuild.store.store import unusable


@dataclass(frozen=True)
class Limits:
    """How many steps at once, how many bytes of memory in all, and whether to go on past a failure."""

    jobs: int
    memory: int
    keep_going: bool = False


@dataclass
class _Board:
    """Where a schedule stands: what is done, what is to do, what runs, what failed."""

    plan: Plan
    built: dict[str, Built] = field(default_factory=dict)
    todo: dict[str, Step] = field(default_factory=dict)
    running: dict[Future[Built], Step] = field(default_factory=dict)
    broken: list[StepBroke] = field(default_factory=list)
    lacking: dict[str, MachineLacks] = field(default_factory=dict)
    """What the machine lacks, by step: with `keep_going` the others are done nevertheless."""
    stopped: Stop | None = None


def schedule(plan: Plan, shop: Workshop, limits: Limits) -> tuple[dict[str, Built], tuple[StepBroke, ...]]:
    """Everything wanted is made or has failed: outputs by step name, and failures. Raises Stopped, MachineLacks."""
    board = _Board(plan)
    _demand(set(plan.wanted), board, shop)
    with ThreadPoolExecutor(max_workers=limits.jobs) as pool:
        while board.todo or board.running:
            _start_what_can(board, shop, limits, pool)
            if not board.running:
                break
            done, _ = wait(board.running, return_when=FIRST_COMPLETED)
            for future in done:
                _settle(future, board, shop, limits)
    if board.stopped:
        raise board.stopped
    return board.built, (*board.broken, *_lacks(board))


def _lacks(board: _Board) -> tuple[StepBroke, ...]:
    """What the machine lacks, beside what failed: neither hides the other. Raises MachineLacks where nothing failed."""
    if board.lacking and not board.broken:
        raise _lacking(board.lacking)
    return tuple(StepBroke(name, lacks.what, "", (), lacks.where, lacks.next) for name, lacks in board.lacking.items())


def _lacking(steps: dict[str, MachineLacks]) -> MachineLacks:
    """All that the machine lacks, a line for each step with what to do about it where there are several."""
    first, *others = steps.values()
    if all((lacks.what, lacks.next) == (first.what, first.next) for lacks in others):
        return first
    lines = (f"\n  {step}: {lacks.what}" + (f" ({lacks.next})" if lacks.next else "") for step, lacks in steps.items())
    return MachineLacks(
        f"{len(steps)} steps cannot run here:{''.join(lines)}", next="mend these and run the same command again"
    )


def _demand(names: set[str], board: _Board, shop: Workshop) -> None:
    """Note steps as built if the store has them, else as to do, with all they need."""
    demanded = set(names)
    for step in reversed(board.plan.steps):
        if step.name not in demanded or step.name in board.built or step.name in board.todo:
            continue
        if record := shop.store.find(step.key):
            board.built[step.name] = finished(step, record.tree, "cached", 0.0, shop)
        else:
            board.todo[step.name] = step
            demanded.update(need.step for need in step.needs)


def _start_what_can(board: _Board, shop: Workshop, limits: Limits, pool: ThreadPoolExecutor) -> None:
    if board.stopped or (board.broken and not limits.keep_going):
        return
    if not board.running:
        shop.jobserver.refill()
    ready = [s for s in board.plan.steps if s.name in board.todo and all(n.step in board.built for n in s.needs)]
    for step in ready:
        used = sum(s.resources.memory for s in board.running.values())
        if board.running and (len(board.running) >= limits.jobs or used + step.resources.memory > limits.memory):
            continue
        del board.todo[step.name]
        trees = {need.step: board.built[need.step].tree for need in step.needs}
        board.running[pool.submit(perform, step, trees, shop)] = step


def _settle(future: Future[Built], board: _Board, shop: Workshop, limits: Limits) -> None:
    step = board.running.pop(future)
    try:
        board.built[step.name] = future.result()
    except Broken as broken:
        board.broken.append(broken.event)
    except BadInput as bad:
        board.built.pop(bad.step, None)  # another step may have found it bad before
        board.todo[step.name] = step
        _demand({bad.step}, board, shop)
    except MachineLacks as lacks:
        if limits.keep_going:
            board.lacking[step.name] = lacks
        else:
            board.stopped = board.stopped or lacks
    except Stop as stop:
        board.stopped = board.stopped or stop
    except BrokenPipeError:  # whoever read the events has gone: what runs is of no more use to anyone
        shop.stopper.set(signal.SIGPIPE)
        board.stopped = board.stopped or Stopped(signal.SIGPIPE)
    except OSError as error:
        board.stopped = board.stopped or unusable(error, shop.store.root)
