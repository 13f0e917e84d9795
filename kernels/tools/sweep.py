#!/usr/bin/env python3
"""Times attention and convolutions of real models, and random ones, beside PyTorch's best, and names the slowest.

    python3 kernels/tools/sweep.py --library build/libstackbuild_kernels_hip.so --out sweep.json [--random 60] [--seed N] [--limit 200]

PyTorch's time is the least of channels first and channels last (Conv), or of its attention back ends. Filters of a Conv are constants:
PyTorch's lie in either order before, and ours are packed before where the way that is taken packs them, as the execution provider has
them. Where a shape has other forms since 24 November 2026, or filters that are packed, "before" is without both (conv.hpp,
ConvChoosing::unfolded): filters packed each time. It does not count. Answers are compared with PyTorch's of the same type.
Exit status: 0 all timed, 1 a wrong answer or a shape that failed or was not reached in --limit seconds.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np

from tools import device as d
from tools import timing

SAMPLES = 5
CHOOSING_BEFORE = 5  # ConvChoosing::unfolded
BEFORE = "before"
OURS = ("ours", BEFORE)
TOLERANCE = {"float32": 1e-4, "float16": 1e-2}  # ours against PyTorch's: each has an error of its own


@dataclass(frozen=True)
class ModelAttention:
    model: str
    batch: int
    heads: int
    key_heads: int
    queries: int
    keys: int
    size: int
    causal: bool = False

    @property
    def text(self) -> str:
        group_text = f"/{self.key_heads}" * (self.heads != self.key_heads)
        return f"Attention B{self.batch} H{self.heads}{group_text} S{self.queries} T{self.keys} D{self.size}" + " causal" * self.causal


@dataclass(frozen=True)
class ModelConv:
    model: str
    batch: int
    channels: int
    extent: tuple[int, ...]
    filters: int
    kernel: int
    stride: int = 1
    groups: int = 1

    @property
    def text(self) -> str:
        group_text = f" groups {self.groups}" * (self.groups > 1)
        extent, kernel = "×".join(map(str, self.extent)), "×".join([str(self.kernel)] * len(self.extent))
        return f"Conv N{self.batch} C{self.channels} {extent} K{self.filters} {kernel}/{self.stride}{group_text}"


SweepShape = ModelAttention | ModelConv


def attention_shapes() -> list[ModelAttention]:
    shapes = []
    for b in (1, 8):
        shapes += [ModelAttention("BERT", b, 12, 12, s, s, 64) for s in (128, 384, 512)]
        shapes += [ModelAttention("GPT-2", b, 12, 12, 1024, 1024, 64, True), ModelAttention("GPT-2 decode", b, 12, 12, 1, 1024, 64)]
        shapes += [ModelAttention("Llama decode", b, 32, 8, 1, t, 128) for t in (512, 4096, 32768)]
        shapes += [ModelAttention("ViT-B/16", b, 12, 12, 197, 197, 64), ModelAttention("Whisper-tiny", b, 6, 6, 1500, 1500, 64)]
        shapes += [ModelAttention("Whisper-tiny decode", b, 6, 6, 1, 1500, 64)]
        shapes += [ModelAttention("Gemma", b, 8, 4, 1024, 1024, 256, True), ModelAttention("Gemma decode", b, 8, 4, 1, 4096, 256)]
        for side, size in ((64, 40), (32, 80), (16, 160)):
            shapes += [ModelAttention("UNet", b, 8, 8, side * side, side * side, size), ModelAttention("UNet text", b, 8, 8, side * side, 77, size)]
    return [*shapes, ModelAttention("Llama", 1, 32, 8, 2048, 2048, 128, True), ModelAttention("Llama decode", 1, 32, 8, 1, 131072, 128),
            ModelAttention("Phi-3", 1, 32, 32, 1024, 1024, 96, True)]


def conv_shapes() -> list[ModelConv]:
    shapes = []
    for n in (1, 16):
        shapes += [ModelConv("ResNet-50", n, c, (s, s), k, r, stride) for c, s, k, r, stride in
                  ((3, 224, 64, 7, 2), (64, 56, 64, 3, 1), (64, 56, 256, 1, 1), (128, 28, 128, 3, 1), (512, 28, 1024, 1, 2),
                   (256, 14, 256, 3, 1), (512, 7, 512, 3, 1))]
        shapes += [ModelConv("ResNeXt-50", n, c, (s, s), c, 3, stride, 32) for c, s, stride in
                  ((128, 56, 1), (256, 56, 2), (256, 28, 1), (512, 14, 1), (1024, 7, 1))]
        shapes += [ModelConv("ConvNeXt", n, c, (s, s), c, 7, 1, c) for c, s in ((96, 56), (192, 28), (384, 14), (768, 7))]
        shapes += [ModelConv("EfficientNet", n, c, (s, s), c, r, stride, c) for c, s, r, stride in
                  ((32, 112, 3, 1), (96, 112, 3, 2), (144, 56, 5, 2), (240, 28, 3, 2), (672, 14, 5, 1))]
        shapes += [ModelConv("YOLOv5", n, 3, (640, 640), 32, 6, 2), ModelConv("YOLOv5", n, 32, (320, 320), 64, 3, 2),
                  ModelConv("YOLOv8", n, 64, (80, 80), 64, 3), ModelConv("UNet", n, 320, (64, 64), 320, 3),
                  ModelConv("UNet", n, 640, (32, 32), 640, 3), ModelConv("UNet", n, 1280, (16, 16), 1280, 3)]
    shapes += [ModelConv("VAE", 1, 128, (512, 512), 128, 3), ModelConv("VAE", 1, 512, (64, 64), 512, 3)]
    shapes += [ModelConv("3-D UNet", 1, c, (s, s, s), k, 3) for c, s, k in ((1, 96, 32), (32, 96, 32), (64, 48, 64), (128, 24, 128), (256, 12, 256))]
    return [*shapes, ModelConv("3-D UNet", 1, 32, (96, 96, 96), 64, 3, 2), ModelConv("3-D UNet", 1, 32, (96, 96, 96), 4, 1)]


def random_shapes(rng: np.random.Generator, count: int) -> list[SweepShape]:
    shapes: list[SweepShape] = []
    for i in range(count):
        if i % 2:
            kv = int(rng.integers(1, 9))
            queries = int(rng.choice([1, 4, 77, 300, 1000]))
            shapes.append(ModelAttention("random", int(rng.integers(1, 5)), kv * int(rng.integers(1, 5)), kv, queries, int(rng.integers(16, 3000)), 8 * int(rng.integers(4, 33))))
        else:
            groups = int(rng.choice([1, 1, 1, 2, 8, 16]))
            kernel, side = int(rng.choice([1, 3, 3, 5])), int(rng.integers(7, 90))
            shapes.append(ModelConv("random", int(rng.integers(1, 9)), groups * int(rng.integers(2, 65)), (side, side), groups * int(rng.integers(2, 65)), kernel,
                                   int(rng.choice([1, 2])), groups))
    return shapes


def attention_launches(torch: Any, at: timing.Launcher, s: ModelAttention, dtype: Any) -> tuple[dict[str, Callable[[], Any]], Any]:
    q = torch.randn(s.batch, s.heads, s.queries, s.size, device="cuda", dtype=dtype)
    k, v = (torch.randn(s.batch, s.key_heads, s.keys, s.size, device="cuda", dtype=dtype) for _ in range(2))
    y = torch.empty_like(q)
    params = d.Attention(timing.numpy_dtype(torch, dtype), s.batch, s.heads, s.key_heads, s.queries, s.keys, s.size, s.size, s.size**-0.5, 0.0, s.causal)
    for strides, tensor in ((params.q_strides, q), (params.k_strides, k), (params.v_strides, v), (params.y_strides, y)):
        strides[:] = list(tensor.stride()[:3])
    params.q, params.k, params.v, params.y = (t.data_ptr() for t in (q, k, v, y))
    sdpa, backends = torch.nn.functional.scaled_dot_product_attention, torch.nn.attention.SDPBackend
    grouped = s.heads != s.key_heads

    def by(backend: Any) -> Callable[[], Any]:
        def launch() -> Any:
            with torch.nn.attention.sdpa_kernel(backend):
                return sdpa(q, k, v, is_causal=s.causal, enable_gqa=grouped)
        return launch

    theirs = {f"torch {b.name}": by(b) for b in (backends.FLASH_ATTENTION, backends.EFFICIENT_ATTENTION, backends.CUDNN_ATTENTION, backends.MATH)}
    return {"ours": at.ours(params, [q, k, v, y]), **theirs}, y


def conv_launches(torch: Any, at: timing.Launcher, s: ModelConv, dtype: Any, last: bool) -> tuple[dict[str, Callable[[], Any]], Any]:
    axes = len(s.extent)
    x = torch.randn(s.batch, s.channels, *s.extent, device="cuda", dtype=dtype)
    w = torch.randn(s.filters, s.channels // s.groups, *[s.kernel] * axes, device="cuda", dtype=dtype)
    out = [(n + 2 * (s.kernel // 2) - s.kernel) // s.stride + 1 for n in s.extent]
    y = torch.empty(s.batch, s.filters, *out, device="cuda", dtype=dtype)
    memory = torch.channels_last if axes == 2 else torch.channels_last_3d
    pairs = {"first": (x, w), "last": (x.contiguous(memory_format=memory), w.contiguous(memory_format=memory))}
    function = torch.nn.functional.conv2d if axes == 2 else torch.nn.functional.conv3d
    theirs = {f"torch {name}": (lambda x=x, w=w: function(x, w, None, s.stride, s.kernel // 2, 1, s.groups)) for name, (x, w) in pairs.items()}
    if last:
        (x, w), y = pairs["last"], y.contiguous(memory_format=memory)
    params = d.Conv(timing.numpy_dtype(torch, dtype), int(last), int(last), 0, 0, axes, s.batch, s.channels, s.filters, s.groups)
    for i in range(axes):
        params.in_[i], params.out[i], params.kernel[i], params.stride[i], params.dilation[i], params.pad_begin[i] = s.extent[i], out[i], s.kernel, s.stride, 1, s.kernel // 2
    params.x, params.w, params.y = x.data_ptr(), w.data_ptr(), y.data_ptr()
    before = d.Conv.from_buffer_copy(params)
    before.choosing = CHOOSING_BEFORE
    filters = at.device.pack_filter(params)
    differs = filters is not None or at.device.workspace_bytes(params) != at.device.workspace_bytes(before)
    launch = at.ours(params, [x, w, y])
    ours = {"ours": lambda _=filters: launch(), **({BEFORE: at.ours(before, [x, w, y])} if differs else {})}
    return {**ours, **theirs}, y


def time_one(torch: Any, launches: dict[str, Callable[[], Any]], y: Any) -> dict[str, Any]:
    """Medians in ms, and how far our answer is off PyTorch's. A back end that does not take the shape is left out."""
    usable: dict[str, Callable[[], Any]] = {}
    answer: Any = None
    for name, launch in launches.items():
        try:
            actual = launch()
            torch.cuda.synchronize()
        except RuntimeError:
            if name in OURS:
                raise
            continue
        usable[name] = launch
        if name == "ours":
            actual_y = y.clone()
        answer = actual if name not in OURS and answer is None else answer
    samples = timing.measure(torch, usable, SAMPLES)
    off = float((actual_y.double() - answer.double()).norm() / answer.double().norm())
    return {"ms": {name: statistics.median(times) for name, times in samples.items()}, "off": off}


