"""What every probe shares. Probes run in the clean environment, where stackbuild is not installed.

    python NAME.py JOB ANSWER

JOB and ANSWER are numbers of open descriptors; nothing is read from stdout, where ONNX Runtime prints as it likes.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from collections.abc import Callable
from typing import Any

JobDict = dict[str, Any]


def main(do: Callable[[JobDict], JobDict]) -> None:
    with os.fdopen(int(sys.argv[1]), encoding="utf-8") as job_file:
        job = json.load(job_file)
    try:
        for name in job["preload"]:
            importlib.import_module(name).preload()
        answer = do(job)
    except Exception as error:  # every kind: the caller reports it as the probe's result
        answer = {"error": error_text(error), "kind": type(error).__name__}
    with os.fdopen(int(sys.argv[2]), "w", encoding="utf-8") as answer_file:
        json.dump(answer, answer_file)


def error_text(error: BaseException) -> str:
    """The error and what it came from: extension modules raise an ImportError that says nothing itself."""
    parts: list[str] = []
    while error is not None and len(parts) < 3:
        parts.append(f"{type(error).__name__}: {str(error)[:1000]}".rstrip(": "))
        error = error.__cause__ or error.__context__  # type: ignore[assignment]
    return ", from ".join(parts)
