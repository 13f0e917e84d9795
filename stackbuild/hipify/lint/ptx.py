"""Lint of inline PTX: which instructions an `asm` statement has, and what stands for them in HIP.

The text of the statement is put together from its literals (raw ones, too), and from macros of the same file that are
literals. Its operation codes decide whether that is PTX: x86, Arm and AMD assembly is let pass.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from stackbuild.hipify.cpp.scan import arguments
from stackbuild.hipify.cpp.source_text import View
from stackbuild.hipify.lint.catalogue import LintMatch

# What stands for an operation code, by its beginning (the longest counts), or for a special register.
PTX = {
    "%laneid": "use __lane_id()",
    "%smid": "use __smid(), or drop it: it is for statistics",
    "%warpid": "use (threadIdx.x / warpSize) for a block of one dimension",
    "%nwarpid": "use (blockDim.x / warpSize) for a block of one dimension",
    "%clock": "use clock64() or wall_clock64()",
    "%globaltimer": "use wall_clock64()",
    "%lanemask": "use __lanemask_lt() and its like, which are 64 bits wide",
    "%dynamic_smem_size": "pass the size as an argument of the kernel",
    "%total_smem_size": "pass the size as an argument of the kernel",
    "%clusterid": "there are no clusters: use blockIdx",
    "%cluster": "there are no clusters: use blockIdx",
    "%gridid": "drop it: it is for tracing",
    "cvta": "drop it: device pointers are generic; for shared memory use the pointer itself",
    "isspacep": "use __builtin_amdgcn_is_shared or __builtin_amdgcn_is_private",
    "mapa": "there are no clusters: a block sees its own shared memory only",
    "getctarank": "there are no clusters: a block sees its own shared memory only",
    "prefetch": "drop it, or use __builtin_prefetch",
    "discard": "drop it: it is a hint to the cache",
    "applypriority": "drop it: it is a hint to the cache",
    "createpolicy": "drop it: there are no cache policies of that kind",
    "ld.global.nc": "use a plain load or __ldg",
    "ld.global.cg": "use __builtin_nontemporal_load or a plain load",
    "ld.global.cs": "use __builtin_nontemporal_load",
    "ld.shared": "use a plain load from a __shared__ pointer",
    "ld.volatile": "use a volatile load, or __atomic_load_n",
    "ld.acquire": "use __hip_atomic_load with __ATOMIC_ACQUIRE and its scope",
    "ld.relaxed": "use __hip_atomic_load with __ATOMIC_RELAXED and its scope",
    "ld.": "use a plain load",
    "ldu": "use a plain load or __ldg",
    "ldmatrix": "load the fragment with plain shared-memory loads, or rocWMMA",
    "st.release": "use __hip_atomic_store with __ATOMIC_RELEASE and its scope",
    "st.relaxed": "use __hip_atomic_store with __ATOMIC_RELAXED and its scope",
    "st.global.cs": "use __builtin_nontemporal_store",
    "st.volatile": "use a volatile store",
    "st.": "use a plain store",
    "stmatrix": "store the fragment with plain shared-memory stores, or rocWMMA",
    "movmatrix": "transpose through shared memory",
    "membar": "use __threadfence_block(), __threadfence() or __threadfence_system()",
    "fence": "use __threadfence(), or __builtin_amdgcn_fence",
    "red": "use atomicAdd and its like, or __hip_atomic_fetch_add with its scope",
    "redux": "reduce with shuffles, or __reduce_add_sync where the target's ROCm has it",
    "atom": "use atomicAdd, atomicCAS and their like, or __hip_atomic_fetch_add with its scope",
    "multimem": "there is no multicast memory: use RCCL",
    "lop3": "write the logic in C: the compiler forms v_bfi and v_bitop itself",
    "prmt": "use __builtin_amdgcn_perm (__byte_perm)",
    "bfe": "use __builtin_amdgcn_ubfe or shifts",
    "bfi": "write it with masks: the compiler forms v_bfi",
    "bfind": "use __clz",
    "clz": "use __clz",
    "popc": "use __popc",
    "brev": "use __brev",
    "fns": "use __fns32 or __fns64",
    "shf": "use __funnelshift_l or __funnelshift_r",
    "fma": "use fmaf, fma or __hfma2",
    "ex2": "use exp2f or __builtin_amdgcn_exp2f",
    "lg2": "use log2f or __builtin_amdgcn_logf",
    "rcp": "use __frcp_rn or __builtin_amdgcn_rcpf",
    "rsqrt": "use rsqrtf or __builtin_amdgcn_rsqf",
    "sqrt": "use sqrtf or __builtin_amdgcn_sqrtf",
    "sin": "use __sinf",
    "cos": "use __cosf",
    "tanh": "use tanhf",
    "cvt": "use the conversion functions of hip_fp16.h, hip_bf16.h or hip_fp8.h",
    "dp4a": "use __builtin_amdgcn_sdot4 where the target has it",
    "dp2a": "use __builtin_amdgcn_sdot2 where the target has it",
    "mad": "write it in C: the compiler forms the multiply-add",
    "mul.hi": "use __mulhi or __umulhi",
    "mul.wide": "multiply in a wider type",
    "addc": "add in a wider type, or use __builtin_addcll",
    "subc": "subtract in a wider type, or use __builtin_subcll",
    "add.cc": "add in a wider type, or use __builtin_addcll",
    "sub.cc": "subtract in a wider type, or use __builtin_subcll",
    "vabsdiff4": "use __usad or __builtin_amdgcn_sad_u8",
    "bar.sync": "use __syncthreads, or __builtin_amdgcn_s_barrier; named barriers do not exist",
    "bar.arrive": "use __syncthreads; named barriers do not exist",
    "bar.warp": "use __syncwarp, or __builtin_amdgcn_wave_barrier",
    "bar.red": "use __syncthreads_count, __syncthreads_and or __syncthreads_or",
    "barrier.cluster": "there are no clusters: synchronise the grid, or change the algorithm",
    "barrier": "use __syncthreads; named barriers do not exist",
    "shfl": "use __shfl and its like",
    "vote": "use __ballot, __any, __all",
    "match": "use __match_any_sync or __match_all_sync",
    "elect": "choose the first lane of __activemask()",
    "activemask": "use __activemask(), which is 64 bits wide",
    "nanosleep": "use __builtin_amdgcn_s_sleep",
    "trap": "use __builtin_trap() or abort()",
    "brkpt": "use __builtin_debugtrap()",
    "exit": "use __builtin_amdgcn_endpgm()",
    "pmevent": "drop it: it is for profiling",
    "mma": "use rocWMMA or the matrix builtins (__builtin_amdgcn_mfma_*, __builtin_amdgcn_wmma_*)",
    "wmma": "use rocWMMA or the matrix builtins (__builtin_amdgcn_mfma_*, __builtin_amdgcn_wmma_*)",
    "wgmma": "write the kernel for AMD's matrix instructions: rocWMMA or Composable Kernel",
    "tcgen05": "write the kernel for AMD's matrix instructions: rocWMMA or Composable Kernel",
    "setmaxnreg": "drop it: registers are shared out when the kernel is compiled",
    "cp.async": "copy through registers and synchronise the block",
    "cp.reduce": "copy through registers and use atomics",
    "tensormap": "there is no tensor memory accelerator: compute the addresses",
    "mbarrier": "rewrite with __syncthreads: there are no asynchronous barriers",
    "griddepcontrol": "drop it: there is no programmatic dependent launch",
    "tex": "use texture objects and tex2D and its like",
    "suld": "use surface objects and surf2Dread and its like",
    "sust": "use surface objects and surf2Dwrite and its like",
}
# Other operation codes of PTX, for which C++ has an operator or a function.
_PLAIN = frozenset(
    [
        "abs",
        "add",
        "alloca",
        "and",
        "bmsk",
        "bra",
        "brx",
        "call",
        "cnot",
        "copysign",
        "div",
        "istypep",
        "lg2",
        "max",
        "min",
        "mov",
        "mul",
        "mul24",
        "mad24",
        "neg",
        "not",
        "or",
        "rem",
        "ret",
        "sad",
        "selp",
        "set",
        "setp",
        "shl",
        "shr",
        "slct",
        "sub",
        "subc",
        "suq",
        "sured",
        "szext",
        "testp",
        "tld4",
        "txq",
        "vadd",
        "vavrg2",
        "vmad",
        "vmax",
        "vmin",
        "vset",
        "vshl",
        "vshr",
        "vsub",
        "xor",
    ]
)
_ROOTS = _PLAIN | {key.split(".")[0] for key in PTX if not key.startswith("%")}
_WORDS = ("asm", "__asm__", "__asm")
_QUALIFIERS = re.compile(r"(?:\s+|\\\r?\n|\b(?:inline|volatile|goto|__inline__|__inline|__volatile__|__volatile)\b)*\(")
_STRING = re.compile(r'(?:u8|[uUL])?R"([^()\\\s"]{0,16})\((.*?)\)\1"|"([^"\\\n]*(?:\\.[^"\\\n]*)*)"', re.S)
_LITERAL = re.compile(r'"[\x01\s]*"')
_NAME = re.compile(r"[A-Za-z_]\w*")
_STATEMENT = re.compile(r"(?:\\n|\\t|\\r|[;\n{}]|\\\n)+")
_OPCODE = re.compile(
    r"\s*(?:@!?%?[\w%]+\s+)?(?:[$A-Za-z_][\w$%]*:\s*)?(?:\.?(?:pragma|loc)\b.*|([a-z][a-z0-9]*)((?:[.:]+\w+)*))"
)
_REGISTER = re.compile(
    r"%%?(laneid|smid|nsmid|warpid|nwarpid|clock(?:64|_hi)?|globaltimer\w*|lanemask_\w+|dynamic_smem_size|total_smem_size|clusterid|cluster\w+|gridid)\b"
)
_PREDICATE = re.compile(r"(?:\A|[;{]|\\n|\s)\s*@!?%?\w+\s+[a-z]")
_DECLARES = re.compile(r"\.(?:reg|pred|shared|global|local|param)\b")
_ONLY_PTX = re.compile(
    r"\.(?:[bsuf](?:8|16|32|64|128)|f16x2|bf16(?:x2)?|tf32|e4m3|e5m2|pred|global|shared|sync|aligned|cta|gpu|sys|gl|release|acquire|relaxed|wide|approx|rn|nc|cg|volatile|wait_group|commit_group)\b"
)
_NOT_PTX = re.compile(
    r"\s*(?:s|v|ds|global|flat|buffer|scratch|image)_\w+|\.p2align|\.(?:text|section|globl|symver|hidden|weak|type|size|incbin|balign)\b|%%?[re]?[abcd]x\b|%%?(?:rsp|rbp|rsi|rdi|r\d+[dwb]?|xmm\d+|ymm\d+|zmm\d+|fs|gs)\b"
    r"|\b[vq]\d+\.\d*[bhsd]\b"
)
_REFUSED_CONSTRAINT = re.compile(r'"[=+&%]*([lfdhq])"\s*\(')
"""An operand in a register class that NVPTX has and AMDGPU has not: 64-bit, floating point, 16-bit, 128-bit."""
_MOST = 4000
_LONGEST_BREAK = 200
"""So many characters of a statement are read, and of one whose bracket is never closed."""


def ptx(view: View) -> Iterator[LintMatch]:
    """Inline assembly with what is known to stand for its instructions. An empty one and other machines' are let pass."""
    macros: dict[str, str] = {}
    for word in (*_WORDS, *_other_words(view)):
        if word not in view.words:
            continue
        for at in view.places(word):
            opens = _QUALIFIERS.match(view.code, at + len(word))
            if opens is None:
                continue
            template, names = _template(view, opens.end() - 1, macros)
            if names and not template.strip():
                if view.is_cuda:
                    what = f"a text from the macro {names[0]}", "see what the macro has, and write it in C++"
                    yield at, "LINT-PTX", what
            elif is_ptx(template, view.is_cuda):
                yield at, "LINT-PTX", (_excerpt(template), advice(template))
                yield from _operand(view, at, opens.end() - 1)


