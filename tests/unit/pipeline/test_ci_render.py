"""`ci render`: the pipelines of each provider, as values."""

import json
from pathlib import Path
from typing import Any

import pytest

from stackbuild.core import yaml as yamlread
from stackbuild.core.errors import UsageError
from stackbuild.pipeline.ci_render import ACTIONS, pipeline
from stackbuild.recipe.load import load, text_of

RECIPES = ("debian-13", "rocm-7.2")


@pytest.mark.parametrize("provider", ["github", "gitlab"])
def test_a_pipeline_is_yaml_with_a_job_for_each_gpu(provider: str) -> None:
    text = pipeline(provider, tuple(load(r) for r in RECIPES), ("gfx1100",))
    data, _ = yamlread.compose(text, provider)
    assert isinstance(data, dict)
    jobs = data["jobs"] if provider == "github" else data
    assert isinstance(jobs, dict)
    assert {"build", "prove-debian-13-gfx1100", "prove-rocm-7-2-gfx1100", "publish"} <= set(jobs)


def test_githubs_token_only_reads_and_every_action_is_a_commit() -> None:
    text = pipeline("github", tuple(load(r) for r in RECIPES), ("gfx1100",))
    data, _ = yamlread.compose(text, "github")
    assert isinstance(data, dict) and data["permissions"] == {"contents": "read"}
    used = {line.split("uses: ")[1] for line in text.splitlines() if "uses: " in line}
    assert used == set(ACTIONS.values())
    assert all(len(a.split("@")[1].split(" ")[0]) == 40 for a in used)
    assert "secrets." not in json.dumps(data)


def test_a_fork_does_not_reach_the_machines_with_gpus() -> None:
    data, _ = yamlread.compose(pipeline("github", (load("debian-13"),), ("gfx90a",)), "github")
    assert isinstance(data, dict) and isinstance(data["jobs"], dict)
    job = data["jobs"]["prove-debian-13-gfx90a"]
    assert isinstance(job, dict) and job["if"] == "github.event_name != 'pull_request'"


def test_a_jenkinsfile_balances_its_braces() -> None:
    text = pipeline("jenkins", tuple(load(r) for r in RECIPES), ("gfx90a",))
    assert text.count("{") == text.count("}") > 20


@pytest.mark.parametrize(("provider", "gfx"), [("travis", "gfx90a"), ("github", "gfx906")])
def test_a_wrong_provider_or_gpu_is_named(provider: str, gfx: str) -> None:
    with pytest.raises(UsageError) as stopped:
        pipeline(provider, (load("debian-13"),), (gfx,))
    assert stopped.value.next


def jobs_of(provider: str, *recipes: str, gfx: tuple[str, ...] = ()) -> dict[str, Any]:
    data: Any = yamlread.compose(pipeline(provider, tuple(load(r) for r in recipes), gfx), provider)[0]
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
    text = pipeline(provider, (load("ours.yaml"), load("debian-13")), ("gfx90a",))
    assert '"ours.yaml"' in text and '"debian-13"' in text
    assert "prove-debian-13-gfx90a" in text and "prove-debian-13-2-gfx90a" in text
    assert pipeline(provider, (load(str(tmp_path / "ours.yaml")),), ()) == pipeline(provider, (load("ours.yaml"),), ())


def test_a_file_that_a_checkout_would_not_have_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    for name in ("ours.yaml", "here/a b.yaml", 'here/"; id.yaml'):
        with pytest.raises(UsageError, match="cannot be told"):
            pipeline("github", (load(own(tmp_path / name, "debian-13")),), ())


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
    assert any("pip" in run and "stackbuild[bench,emulator]" in run for run in runs[:first])


@pytest.mark.parametrize("provider", ["github", "gitlab", "jenkins"])
def test_a_gpu_job_gates_each_wheel_beside_a_file_with_a_provider(provider: str) -> None:
    text = pipeline(provider, (load("rocm-7.2"),), ("gfx90a",))
    assert 'stackbuild gate --candidate "$wheel" --baseline "$old"' in text
    assert 'gate onnxruntime_migraphx "--provider MIGraphXExecutionProvider"' in text
    gated = pipeline(provider, (load("debian-13"),), ("gfx90a",))
    assert 'gate stackbuild_kernels "--recipe debian-13 --provider' in gated


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
