"""The models that shares and numerics are taken on: ResNet-50 and BERT-base in shape, written here with seeded weights."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

NAMES = ("resnet50", "bert-base")


@dataclass(frozen=True)
class ReferenceModel:
    """A file, the sizes its symbolic dimensions are given, and the largest value (exclusive) of each integer input."""

    path: Path
    sizes: tuple[tuple[str, int], ...]
    highs: tuple[tuple[str, int], ...]

    @property
    def name(self) -> str:
        return self.path.name.split("-v", 1)[0]


def write_models(folder: Path) -> tuple[tuple[ReferenceModel, ...], str]:
    """The models, batch 1 and 128 tokens, small enough for a CPU; and why there are none: '' when there are."""
    try:
        from stackbuild.bench.model_cache import net_file
        from stackbuild.bench.nets import NETS
    except ModuleNotFoundError as missing:
        return (), f"models cannot be written without {missing.name}: pip install 'stackbuild[bench]'"
    models = []
    for net in (NETS[name] for name in NAMES):
        # A mask of zeros would hide everything, so what is filled with ones is drawn from {1}: -1 says so to the probe.
        highs = tuple(
            (n, -1 if i.fill == "ones" else i.high) for n, i in net.inputs.items() if i.dtype.startswith("int")
        )
        models.append(ReferenceModel(net_file(net, "float32", folder).path, tuple(net.sizes.items()), highs))
    return tuple(models), ""
