"""Rendered pipelines against the providers' own schemas, where the tool with those schemas is installed."""

import shutil
import subprocess
from pathlib import Path

import pytest

from stackbuild.load import load
from stackbuild.pipeline import pipeline

TOOL = shutil.which("check-jsonschema")


@pytest.mark.skipif(TOOL is None, reason="check-jsonschema is not installed")
@pytest.mark.parametrize(
    ("provider", "schema"),
    [("github", ("vendor.github-workflows",)), ("gitlab", ("vendor.gitlab-ci", "--data-transform", "gitlab-ci"))],
)
def test_a_pipeline_passes_its_providers_schema(provider: str, schema: tuple[str, ...], tmp_path: Path) -> None:
    recipes = tuple(load(name).recipe for name in ("debian-13", "rocm-7.2"))
    path = tmp_path / "pipeline.yml"
    path.write_text(pipeline(provider, recipes, ("gfx1100", "gfx942")))
    done = subprocess.run([str(TOOL), "--builtin-schema", *schema, str(path)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
