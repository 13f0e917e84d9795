"""What the real trees do and a miniature does not: own words for the structure that was read, and what we make of it."""

from dataclasses import replace

import pytest
from packaging.version import Version

from stackbuild.checks.recipe import CheckInput, check
from stackbuild.model.components import MIGraphX, OnnxRuntime
from stackbuild.model.inputs import Inputs
from stackbuild.model.lock import Dep, Lock, is_elsewhere
from stackbuild.model.plan import Plan, Step
from stackbuild.plan.resolve import Choice, resolve
from stackbuild.recipe.load import bundled, load, parse, text_of
from stackbuild.recipe.lock_file import read_lock
from stackbuild.sources.upstream import REGENERATED, deps_txt, requirements_txt
from stackbuild.tables.compatibility import table

ROWS = """\
#Name;Url;SHA1
#A heading of the file itself.
lib_a;https://github.com/one/lib_a/archive/refs/tags/20250512.0.zip;36EE53EB1466FB6E593FC5C286680DE31F8A494A
# commented_out;https://github.com/two/old/archive/1.zip;36ee53eb1466fb6e593fc5c286680de31f8a494b
eigen;https://gitlab.com/libeigen/eigen/-/archive/1d8b82b0740839c0de7f1242a3585e3390ff5f33/eigen-1d8b82b0740839c0de7f1242a3585e3390ff5f33.zip;5ea4d05e62d7f954a46b3213f9b2535bdd866803
lib-b-arm;https://gitlab.arm.com/three/lib-b/-/archive/v0.2.0/lib-b-v0.2.0.tar.gz;36ee53eb1466fb6e593fc5c286680de31f8a494c
lib_c;https://github.com/four/lib_c/releases/download/v1.3.1/lib_c-1.3.1.tar.xz;36ee53eb1466fb6e593fc5c286680de31f8a494d
protoc_linux_x64;https://github.com/five/protoc/releases/download/v21/protoc.zip;36ee53eb1466fb6e593fc5c286680de31f8a494e
google_nsync;https://github.com/six/nsync/archive/refs/tags/1.26.0.zip;36ee53eb1466fb6e593fc5c286680de31f8a494f
"""


def plan_of(text: str, lock: Lock, choice: Choice = Choice()) -> Plan:
    recipe = parse(text, "t.yaml")
    return resolve(recipe, Inputs.of(lock, dict.fromkeys(recipe.sources, "0" * 64)), choice)


def locked(name: str) -> Lock:
    return read_lock(load(name))


def at_version(version: str) -> Plan:
    text = text_of("rocm-6.4").replace("version: 1.22.1", f"version: {version}").replace("v1.22.1", f"v{version}")
    lock = locked("rocm-6.4")
    rows = lock.model_copy(update={"deps": {**lock.deps, "onnxruntime": deps_txt(ROWS)}})
    return plan_of(text, rows)


def told(step: Step) -> str:
    return " ".join(word for command in step.commands for word in command.argv)


def test_every_form_of_a_row_in_the_real_lists_is_read() -> None:
    rows = {d.name: d for d in deps_txt(ROWS)}
    assert sorted(rows) == ["eigen", "google_nsync", "lib-b-arm", "lib_a", "lib_c", "protoc_linux_x64"]
    assert rows["lib_a"].digest == "sha1:36ee53eb1466fb6e593fc5c286680de31f8a494a"
    assert rows["lib-b-arm"].url.endswith("/-/archive/v0.2.0/lib-b-v0.2.0.tar.gz")


def test_an_archive_that_its_host_made_anew_has_the_digest_of_today() -> None:
    """GitLab's archives of Eigen; ONNX Runtime to 1.22.0 names the digest of the old ones (onnxruntime#25098)."""
    (eigen,) = (d for d in deps_txt(ROWS) if d.name == "eigen")
    assert eigen.digest == "sha1:51982be81bbe52572b54180454df11a3ece9a934"


@pytest.mark.parametrize(("version", "repaired"), [("1.19.0", True), ("1.22.0", True), ("1.22.1", False)])
def test_the_copied_tree_of_an_old_onnxruntime_says_the_digest_of_today_too(version: str, repaired: bool) -> None:
    step = at_version(version).by_name["onnxruntime.cp312"]
    for old, new in REGENERATED.items():
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


