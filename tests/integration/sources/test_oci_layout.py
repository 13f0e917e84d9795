"""Images from a folder: layers, a flipped bit, links that lead out."""

from __future__ import annotations

import hashlib
import json
import shutil
import tarfile
from pathlib import Path

import pytest

from stackbuild.core.errors import LockError, StepFailed
from stackbuild.sources import oci, oci_layers
from stackbuild.sources.oci_layers import unpack
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
    unpack(layout, out)
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
        unpack(layout, out)
    assert not list(outside.rglob("*"))


@pytest.mark.parametrize("name", [".wh.", ".wh..", ".wh...", "sub/.wh...", "../.wh.x", "/.wh.x"])
def test_a_whiteout_of_a_folder_itself_or_of_what_lies_outside_is_refused(name: str, tmp_path: Path) -> None:
    root, layer = tmp_path / "around" / "root", tmp_path / "layer.tar"
    (root / "sub").mkdir(parents=True)
    (root / "sub" / "kept").touch()
    with tarfile.open(layer, "w") as tar:
        tar.addfile(tarfile.TarInfo(name))
    with pytest.raises(StepFailed, match=r"(whiteout|member) .* is refused"):
        oci_layers._apply_whiteouts(layer, root)
    assert (root / "sub" / "kept").exists()


@pytest.mark.parametrize("text", ["[" * 100_000, "[]", "5", "{}", '{"layers": 5}', '{"layers": [5]}', '{"layers": [{}]}', "{"])
def test_what_is_no_manifest_is_refused_in_words(text: str, tmp_path: Path) -> None:
    blobs = tmp_path / "blobs" / "sha256"
    blobs.mkdir(parents=True)
    name = hashlib.sha256(text.encode()).hexdigest()
    (blobs / name).write_text(text)
    (tmp_path / "index.json").write_text(json.dumps({"manifests": [{"digest": f"sha256:{name}"}]}))
    with pytest.raises(StepFailed):
        oci.Layout(tmp_path).layers()
