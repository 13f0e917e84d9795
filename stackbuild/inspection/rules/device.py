"""Rules about GPU code: targets, kernels, bundles."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from stackbuild.inspection.expectations import Expectations
from stackbuild.inspection.facts import Facts, Library
from stackbuild.inspection.readers.bundle import target_of
from stackbuild.inspection.rules.rule import ERROR, NOTE, WARNING, SubjectEvidence, count_of, rule, some
from stackbuild.inspection.rules.variants import alternatives
from stackbuild.inspection.summary import by_target
from stackbuild.tables.targets import in_file_name, is_known, normal, processor

_FATBIN_LIMIT = 3 << 29  # 1.5 GiB
_WORTH = 64 << 20


@rule(
    "SB-GPU-TARGET-LIE", ERROR, "A code object is filed under another target than it is built for",
    why="The runtime picks by the bundle's entry; the GPU then gets machine code of another one.",
    fix="Build again; no tool should edit bundle entries.",
    link="https://llvm.org/docs/AMDGPUUsage.html#elf-header",
)  # fmt: skip
def target_lie(facts: Facts, expectations: Expectations) -> Iterator[SubjectEvidence]:
    """The target in the code object's ELF header is not that of the bundle's entry, of its metadata, or of its file's name."""
    for device in facts.device:
        for claimed_target, target in sorted({(o.claimed, o.target) for o in device.objects if o.claimed}):
            if _disagree(claimed_target, target):
                yield device.path, f"filed under {claimed_target}, built for {target}"
        for noted_target, target in sorted({(o.noted, o.target) for o in device.objects if o.noted}):
            if _disagree(noted_target, target):
                yield device.path, f"its metadata says {noted_target}, its header {target}"
        named_targets = in_file_name(device.path) if device.section == "file" else frozenset()
        strangers = sorted(
            {o.target for o in device.objects if named_targets and processor(o.target) not in named_targets}
        )
        if strangers:
            yield device.path, f"named for {some(sorted(named_targets))}, holds code for {some(strangers)}"


def _disagree(claimed_target: str, target: str) -> bool:
    """Whether two target IDs differ; of two processors that are not known here nobody can tell."""
    return normal(claimed_target) != normal(target) and (is_known(claimed_target) or is_known(target))


@rule(
    "SB-GPU-TARGET-UNKNOWN", WARNING, "A code object for a GPU that is not known here",
    why="Nothing that is said of targets counts for it: it may be newer than this program, or damaged.",
    fix="If the GPU is real, its number is missing in `stackbuild/tables/targets.py`: say so in a bug report.",
    link="https://llvm.org/docs/AMDGPUUsage.html#amdgpu-elf-header-e-flags-table-v3-onwards",
)  # fmt: skip
def target_unknown(facts: Facts, expectations: Expectations) -> Iterator[SubjectEvidence]:
    """A number in e_flags that no known processor has."""
    for device in facts.device:
        unknown_targets = sorted({o.target for o in device.objects if not is_known(o.target)})
        if unknown_targets:
            yield device.path, f"code objects for {some(unknown_targets)}"


@rule(
    "SB-GPU-BUNDLE-HASH", ERROR, "A compressed bundle does not have the content its hash says",
    why="The payload was damaged or replaced after the compiler wrote it; the HIP runtime does not check.",
    fix="Build again, and look for what rewrote the file (patchelf, strip, objcopy).",
    link="https://clang.llvm.org/docs/ClangOffloadBundler.html#compression-and-decompression",
)  # fmt: skip
def bundle_hash(facts: Facts, expectations: Expectations) -> Iterator[SubjectEvidence]:
    """The hash in a CCOB header is not that of the inflated bundle."""
    for device in facts.device:
        wrong = [bundle.offset for bundle in device.bundles if bundle.hash_ok is False]
        if wrong:
            yield device.path, f"{count_of(len(wrong), 'bundle')} with a wrong hash, at offset {some(wrong)}"


