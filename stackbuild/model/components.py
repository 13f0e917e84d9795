"""The kinds of components a recipe may list. A new kind is a class here, a module in `stackbuild/plan/steps/` and a line in its
registry; the descriptions of the fields are the recipe reference.
"""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import Annotated, Literal

from stackbuild.core.model import NAME_MAX, Field, Model, field_validator, model_validator
from stackbuild.core.sizes import SIZE, size_of
from stackbuild.tables.near_words import nearest

Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]{0,47}$")]
"""A name of a component or source: lower case letters, digits, `-` and `_`; it becomes a path, `/build/NAME`."""

Line = Annotated[str, Field(pattern=r"^[^\x00-\x1f\x7f\u0085\u2028\u2029]*$")]
"""One line of text: it becomes a line of a wheel's metadata."""

Scalar = bool | int | float | str
EnvName = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
Argv = Annotated[tuple[str, ...], Field(min_length=1)]


OptionName = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_.+-]*(:[A-Z]+)?$")]
"""A CMake cache entry's or meson option's name: `-DNAME=VALUE` is separated from what follows by it."""
_SPECIFIER = re.compile(r"(~=|===?|!=|<=?|>=?)\s*\d+(\.(\d+|\*))*")
_BARE_VALUE = re.compile(r"(\w+ *(?:~=|==|!=|<=?|>=?)) *([0-9][\w.]*)")
"""A comparison of a requirement's marker whose value has no quotes."""
REQUIREMENT = re.compile(
    r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?(\[[A-Za-z0-9._,-]+\])?"
    r"( *(===?|!=|~=|>=|<=|<|>) *[A-Za-z0-9.*+!]+( *, *(===?|!=|~=|>=|<=|<|>) *[A-Za-z0-9.*+!]+)*)?"
)
"""A name, extras and versions: what comes from the package index. pip would run the build of a URL's or folder's project."""


_NORMAL = re.compile(
    r"([1-9][0-9]*!)?(0|[1-9][0-9]*)(\.(0|[1-9][0-9]*))*((a|b|rc)[0-9]+)?(\.post[0-9]+)?(\.dev[0-9]+)?(\+[a-z0-9]+(\.[a-z0-9]+)*)?"
)
"""A version as installers write it; one that does not match is read with the library, which takes a while to load."""


_LICENSES = (
    "MIT", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "BSL-1.0", "ISC", "Zlib", "MPL-2.0", "LGPL-2.1-or-later", "GPL-2.0-only",
    "GPL-3.0-only", "GPL-3.0-or-later", "AGPL-3.0-only",
)  # fmt: skip
"""Licences that are often named, by their SPDX identifiers; any other expression is read with the library."""


_FAMILIES = {
    r"bsd(?:[- ]licen[cs]e)?": "`BSD-3-Clause` or `BSD-2-Clause`, whichever its text is", r"l?gpl": "its version too, such as `GPL-3.0-or-later`",
    r"gpl[- ]?v?3\+?": "`GPL-3.0-or-later` or `GPL-3.0-only`", r"gpl[- ]?v?2\+?": "`GPL-2.0-or-later` or `GPL-2.0-only`",
    r"(?:proprietary|closed|internal|all rights reserved|commercial|none|unlicensed)": "`LicenseRef-Proprietary`",
    r"public[- ]domain": "`CC0-1.0`, or `LicenseRef-Public-Domain`",
}  # fmt: skip
"""Words for several licences, and what to write for each."""


def _license(expression: str) -> str:
    """The licence expression as it is. Raises ValueError for one that is not of SPDX: an index refuses such a wheel."""
    if expression in _LICENSES:
        return expression
    from stackbuild.core.packaging import InvalidLicenseExpression, canonicalize_license_expression

    try:
        canonicalize_license_expression(expression)
    except InvalidLicenseExpression:
        near = nearest(re.sub(r"(?i)\b(the|licen[cs]e|version)\b", "", expression), list(_LICENSES))
        family = next(
            (each for word, each in _FAMILIES.items() if re.fullmatch(rf"(?i){word}", expression.strip())), ""
        )
        parts = [part for part in re.split(r"\s*(?:[,;/&+]|\band\b|\bor\b)\s*", expression) if part]
        if len(parts) > 1 and all(part in _LICENSES for part in parts):
            family = f"`{' AND '.join(parts)}`, or `OR` where a user may choose"
        advice = family or (
            f"`{near}`" if near else "its SPDX identifier, such as `Apache-2.0`; `LicenseRef-NAME` for one of your own"
        )
        raise ValueError(f"{expression!r} is not an SPDX licence expression; write {advice}") from None
    return expression


