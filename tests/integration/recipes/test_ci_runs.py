"""Rendered pipelines, run: every shell line of every job, with stand-ins for what builds and proves (`support.ci_runner`)."""

from __future__ import annotations

import json
import shutil
import subprocess
import tarfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from stackbuild.core import yaml as yamlread
from stackbuild.pipeline.ci_render import PipelineRequest, pipeline
from stackbuild.publishing.ssh_keys import load_trusted_keys
from stackbuild.publishing.verify_release import Trust, verify_release
from stackbuild.recipe.load import load
from support.ci_runner import JobMachine, PipelineTrigger, run_github, run_gitlab
from support.wheels import new_key, put_statements, small_wheel

ROOT = Path(__file__).parents[3]
FROM = "tools/stackbuild-1.0-py3-none-any.whl"
TAG, MAIN = PipelineTrigger("refs/tags/v1.0", first="v1.0"), PipelineTrigger("refs/heads/main")
needs_jq = pytest.mark.skipif(not shutil.which("jq"), reason="not installed: jq")


def workflow(provider: str = "github", **more: Any) -> dict[str, Any]:
    text = pipeline(provider, (load("debian-13"),), PipelineRequest(FROM, ("gfx1100",), **more))
    data: Any = yamlread.compose(text, provider)[0]
    return data


@pytest.fixture(autouse=True)
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The root of a repository that holds the wheel of stackbuild: what each job checks out."""
    monkeypatch.chdir(tmp_path)
    return small_wheel(tmp_path / "tools", name="stackbuild").parent


@pytest.fixture
def machine(tmp_path: Path) -> JobMachine:
    wheel = small_wheel(tmp_path / "built", name="stackbuild-kernels")
    put_statements(wheel)
    return JobMachine(tmp_path / "ci", wheel.parent, ROOT, checkout=tmp_path / "tools")


def put_answers(machine: JobMachine, rows: list[tuple[int, int, str | None, bool]], events: dict[str, str], tags: dict[str, str]) -> None:
    """What GitHub's API says: an artifact `index` for each row (run, its repository, its branch or tag, expired), newest first."""
    artifacts = [
        {
            "expired": gone,
            "created_at": f"2026-11-{28 - number:02}T00:00:00Z",
            "workflow_run": {"id": run, "repository_id": 1, "head_repository_id": head, "head_branch": branch, "head_sha": f"c{run}"},
        }
        for number, (run, head, branch, gone) in enumerate(rows)
    ]
    runs = {run: {"event": event, "jobs": [{"name": "Publish", "conclusion": "success"}]} for run, event in events.items()}
    (machine.artifacts / "list.json").write_text(json.dumps({"artifacts": artifacts, "runs": runs, "tags": tags}))


def log(machine: JobMachine) -> str:
    return (machine.folder / "log").read_text()


def private_keys(machine: JobMachine) -> list[Path]:
    """Files with a key in them: none is to stay on a runner."""
    return [p for p in machine.folder.rglob("*") if p.is_file() and "PRIVATE KEY" in p.read_text("utf-8", "replace")]


