"""The plugin execution provider that was built beside the library: the commands of its script, kernels/ep/gpu-check, and what that lacks here."""

from __future__ import annotations

import importlib.metadata
import re
import sys
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[1] / "ep" / "gpu-check"
# Side by side with the kernels' own checks: two processes, about as long.
CHECKS = (("nodes", "cases"), ("types", "graphs", "edges", "models", "threads"))
ALONE = ("devices", "times")  # compares devices' memory, and measures: nothing else may run
MODELS = (  # of the script's 22
    "resnet50:float32:8,resnet50:float16:1,resnet50:float16:32,bert-base:float32:8x512,bert-base:float16:1x128,bert-base:float16:8x512"
)
ONNXRUNTIME = (1, 31)  # the first whose record of where nodes run lists those that run alone, beside fused groups


def provider_library(library: Path) -> Path:
    return library.parent / "ep" / "libonnxruntime_ep_rockernels.so"


def missing_for(library: Path) -> str:
    """What there is not, to check the provider; "" if nothing."""
    if not provider_library(library).exists():
        return f"{provider_library(library)} is not there: it is built where --headers names ONNX Runtime's headers"
    missing = missing_modules(onnxruntime=find_spec("onnxruntime"), onnx=find_spec("onnx"))
    if missing:
        return missing
    return too_old()


def too_old() -> str:
    """Why the installed ONNX Runtime cannot prove where nodes run; "" where it can."""
    release = _version("onnxruntime")
    return f"onnxruntime {'.'.join(map(str, release))} is older than {'.'.join(map(str, ONNXRUNTIME))}" if release and release < ONNXRUNTIME else ""


def missing_for_torch() -> str:
    """Why models are timed without PyTorch beside them; "" where they are not."""
    specs = {"torchvision": find_spec("torchvision"), "transformers": find_spec("transformers")}
    return missing_modules(torch=find_spec("torch"), **specs)


def missing_modules(**modules: ModuleSpec | None) -> str:
    """Which of these are not there, by what `find_spec` says of each; "" for none."""
    missing = [name for name, spec in modules.items() if spec is None]
    return f"{', '.join(missing)} {'is' if len(missing) == 1 else 'are'} not installed" if missing else ""


def _version(module: str) -> tuple[int, ...]:
    """Of the distribution that brings it, whatever that is called; () where none says."""
    for name in importlib.metadata.packages_distributions().get(module, ()):
        if numbers := re.match(r"(\d+)\.(\d+)", importlib.metadata.version(name)):
            return int(numbers[1]), int(numbers[2])
    return ()


def command(library: Path, words: list[str], result: Path | None) -> list[str]:
    result_option = ["--json", str(result)] if result else []
    return [sys.executable, str(SCRIPT), "--library", str(provider_library(library)), *words, *result_option]


def checks(library: Path, folder: Path | None) -> dict[str, list[str]]:
    """Names and commands."""
    return {
        f"provider: {', '.join(names)}": command(
            library, ["--quick", *(word for name in names for word in ("--only", name))], folder / f"provider-checks-{number}.json" if folder else None
        )
        for number, names in enumerate(CHECKS)
    }


def times(library: Path, folder: Path | None, thorough: bool) -> list[str]:
    models = [] if thorough else ["--models", MODELS]
    return command(library, [*(word for name in ALONE for word in ("--only", name)), *models], folder / "provider-times.json" if folder else None)