def _as_installed(version: str) -> str:
    """The version as it is. Raises ValueError for one that PEP 440 does not allow, or that installers write otherwise."""
    if _NORMAL.fullmatch(version):
        return version
    from stackbuild.core.packaging import InvalidVersion, Version

    try:
        normal = str(Version(version))
    except InvalidVersion:
        if series := re.fullmatch(r"([0-9]+(?:\.[0-9]+)*)\.[xX*]", version):
            raise ValueError(
                f"{version!r} is a series, not a version; write one of it, such as `{series[1]}.0`"
            ) from None
        head = re.match(r"[0-9]+(?:\.[0-9]+)*", version)
        tail = re.sub(r"[^a-z0-9]+", ".", version[len(head[0]) :].lower()).strip(".") if head else ""
        tail = re.sub(r"^rocm(?=\d)", "rocm.", tail)
        advice = f"`{head[0]}+{tail}`: what follows `+` is yours" if head and tail else "it such as `1.2.3`"
        raise ValueError(f"{version!r} is not a version of PEP 440; write {advice}") from None
    if normal != version:
        raise ValueError(f"{version!r} is {normal} to installers, and in the wheel's file name; write `{normal}`")
    return version


LEAST_MEMORY = 1 << 20
"""Less than this no step can have."""


class Component(Model):
    """What every kind of component has."""

    needs: tuple[Name, ...] = Field((), description="Components whose output this one uses, at `/deps/NAME`.")
    env: dict[EnvName, str] = Field(
        {}, description="Environment of its commands, over the fixed one; no value is expanded (docs/recipe-forms.md)."
    )
    memory: str = Field(
        "1G",
        pattern=SIZE,
        description="Memory it may use: a size such as `500M`, `8G` or `1.5 GiB` (docs/recipe-forms.md).",
    )

    @field_validator("memory")
    @classmethod
    def _enough(cls, memory: str) -> str:
        if size_of(memory) < LEAST_MEMORY:
            raise ValueError(f"{memory!r} is too little for any program; write such as `500M`, or leave the key out")
        return memory

    @field_validator("env")
    @classmethod
    def _as_written(cls, values: dict[str, str]) -> dict[str, str]:
        return refuse_expansion(values)


def refuse_joined(item: str) -> None:
    """Raises ValueError for an item that is several: `cmake, g++`, or `cmake g++` without a comma between."""
    parts = [part for part in re.split(r"\s*(?:,\s*-?|\s-)\s*|\s+", item) if part]
    if len(parts) > 1 and all(re.fullmatch(r"[A-Za-z_][\w+.\-]*(?:[=<>!~]=?[\w.]+)?", part) for part in parts):
        raise ValueError(f"{item!r} is several in one item; write each as an item of its own: [{', '.join(parts)}]")


_OPERATORS = {"=>": ">=", "=<": "<=", "=": "==", "@": "==", ":": "==", "": "==", "~>": "~="}
_COMPARISON = re.compile(
    r"(~=|~>|===?|!=|>=|=>|<=|=<|[<>=@:^~]|)\s*[vV]?(\d+(?:\.(?:\d+|\*))*[\w.]*)\s*(\+|or (?:newer|later|above|higher)|and up)?"
)


def comparisons_meant(text: str, bare: str = "==") -> str:
    """`>=1.2,<2` of `^1.2`, `(>=1.2 <2)` and `>= v1.2 and <2`; "" for what is not comparisons of versions.

    `bare` stands before a version that has no operator.
    """
    rest, parts = text.strip().strip("()").strip(), []
    while rest:
        match = _COMPARISON.match(rest)
        if match is None:
            return ""
        sign, version, newer = match[1], match[2], match[3]
        first = version.split(".")[0]
        if sign == "^":
            parts += [f">={version}", f"<{int(first) + 1}" if first.isdigit() else ""]
        elif sign == "~":
            parts.append(f"~={version}" if "." in version else f"=={version}.*")
        else:
            parts.append(f"{'>=' if newer else bare if not sign else _OPERATORS.get(sign, sign)}{version}")
        rest = re.sub(r"^\s*(?:,|;|&&?|and\b)?\s*", "", rest[match.end() :])
    return ",".join(part for part in parts if part)


