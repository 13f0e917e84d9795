"""The environment markers of an install line: each Python and processor takes one file of a project, and the right one."""

from __future__ import annotations

from pathlib import Path

import pytest
from packaging.markers import Marker

from stackbuild.core.packaging import Claim, tags_of
from stackbuild.publishing.index import publish
from stackbuild.publishing.install_line import markers_of
from support.wheels import small_wheel

PYTHONS = tuple(f"3.{minor}" for minor in range(9, 16))
SETS = {
    "one": ("cp312-cp312-linux_x86_64",),
    "any": ("py3-none-any",),
    "three": ("cp310-cp310-linux_x86_64", "cp312-cp312-linux_x86_64", "cp313-cp313-linux_x86_64"),
    "processors": (
        "cp312-cp312-manylinux_2_28_x86_64",
        "cp312-cp312-manylinux_2_17_aarch64.manylinux2014_aarch64",
        "cp313-cp313-manylinux_2_28_aarch64",
    ),
    "any-beside": ("py3-none-any", "cp312-cp312-linux_x86_64"),
    "stable": ("cp310-abi3-linux_x86_64", "cp314-abi3-linux_x86_64", "py3-none-any", "cp311-cp311-linux_x86_64"),
    "several-in-one": ("cp311.cp312-none-any", "py3-none-any"),
    "free-threads": ("cp313-cp313-linux_x86_64", "cp313-cp313t-linux_x86_64"),
    "two-policies": ("py3-none-manylinux_2_17_x86_64", "py3-none-manylinux_2_28_x86_64"),
}


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
@pytest.mark.parametrize("tags", SETS.values(), ids=SETS)
def test_each_environment_takes_one_file_and_one_that_fits_if_there_is_one(tags: tuple[str, ...], machine: str) -> None:
    markers = markers_of([f"demo-1.0-{tag}.whl" for tag in tags])
    for python in PYTHONS:
        environment = {"python_version": python, "platform_machine": machine}
        chosen = [file for file, marker in markers.items() if not marker or Marker(marker).evaluate(environment)]
        fitting = [tag for tag in tags if fits(tag, python, machine)]
        assert len(chosen) == 1, (python, chosen)
        tag = chosen[0].removeprefix("demo-1.0-").removesuffix(".whl")
        assert not fitting or tag in fitting, (python, tag, fitting)


def fits(tag: str, python: str, machine: str) -> bool:
    platforms = {one.platform for one in tags_of(f"demo-1.0-{tag}.whl")}
    return Claim((tag,)).fits(python) and all(one == "any" or one.endswith(machine) for one in platforms)


def test_of_several_versions_the_highest_is_installed(tmp_path: Path) -> None:
    wheels = tuple(small_wheel(tmp_path / "w", version) for version in ("9.0", "10.0", "10.0rc1"))
    line = publish(wheels, tmp_path / "simple").install_line
    assert line.count("demo-pkg @") == 1 and "demo_pkg-10.0-py3" in line and ";" not in line
