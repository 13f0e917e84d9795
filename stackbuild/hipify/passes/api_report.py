"""The API report: what HIP lacks, calls experimental or has only in other versions, and what no table knows."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from stackbuild.hipify.cpp.scan import call_arguments, in_include, line_start, skip_space
from stackbuild.hipify.cpp.source_text import View
from stackbuild.hipify.passes import own_names, pasted_names
from stackbuild.hipify.rules.lookups import ApiIssue, Lookups
from stackbuild.hipify.tables import unknown_libraries
from stackbuild.model.findings import Finding, Severity

TABLES = "https://rocm.docs.amd.com/projects/HIPIFY/en/latest/reference/supported_apis.html"


@dataclass(frozen=True)
class IssueKind:
    """How one kind of issue is reported. The texts may name {name}, {detail}, {first} and {last} word of it, {rocm}."""

    rule: str
    severity: Severity
    message: str
    why: str
    fix: str


ISSUE_KINDS = {
    "unsupported": IssueKind(
        "HIPIFY-UNSUPPORTED",
        Severity.ERROR,
        "{name} has no counterpart in {lacking}",
        "HIPIFY's tables name nothing that it could become, so the HIP text does not compile or link",
        "replace the call, or guard it for CUDA and write the HIP side by hand",
    ),
    "device-function": IssueKind(
        "HIPIFY-UNSUPPORTED-DEVICE",
        Severity.ERROR,
        "device function {name} does not exist in HIP",
        "HIPIFY's tables list it as unsupported",
        "write it by hand, or add a rule with its replacement",
    ),
    "device-type": IssueKind(
        "HIPIFY-UNSUPPORTED-TYPE",
        Severity.ERROR,
        "device type {name} does not exist in HIP",
        "HIPIFY's tables list it as unsupported",
        "use another type, or add a rule with its replacement",
    ),
    "experimental": IssueKind(
        "HIPIFY-EXPERIMENTAL",
        Severity.WARNING,
        "{name} is only experimentally supported (HIP {detail})",
        "it is converted only when asked for",
        "give --experimental if the target has it",
    ),
    "removed": IssueKind(
        "HIPIFY-CUDA-REMOVED",
        Severity.NOTE,
        "{name} was removed in CUDA {detail}",
        "the source is for an older CUDA; HIP may have dropped its counterpart too",
        "move to its successor when the CUDA side is updated",
    ),
    "deprecated": IssueKind(
        "HIPIFY-CUDA-DEPRECATED",
        Severity.NOTE,
        "{name} is deprecated since CUDA {detail}",
        "HIP may drop its counterpart",
        "move to its successor when the CUDA side is updated",
    ),
    "too-new": IssueKind(
        "HIPIFY-NEEDS-ROCM",
        Severity.ERROR,
        "{name} becomes {first}, which needs ROCm {last}; the target is {rocm}",
        "the target's headers do not declare it",
        "target a newer ROCm, or replace the call",
    ),
    "gone": IssueKind(
        "HIPIFY-GONE-FROM-ROCM",
        Severity.ERROR,
        "{name} becomes {first}, which ROCm {last} removed; the target is {rocm}",
        "the target's headers no longer declare it",
        "replace the call by its successor",
    ),
}
ISSUE_KINDS["undeclared"] = IssueKind(
    "HIPIFY-NOT-IN-TARGET",
    Severity.ERROR,
    "{name} becomes {first}, which {rest} do not declare",
    "the HIP text does not compile for this target",
    "target a ROCm that has it, or write this by hand",
)
_LACKING = {"hip": "HIP", "roc": "the roc libraries", "miopen": "MIOpen", "hipdnn": "hipDNN", "": "HIP"}
_LOOKS_LIKE_API = re.compile(r"cuda[A-Z]\w+")
_LIBRARY = (
    r"(?:cublas(?:Lt|Xt)?|cudnn|cusparse|cufft(?:Xt)?|curand|cusolver(?:Dn|Sp|Mg|Rf)?|cutensor(?:Mg)?|nvrtc|nvtx)"
)
_LIBRARY_CALL = re.compile(rf"{_LIBRARY}[A-Z]\w+|cu[A-Z][a-z]\w+")
_LIBRARY_TYPE = re.compile(rf"{_LIBRARY}[A-Z]\w+_t")
_CONSTANT = re.compile(
    r"(?:CU|CUDART|CUBLAS|CUBLASLT|CUDNN|CUSPARSE|CUFFT|CURAND|CUSOLVER|CUTENSOR|NVRTC)_[A-Z][A-Z0-9_]+|CUDA(?:RT)?API"
)
_START_OF_LINE = re.compile(r"\n((?:__|cu|CU|nv|NV|npp|NPP|nccl|NCCL|optix|OPTIX)\w*)")
_PASTED_PREFIX = re.compile(
    r"\b(cuda(?!_)|cu(?![a-z_])|cublas|cudnn|cusparse|cufft|curand|cusolver|nccl|CUDA_|CU_|CUBLAS_|CUDNN_)(\w*)\s*##"
)
_JOINS = re.compile(r"#[ \t]*define[ \t]+(\w+)\(([^()\n]*)\)[^\n]*\b(\w+)\s*##")
_TOOLKIT = re.compile(
    r"(?!cuda_(?:pipeline|awbarrier|egl|vdpau|d3d|stdint|fp4|fp6|texture|surface))"
    r"(?:cublas|cudnn|cufft|curand|cusolver|cusparse|cutensor|nvrtc|nvblas|cudalibxt|cuda_|cudart_|cudaD3D|cuviddec|sm_\d\d_)\w*\.h(?:pp)?"
)
# How CUDA's libraries spell their headers. A project's own are `cublas_helper.h` and its like.
_LIBRARY_HEADER = re.compile(
    r"(?:cublas|cufft|curand|cusolver|cusparse|cutensor|nvrtc|nvblas)(?:[A-Z]\w*|w|net)?\.h|cudnn(?:_(?:ops|cnn|adv|graph|backend|version)\w*)?\.h"
)
# Headers of CUDA 12.6's that no table has. A project's own begin with `cuda_`, too.
_TOOLKIT_HEADERS = frozenset(
    ("cuda_device_runtime_api.h", "cuda_occupancy.h", "cuda_vdpau_interop.h", "cuda_runtime_api_dynlink.h", "cudart_platform.h", "cudalibxt.h",
     "sm_20_atomic_functions.h", "sm_20_intrinsics.h", "sm_30_intrinsics.h", "sm_32_atomic_functions.h", "sm_32_intrinsics.h", "sm_35_atomic_functions.h",
     "sm_35_intrinsics.h", "sm_60_atomic_functions.h", "sm_61_intrinsics.h", "sm_70_rt.h", "sm_80_rt.h", "sm_90_rt.h")
)  # fmt: skip
_XT = "cublasXt.h"
_CONDITION = re.compile(r"[ \t]*#[ \t]*(?:if|elif|ifdef|ifndef)\b")
_STEMS = frozenset(("cuda", "cu", "cublas", "cudnn", "cusparse", "cufft", "curand", "cusolver", "nccl"))
_SAME_IN_HIP = frozenset(("nccl",))
"""RCCL has NCCL's own names: one that is put together is the same name there."""
_HAS_INCLUDE = re.compile(r"__has_include(?:_next)?\s*\(\s*([<\"])")
_TO_SIGN = re.compile(r'[^>"\n]*')
_INCLUDE_OF = re.compile(r"#[ \t]*include(?:_next)?\b((?:[ \t]|\\\r?\n)*)([A-Za-z_]\w*|[<\"])")


