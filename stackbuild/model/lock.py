"""The Lock: what the world answered to a recipe's questions. Committed beside the recipe as `NAME.lock.yaml`.

And Inputs: everything a plan depends on: the lock as the world really is now (Debian's archive moves) and the content of
local sources.
"""

from __future__ import annotations

from typing import Annotated, Literal, Self

from stackbuild.core import digest, yaml
from stackbuild.core.model import Field, Model, field_validator
from stackbuild.model.components import MIGraphX, MIGraphXEp, OnnxRuntime
from stackbuild.model.recipe import Recipe

Word = Annotated[str, Field(pattern=r"^[^\s\x00-\x1f\x7f-][^\s\x00-\x1f\x7f]*$")]
"""A name or a version. It begins no line and no option of a tool that it is written for: pip's requirements, apt's words."""
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class Pin(Model):
    """One locked wheel of the wheelhouse."""

    version: Word
    sha256: tuple[Sha256, ...] = Field(min_length=1, description="Digests of the files that may be used.")


class File(Model):
    """A source that is one file, by name: a Debian package or a source distribution of the package index."""

    version: Word
    sha256: Sha256


class Dep(Model):
    """One dependency that a source's own build would download: a row of `cmake/deps.txt`, `requirements.txt` or
    `FetchContent_Declare`."""

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$")
    url: str = Field(pattern=r"^https://[A-Za-z0-9][A-Za-z0-9.-]*(/[A-Za-z0-9._%+@-]+)+$")
    digest: str = Field(
        default="",
        pattern=r"^(sha1:[0-9a-f]{40}|sha256:[0-9a-f]{64})?$",
        description="Empty: not asked yet, cannot be fetched.",
    )
    options: tuple[str, ...] = Field(default=(), description="CMake options of a `requirements.txt` line.")
    subfolder: str = Field(default="", description="Folder of its CMakeLists.txt.")

    @field_validator("url")
    @classmethod
    def _stays_inside(cls, url: str) -> str:
        """A build lays it out as HOST/PATH and would refuse it then."""
        if {".", ".."} & set(url.split("/")):
            raise ValueError("the path of the URL leads elsewhere")
        return url


class Lock(Model):
    """What the world answered, and to which questions (`asked` is the digest of those)."""

    schema_: Literal[1] = Field(alias="schema")
    asked: str = Field(pattern=r"^[0-9a-f]{64}$")
    questions: dict[str, str] = Field(
        default={}, description="Each question by name, with its digest: an answer outlives a change of the others."
    )
    packages: dict[Word, Word] = Field({}, description="Debian packages of the base, name to version.")
    image: str = Field(default="", pattern=r"^(sha256:[0-9a-f]{64})?$", description="The digest of the base's image.")
    commits: dict[str, str] = Field({}, description="Git sources, name to commit.")
    files: dict[str, File] = Field(default={}, description="Sources by package name, name to version and digest.")
    deps: dict[str, tuple[Dep, ...]] = Field(
        default={}, description="What a source's own build would download, by source."
    )
    versions: dict[str, str] = Field(
        default={},
        description="What a source says that it is at its commit, by source; checked against the component's `version`.",
    )
    wheelhouse: dict[Word, dict[Word, Pin]] = Field({}, description="Python version to distribution to pin.")

    @classmethod
    def from_text(cls, text: str, where: str) -> Self:
        """The lock in a YAML text; `where` is its place in messages. Raises RecipeError, and ValidationError where it is
        YAML and no lock."""
        data, _ = yaml.compose(text, where)
        return cls.model_validate(data)


def questions_digest(recipe: Recipe) -> str:
    """Digest of the questions a lock answers: the recipe's base, git refs, and the wheelhouse it verifies in."""
    questions: dict[str, object] = {
        "base": {
            k: v
            for k, v in {**digest.plain(recipe.base), "debian": _debian(recipe)}.items()
            if k != "glibc" and (k != "extend" or v)
        },
        "git": {n: (s.git, s.ref, s.submodules) for n, s in recipe.sources.items() if s.git},
        "python": recipe.python,
        "runtime": recipe.verify.runtime if recipe.verify else (),
    }
    if asking := {n: (k, c.version) for n, (k, c) in deps_of(recipe).items()}:
        questions["deps"] = asking
    if files := {n: (s.debian, s.suite, s.pypi) for n, s in recipe.sources.items() if s.debian or s.pypi}:
        questions["files"] = files
    return digest.of_value(questions)


