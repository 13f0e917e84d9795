"""The architectures are the real ones: parameter counts as published, graphs that the checker takes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from stackbuild.bench.model_cache import net_file
from stackbuild.bench.nets import NETS
from stackbuild.bench.nets.graph import Graph, describe_inputs
from stackbuild.core import digest


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("resnet50", 25_557_032), ("bert-base", 109_482_240), ("yolov5s", 7_225_885), ("gpt2-decode", 124_439_808),
        ("vit-b16", 86_567_656), ("whisper-tiny-encoder", 7_632_384), ("whisper-tiny-decoder", 29_552_256),
    ],
)  # fmt: skip
def test_parameters_are_as_published(name: str, parameters: int) -> None:
    graph = Graph(name)
    NETS[name].write(graph)
    assert graph.parameters == parameters


def test_the_chess_nets_smolgen() -> None:
    """61,368,364 parameters without it; each encoder's own generator, and one matrix that all encoders share."""
    graph = Graph("chess")
    NETS["chess"].write(graph)
    generator = 768 * 32 + (64 * 32 * 256 + 256) + 2 * 256 + (256 * 24 * 256 + 24 * 256) + 2 * 24 * 256
    assert graph.parameters == 61_368_364 + 15 * generator + 256 * 64 * 64 == 94_530_860


def test_a_saved_net_is_checked_and_the_same_each_time(tmp_path: Path) -> None:
    for file in ("a.onnx", "b.onnx"):
        graph = Graph("yolov5s", "float16")
        NETS["yolov5s"].write(graph)
        graph.save(tmp_path / file)
    assert (tmp_path / "a.onnx").read_bytes() == (tmp_path / "b.onnx").read_bytes()
    assert digest.of_file(tmp_path / "a.onnx").startswith("b9a43dbac7b16f57"), (
        "the file is no longer that of docs/benchmarks.md"
    )
    opset, inputs = describe_inputs(tmp_path / "a.onnx")
    assert opset == 17 and inputs == {"images": ("float16", ("batch", 3, 640, 640))}


def test_every_net_names_its_inputs_and_what_feeds_them() -> None:
    for net in NETS.values():
        assert set(net.feed.values()) <= set(net.inputs)
        assert all(isinstance(size, int) for shape in net.shapes({"batch": 3}).values() for size in shape)
        assert next(iter(net.shapes({"batch": 3}).values()))[0] == 3


def test_what_is_not_a_model_is_said_to_be_none(tmp_path: Path) -> None:
    (tmp_path / "x.onnx").write_bytes(b"not a model")
    with pytest.raises(ValueError, match="not an ONNX model"):
        describe_inputs(tmp_path / "x.onnx")
    (tmp_path / "empty.onnx").write_bytes(b"")
    with pytest.raises(ValueError, match="an empty file"):
        describe_inputs(tmp_path / "empty.onnx")


def _small(graph: Graph) -> None:
    graph.output("y", graph.linear(graph.input("x", ("batch", 4)), 4, 4), ("batch", 4))


@pytest.mark.parametrize("damage", ["model", "facts", "cut facts", "other facts"])
def test_a_kept_model_that_is_not_what_its_facts_say_is_made_again(tmp_path: Path, damage: str) -> None:
    net = replace(NETS["resnet50"], write=_small)
    first = net_file(net, "float32", tmp_path)
    assert digest.of_file(first.path) == first.sha256
    made = first.path.stat().st_mtime_ns
    assert net_file(net, "float32", tmp_path) == first and first.path.stat().st_mtime_ns == made
    facts = first.path.with_suffix(".json")
    file = first.path if damage == "model" else facts
    file.write_bytes({"cut facts": facts.read_bytes()[:9], "other facts": b"[1]"}.get(damage, b"not what it was"))
    assert net_file(net, "float32", tmp_path) == first and digest.of_file(first.path) == first.sha256
    assert sorted(p.name for p in facts.parent.iterdir()) == sorted((first.path.name, facts.name))
