"""A small HIPIFY of our own making, in both layouts of hipify-perl, and conversion by it."""

from __future__ import annotations

import os
import shutil
import sys
from functools import cache
from pathlib import Path

from stackbuild.hipify.convert import convert
from stackbuild.hipify.model import ConvertedText, Target
from stackbuild.hipify.rules import rule_files
from stackbuild.hipify.rules.rules import RuleSet
from stackbuild.hipify.tables import perl_table
from stackbuild.hipify.tables.tables import Tables, Versions

RECIPE = """\
schema: 1
name: t
summary: a test
rocm: "6.4"
base: {debian: {suite: trixie, packages: [hipcc]}}
gfx: [gfx90a, gfx1100]
python: ["3.11", "3.12"]
sources: {code: {path: code}, tool: {debian: hipify-perl, suite: sid}}
components:
  one: {kind: cmake, source: code, uses_gfx: GPU_TARGETS, hipify: {MORE}}
  two: {kind: cmake, source: code}
"""
"""A recipe whose component `one` is converted; the test writes its `hipify:` in place of MORE."""
FETCHED = Path(sys.prefix) / "hipify-perl"
"""Where ci/hipify-perl puts Debian's."""
PERL = os.environ.get("HIPIFY_PERL") or shutil.which("hipify-perl") or (str(FETCHED) if FETCHED.exists() else None)
"""A real hipify-perl, where there is one."""
NO_PERL = "no hipify-perl on PATH, in HIPIFY_PERL or by ci/hipify-perl"
SUBSTS = [
    ("cudaMalloc", "hipMalloc", "memory"),
    ("cudaMallocAsync", "hipMallocAsync", "memory"),
    ("cudaFree", "hipFree", "memory"),
    ("cudaMemcpy", "hipMemcpy", "memory"),
    ("cudaMemcpyToSymbol", "hipMemcpyToSymbol", "memory"),
    ("cudaMemcpyFromSymbol", "hipMemcpyFromSymbol", "memory"),
    ("cudaFuncSetAttribute", "hipFuncSetAttribute", "execution"),
    ("cudaHostGetDevicePointer", "hipHostGetDevicePointer", "memory"),
    ("cudaGraphicsResource", "hipGraphicsResource", "type"),
    ("cudaStream_t", "hipStream_t", "type"),
    ("cudaError_t", "hipError_t", "type"),
    ("cudaSuccess", "hipSuccess", "numeric_literal"),
    ("cudaMemcpyKind", "hipMemcpyKind", "type"),
    ("cudaMemcpyHostToDevice", "hipMemcpyHostToDevice", "numeric_literal"),
    ("cudaMemcpyToSymbolAsync", "hipMemcpyToSymbolAsync", "memory"),
    ("cudaGraphAddNode", "hipGraphAddNode", "graph"),
    ("__CUDACC__", "__HIPCC__", "define"),
    ("curand", "hiprand", "device_library"),
    ("atomicAdd", "atomicAdd", "device_function"),
    ("cuda_fp16.h", r"hip\/hip_fp16.h", "include"),
    ("device_launch_parameters.h", "", "include"),
    ("cublas.h", "hipblas.h", "include_cuda_main_header"),
    ("cuda.h", r"hip\/hip_runtime.h", "include_cuda_main_header"),
    ("cuda_runtime.h", r"hip\/hip_runtime.h", "include_cuda_main_header"),
    ("curand.h", r"hiprand\/hiprand.h", "include_cuda_main_header"),
    ("cublas_v2.h", "hipblas.h", "include_cuda_main_header_v2"),
]
UNSUPPORTED = ["cudaNoSuchInHip", "cuNothing", "libraryPropertyType"]
DEVICE = ["umin", "__vsub4", "saturate"]
HOST = r"""sub transformHostFunctions {
    my $k = 0;
    foreach $func (
        "hipMemcpyToSymbol"
    )
    {
        $k += s/(?<!\/\/ CHECK: )($func)\s*\(([^,\)]+),/$func\(HIP_SYMBOL\($2\),/g;
    }
    foreach $func (
        "hipMemcpyFromSymbol"
    )
    {
        $k += s/(?<!\/\/ CHECK: )($func)\s*\(([^,\)]+),([\s]*)([^,\)]+)(,\s*|\))/$func\($2,$3HIP_SYMBOL\($4\)$5/g;
    }
    foreach $func (
        "hipFuncSetAttribute"
    )
    {
        $k += s/(?<!\/\/ CHECK: )($func)\s*\(([^,\)]+),/$func\(reinterpret_cast<const void*>\($2\),/g;
    }
    return $k;
}
"""


def script(new_layout: bool) -> str:
    """A hipify-perl script with these tables, as laid out up to 6.x or since 7.0."""
    substs = "\n".join(f'    subst("{a}", "{b}", "{g}");' for a, b, g in SUBSTS)
    quoted = {"hip": UNSUPPORTED, "device": DEVICE}
    listed = {k: ",\n".join(f'    "{n}"' for n in v) for k, v in quoted.items()}
    head = (
        '#!/usr/bin/perl\nmy %deprecated_funcs = (\n    "cudaThreadExit" => "10.0"\n);\n\nmy %removed_funcs = (\n);\n\n'
    )
    head += 'my %experimental_funcs = (\n    "cudaTrial" => "7.0.0"\n);\n\n@whitelist = (\n      "cudaDevices"\n);\n\n'
    body = "sub experimentalSubstitutions {\n" + '    subst("cudaTrial", "hipTrial", "memory");\n}\n\n'
    body += f"sub simpleSubstitutions {{\n{substs}\n}}\n\n{HOST}\n"
    if new_layout:
        lists = f"@UnsupportedDeviceFunctions = (\n{listed['device']}\n);\n\n@HipOnlyUnsupportedFunctions = (\n{listed['hip']}\n);\n"
        tail = "my $hasDeviceCode = $countKeywords + $ft{'device_function'} + $ft{'device_type'};\nHIP version 7.0.0\n"
        return head + body + lists + tail
    warn = (
        "sub warn{}Functions {{\n    foreach $func (\n{}\n    )\n    {{\n        my $mt = m/($func)/g;\n    }}\n}}\n\n"
    )
    lists = warn.format("Unsupported", listed["hip"]) + warn.format("UnsupportedDevice", listed["device"])
    return head + body + lists + "my $hasDeviceCode = $countKeywords + $ft{'device_function'};\nHIP version 6.0.0\n"


@cache
def small_tables() -> Tables:
    made = perl_table.parse(script(new_layout=True), "digest")
    versions = {"hipGraphAddNode": Versions("6.2.0"), "hipFree": Versions("1.5.0", "", "6.3.0")}
    return Tables(**{**vars(made), "versions": versions})


@cache
def bundled_rules(*names: str) -> RuleSet:
    return rule_files.load(names)


def hip(text: str, name: str = "a.cu", rules: RuleSet | None = None, target: Target | None = None) -> ConvertedText:
    """Convert a text by the small tables, and by the generic rules unless others are given."""
    chosen = bundled_rules("generic") if rules is None else rules
    return convert(text, small_tables(), chosen, target or Target(), name)
