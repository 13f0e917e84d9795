"""A step that attacks what is around it, in the sandbox and in a container.

Each attack is a script. It prints BREACH with a word for everything that it should not have been able to do, and END when
it came to its end; some are also looked at from outside.
"""

from __future__ import annotations

import errno
import os
import signal
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random

from campaign.frame import CampaignCase, Rig
from campaign.sessions import NONCE, PLACES, PROCESSES, RUNNERS, AttackSession, attack_session, base, has_groups
from stackbuild.runners import seccomp
from stackbuild.runners.log import HEAD, TAIL

KILLED_BY_FILTER = 128 + signal.SIGSYS
"""libseccomp's answer to another instruction set, in a container."""
PERL = "use strict; use warnings; $| = 1;\n"


@dataclass(frozen=True)
class Attack:
    """One script. `ends`: it prints END, unless the attack is to end itself. `outside` looks at the machine afterwards."""

    name: str
    argv: tuple[str, ...]
    outside: Callable[[AttackSession], str] = lambda session: ""
    ends: bool = True


def shell(
    name: str, script: str, outside: Callable[[AttackSession], str] = lambda session: "", ends: bool = True
) -> Attack:
    return Attack(name, ("/bin/sh", "-c", script + ("\necho END" if ends else "")), outside, ends)


def perl(name: str, script: str, outside: Callable[[AttackSession], str] = lambda session: "", ends: bool = True) -> Attack:
    return Attack(name, ("perl", "-e", PERL + script + ('\nprint "END\\n";' if ends else "")), outside, ends)


def call(name: str, number: int, error: int, *arguments: int) -> Attack:
    """One system call that must fail with that error, and no other one."""
    words = ", ".join(map(str, (number, *arguments)))
    return perl(
        name, f'my $r = syscall({words}); print "BREACH $r, error ", $! + 0, "\\n" unless $r == -1 && $! == {error};'
    )


def calls() -> Iterator[Attack]:
    """Every row of the table, and the ways around it: other instruction sets, the other halves of arguments."""
    number = seccomp.architecture().numbers
    for row in seccomp.REFUSALS:
        for name in row.calls:
            if row.argument is None and name in number:
                yield call(f"call {name}", number[name], row.error, 0, 0, 0, 0, 0)
    yield call("call unshare user", number["unshare"], errno.EPERM, seccomp.CLONE_NEWUSER)
    yield call("call clone user", number["clone"], errno.EPERM, seccomp.CLONE_NEWUSER | 17, 0, 0, 0, 0)
    yield call(
        "call clone user, high half set", number["clone"], errno.EPERM, 1 << 40 | seccomp.CLONE_NEWUSER | 17, 0, 0, 0, 0
    )
    for name, request in (("TIOCSTI", seccomp.TIOCSTI), ("TIOCLINUX", seccomp.TIOCLINUX)):
        yield call(f"call ioctl {name}", number["ioctl"], errno.EPERM, 0, request, 0)
        yield call(f"call ioctl {name}, high half set", number["ioctl"], errno.EPERM, 0, 1 << 32 | request, 0)
    families = ",".join(map(str, seccomp.FAMILIES.values()))
    yield perl(
        "socket families",
        f"my %fine = map {{ $_ => 1 }} ({families});\n"
        f"for my $family (0 .. 300) {{ for my $kind (1, 2, 3, 5) {{\n"
        f"  my $r = syscall({number['socket']}, $family, $kind, 0);\n"
        f'  print "BREACH family $family\\n" if !$fine{{$family}} && ($r != -1 || $! != {errno.EAFNOSUPPORT}); }} }}',
    )
    if seccomp.architecture().name == "SCMP_ARCH_X86_64":
        yield call("call of x32", 0x40000000 + 39, errno.ENOSYS)
        program = 'int main(void) { int r; __asm__ volatile ("int $0x80" : "=a"(r) : "a"(20)); return r > 0 ? 0 : 9; }'
        yield shell(
            "call of i386",
            f"echo '{program}' > /tmp/c.c && gcc -o /tmp/c /tmp/c.c && {{ /tmp/c 2>/dev/null && echo BREACH i386; true; }}",
        )


