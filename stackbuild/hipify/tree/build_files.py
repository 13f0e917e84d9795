"""CUDA in build files: what CMake's and make's words become for HIP. Reported, not changed: each project has its own way."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from stackbuild.core.folder_walk import walk_folders
from stackbuild.core.plain_file import read_regular
from stackbuild.hipify.tree.files import SKIPPED_FOLDERS
from stackbuild.model.findings import Finding, Severity, SourceLocation

_CMAKE_LINK = "https://rocm.docs.amd.com/en/latest/conceptual/cmake-packages.html"
_TARGETS = {
    "cudart": "hip::host (hip::device where kernels are compiled)", "cudart_static": "hip::host", "cuda_driver": "hip::host", "cublas": "roc::hipblas",
    "cublasLt": "roc::hipblaslt", "cufft": "hip::hipfft", "curand": "hip::hiprand", "cusparse": "roc::hipsparse", "cusolver": "roc::hipsolver",
    "nvrtc": "hiprtc::hiprtc", "nvToolsExt": "roctx64 (find_library)", "nvtx3": "roctx64 (find_library)", "nvml": "amd_smi",
    "cudnn": "MIOpen", "cupti": "rocprofiler-sdk::rocprofiler-sdk",
}  # fmt: skip
_LIBRARIES = {
    "cudart": "-lamdhip64", "cudart_static": "-lamdhip64", "cuda": "-lamdhip64", "cublas": "-lhipblas", "cublasLt": "-lhipblaslt", "cufft": "-lhipfft",
    "curand": "-lhiprand", "cusparse": "-lhipsparse", "cusolver": "-lhipsolver", "nvrtc": "-lhiprtc", "nvToolsExt": "-lroctx64", "cudnn": "-lMIOpen",
    "nccl": "-lrccl", "cudadevrt": "nothing: kernels cannot start kernels",
}  # fmt: skip
_CMAKE = (
    (r"\bfind_package\s*\(\s*CUDA\b", "find_package(hip REQUIRED), and enable_language(HIP)"),
    (r"\bfind_package\s*\(\s*CUDAToolkit\b", "find_package(hip REQUIRED CONFIG), and a package for each library: hipblas, hipfft, hiprand"),
    (r"\benable_language\s*\([^)]*\bCUDA\b", "enable_language(HIP), which CMake has since 3.21"),
    (r"\bproject\s*\([^)]*\bCUDA\b", "project(… LANGUAGES CXX HIP)"),
    (r"\bcuda_add_(?:executable|library)\b", "add_executable or add_library, and set_source_files_properties(… PROPERTIES LANGUAGE HIP)"),
    (r"\bcuda_(?:compile|include_directories|select_nvcc_arch_flags)\w*", "target_compile_options and CMAKE_HIP_ARCHITECTURES"),
    (r"\bCMAKE_CUDA_(\w+)", "CMAKE_HIP_{0}"),
    (r"\bCUDA_(ARCHITECTURES|STANDARD|STANDARD_REQUIRED|EXTENSIONS|SEPARABLE_COMPILATION|RESOLVE_DEVICE_SYMBOLS)\b",
     "HIP_{0}; for separable compilation the options -fgpu-rdc and --hip-link"),
    (r"\bCUDA_(?:NVCC_FLAGS|LIBRARIES|INCLUDE_DIRS|TOOLKIT_ROOT_DIR|CUDART_LIBRARY|CUBLAS_LIBRARIES|CUFFT_LIBRARIES)\b", "CMAKE_HIP_FLAGS, and the targets of hip's package"),
    (r"\$<COMPILE_LANGUAGE:CUDA>|\$<COMPILE_LANG_AND_ID:CUDA\b", "$<COMPILE_LANGUAGE:HIP>"),
    (r"\bLANGUAGE\s+CUDA\b", "LANGUAGE HIP"),
)  # fmt: skip
_MAKE = (
    (r"(?<![\w./-])nvcc\b", "hipcc"),
    (r"(?:--?generate-code|-gencode|-arch)[= ]\S*(?:sm|compute)_\w+|(?<!\w)-arch=\w+", "--offload-arch=gfx1100, one for each GPU"),
    (r"--(?:expt-relaxed-constexpr|expt-extended-lambda|extended-lambda)\b", "nothing: hipcc does so anyway"),
    (r"(?<!\w)-Xcompiler\b", "the option itself: hipcc is clang and takes it"),
    (r"(?<!\w)-rdc=true\b|(?<!\w)-dc\b", "-fgpu-rdc"),
    (r"(?<!\w)--?use_fast_math\b", "-ffast-math"),
    (r"(?<!\w)-maxrregcount\S*", "__launch_bounds__, or --gpu-max-threads-per-block"),
    (r"(?<!\w)--?ptxas-options\S*|(?<!\w)-lineinfo\b|(?<!\w)-Xptxas\b", "nothing, or -Rpass-analysis=kernel-resource-usage"),
)  # fmt: skip
_TARGET = re.compile(r"\bCUDA::(\w+)")
_LIBRARY = re.compile(r"(?<![\w-])-l(\w+)")
_PATTERNS = {kind: tuple((re.compile(p), to) for p, to in rows) for kind, rows in (("cmake", _CMAKE), ("make", _MAKE))}
_MOST = 1 << 20


def build_findings(sources: tuple[Path, ...], out: Path) -> tuple[Finding, ...]:
    """What the build files below folders say of CUDA, each file's words once, where they first stand, with the HIP form."""
    findings: list[Finding] = []
    for source in sources:
        prefix = f"{source.resolve().name}/" if len(sources) > 1 else ""
        texts = dict(_texts(source, out)) if source.is_dir() else {}
        hip_folders = {_project_folder(name) for name, text in texts.items() if _SETS_UP_HIP.search(text)}
        for name, text in texts.items():
            has_hip = not hip_folders.isdisjoint((_project_folder(name), *_folders(_project_folder(name))))
            findings += _of_file(prefix + name, text, has_hip, _has_twin(name, texts))
    return tuple(findings)


