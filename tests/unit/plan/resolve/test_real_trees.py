"""What the real source trees do and a miniature does not, in the plans of the bundled recipes."""

from dataclasses import replace

import pytest
from packaging.version import Version

from stackbuild.model.choice import Choice
from stackbuild.model.components import OnnxRuntime
from stackbuild.model.inputs import Inputs
from stackbuild.model.lock import Lock
from stackbuild.model.plan import Plan, Step
from stackbuild.plan.resolve import resolve
from stackbuild.recipe.load import bundled_recipes, load, parse
from stackbuild.recipe.lock_file import read_lock
from stackbuild.sources.upstream import REGENERATED_ARCHIVES, deps_txt
from support.recipes import text_of
from support.upstream_lists import DEPS_TXT


def plan_of(text: str, lock: Lock, choice: Choice = Choice()) -> Plan:
    recipe = parse(text, "t.yaml")
    return resolve(recipe, Inputs.of(lock, dict.fromkeys(recipe.sources, "0" * 64)), choice)


def locked(name: str) -> Lock:
    return read_lock(load(name))


def at_version(version: str) -> Plan:
    text = text_of("rocm-6.4").replace("version: 1.22.1", f"version: {version}").replace("v1.22.1", f"v{version}")
    lock = locked("rocm-6.4")
    rows = lock.model_copy(update={"deps": {**lock.deps, "onnxruntime": deps_txt(DEPS_TXT)}})
    return plan_of(text, rows)


def told(step: Step) -> str:
    return " ".join(word for command in step.commands for word in command.argv)


@pytest.mark.parametrize(("version", "repaired"), [("1.19.0", True), ("1.22.0", True), ("1.22.1", False)])
def test_the_copied_tree_of_an_old_onnxruntime_says_the_digest_of_today_too(version: str, repaired: bool) -> None:
    step = at_version(version).by_name["onnxruntime.cp312"]
    for old, new in REGENERATED_ARCHIVES.items():
        assert (f"-e s/{old}/{new}/" in told(step)) is repaired


@pytest.mark.parametrize(("version", "asked"), [("1.18.0", True), ("1.20.2", True), ("1.21.0", False)])
def test_rows_that_only_an_older_onnxruntime_asks_for_are_fetched_for_it_alone(version: str, asked: bool) -> None:
    fetched = dict(at_version(version).by_name["source.onnxruntime.deps"].params)
    assert any("protoc" in url for url in fetched) is asked
    assert any("nsync" in url for url in fetched) is asked
    assert any("eigen" in url for url in fetched)


def test_composable_kernel_is_fetched_where_it_is_built() -> None:
    lock, text = locked("rocm-6.4"), text_of("rocm-6.4")
    off = "onnxruntime_USE_COMPOSABLE_KERNEL: false"
    for pair, wanted in ((off, False), (off.replace("false", "true"), True)):
        plan = plan_of(text.replace(off, pair), lock)
        fetched = dict(plan.by_name["source.onnxruntime.deps"].params)
        assert any("composable_kernel" in url for url in fetched) is wanted


def test_rocmlir_and_migraphx_do_not_depend_on_python_nor_rocmlir_on_the_targets() -> None:
    lock, text = locked("rocm-6.4"), text_of("rocm-6.4")
    one = plan_of(text, lock).by_name
    other = plan_of(text.replace('python: ["3.12"]', 'python: ["3.11"]'), lock).by_name
    fewer = plan_of(text, lock, Choice(gfx=("gfx90a",))).by_name
    assert one["rocmlir"].key == other["rocmlir"].key == fewer["rocmlir"].key
    assert one["migraphx"].key == other["migraphx"].key != fewer["migraphx"].key
    assert one["migraphx.protobuf"].key == fewer["migraphx.protobuf"].key
    assert other["onnxruntime.cp311"].key != one["onnxruntime.cp312"].key


@pytest.mark.parametrize(
    ("what", "moved"),
    [
        ("summary", {"onnxruntime-wheel.cp312"}),
        ("onnxruntime", {"source.onnxruntime", "onnxruntime.cp312", "onnxruntime-wheel.cp312"}),
        ("rocmlir", {"source.rocmlir", "rocmlir", "migraphx", "onnxruntime.cp312", "onnxruntime-wheel.cp312"}),
    ],
)
def test_a_change_moves_what_stands_on_it_and_nothing_else(what: str, moved: set[str]) -> None:
    lock, text = locked("rocm-6.4"), text_of("rocm-6.4")
    recipe = parse(text, "t.yaml")
    inputs = Inputs.of(lock, dict.fromkeys(recipe.sources, "0" * 64))
    before = resolve(recipe, inputs, Choice())
    if what == "summary":
        after = resolve(
            parse(text.replace("summary: ONNX Runtime with", "summary: An ONNX Runtime with"), "t"), inputs, Choice()
        )
    else:
        commits = tuple((n, "b" * 40 if n == what else c) for n, c in inputs.commits)
        after = resolve(recipe, replace(inputs, commits=commits), Choice())
    changed = {s.name for s in before.steps if s.key != after.by_name[s.name].key}
    kernels = {n for n in changed if n.startswith("kernels")}
    assert changed - kernels == moved
    assert bool(kernels) is (what == "onnxruntime")  # they are compiled with its headers


