"""Writes docs/live-view.svg: the live view of a real run, replayed from its events up to a moment in the longest step.

    .venv/bin/python ci/live_view.py RUN-FOLDER
"""

from __future__ import annotations

import io
import json
import sys
import time
from pathlib import Path

from rich.console import Console

from stackbuild.model import events
from stackbuild.model.events import Compiles
from stackbuild.views.build import LiveView, lines_of

SHARE = 0.6
"""How far into the longest step the picture is taken."""
WIDTH = 104


def read(folder: Path) -> list[tuple[float, events.Event]]:
    """The run's events with their times."""
    rows = []
    for line in (folder / "events.jsonl").read_text().splitlines():
        row = json.loads(line)
        at, kind = row.pop("at"), getattr(events, row.pop("event"))
        row = {k: tuple(v) if isinstance(v, list) else Compiles(**v) if k == "compiles" else v for k, v in row.items()}
        rows.append((at, kind(**row)))
    return rows


def main() -> None:
    folder = Path(sys.argv[1])
    rows = read(folder)
    ends = {e.step: at for at, e in rows if isinstance(e, events.StepFinished) and e.how == "run"}
    longest = max(ends, key=lambda s: next(e.seconds for _, e in rows if isinstance(e, events.StepFinished) and e.step == s))
    start_time = next(at for at, e in rows if isinstance(e, events.StepStarted) and e.step == longest)
    moment = start_time + SHARE * (ends[longest] - start_time)
    console = Console(record=True, width=WIDTH, force_terminal=True, file=io.StringIO())
    view = LiveView(console=console)
    console.print("[bold]$[/bold] stackbuild build --recipe debian-13", highlight=False)
    shift = time.monotonic() - moment
    for at, event in rows:
        if at > moment:
            break
        view._count(event)
        if isinstance(event, events.StepStarted):
            view.running[event.step] = (at + shift, event)
        for line in lines_of(event):
            console.print(line)
    log = Path(str(next(e.log for _, e in rows if isinstance(e, events.StepStarted) and e.step == longest)))
    lines = log.read_text().splitlines()
    part = folder / "part.log"
    part.write_text("\n".join(lines[: max(4, int(SHARE * len(lines)))]))
    since, event = view.running[longest]
    view.running[longest] = (since, events.StepStarted(event.step, event.key, str(part), event.expected))
    view.start_time = rows[0][0] + shift
    console.print(view.draw())
    part.unlink()
    console.save_svg(str(Path(__file__).resolve().parent.parent / "docs/live-view.svg"), title="stackbuild")


if __name__ == "__main__":
    main()