def pinned_requirement(text: str) -> str:
    """`NAME==VERSION` of a text that names both in another way, such as `numpy@2.2.6` and `numpy>=2.2`; "" for any other."""
    match = re.match(r"\s*([A-Za-z]\w*(?:[.-][A-Za-z]\w*)*)(?:\[[\w,. -]*\])?\s*[^\w\s][^\dA-Za-z]*v?(\d[\w.]*\w|\d)", text)
    match = match or re.match(r"\s*([A-Za-z]\w*(?:[.-][A-Za-z]\w*)*)\s+v?(\d[\w.]*\w|\d)", text)
    version = re.sub(r"\.(tar\.\w+|zip|tgz|whl|x)$", "", match[2]) if match else ""
    return f"{match[1]}=={version}" if match and re.fullmatch(r"[0-9][A-Za-z0-9.]*", version) else ""


def requirement_meant(entry: str) -> str:
    """What to write for a text that is not a requirement: the one that was probably meant, or an example."""
    name = re.match(r"\s*([A-Za-z0-9][A-Za-z0-9._-]*(?:\[[\w,.-]+\])?)", entry)
    if name and "://" not in entry and (comparisons := comparisons_meant(entry[name.end() :])):
        return f"`{name[1]}{comparisons}`"
    requirement = entry.replace("=>", ">=").replace("=<", "<=")
    requirement = re.sub(r"(?<![=!~<>])=(?!=)", "==", re.sub(r"\s+", "", requirement)) if "@" not in requirement else ""
    if requirement != entry and REQUIREMENT.fullmatch(requirement):
        return f"`{requirement}`"
    return "a name and versions, such as `numpy>=2`: no options, no URLs"


STEP_PATH = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
"""The `PATH` that each step has (docs/recipe-forms.md)."""


def refuse_expansion(values: dict[str, str]) -> dict[str, str]:
    """The variables as they are. Raises ValueError for one that counts on a shell to fill it in."""
    for name, value in values.items():
        if _SHELL_EXPANSION.search(value) or re.match(r"~(?:/|$)", value):
            whole = re.sub(r"\$\{?PATH\b\}?", STEP_PATH, value) if name == "PATH" else re.sub(rf":?\$\{{?{name}\b\}}?:?", "", value)
            is_whole = whole and not _SHELL_EXPANSION.search(whole) and not whole.startswith("~")
            step = f"write `{name}: {whole}`" if is_whole else f"write the value of `{name}` out"
            raise ValueError(f"{value!r} is filled in by a shell, and none runs; {step}")
    return values


class Hipify(Model):
    """CUDA sources made HIP before the component's commands see them, by the code of `stackbuild hipify` (docs/hipify.md)."""

    rules: tuple[str, ...] = Field(
        ("generic",),
        description="Rule sets, by bundled name or as the path of a `.yaml` beside the recipe; the first wins.",
    )
    engine: Literal["fast", "perl", "clang"] = Field(
        "fast",
        description="fast: stackbuild's own · perl: hipify-perl makes the text · clang: the base's hipify-clang makes that of `.cu` files,"
        " for which the base needs CUDA's headers.",
    )
    clang_flags: tuple[str, ...] = Field(
        (),
        description="With `engine: clang`, what hipify-clang parses with, such as `-Iinclude`; paths are below the source.",
    )
    cuda: str | None = Field(
        None,
        pattern=r"^/[A-Za-z0-9._/+-]+$",
        description="With `engine: clang`, where the base has CUDA; hipify-clang looks for it where left out.",
    )
    include: tuple[str, ...] = Field(
        (), description="Globs of the files to convert; every C, C++ and CUDA file where empty."
    )
    exclude: tuple[str, ...] = Field((), description="Globs of files to leave as they are.")
    twins: Literal["refuse", "keep"] = Field(
        "refuse",
        description="Where a path rule would put a file over one that the source has: stop, or keep the hand-written one.",
    )
    rocm: str | None = Field(
        None,
        pattern=r"^[0-9]+\.[0-9]+(\.[0-9]+)?$",
        description="The ROCm version to convert for; the recipe's where left out.",
    )
    headers: tuple[Annotated[str, Field(pattern=r"^/[A-Za-z0-9._/+-]+$")], ...] = Field(
        ("/usr/include", "/opt/rocm/include"), description="The base's include folders, to resolve headers against."
    )
    launch: Literal["keep", "ggl"] = Field(
        "keep", description="keep: leave `<<<>>>` · ggl: make `hipLaunchKernelGGL` of it."
    )
    flavour: Literal["hip", "roc", "miopen"] = Field("hip", description="As `stackbuild hipify --flavour`.")
    experimental: bool = Field(False, description="Also convert APIs that HIPIFY calls experimental.")
    lint: bool = Field(True, description="Report what no mapping can fix.")
    strict: bool = Field(False, description="Fail where a finding is an error.")
    tool: Name | None = Field(
        None, description="A source with hipify-perl, such as `debian: hipify-perl`, where the base has no HIPIFY."
    )
    patches: str | None = Field(
        None,
        max_length=NAME_MAX,
        pattern=r"^[a-z0-9][a-z0-9._-]*(/[A-Za-z0-9][A-Za-z0-9._-]*)*$",
        description="A folder of patches for the converted source, below `patches/` beside the recipe or of stackbuild.",
    )


