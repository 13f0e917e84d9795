"""`doctor --venv`: the one ONNX Runtime that an environment is to have, and the command that leaves it alone there.

One rule decides for the whole report. The build for the GPU of this machine is kept. Where no GPU is seen, AMD's build
comes before NVIDIA's, and any GPU's build before the CPU's. A machine with a GPU of AMD or NVIDIA gets no build of the
other. What no metadata tells of any more is found from the files: `build_and_package_info.py`, else the providers.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from stackbuild.checks.venv_contents import ROOT, InstalledDistribution, VenvContents, version_number
from stackbuild.core.packaging import Version, canonicalize_name
from stackbuild.core.plain_file import read_regular
from stackbuild.core.shell_words import shell_word, shell_words
from stackbuild.tables.runtime_builds import BUILDS, EXCLUSIVE_MAKERS, build_for, build_named, build_with

PROVIDER = re.compile(r"libonnxruntime_providers_(\w+)\.so$")
PLUGIN = re.compile(r"onnxruntime-ep-|onnxruntime-plugin-")
PLUGIN_SINCE = Version("1.23")
"""The first ONNX Runtime whose Python package registers plugin EPs."""
_BUILD_INFO = f"{ROOT}/capi/build_and_package_info.py"
_MODULE = re.compile(r"onnxruntime_pybind11_state[^/]*\.so$")


class Candidate(NamedTuple):
    """A build that the environment has or had. `requirement` is what pip is asked for; `version` may be ""."""

    name: str
    maker: str
    requirement: str
    version: str
    evidence: str


@dataclass(frozen=True)
class Repair:
    """`keep` is the requirement of the build to keep and `maker` whose GPUs that is for. `command` leaves this build alone.

    `install` begins every command that installs into the environment. `names` are the builds that metadata tell of. `orphan` is
    the one without metadata that the files tell of, None where there is none.
    """

    keep: str
    name: str
    maker: str
    command: str
    install: str
    names: frozenset[str]
    orphan: Candidate | None

    def takes_away(self, name: str) -> bool:
        """Whether the environment has that build and is not to keep it."""
        return name in self.names and name != self.name


def repair_of(environment: VenvContents, makers: tuple[str, ...]) -> Repair:
    """The repair. `makers` are those of the machine's GPUs. Where all modules are another Python's, any version for this one will do."""
    orphan = _orphan_build(environment)
    candidates = [*_with_metadata(environment), *([orphan] if orphan else [])]
    keep = _choice(environment, candidates, makers)
    other_python = not environment.extension and any(_MODULE.search(path) for path in environment.here)
    requirement = keep.name if other_python else keep.requirement
    tools = _tools(environment)
    install = " && ".join((*tools.first, tools.install))
    names = frozenset(each.name for each in _builds(environment))
    return Repair(requirement, keep.name, keep.maker, _command(environment, requirement), install, names, orphan)


def exchange_command(environment: VenvContents, maker: str) -> str:
    """The command that leaves the build for the GPUs of another maker."""
    return _command(environment, build_for(maker).distribution)


def _choice(environment: VenvContents, candidates: list[Candidate], makers: tuple[str, ...]) -> Candidate:
    """The build to keep, by the rule of this module."""
    plugins = any(PLUGIN.match(each.name) for each in environment.distributions)
    if plugins and all(version_number(each.version) < PLUGIN_SINCE for each in candidates):
        return Candidate(ROOT, "", f"{ROOT}>={PLUGIN_SINCE}", "", "the plugin providers that are installed need it")
    best = min(candidates, key=lambda each: _rank(each, makers), default=None)
    exclusive = [maker for maker in makers if maker in EXCLUSIVE_MAKERS]
    if best is None or (exclusive and best.maker in EXCLUSIVE_MAKERS and best.maker not in exclusive):
        build = build_for(exclusive[0] if exclusive else "")
        return Candidate(build.distribution, build.maker, build.distribution, "", "it is for the GPU of this machine")
    return best


def _rank(candidate: Candidate, makers: tuple[str, ...]) -> tuple[bool, bool, int]:
    """The machine's own GPU first, then any GPU, then by the order of the table."""
    names = [build.distribution for build in BUILDS]
    place = names.index(candidate.name) if candidate.name in names else len(names)
    return candidate.maker not in makers, not candidate.maker, place


def _with_metadata(environment: VenvContents) -> Iterator[Candidate]:
    """The builds that a `.dist-info` tells of, readable or not, of each name the newest version."""
    newest: dict[str, InstalledDistribution] = {}
    for each in _builds(environment):
        if each.name not in newest or version_number(each.version) > version_number(newest[each.name].version):
            newest[each.name] = each
    for name, each in newest.items():
        row = build_named(name)
        maker = row.maker if row else next(map(_maker_of, each.files), "")
        address = _address(environment, name)
        yield Candidate(name, maker, address or _requirement(name, each.version), each.version, "it is installed")


def _builds(environment: VenvContents) -> list[InstalledDistribution]:
    runtimes = environment.runtimes
    return [each for each in environment.distributions if each in runtimes or build_named(each.name)]


