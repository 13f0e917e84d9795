"""A worker that answers what it likes: the build ends in words, within bounds of time, memory and log."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from stackbuild.build.schedule import Limits, schedule
from stackbuild.cluster.client import ClusterPlacement
from stackbuild.cluster.logs import MOST_BEGINNINGS, MOST_NOTES
from stackbuild.cluster.tasks import MOST_TEXT
from stackbuild.core.errors import MachineLacks
from stackbuild.model.events import Event, Note, StepBroke, StepStarted
from stackbuild.model.plan import Plan
from support.cluster_steps import client, plan
from support.clusters import Cluster, cluster
from support.lying_worker import LIES
from support.remotes import FakeRegistry

WORDS = {
    "dictionary": "is not understood: dict in place of an outcome",
    "class": "is not understood: function in place of an outcome",
    "claim": "no remote of this machine has it",
    "numbers": "is not understood: a number of it is not possible",
    "nobody's input": "lacks 'nobody', which the step does not need",
}


def lie(made: Cluster, name: str) -> None:
    """Start a worker that tells that lie."""
    store = made.root / "w1-store"
    words = ("support.lying_worker", made.address, "w1", str(store), str(made.root))
    made._start("w1", words, {**made.environment("w1", store), "LIE": name}).waits_for("is connected")


@pytest.mark.parametrize("name", LIES)
def test_a_worker_that_lies(tmp_path: Path, name: str) -> None:
    wanted = Plan("t", plan().steps[:1], ("one",))
    with FakeRegistry().served() as registry, cluster(tmp_path / "cluster", registry.url) as made:
        made.scheduler()
        lie(made, name)
        with client(made) as context:
            events: list[Event] = []
            assert isinstance(context.placement, ClusterPlacement)
            context.placement.context = replace(context, emit=events.append)
            if name in WORDS:
                with pytest.raises(MachineLacks, match=WORDS[name]):
                    schedule(wanted, context, Limits(2, 1 << 40), {})
                return
            _, (failure,) = schedule(wanted, context, Limits(2, 1 << 40), {})
            log = context.logs / "one.log"
            size = log.stat().st_size if log.exists() else 0
    assert len(failure.what) < MOST_TEXT + 10 and all(len(line) <= MOST_TEXT for line in failure.lines)
    assert sum(isinstance(event, StepBroke) for event in events) == 1
    assert sum(isinstance(event, StepStarted) for event in events) <= MOST_BEGINNINGS
    notes = [event.text for event in events if isinstance(event, Note)]
    assert len(notes) <= MOST_NOTES and all(len(text) < 2 * MOST_TEXT for text in notes)
    assert size < 1 << 20 and (name != "messages" or (size and notes))
