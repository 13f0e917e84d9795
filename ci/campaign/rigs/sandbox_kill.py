"""stackbuild is killed in the milliseconds in which a sandbox opens, as this user and, where this one is root, as another.

Nothing may run on: no process of the sandbox is there shortly afterwards, without any clean-up by a next run.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from random import Random

from campaign.frame import CampaignCase, NotRun, Rig
from campaign.sessions import lacking
from stackbuild.runners import cgroup

ROUNDS, LATEST = 250, 0.06
"""Rounds for each user; seconds after the start of a command in which the kill falls."""
CELL_ROUNDS = 30
END_SECONDS = 5.0
NOBODY = 65534
VICTIM = """
import os, sys
from pathlib import Path
from stackbuild.core.cancel import Stopper
from stackbuild.runners.protocol import Exec, Mount, SessionSpec
from stackbuild.runners.sandbox import Sandbox
{more}
folder, uid = Path(sys.argv[1]), int(sys.argv[2])
if uid != os.geteuid():
    os.setgroups([]), os.setgid(uid), os.setuid(uid)
made = {name: folder / name for name in ("base", "out", "upper", "work")}
for path in made.values():
    path.mkdir()
for name in ("bin", "lib", "lib64", "sbin"):
    (made["base"] / name).symlink_to(f"usr/{name}")
for name in ("dev", "proc", "tmp", "usr", "out"):
    (made["base"] / name).mkdir()
mounts = (Mount(Path("/usr"), "/usr"), Mount(made["out"], "/out", writable=True))
spec = SessionSpec(made["base"], "0" * 64, made["upper"], made["work"], mounts, 1 << 28, "campaign", processes=60)
with Sandbox().open(spec) as session:
    print("ready", flush=True)
    session.run(Exec(("sh", "-c", sys.argv[3]), (("PATH", "/usr/bin:/bin"),), "/", folder / "log"), Stopper())
"""
"""Opens a sandbox on this machine's /usr and runs a script in it; `{more}` is more to do before."""


CELL = """
import os, sys
from pathlib import Path
from stackbuild.verification.probe_sandbox import ProbeSandbox
{more}
folder, uid = Path(sys.argv[1]), int(sys.argv[2])
if uid != os.geteuid():
    os.setgroups([]), os.setgid(uid), os.setuid(uid)
(folder / "out").mkdir()
cell = ProbeSandbox(folder, Path("/usr/bin/env"))
print("ready", flush=True)
cell.furnish(["/bin/sh", "-c", sys.argv[3].replace("/out/", str(folder / "out") + "/")], 60)
"""
"""The same in the cell where `verify` runs wheels."""
SHIM_PATH = "os.environ['PATH'] = str(Path(sys.argv[1]).parent / 'held') + ':' + os.environ['PATH']\n"
HOLD = """\
#!/bin/sh
exec strace -DDD -qq -o /dev/null -e trace=write -e inject=write:delay_enter={microseconds} {bwrap} "$@"
"""
"""In bwrap's place: it has made the sandbox's first process, and is held before it lets that one go."""


def running(*words: str) -> list[str]:
    """Command lines of processes with one of these words in them."""
    lines = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if any(word in line for word in words):
            lines.append(line)
    return lines


def victim_command(place: Path, uid: int, more: str = "", program: str = VICTIM) -> list[str]:
    """What opens a sandbox in that folder as that user; the script comes last."""
    place.mkdir()
    if uid != os.geteuid():
        os.chown(place, uid, uid)
    return [sys.executable, "-c", program.replace("{more}", more), str(place), str(uid)]


def processes_are_limited(folder: Path) -> str:
    """Without a control group the kernel limits the processes of an ordinary user's sandbox."""
    if os.geteuid() != 0:
        raise NotRun("needs root, to become another user")
    place = folder / "place"
    forks = "my @c; for (1..300) { my $p = fork; last if !defined $p; if (!$p) { sleep 20; exit } push @c, $p } print scalar(@c); kill 9, @c"
    no_groups = "from stackbuild.runners import cgroup\ncgroup._made = lambda *words: iter(())"
    subprocess.run([*victim_command(place, NOBODY, no_groups), f"perl -e '{forks}'"], check=True, capture_output=True)
    count = (place / "log").read_text()
    return "" if count.isdigit() and 10 < int(count) < 60 else f"{count} processes where 60 are allowed"