def _debian(recipe: Recipe) -> object:
    """What a Debian base asks; one without pins asks what it did before there were any."""
    request = digest.plain(recipe.base.debian)
    return {k: v for k, v in request.items() if k != "pin" or v} if request else request


def questions(recipe: Recipe) -> dict[str, str]:
    """Each question of a recipe by itself: its name, as `unlocked` has it, to its digest."""
    base = recipe.base
    questions: dict[str, object] = {"base.image": base.image} if base.image else {"base.debian": _debian(recipe)}
    for name, source in recipe.sources.items():
        if source.git:
            questions[f"sources.{name}"] = (source.git, source.ref)
        elif source.debian or source.pypi:
            questions[f"sources.{name}"] = (source.debian, source.suite, source.pypi)
    for name, (kind, component) in deps_of(recipe).items():
        source = recipe.sources[name]
        questions[f"deps.{name}"] = (source.git, source.ref, kind, component.version)
    if recipe.verify and recipe.verify.runtime:
        questions |= {f"wheelhouse.{python}": (python, recipe.verify.runtime) for python in recipe.python}
    return {name: digest.of_value(value)[:16] for name, value in sorted(questions.items())}


DownloadingComponent = OnnxRuntime | MIGraphX | MIGraphXEp
FILES = {
    "onnxruntime": "cmake/deps.txt",
    "migraphx": "requirements.txt",
    "migraphx-ep": "src/CMakeLists.txt",
    "amdgpu-ep": "src/CMakeLists.txt",
}
"""Kind of component to the file of its source that names what its own build would download."""


VERSION_FILES = {"onnxruntime": "VERSION_NUMBER", "migraphx": "CMakeLists.txt"}
"""Kind of component to the file of its source that says which version it is."""


def deps_of(recipe: Recipe) -> dict[str, tuple[str, DownloadingComponent]]:
    """Sources whose own build would download, by name: the kind and the first component that builds them."""
    components = reversed(recipe.components.values())
    deps = {c.source: (c.kind, c) for c in components if isinstance(c, DownloadingComponent)}
    return dict(sorted(deps.items()))


def missing_entries(recipe: Recipe, lock: Lock) -> tuple[str, ...]:
    """What the lock does not answer yet, a line each: `stackbuild lock` asks where the network (or a mirror) allows."""
    lines = []
    if recipe.base.image and "@" not in recipe.base.image and not lock.image:
        lines.append(f"base.image: the digest of {recipe.base.image} is not known")
    for name, source in recipe.sources.items():
        if source.git and len(lock.commits.get(name, "")) < 7:
            lines.append(f"sources.{name}: the commit of {source.ref} is not known")
        if (source.debian or source.pypi) and name not in lock.files:
            lines.append(f"sources.{name}: its version and digest are not known")
    for name, (kind, component) in deps_of(recipe).items():
        if name not in lock.deps:
            lines.append(f"sources.{name}: its {FILES[kind]} has not been read")
        lines += [
            f"sources.{name}: the digest of {d.url} is not known"
            for d in lock.deps.get(name, ())
            if not d.digest and not is_elsewhere(d, component)
        ]
    return tuple(lines)


ROCMLIR = ("rocMLIR", "rocmlirTriton")
"""The line of MIGraphX's requirements that comes from a component of its own, and the fork of it that newer ones name."""


DIRECTML = ("eigen", "d3dx12", "boost")
"""What only the DirectML part of AMD's plugin EPs fetches, on Windows."""


def is_elsewhere(dep: Dep, component: DownloadingComponent) -> bool:
    """Whether a dependency is not fetched for its own sake: the base has it, a component makes it, or no Linux build asks."""
    if isinstance(component, MIGraphX):
        return dep.name in (*component.from_base, *ROCMLIR)
    return isinstance(component, MIGraphXEp) and dep.name in DIRECTML


def patches_of(source: str) -> str:
    """The name that a source's patches have among the local trees."""
    return f"{source}.patches"
