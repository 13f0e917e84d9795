"""Measures the remote store: CPU seconds, requests and wall time of push, pull and misses, beside `cp -a`.

    .venv/bin/python ci/measure_remote.py                          a docker-registry of its own on loopback
    .venv/bin/python ci/measure_remote.py --export                 the same through `store export` and file://
    .venv/bin/python ci/measure_remote.py --megabytes 100 --files 500
    .venv/bin/python ci/measure_remote.py --megabytes 200 --files 1000 --rounds 7

With `--rounds`, `cp -a`, push and pull take turns, each time into an empty place, and each wall time is compared with
that of the copy beside it: other work on the machine meets all three.

The tree is made of this machine's own files: the ten largest libraries of /usr and as many small files as asked for,
cut or repeated to the size. It needs four times that on the disk of $TMPDIR. CPU seconds are those of this process
and its threads; the registry's are read from /proc.

Nothing is removed before the last figure. ext4 without a journal gives no inode away that was freed in the last
minutes, and looks at each of them for every new file (recently_deleted in fs/ext4/ialloc.c of Linux). After 6,000 files
were removed, that costs 6,000 new ones beside them up to 4 CPU seconds. docs/sharing.md has the figures.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

CI = Path(__file__).resolve().parent
sys.path[:1] = [str(CI.parent / "tests"), str(CI.parent)]

from stackbuild.remote.files import ExportFolder  # noqa: E402
from stackbuild.remote.http import HttpClient  # noqa: E402
from stackbuild.remote.protocol import RemoteWriter  # noqa: E402
from stackbuild.remote.pull import Puller, TrustedRemote  # noqa: E402
from stackbuild.remote.registry import OciRegistry  # noqa: E402
from stackbuild.store.records import Record  # noqa: E402
from stackbuild.store.store import Store, new_run_id  # noqa: E402
from support.remotes import Said, asked, push_all, trusted  # noqa: E402

LIBRARIES = 10
COPY = "cp -a of the tree"
CONFIG = """\
version: 0.1
log: {{level: error}}
storage: {{filesystem: {{rootdirectory: {folder}}}}}
http: {{addr: 127.0.0.1:{port}}}
"""


@dataclass
class TransferFigure:
    """One row: CPU seconds of this process and of the registry, wall seconds, requests."""

    what: str
    cpu: float
    registry_cpu: float
    wall: float
    requests: int


@dataclass
class Registry:
    """A docker-registry of this run."""

    process: subprocess.Popen[bytes]
    port: int

    def cpu(self) -> float:
        words = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


@contextlib.contextmanager
def registry(folder: Path) -> Iterator[Registry]:
    """Debian's docker-registry on a free port of loopback, with its files in that folder."""
    program = shutil.which("docker-registry")
    if program is None:
        raise SystemExit("docker-registry is not installed: apt-get install docker-registry")
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
    config = folder / "registry.yml"
    config.write_text(CONFIG.format(folder=folder / "registry", port=port))
    process = subprocess.Popen(
        [program, "serve", str(config)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=folder
    )
    try:
        for _ in range(200):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                break
            time.sleep(0.05)
        yield Registry(process, port)
    finally:
        process.kill()
        process.wait()


def fill(out: Path, megabytes: int, files: int) -> None:
    """Libraries and small files of this machine, `megabytes` in all."""
    libraries = sorted(Path("/usr").rglob("*.so*"), key=lambda path: path.lstat().st_size, reverse=True)[:LIBRARIES]
    small = (path for path in Path("/usr").rglob("*") if path.is_file() and not path.is_symlink())
    (out / "lib").mkdir()
    (out / "include").mkdir()
    total = number = 0
    for path in small:
        if number == files:
            break
        if (size := path.stat().st_size) < 64 << 10:
            shutil.copy(path, out / "include" / f"{number}.h")
            number, total = number + 1, total + size
    each = max(0, megabytes * 1_000_000 - total) // LIBRARIES
    for number in range(LIBRARIES):
        with (out / "lib" / f"lib{number}.so").open("wb") as file:
            at = number
            while file.tell() < each:  # a library after the other, each file beginning with another one
                data = libraries[at % len(libraries)].read_bytes()
                file.write(data[: each - file.tell()])
                at += 1


def _cpu() -> float:
    """CPU seconds of this process, its threads, and its children that have ended."""
    own = os.times()
    return own.user + own.system + own.children_user + own.children_system


def measure(what: str, work: Callable[[], object], requests: Callable[[], int], served_folder: Registry | None) -> TransferFigure:
    requests_before, own, theirs, began = requests(), _cpu(), served_folder.cpu() if served_folder else 0.0, time.monotonic()
    work()
    wall, cpu = time.monotonic() - began, _cpu() - own
    return TransferFigure(what, cpu, (served_folder.cpu() if served_folder else 0.0) - theirs, wall, requests() - requests_before)


def run(folder: Path, megabytes: int, files: int, export: bool) -> list[TransferFigure]:
    builder = Store(folder / "builder", new_run_id())
    staging = builder.stage("s")
    fill(staging.out, megabytes, files)
    question = asked()
    tree = builder.keep(staging)
    builder.record(
        Record(question.key, "s", "r", tree, question.text, 1.0, builder.run, "2026-01-01T00:00:00+00:00", {})
    )
    builder.close()
    rows = []
    with contextlib.ExitStack() as stack:
        served_folder = None if export else stack.enter_context(registry(folder))
        client = HttpClient(f"http://127.0.0.1:{served_folder.port}/v2/measured/", lambda host: None) if served_folder else None

        def place() -> RemoteWriter:
            if client is None:
                return ExportFolder(f"file://{folder}/export", folder / "export", is_written=True)
            return OciRegistry(client.root, client, is_written=True)

        def requests() -> int:
            return client.request_count if client else 0

        def row(what: str, work: Callable[[], object]) -> None:
            rows.append(measure(what, work, requests, served_folder))

        def cp() -> None:
            subprocess.run(["cp", "-a", folder / "builder" / "trees", folder / "copy"], check=True)

        row(COPY, cp)
        pushing = Store(folder / "builder", new_run_id())
        row("push", lambda: push_all(pushing, place()))
        row("push again: nothing to do", lambda: push_all(pushing, place()))
        pulling = Store(folder / "puller", new_run_id())
        messages = Said()
        puller = Puller(pulling, (TrustedRemote(place(), trusted()),), messages, lambda: None)
        row("pull", lambda: puller.pull(question))
        if messages.warnings or pulling.find(question.key) is None:
            raise SystemExit(f"the pull failed: {messages.warnings}")
        misses = [asked(f"step: {number}\n") for number in range(1000)]
        row("1,000 misses, each asked", lambda: [puller.look_up(one, is_new=True) for one in misses])
        row("1,000 misses of a build", lambda: [puller.pull(one) for one in misses])
        for store in (pushing, pulling):
            store.close()
    return rows


def print_shares(folder: Path, megabytes: int, files: int, rounds: int) -> None:
    """Print the speed of push and pull as a share of that of `cp -a`, round by round."""
    shares: dict[str, list[float]] = {"push": [], "pull": []}
    for number in range(rounds):
        place = folder / str(number)
        place.mkdir()
        rows = {row.what: row for row in run(place, megabytes, files, export=False)}
        copy = rows[COPY]
        for what, of in shares.items():
            of.append(copy.wall / rows[what].wall)
        line = ", ".join(f"{what} {rows[what].wall:.2f} s {of[-1]:.2f}" for what, of in shares.items())
        print(f"round {number}: cp -a {copy.wall:.2f} s ({copy.cpu:.2f} CPU s), {line}", flush=True)
        subprocess.run(["chmod", "-R", "u+w", place], check=True)
        shutil.rmtree(place)
    for what, of in shares.items():
        print(f"{what}: {statistics.median(of):.2f} of the speed of cp -a in the median, {min(of):.2f} at worst")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=int, default=1260)
    parser.add_argument("--files", type=int, default=6000)
    parser.add_argument("--export", action="store_true", help="through file:// and not through a registry")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--rounds", type=int, default=0, help="compare with cp -a so many times")
    words = parser.parse_args()
    if words.rounds:
        with tempfile.TemporaryDirectory(prefix="stackbuild-measure-remote-") as folder:
            print_shares(Path(folder), words.megabytes, words.files, words.rounds)
        return
    with tempfile.TemporaryDirectory(prefix="stackbuild-measure-remote-") as folder:
        rows = run(Path(folder), words.megabytes, words.files, words.export)
        subprocess.run(["chmod", "-R", "u+w", folder], check=True)
    if words.json:
        print(json.dumps([asdict(row) for row in rows]))
        return
    print(f"{'':28}{'CPU s':>8}{'registry':>10}{'wall s':>8}{'requests':>10}")
    for row in rows:
        print(f"{row.what:28}{row.cpu:8.2f}{row.registry_cpu:10.2f}{row.wall:8.2f}{row.requests:10d}")


if __name__ == "__main__":
    main()
