"""`ci render`: the pipelines of each provider, as values."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from stackbuild.core import digest
from stackbuild.core import yaml as yamlread
from stackbuild.core.errors import UsageError
from stackbuild.pipeline.ci_render import (
    ACTIONS,
    NOT_SIGNED,
    PipelineRequest,
    pipeline,
    ungated_recipes,
    unproved_recipes,
    unsigned_releases,
)
from stackbuild.pipeline.stackbuild_source import NOT_PINNED
from stackbuild.recipe.load import load
from support.recipes import text_of
from support.wheels import new_key, small_wheel

FROM = "tools/stackbuild-1.0-py3-none-any.whl"
RECIPES = ("debian-13", "rocm-7.2")


@pytest.fixture(autouse=True)
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The root of a repository that holds the wheel of stackbuild."""
    monkeypatch.chdir(tmp_path)
    return small_wheel(tmp_path / "tools", name="stackbuild").parents[1]



@pytest.mark.parametrize("provider", ["github", "gitlab"])
def test_a_pipeline_is_yaml_with_a_job_for_each_gpu(provider: str) -> None:
    text = pipeline(provider, tuple(load(r) for r in RECIPES), PipelineRequest(FROM, ("gfx1100",)))
    data, _ = yamlread.compose(text, provider)
    assert isinstance(data, dict)
    jobs = data["jobs"] if provider == "github" else data
    assert isinstance(jobs, dict)
    assert {"build", "prove-debian-13-gfx1100", "prove-rocm-7-2-gfx1100", "publish"} <= set(jobs)


def test_githubs_token_only_reads_and_every_action_is_a_commit() -> None:
    text = pipeline("github", tuple(load(r) for r in RECIPES), PipelineRequest(FROM, ("gfx1100",)))
    data, _ = yamlread.compose(text, "github")
    assert isinstance(data, dict) and data["permissions"] == {"contents": "read"}
    used = {line.split("uses: ")[1] for line in text.splitlines() if "uses: " in line}
    assert used == set(ACTIONS.values()) - {ACTIONS["attest"]}
    assert all(len(a.split("@")[1].split(" ")[0]) == 40 for a in used)
    publish = data["jobs"].pop("publish")
    assert "secrets." not in json.dumps(data) and publish["environment"] == "release"
    assert [key for step in publish["steps"] for key, value in step.get("env", {}).items() if "secrets." in value] == [
        "RELEASE_KEY"
    ]


def test_a_fork_does_not_reach_the_machines_with_gpus() -> None:
    data, _ = yamlread.compose(pipeline("github", (load("debian-13"),), PipelineRequest(FROM, ("gfx90a",))), "github")
    assert isinstance(data, dict) and isinstance(data["jobs"], dict)
    job = data["jobs"]["prove-debian-13-gfx90a"]
    assert isinstance(job, dict) and job["if"] == "github.event_name != 'pull_request'"


def test_a_jenkinsfile_balances_its_braces() -> None:
    text = pipeline("jenkins", tuple(load(r) for r in RECIPES), PipelineRequest(FROM, ("gfx90a",)))
    assert text.count("{") == text.count("}") > 20


@pytest.mark.parametrize(("provider", "gfx"), [("travis", "gfx90a"), ("github", "gfx906")])
def test_a_wrong_provider_or_gpu_is_named(provider: str, gfx: str) -> None:
    with pytest.raises(UsageError) as stopped:
        pipeline(provider, (load("debian-13"),), PipelineRequest(FROM, (gfx,)))
    assert stopped.value.next


def jobs_of(provider: str, *recipes: str, gfx: tuple[str, ...] = (), **more: Any) -> dict[str, Any]:
    request = PipelineRequest(FROM, gfx, **more)
    data: Any = yamlread.compose(pipeline(provider, tuple(load(r) for r in recipes), request), provider)[0]
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
    text = pipeline(provider, (load("ours.yaml"), load("debian-13")), PipelineRequest(FROM, ("gfx90a",)))
    assert '"ours.yaml"' in text and '"debian-13"' in text
    assert "prove-debian-13-gfx90a" in text and "prove-debian-13-2-gfx90a" in text
    assert pipeline(provider, (load(str(tmp_path / "ours.yaml")),), PipelineRequest(FROM)) == pipeline(
        provider, (load("ours.yaml"),), PipelineRequest(FROM)
    )


def test_a_file_that_a_checkout_would_not_have_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small_wheel(tmp_path / "here" / "tools", name="stackbuild")
    monkeypatch.chdir(tmp_path / "here")
    for name in ("ours.yaml", "here/a b.yaml", 'here/"; id.yaml'):
        with pytest.raises(UsageError, match="cannot get the recipe"):
            pipeline("github", (load(own(tmp_path / name, "debian-13")),), PipelineRequest(FROM))


def test_each_job_of_a_pipeline_has_a_name_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    own(tmp_path / "r.yaml", '"null"', gfx='"gfx942:xnack-", "gfx942:xnack+", ')
    gpus = ("gfx942:xnack-", "gfx942:xnack+", "gfx942:xnack-")
    jobs = jobs_of("github", "r.yaml", "r.yaml", gfx=gpus)
    assert [j for j in jobs if j.startswith("prove")] == ["prove-null-gfx942-xnack-off", "prove-null-gfx942-xnack-on"]
    assert jobs["build"]["strategy"]["matrix"]["include"] == [
        {
            "id": "null",
            "recipe": "r.yaml",
            "image": False,
            "python": "",
            "options": "",
            "require": "--require stackbuild-kernels:import,load,operators,numerics,emulated",
        }
    ]


def steps_of(job: dict[str, Any]) -> list[str]:
    return [str(step.get("run", "")) for step in job["steps"]]


