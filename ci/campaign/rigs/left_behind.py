"""What a step leaves behind, through the real command: files of odd kinds, names and sizes, lies in the log, tokens.

Each case builds a recipe of one hostile step, with a time limit. Afterwards the same store must be whole and another build in
it must succeed.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random

from campaign.benches import bench_in
from campaign.frame import CampaignCase, NotRun, Rig
from campaign.sessions import RUNNERS, lacking
from stackbuild.runners.log import HEAD, TAIL
from support.build_bench import BuildBench

TextProcess = subprocess.CompletedProcess[str]
UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""What a terminal is never sent in the words of others."""
SECONDS = 120
SET_ATTRIBUTES = (
    "my ($own, $acl, $b) = (q(user.a), q(system.posix_acl_access), q(b));"
    " my $l = pack(q(V(vvV)5), 2, 1, 7, 4294967295, 2, 7, 65534, 4, 5, 4294967295, 16, 7, 4294967295, 32, 5, 4294967295);"
    " for (qw(/out /out/d /out/f)) { my $f = $_;"
    " syscall(188, $f, $own, $b, 1, 0) and die $!; syscall(188, $f, $acl, $l, length $l, 0) and die $!; }"
)
"""An attribute and an access control list with all rights for `nobody`, by setxattr(2) of x86-64."""


@dataclass(frozen=True)
class Leftover:
    """A hostile step. `codes`: how the build may end; `check` looks at the bench and the finished command."""

    name: str
    script: str
    codes: tuple[int, ...] = (0,)
    check: Callable[[BuildBench, TextProcess], str] = lambda bench, result: ""


def no_setid(bench: BuildBench, result: TextProcess) -> str:
    modes = [path.lstat().st_mode for path in [bench.tree("hostile"), *bench.tree("hostile").rglob("*")]]
    if len(modes) < 3:
        return "the output is not there"
    return "setuid or setgid is in the store" if any(mode & (stat.S_ISUID | stat.S_ISGID) for mode in modes) else ""


def nobody_elses(bench: BuildBench, result: TextProcess) -> str:
    folders = [path for path in (bench.tree("hostile"), *bench.tree("hostile").rglob("*")) if path.is_dir()]
    if len(folders) < 3:
        return "the output is not there"
    return "others may write to the store" if any(path.stat().st_mode & 0o022 for path in folders) else ""


def no_attributes(bench: BuildBench, result: TextProcess) -> str:
    paths = [bench.tree("hostile"), *bench.tree("hostile").rglob("*")]
    if len(paths) < 3:
        return "the output is not there"
    names = {name for path in paths for name in os.listxattr(path, follow_symlinks=False)}
    return f"extended attributes are in the store: {', '.join(sorted(names))}" if names else ""


def no_links_from_elsewhere(bench: BuildBench, result: TextProcess) -> str:
    paths = [path for path in bench.tree("hostile").rglob("*") if not path.is_symlink() and path.is_file()]
    counts = Counter(path.stat().st_ino for path in paths)
    if not paths:
        return "the output is not there"
    names = [path.name for path in paths if path.stat().st_nlink != counts[path.stat().st_ino]]
    return f"files of the output have links elsewhere: {names[:5]}" if names else ""


def closed_cache(bench: BuildBench, result: TextProcess) -> str:
    mode = stat.S_IMODE((bench.store / "ccache").stat().st_mode)
    return f"others may enter the compiler caches: {mode:o}" if mode & 0o077 else ""


CI_COMMAND = re.compile(r"##(vso|teamcity)?\[|^\s*::(add-mask|stop-commands)\b", re.MULTILINE)
"""What the programs that keep CI jobs' logs obey."""


def nothing_for_ci(bench: BuildBench, result: TextProcess) -> str:
    console_text = result.stdout + result.stderr + bench.run("logs", "hostile", check=None).stdout
    if "a secret" not in console_text:
        return "what the step printed is not shown"
    return "a log line commands the CI job" if CI_COMMAND.search(console_text) else ""


