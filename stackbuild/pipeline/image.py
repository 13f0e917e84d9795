"""The verb `image`: a recipe's wheels, for one GPU target, as a container image with no more than they need.

Four layers: what every program needs, Python, the machine's libraries behind the wheels, and the wheels. All but the wheels
are files of the recipe's own base, taken package by package (dpkg's dependencies), so that the wheels run on the very
libraries that they were linked and proved with. Where the base has a library without what that needs, a root with just
these packages is made for the image. Files that name other GPU targets than the one wanted are left out.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from stackbuild.build.build import build, wheels
from stackbuild.build.context import BuildContext
from stackbuild.build.order import Order, open_context
from stackbuild.build.schedule import Limits, schedule
from stackbuild.core import digest
from stackbuild.core.errors import LockError, MachineLacks, StepFailed, UsageError
from stackbuild.core.versions import series
from stackbuild.model.events import Emit, Note
from stackbuild.model.loaded import Loaded
from stackbuild.model.plan import Plan, Step, sorted_items
from stackbuild.recipe.wheels import narrowed
from stackbuild.runners import bwrap
from stackbuild.sources.dpkg import DpkgRoot
from stackbuild.sources.local import refuse_outside
from stackbuild.sources.oci import Layout, unpack
from stackbuild.sources.oci_writer import ImageSettings, LayerFiles, WrittenLayer, write_layout
from stackbuild.tables.packages import packages_of
from stackbuild.tables.targets import TARGETS

SYSTEM = ("base-files", "base-passwd", "bash", "coreutils", "dash", "libc-bin", "libgcc-s1", "libstdc++6")
"""Packages of every image: the C and C++ run time, and a shell to look around with."""
CERTIFICATES = "ca-certificates"
SETTINGS = ("group", "ld.so.conf", "nsswitch.conf", "passwd")
"""Files of /etc that no package's list has: maintainer scripts write them."""
LEFT_OUT = ("usr/share/doc/", "usr/share/man/", "usr/share/locale/", "usr/share/lintian/", "usr/share/info/")
LICENCE = "copyright"
FOLDERS = {"dev": 0o755, "proc": 0o755, "root": 0o700, "run": 0o755, "sys": 0o755, "tmp": 0o1777, "var/tmp": 0o1777}
"""Folders that every image has, empty, to mode."""
PATH = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

_TARGET = re.compile(r"gfx[0-9][0-9a-f]*")

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


@dataclass(frozen=True)
class WrittenImage:
    """The image: where its layout lies, its layers, what was left out of them, and what its packages said when loaded."""

    recipe: str
    gfx: str
    python: str
    folder: str
    digest: str
    layers: tuple[WrittenLayer, ...]
    left_out_files: int
    left_out_bytes: int
    loaded: tuple[str, ...]

    @property
    def compressed(self) -> int:
        return sum(layer.compressed for layer in self.layers)


def image(loaded: Loaded, order: Order, gfx: str, folder: Path, listeners: Iterable[Emit]) -> WrittenImage:
    """Build the recipe's wheels for one target, and write the image. Raises every Stop but Defect.

    `folder` must not be there yet: it appears whole or not at all.
    """
    refuse_outside(loaded)
    if gfx not in loaded.recipe.gfx:
        raise UsageError(
            f"the recipe has no target {gfx}", where="--gfx", next=f"one of {', '.join(loaded.recipe.gfx)}"
        )
    if os.path.lexists(folder):
        raise UsageError("the image's folder is there already", where=str(folder), next="name a new one with --to")
    narrow = replace(order, choice=replace(order.choice, gfx=(gfx,)))
    with open_context(loaded, narrow, listeners) as context:
        made = _wheels(loaded, narrow, context)
        context.emit(Note("info", "reading which libraries the wheels need"))
        root, outside = _runtime(made, loaded, narrow.limits, context)
        left_out: dict[str, int] = {}
        scratch = context.store.tmp / "image"
        scratch.mkdir()
        context.emit(Note("info", f"installing {len(made.runtime) + len(made.own)} wheels"))
        site = _installed(made, scratch)
        layers = _layers(root, made, site, outside, _Targets(gfx, left_out))
        settings = _settings(loaded, gfx, made)
        said = _told(context)
        written = write_layout(scratch / "layout", layers, settings, said)
        layout = Layout(scratch / "layout")
        context.emit(Note("info", f"unpacking the image, and loading {', '.join(made.packages)} in it"))
        proved = _proved(layout, scratch, made)
        _place(layout.folder, folder, context.run)
        shutil.rmtree(scratch, ignore_errors=True)
        placed = Layout(folder)
    return WrittenImage(
        loaded.recipe.name,
        gfx,
        made.python,
        str(folder),
        placed.digest,
        written,
        len(left_out),
        sum(left_out.values()),
        proved,
    )


