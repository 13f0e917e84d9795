"""The bundled recipe of lc0 from a miniature upstream on its real base: Debian sid's hipcc compiles device code for each target."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from stacks_bench import UPSTREAMS, Yard, repository

pytestmark = [pytest.mark.sandbox, pytest.mark.network, pytest.mark.slow, pytest.mark.timeout(3000)]


@pytest.fixture(scope="module")
def yard(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Yard]:
    folder = tmp_path_factory.mktemp("yard")
    mirror = folder / "mirror"
    tree = shutil.copytree(UPSTREAMS / "lc0", folder / "lc0")
    commit = repository(tree, mirror / "github.com" / "LeelaChessZero" / "lc0.git", ("pinned",))
    made = Yard(folder, folder / "store", mirror, {"lc0": commit})
    done = made.run("lock", "--recipe", str(made.recipe("lc0")))
    assert done.returncode == 0, done.stderr
    yield made
    made.gone()


def test_one_program_for_each_target_without_link_time_optimisation(yard: Yard) -> None:
    done = yard.run("build", "--recipe", str(yard.folder / "lc0.yaml"))
    assert done.returncode == 0, done.stderr
    programs = sorted((yard.store / "trees").glob("*/*/gfx*/bin/lc0"))
    assert [p.parts[-3] for p in programs] == ["gfx1100", "gfx90a"]
    for program in programs:
        said = subprocess.run(["readelf", "-dW", str(program)], check=True, capture_output=True, text=True).stdout
        assert "[libhipblas.so.2]" in said and "[libamdhip64.so.6]" in said
        assert program.parts[-3].encode() in Path(program).read_bytes()


def test_an_option_that_meson_does_not_know_fails_its_setup(yard: Yard) -> None:
    recipe = yard.folder / "renamed.yaml"
    text = (yard.folder / "lc0.yaml").read_text()
    recipe.write_text(text.replace("      hip_libdirs:", "      hip_libfolders: /usr/lib\n      hip_libdirs:"))
    shutil.copy(yard.folder / "lc0.lock.yaml", yard.folder / "renamed.lock.yaml")
    done = yard.run("build", "--recipe", str(recipe))
    assert done.returncode == 4
    assert "hip_libfolders" in done.stderr
