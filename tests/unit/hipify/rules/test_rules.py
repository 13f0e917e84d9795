from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from stackbuild.core.errors import RecipeError, UsageError
from stackbuild.hipify.convert import convert
from stackbuild.hipify.engines import Engine
from stackbuild.hipify.model import ConvertedText, FileReport, Target
from stackbuild.hipify.rules import rule_files
from stackbuild.hipify.rules.rules import RuleSet, glob, in_range, join, read
from stackbuild.hipify.tables import bundled_tables
from stackbuild.hipify.tables.hipify_tools import Tools
from stackbuild.hipify.tables.tables import Flavour, Subst
from stackbuild.hipify.tree import unmatched_rules
from support.hipify import hip, small_tables


def rules(*lines: str) -> RuleSet:
    body = "\n".join(f"  - {line}" for line in lines)
    return read(f"schema: 1\nname: mine\nrules:\n{body}\n", "mine.yaml")


def converted(text: str, *lines: str, name: str = "a.cpp") -> str:
    return hip(text, name, join([rules(*lines), rule_files.load([])])).text


@pytest.mark.parametrize(
    ("rule", "cuda", "expected"),
    [
        ("{id: r, why: w, identifier: CudaStream, to: RocmStream}", "CudaStream s; MyCudaStream t; n::CudaStream u;", "RocmStream s; MyCudaStream t; n::CudaStream u;"),
        ("{id: r, why: w, identifier: cudaFree, to: gpu_free}", "cudaFree(p);", "gpu_free(p);"),
        (r"{id: r, why: w, pattern: 'Cuda(\w+)', to: 'Rocm\1'}", "CudaKernel k; xCudaKernel; n::CudaT t;", "RocmKernel k; xCudaKernel; n::RocmT t;"),
        ("{id: r, why: w, literal: 'providers/cuda/', to: 'providers/rocm/'}", '#include "core/providers/cuda/x.h"\n// providers/cuda/\n', '#include "core/providers/rocm/x.h"\n// providers/cuda/\n'),
        ("{id: r, why: w, namespace: cuda, to: rocm}", "namespace x = cuda; cuda::f(); y::cuda::g(); using namespace cuda; int cuda;", "namespace x = rocm; rocm::f(); y::cuda::g(); using namespace rocm; int cuda;"),
        ("{id: r, why: w, header: mine.h, to: hip/mine.h}", '#include "mine.h"\n#include <a/mine.h>\n', '#include "hip/mine.h"\n#include <a/mine.h>\n'),
        ("{id: r, why: w, header: gone.h, to: ''}", "#include <gone.h>\nint x;\n", "int x;\n"),
        ("{id: r, why: w, call: cudaMemcpy, to: copy, insert: {0: ctx, 9: last}}", "cudaMemcpy(a, f(b, c));", "copy(ctx, a, f(b, c), last);"),
        ("{id: r, why: w, call: cudaFree, insert: {0: ctx}}", "cudaFree();", "hipFree(ctx);"),
        ("{id: r, why: w, call: cudaMemcpy, drop: [1]}", "cudaMemcpy(a, x<1, 2>(), c);", "hipMemcpy(a, c);"),
        ("{id: r, why: w, call: cudaMemcpy, drop: [0]}", "cudaMemcpy(a, b);", "hipMemcpy(b);"),
        ("{id: r, why: w, call: cudaMemcpy, count: 2, to: two}", "cudaMemcpy(a, b); cudaMemcpy(a, b, c);", "two(a, b); hipMemcpy(a, b, c);"),
        ("{id: r, why: w, call: cudaMemcpy, wrap: {1: '&({})'}}", "cudaMemcpy(cudaFree(x), cudaSuccess);", "hipMemcpy(hipFree(x), &(hipSuccess));"),
    ],
)  # fmt: skip
def test_each_kind(rule: str, cuda: str, expected: str) -> None:
    assert converted(cuda, rule) == expected


def test_rules_are_scoped_by_path_and_rocm_version() -> None:
    scoped = "{id: r, why: w, identifier: A, to: B, files: ['src/**/*.cu'], except: ['**/old/*'], rocm: '>=6.0,<7'}"
    some = join([rules(scoped), rule_files.load([])])
    assert hip("A", "src/x/a.cu", some, Target(rocm="6.4")).text == "B"
    for name, rocm in (("src/a.h", "6.4"), ("src/old/a.cu", "6.4"), ("src/a.cu", "7.0"), ("src/a.cu", "5.7")):
        assert hip("A", name, some, Target(rocm=rocm)).text == "A"


