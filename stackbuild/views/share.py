"""Draws what was pushed, pulled, trusted and forgotten."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from stackbuild.core.errors import safe
from stackbuild.core.shell_words import shell_word
from stackbuild.views.console import Text, err, out
from stackbuild.views.store import megabytes

if TYPE_CHECKING:
    from stackbuild.build.sharing import PullReport
    from stackbuild.remote.push import Conflict, Push
    from stackbuild.remote.revoke import TaintedRecord
    from stackbuild.remote.settings import Settings
    from stackbuild.store.records import Record

STYLES = {"pushed": "green", "signed": "green", "there": "dim"}


def push_line(number: int, of: int, record: Record) -> str:
    return f"pushing {number} of {of}: {safe(record.step)} …"


@dataclass
class SentBytes:
    """A status line that grows with the bytes that were sent."""

    line: str
    update: Callable[[str], None]
    bytes: int = 0

    def add(self, size: int) -> None:
        self.bytes += size
        self.update(f"{self.line} {megabytes(self.bytes)} sent")


def draw_pushes(pushes: Sequence[Push], of: int, came: int, url: str) -> None:
    """A line for each output, then the sums."""
    for one in pushes:
        more = f": {one.why}" if one.why else f", {megabytes(one.sent)} sent" if one.sent else ""
        out().print(Text.assemble((f"{one.outcome:8}", STYLES.get(one.outcome, "red")), safe(f" {one.step}{more}", "")))
    counts = Counter(one.outcome for one in pushes)
    sums = ", ".join(f"{count} {outcome}" for outcome, count in counts.items()) or "nothing to push"
    out().print(Text(f"{sums}; {megabytes(sum(one.sent for one in pushes))} sent to {url}"))
    if came:
        err().print(Text(f"{came} outputs that came from a remote are left out", "dim"))
    if len(pushes) < of:
        err().print(Text(f"{of - len(pushes)} outputs were not tried: the remote fails", "red"))


def draw_next_of_conflicts(pushes: Sequence[Push], url: str) -> None:
    """What to do where outputs are not there because the key has signed others before."""
    count = sum(one.outcome == "conflict" for one in pushes)
    if count:
        what = f"{count} output{'s are' if count != 1 else ' is'} not there: this key has signed another output of the step"
        next = f"`stackbuild store conflicts {shell_word(url)}` shows both; push to a new repository if the old output is not to stay"
        err().print(Text(safe(f"{what}\n  next: {next}"), "red"))


def draw_pulled(report: PullReport) -> None:
    """What came, and what a build would still run."""
    steps = f": {', '.join(report.steps)}" if report.steps else ""
    out().print(Text(f"{len(report.steps)} outputs taken{steps}"))
    if report.remaining_steps:
        out().print(Text(f"{len(report.remaining_steps)} steps left to run: {', '.join(report.remaining_steps)}"))


def draw_unread(tags: Sequence[str]) -> None:
    """A warning for each tag that could not be read."""
    for what in tags:
        err().print(Text(safe(f"not read: {what}"), "yellow"))


def draw_conflicts(rows: Sequence[Conflict], tag_count: int, unread: Sequence[str]) -> None:
    for one in rows:
        out().print(Text(f"{safe(one.step)} {one.key[:12]}: {len(one.trees)} outputs", "red"))
        for tree, who in one.trees.items():
            out().print(Text(safe(f"  {tree}  {who}")))
    if not rows:
        out().print(f"no conflict among {'what could be read of ' if unread else ''}{tag_count} outputs")


@dataclass(frozen=True)
class TrustRow:
    """A key that is trusted for a remote."""

    url: str
    fingerprint: str
    name: str
    valid_before: str
    threshold: int
    write: bool


def trust_rows(settings: Settings) -> tuple[TrustRow, ...]:
    return tuple(
        TrustRow(
            one.url,
            key.fingerprint,
            key.name,
            key.valid_before.isoformat() if key.valid_before else "",
            one.threshold,
            one.write,
        )
        for one in settings.remotes
        for key in one.trusted_keys()
    )


def draw_hindrances(settings: Settings) -> None:
    """A warning for each key that does not count now, and for each remote that nothing can be taken from."""
    now = datetime.now(UTC)
    for one in settings.remotes:
        if hindrance := one.hindrance(now):
            err().print(Text(safe(f"{one.url}: nothing is taken: {hindrance}"), "yellow"))
            continue
        for key in one.trusted_keys():
            if refusal := key.refusal(now):
                err().print(Text(safe(f"{one.url}: {refusal}: nothing that it signed counts"), "yellow"))


def draw_trust(rows: Sequence[TrustRow], path: Path) -> None:
    for row in rows:
        until = f", until {row.valid_before}" if row.valid_before else ""
        more = (f", {row.threshold} keys needed" if row.threshold > 1 else "") + (", written to" if row.write else "")
        out().print(Text(safe(f"{row.url}  {row.fingerprint}  {row.name}{until}{more}")))
    if not rows:
        out().print(Text(f"no remote is trusted ({path}); `stackbuild store trust add URL KEY.pub` trusts one"))


def draw_unknown(rows: Sequence[Record]) -> None:
    """A warning where it is not known what outputs were made from."""
    if not rows:
        return
    names = ", ".join(sorted({f"{record.recipe} {record.step}" for record in rows}))
    count = f"{len(rows)} output{'s were' if len(rows) != 1 else ' was'}"
    err().print(
        Text(
            safe(
                f"{count} made from inputs whose records are gone, so it is not known who signed those: {names}. "
                "`stackbuild build --from-scratch` makes them anew"
            ),
            "yellow",
        )
    )


def draw_made_here(rows: Sequence[TaintedRecord]) -> None:
    """A warning of what may be on remotes under this machine's own key."""
    names = ", ".join(sorted({f"{one.recipe} {one.step}" for one in rows if one.is_made_here}))
    if names:
        err().print(
            Text(
                safe(
                    f"made here from what came by it: {names}. Where these were pushed or exported, others have them under "
                    "your own key: tell them to forget that key too, and publish anew with a new key in a new repository "
                    "(docs/sharing.md#keys)"
                ),
                "yellow",
            )
        )


def draw_forgotten(rows: Sequence[TaintedRecord], dry_run: bool) -> None:
    for one in rows:
        why = "came by it" if one.is_pulled else "made from what came by it"
        out().print(Text(safe(f"{one.recipe} {one.step} {one.key[:12]}: {why}")))
    out().print(f"{len(rows)} record{'s' * (len(rows) != 1)} {'would be removed' if dry_run else 'removed'}")
