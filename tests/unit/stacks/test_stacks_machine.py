"""`env`, `doctor` and `ci render` as values."""

import json
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from stackbuild.core import yaml as yamlread
from stackbuild.core.errors import UsageError
from stackbuild.machine import doctor, gpu
from stackbuild.machine.env import FORMS, WORKLOADS, environment, spelled, target_of
from stackbuild.model.findings import Rung, Status
from stackbuild.pipeline.ci_render import ACTIONS, pipeline
from stackbuild.recipe.load import load, text_of
from stackbuild.views.machine import draw_doctor


@pytest.mark.parametrize(
    ("gpu_name", "gfx"),
    [
        ("RX 7900 XTX", "gfx1100"),
        ("AMD Radeon RX 7900 XTX", "gfx1100"),
        ("radeon rx-7900-xtx", "gfx1100"),
        ("Instinct MI300X", "gfx942"),
        ("gfx90a", "gfx90a"),
        ("Radeon 8060S", "gfx1151"),
        ("MI 300X", "gfx942"),
        ("gfx942:xnack-", "gfx942"),
        ("MI450", "gfx1250"),
        ("7900xtx", "gfx1100"),
        ("rx7900xtx", "gfx1100"),
        ("AMD Radeon RX 7900 XTX (RADV NAVI31)", "gfx1100"),
        ("AMD Radeon(TM) 780M Graphics", "gfx1103"),
        ("9070xt", "gfx1201"),
        ("strix-halo", "gfx1151"),
        ("Ryzen AI Max+ 395", "gfx1151"),
        ("Vega64", "gfx900"),
        ("GFX1151", "gfx1151"),
    ],
)
def test_a_gpu_is_known_by_any_of_its_names(gpu_name: str, gfx: str) -> None:
    assert target_of(gpu_name).gfx == gfx


def test_an_unknown_gpu_gets_a_suggestion() -> None:
    with pytest.raises(UsageError) as stopped:
        target_of("RX 7900 XTXX")
    assert "RX 7900 XTX" in stopped.value.next


@pytest.mark.parametrize("name", ["", "rx", "RX 580", "RTX 4090", "banana", "gfx9999", "radeon"])
def test_a_gpu_like_none_gets_no_wrong_suggestion(name: str) -> None:
    with pytest.raises(UsageError) as stopped:
        target_of(name)
    assert stopped.value.next.startswith("give an AMD GPU's name")


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("workload", WORKLOADS)
def test_every_line_that_is_set_has_its_source_above_it(workload: str, form: str) -> None:
    lines = spelled(environment("MI50", workload, {}), form).splitlines()
    for above, line in pairwise(lines):
        if not line.startswith(("#", "RUN ")):
            above = lines[lines.index(above) - 1] if above.startswith("# make it first") else above
            assert above.startswith("# ") and above.endswith("]")


def test_a_cache_of_compiled_models_is_of_one_rocm_and_one_gpu_and_is_made() -> None:
    one = environment("MI300X", "onnxruntime", {}, "7.2.4")
    assert "/var/cache/ort-migraphx/rocm-7.2.4-gfx942" in {s.value for s in one.settings}
    other = environment("RX 7900 XTX", "onnxruntime", {}, "7.2.4")
    assert {s.value for s in one.settings if s.folder}.isdisjoint(s.value for s in other.settings)
    assert '/rocm-7.2.4-gfx942"; mkdir -p "$ORT_MIGRAPHX_MODEL_CACHE_PATH"\n' in spelled(one, "shell")
    assert "RUN mkdir -p /var/cache/ort-migraphx/rocm-7.2.4-gfx942\n" in spelled(one, "dockerfile")
    assert "# make it first: mkdir -p /var/cache/ort-migraphx/rocm-7.2.4-gfx942\n" in spelled(one, "dotenv")
    with pytest.raises(UsageError):
        environment("MI300X", "onnxruntime", {}, '7.2"; id; "')


