"""Runs the steps that are not in the store, independent ones side by side, within the machine's memory."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace

from stackbuild.build.context import BadInput, BrokenStep, BuildContext, StepOutput
from stackbuild.build.perform import finish, perform
from stackbuild.core.cancel import WAIT_SECONDS
from stackbuild.core.errors import Interruption, MachineLacks, Stop
from stackbuild.model.events import StepBroke
from stackbuild.model.plan import Plan, Step
from stackbuild.store.records import Record
from stackbuild.store.store import unusable


@dataclass(frozen=True)
class Limits:
    """How many steps at once, how many bytes of memory in all, and whether to go on past a failure."""

    jobs: int
    memory: int
    keep_going: bool = False


@dataclass
class _ScheduleState:
    """Where a schedule stands: what is done, what is to do, what runs, what failed."""

    plan: Plan
    outputs: dict[str, StepOutput] = field(default_factory=dict)
    todo: dict[str, Step] = field(default_factory=dict)
    running: dict[Future[StepOutput], Step] = field(default_factory=dict)
    failures: list[StepBroke] = field(default_factory=list)
    lacking: dict[str, MachineLacks] = field(default_factory=dict)
    """What the machine lacks, by step: with `keep_going` the others are done nevertheless."""
    stop: Stop | None = None


def schedule(
    plan: Plan, context: BuildContext, limits: Limits, stored_records: Mapping[str, Record] | None = None
) -> tuple[dict[str, StepOutput], tuple[StepBroke, ...]]:
    """Everything wanted is made or has failed: outputs by step name, and failures. Raises Stopped, MachineLacks.

    `stored_records` are the plan's records by key where the caller has just looked for them.
    """
    progress = _ScheduleState(plan)
    if context.placement is not None:  # each machine has its own memory, and says how many steps it takes
        limits = replace(limits, jobs=context.placement.at_once, memory=sys.maxsize)
    _demand(set(plan.goals), progress, context, context.find_record if stored_records is None else stored_records.get)
    with ThreadPoolExecutor(max_workers=limits.jobs) as pool:
        while progress.todo or progress.running:
            _start_what_can(progress, context, limits, pool)
            if not progress.running:
                break
            finished_futures, _ = wait(progress.running, WAIT_SECONDS, FIRST_COMPLETED)
            for future in finished_futures:
                _settle(future, progress, context, limits)
    if progress.stop:
        raise progress.stop
    return progress.outputs, (*progress.failures, *_lacks(progress))


def _lacks(progress: _ScheduleState) -> tuple[StepBroke, ...]:
    """What the machine lacks, beside what failed: neither hides the other. Raises MachineLacks where nothing failed."""
    if progress.lacking and not progress.failures:
        raise _lacking(progress.lacking)
    return tuple(
        StepBroke(name, lacks.what, "", (), lacks.where, lacks.next) for name, lacks in progress.lacking.items()
    )


def _lacking(steps: dict[str, MachineLacks]) -> MachineLacks:
    """All that the machine lacks, a line for each step with what to do about it where there are several."""
    first, *others = steps.values()
    if all((lacks.what, lacks.next) == (first.what, first.next) for lacks in others):
        return first
    lines = (f"\n{step}: {lacks.what}" + (f" ({lacks.next})" if lacks.next else "") for step, lacks in steps.items())
    return MachineLacks(
        f"{len(steps)} steps cannot run here:{''.join(lines)}", next="fix these and run the same command again"
    )


def _demand(
    names: set[str], progress: _ScheduleState, context: BuildContext, find: Callable[[str], Record | None]
) -> None:
    """Note steps as built if the store has them, else as to do, with all they need."""
    demanded_steps = set(names)
    for step in reversed(progress.plan.steps):
        if step.name not in demanded_steps or step.name in progress.outputs or step.name in progress.todo:
            continue
        if record := find(step.key):
            progress.outputs[step.name] = finish(step, record.tree, "cached", 0.0, context)
        else:
            progress.todo[step.name] = step
            demanded_steps.update(need.step for need in step.needs)


def _start_what_can(progress: _ScheduleState, context: BuildContext, limits: Limits, pool: ThreadPoolExecutor) -> None:
    if progress.stop or (progress.failures and not limits.keep_going):
        return
    if not progress.running:
        context.jobserver.refill()
    ready: Sequence[Step] = [
        s for s in progress.plan.steps if s.name in progress.todo and all(n.step in progress.outputs for n in s.needs)
    ]
    if context.placement is not None:
        ready = context.placement.arrange(progress.plan, ready)
    for step in ready:
        memory_in_use = sum(s.resources.memory for s in progress.running.values())
        if progress.running and (len(progress.running) >= limits.jobs or memory_in_use + step.resources.memory > limits.memory):
            continue
        del progress.todo[step.name]
        trees = {need.step: progress.outputs[need.step].tree for need in step.needs}
        progress.running[pool.submit(_perform, progress.plan, step, trees, context)] = step


def _perform(plan: Plan, step: Step, trees: Mapping[str, str], context: BuildContext) -> StepOutput:
    if context.placement is not None:
        return context.placement.perform(plan, step, trees)
    return perform(step, trees, context)


def _settle(future: Future[StepOutput], progress: _ScheduleState, context: BuildContext, limits: Limits) -> None:
    step = progress.running.pop(future)
    try:
        progress.outputs[step.name] = future.result()
    except BrokenStep as failure:
        progress.failures.append(failure.event)
    except BadInput as bad:
        progress.outputs.pop(bad.step, None)  # another step may have found it bad before
        progress.todo[step.name] = step
        placed = context.placement is not None  # then this store's copy does not help the machine that lacks it
        _demand({bad.step}, progress, context, (lambda key: None) if placed else context.find_record)
    except MachineLacks as lacks:
        if limits.keep_going:
            progress.lacking[step.name] = lacks
        else:
            progress.stop = progress.stop or lacks
    except Stop as stop:
        progress.stop = progress.stop or stop
    except BrokenPipeError:  # whoever read the events has gone: what runs is of no more use to anyone
        context.stopper.set(signal.SIGPIPE)
        progress.stop = progress.stop or Interruption(signal.SIGPIPE)
    except OSError as error:
        progress.stop = progress.stop or unusable(error, context.store.root)
