"""Calls with a number of arguments that no declaration of the target's headers takes: CUDA's signature is another one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from stackbuild.hipify.cpp.scan import after_template, arguments
from stackbuild.hipify.cpp.source_text import View
from stackbuild.hipify.passes import aliases
from stackbuild.hipify.passes.calls import declares
from stackbuild.hipify.rules.lookups import Lookups
from stackbuild.hipify.rules.rules import ConversionRule
from stackbuild.model.findings import Finding, Severity


def report(view: View, lookups: Lookups, present: Iterable[str]) -> Iterator[Finding]:
    """A finding for each call of a renamed function that does not fit its HIP form, unless a rule moves its arguments."""
    declarations = lookups.target.declared
    if declarations is None:
        return
    rules = lookups.of_kind("call", view.name)
    for name in present:
        subst = lookups.names.get(name)
        if subst is None or subst.hip not in declarations.counts or view.hidden_declarations(name):
            continue
        if name.endswith("_t"):
            continue  # `std::function<cudaError_t(int, int)>` is a type
        if name in _BY_PLACE and not _PLACE.isdisjoint(view.words):
            continue  # a support header takes CUDA 13's places
        moving = [rule for rule in rules if name in rule.match and (rule.moves or rule.to or rule.by_hand)]
        for at in view.own(name):
            open_at = after_template(view.code, at + len(name))
            argument_list = arguments(view.code, open_at) if view.code.startswith("(", open_at) else None
            if (
                argument_list is None
                or declarations.takes(subst.hip, len(argument_list[0]))
                or _is_moved(moving, len(argument_list[0]))
            ):
                continue
            if (
                declares(view, at, argument_list[0])
                or aliases.rest(view, open_at, argument_list[0]) is not None
                or view.is_defined_at(at)
            ):
                continue
            yield _finding(
                view, at, name, subst.hip, len(argument_list[0]), declarations.counts[subst.hip], declarations.source
            )


_BY_PLACE = frozenset(("cudaMemPrefetchAsync", "cudaMemAdvise"))
_PLACE = frozenset(("cudaMemLocation", "cudaMemLocationTypeDevice"))


def _is_moved(rules: Iterable[ConversionRule], count: int) -> bool:
    return any(rule.count is None or rule.count == count for rule in rules)


def _finding(view: View, at: int, name: str, hip: str, count: int, counts: tuple[int, ...], source: str) -> Finding:
    takes = " or ".join(map(str, counts))
    return view.finding(
        at,
        "HIPIFY-ARGUMENTS",
        Severity.ERROR,
        f"{name} has {count} argument{'s' * (count != 1)} here, and {hip} takes {takes} ({source})",
        "HIP's function takes them in another order or number, so with its name alone it does not compile, or is wrong",
        "write this call by hand, or add a call rule for it",
    )
