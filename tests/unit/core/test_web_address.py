"""Addresses that an index may be served at."""

from __future__ import annotations

import pytest

from stackbuild.core.web_address import is_index_address


@pytest.mark.parametrize(
    "url",
    ["https://e.org", "https://e.org/", "http://e.org:8080/a.b/..c/simple/", "file:///srv/a%20b/simple", "https://e.org/%C3%BC/x%2B1", "https://e.org/a..b"],
)  # fmt: skip
def test_an_address(url: str) -> None:
    assert is_index_address(url)


@pytest.mark.parametrize(
    "url",
    ["", "ftp://e.org/x", "https://u:p@e.org/x", "https://e.org/x?y", "https://e.org/$(id)", "https://e.org/a b", "javascript:alert(1)",
     "https://e.org/../x", "https://e.org/a/..", "https://e.org/./x", "https://e.org/%2e%2E/x", "https://e.org/a%2f..%2fx", "file:///srv/../etc",
     "https://e.org/a%0ab", "https://e.org/a%00", "https://e.org/%1b[31m", "https://e.org/a%7F", "https://e.org/%E2%80%AEx", "https://e.org/a%", "https://e.org/%zz"],
)  # fmt: skip
def test_no_address(url: str) -> None:
    assert not is_index_address(url)
