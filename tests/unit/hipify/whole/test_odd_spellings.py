"""Legal CUDA that is written in an odd way: each was once converted wrongly and without a word."""

from __future__ import annotations

import pytest

from stackbuild.hipify.cpp.scan import arguments, blank
from stackbuild.hipify.model import Target
from stackbuild.model.findings import Severity
from support.hipify import bundled_rules, hip

RUNTIME = "#include <hip/hip_runtime.h>\n"


def body(text: str, name: str = "a.cu", launch: str = "keep") -> str:
    """The converted text without the includes that conversion adds; converting it again changes nothing."""
    target = Target(launch=launch)  # type: ignore[arg-type]
    made = hip(text, name, target=target).text
    assert hip(made, name, target=target).text == made
    return made.replace(RUNTIME, "", 1).replace('#include "stackbuild_hip_compat.h"\n', "")


def rules_of(text: str, name: str = "a.cu") -> list[str]:
    return [f.rule for f in hip(text, name).findings]


@pytest.mark.parametrize(
    ("cuda", "expected"),
    [
        ("auto k = cudaMemcpyKind::cudaMemcpyHostToDevice;", "auto k = hipMemcpyKind::hipMemcpyHostToDevice;"),
        ("f(::cudaMemcpyKind::cudaMemcpyHostToDevice);", "f(::hipMemcpyKind::hipMemcpyHostToDevice);"),
        ("using K = cudaMemcpyKind; f(K::cudaMemcpyHostToDevice);", "using K = hipMemcpyKind; f(K::hipMemcpyHostToDevice);"),
        ("typedef enum cudaMemcpyKind K; f(K::cudaMemcpyHostToDevice);", "typedef enum hipMemcpyKind K; f(K::hipMemcpyHostToDevice);"),
        ("f(my::cudaMemcpyKind::cudaMemcpyHostToDevice);", "f(my::cudaMemcpyKind::cudaMemcpyHostToDevice);"),
        ("using ::cudaFree; cudaFree(p);", "using ::hipFree; hipFree(p);"),
        ("static ::cudaError_t f(const ::cudaStream_t s, enum ::cudaMemcpyKind k);", "static ::hipError_t f(const ::hipStream_t s, enum ::hipMemcpyKind k);"),
        ("my ::cudaFree(p);", "my ::cudaFree(p);"),
        ("f(at::cuda::cudaMalloc);", "f(at::cuda::cudaMalloc);"),
        ("#ifdef A\n::cudaFree(p);\n#endif\n::cudaFree(q);", "#ifdef A\n::hipFree(p);\n#endif\n::hipFree(q);"),
    ],
)  # fmt: skip
def test_qualified_names(cuda: str, expected: str) -> None:
    assert body(cuda) == expected


@pytest.mark.parametrize(
    ("cuda", "expected"),
    [
        ("struct A { int (*cudaMalloc)(void**); }; void f(A& a) { a.cudaMalloc(&p); cudaMalloc(&q); }", "struct A { int (*cudaMalloc)(void**); }; void f(A& a) { a.cudaMalloc(&p); hipMalloc(&q); }"),
        ("class A { void cudaFree(int); void f() { cudaFree(1); ::cudaFree(p); } void g(); };\nvoid A::g() { cudaFree(2); }\nvoid h() { cudaFree(p); }",
         "class A { void cudaFree(int); void f() { cudaFree(1); ::hipFree(p); } void g(); };\nvoid A::g() { cudaFree(2); }\nvoid h() { hipFree(p); }"),
        ("struct A { decltype(&::cudaFree) cudaFree; }; A a; void f() { a.cudaFree(p); }", "struct A { decltype(&::hipFree) cudaFree; }; A a; void f() { a.cudaFree(p); }"),
        ("struct alignas(8) A : B<int> { cudaStream_t s = cudaSuccess; };", "struct alignas(8) A : B<int> { hipStream_t s = hipSuccess; };"),
        ("enum class K { cudaSuccess, cudaFree = 2 }; f(K::cudaFree, cudaSuccess);", "enum class K { cudaSuccess, cudaFree = 2 }; f(K::cudaFree, hipSuccess);"),
        ("namespace my { int cudaMalloc(int); } int x = my::cudaMalloc(1);", "namespace my { int hipMalloc(int); } int x = my::hipMalloc(1);"),
        ("void f() { using my::cudaFree; cudaFree(p); } void g() { cudaFree(p); }", "void f() { using my::cudaFree; cudaFree(p); } void g() { hipFree(p); }"),
        ('extern "C" { int cudaMalloc(void**); }', 'extern "C" { int hipMalloc(void**); }'),
    ],
)  # fmt: skip
def test_a_name_is_one_thing_where_it_is_declared_and_where_it_is_used(cuda: str, expected: str) -> None:
    assert body(cuda) == expected


