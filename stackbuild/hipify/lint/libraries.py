"""Lint of CUDA's own libraries for device code: libcu++, wmma, CUTLASS, asynchronous copies; and of graphs."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator

from stackbuild.hipify.cpp.directives import Include
from stackbuild.hipify.cpp.scan import in_include, qualifier, skip_space
from stackbuild.hipify.cpp.source_text import View
from stackbuild.hipify.lint.catalogue import LintMatch
from stackbuild.hipify.passes import own_names, standard_names
from stackbuild.hipify.passes.includes import is_in_tree

_HEADERS = (
    ("mma.h", "LINT-WMMA"), ("crt/mma.h", "LINT-WMMA"), ("cooperative_groups/", "LINT-COOPERATIVE"), ("cuda_pipeline", "LINT-ASYNC-COPY"),
    ("cuda_awbarrier", "LINT-ASYNC-COPY"), ("cuda/", "LINT-CUDA-STD"), ("nv/", "LINT-CUDA-STD"), ("cutlass/", "LINT-CUTLASS"),
    ("cute/", "LINT-CUTLASS"),
)  # fmt: skip
_PROJECT_HEADER = re.compile(r"(?:cuda|nv)/(?!std/|__|detail/).*\.\w+$|mma\.h\w+$")
"""A project's header under a like name, or in a folder of that name: libcu++'s headers have no suffix."""
_STARTS = tuple(start for start, _ in _HEADERS)
CUTLASS = ("cutlass/cutlass.h", "cute/tensor.hpp")
"""The headers by which a copy of CUTLASS is known from a project's own folder of that name."""
_ASYNC = frozenset(
    (
        "__pipeline_memcpy_async",
        "__pipeline_commit",
        "__pipeline_wait_prior",
        "__pipeline_arrive_on",
        "memcpy_async",
        "make_pipeline",
    )
)
_WMMA = re.compile(r"\b(?:nvcuda\s*::\s*)?wmma\s*::\s*\w+|\bnvcuda\s*::\s*\w+|\busing\s+namespace\s+nvcuda\b")
_MMA = re.compile(r"__(?:wmma|bmma|imma|hmma|dmma)_\w+")
_CUDA = re.compile(r"cuda\s*::\s*(\w+)")
_OWN = re.compile(r"\bnamespace\s+(?:\w+\s*::\s*)*cuda\s*(?:\{|::)")
_GRAPH = re.compile(
    r"(?:cuda|cu)(?:Graph[A-Z]\w*|Stream(?:Begin|End)Capture\w*|StreamIsCapturing|StreamGetCaptureInfo\w*|StreamUpdateCapture\w*)"
)

_HIPCXX = "libhipcxx has it under the same name"
_LOADS = "use the plain pointer: there are no such cache policies"
_BARRIER = "use __syncthreads or a counter in shared memory; libhipcxx's first releases lack it"
_COPY = "copy through registers and synchronise the block"
# libcu++'s own names, with what to do in HIP. What libhipcxx has: see the rule's link.
LIBCUXX = {
    "std": "use std:: where clang takes it in device code, or libhipcxx, which has <cuda/std/…>",
    "ptx": "there is no such layer: write it with HIP's functions, as LINT-PTX says for each instruction",
    **dict.fromkeys(("atomic", "atomic_ref", "atomic_flag", "atomic_thread_fence", "thread_scope"), f"use __hip_atomic_* with a scope; {_HIPCXX}"),
    "thread_scope_system": "use __HIP_MEMORY_SCOPE_SYSTEM with __hip_atomic_*, or libhipcxx",
    "thread_scope_device": "use __HIP_MEMORY_SCOPE_AGENT with __hip_atomic_*, or libhipcxx",
    "thread_scope_block": "use __HIP_MEMORY_SCOPE_WORKGROUP with __hip_atomic_*, or libhipcxx",
    "thread_scope_thread": "use __HIP_MEMORY_SCOPE_SINGLETHREAD with __hip_atomic_*, or libhipcxx",
    **dict.fromkeys(("barrier", "latch", "counting_semaphore", "binary_semaphore"), _BARRIER),
    **dict.fromkeys(("pipeline", "make_pipeline", "pipeline_shared_state", "pipeline_role", "pipeline_consumer_wait_prior"), _COPY),
    **dict.fromkeys(("memcpy_async", "aligned_size_t"), _COPY),
    **dict.fromkeys(("annotated_ptr", "access_property", "associate_access_property", "apply_access_property", "discard_memory"), _LOADS),
    **dict.fromkeys(("maximum", "minimum", "proclaim_return_type", "get_device_address", "ceil_div", "round_up", "round_down"), _HIPCXX),
    **dict.fromkeys(("bitmask", "bit_reverse", "bitfield_insert", "bitfield_extract", "ilog2", "ilog10", "isqrt"), _HIPCXX),
    **dict.fromkeys(("is_power_of_two", "next_power_of_two", "prev_power_of_two", "fast_mod_div", "static_for"), "write it out: it is a line of C++"),
    "device": "use HIP's own functions: shuffles, and address spaces of clang",
    "mr": "use rocThrust's resources, or hipMallocAsync",
    "stream_ref": "use hipStream_t",
    "experimental": "it is in no ROCm library",
    "is_floating_point": _HIPCXX,
}  # fmt: skip