def not_the_disk(bench: BuildBench, result: TextProcess) -> str:
    return "the step's words were taken for the disk's" if "disk is full" in result.stderr else ""


def not_the_store(bench: BuildBench, result: TextProcess) -> str:
    return "the step's tokens were taken for a fault of the store" if "cannot be used" in result.stderr else ""


def nothing_for_the_terminal(bench: BuildBench, result: TextProcess) -> str:
    log = bench.run("logs", "hostile").stdout
    for name, text in (("build", result.stdout + result.stderr), ("logs", log)):
        if match := UNSAFE.search(text):
            return f"`{name}` shows {match[0]!r}"
    return "" if "the end" in log else "`logs` does not show the end"


def bounded_log(bench: BuildBench, result: TextProcess) -> str:
    log = next(bench.store.glob("runs/*/logs/hostile.log"))
    if log.stat().st_size > HEAD + TAIL + (1 << 20):
        return f"the log has {log.stat().st_size} bytes"
    shown_log = bench.run("logs", "hostile", before=("prlimit", f"--data={512 << 20}"))
    return "" if "bytes left out" in shown_log.stdout else "`logs` does not say how much was left out"


def no_wheel(bench: BuildBench, result: TextProcess) -> str:
    return "what a link leads to was shown" if "root:x:0" in result.stdout + result.stderr else ""


