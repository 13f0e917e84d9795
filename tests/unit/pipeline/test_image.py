"""An image for one GPU target: which files and packages are in which layer, and what is left out."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from stackbuild.build.order import Order
from stackbuild.core.errors import UsageError
from stackbuild.model.plan import Step
from stackbuild.pipeline import image
from stackbuild.recipe.load import load
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
    assert image._Targets("gfx1100", left_out).keeps(path, file) is kept
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
    made = image._Made(base.root, Step("base", "debian"), "3.13", (), (), ())
    site = {"own": tmp_path / "own", "runtime": tmp_path / "runtime"}
    left_out: dict[str, int] = {}
    found = image._layers(base, made, site, frozenset(["libamdhip64-5"]), image._Targets("gfx1100", left_out))
    assert [sorted(layer.files) for layer in found] == [
        ["bin", "etc/passwd", "usr/lib/bash", "usr/lib/libc6"],
        ["usr/lib/python3"],
        ["usr/lib/libamdhip64-5", "usr/lib/libhsa", "var/lib/dpkg/status"],
        ["usr/local/lib/python3.13/dist-packages/kernels/__init__.py"],
    ]
    assert b"Package: libhsa\n" in found[2].files["var/lib/dpkg/status"] and len(left_out) == 5  # type: ignore[operator]
    assert b"Package: gcc\n" not in found[2].files["var/lib/dpkg/status"]  # type: ignore[operator]


def test_a_root_for_the_image_has_the_base_s_suite_and_versions() -> None:
    params = (("extract", '["libmigraphx-c3"]'), ("package libc6", "2.43"), ("packages", '["cmake"]'), ("suite", "sid"))
    step = image.runtime_step(Step("base", "debian", params=params), ["libmigraphx-c3"])
    assert dict(step.params) == {
        "extract": "[]",
        "package libc6": "2.43",
        "packages": '["libmigraphx-c3","python3"]',
        "suite": "sid",
    }
    assert step.key != Step("base", "debian", params=params).key


def test_one_onnxruntime_is_enough() -> None:
    runtime = (Path("onnxruntime-1.32.0-cp314-x.whl"), Path("numpy-2-cp314-x.whl"))
    own = (Path("onnxruntime_migraphx-1.22.1+rocm.6.4-cp314-cp314-linux_x86_64.whl"),)
    assert image._without(runtime, own) == runtime[1:]
    assert image._without(runtime, (Path("onnxruntime_ep_migraphx-1-py3-none-x.whl"),)) == runtime


def test_a_wheel_of_another_python_is_left_out() -> None:
    assert image._fits(Path("a-1-cp314-cp314-linux_x86_64.whl"), "3.14")
    assert image._fits(Path("a-1-py3-none-linux_x86_64.whl"), "3.13")
    assert not image._fits(Path("a-1-cp314-cp314-linux_x86_64.whl"), "3.13")


def test_a_copy_that_breaks_off_leaves_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = tmp_path / "made"
    made.mkdir()
    (made / "oci-layout").touch()

    def full(source: Path, target: Path) -> None:
        shutil.copytree(source, target)
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched, pytest.raises(OSError, match="No space"):
        patched.setattr(shutil, "move", full)
        image._place(made, tmp_path / "dist" / "image", "run")
    assert not list((tmp_path / "dist").iterdir())
    image._place(made, tmp_path / "dist" / "image", "run")
    assert [path.name for path in (tmp_path / "dist").iterdir()] == ["image"]


def test_what_cannot_be_is_said_before_anything_is_built(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no target gfx906"):
        image.image(load("debian-13"), Order(), "gfx906", tmp_path / "new", ())
    with pytest.raises(UsageError, match="there already"):
        image.image(load("debian-13"), Order(), "gfx1100", tmp_path, ())
