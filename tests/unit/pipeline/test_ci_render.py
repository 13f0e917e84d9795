"""`ci render`: the pipelines of each provider, as values."""

import json
from pathlib import Path
from typing import Any

import pytest

from stackbuild.core import yaml as yamlread
from stackbuild.core.errors import UsageError
from stackbuild.pipeline.ci_render import ACTIONS, pipeline
from stackbuild.recipe.load import load, text_of

FROM = "tools/stackbuild-1.0-py3-none-any.whl"
RECIPES = ("debian-13", "rocm-7.2")


@pytest.mark.parametrize("provider", ["github", "gitlab"])
def test_a_pipeline_is_yaml_with_a_job_for_each_gpu(provider: str) -> None:
    text = pipeline(provider, tuple(load(r) for r in RECIPES), ("gfx1100",), FROM)
    data, _ = yamlread.compose(text, provider)
    assert isinstance(data, dict)
    jobs = data["jobs"] if provider == "github" else data
    assert isinstance(jobs, dict)
    assert {"build", "prove-debian-13-gfx1100", "prove-rocm-7-2-gfx1100", "publish"} <= set(jobs)


def test_githubs_token_only_reads_and_every_action_is_a_commit() -> None:
    text = pipeline("github", tuple(load(r) for r in RECIPES), ("gfx1100",), FROM)
    data, _ = yamlread.compose(text, "github")
    assert isinstance(data, dict) and data["permissions"] == {"contents": "read"}
    used = {line.split("uses: ")[1] for line in text.splitlines() if "uses: " in line}
    assert used == set(ACTIONS.values())
    assert all(len(a.split("@")[1].split(" ")[0]) == 40 for a in used)
    publish = data["jobs"].pop("publish")
    assert "secrets." not in json.dumps(data) and publish["environment"] == "release"
    assert [key for step in publish["steps"] for key, value in step.get("env", {}).items() if "secrets." in value] == ["RELEASE_KEY"]


def test_a_fork_does_not_reach_the_machines_with_gpus() -> None:
    data, _ = yamlread.compose(pipeline("github", (load("debian-13"),), ("gfx90a",), FROM), "github")
    assert isinstance(data, dict) and isinstance(data["jobs"], dict)
    job = data["jobs"]["prove-debian-13-gfx90a"]
    assert isinstance(job, dict) and job["if"] == "github.event_name != 'pull_request'"


def test_a_jenkinsfile_balances_its_braces() -> None:
    text = pipeline("jenkins", tuple(load(r) for r in RECIPES), ("gfx90a",), FROM)
    assert text.count("{") == text.count("}") > 20


@pytest.mark.parametrize(("provider", "gfx"), [("travis", "gfx90a"), ("github", "gfx906")])
def test_a_wrong_provider_or_gpu_is_named(provider: str, gfx: str) -> None:
    with pytest.raises(UsageError) as stopped:
        pipeline(provider, (load("debian-13"),), (gfx,), FROM)
    assert stopped.value.next


def jobs_of(provider: str, *recipes: str, gfx: tuple[str, ...] = ()) -> dict[str, Any]:
    data: Any = yamlread.compose(pipeline(provider, tuple(load(r) for r in recipes), gfx, FROM), provider)[0]
    found: dict[str, Any] = data["jobs"] if provider == "github" else data
    return found


def own(path: Path, name: str, old: str = "debian-13", gfx: str = "") -> str:
    text = text_of(old).replace(f"name: {old}", f"name: {name}")
    path.write_text(text.replace("gfx: [", f"gfx: [{gfx}", 1))
    return str(path)


