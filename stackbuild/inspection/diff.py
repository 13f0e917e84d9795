"""What a release gained and lost: two Facts side by side."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from stackbuild.core.errors import UsageError
from stackbuild.inspection.facts import Facts, Kind, Library, Problem, ProblemKind
from stackbuild.inspection.rules.rule import count_of
from stackbuild.inspection.summary import natural
from stackbuild.model.findings import Finding, RuleDescription, Severity


@dataclass(frozen=True)
class FactChange:
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
    changes: tuple[FactChange, ...]
    findings: tuple[Finding, ...]


LOST_CODE = RuleDescription(
    "SB-DIFF-LOST", Severity.ERROR, "The new release lost something",
    when="`inspect --diff OLD NEW`: a target, a provider or a Python package is gone, or a target lost a tenth of its"
    " non-empty kernels.",
    why="A build that silently dropped a component looks like any other; users notice when their GPU is idle.",
    fix="Compare the build logs; if it is meant, say so in the release notes and pass the new wheel as the old one next time.",
    link="https://github.com/ROCm/rocm-systems/issues/6362", needs="",
)  # fmt: skip
UNREAD = RuleDescription(
    "SB-DIFF-UNREAD", Severity.ERROR, "What is compared could not be read whole",
    when="`inspect --diff OLD NEW`: a file of one side breaks its format or a reader's bound.",
    why="What was not read cannot be seen to be lost.",
    fix="Look at that side alone with `stackbuild inspect`; fetch it again.",
    link="", needs="",
)  # fmt: skip
RULES = (LOST_CODE, UNREAD)
_KERNEL_LOSS = 0.1
_NAMES = 50
_PROBLEMS = 10


def difference(old: Facts, new: Facts) -> Difference:
    """What `new` gained and lost against `old`. Raises UsageError where the two are things of different kinds."""
    if _sort(old) != _sort(new):
        raise UsageError(
            "--diff compares two things of one kind", where=f"{old.path} is a {old.kind}, {new.path} a {new.kind}",
            next="give two wheels or unpacked folders, two libraries or code objects, or two logs",
        )  # fmt: skip
    changes = [*_sizes(old, new), *_targets(old, new), *_sets(old, new), *_libraries(old, new)]
    return Difference(old.subject, new.subject, tuple(changes), (*_losses(old, new), *_unread(old, new)))


def _sort(facts: Facts) -> Kind:
    return Kind.WHEEL if facts.kind is Kind.FOLDER else facts.kind


def _sizes(old: Facts, new: Facts) -> Iterable[FactChange]:
    yield from _change("size", "file", f"{old.size:,} B", f"{new.size:,} B")
    unpacked_sizes = [sum(m.size for m in facts.members) for facts in (old, new)]
    yield from _change("size", "unpacked", f"{unpacked_sizes[0]:,} B", f"{unpacked_sizes[1]:,} B")
    if old.wheel and new.wheel:
        yield from _change("wheel", "version", old.wheel.version, new.wheel.version)
        yield from _change("wheel", "tags", " ".join(old.wheel.filename_tags), " ".join(new.wheel.filename_tags))
    yield from _change("wheel", "policy", old.policy.name if old.policy else "", new.policy.name if new.policy else "")


def _targets(old: Facts, new: Facts) -> Iterable[FactChange]:
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


def _kernels(old: Facts, new: Facts, target: str) -> Iterable[FactChange]:
    before, after = (_names(facts, target) for facts in (old, new))
    losses, gains = before - after, after - before
    if losses or gains:
        yield FactChange("kernels", target, _only(losses), _only(gains))


def _only(names: Counter[str]) -> str:
    if not names:
        return ""
    return f"{count_of(sum(names.values()), 'kernel')} only here, such as {min(names)[:80]}"


def _names(facts: Facts, target: str) -> Counter[str]:
    return Counter(
        k.name for d in facts.device for o in d.objects if o.target == target for k in o.kernels if not k.empty
    )


def _sets(old: Facts, new: Facts) -> Iterable[FactChange]:
    for topic, before, after in (
        ("providers", _providers(old), _providers(new)),
        ("external", set(old.policy.external if old.policy else ()), set(new.policy.external if new.policy else ())),
        ("requires", set(old.wheel.requires if old.wheel else ()), set(new.wheel.requires if new.wheel else ())),
        ("modules", _modules(old), _modules(new)),
        (
            "options not used",
            set(old.log.unused_options if old.log else ()),
            set(new.log.unused_options if new.log else ()),
        ),
        ("for this machine only", set(old.log.native if old.log else ()), set(new.log.native if new.log else ())),
    ):
        for name in sorted(before ^ after):
            yield FactChange(topic, name, "yes" if name in before else "", "yes" if name in after else "")


def _providers(facts: Facts) -> set[str]:
    return {provider.name for provider in facts.providers}


def _modules(facts: Facts) -> set[str]:
    return set(facts.wheel.top_level if facts.wheel else ())


def _libraries(old: Facts, new: Facts) -> Iterable[FactChange]:
    for path, was, now in sorted(_pairs(old, new), key=lambda row: row[0]):
        if was is None or now is None:
            yield FactChange("libraries", path, f"{was.size:,} B" if was else "", f"{now.size:,} B" if now else "")
            continue
        yield from _change("libraries", path, was.path, now.path)
        for topic, one, two in (("exports", was.exports, now.exports), ("needs", was.needed, now.needed)):
            yield from _names_of(topic, path, set(one), set(two))
        for topic, one, two in (("rpath", was.rpath, now.rpath), ("runpath", was.runpath, now.runpath)):
            yield from _change(topic, path, ":".join(one), ":".join(two))


def _names_of(topic: str, path: str, before: set[str], after: set[str]) -> Iterable[FactChange]:
    names = sorted(before ^ after)
    for name in names[:_NAMES]:
        yield FactChange(topic, f"{path}: {name}", "yes" if name in before else "", "yes" if name in after else "")
    if rest := names[_NAMES:]:
        count = len(before.intersection(rest))
        yield FactChange(topic, f"{path}: {len(rest):,} more", f"{count:,} of them", f"{len(rest) - count:,} of them")


def _pairs(old: Facts, new: Facts) -> list[tuple[str, Library | None, Library | None]]:
    """The libraries of both sides, by path; those of one side only are paired where they differ in a version or hash alone."""
    if old.kind is Kind.FILE and len(old.libraries) == len(new.libraries) == 1:
        return [(new.libraries[0].path, old.libraries[0], new.libraries[0])]
    before, after = ({lib.path: lib for lib in facts.libraries} for facts in (old, new))
    pairs: list[tuple[str, Library | None, Library | None]] = [
        (p, before[p], after[p]) for p in before.keys() & after.keys()
    ]
    losses, gains = _by_name(before.keys() - after.keys()), _by_name(after.keys() - before.keys())
    for name in losses.keys() | gains.keys():
        was, now = losses.get(name, []), gains.get(name, [])
        if len(was) == len(now) == 1:
            pairs.append((now[0], before[was[0]], after[now[0]]))
        else:
            pairs += [(path, before[path], None) for path in was] + [(path, None, after[path]) for path in now]
    return pairs


def _by_name(paths: Iterable[str]) -> dict[str, list[str]]:
    """Paths by what they are without versions (`libonnxruntime.so.1.22.2`), auditwheel's hashes and CPython's numbers."""
    paths_by_name: dict[str, list[str]] = {}
    for path in paths:
        name = re.sub(r"(?<=\.so)(\.[0-9]+)+$|-[0-9a-f]{8}(?=\.so)|(?<=\.cpython-)3[0-9]+", "", path)
        paths_by_name.setdefault(name, []).append(path)
    return paths_by_name


def _change(topic: str, subject: str, before: str, after: str) -> Iterable[FactChange]:
    return [FactChange(topic, subject, before, after)] if before != after else []


def _losses(old: Facts, new: Facts) -> Iterable[Finding]:
    after = {t.target: t.working for t in new.targets}
    for target in old.targets:
        if target.target not in after:
            yield LOST_CODE.finding(
                target.target, f"no code object in {new.subject}; {target.working:,} kernels before"
            )
        elif after[target.target] < target.working * (1 - _KERNEL_LOSS):
            yield LOST_CODE.finding(
                target.target, f"{after[target.target]:,} non-empty kernels; {target.working:,} before"
            )
    for name in sorted((_providers(old) - _providers(new)) | (_modules(old) - _modules(new))):
        yield LOST_CODE.finding(name, f"not in {new.subject}")


def _unread(old: Facts, new: Facts) -> Iterable[Finding]:
    for facts in (old, new):
        unread = [problem for problem in facts.problems if problem.trouble is not ProblemKind.UNREAD]
        for problem in unread[:_PROBLEMS]:
            yield UNREAD.finding(facts.subject, _description(problem, facts))
        if len(unread) > _PROBLEMS:
            yield UNREAD.finding(facts.subject, f"and {len(unread) - _PROBLEMS:,} more")


def _description(problem: Problem, facts: Facts) -> str:
    return problem.what if problem.subject == facts.subject else f"{problem.subject}: {problem.what}"