def report(view: View, lookups: Lookups, present: Iterable[str], ruled_names: frozenset[str]) -> list[Finding]:
    """The findings for the names `present`; of names that a rule takes care of (`ruled_names`) they are mere notes."""
    findings: list[Finding] = []
    for name in present:
        for issue in lookups.issues.get(name, ()):
            issue_findings = list(_issue_findings(view, lookups, name, issue))
            findings += [_lower_severity(f) for f in issue_findings] if name in ruled_names else issue_findings
    findings += _generated_names(view, lookups)
    findings += _headers(view, lookups)
    return findings


def _issue_findings(view: View, lookups: Lookups, name: str, issue: ApiIssue) -> Iterator[Finding]:
    kind = ISSUE_KINDS[issue.kind]
    words = (issue.detail.split() or [""])[0], (issue.detail.split() or [""])[-1]
    for at in view.own(name):
        if issue.call_only and not view.code.startswith("(", skip_space(view.code, at + len(name))):
            continue
        fill = {
            "name": name,
            "detail": issue.detail,
            "lacking": _LACKING.get(issue.detail, "HIP"),
            "first": words[0],
            "last": words[1],
            "rest": issue.detail.partition(" ")[2],
            "rocm": lookups.target.rocm,
        }
        finding = view.finding(at, kind.rule, kind.severity, kind.message.format(**fill), kind.why, kind.fix, TABLES)
        if _CONDITION.match(view.code, line_start(view.code, at)):
            yield replace(finding, severity=Severity.NOTE, fix=_CONDITION_FIX)
        elif kind.rule in _DECLARABLE and own_names.is_declaration(view, name, at):
            yield replace(finding, severity=Severity.NOTE, fix=_DECLARATION_FIX)
        else:
            yield finding


