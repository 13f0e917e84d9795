"""`doctor`: the checks of a machine."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from stackbuild.machine import doctor
from stackbuild.model.findings import Rung, Status
from stackbuild.views.machine import draw_doctor


@pytest.mark.parametrize(
    ("rocm", "driver", "status"),
    [
        ("7.2.4", "30.30.1", Status.PASSED),
        ("6.4.4-12", "30.30", Status.PASSED),
        ("6.0.2", "30.30.1", Status.FAILED),
        ("10.1.0", "30.30.1", Status.FAILED),
        ("7.2.4", "30.300", Status.SKIPPED),
        ("7.2.4", "6.12.12", Status.SKIPPED),
        ("9.9.9", "30.30.1", Status.SKIPPED),
        ("7.2.4", "", Status.SKIPPED),
    ],
)
def test_a_driver_is_held_against_rocm(rocm: str, driver: str, status: Status, tmp_path: Path) -> None:
    (tmp_path / ".info").mkdir()
    (tmp_path / ".info" / "version").write_text(f"{rocm}\n")
    if driver:
        (tmp_path / "amdgpu").mkdir()
        (tmp_path / "amdgpu" / "version").write_text(f"{driver}\n")
    machine = doctor.Machine(rocm=tmp_path, driver=tmp_path / "amdgpu" / "version")
    assert doctor._rocm(machine)[0] is status


def test_doctor_ends_with_how_much_is_to_mend(capsys: pytest.CaptureFixture[str]) -> None:
    fine = Rung("tools", Status.PASSED, "all there", 0.0)
    draw_doctor((fine, Rung("sandbox", Status.FAILED, "bubblewrap is not installed", 0.0)))
    assert capsys.readouterr().err.startswith("1 to fix")
    draw_doctor((fine, Rung("gpu", Status.SKIPPED, "none", 0.0)))
    assert capsys.readouterr().err.startswith("nothing to fix")


@pytest.mark.parametrize(("gib", "status"), [(100, Status.PASSED), (27, Status.SKIPPED), (1, Status.FAILED)])
def test_a_disk_too_small_for_a_stack_has_not_passed(
    gib: int, status: Status, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=gib << 30))
    assert doctor._disk(doctor.Machine(store=tmp_path))[0] is status


@pytest.mark.parametrize(("gib", "status"), [(32, Status.PASSED), (8, Status.SKIPPED)])
def test_memory_below_what_a_stack_wants_has_not_passed(
    gib: int, status: Status, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "machine_memory", lambda: gib << 30)
    assert doctor._memory(doctor.Machine())[0] is status