@pytest.mark.parametrize(
    ("pattern", "path", "matches"),
    [
        ("**/*.cu", "a.cu", True), ("**/*.cu", "x/y/a.cu", True), ("*.cu", "x/a.cu", False), ("a/**", "a/b/c", True),
        ("*.{cu,cuh}", "k.cuh", True), ("?.cu", "ab.cu", False), ("a+b/*.cu", "a+b/k.cu", True),
    ],
)  # fmt: skip
def test_globs(pattern: str, path: str, matches: bool) -> None:
    assert bool(glob(pattern).fullmatch(path)) is matches


@pytest.mark.parametrize(
    ("rocm", "bounds", "inside"),
    [
        ("6.4", ">=6.0", True),
        ("6.4.0", "==6.4", True),
        ("10.1", ">=6.0,<7", False),
        ("", "<7", False),
        ("", ">=6", True),
    ],
)
def test_version_ranges(rocm: str, bounds: str, inside: bool) -> None:
    assert in_range(rocm, bounds) is inside


def test_a_literal_inside_a_longer_identifier_is_an_error_and_changes_nothing() -> None:
    some = join([rules("{id: r, why: w, literal: cuda, to: rocm}"), rule_files.load([])])
    made = hip("int cuda_x = 1; int cuda;", "a.cpp", some)
    assert made.text == "int cuda_x = 1; int rocm;"
    (finding,) = [f for f in made.findings if f.rule == "HIPIFY-RULE-INSIDE-NAME"]
    assert finding.severity == "error" and "mine.yaml:4:5" in finding.fix


def test_a_rule_for_what_a_source_defines_names_a_known_condition() -> None:
    with pytest.raises(RecipeError, match="unknown condition 'operators'"):
        rules("{id: r, why: w, identifier: a, to: b, where: operators}")


def test_a_rule_that_matches_nothing_is_an_error_unless_optional_or_for_another_version() -> None:
    some = rules(
        "{id: used, why: w, identifier: A, to: B}",
        "{id: unused, why: because, identifier: C, to: D}",
        "{id: maybe, why: w, identifier: E, to: F, optional: true}",
        "{id: later, why: w, identifier: G, to: H, rocm: '>=7'}",
    )
    found = unmatched_rules.unmatched_findings(
        some, Target(rocm="6.4"), [FileReport("a", "b", "converted", rules={"used": 3})]
    )
    assert [f.subject for f in found] == ["unused"]
    assert "because" in found[0].why and "mine.yaml:5:5" in found[0].fix


def test_a_rule_for_another_flavour_is_not_called_unused() -> None:
    some = rules("{id: r, why: w, call: f, to: g, flavour: miopen}")
    assert not unmatched_rules.unmatched_findings(some, Target(), [])
    assert [f.subject for f in unmatched_rules.unmatched_findings(some, Target(flavour="miopen"), [])] == ["r"]


@pytest.mark.parametrize(("name", "found"), [("fast", ["r"]), ("perl", ["mine"])])
def test_rules_that_an_engine_does_not_apply_are_not_called_unused(name: str, found: list[str]) -> None:
    some = join([rules("{id: r, why: w, identifier: A, to: B}"), rule_files.load(["generic"])])
    engine = Engine(name, small_tables(), some, Target(), Tools(None, None))
    told = unmatched_rules.faults(engine, [], frozenset())
    assert [f.subject for f in told] == found
    assert unmatched_rules.faults(replace(engine, rules=rule_files.load(["generic"])), [], frozenset()) == ()


@pytest.mark.parametrize("bounds", [">=6.0,<7", "==6.4", ">6.4,<6.5", "<6", ">7.2", "<=5.7"])
def test_ranges_with_versions_in_them_are_let_pass(bounds: str) -> None:
    assert rules(f"{{id: r, why: w, identifier: A, to: B, rocm: '{bounds}'}}").rules


@pytest.mark.parametrize("pattern", [r"Cuda(\w*)", r"(?:a++)+b", r"(\d+)_(\d+)", r"a\(b*\)+", "(?:ab|c)*d"])
def test_patterns_that_end_in_time_are_let_pass(pattern: str) -> None:
    assert rules(f"{{id: r, why: w, pattern: '{pattern}', to: B}}").rules


