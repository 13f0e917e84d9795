"""The bundled kernels as stackbuild itself builds them in a sandbox: for AMD targets, and for the CPU."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stackbuild.store import locks
from support.paths import ROOT

KERNELS = ROOT / "kernels"
RECIPE = """\
schema: 1
name: kernels-ci
summary: the bundled kernels for four AMD targets and for the CPU
base: {debian: {suite: trixie, packages: [ccache, cmake, g++, hipcc, libamdhip64-dev, make]}}
gfx: [gfx90a, gfx942, gfx1030, gfx1100]
sources:
  kernels: {bundled: kernels, exclude: [tools, tools/*, budgets.toml, "*.md", gpu-check, ep/gpu-check]}
  headers: {debian: libonnxruntime-dev, suite: experimental}
components:
  amd: {kind: kernels, source: kernels, headers: headers, memory: 6G}
  # Debian's clang, not its g++ 14: what that compiles asks for a C++ library newer than the tests' Python may have.
  cpu: {kind: kernels, source: kernels, headers: headers, memory: 2G, options: {SBK_PLATFORM: cpu, CMAKE_CXX_COMPILER: clang++-17}}
  cpu-ep:
    {kind: kernels-ep, source: kernels, headers: headers, memory: 4G, options: {SBK_PLATFORM: cpu, CMAKE_CXX_COMPILER: clang++-17}}
"""
EVERY_TARGET = ("gfx90a", "gfx942", "gfx950", "gfx1030", "gfx1100", "gfx1151", "gfx1200", "gfx1201")
EVERY_TARGET_RECIPE = f"""\
schema: 1
name: kernels-every-target
summary: the bundled kernels for eight AMD targets, by Debian sid's clang
base:
  debian:
    suite: sid
    packages: [ccache, cmake, g++, hipcc, libamdhip64-dev, make]
    extract: [libhipblas-common-dev, libhipblas-dev, libhipblas2]
gfx: [{", ".join(EVERY_TARGET)}]
sources:
  kernels: {{bundled: kernels, exclude: [tools, tools/*, budgets.toml, "*.md", gpu-check, ep/gpu-check]}}
  headers: {{debian: libonnxruntime-dev, suite: experimental}}
components:
  amd: {{kind: kernels, source: kernels, headers: headers, memory: 6G}}
  amd-ep: {{kind: kernels-ep, source: kernels, headers: headers, memory: 6G}}
"""
FOLDERS_RECIPE = """\
schema: 1
name: kernels-folders
summary: the bundled kernels for one AMD target in three build folders, the third without compiler cache
base: # that of debian-sid
  debian:
    suite: sid
    packages: [ccache, cmake, g++, hipcc, libamdhip64-dev, make]
    extract: [libhipblas-common-dev, libhipblas-dev, libhipblas2]
gfx: [gfx1100]
sources:
  kernels: {bundled: kernels, exclude: [ep, ep/*, tools, tools/*, budgets.toml, "*.md", gpu-check]}
components:
  one: {kind: kernels, source: kernels, memory: 4G, options: {SBK_CUSTOM_OPS: false}}
  two: {kind: kernels, source: kernels, memory: 4G, options: {SBK_CUSTOM_OPS: false}, env: {PARTS: own}} # else those of `one`
  alone: {kind: kernels, source: kernels, memory: 4G, options: {SBK_CUSTOM_OPS: false}, env: {CCACHE_DISABLE: "1"}}
"""
CACHE = Path.home() / ".cache" / "stackbuild" / "test-kernels"
"""Outside every test's own home, as build_bench.CACHE is: on a developer's machine a second run builds what changed."""

EMULATED_OBJECTS = CACHE / "emulated-objects"
"""What g++ made of the HIP sources, for tests/emulation/build.py: a second run compiles what changed."""


@dataclass(frozen=True)
class KernelStack:
    """A recipe in a folder, and a store."""

    recipe: str
    folder: Path
    store: Path

    def run(self, *words: str) -> str:
        """`stackbuild WORDS` with the recipe; its stdout."""
        command = [sys.executable, "-m", "stackbuild", words[0], "--recipe", self.recipe, *words[1:]]
        environment = {**os.environ, "STACKBUILD_STORE": str(self.store)}
        running = subprocess.Popen(
            command, cwd=self.folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        try:
            out, err = running.communicate()
        except BaseException:
            stopped(running)
            raise
        assert running.returncode == 0, (
            f"{' '.join(command[2:])}: exit {running.returncode}\n{out[-2000:]}\n{err[-6000:]}"
        )
        return out

    def built(self, step: str) -> Path:
        """The output of a step, built unless the store has it."""
        tree = self.finished(step)["tree"]
        return self.store / "trees" / tree[:2] / tree

    def finished(self, step: str) -> dict[str, Any]:
        """The event of a step's end."""
        events = [json.loads(line) for line in self.run("build", "--until", step, "--json").splitlines()]
        (end,) = [event for event in events if event["event"] == "StepFinished" and event["step"] == step]
        return end


def stopped(running: subprocess.Popen[str], seconds: float = 30) -> None:
    """Asks a process to end, which lets `stackbuild` end what it runs in a sandbox; kills it where it does not."""
    running.terminate()
    try:
        running.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        running.kill()
        running.wait()


def small_stack() -> KernelStack:
    """The recipe for four targets, locked once a session: Debian's stable suite moves seldom, experimental when it likes."""
    return _locked_stack("kernels.yaml", RECIPE)


def every_target_stack() -> KernelStack:
    """The recipe for eight targets: an hour of one core where ccache is empty. Debian sid moves every day."""
    return _locked_stack("kernels-every-target.yaml", EVERY_TARGET_RECIPE)


def folders_stack() -> KernelStack:
    """The recipe for one target in three build folders, by Debian sid's clang."""
    return _locked_stack("kernels-folders.yaml", FOLDERS_RECIPE)


def debian_sid_stack() -> KernelStack:
    """The recipe debian-sid as it is shipped, whose step `kernels-ep` is the plugin provider for AMD GPUs."""
    return _locked_stack("debian-sid.yaml", (ROOT / "recipes" / "debian-sid.yaml").read_text())


def _locked_stack(name: str, recipe: str) -> KernelStack:
    CACHE.mkdir(parents=True, exist_ok=True)
    stack = KernelStack(name, CACHE, CACHE / "store")
    with locks.hold(CACHE / "lock", lambda pid: None, lambda: None):
        (CACHE / name).write_text(recipe)
        stack.run("lock")
    return stack


def run(*command: str | Path) -> str:
    """What a command says on stdout and stderr; fails the test unless it ends well."""
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}\n{done.stdout[-4000:]}\n{done.stderr[-2000:]}"
    return done.stdout + done.stderr


REGISTER = """
import sys, onnxruntime as ort
ort.register_execution_provider_library("rk", sys.argv[1])
print([(d.ep_name, str(d.device.type)) for d in ort.get_ep_devices()])
ort.unregister_execution_provider_library("rk")
"""


def devices_with(library: Path) -> str:
    """What the stock onnxruntime says, and the devices it has, once the library is registered."""
    return run(sys.executable, "-c", REGISTER, library)
