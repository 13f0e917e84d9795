"""Lint of what belongs to NVIDIA's devices or to CUDA's own libraries and has no mapping."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from stackbuild.hipify.directives import Include
from stackbuild.hipify.scan import arguments, is_name_char, skip_space
from stackbuild.hipify.view import View

Found = tuple[int, str, tuple[str, ...]]

# Instructions or registers in inline PTX, and what stands for them in HIP.
PTX = {
    "%laneid": "use __lane_id()",
    "%smid": "use __smid(), or drop it: it is for statistics",
    "%warpid": "use (threadIdx.x / warpSize) for a block of one dimension",
    "%clock": "use clock64() or wall_clock64()",
    "%globaltimer": "use wall_clock64()",
    "%lanemask": "use __lanemask_lt() and its like, which are 64 bits wide",
    "cvta": "drop it: device pointers are generic; for shared memory use the pointer itself",
    "prefetch": "drop it, or use __builtin_prefetch",
    "ld.global.nc": "use a plain load or __ldg",
    "ld.global.cg": "use __builtin_nontemporal_load or a plain load",
    "ld.global.cs": "use __builtin_nontemporal_load",
    "ld.volatile": "use a volatile load, or __atomic_load_n",
    "ld.acquire": "use __atomic_load_n with __ATOMIC_ACQUIRE",
    "st.release": "use __atomic_store_n with __ATOMIC_RELEASE",
    "st.global.cs": "use __builtin_nontemporal_store",
    "membar": "use __threadfence() or __threadfence_system()",
    "fence": "use __threadfence(), or __builtin_amdgcn_fence",
    "red.": "use atomicAdd and its like",
    "atom.": "use atomicAdd, atomicCAS and their like",
    "lop3": "write the logic in C: the compiler forms v_bfi and v_bitop itself",
    "prmt": "use __builtin_amdgcn_perm (__byte_perm)",
    "bfe": "use __builtin_amdgcn_ubfe or shifts",
    "bfi": "write it with masks: the compiler forms v_bfi",
    "bfind": "use __clz",
    "shf.": "use __funnelshift_l or __funnelshift_r",
    "fma.rn.": "use fmaf, fma or __hfma2",
    "ex2.approx": "use exp2f or __builtin_amdgcn_exp2f",
    "lg2.approx": "use log2f or __builtin_amdgcn_logf",
    "rcp.approx": "use __frcp_rn or __builtin_amdgcn_rcpf",
    "rsqrt.approx": "use rsqrtf or __builtin_amdgcn_rsqf",
    "tanh.approx": "use tanhf",
    "cvt.": "use the conversion functions of hip_fp16.h, hip_bf16.h or hip_fp8.h",
    "dp4a": "use __builtin_amdgcn_sdot4 where the target has it",
    "mad.": "write it in C: the compiler forms the multiply-add",
    "mul.hi": "use __mulhi or __umulhi",
    "mul.wide": "multiply in a wider type",
    "vabsdiff4": "use __usad or __builtin_amdgcn_sad_u8",
    "bar.sync": "use __syncthreads, or __builtin_amdgcn_s_barrier; named barriers do not exist",
    "barrier": "use __syncthreads; named barriers do not exist",
    "shfl": "use __shfl and its like",
    "vote": "use __ballot, __any, __all",
    "activemask": "use __ballot(1)",
    "nanosleep": "use __builtin_amdgcn_s_sleep",
    "trap": "use __builtin_trap() or abort()",
    "exit": "use __builtin_amdgcn_endpgm()",
    "mma.sync": "use rocWMMA or the matrix builtins (__builtin_amdgcn_mfma_*, __builtin_amdgcn_wmma_*)",
    "wgmma": "write the kernel for AMD's matrix instructions: rocWMMA or Composable Kernel",
    "ldmatrix": "load the fragment with plain shared-memory loads, or rocWMMA",
    "cp.async": "copy through registers and synchronise the block",
    "mbarrier": "rewrite with __syncthreads: there are no asynchronous barriers",
    "griddepcontrol": "drop it: there is no programmatic dependent launch",
    "createpolicy": "drop it: there are no cache policies of that kind",
}
_ASM = re.compile(r"\b(?:asm|__asm__|__asm)\b\s*(?:volatile|__volatile__|__volatile)?\s*\(")
_STRING = re.compile(r'"([^"\\\n]*(?:\\.[^"\\\n]*)*)"')
_CUDA_STD = re.compile(r"cuda\s*::\s*(std|atomic|atomic_ref|barrier|pipeline|memcpy_async|thread_scope_\w+)\b")
_TEXTURE = re.compile(r"\b(texture|surface)\s*<[^;(){}]{0,200}>\s*(\w+)\s*;")
_BOUNDS = re.compile(r"\b__launch_bounds__\s*\(")
_CAPTURE = frozenset(
    ("cudaStreamBeginCapture", "cudaGraphInstantiate", "cudaGraphLaunch", "cudaGraphExecUpdate", "cudaGraphAddNode")
)
_FETCHES = frozenset(
    [
        f"tex{d}{form}"
        for d in ("1D", "2D", "3D", "Cubemap")
        for form in ("", "fetch", "Lod", "Grad", "Layered", "gather")
    ]
    + [f"surf{d}{form}" for d in ("1D", "2D", "3D") for form in ("read", "write")]
)
_ASYNC = frozenset(("__pipeline_memcpy_async", "__pipeline_commit", "memcpy_async", "make_pipeline"))
_ARCH = re.compile(r"^[ \t]*#[ \t]*(?:if|elif|ifdef|ifndef)\b[^\n]*\b__CUDA_ARCH(?:__|_LIST__|_FEAT\w+)", re.M)
_HIP_GUARD = re.compile(r"__HIP|USE_ROCM|AMDGPU|GGML_USE_HIP|HIP_PLATFORM|__AMD", re.I)


def ptx(view: View) -> Iterator[Found]:
    """Inline assembly with what is known to stand for its instructions. `asm("")` and AMD's own are let pass."""
    if view.words.isdisjoint(("asm", "__asm__", "__asm")):
        return
    for found in _ASM.finditer(view.code):
        parsed = arguments(view.code, found.end() - 1)
        end = parsed[1] if parsed else view.code.find(";", found.end())
        template = _template(view.text, found.end(), end)
        if not template.strip() or re.match(r"\s*[sv]_\w+|\s*(?:global|flat|buffer|ds)_\w+", template):
            continue
        advice = next((fix for sign, fix in PTX.items() if sign in template), "write it in C++, or with AMD's builtins")
        yield found.start(), "LINT-PTX", (" ".join(template.replace("\\n", " ").split())[:60], advice)


