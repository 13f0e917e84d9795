"""`doctor --venv`: its next step is followed in real environments, offline, and leaves the one build whole."""

from __future__ import annotations

import base64
import hashlib
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from stackbuild.checks.loader_paths import LoaderPaths
from stackbuild.checks.venv import VenvReport, examine_venv
from support.binaries import library

MODULE = f"onnxruntime_pybind11_state.cpython-3{sys.version_info.minor}-x86_64-linux-gnu.so"
BUILDS = {
    "onnxruntime": ("1.29.0", MODULE, ()),
    "onnxruntime-gpu": ("1.31.1", MODULE, ("cuda", "shared")),
    "onnxruntime-migraphx": ("1.27.1", "onnxruntime_pybind11_state.so", ("migraphx", "shared")),
    "onnxruntime-rocm": ("1.22.2.post3", "onnxruntime_pybind11_state.so", ("rocm", "shared")),
}
"""Version, module and providers of the wheels that these imitate."""


def wheel(folder: Path, name: str) -> None:
    """A small wheel of that build. AMD's have sizes in RECORD and no hashes."""
    version, module, providers = BUILDS[name]
    said = version.removesuffix(".post3")
    files = {
        "__init__.py": f'__version__ = "{said}"\n'.encode(),
        "capi/build_and_package_info.py": f"package_name = '{name}'\n__version__ = '{said}'\n".encode(),
        f"capi/{module}": library(needed=["libc.so.6"], rodata=name.encode()),
        **{f"capi/libonnxruntime_providers_{p}.so": library(rodata=f"{name} {p}".encode()) for p in providers},
    }
    info = f"{name.replace('-', '_')}-{version}.dist-info"
    texts = {
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n".encode(),
        f"{info}/WHEEL": b"Wheel-Version: 1.0\nRoot-Is-Purelib: false\nTag: py3-none-any\n",
    }
    contents = {**{f"onnxruntime/{path}": data for path, data in files.items()}, **texts}
    hashes = {
        path: base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")
        for path, data in contents.items()
    }
    with zipfile.ZipFile(folder / f"{name.replace('-', '_')}-{version}-py3-none-any.whl", "w") as file:
        for path, data in contents.items():
            file.writestr(path, data)
        rows = [
            f"{path},{'' if name.endswith(('migraphx', 'rocm')) else 'sha256=' + hashes[path]},{len(contents[path])}"
            for path in contents
        ]
        file.writestr(f"{info}/RECORD", "\n".join([*rows, f"{info}/RECORD,,"]) + "\n")


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheelhouse of every build, and an environment with pip to copy."""
    folder = tmp_path_factory.mktemp("base")
    (folder / "wheels").mkdir()
    for name in BUILDS:
        wheel(folder / "wheels", name)
    subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True, timeout=200)
    return folder


class Environment:
    """A real environment, with an index that is a folder."""

    def __init__(self, base: Path, folder: Path, pip: bool = True) -> None:
        self.folder, self.base = folder / "venv", base
        wheels = str(base / "wheels")
        self.variables = {
            **os.environ, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": wheels, "UV_NO_INDEX": "1", "UV_FIND_LINKS": wheels, "UV_OFFLINE": "1",
            "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_ROOT_USER_ACTION": "ignore", "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        }  # fmt: skip
        if pip:
            shutil.copytree(base / "venv", self.folder, symlinks=True)
        else:
            subprocess.run([sys.executable, "-m", "venv", "--without-pip", self.folder], check=True, timeout=60)
        (self.site,) = self.folder.glob("lib/python3*/site-packages")

    def install(self, *names: str) -> None:
        """As pip does: the later one writes over the earlier one."""
        for name in names:
            with zipfile.ZipFile(next((self.base / "wheels").glob(f"{name.replace('-', '_')}-*.whl"))) as file:
                file.extractall(self.site)

    def metadata(self, name: str) -> Path:
        (place,) = self.site.glob(f"{name.replace('-', '_')}-*.dist-info")
        return place

    def report(self, makers: tuple[str, ...] = ()) -> VenvReport:
        system = self.base / "system"
        system.mkdir(exist_ok=True)
        (system / "libc.so.6").touch()
        return examine_venv(self.folder, LoaderPaths((), (system,), "2.41"), makers)

    def follow(self, command: str) -> None:
        done = subprocess.run(["bash", "-ec", command], env=self.variables, capture_output=True, text=True, timeout=200)
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"


def both(environment: Environment) -> None:
    environment.install("onnxruntime-gpu", "onnxruntime-migraphx")


def both_the_other_way(environment: Environment) -> None:
    environment.install("onnxruntime-migraphx", "onnxruntime-gpu")


def without_metadata(environment: Environment) -> None:
    environment.install("onnxruntime-rocm")
    shutil.rmtree(environment.metadata("onnxruntime-rocm"))


def without_record(environment: Environment) -> None:
    environment.install("onnxruntime-migraphx")
    (environment.metadata("onnxruntime-migraphx") / "RECORD").unlink()


def binary_record_and_empty_metadata(environment: Environment) -> None:
    environment.install("onnxruntime-migraphx", "onnxruntime")
    (environment.metadata("onnxruntime-migraphx") / "RECORD").write_bytes(b"\xff\x00\xfe")
    (environment.metadata("onnxruntime") / "METADATA").write_bytes(b"")


def uninstalled_after(environment: Environment) -> None:
    environment.install("onnxruntime-migraphx", "onnxruntime")
    place = environment.metadata("onnxruntime")
    for row in (place / "RECORD").read_text().splitlines():
        (environment.site / row.split(",")[0]).unlink(missing_ok=True)
    place.rmdir()


def twice(environment: Environment) -> None:
    environment.install("onnxruntime-migraphx")
    place = environment.metadata("onnxruntime-migraphx")
    shutil.copytree(place, place.with_name("onnxruntime_migraphx-1.23.2.dist-info"))


SEEDS: list[tuple[Callable[[Environment], None], tuple[str, ...], str]] = [
    (both, (), "onnxruntime-migraphx"),
    (both_the_other_way, ("AMD",), "onnxruntime-migraphx"),
    (both, ("NVIDIA",), "onnxruntime-gpu"),
    (without_metadata, (), "onnxruntime-rocm"),
    (without_record, (), "onnxruntime-migraphx"),
    (binary_record_and_empty_metadata, ("AMD",), "onnxruntime-migraphx"),
    (uninstalled_after, (), "onnxruntime-migraphx"),
    (twice, (), "onnxruntime-migraphx"),
]


def is_sound(environment: Environment, makers: tuple[str, ...], name: str) -> None:
    report = environment.report(makers)
    assert report.findings == ()
    assert [(o.distribution, o.version, o.missing) for o in report.owners] == [(name, BUILDS[name][0], 0)]
    assert {p.provider for p in report.providers} == {*BUILDS[name][2]} - {"shared"}
    for provider in BUILDS[name][2]:
        data = (environment.site / f"onnxruntime/capi/libonnxruntime_providers_{provider}.so").read_bytes()
        assert f"{name} {provider}".encode() in data


@pytest.mark.parametrize(
    ("seed", "makers", "kept"), SEEDS, ids=[f"{s.__name__}-{'-'.join(m) or 'none'}" for s, m, _ in SEEDS]
)
def test_the_first_next_step_is_right_as_a_whole(
    seed: Callable[[Environment], None], makers: tuple[str, ...], kept: str, base: Path, tmp_path: Path
) -> None:
    environment = Environment(base, tmp_path)
    seed(environment)
    findings = environment.report(makers).findings
    assert findings and len({f.fix for f in findings}) == 1, findings
    environment.follow(findings[0].fix)
    is_sound(environment, makers, kept)


@pytest.mark.parametrize("maker", ["ensurepip", "uv"])
def test_an_environment_without_pip_can_follow_it(maker: str, base: Path, tmp_path: Path) -> None:
    environment = Environment(base, tmp_path, pip=False)
    if maker == "uv":
        with (environment.folder / "pyvenv.cfg").open("a") as file:
            file.write("uv = 0.13.9\n")
    both(environment)
    command = environment.report().findings[0].fix
    assert maker in command
    if maker == "uv" and not shutil.which("uv", path=environment.variables["PATH"]):
        pytest.skip("uv is not installed")
    environment.follow(command)
    is_sound(environment, (), "onnxruntime-migraphx")