def test_a_rule_set_that_is_no_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo.yaml")
    (tmp_path / "zero.yaml").symlink_to("/dev/zero")
    (tmp_path / "folder.yaml").mkdir()
    (tmp_path / "large.yaml").write_bytes(b"#" * (5 << 20))
    (tmp_path / "latin.yaml").write_bytes(b"name: \xe9")
    for name in ("fifo", "zero", "folder", "large", "latin", "gone"):
        with pytest.raises(UsageError, match="the rule set cannot be read"):
            rule_files.load([str(tmp_path / f"{name}.yaml")])


@pytest.mark.parametrize(
    ("text", "mistake"),
    [
        ("a: 1", "m.yaml:1:1: unknown key 'a'"),
        ("schema: 2\nname: n\nrules: [{}]", "m.yaml:1:9: schema is 2"),
        ("schema: 1\nname: n\nrules: []", "m.yaml:3:8: the set has no rules"),
        ("schema: 1\nname: n\nrules: [3]", "m.yaml:3:9: a rule is a mapping"),
        ("schema: 1\nname: n\nrules: [{id: i, why: w}]", "m.yaml:3:9: a rule has one kind, this has 0"),
        ("schema: 1\nname: n\nrules: [{id: i, why: w, identifier: a, header: b}]", "m.yaml:3:9: a rule has one kind, this has 2"),
        ("schema: 1\nname: n\nrules: [{id: i, identifier: a, to: b}]", "m.yaml:3:9: why is not a text"),
        ("schema: 1\nname: n\nrules: [{id: i, why: w, identifier: a}]", "m.yaml:3:9: a identifier rule says what it becomes"),
        ("schema: 1\nname: n\nrules: [{id: i, why: w, identifier: a-b, to: c}]", "m.yaml:3:37: 'a-b' is not an identifier"),
        ("schema: 1\nname: n\nrules: [{id: i, why: w, pattern: '(', to: c}]", "m.yaml:3:34: '('"),
        ("schema: 1\nname: n\nrules: [{id: i, why: w, pattern: 'a', to: '\\2'}]", "m.yaml:3:34: 'a'"),
        ("schema: 1\nname: n\nrules: [{id: i, why: w, identifier: a, to: b, rocm: six}]", "m.yaml:3:53: 'six' is not a version range"),
        ("schema: 1\nname: n\nrules: [{id: i, why: w, identifier: a, to: b, fils: c}]", "m.yaml:3:47: unknown key 'fils'"),
        ("schema: 1\nname: n\nrules: [{id: i, why: w, fix: magic}]", "m.yaml:3:30: unknown fix 'magic'"),
        ("schema: 1\nname: n\nrules: [{id: i, why: w, call: f, wrap: {0: 'x'}}]", "m.yaml:3:40: 'x' has not one {}"),
        ("schema: 1\nname: n\nrules: [{id: i, why: w, call: f}]", "m.yaml:3:9: a call rule changes something"),
        ("schema: 1\nname: n\nrules: [{id: i, why: w, literal: '', to: x}]", "m.yaml:3:34: it names nothing"),
        ("schema: 1\nname: n\nrules: [{id: i, why: w, identifier: [], to: x}]", "m.yaml:3:37: it names nothing"),
        ("schema: 1\nname: n\nrules: [{id: i, why: w, identifier: a, to: [x, y]}]", "m.yaml:3:44: `to` is 2 texts"),
        ("schema: 1\nname: n\nrules: [{id: i, why: w, identifier: a, to: b, drop: 1}]", "m.yaml:3:47: a identifier rule has no `drop`"),
        ("schema: 1\nname: n\nrules: [{id: i, why: w, path: a, to: b, files: c}]", "m.yaml:3:41: a path rule has no `files`"),
        ("schema: 1\nname: n\nrules: [{id: i, why: w, pattern: '(a+)+$', to: b}]", "m.yaml:3:34: '(a+)+$' repeats a group"),
        ("schema: 1\nname: n\nrules: [{id: i, why: w, pattern: '(a|aa)+$', to: b}]", "m.yaml:3:34: '(a|aa)+$' repeats a group"),
        ("schema: 1\nname: n\nrules: [{id: i, why: w, pattern: '((a+))+$', to: b}]", "m.yaml:3:34: '((a+))+$' repeats a group"),
        ("schema: 1\nname: n\nrules: [{id: i, why: w, pattern: 'a{99999999999999}', to: b}]", "m.yaml:3:34: 'a{99999999999999}': the repetition number is too large"),
        (f"schema: 1\nname: n\nrules: [{{id: i, why: w, pattern: '{'(' * 900}', to: b}}]", "m.yaml:3:34: '((((("),
        (f"schema: 1\nname: n\nrules: [{{id: i, why: w, pattern: '{'a' * 2000}', to: b}}]", "m.yaml:3:34: a pattern of 2000 characters"),
        (f"schema: 1\nname: n\nrules: [{{id: i, why: w, identifier: x, to: y, rocm: '>={'9' * 5000}'}}]", "m.yaml:3:53: '>=99999"),
        ("schema: 1\nname: n\nrules: [{id: i, why: w, call: x, insert: {'²': a}}]", "m.yaml:3:42: insert is not a mapping of argument numbers"),
        ("schema: 1\nname: n\nrules: [{id: i, why: w, path: 'x(?:a|b*c){2,}', to: b}]", "m.yaml:3:31: 'x(?:a|b*c){2,}' repeats a group"),
        ("schema: 1\nname: n\nrules: [{id: i, why: w, identifier: a, to: b, rocm: '>=7,<6'}]", "m.yaml:3:53: no version is in '>=7,<6'"),
        ("schema: 1\nname: n\nrules: [{id: i, why: w, shim: ../x.h, when: a}]", "m.yaml:3:9: '../x.h' is not the name of a support header"),
        ("schema: 1\nname: n\nrules: [{id: i, why: w, header: a.h, to: 'support:/x.h'}]", "m.yaml:3:9: '/x.h' is not the name of a support header"),
        ("schema: 1\nname: n\nrules: [{id: i, why: w, shim: f.h}]", "m.yaml:3:9: a shim rule says for which names it is needed"),
    ],
)  # fmt: skip
def test_mistakes_in_rules_are_told_at_their_place(text: str, mistake: str) -> None:
    with pytest.raises(RecipeError) as caught:
        read(text, "m.yaml")
    assert any(f"{m.place}: {m.what}".startswith(mistake) for m in caught.value.mistakes), caught.value


