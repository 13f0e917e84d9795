"""Steps of ONNX Runtime: which versions have the ROCm EP, and how its dependencies are given."""

import pytest

from stackbuild.core.errors import PlanError
from support.recipe_plans import plan_of, words
from support.recipes import changed, text_of


def test_the_rocm_ep_is_refused_from_onnxruntime_1_23_with_the_reason() -> None:
    with pytest.raises(PlanError, match=r"removed in 1\.23") as stopped:
        plan_of(changed("rocm-6.4", ("version: 1.22.1\n", "version: 1.23.0\n")))
    assert "onnxruntime#26205" in stopped.value.what
    assert "migraphx" in stopped.value.next


def test_the_rocm_ep_is_refused_from_rocm_7_1() -> None:
    with pytest.raises(PlanError, match=r"7\.0 is the last"):
        plan_of(changed("rocm-6.4", ("rocm: 6.4.4", "rocm: 7.1.0")))


def test_an_empty_package_is_taken_also_where_the_base_has_a_real_one() -> None:
    step = plan_of(text_of("debian-sid-onnxruntime")).by_name["onnxruntime.cp314"]
    makes, empty = words(step), "/build/onnxruntime.cp314/empty"
    assert any(f"mkdir -p {empty}/lib/cmake/$p" in word for word in makes)
    for package in ("MIOpen", "hipblaslt", "rocblas"):
        assert f"{package}_DIR={empty}/lib/cmake/{package}" in makes
        assert f"{package}_DIR" not in step.must_use


@pytest.mark.parametrize(
    ("version", "option"), [("1.22.1", False), ("1.23.2", False), ("1.24.1", True), ("1.29.0", True)]
)
def test_dependencies_are_given_in_the_way_that_the_version_knows(version: str, option: bool) -> None:
    """`--cmake_deps_mirror_dir` came after 1.23 (onnxruntime#26042); before it, only `mirror/` of the tree is looked into."""
    plan = plan_of(changed("rocm-7.2", ("version: 1.22.1\n", f"version: {version}\n")))
    (step,) = (s for s in plan.steps if s.name.partition(".")[0] == "onnxruntime" and s.commands)
    assert ("--cmake_deps_mirror_dir" in words(step)) is option
    assert any(word.endswith("/source/mirror") for word in words(step)) is not option