@rule(
    "SB-GPU-EMPTY", ERROR, "A target has code objects, but no kernel that does anything",
    why="The GPU would run nothing and report success. Empty kernels are trampolines compiled for other targets.",
    fix="Add the target to the source's architecture list (CMAKE_HIP_ARCHITECTURES, GPU_TARGETS), not only to the linker's.",
)  # fmt: skip
def empty(facts: Facts, expectations: Expectations) -> Iterator[SubjectEvidence]:
    """Kernels for a target, none of which uses a vector register; or no kernel at all where another target has some."""
    most = max((t.working for t in facts.targets), default=0)
    for target in facts.targets:
        if target.kernels and not target.working:
            yield target.target, f"{count_of(target.kernels, 'kernel')}, all of them empty"
        elif not target.kernels and most:
            yield (
                target.target,
                f"{count_of(target.objects, 'code object')} without a kernel, another target has {most:,}",
            )


@rule(
    "SB-GPU-UNEVEN", WARNING, "One target has far fewer kernels than another",
    why="A GPU whose kernels are missing fails at the first launch of one, or falls back to the CPU.",
    fix="Build all targets from one source list; a file of another architecture may have overwritten the right one.",
    link="https://github.com/ROCm/rocm-systems/issues/6362",
)  # fmt: skip
def uneven(facts: Facts, expectations: Expectations) -> Iterator[SubjectEvidence]:
    """Fewer than half the non-empty kernels of the best covered target, but some. Libraries that are alternatives of each
    other are compared each by itself: a newer ROCm knows more targets."""
    groups = [group for group in alternatives(facts.libraries) if len(group) > 1]
    apart = {lib.path for group in groups for lib in group}
    units = [[device for device in facts.device if device.path not in apart]]
    units += [[device] for device in facts.device if device.path in apart]
    for devices in units:
        targets = by_target(devices)
        most = max((t.working for t in targets), default=0)
        for target in targets:
            if 0 < target.working * 2 < most:
                subject = target.target if devices is units[0] else f"{devices[0].path} {target.target}"
                yield subject, f"{count_of(target.working, 'non-empty kernel')}, another target has {most:,}"


@rule(
    "SB-GPU-BUNDLE-TARGETS", WARNING, "A part of a library is built for fewer targets",
    why="Each translation unit has a bundle of its own. On a GPU that one lacks, the kernels of that unit alone fail, with"
    " `hipErrorNoBinaryForGpu` or a crash in the launch, while all others work.",
    fix="Build every source with the same targets; a part that is for some GPUs on purpose needs a check before its launch.",
    link="https://github.com/ROCm/rocm-libraries/issues/11219",
)  # fmt: skip
def bundle_targets(facts: Facts, expectations: Expectations) -> Iterator[SubjectEvidence]:
    """A bundle of a library lacks a target that another bundle of the same library has."""
    for device in facts.device:
        target_sets = [
            frozenset(normal(o.target) for o in bundle.objects) for bundle in device.bundles if bundle.objects
        ]
        every = frozenset().union(*target_sets)
        lacking = [target for target in sorted(every) if not all(target in one for one in target_sets)]
        if device.section != "file" and lacking:
            few = sum(one < every for one in target_sets)
            yield device.path, f"{few} of {count_of(len(target_sets), 'bundle')} without {some(lacking)}"


@rule(
    "SB-GPU-SPILLS", NOTE, "Kernels spill registers to memory",
    why="Each spilled register is memory traffic in the innermost loop; a wide kernel that spills is usually slower than a narrow one.",
    fix="Lower the block size or unrolling for that target, or `__launch_bounds__`; compare with the last release (`--diff`).",
)  # fmt: skip
def spills(facts: Facts, expectations: Expectations) -> Iterator[SubjectEvidence]:
    """Per target, how many kernels spill vector registers and which is worst."""
    for target in facts.targets:
        if target.spilling and target.worst is not None:
            worst = target.worst
            yield (
                target.target,
                (
                    f"{count_of(target.spilling, 'kernel')} spill; worst {worst.vgpr_spills} VGPRs and {worst.scratch} B of scratch in"
                    f" {worst.name[:80]}"
                ),
            )


