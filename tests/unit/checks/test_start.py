"""`start`: which wheel or recipe is for a GPU, what was proved of it, what it takes."""

from __future__ import annotations

import sys

import pytest

from stackbuild.__main__ import run
from stackbuild.checks.new_recipe import new_recipe
from stackbuild.checks.start import start
from stackbuild.core.errors import UsageError
from stackbuild.machine.gpu import Gpu
from stackbuild.recipe.load import bundled_recipes, load
from stackbuild.tables.compatibility import table
from stackbuild.tables.proofs import proofs
from stackbuild.tables.targets import BUILDABLE, processor


def test_every_bundled_recipe_says_what_ran_of_it() -> None:
    assert set(proofs()) == set(bundled_recipes())
    for name, proof in proofs().items():
        targets = {processor(t) for t in load(name).recipe.gfx}
        assert set(proof.emulated.targets) <= targets and (proof.gpu.ran == "no" or proof.stage == "built"), name


@pytest.mark.parametrize("gfx", BUILDABLE)
def test_every_target_has_an_answer(gfx: str) -> None:
    answer = start(gfx, (), table())
    assert answer.recipes or any("no bundled recipe" in note for note in answer.notes)
    for choice in answer.recipes:
        assert gfx in map(processor, load(choice.recipe).recipe.gfx)
        assert choice.command == f"stackbuild build --recipe {choice.recipe} --gfx {gfx}"
        assert choice.disk > 0 and choice.hours > 0 and choice.proof
    assert [w.rocm for w in answer.wheels] == sorted(
        (w.rocm for w in answer.wheels), key=lambda v: [int(n) for n in v.split(".")], reverse=True
    )


def test_a_product_is_its_target_and_whole_models_come_first() -> None:
    answer = start("RX 7900 XTX", (), table())
    assert answer.gfx == "gfx1100" and answer.wheels[0].distribution == "onnxruntime_migraphx"
    uses = [choice.use.split(",")[0].split(";")[0] for choice in answer.recipes]
    assert uses[0] == "unchanged ONNX models" and uses.index("models that name its custom operators") > 4
    assert all("never run on an AMD GPU" in choice.proof for choice in answer.recipes)


def test_the_machines_own_gpu_is_taken_and_a_machine_without_one_is_asked() -> None:
    assert start("", (Gpu(1, "gfx942", 192 << 30, 128),), table()).gfx == "gfx942"
    with pytest.raises(UsageError) as stopped:
        start("", (), table())
    assert "--gpu" in stopped.value.next


def test_a_gpu_without_binaries_is_told_so() -> None:
    notes = " ".join(start("RX 6700 XT", (), table()).notes)
    assert "no ROCm" in notes and "recipe new" in notes


@pytest.mark.parametrize("gpu", ["Radeon 780M", "Radeon VII", "RX 5700 XT", "RX 6700 XT"])
def test_the_recipe_that_is_advised_can_be_written(gpu: str) -> None:
    said = " ".join(start(gpu, (), table()).notes)
    assert "then add it to `gfx:`" in said
    assert "schema: 1" in new_recipe(said.partition("--rocm ")[2].partition(" ")[0])


def test_the_command_says_it(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["stackbuild", "start", "--gpu", "Strix Halo"])
    assert run() == 0
    said = capsys.readouterr().out
    assert "Strix Halo is gfx1151" in said and "stackbuild build --recipe" in said and "GiB of disk" in said
