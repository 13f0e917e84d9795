"""What a recipe needs of this machine: `doctor --recipe`."""

import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

from stackbuild.checks import needs
from stackbuild.core.errors import MachineLacks
from stackbuild.model.findings import Rung, Status
from stackbuild.recipe.load import load


def rungs(name: str) -> dict[str, Rung]:
    return {rung.name: rung for rung in needs.needs(load(name))}


@pytest.fixture(autouse=True)
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with every tool, 40 GiB of disk and 8 GiB of memory; the user is root."""
    monkeypatch.setenv("STACKBUILD_STORE", str(tmp_path))
    monkeypatch.setattr(shutil, "which", lambda tool: f"/usr/bin/{tool}")
    monkeypatch.setattr(shutil, "disk_usage", lambda place: SimpleNamespace(free=40 * needs.GIB))
    monkeypatch.setattr(needs, "machine_memory", lambda: 8 * needs.GIB)
    monkeypatch.setattr("os.geteuid", lambda: 0)
    monkeypatch.setattr(needs, "find_engine", lambda: None)


def test_a_recipe_that_fits_has_nothing_to_mend() -> None:
    found = rungs("debian-rocm-7.2")
    assert {r.status for n, r in found.items() if n != "recipe memory"} == {Status.PASSED}
    assert (
        found["recipe memory"].status is Status.SKIPPED and "onnxruntime declares 14" in found["recipe memory"].reason
    )
    assert found["hours"].reason.startswith("from nothing about 3.6 hours of one core, a guess (migraphx 2); measured on 2026-11-23, two busy cores")


def test_what_is_missing_is_named_with_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda tool: None)
    assert rungs("debian-rocm-7.2")["recipe tools"].reason == "apt-get install git mmdebstrap"
    found = rungs("rocm-10.1")
    assert found["recipe tools"].reason == "apt-get install git skopeo"
    assert found["recipe disk"].status is Status.FAILED


def test_an_open_lock_is_named_with_the_command_that_closes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(needs, "missing_entries", lambda recipe, lock: ("sources.a: the commit of b is not known",))
    found = rungs("rocm-10.1")["lock"]
    assert found.status is Status.FAILED and "stackbuild lock --recipe rocm-10.1" in found.reason


def test_an_image_that_is_extended_needs_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    assert "needs root" in rungs("rocm-7.2")["recipe tools"].reason
    assert rungs("debian-13")["recipe tools"].status is Status.PASSED


def test_an_image_needs_skopeo_only_where_no_engine_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda tool: None if tool == "skopeo" else f"/usr/bin/{tool}")
    assert rungs("rocm-7.2")["recipe tools"].reason == "apt-get install skopeo"
    with pytest.raises(MachineLacks, match="`skopeo` is not installed") as stopped:
        needs.refuse_missing_tools(["image", "git"])
    assert "start a Docker engine" in stopped.value.next
    monkeypatch.setattr(needs, "find_engine", lambda: object())
    assert rungs("rocm-7.2")["recipe tools"].status is Status.PASSED
    needs.refuse_missing_tools(["image", "git"])
