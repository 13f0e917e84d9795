"""Each shell script of `templates/ci/`, run by bash and by dash, with stand-ins for servers and with hostile names."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import pytest

from stackbuild.core.templates import render
from stackbuild.pipeline.ci_render import RELEASES, TAG
from support.ci_runner import NO_ARTIFACTS, JobMachine, PipelineTrigger
from support.wheels import put_statements, small_wheel

ROOT = Path(__file__).parents[3]
HOSTILE = ("v1;touch owned", "v$(touch owned)", "v`touch owned`", "v'1", 'v"1', "v1&touch owned", "v#1%2", "v/1", "v 1", "v1|id", "v-e", "v*")
"""Names of tags and branches; git allows most of them."""
ROOTS = ({"path": "simple"},)
needs_jq = pytest.mark.skipif(not shutil.which("jq"), reason="not installed: jq")

pytestmark = pytest.mark.parametrize("shell", ["bash", "dash"])


@pytest.fixture
def machine(tmp_path: Path) -> JobMachine:
    return JobMachine(tmp_path / "ci", tmp_path / "built", ROOT)


def ran(machine: JobMachine, shell: str, script: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """A script in an empty folder, `work`, of the machine; nothing in a name may run as a command."""
    work = machine.folder / "work"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir()
    return again(machine, shell, script, **variables)


def again(machine: JobMachine, shell: str, script: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = machine.environment("job", PipelineTrigger("refs/tags/v2")) | variables
    words = [shutil.which(shell) or shell, "-e", "-c", script]
    done = subprocess.run(words, cwd=machine.folder / "work", env=environment, capture_output=True, text=True)
    assert not list(machine.folder.rglob("owned")), done.stdout + done.stderr
    return done


# --- the index of the last release on GitHub


def artifact(run: int, branch: str, day: int, repository: int = 1, expired: bool = False) -> dict[str, Any]:
    source = {"id": run, "repository_id": 1, "head_repository_id": repository, "head_branch": branch, "head_sha": f"c{run}"}
    return {"expired": expired, "created_at": f"2026-11-{day:02}T00:00:00Z", "workflow_run": source}


def run_of(event: str = "push", *conclusions: str | None) -> dict[str, Any]:
    jobs = [{"name": "Build", "conclusion": "success"}]
    return {"event": event, "jobs": jobs + [{"name": "Publish", "conclusion": one} for one in conclusions or ("success",)]}


def served(machine: JobMachine, answers: dict[str, Any], *places: str) -> None:
    """What GitHub answers; each place (`run-7`, `asset-3`) has an index with a file of that name."""
    (machine.artifacts / "list.json").write_text(json.dumps(NO_ARTIFACTS | answers))
    for place in places:
        folder = machine.artifacts / place
        (folder / "simple").mkdir(parents=True, exist_ok=True)
        (folder / "simple" / place).touch()
        with tarfile.open(folder / "index.tar", "w") as archive:
            archive.add(folder / "simple", "simple")


def last_index(machine: JobMachine, shell: str, must: bool = True, assets: bool = False, **variables: str) -> tuple[int, list[str], str]:
    script = render("ci/last_index.sh.j2", folder="public", roots=ROOTS if must else (), release_assets=assets)
    defaults = {"GITHUB_REPOSITORY": "acme/wheels", "GITHUB_REF_NAME": "v2", "STACKBUILD_FIRST_RELEASE": ""}
    done = ran(machine, shell, script, **(defaults | variables))
    found = sorted(path.name for path in (machine.folder / "work" / "public").glob("simple/*"))
    return done.returncode, found, done.stdout + done.stderr


@needs_jq
def test_the_index_is_that_of_the_last_tag_whose_publish_ended_well(machine: JobMachine, shell: str) -> None:
    """Nor of a fork, a branch called v…, a run that was started by hand, a publish that failed, nor one that expired."""
    answers = {
        "artifacts": [
            artifact(4, "v1.0", 4),  # older, though first in the list
            artifact(12, "v12", 12, repository=2),  # a fork's pull request
            artifact(11, "v11", 11),  # a branch v11 of this repository, started by hand
            artifact(10, "v10", 10),  # a pull request from a branch v10
            artifact(9, "v9", 9),  # a tag whose job Publish failed after it had put the index there
            artifact(8, "v8", 8),  # a tag whose publish is under way
            artifact(7, "v7", 7),  # a tag whose run failed later, in Attest; its second attempt published
            artifact(13, "v13", 13, expired=True),
            artifact(6, "main", 14),
        ],
        "runs": {
            "4": run_of(),
            "11": run_of("workflow_dispatch"),
            "10": run_of("pull_request"),
            "9": run_of("push", "failure"),
            "8": run_of("push", None),
            "7": run_of("push", "failure", "success"),
        },
        "tags": {"v1.0": "c4", "v7": "c7", "v9": "c9", "v8": "c8"},
    }
    served(machine, answers, *(f"run-{number}" for number in (4, 6, 7, 8, 9, 10, 11, 12, 13)))
    assert last_index(machine, shell)[:2] == (0, ["run-7"])


@needs_jq
@pytest.mark.parametrize("tags", [{}, {"v9": "other"}, {"v9.1": "c9"}])
def test_a_pushed_branch_called_v_stops_the_release(machine: JobMachine, shell: str, tags: dict[str, str]) -> None:
    """A changed workflow on that branch can call its job Publish. A tag that was deleted looks the same: then older
    releases would be lost. So a person decides."""
    answers = {"artifacts": [artifact(9, "v9", 9), artifact(4, "v1", 4)], "runs": {"9": run_of(), "4": run_of()}, "tags": {"v1": "c4", **tags}}
    served(machine, answers, "run-9", "run-4")
    code, found, says = last_index(machine, shell)
    assert (code, found) == (1, []) and "run 9 made an index for v9, and no tag of that name is at its commit" in says


@needs_jq
@pytest.mark.parametrize("name", HOSTILE)
def test_a_tags_name_is_data(machine: JobMachine, shell: str, name: str) -> None:
    served(machine, {"artifacts": [artifact(4, name, 4)], "runs": {"4": run_of()}, "tags": {name: "c4"}}, "run-4")
    assert last_index(machine, shell)[:2] == (0, ["run-4"])
    served(machine, {"artifacts": [artifact(4, name, 4)], "runs": {"4": run_of()}, "tags": {}}, "run-4")
    assert last_index(machine, shell)[:2] == (1, [])
    served(machine, {})
    assert last_index(machine, shell, GITHUB_REF_NAME=name)[:2] == (1, [])
    assert last_index(machine, shell, GITHUB_REF_NAME=name, STACKBUILD_FIRST_RELEASE=name)[:2] == (0, [])


@needs_jq
@pytest.mark.parametrize("part", ["actions/artifacts", "actions/runs/4", "actions/runs/4/jobs", "commits"])
def test_a_question_that_fails_is_never_an_answer(machine: JobMachine, shell: str, part: str) -> None:
    """GitHub's 502 would else make an older index the last one, or begin a new one."""
    answers = {"artifacts": [artifact(4, "v1", 4), artifact(3, "v0", 3)], "runs": {"4": run_of(), "3": run_of()}}
    served(machine, answers | {"tags": {"v1": "c4", "v0": "c3"}, "fails": part}, "run-4", "run-3")
    code, found, _ = last_index(machine, shell, STACKBUILD_FIRST_RELEASE="v2")
    assert code != 0 and found == []