def _place(made: Path, folder: Path, run: str) -> None:
    """Move the layout to where it is wanted, which may be another file system: copied under a name of its own, then renamed."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    beside = folder.with_name(f".{folder.name}.{run}")
    try:
        shutil.move(made, beside)
        beside.rename(folder)
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def _told(context: BuildContext) -> Callable[[WrittenLayer], None]:
    def tell(layer: WrittenLayer) -> None:
        context.emit(Note("info", f"layer {layer.name}: {layer.files} files, {layer.compressed / 1e6:.1f} MB"))

    return tell


@dataclass(frozen=True)
class _Made:
    """What the image is made of: the base's root and the step that made it, its Python, the recipe's wheels, those they run with, and the packages to
    load."""

    base: Path
    step: Step
    python: str
    own: tuple[Path, ...]
    runtime: tuple[Path, ...]
    packages: tuple[str, ...]


def _wheels(loaded: Loaded, order: Order, context: BuildContext) -> _Made:
    """Build the wheels, and fetch those that they run with for the base's Python."""
    outputs = build(loaded, order, context)
    step = next((s for s in outputs.plan.steps if s.action in ("debian", "image")), None)
    record = context.store.find(step.key) if step else None
    if step is None or record is None:
        raise MachineLacks("the recipe's base is not in the store", next=f"stackbuild build -r {loaded.given_name}")
    base = context.store.tree(record.tree)
    python = _python(base)
    own = tuple(w for w in wheels(outputs, context.store) if _fits(w, python))
    if not own:
        raise UsageError("the recipe makes no wheel for its base's Python", where=f"Python {python}")
    runtime: tuple[Path, ...] = ()
    if loaded.recipe.verify and loaded.recipe.verify.runtime:
        if python not in loaded.recipe.python:
            raise LockError(
                f"the recipe does not list Python {python}, which its base has",
                where="python",
                next=f"add it and run `stackbuild lock -r {loaded.given_name}`",
            )
        house = f"wheelhouse.{python}"
        choice = replace(order.choice, python=(python,), until=house)
        fetched = build(loaded, replace(order, choice=choice), context)
        runtime = tuple(p for b in fetched.built for p in sorted(context.store.tree(b.tree).glob("*.whl")))
    return _Made(base, step, python, own, _without(runtime, own), _packages(loaded, order))


def _python(base: Path) -> str:
    """The Python of the base, such as `3.13`."""
    status = DpkgRoot(base).packages.get("python3")
    version = re.search(r"^Version: (\S+)", status.stanza, re.MULTILINE) if status else None
    if version is None:
        raise MachineLacks("the base has no package python3", next="add python3 to the recipe's base")
    return series(version[1])


def _fits(wheel: Path, python: str) -> bool:
    tag = wheel.stem.split("-")[-3]
    return tag.startswith("py") or tag == f"cp{python.replace('.', '')}"


def _without(runtime: tuple[Path, ...], own: tuple[Path, ...]) -> tuple[Path, ...]:
    """The wheels of a runtime but for distributions that the recipe makes itself. One `onnxruntime` is enough."""
    mine = {w.name.partition("-")[0].lower() for w in own}
    replaced = (
        {"onnxruntime"} if any(name.startswith("onnxruntime_") and "_ep_" not in name for name in mine) else set()
    )
    return tuple(w for w in runtime if w.name.partition("-")[0].lower() not in mine | replaced)


def _packages(loaded: Loaded, order: Order) -> tuple[str, ...]:
    """The import packages of the recipe's wheels, those that are loaded to prove the image."""
    recipe, _ = narrowed(loaded.recipe, order.choice.gfx)
    return tuple(
        dict.fromkeys(p for c in recipe.components.values() for p in getattr(c, "packages", ()) if "/" not in p)
    )


def _installed(made: _Made, scratch: Path) -> Mapping[str, Path]:
    """Each wheel's files where the base's own Python puts them: `own` or `runtime` to the folder. pip runs in the base."""
    found = {}
    for kind, chosen in (("runtime", made.runtime), ("own", made.own)):
        target, given = scratch / kind, scratch / f"{kind}-wheels"
        target.mkdir()
        given.mkdir()
        for wheel in chosen:
            shutil.copy(wheel, given)
        if chosen:
            _pip(made.base, target, given)
        found[kind] = target
    return found