def test_a_gpu_job_installs_stackbuild_before_it_calls_it() -> None:
    runs = steps_of(jobs_of("github", "rocm-7.2", gfx=("gfx90a",))["prove-rocm-7-2-gfx90a"])
    first = next(n for n, run in enumerate(runs) if run.startswith("stackbuild "))
    assert any("pip" in run and FROM in run for run in runs[:first])


@pytest.mark.parametrize("provider", ["github", "gitlab", "jenkins"])
def test_a_gpu_job_gates_each_wheel_beside_a_file_with_a_provider(provider: str) -> None:
    text = pipeline(provider, (load("rocm-7.2"),), PipelineRequest(FROM, ("gfx90a",)))
    assert 'stackbuild gate --candidate "$wheel" ${old:+--baseline "$old"}' in text
    assert "gate onnxruntime_migraphx --provider MIGraphXExecutionProvider\n" in text
    gated = pipeline(provider, (load("debian-13"),), PipelineRequest(FROM, ("gfx90a",)))
    assert "gate stackbuild_kernels --recipe debian-13 --provider" in gated


def test_a_tag_is_built_from_scratch_and_without_a_cache_of_other_runs() -> None:
    job = jobs_of("github", "debian-13", "rocm-7.2")["build"]
    steps = job["steps"]
    cache = next(step for step in steps if "actions/cache" in step.get("uses", ""))
    assert cache["if"] == "${{ github.ref_type != 'tag' }}"
    builds = [step["run"] for step in steps if "stackbuild" in step.get("run", "") and " build " in step["run"]]
    assert len(builds) == 2 and all("--keep-going $OPTIONS" in text for text in builds)
    assert job["env"]["OPTIONS"].endswith("${{ github.ref_type == 'tag' && '--from-scratch' || '' }}")
    build = jobs_of("gitlab", "debian-13", "rocm-7.2")["build"]
    tag, others = build["rules"]
    assert tag["if"] == "$CI_COMMIT_TAG" and tag["variables"]["FROM_SCRATCH"] == "--from-scratch"
    assert build["cache"]["key"] == "$STORE_KEY-$ID" and build["variables"]["STORE_KEY"] != tag["variables"]["STORE_KEY"]
    kept = [path.rstrip("/") for path in build["cache"]["paths"]]
    assert tag["variables"]["STACKBUILD_STORE"].removeprefix("$CI_PROJECT_DIR/") not in kept
    assert others == {"when": "on_success"} and any(line.rstrip().endswith("$FROM_SCRATCH") for line in build["script"])
    text = pipeline("jenkins", (load("debian-13"),), PipelineRequest(FROM))
    assert 'if [ -n "${TAG_NAME:-}" ]; then store="$WORKSPACE/.release-store" scratch=--from-scratch' in text


def test_gitlab_publishes_only_what_it_proved() -> None:
    jobs = jobs_of("gitlab", "debian-13", "rocm-7.2", gfx=("gfx90a",))
    assert jobs["publish"]["rules"] == [{"if": '$CI_COMMIT_TAG && $CI_COMMIT_REF_PROTECTED == "true"'}]
    assert jobs["prove-rocm-7-2-gfx90a"]["rules"] == [
        {"if": '$CI_COMMIT_REF_PROTECTED == "true" && $CI_PIPELINE_SOURCE != "merge_request_event"'}
    ]
    (need,) = jobs["prove-rocm-7-2-gfx90a"]["needs"]  # the wheels of the other recipe are not checked against this one
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
        (
            "https://example.invalid/stackbuild-1.0-py3-none-any.whl#sha256=" + "a" * 64,
            '"stackbuild[bench,emulator] @ https://example.invalid/stackbuild-1.0',
        ),
        (
            "git+https://example.invalid/stackbuild.git@" + "b" * 40,
            '"stackbuild[bench,emulator] @ git+https://example.invalid/stackbuild.git@' + "b" * 40,
        ),
        ("tools/stackbuild-1.0-py3-none-any.whl", '"./tools/stackbuild-1.0-py3-none-any.whl[bench,emulator]"'),
    ],
)
@pytest.mark.parametrize("provider", ["github", "gitlab", "jenkins"])
def test_runners_install_stackbuild_by_its_bytes(provider: str, spec: str, words: str) -> None:
    text = pipeline(provider, (load("debian-13"),), PipelineRequest(spec, ("gfx90a",)))
    assert words in text and "stackbuild==" not in text and "[bench,emulator]==" not in text


@pytest.mark.parametrize(
    "spec",
    ["", "stackbuild", "stackbuild==1.0", "https://example.invalid/x.whl", "git+https://example.invalid/x@main", "a b.whl", 'x";rm -rf ~;".whl', "../x.whl",
     "http://example.invalid/x.whl#sha256=" + "a" * 64, "x.tar.gz", "https://example.invalid/x.whl#sha256=" + "a" * 63],
)  # fmt: skip
def test_what_names_no_bytes_is_refused(spec: str) -> None:
    with pytest.raises(UsageError, match="which bytes") as caught:
        pipeline("github", (load("debian-13"),), PipelineRequest(spec))
    assert "sha256" in str(caught.value.next)


@pytest.mark.parametrize("file", ["evil-0.1.0-py3-none-any.whl", "stackbuild_evil-0.1.0-py3-none-any.whl", "stackbuild.whl", "stackbuild-1.0/x.whl"])
def test_a_wheel_of_another_name_is_refused_at_an_address_too(file: str) -> None:
    with pytest.raises(UsageError, match="this is not a wheel of stackbuild"):
        pipeline("github", (load("debian-13"),), PipelineRequest(f"https://example.invalid/{file}#sha256={'a' * 64}"))


HASH = "--hash=sha256:" + "a" * 64


