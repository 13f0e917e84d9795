"""An index as versions of pip read it: the printed line, a yank, a requirement on Python, a variant, a quarantine."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from stackbuild.publishing.index import publish
from stackbuild.publishing.maintenance import set_status, yank
from stackbuild.publishing.publication import Publication
from support.wheels import small_wheel, wheel_variant

pytestmark = [pytest.mark.network, pytest.mark.slow, pytest.mark.timeout(1200)]
PIPS = ("22.3.1", "23.3.2", "24.3.1", "26.3")


@pytest.fixture(scope="module", params=PIPS)
def pip(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, ...]:
    """The command of that pip, run from its own wheel. Unpacked, it is compiled once."""
    folder = tmp_path_factory.mktemp("pip")
    words = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(folder), f"pip=={request.param}"]
    subprocess.run(words, check=True, capture_output=True, timeout=200)
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "unpacked")
    command = (sys.executable, "-W", "ignore", str(folder / "unpacked" / "pip"))
    assert subprocess.run([*command, "--version"], capture_output=True, text=True, check=True).stdout.startswith(f"pip {request.param} ")
    return command


def installed(pip: tuple[str, ...], target: Path, *words: str) -> str:
    """The version that pip installs, or what it says."""
    more = ["install", "--isolated", "--quiet", "--disable-pip-version-check", "--no-deps", "--target", str(target)]
    done = subprocess.run([*pip, *more, *words], capture_output=True, text=True, timeout=200)
    found = [path.name.removesuffix(".dist-info").partition("-")[2] for path in target.glob("demo_pkg-*.dist-info")]
    return found[0] if done.returncode == 0 else done.stderr


def test_each_pip_takes_what_the_index_means(pip: tuple[str, ...], tmp_path: Path) -> None:
    index = tmp_path / "simple"
    wheels = [small_wheel(tmp_path / "w", version) for version in ("1.0", "2.0+rocm7.2", "3.0")]
    later = small_wheel(tmp_path / "later", "4.0")
    with zipfile.ZipFile(later) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(later, "w") as archive:
        for name, data in files.items():
            archive.writestr(name, data.replace(b"Version: 4.0\n", b"Version: 4.0\nRequires-Python: >=3.99\n"))
    receipt = publish((*wheels, later, wheel_variant(wheels[-1], "gfx1100")), index, Publication(variants=True))
    line = receipt.wheels[1].requirement
    assert installed(pip, tmp_path / "line", line) == "2.0+rocm7.2"
    options = ("--index-url", index.as_uri())
    assert installed(pip, tmp_path / "newest", *options, "demo-pkg") == "3.0", "4.0 is for a later Python"
    yank(index, "demo-pkg", "3.0", "wrong results")
    assert installed(pip, tmp_path / "after", *options, "demo-pkg") == "2.0+rocm7.2"
    assert installed(pip, tmp_path / "asked", *options, "demo-pkg==3.0") == "3.0"
    changed = line.replace(receipt.wheels[1].sha256, "0" * 64)
    assert "0" * 64 in installed(pip, tmp_path / "changed", changed), "other bytes than the line names"
    set_status(index, "demo-pkg", "quarantined", "the key was stolen")
    assert "No matching distribution" in installed(pip, tmp_path / "none", *options, "demo-pkg")