def leftovers() -> Iterator[Leftover]:
    stats = "/build/.ccache-stats"
    yield Leftover("statistics are a FIFO", f"mkfifo {stats}; echo x > /out/x")
    yield Leftover("statistics are a link", f"ln -s /etc/passwd {stats}; echo x > /out/x")
    yield Leftover("statistics are a link to a FIFO", f"mkfifo /build/f; ln -s f {stats}; echo x > /out/x")
    yield Leftover("statistics are a folder", f"mkdir {stats}; echo x > /out/x")
    yield Leftover("statistics are huge", f"truncate -s 4T {stats} || truncate -s 8G {stats}; echo x > /out/x")
    yield Leftover("statistics are noise", f"head -c 3000000 /dev/urandom > {stats}; echo x > /out/x")
    yield Leftover(
        "setuid and setgid",
        "cp /bin/sh /out/s; chmod 6755 /out/s; mkdir /out/d; chmod 7777 /out/d; touch /out/d/x; chmod 2777 /out",
        check=no_setid,
    )
    yield Leftover("a FIFO in the output", "mkfifo /out/f", (0, 4))
    yield Leftover(
        "a socket in the output",
        'perl -MSocket -e \'socket(S,1,1,0); bind(S, pack("S a*", 1, "/out/s\\0"))\'; test -S /out/s',
        (0, 4),
    )
    yield Leftover("a device in the output", "mknod /out/null c 1 3 || mknod /out/null c 0 0", (4,))
    yield Leftover("a device in the build folder", "mknod null c 0 0; echo x > /out/x", (0,))
    yield Leftover(
        "hard links",
        "cd /out; echo x > a; ln a b; ln a c; echo y > /build/y; ! ln a /build/a && ! ln /build/y y && ! ln /bin/sh sh"
        " && ! ln /jobserver j && exec 3</build/y && ! ln -L /proc/self/fd/3 z",
        (0,), no_links_from_elsewhere,
    )  # fmt: skip
    yield Leftover(
        "names that differ in case or are not UTF-8",
        r"""cd /out; touch A a; mkdir B b; perl -e 'open(F, ">", "\xff\xfe"); mkdir "\xc3("; symlink "\xff", "l\xff"'""",
    )
    yield Leftover("a FIFO that is called a wheel", "mkfifo /out/onnxruntime-1.0-py3-none-any.whl", (0,), no_wheel)
    yield Leftover("a folder that is called a wheel", "mkdir /out/onnxruntime-1.0-py3-none-any.whl", (0,), no_wheel)
    yield Leftover("closes the compiler cache", "mkdir /ccache/d; chmod 000 /ccache/d /ccache; echo x > /out/x", (0,), closed_cache)
    yield Leftover(
        "setuid in the compiler cache",
        "cp /bin/sh /ccache/s; chmod 6755 /ccache/s; chmod 777 /ccache; echo x > /out/x", (0,), closed_cache,
    )  # fmt: skip
    yield Leftover("closes the jobserver", "chmod 000 /jobserver; echo x > /out/x")
    yield Leftover("closes its folders and fails", "echo x > /out/x; chmod 000 /out /build; exit 3", (4,))
    yield Leftover("a sparse file in the build folder, and fails", "truncate -s 15T s || truncate -s 8G s; exit 3", (4,))
    yield Leftover(
        "a file that a process left writes on",
        "(setsid sh -c 'while :; do echo x >> /out/late; done' </dev/null >/dev/null 2>&1 &); sleep 0.2; echo x > /out/x",
    )
    yield Leftover("a deep tree", 'cd /out; perl -e \'for (1..3000) { mkdir "d"; chdir "d" }\'', (0, 4))
    yield Leftover(
        "a deep tree in the build folder", 'perl -e \'for (1..3000) { mkdir "d"; chdir "d" }\'; echo x > /out/x'
    )
    yield Leftover(
        "names of every byte",
        'cd /out; perl -e \'for (1..255) { next if $_ == 47; open(F, ">", "n" . chr($_)); }\'',
        (0, 4),
    )
    yield Leftover("names of 255 bytes", 'cd /out; perl -e \'open(F, ">", chr($_) x 255) for 65..90; mkdir "x" x 255\'')
    yield Leftover(
        "links that lead out",
        "ln -s /etc/passwd /out/l; ln -s ../../../../.. /out/up; ln -s a /out/a; ln -s /proc/self/root /out/r",
    )
    yield Leftover(
        "a wheel that is a link", "ln -s /etc/passwd /out/onnxruntime-1.0-py3-none-any.whl", (0, 4), no_wheel
    )
    yield Leftover(
        "closed folders",
        "mkdir -p /out/a/b; touch /out/a/b/c; chmod 000 /out/a/b/c /out/a/b /out/a /out; mkdir -p x/y; chmod 000 x/y x",
    )
    yield Leftover("many files", "cd /out; perl -e 'for (1..20000) { open(F, \">\", $_); }'")
    yield Leftover("a sparse file", "truncate -s 2G /out/s", (0, 4))
    yield Leftover("a file that is all holes", "truncate -s 40G /out/s", (4,))
    yield Leftover(
        "folders that all may write to",
        "mkdir -m 1777 /out/d; mkdir -m 777 /out/e; chmod 777 /out; touch /out/d/x",
        check=nobody_elses,
    )
    yield Leftover("takes its build tree away", 'cd /; mv "$OLDPWD" "$OLDPWD.z"; ln -s /nonexist "$OLDPWD"; exit 3', (4,))
    yield Leftover("extended attributes", f"mkdir /out/d; touch /out/f; perl -e '{SET_ATTRIBUTES}'", (0,), no_attributes)
    yield Leftover(
        "commands to a CI job",
        "echo ::add-mask::a secret; echo 'x ##vso[task.setvariable variable=PATH]y'; echo ::stop-commands::z; exit 1",
        (4,),
        nothing_for_ci,
    )
    yield Leftover(
        "says that the disk is full", "echo 'fatal: No space left on device' >&2; exit 1", (4,), not_the_disk
    )
    yield Leftover("says that the quota is used up", "echo 'Disk quota exceeded' >&2; exit 3", (4,), not_the_disk)
    yield Leftover(
        "says that memory is out", "echo 'virtual memory exhausted: Cannot allocate memory' >&2; exit 1", (4,)
    )
    yield Leftover(
        "writes to the terminal",
        r"printf '\033]0;owned\007\033[2J\033[31m\302\233\342\200\256back\342\201\246\r\000 ::error:: x\n'; echo the end; exit 1",
        (4,),
        nothing_for_the_terminal,
    )
    yield Leftover("one endless line", f"head -c {HEAD + 3 * TAIL} /dev/zero | tr '\\0' x; exit 1", (4,), bounded_log)
    yield Leftover(
        "fills the jobserver",
        "dd if=/dev/zero of=/jobserver bs=4096 count=100 oflag=nonblock 2>/dev/null; echo x > /out/x",
        check=not_the_store,
    )
    yield Leftover(
        "empties the jobserver",
        "dd if=/jobserver of=/dev/null bs=4096 count=1 iflag=nonblock 2>/dev/null; echo x > /out/x",
        check=not_the_store,
    )
    yield Leftover("kills itself", "kill -9 $$", (4,))
    yield Leftover("ends with 255", "exit 255", (4,))
    yield Leftover("begins a daemon", "(setsid sh -c 'sleep 300; echo x > /out/late' &); echo x > /out/x")
    yield Leftover("removes everything", "rm -rf --no-preserve-root / 2>/dev/null; exit 0", (0, 4))


