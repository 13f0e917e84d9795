"""Lint of what HIP has in another form: without CUDA's default arguments, overloads and headers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from stackbuild.hipify.cpp.directives import Include
from stackbuild.hipify.cpp.scan import call_arguments, qualifier
from stackbuild.hipify.cpp.source_text import View
from stackbuild.hipify.lint.catalogue import BRAIN_FLOATS, LintMatch
from stackbuild.hipify.passes import own_names, own_overloads

# Calls whose last arguments CUDA lets out: how many arguments HIP wants, and what to add. Read in HIP 6.4's headers.
DEFAULTS = {
    "cudaGraphInstantiate": (5, "use hipGraphInstantiateWithFlags(exec, graph, flags)"),
}
# Groups of cooperative groups that HIP 6.4's headers do not have.
GROUPS = {
    "labeled_partition": "split by __match_any_sync and shuffle within that mask",
    "this_cluster": "there are no clusters: use the grid or the block",
    "cluster_group": "there are no clusters: use the grid or the block",
    "invoke_one": "let thread_rank() == 0 do it",
    "invoke_one_broadcast": "let thread_rank() == 0 do it, and shuffle from lane 0",
    "block_tile_memory": "drop it: tiles are no larger than a wavefront",
    "reduce_update_async": "reduce, and let one thread do the atomic operation",
    "reduce_store_async": "reduce, and let one thread store",
}
# Members of CUDA's groups that HIP 5.7's and 6.4's groups do not have.
GROUP_MEMBERS = {
    "num_threads": "use size()",
    "num_blocks": "work it out of gridDim",
    "dim_threads": "use group_dim(), or blockDim",
    "block_index": "use group_index(), or blockIdx",
    "block_rank": "work it out of blockIdx and gridDim",
    "barrier_arrive": "use sync(), which arrives and waits",
    "barrier_wait": "use sync(), which arrives and waits",
    **dict.fromkeys(("cluster_rank", "cluster_index", "cluster_dims", "num_clusters", "dim_clusters", "map_shared_rank", "query_shared_rank"), "there are no clusters: use the grid or the block"),
}  # fmt: skip
_GROUP_MEMBERS = frozenset(GROUP_MEMBERS)
_OWN_TYPES = "NVIDIA's own types: drop the include, or declare what is used of it"
_INTEROP = "use HIP's OpenGL interoperation or hipImportExternalMemory"
# Headers of CUDA and of its samples that HIP does not have, nor HIPIFY's tables a good counterpart.
HEADERS = {
    **dict.fromkeys(("cuda_egl_interop.h", "cudaEGL.h", "cuda_vdpau_interop.h", "cudaVDPAU.h", "cuda_d3d9_interop.h"), _INTEROP),
    **dict.fromkeys(("cuda_d3d10_interop.h", "cuda_d3d11_interop.h", "cudaD3D9.h", "cudaD3D10.h", "cudaD3D11.h"), _INTEROP),
    **dict.fromkeys(("cuda_stdint.h", "fatbinary_section.h", "fatBinaryCtl.h", "cudaTypedefs.h", "cuda_device_runtime_api.h"), _OWN_TYPES),
    **dict.fromkeys(("texture_types.h", "surface_types.h", "cuda_texture_types.h", "cuda_surface_types.h"), "include hip/hip_runtime.h"),
    **dict.fromkeys(("cuda_fp6.h", "cuda_fp4.h"), "HIP 6.4 has neither format; hip/hip_ext_ocp.h of ROCm 7 does"),
    "nvtx3/nvtx3.hpp": "use roctx, which is C: include <roctracer/roctx.h>",
    **dict.fromkeys(("helper_cuda.h", "helper_functions.h", "helper_timer.h"), "write checkCudaErrors, getLastCudaError and findCudaDevice for HIP: they are of CUDA's samples"),
}  # fmt: skip
_WITH_DEFAULTS, _GROUPS = frozenset(DEFAULTS), frozenset(GROUPS)  # a set meets another by the shorter one
_CALL_OF_MEMBER = re.compile(r"\.\w+\s*\(")
_BEFORE = 3000
"""So many characters before a shuffle its value may be declared."""
_SHUFFLE = re.compile(r"__shfl\w*")
_ROOT = re.compile(r"[(\s]*(\w+)")
_POINTER = re.compile(r"\bCUdeviceptr\s+(?:const\s+)?(\w+)\s*[=;,){\[]")


def defaults(view: View) -> Iterator[LintMatch]:
    """Calls that leave arguments to CUDA's defaults, which HIP has not."""
    for name in sorted(view.words & _WITH_DEFAULTS):
        default, fix = DEFAULTS[name]
        for at in view.own(name):
            argument_list = call_arguments(view.code, at + len(name))
            if argument_list and 1 < len(argument_list[0]) < default:
                yield at, "LINT-DEFAULTS", (name, str(len(argument_list[0])), str(default), fix)