@pytest.mark.parametrize(
    "cuda",
    ["struct A { friend int cudaFree(void*); };", "struct A { void f(const cudaStream_t, int); };", "struct A { void f(int, cudaStream_t, int); };",
     "struct A { cudaStream_t f(); const cudaStream_t& g(); operator cudaStream_t() const; };", "struct A : cudaStream_t { };",
     "class A { std::function<cudaError_t(cudaStream_t)> f; B<const cudaStream_t, 3> b; };"],
)  # fmt: skip
def test_types_and_friends_in_a_class_are_cuda_s(cuda: str) -> None:
    made = hip(cuda)
    assert "cuda" not in made.text and made.findings == ()


def test_preprocessor_lines_between_arguments() -> None:
    text = "cudaMemcpyToSymbolAsync(s,\n#ifdef A\n a, 4\n#else\n b, 8\n#endif\n);\n"
    assert body(text) == text.replace("cudaMemcpyToSymbolAsync(s", "hipMemcpyToSymbolAsync(HIP_SYMBOL(s)")
    assert rules_of(text) == ["HIPIFY-DIVIDED-CALL"]


def test_own_names_are_told() -> None:
    assert rules_of("struct A { int cudaMalloc(int); };") == ["HIPIFY-OWN-NAME"]
    assert rules_of("namespace my { int cudaMalloc(int); }") == ["HIPIFY-OWN-NAME"]
    assert rules_of("cuda\\\nFree(p);") == ["HIPIFY-DIVIDED-NAME"]
    assert rules_of("struct A { cudaStream_t s; int f() { return cudaFree(p); } };") == []


@pytest.mark.parametrize(
    ("cuda", "expected"),
    [
        ("static int e = cudaMemcpyToSymbol(s, &x, 4);", "static int e = hipMemcpyToSymbol(HIP_SYMBOL(s), &x, 4);"),
        ("# define UP() cudaMemcpyToSymbol(s, &x, 4)\n", "# define UP() hipMemcpyToSymbol(HIP_SYMBOL(s), &x, 4)\n"),
        ("#define UP cudaMemcpyToSymbol(s, p, 4)\n", "#define UP hipMemcpyToSymbol(HIP_SYMBOL(s), p, 4)\n"),
        ("#ifndef A\ncudaMemcpyToSymbol(s, p, 4);\n#endif\n", "#ifndef A\nhipMemcpyToSymbol(HIP_SYMBOL(s), p, 4);\n#endif\n"),
        ("else\n  cudaMemcpyToSymbol(s, p, 4);", "else\n  hipMemcpyToSymbol(HIP_SYMBOL(s), p, 4);"),
        ("extern __host__ cudaError_t CB cudaMemcpyToSymbol(const void* s, const void* p, size_t n);", "extern __host__ hipError_t CB hipMemcpyToSymbol(const void* s, const void* p, size_t n);"),
        ("template <class T>\nstatic inline int cudaMemcpyToSymbol(T& s, const void* p);", "template <class T>\nstatic inline int hipMemcpyToSymbol(T& s, const void* p);"),
        ("#define cudaMemcpyToSymbol(s, p, n) g(s, p)\n", "#define hipMemcpyToSymbol(s, p, n) g(s, p)\n"),
        ("cudaMemcpyToSymbolAsync(s, p, n<4?4:n, 0, k>0?a:b);", "hipMemcpyToSymbolAsync(HIP_SYMBOL(s), p, n<4?4:n, 0, k>0?a:b);"),
        ("cudaMemcpyToSymbolAsync(s, p, a < b, c > d);", "hipMemcpyToSymbolAsync(HIP_SYMBOL(s), p, a < b, c > d, hipMemcpyHostToDevice);"),
        ("cudaFuncSetAttribute(k <A && B, 4>, C, 1);", "hipFuncSetAttribute(reinterpret_cast<const void*>(k <A && B, 4>), C, 1);"),
    ],
)  # fmt: skip
def test_calls_and_declarations(cuda: str, expected: str) -> None:
    assert body(cuda) == expected