class Convertible(Component):
    """A component whose source may be CUDA."""

    hipify: Hipify | None = Field(None, description="Convert the source to HIP first.")


SHELL_WORDS = ("cd", "export", "source", "set", "if", "for", "pushd", "ulimit")
"""Commands that only a shell knows: no program has these names."""
_SHELL_EXPANSION = re.compile(r"\$\([a-z]|`|\$\{?(?!ORIGIN\b|LIB\b|PLATFORM\b)[A-Z][A-Z_]+\b")
"""What a shell fills in. `$ORIGIN` is the loader's, and `$(NAME)` is make's."""
_READ_DOLLARS = ("sh", "bash", "dash", "perl", "awk", "gawk", "sed", "python3", "cmake")
"""Programs that read a dollar in an argument themselves."""
_SHELL = ("&&", "||", "|", ">", ">>", "<", "2>&1", "&")


def _without_shell(command: tuple[str, ...]) -> str:
    """What to write in place of a command that only a shell has."""
    assignment = re.fullmatch(r"([A-Za-z_]\w*)=(.*)", command[1]) if len(command) == 2 else None
    if command[0] == "export" and assignment:
        return f"remove it, and write `env: {{{assignment[1]}: {assignment[2]}}}` in the component"
    if command[0] in ("cd", "pushd") and len(command) == 2:
        return f"join it with the command that follows: `[sh, -c, 'cd {command[1]} && COMMAND']`"
    return f"write `[sh, -c, '{' '.join(command)}']`"


class Script(Convertible):
    """Commands of your own, run in order in `/build/NAME`; what they leave in `/out` is the output."""

    kind: Literal["script"]
    source: Name | None = Field(None, description="The source, seen read-only at `/src/NAME`.")
    run: tuple[Argv, ...] = Field(min_length=1, description="Commands, each a list of arguments: no shell is involved.")

    @field_validator("run")
    @classmethod
    def _without_shell(cls, commands: tuple[Argv, ...]) -> tuple[Argv, ...]:
        """A word of a shell would be handed to the program as an argument."""
        for command in commands:
            if (sign := next((word for word in command if word in _SHELL), "")) and command[0] not in (
                "sh",
                "bash",
                "find",
            ):
                raise ValueError(
                    f"{sign!r} is a sign of the shell, and none runs; write `[sh, -c, '{' '.join(command)}']`"
                )
            if assignment := re.fullmatch(r"([A-Za-z_]\w*)=(.*)", command[0]):
                rest = ", ".join(command[1:]) or "COMMAND"
                raise ValueError(
                    f"{command[0]!r} sets a variable, and the first word is a program; write `env: {{{assignment[1]}: {assignment[2]}}}`"
                    f" in the component, or `[env, {command[0]}, {rest}]`"
                )
            if command[0] not in _READ_DOLLARS and (
                word := next((w for w in command if _SHELL_EXPANSION.search(w)), "")
            ):
                raise ValueError(
                    f"{word!r} is filled in by a shell, and none runs; write the value out, or `[sh, -c, '{' '.join(command)}']`"
                )
            if command[0] in ("sh", "bash") and command[1:2] == ("-c",) and len(command) > 3 and not command[3].startswith("-"):
                script = " ".join(command[2:])
                raise ValueError(
                    f"{command[3]!r} after the script of `{command[0]} -c` is an argument, and no part of it; write `[{command[0]}, -c, '{script}']`"
                )
            if command[0] in SHELL_WORDS:
                raise ValueError(f"{command[0]!r} is a command of the shell, and none runs; {_without_shell(command)}")
            if len(command) == 1 and " " in command[0].strip():
                words = ", ".join(command[0].split())
                raise ValueError(f"{command[0]!r} is one word, the name of a program; write its words: `[{words}]`")
        return commands

    @model_validator(mode="after")
    def _has_source(self) -> Script:
        if self.hipify is not None and self.source is None:
            raise ValueError("`hipify` converts the component's source: name it with `source`")
        return self