def run(torch: Any, at: timing.Launcher, shapes: list[SweepShape], end: float) -> tuple[list[dict[str, Any]], list[str]]:
    rows: list[dict[str, Any]] = []
    wrong: list[str] = []
    for number, shape in enumerate(shapes):
        for dtype in (torch.float16, torch.float32):
            for last in (False, True) if isinstance(shape, ModelConv) else (False,):
                name = str(dtype).removeprefix("torch.")
                text = f"{shape.text} {name}" + " channels last" * last
                if time.monotonic() > end:
                    return rows, [*wrong, f"{len(shapes) - number} of {len(shapes)} shapes were not reached in time"]
                try:
                    launches = attention_launches(torch, at, shape, dtype) if isinstance(shape, ModelAttention) else conv_launches(torch, at, shape, dtype, last)
                    row = {"model": shape.model, "shape": text, **time_one(torch, *launches)}
                except (d.DeviceError, RuntimeError) as error:
                    wrong.append(f"{text}: {str(error).splitlines()[0]}")
                    continue
                finally:
                    torch.cuda.empty_cache()
                best = min(ms for peer, ms in row["ms"].items() if peer not in OURS)
                row["ratio"] = best / row["ms"]["ours"]
                row["ratio before"] = best / row["ms"].get(BEFORE, row["ms"]["ours"])
                rows.append(row)
                if not row["off"] <= TOLERANCE[name]:
                    wrong.append(f"{text}: {row['off']:.1e} off PyTorch's answer")
    return rows, wrong


