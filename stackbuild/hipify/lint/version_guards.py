"""Lint of questions that HIP answers otherwise without a word: CUDA's version macros, and compute capabilities."""

from __future__ import annotations

import re
from collections.abc import Iterator

from stackbuild.hipify.cpp.scan import line_start
from stackbuild.hipify.cpp.source_text import View
from stackbuild.hipify.lint.catalogue import LintMatch
from stackbuild.hipify.lint.cpp.branches import beside_hip, guard, is_decisive
from stackbuild.hipify.passes import own_names
from stackbuild.hipify.passes.compiler_branches import passable_lines

_HIP = "test HIP_VERSION, or __HIP_PLATFORM_AMD__, as well"
_COMPILER = "test __HIPCC__ or __HIP_PLATFORM_AMD__ as well"
# Macros that CUDA's headers and compiler define, with what to do. Looked for in the headers of HIP 6.4: none has them.
MACROS = {
    **dict.fromkeys(("CUDART_VERSION", "CUDA_VERSION", "CUDA_API_PER_THREAD_DEFAULT_STREAM"), _HIP),
    **dict.fromkeys(("__CUDACC_VER_MAJOR__", "__CUDACC_VER_MINOR__", "__CUDACC_VER_BUILD__", "__CUDACC_VER__"), _HIP),
    **dict.fromkeys(("__NVCC__", "__CUDACC_EXTENDED_LAMBDA__", "__CUDACC_RELAXED_CONSTEXPR__", "__CUDACC_RDC__"), _COMPILER),
    **dict.fromkeys(("__CUDACC_DEBUG__", "__CUDACC_RTC__"), _COMPILER),
    "CUB_VERSION": "test HIPCUB_VERSION, which counts otherwise, as well",
}  # fmt: skip
# Macros that ROCm's libraries define with numbers of their own.
OTHERS = {
    "THRUST_VERSION": "rocThrust's number is that of the Thrust it was made of: see that the branch is meant for it",
    "NCCL_VERSION_CODE": "RCCL's number is that of the NCCL it follows: see that the branch is meant for it",
}
_NAMES = frozenset(MACROS) | frozenset(OTHERS)
_CAPABILITY = frozenset(
    (
        "cudaDevAttrComputeCapabilityMajor", "cudaDevAttrComputeCapabilityMinor", "cuDeviceComputeCapability",
        "CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR", "CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR",
    )
)  # fmt: skip
_PROPERTIES = ("cudaDeviceProp", "getCurrentDeviceProperties", "getDeviceProperties", "hipDeviceProp_t")
_MAJOR = re.compile(r"(?:\.|->)\s*(?:major|minor)\b(?!\s*\()(?:\s*(?:[<>](?![<>])=?|[!=]=|\*))?")
_DECISION = re.compile(r"(?:\.|->)\s*major\s*(?:[<>](?![<>])=?|==)\s*(\w+)")
_FIRST_DECIDED = 7
"""The first major number whose GPUs have what AMD's may lack: tensor cores, threads that go on apart."""
_WEIGHT = re.compile(r"\*\s*\(?\s*\w+(?:\(\s*\))?\Z")


def versions(view: View, is_passed: bool = False) -> Iterator[LintMatch]:
    """Tests of CUDA's version or compiler that do not test for HIP as well: each name at its first test.

    That is the first which surely spoils something, where there is one. `is_passed` says that questions for a least
    version are converted to some that HIP passes.
    """
    names = sorted(view.words & _NAMES)
    others = beside_hip(view) if names else frozenset[int]()
    if is_passed and names:
        others |= passable_lines(view)
    for name in names:
        places = view.places(name)
        if any(_is_defined(view.code, at) for at in places):
            continue
        end = 0
        rule = "LINT-CUDA-VERSION" if name in MACROS else "LINT-LIBRARY-VERSION"
        told_places: list[int] = []
        for at in places:
            place, end = guard(view, at, others) if at >= end else (None, end)
            if place is not None:
                told_places.append(place)
        if told_places:
            decisive_places = (place for place in told_places if is_decisive(view, place))
            yield next(decisive_places, told_places[0]), rule, (name, (MACROS | OTHERS)[name])


def _is_defined(code: str, at: int) -> bool:
    """Whether the name at an offset is given a value there."""
    return code[line_start(code, at) : at].split() in (["#define"], ["#", "define"])


def capabilities(view: View) -> Iterator[LintMatch]:
    """What is decided by a compute capability: the first such place of a text; where there is none, where it is read.

    Each attribute is read once: what becomes of the number is not followed.
    """
    for name in sorted(view.words & _CAPABILITY):
        for at in [at for at in view.own(name) if not own_names.is_declaration(view, name, at)][:1]:
            yield at, "LINT-CAPABILITY-READ", (name,)
    if "major" not in view.words or view.words.isdisjoint(_PROPERTIES):
        return
    decisions = (match for match in _DECISION.finditer(view.code) if _is_decided(match[1]))
    if match := next(decisions, None):
        yield match.start(), "LINT-CAPABILITY", (_excerpt(view.code, match),)
        return
    for match in _MAJOR.finditer(view.code):
        if not match.group()[-1].isalpha() or _WEIGHT.search(view.code, max(0, match.start() - 60), match.start()):
            yield match.start(), "LINT-CAPABILITY-READ", (_excerpt(view.code, match),)
            return


def _is_decided(number: str) -> bool:
    """Whether a comparison with a major number asks for what AMD's GPUs may lack. Numbers from 100 on mean no GPU."""
    return number.isdigit() and _FIRST_DECIDED <= int(number) < 100


def _excerpt(code: str, match: re.Match[str]) -> str:
    """A comparison on one line, with the word before it."""
    before = re.compile(r"[\w\])]*\Z").search(code, max(0, match.start() - 40), match.start())
    return (before.group() if before else "") + " ".join(match.group().split())
