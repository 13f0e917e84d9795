"""The tables of a HIPIFY installation as one value: what CUDA names become, and what has no counterpart.

Nothing is vendored: `tables.hipify_tools` makes a `Tables` on the user's machine from the HIPIFY found there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from stackbuild.core.digest import Json

FORMAT = 4  # of the cached JSON: raise it when the parsers read more

Flavour = Literal["hip", "roc", "miopen"]
FLAVOURS: tuple[Flavour, ...] = ("hip", "roc", "miopen")


@dataclass(frozen=True)
class Subst:
    """One substitution of HIPIFY: `cuda` becomes `hip`; `group` is the API group it is counted under."""

    cuda: str
    hip: str
    group: str

    @property
    def header(self) -> bool:
        """Whether this renames a header and not an identifier."""
        return self.group.startswith("include")


@dataclass(frozen=True)
class Versions:
    """Since when a HIP name exists and until when: ROCm versions as HIPIFY prints them, "" where it prints none."""

    added: str = ""
    deprecated: str = ""
    removed: str = ""


@dataclass(frozen=True)
class HostCall:
    """One argument rewrite of hipify-perl: for these functions, its regular expression and replacement as written."""

    functions: tuple[str, ...]
    pattern: str
    replacement: str


@dataclass(frozen=True, eq=False)
class Tables:
    """All of it. `tool` names the HIPIFY and its version, `digest` is the sha256 over the files it was read from.

    `unsupported` maps a CUDA name to what lacks it: hip, roc, miopen, hipdnn, device_function, device_type.
    `deprecated` and `removed` map a CUDA name to the CUDA version; `experimental` to the HIP version.
    """

    tool: str
    digest: str
    simple: tuple[Subst, ...]
    roc: tuple[Subst, ...] = ()
    miopen: tuple[Subst, ...] = ()
    trial: tuple[Subst, ...] = ()
    unsupported: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    deprecated: Mapping[str, str] = field(default_factory=dict)
    removed: Mapping[str, str] = field(default_factory=dict)
    experimental: Mapping[str, str] = field(default_factory=dict)
    whitelist: tuple[str, ...] = ()
    versions: Mapping[str, Versions] = field(default_factory=dict)
    host_calls: tuple[HostCall, ...] = ()
    device_types_count: bool = True

    def substitutions_in_order(self, flavour: Flavour, experimental: bool) -> tuple[Subst, ...]:
        """The substitutions in the order hipify-perl makes them; of several for one name the first wins."""
        first = {"hip": (), "roc": self.roc + self.miopen, "miopen": self.miopen}[flavour]
        return first + (self.trial if experimental else ()) + self.simple


def to_json(tables: Tables) -> Json:
    """The cached form of tables: lists, since they load fastest."""

    def rows(substs: tuple[Subst, ...]) -> list[Json]:
        return [[s.cuda, s.hip, s.group] for s in substs]

    return {
        "format": FORMAT,
        "tool": tables.tool,
        "digest": tables.digest,
        "simple": rows(tables.simple),
        "roc": rows(tables.roc),
        "miopen": rows(tables.miopen),
        "trial": rows(tables.trial),
        "unsupported": {name: list(by) for name, by in tables.unsupported.items()},
        "deprecated": dict(tables.deprecated),
        "removed": dict(tables.removed),
        "experimental": dict(tables.experimental),
        "whitelist": list(tables.whitelist),
        "versions": {name: [v.added, v.deprecated, v.removed] for name, v in tables.versions.items()},
        "host_calls": [[list(c.functions), c.pattern, c.replacement] for c in tables.host_calls],
        "device_types_count": tables.device_types_count,
    }


def from_json(data: dict[str, Json]) -> Tables:
    """The tables of a cached form. Raises KeyError, TypeError or ValueError where it is of another format."""
    if data["format"] != FORMAT:
        raise ValueError(f"format {data['format']}")

    def rows(key: str) -> tuple[Subst, ...]:
        return tuple(Subst(*row) for row in data[key])  # type: ignore[misc, union-attr]

    return Tables(
        tool=str(data["tool"]),
        digest=str(data["digest"]),
        simple=rows("simple"),
        roc=rows("roc"),
        miopen=rows("miopen"),
        trial=rows("trial"),
        unsupported={name: tuple(by) for name, by in data["unsupported"].items()},  # type: ignore[union-attr, arg-type]
        deprecated=data["deprecated"],  # type: ignore[arg-type]
        removed=data["removed"],  # type: ignore[arg-type]
        experimental=data["experimental"],  # type: ignore[arg-type]
        whitelist=tuple(data["whitelist"]),  # type: ignore[arg-type]
        versions={name: Versions(*row) for name, row in data["versions"].items()},  # type: ignore[union-attr, misc]
        host_calls=tuple(HostCall(tuple(c[0]), c[1], c[2]) for c in data["host_calls"]),  # type: ignore[union-attr, index, arg-type]
        device_types_count=bool(data["device_types_count"]),
    )
