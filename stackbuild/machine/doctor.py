"""The verb `doctor`: whether this machine can build, and run what it built, and what to do where it cannot."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from stackbuild.core.versions import numbers, series
from stackbuild.machine import gpu
from stackbuild.machine.env import all_warnings
from stackbuild.machine.host import machine_memory
from stackbuild.model.findings import Rung, Status
from stackbuild.runners import bwrap
from stackbuild.store.store import default_root
from stackbuild.tables.compatibility import table

DISK_BUILD = 60 << 30
"""Bytes of disk that a whole ROCm stack may take: base, sources, LLVM's build tree. A guess to warn by."""
DISK_LEAST = 5 << 30
"""Bytes of disk without which not even the kernels are begun: a base, their build and their wheel. A guess as well."""
MEMORY_STACK = 16 << 30
SAFE_ENGINE = (25, 0, 2)
"""Engines from here on came with runc 1.1.12 or newer (CVE-2024-21626); an older one may have been fixed by its distributor."""


@dataclass(frozen=True)
class Machine:
    """What the checks look at; a test gives another one."""

    topology: Path = gpu.KFD
    rocm: Path = Path("/opt/rocm")
    driver: Path = Path("/sys/module/amdgpu/version")
    kfd: str = "/dev/kfd"
    dri: str = "/dev/dri"
    store: Path | None = None


def examine(machine: Machine) -> tuple[Rung, ...]:
    """Every check with its outcome; a reason says what to do. A failed one is something that must be fixed; skipped is what
    only running on a GPU needs where there is none, and what cannot be vouched for."""
    checks: tuple[tuple[str, Callable[[Machine], tuple[Status, str]]], ...] = (
        ("sandbox", _sandbox),
        ("docker", _docker),
        ("tools", _tools),
        ("disk", _disk),
        ("memory", _memory),
        ("gpu", _gpus),
        ("device", _devices),
        ("rocm", _rocm),
        ("memlock", _memlock),
        ("environment", _environment),
    )
    return tuple(Rung(name, *check(machine), 0.0) for name, check in checks)


def _sandbox(_: Machine) -> tuple[Status, str]:
    path = shutil.which("bwrap")
    if path is None:
        return Status.FAILED, "bubblewrap is not installed: apt-get install bubblewrap"
    code, output = bwrap.Bwrap(path, root=("--ro-bind", "/", "/")).run("true")
    if code != 0:
        return Status.FAILED, f"bubblewrap cannot make a namespace ({output.strip()[:120]}): allow user namespaces"
    return Status.PASSED, "bubblewrap makes namespaces here"


