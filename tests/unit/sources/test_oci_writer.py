"""An OCI layout that is written: equal bytes from equal files, and what a reader finds in it."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import tarfile
from pathlib import Path

from stackbuild.sources.oci import Layout
from stackbuild.sources.oci_writer import ImageSettings, LayerFiles, WrittenLayer, write_layout

SETTINGS = ImageSettings("stack:gfx1100", ("PATH=/usr/bin",), ("python3",), {"io.stackbuild.gfx": "gfx1100"})


def layers(folder: Path, mode: int) -> tuple[LayerFiles, ...]:
    folder.mkdir()
    program, text = folder / "program", folder / "text"
    program.write_text("#!/bin/sh\n")
    text.write_text("text")
    program.chmod(0o700)
    text.chmod(mode)
    (folder / "link").symlink_to("usr/bin")
    low = LayerFiles("system", {"usr/bin/program": program, "bin": folder / "link"}, {"tmp": 0o1777})
    return low, LayerFiles("wheels", {"opt/a": text, "opt/b": b"bytes"}, {})


def written(folder: Path, mode: int) -> tuple[WrittenLayer, ...]:
    (folder / "layout").mkdir(parents=True)
    return write_layout(folder / "layout", layers(folder / "files", mode), SETTINGS, lambda layer: None)


def test_the_same_files_give_the_same_bytes_whatever_their_times_and_modes(tmp_path: Path) -> None:
    one, two = written(tmp_path / "a", 0o600), written(tmp_path / "b", 0o444)
    assert one == two
    names = [sorted(str(p.relative_to(tmp_path / x)) for p in (tmp_path / x / "layout").rglob("*")) for x in "ab"]
    assert names[0] == names[1]


def test_a_reader_finds_every_file_with_its_mode(tmp_path: Path) -> None:
    made = written(tmp_path, 0o600)
    found = {}
    for path in Layout(tmp_path / "layout").layers():
        with tarfile.open(path) as tar:
            found |= {m.name: (m.mode, m.uid, m.linkname or (tar.extractfile(m) or io.BytesIO()).read()) for m in tar}
    assert found["usr/bin/program"] == (0o755, 0, b"#!/bin/sh\n")
    assert found["bin"] == (0o777, 0, "usr/bin") and found["tmp"][0] == 0o1777 and found["usr"][0] == 0o755
    assert found["opt/a"] == (0o644, 0, b"text") and found["opt/b"][2] == b"bytes"
    assert [one.files for one in made] == [2, 2] and made[1].size == 9


def test_the_config_lists_the_digests_of_the_layers_as_they_are_unpacked(tmp_path: Path) -> None:
    made = written(tmp_path, 0o600)
    layout = Layout(tmp_path / "layout")
    manifest = layout.document(layout.digest)
    config = layout.document(str(manifest["config"]["digest"]))
    unpacked = [hashlib.sha256(gzip.decompress(path.read_bytes())).hexdigest() for path in layout.layers()]
    assert config["rootfs"]["diff_ids"] == [f"sha256:{one}" for one in unpacked] == [one.diff_id for one in made]
    assert config["config"]["Cmd"] == ["python3"] and config["config"]["Labels"] == {"io.stackbuild.gfx": "gfx1100"}
    assert [row["size"] for row in manifest["layers"]] == [one.compressed for one in made]
    index = json.loads((tmp_path / "layout" / "index.json").read_text())
    assert index["manifests"][0]["annotations"] == {"org.opencontainers.image.ref.name": "stack:gfx1100"}