@needs_jq
def test_a_release_without_an_index_before_it_is_a_choice(machine: JobMachine, shell: str) -> None:
    """One that expired, or was deleted, was there before: a new one would have lost all older releases."""
    served(machine, {"artifacts": [artifact(4, "v1", 4, expired=True)]})
    code, _, says = last_index(machine, shell)
    assert code == 1 and "::error title=No index of an earlier release::" in says and "STACKBUILD_FIRST_RELEASE" in says
    assert last_index(machine, shell, STACKBUILD_FIRST_RELEASE="v1")[0] == 1, "it was set for another tag, and left"
    assert last_index(machine, shell, STACKBUILD_FIRST_RELEASE="v2")[0] == 0
    assert last_index(machine, shell, must=False)[0] == 0, "a proof is none"


@needs_jq
def test_assets_of_releases_keep_the_index_when_artifacts_are_gone(machine: JobMachine, shell: str) -> None:
    def release(tag: str, day: int, number: int, draft: bool = False, **more: str) -> dict[str, Any]:
        asset = {"name": "index.tar", "state": "uploaded", "created_at": f"2026-11-{day:02}T00:00:00Z", "id": number} | more
        return {"tag_name": tag, "draft": draft, "assets": [asset]}

    answers: dict[str, Any] = {
        "releases": [
            release("v1", 3, 3),
            release("v2", 4, 4),
            release("v9", 9, 9, draft=True),
            release("nightly", 8, 8),
            release("v3", 7, 7, state="starter"),
            release("v4", 7, 6, name="other.tar"),
        ]
    }
    served(machine, answers, "asset-3", "asset-4", "asset-6", "asset-7", "asset-8", "asset-9")
    assert last_index(machine, shell, assets=True)[:2] == (0, ["asset-4"])
    newer = {"artifacts": [artifact(5, "v3", 5)], "runs": {"5": run_of()}, "tags": {"v3": "c5"}}
    served(machine, answers | newer, "run-5")  # its job Keep has not come to it yet
    assert last_index(machine, shell, assets=True)[:2] == (0, ["run-5"])