@pytest.mark.parametrize(
    ("code", "count"),
    [
        ("(a<b?c:d, x>y)", 2), ("(a<b, c>d)", 2), ("(a<b, c>)", 1), ("(k <float, 4>, A)", 2), ("(A<B<int, 2>>::v, 3)", 2), ("(x<1<<3, 5)", 2),
        ("(a<b, c>=d)", 2), ("(static_cast<A<int, int>*>(p), 2)", 2), ("(A<decltype([]{ return 1; }), 2>(), 3)", 2), ("(p<q && r>s, t)", 2),
        ("(k<x->y, 3>, 2)", 2), ("(f<a, b>(1, 2), 3)", 2), ("(n<4, m>-1)", 2), ("(pair<int, vector<vector<int>>>{}, 3)", 2), ("()", 0),
        ("(a->b<c, d>::e, 1)", 2), ("(x << 2, y >> 3)", 2), ("(&A::operator<, b > c)", 2),
    ],
)  # fmt: skip
def test_commas_of_templates_do_not_divide_and_those_between_comparisons_do(code: str, count: int) -> None:
    found = arguments(code, 0)
    assert found is not None and len(found[0]) == count and found[1] == len(code) - 1


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("#define A \\\n b /* x\n y */ c\nd", "#define A    b            c\nd"),
        ("// a \\\n b\nc", "         \nc"),
        ("// a\\\\\nb\nc", "        \nc"),
        ("// a \\ \nb\nc", "         \nc"),
        ("/\\\n/ a\nb", "      \nb"),
        ("/\\\n* a *\\\n/ b", "            b"),
        ("return'\"'; x", 'return"\x01"; x'),
        ('FOOR"(" x ")"', 'FOOR"\x01" x "\x01"'),
        ('u8R"a(b)" c)a" d', 'u8R"' + "\x01" * 9 + '" d'),
        ('R"(a\nb)"', 'R"\x01\x01\n\x01\x01"'),
        ('"a\\\nb" c', '"\x01\x01\x01\x01" c'),
    ],
)
def test_lines_are_the_preprocessor_s(text: str, code: str) -> None:
    assert blank(text) == code and len(code) == len(text)


@pytest.mark.parametrize(
    ("cuda", "expected"),
    [
        ("#include <cuda.h>\n#include <cuda_runtime.h> // again\nint x;\n", "#include <hip/hip_runtime.h>\n // again\nint x;\n"),
        ("#include <device_launch_parameters.h> /* a\n b */\nint x;\n", " /* a\n b */\nint x;\n"),
        ("#include \\\n  <cuda_fp16.h>\n", "#include \\\n  <hip/hip_fp16.h>\n"),
        ("#include /* c */ <cuda_fp16.h>/* d */\n", "#include /* c */ <hip/hip_fp16.h>/* d */\n"),
        ("#include <cuda.h>\n#include \\\n <cuda_runtime.h>\nint x;\n", "#include <hip/hip_runtime.h>\nint x;\n"),
        ("#if __has_include(<cuda_fp16.h>)\n#endif\n", "#if __has_include(<hip/hip_fp16.h>)\n#endif\n"),
        ("#import <cuda_fp16.h>\n#include_next <cuda_fp16.h>\n", "#import <hip/hip_fp16.h>\n#include_next <hip/hip_fp16.h>\n"),
        ("#define H <cuda_fp16.h>\n#include H\n", "#define H <hip/hip_fp16.h>\n#include H\n"),
        ('#define H "cuda_fp16.h"\n#include H\n#define G "cuda_fp16.h"\n', '#define H "hip/hip_fp16.h"\n#include H\n#define G "cuda_fp16.h"\n'),
        ("#if !defined(A) \\\n\n#define A \\\n 1\n__global__ void k();\n#endif\n", "#if !defined(A) \\\n\n#define A \\\n 1\n#include <hip/hip_runtime.h>\n__global__ void k();\n#endif\n"),
    ],
)  # fmt: skip
def test_includes(cuda: str, expected: str) -> None:
    assert hip(cuda, "a.h").text == expected
    assert hip(expected, "a.h").text == expected


def test_headers_of_hip_come_before_extern_c() -> None:
    text = 'extern "C" {\n#include <cuda_runtime.h>\n#include <cublas_v2.h>\n}\n'
    made = hip(text, "a.h").text
    assert made == RUNTIME + 'extern "C" {\n#include <hip/hip_runtime.h>\n#include <hipblas/hipblas.h>\n}\n'
    assert hip(made, "a.h").text == made


