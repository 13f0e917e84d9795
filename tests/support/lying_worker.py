"""A worker of `support.cluster_steps` that does nothing of what it is given, and answers as LIE says.

`python -m support.lying_worker ADDRESS NAME STORE FOLDER`
"""

from __future__ import annotations

import os
from typing import Any

from stackbuild.cluster.host import Send, StepHost
from stackbuild.cluster.tasks import Failure, StepOutcome, StepTask
from support import cluster_steps

FLOOD = 3000
LIES: dict[str, Any] = {
    "dictionary": {"status": "made"},
    "class": cluster_steps.plan,
    "claim": StepOutcome("made", "w1", "0" * 64),
    "numbers": StepOutcome("made", "w1", "0" * 64, seconds=float("nan"), log_bytes=-1),
    "nobody's input": StepOutcome("bad-input", "w1", failure=Failure("nobody")),
    "long failure": StepOutcome("broke", "w1", failure=Failure("\x1b[2J" * 10**6, "make", ("\x1b]0;x\x07" * 10**5,) * 50)),
    "messages": StepOutcome("broke", "w1", failure=Failure("the end")),
}


class LyingHost(StepHost):
    def do(self, task_key: str, task: StepTask, send: Send) -> StepOutcome:
        lie = os.environ["LIE"]
        if lie == "messages":
            self._flood(task_key, send)
        answer: StepOutcome = LIES[lie]
        return answer

    def _flood(self, task_key: str, send: Send) -> None:
        odd: Any
        for odd in (None, 7, "StepStarted", [task_key], {task_key: 1}, {"task": [task_key]}):
            send(odd)
        to = {"task": task_key, "machine": "w1" * 10_000}
        for number in range(FLOOD):
            send({**to, "event": {"event": "Note", "level": "info", "text": "\x1b[2Jx" * 1000}})
            send({**to, "event": {"event": "StepStarted"}})
            send({**to, "at": 2 * number, "log": b"\x1b[2J\n"})
            send({"task": f"{number}", "machine": "w1", "at": 0, "log": b"another task's"})


if __name__ == "__main__":
    cluster_steps.main(LyingHost)