def test_two_rules_of_one_id_are_refused() -> None:
    one = rules("{id: r, why: w, identifier: A, to: B}")
    with pytest.raises(RecipeError, match=r"rule id 'r' is also at mine\.yaml:4:5"):
        join([one, one])


def test_bundled_sets_are_read_and_base_is_always_last() -> None:
    assert {"base", "generic", "lc0", "onnxruntime"} <= set(rule_files.names())
    for name in rule_files.names():
        loaded = rule_files.load([name])
        assert loaded.sets[-2:] == ("base", "libraries") and all(rule.why for rule in loaded.rules)
    assert rule_files.load(["generic"]).shims.keys() >= {"stackbuild_hip_compat.h"}


def test_an_unknown_set_names_the_bundled_ones() -> None:
    with pytest.raises(UsageError, match="no rule set is called 'generik'") as caught:
        rule_files.load(["generik"])
    assert "generic" in caught.value.next


def test_a_support_header_is_a_file_of_the_set(tmp_path: Path) -> None:
    (tmp_path / "support").mkdir()
    path = tmp_path / "m.yaml"
    path.write_text("schema: 1\nname: n\nrules: [{id: i, why: w, shim: s.h, when: a}]")
    header = tmp_path / "support" / "s.h"
    (tmp_path / "elsewhere").write_text("secret")
    makers: list[Callable[[], object]] = [
        lambda: os.mkfifo(header), lambda: header.symlink_to(tmp_path / "elsewhere"), lambda: header.symlink_to("/dev/zero"),
        lambda: header.write_bytes(b"\xff"), lambda: header.write_bytes(bytes((4 << 20) + 1)),
    ]  # fmt: skip
    for make in makers:
        make()
        with pytest.raises(RecipeError, match=r"support header 's\.h'"):
            rule_files.load([str(path)])
        header.unlink()