def test_what_follows_a_dropped_include_on_its_line_was_never_read() -> None:
    assert "int x" not in hip("#include <device_launch_parameters.h> /* a\n b */ int x;\nint y;\n", "a.h").text


@pytest.mark.parametrize(
    ("cuda", "expected"),
    [
        ("namespace cub { struct A; } cub::A a;", "namespace hipcub { struct A; } hipcub::A a;"),
        ("namespace cub::detail { }", "namespace hipcub::detail { }"),
        ("namespace at { namespace cub { struct A; } }", "namespace at { namespace cub { struct A; } }"),
        (
            "namespace at::cub { } using cub::A; namespace c = ::cub;",
            "namespace at::cub { } using hipcub::A; namespace c = ::hipcub;",
        ),
    ],
)
def test_the_namespace_of_cub(cuda: str, expected: str) -> None:
    assert body(cuda, "a.h") == expected


@pytest.mark.parametrize(
    ("cuda", "expected"),
    [
        ("A<int>::k<<<g, b>>>(x);", "hipLaunchKernelGGL(A<int>::k, dim3(g), dim3(b), 0, 0, x);"),
        ("this->template k<4><<<g, b>>>(x);", "hipLaunchKernelGGL(this->template k<4>, dim3(g), dim3(b), 0, 0, x);"),
        ("k<T, 1 << 3, A<(4 > 2)>> <<< g, b >>> (x);", "hipLaunchKernelGGL(HIP_KERNEL_NAME(k<T, 1 << 3, A<(4 > 2)>>), dim3(g), dim3(b), 0, 0, x);"),
        ("get()<<<g, b>>>(x);", "hipLaunchKernelGGL(get(), dim3(g), dim3(b), 0, 0, x);"),
        ("get<int>(1)[2]<<<g, b>>>(x);", "hipLaunchKernelGGL(get<int>(1)[2], dim3(g), dim3(b), 0, 0, x);"),
        ("if (c) (p ? k : j)<<<g, b>>>(x);", "if (c) hipLaunchKernelGGL((p ? k : j), dim3(g), dim3(b), 0, 0, x);"),
        ("k<<<g, /* b */ b, // smem\n n>>>(x);", "hipLaunchKernelGGL(k, dim3(g), dim3( /* b */ b), // smem\n n, 0, x);"),
        ("k<<<dim3{1, 2}, b, f<c, d>()>>>(x);", "hipLaunchKernelGGL(k, dim3(dim3{1, 2}), dim3(b), (f<c, d>()), 0, x);"),
        ("k<<<g, f<A<B<int>>>(1)>>>(x);", "hipLaunchKernelGGL(k, dim3(g), dim3(f<A<B<int>>>(1)), 0, 0, x);"),
        ("#define L(K) K<<<1, 2>>>(p)\n", "#define L(K) hipLaunchKernelGGL(K, dim3(1), dim3(2), 0, 0, p)\n"),
        ("#if A\nk<<<1, 2>>>(p);\n#endif\n", "#if A\nhipLaunchKernelGGL(k, dim3(1), dim3(2), 0, 0, p);\n#endif\n"),
    ],
)  # fmt: skip
def test_launches(cuda: str, expected: str) -> None:
    assert body(cuda, launch="ggl") == expected


@pytest.mark.parametrize(
    "cuda",
    ["return k<<<1, 2>>>(x);", "k<<<1, 2>>>(x), j();", "(void)k<<<1, 2>>>(x);", "k<<<1>>>(x);", "#define L(...) k<<<__VA_ARGS__>>>(x)\n",
     "#define L(K, ...) K<<<1, __VA_ARGS__>>>(x)\n", "k<<<1, 2>>>(\n#if A\n a\n#endif\n);", "k<<<1, 2, 3, 4, 5>>>(x);"],
)  # fmt: skip
def test_a_launch_that_cannot_be_a_statement_is_left_and_told(cuda: str) -> None:
    made = hip(cuda, target=Target(launch="ggl"))
    assert made.text == RUNTIME + cuda
    assert [f.rule for f in made.findings] == ["HIPIFY-LAUNCH-UNREADABLE"]


def test_operator_less_less_of_a_template_is_no_launch() -> None:
    assert rules_of("template <class T> S& operator<<<T>(S&, T);", "a.h") == []