@needs_jq
@pytest.mark.parametrize("name", ["v1", *HOSTILE])
def test_assets_are_put_to_the_release_of_the_tag(machine: JobMachine, shell: str, name: str) -> None:
    for known, verb in (([], "create --verify-tag"), ([{"tag_name": name, "assets": []}], "upload --clobber")):
        served(machine, {"releases": known})
        calls = Path(machine.environment("job", PipelineTrigger(""))["CI_CALLS"])
        calls.unlink(missing_ok=True)
        done = ran(machine, shell, render("ci/keep.sh.j2"), GITHUB_REPOSITORY="acme/wheels", GITHUB_REF_NAME=name)
        assert done.returncode == 0, done.stderr
        last = calls.read_text().splitlines()[-1]
        assert last.startswith(f"gh release {verb}") and f"-- {name} index.tar release/" in last


# --- the index of the last release on GitLab and Jenkins


@pytest.mark.parametrize("provider", ["gitlab", "jenkins"])
@pytest.mark.parametrize("name", ["v1", *HOSTILE])
def test_a_folder_without_an_index_stops_the_release(machine: JobMachine, shell: str, provider: str, name: str) -> None:
    variable = {"gitlab": "CI_COMMIT_TAG", "jenkins": "TAG_NAME"}[provider]
    script = render("ci/releases.sh.j2", folder=RELEASES[provider], tag=variable, roots=ROOTS) + 'printf %s "$index" > chosen\n'
    where = {variable: name, "CI_PROJECT_PATH": "team/wheels", "JOB_NAME": f"team/wheels/{name.replace('/', '%2F')}"}
    done = ran(machine, shell, script, **where)
    assert done.returncode == 1 and "there is no index of an earlier release" in done.stdout
    assert ran(machine, shell, script, **where, STACKBUILD_FIRST_RELEASE="v0").returncode == 1
    assert ran(machine, shell, script, **where, STACKBUILD_FIRST_RELEASE=name).returncode == 0
    home = Path(machine.environment("job", PipelineTrigger(""))["HOME"])
    default = {"gitlab": machine.folder / "work" / "public", "jenkins": home / ".local/share/stackbuild/releases/team/wheels"}[provider]
    kept = machine.folder / "kept folder"
    for index, more in ((default, {}), (kept / "team/wheels", {"STACKBUILD_RELEASES": str(kept)})):
        (index / "simple").mkdir(parents=True)
        done = again(machine, shell, script, **where, **more)
        assert done.returncode == 0, done.stdout
        chosen = machine.folder / "work" / (machine.folder / "work" / "chosen").read_text()
        assert chosen == index


# --- the gate


