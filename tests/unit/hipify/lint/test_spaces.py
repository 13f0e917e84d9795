"""Names of CUB and Thrust that the target's headers do not spell."""

from __future__ import annotations

import pytest

from stackbuild.hipify.model import Target
from support.hipify import hip


@pytest.mark.parametrize(
    ("code", "rocm", "rule"),
    [
        ("cub::DeviceReduce::TransformReduce(a, b);", "5.7", "LINT-CUB-NAME"),
        ("cub::DeviceReduce::TransformReduce(a, b);", "6.4", ""),
        ("cub::NobodysName<int> a;", "6.4", "LINT-CUB-NAME"),
        ("cub::NobodysName<int> a;", "9.0", ""),
        ("cub::BlockReduce<int, 32>::TempStorage a;", "6.4", ""),
        ("mine::cub::NobodysName<int> a;", "6.4", ""),
        ("thrust::make_tabulate_output_iterator(f);", "6.4", "LINT-THRUST-NAME"),
        ("thrust::cuda_category c;", "6.4", "LINT-THRUST-NAME"),
        ("thrust::cuda::par.on(s);", "6.4", ""),
        ("thrust::reduce(a, b);", "6.4", ""),
        ("auto a = CUB_NS_PREFIX;", "6.4", "LINT-CUB-MACRO"),
        ("#ifdef CUB_NS_PREFIX\n#endif", "6.4", ""),
        ("#define CUB_NS_PREFIX\nCUB_NS_PREFIX", "6.4", ""),
    ],
)
def test_names_that_the_targets_cub_and_thrust_have_not(code: str, rocm: str, rule: str) -> None:
    rules = [f.rule for f in hip(code + "\n", target=Target(rocm=rocm)).findings if "CUB" in f.rule or "THRUST" in f.rule]
    assert rules == ([rule] if rule else [])