def groups(view: View) -> Iterator[LintMatch]:
    """Names of cooperative groups that HIP lacks, however they are qualified, each use."""
    if "cooperative_groups" not in view.words:
        return
    for name in sorted(view.words & _GROUPS):
        for at in view.places(name):
            if qualifier(view.code, at) not in (".", "->"):
                yield at, "LINT-GROUPS", (name, GROUPS[name])
    for name in sorted(view.words & _GROUP_MEMBERS):
        for at in view.places(name):
            if _CALL_OF_MEMBER.match(view.code, max(0, at - 1), at + len(name) + 10):
                yield at, "LINT-GROUPS", (name, GROUP_MEMBERS[name])


# Votes of a group, which HIP's groups have from ROCm 6.2 on, with the function of all lanes that does the same.
_VOTES = {
    "ballot": "__ballot",
    "match_any": "a loop of __shfl over the lanes",
    "match_all": "a loop of __shfl over the lanes",
    "any": "__any",
    "all": "__all",
}
_GROUP = re.compile(
    r"\b(\w+)\s*(?:=|\()\s*(?:\w+::)*(?:tiled_partition|coalesced_threads|binary_partition)\b"
    r"|\b(?:thread_block_tile\s*<[^;{}()]*>|coalesced_group)\s*(?:const\s*)?&?\s*(\w+)\s*[=;,){(]"
)


def votes_of_groups(view: View, rocm: tuple[int, ...]) -> Iterator[LintMatch]:
    """Votes of groups, which HIP's have not before ROCm 6.2: each use on a group that the text declares."""
    if not () < rocm < (6, 2) or "cooperative_groups" not in view.words or view.words.isdisjoint(_VOTES):
        return
    names = {match[1] or match[2] for match in _GROUP.finditer(view.code)}
    for name in sorted(view.words & _VOTES.keys()):
        for at in view.places(name):
            receiver = _RECEIVER.search(view.code, max(0, at - 80), at)
            if receiver and receiver[1] in names and _CALL_OF_MEMBER.match(view.code, at - 1, at + len(name) + 10):
                yield at, "LINT-GROUPS", (f"{name} of a group before ROCm 6.2", f"use {_VOTES[name]}, or target ROCm 6.2")


_TILE = re.compile(
    r"\b(\w+)\s*(?:=|\()\s*(?:\w+\s*::\s*)*tiled_partition\s*<|\bthread_block_tile\s*<[^;{}()]*>\s*(?:const\s*)?&?\s*(\w+)\s*[=;,){(]"
)
_PARTITION = re.compile(r"\s*<[^;{}()]*>\s*\(\s*(\w+)\s*\)")


def tiles_of_tiles(view: View) -> Iterator[LintMatch]:
    """Tiles of a tile that the text declares, which HIP's headers up to 6.4 do not make."""
    if "tiled_partition" not in view.words:
        return
    names = {match[1] or match[2] for match in _TILE.finditer(view.code)}
    for at in view.places("tiled_partition"):
        parent = _PARTITION.match(view.code, at + len("tiled_partition"))
        if parent and parent[1] in names:
            yield at, "LINT-GROUPS", (f"tiled_partition of the tile {parent[1]}", "make the smaller tile of the block")