_DECLARABLE = frozenset(("HIPIFY-UNSUPPORTED", "HIPIFY-UNSUPPORTED-DEVICE"))
_DECLARATION_FIX = "nothing here, where the source declares the name itself: see its uses"
_CONDITION_FIX = "see that the branch without it is meant for HIP: what is not defined is not an error in a condition"


def _lower_severity(finding: Finding) -> Finding:
    fix = "nothing: a rule replaces it or a support header defines it"
    why = _REPLACEMENT if finding.rule in _WITHOUT_COUNTERPART else finding.why
    return replace(finding, severity=Severity.NOTE, why=why, fix=fix)


_REPLACEMENT = "HIPIFY's tables have nothing for it that this target has, and something else stands for it"
_WITHOUT_COUNTERPART = frozenset(
    ("HIPIFY-UNSUPPORTED", "HIPIFY-UNSUPPORTED-DEVICE", "HIPIFY-UNSUPPORTED-TYPE", "HIPIFY-NOT-IN-TARGET")
)


def unknown_calls(view: View, lookups: Lookups, ruled_names: frozenset[str]) -> tuple[list[Finding], frozenset[str]]:
    """Names that look like NVIDIA's and are in no table, and those of them that the text declares itself.

    The findings are of hipify-perl's leftovers, calls, constants, device functions, and whole libraries.
    """
    looks_alike = [
        word
        for word in _START_OF_LINE.findall(view.word_lines)
        if word not in lookups.known_names and word not in ruled_names and _is_like(word, lookups)
    ]
    own = own_names.declared_names(view, looks_alike)
    if looks_alike:
        own |= {name for macro in view.macros for name in macro.parameters or ()}.intersection(looks_alike)
    findings: list[Finding] = []
    for word in looks_alike:
        if word not in own:
            findings += _of_device(view, word) if word.startswith("__") else _of_host(view, lookups, word)
    return findings, own


def _is_like(word: str, lookups: Lookups) -> bool:
    """Whether a word is spelt like a name of CUDA's that no table has."""
    if word.startswith("__"):
        declarations = lookups.target.declared
        return declarations is not None and word not in declarations.device and not _COMPILER.match(word)
    return bool(
        _LOOKS_LIKE_API.fullmatch(word)
        or _LIBRARY_CALL.fullmatch(word)
        or _CONSTANT.fullmatch(word)
        or unknown_libraries.of_name(word)
    )


_VERSION_END = re.compile(r"_(?:v\d|ptsz|ptds)\Z")
"""What CUDA's headers put behind a name by `#define`."""


def _of_host(view: View, lookups: Lookups, word: str) -> Iterator[Finding]:
    places = view.own(word)
    if family := unknown_libraries.of_name(word):
        name_places = [
            at
            for at in places
            if not _CONDITION.match(view.code, line_start(view.code, at))
            and not _PASTES.match(view.code, at + len(word))
        ]
        yield from (
            _of_family(view, at, word, family) for at in name_places[:1]
        )  # `#ifdef NVSHMEM_COMMS` is the project's
        return
    api = _LOOKS_LIKE_API.fullmatch(word) or _LIBRARY_TYPE.fullmatch(word)
    constant = _CONSTANT.fullmatch(word)
    for at in places:
        called = view.code.startswith("(", skip_space(view.code, at + len(word)))
        if _CONDITION.match(view.code, line_start(view.code, at)) or in_include(view.code, at):
            continue  # not defined is 0 there: LINT-CUDA-VERSION is about such questions
        if called and _CALL_WITHIN.match(view.code, at + len(word)):
            continue  # `cudaErrchk(cudaMalloc(…))`: no function of CUDA's takes another one's result alone
        if api or called is not bool(constant):  # CUBLAS_CHECK(…) is a project's macro
            yield _leftover(view, at, word, _VERSION_END.sub("", word) in lookups.known_names)


