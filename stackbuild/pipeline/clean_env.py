"""A clean Python environment made of the wheelhouse alone: where wheels are proved and measured. No network."""

from __future__ import annotations

import subprocess
import sys
import venv
from pathlib import Path

from stackbuild.core.errors import MachineLacks
from stackbuild.store import atomic as files
from stackbuild.store.store import Store

WHOLE = "whole"


def clean_python(wheelhouse: Path, name: str, store: Store) -> Path:
    """The interpreter of an environment with every wheel of the wheelhouse, made once for each `name` (its digest).

    Raises MachineLacks where venv or pip refuse.
    """
    home = store.root / "envs" / name[:24]
    python = home / "bin" / "python"
    with store.lock(f"env.{name[:24]}", lambda pid: None, lambda: None):
        if not (home / WHOLE).exists():
            files.remove(home)
            _make(home, wheelhouse)
            (home / WHOLE).write_text(name)
    return python


def _make(home: Path, wheelhouse: Path) -> None:
    try:
        venv.create(home, with_pip=True, symlinks=True)
    except (subprocess.CalledProcessError, OSError) as error:
        raise MachineLacks(f"no virtual environment: {error}", next="apt-get install python3-venv") from None
    wheels = sorted(str(path) for path in wheelhouse.glob("*.whl"))
    words = [
        str(home / "bin" / "python"),
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-index",
        "--no-deps",
        "--no-compile",
        *wheels,
    ]
    done = subprocess.run(words, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        version = f"{sys.version_info.major}.{sys.version_info.minor}"
        raise MachineLacks(
            f"pip does not install the wheelhouse for Python {version}: {done.stderr.strip()[-300:]}",
            where=str(wheelhouse),
            next="run `stackbuild lock` with a Python the recipe lists",
        )
