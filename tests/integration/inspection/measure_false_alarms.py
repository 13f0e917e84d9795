"""Measure the false alarms of `inspect` on public wheels that its rules were not tuned on.

    .venv/bin/python tests/integration/inspection/measure_false_alarms.py [FOLDER]

Fetches the wheels of WHEELS with pip into FOLDER (default: a temporary one; those that are there are not fetched again),
and prints the rules that speak of each. Whether a finding is true is for a person to judge: docs/appendix/performance-inspect.md
has the judgement of the last measurement.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from stackbuild.inspection import inspect, judge
from stackbuild.model.findings import Severity

WHEELS = (
    "amdsmi==7.0.2", "cryptography==50.0.2", "ctranslate2==4.8.5", "cupy-rocm-7-0==14.2.0", "duckdb==2.0.0",
    "faiss-cpu==1.15.1", "flydsl==0.4.2", "grpcio==1.85.1", "h5py==3.16.0", "hip-python==10.0.0.0.1.2", "lightgbm==4.7.0",
    "llvmlite==0.50.0", "lxml==6.1.3", "matplotlib==3.11.2", "numba==0.68.1", "numpy==2.5.5", "onnx==1.23.2",
    "onnxruntime==1.32.0", "onnxruntime-openvino==1.24.1", "opencv-python-headless==5.0.0.93", "pandas==3.1.1",
    "pillow==13.0.0", "protobuf==7.36.2", "psutil==7.2.2", "pyzmq==27.3.0", "safetensors==0.8.0", "scikit-learn==1.9.1",
    "scipy==1.18.1", "sentencepiece==0.2.3", "shapely==2.2.0", "sherpa-onnx==2.0.1", "tokenizers==0.23.3",
    "xgboost==3.4.1", "zstandard==0.25.0",
)  # fmt: skip
_GLIBC = (12, 17, 24, 26, 27, 28)


def fetched(folder: Path, requirement: str) -> Path:
    """The wheel of a requirement in a folder, fetched for CPython 3.12 on x86-64 where it is not there."""
    pattern = requirement.replace("-", "_").replace("==", "-") + "-*.whl"
    if not list(folder.glob(pattern)):
        platforms = [f"manylinux_2_{minor}_x86_64" for minor in _GLIBC] + ["manylinux2014_x86_64"]
        words = ["download", "--quiet", "--no-deps", "--only-binary=:all:", "--python-version", "3.12", "--dest", folder]
        words += [word for platform in platforms for word in ("--platform", platform)]
        subprocess.run([sys.executable, "-m", "pip", *words, requirement], check=True, stderr=subprocess.DEVNULL)
    return next(folder.glob(pattern))


def main(folder: Path) -> None:
    """Print a line a wheel, and how many wheels each severity was found in."""
    wheels: Counter[Severity] = Counter()
    for requirement in WHEELS:
        found = {f.rule: f.severity for f in judge(inspect(fetched(folder, requirement)))}
        wheels.update(set(found.values()))
        loud = sorted(rule for rule, severity in found.items() if severity is not Severity.NOTE)
        print(f"{requirement:36} {', '.join(loud) or 'no error, no warning'}", flush=True)
    print(f"{len(WHEELS)} wheels: errors in {wheels[Severity.ERROR]}, warnings in {wheels[Severity.WARNING]}")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as made:
            main(Path(made))
