"""NVIDIA libraries that HIPIFY's tables do not have at all: how their names are spelt, and what ROCm has for each.

Names and headers only; nothing is converted. NCCL's names are RCCL's, too: only its header counts.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

_DOCS = "https://rocm.docs.amd.com/projects"


@dataclass(frozen=True)
class Family:
    """One library: its names, its headers' beginnings, and what to use instead, with where that is described."""

    title: str
    names: re.Pattern[str]
    headers: tuple[str, ...]
    instead: str
    link: str


def _family(title: str, names: str, headers: tuple[str, ...], instead: str, link: str) -> Family:
    return Family(title, re.compile(names), headers, instead, link)


FAMILIES = (
    _family("NCCL", r"(?!)", ("nccl.h",), "RCCL has the same names: include <rccl/rccl.h> and link rccl", f"{_DOCS}/rccl/en/latest/"),
    _family("NPP", r"npp[is]?[A-Z]\w+|NPP_\w+", ("npp",), "RPP, whose functions have other names", f"{_DOCS}/rpp/en/latest/"),
    _family("nvJPEG", r"nvjpeg[A-Z2]\w+|NVJPEG_\w+", ("nvjpeg",), "rocJPEG decodes; it has other names, and does not encode", f"{_DOCS}/rocJPEG/en/latest/"),
    _family("CUPTI", r"cupti[A-Z]\w+|CUPTI_\w+", ("cupti",), "rocprofiler-sdk", f"{_DOCS}/rocprofiler-sdk/en/latest/"),
    _family("NVSHMEM", r"nvshmemx?_\w+|NVSHMEMX?_\w+", ("nvshmem",), "rocSHMEM", f"{_DOCS}/rocSHMEM/en/latest/"),
    _family("NVML", r"nvml[A-Z]\w+|NVML_\w+", ("nvml.h",), "AMD SMI", f"{_DOCS}/amdsmi/en/latest/"),
    _family("cuSPARSELt", r"cusparseLt[A-Z]\w+|CUSPARSELT_\w+", ("cusparseLt",), "hipSPARSELt", f"{_DOCS}/hipSPARSELt/en/latest/"),
    _family("cuFile", r"cuFile[A-Z]\w+|CU_FILE_\w+", ("cufile",), "nothing in ROCm 6 or 7.0: read to the host and copy", "https://github.com/ROCm/hipFile"),
    _family("nvCOMP", r"nvcomp[A-Z]\w+", ("nvcomp",), "hipCOMP", "https://github.com/ROCm/hipCOMP-core"),
    _family("NVDEC and NVENC", r"cuvid[A-Z]\w+|nvEnc[A-Z]\w+|NV_ENC_\w+", ("nvcuvid", "cuviddec", "nvEncodeAPI"), "rocDecode, or VA-API", f"{_DOCS}/rocDecode/en/latest/"),
    _family("OptiX", r"optix[A-Z]\w+|OPTIX_\w+", ("optix",), "HIP RT", "https://gpuopen.com/hiprt/"),
    _family("nvJitLink", r"nvJitLink\w+|nvPTXCompiler\w+|nvFatbin\w+", ("nvJitLink", "nvPTXCompiler", "nvFatbin"), "HIPRTC's linker, hiprtcLinkCreate", f"{_DOCS}/HIP/en/latest/how-to/hip_rtc.html"),
    _family("cuDSS", r"cudss[A-Z]\w+", ("cudss",), "rocSOLVER's refactorisation, for small problems", f"{_DOCS}/rocSOLVER/en/latest/"),
    _family("cuDNN's frontend", r"cudnn_frontend", ("cudnn_frontend",), "MIOpen's own graphs, or Composable Kernel", f"{_DOCS}/MIOpen/en/latest/"),
    _family("TensorRT", r"nvinfer1|nvonnxparser", ("NvInfer", "NvOnnxParser"), "MIGraphX", "https://rocm.docs.amd.com/projects/AMDMIGraphX/en/latest/"),
)  # fmt: skip
_FIRST = tuple(sorted({"npp", "NPP", "nvjpeg", "NVJPEG", "cupti", "CUPTI", "nvshmem", "NVSHMEM", "nvml", "NVML", "cusparseLt",
                       "CUSPARSELT", "cuFile", "CU_FILE", "nvcomp", "cuvid", "nvEnc", "NV_ENC", "optix", "OPTIX", "nvJitLink", "nvPTX",
                       "nvFatbin", "cudss", "cudnn_frontend", "nvinfer1", "nvonnxparser"}))  # fmt: skip


def of_name(name: str) -> Family | None:
    """The library that a name is spelt like one of."""
    if not name.startswith(_FIRST):
        return None
    return next((family for family in FAMILIES if family.names.fullmatch(name)), None)


@lru_cache(maxsize=4096)
def of_header(path: str) -> Family | None:
    """The library that a header belongs to."""
    last = path.rsplit("/", 1)[-1]
    return next((f for f in FAMILIES if last.startswith(f.headers) or path.startswith(f.headers)), None)
