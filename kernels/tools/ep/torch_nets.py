"""The models of the comparison in PyTorch: those of torchvision and transformers, and YOLOv5s written out here."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

Sizes = dict[str, int]
OF_TORCHVISION = ("resnet50", "vit-b16")
OF_TRANSFORMERS = ("bert-base", "whisper-tiny-encoder", "whisper-tiny-decoder")
PICTURES = {"resnet50", "yolov5s"}
"""Those that are timed with images and filters channels last too."""
COMPILE_FORMS: dict[str, dict[str, Any]] = {
    "max-autotune": {"mode": "max-autotune"},
    "plain": {"options": {"triton.cudagraphs": True}},
}  # fmt: skip
"""Forms of torch.compile, and its arguments: at its most thorough, or without its templates of products. Both replay a CUDA graph."""


def torch_lacks(name: str) -> str:
    """Why `name` cannot be timed by PyTorch on this GPU; "" where it can."""
    if find_spec("torch") is None:
        return "torch is not installed"
    if name in OF_TORCHVISION and find_spec("torchvision") is None:
        return "torchvision is not installed"
    if name in OF_TRANSFORMERS and find_spec("transformers") is None:
        return "transformers is not installed"
    import torch

    return "" if torch.cuda.is_available() else f"torch {torch.__version__} sees no GPU"


def torch_net(name: str) -> Any:
    """The module, in float32 on the host, with random weights."""
    if name in OF_TORCHVISION:
        import torchvision

        return {"resnet50": torchvision.models.resnet50, "vit-b16": torchvision.models.vit_b_16}[name](weights=None)
    if name == "yolov5s":
        return yolov5s()
    import transformers

    if name == "bert-base":
        return transformers.BertModel(transformers.BertConfig())
    whisper = transformers.WhisperForConditionalGeneration(transformers.WhisperConfig())  # the default is tiny
    return whisper.model.encoder if name == "whisper-tiny-encoder" else whisper


def torch_inputs(name: str, sizes: Sizes, device: str, dtype: Any) -> dict[str, Any]:
    """Random arguments of the module's call, by name; "" is the one without a name."""
    import torch

    def normal(*shape: int) -> Any:
        return torch.randn(*shape, device=device, dtype=dtype)

    batch = sizes["batch"]
    if name in OF_TORCHVISION:
        return {"": normal(batch, 3, 224, 224)}
    if name == "yolov5s":
        return {"": normal(batch, 3, 640, 640)}
    if name == "whisper-tiny-encoder":
        return {"input_features": normal(batch, 80, 3000)}
    if name == "whisper-tiny-decoder":
        from transformers.modeling_outputs import BaseModelOutput

        ids = torch.randint(0, 51865, (batch, sizes["tokens"]), device=device)
        states = BaseModelOutput(last_hidden_state=normal(batch, 1500, 384))
        return {"decoder_input_ids": ids, "encoder_outputs": states, "use_cache": False}
    ids = torch.randint(0, 30522, (batch, sizes["sequence"]), device=device)
    mask = torch.ones_like(ids)
    mask[:, -max(1, sizes["sequence"] // 4) :] = 0
    return {"input_ids": ids, "attention_mask": mask}


def torch_call(name: str, dtype: str, last: bool, compile_form: str, sizes: Sizes, device: str = "cuda") -> Callable[[], object]:
    """One inference by PyTorch; `last`: images and filters channels last; `compile_form`: by torch.compile, one of COMPILE_FORMS, or ""."""
    import torch

    kind = {"float32": torch.float32, "float16": torch.float16}[dtype]
    layout = torch.channels_last if last and name in PICTURES else torch.contiguous_format
    net = torch_net(name).eval().to(device).to(kind)
    inputs = torch_inputs(name, sizes, device, kind)
    if name in PICTURES:
        net = net.to(memory_format=layout)
        inputs[""] = inputs[""].to(memory_format=layout)
    module = torch.compile(net, **COMPILE_FORMS[compile_form]) if compile_form else net
    positional = [inputs.pop("")] if "" in inputs else []
    return lambda: module(*positional, **inputs)


def yolov5s() -> Any:
    """YOLOv5s v6 with the layers of stackbuild.bench.nets.yolo: norms folded into the convolutions, boxes decoded."""
    import torch
    from torch import nn

    from stackbuild.bench.nets.yolo import ANCHORS, CLASSES, IMAGE, SIZES

    class Convolution(nn.Sequential):
        """Conv, then SiLU."""

        def __init__(self, inside: int, outside: int, kernel: int = 1, stride: int = 1, pad: int | None = None) -> None:
            super().__init__(nn.Conv2d(inside, outside, kernel, stride, kernel // 2 if pad is None else pad), nn.SiLU())

    class BottleneckModule(nn.Module):
        def __init__(self, width: int, shortcut: bool) -> None:
            super().__init__()
            self.path, self.shortcut = nn.Sequential(Convolution(width, width), Convolution(width, width, 3)), shortcut

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x + self.path(x) if self.shortcut else self.path(x)

    class Csp(nn.Module):
        """Two branches of half the width, one through bottlenecks, joined by a 1x1."""

        def __init__(self, inside: int, outside: int, depth: int, shortcut: bool = True) -> None:
            super().__init__()
            half = outside // 2
            self.deep = nn.Sequential(Convolution(inside, half), *(BottleneckModule(half, shortcut) for _ in range(depth)))
            self.flat, self.join = Convolution(inside, half), Convolution(2 * half, outside)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.join(torch.cat([self.deep(x), self.flat(x)], 1))

    class Pyramid(nn.Module):
        """Three pools, one after the other, beside what goes into them."""

        def __init__(self, width: int) -> None:
            super().__init__()
            self.first, self.join, self.pool = Convolution(width, width // 2), Convolution(2 * width, width), nn.MaxPool2d(5, 1, 2)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            levels = [self.first(x)]
            for _ in range(3):
                levels.append(self.pool(levels[-1]))
            return self.join(torch.cat(levels, 1))

    class Detector(nn.Module):
        """One scale's boxes in pixels."""

        def __init__(self, inside: int, scale: int) -> None:
            super().__init__()
            self.fields, self.stride, self.cells = CLASSES + 5, 8 << scale, IMAGE // (8 << scale)
            self.conv = nn.Conv2d(inside, ANCHORS * self.fields, 1)
            side = torch.arange(self.cells) - 0.5
            self.register_buffer("grid", torch.stack(torch.meshgrid(side, side, indexing="xy"), -1))
            self.register_buffer("anchors", torch.tensor(SIZES[scale], dtype=torch.float32).view(ANCHORS, 1, 1, 2))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            t = self.conv(x).view(-1, ANCHORS, self.fields, self.cells, self.cells).permute(0, 1, 3, 4, 2).sigmoid()
            centre, size, rest = t.split((2, 2, CLASSES + 1), 4)
            boxes = ((centre * 2 + self.grid) * self.stride, (size * 2) ** 2 * self.anchors, rest)
            return torch.cat(boxes, 4).reshape(x.shape[0], -1, self.fields)

    class Yolo(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.p3 = nn.Sequential(Convolution(3, 32, 6, 2, 2), Convolution(32, 64, 3, 2), Csp(64, 64, 1), Convolution(64, 128, 3, 2), Csp(128, 128, 2))
            self.p4 = nn.Sequential(Convolution(128, 256, 3, 2), Csp(256, 256, 3))
            self.top = nn.Sequential(Convolution(256, 512, 3, 2), Csp(512, 512, 1), Pyramid(512), Convolution(512, 256))
            self.middle = nn.Sequential(Csp(512, 256, 1, False), Convolution(256, 128))
            self.small, self.medium, self.large = Csp(256, 128, 1, False), Csp(256, 256, 1, False), Csp(512, 512, 1, False)
            self.down = nn.ModuleList([Convolution(128, 128, 3, 2), Convolution(256, 256, 3, 2)])
            self.upsample = nn.Upsample(scale_factor=2, mode="nearest")
            self.detectors = nn.ModuleList(Detector(inside, scale) for scale, inside in enumerate((128, 256, 512)))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            p3 = self.p3(x)
            p4 = self.p4(p3)
            top = self.top(p4)
            middle = self.middle(torch.cat([self.upsample(top), p4], 1))
            small = self.small(torch.cat([self.upsample(middle), p3], 1))
            medium = self.medium(torch.cat([self.down[0](small), middle], 1))
            large = self.large(torch.cat([self.down[1](medium), top], 1))
            return torch.cat([detect(x) for detect, x in zip(self.detectors, (small, medium, large), strict=True)], 1)

    return Yolo()