def test_the_lines_of_every_migraphx_are_read() -> None:
    text = """
    google/protobuf@v3.19.0 -DCMAKE_POSITION_INDEPENDENT_CODE=On -X subdir -Dprotobuf_BUILD_TESTS=Off
    abseil/abseil-cpp@20250512.0 -DABSL_ENABLE_INSTALL=ON -DCMAKE_POSITION_INDEPENDENT_CODE=On
    ROCm/rocm-cmake@3f43e2d493f24abbab4dc189a9ab12cc3ad33baf --build
    ROCm/composable_kernel@b7775add2d28251674d81e220cd4a857b90b997a -DCK_BUILD_JIT_LIB=On
    ROCm/rocMLIR@6671a1ee31d44e1f2f7743a26a71ffc4ce9169bf -DBUILD_FAT_LIBROCKCOMPILER=On -DLLVM_INCLUDE_TESTS=Off
    """
    rows = {d.name: d for d in requirements_txt(text)}
    assert rows["rocMLIR"].options == ("-DBUILD_FAT_LIBROCKCOMPILER=On", "-DLLVM_INCLUDE_TESTS=Off")
    assert rows["rocm-cmake"].options == ()
    assert rows["protobuf"].subfolder == "cmake" and rows["abseil-cpp"].subfolder == ""


@pytest.mark.parametrize("name", ["rocMLIR", "rocmlirTriton"])
def test_rocmlir_and_the_fork_that_newer_ones_name_come_from_a_component(name: str) -> None:
    component = MIGraphX.model_validate({"kind": "migraphx", "source": "migraphx", "version": "2.12.0", "memory": "1G"})
    assert is_elsewhere(Dep(name=name, url="https://github.com/ROCm/x/archive/1.tar.gz"), component)


def findings(lock: Lock, *pairs: tuple[str, str]) -> dict[str, str]:
    text = text_of("rocm-6.4")
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new)
    recipe = parse(text, "t.yaml")
    return {f.rule.removeprefix("SB-STACK-"): f.found for f in check(CheckInput(recipe, lock, text, "t.yaml", table()))}


def with_rocmlir(options: tuple[str, ...], commit: str) -> Lock:
    lock = locked("rocm-6.4")
    url = f"https://github.com/ROCm/rocMLIR/archive/{commit}.tar.gz"
    rows = (*(d for d in lock.deps["migraphx"] if d.name != "rocMLIR"), Dep(name="rocMLIR", url=url, options=options))
    return lock.model_copy(update={"deps": {**lock.deps, "migraphx": rows}})


def test_what_migraphx_asks_of_rocmlir_is_held_against_the_component() -> None:
    own = locked("rocm-6.4").commits["rocmlir"]
    assert not {"ROCMLIR-PIN", "ROCMLIR-OPTION", "NO-ROCMLIR"} & set(findings(locked("rocm-6.4")))
    assert "pins aaaaaaaaaaaa" in findings(with_rocmlir((), "a" * 40))["ROCMLIR-PIN"]
    found = findings(with_rocmlir(("-DLLVM_INCLUDE_TESTS=Off", "-DROCK_NEW=On"), own))
    assert "with -DROCK_NEW=On" in found["ROCMLIR-OPTION"]


def test_migraphx_without_rocmlir_is_said_before_it_fails_to_compile() -> None:
    found = findings(locked("rocm-6.4"), ("    needs: [rocmlir]\n", ""))
    assert "without rocMLIR" in found["NO-ROCMLIR"]


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


@pytest.mark.parametrize("name", sorted(bundled()))
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


def test_packages_that_migraphxs_own_asks_for_and_its_c_api_does_not_use_can_be_empty() -> None:
    """Debian's MIGraphX asks CMake for MIOpen, rocBLAS and hipBLASLt, and its package depends on none of them."""
    plan = plan_of(text_of("debian-sid-onnxruntime"), locked("debian-sid-onnxruntime"))
    (step,) = (s for s in plan.steps if s.name.startswith("onnxruntime.cp"))
    made, configured = (c.argv[-1] for c in step.commands[:2])
    assert made.startswith("for p in MIOpen hipblaslt rocblas;") and f"/build/{step.name}/empty/lib/cmake/$p" in made
    assert configured == "--update" and f";/build/{step.name}/empty" in told(step)
