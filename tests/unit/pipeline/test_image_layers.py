"""Which files and packages are in which layer of an image, and what is left out."""

from __future__ import annotations

from pathlib import Path

import pytest

from stackbuild.model.plan import Step
from stackbuild.pipeline.image_contents import ImageContents
from stackbuild.pipeline.image_layers import TargetFilter, layers_of
from stackbuild.sources.dpkg import DpkgRoot


@pytest.mark.parametrize(
    ("path", "kept"),
    [
        ("usr/lib/rocblas/library/TensileLibrary_Type_HH_gfx1100.co", True),
        ("usr/lib/rocblas/library/TensileLibrary_Type_HH_gfx90a.co", False),
        ("usr/lib/rocblas/library/Kernels.so-000-gfx90a-xnack-.hsaco", False),
        ("usr/share/miopen/db/gfx1100_96.db.txt", True),
        ("usr/share/miopen/db/gfx90a68.kdb", False),
        ("usr/share/miopen/db/gfx942130.db", False),
        ("usr/lib/rocblas/library/TensileManifest.txt", True),
        ("usr/lib/x/gfx1100_gfx1101.co", True),
        ("usr/lib/x/gfx9999.co", True),
    ],
)
def test_files_of_other_targets_are_left_out(path: str, kept: bool, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"1234")
    left_out: dict[str, int] = {}
    assert TargetFilter("gfx1100", left_out).keeps(path, file) is kept
    assert left_out == ({} if kept else {path: 4})


def root(folder: Path) -> DpkgRoot:
    """A root with a C library, Python and two packages more, one of which is behind the wheels."""
    info = folder / "var/lib/dpkg/info"
    info.mkdir(parents=True)
    needs = {
        "libc6": "",
        "bash": "libc6",
        "python3": "libc6",
        "libamdhip64-5": "libc6, libhsa",
        "libhsa": "",
        "gcc": "",
    }
    stanzas = (f"Package: {n}\nStatus: install ok installed\nDepends: {d}\n" for n, d in needs.items())
    (info.parent / "status").write_text("\n".join(stanzas))
    for name in needs:
        (folder / "usr/lib").mkdir(parents=True, exist_ok=True)
        (folder / "usr/lib" / name).write_text(name)
        listed = [f"/usr/lib/{name}", f"/usr/lib/{name}-gfx90a.co", f"/usr/share/doc/{name}/changelog"]
        (folder / f"usr/lib/{name}-gfx90a.co").touch()
        (folder / f"usr/share/doc/{name}").mkdir(parents=True)
        (folder / f"usr/share/doc/{name}/changelog").touch()
        (info / f"{name}.list").write_text("\n".join(listed))
    (folder / "bin").symlink_to("usr/bin")
    (folder / "etc").mkdir()
    (folder / "etc/passwd").write_text("root")
    return DpkgRoot(folder)


def test_a_package_is_in_the_first_layer_that_needs_it(tmp_path: Path) -> None:
    base = root(tmp_path / "root")
    (tmp_path / "own" / "kernels").mkdir(parents=True)
    (tmp_path / "own" / "kernels" / "__init__.py").touch()
    (tmp_path / "runtime").mkdir()
    contents = ImageContents(base.root, Step("base", "debian"), "3.13", (), (), ())
    site = {"own": tmp_path / "own", "runtime": tmp_path / "runtime"}
    left_out: dict[str, int] = {}
    layers = layers_of(base, contents, site, frozenset(["libamdhip64-5"]), TargetFilter("gfx1100", left_out))
    assert [sorted(layer.files) for layer in layers] == [
        ["bin", "etc/passwd", "usr/lib/bash", "usr/lib/libc6"],
        ["usr/lib/python3"],
        ["usr/lib/libamdhip64-5", "usr/lib/libhsa", "var/lib/dpkg/status"],
        ["usr/local/lib/python3.13/dist-packages/kernels/__init__.py"],
    ]
    assert b"Package: libhsa\n" in layers[2].files["var/lib/dpkg/status"] and len(left_out) == 5  # type: ignore[operator]
    assert b"Package: gcc\n" not in layers[2].files["var/lib/dpkg/status"]  # type: ignore[operator]
