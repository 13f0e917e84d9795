"""Every pattern of the recipe's schema is explained in words, and what was meant is found."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterator
from typing import Any

import pytest

from stackbuild.core.sizes import SIZE
from stackbuild.model.recipe import recipe_schema
from stackbuild.recipe.forms import FORMS, advice


def patterns(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        if isinstance(node.get("pattern"), str):
            yield node["pattern"]
        yield from node.get("patternProperties", {})
    for child in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from patterns(child)


def test_every_pattern_has_words_and_an_example_that_fits() -> None:
    assert set(patterns(recipe_schema())) == set(FORMS)
    for pattern, form in FORMS.items():
        assert form.words and (not form.example or re.search(pattern, form.example)), pattern


@pytest.mark.parametrize(
    ("pattern", "value", "expected"),
    [
        (SIZE, "14 gigabytes", "write `14G`"),
        (SIZE, "14  GiB", "write `14G`"),
        (SIZE, "9" * 400 + " GB", "write it such as `8G`"),
        (SIZE, 14, "write `14G`"),
        (SIZE, "1,5 GB", "write `1.5G`"),
        (SIZE, "-2G", "write `2G`"),
        (SIZE, "much", "write it such as `8G`"),
        (r"^[a-z][a-z0-9._-]{0,47}$", "My Kernels", "write `my-kernels`"),
        (r"^1\.[0-9]+\.[0-9]+$", "v1.22.1", "write `1.22.1`"),
        (r"^(https|ssh)://", "git@github.com:ROCm/rocMLIR", "write `ssh://git@github.com/ROCm/rocMLIR`"),
        (r"^(https|ssh)://", "github.com/ROCm/rocMLIR", "write `https://github.com/ROCm/rocMLIR`"),
        (r"^[0-9a-f]{64}$", "0d8ef5af", "write the whole digest, as `sha256sum FILE` prints it"),
    ],
)
def test_what_was_meant(pattern: str, value: object, expected: str) -> None:
    assert advice(pattern, value) == expected


def test_a_digest_in_base64_is_written_in_hexadecimal() -> None:
    digest = hashlib.sha256(b"x")
    text = base64.b64encode(digest.digest()).decode()
    for given in (f"sha256-{text}", text):
        assert advice(r"^[0-9a-f]{64}$", given) == f"write `{digest.hexdigest()}`: the same digest in hexadecimal"
    assert "SHA-512" in advice(r"^[0-9a-f]{64}$", "sha512-" + base64.b64encode(bytes(64)).decode())


@pytest.mark.parametrize(
    "text", ["libonnxruntime-dev_1.27.0+dfsg-1_amd64.deb", "pool/main/o/libonnxruntime-dev_1.27.0_amd64.deb", "libonnxruntime-dev_1.27.0"]
)
def test_the_file_of_a_debian_package_is_answered_by_its_name(text: str) -> None:
    assert advice(r"^[a-z0-9][a-z0-9+.-]+$", text) == "write `libonnxruntime-dev`"