@pytest.mark.parametrize(
    ("cuda", "expected"),
    [
        ("#define CRC_MASK 0xffffffff\nbool f(unsigned x) { return x == CRC_MASK; }\n", "#define CRC_MASK 0xffffffff\nbool f(unsigned x) { return x == CRC_MASK; }\n"),
        ("constexpr unsigned M = 0xffffffff; __any_sync(M, p);", "constexpr unsigned M = 0xffffffff; __any_sync(stackbuild_hip::lane_mask(M), p);"),
        ("__any_sync(uint_mask, p);", "__any_sync(stackbuild_hip::lane_mask(uint_mask), p);"),
        ("__any_sync(static_cast<unsigned>(-1), p);", "__any_sync(0xffffffffffffffffULL, p);"),
        ("__any_sync((0xFFFF'FFFFu), p);", "__any_sync(0xffffffffffffffffULL, p);"),
        ("__any_sync(0xffff, p);", "__any_sync((unsigned long long)(0xffff), p);"),
        ("#define __any_sync(mask, p) __any(p)\n", "#define __any_sync(mask, p) __any(p)\n"),
        ("bool __any_sync(const MyMask mask, bool p);", "bool __any_sync(const MyMask mask, bool p);"),
        ("#define M 0xffffffff\n#ifdef M\n__any_sync(M, p); __syncwarp(M);\n#endif\n", "#define M 0xffffffffffffffffULL\n#ifdef M\n__any_sync(M, p); __syncwarp(M);\n#endif\n"),
        ("#define ANY __any_sync\nANY(m, p);", "#define ANY __any_sync\nANY(stackbuild_hip::lane_mask(m), p);"),
        ("#define M ~0ull\n__any_sync(M, p); f(M);\n", "#define M ~0ull\n__any_sync(M, p); f(M);\n"),
    ],
)  # fmt: skip
def test_only_lane_masks_are_widened(cuda: str, expected: str) -> None:
    assert body(cuda) == expected


def test_a_macro_with_another_use_keeps_its_value_and_is_told() -> None:
    cuda = "#define M 0xffffffff\nbool f(unsigned x) { return __any_sync(M, x == M); }\n"
    assert body(cuda) == cuda.replace("(M,", "(stackbuild_hip::lane_mask(M),")
    assert rules_of(cuda) == ["LINT-VOTE", "HIPIFY-MASK-OTHER-USE"]
    header = "#define M 0xffffffff\n__device__ bool f(int p) { return __any_sync(M, p); }\n"
    assert body(header, "a.cuh") == header.replace("(M,", "(stackbuild_hip::lane_mask(M),")


ALL = "0xffffffffffffffffULL"


@pytest.mark.parametrize(
    ("mask", "expected"),
    [
        ("__activemask() & 0xffffffffu", f"stackbuild_hip::lane_mask(__activemask() & {ALL})"),
        ("__activemask()&FULL", f"stackbuild_hip::lane_mask(__activemask()&{ALL})"),
        ("0xffffffff ^ m", f"stackbuild_hip::lane_mask({ALL} ^ m)"),
        ("(m | 0xffffffff)", f"stackbuild_hip::lane_mask((m | {ALL}))"),
        ("__activemask() & m", "stackbuild_hip::lane_mask(__activemask() & m)"),
        ("__activemask()", "__activemask()"),
        # No operand of the mask itself: a shift of 32 ones, an argument, a logical and.
        ("__activemask() & (0xffffffff >> n)", "stackbuild_hip::lane_mask(__activemask() & (0xffffffff >> n))"),
        ("f(0xffffffff) & m", "stackbuild_hip::lane_mask(f(0xffffffff) & m)"),
        ("a && 0xffffffff", "stackbuild_hip::lane_mask(a && 0xffffffff)"),
    ],
)
def test_32_ones_that_a_mask_is_anded_with_are_all_lanes(mask: str, expected: str) -> None:
    cuda = "#define FULL 0xffffffffu\n__device__ int f(int p) { return __any_sync(%s, p); }"
    assert body(cuda % mask) == cuda % expected


@pytest.mark.parametrize(
    ("cuda", "expected"),
    [
        ("cudaMemcpyToSymbol(S<T, 3>::v, h, n);", "hipMemcpyToSymbol(HIP_SYMBOL((S<T, 3>::v)), h, n);"),
        ("cudaMemcpyToSymbol(v[f(1, 2)], h, n);", "hipMemcpyToSymbol(HIP_SYMBOL(v[f(1, 2)]), h, n);"),
        ("cudaMemcpyToSymbol<float[4]>(c, h, 16);", "hipMemcpyToSymbol<float[4]>(HIP_SYMBOL(c), h, 16);"),
        ("cudaHostGetDevicePointer<float>(&d, p, 0);", "hipHostGetDevicePointer((void**)(&d), p, 0);"),
        ("cudaFuncSetAttribute <void(int)> (k<1, 2>, A, 1);", "hipFuncSetAttribute(reinterpret_cast<const void*>(k<1, 2>), A, 1);"),
        ("if (cudaFuncSetAttribute < a && b > (c)) g();", "if (hipFuncSetAttribute < a && b > (c)) g();"),
    ],
)  # fmt: skip
def test_commas_of_templates_and_explicit_template_arguments(cuda: str, expected: str) -> None:
    assert body(cuda) == expected


