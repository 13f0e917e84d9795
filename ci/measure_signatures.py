"""Counts the signatures that are lost where two builders push the same outputs to one registry at the same moment.

    .venv/bin/python ci/measure_signatures.py                          600 outputs, three rounds
    .venv/bin/python ci/measure_signatures.py --outputs 60 --rounds 1
    .venv/bin/python ci/measure_signatures.py --export                 into one folder, as `store export` does

Each round has a docker-registry of its own on loopback, and two processes with a store and a key each. `lost` are the
outputs that a reader who wants both keys does not get; `not listed` those whose shared list has one entry alone, which is
what a reader of before 29 November 2026 sees.
"""

from __future__ import annotations

import argparse
import contextlib
import subprocess
import sys
import tempfile
import time
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

CI = Path(__file__).resolve().parent
sys.path[:1] = [str(CI), str(CI.parent / "tests"), str(CI.parent)]

from measure_remote import registry  # noqa: E402

from stackbuild.remote.connection import open_reader, open_writer  # noqa: E402
from stackbuild.remote.faults import RemoteFault  # noqa: E402
from stackbuild.remote.pull import PullRequest, TrustedRemote, ask  # noqa: E402
from stackbuild.remote.push import CONTENT, Pusher, made_here  # noqa: E402
from stackbuild.remote.records import envelopes_of  # noqa: E402
from stackbuild.remote.trees import MOST_MANIFEST, listing_in  # noqa: E402
from stackbuild.store.maintenance import records  # noqa: E402
from stackbuild.store.records import Record  # noqa: E402
from support.remotes import a_key, asked, open_at, trusted  # noqa: E402

NAMES = ("builder", "other")
START_SECONDS = 10.0
"""What both processes have to import what they need."""


def text_of(number: int) -> str:
    return f"step: {number}\n"


def fill(root: Path, outputs: int) -> None:
    """A store with so many outputs of one small file each, the same in every store."""
    store = open_at(root)
    made_at = "2026-01-01T00:00:00+00:00"
    for number in range(outputs):
        staging = store.stage("s")
        (staging.out / "made").write_text(f"{number}\n")
        tree = store.keep(staging)
        key = asked(text_of(number)).key
        record = Record(key, f"s{number}", "r", tree, text_of(number), 1.5, store.run, made_at, {"runner": "fake"})
        store.record_alike(record, CONTENT + text_of(number))
        store.record(record)
    store.close()


def push(root: Path, url: str, name: str, start_time: float) -> None:
    """What one builder's process does; it begins at that time. Prints how many outputs had which outcome."""
    store = open_at(root)
    pusher = Pusher(store, open_writer(url, lambda host: None), a_key(name))
    rows = made_here(tuple(records(store)))
    time.sleep(max(0.0, start_time - time.time()))
    outcomes = Counter(pusher.push(record, content_key).outcome for record, content_key in rows)
    print(dict(outcomes), pusher.strikes)
    store.close()


def count_signatures(url: str, outputs: int) -> tuple[int, int, int]:
    """Outputs that lack a signature for a reader, by the key and by the content key, and those whose list lacks an entry."""
    reader = open_reader(url, lambda host: None)
    remote = TrustedRemote(reader, trusted(*NAMES), threshold=len(NAMES))
    missing_count, missing_content_count, partial_count = 0, 0, 0
    for number in range(outputs):
        request, now = asked(text_of(number)), datetime.now(UTC)
        content_request = asked(CONTENT + text_of(number), "c")
        missing_count += not _has_all(remote, request, now)
        missing_content_count += not _has_all(remote, content_request, now)
        manifest = reader.manifest(request.tag, MOST_MANIFEST)
        partial_count += manifest is None or len(envelopes_of(listing_in(manifest))) < len(NAMES)
    return missing_count, missing_content_count, partial_count


def _has_all(remote: TrustedRemote, request: PullRequest, now: datetime) -> bool:
    try:
        return ask(remote, request, now) is not None
    except RemoteFault:
        return False


def measure_round(folder: Path, outputs: int, is_export: bool) -> None:
    for name in NAMES:
        fill(folder / name, outputs)
    with contextlib.ExitStack() as stack:
        if is_export:
            url = (folder / "export").as_uri()
            open_writer(url, lambda host: None)
        else:
            url = f"oci+http://127.0.0.1:{stack.enter_context(registry(folder)).port}/t/sb"
        start_time = time.time() + START_SECONDS
        words = [[str(folder / name), url, name, str(start_time)] for name in NAMES]
        builders = [
            subprocess.Popen([sys.executable, __file__, "--builder", *row], stdout=subprocess.PIPE, text=True)
            for row in words
        ]
        answers = [builder.communicate()[0].strip() for builder in builders]
        seconds = time.time() - start_time
        missing_count, missing_content_count, partial_count = count_signatures(url, outputs)
        print(f"{outputs} outputs in {seconds:.0f} s: lost {missing_count}, by the content key {missing_content_count}; not listed {partial_count}")
        print(f"  outcomes, and strikes: {'; '.join(answers)}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--outputs", type=int, default=600)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--export", action="store_true", help="into a folder and not to a registry")
    parser.add_argument("--builder", nargs=4, metavar=("STORE", "URL", "KEY", "TIME"), help=argparse.SUPPRESS)
    words = parser.parse_args()
    if words.builder:
        root, url, name, start_time = words.builder
        push(Path(root), url, name, float(start_time))
        return
    for _ in range(words.rounds):
        with tempfile.TemporaryDirectory(prefix="stackbuild-signatures-") as folder:
            measure_round(Path(folder), words.outputs, words.export)
            subprocess.run(["chmod", "-R", "u+w", folder], check=True)


if __name__ == "__main__":
    main()
