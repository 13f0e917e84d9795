"""Wheels of the bundled kernels, as they were built or with their device code changed."""

from __future__ import annotations

import base64
import hashlib
import zipfile
from collections.abc import Callable
from pathlib import Path

HIP_LIBRARY = "stackbuild_kernels/libstackbuild_kernels_hip.so"
_WHEEL = "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: false\nTag: py3-none-manylinux_2_36_x86_64\n"


def kernels_wheel(package: Path, out: Path, change: Callable[[bytes], bytes] = bytes) -> Path:
    """A wheel of the package `stackbuild_kernels`, its HIP library changed by a function of its bytes."""
    members = _members(package)
    members[HIP_LIBRARY] = change(members[HIP_LIBRARY])
    return _wheel(package.name, members, out)


def package_wheel(package: Path, out: Path) -> Path:
    """A wheel of one import package, as it was built."""
    return _wheel(package.name, _members(package), out)


def _members(package: Path) -> dict[str, bytes]:
    return {f"{package.name}/{path.name}": path.read_bytes() for path in sorted(package.iterdir()) if path.is_file()}


def _wheel(name: str, members: dict[str, bytes], out: Path) -> Path:
    out.mkdir(parents=True, exist_ok=True)
    info = f"{name}-0.1.0.dist-info"
    metadata = f"Metadata-Version: 2.1\nName: {name.replace('_', '-')}\nVersion: 0.1.0\n"
    members |= {f"{info}/METADATA": metadata.encode(), f"{info}/WHEEL": _WHEEL.encode()}
    rows = [f"{path},sha256={_digest(data)},{len(data)}" for path, data in members.items()]
    members[f"{info}/RECORD"] = "\n".join([*rows, f"{info}/RECORD,,", ""]).encode()
    wheel = out / f"{name}-0.1.0-py3-none-manylinux_2_36_x86_64.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for path, data in members.items():
            archive.writestr(path, data)
    return wheel


def _digest(data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")
