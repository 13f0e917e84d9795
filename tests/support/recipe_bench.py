"""A folder with the miniature upstreams as a mirror, and the bundled recipes to be built from it."""

from __future__ import annotations

import atexit
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from stackbuild.core.digest import of_file
from support.miniatures import PINNED, STACKS, UPSTREAMS, make_image, make_mirror
from support.paths import ROOT

PACKAGES = "ccache,clang,cmake,file,git,make,ninja-build,patch,perl,python3-dev,python3-pip"
HIP = "clang-tools-19,libclang-rt-19-dev,lld-19,llvm-19,rocm-device-libs-17"
"""What clang needs beside itself to compile and bundle device code; HIP's headers come from Debian sid (rocm-tree.sh)."""
RECIPES = ROOT / "recipes"
COMMITS = re.compile(r"^(    ref: )[0-9a-f]{8,40}\b", re.MULTILINE)
"""Commits of the real sources in a recipe, which a miniature cannot have."""
ARCHIVES = re.compile(r"^(    archive: https://(\S+)\n    sha256: )[0-9a-f]{64}$", re.MULTILINE)
"""Archives of a recipe, whose digest is that of the miniature."""


@dataclass(frozen=True)
class RecipeBench:
    """Where one test builds: its folder, its store, the mirror and the commits in it."""

    folder: Path
    store: Path
    mirror: Path
    commits: dict[str, str]

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "STACKBUILD_STORE": str(self.store), "STACKBUILD_MIRROR": str(self.mirror)}
        environment["STACKBUILD_MIRROR_FOR"] = (
            "sources"  # the base's packages and the wheels are Debian's and the index's
        )
        runner = ("--runner", "sandbox") if words[0] == "build" else ()
        command = [sys.executable, "-m", "stackbuild", *words, *runner]
        return subprocess.run(command, cwd=self.folder, env=environment, capture_output=True, text=True, timeout=1500)

    def remove(self) -> None:
        """Take it away: gigabytes, of which the next test's bench has its own."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def recipe(self, name: str) -> Path:
        """The bundled recipe without what a miniature cannot have: the real ones' commits, and patches of their files."""
        text = COMMITS.sub(rf"\g<1>{PINNED}", (RECIPES / f"{name}.yaml").read_text())
        text = re.sub(r"^    patches: .*\n", "", text, flags=re.MULTILINE)
        text = ARCHIVES.sub(lambda row: f"{row[1]}{of_file(self.mirror / row[2])}", text)
        path = self.folder / f"{name}.yaml"
        path.write_text(text)
        return path


def for_one_target(bench: RecipeBench, name: str, floor: str) -> Path:
    """The recipe for gfx90a alone, which takes a twelfth of the compiling, with a floor of its kernels to match."""
    path = bench.folder / f"{name}-one.yaml"
    text = re.sub(r"^gfx: .*$", "gfx: [gfx90a]", (bench.folder / f"{name}.yaml").read_text(), flags=re.MULTILINE)
    path.write_text(re.sub(r"kernels_floor: \d+", f"kernels_floor: {floor}", text))
    shutil.copy(bench.folder / f"{name}.lock.yaml", path.with_suffix(".lock.yaml"))
    return path


@cache
def root_file_system() -> Path:
    """A Debian root with a HIP compiler, made once; $STACKBUILD_MINIATURE_ROOT names one that is there, or is to be kept there."""
    if named := os.environ.get("STACKBUILD_MINIATURE_ROOT"):
        root = Path(named)
        if root.is_dir():
            return root
    else:
        root = Path(tempfile.mkdtemp(prefix="stackbuild-miniature-root-"))
        atexit.register(shutil.rmtree, root, ignore_errors=True)
    mode = "root" if os.geteuid() == 0 else "unshare"
    words = [
        "mmdebstrap",
        "--quiet",
        "--variant=minbase",
        f"--mode={mode}",
        f"--include={PACKAGES},{HIP}",
        f"--customize-hook={UPSTREAMS.parent / 'rocm-tree.sh'}",
        "trixie",
        str(root),
    ]
    subprocess.run(words, check=True, capture_output=True)
    return root


def prepared(folder: Path, name: str = "rocm-6.4") -> RecipeBench:
    """The bench of a recipe: its mirror with the image, and an empty store."""
    stack, mirror = STACKS[name], folder / "mirror"
    root = root_file_system()
    commits = make_mirror(mirror, stack, root)
    (root / "etc" / "taken-away").touch()
    make_image(root, mirror, stack.image, stack)
    return RecipeBench(folder, folder / "store", mirror, commits)


def code_objects(archive: Path, member: str) -> set[str]:
    """The targets that a library in a wheel names in its code objects and their bundles."""
    with zipfile.ZipFile(archive) as packed:
        return {name.decode() for name in re.findall(rb"amdgcn-amd-amdhsa--(gfx[0-9a-f]+)", packed.read(member))}
