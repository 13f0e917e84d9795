"""SIGKILL at each system call with which a publish changes an index, unsigned and signed, under strace."""

from __future__ import annotations

import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import unquote

import pytest

from stackbuild.publishing.index import publish
from stackbuild.publishing.publication import Publication
from stackbuild.publishing.ssh_keys import load_trusted_keys
from stackbuild.publishing.verify_release import ReleaseProof, Trust, verify_release
from support.wheels import new_key, put_statements, small_wheel

pytestmark = pytest.mark.skipif(
    not shutil.which("strace"), reason="strace is not installed (to run: apt-get install strace)"
)
SHARES = [pytest.param(16, id="some"), pytest.param(0, id="all", marks=[pytest.mark.slow, pytest.mark.timeout(1800)])]
"""How many of the calls are drawn; 0 for each."""

PUBLISHER = """
import json, os, signal, sys
from pathlib import Path
from stackbuild.publishing.index import publish
from stackbuild.publishing.publication import Publication
from stackbuild.publishing.ssh_keys import load_signing_key
wheels = {Path(wheel): tuple(map(Path, attached)) for wheel, attached in json.loads(sys.argv[1]).items()}
keys = tuple(load_signing_key(Path(key)) for key in sys.argv[2:])
for line in sys.stdin:
    index = Path(line.strip())
    pid = os.fork()
    if pid == 0:
        os.kill(os.getpid(), signal.SIGSTOP)
        publish(tuple(wheels), index, Publication(attachments=wheels, keys=keys, numbers=Path(f"{index}.numbers") if keys else None))
        os._exit(0)
    os.waitpid(pid, os.WUNTRACED)
    print(pid, flush=True)
    print(os.waitpid(pid, 0)[1], flush=True)
"""
"""A process that publishes onto each index that it is told, in a child that waits for strace. It imports everything once."""
CHANGES = "openat,write,rename,renameat,renameat2,unlink,unlinkat,mkdir,mkdirat,symlink,symlinkat,fsync,ftruncate"

Wheels = dict[Path, tuple[Path, ...]]
"""Wheels with what travels with each."""


def assert_consistent(index: Path, releases: tuple[tuple[str, ...], ...]) -> int:
    """What a reader sees is one of the releases, whole: every link leads to its bytes. Which of them, from 0."""
    seen = set()
    for page in sorted(index.glob("[!.]*/index.json")):
        body = json.loads(page.read_text())
        for row in body["files"]:
            data = (page.parent / unquote(row["url"])).read_bytes()
            assert hashlib.sha256(data).hexdigest() == row["hashes"]["sha256"]
            seen.add(row["filename"])
        assert f'href="{body["files"][-1]["url"]}#' in (page.parent / "index.html").read_text()
    assert tuple(sorted(seen)) in releases, seen
    return releases.index(tuple(sorted(seen)))


