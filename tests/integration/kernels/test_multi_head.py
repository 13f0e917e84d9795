"""The custom op MultiHeadAttention beside ONNX Runtime's own (com.microsoft), its packed forms beside the plain one, and what it refuses."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnxruntime as ort
import pytest
from onnx import helper

from support.kernels import KERNELS

pytestmark = [pytest.mark.sandbox, pytest.mark.timeout(1500)]
INPUTS = (
    "query",
    "key",
    "value",
    "bias",
    "key_padding_mask",
    "attention_bias",
    "past_key",
    "past_value",
    "past_sequence_length",
    "cache_indirection",
)
OUTPUTS = ("Y", "present_key", "present_value")
OURS, THEIRS = "stackbuild.kernels", "com.microsoft"
Feeds = dict[str, np.ndarray]


def answers(
    domain: str, library: Path, feeds: Feeds, attributes: dict[str, object], outputs: int = 3
) -> list[np.ndarray]:
    """The first outputs of one MultiHeadAttention, ours or ONNX Runtime's."""
    given = [name if name in feeds else "" for name in INPUTS]
    while not given[-1]:
        given.pop()
    node = helper.make_node("MultiHeadAttention", given, OUTPUTS[:outputs], domain=domain, **attributes)
    kinds = {name: helper.np_dtype_to_tensor_dtype(value.dtype) for name, value in feeds.items()}
    infos = [helper.make_tensor_value_info(n, kinds[n], list(v.shape)) for n, v in feeds.items()]
    results = [helper.make_tensor_value_info(name, kinds["query"], None) for name in OUTPUTS[:outputs]]
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid(domain, 1)]
    graph = helper.make_graph([node], "attention", infos, results)
    model = helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString()
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.register_custom_ops_library(str(library))
    session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    return [np.asarray(value) for value in session.run(None, feeds)]


@pytest.fixture
def kernels() -> Iterator[None]:
    """The kernels' folder is not a package: its modules are read by scripts that put it on sys.path."""
    sys.path.insert(0, str(KERNELS))
    before = set(sys.modules)
    yield
    sys.path.remove(str(KERNELS))
    for name in set(sys.modules) - before:
        if name.split(".")[0] in {"attention", "tools"}:
            del sys.modules[name]


@pytest.mark.parametrize("seed", [1, 2])
def test_it_answers_as_onnx_runtimes_own(cpu: Path, kernels: None, seed: int) -> None:
    """Whatever that takes on the CPU: float32, nothing packed, one size of heads where key and value have 4 axes or a past."""
    from attention import multi_head_cases

    compared = 0
    for case in multi_head_cases.cases(np.random.default_rng(seed), np.float32):
        feeds = {name: value for name, value in case.inputs.items() if value is not None}
        key, value, past = (case.inputs[name] for name in ("key", "value", "past_value"))
        sizes = {x.shape[3] for x in (key, value, case.inputs["past_key"], past) if x is not None and x.ndim == 4}
        if "packed" in case.name or len(sizes) > 1 or any(x.size == 0 for x in feeds.values()):
            continue
        ours, theirs = (answers(domain, cpu, feeds, dict(case.attributes)) for domain in (OURS, THEIRS))
        # Where no key counts it adds -10000 to every score, which then has three digits less; ours has them.
        close = 2e-3 if "none count" in case.name or "left" in case.name else 2e-5
        for mine, other in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(mine, other, rtol=close, atol=close, err_msg=case.name)
        compared += 1
    assert compared >= 30


def drawn(rng: np.random.Generator, dtype: type) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """query, key and value [2, 5, 3 heads, 8]."""
    q, k, v = (rng.standard_normal((2, 5, 3, 8)).astype(dtype) for _ in range(3))
    return q, k, v


def flat(x: np.ndarray) -> np.ndarray:
    return x.reshape(*x.shape[:2], -1)


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_packed_forms_are_the_plain_one(cpu: Path, dtype: type) -> None:
    rng = np.random.default_rng(4)
    q, k, v = drawn(rng, dtype)
    bias = rng.standard_normal(72).astype(dtype)
    more = {
        "key_padding_mask": np.array([4, 2], np.int32),
        "attention_bias": rng.standard_normal((1, 3, 5, 5)).astype(dtype),
    }
    attributes: dict[str, object] = {"num_heads": 3, "unidirectional": 1}
    plain = {"query": flat(q), "key": flat(k), "value": flat(v), **more}
    apart = {"query": flat(q), "key": k.transpose(0, 2, 1, 3).copy(), "value": v.transpose(0, 2, 1, 3).copy(), **more}
    packed = {"query": np.stack([q, k, v], axis=3), **more}
    packed_kv = {"query": flat(q), "key": np.stack([k, v], axis=3), **more}
    wanted = answers(OURS, cpu, plain, attributes)
    for feeds in (apart, packed, packed_kv):
        for got, want in zip(answers(OURS, cpu, feeds, attributes), wanted, strict=True):
            np.testing.assert_array_equal(got, want)
    np.testing.assert_array_equal(wanted[1], k.transpose(0, 2, 1, 3))  # present_key, of no past
    for got, want in zip(
        answers(OURS, cpu, {**packed, "bias": bias}, attributes),
        answers(OURS, cpu, {**plain, "bias": bias}, attributes),
        strict=True,
    ):
        np.testing.assert_array_equal(got, want)


