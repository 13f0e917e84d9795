"""The models and their sizes that a suite of benchmarks may name: what `stackbuild/bench/nets` builds. Pure.

`tests/unit/tables/test_networks.py` compares the table with the networks.
"""

from __future__ import annotations

NETWORKS: dict[str, tuple[str, ...]] = {
    "resnet50": ("batch",),
    "bert-base": ("batch", "sequence"),
    "yolov5s": ("batch",),
    "chess": ("batch",),
    "gpt2-decode": ("batch", "past"),
    "vit-b16": ("batch",),
    "whisper-tiny-encoder": ("batch",),
    "whisper-tiny-decoder": ("batch", "tokens"),
}
"""By the model's name, the names of its sizes."""
TRANSFORMERS = ("bert-base", "chess", "gpt2-decode")
"""The models that ONNX Runtime's transformer optimiser has a pattern for."""
