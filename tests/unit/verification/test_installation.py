"""What an environment holds against what its wheels hold."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path

import pytest

from stackbuild.core import digest
from stackbuild.store import atomic
from stackbuild.verification.installation import overwritten_files
from support.binaries import record, zipped
from support.stores import deep

ORT = {"onnxruntime/__init__.py": b"version = 1\n", "onnxruntime/capi/a.so": b"\x7fELF", "google/__init__.py": b"# namespace\n"}
FORGE = {"forge/__init__.py": b"import onnxruntime\n", "google/__init__.py": b"# namespace\n"}


def wheel(folder: Path, name: str, files: dict[str, bytes]) -> Path:
    info = f"{name}-1.0.dist-info"
    every = files | {f"{info}/METADATA": b"Name: x\n", f"{info}/WHEEL": b"Wheel-Version: 1.0\n"}
    path = folder / f"{name}-1.0-py3-none-any.whl"
    path.write_bytes(zipped(every | {f"{info}/RECORD": record(every, f"{info}/RECORD")}))
    return path


@pytest.fixture
def site(tmp_path: Path) -> Path:
    (tmp_path / "house").mkdir()
    made = tmp_path / "site"
    wheels = wheel(tmp_path, "forge", FORGE), wheel(tmp_path / "house", "onnxruntime", ORT)
    for each in wheels:
        install(each, made)
    return made


def install(path: Path, site: Path) -> None:
    with zipfile.ZipFile(path) as archive:
        archive.extractall(site)
    for folder in site.glob("*.dist-info"):
        (folder / "INSTALLER").write_text("pip\n")


def found(site: Path) -> list[str]:
    findings = overwritten_files(site, (site.parent / "forge-1.0-py3-none-any.whl",), site.parent / "house")
    return [f"{finding.subject}: {finding.found}" for finding in findings]


def test_wheels_that_share_nothing_but_equal_files(site: Path) -> None:
    assert found(site) == []


def test_a_wheel_with_another_ones_file(site: Path) -> None:
    evil = wheel(site.parent, "forge", FORGE | {"onnxruntime/__init__.py": b"version = 2\n"})
    install(evil, site)
    assert found(site) == ["forge + onnxruntime: 1 file of both in one place: onnxruntime/__init__.py"]


def test_files_that_were_changed_after_they_were_installed(site: Path) -> None:
    (site / "onnxruntime" / "capi" / "a.so").write_bytes(b"evil")
    (site / "forge" / "__init__.py").unlink()
    os.mkfifo(site / "forge" / "__init__.py")
    assert found(site) == [
        "forge: 1 file not as in its wheel: forge/__init__.py",
        "onnxruntime: 1 file not as in its wheel: onnxruntime/capi/a.so",
    ]


def test_a_record_that_was_changed_too_is_not_believed(site: Path) -> None:
    (site / "onnxruntime" / "__init__.py").write_bytes(b"evil\n")
    info = "onnxruntime-1.0.dist-info"
    (site / info / "RECORD").write_bytes(record({"onnxruntime/__init__.py": b"evil\n"}, f"{info}/RECORD"))
    assert found(site) == ["onnxruntime: 1 file not as in its wheel: onnxruntime/__init__.py"]


def test_files_that_no_wheel_has(site: Path) -> None:
    (site / "evil.pth").write_text("import os\n")
    (site / "onnxruntime" / "link.py").symlink_to("/etc/passwd")
    (site / "deep").symlink_to("/")
    assert found(site) == ["site-packages: 3 files that no wheel has: deep, evil.pth, onnxruntime/link.py"]


def test_a_wheel_without_hashes_is_compared_by_its_content(site: Path) -> None:
    info = "onnxruntime-1.0.dist-info"
    bare = "".join(f"{path},,\n" for path in ORT).encode()
    files = ORT | {f"{info}/METADATA": b"Name: x\n", f"{info}/WHEEL": b"Wheel-Version: 1.0\n", f"{info}/RECORD": bare}
    (site.parent / "house" / "onnxruntime-1.0-py3-none-any.whl").write_bytes(zipped(files))
    assert found(site) == []
    (site / "onnxruntime" / "__init__.py").write_bytes(b"evil\n")
    assert found(site) == ["onnxruntime: 1 file not as in its wheel: onnxruntime/__init__.py"]


@pytest.mark.parametrize("hashed", ["sha256=AAAAA", "sha256=é", "sha256=", "x" * 200_000])
def test_a_record_with_a_hash_that_is_none(site: Path, hashed: str) -> None:
    info = "onnxruntime-1.0.dist-info"
    bad = "".join(f"{path},{hashed},\n" for path in ORT).encode()
    files = ORT | {f"{info}/METADATA": b"Name: x\n", f"{info}/WHEEL": b"Wheel-Version: 1.0\n", f"{info}/RECORD": bad}
    (site.parent / "house" / "onnxruntime-1.0-py3-none-any.whl").write_bytes(zipped(files))
    assert found(site) == []


def test_no_more_is_read_than_the_wheels_hold(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []
    real = digest.of_open_file
    monkeypatch.setattr(digest, "of_open_file", lambda fd: (read.append(os.fstat(fd).st_size), real(fd))[1])
    for name in ("big", "onnxruntime/capi/a.so"):
        with (site / name).open("w") as file:
            os.truncate(file.fileno(), 64 << 30)
    assert found(site) == [
        "onnxruntime: 1 file not as in its wheel: onnxruntime/capi/a.so",
        "site-packages: 1 file that no wheel has: big",
    ]
    assert read and max(read) < 1000


def test_folders_too_deep_for_a_path(site: Path) -> None:
    deep(site, 2500)
    (text,) = found(site)
    assert text.startswith("forge-1.0-py3-none-any.whl: its code or another's changed site-packages: it holds folders 129 deep")
    atomic.remove(site)  # pytest cannot


def test_site_packages_that_are_gone(site: Path) -> None:
    atomic.remove(site)
    assert "cannot be read" in found(site)[0]