_RECEIVER = re.compile(r"\b(\w+)\s*\.\Z")


def brain_floats(view: View) -> Iterator[LintMatch]:
    """Shuffles of bfloat16 values, by the nearest declaration before them."""
    if "__shfl" not in view.word_lines or view.words.isdisjoint(BRAIN_FLOATS):
        return
    for name in sorted(w for w in view.words if w.startswith("__shfl") and _SHUFFLE.fullmatch(w)):
        for at in view.own(name):
            argument_list = call_arguments(view.code, at + len(name))
            place = 1 if name.endswith("_sync") else 0
            spans = argument_list[0] if argument_list else []
            root = _ROOT.match(view.code, spans[place][0]) if len(spans) > place else None
            if root and _type_before(view.code, root[1], at) in BRAIN_FLOATS:
                yield at, "LINT-BF16-SHUFFLE", (name, root[1])


def vector_operators(view: View) -> Iterator[LintMatch]:
    """A source's own operators and atomics that are ambiguous beside HIP's; the word says that HIP's do the same."""
    for one in own_overloads.overloads(view):
        yield one.at, "LINT-VECTOR-OPERATOR", ("same" if one.is_same else "",)
    for at, sign, kind in own_overloads.uses(view):
        yield at, "LINT-VECTOR-OPERATOR-USE", (sign, kind)


# States of cuRAND's generators. hipRAND's are classes with constructors: those of the second set from ROCm 6.0 on.
_STATES = frozenset(f"curandState{name}{end}" for name in ("", "XORWOW", "MRG32k3a", "Philox4_32_10") for end in ("", "_t"))
_SOBOL_STATES = frozenset(
    f"curandState{name}{end}" for name in ("Sobol32", "Sobol64", "ScrambledSobol32", "ScrambledSobol64") for end in ("", "_t")
)
_STATE_VARIABLE = re.compile(
    r"(?:__(?:device|shared|constant|managed)__|\bstatic|\bvolatile)\s+(?:(?:__\w+__|static|volatile|const)\s+)*(?:::\s*)?\Z"
)
_VARIABLES = re.compile(r"\s+\w+\s*(?:\[[^;{}()\[\]]*\]\s*)*[;,]")


def random_states(view: View, major: int) -> Iterator[LintMatch]:
    """Variables of the device that are a generator's state: HIP has no constructors there."""
    names = _STATES | _SOBOL_STATES if not 0 < major < 6 else _STATES
    for name in sorted(view.words & names):
        for at in view.own(name):
            before = view.code[view.braces.statement(at) : at]
            is_extern = "extern" in before.split()
            if "__" in before and not is_extern and _STATE_VARIABLE.search(before) and _VARIABLES.match(view.code, at + len(name)):
                yield at, "LINT-RANDOM-STATE", (name,)


def brain_float_types(view: View) -> Iterator[LintMatch]:
    """The first bfloat16 of a text: before ROCm 6.0 it is a struct without operators and conversions."""
    places = [at for name in BRAIN_FLOATS if name in view.words for at in view.own(name)[:1]]
    if places:
        yield min(places), "LINT-BF16-STRUCT", ()


_HALF = re.compile(r"\b(?:__half2?|half2?|__nv_bfloat16(?:2)?|nv_bfloat16(?:2)?)\s*\*")
_HALVES = frozenset(("half", "half2", "__half", "__half2", *BRAIN_FLOATS))