def gate_script(provider: str = "github", gates: bool = True, alone: bool = False, names: tuple[str, ...] = ("demo",)) -> str:
    wheels = tuple({"stem": name, "options": "--provider CPUExecutionProvider"} for name in names)
    places = {"folder": "dist", "last": "baseline/last/simple", "proof": "--statements statements --machine gfx1100"}
    script = render("ci/gate.sh.j2", wheels=wheels, runtime="", gates=gates, alone=alone, tag=TAG[provider], **places)
    return f"find dist baseline > /dev/null 2>&1 || true\n{script}"


def gated(machine: JobMachine, shell: str, script: str, *wheels: str, **variables: str) -> tuple[int, str, list[str]]:
    """Exit code, the summary, and the calls of `stackbuild gate`."""
    work, calls = machine.folder / "work", Path(machine.environment("job", PipelineTrigger(""))["CI_CALLS"])
    shutil.rmtree(work, ignore_errors=True)
    calls.unlink(missing_ok=True)
    for wheel in wheels:
        (work / wheel).parent.mkdir(parents=True, exist_ok=True)
        (work / wheel).write_text(wheel)
    (work / "dist").mkdir(parents=True, exist_ok=True)
    done = again(machine, shell, script, **({"GITHUB_REF": "refs/tags/v2"} | variables))
    lines = calls.read_text().splitlines() if calls.exists() else []
    return done.returncode, (work / "gates.md").read_text(), [line for line in lines if line.startswith("gate ")]


def test_nothing_judged_is_said_and_is_an_error_where_the_recipe_asks_for_gates(machine: JobMachine, shell: str) -> None:
    here = f"cp{sys.version_info[0]}{sys.version_info[1]}"
    foreign = "dist/demo-1-cp27-none-any.whl"
    for wheels in ((), (foreign,), ("dist/other-1-py3-none-any.whl",)):
        assert gated(machine, shell, gate_script(), *wheels)[0] == 1
        code, summary, calls = gated(machine, shell, gate_script(gates=False), *wheels)
        assert code == 0 and "| all wheels | **nothing was judged** |" in summary.replace("all_wheels", "all wheels") and calls == []
    assert "| demo-1-cp27-none-any.whl | nothing: it is for another Python than this machine's |" in gated(machine, shell, gate_script(), foreign)[1]
    code, summary, calls = gated(machine, shell, gate_script(alone=True), f"dist/demo-1-{here}-none-any.whl", foreign)
    assert code == 0 and len(calls) == 1 and "--baseline" not in calls[0] and "nothing was judged" not in summary


def test_a_recipes_comparison_without_an_earlier_release_is_a_choice(machine: JobMachine, shell: str) -> None:
    """Accuracy is judged all the same. A branch may be built once somebody has said that a first release is coming."""
    wheel = "dist/demo-1-py3-none-any.whl"
    for provider, tag in (("github", {"GITHUB_REF": "refs/tags/v2"}), ("gitlab", {"CI_COMMIT_TAG": "v2"}), ("jenkins", {"TAG_NAME": "v2"})):
        branch = {name: "refs/heads/main" if name == "GITHUB_REF" else "" for name in tag}
        for where, first, expected in ((tag, "", 1), (tag, "v1", 1), (tag, "v2", 0), (branch, "", 1), (branch, "v1", 0)):
            code, summary, calls = gated(machine, shell, gate_script(provider), wheel, **where, STACKBUILD_FIRST_RELEASE=first)
            assert code == expected, (provider, where, first, summary)
            assert "--without-baseline" in calls[0] and "alone: a first release." in summary
            assert ("and there is none" in summary) is bool(expected)
    code, summary, calls = gated(machine, shell, gate_script(gates=False), wheel)
    assert code == 0 and "--without-baseline" in calls[0] and "alone: a first release." in summary
    code, summary, calls = gated(machine, shell, gate_script(), wheel, "baseline/demo-0.9-py3-none-any.whl")
    assert code == 0 and "--baseline baseline/demo-0.9-py3-none-any.whl" in calls[0] and "beside demo-0.9-py3-none-any.whl" in summary


