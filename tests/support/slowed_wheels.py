"""What the tests of measuring measure: a small model, and wheels `onnxruntime` whose runs are slower by a known share."""

from __future__ import annotations

import shutil
import subprocess
import zipfile
from collections.abc import Callable
from pathlib import Path

from stackbuild.bench.nets.graph import Graph

RunCommand = Callable[..., "subprocess.CompletedProcess[str]"]
"""`stackbuild ARGUMENTS` in a process of its own."""


def small_model(folder: Path) -> Path:
    """Some hundred microseconds of matrix products, `small.onnx`."""
    graph = Graph("small")
    x = graph.input("x", ("batch", 256))
    for _ in range(4):
        x = graph.op("Relu", graph.linear(x, 256, 256))
    graph.output("y", x, ("batch", 256))
    graph.save(folder / "small.onnx")
    return folder / "small.onnx"


def slowed(folder: Path, share: float) -> Path:
    """A wheel `onnxruntime` whose runs take that share longer than the installed one's."""
    package = folder / f"slowed-{share}" / "onnxruntime"
    shutil.copytree(Path(__file__).with_name("slowed"), package)
    init = package / "__init__.py"
    init.write_text(init.read_text().replace("SHARE = 0.0", f"SHARE = {share}"))
    return pack(package, folder / "wheels", f"1.{round(share * 1000)}")


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
