"""Lint of what strings hold for run time: names of CUDA's libraries and functions, NVIDIA's architectures, device code."""

from __future__ import annotations

import re
from collections.abc import Iterator

from stackbuild.hipify.cpp.source_text import View
from stackbuild.hipify.lint.catalogue import LintMatch

_LIBRARY = re.compile(
    r'"(?:[^"\n]*/)?(?:lib(?:cuda|cudart|cublas(?:Lt)?|cudnn\w*|nvrtc|cufft|curand|cusparse|cusolver|cupti|nvToolsExt|nvidia-ml|nccl)|nvcuda|cudart64\w*)(?:\.so[\w.]*|\.dll|\.dylib)"'
)
_ENTRY = re.compile(r'(?:dlsym|GetProcAddress)\s*\(([^;"]{0,120}?)"((?:cuda|cu|nvrtc|nccl)\w+)"')
_ARCHITECTURE = re.compile(r'"[^"\n]*(?:arch(?:itecture)?|code)\b[^"\n]*(?:compute|sm)_[^"\n]*"')
_BINARY = re.compile(r'"(?:[^"\n]*\.(?:ptx|cubin)|[^"\n]+\.fatbin)"')
"""A file of NVIDIA's code. The suffix `.fatbin` alone is also what hipcc may be told to write."""
# Each with the parts of names without which a text does not use such strings.
_LOOKS = (
    (("dlopen", "dlmopen", "oadLibrary"), _LIBRARY, "load ROCm's library: libamdhip64.so, libhiprtc.so, libhipblas.so, …"),
    (("dlsym", "GetProcAddress"), _ENTRY, "ask for HIP's name of it"),
    (("nvrtc", "nvPTX", "nvJitLink"), _ARCHITECTURE, "give --offload-arch and the device's gcnArchName"),
    (("odule", "cuLibrary", "cudaLibrary", "cuLink"), _BINARY, "load a code object that hipcc --genco or hiprtc made"),
)  # fmt: skip


def run_time_names(view: View) -> Iterator[LintMatch]:
    """Strings that name what only CUDA has at run time."""
    text, word_lines = view.text, view.word_lines
    for parts, pattern, fix in _LOOKS:
        if any(part in word_lines for part in parts):
            for match in pattern.finditer(text):
                quote = text.index('"', match.start())
                if view.code[match.start()] == text[match.start()] and view.code[quote] == '"':
                    excerpt = " ".join(text[quote : match.end()].split())
                    yield quote, "LINT-RUNTIME-NAME", (excerpt[:80], fix)


_KERNEL = re.compile(r"__global__[^;{}]{0,200}?\bvoid\b")
"""A kernel: its result is void. Help texts name the word alone."""


def device_code(view: View) -> Iterator[LintMatch]:
    """Kernels in string literals, each literal once."""
    at, end = view.text.find("__global__"), -1
    while at >= 0:
        if at > end and view.in_literal(at) and _KERNEL.match(view.text, at):
            end = view.code.find('"', at)
            yield view.code.rfind('"', 0, at), "LINT-DEVICE-STRING", ()
        at = view.text.find("__global__", at + 1)
