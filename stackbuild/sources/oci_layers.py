"""The layers of an OCI image, unpacked into a root file system.

Layers are unpacked by tar in a sandbox of their own (`tree_archive`). A layer that plants a link to the machine's files
and writes through it reaches a read-only file system.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path, PurePosixPath

from stackbuild.core.errors import StepFailed
from stackbuild.sources.oci import Layout
from stackbuild.sources.tree_archive import DEVICES, extract, member_names
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
        extract(layer, root, "a layer", (f"{WHITEOUT}*", *DEVICES), keeps_modes=True)


def _apply_whiteouts(layer: Path, root: Path) -> None:
    """Remove what the layer says is no longer there; nothing is followed out of the root."""
    members = map(PurePosixPath, member_names(layer))
    names = [path for path in members if path.name.startswith(WHITEOUT)]
    for name in names:
        parent = root / name.parent
        hidden_name = name.name.removeprefix(WHITEOUT)
        inside = ".." not in name.parts and not name.is_absolute() and parent.resolve().is_relative_to(root.resolve())
        if hidden_name in ("", ".", "..") or not inside:
            raise StepFailed(f"the whiteout {str(name)!r} is refused", where=str(layer))
        if name.name == OPAQUE:
            paths = list(parent.iterdir()) if parent.is_dir() else []
        elif hidden_name.startswith(WHITEOUT):
            continue  # the format keeps these names to itself
        else:
            paths = [parent / hidden_name]
        for path in paths:
            if path.is_dir() and not path.is_symlink():
                atomic.remove(path)
            else:
                path.unlink(missing_ok=True)