def _template(text: str, start: int, end: int) -> str:
    """The literals of an asm statement before its operands."""
    pieces = []
    at = start
    for found in _STRING.finditer(text, start, end if start < end < start + 4000 else min(len(text), start + 400)):
        if ":" in text[at : found.start()]:
            break
        pieces.append(found.group(1))
        at = found.end()
    return "".join(pieces)


_HEADERS = {
    "mma.h": "LINT-WMMA", "cooperative_groups/": "LINT-COOPERATIVE", "cuda_pipeline": "LINT-ASYNC-COPY",
    "cuda/": "LINT-CUDA-STD", "nv/": "LINT-CUDA-STD",
}  # fmt: skip


def headers(includes: Iterable[Include]) -> Iterator[Found]:
    """Includes of what HIP does not have."""
    for include in includes:
        for start, rule in _HEADERS.items():
            if include.path.startswith(start):
                yield include.path_span[0], rule, (f"<{include.path}>",)


def libraries(view: View) -> Iterator[Found]:
    """wmma, libcu++, asynchronous copies, texture references, graphs."""
    for name in ("wmma", "nvcuda"):
        if name in view.words and "rocwmma" not in view.words:
            found = re.search(rf"\b{name}\s*::\s*(\w+)", view.code)
            if found:
                yield found.start(), "LINT-WMMA", (found.group().replace(" ", ""),)
                break
    if "cuda" in view.words:
        for found in _CUDA_STD.finditer(view.code):  # begins with a literal: the search skips to it
            if is_name_char(view.code[found.start() - 1 : found.start()]):
                continue
            yield found.start(), "LINT-CUDA-STD", (f"cuda::{found.group(1)}",)
    for name in sorted(view.words & _ASYNC):
        yield view.own(name)[0] if view.own(name) else view.code.index(name), "LINT-ASYNC-COPY", (name,)
    if not view.words.isdisjoint(("texture", "surface")):
        for found in _TEXTURE.finditer(view.code):
            yield found.start(), "LINT-TEXTURE-REFERENCE", (found.group(2),)
    for name in sorted(view.words & _FETCHES):
        for at in view.own(name)[:1]:
            yield at, "LINT-TEXTURE-FETCH", (name,)
    for name in sorted(view.words & _CAPTURE)[:1]:
        yield view.code.index(name), "LINT-GRAPH", (name,)


def launch_bounds(view: View) -> Iterator[Found]:
    if "__launch_bounds__" not in view.words:
        return
    for found in _BOUNDS.finditer(view.code):
        parsed = arguments(view.code, found.end() - 1)
        if parsed and len(parsed[0]) >= 2:
            yield found.start(), "LINT-LAUNCH-BOUNDS", ()


def arch_guards(view: View) -> Iterator[Found]:
    """Guards on __CUDA_ARCH__ that do not name HIP as well."""
    if "__CUDA_ARCH" not in view.code:
        return
    for found in _ARCH.finditer(view.code):
        end = view.code.find("\n", found.start())
        if not _HIP_GUARD.search(view.code[found.start() : end if end > 0 else len(view.code)]):
            at = skip_space(view.code, found.start())
            yield at, "LINT-CUDA-ARCH", ()