class CMake(Convertible):
    """A CMake project: configured, built and installed into `/out`."""

    kind: Literal["cmake"]
    source: Name = Field(description="The source, seen read-only at `/src/NAME`.")
    subfolder: str = Field(".", description="Folder of the CMakeLists.txt inside the source.")
    options: dict[OptionName, Scalar] = Field(
        {},
        description="CMake cache entries, given as `-DNAME=VALUE`; they win over stackbuild's own (docs/recipe-forms.md).",
    )
    generator: Literal["Ninja", "Unix Makefiles"] = Field("Ninja", description="CMake's generator.")
    uses_gfx: OptionName | None = Field(
        None, description="The option that takes the recipe's gfx targets, such as `GPU_TARGETS`."
    )
    components: tuple[str, ...] = Field((), description="Install components to install; all where empty.")

    @field_validator("uses_gfx")
    @classmethod
    def _option_for_targets(cls, option: str | None) -> str | None:
        if option and re.match(r"gfx\d", option):
            raise ValueError(
                f"{option!r} is a target, and `uses_gfx` names the option that takes the recipe's `gfx`; write `GPU_TARGETS`"
            )
        return option

    @field_validator("subfolder")
    @classmethod
    def _inside(cls, path: str) -> str:
        if PurePosixPath(path).is_absolute() or ".." in PurePosixPath(path).parts:
            raise ValueError(
                f"the subfolder {path!r} does not lie inside its source; write it from the source's top, such as `cmake`"
            )
        return path


class Kernels(Component):
    """The bundled HIP kernels: device code for every gfx target and a CPU implementation beside it."""

    kind: Literal["kernels"]
    source: Name = Field(description="The kernels' source: usually `bundled: kernels`.")
    headers: Name | None = Field(None, description="A source with ONNX Runtime's C API, where the base has none.")
    options: dict[OptionName, Scalar] = Field(
        {}, description="More CMake cache entries; they win over stackbuild's own (docs/recipe-forms.md)."
    )


RocmHome = Annotated[str, Field(pattern=r"^/[A-Za-z0-9._/+-]*$", description="Where the base has ROCm.")]
CompilerFolder = Annotated[
    str, Field(pattern=r"^/[A-Za-z0-9._/+-]*$", description="Folder of ROCm's `clang` and `clang++`.")
]


class Rocm(Convertible):
    """What the components of the ROCm stack share: a source, where ROCm lies, and CMake cache entries."""

    source: Name = Field(description="The source, seen read-only at `/src/NAME`.")
    rocm_home: RocmHome = "/opt/rocm"
    compiler: CompilerFolder = "/opt/rocm/llvm/bin"
    options: dict[OptionName, Scalar] = Field(
        {},
        description="More CMake cache entries; they win over stackbuild's own (docs/recipe-forms.md). Of `lc0`, meson options.",
    )
    generator: Literal["Ninja", "Unix Makefiles"] = Field("Ninja", description="CMake's generator.")
    unused_ok: tuple[str, ...] = Field(
        (), description="Cache entries the project may leave unused; any other unused one fails the configure phase."
    )


class RocMLIR(Rocm):
    """rocMLIR as the static library that MIGraphX links: `BUILD_FAT_LIBROCKCOMPILER`."""

    kind: Literal["rocmlir"]


