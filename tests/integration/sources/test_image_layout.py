"""A layout that stackbuild writes is one that its own reader, and the machine's tar behind it, unpacks file by file."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from stackbuild.sources.oci import Layout
from stackbuild.sources.oci_layers import unpack
from stackbuild.sources.oci_writer import ImageSettings, LayerFiles, write_layout

pytestmark = [pytest.mark.sandbox, pytest.mark.skipif(not shutil.which("bwrap"), reason="needs bubblewrap")]


def test_what_was_written_is_what_is_unpacked(tmp_path: Path) -> None:
    program, link, root, folder = (tmp_path / name for name in ("program", "link", "root", "layout"))
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    link.symlink_to("usr/bin")
    root.mkdir()
    low = LayerFiles("system", {"usr/bin/program": program, "bin": link, "etc/replaced": b"old"}, {"tmp": 0o1777})
    high = LayerFiles("wheels", {f"opt/{'long-' * 30}{number}": b"x" for number in range(3)} | {"etc/replaced": b"new"}, {})
    folder.mkdir()
    write_layout(folder, (low, high), ImageSettings("stack:gfx1100", (), ("sh",), {}), lambda layer: None)
    unpack(Layout(folder), root)
    assert (root / "bin" / "program").read_text() == "#!/bin/sh\n" and (root / "bin").readlink() == Path("usr/bin")
    assert (root / "etc/replaced").read_text() == "new" and len(list((root / "opt").iterdir())) == 3
    assert (root / "tmp").stat().st_mode & 0o777 == 0o777
