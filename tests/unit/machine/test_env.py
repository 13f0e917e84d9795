"""`env`: the settings for a GPU and a workload, with their sources."""

from itertools import pairwise

import pytest

from stackbuild.core.errors import UsageError
from stackbuild.machine.env import FORMS, WORKLOADS, environment, spell, target_of


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


@pytest.mark.parametrize("name", ["", "rx", "RX 99", "banana", "gfx9999", "radeon"])
def test_a_gpu_like_none_gets_no_wrong_suggestion(name: str) -> None:
    with pytest.raises(UsageError) as stopped:
        target_of(name)
    assert stopped.value.next.startswith("give an AMD GPU's name")


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("workload", WORKLOADS)
def test_every_line_that_is_set_has_its_source_above_it(workload: str, form: str) -> None:
    lines = spell(environment("MI50", workload, {}), form).splitlines()
    for above, line in pairwise(lines):
        if not line.startswith(("#", "RUN ")):
            above = lines[lines.index(above) - 1] if above.startswith("# make it first") else above
            assert above.startswith("# ") and above.endswith("]")


def test_a_cache_of_compiled_models_is_of_one_rocm_and_one_gpu_and_is_made() -> None:
    one = environment("MI300X", "onnxruntime", {}, "7.2.4")
    assert "/var/cache/ort-migraphx/rocm-7.2.4-gfx942" in {s.value for s in one.settings}
    other = environment("RX 7900 XTX", "onnxruntime", {}, "7.2.4")
    assert {s.value for s in one.settings if s.folder}.isdisjoint(s.value for s in other.settings)
    assert '/rocm-7.2.4-gfx942"; mkdir -p "$ORT_MIGRAPHX_MODEL_CACHE_PATH"\n' in spell(one, "shell")
    assert "RUN mkdir -p /var/cache/ort-migraphx/rocm-7.2.4-gfx942\n" in spell(one, "dockerfile")
    assert "# make it first: mkdir -p /var/cache/ort-migraphx/rocm-7.2.4-gfx942\n" in spell(one, "dotenv")
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
    assert {s.name for s in found.settings} == names
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


def test_no_gpu_is_hidden_unless_it_is_asked_for() -> None:
    for workload in WORKLOADS:
        assert "ROCR_VISIBLE_DEVICES" not in {s.name for s in environment("MI300X", workload, {}).settings}
    found = environment("MI300X", "pytorch", {}, devices=("2", "5"))
    assert {s.name: s.value for s in found.settings}["ROCR_VISIBLE_DEVICES"] == "2,5"
    with pytest.raises(UsageError, match="not a GPU's index"):
        environment("MI300X", "pytorch", {}, devices=("0\nPATH=/tmp",))


def test_a_gpus_name_cannot_add_a_line_to_what_a_shell_is_given() -> None:
    lines = spell(environment("RX\n6800", "pytorch", {}), "shell").splitlines()
    assert all(line.startswith(("#", "export ")) for line in lines)
