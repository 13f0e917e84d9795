"""What a step module gets beside its component, and the parts that every session step is made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from stackbuild.core.sizes import size_of
from stackbuild.model.components import Component
from stackbuild.model.lock import Dep
from stackbuild.model.plan import CONVERTED_SOURCE, Command, Need, Resources, Step, sorted_items

SOURCE_DATE_EPOCH = "1700000000"
"""2023-11-14T22:13:20Z: one fixed time for everything that would otherwise write the time of the build."""


@dataclass(frozen=True)
class Context:
    """The recipe's wide decisions, and the steps made so far by name.

    `names` says which step stands for a component in this lane of the matrix, where it is not the component's own name.
    """

    gfx: tuple[str, ...]
    steps: Mapping[str, Step]
    rocm: str = ""
    python: str = ""
    """The lane's Python, "" for a component that does not depend on it."""
    names: Mapping[str, str] = field(default_factory=dict)
    deps: Mapping[str, tuple[Dep, ...]] = field(default_factory=dict)
    """Locked dependencies of sources, by the source's name."""
    trees: Mapping[str, str] = field(default_factory=dict)
    """Digests of what lies on this machine, by name: local sources, patches, hipify rules."""
    converted_step: str = ""
    """The step that made HIP of this lane's source, "" where none does."""

    def need(self, step: str, at: str = "") -> Need:
        name = self.names.get(step, step)
        return Need(name, self.steps[name].key, at)


def session_step(
    name: str,
    component: Component,
    context: Context,
    commands: tuple[Command, ...],
    source: str | None,
    env: dict[str, str],
    more: tuple[Need, ...] = (),
    must_use: tuple[str, ...] = (),
) -> Step:
    """A step that opens a session on the base: its source at `/src/NAME`, its needs at `/deps/NAME`."""
    needs = [context.need("base")]
    if source is not None:
        needs.append(_source(source, component, context))
    needs += [context.need(n, f"/deps/{n}") for n in component.needs]
    needs += more
    return Step(
        name=name,
        action="run",
        needs=tuple(needs),
        commands=commands,
        env=sorted_items({**fixed_env(), **env, **component.env}),
        base="base",
        resources=Resources(memory=size_of(component.memory)),
        must_use=must_use,
    )


def _source(source: str, component: Component, context: Context) -> Need:
    """The source as it was fetched, or as HIP where the component's own was converted."""
    if context.converted_step and source == getattr(component, "source", None):
        return Need(
            context.converted_step, context.steps[context.converted_step].key, f"/src/{source}", CONVERTED_SOURCE
        )
    return context.need(f"source.{source}", f"/src/{source}")


def fixed_env() -> dict[str, str]:
    """The environment of every session step: nothing of the caller's comes in."""
    return {
        "HOME": "/tmp",
        "LC_ALL": "C.UTF-8",
        "PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONHASHSEED": "0",
        "SOURCE_DATE_EPOCH": SOURCE_DATE_EPOCH,
        "TZ": "UTC",
    }