_PASTES = re.compile(r"\s*##")
_CALL_WITHIN = re.compile(r"\s*\(\s*(?:::)?cu(?:da|blas|fft|rand|sparse|solver|dnn)?[A-Z]\w+\s*\(")
_COMPILER = re.compile(
    r"__(?:builtin|sync|atomic|has|is|attribute|declspec|asm|typeof|alignof|alignas|extension|cpuid|rdtsc|popcnt|lzcnt|get_cpuid|pragma|assume"
    r"|debugbreak|assert|gnu|glibc|cxa|INT|SIZE|FLT|DBL|LDBL|CHAR|c11|opencl|ocml|ockl|llvm|hip|HIP|amd|AMD|cilk|emutls|mm|m\d|ia32|x86|thread"
    r"|func|FUNC|PRETTY|FILE|LINE|DATE|TIME|COUNTER|VA_|GNU|STDC|cplusplus|clang|unreachable|forceinline|inline|restrict|volatile|const|signed|cdecl"
    r"|stdcall|fastcall|vectorcall|readfsdword|fastfail|iso_volatile|dmb|isb|yield|nop|wfe|sev|va_|shared|device|global|host|constant|managed)"
)
_KEYWORDS = frozenset(
    ("__nv_pure__", "__grid_constant__", "__cluster_dims__", "__maxnreg__", "__block_size__", "__nv_register_params__")
)


_DEVICE_FORM = re.compile(
    r"__(?:nv|nvvm|cvta|pipeline|mbarrier|cluster|cudaCDP2|barrier_sync|reduce|match|shfl|any|all|ballot)_\w+"
    r"|__\w+_r(?:n|d|u|z|na)(?:_\w+)?|__v(?:abs|add|avg|cmp|max|min|neg|sad|set|sub|ib?m|iadd|h)\w*\d\w*|__[a-z]+Atomic[A-Z]\w+"
    r"|__h(?:add|sub|mul|div|fma|cmadd|eq|ne|ge|gt|le|lt|max|min|neg|abs|is|cos|sin|exp|log|rcp|sqrt|rsqrt|tanh|to)\w*"
    r"|__(?:bfloat16|bfloat162|half|half2|float|float2|double|double2|u?int|u?ll|u?short|u?char|longlong)2\w+|__\w+_as_\w+"
    r"|__(?:dp[24]a\w*|ld(?:cv|lu|ca|cg|cs|g)|st(?:cg|cs|wb|wt)|nanosleep|trap|brkpt|barrier_sync|uni_sync|activemask|syncwarp|fns|prof_trigger"
    r"|is(?:Global|Shared|Constant|Local|GridConstant|Cluster\w+)|grid_constant\w*|byte_perm|funnelshift_\w+|s?u?mulhi|[fd](?:add|mul|div|ma)\w*)"
)
"""How CUDA spells its device functions: by families of instructions, types and roundings. Generated code has other names."""


def _of_device(view: View, word: str) -> Iterator[Finding]:
    """Calls of a device function that neither HIP's headers nor the compiler have, in a CUDA file; attributes alike."""
    if not view.is_cuda:
        return
    for at in view.own(word):
        if word in _KEYWORDS or (
            not word.endswith("__") and view.code.startswith("(", skip_space(view.code, at + len(word)))
        ):
            yield view.finding(
                at,
                "HIPIFY-UNKNOWN-DEVICE",
                Severity.ERROR if word in _KEYWORDS or _DEVICE_FORM.fullmatch(word) else Severity.NOTE,
                f"{word} is in no header of HIP, of any version that this package has a list of",
                "it is in none of HIPIFY's tables, so it was left as it is and does not compile",
                "write it with what HIP has, or define it for HIP",
                TABLES,
            )


