"""Where a side runs: an interpreter, with the side's wheel laid over it, and an environment without surprises."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from stackbuild.core import digest
from stackbuild.core.errors import MachineLacks, UsageError
from stackbuild.core.offline_pip import install_words
from stackbuild.core.user_folders import cache_home

#: What a worker may see of the caller's environment. Everything else is scrubbed: variables such as ORT_MIGRAPHX_*
#: override session options (ONNX Runtime's documentation of the MIGraphX execution provider), and a gate would judge
#: the caller's shell.
WORKER_VARIABLES = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "LD_LIBRARY_PATH", "ROCM_PATH", "HSA_OVERRIDE_GFX_VERSION",
        "ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES", "OMP_NUM_THREADS")  # fmt: skip


@dataclass(frozen=True)
class WorkerEnvironment:
    """An interpreter and the folder laid over its packages; `sha256` names the wheel that is in the folder.

    `launcher` is a command that runs the interpreter, such as a profiler.
    """

    python: Path
    overlay: Path | None = None
    artifact: str = ""
    sha256: str = ""
    env: tuple[tuple[str, str], ...] = ()
    launcher: tuple[str, ...] = ()

    def variables(self) -> dict[str, str]:
        """The whole environment of a worker."""
        inherited_variables = {name: os.environ[name] for name in WORKER_VARIABLES if name in os.environ}
        over = {"PYTHONPATH": str(self.overlay)} if self.overlay else {}
        return inherited_variables | {"PYTHONNOUSERSITE": "1", "PYTHONHASHSEED": "0"} | over | dict(self.env)


def plain_environment(python: Path | None = None) -> WorkerEnvironment:
    """The interpreter as it is: this one's own, or another's."""
    return WorkerEnvironment(_interpreter(python))


def _interpreter(python: Path | None) -> Path:
    """Absolute, for workers run elsewhere; not resolved: a virtual environment's interpreter is a link."""
    return python.absolute() if python else Path(sys.executable)


def wheel_environment(wheel: Path, cache: Path, python: Path | None = None) -> WorkerEnvironment:
    """The interpreter with that wheel over it, unpacked once per wheel by its own pip, without its dependencies.

    Raises UsageError where the wheel does not exist or pip refuses it for that interpreter.
    """
    if not wheel.is_file():
        raise UsageError("there is no such wheel", where=str(wheel), next="give the path of a .whl file")
    interpreter = _interpreter(python)
    sha256 = digest.of_file(wheel)
    overlay = cache.absolute() / "overlays" / digest.of_text(f"{sha256} {interpreter}")[:24]
    if not overlay.is_dir():
        _install(wheel, interpreter, overlay)
    return WorkerEnvironment(interpreter, overlay, wheel.name, sha256)


def _install(wheel: Path, python: Path, overlay: Path) -> None:
    """pip install --target into a folder beside, then rename: a killed install leaves no half overlay.

    It is stackbuild's own pip where there is one, since a clean environment has none.
    """
    own = [sys.executable, "-m", "pip", "--python", str(python)]
    pip = own if find_spec("pip") else [str(python), "-m", "pip"]
    staging_file = overlay.with_name(f"{overlay.name}.{os.getpid()}")
    words = install_words(["--no-deps", "--target", staging_file, wheel])
    ran = subprocess.run([*pip, *words], capture_output=True, text=True, check=False)
    if ran.returncode:
        last = (ran.stderr.strip() or "pip said nothing").splitlines()[-1]
        raise UsageError(
            f"pip does not install it for {python}: {last}", where=str(wheel),
            next="give --python an interpreter that the wheel's tags fit",
        )  # fmt: skip
    overlay.parent.mkdir(parents=True, exist_ok=True)
    try:
        staging_file.rename(overlay)
    except OSError as error:
        if not overlay.is_dir():  # unless another process just made the same one
            raise MachineLacks(str(error), where=str(overlay), next="make room or point --cache elsewhere") from error


def default_cache() -> Path:
    """~/.cache/stackbuild/bench, or where XDG_CACHE_HOME says."""
    return cache_home("measurements") / "stackbuild" / "bench"
