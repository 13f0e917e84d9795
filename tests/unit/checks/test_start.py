"""`start`: which wheel or recipe is for a GPU, what was proved of it, what it takes."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from stackbuild.__main__ import run
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
    assert answer.gfx == "gfx1100" and answer.wheels[1].distribution == "onnxruntime_migraphx"
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
    assert "no ROCm" in notes and "recipe new" not in notes and "recipe show debian-13" in notes


@pytest.mark.parametrize("gfx", BUILDABLE)
def test_the_recipe_that_is_advised_passes_its_check(
    gfx: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command of the note is run, the target added, and the recipe checked."""
    note = next((note for note in start(gfx, (), table()).notes if "no bundled recipe builds" in note), "")
    if not note:
        assert start(gfx, (), table()).recipes
        return
    command = note.partition("`stackbuild ")[2].partition("`")[0]
    assert f"then add {gfx} to its `gfx:`" in note and command.startswith(("recipe new --rocm ", "recipe show "))
    monkeypatch.chdir(tmp_path)
    words = command.removesuffix(" > my.yaml").split()
    monkeypatch.setattr(sys, "argv", ["stackbuild", *words])
    assert run() == 0
    out = capsys.readouterr().out
    text = Path("my.yaml").read_text() if "new" in words else out
    (line,) = [line for line in text.splitlines() if line.startswith("gfx: [")]
    Path("my.yaml").write_text(text.replace(line, line.replace("[", f"[{gfx}, ", 1)))
    monkeypatch.setattr(sys, "argv", ["stackbuild", "recipe", "check", "--recipe", "my.yaml"])
    assert run() == 0, capsys.readouterr().out


@pytest.mark.parametrize("gfx", BUILDABLE)
def test_each_wheel_has_its_command_or_the_page_of_its_addresses(gfx: str) -> None:
    for wheel in start(gfx, (), table()).wheels:
        assert bool(wheel.install) != bool(wheel.page) and wheel.publisher, wheel
        command = f"python -m pip install {wheel.distribution}=={wheel.version}"
        assert not wheel.install or wheel.install.removesuffix(" numpy") == command
        assert not wheel.page or wheel.page.startswith("https://")


def test_the_index_has_wheels_for_the_targets_that_they_have_code_for() -> None:
    def named(gfx: str) -> set[str]:
        return {f"{w.distribution} {w.rocm}" for w in start(gfx, (), table()).wheels if w.install}

    assert named("gfx1100") == {"onnxruntime-migraphx 7.2", "onnxruntime-migraphx 7.1", "onnxruntime-rocm 7.2"}
    assert named("gfx1151") == {"onnxruntime-migraphx 7.2", "onnxruntime-migraphx 7.1"}
    assert named("gfx1103") == set()


def test_the_newest_rocm_that_lists_the_gpu_is_there() -> None:
    newest = start("RX 7900 XTX", (), table()).wheels[0]
    assert (newest.rocm, newest.version, newest.claim, newest.distribution) == ("10.1", "1.29.0", "supported", "")


def test_the_command_says_it(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["stackbuild", "start", "--gpu", "Strix Halo"])
    assert run() == 0
    said = capsys.readouterr().out
    assert "Strix Halo is gfx1151" in said and "stackbuild build --recipe" in said and "GiB of disk" in said
    assert "addresses and commands: https://" in " ".join(said.split())
    assert "python -m pip install onnxruntime-migraphx==" in said
