"""What a person may ask for wrongly: suites, providers, options, models, shapes; and the machine's fingerprint."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from stackbuild.bench import experiment
from stackbuild.bench.environment import WorkerEnvironment
from stackbuild.bench.experiment import Contender, Experiment, with_libraries
from stackbuild.bench.job import SessionOptions, TimingBudget, WorkerAnswer
from stackbuild.bench.machine import busy_notes, fingerprint, gfx_name
from stackbuild.bench.nets.graph import Graph
from stackbuild.bench.onnx_file import UserModel, parse_shape, user_case
from stackbuild.bench.providers import builtin_providers, provider_name, provider_options
from stackbuild.bench.selection import parse_devices, parse_providers, select_suite
from stackbuild.bench.suite_cases import split, suite_cases
from stackbuild.bench.suites import ModelCases, bundled_suites, load_suite
from stackbuild.core.errors import MachineLacks, RecipeError, Stopped, UsageError
from stackbuild.core.model import ValidationError
from stackbuild.model.gates import Waiver
from stackbuild.model.results import Fingerprint, Side
from stackbuild.views.bench import progress


def test_every_suite_that_ships_is_right() -> None:
    assert set(bundled_suites()) == {"kernels", "kernels-quick", "memory", "models", "models-quick", "session"}
    for name in bundled_suites():
        found = load_suite(name)
        assert found.about and (found.kernels or found.models)
        for cases in found.models:
            assert suite_cases(cases)


@pytest.mark.parametrize(
    ("text", "place", "what"),
    [
        ("kind: models\nmodels:\n  - {model: x, batch: []}\n", ":3:23", "`models.0.batch`"),
        ("kind: models\nround: 3\n", ":2:1", "`round`"),
        ("kind: games\n", ":1:7", "`kind`"),
        ("kind: models\nmodels:\n  - {model: x, dtype: [float64]}\n", ":3:24", "`models.0.dtype.0`"),
        ("", ":1:1", "`suite`"),
    ],
)
def test_a_wrong_suite_is_told_with_its_place(tmp_path: Path, text: str, place: str, what: str) -> None:
    file = tmp_path / "s.yaml"
    file.write_text(text)
    with pytest.raises(RecipeError) as stop:
        load_suite(str(file))
    assert stop.value.mistakes[0].place == f"{file}{place}" and what in stop.value.mistakes[0].what


def test_names_that_are_nearly_right() -> None:
    with pytest.raises(UsageError, match="no suite 'kernel-quick'") as stop:
        load_suite("kernel-quick")
    assert "did you mean kernels-quick?" in stop.value.next
    with pytest.raises(UsageError) as stop:
        provider_name("migrafx")
    assert "did you mean migraphx?" in stop.value.next
    assert provider_name("rocm") == "ROCMExecutionProvider" == provider_name("ROCMExecutionProvider")
    assert provider_name("MyExecutionProvider") == "MyExecutionProvider"


@pytest.mark.parametrize(
    ("provider", "option", "what", "next"),
    [
        (
            "ROCMExecutionProvider",
            "cudnn_conv_algo_search=EXHAUSTIVE",
            "it is one of CUDAExecutionProvider",
            "miopen_conv_exhaustive_search",
        ),
        ("MIGraphXExecutionProvider", "migraphx_fp16=1", "no option", "did you mean migraphx_fp16_enable?"),
        (
            "MIGraphXExecutionProvider",
            "migraphx_save_compiled_model=1",
            "any more: replaced by migraphx_model_cache_dir",
            "",
        ),
        ("CPUExecutionProvider", "device_id=0", "no option 'device_id'", "it takes no options"),
        ("ROCMExecutionProvider", "device_id", "is not KEY=VALUE", "device_id=0"),
    ],
)
def test_options_of_another_provider(provider: str, option: str, what: str, next: str) -> None:
    with pytest.raises(UsageError) as stop:
        provider_options(provider, [option])
    assert what in stop.value.what and next in stop.value.next


def test_every_option_of_the_table_is_taken_and_sourced() -> None:
    for provider in builtin_providers().values():
        assert provider.source
        assert len(provider_options(provider.name, [f"{o}=1" for o in provider.options])) == len(provider.options)
    assert provider_options("MyExecutionProvider", ["anything=1"]) == {"anything": "1"}


def test_models_and_sizes_there_are_not() -> None:
    with pytest.raises(UsageError, match="no model 'resnet51'"):
        suite_cases(ModelCases(model="resnet51"))
    with pytest.raises(UsageError, match="bert-base has no size 'length'"):
        suite_cases(ModelCases(model="bert-base", sizes={"length": (128,)}))
    assert [c.name for c in suite_cases(ModelCases(model="bert-base", batch=(1, 8), optimised=(True,)))] == [
        "bert-base/b1/s128/float32/optimised", "bert-base/b8/s128/float32/optimised",
    ]  # fmt: skip
    with pytest.raises(UsageError, match="--dtype"):
        select_suite("models-quick", ["resnet50"], [], ["float64"], [], False, [])
    with pytest.raises(UsageError, match="go with --model"):
        select_suite("models-quick", [], [8], [], [], False, [])
    with pytest.raises(UsageError, match="is not NAME=N"):
        select_suite("models-quick", ["bert-base"], [], [], ["sequence"], False, [])


def test_a_batch_is_split_over_devices() -> None:
    assert split(10, 4) == [3, 3, 2, 2] and split(4, 4) == [1, 1, 1, 1]
    with pytest.raises(UsageError, match="a batch of 2 cannot be split over 4"):
        split(2, 4)
    cell = suite_cases(ModelCases(model="resnet50", batch=(5,)))[0]
    parts = cell.work(Path("m"), "float32", ({"device_id": "0"}, {"device_id": "1"}))["parts"]
    assert isinstance(parts, list)
    assert [part["rows"] for part in parts if isinstance(part, dict)] == [[0, 3], [3, 5]]


@pytest.fixture
def small_model(tmp_path: Path) -> Path:
    graph = Graph("small")
    x = graph.input("x", ("batch", 3, 8))
    graph.output("y", graph.op("Relu", x), ("batch", 3, 8))
    graph.save(tmp_path / "small.onnx")
    return tmp_path / "small.onnx"


def test_a_users_model(small_model: Path) -> None:
    case, work = user_case(UserModel(small_model, {"x": (4, 3, 8)}))
    assert (case.batch, case.items, case.opset, case.shapes) == (4, 4, 17, {"x": (4, 3, 8)})
    assert case.name == "small/4x3x8" and work["parts"] == [
        {"inputs": {"x": {"shape": [4, 3, 8], "dtype": "float32", "high": 2}}}
    ]


@pytest.mark.parametrize(
    ("shapes", "what", "next"),
    [
        ({}, "is batchx3x8: its open dimensions need sizes", "--shape x=1x3x8"),
        ({"x": (4, 3)}, "the shape 4x3 does not fit the input 'x', which is batchx3x8", "fixed dimensions"),
        ({"x": (4, 3, 9)}, "the shape 4x3x9 does not fit", "fixed dimensions"),
        ({"z": (4, 3, 8)}, "it has no input 'z'", "its inputs are x"),
    ],
)
def test_shapes_that_do_not_fit(small_model: Path, shapes: dict[str, tuple[int, ...]], what: str, next: str) -> None:
    with pytest.raises(UsageError) as stop:
        user_case(UserModel(small_model, shapes))
    assert what in stop.value.what and next in stop.value.next


def test_files_that_are_no_models(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no such model"):
        user_case(UserModel(tmp_path / "none.onnx", {}))
    (tmp_path / "x.onnx").write_text("<html>")
    with pytest.raises(UsageError, match="not an ONNX model"):
        user_case(UserModel(tmp_path / "x.onnx", {}))
    for text in ("x", "x=", "=1x2", "x=1x-2", "x=axb"):
        with pytest.raises(UsageError, match="NAME=AxBxC"):
            parse_shape(text)


def test_a_busy_machine_is_noted() -> None:
    assert busy_notes(Fingerprint({"cores": "2"}, {"load": "9.4"})) == (
        "the machine was busy when this began: load 9.4 on 2 cores",
    )
    assert busy_notes(Fingerprint({"cores": "2"}, {"load": "0.4"})) == () == busy_notes(Fingerprint({}))


def test_gfx_names() -> None:
    assert [gfx_name(n) for n in (90402, 90010, 90008, 110000, 100300, 120001, 110501)] == [
        "gfx942", "gfx90a", "gfx908", "gfx1100", "gfx1030", "gfx1201", "gfx1151",
    ]  # fmt: skip


def test_the_fingerprint_of_an_amd_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    node = tmp_path / "sys/class/kfd/kfd/topology/nodes"
    device = tmp_path / "sys/class/drm/card0/device"
    files = {
        node / "0/properties": "cpu_cores_count 64\nsimd_count 0\ngfx_target_version 0\n",
        node / "1/properties": "simd_count 1216\nsimd_per_cu 4\ngfx_target_version 90402\n",
        device / "pp_dpm_sclk": "0: 132Mhz\n1: 2100Mhz *\n",
        device / "hwmon/hwmon3/power1_cap": "750000000\n",
        device / "hwmon/hwmon3/temp1_input": "41000\n",
        tmp_path / "sys/module/amdgpu/version": "6.12.12\n",
        tmp_path / "opt/rocm/.info/version": "7.2.1-81\n",
        tmp_path / "proc/cpuinfo": "model name\t: AMD EPYC 9654\ncpu MHz\t\t: 2400.1\n",
        tmp_path / "proc/meminfo": "MemTotal:       1584000000 kB\n",
        tmp_path / "proc/loadavg": "0.42 0.30 0.20 3/900 1234\n",
    }
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    monkeypatch.setenv("PATH", "")
    monkeypatch.setenv("ORT_MIGRAPHX_FP16_ENABLE", "1")
    found = fingerprint(tmp_path)
    assert found.stable["gpu 0"] == "gfx942, 304 CUs" and found.stable["power cap 0"] == "750 W"
    assert found.stable["driver"] == "amdgpu 6.12.12" and found.stable["rocm"] == "7.2.1-81"
    assert found.passing["temperature 0"] == "41 °C" and found.passing["sclk 0"] == "2100Mhz"
    assert found.passing["runnable"] == "3" and "ORT_MIGRAPHX_FP16_ENABLE" in found.passing["variables not passed on"]
    assert Fingerprint({"cpu": "a"}).differences(Fingerprint({"gpu": "b"})) == (
        "cpu: a against unknown",
        "gpu: unknown against b",
    )


@pytest.mark.parametrize("text", ["²", "0,²", "٣", "a", "0,0", ","])
def test_devices_that_are_none(text: str) -> None:
    with pytest.raises(UsageError, match="not a list of devices"):
        parse_devices(text)


@pytest.mark.parametrize("size", ["batch=²", "batch=", "batch", "batch=-1", "batch=" + "9" * 5000])
def test_sizes_that_are_none(size: str) -> None:
    with pytest.raises(UsageError, match="is not NAME=N"):
        select_suite("models-quick", ["resnet50"], (), (), [size], False, ())


@pytest.mark.parametrize("shape", ["x=0x256", "x=-1", "x=", "=1"])
def test_shapes_that_are_none(shape: str) -> None:
    with pytest.raises(UsageError, match="is not NAME=AxBxC"):
        parse_shape(shape)


def test_a_waiver_of_blanks_says_nothing() -> None:
    said = {"case": "*", "reason": "known since May", "by": "Ada", "until": "2026-12-01"}
    assert Waiver.model_validate(said).by == "Ada"
    for blank in ({"reason": " " * 9}, {"by": " "}):
        with pytest.raises(ValidationError):
            Waiver.model_validate(said | blank)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_while_measuring_ends_it_in_order(number: signal.Signals) -> None:
    found = signal.signal(number, signal.SIG_DFL)  # also where nohup runs the tests
    try:
        with pytest.raises(Stopped), progress():
            signal.raise_signal(number)
        assert signal.getsignal(number) is signal.SIG_DFL
    finally:
        signal.signal(number, found)


def test_nohup_is_respected() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with progress():
            signal.raise_signal(signal.SIGHUP)
    finally:
        signal.signal(signal.SIGHUP, before)


def test_a_provider_is_measured_once() -> None:
    assert parse_providers(["cpu", "rocm", "cpu", "CPUExecutionProvider"]) == (
        "CPUExecutionProvider",
        "ROCMExecutionProvider",
    )


def test_a_broken_interpreter_or_plugin_has_a_next_step(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(experiment, "run_job", lambda *_: WorkerAnswer({}, problem="it is no library"))
    broken = WorkerEnvironment(Path("/bin/false"))
    for plugin, next in (("x.so", "--plugin"), ("", "--python")):
        contender = Contender(Side("candidate", "X"), broken, SessionOptions("X", plugin=plugin))
        with pytest.raises(MachineLacks) as stop:
            with_libraries(Experiment("s", "models", (contender,), (), TimingBudget(), process_per_case=True))
        assert next in stop.value.next
