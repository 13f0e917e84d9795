"""What a release gained and lost: two Facts side by side."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from stackbuild.inspect.facts import Facts
from stackbuild.inspect.rules.rule import About
from stackbuild.inspect.summary import natural
from stackbuild.report import Finding, Severity


@dataclass(frozen=True)
class Change:
    """One thing that differs: `topic` such as targets, `subject` what it is about, and its value before and after ('' for none)."""

    topic: str
    subject: str
    before: str
    after: str


@dataclass(frozen=True)
class Difference:
    """`changes` in the order of topics; `findings` are the losses that a release should not have by accident."""

    old: str
    new: str
    changes: tuple[Change, ...]
    findings: tuple[Finding, ...]


LOST = About(
    "SB-DIFF-LOST", Severity.ERROR, "The new release lost something",
    when="`inspect --diff OLD NEW`: a target, a provider or a Python package is gone, or a target lost a tenth of its"
    " non-empty kernels.",
    why="A build that silently dropped a component looks like any other; users notice when their GPU is idle.",
    fix="Compare the build logs; if it is meant, say so in the release notes and pass the new wheel as the old one next time.",
    link="https://github.com/ROCm/rocm-systems/issues/6362", needs="",
)  # fmt: skip
_KERNEL_LOSS = 0.1


def difference(old: Facts, new: Facts) -> Difference:
    """What `new` gained and lost against `old`."""
    changes = [*_sizes(old, new), *_targets(old, new), *_sets(old, new), *_libraries(old, new)]
    return Difference(old.subject, new.subject, tuple(changes), tuple(_losses(old, new)))


def _sizes(old: Facts, new: Facts) -> Iterable[Change]:
    yield from _change("size", "file", f"{old.size:,} B", f"{new.size:,} B")
    unpacked = [sum(m.size for m in facts.members) for facts in (old, new)]
    yield from _change("size", "unpacked", f"{unpacked[0]:,} B", f"{unpacked[1]:,} B")
    if old.wheel and new.wheel:
        yield from _change("wheel", "version", old.wheel.version, new.wheel.version)
        yield from _change("wheel", "tags", " ".join(old.wheel.filename_tags), " ".join(new.wheel.filename_tags))
    yield from _change("wheel", "policy", old.policy.name if old.policy else "", new.policy.name if new.policy else "")


def _targets(old: Facts, new: Facts) -> Iterable[Change]:
    before, after = ({t.target: t for t in facts.targets} for facts in (old, new))
    for target in sorted(before.keys() | after.keys(), key=natural):
        was, now = before.get(target), after.get(target)
        yield from _change(
            "targets", target, f"{was.working:,} kernels, {was.size:,} B" if was else "",
            f"{now.working:,} kernels, {now.size:,} B" if now else "",
        )  # fmt: skip
        if was and now:
            yield from _change("spills", target, f"{was.spilling} kernels", f"{now.spilling} kernels")
            yield from _kernels(old, new, target)


def _kernels(old: Facts, new: Facts, target: str) -> Iterable[Change]:
    before, after = (_names(facts, target) for facts in (old, new))
    lost, gained = before - after, after - before
    if lost or gained:
        first = sorted(lost or gained)[0][:80]
        yield Change(
            "kernels", target, f"{sum(lost.values())} only here", f"{sum(gained.values())} only here, such as {first}"
        )


def _names(facts: Facts, target: str) -> Counter[str]:
    return Counter(
        k.name for d in facts.device for o in d.objects if o.target == target for k in o.kernels if not k.empty
    )


def _sets(old: Facts, new: Facts) -> Iterable[Change]:
    for topic, before, after in (
        ("providers", _providers(old), _providers(new)),
        ("external", set(old.policy.external if old.policy else ()), set(new.policy.external if new.policy else ())),
        ("requires", set(old.wheel.requires if old.wheel else ()), set(new.wheel.requires if new.wheel else ())),
        ("modules", _modules(old), _modules(new)),
    ):
        for name in sorted(before ^ after):
            yield Change(topic, name, "yes" if name in before else "", "yes" if name in after else "")


def _providers(facts: Facts) -> set[str]:
    return {provider.name for provider in facts.providers}


def _modules(facts: Facts) -> set[str]:
    return set(facts.wheel.top_level if facts.wheel else ())


def _libraries(old: Facts, new: Facts) -> Iterable[Change]:
    before, after = ({lib.path: lib for lib in facts.libraries} for facts in (old, new))
    for path in sorted(before.keys() | after.keys()):
        was, now = before.get(path), after.get(path)
        if was is None or now is None:
            yield Change("libraries", path, f"{was.size:,} B" if was else "", f"{now.size:,} B" if now else "")
            continue
        for topic, one, two in (("exports", was.exports, now.exports), ("needs", was.needed, now.needed)):
            for name in sorted(set(one) ^ set(two))[:50]:
                yield Change(topic, f"{path}: {name}", "yes" if name in one else "", "yes" if name in two else "")
        yield from _change("runpath", path, ":".join(was.runpath), ":".join(now.runpath))


def _change(topic: str, subject: str, before: str, after: str) -> Iterable[Change]:
    return [Change(topic, subject, before, after)] if before != after else []


def _losses(old: Facts, new: Facts) -> Iterable[Finding]:
    after = {t.target: t.working for t in new.targets}
    for target in old.targets:
        if target.target not in after:
            yield LOST.finding(target.target, f"no code object in {new.subject}; {target.working:,} kernels before")
        elif after[target.target] < target.working * (1 - _KERNEL_LOSS):
            yield LOST.finding(target.target, f"{after[target.target]:,} non-empty kernels; {target.working:,} before")
    for name in sorted((_providers(old) - _providers(new)) | (_modules(old) - _modules(new))):
        yield LOST.finding(name, f"not in {new.subject}")
