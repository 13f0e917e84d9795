"""The bundled recipes of ROCm 7.2 and 10.1, end to end, from miniature upstreams: locked by one command, built, packed.

What a miniature keeps of the real thing: tests/miniatures/README.md.
"""

from __future__ import annotations

import subprocess
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.recipe_bench import RecipeBench, code_objects, for_one_target, prepared

pytestmark = [pytest.mark.sandbox, pytest.mark.network, pytest.mark.slow, pytest.mark.timeout(3000)]


def locked(folder: Path, name: str) -> RecipeBench:
    """The bench of a recipe, its open lock completed from the mirror by one command."""
    bench = prepared(folder, name)
    recipe = str(bench.recipe(name))
    assert "there is no fresh lock" in bench.run("recipe", "check", "--recipe", recipe).stdout
    done = bench.run("lock", "--recipe", recipe)
    assert done.returncode == 0, done.stderr
    after = bench.run("recipe", "check", "--recipe", recipe).stdout
    assert "is not known" not in after and "fresh lock" not in after
    return bench


@pytest.fixture(scope="module")
def seven(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RecipeBench]:
    made = locked(tmp_path_factory.mktemp("seven"), "rocm-7.2")
    yield made
    made.remove()


@pytest.fixture(scope="module")
def ten(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RecipeBench]:
    made = locked(tmp_path_factory.mktemp("ten"), "rocm-10.1")
    yield made
    made.remove()


def wheel(bench: RecipeBench, name: str, step: str, stem: str, *more: str) -> Path:
    """Build up to a wheel, which passes the rules that need no GPU and no Python of the recipe's."""
    return wheel_by(bench, bench.folder / f"{name}.yaml", step, stem, *more)


def wheel_by(bench: RecipeBench, recipe: Path, step: str, stem: str, *more: str) -> Path:
    """The same by a recipe that a test has written."""
    done = bench.run("build", "--recipe", str(recipe), "--until", step, *more)
    assert done.returncode == 0, done.stderr
    (found,) = (bench.store / "trees").glob(f"*/*/{stem}-*.whl")
    return found


def needed(archive: Path, member: str, folder: Path) -> str:
    """What readelf says of a library in a wheel."""
    with zipfile.ZipFile(archive) as packed:
        library = packed.extract(member, folder)
    words = ["readelf", "--dynamic", "--wide", library]
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


def test_rocm_7_2_builds_its_own_abseil_and_protobuf_and_packs_the_migraphx_ep(
    seven: RecipeBench, tmp_path: Path
) -> None:
    made = wheel(seven, "rocm-7.2", "onnxruntime-wheel", "onnxruntime_migraphx")
    assert made.name.startswith("onnxruntime_migraphx-1.22.1+rocm.7.2.4-cp312-cp312-")
    said = needed(made, "onnxruntime/capi/libonnxruntime_providers_migraphx.so", tmp_path)
    assert "[libmigraphx_c.so.3]" in said and "[libamdhip64.so.7]" in said
    assert "RUNPATH" not in said and "RPATH" not in said


def test_rocm_7_2_compiles_the_kernels_against_the_headers_of_its_onnxruntime(seven: RecipeBench) -> None:
    """gfx90a alone, by HIP 6.4's headers and clang 19; the package holds the soname of ROCm 7's runtime."""
    recipe = for_one_target(seven, "rocm-7.2", "80")
    made = wheel_by(seven, recipe, "kernels-wheel", "stackbuild_kernels-0.1.0+rocm.7.2.4")
    assert code_objects(made, "stackbuild_kernels/libstackbuild_kernels_hip.so") == {"gfx90a"}


def test_rocm_10_1_locks_the_abseil_that_protobuf_would_clone(ten: RecipeBench) -> None:
    assert "abseil-cpp/archive/refs/tags/20250512.1.tar.gz" in (ten.folder / "rocm-10.1.lock.yaml").read_text()