@pytest.mark.parametrize("provider", ["github", "gitlab", "jenkins"])
def test_runners_install_what_stackbuild_needs_by_its_bytes_too(provider: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lock.txt").write_text(f"# made\nstackbuild[bench] @ https://example.invalid/s.whl#sha256={'a' * 64}\nnumpy==2.0 \\\n    {HASH}\n")
    text = pipeline(provider, (load("debian-13"),), PipelineRequest("lock.txt", ("gfx90a",)))
    installs = [line for line in text.splitlines() if "install --quiet" in line and "no-index" not in line]
    assert len(installs) == (2 if provider == "gitlab" else 3) and all('install --quiet --only-binary :all: --require-hashes -r "./lock.txt"' in line for line in installs)
    sha256 = digest.of_file(tmp_path / "lock.txt")
    assert text.count(f'echo "{sha256}  ./lock.txt" | sha256sum --check --quiet - ||') == len(installs), "another file than was read stops the job"
    assert "not pinned" not in text.lower()


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (f"./tools/stackbuild-1.0-py3-none-any.whl[bench] {HASH}\nnumpy==2.0\n", "'numpy==2.0' has no hash"),
        (f"numpy==2.0 {HASH}\n", "stackbuild is not among"),
        (f"stackbuild-evil==2.0 {HASH}\nstackbuild==1\n", "'stackbuild==1' has no hash"),
        (f"stackbuild-evil==2.0 {HASH}\n", "stackbuild is not among"),
        (f"stackbuild==1 # {HASH}\n", "'stackbuild==1' has no hash"),
        (f"stackbuild==1 \\\n# {HASH}\n", "'stackbuild==1' has no hash"),
        (f"stackbuild==1 {HASH}\nnumpy==2.0 ; python_version > '3' # {HASH}\n", "has no hash"),
        (f"--extra-index-url https://evil.example.invalid/simple\nstackbuild==1 {HASH}\n", "'--extra-index-url https://evil.example.invalid/simple' has an option"),
        (f"--index-url=https://evil.example.invalid/simple\nstackbuild==1 {HASH}\n", "'--index-url=https://evil.example.invalid/simple' has an option"),
        (f"-i https://evil.example.invalid/simple\nstackbuild==1 {HASH}\n", "has an option of pip"),
        (f"stackbuild==1 {HASH}\n  --trusted-host evil.example.invalid\n", "'--trusted-host evil.example.invalid' has an option"),
        (f"stackbuild==1 {HASH} \\\n--extra-index-url x\n", "has an option of pip"),
        (f"-r other.txt\nstackbuild==1 {HASH}\n", "'-r other.txt' has an option"),
        (f"-e .\nstackbuild==1 {HASH}\n", "'-e .' has an option"),
        (f"--no-binary :all:\nstackbuild==1 {HASH}\n", "has an option"),
        (f"stackbuild==1 --global-option=x {HASH}\n", "has an option"),
        ("stackbuild==1 --hash=md5:" + "a" * 32 + "\n", "has an option"),
        (f"stackbuild==1 {HASH}\n${{X}} {HASH}\n", "has a variable"),
        (f"# coding: utf-7\nstackbuild==1 {HASH}\n", "in the encoding that its head names"),
        (f"stackbuild==1 {HASH}\nnumpy @ https://example.invalid/numpy-2.0.tar.gz {HASH}\n", "is not a wheel at an https address"),
        (f"stackbuild==1 {HASH}\nnumpy @ http://example.invalid/numpy-2.0-py3-none-any.whl {HASH}\n", "is not a wheel at an https address"),
        (f"stackbuild==1 {HASH}\nnumpy @ git+https://example.invalid/numpy@{'b' * 40}\n", "is not a wheel at an https address"),
        (f"stackbuild==1 {HASH}\n./numpy-2.0.tar.gz {HASH}\n", "is not a requirement"),
        (f"./tools/stackbuild-9.9-py3-none-any.whl {HASH}\n", "is not there"),
        ("", "stackbuild is not among"),
        (None, "cannot be read: No such file"),
    ],
)
def test_requirements_without_a_hash_are_refused(lines: str | None, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    if lines is not None:
        (tmp_path / "lock.txt").write_text(lines)
    with pytest.raises(UsageError, match=words):
        pipeline("github", (load("debian-13"),), PipelineRequest("./lock.txt"))


@pytest.mark.parametrize("provider", ["github", "gitlab", "jenkins"])
def test_a_pipeline_that_is_not_pinned_says_so_at_its_head_and_in_each_release(provider: str) -> None:
    text = pipeline(provider, (load("debian-13"),), PipelineRequest(FROM, ("gfx90a",)))
    assert text.count(NOT_PINNED) == 2
    head, release = text.partition(NOT_PINNED)[0], text[text.rindex(NOT_PINNED) - 200 :]
    assert head.endswith("Not pinned: ") and "pip install" not in head and "Not pinned" in release
    installs = [line for line in text.splitlines() if "install --quiet" in line and "no-index" not in line]
    assert installs and all("--only-binary :all: " in line for line in installs), "an sdist runs code of its own"
    assert text.count(f"  ./{FROM}\" | sha256sum --check") == len(installs)


def test_a_wheel_that_is_not_there_is_refused(repository: Path) -> None:
    with pytest.raises(UsageError, match="no such wheel in the repository"):
        pipeline("github", (load("debian-13"),), PipelineRequest("tools/stackbuild-9.9-py3-none-any.whl"))
    small_wheel(repository / "tools", name="stackbuild-evil")
    with pytest.raises(UsageError, match="not a wheel of stackbuild"):
        pipeline("github", (load("debian-13"),), PipelineRequest("tools/stackbuild_evil-1.0-py3-none-any.whl"))


@pytest.mark.parametrize("provider", ["github", "gitlab", "jenkins"])
def test_a_signed_release_is_verified_and_an_unsigned_one_says_so(provider: str, tmp_path: Path) -> None:
    _, public = new_key(tmp_path / "keys")
    key = {"release_key": "key"} if provider == "jenkins" else {}
    recipes = (load("debian-13"), load("rocm-7.2"))
    text = pipeline(provider, recipes, PipelineRequest(FROM, **key))
    assert "ssh-keygen -y -P " in text, "the release key's own half"
    place = "public/" if provider == "github" else '"$index/'
    for root in ("simple", "rocm-7.2/simple"):
        lines = [line for line in text.splitlines() if f"{place}{root}" in line and f"--root {root}" in line]
        assert ["publish " in line for line in lines] == [True, False] and "verify-release " in lines[1], lines
        assert ("STACKBUILD_INDEX_AT_LEAST=" in lines[1]) == (root != "simple"), "each with its own number"
    unsigned = pipeline(provider, recipes, PipelineRequest(FROM))
    assert NOT_SIGNED[provider] in unsigned and "Not signed" in unsigned
    if provider == "github":
        assert f'echo "::warning title=Not signed::{NOT_SIGNED[provider]}"' in unsigned
        assert f'echo "**This release is not signed.** {NOT_SIGNED[provider]}" >> "$GITHUB_STEP_SUMMARY"' in unsigned
    required = pipeline(provider, recipes, PipelineRequest(FROM, public_key=public, **key))
    assert " ".join(public.read_text().split()[:2]) in required and "ssh-keygen" not in required
    if provider != "jenkins":  # there the credential is bound, or the build fails
        assert "each release is to be signed, and there is no key." in required
        assert "each release is to be signed" not in unsigned


def test_a_public_key_that_signs_nothing_is_refused(tmp_path: Path) -> None:
    _, public = new_key(tmp_path / "keys")
    with pytest.raises(UsageError, match="no credential is named that signs"):
        pipeline("jenkins", (load("debian-13"),), PipelineRequest(FROM, public_key=public))
    public.write_text(f'x valid-before="20300101" {public.read_text()}')
    with pytest.raises(UsageError, match="counts for a time only"):
        pipeline("github", (load("debian-13"),), PipelineRequest(FROM, public_key=public))
    assert unsigned_releases("jenkins", PipelineRequest(FROM)) and not unsigned_releases("github", PipelineRequest(FROM))


@pytest.mark.parametrize("provider", ["github", "gitlab"])
def test_wheels_of_several_roots_are_not_uploaded_onto_one_index(provider: str) -> None:
    recipes, url = (load("rocm-6.4"), load("rocm-7.2")), "https://upload.example.invalid/legacy/"
    with pytest.raises(UsageError, match=r"wheels of 2 indexes \(rocm-6.4/simple, rocm-7.2/simple\) would be mixed") as caught:
        pipeline(provider, recipes, PipelineRequest(FROM, index_url=url))
    assert "--upload-root rocm-6.4/simple" in str(caught.value.next)
    for more, words in (({"index_url": url, "upload_root": "simple"}, "no recipe publishes onto simple"), ({"upload_root": "simple"}, "nothing is uploaded")):
        with pytest.raises(UsageError, match=words):
            pipeline(provider, recipes, PipelineRequest(FROM, **more))
    jobs = jobs_of(provider, "rocm-6.4", "rocm-7.2", index_url=url, upload_root="rocm-7.2/simple")
    upload = json.dumps(jobs["upload"])
    if provider == "github":
        (kept,) = (step["with"] for step in jobs["publish"]["steps"] if step.get("with", {}).get("name") == "upload")
        assert kept["path"] == "roots/rocm-7.2/simple/*.whl" and '"name": "upload", "path": "release"' in upload
    else:
        assert "publish roots/rocm-7.2/simple/*.whl --to" in upload and "release/" not in upload
        assert jobs["publish"]["artifacts"]["paths"] == ["public", "roots/rocm-7.2/simple"]
    one = json.dumps(jobs_of(provider, "rocm-7.2", index_url=url))
    assert "release/*.whl" in one and "roots/rocm-7.2/simple/*.whl --to" in one


@pytest.mark.parametrize("provider", ["github", "gitlab", "jenkins"])
def test_a_release_knows_where_its_index_is_served(provider: str) -> None:
    """Its pages have install lines only then."""
    request = PipelineRequest(FROM, ("gfx90a",), url="https://wheels.example.invalid/simple")
    text = pipeline(provider, (load("debian-13"),), request)
    proof = "proof/proof-debian-13-gfx90a" if provider == "github" else "proof/debian-13-gfx90a"
    assert f'--proof {proof} --url https://wheels.example.invalid/simple "$@"' in text
    assert "--url" not in pipeline(provider, (load("debian-13"),), PipelineRequest(FROM))
    for bad in ("https://u:p@x/simple", "https://x/$(id)", "x", "https://x/ y"):
        with pytest.raises(UsageError, match="not an address"):
            pipeline(provider, (load("debian-13"),), PipelineRequest(FROM, url=bad))


def test_the_runtime_on_a_machine_with_a_gpu_needs_no_index() -> None:
    """Whoever registers a free name of its requirements would run there."""
    for provider, folder in (("github", "dist"), ("gitlab", "wheels/rocm-7-2"), ("jenkins", "dist")):
        text = pipeline(provider, (load("rocm-7.2"),), PipelineRequest(FROM, ("gfx90a",)))
        assert f'pip install --quiet --no-index --find-links {folder}/wheelhouse "$own"' in text


@pytest.mark.parametrize("provider", ["github", "gitlab", "jenkins"])
def test_a_gpu_job_requires_the_rungs_that_a_gpu_is_for(provider: str) -> None:
    text = pipeline(provider, (load("debian-13"),), PipelineRequest(FROM, ("gfx90a",)))
    assert "verify --each" in text and "--require stackbuild-kernels:import,load,operators,numerics,gpu" in text
    assert f"--wheelhouse {'wheels/debian-13' if provider == 'gitlab' else 'dist'}/wheelhouse" in text
    assert 'store copy "wheelhouse.$' in text and "--to dist/wheelhouse" in text


def test_githubs_cache_is_bounded_saved_after_a_failure_and_without_ccache() -> None:
    data: Any = yamlread.compose(pipeline("github", (load("debian-13"),), PipelineRequest(FROM)), "github")[0]
    steps = data["jobs"]["build"]["steps"]
    restore, save = (
        next(s for s in steps if f"actions/cache/{verb}@" in s.get("uses", "")) for verb in ("restore", "save")
    )
    assert save["if"].startswith("${{ always()") and "tag" in save["if"] and "tag" in restore["if"]
    assert all("!~/.cache/stackbuild/store/ccache" in s["with"]["path"] for s in (restore, save))
    assert any("store gc --max-size" in s.get("run", "") for s in steps[: steps.index(save)])
    assert any("GITHUB_STEP_SUMMARY" in s.get("run", "") and s["if"] == "always()" for s in steps)


def test_every_provider_keeps_the_logs_of_any_build_and_then_bounds_its_store() -> None:
    """Report, logs, and only then what may fail: also after a build that failed."""
    steps = jobs_of("github", "debian-13")["build"]["steps"]
    (logs,) = (step for step in steps if step.get("name") == "Logs")
    assert logs["if"] == "always()" and logs["with"]["path"] == "~/.cache/stackbuild/store/runs"
    build = jobs_of("gitlab", "debian-13")["build"]
    assert build["artifacts"]["when"] == "always" and "logs" in build["artifacts"]["paths"]
    assert build["cache"]["when"] == "always" and not [path for path in build["cache"]["paths"] if "ccache" in path]
    jenkins = pipeline("jenkins", (load("debian-13"),), PipelineRequest(FROM))
    post = jenkins[jenkins.index("post {") :].partition("archiveArtifacts artifacts: 'logs/**'")[0]
    assert "always {" in post
    for text in ("\n".join(build["after_script"]), post):
        places = [text.index(words) for words in ("report last", "/runs", "store gc --max-size")]
        assert places == sorted(places)


def test_every_gpu_job_keeps_what_it_proved_and_gated_also_where_it_failed() -> None:
    files = ("verdict-*.json", "gates.md", "first-release.txt")
    steps = jobs_of("github", "debian-13", gfx=("gfx90a",))["prove-debian-13-gfx90a"]["steps"]
    (kept,) = (step for step in steps if step.get("with", {}).get("name", "").startswith("proof-"))
    assert kept["if"] == "always()" and kept["with"]["path"].split() == ["verify.*", files[0], "gate-*.xml", *files[1:], "statements/"]
    (scanned,) = (step for step in steps if "code-scanning/sarifs" in step.get("run", ""))
    assert scanned["if"] == "always()" and "--sarif verify.sarif" in "".join(step.get("run", "") for step in steps)
    artifacts = jobs_of("gitlab", "debian-13", gfx=("gfx90a",))["prove-debian-13-gfx90a"]["artifacts"]
    assert artifacts == {"when": "always", "paths": [*files, "proof"], "reports": {"junit": ["verify.xml", "gate-*.xml"]}}
    jenkins = pipeline("jenkins", (load("debian-13"),), PipelineRequest(FROM, ("gfx90a",)))
    post = jenkins[jenkins.index("stage('prove-") :].partition("post {")[2].partition("stage('")[0]
    assert "always {" in post and "junit testResults: 'verify.xml, gate-*.xml'" in post and ", ".join(files) in post


def test_a_pipeline_starts_from_the_index_of_the_last_release() -> None:
    """Older versions stay: what is published is joined to it."""
    script = "\n".join(step.get("run", "") for step in jobs_of("github", "debian-13")["publish"]["steps"])
    assert script.index("gh run download") < script.index("stackbuild publish roots/simple/*.whl --to public/simple")
    publish = jobs_of("gitlab", "debian-13")["publish"]
    assert publish["cache"] == {"key": "index", "paths": ["public"]} and any(
        '--to "$index/simple"' in line for line in publish["script"]
    )
    assert publish["interruptible"] is False and publish["environment"] == "release"


@pytest.mark.parametrize("provider", ["github", "gitlab", "jenkins"])
def test_a_split_by_python_builds_and_proves_each_with_its_own(provider: str) -> None:
    text = pipeline(provider, (load("debian-13"),), PipelineRequest(FROM, ("gfx90a",), split=("python",)))
    for minor in (11, 12, 13, 14):
        assert f"--python 3.{minor}" in text and f"prove-debian-13-cp3{minor}-gfx90a" in text
        assert f"python3.{minor}" in text, "the interpreter of the machine with the GPU"
    whole = pipeline(provider, (load("debian-13"),), PipelineRequest(FROM, ("gfx90a",)))
    assert "--python" not in whole and "python3.1" not in whole


def test_a_split_by_gfx_takes_a_recipe_with_a_wheel_for_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match="for all its GPU targets") as caught:
        jobs_of("github", "debian-13", split=("gfx",))
    assert "per_gfx" in str(caught.value.next)
    (tmp_path / "r.yaml").write_text(
        text_of("debian-13").replace("name: debian-13", "name: each\nmatrix: {per_gfx: true}")
    )
    jobs = jobs_of("github", "r.yaml", gfx=("gfx90a",), split=("gfx", "python"))
    rows = jobs["build"]["strategy"]["matrix"]["include"]
    assert (
        len(rows) == 16 and rows[0]["options"] == "--python 3.11 --gfx gfx90a" and rows[0]["id"] == "each-cp311-gfx90a"
    )
    assert [name for name in jobs if name.startswith("prove")] == [
        f"prove-each-cp3{minor}-gfx90a" for minor in (11, 12, 13, 14)
    ]
    assert jobs["prove-each-cp312-gfx90a"]["steps"][1]["with"]["name"] == "wheels-each-cp312-gfx90a"


