"""Every function that CUDA's headers declare, called with its own parameter types, and a table of further C++ forms.

    PYTHONPATH=tests python tests/integration/hipify/cuda_forms.py --cuda CUDA --root 6.4=SID --newest SID --out OUT

CUDA is a folder with CUDA's headers in `include/` (`compile_rate.py --get-cuda`). Each form is one line. Lines that clang
of NEWEST compiles as CUDA (sm_80, host and device) count. They are converted and compiled for ROOT, for gfx1100 and
gfx942. The functions that no line for the host may call go to OUT/device-ROCM.tsv, which is `hipify/declarations`' list
of that name. A line that fails there and has no finding is *silent* and is printed. What is measured is the headers' forms,
not programs: a form counts once however often programs use it.
"""

from __future__ import annotations

import argparse
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import product
from pathlib import Path

from cuda_names import texts
from twin_rate import GPUS, HIPCC, PLACE

from stackbuild.hipify import Target, open_engine
from stackbuild.hipify.convert import convert
from stackbuild.hipify.cpp.scan import arguments, blank
from stackbuild.model.findings import Severity
from support.hipify_data import versions
from support.root_file_system import run_in_root

CLANG = (
    "clang++-21", "-fsyntax-only", "-x", "cuda", "--cuda-path=/mnt/cuda", "--cuda-gpu-arch=sm_80", "-w", "-std=c++17",
    "-ferror-limit=0", "-isystem", "/mnt/cuda/include",
)  # fmt: skip
TOP = "#include <cuda_runtime.h>\n#include <cuda.h>\n#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n#include <cuComplex.h>\n#include <curand.h>\n"
LIBRARIES = (
    "#include <cub/cub.cuh>\n#include <cooperative_groups.h>\n#include <cooperative_groups/reduce.h>\n"
    + "".join(
        f"#include <thrust/{name}.h>\n"
        for name in (
            "adjacent_difference",
            "advance",
            "binary_search",
            "complex",
            "copy",
            "count",
            "device_allocator",
            "device_delete",
            "device_free",
            "device_make_unique",
            "device_malloc",
            "device_new",
            "device_ptr",
            "device_reference",
            "device_vector",
            "distance",
            "equal",
            "execution_policy",
            "extrema",
            "fill",
            "find",
            "for_each",
            "functional",
            "gather",
            "generate",
            "host_vector",
            "inner_product",
            "logical",
            "memory",
            "merge",
            "mismatch",
            "optional",
            "pair",
            "partition",
            "per_device_resource",
            "random",
            "reduce",
            "remove",
            "replace",
            "reverse",
            "scan",
            "scatter",
            "sequence",
            "set_operations",
            "shuffle",
            "sort",
            "swap",
            "tabulate",
            "transform",
            "transform_reduce",
            "transform_scan",
            "tuple",
            "uninitialized_copy",
            "uninitialized_fill",
            "unique",
            "universal_vector",
            "version",
            "zip_function",
            "iterator/zip_iterator",
            "iterator/counting_iterator",
            "iterator/transform_iterator",
            "iterator/constant_iterator",
            "iterator/permutation_iterator",
            "iterator/discard_iterator",
            "iterator/reverse_iterator",
            "iterator/transform_output_iterator",
        )
    )
)
FUNCTION = re.compile(r"\b((?:cu|__|tex|surf|[a-z])[A-Za-z_]\w+)\s*\(")
OF_HOST = re.compile(r"__host__ (?!__device__)\w+ \w+\((?:const )?(\w+)?.*?\{ (?:return |\(void\)\()?([A-Za-z_]\w*)\(")
DEFAULT = re.compile(r"\s*(?:__dv|__dparm)\s*\([^()]*\)|\s*=[^,]*")
NAME = re.compile(r"(\w+)\s*(?:\[[^\]]*\])?\s*$")
TAG = re.compile(r"\b(struct|enum|union)\s+(?:__device_builtin__\s+|CUDARTAPI\s+)?((?:cuda|CU|cu)\w+)")
MEMBER = re.compile(r"(?:\b(?:class|struct|enum|using)\s+|\b(?=[A-Za-z]\w+\s*\())([A-Za-z]\w+)")
SCALARS = (
    "bool", "char", "signed char", "unsigned char", "short", "unsigned short", "int", "unsigned int", "long", "unsigned long", "long long",
    "unsigned long long", "size_t", "float", "double",
)  # fmt: skip
HALVES = ("__half", "__half2", "__nv_bfloat16", "__nv_bfloat162")
SPECIFIERS = ("__device__", "__host__", "__host__ __device__")
UNARY = (
    "abs", "fabs", "sqrt", "rsqrt", "exp", "log", "log2", "sin", "floor", "ceil", "round", "rint", "trunc", "isnan", "isinf", "isfinite",
    "signbit", "cbrt", "erf", "tgamma", "llrint", "lround", "ilogb",
)  # fmt: skip
BINARY = ("min", "max", "pow", "fmod", "fmin", "fmax", "atan2", "hypot", "copysign", "fdim", "ldexp")
ATOMICS = (
    "atomicAdd",
    "atomicSub",
    "atomicExch",
    "atomicMin",
    "atomicMax",
    "atomicAnd",
    "atomicOr",
    "atomicXor",
    "atomicInc",
)
SHUFFLES = (
    "__shfl_sync(0xffffffff, a, 1)",
    "__shfl_xor_sync(0xffffffff, a, 1, 16)",
    "__shfl_down_sync(-1, a, 1)",
    "__shfl_up_sync(~0u, a, 1)",
)
BITS = (
    "__popc",
    "__popcll",
    "__clz",
    "__clzll",
    "__ffs",
    "__ffsll",
    "__brev",
    "__brevll",
    "__ldg",
    "__float2half",
    "__half2float",
    "__int_as_float",
)
VECTORS = (
    "char",
    "uchar",
    "short",
    "ushort",
    "int",
    "uint",
    "long",
    "ulong",
    "longlong",
    "ulonglong",
    "float",
    "double",
)


