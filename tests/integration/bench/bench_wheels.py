"""Packs a folder with a package into a wheel that pip installs: what the tests measure."""

from __future__ import annotations

import zipfile
from pathlib import Path


def pack(package: Path, out: Path, version: str = "1.0") -> Path:
    """The package as `NAME-VERSION-py3-none-any.whl` in `out` (which is made)."""
    out.mkdir(parents=True, exist_ok=True)
    name = package.name
    info = f"{name}-{version}.dist-info"
    wheel = out / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(p for p in package.rglob("*") if p.is_file() and "__pycache__" not in p.parts):
            archive.write(file, f"{name}/{file.relative_to(package)}")
        archive.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        archive.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr(f"{info}/RECORD", "")
    return wheel
