"""The wheel of the bundled kernels on emulated targets, and what it counts there."""

from __future__ import annotations

import errno
import json
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from stackbuild.emulator import service
from stackbuild.verification.rungs.emulation import Emulation
from stackbuild.verification.rungs.operators import OPERATORS
from support.kernels import KERNELS

pytestmark = [pytest.mark.sandbox, pytest.mark.timeout(3000)]

OLDER = ("gfx90a", "gfx942", "gfx1100")
"""Targets of Debian 13's compiler, which the recipe debian-13 ships."""
NEWER = ("gfx950", "gfx1151", "gfx1200", "gfx1201")
"""Those that only Debian sid's compiler has."""
BUDGETS = KERNELS / "tools" / "emulated-budgets.toml"
BUDGETED = tuple(tomllib.loads(BUDGETS.read_text()))


def test_the_rung_says_what_was_emulated_and_where_it_ran() -> None:
    assert Emulation("gfx1100", Path("x")).rung_name == "device code, emulated gfx1100 on a CPU"


@pytest.mark.slow
@pytest.mark.parametrize("target", OLDER)
def test_every_operator_is_right_on_every_target(target: str, kernels: Any) -> None:
    outcome = kernels.check(target=target)
    assert outcome.findings == ()
    assert OPERATORS and outcome.says.startswith("72 cases in "), outcome


@pytest.mark.slow
@pytest.mark.timeout(7200)  # the first one builds the kernels
@pytest.mark.parametrize("target", NEWER)
def test_every_operator_is_right_on_every_target_of_the_newest_compiler(target: str, every_target_kernels: Any) -> None:
    """Debian sid's clang knows them; Debian 13's does not."""
    outcome = every_target_kernels.check(target=target)
    assert outcome.findings == ()
    assert OPERATORS and outcome.says.startswith("72 cases in "), outcome


def test_a_target_that_the_wheel_lacks_is_an_error_with_its_name(kernels: Any) -> None:
    outcome = kernels.check(target="gfx1201", operators=("LeakyRelu",))
    assert any(
        "no code object for gfx1201; it has gfx1030, gfx1100, gfx90a, gfx942" in f.found for f in outcome.findings
    )


def test_a_full_disk_is_no_finding_about_the_wheel(kernels: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object, **__: object) -> Path:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(service, "translate", refused)
    outcome = kernels.check(operators=("LeakyRelu",))
    assert outcome.skip == "the store takes no kernels: No space left on device"
    assert outcome.findings == ()


def benchmark(wheel: Path, target: str, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "stackbuild", "bench", "kernels", str(wheel), "--emulated", target, *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.slow
@pytest.mark.parametrize("target", BUDGETED)
def test_shipped_kernels_keep_their_budgets(target: str, request: pytest.FixtureRequest) -> None:
    """Those of each target by the compiler of the recipe that builds for it."""
    wheel = request.getfixturevalue("kernels" if target in OLDER else "every_target_kernels").wheel
    done = benchmark(wheel, target, "--budgets", str(BUDGETS))
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-500:]


@pytest.mark.slow
def test_counters_keep_the_budgets_that_they_were_written_as(kernels: Any, tmp_path: Path) -> None:
    def bench(*words: str) -> subprocess.CompletedProcess[str]:
        return benchmark(kernels.wheel, "gfx1100", *words)

    budgets = tmp_path / "budgets.toml"
    first = bench("--write-budgets", str(budgets), "--json")
    assert first.returncode == 0, first.stderr[-2000:]
    rows = json.loads(first.stdout)["kernels"]
    assert all(
        row["counters"]["counters"]["instructions"] > 0 and row["binds"] in row["model"]["clocks"] for row in rows
    )
    second = bench("--budgets", str(budgets))
    assert second.returncode == 0 and "within the budgets" in second.stdout
    text = budgets.read_text()
    name = rows[0]["counters"]["kernel"]
    budget = f"{name} = {{ dispatches = {rows[0]['counters']['dispatches']}, instructions = "
    assert budget in text
    budgets.write_text(text.replace(budget + str(rows[0]["counters"]["counters"]["instructions"]), budget + "10"))
    third = bench("--budgets", str(budgets))
    assert third.returncode == 6 and "over the budget of 10" in third.stdout
