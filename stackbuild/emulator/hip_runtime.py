"""The stand-ins of ROCm's host libraries: compiled for what a wheel asks for, by soname, symbol and symbol version."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from stackbuild.core.errors import MachineLacks, UsageError
from stackbuild.emulator.native_library import NATIVE, compile_library
from stackbuild.inspection.readers.budget import ReadBudget
from stackbuild.inspection.readers.loader import NEEDED_TAG, ElfImage
from stackbuild.inspection.readers.source import LooseFile

RUNTIME = re.compile(r"libamdhip64\.so\.(\d+)")
MAJORS = (5, 6, 7)
_HIPBLAS = (1, 2, 3)
_CALL = re.compile(r"_*hip\w+")
_EXPORTED_NAME = re.compile(r"^EXPORT\s+[^;={]*?(\w+)\(", re.MULTILINE)
_PLAIN_VERSION = "stackbuild_emulator"


@dataclass(frozen=True)
class HostImports:
    """What libraries ask of the HIP runtime: its soname, and each symbol with the version that is asked for ('': none)."""

    soname: str
    versions: Mapping[str, str]

    @property
    def major(self) -> int:
        """N of `libamdhip64.so.N`."""
        match = RUNTIME.fullmatch(self.soname)
        return int(match[1]) if match else 0


def imports_of(libraries: Iterable[Path]) -> HostImports | None:
    """What these libraries together ask of the HIP runtime, or None where none of them needs it.

    Raises UsageError where they need two of it, or a version that has no stand-in.
    """
    sonames: set[str] = set()
    versions: dict[str, str] = {}
    for path in libraries:
        image = ElfImage(LooseFile(path, path.name, path.stat().st_size), ReadBudget(path.stat().st_size))
        needed_libraries = [name for name in image.names(NEEDED_TAG) if RUNTIME.fullmatch(name)]
        sonames.update(needed_libraries)
        if needed_libraries:
            runtime_versions = {
                name: version
                for name, (file, version) in image.required_versions().items()
                if _is_of(name, file, needed_libraries)
            }
            for name, version in runtime_versions.items():
                if versions.setdefault(name, version) != version:
                    raise UsageError(
                        f"{name} is asked for in the versions {versions[name]} and {version}", where=path.name
                    )
    if not sonames:
        return None
    if len(sonames) > 1:
        raise UsageError(f"its libraries need {' and '.join(sorted(sonames))}: a process has one HIP runtime")
    imports = HostImports(sonames.pop(), versions)
    if imports.major not in MAJORS:
        raise UsageError(
            f"there is no stand-in of {imports.soname}", next=f"there is one of versions {', '.join(map(str, MAJORS))}"
        )
    return imports


def _is_of(name: str, file: str, runtimes: list[str]) -> bool:
    """Whether an undefined symbol is the HIP runtime's: by the library of its version, else by its name."""
    return file in runtimes if file else _CALL.fullmatch(name) is not None


def implemented_calls() -> frozenset[str]:
    """The calls that the stand-in has."""
    sources = [path for path in sorted((NATIVE / "hip").glob("*.c")) if path.name != "blas.c"]
    return frozenset(name for path in sources for name in _EXPORTED_NAME.findall(path.read_text("utf-8")))


def lacking(imports: HostImports) -> tuple[str, ...]:
    """What libraries ask for and the stand-in lacks: each of these calls fails, and its name is said."""
    return tuple(sorted(imports.versions.keys() - implemented_calls()))


def runtime_folder(imports: HostImports, cache: Path) -> Path:
    """A folder for LD_LIBRARY_PATH with the stand-ins of the HIP runtime and of hipBLAS.

    They are compiled at the first use. Raises MachineLacks where there is no C compiler, or the path divides that variable.
    """
    if set(str(cache)) & set(":;"):
        raise MachineLacks(
            "the loader divides paths at a colon and a semicolon, and the store has one in its path",
            where=str(cache), next="set STACKBUILD_STORE to another path", topic="emulator",
        )  # fmt: skip
    sources = [*sorted(NATIVE.glob("*.c")), *(p for p in sorted((NATIVE / "hip").glob("*.c")) if p.name != "blas.c")]
    library = compile_library(
        sources, imports.soname, cache, defines=(f"HIP_MAJOR={imports.major}",), generated_code=_stubs(lacking(imports)),
        versions=_version_script(imports), libraries=("-ldl", "-lm"),
    )  # fmt: skip
    blas = compile_library(
        [NATIVE / "hip" / "blas.c"],
        "libhipblas.so",
        cache,
        defines=(f"HIP_MAJOR={imports.major}",),
        libraries=(str(library),),
    )
    for number in _HIPBLAS:
        link = library.parent / f"libhipblas.so.{number}"
        if not link.exists():
            link.unlink(missing_ok=True)
            link.symlink_to(blas)
    return library.parent


def _stubs(names: Iterable[str]) -> str:
    """A C source with a call that says its name for each of these."""
    lines = [
        f'__attribute__((visibility("default"))) int {name}(void) {{ return refuse_call("{name}"); }}'
        for name in names
    ]
    return "\n".join(["int refuse_call(const char *name);", *lines, ""])


def _version_script(imports: HostImports) -> str:
    """A linker's version script: each symbol in the version that is asked for, the others in a version of our own."""
    groups: dict[str, list[str]] = {}
    for name in sorted(imports.versions.keys() | implemented_calls()):
        groups.setdefault(imports.versions.get(name) or _PLAIN_VERSION, []).append(name)
    return "\n".join(
        f"{version} {{ global: {' '.join(f'{name};' for name in names)}{' local: *;' if version == _PLAIN_VERSION else ''} }};"
        for version, names in sorted(groups.items())
    )
