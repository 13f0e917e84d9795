"""The custom op Attention with everything ONNX's has: past and present, lengths, the scores; against ONNX Runtime's own."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnxruntime as ort
import pytest
from onnx import helper

pytestmark = [pytest.mark.sandbox, pytest.mark.timeout(1500)]
INPUTS = ("Q", "K", "V", "attn_mask", "past_key", "past_value", "nonpad_kv_seqlen")
OUTPUTS = ("Y", "present_key", "present_value", "qk_matmul_output")
Feeds = dict[str, np.ndarray]


def model(domain: str, feeds: Feeds, outputs: tuple[str, ...], attributes: dict[str, object]) -> bytes:
    """One Attention, ONNX's or ours; an output that is not in `outputs` is left out."""
    given = [name if name in feeds else "" for name in INPUTS]
    while not given[-1]:
        given.pop()
    asked = [name if name in outputs else "" for name in OUTPUTS]
    while not asked[-1]:
        asked.pop()
    node = helper.make_node("Attention", given, asked, domain=domain, **attributes)
    infos = [
        helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(v.dtype), list(v.shape))
        for n, v in feeds.items()
    ]
    kind = helper.np_dtype_to_tensor_dtype(feeds["Q"].dtype)
    results = [helper.make_tensor_value_info(n, kind, None) for n in outputs]
    opsets = [helper.make_opsetid("", 24)] + ([helper.make_opsetid(domain, 1)] if domain else [])
    graph = helper.make_graph([node], "attention", infos, results)
    return bytes(helper.make_model(graph, opset_imports=opsets, ir_version=10).SerializeToString())