def test_outputs_may_be_left_out(cpu: Path) -> None:
    rng = np.random.default_rng(5)
    q, k, v = (flat(x) for x in drawn(rng, np.float32))
    past = {name: rng.standard_normal((2, 3, 4, 8)).astype(np.float32) for name in ("past_key", "past_value")}
    feeds = {"query": q, "key": k, "value": v, **past}
    (alone,) = answers(OURS, cpu, feeds, {"num_heads": 3}, outputs=1)
    y, present_key, _ = answers(OURS, cpu, feeds, {"num_heads": 3})
    np.testing.assert_array_equal(alone, y)
    np.testing.assert_array_equal(present_key[:, :, :4], past["past_key"])


def zeros(*shape: int) -> np.ndarray:
    return np.zeros(shape, np.float32)


Q, K = zeros(2, 5, 24), zeros(2, 7, 24)
PLAIN = {"query": Q, "key": K, "value": K}
PAST = {"past_key": zeros(2, 3, 4, 8), "past_value": zeros(2, 3, 4, 8)}


@pytest.mark.parametrize(
    ("feeds", "attributes", "says"),
    [
        (PLAIN, {}, "num_heads must be positive"),
        (PLAIN, {"num_heads": 3.0}, "num_heads must be an int"),
        (PLAIN, {"num_heads": 5}, "num_heads must divide"),
        (PLAIN, {"num_heads": 3, "scale": 1}, "scale must be a float"),
        (PLAIN, {"num_heads": 3, "unidirectional": 2}, "unidirectional must be 0 or 1"),
        (PLAIN, {"num_heads": 3, "unidirectional": 1}, "no fewer queries than keys"),
        ({"query": Q}, {"num_heads": 3}, r"query, key and value must be \[B, S, N\*H\]"),
        ({"query": Q, "key": K}, {"num_heads": 3}, "query, key and value must be"),
        ({**PLAIN, "value": zeros(2, 3, 7, 8)}, {"num_heads": 3}, "query, key and value must be"),
        ({**PLAIN, "value": zeros(2, 6, 24)}, {"num_heads": 3}, "disagree"),
        ({**PLAIN, "key": zeros(2, 7, 27)}, {"num_heads": 3}, "disagree"),
        ({"query": zeros(2, 5, 2, 3, 8)}, {"num_heads": 3}, "a packed query must be"),
        ({"query": Q, "key": zeros(2, 7, 3, 3, 8)}, {"num_heads": 3}, "a packed key must be"),
        ({"query": Q, "key": zeros(2, 2, 7, 8), "value": zeros(2, 2, 7, 8)}, {"num_heads": 3}, "must be num_heads"),
        ({**PLAIN, "bias": zeros(71)}, {"num_heads": 3}, "bias must have one axis"),
        ({"query": Q, "key": zeros(2, 7, 3, 2, 8), "bias": zeros(72)}, {"num_heads": 3}, "bias goes with"),
        ({"query": zeros(2, 5, 3, 3, 8), **PAST}, {"num_heads": 3}, "a past goes with"),
        ({**PLAIN, "past_key": PAST["past_key"]}, {"num_heads": 3}, "go together"),
        ({**PLAIN, **PAST, "past_key": zeros(2, 3, 4, 7)}, {"num_heads": 3}, "past must be"),
        ({**PLAIN, "key_padding_mask": zeros(2)}, {"num_heads": 3}, "key_padding_mask must be int32"),
        ({**PLAIN, "key_padding_mask": np.zeros((2, 6), np.int32)}, {"num_heads": 3}, "key_padding_mask must be"),
        ({**PLAIN, **PAST, "key_padding_mask": np.zeros((2, 7), np.int32)}, {"num_heads": 3}, "key_padding_mask must be"),
        ({**PLAIN, "attention_bias": zeros(3, 5, 7)}, {"num_heads": 3}, "attention_bias must be"),
        ({**PLAIN, "attention_bias": zeros(2, 3, 1, 7)}, {"num_heads": 3}, "attention_bias must be"),
        ({**PLAIN, **PAST, "past_sequence_length": np.ones(1, np.int32)}, {"num_heads": 3}, "are not supported"),
    ],
)  # fmt: skip
def test_what_it_does_not_take_it_says(cpu: Path, feeds: Feeds, attributes: dict[str, object], says: str) -> None:
    with pytest.raises(Exception, match=says):
        answers(OURS, cpu, feeds, attributes)
