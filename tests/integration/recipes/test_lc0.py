"""The bundled recipe of lc0 from a miniature upstream on its real base: Debian sid's hipcc compiles device code for each target."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.miniatures import UPSTREAMS, repository
from support.recipe_bench import RecipeBench

pytestmark = [pytest.mark.sandbox, pytest.mark.network, pytest.mark.slow, pytest.mark.timeout(3000)]


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RecipeBench]:
    folder = tmp_path_factory.mktemp("bench")
    mirror = folder / "mirror"
    tree = shutil.copytree(UPSTREAMS / "lc0", folder / "lc0")
    commit = repository(tree, mirror / "github.com" / "LeelaChessZero" / "lc0.git", ("pinned",))
    made = RecipeBench(folder, folder / "store", mirror, {"lc0": commit})
    done = made.run("lock", "--recipe", str(made.recipe("lc0")))
    assert done.returncode == 0, done.stderr
    yield made
    made.remove()


def test_one_program_for_each_target_without_link_time_optimisation(bench: RecipeBench) -> None:
    done = bench.run("build", "--recipe", str(bench.folder / "lc0.yaml"))
    assert done.returncode == 0, done.stderr
    programs = sorted((bench.store / "trees").glob("*/*/gfx*/bin/lc0"))
    assert [p.parts[-3] for p in programs] == ["gfx1100", "gfx90a"]
    for program in programs:
        said = subprocess.run(["readelf", "-dW", str(program)], check=True, capture_output=True, text=True).stdout
        assert "[libhipblas.so.2]" in said and "[libamdhip64.so.6]" in said
        assert program.parts[-3].encode() in Path(program).read_bytes()


def test_an_option_that_meson_does_not_know_fails_its_setup(bench: RecipeBench) -> None:
    recipe = bench.folder / "renamed.yaml"
    text = (bench.folder / "lc0.yaml").read_text()
    recipe.write_text(text.replace("      hip_libdirs:", "      hip_libfolders: /usr/lib\n      hip_libdirs:"))
    shutil.copy(bench.folder / "lc0.lock.yaml", bench.folder / "renamed.lock.yaml")
    done = bench.run("build", "--recipe", str(recipe))
    assert done.returncode == 4
    assert "hip_libfolders" in done.stderr