@pytest.mark.parametrize("provider", ["github", "gitlab", "jenkins"])
def test_a_pipeline_builds_the_file_that_was_given(
    provider: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file may hold a recipe with a bundled one's name: what is built and proved is the file."""
    monkeypatch.chdir(tmp_path)
    own(tmp_path / "ours.yaml", "debian-13")
    text = pipeline(provider, (load("ours.yaml"), load("debian-13")), ("gfx90a",), FROM)
    assert '"ours.yaml"' in text and '"debian-13"' in text
    assert "prove-debian-13-gfx90a" in text and "prove-debian-13-2-gfx90a" in text
    assert pipeline(provider, (load(str(tmp_path / "ours.yaml")),), (), FROM) == pipeline(provider, (load("ours.yaml"),), (), FROM)


def test_a_file_that_a_checkout_would_not_have_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    for name in ("ours.yaml", "here/a b.yaml", 'here/"; id.yaml'):
        with pytest.raises(UsageError, match="cannot be told"):
            pipeline("github", (load(own(tmp_path / name, "debian-13")),), (), FROM)


def test_each_job_of_a_pipeline_has_a_name_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    own(tmp_path / "r.yaml", '"null"', gfx='"gfx942:xnack-", "gfx942:xnack+", ')
    gpus = ("gfx942:xnack-", "gfx942:xnack+", "gfx942:xnack-")
    jobs = jobs_of("github", "r.yaml", "r.yaml", gfx=gpus)
    assert [j for j in jobs if j.startswith("prove")] == ["prove-null-gfx942-xnack-off", "prove-null-gfx942-xnack-on"]
    assert jobs["build"]["strategy"]["matrix"]["include"] == [{"id": "null", "recipe": "r.yaml", "image": False}]


def steps_of(job: dict[str, Any]) -> list[str]:
    return [str(step.get("run", "")) for step in job["steps"]]


def test_a_gpu_job_installs_stackbuild_before_it_calls_it() -> None:
    runs = steps_of(jobs_of("github", "rocm-7.2", gfx=("gfx90a",))["prove-rocm-7-2-gfx90a"])
    first = next(n for n, run in enumerate(runs) if run.startswith("stackbuild "))
    assert any("pip" in run and FROM in run for run in runs[:first])


@pytest.mark.parametrize("provider", ["github", "gitlab", "jenkins"])
def test_a_gpu_job_gates_each_wheel_beside_a_file_with_a_provider(provider: str) -> None:
    text = pipeline(provider, (load("rocm-7.2"),), ("gfx90a",), FROM)
    assert 'stackbuild gate --candidate "$wheel" --baseline "$old"' in text
    assert 'gate onnxruntime_migraphx "--provider MIGraphXExecutionProvider"' in text
    gated = pipeline(provider, (load("debian-13"),), ("gfx90a",), FROM)
    assert 'gate stackbuild_kernels "--recipe debian-13 --provider' in gated


def test_a_tag_is_built_from_scratch_and_without_a_cache_of_other_runs() -> None:
    steps = jobs_of("github", "debian-13", "rocm-7.2")["build"]["steps"]
    cache = next(step for step in steps if "actions/cache" in step.get("uses", ""))
    assert cache["if"] == "${{ github.ref_type != 'tag' }}"
    builds = [step["run"] for step in steps if "stackbuild" in step.get("run", "") and " build " in step["run"]]
    assert len(builds) == 2 and all("github.ref_type == 'tag' && '--from-scratch'" in text for text in builds)
    build = jobs_of("gitlab", "debian-13", "rocm-7.2")["build"]
    tag, others = build["rules"]
    assert tag["if"] == "$CI_COMMIT_TAG" and tag["variables"]["FROM_SCRATCH"] == "--from-scratch"
    kept = [path.rstrip("/") for path in build["cache"]["paths"]]
    assert tag["variables"]["STACKBUILD_STORE"].removeprefix("$CI_PROJECT_DIR/") not in kept
    assert others == {"when": "on_success"} and any(line.endswith("$FROM_SCRATCH") for line in build["script"])
    text = pipeline("jenkins", (load("debian-13"),), (), FROM)
    assert 'if [ -n "${TAG_NAME:-}" ]; then store="$WORKSPACE/.release-store" scratch=--from-scratch' in text


def test_gitlab_publishes_only_what_it_proved() -> None:
    jobs = jobs_of("gitlab", "debian-13", "rocm-7.2", gfx=("gfx90a",))
    assert jobs["publish"]["rules"] == [{"if": '$CI_COMMIT_TAG && $CI_COMMIT_REF_PROTECTED == "true"'}]
    assert jobs["prove-rocm-7-2-gfx90a"]["rules"] == [{"if": '$CI_COMMIT_REF_PROTECTED == "true"'}]
    (need,) = jobs["prove-rocm-7-2-gfx90a"]["needs"]  # the wheels of the other recipe are not held against this one
    assert need["parallel"]["matrix"] == [{"ID": "rocm-7-2", "RECIPE": "rocm-7.2"}]


def test_a_recipe_on_an_image_is_built_as_root_on_githubs_machine() -> None:
    """The image's package manager needs it; a recipe on Debian's archive is built without."""
    job = jobs_of("github", "debian-13", "rocm-7.2")["build"]
    assert [row["image"] for row in job["strategy"]["matrix"]["include"]] == [False, True]
    plain, image = (s for s in job["steps"] if "stackbuild" in s.get("run", "") and " build --recipe" in s["run"])
    assert plain["if"] == "${{ !matrix.image }}" and "sudo" not in plain["run"]
    assert image["if"] == "${{ matrix.image }}" and "sudo env" in image["run"]
    assert any("skopeo" in run for run in steps_of(job))


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("https://example.invalid/stackbuild-1.0-py3-none-any.whl#sha256=" + "a" * 64, '"stackbuild[bench,emulator] @ https://example.invalid/stackbuild-1.0'),
        ("git+https://example.invalid/stackbuild.git@" + "b" * 40, '"stackbuild[bench,emulator] @ git+https://example.invalid/stackbuild.git@' + "b" * 40),
        ("tools/stackbuild-1.0-py3-none-any.whl", '"./tools/stackbuild-1.0-py3-none-any.whl[bench,emulator]"'),
    ],
)
@pytest.mark.parametrize("provider", ["github", "gitlab", "jenkins"])
def test_runners_install_stackbuild_by_its_bytes(provider: str, spec: str, words: str) -> None:
    text = pipeline(provider, (load("debian-13"),), ("gfx90a",), spec)
    assert words in text and "stackbuild==" not in text and "[bench,emulator]==" not in text