def _operand(view: View, at: int, open_at: int) -> Iterator[LintMatch]:
    """The first operand that the compiler refuses, where its line is another than where the statement begins."""
    argument_list = arguments(view.code, open_at)
    end = min(argument_list[1], open_at + _MOST) if argument_list else 0
    operand = _REFUSED_CONSTRAINT.search(view.text, open_at, end)
    if operand and "\n" in view.code[at : operand.start()]:
        yield operand.start(), "LINT-PTX-OPERAND", (operand[1],)


_BARE_ASM = re.compile(r"(?:asm|__asm__|__asm)(?:\s+(?:inline|volatile|__inline__|__inline|__volatile__|__volatile))*")


def _other_words(view: View) -> list[str]:
    """The macros of the file that stand for the word asm itself: `#define ASM asm volatile`."""
    if view.words.isdisjoint(_WORDS):
        return []
    return [m.name for m in view.macros if _BARE_ASM.fullmatch(view.code[m.at : m.end].strip())]


def is_ptx(template: str, sure: bool) -> bool:
    """Whether an assembly text is PTX. `sure` says that it stands in a CUDA file, where most is."""
    if not template.strip() or _NOT_PTX.search(template) or (not sure and "%[" in template):
        return False  # nvcc has no operands with names
    if _REGISTER.search(template) or _DECLARES.search(template) or (sure and _PREDICATE.search(template)):
        return True
    codes = opcodes(template)
    instructions = [code for code in codes if code.split(".")[0].split(":")[0] in _ROOTS]
    if sure and any("." in code or code in _ALONE for code in instructions):
        return True
    return bool(_ONLY_PTX.search(template)) and (sure or bool(instructions))


