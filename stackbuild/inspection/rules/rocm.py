"""Rules about ROCm: sonames, grafted libraries, builds that lost their GPU, and what the recipe promises."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from fnmatch import fnmatchcase
from functools import cache

from stackbuild.core.versions import numbers
from stackbuild.inspection.expectations import Expectations
from stackbuild.inspection.facts import Facts, Library, ProviderLibrary
from stackbuild.inspection.readers.providers import bridge_stem
from stackbuild.inspection.readers.wheel import required_names, same_version
from stackbuild.inspection.rules.rule import ERROR, NOTE, WARNING, SubjectEvidence, count_of, rule, some
from stackbuild.inspection.rules.variants import alternatives
from stackbuild.tables.compatibility import table
from stackbuild.tables.targets import normal

BLAS: dict[int, dict[str, int]] = {
    5: {"librocblas.so": 3, "libhipblas.so": 1},
    6: {"librocblas.so": 4, "libhipblas.so": 2},
    7: {"librocblas.so": 5, "libhipblas.so": 3},
    10: {"librocblas.so": 5, "libhipblas.so": 3},
}
"""ROCm major → soname number of each library. ROCm 10 keeps those of 7."""
DEBIAN_HIP = {5: 5}
"""The HIP of Debian 13, 5.7, which is of no ROCm release that the compatibility table has."""
#: Libraries of ROCm that must come from the user's ROCm, never from inside a wheel.
ROCM_LIBRARIES = (
    "libamdhip64*", "libamd_comgr*", "libamd_smi*", "libamdocl64*", "libhip[bdfrst]*", "libhsa-*", "librocblas*",
    "librocfft*", "librocrand*", "librocsolver*", "librocsparse*", "librocalution*", "librocprofiler*", "librocroller*",
    "librocm-*", "librocm_*", "libroctracer64*", "libroctx64*", "libMIOpen*", "libmigraphx.so*", "libmigraphx_*",
    "libmigraphx-????????.so*", "librccl*",
)  # fmt: skip
_GPU_NAMES = re.compile(r"rocm|migraphx|amdgpu|hip(dnn)?\b")


@cache
def sonames() -> dict[int, dict[str, int]]:
    """ROCm major → soname number of each library: HIP's by the compatibility table."""
    hip = DEBIAN_HIP | {numbers(line.version)[0]: line.soname for line in table().rocm}
    return {major: {"libamdhip64.so": hip[major], "libhiprtc.so": hip[major], **blas} for major, blas in BLAS.items()}


def rocm_majors(lib: Library) -> dict[str, tuple[int, ...]]:
    """Needed soname → the ROCm majors it can belong to (a row for each that says something)."""
    majors = {}
    for soname in lib.needed:
        stem, _, number = soname.partition(".so.")
        by_major = [(major, libraries.get(stem + ".so")) for major, libraries in sonames().items()]
        if number.isdigit() and any(n is not None for _, n in by_major):
            majors[soname] = tuple(major for major, n in by_major if n == int(number))
    return majors


@rule(
    "SB-ROCM-MIXED", ERROR, "Libraries of two ROCm releases are needed together",
    why="Two HIP runtimes in one process do not know each other's memory and streams; it crashes or computes nonsense.",
    fix="Build everything against one ROCm; look for a cached or prebuilt dependency of the other.",
    link="https://github.com/microsoft/onnxruntime/issues/20929",
)  # fmt: skip
def mixed_majors(facts: Facts, expectations: Expectations) -> Iterator[SubjectEvidence]:
    """Needed sonames that no single ROCm major has together. Libraries that are alternatives of each other (one folder,
    names that differ by numbers alone, the same exports) each may be for another ROCm."""
    for lib in facts.libraries:
        if not _majors(lib):
            yield lib.path, _needs(rocm_majors(lib))
    common, owners = set(sonames()), dict[str, tuple[int, ...]]()
    for group in alternatives(facts.libraries):
        allowed_majors = {major for lib in group for major in _majors(lib)}
        if allowed_majors:
            common &= allowed_majors
            owners |= {name: majors for lib in group for name, majors in rocm_majors(lib).items()}
    if owners and not common:
        yield facts.subject, _needs(owners)


