"""Commands in a root of an image: pip in its base, and the proof that its packages load."""

from __future__ import annotations

import sys
from pathlib import Path

from stackbuild.core.errors import StepFailed
from stackbuild.runners import bwrap
from stackbuild.sources.oci import Layout
from stackbuild.sources.oci_layers import unpack

PATH = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

PROBE = """\
import importlib, sys
for name in sys.argv[1:]:
    module = importlib.import_module(name)
    path = getattr(module, "get_library_path", lambda: "")()
    if path and hasattr(module, "get_ep_name"):
        import onnxruntime
        onnxruntime.register_execution_provider_library(module.get_ep_name(), path)
    elif path:
        import onnxruntime
        onnxruntime.SessionOptions().register_custom_ops_library(path)
    said = ", ".join(module.get_available_providers()) if name == "onnxruntime" else ""
    print("loaded", name, getattr(module, "__version__", ""), said, path)
"""
"""Loads each package as a user does: a provider is registered, a custom-op library too, which loads it and what it needs."""


def sandbox_of(root: Path, mounts: tuple[str, ...], env: tuple[tuple[str, str], ...] = ()) -> bwrap.Bwrap:
    """A sandbox whose root file system is `root`, read-only, with these mounts and variables more."""
    usual = (("PATH", PATH.partition("=")[2]), ("HOME", "/tmp"), ("LANG", "C.UTF-8"), ("PYTHONDONTWRITEBYTECODE", "1"))
    return bwrap.Bwrap(bwrap.bwrap_path(), root=("--ro-bind", str(root), "/"), mounts=mounts, env=(*usual, *env))


def loaded_packages(layout: Layout, scratch: Path, packages: tuple[str, ...]) -> tuple[str, ...]:
    """Unpack the image that was written, and load these packages in it. Raises StepFailed."""
    root = scratch / "root"
    root.mkdir()
    unpack(layout, root)
    code, output = sandbox_of(root, ()).run("python3", "-c", PROBE, *packages)
    lines = tuple(line.strip() for line in output.splitlines() if line.startswith("loaded "))
    if code or len(lines) != len(packages):
        raise StepFailed(
            f"the image was written and its packages do not load in it: {output.strip()[-800:]}",
            where=", ".join(packages),
            next=f"{Path(sys.argv[0]).name} verify says what the wheels need",
        )
    return lines
