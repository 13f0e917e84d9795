"""The layers of an OCI image, unpacked into a root file system.

Layers are unpacked by tar in a sandbox of their own that can write to the new root and to nothing else. A layer that
plants a link to the machine's files and writes through it reaches a read-only file system.
"""

from __future__ import annotations

import tarfile
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

from stackbuild.core.errors import StepFailed
from stackbuild.runners import bwrap
from stackbuild.sources.oci import Layout
from stackbuild.store import atomic

WHITEOUT = ".wh."
OPAQUE = ".wh..wh..opq"


def unpack(layout: Layout, root: Path) -> None:
    """Put the image's files into the empty folder `root`."""
    unpack_layers(layout.layers(), root)


def unpack_layers(layers: Iterable[Path], root: Path) -> None:
    """Put the files of layers, lowest first, into the empty folder `root`. Their bytes are checked already."""
    for layer in layers:
        _apply_whiteouts(layer, root)
        _extract(layer, root)


def _apply_whiteouts(layer: Path, root: Path) -> None:
    """Remove what the layer says is no longer there; nothing is followed out of the root."""
    try:
        with tarfile.open(layer) as tar:
            names = [PurePosixPath(m.name) for m in tar if PurePosixPath(m.name).name.startswith(WHITEOUT)]
    except tarfile.TarError as error:
        raise StepFailed(f"a layer cannot be read: {error}", where=str(layer)) from None
    for name in names:
        parent = root / name.parent
        hidden = name.name.removeprefix(WHITEOUT)
        inside = ".." not in name.parts and not name.is_absolute() and parent.resolve().is_relative_to(root.resolve())
        if hidden in ("", ".", "..") or not inside:
            raise StepFailed(f"the whiteout {str(name)!r} is refused", where=str(layer))
        if name.name == OPAQUE:
            paths = list(parent.iterdir()) if parent.is_dir() else []
        elif hidden.startswith(WHITEOUT):
            continue  # the format keeps these names to itself
        else:
            paths = [parent / hidden]
        for path in paths:
            if path.is_dir() and not path.is_symlink():
                atomic.remove(path)
            else:
                path.unlink(missing_ok=True)


def _extract(layer: Path, root: Path) -> None:
    sandbox = bwrap.Bwrap(
        bwrap.bwrap_path(),
        root=("--ro-bind", "/", "/"),
        mounts=("--dir", "/tmp/root", "--bind", str(root), "/tmp/root", "--ro-bind", str(layer), "/tmp/layer"),
        env=(("PATH", "/usr/bin:/bin"), ("LANG", "C.UTF-8")),
        capabilities=("CAP_DAC_OVERRIDE",),  # a layer may write into a folder that an earlier one made read-only
    )
    words = [
        "tar",
        "--extract",
        "--file=/tmp/layer",
        "--directory=/tmp/root",
        "--no-same-owner",
        "--delay-directory-restore",
    ]
    code, output = sandbox.run(*words, f"--exclude={WHITEOUT}*", "--exclude=dev/*", "--exclude=./dev/*")
    if code != 0:
        raise StepFailed(f"a layer cannot be unpacked: {output.strip()[-400:]}", where=str(layer))