def both(
    library: Path, feeds: Feeds, outputs: tuple[str, ...], **attributes: object
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Our answers and ONNX Runtime's."""
    options = ort.SessionOptions()
    options.log_severity_level = 3
    theirs = ort.InferenceSession(model("", feeds, outputs, attributes), options, providers=["CPUExecutionProvider"])
    options.register_custom_ops_library(str(library))
    ours = ort.InferenceSession(
        model("stackbuild.kernels", feeds, outputs, attributes), options, providers=["CPUExecutionProvider"]
    )
    return ours.run(list(outputs), feeds), theirs.run(list(outputs), feeds)


def close(ours: list[np.ndarray], theirs: list[np.ndarray]) -> None:
    for mine, other in zip(ours, theirs, strict=True):
        assert mine.dtype == other.dtype
        wide, wanted = mine.astype(np.float64), other.astype(np.float64)
        hidden = wanted < -60000  # ONNX Runtime's masked scores are the least finite number, ours minus infinity
        assert (wide[hidden] == -np.inf).all()
        tolerance = 5e-3 if mine.dtype == np.float16 else 1e-5
        np.testing.assert_allclose(wide[~hidden], wanted[~hidden], rtol=tolerance, atol=tolerance)


def tensors(rng: np.random.Generator, dtype: type, past: int, flat: bool) -> Feeds:
    """Two key heads for four query heads; keys of 8, values of 6."""

    def draw(heads: int, length: int, size: int) -> np.ndarray:
        shape = (2, length, heads * size) if flat else (2, heads, length, size)
        return rng.standard_normal(shape).astype(dtype)

    feeds = {"Q": draw(4, 5, 8), "K": draw(2, 7, 8), "V": draw(2, 7, 6)}
    if past:
        feeds["past_key"] = rng.standard_normal((2, 2, past, 8)).astype(dtype)
        feeds["past_value"] = rng.standard_normal((2, 2, past, 6)).astype(dtype)
    return feeds


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize("flat", [False, True])
@pytest.mark.parametrize("mode", [0, 1, 2, 3])
@pytest.mark.parametrize("past", [0, 3])
def test_past_present_and_scores(cpu: Path, dtype: type, flat: bool, mode: int, past: int) -> None:
    rng = np.random.default_rng([mode, past, flat])
    feeds = tensors(rng, dtype, past, flat)
    feeds["attn_mask"] = rng.standard_normal((2, 1, 5, 7 + past)).astype(dtype)
    heads = {"q_num_heads": 4, "kv_num_heads": 2} if flat else {}
    close(*both(cpu, feeds, OUTPUTS, qk_matmul_output_mode=mode, is_causal=1, softcap=2.0, **heads))


@pytest.mark.parametrize("outputs", [("Y",), ("Y", "present_key", "present_value"), ("Y", "qk_matmul_output")])
def test_outputs_may_be_left_out(cpu: Path, outputs: tuple[str, ...]) -> None:
    feeds = tensors(np.random.default_rng(7), np.float32, 0 if outputs[1:] == ("qk_matmul_output",) else 3, False)
    options = ort.SessionOptions()
    options.register_custom_ops_library(str(cpu))
    session = ort.InferenceSession(
        model("stackbuild.kernels", feeds, outputs, {}), options, providers=["CPUExecutionProvider"]
    )
    whole, _ = both(cpu, feeds, OUTPUTS)
    for name, value in zip(outputs, session.run(list(outputs), feeds), strict=True):
        np.testing.assert_array_equal(value, whole[OUTPUTS.index(name)])


def test_lengths_end_the_keys_of_each_batch_entry(cpu: Path) -> None:
    rng = np.random.default_rng(9)
    feeds = tensors(rng, np.float32, 0, False) | {"nonpad_kv_seqlen": np.array([7, 4], np.int64)}
    (ours,), _ = both(cpu, feeds, ("Y",))
    cut = {"Q": feeds["Q"][1:], "K": feeds["K"][1:, :, :4], "V": feeds["V"][1:, :, :4]}
    (alone,), _ = both(cpu, cut, ("Y",))
    np.testing.assert_allclose(ours[1:], alone, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"past_key": np.zeros((1, 2, 3, 8), np.float32)}, "past must be"),
        ({"past_key": np.zeros((2, 2, 2, 8), np.float32)}, "disagree"),
        ({"nonpad_kv_seqlen": np.array([7], np.int64)}, "nonpad_kv_seqlen"),
        ({"attn_mask": np.zeros((4, 10), np.float32)}, "mask does not broadcast"),
    ],
)
def test_what_does_not_fit_is_an_error(cpu: Path, change: Feeds, says: str) -> None:
    feeds = tensors(np.random.default_rng(3), np.float32, 3, False) | change
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.register_custom_ops_library(str(cpu))
    session = ort.InferenceSession(
        model("stackbuild.kernels", feeds, ("Y",), {}), options, providers=["CPUExecutionProvider"]
    )
    with pytest.raises(Exception, match=says):
        session.run(None, feeds)


def test_an_unknown_mode_is_an_error(cpu: Path) -> None:
    options = ort.SessionOptions()
    options.register_custom_ops_library(str(cpu))
    feeds = tensors(np.random.default_rng(3), np.float32, 0, False)
    with pytest.raises(Exception, match="qk_matmul_output_mode"):
        ort.InferenceSession(model("stackbuild.kernels", feeds, ("Y",), {"qk_matmul_output_mode": 7}), options)


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize("mode", [0, 1, 2, 3])
def test_what_is_not_a_number_shows_where_onnx_runtime_shows_it(cpu: Path, dtype: type, mode: int) -> None:
    feeds = tensors(np.random.default_rng([mode, 1]), dtype, 0, False)
    feeds["Q"][0, 1, 2] = np.nan
    feeds["Q"][1, 3, 0, 0] = np.inf
    feeds["K"][1, 0, :, 3] = np.nan
    close(*both(cpu, feeds, OUTPUTS, qk_matmul_output_mode=mode))
    answer, _ = both(cpu, feeds, ("Y",))
    assert np.isnan(answer[0][0, 1, 2]).all()
    assert np.isfinite(answer[0][0, 0]).all()


