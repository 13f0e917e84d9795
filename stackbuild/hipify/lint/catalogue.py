"""What each lint rule says: why it matters on AMD GPUs, what to do, and where it was learnt. One page to read."""

from __future__ import annotations

from dataclasses import dataclass

from stackbuild.model.findings import Severity

LintMatch = tuple[int, str, tuple[str, ...]]
"""Where a rule applies: an offset of the text, the id of the rule, and the words that fill its `found` and `fix`."""
BRAIN_FLOATS = ("__nv_bfloat16", "nv_bfloat16", "__nv_bfloat162", "nv_bfloat162")
"""CUDA's types of bfloat16 and of pairs of it."""


@dataclass(frozen=True)
class LintRule:
    """One lint rule. `message` is filled with what stands in the source."""

    severity: Severity
    message: str
    why: str
    fix: str
    link: str = ""


_BOTH = "AMD GPUs have wavefronts of 32 lanes (RDNA) or 64 (CDNA)"

WARNINGS: dict[str, LintRule] = {
    "LINT-LADDER-INCOMPLETE": LintRule(
        Severity.ERROR,
        "a shuffle ladder that steps {0} does not reach every lane of a group of {1}",
        "lanes are left out, so the result is wrong in any wavefront",
        "start at half the group, halve, and go on while the offset is at least 1",
        "https://github.com/LeelaChessZero/lc0/pull/2375",
    ),
    "LINT-LADDER-STEPS": LintRule(
        Severity.NOTE,
        "shuffles by {0}, a line each, that do not reach every lane of a group of {1}",
        "lanes are left out: where that is not meant, as it is for the layout of a matrix, the result is wrong in any wavefront",
        "see that no step is missing",
    ),
    "LINT-LADDER-32": LintRule(
        Severity.WARNING,
        "a shuffle ladder that covers 32 lanes ({0})",
        f"{_BOTH}: with 64 the two halves are reduced apart, and code after it that reads lane 0 misses one",
        "start at warpSize / 2, or give the shuffle a width of 32 and combine the halves",
    ),
    "LINT-LADDER-64": LintRule(
        Severity.WARNING,
        "a shuffle ladder that covers 64 lanes ({0})",
        f"{_BOTH}: with 32 a step of 32 gives each lane its own value again, so sums count it twice",
        "start at warpSize / 2",
    ),
    "LINT-LADDER-WIDTH": LintRule(
        Severity.WARNING,
        "a shuffle ladder that steps {0} in {1} lanes",
        "a step of at least the width gives each lane its own value again, so sums count it twice",
        "start at half the width",
        "https://rocm.docs.amd.com/projects/HIP/en/latest/how-to/hip_cpp_language_extensions.html#warp-shuffle-functions",
    ),
    "LINT-LADDER-UNREAD": LintRule(
        Severity.NOTE,
        "a loop or a recursion shuffles by {0}, and which lanes it reaches could not be determined",
        f"{_BOTH}: a loop made for 32 leaves half of 64 apart",
        "see what it does for 32 and for 64 lanes",
    ),
    "LINT-WARP-SIZE-LITERAL": LintRule(
        Severity.WARNING,
        "{0} is {1} by definition",
        f"{_BOTH}, and host code cannot know which at compile time",
        "use warpSize in device code and the device property warpSize on the host, or build per target",
        "https://github.com/vllm-project/vllm/issues/22822",
    ),
    "LINT-WARP-SIZE-CONSTANT": LintRule(
        Severity.ERROR,
        "warpSize as a compile-time constant ({0})",
        "warpSize is not a constant expression since ROCm 7",
        "use a constant of the target's own, and let the build choose it",
        "https://github.com/vllm-project/vllm/issues/20330",
    ),
    "LINT-LANE-ARITHMETIC": LintRule(
        Severity.NOTE,
        "lane arithmetic with 32: {0}",
        f"{_BOTH}: the lane or warp number is wrong with 64",
        "use warpSize, or a constant of the target's own",
    ),
    "LINT-BALLOT-32": LintRule(
        Severity.WARNING,
        "the 64 lanes of {0} in a 32-bit {1}",
        "HIP's ballots and masks are 64 bits wide: the upper half of a wavefront of 64 lanes is lost",
        "use unsigned long long and __popcll, __ffsll or __clzll",
        "https://github.com/ROCm/hip/issues/3667",
    ),
    "LINT-LANE-MASK-32": LintRule(
        Severity.WARNING,
        "a mask of lanes in 32 bits: {0}",
        "lanes from 32 on have no bit in it, and shifting 32 bits by 32 or more is undefined",
        "shift 1ull, or use __lanemask_lt() and its like",
        "https://github.com/ROCm/hip/issues/3667",
    ),
    "LINT-SHIFT-WAVE": LintRule(
        Severity.WARNING,
        "a 64-bit number is shifted by a warp's size: {0}",
        "on a wavefront of 64 that is a shift by 64, which is undefined; AMD's GPUs shift by 0 then, so the mask is empty",
        "for all lanes write ~0ull, or ~0ull >> (64 - warpSize)",
        "https://github.com/ROCm/hip/issues/3667",
    ),
    "LINT-PARTIAL-MASK": LintRule(
        Severity.WARNING,
        "{0} takes a mask of some lanes: {1}",
        "the mask names lanes of a warp of 32; with 64 lanes the upper half is left out",
        "build the mask from warpSize, or from __activemask()",
    ),
    "LINT-VOTE-32": LintRule(
        Severity.NOTE,
        "{0} asks all lanes, where rows of 32 threads are likely",
        f"{_BOTH}, and all lanes of 32 became all lanes: with 64 two rows share one answer",
        "shuffle with a width of 32 or take the own half of a ballot, or make the rows warpSize wide",
    ),
    "LINT-VOTE": LintRule(
        Severity.NOTE,
        "{0} asks all lanes",
        f"{_BOTH}, and all lanes of 32 became all lanes: with 64 the answer is that of twice as many threads",
        "see that the threads which share an answer may be warpSize many",
    ),
    "LINT-LAST-LANE": LintRule(
        Severity.WARNING,
        "{0} takes the value of lane 31",
        f"{_BOTH}: with 64 it is in the middle",
        "use warpSize - 1, or a width of 32",
    ),
    "LINT-TILE-32": LintRule(
        Severity.NOTE,
        "{0} of 32 lanes",
        "it is half of a wavefront of 64 lanes: right, but half of the lanes share one schedule",
        "check what is done with tile numbers, and that the group's size divides by 64",
    ),
    "LINT-PTX": LintRule(
        Severity.ERROR,
        "inline PTX: {0}",
        "AMD GPUs have another instruction set; HIPIFY leaves it, and it does not compile",
        "{1}",
        "https://github.com/ROCm/HIPIFY/issues/731",
    ),
    "LINT-PTX-OPERAND": LintRule(
        Severity.NOTE,
        "operand {0} of inline PTX that begins above",
        "AMD's compiler knows no such register class and names this line in its error",
        "see the finding at the statement's first line",
    ),
    "LINT-TEXTURE-REFERENCE": LintRule(
        Severity.WARNING,
        "texture reference {0}",
        "CUDA 12 has no texture references, and HIP's are deprecated: HIP 5.7 and 6.4 compile them",
        "use texture objects; where the data is linear, use plain loads",
        "https://github.com/ROCm/clr/issues/276",
    ),
    "LINT-SURFACE-REFERENCE": LintRule(
        Severity.ERROR,
        "surface reference {0}",
        "HIP and CUDA 12 have no surface references: it does not compile",
        "use surface objects; where the data is linear, use plain loads",
        "https://github.com/ROCm/clr/issues/276",
    ),
    "LINT-TEXTURE-FETCH": LintRule(
        Severity.WARNING,
        "texture fetch {0}",
        "CDNA GPUs since gfx90a have no image instructions: hipcc refuses it for gfx90a and gfx942, not for RDNA",
        "use plain loads where such a GPU is a target",
        "https://github.com/ROCm/clr/issues/276",
    ),
    "LINT-WMMA": LintRule(
        Severity.ERROR,
        "wmma: {0}",
        "HIPIFY does not convert tensor-core fragments",
        "use rocWMMA (rocwmma::), whose fragments have other sizes, or rocBLAS",
        "https://rocm.docs.amd.com/projects/rocWMMA/en/latest/",
    ),
    "LINT-CUDA-STD": LintRule(
        Severity.ERROR,
        "libcu++: {0}",
        "HIP ships no cuda::std; libhipcxx is a separate installation",
        "{1}",
        "https://rocm.docs.amd.com/projects/libhipcxx/en/latest/conceptual/libhipcxx-extensions.html",
    ),
    "LINT-GRAPH": LintRule(
        Severity.NOTE,
        "stream capture or graphs: {0}",
        "HIP's graphs lack some node types and capture modes of CUDA's, depending on the version",
        "test with and without graphs on the target",
        "https://github.com/ROCm/HIPIFY/issues/1197",
    ),
    "LINT-LAUNCH-BOUNDS": LintRule(
        Severity.NOTE,
        "__launch_bounds__ with a second argument",
        "CUDA reads it as blocks per multiprocessor, HIP as wavefronts per execution unit",
        "convert it: blocks * threads / (wavefront * 4), or leave it out and measure",
    ),
    "LINT-LAUNCH-BOUNDS-CLUSTER": LintRule(
        Severity.ERROR,
        "__launch_bounds__ with a third argument",
        "it is the greatest number of blocks of a cluster; HIP's macro takes two arguments, so it does not compile",
        "leave the third argument out for HIP, which has no clusters",
    ),
    "LINT-BOUNDARY-MODE": LintRule(
        Severity.WARNING,
        "{0} of a surface",
        "HIP's surfaces have no boundary modes: what lies outside is read as 0 and is not written, without a clamp or a trap",
        "clamp the coordinates, or test them, before the call",
    ),
    "LINT-SURFACE-VALUE": LintRule(
        Severity.ERROR,
        "{0} that gives its value",
        "HIP has only the form that takes a pointer to the value: it does not compile",
        "declare a variable and pass its address as the first argument",
    ),
    "LINT-TEXTURE-RESIDENT": LintRule(
        Severity.ERROR,
        "{0} that tells whether the texel is resident",
        "HIP has no sparse textures and no such form: it does not compile",
        "leave the last argument out for HIP",
    ),
    "LINT-VECTOR-BINDING": LintRule(
        Severity.ERROR,
        "a structured binding of {0}",
        "HIP's vectors have members of an unnamed union: clang does not decompose them",
        "name the vector, and use its members x, y, z and w",
    ),
    "LINT-FP8": LintRule(
        Severity.WARNING,
        "{0} becomes a type of another format, FNUZ",
        "CUDA's FP8 is OCP's; FNUZ has another bias, another greatest value and no infinity: bytes from CUDA decode otherwise",
        "target ROCm 6.4 or newer, which has the OCP types, or convert the stored values",
    ),
    "LINT-FP8-OCP": LintRule(
        Severity.NOTE,
        "{0} becomes the OCP type",
        "gfx940 to gfx942 have FNUZ in hardware: HIP 6.4 has conversions of OCP types for the host alone there",
        "for these GPUs convert the values on the host, or store FNUZ",
    ),
    "LINT-ARCH-BOTH-SIDES": LintRule(
        Severity.WARNING,
        "a branch on {0} in a function for host and device",
        "HIP does not define it: on AMD's GPUs the device takes the host's branch",
        "test __HIP_DEVICE_COMPILE__ as well",
    ),
    "LINT-CUDA-ARCH": LintRule(
        Severity.WARNING,
        "a guard on {0}",
        "HIP does not define it: the code takes the branch for hosts or for the oldest GPU",
        "test __HIP_DEVICE_COMPILE__, or a feature macro of HIP, as well",
    ),
    "LINT-CUDA-VERSION": LintRule(
        Severity.WARNING,
        "{0} is not defined in HIP",
        "in #if it counts as 0 and in #ifdef as absent, so another branch is compiled; as a value it does not compile",
        "{1}",
        "https://rocm.docs.amd.com/projects/HIP/en/latest/how-to/hip_porting_guide.html",
    ),
    "LINT-LIBRARY-VERSION": LintRule(
        Severity.NOTE,
        "{0} is another library's in ROCm",
        "it has the number of ROCm's library, and is not defined where that library's header is not included",
        "{1}",
        "https://rocm.docs.amd.com/projects/HIP/en/latest/how-to/hip_porting_guide.html",
    ),
    "LINT-CAPABILITY": LintRule(
        Severity.WARNING,
        "a decision by compute capability: {0}",
        "HIP's numbers are those of AMD's GPUs: 9.4 for gfx942, 11.0 for gfx1100, which say nothing of NVIDIA's features",
        "ask for the feature itself, or for gcnArchName",
        "https://rocm.docs.amd.com/projects/HIP/en/latest/how-to/hip_porting_guide.html",
    ),
    "LINT-CAPABILITY-READ": LintRule(
        Severity.NOTE,
        "a compute capability is read: {0}",
        "HIP's numbers are those of AMD's GPUs: 9.4 for gfx942, 11.0 for gfx1100, which say nothing of NVIDIA's features",
        "see what is done with the number; a test for a GPU before 7.0 lets AMD's pass",
        "https://rocm.docs.amd.com/projects/HIP/en/latest/how-to/hip_porting_guide.html",
    ),
    "LINT-DEVICE-LAUNCH": LintRule(
        Severity.ERROR,
        "dynamic parallelism: {0}",
        "HIP launches kernels from the host only",
        "launch from the host, loop in one kernel, or make the child a device function",
        "https://rocm.docs.amd.com/projects/HIP/en/docs-6.1.2/reference/cpp_language_extensions.html",
    ),
    "LINT-DEVICE-CALL": LintRule(
        Severity.ERROR,
        "{0} is called in device code",
        "HIP's runtime is called from the host only; CUDA's device runtime has some of it",
        "do it on the host, or with what device code has: assert, printf of the number, a value that the host reads",
    ),
    "LINT-DEVICE-NAME": LintRule(
        Severity.ERROR,
        "{0} is not in HIP",
        "neither HIP 6.4's headers nor HIPIFY's tables have it, so it does not compile",
        "{1}",
        "https://rocm.docs.amd.com/projects/HIP/en/latest/how-to/hip_cpp_language_extensions.html",
    ),
    "LINT-CUTLASS": LintRule(
        Severity.ERROR,
        "CUTLASS: {0}",
        "it is written for NVIDIA's instructions, and nothing converts it",
        "use Composable Kernel, rocWMMA or hipBLASLt for the same work",
        "https://rocm.docs.amd.com/projects/composable_kernel/en/latest/",
    ),
    "LINT-COOPERATIVE": LintRule(
        Severity.WARNING,
        "cooperative groups: {0}",
        "HIP has grids, blocks and tiles, and no reduce, scan, memcpy_async or clusters up to ROCm 7.2",
        "write it with shuffles and shared memory (cooperative_groups/reduce.h has a support header)",
        "https://github.com/ROCm/rocm-systems/issues/2301",
    ),
    "LINT-CUB-NAME": LintRule(
        Severity.ERROR,
        "cub::{0}",
        "hipCUB (5.7, 6.4) has nothing of that name: it does not compile",
        "{1}",
    ),
    "LINT-THRUST-NAME": LintRule(
        Severity.ERROR,
        "{0} in Thrust's namespace",
        "the target's rocThrust has nothing of that name: it does not compile",
        "{1}",
    ),
    "LINT-CUB-MACRO": LintRule(
        Severity.ERROR,
        "{0} is a macro of CUB, Thrust or libcu++",
        "no header of ROCm's defines it",
        "write what it stands for, or define it for HIP",
    ),
    "LINT-ASYNC-COPY": LintRule(
        Severity.ERROR,
        "asynchronous copies to shared memory: {0}",
        "they are instructions of NVIDIA GPUs",
        "copy through registers and synchronise the block",
    ),
    "LINT-DEFAULTS": LintRule(
        Severity.ERROR,
        "{0} with {1} arguments, where HIP wants {2}",
        "CUDA has defaults for the last arguments and HIP has none, so it does not compile",
        "{3}",
    ),
    "LINT-GROUPS": LintRule(
        Severity.ERROR,
        "cooperative groups: {0}",
        "the target's headers do not have it, so it does not compile",
        "{1}",
        "https://github.com/ROCm/rocm-systems/issues/2301",
    ),
    "LINT-BF16-SHUFFLE": LintRule(
        Severity.ERROR,
        "{0} of the bfloat16 {1}",
        "HIP 6.4 has no shuffle for it, and those for numbers are ambiguous",
        "shuffle its bits: an unsigned short, or an unsigned for two",
    ),
    "LINT-VECTOR-OPERATOR": LintRule(
        Severity.ERROR,
        "a function of its own, for the same types as one of HIP's headers",
        "HIP's vector types have *, / and assigning operators by components, and HIP has atomicAdd, atomicMin and atomicMax of float and"
        " double: where both fit, each use is ambiguous, or the name is defined twice",
        "leave it out where __HIP_PLATFORM_AMD__ is defined if HIP's does the same, else give it a name and call that",
    ),
    "LINT-VECTOR-OPERATOR-USE": LintRule(
        Severity.NOTE,
        "{0} of two {1}, which the source has an operator of its own for",
        "it is ambiguous beside HIP's, which works by components: see LINT-VECTOR-OPERATOR at the definition",
        "give the operator a name and call that here",
    ),
    "LINT-RANDOM-STATE": LintRule(
        Severity.ERROR,
        "a variable of the device of type {0}",
        "hipRAND's states are classes with constructors, which variables of the device may not have: it does not compile",
        "make room for it as bytes, `alignas({0}) unsigned char bytes[sizeof({0})]`, and use a pointer of its type to them",
    ),
    "LINT-BF16-STRUCT": LintRule(
        Severity.ERROR,
        "bfloat16, which ROCm before 6.0 has as a struct alone",
        "it has no operators and no casts from and to float there, in templates neither: such lines do not compile",
        "target ROCm 6.0 or newer, or write sums and casts with __hadd, __bfloat162float and __float2bfloat16",
    ),
    "LINT-HALF-ATOMIC": LintRule(
        Severity.ERROR,
        "atomicAdd to the 16-bit floating point {0}",
        "HIP has no atomicAdd for half and bfloat16, alone or in pairs",
        "use unsafeAtomicAdd for a pair where the target has it, or a loop of atomicCAS over the 32-bit word",
    ),
    "LINT-DEVICEPTR": LintRule(
        Severity.ERROR,
        "arithmetic with the CUdeviceptr {0}",
        "it is a number in CUDA, and hipDeviceptr_t is void*: it does not compile, or is a GNU extension",
        "count with a char* or a uintptr_t, and cast",
    ),
    "LINT-HALF-BRACES": LintRule(
        Severity.ERROR,
        "{0} = {{}} of a half-precision variable",
        "HIP's half types have several assignments that take {}: the compiler calls it ambiguous",
        "assign the type's own value: {1}",
    ),
    "LINT-MEMBER": LintRule(
        Severity.ERROR,
        "{0}::{1} is not in HIP's struct of this ROCm version",
        "it is a member of CUDA's struct alone: the file does not compile",
        "{2}",
    ),
    "LINT-TEXTURE-NUMBER": LintRule(
        Severity.ERROR,
        "arithmetic with the texture or surface object {0}",
        "it is a number in CUDA and a pointer in HIP: it does not compile",
        "cast it to uintptr_t, and back",
    ),
    "LINT-C-HEADER": LintRule(
        Severity.WARNING,
        "{0} in C code",
        "it becomes hipRAND's header, which names __half: a C compiler refuses it",
        "compile the file as C++, or keep hipRAND behind a file of C++",
    ),
    "LINT-SAME-OVERLOAD": LintRule(
        Severity.ERROR,
        "{0} is defined for {1} and for {2}",
        "HIP has one type for both: the second definition is one too many",
        "leave one of them out where __HIP_PLATFORM_AMD__ is defined",
    ),
    "LINT-SAME-OVERLOAD-IF": LintRule(
        Severity.NOTE,
        "{0} is defined for {1} and for {2}, each in a branch",
        "HIP has one type for both: where both branches are compiled, the second definition is one too many",
        "leave one of them out where __HIP_PLATFORM_AMD__ is defined",
    ),
    "LINT-TEMPLATE-KEYWORD": LintRule(
        Severity.WARNING,
        "member template {0} of a dependent type without the keyword template",
        "nvcc takes it, and clang reads the < as a comparison: it does not compile",
        "write ::template {0}<",
    ),
    "LINT-NO-OVERLOAD": LintRule(
        Severity.ERROR,
        "{0} of {1}",
        "CUDA takes this type and HIP (5.7, 6.4) has no overload for it, or several that fit equally: it does not compile",
        "{2}",
    ),
    "LINT-HOST-FUNCTION": LintRule(
        Severity.WARNING,
        "{0} in a function for the host",
        "CUDA has it for the host too, HIP's headers (5.7, 6.4) for the device alone: it does not compile",
        "write it for the host, or take it from a library of the host",
    ),
    "LINT-HALF-HOST": LintRule(
        Severity.WARNING,
        "an operator of the half {0} in a function that the host may call",
        "HIP has this operator for the device alone in the target's ROCm: it does not compile where the host's side is made",
        "compute with float there, or leave the function to the device",
    ),
    "LINT-HOST-AND-DEVICE": LintRule(
        Severity.NOTE,
        "{0} in a function for host and device",
        "HIP has it for the device alone: it compiles only where no host code uses the function",
        "put a form for the host beside it, divided by __HIP_DEVICE_COMPILE__",
    ),
    "LINT-ONE-VALUE": LintRule(
        Severity.WARNING,
        "braces around one value in a text with {0}",
        "HIP's constructor of one value is explicit: where a vector of one component is wanted, it does not compile",
        "write the type before the braces: {0}{{…}}",
    ),
    "LINT-BUILT-IN": LintRule(
        Severity.ERROR,
        "{0} is declared here",
        "HIP has it with a type of its own: a declaration with CUDA's type does not compile",
        "leave the declaration out where __HIP_PLATFORM_AMD__ is defined",
    ),
    "LINT-DIM3": LintRule(
        Severity.WARNING,
        "{0} is given where a uint3 may be wanted",
        "in HIP threadIdx, blockIdx and dim3 become a dim3 and no uint3: where a uint3 is wanted it does not compile",
        "use make_uint3(x, y, z)",
    ),
    "LINT-WARP-TRANSPOSE": LintRule(
        Severity.WARNING,
        "{0} with a wavefront of 64",
        "hipCUB asserts that the block has a multiple of the wavefront's threads: one of 32 does not compile for gfx9",
        "see that no block has fewer threads than 64, or take BLOCK_LOAD_TRANSPOSE",
    ),
    "LINT-HEADER": LintRule(
        Severity.WARNING,
        "HIP has no {0}",
        "what it declares is not declared in HIP, whatever its include became",
        "{1}",
    ),
    "LINT-RUNTIME-NAME": LintRule(
        Severity.WARNING,
        "{0} names what only CUDA has, at run time",
        "strings are not converted: it compiles, and fails when it runs",
        "{1}",
    ),
    "LINT-DEVICE-STRING": LintRule(
        Severity.NOTE,
        "device code in a string",
        "it is compiled at run time: it was neither converted nor looked at",
        "put it into a file of its own and convert that, or see by hand to warp functions and inline PTX",
    ),
}

