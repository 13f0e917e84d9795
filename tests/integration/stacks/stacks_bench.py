"""A folder with the miniature upstreams as a mirror, and the bundled recipes to be built from it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "miniatures"))
from miniatures import make_image, make_mirror

PACKAGES = (
    "ccache,clang,cmake,file,git,make,ninja-build,patch,perl,python3-dev,python3-pip"
)
RECIPES = Path(__file__).parents[3] / "recipes"
PINNED = "88b9b7c78a1cde67c4ad5050eeeeeb47db2e4b4e"


@dataclass(frozen=True)
class Yard:
    """Where one test builds: its folder, its store, the mirror and the commits in it."""

    folder: Path
    store: Path
    mirror: Path
    commits: dict[str, str]

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "STACKBUILD_STORE": str(self.store), "STACKBUILD_MIRROR": str(self.mirror)}
        command = [sys.executable, "-m", "stackbuild", *words]
        return subprocess.run(command, cwd=self.folder, env=environment, capture_output=True, text=True, timeout=1500)

    def recipe(self, name: str) -> Path:
        """The bundled recipe, with the one thing changed that a miniature cannot have: the real rocMLIR's commit."""
        text = (RECIPES / f"{name}.yaml").read_text().replace(f"ref: {PINNED}", "ref: rocm-6.4.4")
        path = self.folder / f"{name}.yaml"
        path.write_text(text)
        return path


def root_file_system(folder: Path) -> Path:
    """A Debian root with a compiler; $STACKBUILD_MINIATURE_ROOT names one that is there already."""
    if named := os.environ.get("STACKBUILD_MINIATURE_ROOT"):
        return Path(named)
    root = folder / "root"
    mode = "root" if os.geteuid() == 0 else "unshare"
    words = [
        "mmdebstrap",
        "--quiet",
        "--variant=minbase",
        f"--mode={mode}",
        f"--include={PACKAGES}",
        "trixie",
        str(root),
    ]
    subprocess.run(words, check=True, capture_output=True)
    return root


def prepared(folder: Path) -> tuple[Path, dict[str, str]]:
    mirror = folder / "mirror"
    commits = make_mirror(mirror)
    root = root_file_system(folder)
    (root / "etc" / "taken-away").touch()
    make_image(root, mirror, "rocm/dev-ubuntu-24.04:6.4.4-complete")
    if "STACKBUILD_MINIATURE_ROOT" not in os.environ:
        shutil.rmtree(root)
    return mirror, commits
