"""HIPIFY's tables, as hipify-perl has them."""

from __future__ import annotations

import json

import pytest

from stackbuild.core.errors import UsageError
from stackbuild.hipify.tables import perl_table
from stackbuild.hipify.tables.tables import from_json, to_json
from support.hipify import UNSUPPORTED, script, small_tables


@pytest.mark.parametrize("new_layout", [False, True])
def test_both_layouts_of_hipify_perl_give_the_same_tables(new_layout: bool) -> None:
    tables = perl_table.parse(script(new_layout), "d")
    assert {s.cuda: s.hip for s in tables.simple}["cuda_runtime.h"] == "hip/hip_runtime.h"
    assert {n for n, by in tables.unsupported.items() if by == ("hip",)} == set(UNSUPPORTED)
    assert tables.unsupported["__vsub4"] == ("device_function",)
    assert tables.deprecated == {"cudaThreadExit": "10.0"} and tables.whitelist == ("cudaDevices",)
    assert tables.trial[0].hip == "hipTrial" and len(tables.host_calls) == 3
    assert tables.device_types_count is new_layout


def test_what_is_no_hipify_perl_is_refused() -> None:
    with pytest.raises(UsageError, match="no substitutions found"):
        perl_table.parse("#!/bin/sh\necho hello\n", "d")


def test_the_cached_form_is_the_same() -> None:
    tables = small_tables()
    again = from_json(json.loads(json.dumps(to_json(tables))))
    assert vars(again) == vars(tables)


def test_a_cache_of_another_format_is_refused() -> None:
    data = {**to_json(small_tables()), "format": 0}  # type: ignore[dict-item]
    with pytest.raises(ValueError, match="format 0"):
        from_json(data)
