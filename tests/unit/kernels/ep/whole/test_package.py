"""The Python package onnxruntime_ep_rockernels, and what its sources promise about what they link."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

EP = Path(__file__).parents[5] / "kernels" / "ep"


@pytest.fixture
def package(tmp_path: Path) -> ModuleType:
    """A copy of the package as an installation without the library has it."""
    source = EP / "onnxruntime_ep_rockernels" / "__init__.py"
    copy = tmp_path / "onnxruntime_ep_rockernels" / "__init__.py"
    copy.parent.mkdir()
    copy.write_text(source.read_text())
    spec = importlib.util.spec_from_file_location("onnxruntime_ep_rockernels", copy)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_an_installation_without_the_library_says_what_to_do(package: ModuleType) -> None:
    with pytest.raises(FileNotFoundError, match=r"was not built; see docs/kernels-ep\.md"):
        package.get_library_path()


def test_an_import_from_an_archive_says_so(package: ModuleType) -> None:
    package.__file__ = str(
        Path(str(package.__file__)).parents[1] / "wheel.whl" / "onnxruntime_ep_rockernels" / "__init__.py"
    )
    with pytest.raises(FileNotFoundError, match="inside an archive"):
        package.get_library_path()


def test_the_library_is_the_file_beside_the_package(package: ModuleType) -> None:
    library = Path(str(package.__file__)).parent / "libonnxruntime_ep_rockernels.so"
    library.write_bytes(b"")
    assert package.get_library_path() == str(library)


def test_the_names_are_the_one_the_library_gives(package: ModuleType) -> None:
    names = re.findall(r'kName = "(\w+)"', (EP / "core" / "ort" / "version_gate.hpp").read_text())
    assert package.get_ep_name() in names
    assert package.get_ep_names() == [package.get_ep_name()]


def test_the_cpu_test_platform_has_a_name_of_its_own(package: ModuleType) -> None:
    names = set(re.findall(r'kName = "(\w+)"', (EP / "core" / "ort" / "version_gate.hpp").read_text()))
    assert len(names - {package.get_ep_name()}) == 1


def test_every_source_is_built() -> None:
    listed = (EP / "CMakeLists.txt").read_text()
    sources = [p.relative_to(EP).as_posix() for p in EP.rglob("*") if p.suffix in (".cpp", ".hip")]
    assert len(sources) > 20
    assert [s for s in sources if s not in listed] == []


def test_no_wave_width_is_written_as_a_number() -> None:
    for path in EP.rglob("*.h*"):
        assert not re.search(r"\b(warpSize|WARP_SIZE|wave_?size)\s*=\s*\d", path.read_text(), re.IGNORECASE), path