def test_the_baseline_is_of_the_same_index(machine: JobMachine, shell: str) -> None:
    """A wheel for another ROCm has another version, which may be the highest."""
    wheel, old = "dist/demo-3+rocm7.2-py3-none-any.whl", "demo-2+rocm7.2-py3-none-any.whl"
    rows = (f"baseline/last/simple/demo/{old}", "baseline/last/rocm-6.4/simple/demo/demo-2.9+rocm6.4-py3-none-any.whl")
    code, _, calls = gated(machine, shell, gate_script(), wheel, *rows)
    assert code == 0 and f"--baseline {rows[0]}" in calls[0]
    code, _, calls = gated(machine, shell, gate_script(gates=False), wheel, rows[1])
    assert code == 0 and "--without-baseline" in calls[0]


def test_every_wheel_is_judged_and_one_that_fails_fails_the_job(machine: JobMachine, shell: str) -> None:
    script = gate_script(names=("demo", "more"), alone=True)
    wheels = ("dist/demo-1-py3-none-any.whl", "dist/more-1-py3-none-any.whl")
    code, summary, _ = gated(machine, shell, script, *wheels, CI_FAILS="gate")
    assert code == 5 and summary.count("failed with exit code 5") == 2
    code, summary, calls = gated(machine, shell, script, *wheels)
    assert code == 0 and len(calls) == 2 and summary.count("report of results.json") == 2
    reports = sorted(path.name for path in (machine.folder / "work").glob("gate-*.xml"))
    assert reports == ["gate-demo-1-py3-none-any.whl.xml", "gate-more-1-py3-none-any.whl.xml"]


@pytest.mark.parametrize("name", ["demo-1;touch owned", "demo-$(touch owned)", "demo-`touch owned`", "demo-' \"", "demo-1 | <b>", "demo--e"])
def test_a_wheels_name_is_data_to_the_gate(machine: JobMachine, shell: str, name: str) -> None:
    wheel = f"dist/{name}-py3-none-any.whl"
    code, summary, _ = gated(machine, shell, gate_script(alone=True), wheel)
    assert code in (0, 1)
    assert all(line.count("|") == 3 for line in summary.splitlines() if line.startswith("|")) and "<" not in summary


# --- each wheel once


def test_wheels_of_hostile_names_are_collected_as_they_are(machine: JobMachine, shell: str, tmp_path: Path) -> None:
    (machine.folder / "work").mkdir()
    names = ["a b", "$(touch owned)", "`touch owned`", "x;touch owned", "'q'", '"q"', "-n", "*"]
    for name in names:
        built = small_wheel(machine.folder / "work" / "dist" / "part" / "simple" / "demo-pkg")
        put_statements(built)
        for one in list(built.parent.glob(f"{built.name}*")):
            one.rename(one.with_name(one.name.replace(built.stem, name)))
    root = {"path": "rocm-7.2/simple", "folders": ("dist/part/simple",)}
    done = again(machine, shell, render("ci/collect.sh.j2", roots=(root,)))
    assert done.returncode == 0, done.stderr
    for folder in ("release", "roots/rocm-7.2/simple"):
        found = {path.name for path in (machine.folder / "work" / folder).iterdir()}
        assert {f"{name}.whl" for name in names} <= found and {f"{name}.whl.provenance.json" for name in names} <= found, folder


def test_a_name_with_two_contents_stops_a_release_also_for_two_indexes(machine: JobMachine, shell: str) -> None:
    work = machine.folder / "work"
    for part in ("one", "two"):
        small_wheel(work / "dist" / part / "simple" / "demo-pkg")
    script = render("ci/collect.sh.j2", roots=tuple({"path": f"{part}/simple", "folders": (f"dist/{part}/simple",)} for part in ("one", "two")))
    assert again(machine, shell, script).returncode == 0
    wheel = "demo_pkg-1.0-py3-none-any.whl"
    assert all((work / place / wheel).is_file() for place in ("release", "roots/one/simple", "roots/two/simple"))
    small_wheel(work / "dist" / "two" / "simple" / "demo-pkg", content="other")
    for left in ("release", "roots"):
        shutil.rmtree(work / left)
    done = again(machine, shell, script)
    assert done.returncode == 1 and "two builds made other bytes under one name" in done.stdout
    shutil.rmtree(work / "dist" / "two")
    assert again(machine, shell, script).returncode != 0, "a build whose index is missing"