@contextmanager
def publisher(wheels: Wheels, *keys: Path) -> Iterator[Callable[..., int]]:
    """A function that publishes onto an index under strace with those options; the child's wait status.

    strace follows the main thread alone: others read, and it does every change.
    """
    rows = {str(wheel): list(map(str, attached)) for wheel, attached in wheels.items()}
    words = [sys.executable, "-c", PUBLISHER, json.dumps(rows), *map(str, keys)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdin and server.stdout
        asks, answers = server.stdin, server.stdout

        def traced(index: Path, *options: str) -> int:
            asks.write(f"{index}\n")
            asks.flush()
            pid = int(answers.readline())
            with subprocess.Popen(["strace", "-p", str(pid), *options], stderr=subprocess.PIPE, text=True) as strace:
                assert strace.stderr and "attached" in strace.stderr.readline()
                os.kill(pid, signal.SIGCONT)
                return int(answers.readline())

        yield traced
        asks.close()


def kill_points(trace: str, folder: str) -> list[tuple[str, int]]:
    """Each call that changes that folder: the system call, and which of the thread's calls of it that is, from 1."""
    counts: Counter[str] = Counter()
    points = []
    for line in trace.splitlines():
        name = line.partition("(")[0]
        if not name.isidentifier():  # a signal, or the exit
            continue
        counts[name] += 1
        if folder in line and "O_RDONLY" not in line:
            points.append((name, counts[name]))
    return points


def indexes_after_kills(traced: Callable[..., int], template: Path, folder: Path, shares: int) -> Iterator[Path]:
    """A copy of the index for each point at which a publisher was killed; it is removed afterwards."""
    count = folder / "count"
    copy_index(template, count)
    assert traced(count, "-y", "-e", f"trace={CHANGES}", "-o", str(folder / "trace")) == 0
    points = kill_points((folder / "trace").read_text(), str(count))
    assert len(points) > 40
    chosen = random.Random(17).sample(points, shares) if shares else points
    killed = 0
    for number, (name, at) in enumerate(chosen):
        index = folder / f"index{number}"
        copy_index(template, index)
        status = traced(index, "-e", f"trace={name}", "-e", f"inject={name}:signal=KILL:when={at}", "-o", "/dev/null")
        killed += os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
        yield index
        shutil.rmtree(index)
    assert killed == len(chosen)
    print(f"killed at {killed} of {len(points)} points")


def copy_index(index: Path, copy: Path) -> None:
    """An index with the numbers that its publisher remembers. Wheels keep their times."""
    shutil.copytree(index, copy, symlinks=True)
    if (numbers := Path(f"{index}.numbers")).is_file():
        shutil.copyfile(numbers, f"{copy}.numbers")


def old_wheels(folder: Path) -> Wheels:
    return dict.fromkeys((small_wheel(folder, "1.0", name=name) for name in ("base-pkg", "demo-pkg")), ())


def new_wheels(folder: Path) -> Wheels:
    """One needs the other's new version."""
    base = small_wheel(folder, "2.0", name="base-pkg")
    return {base: (), small_wheel(folder, "2.0", name="demo-pkg", requires=("base-pkg>=2.0",)): ()}


def names_of(*wheels: Wheels) -> tuple[str, ...]:
    return tuple(sorted({wheel.name for some in wheels for wheel in some}))


@pytest.mark.parametrize("shares", SHARES)
def test_killed_at_system_calls_an_index_is_the_old_one_or_the_new_one(tmp_path: Path, shares: int) -> None:
    """Two wheels onto an index with both old ones."""
    old, new = old_wheels(tmp_path / "old"), new_wheels(tmp_path / "new")
    releases = names_of(old), names_of(old, new)
    publish(tuple(old), tmp_path / "template")
    with publisher(new) as traced:
        for index in indexes_after_kills(traced, tmp_path / "template", tmp_path, shares):
            assert_consistent(index, releases)
            publish(tuple(new), index)
            assert assert_consistent(index, releases) == 1


@pytest.mark.parametrize("shares", SHARES)
def test_killed_at_system_calls_a_signed_index_is_whole_after_the_same_command(tmp_path: Path, shares: int) -> None:
    """Two wheels with statements, and a newer statement about an old wheel, onto a signed index. A second key signs from now on.

    At each point pages and signature are those of one state, and `verify-release` takes that state or names what a killed
    publisher leaves. The same command ends it without `--accept-changes`.
    """
    (one, public), (two, _) = new_key(tmp_path, "one"), new_key(tmp_path, "two")
    old = {wheel: put_statements(wheel) for wheel in old_wheels(tmp_path / "old")}
    template = tmp_path / "template"
    publish(tuple(old), template, Publication(attachments=old, keys=(one,), numbers=Path(f"{template}.numbers")))
    new = {wheel: put_statements(wheel) for wheel in new_wheels(tmp_path / "new")}
    again = next(wheel for wheel in old if wheel.name.startswith("demo"))
    new[again] = put_statements(again, "another machine")
    releases = names_of(old), names_of(old, new)

    def verified(index: Path, *require: str) -> ReleaseProof:
        return verify_release(index, Trust(load_trusted_keys([public]), require=require))

    accepted = 0
    with publisher(new, tmp_path / "one", tmp_path / "two") as traced:
        for index in indexes_after_kills(traced, template, tmp_path, shares):
            state = assert_consistent(index, releases)
            proof = verified(index)
            assert proof.number == state + 1 and names_of({Path(w.file): () for w in proof.wheels}) == releases[state]
            accepted += proof.problems == ()
            assert all(is_left_by_a_killed_publisher(problem, again.name) for problem in proof.problems), proof.problems
            more = Publication(attachments=new, keys=(one, two), numbers=Path(f"{index}.numbers"))
            number = publish(tuple(new), index, more).number
            assert assert_consistent(index, releases) == 1
            proof = verified(index, "provenance", "verification", "benchmarks")
            assert (proof.problems, proof.number) == ((), number)
    assert accepted > 0 or shares, "before the first file is staged nothing is left"
    print(f"the state that stood was taken at {accepted} points before the same command ended it")


def is_left_by_a_killed_publisher(problem: str, again: str) -> bool:
    """Files of the next state that nobody has signed yet, and the newer statement about a wheel that is there."""
    newer = f"{again}.verification"
    endings = (
        " lies in the index and was not signed",
        " was staged by a publisher that was killed or is at work, and was not signed",
        " leads nowhere: a publisher was killed or is at work",
        " or a publisher was killed before the switch",
    )
    return problem.endswith(endings) or problem.startswith(f"demo-pkg/{newer}")