def _maker_of(path: str) -> str:
    match = PROVIDER.search(path)
    build = build_with(match[1]) if match else None
    return build.maker if build else ""


def _orphan_build(environment: VenvContents) -> Candidate | None:
    """The build whose metadata is gone, from its files that no distribution owns."""
    stray_files = [path for path in environment.here if path not in environment.owners]
    names_here = {each.name for each in _builds(environment)}
    values = environment.statements(_BUILD_INFO) if _BUILD_INFO in stray_files else {}
    name = str(canonicalize_name(values.get("package_name", "")))
    build = build_named(name)
    if build and name not in names_here:
        version = values.get("__version__", "")
        return Candidate(name, build.maker, _requirement(name, version, ".*"), version, _BUILD_INFO)
    if any((row := build_named(name)) and row.maker for name in names_here):
        return None
    providers = {match[1]: path for path in stray_files if (match := PROVIDER.search(path))}
    by_provider = [(each, providers[p]) for each in BUILDS for p in each.providers if p in providers]
    if not by_provider:
        return None
    # `onnxruntime-rocm` may have both of AMD's providers, `onnxruntime-migraphx` has one
    provider_build, path = max(by_provider, key=lambda pair: pair[0].distribution == "onnxruntime-rocm")
    return Candidate(provider_build.distribution, provider_build.maker, provider_build.distribution, "", path)


def _requirement(name: str, version: str, tail: str = "") -> str:
    """`name==version`, the name alone without a version. With the tail `.*`, post releases and local ones fit."""
    number = version_number(version)
    return name if number == Version("0") else f"{name}=={number}{tail}"


def _metadata_folders(environment: VenvContents, name: str) -> list[Path]:
    places = [place for place in environment.site.iterdir() if place.suffix in (".dist-info", ".egg-info")]
    return sorted(place for place in places if canonicalize_name(place.stem.partition("-")[0]) == name)


def _address(environment: VenvContents, name: str) -> str:
    """Where pip fetched the distribution from by address (PEP 610, direct_url.json), "" where an index had it."""
    for place in _metadata_folders(environment, name):
        try:
            origin = json.loads(read_regular(place / "direct_url.json", 100_000) or b"{}")
        except ValueError:
            continue
        url = origin.get("url") if isinstance(origin, dict) and "archive_info" in origin else ""
        if isinstance(url, str) and re.fullmatch(r"https?://[\x21-\x7e]+", url):
            return url
        if isinstance(url, str) and url.startswith("file:///") and Path(url.removeprefix("file://")).is_file():
            return url
    return ""


def _command(environment: VenvContents, requirement: str) -> str:
    """The commands that take every ONNX Runtime away and install that one, joined so that a failure stops them.

    pip cannot uninstall what has no readable metadata, or has it twice: such folders are removed first. What is left of
    `onnxruntime/` is removed, where files are in it that nobody owns or that such a distribution owned.
    """
    builds, tools = _builds(environment), _tools(environment)
    times = Counter(each.name for each in builds)
    whole = {e.name for e in builds if tools.uninstall and e.files and not e.damage and times[e.name] == 1}
    beyond_pip = sorted({each.name for each in builds} - whole)
    steps = []
    if folders := [place for name in beyond_pip for place in _metadata_folders(environment, name)]:
        steps.append(f"rm -rf {shell_words(folders)}")
    steps += tools.first
    if whole:
        steps.append(f"{tools.uninstall} {' '.join(sorted(whole))}")
    if beyond_pip or any(path not in environment.owners for path in environment.here):
        libraries = [environment.site / f"{name.replace('-', '_')}.libs" for name in beyond_pip]
        rest = [environment.site / ROOT, *(folder for folder in libraries if folder.is_dir())]
        steps.append(f"rm -rf {shell_words(rest)}")
    return " && ".join([*steps, f"{tools.install} {shell_word(requirement)}"])


class _Installer(NamedTuple):
    """How packages come into an environment and out of it. `first` makes what is missing; `uninstall` is "" where nothing can."""

    first: tuple[str, ...]
    uninstall: str
    install: str


def _tools(environment: VenvContents) -> _Installer:
    """pip of the environment. An environment without pip has uv's, where uv made it, else it gets Python's bundled one first."""
    folder, site = environment.folder, environment.site
    interpreter = folder / "bin/python" if folder != site else site.resolve().parents[2] / "bin/python"
    if folder == site and not interpreter.exists():
        return _Installer((), "", f"python3 -m pip install --target {shell_word(site)}")
    pip = _Installer((), f"{shell_word(interpreter)} -m pip uninstall -y", f"{shell_word(interpreter)} -m pip install")
    if (site / "pip/__init__.py").is_file():
        return pip
    config = (read_regular(folder / "pyvenv.cfg", 100_000) or b"").decode("utf-8", "replace")
    if re.search(r"(?m)^uv\s*=", config):
        return _Installer((), f"uv pip uninstall --python {shell_word(interpreter)}", f"uv pip install --python {shell_word(interpreter)}")
    return pip._replace(first=(f"{shell_word(interpreter)} -m ensurepip",))