def headers(
    includes: Iterable[Include], ruled_names: Collection[str], own: frozenset[str] = frozenset()
) -> Iterator[LintMatch]:
    """Includes of libraries that HIP does not have. libcu++ headers that a header rule converts are left out. Of
    CUTLASS's includes only the first counts, and none of a file in a folder of the tree (`own`) that has its name."""
    is_reported = False
    has_copy = any(is_in_tree(path, own) for path in CUTLASS)
    for include in includes:
        if include.path.startswith("cuda/std/") and include.path in ruled_names:
            continue
        if _PROJECT_HEADER.match(include.path):
            continue
        if include.path.startswith(_STARTS):
            rule = next(rule for start, rule in _HEADERS if include.path.startswith(start))
            if rule == "LINT-CUTLASS":
                if is_reported or (not has_copy and is_in_tree(include.path, own)):
                    continue
                is_reported = True
            yield include.path_span[0], rule, (f"<{include.path}>", "libhipcxx has most of these headers")


def matrices(view: View) -> Iterator[LintMatch]:
    """wmma's names, and the compiler's own matrix functions."""
    if "rocwmma" not in view.words and not view.words.isdisjoint(("wmma", "nvcuda")):
        for match in _WMMA.finditer(view.code):
            if qualifier(view.code, match.start()) in ("", "::"):  # `mtk::wmma` is another project's
                yield match.start(), "LINT-WMMA", (match.group().replace(" ", ""),)
    for name in (
        sorted(w for w in view.words if w[:2] == "__" and _MMA.fullmatch(w)) if "mma_" in view.word_lines else ()
    ):
        for at in view.own(name):
            yield at, "LINT-WMMA", (name,)


def libcuxx(view: View, has_standard_names: bool) -> Iterator[LintMatch]:
    """libcu++'s names, wherever they stand as `cuda::…` and the project has no namespace of that name.

    Those of the fix `standard-names` are left out where a rule set has it.
    """
    if "cuda" not in view.words or (view.words.isdisjoint(LIBCUXX) and "\nthread_scope_" not in view.word_lines):
        return
    own: bool | None = None
    converted_places = {start for start, _ in standard_names.places(view)} if has_standard_names else set()
    for match in _CUDA.finditer(view.code):  # begins with a literal: the search skips to it
        name = match.group(1)
        if name not in LIBCUXX and not name.startswith("thread_scope_"):
            continue
        at = match.start()
        if at in converted_places:
            continue
        if (at and (view.code[at - 1].isalnum() or view.code[at - 1] == "_")) or qualifier(view.code, at) not in (
            "",
            "::",
        ):
            continue
        if not own_names.UNMISTAKABLE.match(view.code, at):
            own = _OWN.search(view.code) is not None if own is None else own
            if own:
                continue
        yield at, "LINT-CUDA-STD", (f"cuda::{name}", LIBCUXX.get(name, _HIPCXX))


def asynchronous(view: View) -> Iterator[LintMatch]:
    """Asynchronous copies, each use of a name, but not those that the text declares itself."""
    for name in sorted((view.words & _ASYNC) - own_names.common(view)):
        places = [at for at in view.own(name) if qualifier(view.code, at) != "cuda::" and not in_include(view.code, at)]
        for at in places:
            yield at, "LINT-ASYNC-COPY", (name,)