@needs_jq
def test_a_tag_is_built_from_scratch_proved_signed_and_published(machine: JobMachine, tmp_path: Path) -> None:
    _, public = new_key(tmp_path / "keys")
    secret = (tmp_path / "keys" / "release").read_text().rstrip("\n")
    event = replace(TAG, secret=secret)
    outcomes = run_github(machine, workflow(attest=True, index_url="https://upload.example.invalid/legacy/"), event)
    upload = outcomes.pop("upload")
    assert set(outcomes.values()) == {"success"}, log(machine)
    assert upload == "failure" and "nobody gives this process an identity to sign with" in log(machine), "no provider is here"
    build = machine.calls["build-0"]
    assert any("build --recipe debian-13" in line and "--from-scratch" in line for line in build)
    assert any("--require stackbuild-kernels:import,load,operators,numerics,emulated" in line for line in build)
    assert not any("actions/cache" in line or line.startswith("store gc") for line in build)
    assert f"pip install --quiet --only-binary :all: ./{FROM}[bench,emulator]" in build
    (verified,) = [line for line in machine.calls["publish-0"] if line.startswith("verify-release ")]
    assert verified.startswith("verify-release public/simple --key ") and verified.endswith(" --root simple")
    assert "✓ index number 1 of simple, " in log(machine) and "\n::warning title=Not signed" not in log(machine)
    (verify,) = [line for line in machine.calls["prove-debian-13-gfx1100-0"] if line.startswith("verify ")]
    assert "--require stackbuild-kernels:import,load,operators,numerics,gpu" in verify and "stackbuild_kernels-1.0-py3-none-any.whl" in verify
    (tmp_path / "public").mkdir()
    subprocess.run(["tar", "-xf", machine.artifacts / "index" / "index.tar", "-C", tmp_path / "public"], check=True)
    proof = verify_release(tmp_path / "public" / "simple", Trust(load_trusted_keys([public])))
    assert proof.problems == () and [one.file for one in proof.wheels] == ["stackbuild-kernels/stackbuild_kernels-1.0-py3-none-any.whl"]
    assert set(proof.wheels[0].statements) == {"provenance", "verification", "benchmarks"}
    own = "verified (static rules; not run: load: no GPU here); no GPU ran"
    assert proof.wheels[0].claim == f"{own}; on gfx1100: verified (GPU at work)", "the statement has what the GPU's job proved"
    assert private_keys(machine) == []
    assert any("subject-path" in line and "release/*.whl" in line for line in machine.calls["attest-0"])
    assert (machine.artifacts / "logs-debian-13" / "log").exists()


@needs_jq
def test_an_unsigned_release_says_so_and_one_that_must_be_signed_fails(machine: JobMachine, tmp_path: Path) -> None:
    assert run_github(machine, workflow(), TAG)["publish"] == "success", log(machine)
    assert "\n::warning title=Not signed::Whoever serves this index can change it unseen." in log(machine)
    assert "\nnot signed: whoever serves this index can change it unseen." in log(machine), "of publish itself"
    assert "**This release is not signed.**" in (machine.folder / "publish-0-GITHUB_STEP_SUMMARY").read_text()
    assert not [line for line in machine.calls["publish-0"] if line.startswith("verify-release ")]
    (_, other), (mine, public) = new_key(tmp_path, "other"), new_key(tmp_path, "mine")
    assert mine
    outcomes = []
    for key, secret in ((public, ""), (other, "mine"), (public, "mine")):
        for folder in (machine.folder / "work", machine.folder / "home", machine.artifacts / "wheels-debian-13", machine.artifacts / "proof-debian-13-gfx1100"):
            shutil.rmtree(folder)
        (machine.folder / "log").unlink()
        text = (tmp_path / secret).read_text().rstrip("\n") if secret else ""
        outcomes.append(run_github(machine, workflow(public_key=key), replace(TAG, secret=text))["publish"])
        words = "is not trusted" if key == other else "✓ index number 1" if secret else "\n::error title=Not signed::each release is to be signed"
        assert words in log(machine), log(machine)
    assert outcomes == ["failure", "failure", "success"]


def test_another_file_than_was_read_is_not_installed(machine: JobMachine, repository: Path) -> None:
    data = workflow()
    (repository / Path(FROM).name).write_bytes(b"other bytes")
    assert run_github(machine, data, TAG)["build"] == "failure"
    assert "is not the file that ci render has read. Render the pipeline again" in log(machine)
    assert not any(line.startswith("pip ") for line in machine.calls["build-0"])


