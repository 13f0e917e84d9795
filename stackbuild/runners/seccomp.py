"""The system calls that no step, probe or container may make: one table, as a classic BPF program and as Docker's profile.

The table is a list of refusals: every other call is allowed, with the kernel's own checks. bubblewrap loads the program
right before the command starts (`--seccomp`), the Docker engine gets the same table as JSON.

Sources: seccomp(2), `linux/seccomp.h`, `linux/bpf_common.h`, `linux/audit.h`; numbers of calls from
`asm/unistd_64.h` (x86-64) and `asm-generic/unistd.h` (AArch64).
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import platform
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from stackbuild.core.errors import MachineLacks

CLONE_NEWUSER = 0x10000000
TIOCSTI, TIOCLINUX = 0x5412, 0x541C
FAMILIES = {"AF_UNSPEC": 0, "AF_UNIX": 1, "AF_INET": 2, "AF_INET6": 10, "AF_NETLINK": 16}
"""Address families that sockets may have (linux/socket.h)."""


@dataclass(frozen=True)
class Argument:
    """A condition on the low 32 bits of a call's argument `index`; the call is refused where it holds.

    `test` is "any" (one of the bits of `values[0]` is set), "in" or "not in" (`values`).
    """

    index: int
    test: str
    values: tuple[int, ...]


@dataclass(frozen=True)
class Refusal:
    """Calls that are refused with `error`, what for, and the `argument` that a call is refused for (None: always)."""

    what: str
    calls: tuple[str, ...]
    why: str
    error: int = errno.EPERM
    argument: Argument | None = None


REFUSALS = (
    Refusal(
        "kernel keyring",
        ("add_key", "keyctl", "request_key"),
        "keyrings belong to the user and not to a namespace: a step could read and replace the keys of whoever builds",
    ),
    Refusal(
        "io_uring",
        ("io_uring_setup", "io_uring_enter", "io_uring_register"),
        "its requests are not seen by any filter of system calls; programs go back to ordinary calls on ENOSYS",
        errno.ENOSYS,
    ),
    Refusal(
        "socket families",
        ("socket",),
        f"all but {', '.join(FAMILIES)}. AF_VSOCK reaches the hypervisor whatever the network namespace. The others"
        " are parts of the kernel that builds do not use",
        errno.EAFNOSUPPORT,
        Argument(0, "not in", tuple(FAMILIES.values())),
    ),
    Refusal(
        "user namespaces",
        ("clone", "unshare"),
        "with CLONE_NEWUSER: root of a nested namespace reaches parts of the kernel that an ordinary user does not",
        argument=Argument(0, "any", (CLONE_NEWUSER,)),
    ),
    Refusal(
        "clone3",
        ("clone3",),
        "its flags lie in memory that a filter cannot read; the C library uses clone on ENOSYS",
        errno.ENOSYS,
    ),
    Refusal(
        "mounts and namespaces",
        (
            *("mount", "umount2", "pivot_root", "setns", "fsopen", "fsconfig", "fsmount", "fspick", "move_mount"),
            *("open_tree", "mount_setattr"),
        ),
        "they need a capability that a step does not have",
    ),
    Refusal(
        "terminal input",
        ("ioctl",),
        "TIOCSTI and TIOCLINUX type into the terminal of whoever runs `stackbuild shell`",
        argument=Argument(1, "in", (TIOCSTI, TIOCLINUX)),
    ),
    Refusal(
        "tracing of the kernel",
        ("bpf", "perf_event_open", "userfaultfd", "kcmp", "fanotify_init", "lookup_dcookie"),
        "they watch or stop the kernel at work, and faults in them are found often",
    ),
    Refusal(
        "the machine's state",
        (
            *("kexec_load", "kexec_file_load", "init_module", "finit_module", "delete_module", "reboot", "swapon"),
            *("swapoff", "acct", "quotactl", "quotactl_fd", "settimeofday", "clock_settime", "syslog"),
            *("open_by_handle_at", "iopl", "ioperm", "vhangup", "uselib", "ustat", "sysfs", "_sysctl", "nfsservctl"),
        ),
        "modules, clocks, swap, quotas, ports and the kernel's log are not a step's; some are obsolete",
    ),
)


@dataclass(frozen=True)
class Architecture:
    """One instruction set: its audit number, its name in libseccomp, and the numbers of its calls.

    `most`: numbers above it are another ABI's of the same instruction set (x32).
    """

    audit: int
    name: str
    numbers: dict[str, int]
    most: int


_NUMBERS = """
add_key 248 217 | keyctl 250 219 | request_key 249 218 | io_uring_setup 425 425 | io_uring_enter 426 426
io_uring_register 427 427 | socket 41 198 | clone 56 220 | unshare 272 97 | clone3 435 435 | mount 165 40
umount2 166 39 | pivot_root 155 41 | setns 308 268 | fsopen 430 430 | fsconfig 431 431 | fsmount 432 432
fspick 433 433 | move_mount 429 429 | open_tree 428 428 | mount_setattr 442 442 | ioctl 16 29 | bpf 321 280
perf_event_open 298 241 | userfaultfd 323 282 | kcmp 312 272 | fanotify_init 300 262 | lookup_dcookie 212 18
kexec_load 246 104 | kexec_file_load 320 294 | init_module 175 105 | finit_module 313 273 | delete_module 176 106
reboot 169 142 | swapon 167 224 | swapoff 168 225 | acct 163 89 | quotactl 179 60 | quotactl_fd 443 443
settimeofday 164 170 | clock_settime 227 112 | syslog 103 116 | open_by_handle_at 304 265 | iopl 172 - | ioperm 173 -
vhangup 153 58 | uselib 134 - | ustat 136 - | sysfs 139 - | _sysctl 156 - | nfsservctl 180 42
"""
"""Call, its number on x86-64, its number on AArch64 ("-": not there)."""
_ROWS = [row.split() for row in _NUMBERS.replace("|", "\n").strip().splitlines()]
ARCHITECTURES = {
    "x86_64": Architecture(0xC000003E, "SCMP_ARCH_X86_64", {row[0]: int(row[1]) for row in _ROWS}, 0x3FFFFFFF),
    "aarch64": Architecture(
        0xC00000B7, "SCMP_ARCH_AARCH64", {row[0]: int(row[2]) for row in _ROWS if row[2] != "-"}, 0x7FFFFFFF
    ),
}
"""`platform.machine()` to what a filter there is made of."""

_LOAD, _EQUAL, _ABOVE, _ANY_BIT, _RETURN = 0x20, 0x15, 0x25, 0x45, 0x06
"""BPF_LD|W|ABS, BPF_JMP|JEQ|K, JGT, JSET, BPF_RET|K."""
_NUMBER, _AUDIT, _ARGUMENTS = 0, 4, 16
"""Offsets in `struct seccomp_data`; an argument has 8 bytes, the low half first on both architectures."""
_ALLOW, _ERROR = 0x7FFF0000, 0x00050000

FilterInstruction = tuple[int, int, int, int]
"""Code, how many instructions to skip when the test holds and when not, and the operand."""


def architecture() -> Architecture:
    """This machine's. Raises MachineLacks where there is no table for it."""
    try:
        return ARCHITECTURES[platform.machine()]
    except KeyError:
        raise MachineLacks(
            f"there is no table of system calls for {platform.machine()}, so no step can be confined here",
            next=f"use one of: {', '.join(ARCHITECTURES)}",
            topic="sandbox",
        ) from None