def half_atomics(view: View) -> Iterator[LintMatch]:
    """atomicAdd of 16-bit floating point, which HIP has under another name: by the cast, or the nearest declaration before."""
    if "atomicAdd" not in view.words or view.words.isdisjoint(_HALVES) or own_names.half_atomics(view):
        return
    for at in view.own("atomicAdd"):
        argument_list = call_arguments(view.code, at + len("atomicAdd"))
        if not argument_list or len(argument_list[0]) != 2:
            continue
        start, end = argument_list[0][0]
        root = re.compile(r"[&(*\s]*(\w+)").match(view.code, start, end)
        if _HALF.search(view.code, start, end) or (root and _type_before(view.code, root[1], at) in _HALVES):
            yield at, "LINT-HALF-ATOMIC", (" ".join(view.code[start:end].split()),)


_BRACES = re.compile(r"=\s*\{\s*\}\s*;")
_ASSIGNMENT_END = re.compile(r"(?:^|[;{}):])\s*(\w+)(?:\s*\[[^\[\]]*\])*\s*$")


def half_braces(view: View) -> Iterator[LintMatch]:
    """Assignments of `{}` to half-precision variables that were declared before."""
    if view.words.isdisjoint(_HALVES):
        return
    for match in _BRACES.finditer(view.code):
        name_match = _ASSIGNMENT_END.search(view.code, max(0, match.start() - 200), match.start())
        if name_match and (of := _type_before(view.code, name_match[1], name_match.start(1))) in _HALVES:
            yield (
                name_match.start(1),
                "LINT-HALF-BRACES",
                (name_match[1], f"{of}(0.0f)" if "2" not in of else f"{of}(0.0f, 0.0f)"),
            )


def _type_before(code: str, name: str, at: int) -> str:
    """The last word of the type that a name is declared with nearest before an offset."""
    low = max(0, at - _BEFORE)
    place = code.rfind(name, low, at)
    while place >= 0:
        follows = _DECLARATOR_END.match(code, place + len(name), at)
        of = _TYPE_OF.search(code, max(low, place - _TYPE_REACH), place) if follows else None
        if of and of[1] != "return":
            return of[1]
        place = code.rfind(name, low, place + len(name) - 1)
    return ""


_DECLARATOR_END = re.compile(r"\s*[=;,)\[{]")
_TYPE_OF = re.compile(r"\b([A-Za-z_]\w*)(?:\s+const)?(?:\s*[*&]\s*|\s+)(?:__restrict__\s*)?\Z")
_TYPE_REACH = 200
"""So far before a name its type may begin."""


def device_pointers(view: View) -> Iterator[LintMatch]:
    """Arithmetic with CUdeviceptr, which is a number in CUDA and a `void*` in HIP: each variable once."""
    if "CUdeviceptr" not in view.words:
        return
    for name in sorted({match[1] for match in _POINTER.finditer(view.code)}):
        sums = re.compile(
            rf"(?<![\w.>])\b{name}\s*(?:[-+%&]=|[-+%](?![-+>=])\s*[\w(]|\+\+|--)|[-+]\s*{name}\b(?!\s*[.\[(-])"
        )
        for match in sums.finditer(view.code):
            at = match.start() + match.group().index(name)
            if _type_before(view.code, name, at) in ("CUdeviceptr", ""):
                yield match.start(), "LINT-DEVICEPTR", (name,)
                break


def headers(includes: Iterable[Include]) -> Iterator[LintMatch]:
    """Includes of headers that HIP has not."""
    for include in includes:
        if include.path in HEADERS:
            yield include.path_span[0], "LINT-HEADER", (include.path, HEADERS[include.path])


_ONLY_CPP = ("namespace", "template")
_NOT_C = frozenset(("curand.h", "curand_kernel.h", "hiprand/hiprand.h"))


def c_headers(view: View, includes: Iterable[Include]) -> Iterator[LintMatch]:
    """Includes, in C sources and in headers for both languages, of what is a header of C++ in HIP (5.7, 6.4)."""
    is_c = view.name.endswith(".c")
    is_for_both = view.name.endswith(".h") and "__cplusplus" in view.words and view.words.isdisjoint(_ONLY_CPP)
    if not is_c and not is_for_both:
        return
    for include in includes:
        if include.path in _NOT_C:
            yield include.path_span[0], "LINT-C-HEADER", (include.path,)