def test_rocm_10_1_packs_the_migraphx_plugin(ten: RecipeBench, tmp_path: Path) -> None:
    made = wheel(ten, "rocm-10.1", "migraphx-ep-wheel", "onnxruntime_ep_migraphx")
    assert made.name.startswith("onnxruntime_ep_migraphx-1.0.0+rocm.10.1.0-py3-none-")
    said = needed(made, "onnxruntime_ep_migraphx/libmigraphx-ep.so", tmp_path)
    assert "[libmigraphx_c.so.3]" in said and "[libamdhip64.so.7]" in said
    with zipfile.ZipFile(made) as packed:
        text = packed.read("onnxruntime_ep_migraphx/__init__.py").decode()
        assert any(name.endswith("licenses/onnxruntime_ep_migraphx/LICENSE") for name in packed.namelist())
    names: dict[str, object] = {"__file__": str(tmp_path / "onnxruntime_ep_migraphx" / "__init__.py")}
    exec(compile(text, "__init__.py", "exec"), names)
    assert names["get_ep_names"]() == ["MIGraphXExecutionProvider"]  # type: ignore[operator]
    assert Path(names["get_library_path"]()).is_file()  # type: ignore[operator]


def test_rocm_10_1_packs_the_umbrella_with_its_backend_beside_it(ten: RecipeBench, tmp_path: Path) -> None:
    made = wheel(ten, "rocm-10.1", "amdgpu-ep-wheel", "onnxruntime_ep_amdgpu")
    said = needed(made, "onnxruntime_ep_amdgpu/libmigraphx-backend.so", tmp_path)
    assert "[libmigraphx_c.so.3]" in said
    assert "[libamdhip64.so.7]" in needed(made, "onnxruntime_ep_amdgpu/libamdgpu-ep.so", tmp_path)
    with zipfile.ZipFile(made) as packed:
        text = packed.read("onnxruntime_ep_amdgpu/__init__.py").decode()
    names: dict[str, object] = {"__file__": str(tmp_path / "onnxruntime_ep_amdgpu" / "__init__.py")}
    exec(compile(text, "__init__.py", "exec"), names)
    assert names["get_ep_names"]() == ["AMDGPUExecutionProvider"]  # type: ignore[operator]


def test_rocm_10_1_packs_the_hipdnn_plugin_without_its_authors_folders(ten: RecipeBench, tmp_path: Path) -> None:
    known = ("--gfx", "gfx90a", "--gfx", "gfx1201")  # the image's clang 19 has no gfx950 and no gfx1153
    made = wheel(ten, "rocm-10.1", "hipdnn-ep-wheel", "onnxruntime_ep_hipdnn", *known)
    said = needed(made, "onnxruntime_ep_hipdnn/libhipdnn_ep.so", tmp_path)
    assert "[libhipblaslt.so.1]" in said
    assert "RPATH" not in said and "RUNPATH" not in said
    library = (tmp_path / "onnxruntime_ep_hipdnn" / "libhipdnn_ep.so").read_bytes()
    assert b"/opt/rocm/lib/libhipdnn_backend.so" in library
    assert b"/home/" not in library


def test_rocm_10_1_compiles_the_kernels_as_a_plugin_against_the_headers_of_its_onnxruntime(ten: RecipeBench) -> None:
    """Its C API is 27 in Debian's package, the lowest that the plugin is built with."""
    recipe = for_one_target(ten, "rocm-10.1", "80")
    made = wheel_by(ten, recipe, "kernels-ep-wheel", "onnxruntime_ep_rockernels")
    assert code_objects(made, "onnxruntime_ep_rockernels/librockernels_ep_hip.so") == {"gfx90a"}


def test_the_hipdnn_ep_without_hipblaslt_fails_its_configure_phase(tmp_path: Path) -> None:
    """It would be built without MatMul, and one line of the log would say so."""
    bench = locked(tmp_path, "rocm-10.1")
    recipe = tmp_path / "rocm-10.1.yaml"
    text = recipe.read_text()
    told = "    source: hipdnn-ep\n    options: {CMAKE_DISABLE_FIND_PACKAGE_hipblaslt: true}\n"
    recipe.write_text(text.replace("    source: hipdnn-ep\n", told))
    done = bench.run("build", "--recipe", str(recipe), "--until", "configure", "--gfx", "gfx90a")
    assert done.returncode == 4
    assert "configure.hipdnn-ep" in done.stderr
    (log,) = (bench.store / "runs").glob("*/logs/configure.hipdnn-ep.log")
    assert "hipblaslt" in log.read_text()