def _texts(source: Path, out: Path) -> Iterator[tuple[str, str]]:
    """The build files of a folder, by their paths in it, in order. What cannot be read is not a source; hipify says so of sources."""
    for path in sorted(_files(source, out)):
        if (data := read_regular(path, _MOST)) is not None:
            yield path.relative_to(source).as_posix(), data.decode("utf-8", "surrogateescape")


def _project_folder(name: str) -> str:
    """The folder that a build file is for: one in a folder `cmake` is for what that lies in."""
    folder = name.rpartition("/")[0]
    return _CMAKE_FOLDER.split(f"/{folder}", maxsplit=1)[0].removeprefix("/")


def _folders(folder: str) -> Iterator[str]:
    """The folders around a folder, up to the tree itself."""
    while folder:
        folder = folder.rpartition("/")[0]
        yield folder


def _has_twin(name: str, texts: Mapping[str, str]) -> bool:
    """Whether a build file in a folder for CUDA has one for HIP beside it: `cuda/CMakeLists.txt` and `hip/CMakeLists.txt`."""
    folder, _, last = name.rpartition("/")
    parts = folder.split("/")
    twins = (
        "/".join((*parts[:at], _CUDA_WORD.sub(hip, part), *parts[at + 1 :], last))
        for at, part in enumerate(parts)
        for hip in ("hip", "rocm", "HIP", "ROCM")
        if _CUDA_WORD.search(part)
    )
    return any(twin in texts for twin in twins)


_CUDA_WORD = re.compile(r"(?<![a-z])cuda(?![a-z])", re.I)


def _kind(name: str) -> str:
    low = name.lower()
    if low == "cmakelists.txt" or low.endswith(".cmake"):
        return "cmake"
    return "make" if low.startswith(("makefile", "gnumakefile")) or low.endswith((".mk", ".mak")) else ""


def _files(folder: Path, out: Path) -> Iterator[Path]:
    top, output_folder = folder.resolve(), out.resolve()
    left_out = folder / output_folder.relative_to(top) if output_folder.is_relative_to(top) else None
    for here, folders, names in walk_folders(folder):
        folders[:] = [name for name in folders if name not in SKIPPED_FOLDERS and Path(here, name) != left_out]
        yield from (Path(here) / name for name in names if _kind(name))


def _of_file(name: str, text: str, has_hip: bool, has_twin: bool) -> Iterator[Finding]:
    """The findings of one build file. `has_hip` says that it, or one above it, has a build for HIP; `has_twin` see above."""
    kind = _kind(name.rpartition("/")[2])
    has_nvcc = "nvcc" in text.lower() or "cuda" in text.lower()
    is_for_hip = (
        has_twin or "hip" in name.rpartition("/")[2].lower() or (kind == "make" and _HIPCC.search(text) is not None)
    )
    uses: dict[str, tuple[int, int, str]] = {}
    questions: dict[str, tuple[int, int, str]] = {}
    branches = _CudaBranches()
    depth = 0  # of the brackets of a question that has several lines
    if kind == "cmake":
        text = _BRACKET_COMMENT.sub(lambda comment: "\n" * comment.group().count("\n"), text)
    for number, line in enumerate(text.split("\n"), 1):
        code = line.split("#", 1)[0]
        branches.read(code if kind == "cmake" else "")
        asks = kind == "cmake" and (depth > 0 or _QUESTION.match(code) is not None)
        depth = max(0, depth + code.count("(") - code.count(")")) if asks else 0
        is_question = asks or (has_hip and branches.are_open)
        for words, column, to in _words(kind, code):
            is_asked = is_question or (
                has_hip and (words.startswith("$<") or (to.startswith("CMAKE_HIP_") and to in text))
            )
            if words not in _COMMON_OPTIONS or (has_nvcc and not _PACKER.search(code)):
                (questions if is_asked else uses).setdefault(" ".join(words.split()), (number, column + 1, to))
    for words, (number, column, to) in (questions | uses).items():
        yield Finding(
            "HIPIFY-BUILD-FILE",
            Severity.WARNING if words in uses and not is_for_hip else Severity.NOTE,
            name,
            f"{_with_bracket(words)} is CUDA's",
            "build files are not converted: with this one the HIP sources are built for CUDA, or not at all",
            f"for HIP: {to}",
            _CMAKE_LINK if kind == "cmake" else "",
            SourceLocation(name, number, column),
        )


