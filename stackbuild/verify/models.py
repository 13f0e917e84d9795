"""The models that shares and numerics are taken on: ResNet-50 and BERT-base in shape, written here with seeded weights."""

from __future__ import annotations

from pathlib import Path

#: Small enough to run on a CPU in seconds: batch 1, BERT with 128 tokens (symbolic dimensions become 1 in the probe).
NAMES = ("resnet50", "bert")


def write_models(folder: Path) -> tuple[tuple[Path, ...], str]:
    """The model files, and why there are none: '' when there are."""
    try:
        from stackbuild.bench.modelfiles import written
        from stackbuild.bench.nets import NETS
    except ModuleNotFoundError as missing:
        return (), f"models cannot be written without {missing.name}: pip install 'stackbuild[bench]'"
    wanted = [net for name, net in NETS.items() if name.startswith(NAMES)]
    return tuple(written(net, "float32", folder).path for net in wanted), ""