def _majors(lib: Library) -> set[int]:
    """The ROCm majors that have every soname which a library needs."""
    majors = set(sonames())
    for each in rocm_majors(lib).values():
        majors &= set(each)
    return majors


def _needs(owners: dict[str, tuple[int, ...]]) -> str:
    rows = [f"{name} (ROCm {'/'.join(map(str, majors)) or '?'})" for name, majors in sorted(owners.items())]
    return f"needs {some(rows, 6)}"


@rule(
    "SB-ROCM-SONAME", ERROR, "The wheel is linked to another ROCm than it is for",
    why="On the ROCm that the wheel is for, the provider does not load and ONNX Runtime runs on the CPU.",
    fix="Build in a base with the ROCm that the recipe targets.",
    link="https://github.com/ROCm/TheRock/issues/1995", needs="rocm",
)  # fmt: skip
def wrong_soname(facts: Facts, expectations: Expectations) -> Iterator[SubjectEvidence]:
    """A needed ROCm soname is not the one of the target ROCm's major release. Of libraries that are alternatives one has
    to fit."""
    if expectations.rocm_major not in sonames():
        return
    for group in alternatives(facts.libraries):
        wrong = {lib.path: _not_of(expectations.rocm_major, lib) for lib in group}
        if all(wrong.values()):
            for path, names in wrong.items():
                yield path, f"needs {some(names)}; ROCm {expectations.rocm} has other sonames"


def _not_of(major: int, lib: Library) -> list[str]:
    return [name for name, majors in rocm_majors(lib).items() if major not in majors]


@rule(
    "SB-ROCM-GRAFTED", ERROR, "A ROCm library was copied into the wheel",
    why="A second copy beside the user's ROCm gives wrong results and errors (two HIP runtimes), and hundreds of megabytes.",
    fix="`auditwheel repair --exclude` the sonames of the ROCm it is built for, by pattern; the list in onnxruntime's setup.py is"
    " older than ROCm 7.",
    link="https://github.com/microsoft/onnxruntime/pull/19586",
)  # fmt: skip
def grafted_libraries(facts: Facts, expectations: Expectations) -> Iterator[SubjectEvidence]:
    """A file named like a ROCm library, hashed names of auditwheel included, in a wheel that is not ROCm itself."""
    if facts.wheel is None or facts.wheel.name.startswith(("rocm", "amd-", "migraphx", "hip")):
        return
    for lib in facts.libraries:
        name = lib.path.rsplit("/", 1)[-1]
        if any(fnmatchcase(name, p) for p in ROCM_LIBRARIES) and not any(
            fnmatchcase(name, p) for p in expectations.grafts
        ):
            yield lib.path, f"{name} belongs to ROCm ({lib.size / 1e6:.1f} MB)"


@rule(
    "SB-ROCM-NO-PROVIDER", ERROR, "A ROCm wheel without a ROCm provider",
    why="CMake ignores an option it does not know, so a build that lost its GPU still ends well: the wheel is a CPU build.",
    fix="Look in the configure log for `Manually-specified variables were not used`; `stackbuild inspect` reads such logs too.",
    link="https://github.com/tobocop2/lilbee/pull/630",
)  # fmt: skip
def no_provider(facts: Facts, expectations: Expectations) -> Iterator[SubjectEvidence]:
    """A distribution named for ROCm, MIGraphX or hipDNN that installs no such provider, custom-op library or GPU code."""
    metadata = facts.wheel
    if metadata is None or not metadata.name.startswith("onnxruntime") or not _GPU_NAMES.search(metadata.name):
        return
    ours = [p for p in facts.providers if p.form != "bridge" or bridge_stem(p.path) in ("rocm", "migraphx", "hipdnn")]
    if not ours and not facts.device:
        yield metadata.name, f"no ROCm provider among {count_of(len(facts.libraries), 'library')}"