def distribution(name: str, rows: list[dict[str, Any]], key: str) -> str:
    ratios = sorted(r[key] for r in rows)
    if not ratios or (key != "ratio" and ratios == sorted(r["ratio"] for r in rows)):
        return ""
    at = [ratios[math.floor(q * (len(ratios) - 1))] for q in (0, 0.1, 0.25, 0.5, 0.75, 1)]
    return (f"{name}{key.removeprefix('ratio')}: {len(ratios)} shapes; times PyTorch's best: least {at[0]:.2f}, 10 % {at[1]:.2f}, quarter {at[2]:.2f}, "
            f"median {at[3]:.2f}, three quarters {at[4]:.2f}, most {at[5]:.2f}; {sum(r >= 1.0 for r in ratios)} at 1.0 or above, "
            f"{sum(r >= 0.8 for r in ratios)} at 0.8 or above")


def summary(rows: list[dict[str, Any]]) -> str:
    lines = []
    for op in ("Attention", "Conv"):
        for dtype in ("float16", "float32"):
            rows_of_type = [r for r in rows if r["shape"].startswith(op) and dtype in r["shape"]]
            for name, some in (("", rows_of_type), (" random", [r for r in rows_of_type if r["model"] == "random"])):
                lines += [line for key in ("ratio", "ratio before") if (line := distribution(f"{op} {dtype}{name}", some, key))]
            for last in (False, True) if op == "Conv" and rows_of_type else ():
                layout = "last" if last else "first"
                lines.append(distribution(f"{op} {dtype} channels {layout}", [r for r in rows_of_type if r["shape"].endswith("channels last") == last], "ratio"))
    lines.append("the slowest:")
    for r in sorted(rows, key=lambda r: float(r["ratio"]))[:10]:
        best = min((ms, name) for name, ms in r["ms"].items() if name not in OURS)
        lines.append(f"  {r['ratio']:.2f}  {r['model']}: {r['shape']}: {r['ms']['ours']:.4f} ms (before {r['ms'].get(BEFORE, math.nan):.4f}); {best[1]} {best[0]:.4f}")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True, help="where to write all medians")
    parser.add_argument("--random", type=int, default=60, help="how many random shapes are drawn beside the models'")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--limit", type=float, default=200.0, help="seconds; shapes not reached by then are listed, and the exit status is 1")
    args = parser.parse_args()
    end = time.monotonic() + args.limit
    warnings.simplefilter("ignore")  # PyTorch's reasons why a back end does not take a shape
    import torch

    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.benchmark = True
    at = timing.Launcher(torch, d.GpuDevice(args.library), None, try_all=False)
    models: list[SweepShape] = [*attention_shapes(), *conv_shapes()]
    shapes = [*models, *random_shapes(np.random.default_rng(args.seed), args.random)]
    rows, wrong = run(torch, at, shapes, end)
    args.out.write_text(json.dumps({"seed": args.seed, "torch": torch.__version__, "rows": rows, "wrong": wrong}, indent=1))
    print(summary(rows))
    for line in wrong:
        print("WRONG " + line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