KERNEL_FILES = """
my @todo = ('/proc', '/sys'); my $seen = 0;
while (my $folder = shift @todo) {
  opendir(my $d, $folder) or next;
  for my $name (readdir $d) {
    next if $name =~ /^\\.\\.?$/ || ($folder eq '/proc' && $name =~ /^(\\d+|self|thread-self)$/);
    my $path = "$folder/$name";
    next if -l $path;
    if (-d $path) { push @todo, $path; next }
    $seen++;
    next if -c $path || $folder eq '/proc/pressure';  # /dev/null in its place; a trigger there is its opener's own
  next unless ((stat $path)[2] // 0) & 0222;  # without a write bit the kernel has nothing that writes
  if (sysopen(my $f, $path, 1)) { print "BREACH $path can be written\\n"; close $f }
  }
}
print "BREACH nothing was seen\\n" if $seen < 100;
"""
PROCESS_FILES = """
for my $path (glob('/proc/[0-9]*/cmdline /proc/[0-9]*/environ')) {
  open(my $f, '<', $path) or next; local $/; my $text = <$f> // ''; $text =~ tr/\\0/ /; print "$path: $text\\n";
}
"""
DEVICES = """
my %fine = map { $_ => 1 } qw(null zero full random urandom tty console ptmx pts shm mqueue fd stdin stdout stderr core);
for my $path (glob('/dev/*')) { my ($n) = $path =~ m{([^/]+)$}; print "BREACH $path\\n" unless $fine{$n} }
for my $pair ([1, 1], [8, 0], [10, 229]) {
  my $path = "/out/dev$$pair[0]";
  system("mknod $path c $$pair[0] $$pair[1] 2>/dev/null"); print "BREACH mknod $$pair[0]\\n" if -c $path && open(my $f, '<', $path);
}
"""
DESCRIPTORS = """
opendir(my $d, '/proc/self/fd'); my $own = fileno($d) // -1;
for my $fd (grep { /^\\d+$/ } readdir $d) {
  my $to = readlink("/proc/self/fd/$fd") // next;
  print "BREACH descriptor $fd is $to\\n" if $fd > 2 && $to !~ m{^/proc/\\d+/fd$};
}
my $input = readlink('/proc/self/fd/0'); print "BREACH input is $input\\n" unless $input eq '/dev/null' || $input =~ /^pipe:/;
"""
CAPABILITIES = """
open(my $f, '<', '/proc/self/status'); my %row = map { /^(\\w+):\\s*(\\S+)/ ? ($1, $2) : () } <$f>;
for my $set (qw(CapInh CapPrm CapEff CapAmb)) { print "BREACH $set $row{$set}\\n" if $row{$set} !~ /^0+$/ }
print "BREACH privileges can be gained\\n" if $row{NoNewPrivs} != 1;
print "BREACH no filter of system calls\\n" if $row{Seccomp} != 2;
"""
FORKS = f"""
my $made = 0; my @children;
for (1 .. {3 * PROCESSES}) {{ my $pid = fork; last if !defined $pid; if (!$pid) {{ sleep 60; exit }} push @children, $pid; $made++ }}
print "made $made\\n"; print "BREACH $made processes\\n" if $made >= {PROCESSES};
kill 'KILL', @children;
"""


def others(session: AttackSession) -> str:
    """What no attack may have changed: the base, the need, and what lies beside the session's folders."""
    tree, _ = base()
    changed_paths = [
        str(path) for path in (tree / "marker", tree / "etc/marker", session.folder / "marker") if path.exists()
    ]
    if (session.folder / "need" / "file").read_text() != "as it was\n":
        changed_paths.append("the need")
    if not (tree / "bin/sh").exists() or not (tree / "etc/passwd").read_text().startswith("root:"):
        changed_paths.append("the base")
    return f"changed: {', '.join(changed_paths)}" if changed_paths else ""


def no_host_words(session: AttackSession) -> str:
    words = (NONCE, str(session.folder), str(base()[0].parent), str(Path.home() / ".cache"))
    return next((f"sees {word}" for word in words if word in session.output), "")


def log_is_bounded(session: AttackSession) -> str:
    size = session.log.stat().st_size
    if size > HEAD + TAIL + (1 << 20):
        return f"the log has {size} bytes"
    with session.log.open("rb") as file:
        file.seek(HEAD)
        is_said = b"bytes left out" in file.read(100)
    return "" if is_said and session.output.endswith("END\n") else "how much was left out is missing, or the end"


def stops_growing(session: AttackSession) -> str:
    size = (session.out / "x").stat().st_size
    time.sleep(0.1)
    return "" if (session.out / "x").stat().st_size == size else "something still writes"


def ran_out(session: AttackSession) -> str:
    if session.runner == "sandbox" and not has_groups():
        return ""
    return "" if session.result.code != 0 and session.result.out_of_memory else f"not stopped: {session.result}"


def kernel_attacks() -> Iterator[Attack]:
    """What holds wherever code of others runs."""
    yield from calls()
    yield perl("kernel settings", KERNEL_FILES)
    yield shell("core_pattern", "for f in kernel/core_pattern kernel/modprobe vm/swappiness fs/suid_dumpable; do"
                " v=$(cat /proc/sys/$f); (echo \"$v\" > /proc/sys/$f) 2>/dev/null && echo BREACH $f; done; true")  # fmt: skip