DECIDED_BY_COMPILER = frozenset(
    (
        "HIPIFY-UNSUPPORTED", "HIPIFY-UNSUPPORTED-DEVICE", "HIPIFY-UNSUPPORTED-TYPE", "HIPIFY-UNKNOWN", "HIPIFY-UNKNOWN-DEVICE",
        "HIPIFY-EXPERIMENTAL", "HIPIFY-NEEDS-ROCM", "HIPIFY-GONE-FROM-ROCM", "HIPIFY-NOT-IN-TARGET", "HIPIFY-NO-TABLE", "HIPIFY-HEADER-MISSING",
        "LINT-DEVICE-NAME", "LINT-SURFACE-REFERENCE", "LINT-WMMA", "LINT-CUDA-STD", "LINT-CUB-NAME", "LINT-THRUST-NAME", "LINT-CUB-MACRO",
        "LINT-ASYNC-COPY", "LINT-DEFAULTS", "LINT-GROUPS", "LINT-COOPERATIVE", "LINT-BF16-SHUFFLE", "LINT-HALF-ATOMIC", "LINT-HALF-BRACES", "LINT-MEMBER", "LINT-RANDOM-STATE",
        "LINT-TEXTURE-NUMBER", "LINT-SURFACE-VALUE", "LINT-TEXTURE-RESIDENT", "LINT-VECTOR-BINDING", "LINT-LAUNCH-BOUNDS-CLUSTER", "LINT-BUILT-IN", "LINT-NO-OVERLOAD",
    )
)  # fmt: skip
"""Rules, of the lint and of tables, that say no more than that a line does not compile: the target's compiler can refute them.

Rules of what a line means are not here. Nor are those of which clang reports a part where code is made alone: PTX, and calls
of the host's functions.
"""
