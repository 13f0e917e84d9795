"""ONNX Runtime custom operators with a CPU and a HIP implementation.

    import onnxruntime, stackbuild_kernels
    options = onnxruntime.SessionOptions()
    options.register_custom_ops_library(stackbuild_kernels.get_library_path())

The operators have the names, inputs and attributes of ONNX's own (MultiHeadAttention: of com.microsoft's), in the domain
`DOMAIN`. They run on the CPU unless the session uses the ROCm execution provider (ONNX Runtime up to 1.22) or the environment
has STACKBUILD_KERNELS_DEVICE=gpu, which copies each call's tensors to the GPU and back.
"""

from pathlib import Path

DOMAIN = "stackbuild.kernels"
OPERATORS = ("Attention", "BatchNormalization", "Conv", "GroupNormalization", "LeakyRelu", "MultiHeadAttention")

__all__ = ["DOMAIN", "OPERATORS", "get_hip_library_path", "get_library_path"]


def get_library_path() -> str:
    """Absolute path of the custom-op library, for SessionOptions.register_custom_ops_library."""
    return str(Path(__file__).resolve().parent / "libstackbuild_kernels.so")


def get_hip_library_path() -> str:
    """Absolute path of the library with the device code; loading it needs the ROCm runtime (libamdhip64).

    FileNotFoundError where this package was built without device code (SBK_PLATFORM=cpu).
    """
    path = Path(__file__).resolve().parent / "libstackbuild_kernels_hip.so"
    if not path.is_file():
        raise FileNotFoundError(f"{path}: this package was built without device code, for the CPU alone")
    return str(path)