def test_a_gpu_that_no_rocm_has_code_for_is_warned_of() -> None:
    assert [w.name for w in environment("RX 6700 XT", "onnxruntime", {}).warnings] == ["gfx1031"]
    assert not environment("RX 6800", "onnxruntime", {}).warnings


@pytest.mark.parametrize(("gfx", "rocm"), [("gfx950", "6.4.4-129"), ("gfx1151", "6.4"), ("gfx1103", "7.2.4")])
def test_a_gpu_that_this_rocm_has_no_code_for_is_warned_of(gfx: str, rocm: str) -> None:
    (warning,) = environment(gfx, "onnxruntime", {}, rocm).warnings
    assert warning.name == gfx
    assert f"ROCm {rocm} ships no code objects" in warning.why
    assert not environment(gfx, "onnxruntime", {}, "10.1").warnings
    assert not environment(gfx, "onnxruntime", {}).warnings


def test_a_rocm_that_the_table_does_not_know_is_named() -> None:
    assert [w.name for w in environment("MI300X", "onnxruntime", {}, "12.0").warnings] == ["ROCm 12.0"]


@pytest.mark.parametrize(
    ("rocm", "names"),
    [
        ("6.2", set()),
        ("6.3", {"MIGRAPHX_SET_GEMM_PROVIDER"}),
        ("6.4", {"MIGRAPHX_SET_GEMM_PROVIDER", "ORT_MIGRAPHX_MODEL_CACHE_PATH"}),
        ("10.0", {"MIGRAPHX_SET_GEMM_PROVIDER", "ORT_MIGRAPHX_MODEL_CACHE_PATH"}),
        ("", {"MIGRAPHX_SET_GEMM_PROVIDER", "ORT_MIGRAPHX_MODEL_CACHE_PATH"}),
    ],
)
def test_rows_hold_from_their_rocm_on(rocm: str, names: set[str]) -> None:
    given = {"ORT_MIGRAPHX_SAVE_COMPILED_MODEL": "1", "ORT_MIGRAPHX_LOAD_COMPILE_PATH": "x"}
    found = environment("RX 6800", "onnxruntime", given, rocm)
    assert {s.name for s in found.settings} == names | {"ROCR_VISIBLE_DEVICES"}
    assert {w.name for w in found.warnings} == (given.keys() if "ORT_MIGRAPHX_MODEL_CACHE_PATH" in names else set())


def test_settings_copied_from_guides_are_warned_of() -> None:
    given = {"HSA_ENABLE_SDMA": "0", "PYTORCH_ROCM_DEVICE": "0", "HSA_OVERRIDE_GFX_VERSION": "11.0.0", "PATH": "/bin"}
    warned = {w.name for w in environment("RX 7800 XT", "onnxruntime", given).warnings}
    assert warned == {"HSA_ENABLE_SDMA", "PYTORCH_ROCM_DEVICE", "HSA_OVERRIDE_GFX_VERSION"}


def test_nothing_that_is_warned_of_is_ever_set() -> None:
    from stackbuild.machine.env import all_warnings

    barred = {w.name for w in all_warnings()}
    for workload in WORKLOADS:
        for name in ("MI50", "MI300X", "RX 6800", "RX 9070"):
            assert not barred & {s.name for s in environment(name, workload, {}).settings}


@pytest.mark.parametrize(
    ("version", "gfx"),
    [(90006, "gfx906"), (90010, "gfx90a"), (90402, "gfx942"), (100300, "gfx1030"), (110501, "gfx1151")],
)
def test_the_kernels_number_of_a_target_is_read(version: int, gfx: str) -> None:
    assert gpu.gfx_of(version) == gfx


