"""The Recipe: what a person wrote, and nothing they did not.

Each class is one mapping of the YAML file; its docstring and the descriptions of its fields are the recipe reference
(docs/recipes.md is made from them). Components have a module of their own, `stackbuild.model.components`.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from stackbuild.core.model import NAME_MAX, AfterValidator, Field, Model, PathText, field_validator, model_validator
from stackbuild.core.shell_words import shell_word
from stackbuild.core.sizes import SIZE, size_of
from stackbuild.core.versions import numbers
from stackbuild.core.web_address import is_index_address
from stackbuild.model.components import (
    REQUIREMENT,
    AnyComponent,
    Convertible,
    Hipify,
    Kernels,
    Name,
    OptionName,
    Scalar,
    Wheel,
    pinned_requirement,
    refuse_joined,
    requirement_meant,
)
from stackbuild.model.gates import Gate
from stackbuild.tables.debian import refused_suite
from stackbuild.tables.gpu_limits import emulated_targets
from stackbuild.tables.gpu_names import buildable_like, targets_named
from stackbuild.tables.near_words import question
from stackbuild.tables.targets import is_buildable, processor


def _packages(names: tuple[str, ...], otherwise: str) -> tuple[str, ...]:
    """The names as they are. Raises ValueError for one that a package manager would take for an option or a version."""
    for name in names:
        if not name.strip():
            raise ValueError(f"{name!r} names no package; remove it")
        if not re.fullmatch(r"[a-z0-9][a-z0-9+.-]+(:[a-z0-9]+)?", name):
            refuse_joined(name)
            bare = re.match(r"[a-z0-9][a-z0-9+.-]+", name.lower().replace("_", "-"))
            hint = f": write `{bare[0]}`" if bare and bare[0] != name else ""
            if re.match(r"ppa:|deb(?:-src)? |https?:|.*\.(?:deb|list)$", name):
                hint, otherwise = (
                    "",
                    "Debian's archive alone is read: take an `image:` that has it, or a source with `archive:`",
                )
            raise ValueError(f"{name!r} is not the name of a Debian package; {otherwise}{hint}")
    return names


def _twice(names: tuple[str, ...]) -> str:
    """The first name that is listed before, "" for none."""
    return next((name for i, name in enumerate(names) if name in names[:i]), "")


def python_meant(version: str) -> str:
    """The next step for what is not a Python version: `3.12.4`, `cp312`, `“3.12”`, `>=3.11` and `2.7` were seen."""
    version = version.strip("“”‘’'\"")
    if match := re.fullmatch(
        r"(?:cp|py|python)?-?3\.?([0-9]{1,2})(?:\.[0-9a-z]+)*(?:t|-?(?:dev|rc|a|b)[0-9]*)?", version.lower()
    ):
        return f'write "3.{match[1]}"'
    if tag := re.fullmatch(r"(?:cp|pp|py)3([0-9]{1,2})[-_*].*", version.lower()):
        return f'write "3.{tag[1]}"'
    minors = {*re.findall(r"(?<![\d.])3\.?([0-9]{1,2})(?![\d])", version)}
    if len(minors) == 1 and not re.search(r"[<>=~^!*]", version):
        return f'write "3.{minors.pop()}"'
    if ends := re.fullmatch(r"(?:cp|py)?3\.?([0-9]{1,2})\s*(?:-|\.\.+|to|–|:)\s*(?:cp|py)?3\.?([0-9]{1,2})", version.strip()):
        return f"list each version: {_minors(int(ends[1]), int(ends[2]))}"
    if ends := re.fullmatch(r">=\s*3\.([0-9]{1,2})\s*,?\s*<(=?)\s*(?:3\.([0-9]{1,2})|4)(?:\.0)?", version.strip()):
        return f"list each version: {_minors(int(ends[1]), int(ends[3] or 15) - (not ends[2]))}"
    if one := re.fullmatch(r"(?:==|=|~=|\^)?\s*3\.([0-9]{1,2})(?:\.\*|\.x|\.\d+)?", version.strip()):
        return f'write "3.{one[1]}"'
    if version[:1] in "<>=~^!" or any(c in version for c in " ,-*"):
        least = min((int(minor) for minor in minors), default=11)
        first = least + 1 if re.match(r">\s*3", version) else least
        return f'list each version: ["3.{first}", "3.{first + 1}"]' if first > 7 else 'list each version: ["3.11", "3.12"]'
    return 'write one of Python 3, such as "3.11"'


def _minors(first: int, last: int) -> str:
    """A list of Python versions, at most ten of them."""
    return f"[{', '.join(f'{chr(34)}3.{minor}{chr(34)}' for minor in range(first, max(first, min(last, first + 9)) + 1))}]"


def _known_suite(suite: str) -> str:
    if wrong := refused_suite(suite):
        raise ValueError(wrong)
    return suite


class Debian(Model):
    """A base made from Debian's package archive: a root file system with these packages and what they depend on."""

    suite: str = Field(pattern=r"^[a-z]+$", description="The suite: `trixie`, `sid`, …")
    areas: tuple[Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]{0,47}$")], ...] = Field(
        ("main",), min_length=1, description="Areas of the archive: `main`, `contrib`, `non-free`, `non-free-firmware`."
    )
    packages: tuple[str, ...] = Field(min_length=1, description="Packages to install with their dependencies.")
    extract: tuple[str, ...] = Field(
        (),
        description="Packages only unpacked, without their dependencies: headers of a library that is not wanted itself.",
    )

    pin: dict[Annotated[str, Field(pattern=r"^[a-z]+$")], tuple[str, ...]] = Field(
        {},
        description="Packages taken from another suite, by name or glob: `experimental: [libamdhip64*]`. All else, and what"
        " that suite does not have, is the base's own (apt_preferences(5)).",
    )

    @field_validator("suite")
    @classmethod
    def _in_the_archive(cls, suite: str) -> str:
        return _known_suite(suite)

    @field_validator("pin")
    @classmethod
    def _globs(cls, pins: dict[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
        for suite in pins:
            _known_suite(suite)
        for pattern in (p for patterns in pins.values() for p in patterns):
            if not re.fullmatch(r"[a-z0-9][a-z0-9+.*-]+", pattern):
                raise ValueError(
                    f"{pattern!r} is not a package name and no glob of one; write it such as `libamdhip64*`"
                )
        return pins

    @field_validator("packages", "extract")
    @classmethod
    def _check_names(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        return _packages(names, "the lock holds the versions")


KNOWN_PINS = {pin.partition("==")[0]: pin for pin in ("numpy==2.2.6", "packaging==25.0", "setuptools==80.9.0", "wheel==0.45.1")}
"""The Python packages that the bundled recipes pin."""


class Extend(Model):
    """What `Dockerfile.base` adds to an image."""

    packages: tuple[str, ...] = Field((), description="Packages of the image's own distribution.")
    cmake: str = Field("3.31.10", pattern=r"^[0-9.]+$", description="CMake, from the package index.")
    ninja: str = Field(
        "1.13.0", pattern=r"^[0-9.]+$", description="ninja ≥ 1.13, which speaks the jobserver's protocol."
    )
    pip: tuple[str, ...] = Field(
        (), description="Python packages for every Python of the recipe, each with `==VERSION`."
    )

    @field_validator("ninja")
    @classmethod
    def _with_jobserver(cls, version: str) -> str:
        if numbers(version) < (1, 13):
            raise ValueError(
                f"ninja {version!r} does not speak the jobserver's protocol; write `1.13.0` or a newer one"
            )
        return version

    @field_validator("packages")
    @classmethod
    def _check_names(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        return _packages(names, "name packages only, without options and versions")

    @field_validator("pip")
    @classmethod
    def _check_pins(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        for name in names:
            if not re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.]+", name):
                refuse_joined(name)
                if name.startswith("-"):
                    raise ValueError(f"{name!r} is an option of pip; list each package with its version: `numpy==2.2.6`")
                if from_address := re.match(r"\S+?://\S*?/([\w-]+?)(?:\.git)?@v?([0-9][0-9.]*)$", name):
                    raise ValueError(
                        f"{name!r} is an address, and pip takes packages of the index; write `{from_address[1]}=={from_address[2]}`"
                    )
                parts = re.match(r"([A-Za-z0-9._-]+)(?:=([A-Za-z0-9.]+)$)?", name)
                requirement = f"{parts[1]}=={parts[2] or 'VERSION'}" if parts else "NAME==VERSION"
                if re.search(r"\.(?:txt|in|toml|cfg|lock|ya?ml)$", name):
                    raise ValueError(f"{name!r} is a file, and packages are listed here; write each with its version: `numpy==2.2.6`")
                pin = KNOWN_PINS.get(parts[1].lower(), "") if parts and not re.search(r"\d", name.partition("*")[0].split("==")[-1].removeprefix(parts[1])) else ""
                if pin or "*" in name:
                    raise ValueError(f"{name!r} is not pinned to a version; write one, such as `{pin or 'numpy==2.2.6'}`")
                raise ValueError(
                    f"{name!r} is not pinned to a version; write `{pinned_requirement(name) or requirement}`"
                )
        return names


class Base(Model):
    """Where steps run: exactly one of `debian` and `image`."""

    debian: Debian | None = Field(None, description="Made by mmdebstrap from Debian's archive.")
    image: str | None = Field(
        None,
        pattern=r"^([a-z0-9][a-z0-9.-]*:[0-9]{1,5}/)?[a-z0-9][a-z0-9./_-]*(:[A-Za-z0-9_.-]+)?(@sha256:[0-9a-f]{64})?$",
        description="A container image, extended by `Dockerfile.base`; its digest stands here or in the lock. Its name and tag "
        "are compared with `rocm` and `python` (docs/recipe-forms.md).",
    )
    extend: Extend | None = Field(
        None, description="What is added to the image; refused with `debian`, whose `packages` say it."
    )
    glibc: str | None = Field(
        None,
        pattern=r"^2\.(2[5-9]|[3-9][0-9])$",
        description="A release of the C library older than the base's, such as `2.28`, that `kernels` and `kernels-ep` are"
        " linked for, with libstdc++ inside; the base's own where left out.",
    )

    @model_validator(mode="after")
    def _one(self) -> Base:
        if self.debian is not None and self.image is not None:
            raise ValueError("a base is one of `debian` and `image`, and this one has both; remove one of them")
        if self.debian is None and self.image is None:
            raise ValueError(
                "a base is one of `debian` and `image`, and this one has neither; add `debian:` or `image:`"
            )
        if self.extend is not None and self.image is None:
            raise ValueError("`extend` belongs to `image`; a Debian base lists its packages: `debian: {packages: […]}`")
        return self


class Matrix(Model):
    """What is built more than once. Python is always an axis of what depends on it."""

    per_gfx: bool = Field(False, description="One wheel a gfx target (`NAME-gfx90a`) instead of one with all of them.")
    variants: dict[Name, dict[Name, dict[OptionName, Scalar]]] = Field(
        {}, description="Variants by name: component to CMake cache entries that win over the component's `options`."
    )


_OUTSIDE_URL = re.compile(r"[\s<>\"{}|\\^`]|[,;](?=$|https?:)|^['\[]|['\]]$")
"""What RFC 3986 has no place for in a URL, and what stands around and between several."""


class Source(Model):
    """Where a component's source comes from: exactly one of `bundled`, `path`, `git`, `archive`, `debian` and
    `pypi`."""

    bundled: str | None = Field(
        None,
        max_length=NAME_MAX,
        pattern=r"^[a-z][a-z0-9/_-]*$",
        description="A folder that ships with stackbuild, such as `kernels`.",
    )
    path: PathText | None = Field(None, description="A folder beside the recipe.")
    git: str | None = Field(
        None,
        pattern=r"^(https|ssh)://",
        description="A git URL, `https://…` or `ssh://…`. Write `git@HOST:ORG/REPO.git` as `ssh://git@HOST/ORG/REPO.git`.",
    )
    ref: str | None = Field(
        None,
        pattern=r"^[A-Za-z0-9][A-Za-z0-9._/-]*$",
        description="Tag, branch or commit. Required with `git`, refused without it.",
    )
    submodules: bool = Field(False, description="Fetch the submodules of `git` too, each after its URL was vetted.")
    archive: str | None = Field(None, pattern=r"^https://", description="The https URL of a tar or zip archive.")
    sha256: str | None = Field(
        None,
        pattern=r"^[0-9a-f]{64}$",
        description="The archive's digest, 64 digits. Required with `archive`, refused without it.",
    )
    debian: str | None = Field(
        None, pattern=r"^[a-z0-9][a-z0-9+.-]+$", description="A binary package of Debian's archive, unpacked."
    )
    suite: str | None = Field(
        None,
        pattern=r"^[a-z]+$",
        description="The suite, such as `trixie`. Required with `debian`, refused without it.",
    )
    pypi: str | None = Field(
        None,
        pattern=r"^[A-Za-z0-9._-]+==[A-Za-z0-9.]+$",
        description="A source distribution of the package index, as `NAME==VERSION`.",
    )
    patches: str | None = Field(
        None,
        max_length=NAME_MAX,
        pattern=r"^[a-z0-9][a-z0-9._-]*(/[A-Za-z0-9][A-Za-z0-9._-]*)*$",
        description="A folder of patches, `COMPONENT/VERSION`, below `patches/` beside the recipe or of stackbuild."
        " Allowed with `git` and `archive` alone.",
    )
    exclude: tuple[str, ...] = Field(
        (),
        description="Glob patterns of files left out: of `bundled` and `path` sources, and of `git`, where they are not fetched"
        " either (paths from the top, as gitignore has them).",
    )

    @model_validator(mode="after")
    def _one(self) -> Source:
        kinds = ("bundled", "path", "git", "archive", "debian", "pypi")
        named_kinds = [n for n in kinds if getattr(self, n) is not None]
        if len(named_kinds) != 1:
            one_of = "a source is exactly one of `bundled`, `path`, `git`, `archive`, `debian` and `pypi`"
            has = (
                f"this one has {' and '.join(f'`{n}`' for n in named_kinds)}; remove all but one"
                if named_kinds
                else "this one has none; add one of them"
            )
            raise ValueError(f"{one_of}; {has}".replace("; this", ", and this", 1))
        self._refuse_addresses()
        for one, other, example in (
            ("git", "ref", "v1.22.1"),
            ("debian", "suite", "trixie"),
            ("archive", "sha256", "…"),
        ):
            if (getattr(self, one) is None) != (getattr(self, other) is None):
                if getattr(self, one) is None and (kind := next((n for n in named_kinds if n != one), "")):
                    raise ValueError(f"`{other}` belongs to `{one}`, and this source is of `{kind}`; remove `{other}`")
                has, lacks = (one, other) if getattr(self, other) is None else (other, one)
                how = "`sha256sum FILE` prints it" if lacks == "sha256" else f"such as `{other}: {example}`"
                raise ValueError(
                    f"`{has}` needs `{lacks}` beside it; add `{lacks}:`" + (f", {how}" if lacks == other else "")
                )
        if self.suite is not None:
            _known_suite(self.suite)
        if self.ref is not None and ".." in self.ref and (ends := self.ref.split(".."))[-1].strip("."):
            raise ValueError(f"`ref` {self.ref!r} is a range, and one version is fetched; write `{ends[-1].strip('.')}`")
        if self.ref is not None and (marks := re.search(r"\.\.|//|[/.]$|\.lock$|^[vV]{2}", self.ref)):
            suggestion = re.sub(
                r"^[vV]{2}", "v", re.sub(r"([./])\1+", r"\1", self.ref).removesuffix(".lock").rstrip("/.")
            )
            raise ValueError(
                f"`ref` {self.ref!r} has a {marks[0]!r} that no tag or branch has there; write `{suggestion}`"
            )
        if self.exclude and not (self.git or self.bundled or self.path):
            raise ValueError("`exclude` belongs to `git`, `bundled` and `path`; remove it")
        if self.git and (wrong := [p for p in self.exclude if not re.fullmatch(r"[A-Za-z0-9._+*?/-]+", p)]):
            raise ValueError(
                f"`exclude` of `git` takes paths with `*` and `?`, not {wrong[0]!r}; write such as `docs/*`"
            )
        if self.patches is not None and self.git is None and self.archive is None:
            raise ValueError("`patches` belong to `git` and `archive`; remove the key, and change the source itself")
        return self

    def _refuse_addresses(self) -> None:
        """Raises ValueError for an address that is two, a page's, or that names a version too."""
        for key in ("git", "archive"):
            url = getattr(self, key) or ""
            if variable := re.search(r"\{+\s*(\w+)\s*\}+", url):
                raise ValueError(f"`{key}` {url!r} has {variable[0]}, and nothing fills it in; write its value into the address")
            if sign := _OUTSIDE_URL.search(url):
                bare = next(iter(re.findall(r"[^\s,;<>\"'{}|\\^`\[\]]+", url)), "")
                what = f"write `{bare}`" if bare else "write the address alone"
                raise ValueError(f"`{key}` {url!r} has a {sign[0][0]!r} that no URL has there; {what}")
        if self.git and (
            at := re.search(r"(?:#|\?(?:ref|rev|tag|branch)=|(?<=[\w.])@(?=[\w.-]+$))(.*)$", self.git[8:])
        ):
            address, version = self.git[: 8 + at.start()], at[1] or self.ref
            raise ValueError(f"`git` {self.git!r} names a version too; write `git: {address}`, and `ref: {version}`")
        if (self.git or "").count("://") > 1 or (self.archive or "").count("://") > 1:
            key, url = ("git", self.git or "") if self.git else ("archive", self.archive or "")
            raise ValueError(f"`{key}` {url!r} is two addresses; write `{url[url.rindex('https://') :]}`")
        if page := re.search(r"/(-/)?(tree|blob|commit|releases)/.*$", self.git or ""):
            address, name = (self.git or "")[: page.start()], str(page[0]).rpartition("/")[2]
            raise ValueError(f"`git` {self.git!r} is the address of a page; write `{address}`, and `ref: {self.ref or name}`")


def _not_nothing(budget: str) -> str:
    if not size_of(budget):
        raise ValueError(f"{budget!r} holds no wheel; write such as `60M`, or leave the key out")
    return budget


SizeBudget = Annotated[str, Field(pattern=SIZE), AfterValidator(_not_nothing)]
"""The largest size of a wheel."""


class WheelRequirements(Model):
    """What one wheel must have, where that does not follow from the component it packs. A key left out: what follows."""

    gfx: tuple[str, ...] | None = Field(
        None, description="Its GPU targets, of the recipe's; `[]` where it holds no GPU code."
    )
    providers: tuple[str, ...] | None = Field(None, description="The execution providers it must bring.")
    kernels_floor: int | None = Field(None, ge=0, description="Least number of non-empty kernels per gfx target.")
    size_budget: SizeBudget | None = Field(None, description="Its largest size, such as `60M`.")


class Verify(Model):
    """What is demanded of the wheels beside the rules that hold for every wheel.

    Which providers and GPU targets a wheel must have follows from the component that it packs. An `onnxruntime` must
    have its `providers`, and the targets where `rocm` is one of them. `kernels` and `kernels-ep` must have the targets,
    as must a `cmake` component with `uses_gfx` or a converted one. A plugin EP must have its provider. `wheels` says
    what is otherwise.
    """

    runtime: tuple[str, ...] = Field(
        ("onnxruntime", "numpy"),
        min_length=1,
        description="Requirements of the clean environment the wheel is proved in.",
    )
    providers: tuple[str, ...] = Field(
        (),
        description="Execution providers that `script` and `cmake` wheels must bring; what other kinds must have follows from them. "
        "The first is the one that model suites run on.",
    )
    kernels_floor: int = Field(
        0,
        ge=0,
        description="Least number of non-empty kernels per gfx target, in each wheel that must have the targets.",
    )
    size_budget: SizeBudget | None = Field(
        None,
        description="Largest wheel: a size such as `60M` (docs/recipe-forms.md).",
    )
    x86_64_level: int = Field(
        1, ge=1, le=4, description="The x86-64 level (psABI, 1 to 4) that is promised to be enough."
    )
    runpaths: tuple[str, ...] = Field(
        (), description="Absolute RUNPATH elements that are meant, such as `/opt/rocm/lib`."
    )
    grafts: tuple[str, ...] = Field((), description="Patterns of ROCm sonames that the wheels carry on purpose.")
    emulate: tuple[str, ...] = Field(
        (),
        description="Targets whose device code is run on the CPU (docs/emulator.md), each a rung of its own. Each is one of the recipe's"
        " `gfx` that the emulator has. `build` asks for no GPU for it, but for a C compiler and `pip install"
        " 'stackbuild[emulator]'`; without them the rung is skipped with the reason.",
    )
    wheels: dict[Name, WheelRequirements] = Field(
        {}, description="What single wheels must have, by the name of their component."
    )

    @field_validator("runpaths")
    @classmethod
    def _absolute(cls, paths: tuple[str, ...]) -> tuple[str, ...]:
        for path in paths:
            if not path.startswith("/"):
                bare = path.removeprefix("./").lstrip("~/")
                raise ValueError(f"{path!r} is not an absolute path; write `/{bare}`")
        return paths

    @field_validator("emulate")
    @classmethod
    def _check_emulated_targets(cls, targets: tuple[str, ...]) -> tuple[str, ...]:
        for target in targets:
            if target not in emulated_targets():
                near_targets = [each.gfx for each in targets_named(target) if each.gfx in emulated_targets()]
                near = (
                    f"did you mean `{near_targets[0]}`? "
                    if len(near_targets) == 1
                    else question(target, [name for name in emulated_targets() if name[:5] == target[:5]])
                )
                raise ValueError(
                    f"{target!r} cannot be emulated; {near}those that can are {', '.join(emulated_targets())}"
                )
        if twice := _twice(targets):
            raise ValueError(f"the target {twice!r} is listed twice; remove one of them")
        return targets

    @field_validator("runtime")
    @classmethod
    def _from_the_index(cls, requirements: tuple[str, ...]) -> tuple[str, ...]:
        for one in requirements:
            if not REQUIREMENT.fullmatch(one):
                refuse_joined(one)
                if ";" in one and REQUIREMENT.fullmatch(bare := one.partition(";")[0].rstrip()):
                    raise ValueError(f"{one!r} has a marker, which `runtime` does not take; write `{bare}`")
                raise ValueError(f"{one!r} is not a requirement; write {requirement_meant(one)}")
        return requirements


class Bench(Model):
    """The suite of benchmarks that is run on the wheel."""

    suite: PathText = Field(description="A bundled suite's name or a path beside the recipe.")
    threads: int = Field(0, ge=0, description="CPU threads of one operator; 0 leaves the number to ONNX Runtime.")


class Publish(Model):
    """Where the wheels go once all gates pass."""

    index: PathText = Field(
        "dist/simple",
        description="Folder of the static index, relative to where stackbuild runs. `{rocm}` in it stands for the recipe's"
        " `rocm`: `dist/rocm-{rocm}/simple` is an index for each ROCm.",
    )
    url: str = Field("", description="Where that folder is served: the install lines name it. `{rocm}` as in `index`.")
    replace: bool = Field(
        False, description="Allow other bytes under a published file name: for an index nobody else installs from."
    )

    @field_validator("url")
    @classmethod
    def _web_address(cls, url: str) -> str:
        if login := re.match(r"([\w+.-]+://)[^/?#]*@(.*)", url):
            raise ValueError(
                "it holds a login, and install lines and pages would show that to everyone; write"
                f" `{login[1]}{login[2]}`, and let each user's netrc or keyring have the login"
            )
        if url and not is_index_address(url.replace("{rocm}", "0")):
            if names := [name for name in re.findall(r"\{\w*\}", url) if name != "{rocm}"]:
                raise ValueError(
                    f"{url!r} has {names[0]}, and `{{rocm}}` alone is filled in; write {{rocm}} or the value"
                )
            scheme = "" if "://" in url or not re.match(r"[\w.-]+(:\d+)?(/|$)", url) else f"`https://{url}`"
            raise ValueError(
                f"{url!r} is not an address that pip can read; write {scheme or 'it such as `https://example.org/simple`'}"
            )
        return url

    @field_validator("index")
    @classmethod
    def _folder(cls, index: str) -> str:
        if not index.strip():
            raise ValueError("it names no folder; write `index: dist/simple`, or leave the key out")
        if re.match(r"~[^/]*(?:/|$)", index):
            raise ValueError(f"{index!r} begins with `~`, which no shell fills in here; write the path of the folder")
        if "://" in index:
            step = f"write `index: dist/simple`, and `stackbuild publish --to {shell_word(index)}` takes its wheels there"
            if index.startswith("https://"):
                step = f"write `index: dist/simple`, and `url: {index}`, where it is served"
            raise ValueError(f"{index!r} is not a folder; {step}")
        return index


class Recipe(Model):
    """A recipe: one stack, from its base to its gates."""

    schema_: Literal[1] = Field(alias="schema", description="The schema's version: 1.")
    name: str = Field(pattern=r"^[a-z][a-z0-9._-]{0,47}$", description="The recipe's name.")
    summary: str = Field(description="One line: what it builds.")
    rocm: str | None = Field(
        None,
        pattern=r"^[0-9]+\.[0-9]+(\.[0-9]+)?$",
        description='The ROCm version it targets, such as `7.2.4`; one with a single dot is quoted: `"7.2"`.',
    )
    base: Base
    gfx: tuple[str, ...] = Field(
        min_length=1, description="GPU targets (LLVM target IDs), such as `gfx90a` or `gfx942:xnack-`."
    )
    python: tuple[str, ...] = Field(
        ("3.11",),
        min_length=1,
        description='Python versions, each in quotes: `["3.11", "3.12"]`. Without quotes `3.10` is the number 3.1.',
    )
    sources: dict[Name, Source] = Field({}, description="Sources by name.")
    components: dict[Name, AnyComponent] = Field(min_length=1, description="Components by name.")
    matrix: Matrix = Field(Matrix.model_validate({}), description="What is built more than once, beside Python.")
    verify: Verify | None = Field(None, description="How wheels are proved; left out: only the static rules.")
    bench: Bench | None = Field(None, description="What is measured; left out: nothing.")
    gates: tuple[Gate, ...] = Field((), description="What must hold before anything is published; they need `bench`.")
    publish: Publish = Field(Publish.model_validate({}), description="Where the wheels go.")

    @field_validator("gfx")
    @classmethod
    def _known_gfx(cls, targets: tuple[str, ...]) -> tuple[str, ...]:
        for target in targets:
            if not is_buildable(target):
                raise ValueError(f"unknown gfx target {target!r}{buildable_like(target)}")
        if twice := _twice(targets):
            raise ValueError(f"the gfx target {twice!r} is listed twice; remove one of them")
        return targets

    @field_validator("python")
    @classmethod
    def _python_form(cls, versions: tuple[str, ...]) -> tuple[str, ...]:
        for version in versions:
            if not re.fullmatch(r"3\.[0-9]+", version):
                raise ValueError(f'{version!r} is not a Python version such as "3.11"; {python_meant(version)}')
        if twice := _twice(versions):
            raise ValueError(f"the Python version {twice!r} is listed twice; remove one of them")
        return versions

    @model_validator(mode="after")
    def _rocm_of_index(self) -> Recipe:
        if self.rocm is None and "{rocm}" in f"{self.publish.index} {self.publish.url}":
            key = "index" if "{rocm}" in self.publish.index else "url"
            without = re.sub(r"/?[\w.-]*\{rocm\}[\w.-]*", "", getattr(self.publish, key)).strip("/") or "dist/simple"
            raise ValueError(
                f"`publish.{key}` names {{rocm}}, and the recipe has no `rocm`; write it out: `{key}: {without}`, or the folder that you want"
            )
        return self

    @model_validator(mode="after")
    def _glibc_of_kernels(self) -> Recipe:
        if self.base.glibc and not any(isinstance(c, Kernels) for c in self.components.values()):
            raise ValueError(
                "`base.glibc` is for components of the kinds `kernels` and `kernels-ep`, and the recipe has none; leave it out"
            )
        return self

    @property
    def destination(self) -> Publish:
        """`publish` with the recipe's ROCm in place of `{rocm}`."""
        filled_fields = {key: getattr(self.publish, key).replace("{rocm}", self.rocm or "") for key in ("index", "url")}
        return self.publish.model_copy(update=filled_fields)

    @property
    def conversions(self) -> dict[str, Hipify]:
        """What is to be converted to HIP, by component."""
        return {n: c.hipify for n, c in self.components.items() if isinstance(c, Convertible) and c.hipify}

    @property
    def targets_to_emulate(self) -> tuple[str, ...]:
        """The targets to emulate of those that this recipe builds for: `build --gfx` may leave some out."""
        processors = {processor(target) for target in self.gfx}
        return tuple(target for target in (self.verify.emulate if self.verify else ()) if target in processors)

    @property
    def wheels(self) -> dict[str, Wheel]:
        """The wheel components by name."""
        return {n: c for n, c in self.components.items() if isinstance(c, Wheel)}


def recipe_schema() -> dict[str, Any]:
    """The JSON schema of a recipe, for editors: `stackbuild recipe schema`."""
    schema = Recipe.model_json_schema(by_alias=True)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