def test_a_pull_request_reaches_no_gpu_and_publishes_nothing(machine: JobMachine) -> None:
    outcomes = run_github(machine, workflow(), PipelineTrigger("refs/pull/1/merge", "pull_request"))
    assert outcomes == {"build": "success", "prove-debian-13-gfx1100": "skipped", "publish": "skipped"}
    assert sum("actions/cache" in line for line in machine.calls["build-0"]) == 2


def test_a_skipped_rung_stops_the_release(machine: JobMachine) -> None:
    """`verify --require` exits 5 (tests/unit/verification/test_requirement.py); nothing behind it runs."""
    outcomes = run_github(machine, workflow(), replace(TAG, fails="verify"))
    assert outcomes == {"build": "success", "prove-debian-13-gfx1100": "failure", "publish": "skipped"}
    assert not any(line.startswith("gate ") for line in machine.calls["prove-debian-13-gfx1100-0"])


@needs_jq
def test_a_failed_publish_leaves_no_key(machine: JobMachine) -> None:
    outcomes = run_github(machine, workflow(), replace(TAG, fails="publish", secret="-----BEGIN OPENSSH PRIVATE KEY-----"))
    assert outcomes["publish"] == "failure" and private_keys(machine) == []
    assert any("publish roots/simple/stackbuild_kernels" in line and "--sign" in line for line in machine.calls["publish-0"])


def test_a_build_that_failed_keeps_its_logs_and_its_cache(machine: JobMachine) -> None:
    outcomes = run_github(machine, workflow(), PipelineTrigger(MAIN.ref, fails="recipe"))
    assert outcomes["build"] == "failure"
    calls = machine.calls["build-0"]
    assert any("actions/cache/save" in line for line in calls) and any(line.startswith("report last") for line in calls)


@needs_jq
def test_the_next_release_joins_the_index_of_the_last_tag_and_of_nobody_else(machine: JobMachine, tmp_path: Path) -> None:
    """A fork's pull request can upload an artifact of any name, and its branch can be called v9."""
    assert run_github(machine, workflow(), TAG)["publish"] == "success", log(machine)
    for run, source in (("7", machine.artifacts / "index" / "index.tar"), ("8", tmp_path / "evil.tar")):
        if run == "8":
            (tmp_path / "simple").mkdir()
            (tmp_path / "simple" / "index.html").write_text("evil")
            with tarfile.open(source, "w") as archive:
                archive.add(tmp_path / "simple", "simple")
        (machine.artifacts / f"run-{run}").mkdir()
        shutil.copyfile(source, machine.artifacts / f"run-{run}" / "index.tar")
    rows = [
        (8, 2, "v9", False),  # a fork's pull request
        (8, 1, "feature", False),  # a branch of this repository
        (8, 1, None, False),
        (8, 1, "v0", True),  # gone
        (8, 1, "v8", False),  # a branch called v8, by workflow_dispatch
        (7, 1, "v1.0", False),
    ]
    put_answers(machine, rows, {"8": "workflow_dispatch", "7": "push"}, {"v1.0": "c7"})
    for one in machine.wheels.iterdir():
        one.unlink()
    small_wheel(machine.wheels, "2.0", name="stackbuild-kernels")
    for left in ("wheels-debian-13", "proof-debian-13-gfx1100"):  # each run has its own
        shutil.rmtree(machine.artifacts / left)
    shutil.rmtree(machine.folder / "work")
    shutil.rmtree(machine.folder / "home")
    assert run_github(machine, workflow(), PipelineTrigger("refs/tags/v2.0"))["publish"] == "success", log(machine)
    assert "gh run download 7 --repo acme/wheels --name index" in machine.calls["publish-0"]
    with tarfile.open(machine.artifacts / "index" / "index.tar") as archive:
        names = archive.getnames()
    assert {"simple/stackbuild-kernels/stackbuild_kernels-1.0-py3-none-any.whl", "simple/stackbuild-kernels/stackbuild_kernels-2.0-py3-none-any.whl"} <= set(names)


