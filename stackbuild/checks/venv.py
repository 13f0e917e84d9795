"""`doctor --venv`: who owns each file of `onnxruntime/` in an environment, and why its providers cannot work.

Reads files alone: metadata and RECORD of the distributions, and the tables that the dynamic loader reads. Nothing of the
environment is run, so a damaged one can be read as well.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from stackbuild.checks import venv_rules
from stackbuild.checks.loader_paths import LoaderPaths
from stackbuild.checks.venv_contents import (
    EXTENSION,
    ROOT,
    ByteMatch,
    FileOrigin,
    InstalledDistribution,
    VenvContents,
    base_version,
    read_contents,
    version_number,
)
from stackbuild.checks.venv_repair import (
    PLUGIN,
    PLUGIN_SINCE,
    PROVIDER,
    Repair,
    exchange_command,
    repair_of,
)
from stackbuild.core.errors import UsageError
from stackbuild.core.packaging import (
    InvalidRequirement,
    Requirement,
    Version,
    applies,
    canonicalize_name,
    is_requirement,
)
from stackbuild.core.plain_file import read_regular
from stackbuild.core.shell_words import shell_word, shell_words
from stackbuild.inspection.facts import Library
from stackbuild.inspection.read import inspect
from stackbuild.model.findings import Finding, Severity
from stackbuild.tables.runtime_builds import build_with

_ROCM_EP_LAST = Version("1.22")
"""The last release line with the ROCm EP: microsoft/onnxruntime#25181 removed it before 1.23."""
_NUMPY_2_SINCE = Version("1.19")
"""The first ONNX Runtime that was compiled against NumPy 2 (release notes of 1.19.0)."""


@dataclass(frozen=True)
class OwnerRow:
    """A distribution with files in `onnxruntime/`: how many it recorded, and how many are other bytes or gone.

    Of `unknown` files RECORD has no digest: their sizes are not other ones, and their bytes may be.
    """

    distribution: str
    version: str
    files: int
    changed: int
    missing: int
    unknown: int


@dataclass(frozen=True)
class ProviderRow:
    """A provider's library, who owns it, and the libraries that the loader would not find for it."""

    provider: str
    file: str
    owner: str
    missing: tuple[str, ...]


@dataclass(frozen=True)
class ExtensionRow:
    """The extension module that `import onnxruntime` loads, and whose file it is: "" where that is not known.

    `evidence` says by what it is known: "digest", "size" or "its own text".
    """

    file: str
    owner: str
    evidence: str


@dataclass(frozen=True)
class VenvReport:
    """What an environment holds of ONNX Runtime. `owned` maps each file of `onnxruntime/` to the distributions that recorded it.

    `extension` is None where Python finds no extension module.
    `gpus` are the makers of the machine's GPUs, and `keep` is the requirement of the one build that every finding keeps.
    """

    folder: str
    python: str
    owners: tuple[OwnerRow, ...]
    providers: tuple[ProviderRow, ...]
    extension: ExtensionRow | None
    owned: dict[str, tuple[str, ...]]
    gpus: tuple[str, ...]
    keep: str
    findings: tuple[Finding, ...]

    @property
    def failed(self) -> bool:
        return any(f.severity is Severity.ERROR for f in self.findings)


def examine_venv(folder: Path, loader: LoaderPaths, makers: tuple[str, ...] = ()) -> VenvReport:
    """Everything there is to say of the environment in that folder, on a machine with GPUs of those makers.

    Raises UsageError where it is not an environment.
    """
    environment = read_contents(folder)
    here = environment.here
    libraries = {path: library for path in here if ".so" in path if (library := _library(environment.site / path))}
    providers = tuple(_providers(environment, libraries, loader))
    repair = repair_of(environment, makers)
    findings = (
        *_damage(environment, repair),
        *_ownership(environment, repair),
        *_versions(environment, repair),
        *_requirements(environment, repair),
        *_load_failures(environment, providers, repair, makers),
        *_loading(environment, libraries, providers, loader, repair, makers),
        *_system(environment),
    )
    return VenvReport(
        str(folder), environment.python, tuple(_owner_rows(environment)), providers,
        _extension(environment),
        {path: tuple(e.title for e in environment.owners.get(path, ())) for path in here}, makers, repair.keep,
        tuple(sorted(findings, key=lambda f: list(Severity).index(f.severity))),
    )  # fmt: skip


def _library(path: Path) -> Library | None:
    """The library as the loader reads it; None for what is not a library, such as a linker script."""
    try:
        libraries = inspect(path).libraries
    except UsageError:
        return None
    return libraries[0] if libraries else None