class MIGraphX(Rocm):
    """MIGraphX with its C API and its driver. Its Python module is a `migraphx-package`'s: one for each Python."""

    kind: Literal["migraphx"]
    version: str = Field(pattern=r"^2\.[0-9]+(\.[0-9]+)?$", description="MIGraphX's version, such as `2.12.0`.")
    probes_ok: tuple[Annotated[str, Field(pattern=r"^HAS_[A-Z0-9_]+$")], ...] = Field(
        (),
        description="Probes of MIOpen and rocBLAS that may fail: of `HAS_FIND_MODE_API`, `HAS_FIND_2_API` and"
        " `HAS_ROCBLAS_TUNING_BETA_FEATURE_API`. Any other that does fails the configure phase; another name has no effect.",
    )
    from_base: tuple[str, ...] = Field(
        (),
        description="Lines of MIGraphX's `requirements.txt`, by project name, that the base has already; every other "
        "one is fetched under the lock and built, and rocMLIR comes from `needs`. `recipe check` warns of a name that is not"
        " a line.",
    )


class MIGraphXPackage(Component):
    """What a `migraphx` component built as the Python package `migraphx_rocm`, which a `wheel` packs: libraries and driver.
    Its `preload()` lets ONNX Runtime's MIGraphX provider run where the machine has ROCm and no MIGraphX. With a `source`
    it has the package `migraphx` beside, MIGraphX's own Python API."""

    kind: Literal["migraphx-package"]
    needs: tuple[Name, ...] = Field(description="The one `migraphx` component that it is made of.")
    source: Name | None = Field(
        None,
        description="MIGraphX's source, the one it was built from. Where it is named, MIGraphX's Python module is compiled "
        "for each of the recipe's Pythons, and a wheel of it needs `abi: cpython` and `packages: [migraphx_rocm, migraphx]`.",
    )
    pybind11: Name | None = Field(
        None, description="A source with pybind11 for the Python module, where the base has none or one too old."
    )
    rocm_home: RocmHome = "/opt/rocm"
    compiler: CompilerFolder = "/opt/rocm/llvm/bin"

    @field_validator("needs")
    @classmethod
    def _needs_one(cls, needs: tuple[str, ...]) -> tuple[str, ...]:
        if len(needs) != 1:
            raise ValueError("a MIGraphX package needs exactly the one component that built MIGraphX; write one")
        return needs

    @model_validator(mode="after")
    def _uses_pybind11(self) -> MIGraphXPackage:
        if self.pybind11 and not self.source:
            raise ValueError(
                "pybind11 is for MIGraphX's Python module: name MIGraphX's source too, or leave pybind11 out"
            )
        return self


class OnnxRuntime(Rocm):
    """ONNX Runtime: shared library, headers and Python package, with the execution providers named."""

    kind: Literal["onnxruntime"]
    version: str = Field(pattern=r"^1\.[0-9]+\.[0-9]+$", description="ONNX Runtime's version, such as `1.22.1`.")
    providers: tuple[Literal["migraphx", "rocm"], ...] = Field(
        ("migraphx",), description="Execution providers beside the CPU; `rocm` exists up to 1.22 and not in ROCm 7.1."
    )
    migraphx_home: str | None = Field(
        None, description="Where MIGraphX lies when the base has it; left out: the needed `migraphx` component."
    )
    python_package: bool = Field(True, description="Build the Python package, one for each of the recipe's Pythons.")
    deps: tuple[str, ...] = Field(
        (),
        description="More rows of the source's `cmake/deps.txt` to fetch than a Linux build needs, by the name in the first column.",
    )
    empty_packages: tuple[Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]*$")], ...] = Field(
        (),
        description="CMake packages that MIGraphX's own package asks for and its C API does not use, where the base has MIGraphX "
        "without them, such as `MIOpen`. Each is found, and empty, even where the base has it. A name that nothing asks for has"
        " no effect.",
    )


class OnnxRuntimeRelease(Component):
    """ONNX Runtime as its project released it for C, laid out as its own CMake package says: what plugin EPs are built with,
    at no compile."""

    kind: Literal["onnxruntime-release"]
    source: Name = Field(description="The release archive: a source with `archive` and `sha256`.")
    version: str = Field(
        pattern=r"^1\.[0-9]+\.[0-9]+$", description="ONNX Runtime's version; the archive must say the same."
    )