def test_a_row_without_keys_is_zeros_whatever_the_query_is(cpu: Path) -> None:
    feeds = tensors(np.random.default_rng(2), np.float32, 0, False)
    mask = np.zeros((5, 7), np.float32)
    mask[1] = -np.inf
    feeds["Q"][:, :, 1] = np.nan
    for closing in (mask, mask == 0):
        ours, theirs = both(cpu, feeds | {"attn_mask": closing}, ("Y", "qk_matmul_output"), qk_matmul_output_mode=3)
        close(ours, theirs)
        assert (ours[0][:, :, 1] == 0).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_an_integer_mask_is_added(cpu: Path, dtype: type) -> None:
    feeds = tensors(np.random.default_rng(3), dtype, 0, False)
    feeds["attn_mask"] = np.random.default_rng(4).integers(-2, 3, (4, 5, 7)).astype(np.int32)
    close(*both(cpu, feeds, ("Y", "qk_matmul_output"), qk_matmul_output_mode=2))


def test_a_scale_of_zero_weighs_every_key_alike(cpu: Path) -> None:
    feeds = tensors(np.random.default_rng(5), np.float32, 0, False)
    mean = np.repeat(feeds["V"].mean(axis=2, keepdims=True), 2, axis=1)
    np.testing.assert_allclose(ours(cpu, feeds, ("Y",), scale=0.0)[0], np.repeat(mean, 5, axis=2), rtol=1e-5, atol=1e-6)


def ours(cpu: Path, feeds: Feeds, outputs: tuple[str, ...], **attributes: object) -> list[np.ndarray]:
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.register_custom_ops_library(str(cpu))
    session = ort.InferenceSession(model("stackbuild.kernels", feeds, outputs, attributes), options)
    return [np.asarray(value) for value in session.run(list(outputs), feeds)]


def empty(*shape: int) -> np.ndarray:
    return np.zeros(shape, np.float32)


def test_keys_without_heads_are_an_error_before_any_is_read(cpu: Path) -> None:
    feeds = {"Q": empty(1, 1, 4, 1024), "K": empty(1, 0, 200000, 1024), "V": empty(1, 0, 200000, 6)}
    with pytest.raises(Exception, match="number of K's heads"):
        ours(cpu, feeds, OUTPUTS)


def test_what_is_empty_is_answered(cpu: Path) -> None:
    none = {"Q": empty(0, 2, 5, 8), "K": empty(0, 2, 6, 8), "V": empty(0, 2, 6, 4)}
    lengths = {"nonpad_kv_seqlen": np.zeros(0, np.int64)}
    y, scores = ours(cpu, none | lengths, ("Y", "qk_matmul_output"), is_causal=1)
    assert (y.shape, scores.shape) == ((0, 2, 5, 4), (0, 2, 5, 6))
    headless = {"Q": empty(2, 0, 5, 8), "K": empty(2, 0, 6, 8), "V": empty(2, 0, 6, 4)}
    assert [a.shape for a in ours(cpu, headless, ("Y", "qk_matmul_output"))] == [(2, 0, 5, 4), (2, 0, 5, 6)]
    keyless = {"Q": empty(1, 2, 5, 8), "K": empty(1, 2, 0, 8), "V": empty(1, 2, 0, 4), "attn_mask": empty(5, 1)}
    (y,) = ours(cpu, keyless, ("Y",))
    np.testing.assert_array_equal(y, empty(1, 2, 5, 4))
    valueless = {"Q": empty(1, 2, 5, 8), "K": empty(1, 2, 6, 8), "V": empty(1, 2, 6, 0)}
    y, scores = ours(cpu, valueless, ("Y", "qk_matmul_output"), qk_matmul_output_mode=3)
    assert y.shape == (1, 2, 5, 0)
    np.testing.assert_allclose(scores, np.full((1, 2, 5, 6), 1 / 6), rtol=1e-6)