def _generated_names(view: View, lookups: Lookups) -> Iterator[Finding]:
    """Names that the preprocessor puts together: `cuda##name`."""
    if "##" not in view.code:
        return
    by = lookups.fixes(view.name).get("pasted-names")
    converted_starts = {edit.start for edit in pasted_names.fix(view, lookups, by)} if by else set()
    for match in _PASTED_PREFIX.finditer(view.code):
        if match[1] in _SAME_IN_HIP or _is_parameter(view, match.start(), match[1] + match[2]):
            continue  # the same name in HIP, or the argument's text is pasted, not this name
        beginning = match[1] + match[2]
        is_converted = match.start() in converted_starts or _is_renamed_alike(lookups, beginning)
        has_twin = pasted_names.has_hip_form(view, match.start())
        has_words = bool(match[2]) or not match[1].endswith("_")
        is_cudas = beginning in _STEMS or (has_words and _begins_name(lookups, beginning))
        yield view.finding(
            match.start(),
            "HIPIFY-PASTED-NAME",
            Severity.WARNING if is_cudas and not is_converted and not has_twin else Severity.NOTE,
            f"the preprocessor makes a name of {match[1]}{match[2]} ## …",
            "the beginning became HIP's" if is_converted else _NOT_WHOLE,
            "see the uses in other files" if is_converted else "write the names out, or add a rule for the macro",
        )
    for at, name, hip_name in pasted_names.other_names(view, lookups):
        yield view.finding(
            at,
            "HIPIFY-PASTED-NAME",
            Severity.WARNING,
            f"the preprocessor makes {name} here",
            f"HIP calls it {hip_name}: the beginning alone does not make that"
            if hip_name
            else "HIP has nothing for it",
            "write the name out",
        )
    if not view.words.isdisjoint(_STEMS):
        yield from _joined_names(view)


def _is_renamed_alike(lookups: Lookups, beginning: str) -> bool:
    """Whether a beginning is itself a name, and all names that begin so get HIP's in its place."""
    if beginning not in lookups.names:
        return False
    start = lookups.names[beginning].hip
    return all(
        subst.hip == start + name.removeprefix(beginning)
        for name, subst in lookups.names.items()
        if name.startswith(beginning)
    )


def _begins_name(lookups: Lookups, beginning: str) -> bool:
    """Whether a name of CUDA's that the tables know begins so."""
    return any(name.startswith(beginning) for name in lookups.known_names)


def _is_parameter(view: View, at: int, name: str) -> bool:
    """Whether a name in a macro's body is a parameter of that macro."""
    return any(macro.at <= at < macro.end and name in (macro.parameters or ()) for macro in view.macros)


_NOT_WHOLE = "the name is in no place whole, so nothing converts it: the HIP text still asks for CUDA's"


def _joined_names(view: View) -> Iterator[Finding]:
    """Uses of macros that join their arguments, with a beginning of CUDA's names: `CAT(cuda, Free)`."""
    for macro in _JOINS.finditer(view.code):
        if macro[3] not in (word.strip() for word in macro[2].split(",")):
            continue
        for at in view.places(macro[1]):
            argument_list = None if view.is_defined_at(at) else call_arguments(view.code, at + len(macro[1]))
            stems = [view.code[start:end].strip() for start, end in argument_list[0]] if argument_list else []
            if stem := next((one for one in stems if one in _STEMS - _SAME_IN_HIP), ""):
                message = f"{macro[1]} makes a name of {stem} and another word"
                fix = "write the names out, or add a rule for the macro"
                yield view.finding(at, "HIPIFY-PASTED-NAME", Severity.WARNING, message, _NOT_WHOLE, fix)


