"""GPUs and ROCm's version, read from the machine's files."""

from pathlib import Path

import pytest

from stackbuild.machine import gpu


@pytest.mark.parametrize(
    ("version", "gfx"),
    [
        (90006, "gfx906"), (90008, "gfx908"), (90010, "gfx90a"), (90402, "gfx942"), (100300, "gfx1030"),
        (110000, "gfx1100"), (110501, "gfx1151"), (120001, "gfx1201"),
    ],
)
def test_the_kernels_number_of_a_target_is_read(version: int, gfx: str) -> None:
    assert gpu.gfx_of(version) == gfx


def test_gpus_are_read_from_a_topology(tmp_path: Path) -> None:
    for node, version in (("0", 0), ("1", 110000)):
        (tmp_path / node / "mem_banks" / "0").mkdir(parents=True)
        (tmp_path / node / "properties").write_text(f"gfx_target_version {version}\ndrm_render_minor 128\nname x\n")
        (tmp_path / node / "mem_banks" / "0" / "properties").write_text("size_in_bytes 25753026560\n")
    (found,) = gpu.gpus(tmp_path)
    assert (found.gfx, found.memory, found.render) == ("gfx1100", 25753026560, 128)
    assert gpu.gpus(tmp_path / "nowhere") == ()


def test_rocms_version_is_read_from_its_own_file(tmp_path: Path) -> None:
    assert gpu.rocm_version(tmp_path) == ""
    (tmp_path / ".info").mkdir()
    (tmp_path / ".info" / "version").write_text("6.4.4\n")
    assert gpu.rocm_version(tmp_path) == "6.4.4"


def test_rocm_10_has_its_version_in_the_tree_that_is_in_use(tmp_path: Path) -> None:
    (tmp_path / "core-10.1" / ".info").mkdir(parents=True)
    (tmp_path / "core-10.1" / ".info" / "version").write_text("10.1.0\n")
    (tmp_path / "core").symlink_to("core-10.1")
    assert gpu.rocm_version(tmp_path) == "10.1.0"


def test_the_makers_of_the_gpus_are_told(tmp_path: Path) -> None:
    nothing, cards, nvidia = tmp_path / "nothing", tmp_path / "drm", tmp_path / "nvidia"
    assert gpu.gpu_makers(nothing, nothing, nothing) == ()
    for name, vendor in (("card0", "0x1a03"), ("card1", "0x1002")):  # ASPEED's and AMD's
        (cards / name / "device").mkdir(parents=True)
        (cards / name / "device/vendor").write_text(f"{vendor}\n")
    assert gpu.gpu_makers(nothing, cards, nothing) == ("AMD",)
    (nvidia / "0000:01:00.0").mkdir(parents=True)
    assert gpu.gpu_makers(nothing, nothing, nvidia) == ("NVIDIA",)
    assert gpu.gpu_makers(nothing, cards, nvidia) == ("AMD", "NVIDIA")