def declared(code: str) -> Iterator[str]:
    """A call of each function that a header declares, with the parameter types of the declaration."""
    for found in FUNCTION.finditer(code):
        parsed = arguments(code, found.end() - 1)
        before = code[max(0, found.start() - 160) : found.start()]
        head = re.split(r"[;{}]|\n\s*#[^\n]*", before)[-1]
        if (
            parsed is None
            or not re.search(r"[\w*&]\s*$", head)
            or re.search(r"\b(?:return|operator|else|template)\b", head)
        ):
            continue
        given = [" ".join(DEFAULT.sub("", code[slice(*span)]).split()) for span in parsed[0]]
        given = [] if given in ([""], ["void"]) else given
        names = [NAME.search(one) for one in given]
        if any(name is None for name in names) or any("..." in one or "(" in one for one in given):
            continue
        is_device = "__device__" in head or "_DEVICE_" in head or "__DEV" in head
        call = f"{found[1]}({', '.join(name[1] for name in names if name)})"
        body = call if "void" in head else f"(void)({call})"
        for where in ("__device__", "__host__") if is_device and "__host__" in head else ("__device__",) if is_device else ("__host__",):
            yield f"{where} void t@({', '.join(given)}) {{ {body}; }}"


def tags(code: str) -> Iterator[str]:
    """Each struct, union and enum of a header as a type with its keyword, as C programs write it."""
    for kind, name in sorted(set(TAG.findall(code))):
        yield f"void t@({kind} {name}* p) {{ (void)p; }}"


def members(folder: Path) -> Iterator[str]:
    """Each name of CUB, Thrust and cooperative groups, by a `using` declaration."""
    for space, glob in (
        ("cub", "cub/**/*.cuh"),
        ("thrust", "thrust/*.h"),
        ("cooperative_groups", "cooperative_groups*.h"),
    ):
        names: set[str] = set()
        for path in folder.glob(glob):
            if "detail" not in path.relative_to(folder).parts:
                names.update(MEMBER.findall(blank(path.read_text("utf-8", "replace"))))
        yield from (f"void t@() {{ using {space}::{name}; }}" for name in sorted(names) if not name.startswith("_"))


def combined() -> Iterator[str]:
    """Functions with several overloads, with types that need a conversion, on both sides."""
    for where, name, one in product(SPECIFIERS, UNARY, SCALARS):
        yield f"{where} auto t@({one} a) {{ return {name}(a); }}"
    for where, name, one, other in product(SPECIFIERS, BINARY, SCALARS, SCALARS):
        yield f"{where} auto t@({one} a, {other} b) {{ return {name}(a, b); }}"
    for name, one, other in product(ATOMICS, (*SCALARS, *HALVES), (*SCALARS, *HALVES)):
        yield f"__device__ void t@({one}* a, {other} b) {{ {name}(a, b); }}"
    for one, other in product(SCALARS, SCALARS):
        yield f"__device__ void t@({one}* a, {other} b) {{ atomicCAS(a, b, b); }}"
    for call, one in product(SHUFFLES, (*SCALARS, *HALVES, "float2", "float4", "cuComplex")):
        yield f"__device__ auto t@({one} a) {{ return {call}; }}"
    for name, one in product(BITS, (*SCALARS, *HALVES)):
        yield f"__device__ auto t@({one} a) {{ return {name}(a); }}"
    for name, one in product(
        ("__ldg", "__ldcs", "__ldcg", "__ldca"),
        (*SCALARS, *HALVES, *(f"{v}{n}" for v in VECTORS for n in (1, 2, 3, 4))),
    ):
        yield f"__device__ auto t@(const {one}* a) {{ return {name}(a); }}"
    for name, one in product(("__stcs", "__stcg", "__stwb"), (*SCALARS, "float2", "float4", "int4", "__half2")):
        yield f"__device__ void t@({one}* a, {one} b) {{ {name}(a, b); }}"