def _headers(view: View, lookups: Lookups) -> Iterator[Finding]:
    """Headers of libraries that no table has, of `__has_include`, and those that only the preprocessor knows."""
    for match in _HAS_INCLUDE.finditer(view.code) if "__has_include" in view.words else ():
        path = _path(view, match.end())
        dropped = path in lookups.headers and not lookups.headers[path].hip
        if dropped or (path not in lookups.headers and unknown_libraries.of_header(path)):
            message = f"__has_include asks for {path}"
            yield _header(view, match.start(), Severity.NOTE, message, "use HIP's header, or drop the question")
    for match in _INCLUDE_OF.finditer(view.code):
        if match[2] not in '<"':
            definition = re.search(rf"#[ \t]*define[ \t]+{match[2]}[ \t]+[<\"]", view.code)
            if definition is None and ("CU" in match[2].upper() or "NV" in match[2].upper()):
                yield _header(
                    view,
                    match.start(),
                    Severity.WARNING,
                    f"the header of #include {match[2]} is in a macro",
                    "give the macro HIP's header",
                )
            continue
        path = _path(view, match.end())
        has_row = path in lookups.headers or lookups.may_rule_header(path)
        if path == _XT and lookups.may_rule_header(path):
            yield view.finding(
                match.start(), "HIPIFY-UNKNOWN-HEADER", Severity.WARNING, f"what {path} has of its own has no counterpart",
                "ROCm has no BLAS over several GPUs; the include became that of hipBLAS", "divide the work by hand, with a handle for each GPU", TABLES,
            )  # fmt: skip
        if not has_row and _TOOLKIT.fullmatch(path) and not unknown_libraries.of_header(path):
            severity = Severity.ERROR if _LIBRARY_HEADER.fullmatch(path) or path in _TOOLKIT_HEADERS else Severity.NOTE
            yield view.finding(
                match.start(), "HIPIFY-UNKNOWN-HEADER", severity, f"{path} looks like a header of CUDA's and has no counterpart",
                "it was left as it is, and no HIP installation has it", "include what ROCm has for it, or add a header rule", TABLES,
            )  # fmt: skip
        family = unknown_libraries.of_header(path) if path not in lookups.headers else None
        if family and not lookups.may_rule_header(path):
            yield view.finding(
                match.start(), "HIPIFY-NO-TABLE", Severity.ERROR, f"{path} is of {family.title}, which HIPIFY's tables do not have",
                _NO_TABLE, f"for AMD: {family.instead}", family.link,
            )  # fmt: skip


def _path(view: View, at: int) -> str:
    """The path of an include whose `<` or quote ends at an offset."""
    match = _TO_SIGN.match(view.text, at)
    return match.group() if match else ""


def _header(view: View, at: int, severity: Severity, message: str, fix: str) -> Finding:
    why = "it was left as it is, and the branch that depends on it may be the wrong one"
    return view.finding(at, "HIPIFY-HEADER-UNREAD", severity, message, why, fix, TABLES)


_NO_TABLE = "nothing of it is converted, so the HIP text does not compile or link"


def _of_family(view: View, at: int, word: str, family: unknown_libraries.Family) -> Finding:
    message = f"{word} is of {family.title}, which HIPIFY's tables do not have"
    return view.finding(
        at, "HIPIFY-NO-TABLE", Severity.WARNING, message, _NO_TABLE, f"for AMD: {family.instead}", family.link
    )


def _leftover(view: View, at: int, word: str, is_version: bool) -> Finding:
    """A name that is spelt like CUDA's. One like the runtime's, which the tables have nearly whole, is as often the project's.

    A version (`is_version`) of a name that the tables have is CUDA's.
    """
    return view.finding(
        at,
        "HIPIFY-UNKNOWN",
        Severity.WARNING if is_version or _CONSTANT.fullmatch(word) or _SURELY_CUDAS.fullmatch(word) else Severity.NOTE,
        f"{word} looks like a CUDA API and is in none of HIPIFY's tables",
        "it was left as it is",
        "if it is the project's own name, nothing; if it is newer than the tables, update HIPIFY or add a rule",
        TABLES,
    )


_SURELY_CUDAS = re.compile(
    r"nvtx(?:Range(?:Push|Pop|Start|End)(?:Ex|[AW])?|Mark(?:Ex|[AW])?|RangeId_t|Initialize|(?:Domain|Name|EventAttributes|String|Resource)\w+)"
    r"|(?:cudnn|cutensor|cublasXt|cublasMg)[A-Z]\w+|cudaOcc[A-Z]\w+|cudaCreateChannelDesc(?:Half\d?|NV12)|cudaLaunch(?:KernelEx|Device\w*)"
    r"|cudaGraphKernelNode(?:Set\w+|UpdatesApply)|cudaGraphSetConditional|cudaGetCurrentGraphExec|cu(?:da)?GetExportTable|cudaGridDependencySynchronize"
    r"|cudaTriggerProgrammaticLaunchCompletion|cu(?:da)?MipmappedArrayGet\w+|cudaStream(?:Graph)?(?:FireAndForget|TailLaunch)\w*|cudaAsyncNotification\w+"
    r"|cudaSurfaceType\w+|cudaCG[GS]\w+|cudaPeerAccessDefault|cuCtxRecordEvent"
    r"|cublas(?:Set|Get)(?:Workspace|SmCountTarget)(?:_v2)?"
)
"""Names of libraries of which HIPIFY's tables have few, and those of CUDA 12.6's runtime and driver that they lack."""