@rule(
    "SB-EP-PLUGIN-DEPENDS", WARNING, "A plugin EP depends on one onnxruntime distribution",
    why="Users have onnxruntime, onnxruntime-gpu or another build of it; installing a second one overwrites the first.",
    fix="Leave onnxruntime out of the dependencies and check the version when the library is registered.",
    link="https://onnxruntime.ai/docs/execution-providers/plugin-ep-libraries/packaging.html",
)  # fmt: skip
def plugin_depends(facts: Facts, expectations: Expectations) -> Iterator[SubjectEvidence]:
    """A wheel that brings only plugin EPs and requires an onnxruntime distribution, or brings ONNX Runtime itself."""
    if facts.wheel is None or {p.form for p in facts.providers} != {"plugin"}:
        return
    for name in required_names(facts.wheel.requires):
        if name == "onnxruntime" or name.startswith("onnxruntime-"):
            yield facts.wheel.name, f"requires {name}"
    for lib in facts.libraries:
        if "OrtGetApiBase" in lib.exports:
            yield lib.path, "is ONNX Runtime itself, inside a plugin's wheel"


@rule(
    "SB-RECIPE-GFX", ERROR, "The GPU targets are not the recipe's",
    why="A missing target fails on that GPU (`hipErrorNoBinaryForGpu`, or a crash in the launch); an extra one was never tested.",
    fix="Give the recipe's `gfx` to every part of the build (CMAKE_HIP_ARCHITECTURES, GPU_TARGETS); fail on an empty filter. A wheel"
    " built for fewer on purpose (`build --gfx`) is judged with the same `--gfx`.",
    link="https://github.com/ROCm/rocm-libraries/issues/11219", needs="gfx",
)  # fmt: skip
def recipe_gfx(facts: Facts, expectations: Expectations) -> Iterator[SubjectEvidence]:
    """The set of target IDs of all code objects in a wheel is not the one that it must have by the recipe. Or a library with GPU
    code lacks one of them that other files of the wheel have."""
    if facts.wheel is None or not expectations.gfx:
        return
    have = {normal(t.target) for t in facts.targets}
    want = {normal(t) for t in expectations.gfx}
    if missing := sorted(want - have):
        yield facts.subject, f"no code object for {some(missing, 8)}"
    if extra := sorted(have - want):
        yield facts.subject, f"code objects for {some(extra, 8)}, which the recipe does not name"
    for device in facts.device:
        own = {normal(o.target) for o in device.objects}
        if device.section != "file" and own and (lacking := sorted((want & have) - own)):
            yield device.path, f"no code object for {some(lacking, 8)}, which other files have"


@rule(
    "SB-RECIPE-KERNELS", ERROR, "Too few kernels for a target",
    why="A file of another architecture, or an empty one, can take the place of the right one: 646 kernels became 3 that way.",
    fix="Find the object that lost its kernels (`inspect --diff` with the last release); lower the floor only knowingly.",
    link="https://github.com/ROCm/rocm-systems/issues/6362", needs="kernels_floor",
)  # fmt: skip
def recipe_kernels(facts: Facts, expectations: Expectations) -> Iterator[SubjectEvidence]:
    """Fewer non-empty kernels for a target of a wheel than the recipe's floor."""
    if facts.wheel is None or not expectations.kernels_floor:
        return
    have = {normal(t.target): t.working for t in facts.targets}
    for target in expectations.gfx or sorted(have):
        if have.get(normal(target), 0) < expectations.kernels_floor:
            yield (
                target,
                f"{have.get(normal(target), 0):,} non-empty kernels; at least {expectations.kernels_floor:,} are asked for",
            )


@rule(
    "SB-RECIPE-PROVIDERS", ERROR, "A provider of the recipe is missing",
    why="The wheel installs and imports, and every session runs on the CPU.",
    fix="Turn the provider on in the build (`--use_migraphx`, the plugin's own build) and look at its configure log. A wheel"
    " that must have others than follow from its component says so in `verify.wheels`.",
    needs="providers",
)  # fmt: skip
def recipe_providers(facts: Facts, expectations: Expectations) -> Iterator[SubjectEvidence]:
    """A wheel has no library for a provider that it must have by the recipe, or none of custom operators. A plugin says its
    provider's name only when it runs: its file counts where it is named alike (`libmigraphx-ep.so`)."""
    if facts.wheel is None:
        return
    have = {provider.name for provider in facts.providers}
    for name in expectations.providers:
        if name not in have and not any(_named_alike(each, name) for each in facts.providers):
            yield name, f"no library for it; there is {some(sorted(have)) or 'no provider at all'}"
    if expectations.custom_ops and all(provider.form != "custom-ops" for provider in facts.providers):
        yield "custom operators", "no library exports RegisterCustomOps"


