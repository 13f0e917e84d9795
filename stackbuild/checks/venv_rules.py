"""The rules of `doctor --venv`: id, severity and text of each."""

from __future__ import annotations

from stackbuild.model.findings import ClauseRule, Severity, clause_rule

ERROR, WARNING = Severity.ERROR, Severity.WARNING

DAMAGED_METADATA = clause_rule(
    "SB-VENV-DAMAGED", ERROR, "The metadata of a distribution cannot be read",
    when="RECORD or METADATA of a distribution is not there, or cannot be read.",
    why="nothing can be said of what this distribution installed",
    fix="remove its .dist-info folder and install it again",
)  # fmt: skip
OVERWRITE = clause_rule(
    "SB-VENV-OVERWRITE", ERROR, "Two distributions installed the same files of onnxruntime/",
    when="The RECORD files of two distributions, such as onnxruntime and onnxruntime-rocm, have files in common.",
    why="the one installed last wrote over the other, and uninstalling either breaks both",
    fix="uninstall all of them, then install the one that you want",
)  # fmt: skip
MISSING_FILES = clause_rule(
    "SB-VENV-MISSING", ERROR, "Files of a distribution are not there",
    when="Files of onnxruntime/ that a distribution recorded do not exist.",
    why="another distribution was installed over it, or uninstalled after it",
    fix="uninstall it and install it again",
)  # fmt: skip
CHANGED_FILES = clause_rule(
    "SB-VENV-CHANGED", ERROR, "Files of a distribution have other bytes",
    when="Files of onnxruntime/ differ from the digests that their distribution recorded, or from the sizes where it recorded no digest.",
    why="another distribution was installed over it, or uninstalled after it",
    fix="uninstall it and install it again",
)  # fmt: skip
ORPHAN = clause_rule(
    "SB-VENV-ORPHAN", ERROR, "Files of onnxruntime/ belong to no distribution",
    when="onnxruntime/ has files that no RECORD names. A warning where no provider is among them and the package is whole.",
    why="they are left of an older installation, and may be loaded",
    fix="remove the folder, then install ONNX Runtime again",
)  # fmt: skip
TWICE = clause_rule(
    "SB-VENV-TWICE", ERROR, "A distribution is installed twice",
    when="Two .dist-info folders are of one distribution.",
    why="pip uninstalls one of them and leaves the other's files",
    fix="remove both .dist-info folders, then install it again",
)  # fmt: skip
VERSION = clause_rule(
    "SB-VENV-VERSION", ERROR, "The package and its distribution have different versions",
    when="`__version__` in onnxruntime/ is not the version of an installed distribution.",
    why="files of two releases lie in one folder",
    fix="uninstall ONNX Runtime and install it again",
)  # fmt: skip
ROCM_EP_GONE = clause_rule(
    "SB-VENV-ROCM-EP-GONE", ERROR, "onnxruntime-rocm has no ROCm provider",
    when="onnxruntime-rocm is installed, and libonnxruntime_providers_rocm.so is not there.",
    why="another distribution took its place, or the release no longer has the provider",
    fix="ask for MIGraphXExecutionProvider, or build ONNX Runtime 1.22 with `stackbuild build --recipe rocm-6.4`",
    link="onnxruntime#25181",
)  # fmt: skip
PLUGIN = clause_rule(
    "SB-VENV-PLUGIN", ERROR, "A plugin provider has no ONNX Runtime that can load it",
    when="A distribution of a plugin provider is installed beside no ONNX Runtime, or beside one that is too old for plugins.",
    why="older releases of ONNX Runtime load no plugin providers",
    fix="install the ONNX Runtime that the finding names",
)  # fmt: skip
NUMPY = clause_rule(
    "SB-VENV-NUMPY", ERROR, "ONNX Runtime was compiled against NumPy 1, and NumPy 2 is installed",
    when="NumPy 2 or newer is installed beside an ONNX Runtime before 1.19.",
    why="the import fails, or the process ends",
    fix="install `numpy<2`, or a newer ONNX Runtime",
)  # fmt: skip
REQUIRES = clause_rule(
    "SB-VENV-REQUIRES", ERROR, "A requirement is not met, or cannot be read",
    when="A distribution of ONNX Runtime requires what is not installed in a fitting version, or its requirement breaks PEP 508.",
    why="its import or its providers fail",
    fix="install what the finding names",
)  # fmt: skip
LOAD = clause_rule(
    "SB-VENV-LOAD", ERROR, "The loader does not find a library of a provider",
    when="A provider's library needs a shared library that is in none of the folders of the dynamic loader.",
    why="the provider cannot be loaded, and sessions run on the CPU without an error",
    fix="install the libraries that the finding names, or let the loader find them",
)  # fmt: skip
ABI = clause_rule(
    "SB-VENV-ABI", ERROR, "The extension module is for another Python",
    when="The file name of onnxruntime's extension module names another Python than the environment has.",
    why="Python does not see it, and `import onnxruntime` fails",
    fix="uninstall ONNX Runtime and install it again with the environment's own pip",
)  # fmt: skip
GLIBC = clause_rule(
    "SB-VENV-GLIBC", ERROR, "A library asks for a newer glibc than this machine has",
    when="A library of onnxruntime/ has a symbol version of glibc above that of the system.",
    why="the loader refuses it",
    fix="take a wheel with an older manylinux tag, or a newer distribution",
)  # fmt: skip
CPU_ONLY = clause_rule(
    "SB-VENV-CPU-ONLY", WARNING, "No provider for a GPU is installed",
    when="ONNX Runtime is installed, and neither a provider's library nor a plugin is there.",
    why="every session runs on the CPU",
    fix='`stackbuild start --gpu "RX 7900 XTX"` names the wheels and recipes for a GPU',
)  # fmt: skip
NONE = clause_rule(
    "SB-VENV-NONE", WARNING, "No ONNX Runtime is installed",
    when="The environment has no distribution of ONNX Runtime and no folder onnxruntime/.",
    why="there is nothing to look at",
    fix="install ONNX Runtime, or name another environment",
)  # fmt: skip
SYSTEM = clause_rule(
    "SB-VENV-SYSTEM", WARNING, "The environment also sees the system's ONNX Runtime",
    when="The environment was made with --system-site-packages, and the system has onnxruntime.",
    why="where the environment's own is removed, the system's is imported in silence",
    fix="set include-system-site-packages to false in its pyvenv.cfg",
)  # fmt: skip

RULES = tuple(rule for rule in globals().values() if isinstance(rule, ClauseRule))
"""All of them, in the order of this module."""
