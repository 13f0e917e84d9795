"""Members of CUDA's structs that HIP's structs lack, by the ROCm version that has them first.

Made by comparing the structs of CUDA 12.6's driver_types.h, cuda.h and cuda_runtime_api.h with those of HIP 5.7's and
6.4's headers. Names that programs use for other things as well, such as `flags` or `event`, are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from stackbuild.hipify.cpp.source_text import View
from stackbuild.hipify.lint.catalogue import LintMatch


@dataclass(frozen=True)
class MissingMembers:
    """Members that HIP's form of a struct has not before a ROCm version (0: in none known), where a text has `words`."""

    struct: str
    words: frozenset[str]
    names: frozenset[str]
    before: int
    fix: str


_PROPERTIES = frozenset(("cudaDeviceProp", "cudaGetDeviceProperties", "cudaGetDeviceProperties_v2"))
_LAUNCH = frozenset(
    ("cudaLaunchAttribute", "cudaLaunchAttributeValue", "cudaLaunchConfig_t", "CUlaunchAttribute", "CUlaunchConfig")
)
_POOL = frozenset(("cudaMemPoolProps", "CUmemPoolProps"))
_TEXTURE = frozenset(("cudaTextureDesc",))
_FUNCTION = frozenset(("cudaFuncAttributes", "cudaFuncGetAttributes"))
_ASK = "ask hipDeviceGetAttribute where it has an attribute for it, or leave it out for HIP"
_MISSING = (
    MissingMembers(
        "cudaDeviceProp",
        _PROPERTIES,
        frozenset(
            [
                "accessPolicyMaxWindowSize",
                "asyncEngineCount",
                "canUseHostPointerForRegisteredMem",
                "clusterLaunch",
                "computePreemptionSupported",
                "deviceOverlap",
                "globalL1CacheSupported",
                "gpuDirectRDMAFlushWritesOptions",
                "gpuDirectRDMASupported",
                "gpuDirectRDMAWritesOrdering",
                "hostNativeAtomicSupported",
                "hostRegisterReadOnlySupported",
                "hostRegisterSupported",
                "ipcEventSupported",
                "localL1CacheSupported",
                "luidDeviceNodeMask",
                "maxBlocksPerMultiProcessor",
                "maxSurface1D",
                "maxSurface1DLayered",
                "maxSurface2D",
                "maxSurface2DLayered",
                "maxSurface3D",
                "maxSurfaceCubemap",
                "maxSurfaceCubemapLayered",
                "maxTexture1DLayered",
                "maxTexture1DMipmap",
                "maxTexture2DGather",
                "maxTexture2DLayered",
                "maxTexture2DLinear",
                "maxTexture2DMipmap",
                "maxTexture3DAlt",
                "maxTextureCubemap",
                "maxTextureCubemapLayered",
                "memoryPoolSupportedHandleTypes",
                "memoryPoolsSupported",
                "multiGpuBoardGroupID",
                "persistingL2CacheMaxSize",
                "regsPerMultiprocessor",
                "reservedSharedMemPerBlock",
                "sharedMemPerBlockOptin",
                "sharedMemPerMultiprocessor",
                "singleToDoublePrecisionPerfRatio",
                "streamPrioritiesSupported",
                "surfaceAlignment",
                "timelineSemaphoreInteropSupported",
                "unifiedAddressing",
                "unifiedFunctionPointers",
                "uuid",
            ]
        ),
        6,
        _ASK,
    ),
    MissingMembers(
        "cudaDeviceProp",
        _PROPERTIES,
        frozenset(("deferredMappingCudaArraySupported", "sparseCudaArraySupported")),
        0,
        "leave it out for HIP",
    ),
    MissingMembers(
        "cudaLaunchAttributeValue",
        _LAUNCH,
        frozenset(
            [
                "clusterDim",
                "clusterSchedulingPolicyPreference",
                "deviceUpdatableKernelNode",
                "launchCompletionEvent",
                "memSyncDomain",
                "memSyncDomainMap",
                "programmaticEvent",
                "programmaticStreamSerializationAllowed",
                "sharedMemCarveout",
                "syncPolicy",
                "triggerAtBlockStart",
            ]
        ),
        0,
        "leave the attribute out for HIP: there are no clusters and no programmatic dependent launch",
    ),
    MissingMembers(
        "CUmemAllocationProp",
        frozenset(("CUmemAllocationProp",)),
        frozenset(("requestedHandleTypes",)),
        7,
        "HIP calls it requestedHandleType, without the s",
    ),
    MissingMembers("cudaMemPoolProps", _POOL, frozenset(("usage",)), 0, "leave it out for HIP"),
    MissingMembers("cudaMemPoolProps", _POOL, frozenset(("maxSize",)), 6, "leave it out for HIP"),
    MissingMembers(
        "cudaTextureDesc",
        _TEXTURE,
        frozenset(("disableTrilinearOptimization", "seamlessCubemap")),
        0,
        "leave it out for HIP",
    ),
    MissingMembers(
        "cudaFuncAttributes",
        _FUNCTION,
        frozenset(
            [
                "clusterDimMustBeSet",
                "clusterSchedulingPolicyPreference",
                "nonPortableClusterSizeAllowed",
                "requiredClusterDepth",
                "requiredClusterHeight",
                "requiredClusterWidth",
            ]
        ),
        0,
        "leave it out for HIP: there are no clusters",
    ),
)
_STRUCTS = frozenset().union(*(one.words for one in _MISSING))
_BEFORE = re.compile(r"(?:->|\.)\s*$")


