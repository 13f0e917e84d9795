"""An index with wheel variants (PEP 825, a draft), as pip and uv read it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from stackbuild.publishing.index import publish
from stackbuild.publishing.publication import Publication
from support.wheels import small_wheel, wheel_variant

UV = str(Path(sys.executable).with_name("uv"))
PIP = [sys.executable, "-m", "pip", "install", "--isolated", "--quiet", "--no-deps", "--no-cache-dir"]
PREVIEW = [UV, "pip", "install", "--quiet", "--no-config", "--preview-features", "wheel-variants"]


def installed(words: list[str], index: Path, target: Path) -> str:
    """What an installer takes: the content of the module, `'plain'` or `'variant'`."""
    words = [*words, "--target", str(target), "--index-url", index.as_uri(), "demo-pkg"]
    done = subprocess.run(words, capture_output=True, text=True, env={**os.environ, "UV_CACHE_DIR": str(target.with_suffix(".cache"))})
    assert done.returncode == 0, done.stderr
    return (target / "demo_pkg" / "__init__.py").read_text()


def published(folder: Path, label: str, **others: object) -> Path:
    variant = wheel_variant(small_wheel(folder, content="'variant'"), label, **others)
    publish((small_wheel(folder, content="'plain'"), variant), folder / "simple", Publication(variants=True))
    return folder / "simple"


@pytest.mark.parametrize("words", [PIP, PREVIEW[:5], PREVIEW], ids=["pip", "uv", "uv-preview"])
def test_a_gpu_variant_is_left_alone_where_nobody_asks_the_gpu(tmp_path: Path, words: list[str]) -> None:
    """No installer runs AMD's provider by itself. On a machine with the GPU the answer is the same."""
    assert installed(words, published(tmp_path, "gfx1100"), tmp_path / "target") == "'plain'"


def test_the_list_is_one_that_uv_chooses_by(tmp_path: Path) -> None:
    """Of a provider that uv has built in: the processor's level, which is known here."""
    provider = {"x86_64": {"requires": ["x86-64-variant-provider"]}}
    index = published(
        tmp_path,
        "v1",
        properties={"x86_64": {"level": ["v1"]}},
        providers=provider,
        **{"default-priorities": {"namespace": ["x86_64"]}},
    )
    assert installed(PREVIEW, index, tmp_path / "target") == "'variant'"
    assert installed(PIP, index, tmp_path / "plain") == "'plain'"