def test_attestation_and_upload_have_the_rights_they_need_and_no_secret() -> None:
    url = "https://upload.example.invalid/legacy/"
    jobs = jobs_of("github", "debian-13", attest=True, index_url=url)
    attest, upload = jobs["attest"], jobs["upload"]
    assert attest["permissions"] == {"id-token": "write", "attestations": "write"}
    assert upload["permissions"] == {"contents": "read", "id-token": "write"} and upload["environment"] == "release"
    assert "secrets." not in json.dumps([attest, upload]) and f'--to "{url}"' in json.dumps(upload).replace("\\", "")
    assert all(
        job["if"] == "startsWith(github.ref, 'refs/tags/v')" and job["needs"] == "publish" for job in (attest, upload)
    )
    assert not {"id-token", "attestations"} & {
        right for name in ("build", "publish") for right in jobs[name].get("permissions", {})
    }
    remote = PipelineRequest("git+https://example.invalid/stackbuild.git@" + "b" * 40, index_url=url)
    data: Any = yamlread.compose(pipeline("github", (load("debian-13"),), remote), "github")[0]
    assert data["jobs"]["upload"]["permissions"] == {"id-token": "write"}
    gitlab = jobs_of("gitlab", "debian-13", attest=True, index_url=url)
    assert gitlab["upload"]["id_tokens"] == {"PYPI_ID_TOKEN": {"aud": "pypi"}, "SIGSTORE_ID_TOKEN": {"aud": "sigstore"}}
    for job in (steps_of(upload), gitlab["upload"]["script"]):
        assert any(line.rstrip().endswith("--attest") for line in job) and any(
            "[publish,sigstore]" in line for line in job
        )
    plain = jobs_of("gitlab", "debian-13", index_url=url)["upload"]
    assert plain["id_tokens"] == {"PYPI_ID_TOKEN": {"aud": "pypi"}} and "--attest" not in json.dumps(plain)
    assert gitlab["publish"]["variables"]["RUNNER_GENERATE_ARTIFACTS_METADATA"] == "true"
    assert {"attest", "upload"}.isdisjoint(jobs_of("github", "debian-13"))


