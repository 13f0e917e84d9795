"""The printed line of every bundled recipe, run by pip and by uv in an empty virtual environment, without a network.

The wheels are written by the step that writes them in a build, from stand-ins of what the components install: names,
versions, tags, requirements and SBOMs are those of the plan; the libraries have no code. The default index is one of
stand-ins, too. It has each dependency, and a higher version of each wheel's own name.
"""

from __future__ import annotations

import os
import platform
import re
import shlex
import subprocess
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from stackbuild.actions import wheel as wheel_action
from stackbuild.actions.job import Job
from stackbuild.core.cancel import Stopper
from stackbuild.core.packaging import Requirement, distribution_of, tags_of
from stackbuild.model.choice import Choice
from stackbuild.model.plan import Step
from stackbuild.plan.current import current_plan
from stackbuild.publishing.index import publish
from stackbuild.publishing.placement import read_wheel
from stackbuild.recipe.load import bundled_recipes
from stackbuild.recipe.prepare import prepare
from support.binaries import library
from support.wheels import small_wheel

UV = Path(sys.executable).with_name("uv")
OURS = "made = 'here'\n"
WITHOUT_WHEELS = {"lc0"}
"""Recipes that build a program."""


def planned_wheels(recipe: str) -> tuple[Step, ...]:
    with current_plan(prepare(recipe, Choice())) as (plan, _):
        return tuple(step for step in plan.steps if step.action == "wheel")


def standin_wheel(step: Step, folder: Path) -> Path:
    """The wheel of that step, from a component that installed an `__init__.py` and a library with the sonames it may need."""
    root, out = folder / "installed" / step.name, folder / "wheels" / step.name
    out.mkdir(parents=True)
    params = dict(step.params)
    packages, licences = (re.findall(r'"([^"]+)"', params[name]) for name in ("packages", "license_files"))
    external = re.findall(r'"([^"]+)"', params["external"])
    sonames = [re.sub(r"\[(.)[^]]*\]", r"\1", pattern).replace("*", "1") for pattern in external]
    for package in packages:
        (root / package).mkdir(parents=True)
        (root / package / "__init__.py").write_text(OURS)
        (root / package / "libstandin.so").write_bytes(library(needed=["libc.so.6", *sonames]))
    for path in licences:
        (root / path).write_text("MIT\n")
    wheel_action.do(Job(step, out, folder, folder / "log", Stopper(), {step.needs[0].step: root}, {}))
    (made,) = out.glob("*.whl")
    return made


def default_index(wheels: Sequence[Path], folder: Path) -> Path:
    """An index of stand-ins: what the wheels require, and a higher version of each of them."""
    required = {Requirement(text).name for wheel in wheels for text in read_wheel(wheel).fields.requires}
    names = required | {distribution_of(wheel.name)[0] for wheel in wheels}
    publish(tuple(small_wheel(folder / "theirs", "99.0", name=name, content="made = 'by others'\n") for name in sorted(names)), folder / "default")
    return folder / "default"


def is_there(python: str) -> bool:
    """Whether that Python, such as "3.12", is on this machine."""
    words = [str(UV), "python", "find", "--quiet", "--offline", "--no-config", "--no-python-downloads", python]
    return subprocess.run(words, capture_output=True, check=False).returncode == 0


def empty_venv(python: str, folder: Path) -> Path:
    """The interpreter of a new virtual environment of that Python, "" for this one."""
    subprocess.run([str(UV), "venv", "--quiet", "--offline", "--no-config", "--python", python or sys.executable, str(folder)], check=True)
    return folder / "bin" / "python"