class HipdnnEp(Rocm):
    """The hipDNN plugin EP. Its CMake presets are not used: they hold their author's paths."""

    kind: Literal["hipdnn-ep"]
    onnxruntime: Name | None = Field(
        None, description="The source whose `include/` has ONNX Runtime's C API; left out: the first needed component."
    )

    @model_validator(mode="after")
    def _has_headers(self) -> HipdnnEp:
        if self.onnxruntime is None and not self.needs:
            raise ValueError(
                "it is compiled with ONNX Runtime's C API: name a source with its headers as `onnxruntime`, or a component in `needs`"
            )
        return self


class MIGraphXEp(Rocm):
    """AMD's MIGraphX plugin EP (onnxruntime-ep-amdgpu), for ROCm 10."""

    kind: Literal["migraphx-ep"]
    version: str = Field("1.0.0", description="The plugin's version, for the record.")
    migraphx_home: str | None = Field(None, description="Where MIGraphX lies when no needed component makes it.")
    onnxruntime_home: str | None = Field(None, description="Where ONNX Runtime lies when no needed component makes it.")


class AmdgpuEp(MIGraphXEp):
    """AMD's umbrella plugin EP (onnxruntime-ep-amdgpu, `USE_AMDGPU`), which hands each session to a backend: on Linux MIGraphX."""

    kind: Literal["amdgpu-ep"]  # type: ignore[assignment]


class Lc0(Rocm):
    """Leela Chess Zero, a downstream user: its `backendbench` can gate a release. Built with meson."""

    kind: Literal["lc0"]
    backend: Literal["hip", "onnx", "blas"] = Field(
        "hip", description="hip: native kernels (since lc0#2420) · onnx: through the needed ONNX Runtime · blas: CPU."
    )


class KernelsEp(Kernels):
    """The bundled kernels as a plugin EP."""

    kind: Literal["kernels-ep"]  # type: ignore[assignment]