@cache
def program() -> bytes:
    """The filter as an array of `struct sock_filter`, as seccomp_export_bpf(3) would write it. Raises MachineLacks."""
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in assemble(architecture()))


def assemble(machine: Architecture) -> list[FilterInstruction]:
    """The filter's instructions. Calls of another instruction set or ABI (i386, x32) are refused with ENOSYS."""
    code: list[FilterInstruction] = [
        (_LOAD, 0, 0, _AUDIT),
        (_EQUAL, 1, 0, machine.audit),
        (_RETURN, 0, 0, _ERROR | errno.ENOSYS),
        (_LOAD, 0, 0, _NUMBER),
        (_ABOVE, 0, 1, machine.most),
        (_RETURN, 0, 0, _ERROR | errno.ENOSYS),
    ]
    for row in REFUSALS:
        for call in row.calls:
            if (number := machine.numbers.get(call)) is not None:
                body = _body(row)
                code += [(_EQUAL, 0, len(body), number), *body]
    return [*code, (_RETURN, 0, 0, _ALLOW)]


def _body(row: Refusal) -> list[FilterInstruction]:
    """What follows where the call's number is the row's; it ends by refusing or by allowing."""
    refuse: FilterInstruction = (_RETURN, 0, 0, _ERROR | row.error)
    allow: FilterInstruction = (_RETURN, 0, 0, _ALLOW)
    if row.argument is None:
        return [refuse]
    load: FilterInstruction = (_LOAD, 0, 0, _ARGUMENTS + 8 * row.argument.index)
    values = row.argument.values
    if row.argument.test == "any":
        return [load, (_ANY_BIT, 0, 1, values[0]), refuse, allow]
    tests: list[FilterInstruction] = [(_EQUAL, len(values) - i, 0, value) for i, value in enumerate(values)]
    hit, miss = (refuse, allow) if row.argument.test == "in" else (allow, refuse)
    return [load, *tests, miss, hit]