@needs_jq
def test_a_runner_that_remembers_nothing_refuses_what_the_owner_knows_to_be_old(machine: JobMachine, tmp_path: Path) -> None:
    """The index of the last release is gone, or an older one stands in its place: the variable says which number there was."""
    new_key(tmp_path / "keys")
    secret = (tmp_path / "keys" / "release").read_text().rstrip("\n")
    assert run_github(machine, workflow(), replace(TAG, secret=secret))["publish"] == "success", log(machine)
    assert "index number 1" in log(machine) and "\n::notice title=Older states are not seen::" in log(machine)
    (machine.artifacts / "run-7").mkdir()
    shutil.copyfile(machine.artifacts / "index" / "index.tar", machine.artifacts / "run-7" / "index.tar")
    small_wheel(machine.wheels, "2.0", name="stackbuild-kernels")
    row = (7, 1, "v1.0", False)
    outcomes = []
    for rows, at_least in (([], "1"), ([row], "2"), ([row], "1")):
        put_answers(machine, rows, {"7": "push"}, {"v1.0": "c7"})
        for folder in (machine.folder / "work", machine.folder / "home", machine.artifacts / "wheels-debian-13"):
            shutil.rmtree(folder)
        (machine.folder / "log").unlink()
        outcome = run_github(machine, workflow(), PipelineTrigger("refs/tags/v2.0", secret=secret, at_least=at_least, first="v2.0"))["publish"]
        outcomes.append((outcome, log(machine)))
    assert [outcome for outcome, _ in outcomes] == ["failure", "failure", "success"]
    assert "a signed index with number 1 or above is expected, and what lies there is not signed" in outcomes[0][1]
    assert "the index has number 1, and 2 is the lowest that is accepted" in outcomes[1][1]
    assert "index number 2" in outcomes[2][1] and "\n::notice title=Older" not in outcomes[2][1]


@needs_jq
def test_a_failed_question_for_the_last_index_stops_the_release(machine: JobMachine) -> None:
    """Else the next index would begin without the older versions."""
    (machine.artifacts / "list.json").write_text("HTTP 502")
    outcomes = run_github(machine, workflow(), TAG)
    assert outcomes == {"build": "success", "prove-debian-13-gfx1100": "failure", "publish": "skipped"}
    data: Any = yamlread.compose(pipeline("github", (load("debian-13"),), PipelineRequest(FROM)), "github")[0]
    shutil.rmtree(machine.folder / "work")
    shutil.rmtree(machine.folder / "home")
    assert run_github(machine, data, TAG) == {"build": "success", "publish": "failure"}
    assert "publish" not in {line.split()[0] for line in machine.calls["publish-0"]}


def test_gitlab_a_tag_is_built_proved_signed_and_published(machine: JobMachine, tmp_path: Path) -> None:
    _, public = new_key(tmp_path / "keys")
    event = replace(TAG, secret=(tmp_path / "keys" / "release").read_text())
    outcomes = run_gitlab(machine, workflow("gitlab"), event)
    assert set(outcomes.values()) == {"success"} and len(outcomes) == 3, log(machine)
    assert any("--from-scratch" in line for line in machine.calls["build-0"])
    proof = verify_release(machine.artifacts / "gitlab" / "public" / "simple", Trust(load_trusted_keys([public])))
    assert proof.problems == () and len(proof.wheels) == 1
    assert "on gfx1100: verified (GPU at work)" in proof.wheels[0].claim
    assert "first-release.txt" in {p.name for p in (machine.artifacts / "gitlab").iterdir()}


def two_indexes(machine: JobMachine, provider: str, release: str = "1.0") -> dict[str, Any]:
    """A pipeline of two recipes, whose wheels go onto `simple` and onto `rocm-7.2/simple`."""
    wheels = machine.folder / f"built-rocm-{release}"
    put_statements(small_wheel(wheels, f"{release}+rocm.7.2.4", name="stackbuild-kernels"))
    machine.builds["rocm-7.2"] = ("dist/rocm-7.2/simple", wheels)
    request = PipelineRequest(FROM, ("gfx1100",), url="https://wheels.example.invalid/{root}")
    data: Any = yamlread.compose(pipeline(provider, (load("debian-13"), load("rocm-7.2")), request), provider)[0]
    return dict(data)