def recipe(leftover: Leftover) -> str:
    """The component, its script as a string of YAML."""
    quoted_script = leftover.script.replace("\\", "\\\\").replace('"', '\\"')
    return f'  hostile: {{kind: script, run: [[sh, -c, "{quoted_script}"]]}}\n'


def leave(leftover: Leftover, runner: str, folder: Path) -> str:
    if why := lacking(runner):
        raise NotRun(why)
    bench = bench_in(folder)
    bench.write(recipe(leftover))
    process = bench.build("--runner", runner, check=None, timeout=SECONDS)
    if process.returncode not in leftover.codes:
        return f"exit {process.returncode}: {process.stderr[-400:]}"
    if loss := leftover.check(bench, process):
        return loss
    if check_code := bench.run("store", "check", check=None).returncode:
        return f"`store check` ends with {check_code}"
    bench.write("  hostile: {kind: script, run: [[sh, -c, 'echo fine > /out/x']]}\n")
    after = bench.build("--runner", runner, check=None, timeout=SECONDS)
    if after.returncode or (bench.tree("hostile") / "x").read_text() != "fine\n":
        return f"the next build ends with {after.returncode}: {after.stderr[-400:]}"
    return f"left in the store: {leftovers}" if (leftovers := bench.leftovers()) else ""


def share_a_cache(runner: str, folder: Path) -> str:
    """A recipe's compiler cache is not another recipe's, though base and lock are the same."""
    if why := lacking(runner):
        raise NotRun(why)
    bench = bench_in(folder)
    bench.write("  hostile: {kind: script, run: [[sh, -c, 'echo poison > /ccache/marker; echo x > /out/x']]}\n")
    bench.build("--runner", runner)
    bench.write("  again: {kind: script, run: [[sh, -c, 'cp /ccache/marker /out/x']]}\n")
    bench.build("--runner", runner)
    other = BuildBench(folder / "other", bench.store)
    other.root.mkdir()
    shutil.copy(folder / "t.lock.yaml", other.root / "t.lock.yaml")
    other.write("  victim: {kind: script, run: [[sh, -c, 'test ! -e /ccache/marker; echo x > /out/x']]}\n")
    other.recipe.write_text(other.recipe.read_text().replace("name: t\n", "name: other\n"))
    process = other.build("--runner", runner, check=None)
    return f"another recipe sees the cache: {process.stderr[-300:]}" if process.returncode else ""


def cases(random: Random) -> list[CampaignCase]:
    rows = [CampaignCase(f"{runner}: {one.name}", partial(leave, one, runner)) for runner in RUNNERS for one in leftovers()]
    return [*rows, *(CampaignCase(f"{runner}: compiler cache", partial(share_a_cache, runner)) for runner in RUNNERS)]


RIG = Rig("left-behind", "what a step leaves, prints and takes, through the real command", cases, minimum=90)