def _pip(root: Path, target: Path, wheels_folder: Path) -> None:
    import pip

    names = [f"/tmp/wheels/{p.name}" for p in sorted(wheels_folder.iterdir())]
    sandbox = _sandbox(
        root,
        (
            *("--dir", "/tmp/pip", "--ro-bind", str(Path(pip.__file__).parent), "/tmp/pip/pip"),
            *("--ro-bind", str(wheels_folder), "/tmp/wheels", "--bind", str(target), "/tmp/target"),
        ),
        (("PYTHONPATH", "/tmp/pip"), ("PIP_CONFIG_FILE", "/dev/null"), ("PIP_ROOT_USER_ACTION", "ignore")),
    )
    words = ("--no-index", "--no-deps", "--no-compile", "--no-cache-dir", "--disable-pip-version-check")
    code, said = sandbox.run("python3", "-m", "pip", "install", "--quiet", *words, "--target", "/tmp/target", *names)
    if code:
        raise StepFailed(f"pip cannot install the wheels in the base: {said.strip()[-800:]}", where=str(root))


def _sandbox(root: Path, mounts: tuple[str, ...], env: tuple[tuple[str, str], ...] = ()) -> bwrap.Bwrap:
    usual = (("PATH", PATH.partition("=")[2]), ("HOME", "/tmp"), ("LANG", "C.UTF-8"), ("PYTHONDONTWRITEBYTECODE", "1"))
    return bwrap.Bwrap(bwrap.installed(), root=("--ro-bind", str(root), "/"), mounts=mounts, env=(*usual, *env))


def _needed(chosen: tuple[Path, ...], base: DpkgRoot) -> tuple[frozenset[str], tuple[str, ...]]:
    """The packages of the base that have the libraries which the wheels need and do not hold; the sonames that no package of
    it has."""
    from stackbuild.inspection import inspect

    libraries = [library for wheel in chosen for library in inspect(wheel).libraries]
    inside = {name for one in libraries for name in (one.soname, PurePosixPath(one.path).name)}
    found, lacking = set(), []
    for soname in sorted({name for one in libraries for name in one.needed} - inside):
        place = base.library(soname)
        owner = base.owners.get(place, "") or (base.owners.get(_target(base, place), "") if place else "")
        found.add(owner)
        lacking += [soname] if not owner else []
    return frozenset(found - {""}), tuple(lacking)


def _runtime(made: _Made, loaded: Loaded, limits: Limits, context: BuildContext) -> tuple[DpkgRoot, frozenset[str]]:
    """The root that the image's files are taken from, and the packages behind the wheels.

    It is the recipe's base; where that has the libraries without what they need themselves (`extract`), it is a root of the
    same suite and versions with just these packages. Raises StepFailed for a library whose package nobody knows.
    """
    base = DpkgRoot(made.base)
    owners, lacking = _needed((*made.runtime, *made.own), base)
    if not lacking:
        return base, owners
    named = {soname: packages_of(soname)[0] for soname in lacking}
    unknown = [soname for soname, package in named.items() if not package]
    if unknown or made.step.action != "debian":
        raise StepFailed(
            f"no package of the base has {', '.join(unknown or lacking)}, which the wheels need",
            where=str(base.root),
            next="an image is made of packages; add the one with that library to the recipe's base",
        )
    wanted = frozenset((*owners, *named.values()))
    step = runtime_step(made.step, wanted)
    built, broken = schedule(Plan(loaded.recipe.name, (step,), (step.name,)), context, limits)
    if broken:
        raise StepFailed(f"step `{step.name}` failed: {broken[0].what}", where=broken[0].log, next=broken[0].look)
    return DpkgRoot(context.store.tree(built[step.name].tree)), wanted


def runtime_step(base: Step, packages: Iterable[str]) -> Step:
    """The step that makes a root with these packages and Python, of the base's suite and at its locked versions."""
    params = dict(base.params)
    params |= {"extract": digest.canonical(()), "packages": digest.canonical(sorted({*packages, "python3"}))}
    return replace(base, name="runtime", params=sorted_items(params))


def _target(base: DpkgRoot, place: str) -> str:
    """What a link of the base leads to, inside the base."""
    link = base.root / place
    return base.place(str(PurePosixPath(place).parent / os.readlink(link))) if link.is_symlink() else place