def assert_two_indexes(public: Path, key: Path) -> None:
    for root, version in (("simple", "1.0"), ("rocm-7.2/simple", "1.0+rocm.7.2.4")):
        proof = verify_release(public / root, Trust(load_trusted_keys([key])))
        file = f"stackbuild-kernels/stackbuild_kernels-{version}-py3-none-any.whl"
        assert proof.problems == () and [one.file for one in proof.wheels] == [file] and proof.number == 1
        assert "on gfx1100: verified (GPU at work)" in proof.wheels[0].claim
        page = (public / root / "stackbuild-kernels" / "index.html").read_text()
        assert f"https://wheels.example.invalid/{root}/stackbuild-kernels/stackbuild_kernels-1.0" in page


@needs_jq
def test_each_rocm_has_a_signed_index_of_its_own(machine: JobMachine, tmp_path: Path) -> None:
    _, public = new_key(tmp_path / "keys")
    secret = (tmp_path / "keys" / "release").read_text().rstrip("\n")
    outcomes = run_github(machine, two_indexes(machine, "github"), replace(TAG, secret=secret))
    assert set(outcomes.values()) == {"success"}, log(machine)
    (tmp_path / "public").mkdir()
    subprocess.run(["tar", "-xf", machine.artifacts / "index" / "index.tar", "-C", tmp_path / "public"], check=True)
    assert_two_indexes(tmp_path / "public", public)
    names = {path.name for path in (machine.artifacts / "release").glob("*.whl")}
    assert names == {"stackbuild_kernels-1.0-py3-none-any.whl", "stackbuild_kernels-1.0+rocm.7.2.4-py3-none-any.whl"}
    for variable in ("STACKBUILD_INDEX_AT_LEAST", "STACKBUILD_INDEX_AT_LEAST_ROCM_7_2"):
        assert f"repository's variable {variable} to the index number above" in log(machine)
    (machine.artifacts / "run-7").mkdir()
    shutil.copyfile(machine.artifacts / "index" / "index.tar", machine.artifacts / "run-7" / "index.tar")
    put_answers(machine, [(7, 1, "v1.0", False)], {"7": "push"}, {"v1.0": "c7"})
    for one in machine.wheels.iterdir():
        one.unlink()
    small_wheel(machine.wheels, "2.0", name="stackbuild-kernels")
    outcomes = []
    for number in ("2", "1"):
        for folder in (machine.folder / "work", machine.folder / "home", *machine.artifacts.glob("wheels-*"), *machine.artifacts.glob("proof-*")):
            shutil.rmtree(folder)
        (machine.folder / "log").unlink()
        event = PipelineTrigger("refs/tags/v2.0", secret=secret, at_least="1", variables={"STACKBUILD_INDEX_AT_LEAST_ROCM_7_2": number})
        outcome = run_github(machine, two_indexes(machine, "github", "2.0"), event)["publish"]
        outcomes.append((outcome, log(machine)))
    assert [outcome for outcome, _ in outcomes] == ["failure", "success"], outcomes[-1][1]
    assert "the index has number 1, and 2 is the lowest that is accepted" in outcomes[0][1]


