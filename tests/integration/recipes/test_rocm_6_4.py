"""The bundled recipe of ROCm 6.4, end to end, from miniature upstreams and a container image in a mirror.

What differs from the real thing is said in tests/miniatures/README.md; of the recipe, the one commit that a miniature cannot
have. Needs the archives of Debian and of Python packages, for the base; minutes.
"""

from __future__ import annotations

import json
import re
import shutil
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.recipe_bench import RecipeBench, code_objects, for_one_target, prepared

pytestmark = [pytest.mark.sandbox, pytest.mark.network, pytest.mark.slow, pytest.mark.timeout(3000)]


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RecipeBench]:
    made = prepared(tmp_path_factory.mktemp("bench"))
    recipe = made.recipe("rocm-6.4")
    done = made.run("lock", "--recipe", str(recipe))
    assert done.returncode == 0, done.stderr
    yield made
    made.remove()


def built(bench: RecipeBench, *more: str) -> str:
    """Build the wheel, which is then refused: a miniature's ROCm EP holds no code object, and the recipe promises five targets."""
    done = bench.run("build", "--recipe", str(bench.folder / "rocm-6.4.yaml"), "--until", "onnxruntime-wheel", *more)
    assert done.returncode == 5, done.stderr
    assert "static rules failed: 1 error: SB-RECIPE-GFX" in done.stderr
    return done.stderr


def wheel_of(bench: RecipeBench) -> Path:
    (found,) = (bench.store / "trees").glob("*/*/onnxruntime_rocm-*.whl")
    return found


def test_the_lock_is_complete_from_the_mirror(bench: RecipeBench) -> None:
    text = (bench.folder / "rocm-6.4.lock.yaml").read_text()
    for name in ("rocmlir", "migraphx", "onnxruntime"):
        assert bench.commits[name] in text
    assert 'image: "sha256:' in text
    rows = [json.loads(line.strip()[2:]) for line in text.splitlines() if line.strip().startswith("- {")]
    assert {r["name"] for r in rows} >= {"protobuf", "msgpack-c", "abseil_cpp", "safeint", "dawn"}
    assert next(r for r in rows if r["name"] == "protobuf")["digest"].startswith("sha256:")


def test_the_stack_is_built_and_packed(bench: RecipeBench) -> None:
    built(bench)
    wheel = wheel_of(bench)
    assert wheel.name.startswith("onnxruntime_rocm-1.22.1+rocm.6.4.4-cp312-cp312-")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        record = next(n for n in names if n.endswith("/RECORD"))
        rows = archive.read(record).decode().splitlines()
    assert "onnxruntime/capi/libonnxruntime_providers_migraphx.so" in names
    assert "onnxruntime/capi/libonnxruntime_providers_rocm.so" in names
    assert all("sha256=" in row for row in rows if not row.startswith(record))


def test_the_kernels_are_compiled_where_everything_of_rocm_is_below_opt_rocm(bench: RecipeBench) -> None:
    """By HIP 6.4's headers and clang 19, as in AMD's image; the wheel's rules count its kernels for the target."""
    recipe = for_one_target(bench, "rocm-6.4", "20")
    done = bench.run("build", "--recipe", str(recipe), "--until", "kernels-wheel")
    assert done.returncode == 0, done.stderr
    (wheel,) = (bench.store / "trees").glob("*/*/stackbuild_kernels-*.whl")
    assert code_objects(wheel, "stackbuild_kernels/libstackbuild_kernels_hip.so") == {"gfx90a"}


def test_a_second_build_does_nothing(bench: RecipeBench) -> None:
    said = built(bench)
    assert "ccache" not in said and "✓ onnxruntime.cp312" not in said


