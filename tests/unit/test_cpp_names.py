"""What the C++ of the kernels and the C of stackbuild call their types, functions and values."""

from __future__ import annotations

from pathlib import Path

import cpp_names
import pytest

from support.paths import ROOT


def test_every_file_keeps_the_rule() -> None:
    paths = cpp_names.files()
    assert len(paths) > 180
    assert {"stackbuild/emulator/native/executor.c", "stackbuild/emulator/native/wave.h"} <= {str(path.relative_to(ROOT)) for path in paths}
    assert sum(len(list(cpp_names.declared_names(path.read_bytes()))) for path in paths) > 10_000
    assert not list(cpp_names.violations(paths))


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("int f() { auto* found = g(); }", "found"),
        ("int f() { const float zero = g(), given = h(zero); }", "given"),
        ("int f() { auto [row, made] = g(); }", "made"),
        ("int f() { for (const auto& kept : rows) g(kept); }", "kept"),
        ("int f() { if (auto* wanted = g()) h(); }", "wanted"),
        ("int f() { auto g = [taken = 1] { return taken; }; }", "taken"),
        ("int f() { auto g = [](int told) { return told; }; }", "told"),
        ("int f() { try { g(); } catch (const Error& seen) {} }", "seen"),
        ("void f(const T* __restrict__ given, int n) {}", "given"),
        ("void f(int n = 1, int known = 2);", "known"),
        ("struct Row { PackedConv packed; };", "packed"),
        ("class Row { void* packed_ = nullptr; };", "packed_"),
        ("struct Row { void (*called)(int); };", "called"),
        ("struct Row { int opened() const; };", "opened"),
        ("struct Row { bool opened(int at) const; };", "opened"),
        ("struct Row { bool opened(); };", "opened"),
        ("bool found(OrtStatus* status) { return status == nullptr; }", "found"),
        ("Params Row::folded(const Params& p) const { return p; }", "folded"),
        ("template <class T, int N> __global__ void __launch_bounds__(N) merged(T* x) {}", "merged"),
        ("RK_HD inline float negated(float x) { return -x; }", "negated"),
        ("class Fused : public Node {};", "Fused"),
        ("template <class T> struct Narrowed {};", "Narrowed"),
        ("enum class Known { no, yes };", "Known"),
        ("using Found = int;", "Found"),
        ("typedef uint32_t Held;", "Held"),
        ("template <class T, int Kept> struct Row {};", "Kept"),
        ("template <class Loaded> struct Row {};", "Loaded"),
        ("constexpr int kHeld = 4;", "kHeld"),
        ("namespace hidden { int n; }", "hidden"),
        ("#define MADE 1", "MADE"),
        ("#define MERGED(x) x", "MERGED"),
        ("int f() { const int left = rows - first; }", "left"),
        ("int f() { int64_t best = -1, used = 0; }", "used"),
        ("class Row { size_t used_ = 0; };", "used_"),
        ("struct Row { uint64_t freed = 0; };", "freed"),
        ("int f(int tied);", "tied"),
        ("int f() { try { g(); } catch (const Error& thrown) {} }", "thrown"),
        ("class Owed : public Node {};", "Owed"),
        ("int owed_of(const Row& row) { return 1; }", "owed_of"),
        ("struct kernel { int translated; };", "translated"),
        ("static __thread struct { uint64_t pc; int kind; } said[256];", "said"),
        ("static void *work(void *given) { return given; }", "given"),
        ("EXPORT hipError_t hipModuleLoad(hipModule_t *made, const char *path) { return 0; }", "made"),
        ("int right;\nint f() { const int left = rows - first; }", "left"),
    ],
)
def test_a_seeded_name_of_each_kind_is_found(text: str, name: str, tmp_path: Path) -> None:
    path = tmp_path / "module.hpp"
    path.write_text(f"// A comment.\n{text}\n")
    (line,) = cpp_names.violations([path])
    place, _, rest = line.removeprefix(f"{path}:").partition(": ")
    assert int(place) == 1 + len(text.split("\n")) and rest.startswith(f"`{name}` says")


@pytest.mark.parametrize(
    "text",
    [
        "struct Row { bool packed = false; std::atomic<bool> closed{false}; };",
        "struct Row { bool closed() const { return true; } };",
        "int f(bool folded) { const auto padded = a != b; const auto merged = !padded && folded; }",
        "enum class Code { ok, unsupported }; enum Form { kCapped, kMasked };",
        "extern __shared__ char shared[];\nconstexpr size_t kShared = 4;",
        "int f() { const auto left = a(), right = b(); }",
        "class Place { int64_t top_, left_; };",
        "int f() { made(); x.found = given; }  // found",
        "struct Fused;\nint f(const struct Fused& node);",
        "float speed; int seed, bound, feed, need, shed, red; T packed_walk; const char* kFoundRows;",
    ],
)
def test_truths_states_sides_and_uses_are_left_alone(text: str, tmp_path: Path) -> None:
    path = tmp_path / "module.cpp"
    path.write_text(text)
    assert not list(cpp_names.violations([path]))
