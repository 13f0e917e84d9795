"""Execution providers and their options."""

from __future__ import annotations

import pytest

from stackbuild.bench.providers import provider_options
from stackbuild.core.errors import UsageError
from stackbuild.tables.provider_options import builtin_providers


@pytest.mark.parametrize(
    ("provider", "option", "what", "next"),
    [
        (
            "ROCMExecutionProvider",
            "cudnn_conv_algo_search=EXHAUSTIVE",
            "it is one of CUDAExecutionProvider",
            "miopen_conv_exhaustive_search",
        ),
        ("MIGraphXExecutionProvider", "migraphx_fp16=1", "no option", "did you mean migraphx_fp16_enable?"),
        (
            "MIGraphXExecutionProvider",
            "migraphx_save_compiled_model=1",
            "any more: replaced by migraphx_model_cache_dir",
            "",
        ),
        ("CPUExecutionProvider", "device_id=0", "no option 'device_id'", "it takes no options"),
        ("ROCMExecutionProvider", "device_id", "is not KEY=VALUE", "device_id=0"),
    ],
)
def test_options_of_another_provider(provider: str, option: str, what: str, next: str) -> None:
    with pytest.raises(UsageError) as stop:
        provider_options(provider, [option])
    assert what in stop.value.what and next in stop.value.next


def test_every_option_of_the_table_is_taken_and_sourced() -> None:
    for provider in builtin_providers().values():
        assert provider.source
        assert len(provider_options(provider.name, [f"{o}=1" for o in provider.options])) == len(provider.options)
    assert provider_options("MyExecutionProvider", ["anything=1"]) == {"anything": "1"}