@contextlib.contextmanager
def filter_file() -> Iterator[int]:
    """A descriptor that the program can be read from once, for bubblewrap's `--seccomp`. Raises MachineLacks."""
    file = os.memfd_create("seccomp", os.MFD_CLOEXEC)
    try:
        os.write(file, program())
        os.lseek(file, 0, os.SEEK_SET)
        yield file
    finally:
        os.close(file)


@cache
def docker_profile() -> str:
    """The table as the JSON that the Docker engine takes as `seccomp=`. Raises MachineLacks.

    libseccomp ends a process that makes a call of another instruction set; it knows "any bit" only for one bit, and no
    "not in": each family that is refused has a row of its own.
    """
    rows = [
        {"names": list(row.calls), "action": "SCMP_ACT_ERRNO", "errnoRet": row.error, "args": arguments}
        for row in REFUSALS
        for arguments in _docker_arguments(row.argument)
    ]
    return json.dumps({"defaultAction": "SCMP_ACT_ALLOW", "architectures": [architecture().name], "syscalls": rows})


def _docker_arguments(argument: Argument | None) -> list[list[dict[str, object]]]:
    """The alternatives among a row's conditions, each a list of comparisons."""
    if argument is None:
        return [[]]

    def compare(operation: str, value: int, second: int = 0) -> list[dict[str, object]]:
        return [{"index": argument.index, "value": value, "valueTwo": second, "op": f"SCMP_CMP_{operation}"}]

    if argument.test == "any":
        bit = argument.values[0]
        return [compare("MASKED_EQ", bit, bit)]
    if argument.test == "in":
        return [compare("MASKED_EQ", 0xFFFFFFFF, value) for value in argument.values]
    last = max(argument.values)
    between = sorted(set(range(last)) - set(argument.values))
    return [*(compare("MASKED_EQ", 0xFFFFFFFF, value) for value in between), compare("GT", last)]


def table() -> str:
    """The refusals as a Markdown table, for docs/security.md."""
    rows = ["| what | system calls | error | why |", "|---|---|---|---|"]
    for row in REFUSALS:
        calls = ", ".join(f"`{call}`" for call in row.calls)
        rows.append(f"| {row.what} | {calls} | {errno.errorcode[row.error]} | {row.why} |")
    return "\n".join(rows) + "\n"
