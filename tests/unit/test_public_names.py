"""The public names: what type checkers read of them is what the package hands out."""

from __future__ import annotations

import ast

import stackbuild
from support.paths import ROOT


def test_the_stub_imports_each_public_name_from_the_module_that_is_loaded_for_it() -> None:
    tree = ast.parse((ROOT / "stackbuild/__init__.pyi").read_text("utf-8"))
    imports = {
        alias.name: node.module for node in tree.body if isinstance(node, ast.ImportFrom) for alias in node.names
    }
    assert imports == {name: f"stackbuild.{module}" for name, module in stackbuild._MODULES.items()}
    (names,) = (ast.literal_eval(node.value) for node in tree.body if isinstance(node, ast.Assign))
    assert names == stackbuild.__all__ == sorted(imports)


def test_each_public_name_is_loaded_when_it_is_used() -> None:
    for name in stackbuild.__all__:
        assert getattr(stackbuild, name).__module__.startswith(f"stackbuild.{stackbuild._MODULES[name]}")