def test_the_job_that_signs_has_the_packages_and_the_wheel_of_stackbuild() -> None:
    """The wheel lies in the repository, so it is checked out before anything is downloaded into its folder."""
    steps = jobs_of("github", "debian-13")["publish"]["steps"]
    assert "checkout" in steps[0]["uses"] and any("[publish]" in step.get("run", "") for step in steps)


@pytest.mark.parametrize(
    ("provider", "request_", "where"),
    [
        ("github", PipelineRequest(FROM, split=("os",)), "--split"),
        ("github", PipelineRequest(FROM, index_url="http://a.invalid/"), "--trusted-publishing"),
        ("github", PipelineRequest(FROM, index_url='https://a.invalid/"; id'), "--trusted-publishing"),
        ("jenkins", PipelineRequest(FROM, attest=True), "--attest"),
        ("jenkins", PipelineRequest(FROM, index_url="https://a.invalid/"), "--trusted-publishing"),
    ],
)
def test_what_a_provider_cannot_do_is_refused(provider: str, request_: PipelineRequest, where: str) -> None:
    with pytest.raises(UsageError) as caught:
        pipeline(provider, (load("debian-13"),), request_)
    assert caught.value.where == where and caught.value.next


@pytest.mark.parametrize("provider", ["github", "gitlab", "jenkins"])
def test_without_a_gpu_the_build_requires_what_any_machine_can_prove_and_the_rest_is_said(provider: str) -> None:
    text = pipeline(provider, (load("debian-13"), load("rocm-7.2")), PipelineRequest(FROM))
    assert "--require stackbuild-kernels:import,load,operators,numerics,emulated" in text
    assert "--require onnxruntime-migraphx:import,load" in text and "prove-" not in text
    for line in (
        "gpu of stackbuild-kernels (debian-13): no runner with a GPU was named by --gpu",
        "operators, numerics, gpu of onnxruntime-migraphx (rocm-7.2): no runner with a GPU was named by --gpu",
    ):
        assert text.count(line) == 2, "at the head of the file, and in the log of a release"
        assert line in unproved_recipes((load("debian-13"), load("rocm-7.2")), PipelineRequest(FROM))
    assert "--proof" not in text and "pattern: proof-*" not in text
    proved = pipeline(provider, (load("rocm-7.2"),), PipelineRequest(FROM, ("gfx1100",)))
    assert "no runner with a GPU" not in proved
    assert "--require onnxruntime-migraphx:import,load,operators,numerics,gpu" in proved