def members(view: View, major: int) -> Iterator[LintMatch]:
    """Each use of a member that HIP's struct lacks in a ROCm of that first number (0: any version)."""
    if view.words.isdisjoint(_STRUCTS):
        return
    for one in _MISSING:
        if (one.before and not 0 < major < one.before) or view.words.isdisjoint(one.words):
            continue
        for name in sorted(view.words & one.names):
            for at in view.places(name):
                if _BEFORE.search(view.code, max(0, at - 20), at):
                    yield at, "LINT-MEMBER", (one.struct, name, one.fix)


_HANDLE = re.compile(
    r"\b(?:cudaTextureObject_t|cudaSurfaceObject_t|CUtexObject|CUsurfObject)\s+(?:const\s+)?(\w+)\s*[=;,){\[]"
)

_CAST_OF_NUMBER = re.compile(
    r"\(\s*(cudaTextureObject_t|cudaSurfaceObject_t)\s*\)\s*[\w.]+\s*\)*\s*(?:<<|>>|\||&(?!&))"
)


_HANDLE_TYPES = frozenset(("cudaTextureObject_t", "cudaSurfaceObject_t", "CUtexObject", "CUsurfObject"))


_DECLARATOR = re.compile(
    r"\b(?!return\b|case\b|else\b|goto\b|new\b|delete\b)(\w+)(?:\s*<[^<>;]*>)?(?:[\s*&]|\bconst\b|\b__restrict__\b)+\Z"
)
"""What stands before a name that is declared; the group is its type's last word."""
_AFTER_DECLARED = re.compile(r"\s*[=;,){\[]")
_SUM = re.compile(r"\s*(?:[-+%&|^]=|[%&|^](?![&|])|<<|>>|[-+](?!=)\s*\w)")
_SIGN = re.compile(r"[-+%|^]\s*\Z")
_NO_NUMBER = re.compile(r"\s*[.\[(-]")
_BEFORE_DECLARED = 80


def handles(view: View) -> Iterator[LintMatch]:
    """Arithmetic with a texture or surface object, which is a number in CUDA and a pointer in HIP."""
    if view.words.isdisjoint(_HANDLE_TYPES):
        return
    for name in sorted({match[1] for match in _HANDLE.finditer(view.code)}):
        yield from ((at, "LINT-TEXTURE-NUMBER", (name,)) for at in _sums(view, name))
    for match in _CAST_OF_NUMBER.finditer(view.code):
        yield match.start(), "LINT-TEXTURE-NUMBER", (match[1],)


def _sums(view: View, name: str) -> Iterator[int]:
    """Where arithmetic is done with a name that the nearest declaration before makes a texture or surface object."""
    code, is_handle = view.code, True
    for at in view.places(name):
        end = at + len(name)
        if _AFTER_DECLARED.match(code, end) and (
            declarator := _DECLARATOR.search(code, max(0, at - _BEFORE_DECLARED), at)
        ):
            is_handle = declarator[1] in _HANDLE_TYPES
        elif is_handle and _SUM.match(code, end) and code[at - 1 : at] not in (".", ">"):
            yield at
        elif is_handle and (sign := _SIGN.search(code, max(0, at - 8), at)) and not _NO_NUMBER.match(code, end):
            yield sign.start()