def _owner_rows(environment: VenvContents) -> Iterator[OwnerRow]:
    for each in environment.distributions:
        mine = [path for path in each.files if path.startswith(f"{ROOT}/") and "__pycache__" not in path]
        if mine:
            there = [path for path in mine if (environment.site / path).is_file()]
            counts = Counter(environment.compare(path, each) for path in there)
            changed_files, unknown_files = counts[ByteMatch.OTHER], counts[ByteMatch.UNCERTAIN]
            yield OwnerRow(each.name, each.version, len(mine), changed_files, len(mine) - len(there), unknown_files)


def _extension(environment: VenvContents) -> ExtensionRow | None:
    if not environment.extension:
        return None
    origin = environment.origin(environment.extension)
    return ExtensionRow(environment.extension, origin.title if origin else "", origin.evidence if origin else "")


def _damage(environment: VenvContents, repair: Repair) -> Iterator[Finding]:
    for each in environment.distributions:
        for path, what in each.damage:
            again = f"rm -rf {shell_word(environment.site / Path(path).parent)} && {repair.install} --force-reinstall {shell_word(each.name)}"
            fix = repair.command if each.name in repair.names else again
            yield venv_rules.DAMAGED_METADATA.finding(path, what, fix=fix)


def _ownership(environment: VenvContents, repair: Repair) -> Iterator[Finding]:
    path_owners = environment.owners
    shared_files: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for path, owners in path_owners.items():
        if len({o.name for o in owners}) > 1:
            shared_files[tuple(sorted({o.title for o in owners}))].append(path)
    for titles, paths in sorted(shared_files.items()):
        there = _whose_bytes(environment, [path for path in paths if (environment.site / path).is_file()])
        yield venv_rules.OVERWRITE.finding(
            " + ".join(titles), f"{len(paths)} files of onnxruntime/ belong to each of them{there}", fix=repair.command,
        )  # fmt: skip
    in_conflict = {path for paths in shared_files.values() for path in paths}
    for each in environment.distributions:
        mine = [p for p in each.files if p.startswith(f"{ROOT}/") and "__pycache__" not in p and p not in in_conflict]
        absent = [path for path in mine if not (environment.site / path).is_file()]
        odd = [path for path in mine if path not in absent and environment.compare(path, each) is ByteMatch.OTHER]
        for rule, paths, what in (
            (venv_rules.MISSING_FILES, absent, "not there"),
            (venv_rules.CHANGED_FILES, odd, "other bytes than it installed"),
        ):
            if paths:
                evidence = f"{len(paths)} of its files are {what}, first {paths[0]}"
                yield rule.finding(each.title, evidence, fix=repair.command)
    nobody = [path for path in environment.here if path not in path_owners]
    if nobody:
        empty = f"{ROOT}/__init__.py" not in environment.here
        origin = f"; they are of {repair.orphan.name} {repair.orphan.version}".rstrip() if repair.orphan else ""
        evidence = f", by {repair.orphan.evidence}" if repair.orphan else ""
        yield venv_rules.ORPHAN.finding(
            f"{ROOT}/", f"{_files_belong(len(nobody))} to no installed distribution, first {nobody[0]}{origin}{evidence}",
            why="the folder without its __init__.py is an empty package: `onnxruntime` has no InferenceSession" if empty
            else "they are left of an older installation, and may be loaded", fix=repair.command, severity=Severity.ERROR if empty or any(map(PROVIDER.search, nobody)) else Severity.WARNING,
        )  # fmt: skip
    times = Counter(e.name for e in environment.distributions)
    for name in (name for name, count in times.items() if count > 1 and name.startswith(ROOT)):
        versions = " and ".join(e.version for e in environment.distributions if e.name == name)
        yield venv_rules.TWICE.finding(
            name, f"it is installed twice, as {versions}",
            fix=repair.command,
        )  # fmt: skip


def _whose_bytes(environment: VenvContents, paths: list[str]) -> str:
    """Of files with several owners: whose bytes lie there, of how many that is not known, and which have nobody's."""
    origins: dict[str, list[FileOrigin]] = defaultdict(list)
    uncertain, foreign = 0, 0
    for path in paths:
        matches = {environment.compare(path, owner) for owner in environment.owners[path]}
        if origin := environment.origin(path):
            origins[origin.title].append(origin)
        elif matches == {ByteMatch.OTHER}:
            foreign += 1
        elif ByteMatch.UNCERTAIN in matches:
            uncertain += 1
    whole = len(origins) == 1 and not uncertain and not foreign
    parts = []
    for title, theirs in sorted(origins.items(), key=lambda item: -len(item[1])):
        evidence = " and ".join(sorted({origin.evidence for origin in theirs} - {"digest"}))
        count = "" if whole else f"of {len(theirs)} "
        parts.append(f"the bytes {count}are those of {title}" + (f" (by {evidence})" if evidence else ""))
    if foreign:
        parts.append(f"{foreign} have bytes that none of them installed")
    if uncertain:
        parts.append(f"of {uncertain} it is not known whose they are")
    module = environment.origin(environment.extension)
    if module and set(origins) != {module.title}:
        parts.append(f"Python imports the extension module of {module.title}")
    return "".join(f"; {part}" for part in parts)


