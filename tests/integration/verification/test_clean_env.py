"""The environment of a wheelhouse: made once of exactly its wheels, without pip, and whole or not at all."""

from __future__ import annotations

import subprocess
import zipfile
from pathlib import Path

import pytest

from stackbuild.core.errors import MachineLacks
from stackbuild.store.store import Store
from stackbuild.verification.clean_env import wheelhouse_python


def write_wheel(folder: Path, name: str, tag: str = "py3-none-any") -> None:
    folder.mkdir(exist_ok=True)
    info = f"{name}-1.0.dist-info"
    with zipfile.ZipFile(folder / f"{name}-1.0-{tag}.whl", "w") as wheel:
        wheel.writestr(f"{name}.py", "value = 7\n")
        wheel.writestr(
            f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\nRequires-Dist: absent\n"
        )
        wheel.writestr(f"{info}/WHEEL", f"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: {tag}\n")
        wheel.writestr(f"{info}/RECORD", "")


def run(python: Path, code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([python, "-c", code], capture_output=True, text=True, check=False)


def test_it_has_the_wheelhouse_alone_and_is_made_once(tmp_path: Path) -> None:
    write_wheel(tmp_path / "house", "forged")
    store = Store(tmp_path / "store", "test")
    python = wheelhouse_python(tmp_path / "house", "a" * 64, store)
    assert run(python, "import forged; print(forged.value)").stdout == "7\n"
    assert "No module named 'pip'" in run(python, "import pip").stderr
    made = python.parent.stat().st_mtime_ns
    assert wheelhouse_python(tmp_path / "house", "a" * 64, store) == python
    assert python.parent.stat().st_mtime_ns == made


def test_a_wheel_of_another_python_is_named_and_nothing_half_made_is_used(tmp_path: Path) -> None:
    write_wheel(tmp_path / "house", "forged", "cp38-cp38-linux_x86_64")
    store = Store(tmp_path / "store", "test")
    for _ in range(2):
        with pytest.raises(MachineLacks, match="pip does not install the wheelhouse for Python"):
            wheelhouse_python(tmp_path / "house", "b" * 64, store)