@pytest.mark.parametrize(
    ("cuda", "expected"),
    [
        ("auto p = thrust::cuda::par.on(s);", "auto p = thrust::hip::par.on(s);"),
        ("auto p = ::thrust :: cuda :: par;", "auto p = ::thrust::hip :: par;"),
        ("using namespace thrust::cuda;", "using namespace thrust::hip;"),
        ("namespace tc = thrust::system::cuda;", "namespace tc = thrust::system::hip;"),
        ("thrust::cuda_cub::launch();", "thrust::hip_rocprim::launch();"),
        ('f("thrust::cuda::par failed");', 'f("thrust::cuda::par failed");'),
        ("namespace my_thrust { namespace cuda { void g(); } } void f() { my_thrust::cuda::g(); my::thrust::cuda::g(); }",) * 2,
        ("struct  cudaGraphicsResource *r;", "hipGraphicsResource *r;"),
        ("struct ::cudaGraphicsResource* r; f<cudaGraphicsResource>();", "hipGraphicsResource* r; f<hipGraphicsResource>();"),
        ("uint4 r = curand4(&state);", "uint4 r = hiprand4(&state);"),
    ],
)  # fmt: skip
def test_namespaces_of_namespaces_and_tags(cuda: str, expected: str) -> None:
    assert body(cuda) == expected
    assert "HIPIFY-RULE-INSIDE-NAME" not in rules_of(cuda)


@pytest.mark.parametrize(
    ("cuda", "expected"),
    [
        ("typedef cub::WarpReduce<float> W;", "typedef hipcub::WarpReduce<float, 32> W;"),
        ("::cub::WarpScan<cub::KeyValuePair<int, float>>(t)", "::hipcub::WarpScan<hipcub::KeyValuePair<int, float>, 32>(t)"),
        ("cub::WarpReduce<decltype(a->b < c)>::TempStorage s;", "hipcub::WarpReduce<decltype(a->b < c), 32>::TempStorage s;"),
        ("cub::WarpReduce<float, 16> W; cub::WarpReduce<T, N>(t);", "hipcub::WarpReduce<float, 16> W; hipcub::WarpReduce<T, N>(t);"),
        ("using L = cub::WarpLoad<T, 4>; using M = cub::WarpStore<T, 4, cub::WARP_STORE_TRANSPOSE>;",
         "using L = hipcub::WarpLoad<T, 4, hipcub::WARP_LOAD_DIRECT, 32>; using M = hipcub::WarpStore<T, 4, hipcub::WARP_STORE_TRANSPOSE, 32>;"),
        ("cub::WarpExchange<T, 4> e; cub::WarpMergeSort<K, 4, 32, V> s;", "hipcub::WarpExchange<T, 4, 32> e; hipcub::WarpMergeSort<K, 4, 32, V> s;"),
        ("using namespace cub; WarpReduce<int> w;", "using namespace hipcub; WarpReduce<int, 32> w;"),
        ("using cub::WarpScan; WarpScan<int> w; WarpReduce<int> v;", "using hipcub::WarpScan; WarpScan<int, 32> w; WarpReduce<int> v;"),
        # Somebody else's, and what is hipCUB's already.
        ("hipcub::WarpReduce<float> W; my::WarpReduce<float> V; WarpReduce<int> w;",) * 2,
    ],
)  # fmt: skip
def test_warp_collectives_of_cub_keep_their_32_threads(cuda: str, expected: str) -> None:
    assert body(cuda) == expected