def _files_belong(count: int) -> str:
    return "1 file belongs" if count == 1 else f"{count} files belong"


def _versions(environment: VenvContents, repair: Repair) -> Iterator[Finding]:
    version = environment.statements(f"{ROOT}/__init__.py").get("__version__", "")
    recorded_versions = {e.version for e in environment.runtimes}
    if version and recorded_versions and base_version(version) not in map(base_version, recorded_versions):
        yield venv_rules.VERSION.finding(
            f"{ROOT}/__init__.py", f"the package says {version}, its distribution {' and '.join(sorted(recorded_versions))}",
            fix=repair.command,
        )  # fmt: skip
    for each in environment.runtimes:
        has_library = any(path.endswith("libonnxruntime_providers_rocm.so") for path in environment.here)
        if each.name == "onnxruntime-rocm" and not has_library:
            last = version_number(each.version) < Version("1.23")
            yield venv_rules.ROCM_EP_GONE.finding(
                each.title, "it has no ROCMExecutionProvider: libonnxruntime_providers_rocm.so is not there",
                why="another distribution took its place" if last else f"ONNX Runtime {_ROCM_EP_LAST} is the last with it", fix=repair.command if last else "ask for MIGraphXExecutionProvider, or build 1.22 by `stackbuild build --recipe rocm-6.4`",
            )  # fmt: skip
    plugins = [e for e in environment.distributions if PLUGIN.match(e.name)]
    for plugin in plugins:
        old = [e for e in environment.runtimes if version_number(e.version) < PLUGIN_SINCE]
        if old or not environment.runtimes:
            have = f"{old[0].title} registers no plugin providers" if old else "no ONNX Runtime is installed beside it"
            yield venv_rules.PLUGIN.finding(
                plugin.title, have,
                why=f"plugin providers are loaded by ONNX Runtime {PLUGIN_SINCE} and newer", fix=repair.command,
            )  # fmt: skip


def _requirements(environment: VenvContents, repair: Repair) -> Iterator[Finding]:
    numpy = environment.version_of("numpy")
    for each in environment.runtimes:
        if numpy and version_number(numpy).major >= 2 and version_number(each.version) < _NUMPY_2_SINCE:
            yield venv_rules.NUMPY.finding(
                each.title, f"it was compiled against NumPy 1, and NumPy {numpy} is installed", fix=repair.command if repair.takes_away(each.name) else f"{repair.install} 'numpy<2'",
            )  # fmt: skip
    for each in (e for e in environment.distributions if e in environment.runtimes or e.name.startswith(ROOT)):
        wrong = [text for text in each.requires if not is_requirement(text)]
        if wrong:
            yield venv_rules.REQUIRES.finding(
                each.title, f"no installer can read its requirement {wrong[0][:100]!r}",
                why="pip refuses it, or leaves out what it needs", fix=repair.command if each.name in repair.names else f"{repair.install} --force-reinstall {shell_word(each.name)}",
            )  # fmt: skip
        unmet_requirements = [
            (requirement, have)
            for requirement, have in _applicable_requirements(each, environment)
            if not have or not requirement.specifier.contains(have, prereleases=True)
        ]
        if unmet_requirements:
            listing = ", ".join(
                f"{requirement} ({f'{have} is installed' if have else 'nothing of it is installed'})"
                for requirement, have in unmet_requirements
            )
            requirements = [requirement for requirement, _ in unmet_requirements]
            yield venv_rules.REQUIRES.finding(
                each.title, f"it requires {listing}", fix=repair.command if repair.takes_away(each.name) else f"{repair.install} {shell_words(requirements)}",
            )  # fmt: skip


def _applicable_requirements(
    each: InstalledDistribution, environment: VenvContents
) -> Iterator[tuple[Requirement, str]]:
    """The requirements of a distribution that count in this environment, with the version that it has, "" for none."""
    for text in each.requires:
        try:
            requirement = Requirement(text)
            counts = applies(requirement, {"python_version": environment.python} if environment.python else {})
        except InvalidRequirement:  # a finding of its own
            continue
        if counts:
            yield requirement, environment.version_of(str(canonicalize_name(requirement.name)))


def _providers(environment: VenvContents, libraries: dict[str, Library], loader: LoaderPaths) -> Iterator[ProviderRow]:
    for path, library in libraries.items():
        provider_match = PROVIDER.search(path)
        if provider_match and provider_match[1] != "shared":
            owners = environment.owners.get(path, ())
            missing = loader.missing(library, (environment.site / path).parent)
            yield ProviderRow(provider_match[1], path, ", ".join(o.title for o in owners) or "nobody", missing)