def graphs(view: View) -> Iterator[LintMatch]:
    """Calls of graphs and stream capture, each name where it is first called."""
    if "Graph" not in view.word_lines and "Captur" not in view.word_lines:
        return
    for name in sorted(w for w in view.words if w.startswith("cu") and _GRAPH.fullmatch(w) and not w.endswith("_t")):
        call_places = [at for at in view.own(name) if view.code.startswith("(", skip_space(view.code, at + len(name)))]
        for at in call_places[:1]:
            yield at, "LINT-GRAPH", (name,)


# What CUB 12.6 has in its namespace and hipCUB 6.4 has not, by `cuda_forms.py --forms members`, and what stands for it.
CUB_INTERNAL = "call the device-wide or block-wide function itself: hipCUB's insides are rocPRIM's"
CUB = {
    "DeviceFor": "use thrust::for_each, or a kernel",
    "DeviceTransform": "use thrust::transform",
    "DeviceMerge": "use thrust::merge",
    "SwitchDevice": "use hipSetDevice, and set the old one again",
    "CurrentDevice": "use hipGetDevice",
    **dict.fromkeys(("DeviceCount", "DeviceCountUncached", "DeviceCountCachedValue"), "use hipGetDeviceCount"),
    **dict.fromkeys(
        ("PtxVersion", "PtxVersionUncached", "SmVersion", "SmVersionUncached"), "ask hipDeviceProp_t for gcnArchName"
    ),
    "SyncStream": "use hipStreamSynchronize",
    "MaxSmOccupancy": "use hipOccupancyMaxActiveBlocksPerMultiprocessor",
    "CTA_SYNC_AND": "use __syncthreads_and",
    "CTA_SYNC_OR": "use __syncthreads_or",
    **dict.fromkeys(("SHFL_DOWN_SYNC", "SHFL_IDX_SYNC", "SHFL_UP_SYNC"), "use HIP's own shuffles"),
    "MatchAny": "use __match_any_sync",
    "ThreadReduce": "write the loop over the thread's values",
    **dict.fromkeys(("ThreadTrap", "ThreadExit"), "use abort() or return"),
    **dict.fromkeys(("FMUL_RZ", "FFMA_RZ"), "use __fmul_rz or __fmaf_rz"),
    **dict.fromkeys(
        (
            *("BinaryOpHasIdxParam", "BlockHistogramAtomic", "BlockHistogramMemoryPreference", "BlockHistogramSort"),
            *("BlockLoadType", "BlockRadixRankEmptyCallback", "BlockRadixRankMatchEarlyCounts", "BlockReduceRaking"),
            *("BlockReduceRakingCommutativeOnly", "BlockReduceWarpReductions", "BlockScanRaking", "BlockStoreType"),
            *("BlockScanRunningPrefixOp", "BlockScanWarpScans", "ChainedPolicy", "DeviceReduceKernelSource"),
            *("DeviceRleDispatch", "IterateThreadLoad", "IterateThreadStore", "KernelConfig", "MemBoundScaling"),
            *("PerDeviceAttributeCache", "PolicyWrapper", "PtxVersionCacheTag", "RadixRankAlgorithm", "ScanTileState"),
            *("RadixSortStoreAlgorithm", "ReduceByKeyScanTileState", "ReducePolicyWrapper", "RegBoundScaling"),
            *("ScanTileStatus", "SmVersionCacheTag", "TilePrefixCallbackOp", "WarpMatchAlgorithm", "WarpReduceShfl"),
            *("WarpReduceSmem", "WarpScanShfl", "WarpScanSmem", "ArrayWrapper", "EmptyKernel", "ValueCache", "UnrolledCopy"),
            *("DeviceSegmentedSortContinuation", "GetPerDeviceAttributeCache", "InternalLoadDirectBlockedVectorized"),
            *("MakePolicyWrapper", "MakeReducePolicyWrapper", "Nominal4BItemsToItems", "Nominal4BItemsToItemsCombined"),
            *("Nominal8BItemsToItems", "NormalizeReductionOutput", "RadixSortScanBinsKernel", "UnrolledThreadLoad"),
            *("ThreadLoadVolatilePointer", "ThreadStoreVolatilePtr"),
        ),
        CUB_INTERNAL,
    ),
}  # fmt: skip
CUB_INSIDE = re.compile(r"(?:Agent|Dispatch)[A-Z]\w+|Device\w+(?:Policy|Kernel(?:Large|Small)?)")
"""Names of CUB's insides, which hipCUB never has."""