@rule(
    "SB-GPU-FATBIN-SIZE", WARNING, "GPU code pushes host code out of reach",
    why="Host relocations reach 2 GiB; beyond it linking fails with `relocation truncated to fit`, or worse.",
    fix="Compress (`--offload-compress`), split per target into device wheels, or use -mcmodel=medium.",
    link="https://github.com/ROCm/rocm-systems/issues/7009",
)  # fmt: skip
def fatbin_size(facts: Facts, expectations: Expectations) -> Iterator[SubjectEvidence]:
    """More than 1.5 GiB of .hip_fatbin in one library."""
    for device in facts.device:
        if device.section != "file" and device.size > _FATBIN_LIMIT:
            yield device.path, f"{device.section} has {device.size / 2**30:.2f} GiB"


@rule(
    "SB-GPU-UNCOMPRESSED", NOTE, "GPU code could be an eighth of its size",
    why="Everyone who installs the wheel stores it unpacked, all targets of it.",
    fix="Compile with `--offload-compress`, or ship one device wheel per target.",
    link="https://github.com/ROCm/rocm-systems/pull/3855",
)  # fmt: skip
def uncompressed_bundles(facts: Facts, expectations: Expectations) -> Iterator[SubjectEvidence]:
    """More than 64 MiB of plain bundles in one file."""
    for device in facts.device:
        plain = sum(bundle.size for bundle in device.bundles if bundle.compression == "none" and bundle.entries)
        if plain > _WORTH:
            yield (
                device.path,
                f"{plain / 1e6:.0f} MB of code objects for {count_of(_targets(device.objects), 'target')}, not compressed",
            )


def _targets(objects: tuple[object, ...]) -> int:
    return len({getattr(o, "target", "") for o in objects})


@rule(
    "SB-GPU-MIXED-VERSIONS", WARNING, "Code objects of several versions",
    why="An older ROCm runtime loads some and refuses others; parts were built by different compilers.",
    fix="Build every part with one ROCm, or `-mcode-object-version` alike.",
    link="https://llvm.org/docs/AMDGPUUsage.html#code-object",
)  # fmt: skip
def mixed_versions(facts: Facts, expectations: Expectations) -> Iterator[SubjectEvidence]:
    """Code objects of more than one code-object version in one file."""
    for device in facts.device:
        versions = sorted({o.version for o in device.objects})
        if len(versions) > 1:
            yield device.path, f"code-object versions {some(f'V{v}' for v in versions)}"


@rule(
    "SB-GPU-WRAPPERS", WARNING, "A library registers more GPU code than it holds",
    why="Each translation unit registers one bundle when the library is loaded; one that is not there is a launch that fails later.",
    fix="Look for what rewrote the file after linking (objcopy, patchelf, a size tool).",
)  # fmt: skip
def wrappers(facts: Facts, expectations: Expectations) -> Iterator[SubjectEvidence]:
    """More wrappers of 24 bytes in .hipFatBinSegment than bundles in .hip_fatbin, but some bundles."""
    bundles = _bundles(facts)
    for lib in facts.libraries:
        registrations = _registered_bundles(lib)
        if registrations > bundles.get(lib.path, registrations):
            yield lib.path, f"{count_of(registrations, 'wrapper')}, {count_of(bundles[lib.path], 'bundle')}"