def _docker(_: Machine) -> tuple[Status, str]:
    if not shutil.which("docker"):
        return Status.SKIPPED, "no docker client; the sandbox does without"
    words = ["docker", "version", "--format", "{{.Server.Version}}"]
    process = subprocess.run(words, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    version = process.stdout.strip()
    if process.returncode != 0 or not version:
        return Status.SKIPPED, "no engine answers; `ci/docker-engine` installs and starts Debian's"
    if numbers(version.partition("+")[0])[:3] < SAFE_ENGINE:
        return (
            Status.PASSED,
            f"engine {version}: older than {'.'.join(map(str, SAFE_ENGINE))}, check that runc is 1.1.12 or newer (CVE-2024-21626)",
        )
    return Status.PASSED, f"engine {version}"


def _tools(_: Machine) -> tuple[Status, str]:
    packages = {"mmdebstrap": "mmdebstrap", "git": "git", "tar": "tar", "unshare": "util-linux"}
    lacking = [package for tool, package in packages.items() if not shutil.which(tool)]
    if lacking:
        return Status.FAILED, f"apt-get install {' '.join(lacking)}"
    if not shutil.which("skopeo"):
        needs = "recipes with an `image:` base, such as rocm-7.2, need it or a Docker engine"
        return Status.SKIPPED, f"skopeo is missing; {needs}: apt-get install skopeo"
    return Status.PASSED, "all there"


def _disk(machine: Machine) -> tuple[Status, str]:
    place = machine.store or default_root()
    there = next(p for p in (place, *place.parents) if p.exists())
    free = shutil.disk_usage(there).free
    if free < DISK_LEAST:
        return (
            Status.FAILED,
            f"{free >> 30} GiB free at {there}: even the kernels may want {DISK_LEAST >> 30}; `stackbuild store gc`",
        )
    if free < DISK_BUILD:
        return (
            Status.SKIPPED,
            f"{free >> 30} GiB free at {there}: the kernels fit, a whole ROCm stack may want {DISK_BUILD >> 30}",
        )
    return Status.PASSED, f"{free >> 30} GiB free at {there}"


def _memory(_: Machine) -> tuple[Status, str]:
    have, cores = machine_memory(), len(os.sched_getaffinity(0))
    if have < MEMORY_STACK:
        return (
            Status.SKIPPED,
            f"{have >> 30} GiB for {cores} cores: a whole ROCm stack may want {MEMORY_STACK >> 30}; a component that declares more runs alone, with fewer jobs",
        )
    return Status.PASSED, f"{have >> 30} GiB for {cores} cores"


def _gpus(machine: Machine) -> tuple[Status, str]:
    devices = gpu.gpus(machine.topology)
    if not devices:
        return (
            Status.SKIPPED,
            "the kernel reports no AMD GPU: wheels are built and verified, and nothing runs on a GPU",
        )
    return Status.PASSED, ", ".join(f"{g.gfx} with {g.memory >> 30} GiB" for g in devices)


def _devices(machine: Machine) -> tuple[Status, str]:
    kfd = gpu.device(machine.kfd)
    if not kfd.there:
        return (
            Status.SKIPPED,
            f"{machine.kfd} is not there: no amdgpu driver, or a container without --device=/dev/kfd --device=/dev/dri",
        )
    renders = [gpu.device(str(p)) for p in sorted(Path(machine.dri).glob("renderD*"))]
    barred_devices = [d for d in (kfd, *renders) if not d.usable]
    if barred_devices:
        groups = sorted({d.group for d in barred_devices})
        return (
            Status.FAILED,
            f"no access to {', '.join(d.path for d in barred_devices)}: usermod -aG {','.join(groups)} $USER, and log in again",
        )
    return Status.PASSED, "device nodes are there and usable"


def _rocm(machine: Machine) -> tuple[Status, str]:
    version = gpu.rocm_version(machine.rocm)
    driver = gpu.driver_version(machine.driver)
    if not version:
        return Status.SKIPPED, "no ROCm in /opt/rocm: builds bring their own; running needs one"
    release = version.partition("-")[0]
    if table().line(release) is None:
        return Status.SKIPPED, f"ROCm {version} is not in the compatibility table: nothing is known of it"
    if not driver:
        return Status.SKIPPED, f"ROCm {version}; the amdgpu driver is not loaded: nothing runs on a GPU"
    return _pair(version, series(release), driver)


def _pair(version: str, line: str, driver: str) -> tuple[Status, str]:
    """Whether that driver is one for that ROCm, as far as the compatibility table says it."""
    row, both = table().driver_row(driver), f"ROCm {version}, amdgpu {driver}"
    if row is None:
        return Status.SKIPPED, f"{both}: which ROCm that driver is for is not known; they may be two releases apart"
    if line not in row.rocm:
        return (
            Status.FAILED,
            f"{both}: that driver is for ROCm {', '.join(row.rocm)} [{row.source}]; install the one for {line}",
        )
    return Status.PASSED, f"{both}, which belong together [{row.source}]"


def _memlock(machine: Machine) -> tuple[Status, str]:
    if not gpu.gpus(machine.topology):
        return Status.SKIPPED, "matters with a GPU only"
    soft, _ = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    if soft not in (-1, resource.RLIM_INFINITY) and soft < 64 << 20:
        return (
            Status.FAILED,
            f"RLIMIT_MEMLOCK is {soft >> 10} KiB: ROCm 7.1 crashes with it; ulimit -l unlimited, docker --ulimit memlock=-1",
        )
    return Status.PASSED, "enough memory may be locked"


def _environment(machine: Machine) -> tuple[Status, str]:
    warnings = [w for w in all_warnings(gpu.rocm_version(machine.rocm)) if w.name in os.environ]
    if warnings:
        return Status.FAILED, "; ".join(f"{w.name} is set: {w.why}" for w in warnings)
    return Status.PASSED, "nothing set that harms"
