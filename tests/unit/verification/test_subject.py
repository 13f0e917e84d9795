"""What a wheel is, and where it can be installed."""

from __future__ import annotations

from pathlib import Path

import pytest

from stackbuild.core.packaging import Claim
from stackbuild.inspection import inspect
from stackbuild.verification.subject import Form, installed_path, subject_of
from support.binaries import GOOD, library


def forged(folder: Path, name: str, **lib: object) -> Path:
    (folder / name).mkdir()
    return GOOD.but(name=name, lib=lib).write(folder / name)


@pytest.mark.parametrize(
    ("exports", "form"),
    [
        (["CreateEpFactories", "ReleaseEpFactory"], Form.PLUGIN), (["RegisterCustomOps"], Form.CUSTOM_OPS),
        (["OrtGetApiBase"], Form.RUNTIME), (["f"], Form.OTHER),
    ],
)  # fmt: skip
def test_what_a_wheel_is(exports: list[str], form: Form, tmp_path: Path):
    made = subject_of((inspect(forged(tmp_path, "x", exports=exports)),))
    assert made.form is form and made.modules == ("onnxruntime_ep_forge",) and made.external == ("libamdhip64.so.6",)
    assert made.package == ("onnxruntime_ep_forge" if form in (Form.PLUGIN, Form.CUSTOM_OPS) else "")


def test_migraphx_beside_onnxruntime_is_loaded_before_a_session(tmp_path: Path):
    runtime = inspect(forged(tmp_path, "onnxruntime_x", exports=["OrtGetApiBase"]))
    (tmp_path / "m").mkdir()
    files = {"migraphx_rocm/__init__.py": b""}
    packed = GOOD.but(name="migraphx_rocm", files=files, lib={"exports": ["f"]}).write(tmp_path / "m")
    assert subject_of((runtime, inspect(packed))).preloads == ("migraphx_rocm",)
    assert subject_of((runtime,)).preloads == subject_of((inspect(packed),)).preloads == ()


@pytest.mark.parametrize(
    ("tags", "requires", "python", "why"),
    [
        (["cp312-cp312-linux_x86_64"], "", "3.12", ""), (["cp312-cp312-linux_x86_64"], "", "3.13", "it is for cp312-cp312; here has Python 3.13"),
        (["cp39-abi3-linux_x86_64"], "", "3.13", ""), (["cp312-abi3-linux_x86_64"], "", "3.11", "it is for cp312-abi3; here has Python 3.11"),
        (["cp310-none-any", "cp311-none-any"], "", "3.11", ""), (["py3-none-any"], ">=3.12", "3.11", "it is for Python >=3.12; here has Python 3.11"),
        (["py3-none-any"], ">=3.11.4,<3.12", "3.11", ""), (["cp311-cp311t-linux_x86_64"], "", "3.11", "it is for cp311-cp311t; here has Python 3.11"),
        (["pp311-pypy311_pp73-linux_x86_64"], "", "3.11", "it is for pp311-pypy311_pp73; here has Python 3.11"),
        (["py3-none-linux_aarch64"], "", "3.11", "it is for linux_aarch64; here is x86_64 with glibc 2.36"),
        (["py3-none-manylinux_2_39_x86_64"], "", "3.11", "it is for manylinux_2_39_x86_64; here is x86_64 with glibc 2.36"),
        (["py3-none-manylinux2014_x86_64", "py3-none-manylinux_2_39_x86_64"], "", "3.11", ""),
    ],
)  # fmt: skip
def test_what_a_machine_takes_is_what_pip_takes(tags: list[str], requires: str, python: str, why: str):
    assert Claim(tuple(tags), requires).refuses(python, (2, 36), "x86_64", "here") == why


def test_pythons_to_look_for():
    assert Claim(("cp310-cp310-any", "cp312-cp312-any")).pythons == ("3.10", "3.12")
    assert Claim(("cp310-abi3-any",)).pythons[:3] == ("3.10", "3.11", "3.12")
    assert Claim(("py3-none-any",)).pythons == ()


def test_folders_of_grafted_libraries_are_no_packages_and_data_folders_are_emptied(tmp_path: Path):
    files = {"more.libs/libx.so": library(), "onnxruntime_ep_forge-1.2.3+rocm.6.4.data/platlib/extra/__init__.py": b""}
    made = subject_of((inspect(GOOD.but(files=files).write(tmp_path)),))
    assert made.modules == ("extra", "onnxruntime_ep_forge")
    assert (
        installed_path("x-1.0.data/purelib/a/b.py") == "a/b.py"
        and installed_path("x-1.0.data/scripts/a") == "x-1.0.data/scripts/a"
    )
