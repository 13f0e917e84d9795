"""Inline PTX."""

from __future__ import annotations

import pytest

from stackbuild.model.findings import Severity
from support.hipify import hip
from support.lint_samples import rule_severities


def test_inline_ptx_comes_with_what_to_use_instead() -> None:
    made = hip('asm volatile("mov.u32 %0, %%laneid;" : "=r"(x));\n')
    (finding,) = [f for f in made.findings if f.rule == "LINT-PTX"]
    assert finding.fix == "use __lane_id()" and finding.severity is Severity.ERROR


@pytest.mark.parametrize(
    ("text", "fix"),
    [
        ('asm volatile("membar.gl;" ::: "memory");\n', "__threadfence_block"),
        ('asm inline volatile("membar.gl;");\n', "__threadfence_block"),
        ('asm __volatile__ ("membar.gl;");\n', "__threadfence_block"),
        ('__asm__ __volatile__("mov.u32 %0, %%laneid;" : "=r"(x));\n', "__lane_id"),
        ('asm volatile(R"(\n  mov.u32 %0, %laneid;\n)" : "=r"(x));\n', "__lane_id"),
        ('asm volatile(R"ptx({ .reg .pred p;\n @p bra L; })ptx");\n', "C++"),
        ('asm("{\\n\\t" ".reg .b32 t;\\n\\t" "cvta.to.shared.u64 %0, %1;}" : "=l"(a) : "l"(p));\n', "generic"),
        ('#define FENCE "membar.gl;"\nvoid f() { asm volatile(FENCE ::: "memory"); }\n', "__threadfence_block"),
        ('void f() { asm volatile(OTHER_TEXT : "=r"(x)); }\n', "see what the macro has"),
        ('#define LD(T) asm volatile("ld.global.nc." #T " %0, [%1];" : "=r"(x) : "l"(p))\n', "__ldg"),
        ('asm("@p atom.add.u32 %0, [%1], 1; cvt.rn.f16.f32 %2, %3;");\n', "atomicAdd"),
        ('asm("trap;");\n', "__builtin_trap"),
        ('asm volatile("wgmma.fence.sync.aligned;\\n" ::: "memory");\n', "matrix instructions"),
        ('asm volatile("bar.sync %0, %1;" :: "r"(1), "r"(64));\n', "named barriers"),
        ('asm volatile("" : "+r"(x));\n', None),
        ('asm volatile("pause" ::: "memory");\n', None),
        ('asm volatile("mfence" ::: "memory");\n', None),
        ('asm("s_sleep 1");\n', None),
        ('asm volatile("rdtsc" : "=a"(lo), "=d"(hi));\n', None),
        ('asm volatile("mov %%eax, %0" : "=r"(x));\n', None),
    ],
)  # fmt: skip
def test_inline_ptx_in_every_spelling(text: str, fix: str | None) -> None:
    fixes = [f.fix for f in hip(text).findings if f.rule == "LINT-PTX"]
    assert (fixes == []) if fix is None else (len(fixes) == 1 and fix in fixes[0])


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ('"pause" ::: "memory"', False),
        ('"cpuid" : "=a"(a) : "a"(0)', False),
        ('"mrs %0, cntvct_el0" : "=r"(t)', False),
        ('"lock; cmpxchg %1, %2" : "+m"(x)', False),
        ('"fmla v0.4s, v1.4s, v2.4s"', False),
        ('".symver memcpy,memcpy@GLIBC_2.2.5"', False),
        ('"add %0, %1, %2" : "=r"(x)', False),
        ('HOST_TEXT ::: "memory"', False),
        ('"mov.u32 %0, %%smid;" : "=r"(x)', True),
        ('"ld.global.cg.f32 %0, [%1];" : "=f"(v) : "l"(p)', True),
        ('"prmt.b32 %0, %1, %2, %3;" : "=r"(x)', True),
    ],
)  # fmt: skip
def test_assembly_in_host_files_is_ptx_only_where_it_is(template: str, expected: bool) -> None:
    rules = [f.rule for f in hip(f"inline void f() {{ asm volatile({template}); }}\n", "a.cpp").findings]
    assert (rules == ["LINT-PTX"]) is expected


@pytest.mark.parametrize(
    ("operands", "lines"),
    [
        (': "=r"(y)\n    : "f"(x)', [("LINT-PTX", 2, "error"), ("LINT-PTX-OPERAND", 4, "note")]),
        (': "=l"(y)\n    : "f"(x)', [("LINT-PTX", 2, "error"), ("LINT-PTX-OPERAND", 3, "note")]),
        (': "=r"(y)\n    : "r"(x)', [("LINT-PTX", 2, "error")]),
    ],
)
def test_the_operand_of_ptx_that_the_compiler_names(operands: str, lines: list[tuple[str, int, str]]) -> None:
    assert rule_severities(f'__device__ void f() {{\n  asm("add.f32 %0, %1;"\n    {operands});\n}}\n') == lines
