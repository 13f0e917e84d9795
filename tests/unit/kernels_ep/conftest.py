"""The provider's checks are scripts with bare names for modules: each test gets them fresh and leaves none behind."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

CHECKS = Path(__file__).parents[3] / "kernels" / "ep" / "checks"


@pytest.fixture
def checks(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], ModuleType]]:
    """Imports a module of kernels/ep/checks by its name."""
    monkeypatch.syspath_prepend(str(CHECKS))
    yield importlib.import_module
    for name, module in list(sys.modules.items()):
        if Path(getattr(module, "__file__", None) or "/").parent == CHECKS:
            del sys.modules[name]
