"""Which tests a module has, also where only tests/support imports it."""

from __future__ import annotations

import tests_of

from support.paths import ROOT


def test_a_module_that_tests_import_through_their_support_has_those_tests() -> None:
    users = tests_of.importing_tests()
    test, support = ROOT / "tests/integration/cluster/test_build_on.py", "from support.clusters import"
    assert support in test.read_text("utf-8")
    modules = {module for module, paths in users.items() if test in paths}
    assert "support.clusters" in modules
    assert {module for module in tests_of._imports(ROOT / "tests/support/clusters.py") if module.startswith("stackbuild.")} <= modules


def test_a_module_has_its_own_tests() -> None:
    assert ROOT / "tests/unit/sources/test_git.py" in tests_of.own_tests("stackbuild.sources.git")