def test_left_to_itself_migraphx_would_name_its_package_after_a_gpu_of_therock() -> None:
    configure = told(plan_of(text_of("rocm-10.1"), locked("rocm-10.1")).by_name["migraphx"])
    assert "-DMIGRAPHX_PACKAGE_BACKEND=default" in configure
    assert "-DMIGRAPHX_USE_AMDMLSS=OFF" in configure


def test_lc0_is_told_not_to_download_and_not_to_compile_for_this_machine() -> None:
    configure = told(plan_of(text_of("lc0"), locked("lc0"), Choice(gfx=("gfx90a",))).by_name["lc0"])
    for option in ("dag_classic", "ispc", "native_arch"):
        assert f"-D{option}=false" in configure
    assert "--wrap-mode=nodownload" in configure


def test_local_versions_sort_by_rocm_and_after_the_plain_one() -> None:
    made = [f"1.22.1+rocm.{rocm}" for rocm in ("6.4.4", "7.0.0", "7.2.4", "7.14.0", "10.0.0", "10.1.0")]
    assert sorted(made, key=Version) == made
    assert Version("1.22.1") < Version(made[0]) < Version("1.22.1+rocm.6.4.10") < Version("1.22.2")


@pytest.mark.parametrize("name", sorted(bundled_recipes()))
def test_each_wheel_of_a_bundled_recipe_has_a_version_that_sorts(name: str) -> None:
    recipe = load(name).recipe
    runtimes = {n: c for n, c in recipe.components.items() if isinstance(c, OnnxRuntime)}
    for component in recipe.components.values():
        said = getattr(component, "version", "")
        if component.kind != "wheel" or "+rocm." not in said:
            continue
        local = Version(said).local or ""
        assert f"{local}.".startswith(f"rocm.{recipe.rocm}.")
        built = [runtimes[n] for n in component.needs if n in runtimes]
        assert not built or said.startswith(f"{built[0].version}+")


@pytest.mark.parametrize(
    ("more", "asked"),
    [
        ("", "HAS_FIND_MODE_API HAS_FIND_2_API HAS_ROCBLAS_TUNING_BETA_FEATURE_API"),
        ("      MIGRAPHX_USE_MIOPEN: false\n", "HAS_ROCBLAS_TUNING_BETA_FEATURE_API"),
        ("    probes_ok: [HAS_FIND_2_API]\n", "HAS_FIND_MODE_API HAS_ROCBLAS_TUNING_BETA_FEATURE_API"),
    ],
)
def test_what_migraphx_did_not_find_in_miopen_or_rocblas_fails_its_configure_phase(more: str, asked: str) -> None:
    option = "      MIGRAPHX_USE_COMPOSABLEKERNEL: false\n"
    text = text_of("rocm-7.2").replace(option, option + more)
    commands = plan_of(text, locked("rocm-7.2")).by_name["migraphx"].commands
    (check,) = (c.argv[-1] for c in commands if c.phase == "configure" and c.argv[0] == "sh")
    assert check.startswith(f"for p in {asked}; do grep -q")


def test_packages_that_migraphxs_own_asks_for_and_its_c_api_does_not_use_can_be_empty() -> None:
    """Debian's MIGraphX asks CMake for MIOpen, rocBLAS and hipBLASLt, and its package depends on none of them."""
    plan = plan_of(text_of("debian-sid-onnxruntime"), locked("debian-sid-onnxruntime"))
    (step,) = (s for s in plan.steps if s.name.startswith("onnxruntime.cp"))
    made, configured = (c.argv[-1] for c in step.commands[1:3])
    assert made.startswith("for p in MIOpen hipblaslt rocblas;") and f"/build/{step.name}/empty/lib/cmake/$p" in made
    empty = f"/build/{step.name}/empty/lib/cmake"
    assert configured == "--update"
    assert all(f"{package}_DIR={empty}/{package}" in told(step) for package in ("MIOpen", "hipblaslt", "rocblas"))