def kill_early(uid: int, after: float, folder: Path, more: str = "", program: str = VICTIM) -> str:
    if why := lacking("sandbox"):
        raise NotRun(why)
    if uid != os.geteuid() and os.geteuid() != 0:
        raise NotRun("needs root, to become another user")
    place = folder / "place"
    mark = str(int(after * 1e9) + 10**9)
    victim = subprocess.Popen(
        [*victim_command(place, uid, more, program), f"touch /out/begun; sleep {mark}"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    try:
        assert victim.stdout is not None
        if victim.stdout.readline() != b"ready\n":
            return f"no sandbox was begun: {victim.communicate()[1].decode()[-300:]}"
        time.sleep(after)
    finally:
        victim.send_signal(signal.SIGKILL)
        victim.communicate()
    until = time.monotonic() + END_SECONDS
    while remains := running(str(place), f"sleep {mark}"):
        if time.monotonic() > until:
            return f"{len(remains)} processes stay{' with the command' if (place / 'out/begun').exists() else ''}: {remains[0][:200]}"
        time.sleep(0.02)
    return ""


def kill_while_held(uid: int, program: str, after: float, folder: Path) -> str:
    """The kill falls between bubblewrap's two first steps, which are a tenth of a millisecond apart otherwise."""
    if not shutil.which("strace"):
        raise NotRun("strace is not installed")
    shim = folder / "held" / "bwrap"
    shim.parent.mkdir()
    shim.write_text(HOLD.format(microseconds=3_000_000, bwrap=shutil.which("bwrap")))
    shim.chmod(0o755)
    loss = kill_early(uid, after, folder, SHIM_PATH, program)
    if not loss and (folder / "place/out/begun").exists():
        return "the command began though bubblewrap was to be held"
    return loss


def group_is_reaped(folder: Path) -> str:
    """The group of a killed owner is removed with what runs in it; that of a live one is not touched."""
    with cgroup.limits("campaign", 1 << 26, 20) as live:
        if not live.folders:
            raise NotRun("no control groups can be made here")
        script = (
            "import subprocess, sys, time; from stackbuild.runners import cgroup\n"
            "with cgroup.limits('campaign', 1 << 26, 20) as g:\n"
            "    p = subprocess.Popen(['sleep', '4242'], stdout=subprocess.DEVNULL, start_new_session=True)\n"
            "    for f in g.entry_files: open(f.replace('tasks', 'cgroup.procs'), 'w').write(str(p.pid))\n"
            "    print(p.pid, *g.folders, flush=True); time.sleep(60)"
        )
        owner = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
        assert owner.stdout is not None
        pid, *folders = owner.stdout.readline().split()
        cgroup.reap()
        if not all(Path(name).exists() for name in folders):
            return "a live owner's group was removed"
        owner.kill()
        owner.communicate()
        cgroup.reap()
        until = time.monotonic() + END_SECONDS
        while any(Path(name).exists() for name in folders) and time.monotonic() < until:
            time.sleep(0.02)
        if remains := [name for name in folders if Path(name).exists()]:
            return f"stays: {remains}"
        if "sleep" in (Path("/proc", pid, "cmdline").read_text() if Path("/proc", pid).exists() else ""):
            return "the process in it lives on"
        return "" if all(name.exists() for name in live.folders) else "our own group was removed"


def cases(random: Random) -> list[CampaignCase]:
    rows = []
    own = os.geteuid()
    for user, uid in (("this user" if own else "root", own), ("another user", NOBODY)):
        for i in range(ROUNDS):
            after = random.uniform(0, LATEST)
            rows.append(CampaignCase(f"{user}: killed after {after * 1000:.1f} ms, round {i}", partial(kill_early, uid, after)))
        for i in range(CELL_ROUNDS):
            after = random.uniform(0, LATEST)
            attempt = partial(kill_early, uid, after, program=CELL)
            rows.append(CampaignCase(f"{user}: cell killed after {after * 1000:.1f} ms, round {i}", attempt))
        for name, program in (("sandbox", VICTIM), ("cell", CELL)):
            rows.append(CampaignCase(f"{user}: {name} killed while bubblewrap is held", partial(kill_while_held, uid, program, random.uniform(1, 1.5))))
    return [
        *rows,
        CampaignCase("control group of a killed owner", group_is_reaped),
        CampaignCase("another user's limit of processes", processes_are_limited),
    ]


RIG = Rig("sandbox-kill", "stackbuild killed while a sandbox opens: nothing runs on", cases, minimum=566)