@pytest.mark.parametrize(
    ("cuda", "expected"),
    [
        ("auto g(int a = 0) -> cudaError_t { return cudaSuccess; }", "auto g(int a = 0) -> hipError_t { return hipSuccess; }"),
        ("auto l = [&](int x) mutable -> cudaError_t {};", "auto l = [&](int x) mutable -> hipError_t {};"),
        ("auto f = []<class T>(T a) -> cudaError_t {};", "auto f = []<class T>(T a) -> hipError_t {};"),
        ("return [](int x) -> cudaError_t {};", "return [](int x) -> hipError_t {};"),
        ("template <class T> auto C<T>::g() const -> cudaStream_t;", "template <class T> auto C<T>::g() const -> hipStream_t;"),
        ("std::function<auto(int) -> cudaError_t> f;", "std::function<auto(int) -> hipError_t> f;"),
        ("auto x = f(1)->cudaMalloc(2); y = v[1](2)->cudaFree; return a[1](x)->cudaFree;",
         "auto x = f(1)->cudaMalloc(2); y = v[1](2)->cudaFree; return a[1](x)->cudaFree;"),
        ("p->cudaMalloc(1);", "p->cudaMalloc(1);"),
    ],
)  # fmt: skip
def test_an_arrow_before_a_return_type_is_no_member_access(cuda: str, expected: str) -> None:
    assert body(cuda) == expected


def severities(text: str, rule: str, macros: tuple[str, ...] = ()) -> list[str]:
    return [f.severity.value for f in hip(text, target=Target(hip_macros=macros)).findings if f.rule == rule]


@pytest.mark.parametrize(
    "macro", ["USE_AMD_ROCM", "__HIP_DEVICE_COMPILE__", "GGML_USE_HIP", "__AMDGCN__", "WITH_ROCM", "MY_GPU"]
)
def test_what_a_branch_for_hip_leaves_out_is_a_note(macro: str) -> None:
    text = f'#ifdef {macro}\nint x;\n#else\nvoid f() {{ asm("mov.u32 %0, %laneid;"); cuNothing(); }}\n#endif\n'
    mine = ("MY_GPU",) if macro == "MY_GPU" else ()
    for rule in ("LINT-PTX", "HIPIFY-UNSUPPORTED"):
        assert severities(text, rule, mine) == ["note"]
        assert severities(text.replace(macro, "SHIP_IT"), rule, mine) == ["error"]


def test_ptx_behind_a_macro_for_the_word_asm_is_told() -> None:
    use = 'void z() { ASM("ld.global.nc.f32 %0, [%1];" : "=f"(x) : "l"(p)); }\n'
    assert "LINT-PTX" in rules_of("#define ASM asm volatile\n" + use)
    assert "LINT-PTX" not in rules_of("#define ASM print\n" + use)


@pytest.mark.parametrize(
    ("cuda", "expected", "name"),
    [
        ("__device__ void k(register int a) { register float x; }", "__device__ void k(int a) { float x; }", "a.cu"),
        ("__device__ void k() { register int y asm(\"r0\"); }", "__device__ void k() { register int y asm(\"r0\"); }", "a.cu"),
        ("__device__ inline float f() { register float x; return x; }", "__device__ inline float f() { float x; return x; }", "a.h"),
        ("int f() { register int x = 0; return x; }", "int f() { register int x = 0; return x; }", "a.c"),
        ("void f() { o.register(1); // register\n}", "void f() { o.register(1); // register\n}", "a.cu"),
    ],
)  # fmt: skip
def test_register_which_cpp17_has_not_is_left_out_of_cuda(cuda: str, expected: str, name: str) -> None:
    assert body(cuda, name) == expected


@pytest.mark.parametrize(
    ("guilty", "innocent"),
    [
        ("atomicAdd((half2*)&o[m], v);", "half h; atomicAdd((float*)&o[m], v);"),
        ("void f(__half* p) { atomicAdd(p + 1, v); }", "void f(__half h, int* p) { atomicAdd(p + 1, v); }"),
        ("void f(__nv_bfloat162* p) { atomicAdd(&p[1], v); }",
         "void f(__half* p) { atomicAdd(p, v); }\nvoid atomicAdd(__half* p, __half v) {}"),
    ],
)  # fmt: skip
def test_an_atomic_sum_of_halves_is_told(guilty: str, innocent: str) -> None:
    assert "LINT-HALF-ATOMIC" in rules_of(guilty)
    assert "LINT-HALF-ATOMIC" not in rules_of(innocent)


def test_functions_of_complex_numbers_ask_for_hipblas_second_interface() -> None:
    made = hip("#include <cublas_v2.h>\ncublasZgelsBatched(h);\n")
    assert '#include "stackbuild_hipblas_v2.h"' in made.text