def halves() -> Iterator[str]:
    """Conversions and operators of the 16-bit types."""
    for where, of in product(SPECIFIERS, HALVES):
        for one in SCALARS:
            yield f"{where} {of} t@({one} a) {{ {of} h = a; return h; }}"
            yield f"{where} {of} t@({one} a) {{ return {of}(a); }}"
            yield f"{where} {of} t@({one} a) {{ {of} h; h = a; return h; }}"
            yield f"{where} {one} t@({of} a) {{ {one} h = a; return h; }}"
            yield f"{where} {one} t@({of} a) {{ return ({one})a; }}"
            yield f"{where} {one} t@({of} a) {{ return static_cast<{one}>(a); }}"
            for op in ("+", "*", "<", "=="):
                yield f"{where} auto t@({of} a, {one} b) {{ return a {op} b; }}"
            for op in ("+=", "*="):
                yield f"{where} void t@({of} a, {one} b) {{ a {op} b; }}"
        for op in ("+", "-", "*", "/", "<", ">", "<=", ">=", "==", "!="):
            yield f"{where} auto t@({of} a, {of} b) {{ return a {op} b; }}"
        for op in ("+=", "-=", "*=", "/="):
            yield f"{where} void t@({of} a, {of} b) {{ a {op} b; }}"
        for op in ("-a", "+a", "a++", "++a", "a--", "!a", "a ? 1 : 2", "a && a"):
            yield f"{where} auto t@({of} a) {{ return {op}; }}"
        for body in (
            "{0} x{{}};",
            "{0} x = {{}};",
            "{0} x = 0;",
            "{0} x = 0.5f;",
            "{0} x(1);",
            "{0} x[2] = {{}};",
            "volatile {0} x; {0} y = x;",
            "const {0} x = {0}(); {0} y = x;",
            "union {{ {0} h; short s; }} u; u.s = 1;",
            "{0} x; x = {{}};",
            "struct S {{ {0} h; }} s = {{}}; S r = s;",
            "std::swap(*({0}*)0, *({0}*)4);",
        ):
            yield f"{where} void t@() {{ {body.format(of)} }}"
    for member in ("x", "y"):
        yield f"__device__ __half t@(__half2 a) {{ return a.{member}; }}"
        yield f"__device__ __nv_bfloat16 t@(__nv_bfloat162 a) {{ return a.{member}; }}"