class Wheel(Component):
    """A wheel packed from the Python packages that another component installed into its output."""

    kind: Literal["wheel"]
    needs: tuple[Name, ...] = Field(description="The one component that it packs.")
    distribution: str = Field(
        pattern=r"^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$", description="The distribution's name."
    )
    version: str = Field(
        pattern=r"^[0-9][A-Za-z0-9.+!-]*$", description="Its version; a local part in the dotted form, `+rocm.6.4.4`."
    )
    summary: Line = Field(description="One line for the wheel's metadata.")
    packages: tuple[Line, ...] = Field(
        min_length=1, description="Import packages to take from the needed component's `/out`."
    )
    requires: tuple[Line, ...] = Field((), description="Requires-Dist entries.")
    requires_python: Line = Field(">=3.9", description="Requires-Python.")
    external: tuple[str, ...] = Field(
        (),
        description="Sonames or patterns of what the user's ROCm provides, such as `libamdhip64.so.*`: not grafted, not "
        "checked against the tag. `recipe check` sees a form that is not a soname's, another ROCm's `libamdhip64` and names that are"
        " almost known. One that matches nothing fails the wheel's own step.",
    )
    license: Line = Field("MIT", description="SPDX licence expression.")
    license_files: tuple[Line, ...] = Field(
        (),
        description="Licence and notice files in the needed component's `/out`; they travel in the wheel's metadata.",
    )
    abi: Literal["none", "cpython"] = Field(
        "none",
        description="cpython: it has an extension module, so there is one wheel for each of the recipe's Pythons.",
    )

    @field_validator("version")
    @classmethod
    def _sorts(cls, version: str) -> str:
        number, _, local = version.partition("+")
        if re.match(r"rocm[0-9]", local):
            digits = ".".join(local[4:]) if re.fullmatch(r"\d{2,3}", local[4:]) else local[4:]
            raise ValueError(f"`+{local}` does not sort: +rocm10.0 is less than +rocm7.0; write `{number}+rocm.{digits}`")
        return _as_installed(version)

    @field_validator("license")
    @classmethod
    def _spdx(cls, expression: str) -> str:
        return _license(expression)

    @field_validator("packages", "license_files")
    @classmethod
    def _inside(cls, paths: tuple[str, ...]) -> tuple[str, ...]:
        for path in paths:
            if not path or PurePosixPath(path).is_absolute() or ".." in PurePosixPath(path).parts:
                bare = path.removeprefix("/out").replace("../", "").strip("/")
                step = f"`{bare}`" if bare else "a path inside of it"
                raise ValueError(f"{path!r} does not lie in the component's output; write {step}")
        return paths

    @field_validator("packages")
    @classmethod
    def _importable(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        for name in names:
            if name != (bare := re.sub(r"(/__init__)?\.py$|/$", "", name)):
                raise ValueError(f"{name!r} is not the name of a package; write `{bare}`")
            if "-" in name:
                module = "onnxruntime" if re.fullmatch(r"onnxruntime-(?!ep)\w+", name) else name.replace("-", "_")
                raise ValueError(f"no Python can import {name!r}; write `{module}`")
        return names

    @field_validator("external")
    @classmethod
    def _sonames(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        for name in names:
            file = PurePosixPath(name).name
            if file != name or not (".so" in file or "*" in file):
                bare = re.sub(r"^-l|\.(?:a|dll|dylib|lib)$", "", file)
                soname = bare if ".so" in bare else f"lib{bare.removeprefix('lib')}.so.*"
                raise ValueError(f"{name!r} is not the soname of a library; write `{soname}`")
        return names

    @field_validator("requires")
    @classmethod
    def _installable(cls, entries: tuple[str, ...]) -> tuple[str, ...]:
        for entry in entries:
            if not REQUIREMENT.fullmatch(entry.partition(";")[0].rstrip()):
                refuse_joined(entry)
                raise ValueError(f"{entry!r} is not a requirement; write {requirement_meant(entry)}")
            marker = entry.partition(";")[2]
            if sign := next((each for each in "'\"" if marker.count(each) % 2 and not marker.count({"'": '"', '"': "'"}[each])), ""):
                raise ValueError(f"{entry!r} has a quote that is not closed; write `{entry.rstrip()}{sign}`")
            if bare := _BARE_VALUE.search(marker):
                whole = entry.replace(bare[0], f"{bare[1]} '{bare[2]}'")
                raise ValueError(f"{entry!r} compares with a value without quotes; write `\"{whole}\"`")
        return entries

    @field_validator("requires_python")
    @classmethod
    def _specifiers(cls, text: str) -> str:
        if not all(_SPECIFIER.fullmatch(part.strip()) for part in text.split(",")):
            number = re.search(r"3\.\d+", text)
            specifiers = comparisons_meant(re.sub(r"(?i)^\s*(c?python|py)\s*3?(?=\W)", "", text), bare=">=")
            step = specifiers or f">={number[0] if number else '3.9'}"
            raise ValueError(f"{text!r} does not compare with versions of Python; write `{step}`")
        return text

    @field_validator("needs")
    @classmethod
    def _needs_one(cls, needs: tuple[str, ...]) -> tuple[str, ...]:
        if len(needs) != 1:
            if len(set(needs)) == 1:
                raise ValueError(f"{needs[0]!r} is listed twice; remove one of them")
            raise ValueError(
                "a wheel needs exactly the one component that it packs; write one, and a wheel of its own for each other"
            )
        return needs


class Archive(Component):
    """ONNX Runtime for C, C++ and Rust: a `.tgz` with libraries, headers, CMake package and pkg-config file, unpacked
    anywhere. The step compiles and runs a C program against it."""

    kind: Literal["archive"]
    file: str = Field(
        pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$",
        description="The file's name without version and ending, such as `onnxruntime-linux-x64-migraphx`.",
    )
    version: str = Field(
        pattern=r"^[0-9][A-Za-z0-9.+]*$", description="Its version, ONNX Runtime's first, such as `1.22.1+rocm.7.2.4`."
    )
    providers: tuple[Annotated[str, Field(pattern=r"^[A-Za-z0-9]+$")], ...] = Field(
        (), description="Execution providers that the library must list, such as `MIGraphXExecutionProvider`."
    )
    license_files: tuple[Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._/-]*$")], ...] = Field(
        (), description="Licence and notice files in the needed component's output; they lie at the archive's top."
    )

    @field_validator("needs")
    @classmethod
    def _needs_one(cls, needs: tuple[str, ...]) -> tuple[str, ...]:
        if len(needs) != 1:
            raise ValueError("an archive needs exactly the one component that it packs; write one")
        return needs


AnyComponent = Annotated[
    Archive
    | Script
    | CMake
    | Kernels
    | KernelsEp
    | RocMLIR
    | MIGraphX
    | MIGraphXPackage
    | OnnxRuntime
    | OnnxRuntimeRelease
    | HipdnnEp
    | MIGraphXEp
    | AmdgpuEp
    | Lc0
    | Wheel,
    Field(discriminator="kind"),
]