def _other_python(environment: VenvContents, path: str) -> str:
    """The Python that an extension module is for, "" where that is the environment's."""
    module = EXTENSION.fullmatch(path.rpartition("/")[2])
    tag = (module and module["tag"]) or ""
    made_for = f"3.{tag.removeprefix('cpython-3')}" if tag.startswith("cpython-3") else ""
    return made_for if environment.python and made_for != environment.python else ""


def _load_failures(
    environment: VenvContents, providers: tuple[ProviderRow, ...], repair: Repair, makers: tuple[str, ...]
) -> Iterator[Finding]:
    """The providers that the loader would refuse. A provider of a build that goes needs no libraries."""
    for row in (row for row in providers if row.missing):
        build = build_with(row.provider)
        owners = {owner.name for owner in environment.owners.get(row.file, ())}
        goes = bool(owners) and all(map(repair.takes_away, owners))
        goes = goes or bool(build and build.maker and repair.maker and build.maker != repair.maker)
        fix = _where_from(row.missing)
        if goes:
            fix = repair.command
        elif build and build.maker == "NVIDIA":
            fix = "install the CUDA and cuDNN that it names"
            if not makers:
                fix += f" for an NVIDIA GPU. For an AMD GPU: {exchange_command(environment, 'AMD')}"
        yield venv_rules.LOAD.finding(
            row.file, f"the loader does not find {', '.join(row.missing)}",
            why=f"the {row.provider} provider cannot be loaded, and sessions run on the CPU without an error", fix=fix,
        )  # fmt: skip


def _loading(
    environment: VenvContents, libraries: dict[str, Library], providers: tuple[ProviderRow, ...], loader: LoaderPaths,
    repair: Repair, makers: tuple[str, ...],
) -> Iterator[Finding]:  # fmt: skip
    for path in environment.here:
        if made_for := _other_python(environment, path):
            yield venv_rules.ABI.finding(
                path, f"it is for Python {made_for}, the environment has {environment.python}", fix=repair.command
            )
    for path, library in libraries.items():
        if newer := loader.newer_glibc(library):
            yield venv_rules.GLIBC.finding(path, f"it asks for glibc {newer}, this machine has {loader.glibc}")
    plugins = any(e.name.startswith("onnxruntime-ep-") for e in environment.distributions)
    if environment.runtimes and not providers and not plugins:
        yield venv_rules.CPU_ONLY.finding(
            ", ".join(e.title for e in environment.runtimes), "it has no provider for a GPU", fix=_gpu_build(environment, makers),
        )  # fmt: skip
    if not environment.runtimes and not environment.here:
        yield venv_rules.NONE.finding(str(environment.folder), "no ONNX Runtime is installed in it", fix=repair.command)


def _gpu_build(environment: VenvContents, makers: tuple[str, ...]) -> str:
    """What somebody does who wanted the GPU."""
    if "AMD" in makers:
        return "`stackbuild start` names the wheels and recipes for this machine's GPU"
    if "NVIDIA" in makers:
        return f"for this machine's GPU: {exchange_command(environment, 'NVIDIA')}"
    return 'stackbuild start --gpu "RX 7900 XTX" names the wheels and recipes for a GPU'


def _where_from(missing: tuple[str, ...]) -> str:
    """Where the libraries of a provider come from."""
    names = " ".join(missing)
    if re.search(r"amdhip|roc|hip|migraphx|MIOpen", names):
        majors = sorted(set(re.findall(r"libamdhip64\.so\.(\d+)", names)))
        release = f" {majors[0]}" if majors else ""
        return f"install ROCm{release}'s libraries, and let the loader find them: /etc/ld.so.conf.d/rocm.conf with /opt/rocm/lib, then ldconfig"
    return "install the package that has them, or set LD_LIBRARY_PATH to their folder"


def _system(environment: VenvContents) -> Iterator[Finding]:
    """Another ONNX Runtime outside of the environment that it can see."""
    config = environment.folder / "pyvenv.cfg"
    text = (read_regular(config, 100_000) or b"").decode("utf-8", "replace")
    values = dict(re.findall(r"(?m)^([\w-]+)\s*=\s*(.*?)\s*$", text))
    if values.get("include-system-site-packages", "").lower() != "true" or "home" not in values:
        return
    prefix = Path(values["home"]).parent
    places = [
        f"lib/python{environment.python}/site-packages",
        "lib/python3/dist-packages",
        f"local/lib/python{environment.python}/dist-packages",
    ]
    for place in places:
        if (prefix / place / ROOT).is_dir():
            yield venv_rules.SYSTEM.finding(
                str(prefix / place / ROOT), "the environment sees the system's packages, and onnxruntime is among them",
                fix=f"sed -i 's/^include-system-site-packages.*/include-system-site-packages = false/' {shell_word(config)}",
            )  # fmt: skip