@pytest.mark.parametrize(
    "spec",
    ["", "stackbuild", "stackbuild==1.0", "https://example.invalid/x.whl", "git+https://example.invalid/x@main", "a b.whl", 'x";rm -rf ~;".whl', "../x.whl",
     "http://example.invalid/x.whl#sha256=" + "a" * 64, "x.tar.gz", "https://example.invalid/x.whl#sha256=" + "a" * 63],
)  # fmt: skip
def test_what_names_no_bytes_is_refused(spec: str) -> None:
    with pytest.raises(UsageError, match="which bytes") as caught:
        pipeline("github", (load("debian-13"),), (), spec)
    assert "sha256" in str(caught.value.next)


@pytest.mark.parametrize("provider", ["github", "gitlab", "jenkins"])
def test_a_gpu_job_requires_the_rungs_that_a_gpu_is_for(provider: str) -> None:
    text = pipeline(provider, (load("debian-13"),), ("gfx90a",), FROM)
    assert "--require import,load,operators,numerics,gpu" in text and "--wheelhouse dist/wheelhouse" in text
    assert 'store copy "wheelhouse.$' in text and "--to dist/wheelhouse" in text


def test_githubs_cache_is_bounded_saved_after_a_failure_and_without_ccache() -> None:
    data: Any = yamlread.compose(pipeline("github", (load("debian-13"),), (), FROM), "github")[0]
    steps = data["jobs"]["build"]["steps"]
    restore, save = (next(s for s in steps if f"actions/cache/{verb}@" in s.get("uses", "")) for verb in ("restore", "save"))
    assert save["if"].startswith("${{ always()") and "tag" in save["if"] and "tag" in restore["if"]
    assert all("!~/.cache/stackbuild/store/ccache" in s["with"]["path"] for s in (restore, save))
    assert any("store gc --max-size" in s.get("run", "") for s in steps[: steps.index(save)])
    assert any("GITHUB_STEP_SUMMARY" in s.get("run", "") and s["if"] == "always()" for s in steps)