def test_a_missing_support_header_is_a_mistake(tmp_path: Path) -> None:
    path = tmp_path / "s.yaml"
    path.write_text("schema: 1\nname: s\nrules: [{id: i, why: w, shim: gone.h, when: [x]}]\n")
    with pytest.raises(RecipeError, match=r"no support header 'gone\.h'"):
        rule_files.load([str(path)])


def by_miopen(text: str, *rules: str) -> ConvertedText:
    """Converted for MIOpen, with call rules of one function each written as `count arguments`."""
    made = "".join(f"  - {{id: r{i}, call: f{i}, why: w, {rule}}}\n" for i, rule in enumerate(rules))
    return hip(text, "a.cpp", read(f"schema: 1\nname: t\nrules:\n{made}", "t.yaml"), Target(flavour="miopen"))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("f0(a, b, c);", "f0(c, a, x, c);"),
        ('f0(g(1, 2), k<3, 4>{}, "a,b)");', 'f0("a,b)", g(1, 2), x, "a,b)");'),
        ("f0(cudaMalloc(p, n), b, f0(1, 2, 3));", "f0(f0(3, 1, x, 3), hipMalloc(p, n), x, f0(3, 1, x, 3));"),
        ("f0(a /* first */, b, // second\n   c);", "f0(// second\n   c, a /* first */, x, // second\n   c);"),
        ("f0(a, b, c // third\n);", "f0(c // third\n, a, x, c // third\n);"),
        ("f0(a,\r\n   b,\r\n   c);\r\ncudaFree(p);", "f0(c, a, x, c);\r\nhipFree(p);"),
        ("void f0(int, int, int); // f0(a, b, c)", "void f0(int, int, int); // f0(a, b, c)"),
    ],
)
def test_arguments_move_with_what_is_in_them(before: str, after: str) -> None:
    assert by_miopen(before, 'count: 3, arguments: "{2}, {0}, x, {2}"').text == after


def test_a_call_with_other_arguments_is_told() -> None:
    made = by_miopen("\nf0(a, b);", 'count: 3, arguments: "{2}, {0}"')
    assert [(f.rule, f.place and f.place.line) for f in made.findings] == [("HIPIFY-ARGUMENTS", 2)]
    assert made.text == "\nf0(a, b);"


def test_lines_below_a_shorter_argument_list_keep_their_numbers() -> None:
    made = by_miopen("f0(a,\n b,\n c);\nint x;\n", 'count: 3, arguments: "{0}"')
    assert made.text == "f0(a);\nint x;\n"
    assert made.lines.original(2) == 4


def test_calls_that_no_rule_can_change_are_told_for_their_flavour() -> None:
    text = "cudnnGetLRNDescriptor(d, &n, &a, &b, &k); cusparseSpMV(h, o);"

    def told(flavour: Flavour) -> list[str]:
        made = hip(text, "a.cpp", rule_files.load([]), Target(flavour=flavour))
        return [f.found.split()[0] for f in made.findings if f.rule == "HIPIFY-BY-HAND"]

    assert told("miopen") == ["cudnnGetLRNDescriptor"]
    assert told("roc") == ["cudnnGetLRNDescriptor", "cusparseSpMV"]  # cuDNN becomes MIOpen with both
    assert told("hip") == []


def test_flavours_choose_rules() -> None:
    rules = read("schema: 1\nname: t\nrules:\n  - {id: a, call: f, why: w, to: g, flavour: miopen}\n", "t.yaml")
    assert hip("f();", rules=rules).text == "f();"
    assert hip("f();", rules=rules, target=Target(flavour="miopen")).text == "g();"


@pytest.mark.parametrize(
    ("rule", "mistake"),
    [
        ('arguments: "{0}"', "a whole list of arguments"),
        ('count: 1, arguments: "{1}"', "{1} is none of 1 arguments"),
        ('count: 1, arguments: "{0}", drop: 0', "a whole list of arguments"),
        ("to: g, flavour: nvidia", "unknown flavour 'nvidia'"),
    ],
)
def test_mistakes_in_argument_lists(rule: str, mistake: str) -> None:
    with pytest.raises(RecipeError, match=re.escape(mistake)):
        by_miopen("", rule)