def install(tool: str, line: str, index: Path, python: str, folder: Path) -> Path:
    """Run the line's requirements; the folder that the wheels were installed into.

    A Python that is not on this machine is only named to the installer, which then installs into a folder.
    """
    _, _, *requirements = shlex.split(line)
    interpreter = empty_venv(python, folder) if not python or is_there(python) else None
    target = ["--target", str(folder), "--python-version", python, "--only-binary=:all:"]
    place = ["--python", str(interpreter)] if interpreter else target
    words = {
        "pip": [sys.executable, "-m", "pip", *(place if interpreter else []), "install", "--isolated", "--quiet", "--no-cache-dir"],
        "uv": [str(UV), "pip", "install", "--quiet", "--no-config", *(place if interpreter else [])],
    }[tool]
    words += [] if interpreter else place
    environment = {**os.environ, "UV_CACHE_DIR": str(folder.parent / "cache"), "UV_OFFLINE": "1", "UV_PYTHON_DOWNLOADS": "never"}
    done = subprocess.run([*words, "--index-url", index.as_uri(), *requirements], capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    return next(folder.glob("lib/python*/site-packages")) if interpreter else folder


def assert_installed(wheels: Sequence[Path], site: Path) -> None:
    """Each wheel's own files, and everything that it requires."""
    for wheel in wheels:
        with zipfile.ZipFile(wheel) as archive:
            for name in archive.namelist():
                assert name.endswith("/RECORD") or (site / name).read_bytes() == archive.read(name), name
        for text in read_wheel(wheel).fields.requires:
            assert list(site.glob(f"{Requirement(text).name.replace('-', '_')}-99.0.dist-info")), text


def python_of(wheels: Sequence[Path]) -> str:
    """The Python that the wheels are for, "3.12"; "" for any."""
    found = {m[1] for wheel in wheels for tag in tags_of(wheel.name) if (m := re.fullmatch(r"cp3(\d+)", tag.interpreter))}
    assert len(found) < 2
    return f"3.{found.pop()}" if found else ""


def test_every_recipe_with_wheels_is_asked() -> None:
    assert {name for name in bundled_recipes() if not planned_wheels(name)} == WITHOUT_WHEELS


@pytest.mark.parametrize("recipe", sorted(bundled_recipes().keys() - WITHOUT_WHEELS))
def test_the_printed_line_of_a_recipe_installs_its_wheels_by_pip_and_by_uv(recipe: str, tmp_path: Path) -> None:
    wheels = tuple(standin_wheel(step, tmp_path) for step in planned_wheels(recipe))
    line = publish(wheels, tmp_path / "simple").install_line
    index = default_index(wheels, tmp_path)
    for tool in ("pip", "uv"):
        assert_installed(wheels, install(tool, line, index, python_of(wheels), tmp_path / tool))


def test_what_is_required_of_the_same_index_comes_from_there(tmp_path: Path) -> None:
    """It was published before, and the default index has a higher version of the same name, which satisfies the requirement."""
    lib = small_wheel(tmp_path / "w", name="lib", content=OURS)
    old = small_wheel(tmp_path / "w", "0.9", name="lib", content="made = 'too old'\n")
    app = small_wheel(tmp_path / "w", name="app", content=OURS, requires=("lib >= 1.0 ; python_version >= '3'", "other"))
    for wheel in (old, lib):
        publish((wheel,), tmp_path / "simple")
    line = publish((app,), tmp_path / "simple").install_line
    index = default_index((app, lib), tmp_path)
    for tool in ("pip", "uv"):
        site = install(tool, line, index, "", tmp_path / tool)
        assert (site / "lib" / "__init__.py").read_text() == OURS and (site / "other-99.0.dist-info").is_dir()


def test_the_line_of_wheels_for_several_pythons_installs_the_one_for_each(tmp_path: Path) -> None:
    """A recipe whose wheel is for CPython's ABI makes one for each Python: one line serves them all."""
    made = small_wheel(tmp_path / "any")
    wheels = []
    for python in ("cp311", "cp312", "cp313"):
        tag = f"{python}-{python}-linux_{platform.machine()}"
        wheels.append(tmp_path / made.name.replace("py3-none-any", tag))
        with zipfile.ZipFile(made) as old, zipfile.ZipFile(wheels[-1], "w") as new:
            for name in old.namelist():
                new.writestr(name, python if name.endswith(".py") else old.read(name).replace(b"py3-none-any", tag.encode()))
    line = publish(tuple(wheels), tmp_path / "simple").install_line
    ran = 0
    for python in ("3.11", "3.12", "3.13"):
        for tool in ("pip", "uv"):
            folder = tmp_path / f"{tool}-{python}"
            if is_there(python):
                site = install(tool, line, tmp_path / "simple", python, folder)
                assert (site / "demo_pkg" / "__init__.py").read_text() == python.replace("3.", "cp3")
                ran += 1
    assert ran >= 2, "the Python that runs this test is one of them, or none was tried"