def test_a_bundle_builds_the_stack_again_with_nothing_else(bench: RecipeBench) -> None:
    bundle = bench.folder / "bundle"
    recipe = str(bench.folder / "rocm-6.4.yaml")
    done = bench.run("fetch", "--recipe", recipe, "--bundle", str(bundle))
    assert done.returncode == 0, done.stderr
    assert (bundle / "github.com/ROCm/AMDMIGraphX.git/HEAD").is_file()
    alone = RecipeBench(bench.folder, bench.folder / "alone", bundle, bench.commits)
    built(alone)
    assert wheel_of(alone).read_bytes() == wheel_of(bench).read_bytes()


def test_an_option_that_the_project_does_not_know_fails_its_configure_phase(bench: RecipeBench) -> None:
    recipe = bench.folder / "renamed.yaml"
    text = (bench.folder / "rocm-6.4.yaml").read_text()
    recipe.write_text(
        text.replace(
            "MIGRAPHX_USE_COMPOSABLEKERNEL: false", "MIGRAPHX_USE_COMPOSABLEKERNEL: false\n      MIGRAPHX_USE_CK: false"
        )
    )
    shutil.copy(bench.folder / "rocm-6.4.lock.yaml", bench.folder / "renamed.lock.yaml")
    done = bench.run("build", "--recipe", str(recipe), "--until", "migraphx")
    assert done.returncode == 4
    assert "MIGRAPHX_USE_CK" in done.stderr


def test_configure_alone_reports_every_failure(bench: RecipeBench) -> None:
    recipe = bench.folder / "broken.yaml"
    text = (bench.folder / "rocm-6.4.yaml").read_text()
    text = text.replace(
        "    source: rocmlir\n    memory: 12G",
        "    source: rocmlir\n    options: {LLVM_INCLUDE_TESTS: true}\n    memory: 12G",
    )
    text = text.replace("INCLUDE_DIR: /src/onnxruntime/include/onnxruntime/core/session", "INCLUDE_DIR: /nowhere")
    recipe.write_text(text)
    shutil.copy(bench.folder / "rocm-6.4.lock.yaml", bench.folder / "broken.lock.yaml")
    done = bench.run("build", "--recipe", str(recipe), "--until", "configure")
    assert done.returncode == 4
    assert "✗ configure.rocmlir" in done.stderr and "✗ configure.kernels" in done.stderr
    assert re.search(r"migraphx is configured against empty stand-ins for .*rocmlir", done.stderr)
    assert "✓ configure.migraphx" in done.stderr


def test_a_flipped_bit_in_the_mirror_is_named(bench: RecipeBench) -> None:
    mirror = bench.folder / "damaged"
    shutil.copytree(bench.mirror, mirror)
    archive = mirror / "github.com/google/protobuf/archive/v3.19.0.tar.gz"
    content = bytearray(archive.read_bytes())
    content[len(content) // 2] ^= 1
    archive.write_bytes(bytes(content))
    other = RecipeBench(bench.folder, bench.folder / "other-store", mirror, bench.commits)
    done = other.run("fetch", "--recipe", str(bench.folder / "rocm-6.4.yaml"))
    assert done.returncode != 0
    assert "v3.19.0.tar.gz has sha256" in done.stderr


def test_a_hipify_that_fails_without_a_word_is_noticed(bench: RecipeBench) -> None:
    """amd_hipify.py takes what hipify-perl printed, however it ended; the empty file compiles, which upstream does not notice."""
    recipe = bench.folder / "mute.yaml"
    text = (bench.folder / "rocm-6.4.yaml").read_text()
    mute = "_KERNEL: false\n      HIPIFY: /src/onnxruntime/mute/hipify-perl\n"
    recipe.write_text(text.replace("_KERNEL: false\n    env", f"{mute}    env"))
    shutil.copy(bench.folder / "rocm-6.4.lock.yaml", bench.folder / "mute.lock.yaml")
    done = bench.run("build", "--recipe", str(recipe), "--until", "onnxruntime")
    assert done.returncode == 4
    assert "hipify wrote nothing" in done.stderr