def test_wheels_that_nothing_is_known_of_must_pass_all_on_a_gpu(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text = text_of("debian-13").replace("name: debian-13", "name: theirs").replace("stackbuild_kernels", "theirs")
    (tmp_path / "r.yaml").write_text(text)
    with pytest.raises(UsageError, match="has gates, and `stackbuild gate` can measure no wheel of it"):
        pipeline("github", (load("r.yaml"),), PipelineRequest(FROM, ("gfx90a",)))
    (tmp_path / "r.yaml").write_text(re.sub(r"(?ms)^gates:\n.*?(?=^\S)", "", text))
    found = pipeline("github", (load("r.yaml"),), PipelineRequest(FROM, ("gfx90a",)))
    assert "dist/wheelhouse --require import,load,operators,numerics,gpu --statements" in found


def test_releases_of_two_tags_come_one_after_the_other() -> None:
    """Each begins with the index of the one before; GitHub would drop a third without `queue: max`."""
    data: Any = yamlread.compose(pipeline("github", (load("debian-13"),), PipelineRequest(FROM)), "github")[0]
    assert data["jobs"]["publish"]["concurrency"] == {"group": "${{ github.workflow }}-publish", "queue": "max"}
    assert data["concurrency"]["group"].endswith("github.ref }}"), "builds of two tags do not wait for each other"
    assert jobs_of("gitlab", "debian-13")["publish"]["resource_group"] == "release"
    text = pipeline("jenkins", (load("debian-13"),), PipelineRequest(FROM))
    assert 'publish roots/simple/*.whl --to "$index/simple"' in text and "${JOB_NAME%/*}" in text


@pytest.mark.parametrize("provider", ["github", "gitlab", "jenkins"])
def test_what_a_gpu_proved_is_published_and_the_last_release_is_the_baseline(provider: str) -> None:
    text = pipeline(provider, (load("debian-13"),), PipelineRequest(FROM, ("gfx1100",)))
    own = "proof/debian-13-gfx1100" if provider == "gitlab" else "statements"
    assert text.count(f"--statements {own} --machine gfx1100") == 2, "of the verification and of the gate"
    publish = text[text.index("stackbuild publish roots/simple/*.whl") :].partition("\n")[0]
    proof = "proof/proof-debian-13-gfx1100" if provider == "github" else "proof/debian-13-gfx1100"
    assert f'--proof {proof} "$@"' in publish
    last = {"github": "baseline/last", "gitlab": "public", "jenkins": "last"}[provider]
    assert f"find {last}/simple -name" in text
    prove = text[text.index("prove-debian-13-gfx1100") :]
    got = {"github": "tar -C baseline/last -xf index.tar", "gitlab": "policy: pull", "jenkins": "unstash 'last'"}[provider]
    assert prove.index(got) < prove.index("stackbuild gate ") if provider != "gitlab" else got in prove


@pytest.mark.parametrize(("label", "guarded"), [("my-runner", True), ("ubuntu-evil", True), ("ubuntu-24.04", False), ("", False)])
def test_a_fork_does_not_reach_a_builder_of_ones_own(label: str, guarded: bool) -> None:
    """GitHub's own runners are new machines each time."""
    job = jobs_of("github", "debian-13", build_on=label)["build"]
    assert (job.get("if") == "github.event_name != 'pull_request'") is guarded


@pytest.mark.parametrize("provider", ["gitlab", "jenkins"])
def test_no_code_that_nobody_merged_runs_where_releases_are_built_and_signed(provider: str) -> None:
    """Three runners: of pull requests, of releases, of the key. A pull request's code ran as the user that holds the key."""
    text = pipeline(provider, (load("debian-13"),), PipelineRequest(FROM, ("gfx90a",), release_key="key" if provider == "jenkins" else ""))
    if provider == "gitlab":
        data: Any = yamlread.compose(text, provider)[0]
        request, protected, other = data["workflow"]["rules"]
        assert request["if"] == '$CI_PIPELINE_SOURCE == "merge_request_event"'
        assert [one["variables"]["BUILD_RUNNER"] for one in (request, protected, other)] == [
            "rocm-pull-request",
            "rocm-build",
            "rocm-pull-request",
        ]
        assert protected["if"].startswith('$CI_COMMIT_REF_PROTECTED == "true" && ')
        assert data["build"]["tags"] == ["$BUILD_RUNNER"] and data["publish"]["tags"] == ["rocm-publish"]
        assert "RELEASE_KEY" not in json.dumps({name: job for name, job in data.items() if name != "publish"})
        return
    stages = dict(part.split("') {", 1) for part in text.split("stage('")[1:])
    trusted = "!env.CHANGE_ID && (env.TAG_NAME || env.BRANCH_IS_PRIMARY == 'true')"
    assert f"agent {{ label \"${{ {trusted} ? 'rocm-build' : 'rocm-pull-request' }}\" }}" in stages["build-debian-13"]
    for name in ("last release", "prove", "publish"):
        assert "not { changeRequest() }" in stages[name], name
    for name in ("last release", "prove"):
        assert f"expression {{ {trusted} }}" in stages[name]
    for name in ("last release", "publish"):
        assert "label 'rocm-publish'" in stages[name] and "beforeAgent true" in stages[name], "no checkout of a pull request there"
    assert "beforeInput true" in stages["publish"] and "buildingTag()" in stages["publish"]
    _, bound = stages["publish"].split("withCredentials([file(credentialsId: 'key', variable: 'RELEASE_KEY')]) {")
    assert text.count("withCredentials") == 1 and text.count("RELEASE_KEY") == bound.count("RELEASE_KEY") + 1 == 3
    assert "stackbuild publish" in bound and "pip" not in bound.partition("\n        }\n")[0] and "unstash" not in bound
    assert "The index is not signed" in pipeline(provider, (load("debian-13"),), PipelineRequest(FROM))


@pytest.mark.parametrize(
    ("provider", "more", "where"),
    [
        ("gitlab", {"pull_requests_on": "a", "build_on": "a"}, "--pull-requests-on"),
        ("jenkins", {"pull_requests_on": "rocm-publish"}, "--pull-requests-on"),
        ("github", {"pull_requests_on": "mine", "build_on": "mine"}, "--pull-requests-on"),
        ("jenkins", {"publish_on": "a'; sh 'id"}, "--publish-on"),
        ("github", {"retention_days": 0}, "--retention-days"),
        ("github", {"retention_days": 401}, "--retention-days"),
        ("gitlab", {"release_assets": True}, "--release-assets"),
        ("github", {"release_key": "key"}, "--release-key"),
        ("jenkins", {"release_key": "a'] ; b"}, "--release-key"),
    ],
)
def test_what_would_mix_or_lose_releases_is_refused(provider: str, more: dict[str, Any], where: str) -> None:
    with pytest.raises(UsageError) as caught:
        pipeline(provider, (load("debian-13"),), PipelineRequest(FROM, **more))
    assert caught.value.where == where and caught.value.next


def test_pull_requests_may_have_a_runner_of_their_own_on_github() -> None:
    job = jobs_of("github", "debian-13", build_on="mine", pull_requests_on="ubuntu-24.04")["build"]
    assert job["runs-on"] == "${{ github.event_name == 'pull_request' && 'ubuntu-24.04' || 'mine' }}" and "if" not in job
    assert jobs_of("github", "debian-13", publish_on="safe")["publish"]["runs-on"] == "safe"


@pytest.mark.parametrize("provider", ["github", "gitlab", "jenkins"])
def test_how_long_releases_are_kept_is_an_option_and_is_said(provider: str) -> None:
    text = pipeline(provider, (load("debian-13"),), PipelineRequest(FROM, retention_days=33))
    words = {"github": "retention-days: 33", "gitlab": "expire_in: 33 days", "jenkins": "artifactDaysToKeepStr: '33'"}
    assert text.count(words[provider]) == (2 if provider == "github" else 1)
    head = text[: text.index("pipeline {" if provider == "jenkins" else "\n\n")]
    assert "STACKBUILD_FIRST_RELEASE" in head and ("33 days" in head or provider == "jenkins")
    assert "90" in pipeline(provider, (load("debian-13"),), PipelineRequest(FROM))


def test_assets_of_releases_are_written_by_a_job_that_runs_nothing_else() -> None:
    jobs = jobs_of("github", "debian-13", release_assets=True)
    assert jobs["keep"]["permissions"] == {"contents": "write"} and jobs["keep"]["needs"] == "publish"
    assert jobs["keep"]["if"] == "startsWith(github.ref, 'refs/tags/v')"
    assert "checkout" not in json.dumps(jobs["keep"]) and "pip" not in json.dumps(jobs["keep"])
    assert jobs["publish"]["permissions"] == {"contents": "read", "actions": "read"}
    assert "keep" not in jobs_of("github", "debian-13")


def test_what_is_gated_nowhere_is_said_at_the_head_and_in_the_log() -> None:
    for provider in ("github", "gitlab", "jenkins"):
        text = pipeline(provider, (load("debian-13"), load("lc0")), PipelineRequest(FROM, ("gfx1100",)))
        assert text.count("lc0: no wheel of it can be measured") == 2, provider
        assert ungated_recipes((load("debian-13"),), PipelineRequest(FROM)) == (
            "debian-13, beside an earlier release: no runner with a GPU was named by --gpu",
        )


@pytest.mark.parametrize("provider", ["github", "gitlab", "jenkins"])
def test_each_rocm_has_an_index_of_its_own(provider: str) -> None:
    """Its wheels, its proofs, its address, its number, and the last release that its new wheels are gated against."""
    request = PipelineRequest(FROM, ("gfx1100",), url="https://wheels.example.invalid/{root}")
    text = pipeline(provider, tuple(map(load, ("rocm-6.4", "debian-13", "rocm-7.2"))), request)
    lines = [line.strip().removeprefix("- ") for line in text.splitlines() if "stackbuild publish " in line]
    proof = "proof/proof-" if provider == "github" else "proof/"
    to = "public" if provider == "github" else '"$index'
    for line, (root, build) in zip(lines, {"rocm-6.4/simple": "rocm-6-4", "rocm-7.2/simple": "rocm-7-2", "simple": "debian-13"}.items(), strict=True):
        assert f"publish roots/{root}/*.whl --to {to}/{root}" in line
        assert re.findall(r"--proof (\S+)", line) == [f"{proof}{build}-gfx1100"]
        assert f" --url https://wheels.example.invalid/{root} " in line
        last = {"github": "baseline/last", "gitlab": "public", "jenkins": "last"}[provider]
        built = {"github": "dist", "gitlab": f"wheels/{build}", "jenkins": "dist"}[provider]
        prove = text[text.index(f"prove-{build}-gfx1100") :]
        assert f"find {built}/{root} -name '*.whl' -print0" in prove and f"find {last}/{root} -name" in prove
    assert lines[0].startswith('STACKBUILD_INDEX_AT_LEAST="${STACKBUILD_INDEX_AT_LEAST_ROCM_6_4:-}" ')
    assert not lines[2].startswith("STACKBUILD_INDEX_AT_LEAST")


@pytest.mark.parametrize("provider", ["github", "gitlab", "jenkins"])
def test_a_recipe_without_wheels_is_built_and_nothing_of_it_is_proved_or_published(provider: str) -> None:
    text = pipeline(provider, (load("lc0"),), PipelineRequest(FROM, ("gfx1100",)))
    assert "Nothing is published by this pipeline" in text
    assert "stackbuild publish" not in text and "prove-lc0" not in text and "stackbuild build --recipe" in text
    both = pipeline(provider, (load("lc0"), load("debian-13")), PipelineRequest(FROM, ("gfx90a",)))
    assert "prove-debian-13" in both and "prove-lc0" not in both
    assert [line.split()[1] for line in both.splitlines() if line.strip().startswith("collect ")] == [
        {"github": "dist/wheels-debian-13/simple", "gitlab": "wheels/debian-13/simple", "jenkins": "wheels/debian-13/dist/simple"}[provider]
    ]