@rule(
    "SB-GPU-LOST", ERROR, "A library registers GPU code and holds none",
    why="It loads, and the first kernel that it launches fails with `hipErrorNoBinaryForGpu` or kills the process.",
    fix="Look for what removed the section after linking (strip, objcopy, a size tool), and build again.",
    link="https://llvm.org/docs/AMDGPUUsage.html#code-object",
)  # fmt: skip
def lost_bundle(facts: Facts, expectations: Expectations) -> Iterator[SubjectEvidence]:
    """A library calls `__hipRegisterFatBinary` or has .hipFatBinSegment, and no bundle is in it; or its .hip_fatbin has a
    size and no bytes (NOBITS). Not where the code was split out into a kpack archive."""
    bundles = _bundles(facts)
    split = {extra.path for extra in facts.extras if extra.kind == "kpack wrapper"}
    for lib in facts.libraries:
        if lib.path in split or bundles.get(lib.path):
            continue
        if ".hip_fatbin" in lib.unfilled:
            yield lib.path, "its .hip_fatbin has a size, but no bytes in the file"
        elif _registered_bundles(lib) or "__hipRegisterFatBinary" in lib.undefined:
            yield lib.path, f"{count_of(_registered_bundles(lib), 'wrapper')}, no bundle"


def _bundles(facts: Facts) -> dict[str, int]:
    """Bundles by library."""
    return {device.path: len(device.bundles) for device in facts.device if device.section != "file"}


def _registered_bundles(lib: Library) -> int:
    """Bundles that a library hands to the runtime when it is loaded."""
    return dict(lib.sections).get(".hipFatBinSegment", 0) // 24


@rule(
    "SB-GPU-SECTION", WARNING, "GPU code is not in the section for it",
    why="The runtime finds it through a pointer; tools that list, split or strip GPU code go by the section's name and miss it.",
    fix="Look for what renamed the section after linking (objcopy --rename-section).",
    link="https://clang.llvm.org/docs/ClangOffloadBundler.html",
)  # fmt: skip
def section(facts: Facts, expectations: Expectations) -> Iterator[SubjectEvidence]:
    """Bundles in a library that has sections, but not in its .hip_fatbin."""
    has_sections = {lib.path for lib in facts.libraries if lib.sections}
    for device in facts.device:
        if device.section == "elsewhere" and device.path in has_sections:
            yield device.path, f"{count_of(len(device.bundles), 'bundle')} outside of .hip_fatbin"


@rule(
    "SB-GPU-BUNDLE-EMPTY", ERROR, "A bundle without GPU code",
    why="What was compiled into it is lost: the library registers the bundle, and its kernels are not found when they are launched.",
    fix="Build again; a compiler that was given no target (`--offload-arch`) writes such bundles.",
    link="https://clang.llvm.org/docs/ClangOffloadBundler.html#bundled-code-object-layout",
)  # fmt: skip
def bundle_empty(facts: Facts, expectations: Expectations) -> Iterator[SubjectEvidence]:
    """A bundle with no entry, with entries for the host alone, or with an entry for a GPU that has no bytes."""
    for device in facts.device:
        bundles = [each for each in device.bundles if each.compression != "none" or each.entries or not each.objects]
        bare = [each.offset for each in bundles if not each.device_entries]
        if bare:
            yield device.path, f"{count_of(len(bare), 'bundle')} without code for a GPU, at offset {some(bare)}"
        vacant = sorted({entry for each in bundles for entry in each.vacant})
        if vacant:
            yield device.path, f"no bytes for {some(vacant)}"


@rule(
    "SB-GPU-TARGET-TWICE", ERROR, "A bundle has two code objects for one target",
    why="The runtime takes the first that fits: which of the two is run depends on their order, and only one was tested.",
    fix="Build again with each target named once; look for a step that joins bundles.",
    link="https://clang.llvm.org/docs/ClangOffloadBundler.html#bundled-code-object-layout",
)  # fmt: skip
def target_twice(facts: Facts, expectations: Expectations) -> Iterator[SubjectEvidence]:
    """Two entries of one bundle for the same target ID."""
    for device in facts.device:
        twice = {
            target
            for bundle in device.bundles
            for target, times in Counter(normal(target_of(entry)) for entry in bundle.device_entries).items()
            if target and times > 1
        }
        if twice:
            yield device.path, f"more than one code object for {some(sorted(twice))}"


