"""What the target's headers lack is told: names, argument counts, device functions, headers of CUDA's toolkit."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from stackbuild.core.errors import UsageError
from stackbuild.hipify import Target, open_engine
from stackbuild.hipify.tables import bundled_tables, declarations
from stackbuild.hipify.tables.declarations import Declarations
from support.hipify import hip


def declared(folder: Path, header: str, wanted: set[str], library: str = "hip") -> Declarations:
    (folder / library).mkdir(parents=True, exist_ok=True)
    (folder / library / "x.h").write_text(header)
    return declarations.read([folder], None, frozenset(wanted), "the test's headers")


def test_names_counts_and_absences_are_read_from_headers(tmp_path: Path) -> None:
    header = """
    #define hipThree(a, b, c) hipTwo(a, b)
    hipError_t hipTwo(void* p, size_t n);  // not hipGone(1)
    template <typename T> hipError_t hipTwo(T* p, size_t n, int flags = 0, int more = f(1, 2));
    hipError_t hipNone(void);
    static inline hipError_t hipMany(const char*, ...) { return hipOther(1, 2, 3); }
    """
    made = declared(
        tmp_path, header, {"hipTwo", "hipThree", "hipNone", "hipMany", "hipGone", "hipOther", "miopenX", "log1p"}
    )
    assert made.counts == {
        "hipTwo": (2, 3, 4),
        "hipThree": (declarations.ANY,),
        "hipNone": (0,),
        "hipMany": (declarations.ANY, 2),
    }
    assert made.absent == {"hipGone"}  # MIOpen has no headers here, and log1p is no name of HIP's
    assert made.takes("hipTwo", 3) and not made.takes("hipTwo", 5) and made.takes("hipUnheardOf", 9)
    again = declarations.parse(declarations.dump(made), made.source)
    assert (again.names, again.absent, again.counts, again.device) == (
        made.names,
        made.absent,
        made.counts,
        made.device,
    )


def test_the_lists_of_two_versions_tell_what_both_say() -> None:
    old, new = declarations.of_version("5.7", (5, 7)), declarations.of_version("6.4", (6, 4))
    between, later, any_version = (declarations.of_version(v, n) for v, n in (("6.1", (6, 1)), ("9.0", (9,)), ("", ())))
    assert old and new and between and any_version and later is None
    assert "hipGetProcAddress" in old.absent and "hipGetProcAddress" in new.names
    assert "hipGetProcAddress" not in between.absent | any_version.absent
    assert new.absent & old.absent == between.absent
    assert between.takes("hipHostAlloc", 2) and not old.takes("hipHostAlloc", 2)


def told(text: str, made: Declarations, rule: str, name: str = "a.cu") -> list[tuple[int, str]]:
    found = hip(text, name, target=Target(declared=made)).findings
    return [(f.place.line if f.place else 0, f.severity.value) for f in found if f.rule == rule]


def test_a_name_whose_hip_form_is_not_declared_is_an_error(tmp_path: Path) -> None:
    made = declared(tmp_path, "hipError_t hipMalloc(void**, size_t);", {"hipMalloc", "hipMallocAsync"})
    text = "cudaMalloc(&p, 1);\ncudaMallocAsync(&p, 1, s);\nx.cudaMallocAsync(1);\n"
    assert told(text, made, "HIPIFY-NOT-IN-TARGET") == [(2, "error")]


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("cudaMalloc(&p, 1);\ncudaMalloc(&p, 1, 2);\n", [2]),
        ("cudaMalloc<float>(&p, f(1, 2));\ncudaMalloc(&p);\n", [2]),
        ("#define M(...) cudaMalloc(__VA_ARGS__)\ncudaError_t cudaMalloc(void**, size_t, int);\n", []),
        ("template <typename... A> void f(A... a) { cudaMalloc(a...); }\n", []),
        ("auto p = &cudaMalloc;\n", []),
    ],
)
def test_a_call_that_no_declaration_takes_is_an_error(tmp_path: Path, text: str, lines: list[int]) -> None:
    made = declared(tmp_path, "hipError_t hipMalloc(void** p, size_t n);", {"hipMalloc"})
    assert told(text, made, "HIPIFY-ARGUMENTS") == [(line, "error") for line in lines]


@pytest.mark.parametrize(("name", "severity"), [("__viaddmax_s32", "error"), ("__pyx_Generator_init", "note")])
def test_a_device_function_that_is_not_spelt_like_cuda_s_is_a_note(tmp_path: Path, name: str, severity: str) -> None:
    made = declared(tmp_path, "hipError_t hipMalloc(void**, size_t);", {"hipMalloc"})
    assert told(f"int f() {{ return {name}(1); }}\n", made, "HIPIFY-UNKNOWN-DEVICE") == [(1, severity)]


def test_a_type_of_functions_is_no_call(tmp_path: Path) -> None:
    made = declared(tmp_path, "hipError_t f(int); typedef int (*F)(hipError_t (x));", {"hipError_t"})
    counts = replace(made, counts={**made.counts, "hipError_t": (1,)})
    assert told("std::function<cudaError_t(int, int)> f;\n", counts, "HIPIFY-ARGUMENTS") == []


def test_a_call_whose_arguments_a_rule_moves_is_none(tmp_path: Path) -> None:
    header = "hipError_t hipMemcpyToSymbolAsync(const void*, const void*, size_t, size_t, int, int);"
    made = declared(tmp_path, header, {"hipMemcpyToSymbolAsync"})
    assert told("cudaMemcpyToSymbolAsync(s, p, 4);\n", made, "HIPIFY-ARGUMENTS") == []
    assert told("cudaMemcpyToSymbolAsync(s, p);\n", made, "HIPIFY-ARGUMENTS") == [(1, "error")]


@pytest.mark.parametrize(
    ("guilty", "innocent"),
    [
        ("x = __viaddmax_s32(a, b, c);\n", "x = __known(a);\n"),
        ("x = __viaddmax_s32(a, b, c);\n", "__device__ int __viaddmax_s32(int a, int b, int c) { return a; }\nx = __viaddmax_s32(a, b, c);\n"),
        ("x = __viaddmax_s32(a, b, c);\n", "#define __viaddmax_s32(a, b, c) a\nx = __viaddmax_s32(a, b, c);\n"),
        ("__device__ __cluster_dims__(2) void f();\n", "__attribute__((pure)) int f(); x = __builtin_popcount(1); y = __sync_add(1);\n"),
        ("x = __viaddmax_s32(a, b, c);\n", "x = o.__viaddmax_s32(a); y = n::__viaddmax_s32(a); z = __viaddmax_s32;\n"),
    ],
)  # fmt: skip
def test_a_device_function_that_no_header_has_is_an_error(tmp_path: Path, guilty: str, innocent: str) -> None:
    made = declared(tmp_path, "int __known(int);", set())
    assert told(guilty, made, "HIPIFY-UNKNOWN-DEVICE") == [(1, "error")]
    assert told(innocent, made, "HIPIFY-UNKNOWN-DEVICE") == []
    assert told(guilty, made, "HIPIFY-UNKNOWN-DEVICE", "a.cpp") == []


@pytest.mark.parametrize(
    ("header", "severity"),
    [
        ("cublasMg.h", "error"),
        ("cufftw.h", "error"),
        ("cudnn_ops_infer.h", "error"),
        ("cutensornet.h", "error"),
        ("cuda_occupancy.h", "error"),
        ("cublas_helper.h", "note"),
        ("cuda_buffer_util.hpp", "note"),
    ],
)
def test_headers_that_no_table_has_are_errors_where_cudas_toolkit_spells_them_so(header: str, severity: str) -> None:
    found = hip(f"#include <{header}>\n").findings
    assert [f.severity.value for f in found if f.rule == "HIPIFY-UNKNOWN-HEADER"] == [severity]
    assert not [f for f in hip(f'#include "my_{header}"\n').findings if f.rule == "HIPIFY-UNKNOWN-HEADER"]


def test_the_header_of_cublas_for_several_gpus_becomes_that_of_hipblas_with_a_warning() -> None:
    made = hip("#include <cublasXt.h>\n#include <cublas_v2.h>\ncublasXtHandle_t h;\n", name="a.cpp")
    assert "cublasXt.h" not in made.text and made.text.count("hipblas.h") == 1
    assert [(f.rule, f.severity.value) for f in made.findings] == [
        ("HIPIFY-UNKNOWN-HEADER", "warning"),
        ("HIPIFY-UNKNOWN", "warning"),
    ]


def test_without_hipify_the_bundled_tables_are_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("HIPIFY_PERL", "HIPIFY_CLANG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    made = open_engine(target=Target(rocm="6.4")).run("cudaMalloc(&p, 4);\n", "a.cu")
    assert "hipMalloc(&p, 4);" in made.text
    with_tables = open_engine(tables_file=_few(tmp_path))
    assert with_tables.tables.tool == "few" and "mine(&p, 4);" in with_tables.run("cudaMalloc(&p, 4);\n", "a.cu").text


def _few(folder: Path) -> Path:
    rows = (bundled_tables.FIRST, "tool\tfew", "simple\tcudaMalloc\tmine\tmemory", "unsupported\tcuNothing\thip", "rows\t3")
    (folder / "few.tsv").write_text("\n".join(rows) + "\n")
    return folder / "few.tsv"


def test_bundled_tables_survive_a_round_trip_and_say_where_they_are_from() -> None:
    made = bundled_tables.load()
    again = bundled_tables.parse(bundled_tables.dump(made), "x")
    assert {**vars(again), "digest": ""} == {**vars(made), "digest": ""}
    assert len(made.simple) > 5000 and "cudaMalloc" in {s.cuda for s in made.simple} and made.versions


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("", "neither a file of HIPIFY's tables nor a hipify-perl script"),
        ("\0\udcff noise", "neither a file of HIPIFY's tables nor a hipify-perl script"),
        ("CUT", "it has 3 rows, and its last row says no number"),
        ("#! stackbuild hipify tables 1\nsimple\tcudaMalloc", "line 2 is not a row"),
    ],
)
def test_tables_that_are_damaged_are_refused_by_their_name(tmp_path: Path, text: str, what: str) -> None:
    file = _few(tmp_path)
    damaged = "\n".join(file.read_text().split("\n")[:4]) + "\n" if text == "CUT" else text
    file.write_text(damaged, "utf-8", "surrogateescape")
    with pytest.raises(UsageError) as refusal:
        open_engine(tables_file=file)
    assert refusal.value.where == str(file) and what in refusal.value.what


def test_parameters_of_templates_and_their_defaults_are_counted(tmp_path: Path) -> None:
    header = """
    template <class T, int d> hipError_t hipBind(size_t* o, const struct texture<T, d, hipX>& t, const void* p, size_t n = M);
    hipError_t hipArray(hipArray_t* a, size_t w, size_t h __dparm(0), unsigned f __dparm(hipDefault));
    """
    made = declared(tmp_path, header, {"hipBind", "hipArray", "hip_stream", "HIPContext", "HIPRTC_X"})
    assert made.counts == {"hipBind": (3, 4), "hipArray": (2, 3, 4)} and made.absent == {"HIPRTC_X"}


@pytest.mark.parametrize(
    "text",
    [
        "dim3 cudaGridSize(w, h);\nf(cudaGridSize);\n",
        "dim3 const block(1, 1), cuGridSize(w, h);\nk<<<cuGridSize, block>>>();\n",
        "int a = f(1, 2), cuGridSize = 3;\ng(cuGridSize);\n",
        "Vertex *cudaDevPtr;\nf(cudaDevPtr);\n",
        "struct S {\n#if A\n  int cudaMine, cudaYours;\n#endif\n};\nf(cudaYours);\n",
        "Array a, cudaArrayTemp, *cudaArrayOrig;\nf(cudaArrayTemp, cudaArrayOrig);\n",
        "enum { A, cudaMine = 3 };\nf(cudaMine);\n",
        "#if CUDNN_VER_X > 3\n#endif\n",
    ],
)
def test_what_a_text_declares_is_not_unknown(text: str) -> None:
    assert [f.found for f in hip(text).findings if f.rule == "HIPIFY-UNKNOWN"] == []
    assert [f.rule for f in hip("f(cudaArrayTemp, cudaMine);\n").findings] == ["HIPIFY-UNKNOWN"] * 2


def test_cuda_13s_places_are_taken_by_a_support_header(tmp_path: Path) -> None:
    made = declared(
        tmp_path, "hipError_t hipMemPrefetchAsync(const void*, size_t, int, hipStream_t);", {"hipMemPrefetchAsync"}
    )
    target = Target(declared=made, rocm="6.4")
    rules = open_engine(target=target)
    by_place = rules.run("cudaMemLocation w;\ncudaMemPrefetchAsync(p, n, w, 0, s);\n", "a.cu")
    assert '#include "stackbuild_hip_compat.h"' in by_place.text
