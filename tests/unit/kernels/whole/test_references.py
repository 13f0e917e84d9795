"""The float64 references against ONNX's own reference evaluator, and the cases against what they promise."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from support.kernel_tools import KERNELS, kernels_on_path

np = pytest.importorskip("numpy")
pytest.importorskip("onnx")



@pytest.fixture(scope="module", autouse=True)
def on_path() -> Iterator[None]:
    with kernels_on_path():
        yield


PER_OPERATOR = 12  # ONNX's evaluator is slow
ODD = ("nan", "infinite", "closed", "least", "greatest", "sink", "greatest", "sink", "scale", "short", "lengths", "past", "mask=int")  # of Attention's cases, those beside them


def test_references_agree_with_onnx() -> None:
    from onnx.reference import ReferenceEvaluator
    from tools import cases
    from tools.case import mismatch

    checked, odd_ones = dict.fromkeys(set(cases.OPERATORS) - {"MultiHeadAttention"}, 0), 0  # which is not ONNX's
    for case in cases.all_cases(seed=7, dtypes=(np.float32,)):
        model = cases.standard_model(case)
        small = all(0 < v.size < 10000 for v in cases.feeds(case).values())
        odd = any(word in case.name for word in ODD)
        if model is None or not small or case.expected_values.size == 0 or (checked[case.op] == PER_OPERATOR and not odd):
            continue
        with np.errstate(invalid="ignore"):
            got = ReferenceEvaluator(model).run(None, cases.feeds(case))[0]
        why = mismatch(np.asarray(got, np.float32), case)
        assert why is None, f"{case.op} {case.name}: {why}"
        checked[case.op] += not odd
        odd_ones += odd
    assert min(checked.values()) == PER_OPERATOR, checked
    assert odd_ones >= 10


def test_the_reference_of_multi_head_attention_agrees_with_onnx_runtimes_own() -> None:
    """com.microsoft's operator on the CPU, of float32, without the packed forms, which it does not take there."""
    ort = pytest.importorskip("onnxruntime")
    from attention import multi_head_cases
    from onnx import TensorProto, helper
    from tools import cases
    from tools.case import mismatch

    options = ort.SessionOptions()
    options.log_severity_level = 4
    forms = {"plain": 0, "apart": 0, "past": 0, "padding": 0, "added": 0, "causal": 0, "bias": 0}
    for case in multi_head_cases.cases(np.random.default_rng(7), np.float32):
        value, past = case.inputs["value"], case.inputs["past_value"]
        sizes = {x.shape[3] for x in (case.inputs["key"], value, case.inputs["past_key"], past) if x is not None and x.ndim == 4}
        # Not taken: packed forms, values of another size than the keys of 4 axes or of a past. Not asked: empty tensors, and masks
        # that leave a query no key that counts, where it rounds scores that have -10000 added.
        empty = any(x.size == 0 for x in cases.feeds(case).values())
        if len(sizes) > 1 or empty or any(word in case.name for word in ("packed", "none count", "left")):
            continue
        model = cases.model(case, "com.microsoft")
        for name in ("present_key", "present_value"):  # without them it reads no past
            model.graph.node[0].output.append(name)
            model.graph.output.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, None))
        session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        why = mismatch(np.asarray(session.run(["Y"], cases.feeds(case))[0]), case)
        assert why is None, f"{case.name}: {why}"
        forms = {form: count + (form in case.name) for form, count in forms.items()}
    assert min(forms.values()) >= 5, forms


def test_every_operator_has_thirty_cases_of_each_type_with_odd_sizes_and_empty_ones() -> None:
    from tools import cases

    found: dict[tuple[str, str], list[object]] = {}
    for case in cases.all_cases():
        found.setdefault((case.op, str(case.dtype)), []).append(case)
    for key, group in found.items():
        assert len(group) >= 30, key
        assert any(c.expected_values.size == 0 for c in group), f"{key}: no empty tensor"
        assert any(c.expected_values.size % 2 for c in group), f"{key}: no odd size"
    assert len(found) == 12


@pytest.mark.parametrize(("change", "word"), [
    (lambda a: a[:-1], "shape"), (lambda a: a.astype(np.float64), "type"), (lambda a: np.full_like(a, np.nan), "finite"),
    (lambda a: a * np.float32(1.0001), "relative"),
])
def test_a_wrong_answer_is_told(change: object, word: str) -> None:
    from tools import cases
    from tools.case import mismatch

    case = next(c for c in cases.all_cases(dtypes=(np.float32,)) if c.op == "LeakyRelu" and c.expected_values.size > 100)
    right = case.expected_values.astype(np.float32)
    assert mismatch(right, case) is None
    assert word in (mismatch(change(right), case) or "")  # type: ignore[operator]


def test_the_package_and_the_cases_name_the_same_operators() -> None:
    from tools import cases

    source = (KERNELS / "package" / "__init__.py").read_text()
    for name in cases.OPERATORS:
        assert f'"{name}"' in source
    assert f'DOMAIN = "{cases.DOMAIN}"' in source
    header = (KERNELS / "customop" / "op.hpp").read_text()
    assert f'"{cases.DOMAIN}"' in header


def test_device_parameters_of_every_case_can_be_made() -> None:
    from tools import cases, params

    for case in cases.all_cases(seed=1):
        for last in (False, True) if case.op in params.LAYOUTS else (False,):
            job = params.BUILDERS[case.op](case, last)
            assert job.to_case(np.empty(job.output_shape)).shape == case.expected_values.shape, case.name


def test_the_results_table_has_a_row_per_measurement() -> None:
    from tools import report
    from tools.timing import Error, TimingRow

    none = {"ours": Error(0.0, 0.0), "torch": Error(0.0, 0.0)}
    row = TimingRow("LeakyRelu", "1", "float32", 4e9, 0.0, {"ours": [1.0, 1.1, 1.2], "torch": [2.2] * 3}, none)
    timing = {"limits": {"copy": 4e12, "float32": 5e13, "float16": 5e14}, "torch": "x", "cudnn": 1, "rows": [row]}
    line = report.table(timing).splitlines()[-1]
    assert "91% of copy" in line
    assert "| 2.00 |" in line
    assert json.loads(json.dumps(timing, default=report.plain))["rows"][0]["op"] == "LeakyRelu"



@pytest.mark.parametrize(
    ("moved", "multiplied", "told"),
    [(1e9, 25e9, "| 25.0 TF/s, 50% of GEMM |"), (3e9, 5e9, "| 5.0 TF/s, 10% of GEMM; by bytes 75% of copy |")],
)
def test_a_rate_is_told_by_bytes_too_where_they_are_the_limit(moved: float, multiplied: float, told: str) -> None:
    from tools import report
    from tools.timing import Error, TimingRow

    none = {"ours": Error(0.0, 0.0), "torch": Error(0.0, 0.0)}
    row = TimingRow("Conv", "1", "float32", moved, multiplied, {"ours": [1.0] * 3, "torch": [1.0] * 3}, none)
    limits = {"copy": 4e12, "float32": 5e13, "float16": 5e14}
    assert told in report.table({"limits": limits, "torch": "x", "cudnn": 1, "rows": [row]})
