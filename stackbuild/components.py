"""The kinds of components a recipe may list. A new kind is a class here, a module in `stackbuild/steps/` and a line in its
registry; the descriptions of the fields are the recipe reference.
"""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Annotated, Literal

from stackbuild.model import Field, Model, field_validator

Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]{0,47}$")]
"""A name of a component or source: lower case letters, digits, `-` and `_`; it becomes a path, `/build/NAME`."""

Scalar = bool | int | float | str
EnvName = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
Argv = Annotated[tuple[str, ...], Field(min_length=1)]


class Component(Model):
    """What every kind of component has."""

    needs: tuple[Name, ...] = Field((), description="Components whose output this one uses, at `/deps/NAME`.")
    env: dict[EnvName, str] = Field({}, description="Environment of its commands, beside the fixed one.")
    memory: str = Field("1G", pattern=r"^[1-9][0-9]*[MG]$", description="Memory it may use, such as `500M` or `8G`.")


class Script(Component):
    """Commands of your own, run in order in `/build/NAME`; what they leave in `/out` is the output."""

    kind: Literal["script"]
    source: Name | None = Field(None, description="The source, seen read-only at `/src/NAME`.")
    run: tuple[Argv, ...] = Field(min_length=1, description="Commands, each a list of arguments: no shell is involved.")


class CMake(Component):
    """A CMake project: configured, built and installed into `/out`."""

    kind: Literal["cmake"]
    source: Name = Field(description="The source, seen read-only at `/src/NAME`.")
    subfolder: str = Field(".", description="Folder of the CMakeLists.txt inside the source.")
    options: dict[str, Scalar] = Field({}, description="CMake cache entries, given as `-DNAME=VALUE`.")
    generator: Literal["Ninja", "Unix Makefiles"] = Field("Ninja", description="CMake's generator.")
    uses_gfx: str | None = Field(
        None, description="The option that takes the recipe's gfx targets, such as `GPU_TARGETS`."
    )
    components: tuple[str, ...] = Field((), description="Install components to install; all where empty.")

    @field_validator("subfolder")
    @classmethod
    def _inside(cls, path: str) -> str:
        if PurePosixPath(path).is_absolute() or ".." in PurePosixPath(path).parts:
            raise ValueError("a subfolder lies inside its source")
        return path


class Kernels(Component):
    """The bundled HIP kernels: device code for every gfx target and a CPU implementation beside it."""

    kind: Literal["kernels"]
    source: Name = Field(description="The kernels' source: usually `bundled: kernels`.")
    headers: Name | None = Field(None, description="A source with ONNX Runtime's C API, where the base has none.")
    options: dict[str, Scalar] = Field({}, description="More CMake cache entries.")


class Wheel(Component):
    """A wheel packed from the Python packages that another component installed into its output."""

    kind: Literal["wheel"]
    distribution: str = Field(
        pattern=r"^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$", description="The distribution's name."
    )
    version: str = Field(
        pattern=r"^[0-9][A-Za-z0-9.+!-]*$", description="Its version; a local part in the dotted form, `+rocm.6.4.4`."
    )
    summary: str = Field(description="One line for the wheel's metadata.")
    packages: tuple[str, ...] = Field(
        min_length=1, description="Import packages to take from the needed component's `/out`."
    )
    requires: tuple[str, ...] = Field((), description="Requires-Dist entries.")
    requires_python: str = Field(">=3.9", description="Requires-Python.")
    external: tuple[str, ...] = Field(
        (),
        description="Sonames the user's ROCm provides, such as `libamdhip64.so.5`: not grafted, not held against the tag.",
    )
    license: str = Field("MIT", description="SPDX licence expression.")

    @field_validator("needs")
    @classmethod
    def _needs_one(cls, needs: tuple[str, ...]) -> tuple[str, ...]:
        if len(needs) != 1:
            raise ValueError("a wheel needs exactly the one component it packs")
        return needs


AnyComponent = Annotated[Script | CMake | Kernels | Wheel, Field(discriminator="kind")]
