"""Lint of what belongs to NVIDIA's devices: launch bounds, `__CUDA_ARCH__`, launches from kernels, built-in names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from stackbuild.hipify.cpp.scan import call_arguments, skip_space
from stackbuild.hipify.cpp.source_text import View
from stackbuild.hipify.lint.catalogue import LintMatch
from stackbuild.hipify.lint.cpp.branches import beside_hip, guard
from stackbuild.hipify.lint.overloads import type_of_value
from stackbuild.hipify.passes import launch

_TARGETS = ("NV_IF_TARGET", "NV_IF_ELSE_TARGET", "NV_DISPATCH_TARGET")
_LAUNCHERS = (
    "cudaLaunchDevice",
    "cudaLaunchDeviceV2",
    "cudaStreamFireAndForget",
    "cudaStreamTailLaunch",
    "cudaGetCurrentGraphExec",
)

# Names of the device that neither HIP nor HIPIFY's tables have, with what to use. Looked for in HIP 6.4's headers.
_NAMES = {
    "__nanosleep": "use __builtin_amdgcn_s_sleep, whose unit is 64 clocks",
    "__cvta_generic_to_shared": "use the pointer itself, or a cast to __attribute__((address_space(3)))",
    "__cvta_shared_to_generic": "use the pointer itself",
    "__cvta_generic_to_global": "use the pointer itself",
    "__isShared": "use __builtin_amdgcn_is_shared",
    "__isLocal": "use __builtin_amdgcn_is_private",
    "__isGlobal": "use !__builtin_amdgcn_is_shared && !__builtin_amdgcn_is_private",
    "__isConstant": "drop it: constant memory is global memory",
    "__isGridConstant": "drop it: kernel arguments are constant memory",
    "__grid_constant__": "define it as nothing for HIP",
    "__cluster_dims__": "there are no clusters: launch blocks and synchronise the grid",
    "__block_size__": "there are no clusters: launch blocks and synchronise the grid",
    "__inline_hint__": "define it as inline for HIP, or write inline",
    "__maxnreg__": "use __launch_bounds__ or amdgpu_num_vgpr",
    "__stwt": "use __builtin_nontemporal_store or a plain store",
    "__stwb": "use a plain store",
    "__ldlu": "use a plain load",
    "__ldcv": "use a volatile load",
    "__reduce_add_sync": "reduce with shuffles; ROCm 7 has it",
    "__reduce_min_sync": "reduce with shuffles; ROCm 7 has it",
    "__reduce_max_sync": "reduce with shuffles; ROCm 7 has it",
    "__reduce_and_sync": "reduce with shuffles; ROCm 7 has it",
    "__reduce_or_sync": "reduce with shuffles; ROCm 7 has it",
    "__reduce_xor_sync": "reduce with shuffles; ROCm 7 has it",
    **dict.fromkeys(("__dp2a_lo", "__dp2a_hi"), "write it out: two products of a half word and a byte, and a sum"),
    **dict.fromkeys(("__vimax3_s32", "__vimax3_u32"), "use max(max(a, b), c)"),
    **dict.fromkeys(("__vimin3_s32", "__vimin3_u32"), "use min(min(a, b), c)"),
    "__usad4": "use __builtin_amdgcn_sad_u8(a, b, 0)",
    "atomicAdd_block": "use __hip_atomic_fetch_add with __HIP_MEMORY_SCOPE_WORKGROUP",
    "atomicMax_block": "use __hip_atomic_fetch_max with __HIP_MEMORY_SCOPE_WORKGROUP",
    "atomicMin_block": "use __hip_atomic_fetch_min with __HIP_MEMORY_SCOPE_WORKGROUP",
    "atomicCAS_block": "use __hip_atomic_compare_exchange_strong with __HIP_MEMORY_SCOPE_WORKGROUP",
    "atomicExch_block": "use __hip_atomic_exchange with __HIP_MEMORY_SCOPE_WORKGROUP",
    "atomicOr_block": "use __hip_atomic_fetch_or with __HIP_MEMORY_SCOPE_WORKGROUP",
    "atomicAnd_block": "use __hip_atomic_fetch_and with __HIP_MEMORY_SCOPE_WORKGROUP",
    "atomicSub_block": "use __hip_atomic_fetch_sub with __HIP_MEMORY_SCOPE_WORKGROUP",
    "atomicXor_block": "use __hip_atomic_fetch_xor with __HIP_MEMORY_SCOPE_WORKGROUP",
    **dict.fromkeys(
        ("atomicInc_block", "atomicDec_block", "atomicInc_system", "atomicDec_system"),
        "loop over __hip_atomic_compare_exchange_strong with a scope; atomicInc and atomicDec have the device's",
    ),
    "cudaGridDependencySynchronize": "drop it: there is no programmatic dependent launch",
    "cudaTriggerProgrammaticLaunchCompletion": "drop it: there is no programmatic dependent launch",
}
_LACKING = frozenset(_NAMES)


def names(view: View) -> Iterator[LintMatch]:
    """Device names that HIP does not have and HIPIFY does not know, each use."""
    for name in sorted(view.words & _LACKING):
        places = view.own(name)
        if not any(_IS_ASKED_FOR.search(view.code, max(0, at - 12), at) for at in places):
            yield from ((at, "LINT-DEVICE-NAME", (name, _NAMES[name])) for at in places)


_IS_ASKED_FOR = re.compile(r"\bdecltype\s*\(\s*\Z")
"""What asks whether there is such a function: a template is left out where there is none."""


def launch_bounds(view: View) -> Iterator[LintMatch]:
    if "__launch_bounds__" not in view.words:
        return
    for at in view.places("__launch_bounds__"):
        argument_list = call_arguments(view.code, at + len("__launch_bounds__"))
        count = len(argument_list[0]) if argument_list else 0
        if count >= 2:
            yield at, "LINT-LAUNCH-BOUNDS", ()
        if count >= 3:
            yield at, "LINT-LAUNCH-BOUNDS-CLUSTER", ()


def arch_guards(view: View) -> Iterator[LintMatch]:
    """What asks for NVIDIA's architecture and not for HIP as well: directives, conditions, macros."""
    if "__CUDA_ARCH" in view.word_lines:
        reported_places: set[int] = set()
        others = beside_hip(view)
        for name in sorted(w for w in view.words if w.startswith("__CUDA_ARCH")):
            if name != "__CUDA_ARCH__" and any(macro.name == name for macro in view.macros):
                continue
            end = 0
            for at in view.places(name):
                if at < end:  # in the directive that was looked at
                    continue
                place, end = guard(view, at, others)
                if place is not None and place not in reported_places:
                    reported_places.add(place)
                    yield place, "LINT-CUDA-ARCH", (name,)
    for name in _TARGETS:
        if name in view.words:
            for at in view.places(name)[:1]:
                yield at, "LINT-CUDA-ARCH", (name,)