def vectors() -> Iterator[str]:
    """Vector types and dim3: how they are made, converted, assigned and kept."""
    for where, base, n in product(SPECIFIERS, VECTORS, (1, 2, 3, 4)):
        of = f"{base}{n}"
        values = ", ".join("1" for _ in range(n))
        for body in (
            f"{of} v = make_{of}({values}); v.x += 1;", f"{of} v = {{{values}}};", f"{of} v{{{values}}};", f"{of} v; v = {{{values}}};",
            f"{of} v = {{}};", f"{of} v{{}};", f"const {of} v = {{1}};", f"{of} v[2] = {{{{{values}}}, {{{values}}}}};",
            f"union {{ {of} v; char c[sizeof({of})]; }} u; u.c[0] = 1; {of} w = u.v;", f"struct S {{ {of} a; int b; }}; S s = {{{{{values}}}, 2}};",
            f"{of} v = ({of}){{{values}}};", f"static_assert(sizeof({of}) == {n} * sizeof(decltype({of}::x)), \"\");",
            f"auto f = [] ({of} v) {{ return v.x; }}; f({{{values}}});", f"{of}* p = nullptr; reinterpret_cast<char*>(p); (void)*({of}*)p;",
            f"volatile {of} v; v.x = 1;", f"{of} v; auto& x = v.x; x = 1;", f"{of} v; decltype(v.x)* p = &v.x; *p = 1;",
            f"{of} v = make_{of}({values}); {of} w(v); w = v;", f"constexpr {of} v = {{{values}}};", f"{of} v; ({{ v.x; }});",
        ):  # fmt: skip
            yield f"{where} void t@() {{ {body} }}"
    for where in SPECIFIERS:
        for body in (
            "dim3 d = 4;", "dim3 d(4); d = dim3(2, 2);", "dim3 d = {1, 2, 3};", "dim3 d{1, 2};", "dim3 d; d = {2, 2, 2};", "uint3 u = dim3(1);", "dim3 d = make_uint3(1, 2, 3);",
            "dim3 d(make_uint3(1, 2, 3));", "uint3 u; u = dim3(1, 2);", "dim3 d; uint3 u = d;", "dim3 d(1.0f, 2.0);", "dim3 d(3L, size_t(4));", "dim3 d; d.x = 4; unsigned* p = &d.x;",
            "const dim3 d(4, 4); int n = d.x * d.y;", "auto d = dim3(1); d.x++;", "dim3 d[2]; d[0] = 3;", "dim3 d(int(4), 1u, 1);", "constexpr dim3 d(1, 2, 3);", "static const dim3 d(1, 2);",
            "dim3 d{}; (void)(d.x == 1);", "dim3 d = dim3{4u, 4u};", "dim3 d{size_t(4)};", "int n = 4; dim3 d{n, n};", "int n = 4; dim3 d = {n, n};", "float n = 4; dim3 d(n);",
        ):  # fmt: skip
            yield f"{where} void t@() {{ {body} }}"
    for body in (
        "dim3 d = blockDim;", "uint3 u = threadIdx;", "dim3 d(blockIdx);", "auto t = threadIdx; t.x++;", "const auto& b = blockDim; int n = b.x;", "uint3 u = blockIdx; u.x = 1;", "dim3 d; d = gridDim;",
        "dim3 d = threadIdx;", "int3 v = make_int3(threadIdx.x, 0, 0);", "const uint3 u = threadIdx;", "int n = min(blockDim.x, 4);", "int n = max(0, int(threadIdx.x) - 1);", "int n = min(gridDim.x, 4u);",
        "unsigned n = umin(1u, 2u);", "int n = max(threadIdx.x, 1);", "extern __shared__ float s[]; s[0] = 1;", "extern __shared__ float4 s[]; s[0].x = 1;", "__shared__ float4 s[4]; s[0].x = 1;",
        "__shared__ __half2 s[4];", "__shared__ double2 s; s.x = 1;", "assert(threadIdx.x < 4);", "printf(\"%d\", 1);", "void* p = malloc(4); free(p);", "memset(nullptr, 0, 0);", "memcpy(nullptr, nullptr, 0);",
        "clock_t c = clock();", "long long c = clock64();", "__trap();", "__brkpt();", "__prof_trigger(1);", "__threadfence_system();", "int n = __syncthreads_count(1);", "__syncwarp();", "__syncwarp(0xf);",
        "unsigned n = __activemask();", "int p; unsigned n = __match_all_sync(~0u, 1, &p);", "unsigned n = __match_any_sync(~0u, 1);", "unsigned n = __ballot_sync(~0u, 1);", "int n = __any_sync(~0u, 1);",
        "int w = warpSize;", "float f = __saturatef(1.f);", "float f = __fdividef(1.f, 2.f);", "float a, b; sincosf(1.f, &a, &b); __sincosf(1.f, &a, &b); sincos(1.f, &a, &b);", "double a, b; sincos(1.0, &a, &b); sincospi(1.0, &a, &b);",
        "float f = CUDART_PI_F;", "assert(0 && \"x\");", "__assume(1);", "__builtin_assume(1);", "unsigned n = __umul24(1, 2);", "int n = __mul24(1, 2);", "int n = __byte_perm(1, 2, 3);", "int n = __dp4a(1, 2, 3);",
        "unsigned n = __vadd4(1, 2);", "unsigned n = __funnelshift_l(1, 2, 3);", "float f = __int2float_rn(1);", "float f = fminf(1, 2) + fmaxf(1, 2);", "float f = rnorm3df(1, 2, 3);", "float f = norm(2, nullptr);",
        "float f = max(1.0f, 2.0);", "double f = max(1.0, 2.0f);", "float f = std::max(1.0f, 2.0f);", "float f = ::max(1.0f, 2.0f);", "int n = ::min(1, 2);", "int n = std::min(1, 2);", "float f = ::sqrtf(1.f) + std::sqrt(1.f);",
        "float f = ::abs(-1.f);", "float f = std::abs(-1.f);", "bool b = ::isnan(1.f) || std::isnan(1.f);", "float f = INFINITY + NAN;", "unsigned n = UINT_MAX;", "int n = INT_MAX;", "float f = FLT_MAX;", "uint32_t n = 1; uint64_t m = 1;",
        "uint n = 1; ushort m = 1; ulong l = 1;", "uchar4 c = make_uchar4(1, 2, 3, 4); c.x = c.y;", "unsigned long long t = globaltimer();", "float f = powf(2, 3); double d = pow(2, 3);", "float f = pow(2.f, 3);", "auto f = exp10f(2);",
        "auto f = __expf(1) + __logf(1) + __powf(1, 2) + __sinf(1) + __cosf(1) + __tanf(1) + __log2f(1) + __log10f(1) + __exp10f(1);", "auto f = __frsqrt_rn(1.f);", "auto f = __fsqrt_rn(1.f) + __frcp_rn(1.f);",
        "auto f = __fmaf_rn(1.f, 1.f, 1.f);", "auto f = __dmul_rn(1., 1.);", "auto f = __double2int_rn(1.);", "auto f = __float_as_int(1.f);", "auto f = __hiloint2double(1, 2);", "auto f = __double2hiint(1.);",
    ):  # fmt: skip
        yield f"__global__ void t@() {{ {body} }}"


