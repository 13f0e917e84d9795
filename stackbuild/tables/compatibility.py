"""The compatibility table, `recipes/compatibility.yaml`: what goes with what, who says so, and how sure it is."""

from __future__ import annotations

from functools import cache
from typing import Literal

from stackbuild.core import yaml
from stackbuild.core.model import Field, Model
from stackbuild.core.resources import folder
from stackbuild.core.versions import numbers, series

GfxStatus = Literal["supported", "built", "tested"]


class Row(Model):
    """What every row has: its claim and where it was read."""

    status: GfxStatus
    source: str = Field(min_length=1)


class RocmRow(Row):
    version: str
    soname: int


class MIGraphXRow(Row):
    rocm: str
    ref: str
    commit: str
    version: str
    rocmlir: str
    onnxruntime: str


class OnnxRuntimeRow(Row):
    rocm: str
    version: str
    distribution: str
    page: str = Field(default="", description="The name of the page that lists the wheel's addresses.")


class IndexWheelRow(Row):
    """A wheel of the package index; `gfx` is empty where it has no code objects, and its ROCm's targets count."""

    distribution: str
    version: str
    rocm: str
    gfx: tuple[str, ...]
    beside: tuple[str, ...] = Field(default=(), description="What it needs and does not require.")


class PythonRow(Row):
    onnxruntime: str
    versions: tuple[str, ...]


class GfxRow(Row):
    rocm: tuple[str, ...]
    targets: tuple[str, ...]


class DriverRow(Row):
    amdgpu: str
    rocm: tuple[str, ...]


class CMakeRow(Row):
    component: str
    since: str
    least: str


class Table(Model):
    """The whole table."""

    schema_: Literal[1] = Field(alias="schema")
    rocm: tuple[RocmRow, ...]
    migraphx: tuple[MIGraphXRow, ...]
    onnxruntime: tuple[OnnxRuntimeRow, ...]
    pages: dict[str, str]
    index_wheels: tuple[IndexWheelRow, ...]
    python: tuple[PythonRow, ...]
    gfx: tuple[GfxRow, ...]
    driver: tuple[DriverRow, ...]
    cmake: tuple[CMakeRow, ...]

    def line(self, rocm: str) -> RocmRow | None:
        """The release line of a ROCm version, 6.4 for 6.4.4."""
        return next((r for r in self.rocm if r.version == series(rocm)), None)

    def targets(self, rocm: str) -> dict[str, GfxRow]:
        """The GPU targets of a ROCm version, each with the row of its strongest claim."""
        rows = sorted((r for r in self.gfx if series(rocm) in r.rocm), key=lambda r: r.status != "supported")
        by_target: dict[str, GfxRow] = {}
        for row in rows:
            for target in row.targets:
                by_target.setdefault(target, row)
        return by_target

    def latest_migraphx(self, rocm: str) -> MIGraphXRow | None:
        """MIGraphX of that ROCm version: its own row, else the last of its line where only a line was named."""
        exact = [r for r in self.migraphx if r.rocm == rocm]
        line = [r for r in self.migraphx if series(r.rocm) == rocm]
        return max(exact or line, key=lambda r: numbers(r.rocm), default=None)

    def driver_row(self, amdgpu: str) -> DriverRow | None:
        """The row of an amdgpu driver's version, 30.30 for 30.30.1."""
        return next((r for r in self.driver if f"{amdgpu}.".startswith(f"{r.amdgpu}.")), None)

    def migraphx_at(self, ref: str, rocm: str = "") -> MIGraphXRow | None:
        """The row of a MIGraphX tag or commit, of that ROCm's line where several lines have it; None for a branch, or a commit
        that the table does not have."""
        named_rows = [r for r in self.migraphx if r.ref == ref]
        same = [r for r in self.migraphx if len(ref) >= 7 and (r.commit.startswith(ref) or ref.startswith(r.commit))]
        of_line = [r for r in (*named_rows, *same) if rocm and series(r.rocm) == series(rocm)]
        return next(iter((*of_line, *named_rows, *same)), None)

    def pythons(self, onnxruntime: str) -> PythonRow | None:
        """The Pythons of an ONNX Runtime version: those of the last release listed that is not newer."""
        older = [r for r in self.python if numbers(r.onnxruntime) <= numbers(onnxruntime)[:2]]
        return max(older, key=lambda r: numbers(r.onnxruntime), default=None)


UBUNTU_PYTHON = {"22.04": "3.10", "24.04": "3.12"}
"""The only Python with a pip in AMD's images, by their Ubuntu: the distribution's own."""


@cache
def table() -> Table:
    """The table that ships with stackbuild."""
    path = folder("recipes") / "compatibility.yaml"
    data, _ = yaml.compose(path.read_text("utf-8"), str(path))
    return Table.model_validate(data)