def test_gpus_are_read_from_a_topology(tmp_path: Path) -> None:
    for node, version in (("0", 0), ("1", 110000)):
        (tmp_path / node / "mem_banks" / "0").mkdir(parents=True)
        (tmp_path / node / "properties").write_text(f"gfx_target_version {version}\ndrm_render_minor 128\nname x\n")
        (tmp_path / node / "mem_banks" / "0" / "properties").write_text("size_in_bytes 25753026560\n")
    (found,) = gpu.gpus(tmp_path)
    assert (found.gfx, found.memory, found.render) == ("gfx1100", 25753026560, 128)
    assert gpu.gpus(tmp_path / "nowhere") == ()


def test_rocms_version_is_read_from_its_own_file(tmp_path: Path) -> None:
    assert gpu.rocm_version(tmp_path) == ""
    (tmp_path / ".info").mkdir()
    (tmp_path / ".info" / "version").write_text("6.4.4\n")
    assert gpu.rocm_version(tmp_path) == "6.4.4"


def test_rocm_10_has_its_version_in_the_tree_that_is_in_use(tmp_path: Path) -> None:
    (tmp_path / "core-10.1" / ".info").mkdir(parents=True)
    (tmp_path / "core-10.1" / ".info" / "version").write_text("10.1.0\n")
    (tmp_path / "core").symlink_to("core-10.1")
    assert gpu.rocm_version(tmp_path) == "10.1.0"


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
    assert any("pip" in run and "stackbuild[bench]" in run for run in runs[:first])


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


@pytest.mark.parametrize(
    ("rocm", "driver", "status"),
    [
        ("7.2.4", "30.30.1", Status.PASSED),
        ("6.4.4-12", "30.30", Status.PASSED),
        ("6.0.2", "30.30.1", Status.FAILED),
        ("10.1.0", "30.30.1", Status.FAILED),
        ("7.2.4", "30.300", Status.SKIPPED),
        ("7.2.4", "6.12.12", Status.SKIPPED),
        ("9.9.9", "30.30.1", Status.SKIPPED),
        ("7.2.4", "", Status.SKIPPED),
    ],
)
def test_a_driver_is_held_against_rocm(rocm: str, driver: str, status: Status, tmp_path: Path) -> None:
    (tmp_path / ".info").mkdir()
    (tmp_path / ".info" / "version").write_text(f"{rocm}\n")
    if driver:
        (tmp_path / "amdgpu").mkdir()
        (tmp_path / "amdgpu" / "version").write_text(f"{driver}\n")
    machine = doctor.Machine(rocm=tmp_path, driver=tmp_path / "amdgpu" / "version")
    assert doctor._rocm(machine)[0] is status


def test_doctor_ends_with_how_much_is_to_mend(capsys: pytest.CaptureFixture[str]) -> None:
    fine = Rung("tools", Status.PASSED, "all there", 0.0)
    draw_doctor((fine, Rung("sandbox", Status.FAILED, "bubblewrap is not installed", 0.0)))
    assert capsys.readouterr().err.startswith("1 to mend")
    draw_doctor((fine, Rung("gpu", Status.SKIPPED, "none", 0.0)))
    assert capsys.readouterr().err.startswith("nothing to mend")


@pytest.mark.parametrize(("gib", "status"), [(100, Status.PASSED), (27, Status.SKIPPED), (1, Status.FAILED)])
def test_a_disk_too_small_for_a_stack_has_not_passed(
    gib: int, status: Status, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=gib << 30))
    assert doctor._disk(doctor.Machine(store=tmp_path))[0] is status


@pytest.mark.parametrize(("gib", "status"), [(32, Status.PASSED), (8, Status.SKIPPED)])
def test_memory_below_what_a_stack_wants_has_not_passed(
    gib: int, status: Status, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "machine_memory", lambda: gib << 30)
    assert doctor._memory(doctor.Machine())[0] is status


def test_a_gpus_name_cannot_add_a_line_to_what_a_shell_is_given() -> None:
    lines = spelled(environment("RX\n6800", "pytorch", {}), "shell").splitlines()
    assert all(line.startswith(("#", "export ")) for line in lines)