@rule(
    "SB-GPU-TRIPLE", ERROR, "A bundle's entry that the runtime does not recognise",
    why="The HIP runtime passes over entries of another form: on that GPU the kernel is not found.",
    fix="Build again with HIP's compiler; no tool should edit bundle entries.",
    link="https://clang.llvm.org/docs/ClangOffloadBundler.html#target-id",
)  # fmt: skip
def triple(facts: Facts, expectations: Expectations) -> Iterator[SubjectEvidence]:
    """An entry that is neither `host-…` nor `hip-amdgcn-amd-amdhsa-…` or `hipv4-amdgcn-amd-amdhsa-…` with a target ID, nor
    SPIR-V of AMD."""
    for device in facts.device:
        strange = sorted(
            {entry for bundle in device.bundles for entry in bundle.device_entries if not _ENTRY.fullmatch(entry)}
        )
        if strange:
            yield device.path, f"{some(entry or 'an empty ID' for entry in strange)}"


_ENTRY = re.compile(r"hip(v4)?-(amdgcn-amd-amdhsa-\w*-gfx[0-9a-z-]+(:\w+[+-])*|spirv64-amd-amdhsa-\w*-amdgcnspirv)")


@rule(
    "SB-GPU-TENSILE-PAIR", ERROR, "A Tensile library file without its code objects",
    why="rocBLAS reads the library file, picks a kernel from it and then finds no code object: the GEMM fails at run time.",
    fix="Copy the whole `library/` folder of the target, or leave the target out altogether.",
    link="https://github.com/ROCm/pytorch/issues/1340",
)  # fmt: skip
def tensile_pair(facts: Facts, expectations: Expectations) -> Iterator[SubjectEvidence]:
    """A Tensile library file in a wheel or folder, and no code object for its target in a file beside it: rocBLAS does not
    look into libraries. Silent where there is a kpack archive, which is not read and may hold it."""
    have = {
        (_folder(device.path), processor(o.target))
        for device in facts.device
        if device.section == "file"
        for o in device.objects
    }
    unread = any(extra.kind == "kpack archive" for extra in facts.extras)
    for extra in facts.extras if len(facts.members) > 1 and not unread else ():
        if extra.kind == "Tensile library" and extra.target and (_folder(extra.path), extra.target) not in have:
            yield extra.path, f"names {extra.target}; no code object for it is beside it"


def _folder(path: str) -> str:
    return path.rpartition("/")[0]


@rule(
    "SB-GPU-TENSILE-LOST", ERROR, "A Tensile library refers to a file that is not there",
    why="The lazy index sends rocBLAS to a file for each kind of GEMM; where it is missing, that GEMM fails at run time.",
    fix="Copy the whole `library/` folder of the target.",
    link="https://github.com/ROCm/pytorch/issues/1340",
)  # fmt: skip
def tensile_lost(facts: Facts, expectations: Expectations) -> Iterator[SubjectEvidence]:
    """A lazy index in a wheel or folder names library files (`.dat`) that are not beside it."""
    have = {extra.path for extra in facts.extras}
    for extra in facts.extras if len(facts.members) > 1 else ():
        lost_names = [name for name in extra.refers if f"{_folder(extra.path)}/{name}.dat".lstrip("/") not in have]
        if lost_names:
            yield (
                extra.path,
                f"{len(lost_names)} of {count_of(len(extra.refers), 'file')} missing, such as {lost_names[0]}.dat",
            )


RULES = (
    target_lie, target_unknown, bundle_hash, empty, uneven, bundle_targets, spills, fatbin_size, uncompressed_bundles, mixed_versions, wrappers,
    lost_bundle, section, bundle_empty, target_twice, triple, tensile_pair, tensile_lost,
)  # fmt: skip
