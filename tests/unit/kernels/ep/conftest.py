"""The provider's checks lie outside the package: each test gets them fresh and leaves none behind."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

KERNELS = Path(__file__).parents[4] / "kernels"


@pytest.fixture
def checks(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], ModuleType]]:
    """Imports a module of kernels/tools/ep by its name."""
    monkeypatch.syspath_prepend(str(KERNELS))
    yield lambda name: importlib.import_module(f"tools.ep.{name}")
    for name, module in list(sys.modules.items()):
        if KERNELS in Path(getattr(module, "__file__", None) or "/").parents or name == "attention":
            del sys.modules[name]