def _named_alike(provider: ProviderLibrary, name: str) -> bool:
    """Whether a plugin's library is named for a provider, case and punctuation apart."""
    short = re.sub(r"[^a-z0-9]", "", name.lower()).removeprefix("lib").removesuffix("executionprovider")
    return provider.form == "plugin" and len(short) > 2 and short in re.sub(r"[^a-z0-9]", "", provider.name.lower())


@rule(
    "SB-RECIPE-VERSION", ERROR, "The wheel has another version than the recipe says",
    why="The local part says which ROCm a wheel is for; installers and people choose by it.",
    fix="Set the version in the recipe's wheel component; do not rename the file.",
    needs="version",
)  # fmt: skip
def recipe_version(facts: Facts, expectations: Expectations) -> Iterator[SubjectEvidence]:
    """The version, its local part included, is not the recipe's."""
    if expectations.version and facts.wheel and not same_version(facts.wheel.version, expectations.version):
        yield (
            facts.wheel.filename or facts.subject,
            f"version {facts.wheel.version}; the recipe says {expectations.version}",
        )


@rule(
    "SB-RECIPE-SIZE", ERROR, "The wheel is over its size budget",
    why="Indexes refuse files over their limit (100 MB by default on the public one), and users wait.",
    fix="Strip, compress GPU code (`--offload-compress`), or split targets into device wheels.",
    needs="size_budget",
)  # fmt: skip
def recipe_size(facts: Facts, expectations: Expectations) -> Iterator[SubjectEvidence]:
    """The wheel is larger than the recipe's budget."""
    if facts.wheel and expectations.size_budget and facts.size > expectations.size_budget:
        yield facts.subject, f"{facts.size:,} bytes; the budget is {expectations.size_budget:,}"


@rule(
    "SB-RECIPE-EXCLUDE", ERROR, "An exclude pattern matched nothing",
    why="A pattern that no longer matches (a new soname) silently lets the library be copied into the wheel.",
    fix="Write the pattern for the ROCm of the recipe, or remove it.",
    needs="excludes",
)  # fmt: skip
def recipe_exclude(facts: Facts, expectations: Expectations) -> Iterator[SubjectEvidence]:
    """A pattern of the repair step that matches none of the sonames which the wheel's libraries need."""
    if facts.wheel is None:
        return
    needed_names = {name for lib in facts.libraries for name in lib.needed}
    for pattern in expectations.excludes:
        if not any(fnmatchcase(name, pattern) for name in needed_names):
            yield pattern, f"none of {count_of(len(needed_names), 'needed soname')} matches"


@rule(
    "SB-ELF-EXTERNAL", NOTE, "Libraries that the user's machine must have",
    why="They are outside every manylinux policy; without them the provider does not load.",
    fix="Name them in the README and, with a recipe, in the wheel's `external`.",
)  # fmt: skip
def external(facts: Facts, expectations: Expectations) -> Iterator[SubjectEvidence]:
    """Needed sonames that neither the wheel nor a manylinux policy has, and the recipe does not name."""
    needs: dict[str, list[str]] = defaultdict(list)
    outside = facts.policy.external if facts.policy else ()
    unnamed_libraries = {name for name in outside if not any(fnmatchcase(name, p) for p in expectations.external)}
    for lib in facts.libraries:
        for name in lib.needed:
            if name in unnamed_libraries:
                needs[lib.path].append(name)
    for path, names in needs.items():
        yield path, f"needs {some(names, 8)}"


RULES = (
    mixed_majors, wrong_soname, grafted_libraries, external, no_provider, plugin_depends, recipe_gfx, recipe_kernels, recipe_providers,
    recipe_version, recipe_size, recipe_exclude,
)  # fmt: skip