@dataclass(frozen=True)
class _Targets:
    """Which files another GPU target than `wanted` needs; `left_out` collects them with their sizes."""

    wanted: str
    left_out: dict[str, int]

    def keeps(self, path: str, file: Path) -> bool:
        """Whether the image takes that file: it names no target, or the one wanted, or one that nobody knows."""
        named = {found for token in _TARGET.findall(path) if (found := _processor(token, self.wanted))}
        if not named or self.wanted in named:
            return True
        self.left_out[path] = 0 if file.is_symlink() else file.stat().st_size
        return False


def _processor(token: str, wanted: str) -> str:
    """The known target that a file name's token begins with: MIOpen puts the number of compute units behind it, as
    `gfx90a68`. "" where it is none."""
    fits = [target for target in (wanted, *TARGETS) if token.startswith(target)]
    return max(fits, key=len) if fits else ""


def _layers(
    base: DpkgRoot, made: _Made, site: Mapping[str, Path], outside: frozenset[str], targets: _Targets
) -> tuple[LayerFiles, ...]:
    """The four layers; a package is in the first that needs it, and what the wheels need last."""
    there = [name for name in (*SYSTEM, CERTIFICATES) if name in base.packages]
    system = base.closure(there)
    python = base.closure(["python3"]) - system
    libraries = base.closure(outside) - system - python
    chosen = (*sorted(system), *sorted(python), *sorted(libraries))
    dist = f"usr/local/lib/python{made.python}/dist-packages"
    status = "".join(f"{base.packages[name].stanza}\n\n" for name in sorted(chosen)).encode()
    runtime, own = ({f"{dist}/{name}": path for name, path in _below(site[kind])} for kind in ("runtime", "own"))
    extra: dict[str, Path | bytes] = dict(_settings_files(base))
    extra |= {p.name: p for p in base.root.iterdir() if p.is_symlink()}
    return (
        LayerFiles("system", {**_files(base, system, targets), **extra}, FOLDERS),
        LayerFiles(f"python {made.python}", {**_files(base, python, targets), **runtime}, {}),
        LayerFiles("libraries", {**_files(base, libraries, targets), "var/lib/dpkg/status": status}, {}),
        LayerFiles("wheels", own, {}),
    )


def _settings_files(base: DpkgRoot) -> Iterable[tuple[str, Path]]:
    etc = base.root / "etc"
    listed = [etc / name for name in SETTINGS]
    for path in (*listed, *sorted((etc / "alternatives").glob("*")), *sorted((etc / "ssl/certs").glob("*"))):
        if path.is_symlink() or path.is_file():
            yield str(path.relative_to(base.root)), path


def _files(base: DpkgRoot, names: Iterable[str], targets: _Targets) -> dict[str, Path | bytes]:
    """The files and links of these packages, by where they really lie. dpkg's lists name some that it left out."""
    found: dict[str, Path | bytes] = {}
    for name in sorted(names):
        for listed in base.listed(name):
            path = base.place(listed)
            file = base.root / path
            if not (file.is_symlink() or file.is_file()):
                continue
            if path.startswith(LEFT_OUT) and not path.endswith(f"/{LICENCE}"):
                continue
            if targets.keeps(path, file):
                found[path] = file
    return found


def _below(folder: Path) -> Iterable[tuple[str, Path]]:
    return ((str(p.relative_to(folder)), p) for p in sorted(folder.rglob("*")) if p.is_symlink() or p.is_file())


def _settings(loaded: Loaded, gfx: str, made: _Made) -> ImageSettings:
    labels = {
        "org.opencontainers.image.title": f"{loaded.recipe.name} for {gfx}",
        "org.opencontainers.image.description": loaded.recipe.summary,
        "io.stackbuild.gfx": gfx,
        "io.stackbuild.recipe": loaded.recipe.name,
        "io.stackbuild.wheels": " ".join(wheel.name for wheel in made.own),
    }
    name = f"{loaded.recipe.name}:{gfx}"
    return ImageSettings(name, (PATH, "LANG=C.UTF-8"), ("python3",), labels)


def _proved(layout: Layout, scratch: Path, made: _Made) -> tuple[str, ...]:
    """Unpack the image that was written, and load each package of the recipe in it. Raises StepFailed."""
    root = scratch / "root"
    root.mkdir()
    unpack(layout, root)
    code, said = _sandbox(root, ()).run("python3", "-c", PROBE, *made.packages)
    lines = tuple(line.strip() for line in said.splitlines() if line.startswith("loaded "))
    if code or len(lines) != len(made.packages):
        raise StepFailed(
            f"the image was written and its packages do not load in it: {said.strip()[-800:]}",
            where=", ".join(made.packages),
            next=f"{Path(sys.argv[0]).name} verify says what the wheels need",
        )
    return lines
