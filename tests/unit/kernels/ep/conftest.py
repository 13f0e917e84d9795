"""The provider's checks are scripts with bare names for modules: each test gets them fresh and leaves none behind."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

KERNELS = Path(__file__).parents[4] / "kernels"
CHECKS = KERNELS / "ep" / "checks"


@pytest.fixture
def checks(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], ModuleType]]:
    """Imports a module of kernels/ep/checks by its name."""
    monkeypatch.syspath_prepend(str(KERNELS))  # the kernels' own cases, of which some are the provider's too
    monkeypatch.syspath_prepend(str(CHECKS))
    yield importlib.import_module
    for name, module in list(sys.modules.items()):
        if KERNELS in Path(getattr(module, "__file__", None) or "/").parents or name in ("attention", "common"):
            del sys.modules[name]