def runtime() -> Iterator[str]:
    """Calls of the runtime as programs write them: templates, default arguments, typed pointers, kernels."""
    yield "__constant__ float sym@[4]; __device__ float dev@; __global__ void ker@(int, float*) {} template <class T> __global__ void tem@(T) {}"
    for body in (
        "float* p; cudaMalloc(&p, 4);", "float* p; cudaMalloc((void**)&p, 4);", "int* p; cudaMallocManaged(&p, 4);", "int* p; cudaMallocManaged((void**)&p, 4, cudaMemAttachGlobal);", "int* p; cudaMallocHost(&p, 4);", "int* p; cudaMallocHost((void**)&p, 4);",
        "int* p; cudaHostAlloc(&p, 4, cudaHostAllocMapped);", "int* p; cudaHostAlloc((void**)&p, 4, cudaHostAllocPortable | cudaHostAllocWriteCombined);", "int *p, *q; cudaHostGetDevicePointer(&p, q, 0);", "int *p, *q; cudaHostGetDevicePointer((void**)&p, (void*)q, 0);",
        "int* p; cudaMallocAsync(&p, 4, 0);", "int* p; cudaMallocAsync((void**)&p, 4, cudaStreamPerThread);", "int* p; size_t n; cudaMallocPitch(&p, &n, 4, 4);", "int* p; size_t n; cudaMallocPitch((void**)&p, &n, 4, 4);", "cudaArray* a; cudaChannelFormatDesc d = cudaCreateChannelDesc<float>(); cudaMallocArray(&a, &d, 4, 4);",
        "cudaArray_t a; auto d = cudaCreateChannelDesc<uchar4>(); cudaMallocArray(&a, &d, 4);", "cudaPitchedPtr p; cudaMalloc3D(&p, make_cudaExtent(1, 2, 3));", "cudaMemcpy3DParms p = {0}; p.srcPtr = make_cudaPitchedPtr(nullptr, 1, 2, 3); cudaMemcpy3D(&p);", "cudaMemcpy3DParms p = {}; p.kind = cudaMemcpyHostToDevice; cudaMemcpy3DAsync(&p);",
        "float h[4]; cudaMemcpyToSymbol(sym1, h, 16);", "float h[4]; cudaMemcpyToSymbol(sym1, h, 16, 0, cudaMemcpyHostToDevice);", "float h[4]; cudaMemcpyFromSymbol(h, sym1, 16);", "float h; cudaMemcpyToSymbolAsync(dev1, &h, 4, 0, cudaMemcpyHostToDevice, 0);", "float* p; cudaGetSymbolAddress((void**)&p, sym1);", "size_t n; cudaGetSymbolSize(&n, sym1);",
        "void* p; cudaGetSymbolAddress(&p, dev1);", "float h; cudaMemcpyToSymbol(dev1, &h, sizeof(dev1));", "float h[4]; cudaMemcpyToSymbol(&sym1[1], h, 4);", "cudaFuncSetCacheConfig(ker1, cudaFuncCachePreferL1);", "cudaFuncSetCacheConfig(tem1<int>, cudaFuncCachePreferShared);", "cudaFuncAttributes a; cudaFuncGetAttributes(&a, ker1); int n = a.numRegs + a.maxThreadsPerBlock;",
        "cudaFuncAttributes a; cudaFuncGetAttributes(&a, (const void*)ker1);", "cudaFuncSetAttribute(ker1, cudaFuncAttributeMaxDynamicSharedMemorySize, 4);", "cudaFuncSetAttribute(tem1<float>, cudaFuncAttributePreferredSharedMemoryCarveout, 50);", "cudaFuncSetAttribute((void*)ker1, cudaFuncAttributeMaxDynamicSharedMemorySize, 4);", "cudaFuncSetSharedMemConfig(ker1, cudaSharedMemBankSizeEightByte);",
        "int b, t; cudaOccupancyMaxPotentialBlockSize(&b, &t, ker1);", "int b, t; cudaOccupancyMaxPotentialBlockSize(&b, &t, ker1, 0, 0);", "int b, t; cudaOccupancyMaxPotentialBlockSize(&b, &t, tem1<int>);", "int n; cudaOccupancyMaxActiveBlocksPerMultiprocessor(&n, ker1, 128, 0);", "int n; cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&n, ker1, 128, 0, 0);", "int b, t; cudaOccupancyMaxPotentialBlockSizeVariableSMem(&b, &t, ker1, [](int) { return 0; });",
        "size_t s; cudaOccupancyAvailableDynamicSMemPerBlock(&s, ker1, 1, 32);", "void* a[2]; cudaLaunchKernel(ker1, dim3(1), dim3(1), a, 0, 0);", "void* a[2]; cudaLaunchKernel((void*)ker1, dim3(1), dim3(1), a);", "void* a[2]; cudaLaunchKernel((const void*)ker1, 1, 1, a, 0, nullptr);", "void* a[2]; cudaLaunchCooperativeKernel(ker1, dim3(1), dim3(1), a);", "void* a[2]; cudaLaunchCooperativeKernel((void*)ker1, dim3(1), dim3(1), a, 0, 0);",
        "void* a[2]; cudaLaunchCooperativeKernel(ker1, 1, 1, a, 0, 0);", "cudaLaunchConfig_t c = {0}; c.gridDim = 1; c.blockDim = 32; cudaLaunchKernelEx(&c, ker1, 1, (float*)0);", "ker1<<<1, 1>>>(1, nullptr);", "ker1<<<dim3(1), dim3(1), 0, cudaStreamDefault>>>(1, 0);", "ker1<<<1, 1, 0, 0>>>(1, 0);", "ker1<<<1, 1, 0, nullptr>>>(1, NULL);", "size_t n = 4; ker1<<<n, n>>>(1, 0);", "float n = 4; ker1<<<ceil(n / 2), 32>>>(1, 0);",
        "ker1<<<(4 + 3) / 2, 32, 4 * sizeof(float)>>>(1, 0);", "tem1<<<1, 1>>>(1.f);", "tem1<float><<<1, 1>>>(1);", "uint3 g = make_uint3(1, 1, 1); ker1<<<g, g>>>(1, 0);", "int g[1]; ker1<<<g[0], g[0]>>>(1, 0);", "auto k = ker1; k<<<1, 1>>>(1, 0);", "void (*k)(int, float*) = ker1; k<<<1, 1>>>(1, 0);", "void (*k)(int, float*) = &ker1; (*k)<<<1, 1>>>(1, 0);",
        "cudaEvent_t e; cudaEventCreate(&e); cudaEventCreate(&e, cudaEventDisableTiming); cudaEventRecord(e); cudaEventRecord(e, 0);", "cudaEvent_t e; cudaEventCreateWithFlags(&e, cudaEventBlockingSync | cudaEventInterprocess);", "cudaEvent_t e = NULL; float t; cudaEventElapsedTime(&t, e, e); cudaEventQuery(e) == cudaErrorNotReady;", "cudaStream_t s; cudaStreamCreate(&s); cudaStreamWaitEvent(s, nullptr); cudaStreamWaitEvent(s, 0, 0);",
        "cudaStream_t s = 0; cudaStreamAddCallback(s, [](cudaStream_t, cudaError_t, void*) {}, nullptr, 0);", "cudaLaunchHostFunc(0, [](void*) {}, nullptr);", "cudaStreamCreateWithPriority(nullptr, cudaStreamNonBlocking, 0); int a, b; cudaDeviceGetStreamPriorityRange(&a, &b);", "int *p; cudaStreamAttachMemAsync(0, p);", "int *p; cudaStreamAttachMemAsync(0, p, 0, cudaMemAttachGlobal);", "int *p; cudaMemAdvise(p, 4, cudaMemAdviseSetReadMostly, 0);",
        "int *p; cudaMemPrefetchAsync(p, 4, 0);", "int *p; cudaMemPrefetchAsync(p, 4, cudaCpuDeviceId, 0);", "const char* s = cudaGetErrorString(cudaGetLastError()); s = cudaGetErrorName(cudaSuccess);", "cudaError e = cudaSuccess; if (e) {}", "cudaError_t e = (cudaError_t)1; int n = e; if (!e) {}", "enum cudaError e = cudaSuccess;", "enum cudaMemcpyKind k = cudaMemcpyDefault; cudaMemcpy(nullptr, nullptr, 4, k);", "cudaMemcpyKind k = (cudaMemcpyKind)1;",
        "struct cudaDeviceProp p; cudaGetDeviceProperties(&p, 0); int n = p.multiProcessorCount + p.major + p.clockRate + p.memoryClockRate + p.memoryBusWidth;", "cudaDeviceProp p; int n = p.deviceOverlap + p.kernelExecTimeoutEnabled + p.ECCEnabled + p.unifiedAddressing + p.asyncEngineCount + p.l2CacheSize;", "cudaDeviceProp p; size_t n = p.sharedMemPerBlock + p.totalGlobalMem + p.totalConstMem + p.memPitch + p.textureAlignment + p.sharedMemPerMultiprocessor;",
        "cudaDeviceProp p; int n = p.maxTexture1D + p.maxTexture2D[0] + p.maxTexture3D[0] + p.maxGridSize[0] + p.regsPerBlock + p.warpSize + p.tccDriver;", "cudaDeviceProp p; int n = p.maxTexture1DLayered[0] + p.maxTexture2DLayered[0];", "cudaDeviceProp p; int n = p.singleToDoublePrecisionPerfRatio + p.computePreemptionSupported + p.canUseHostPointerForRegisteredMem + p.regsPerMultiprocessor + p.sharedMemPerBlockOptin + p.reservedSharedMemPerBlock;",
        "cudaDeviceProp p = {}; const char* n = p.name; cudaUUID_t u = p.uuid; int m = p.managedMemory + p.concurrentManagedAccess + p.pageableMemoryAccess + p.cooperativeLaunch + p.isMultiGpuBoard + p.maxBlocksPerMultiProcessor + p.maxThreadsPerMultiProcessor;", "cudaPointerAttributes a; cudaPointerGetAttributes(&a, nullptr); int d = a.device; auto t = a.type; void* p = a.devicePointer; p = a.hostPointer; t == cudaMemoryTypeManaged;",
        "int v; cudaDeviceGetAttribute(&v, cudaDevAttrMaxThreadsPerBlock, 0); cudaDeviceGetAttribute(&v, cudaDevAttrComputeCapabilityMajor, 0); cudaDeviceGetAttribute(&v, cudaDevAttrMultiProcessorCount, 0);", "int v; cudaDeviceGetAttribute(&v, cudaDevAttrClockRate, 0); cudaDeviceGetAttribute(&v, cudaDevAttrMemoryPoolsSupported, 0);", "size_t a, b; cudaMemGetInfo(&a, &b);", "unsigned f; cudaGetDeviceFlags(&f); cudaSetDeviceFlags(cudaDeviceScheduleBlockingSync | cudaDeviceMapHost);", "cudaDeviceSetLimit(cudaLimitMallocHeapSize, 4); cudaDeviceSetLimit(cudaLimitPrintfFifoSize, 4); cudaDeviceSetLimit(cudaLimitStackSize, 4);",
        "cudaDeviceSetCacheConfig(cudaFuncCachePreferShared); cudaDeviceSetSharedMemConfig(cudaSharedMemBankSizeFourByte);", "cudaThreadSynchronize(); cudaThreadExit(); cudaDeviceReset(); cudaThreadSetCacheConfig(cudaFuncCachePreferL1);", "cudaTextureObject_t t; cudaResourceDesc r; memset(&r, 0, sizeof(r)); r.resType = cudaResourceTypeLinear; r.res.linear.devPtr = nullptr; r.res.linear.desc = cudaCreateChannelDesc<float>(); cudaTextureDesc d = {}; d.readMode = cudaReadModeElementType; cudaCreateTextureObject(&t, &r, &d, NULL);",
        "cudaTextureDesc d; d.addressMode[0] = cudaAddressModeClamp; d.filterMode = cudaFilterModeLinear; d.normalizedCoords = 0; d.sRGB = 0; d.maxAnisotropy = 1; d.mipmapFilterMode = cudaFilterModePoint;", "cudaResourceDesc r = {}; r.resType = cudaResourceTypePitch2D; r.res.pitch2D.width = 1; r.res.pitch2D.pitchInBytes = 4;", "cudaGraph_t g; cudaGraphExec_t e; cudaGraphCreate(&g, 0); cudaGraphInstantiate(&e, g, NULL, NULL, 0); cudaGraphLaunch(e, 0);", "cudaGraph_t g; cudaGraphExec_t e; cudaGraphInstantiate(&e, g); cudaGraphInstantiate(&e, g, 0);",
        "cudaGraph_t g; cudaStreamBeginCapture(0, cudaStreamCaptureModeGlobal); cudaStreamEndCapture(0, &g);", "cudaKernelNodeParams p = {0}; p.func = (void*)ker1; p.gridDim = dim3(1); p.kernelParams = nullptr; cudaGraphNode_t n; cudaGraph_t g; cudaGraphAddKernelNode(&n, g, nullptr, 0, &p);", "cudaMemcpy2DToArray(nullptr, 0, 0, nullptr, 4, 4, 4, cudaMemcpyHostToDevice); cudaMemcpyToArray(nullptr, 0, 0, nullptr, 4, cudaMemcpyHostToDevice);", "cudaMemset2D(nullptr, 4, 0, 4, 4); cudaMemset3D(cudaPitchedPtr(), 0, cudaExtent());",
        "int r, d; cudaRuntimeGetVersion(&r); cudaDriverGetVersion(&d);", "int c; cudaDeviceCanAccessPeer(&c, 0, 1); cudaDeviceEnablePeerAccess(1, 0); cudaMemcpyPeer(nullptr, 0, nullptr, 1, 4); cudaMemcpyPeerAsync(nullptr, 0, nullptr, 1, 4);", "cudaIpcMemHandle_t h; cudaIpcGetMemHandle(&h, nullptr); void* p; cudaIpcOpenMemHandle(&p, h, cudaIpcMemLazyEnablePeerAccess);", "cudaMemPool_t m; cudaDeviceGetDefaultMemPool(&m, 0); uint64_t t = 1; cudaMemPoolSetAttribute(m, cudaMemPoolAttrReleaseThreshold, &t);",
        "cudaProfilerStart(); cudaProfilerStop();", "cudaHostRegister(nullptr, 4, cudaHostRegisterMapped | cudaHostRegisterPortable | cudaHostRegisterReadOnly); cudaHostUnregister(nullptr);", "std::vector<float> v; cudaMemcpy(nullptr, v.data(), 4, cudaMemcpyHostToDevice);", "char b[20]; cudaDeviceGetPCIBusId(b, 20, 0); int d; cudaDeviceGetByPCIBusId(&d, b);", "CUdevice d; cuInit(0); cuDeviceGet(&d, 0); CUcontext c; cuCtxCreate(&c, 0, d); char n[9]; cuDeviceGetName(n, 9, d);", "CUdeviceptr p; cuMemAlloc(&p, 4); cuMemcpyHtoD(p, nullptr, 4); cuMemcpyDtoH(nullptr, p, 4); cuMemFree(p);", "CUdeviceptr p = 0; cuMemAlloc(&p, 4);", "CUdeviceptr p; float* q = (float*)p; p = (CUdeviceptr)q;", "CUdeviceptr p; float* q = reinterpret_cast<float*>(p); p = reinterpret_cast<CUdeviceptr>(q);",
        "CUmodule m; CUfunction f; cuModuleLoad(&m, \"x\"); cuModuleGetFunction(&f, m, \"k\"); void* a[1]; cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, a, NULL);", "CUresult r = cuInit(0); const char* s; cuGetErrorString(r, &s); cuGetErrorName(r, &s); r == CUDA_SUCCESS;", "int a, b; CUdevice d; cuDeviceComputeCapability(&a, &b, d); cuDeviceGetAttribute(&a, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, d);", "CUstream s; cuStreamCreate(&s, CU_STREAM_DEFAULT); cuStreamSynchronize(s); cudaStream_t t = s;", "CUevent e; cuEventCreate(&e, CU_EVENT_DEFAULT); cudaEvent_t f = e;",
        "cuComplex a = make_cuComplex(1, 2), b = cuCmulf(a, a); b.x = cuCrealf(a) + cuCimagf(b) + cuCabsf(b); b = cuCaddf(a, cuConjf(b));", "cuDoubleComplex a = make_cuDoubleComplex(1, 2); a = cuCmul(a, cuCdiv(a, a)); a = cuCsub(a, a); double d = cuCabs(a);", "cuFloatComplex a = {1, 2}; float2 f = a; a = f; cuComplex c = make_float2(1, 2); a = cuCfmaf(a, a, a);", "cuDoubleComplex d = cuComplexFloatToDouble(make_cuFloatComplex(1, 2)); double2 e = d;",
    ):  # fmt: skip
        yield f"void t@() {{ {body} }}"