def attacks() -> Iterator[Attack]:
    yield from kernel_attacks()
    yield perl("devices", DEVICES)
    yield perl("capabilities", CAPABILITIES)
    yield perl("descriptors", DESCRIPTORS)
    yield perl("processes of the machine", PROCESS_FILES, no_host_words)
    yield shell("environment", "env; set", no_host_words)
    yield shell(
        "folders of the machine",
        "cat /proc/1/root/etc/hostname /proc/1/cwd/* 2>/dev/null; ls -laR /deps /out /build /home /root /mnt 2>/dev/null; true",
        no_host_words,
    )
    yield shell(
        "mount",
        "mkdir -p /build/m; mount -t tmpfs x /build/m 2>/dev/null && echo BREACH; mount --bind /deps /build/m 2>/dev/null && echo BREACH; mount -o remount,rw /deps/need 2>/dev/null && echo BREACH; umount /deps/need 2>/dev/null && echo BREACH; true",
        others,
    )
    yield shell(
        "namespaces",
        "unshare -U true 2>/dev/null && echo BREACH user; unshare -Ur true 2>/dev/null && echo BREACH root; unshare -m true 2>/dev/null && echo BREACH mount; chroot / true 2>/dev/null && echo BREACH chroot; true",
    )
    yield shell(
        "the need is written",
        "(echo x > /deps/need/file) 2>/dev/null && echo BREACH write; rm -f /deps/need/file 2>/dev/null && echo BREACH remove; chmod 777 /deps/need/file 2>/dev/null && echo BREACH mode; touch /deps/need/marker 2>/dev/null && echo BREACH new; true",
        others,
    )
    yield shell("the base is written", "touch /marker /etc/marker; rm -f /etc/passwd; true", others)
    yield shell("everything is removed", "rm -rf --no-preserve-root / >/dev/null 2>&1", others, ends=False)
    yield shell("every mode is taken", "chmod 000 /out /build /tmp / 2>/dev/null; true", others)
    yield shell(
        "ways up",
        "cd /out; for i in 1 2 3 4 5 6 7 8; do cd ..; done; touch marker ../marker; ln -s ../../../../.. /out/up; touch /out/up/marker; true",
        others,
    )
    yield shell("the first process is killed", "kill -9 1; kill -STOP 1; kill -TERM 1; sleep 0.1", ends=False)
    yield perl("everyone is killed", "kill 'KILL', -1; kill 'STOP', -1; ", ends=False)
    yield shell(
        "writes on",
        "(setsid sh -c 'while :; do echo x >> /out/x; done' &) ; until [ -s /out/x ]; do :; done",
        stops_growing,
    )
    yield shell("output is closed", "exec >&- 2>&-; sleep 0.05", ends=False)
    yield perl(
        "log is flooded",
        f'my $x = "x" x 65535 . "\\n"; print $x for 1 .. {(HEAD + 2 * TAIL + (32 << 20)) >> 16};',
        log_is_bounded,
    )
    yield perl("log has every byte", "binmode STDOUT; print map { chr($_ % 256) } 0 .. 99999; print qq(\\n);")
    yield perl("memory", "my @x; push @x, 'x' x (1 << 24) . $_ while 1;", ran_out, ends=False)
    yield perl("processes", FORKS)


@contextmanager
def listening() -> Iterator[tuple[int, str]]:
    """Servers of this machine: a port on loopback, and a socket without a file."""
    name = f"stackbuild-campaign-{os.getpid()}-{time.monotonic_ns()}"
    with socket.socket() as port, socket.socket(socket.AF_UNIX) as abstract:
        port.bind(("127.0.0.1", 0))
        port.listen()
        abstract.bind("\0" + name)
        abstract.listen()
        yield port.getsockname()[1], name


def reach_servers(runner: str, folder: Path) -> str:
    with listening() as (port, name):
        script = f"""use Socket;
        socket(my $s, PF_INET, SOCK_STREAM, 0); print "BREACH port\\n" if connect($s, sockaddr_in({port}, inet_aton('127.0.0.1')));
        socket(my $u, PF_UNIX, SOCK_STREAM, 0); print "BREACH socket\\n" if connect($u, pack('S x a*', 1, '{name}'));
        socket(my $r, PF_INET, SOCK_STREAM, 0); print "BREACH route\\n" if connect($r, sockaddr_in(53, inet_aton('192.0.2.1')));"""
        return attempt(perl("servers", script), runner, folder)


def attempt(attack: Attack, runner: str, folder: Path) -> str:
    """Run one attack on a runner; what was lost, "" for nothing."""
    with attack_session(folder, runner) as session:
        session.run(*attack.argv)
        if breaches := [line for line in session.output.splitlines() if line.startswith("BREACH")]:
            return "; ".join(breaches[:5])
        if session.result.code == KILLED_BY_FILTER:
            return ""
        if attack.ends and "END" not in session.output.splitlines():  # an engine sends stderr by a way of its own
            return f"the attack did not come to its end: {session.result}: {session.output[-300:]!r}"
        return attack.outside(session)


def cases(random: Random) -> list[CampaignCase]:
    rows = [
        CampaignCase(f"{runner}: {attack.name}", partial(attempt, attack, runner)) for runner in RUNNERS for attack in attacks()
    ]
    for place in PLACES:
        rows += [CampaignCase(f"{place}: {attack.name}", partial(attempt, attack, place)) for attack in kernel_attacks()]
    servers = (*RUNNERS, "cell")  # a RUN line has the network
    return [*rows, *(CampaignCase(f"{runner}: servers of the machine", partial(reach_servers, runner)) for runner in servers)]


RIG = Rig("hostile-step", "attacks on sandbox, docker, clean cell and the RUN lines of images", cases, minimum=280)