@needs_jq
def test_an_index_that_no_release_had_is_a_choice(machine: JobMachine) -> None:
    """A recipe of another ROCm joins the pipeline; an index that is lost looks like that, too."""
    assert run_github(machine, workflow(), TAG)["publish"] == "success", log(machine)
    (machine.artifacts / "run-7").mkdir()
    shutil.copyfile(machine.artifacts / "index" / "index.tar", machine.artifacts / "run-7" / "index.tar")
    put_answers(machine, [(7, 1, "v1.0", False)], {"7": "push"}, {"v1.0": "c7"})
    for one in machine.wheels.iterdir():
        one.unlink()
    small_wheel(machine.wheels, "2.0", name="stackbuild-kernels")
    for first, expected in (("v1.0", "failure"), ("v2.0", "success")):
        for folder in (machine.folder / "work", machine.folder / "home", *machine.artifacts.glob("wheels-*"), *machine.artifacts.glob("proof-*")):
            shutil.rmtree(folder)
        outcome = run_github(machine, two_indexes(machine, "github"), PipelineTrigger("refs/tags/v2.0", first=first))
        assert outcome["publish"] == expected, log(machine)
        assert "there is no public/rocm-7.2/simple" in log(machine)


@pytest.mark.parametrize("kept", [False, True])
def test_gitlab_each_rocm_has_a_signed_index_of_its_own(machine: JobMachine, tmp_path: Path, kept: bool) -> None:
    _, public = new_key(tmp_path / "keys")
    event = replace(TAG, secret=(tmp_path / "keys" / "release").read_text(), releases=str(tmp_path / "kept") if kept else "")
    outcomes = run_gitlab(machine, two_indexes(machine, "gitlab"), event)
    assert set(outcomes.values()) == {"success"} and len(outcomes) == 4, log(machine)
    assert_two_indexes(machine.artifacts / "gitlab" / "public", public)
    if kept:
        assert_two_indexes(tmp_path / "kept" / "acme" / "wheels", public)


def test_gitlab_a_skipped_rung_stops_the_release(machine: JobMachine) -> None:
    outcomes = run_gitlab(machine, workflow("gitlab"), replace(TAG, fails="verify"))
    assert outcomes == {"build": "success", "prove-debian-13-gfx1100": "failure", "publish": "skipped"}


def test_jenkins_two_tags_at_once_are_both_in_the_index(machine: JobMachine, tmp_path: Path) -> None:
    """The script of its stage `publish`, in the workspaces of two tags at the same time: each is a job of its own."""
    new_key(tmp_path / "keys")
    text = pipeline("jenkins", (load("debian-13"),), PipelineRequest(FROM, release_key="release-key"))
    stage = text[text.index("stage('publish')") :]
    script = "\n".join(["set -e", *(part.partition("'''")[0] for part in stage.split("sh '''set -e\n")[1:])])
    script = script.replace("\\'", "'").replace("\\\\", "\\")
    running = []
    for version in ("1.0", "1.0.post1", "1.0.post2"):
        work = tmp_path / f"work-{version}"
        small_wheel(work / "wheels" / "debian-13" / "dist" / "simple" / "stackbuild-kernels", version, name="stackbuild-kernels")
        (work / ".stackbuild" / "bin").mkdir(parents=True)
        shutil.copy(machine.bin / "stackbuild", work / ".stackbuild" / "bin")
        environment = machine.environment("jenkins", TAG) | {
            "JOB_NAME": f"team/wheels/v{version}",
            "TAG_NAME": f"v{version}",
            "STACKBUILD_FIRST_RELEASE": f"v{version}",
            "STACKBUILD_OLDER": "1",
            "RELEASE_KEY": str(tmp_path / "keys" / "release"),
        }
        running.append(subprocess.Popen(["sh", "-c", script], cwd=work, env=environment))
    assert [one.wait(100) for one in running] == [0, 0, 0]
    index = machine.folder / "home" / "jenkins" / ".local/share/stackbuild/releases/team/wheels/simple"
    proof = verify_release(index, Trust(load_trusted_keys([tmp_path / "keys" / "release.pub"])))
    assert proof.problems == () and len(proof.wheels) == 3 and proof.number == 3
    assert all((tmp_path / f"work-{version}" / "public" / "index.tar").is_file() for version in ("1.0", "1.0.post1", "1.0.post2"))
