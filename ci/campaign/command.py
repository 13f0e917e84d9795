"""The command line of the campaign."""

from __future__ import annotations

import argparse
import json
import os
import shlex
import signal
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

from campaign import frame

RIGS = Path(__file__).with_name("rigs")
COMMAND = ".venv/bin/python ci/campaign"
"""How it is called from the top of the repository."""
EXAMPLES = """\
examples:
  .venv/bin/python ci/campaign list
  .venv/bin/python ci/campaign run                      every rig, whole (nightly)
  .venv/bin/python ci/campaign run --share 0.1          a tenth of each, drawn with today's date
  .venv/bin/python ci/campaign run hostile-step --only fifo --seed 20261123
  .venv/bin/python ci/campaign run corruption --shard 2/4    the second quarter: four processes do all
"""
PROGRESS_SECONDS = 30.0
"""So often a run without a terminal says how far a rig has come."""


def all_rigs() -> dict[str, frame.Rig]:
    """Every rig by its name."""
    modules = (import_module(f"campaign.rigs.{entry.name}") for entry in iter_modules([str(RIGS)]))
    return {module.RIG.name: module.RIG for module in modules}


def main(words: list[str]) -> int:
    """Exit code 0 where everything survived, 1 on a loss and, with --strict, on a case that cannot be tried here, 2 on a
    wrong command line, which `--only` with a part of no case's name is, 141 where the reader of stdout has gone.
    """
    try:
        code = _main(words)
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the interpreter flushes once more when it ends
        return 128 + signal.SIGPIPE


def _main(words: list[str]) -> int:
    options = _parser().parse_args(words)
    rigs = all_rigs()
    if options.verb == "list":
        for rig in rigs.values():
            print(f"{rig.name}: {rig.summary} (needs {', '.join(rig.needs) or 'nothing'})")
        return 0
    if unknown_rigs := [name for name in options.rig if name not in rigs]:
        print(f"campaign: no rig {', '.join(unknown_rigs)}; `list` names them", file=sys.stderr)
        return 2
    cases = {
        name: options.shard.of(frame.sample(rigs[name], options.seed, options.share, options.only))
        for name in options.rig or rigs
    }
    if options.only and not any(cases.values()):
        print(f"campaign: no case of {', '.join(cases)} has {options.only!r} in its name", file=sys.stderr)
        return 2
    counts = [_run(rigs[name], selection, options) for name, selection in cases.items() if selection or not options.only]
    if options.json:
        print(json.dumps([asdict(count) for count in counts], indent=1))
    losses = sum(len(count.lost) for count in counts)
    tries, survivors = (sum(getattr(count, name) for count in counts) for name in ("tried", "survived"))
    print(f"campaign: {len(counts)} rigs · tried {tries} · survived {survivors} · lost {losses}", file=sys.stderr)
    absent = [count for count in counts if not count.tried]
    for count in absent:
        print(
            f"campaign: {count.rig} tried nothing: {count.not_run[0][1] if count.not_run else 'no case'}",
            file=sys.stderr,
        )
    return int(bool(losses) or bool(options.strict and (absent or any(count.not_run for count in counts))))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        COMMAND, description=frame.__doc__, epilog=EXAMPLES, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    verbs = parser.add_subparsers(dest="verb", required=True)
    verbs.add_parser("list", help="the rigs")
    run = verbs.add_parser("run", help="try rigs, and count")
    run.add_argument("rig", nargs="*", help="default: all")
    run.add_argument("--share", type=float, default=1.0, help="which part of the cases (default: 1, all)")
    run.add_argument("--seed", type=int, default=today(), help="default: today's date, as 20261123")
    run.add_argument("--only", default="", help="only the cases with this in their name")
    run.add_argument(
        "--shard", type=frame.Shard.parse, default=frame.Shard(), metavar="K/N", help="every N-th case from the K-th on"
    )
    run.add_argument("--strict", action="store_true", help="what cannot run on this machine counts as a failure")
    run.add_argument("--json", action="store_true", help="the counts as JSON on stdout")
    return parser


def today() -> int:
    """The seed of the day: its date in UTC as a number."""
    return int(datetime.now(UTC).strftime("%Y%m%d"))


def _run(rig: frame.Rig, cases: Sequence[frame.CampaignCase], options: argparse.Namespace) -> frame.RigReport:
    printed_at, tries = time.monotonic(), 0

    def tick(case: frame.CampaignCase, losses: str) -> None:
        nonlocal printed_at, tries
        tries += 1
        if not sys.stderr.isatty() and time.monotonic() - printed_at > PROGRESS_SECONDS:
            printed_at = time.monotonic()
            print(f"  {rig.name}: {tries} of {len(cases)}", file=sys.stderr, flush=True)
        if losses:
            print(f"  LOST {rig.name} {case.name}: {losses}", file=sys.stderr)
            print(
                f"       again: {COMMAND} run {rig.name} --only {shlex.quote(case.name)} --seed {options.seed}",
                file=sys.stderr,
            )
        elif sys.stderr.isatty():
            print(f"\r\x1b[K  {rig.name} {case.name}", end="", file=sys.stderr, flush=True)

    count = frame.run(rig, cases, options.seed, tick)
    if sys.stderr.isatty():
        print("\r\x1b[K", end="", file=sys.stderr)
    print(count.line(), file=sys.stderr if options.json else sys.stdout, flush=True)
    return count