class _CudaBranches:
    """Whether a line of CMake's stands in a branch that is for CUDA, as the lines before it say.

    A branch after one for HIP is not HIP's either.
    """

    def __init__(self) -> None:
        self._chains: list[
            tuple[bool, bool]
        ] = []  # whether the open branch is one that HIP leaves out; whether one up to it is for HIP

    @property
    def are_open(self) -> bool:
        return any(is_cudas for is_cudas, _ in self._chains)

    def read(self, code: str) -> None:
        """Take the next line, without its comment."""
        command = _BRANCH.match(code)
        if command is None:
            return
        word, condition = command[1].lower(), command[2]
        had_hip = self._chains.pop()[1] if word != "if" and self._chains else False
        if word == "endif":
            return
        is_over_cuda = _HIP_OVER_CUDA.search(condition) is not None
        is_hips = word != "else" and not is_over_cuda and bool(_HIP.search(condition)) and not _NOT.search(condition)
        is_cudas = bool(_CUDA.search(condition)) and not _NOT_CUDA.search(condition) and not is_hips
        is_cudas = is_cudas or is_over_cuda
        self._chains.append((had_hip or is_cudas, had_hip or is_hips))


_BRANCH = re.compile(r"\s*((?:else)?if|else|endif)\s*\((.*)", re.I)
_CUDA = re.compile(r"CUDA|NVCC|NVIDIA|CUDNN", re.I)
_NOT_CUDA = re.compile(
    r"\bNOT\s+(?:TARGET\s+|DEFINED\s+)?\S*(?:CUDA|NVCC|NVIDIA|CUDNN)|(?<![a-z])(?:HIP|ROCM)(?![a-z])", re.I
)
_HIP = re.compile(r"(?<![a-z])(?:HIP|ROCM|hipcc)(?![a-z])", re.I)
_HIP_OVER_CUDA = re.compile(r"\bHIP_PLATFORM\W+STREQUAL\W+nv(?:cc|idia)\b", re.I)
_NOT = re.compile(r"\bNOT\b", re.I)
_HIPCC = re.compile(r"\bhipcc\b")
_SETS_UP_HIP = re.compile(
    r"\benable_language\s*\([^)]*\bHIP\b|\bfind_package\s*\(\s*(?:hip|HIP|ROCM)\b|\bhip_add_(?:executable|library)\b|\bLANGUAGE\s+HIP\b"
    r"|\bCMAKE_HIP_|\bproject\s*\([^)]*\bHIP\b|\bhip::(?:host|device)\b|(?m:^\s*(?:else)?if\s*\([^)\n]*(?:HIP|ROCM)(?![a-z]))"
)
"""What a build for HIP has: a branch for CUDA beside it is the other one."""
_CMAKE_FOLDER = re.compile(r"/cmake(?=/|\Z)", re.I)


_COMMON_OPTIONS = ("-dc", "-Xcompiler")
"""Options that gzip and libtool have too."""
_PACKER = re.compile(r"\b(?:gzip|bzip2|xz|lzip|zstd|libtool|LIBTOOL)\b")
_BRACKET_COMMENT = re.compile(r"#\[(=*)\[.*?\]\1\]", re.S)
_QUESTION = re.compile(r"\s*(?:(?:else|end)?if|else|message)\s*\(", re.I)
"""A line of CMake's that only asks whether there is CUDA, such as `if(TARGET CUDA::cudart)`, or says so."""


def _with_bracket(words: str) -> str:
    """A call of CMake's as it is quoted: with the bracket that closes what was read of it."""
    return f"{words} …)" if "(" in words and ")" not in words else words


def _words(kind: str, code: str) -> Iterator[tuple[str, int, str]]:
    """CUDA's words in a line without its comment, each with its column and the HIP form."""
    for pattern, to in _PATTERNS[kind]:
        for match in pattern.finditer(code):
            yield match.group(), match.start(), to.format(*match.groups())
    for match in _TARGET.finditer(code) if kind == "cmake" else ():
        yield match.group(), match.start(), _TARGETS.get(match[1], "the target of the HIP library's package")
    for match in _LIBRARY.finditer(code) if kind == "make" else ():
        if match[1] in _LIBRARIES:
            yield match.group(), match.start(), _LIBRARIES[match[1]]