def test_with_miopen_what_becomes_hipdnn_s_is_told_as_lacking() -> None:
    tables = replace(
        small_tables(),
        simple=(*small_tables().simple, Subst("cudnnAddTensor", "hipdnnAddTensor", "library")),
        unsupported={**small_tables().unsupported, "cudnnAddTensor": ("miopen",)},
    )
    for flavour, expected in (
        ("hip", []),
        ("miopen", [("HIPIFY-UNSUPPORTED", "cudnnAddTensor has no counterpart in MIOpen")]),
    ):
        made = convert("cudnnAddTensor(a);\n", tables, rule_files.load([]), Target(flavour=flavour), "a.cpp")  # type: ignore[arg-type]
        assert [(f.rule, f.found) for f in made.findings] == expected


def test_onnxruntime_names_that_the_hand_written_files_use() -> None:
    some = rule_files.load(["onnxruntime"])
    cuda = '#include "core/providers/cuda/cudnn_common.h"\nusing onnxruntime::cuda::ToCudaType;\nx = CUDNN_BN_MIN_EPSILON;\n'
    assert hip(cuda, "a.cc", some, Target(flavour="miopen")).text == (
        '#include "core/providers/rocm/miopen_common.h"\nusing onnxruntime::rocm::ToHipType;\nx = MIOPEN_BN_MIN_EPSILON;\n'
    )


def test_a_rule_renames_a_name_of_a_namespace_where_it_is_declared_and_where_it_is_qualified() -> None:
    rules = read(
        "schema: 1\nname: r\nrules:\n  - {id: r-api, identifier: foo_api, to: bar_api, why: theirs is ours}\n", "r.yaml"
    )
    text = "namespace n { void foo_api(int); }\nvoid f() { n::foo_api(1); m::foo_api(2); x.foo_api(3); foo_api(4); }\n"
    made = hip(text, rules=rules).text
    assert "namespace n { void bar_api(int); }" in made
    assert "n::bar_api(1); m::foo_api(2); x.foo_api(3); bar_api(4);" in made


def test_a_support_header_is_read_once_also_where_two_trees_have_it() -> None:
    for name, text in rule_files.load(["generic", "libraries"]).shims.items():
        guard = f"{name.removesuffix('.h').upper()}_H"
        first, second = [line for line in text.split("\n") if line.startswith("#")][:2]
        assert first.startswith(f"#ifndef {guard}") and second == f"#define {guard}"
        assert text.rstrip().endswith(f"#endif  // {guard}")


@pytest.mark.parametrize(
    ("cuda", "converted_call", "rocm"),
    [
        ("cudaLaunchCooperativeKernel(k, 1, 1, a);", "hipLaunchCooperativeKernel(reinterpret_cast<const void*>(k), 1, 1, a, 0, 0);", "6.4"),
        ("cudaLaunchCooperativeKernel(k, 1, 1, a, 4);", "hipLaunchCooperativeKernel(reinterpret_cast<const void*>(k), 1, 1, a, 4, 0);", "6.4"),
        ("cudaMalloc3DArray(&a, &d, e);", "hipMalloc3DArray(&a, &d, e, hipArrayDefault);", "6.4"),
        ("cudaStreamGetCaptureInfo(s, &t);", "hipStreamGetCaptureInfo(s, &t, nullptr);", "6.4"),
        ("cuMemcpyHtoD(d, h, n);", "hipMemcpyHtoD(d, (void*)(h), n);", "6.4"),
        ("cuMemcpyHtoD(d, h, n);", "hipMemcpyHtoD(d, h, n);", "7.0"),
        ("cudaMallocPitch(&p, &n, 4, 4);", "hipMallocPitch((void**)(&p), &n, 4, 4);", "5.7"),
        ("cudaStreamWaitEvent(s, e);", "hipStreamWaitEvent(s, e, 0);", "5.7"),
        ("cudaStreamWaitEvent(s, e);", "hipStreamWaitEvent(s, e);", "6.4"),
        ("f((const struct cudaExternalMemoryHandleDesc*)p);", "f((const hipExternalMemoryHandleDesc*)p);", "6.4"),
    ],
)  # fmt: skip
def test_arguments_that_hip_takes_otherwise(cuda: str, converted_call: str, rocm: str) -> None:
    made = convert(
        f"void f() {{ {cuda} }}\n", bundled_tables.load(), rule_files.load(["generic"]), Target(rocm=rocm), "a.cpp"
    )
    assert made.text.endswith(f"void f() {{ {converted_call} }}\n")
    assert [f for f in made.findings if f.severity.value == "error"] == []