_ALONE = frozenset(("trap", "exit", "ret", "brkpt", "activemask", "griddepcontrol"))


def opcodes(template: str) -> list[str]:
    """The operation codes of an assembly text, in order."""
    names = []
    for line in _STATEMENT.split(template):
        match = _OPCODE.match(line)
        if match is not None and match[1]:
            names.append(match[1] + (match[2] or ""))
    return names


def advice(template: str) -> str:
    """What stands in HIP for the instructions of a text; of several, each once."""
    fixes: list[str] = []
    for register in _REGISTER.findall(template):
        fixes += [fix for sign, fix in PTX.items() if sign[0] == "%" and register.startswith(sign[1:])][:1]
    for code in opcodes(template):
        signs = [
            sign
            for sign in PTX
            if code.startswith(sign) and (sign.endswith(".") or not code[len(sign) :][:1].isalnum())
        ]
        if signs:
            fixes.append(PTX[max(signs, key=len)])
    distinct = list(dict.fromkeys(fixes))
    return "; ".join(distinct[:3]) if distinct else "write it in C++, or with AMD's builtins"


def _excerpt(template: str) -> str:
    return " ".join(template.replace("\\n", " ").replace("\\t", " ").split())[:60]


def _template(view: View, open_at: int, macros: dict[str, str]) -> tuple[str, list[str]]:
    """The text of an asm statement before its operands, and the names in it that could not be read."""
    argument_list = arguments(view.code, open_at)
    end = argument_list[1] if argument_list else view.code.find(";", open_at)
    end = min(end if end > 0 else len(view.code), open_at + (_MOST if argument_list else _LONGEST_BREAK))
    pieces: list[str] = []
    names: list[str] = []
    at = open_at + 1
    while at < end:
        string = _STRING.match(view.text, at)
        name = _NAME.match(view.code, at)
        if string:
            pieces.append(string[2] if string[2] is not None else string[3])
            at = string.end()
        elif name:
            if name.group() not in macros:
                macros[name.group()] = _macro(view, name.group())
            value = macros[name.group()]
            pieces.append(value or "")
            names += [] if value else [name.group()]
            at = name.end()
            if view.code.startswith("(", at):  # a macro's own arguments
                close = view.code.find(")", at, at + _LONGEST_BREAK)
                pieces += [m[3] for m in _STRING.finditer(view.text, at, max(at, close)) if m[3]]
                at = max(at, close) + 1
        elif view.code[at] in ":,":
            break
        else:
            at += 1
    return "".join(pieces), names


def _macro(view: View, name: str) -> str:
    """The text of a macro or constant of the file that is a literal, else nothing."""
    last = name
    for at in view.places(last):
        match = re.compile(r"(?:\([^()\n]*\))?(?:\s*\[\s*\]\s*=)?(?:[ \t]|\\\r?\n)+").match(view.code, at + len(last))
        line = view.code[view.code.rfind("\n", 0, at) + 1 : at]
        if match is None or not re.match(r"\s*(?:#\s*define\s+\Z|.*\b(?:const|constexpr)\b)", line):
            continue
        texts = []
        place = match.end()
        while string := _STRING.match(view.text, place):
            texts.append(string[2] if string[2] is not None else string[3])
            rest = re.compile(r"(?:[ \t]|\\\r?\n|#?\w+\b)*").match(view.code, string.end())
            place = rest.end() if rest else string.end()
        if texts:
            return "".join(texts)
    return ""