@pytest.mark.parametrize("call", ["cublasZgemm(h, a);", "cusolverDnZunmqr(s, CUBLAS_SIDE_LEFT);", "cusolverDnDpotrf(s);"])
@pytest.mark.parametrize(("rocm", "is_needed"), [("5.7", True), ("6.4", False), ("", False)])
def test_before_rocm_6_a_header_asks_the_libraries_for_shared_types(call: str, rocm: str, is_needed: bool) -> None:
    made = hip(f"void f() {{ {call} }}\n", rules=bundled_rules("base"), target=Target(rocm=rocm))
    assert ('#include "stackbuild_hip_libraries.h"' in made.text) is is_needed
    assert [f for f in made.findings if f.rule == "HIPIFY-BY-HAND"] == []


@pytest.mark.parametrize("name", ["cublasSetMathMode(h, CUBLAS_TENSOR_OP_MATH);", "cublasComputeType_t t;", "f(CUBLAS_COMPUTE_32I);"])
def test_what_the_support_header_gives_hipblas_5_is_no_error(name: str) -> None:
    made = hip(f"void g() {{ {name} }}\n", target=Target(rocm="5.7"))
    assert '#include "stackbuild_hipblas_v2.h"' in made.text
    assert [f for f in made.findings if f.severity is Severity.ERROR] == []


@pytest.mark.parametrize("alias", ["typedef cuFloatComplex num;", "using num = cuFloatComplex;", "#define num cuFloatComplex"])
@pytest.mark.parametrize(("operator", "is_own"), [("operator/", True), ("operator *=", True), ("operator-", False)])
def test_operators_for_another_name_of_a_complex_number(alias: str, operator: str, is_own: bool) -> None:
    made = hip(f"{alias}\n__device__ num {operator}(num a, num b);\ncuComplex x;\n").text
    assert ("stackbuild_hip::float_complex x;" in made) is is_own
    assert hip(made).text == made


def test_a_return_type_in_a_typedef_of_a_class_is_no_member() -> None:
    text = "struct S {\n  typedef cudaError_t (*f)(cudaStream_t, int);\n  cudaError_t (*g)(int);\n};\n"
    assert body(text) == text.replace("cuda", "hip") and "HIPIFY-OWN-NAME" not in rules_of(text)


@pytest.mark.parametrize(("rocm", "told"), [("5.7", 1), ("6.0", 0), ("", 0)])
def test_bfloat16_before_rocm_6_is_told_once_where_no_rule_gives_it_another_type(rocm: str, told: int) -> None:
    text = "__nv_bfloat16 f(__nv_bfloat16 a) { return a + a; }\n__nv_bfloat162 b;\n"
    found = hip(text, rules=bundled_rules("base"), target=Target(rocm=rocm)).findings
    assert len([f for f in found if f.rule == "LINT-BF16-STRUCT"]) == told
    assert [f for f in hip(text, target=Target(rocm=rocm)).findings if f.rule == "LINT-BF16-STRUCT"] == []


def test_bfloat16_before_rocm_6_is_the_support_header_s() -> None:
    text = "#include <cuda_bf16.h>\n__nv_bfloat16 f(nv_bfloat162 a);\n"
    made = hip(text, target=Target(rocm="5.7"))
    assert made.text == '#include "stackbuild_hip_bf16.h"\nstackbuild_hip_bfloat16 f(stackbuild_hip_bfloat162 a);\n'
    assert made.needs == ("stackbuild_hip_bf16.h",)
    assert "__hip_bfloat16 f(__hip_bfloat162 a)" in hip(text, target=Target(rocm="6.0")).text


@pytest.mark.parametrize(
    ("guilty", "innocent"),
    [
        ("inline __device__ float4 operator*(float4 a, float4 b) { return a; }", "V operator*(V a, V b) { return a; }"),
        (
            "float2 operator / (const float2 &a, const float2 &b) { return inverse(b) * a; }",
            "bool operator<(float4 a, float4 b) { return a.x < b.x; }",
        ),
        (
            "void operator+=(float3 &a, float3 b) { a.x += b.x; a.y -= b.y; a.z += b.z; }",
            "uint4 operator^(uint4 a, uint4 b) { return f(a, b); } void operator+=(float3 &a, float b) {} float4 mul(float4 a);",
        ),
    ],
)  # fmt: skip
def test_own_operators_of_vector_types_are_told(guilty: str, innocent: str) -> None:
    assert "LINT-VECTOR-OPERATOR" in rules_of(guilty)
    assert "LINT-VECTOR-OPERATOR" not in rules_of(innocent)