def device_launches(view: View) -> Iterator[LintMatch]:
    """Kernels that are launched from device code."""
    answers: dict[int, bool] = {}
    for at in launch.offsets(view.code) if "__global__" in view.words else ():
        if _may_be_on_device(view.code, at) and _in_device_body(view, at, answers):
            yield at, "LINT-DEVICE-LAUNCH", ("a kernel launched in a kernel",)
    for name in _LAUNCHERS:
        if name in view.words:
            for at in [at for at in view.own(name) if not view.is_defined_at(at)][:1]:
                yield at, "LINT-DEVICE-LAUNCH", (name,)


def device_calls(view: View) -> Iterator[LintMatch]:
    """Calls of CUDA's runtime in the bodies of `__global__` and purely `__device__` functions."""
    if view.words.isdisjoint(("__global__", "__device__")):
        return
    answers: dict[int, bool] = {}
    for name in sorted(view.words_with("cuda") & view.cuda_names):
        if not name.startswith("cuda") or name.endswith("_t"):
            continue
        for at in view.own(name):
            is_called = view.code.startswith("(", skip_space(view.code, at + len(name)))
            if is_called and _in_device_body(view, at, answers):
                yield at, "LINT-DEVICE-CALL", (name,)


_ON_DEVICE = re.compile(r"__device__|__global__|\b[A-Z][A-Z0-9_]{2,}\b")
"""What may say that a function is for the device: a macro of the project as well."""


def _first_type(view: View, spans: Sequence[tuple[int, int]]) -> str:
    return type_of_value(view.code, *spans[0]) if spans else ""


def host_calls(view: View, functions: Mapping[str, frozenset[str]]) -> Iterator[LintMatch]:
    """Calls of functions that HIP has for the device alone, in a body that is for the host, or for both.

    `functions` has the types of a first argument for which that is so, none for any.
    """
    if not view.is_cuda:
        return
    for name in sorted(view.words & functions.keys()):
        for at in view.own(name):
            argument_list = call_arguments(view.code, at + len(name))
            types = functions[name]
            is_called = argument_list is not None and (not types or _first_type(view, argument_list[0]) in types)
            heads = [view.braces.head(pair) for pair in view.braces.around(at)]
            heads = [head for head in heads if "(" in head]
            if is_called and heads and not any(_ON_DEVICE.search(head) for head in heads):
                yield at, "LINT-HOST-FUNCTION", (name,)
            elif is_called and any("__host__" in head and "__device__" in head for head in heads):
                yield at, "LINT-HOST-AND-DEVICE", (name,)


def _may_be_on_device(code: str, at: int) -> bool:
    """Whether more braces open than close between an offset and the device function that begins before it."""
    near = max(0, at - _FUNCTION)
    start = max(code.rfind("__global__", near, at), code.rfind("__device__", near, at))
    return start >= 0 and code.count("{", start, at) > code.count("}", start, at)


_FUNCTION = 20000
"""So many characters before a launch the function that it stands in may begin."""


def _in_device_body(view: View, at: int, answers: dict[int, bool]) -> bool:
    """Whether an offset stands in the body of a device function; what is found of a pair of braces is kept.

    A brace at the beginning of a line ends a function: where branches of `#if` open a body twice, pairs reach too far.
    """
    for pair in view.braces.around(at):
        if pair not in answers:
            head = view.braces.head(pair)
            answers[pair] = "__global__" in head or ("__device__" in head and "__host__" not in head)
        if answers[pair]:
            return "\n}" not in view.code[view.braces.span(pair)[0] : at]
    return False
