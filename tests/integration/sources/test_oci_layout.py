"""Images from a folder: layers, a flipped bit, links that lead out."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from stackbuild.core.errors import LockError, StepFailed
from stackbuild.sources import oci
from support.miniatures import make_image


@pytest.fixture
def layout(tmp_path: Path) -> oci.Layout:
    if not shutil.which("bwrap") or not shutil.which("cc"):
        pytest.skip("needs bubblewrap and a C compiler")
    root = tmp_path / "root"
    for name in ("etc", "bin", "usr/bin"):
        (root / name).mkdir(parents=True)
    (root / "etc" / "taken-away").touch()
    (root / "etc" / "kept").write_text("kept")
    make_image(root, tmp_path / "mirror", "some/image:1")
    return oci.Layout(tmp_path / "mirror/images/some/image/1")


@pytest.mark.sandbox
def test_an_image_is_unpacked_layer_over_layer(layout: oci.Layout, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    oci.unpack(layout, out)
    assert (out / "etc" / "kept").read_text() == "kept"
    assert not (out / "etc" / "taken-away").exists()
    assert (out / "usr/local/bin/python3.12").readlink() == Path("/usr/bin/python3")


def test_a_flipped_bit_in_a_layer_is_found(layout: oci.Layout, tmp_path: Path) -> None:
    blob = max((layout.folder / "blobs/sha256").iterdir(), key=lambda p: p.stat().st_size)
    content = bytearray(blob.read_bytes())
    content[len(content) // 2] ^= 1
    blob.write_bytes(bytes(content))
    with pytest.raises(LockError, match="damaged"):
        layout.layers()


@pytest.mark.sandbox
def test_a_layer_cannot_write_through_a_link_to_the_machine(layout: oci.Layout, tmp_path: Path) -> None:
    out, outside = tmp_path / "out", tmp_path / "outside"
    out.mkdir()
    outside.mkdir()
    (out / "opt").symlink_to(outside)
    with pytest.raises(StepFailed, match="cannot be unpacked"):
        oci.unpack(layout, out)
    assert not list(outside.rglob("*"))