OF_HEADERS = {"declared": declared, "tags": tags}
WRITTEN = {"combined": combined, "halves": halves, "vectors": vectors, "runtime": runtime}


def forms(names: Iterable[str], headers: Path) -> list[str]:
    """The lines of these families of forms, each once."""
    found: dict[str, None] = {}
    for name in names:
        if name in WRITTEN:
            found |= dict.fromkeys(WRITTEN[name]())
        elif name == "members":
            found |= dict.fromkeys(members(headers))
        else:
            found |= dict.fromkeys(line for text in texts(headers) for line in OF_HEADERS[name](text))
    return list(found)


def failing(log: str) -> dict[int, str]:
    """The first error of each line of the file."""
    found: dict[int, str] = {}
    for path, line, _, kind, text in PLACE.findall(log):
        if path == "a.cu" and "error" in kind:
            found.setdefault(int(line), text)
    return found


def rows(failed: set[tuple[str, str]], tried: Iterable[tuple[str, str]]) -> list[str]:
    """A line for each function that no form for the host may call, and for each with one of the 16-bit types."""
    failed = {key for key in failed if not key[0].startswith("cu")}  # the libraries' and the driver's own functions
    working = {name for name, _ in set(tried) - failed}
    return sorted({f"{name}\n" if name not in working else f"{name}\t{of}\n" for name, of in failed if name not in working or of in HALVES})


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--cuda", type=Path, required=True)
    parser.add_argument("--root", required=True, metavar="ROCM=PATH")
    parser.add_argument(
        "--newest", type=Path, required=True, help="the root file system with the clang that reads CUDA"
    )
    parser.add_argument("--out", type=Path, required=True)
    families = [*OF_HEADERS, *WRITTEN]
    parser.add_argument("--forms", nargs="+", choices=[*families, "members"], default=families)
    args = parser.parse_args()
    rocm, _, root = args.root.partition("=")
    lines = forms(args.forms, args.cuda / "include")
    tree = args.out / "cuda"
    tree.mkdir(parents=True, exist_ok=True)
    good, text = lines, ""
    top = TOP + LIBRARIES if "members" in args.forms else TOP
    for _ in range(4):  # until what failed is out, also what only failed after it
        text = top + "".join(line.replace("@", "1" if "sym@" in line else str(n)) + "\n" for n, line in enumerate(good))
        (tree / "a.cu").write_text(text)
        mounts = {tree.resolve(): "/mnt/src", args.cuda.resolve(): "/mnt/cuda"}
        bad = failing(run_in_root(args.newest, mounts, [*CLANG, "/mnt/src/a.cu"])[1])
        if not bad:
            break
        good = [line for n, line in enumerate(good, top.count("\n") + 1) if n not in bad]
    print(f"{len(lines)} forms, {len(good)} compile as CUDA", flush=True)
    engine = open_engine(target=Target(rocm=rocm), include_folders=[Path(root) / "usr/include"])
    made_text = convert(text, engine.tables, engine.rules, engine.target, "a.cu")
    tree = args.out / rocm
    tree.mkdir(parents=True, exist_ok=True)
    (tree / "a.cu").write_text(made_text.text)
    for name in made_text.needs:
        (tree / name).write_text(engine.rules.shims[name])
    told = {f.place.line for f in made_text.findings if f.place}
    source = text.split("\n")
    host_lines: dict[tuple[str, str], list[int]] = {}
    for n, line in enumerate(source, 1):
        if called := OF_HOST.match(line):
            host_lines.setdefault((called[2], called[1] or ""), []).append(n)
    told_otherwise = {f.place.line for f in made_text.findings if f.place and f.rule != "LINT-HOST-FUNCTION"}
    for gpu in GPUS:
        errors: dict[int, str] = {}
        for side in ("--cuda-device-only", "--cuda-host-only"):
            command = [*HIPCC, f"--offload-arch={gpu}", side, "-std=c++17", "/mnt/src/a.cu"]
            errors |= failing(run_in_root(Path(root), {tree.resolve(): "/mnt/src"}, command)[1])
        lost = {made_text.lines.original(n): text for n, text in sorted(errors.items())}
        (args.out / f"failing.{rocm}.{gpu}").write_text("".join(f"{n}\t{text}\n" for n, text in lost.items()))
        silent = {n: text for n, text in lost.items() if n not in told}
        print(
            f"ROCm {rocm} {gpu}: {len(lost)} do not compile, {len(lost) - len(silent)} with a finding, {len(silent)} silent"
        )
        failed = {key for key, at in host_lines.items() if lost.keys() >= set(at) and told_otherwise.isdisjoint(at)}
        (args.out / f"device-{rocm}.tsv").write_text(
            f"# Functions that CUDA 12.6 has for the host too and the headers of ROCm {rocm} for the device alone: no call of\n"
            "# them in a function for the host compiles. A type after the name: with a first argument of that type. Read by\n"
            f"# the compiler, of headers under the licences that rocm-{rocm}.tsv names, with Debian's packages, by\n"
            f"# `tests/integration/hipify/cuda_forms.py`:\n{versions(Path(root))}{''.join(rows(failed, host_lines))}"
        )
        compiles = Counter(
            f.rule for f in made_text.findings if f.place and f.severity is not Severity.NOTE and f.place.line not in lost
        )
        print(f"    errors and warnings at lines that compile: {dict(compiles.most_common())}")
        (args.out / f"silent.{rocm}.{gpu}").write_text(
            "".join(f"{source[n - 1]}\n    {what}\n" for n, what in silent.items())
        )


if __name__ == "__main__":
    main()
