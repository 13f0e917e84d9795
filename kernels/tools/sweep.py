#!/usr/bin/env python3
"""Times attention and convolutions of real models, and random ones, beside PyTorch's best, and names the slowest.

    kernels/gpu-check --sweep     # builds, and runs this
    python3 kernels/tools/sweep.py --library build/libstackbuild_kernels_hip.so --out sweep.json [--random 200] [--seed N] [--limit 300]

The models' shapes come first, then random ones by seed. Each is timed with a hot cache (replayed over the same tensors), and with one that has
none of its tensors (`timing.ColdCache`). PyTorch's time is the least of channels first and channels last (Conv), or of its attention back ends.
Filters of a Conv are constants: PyTorch's lie in either order before, and ours are packed before where the way that is taken packs them, as the
execution provider has them. Answers are compared with PyTorch's of the same type.
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
OURS = "ours"
CACHES = {"hot": "ms", "cold": "ms cold"}
"""What the medians are called where the cache holds a launch's tensors, and where it does not."""
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


@dataclass
class Contenders:
    """Launches by name, and what ours write: of a convolution one for each layout."""

    ours: dict[str, tuple[Callable[[], Any], Any]]
    theirs: dict[str, Callable[[], Any]]


def attention_contenders(torch: Any, at: timing.Launcher, s: ModelAttention, dtype: Any) -> Contenders:
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
    return Contenders({"": (at.ours(params, [q, k, v, y]), y)}, theirs)


def conv_contenders(torch: Any, at: timing.Launcher, s: ModelConv, dtype: Any) -> Contenders:
    axes = len(s.extent)
    x = torch.randn(s.batch, s.channels, *s.extent, device="cuda", dtype=dtype)
    w = torch.randn(s.filters, s.channels // s.groups, *[s.kernel] * axes, device="cuda", dtype=dtype)
    out = [(n + 2 * (s.kernel // 2) - s.kernel) // s.stride + 1 for n in s.extent]
    memory = torch.channels_last if axes == 2 else torch.channels_last_3d
    layouts = {"": torch.contiguous_format, " channels last": memory}
    function = torch.nn.functional.conv2d if axes == 2 else torch.nn.functional.conv3d
    contenders = Contenders({}, {})
    for last, (suffix, layout) in enumerate(layouts.items()):
        image, filters = x.contiguous(memory_format=layout), w.contiguous(memory_format=layout)
        y = torch.empty(s.batch, s.filters, *out, device="cuda", dtype=dtype, memory_format=layout)
        params = d.Conv(timing.numpy_dtype(torch, dtype), last, last, 0, 0, axes, s.batch, s.channels, s.filters, s.groups)
        for i in range(axes):
            params.in_[i], params.out[i], params.kernel[i], params.stride[i], params.dilation[i], params.pad_begin[i] = s.extent[i], out[i], s.kernel, s.stride, 1, s.kernel // 2
        params.x, params.w, params.y = image.data_ptr(), filters.data_ptr(), y.data_ptr()
        filter_buffer = at.device.pack_filter(params)
        launch = at.ours(params, [image, filters, y])
        contenders.ours[suffix] = (lambda launch=launch, _=(filter_buffer, image, filters): launch()), y
        contenders.theirs["torch last" if last else "torch first"] = lambda x=image, w=filters: function(x, w, None, s.stride, s.kernel // 2, 1, s.groups)
    return contenders


def time_shape(torch: Any, cold: timing.ColdCache, contenders: Contenders) -> list[dict[str, Any]]:
    """A row for each of ours: medians in ms, and how far its answer is off PyTorch's. A back end that does not take the shape is left out."""
    usable: dict[str, Callable[[], Any]] = {}
    answer: Any = None
    for name, launch in contenders.theirs.items():
        try:
            actual = launch()
            torch.cuda.synchronize()
        except RuntimeError:
            continue
        usable[name] = launch
        answer = actual if answer is None else answer
    if answer is None:
        raise RuntimeError("PyTorch takes it by no back end")
    want = answer.double()
    rows = {}
    for suffix, (launch, y) in contenders.ours.items():
        y.fill_(math.nan)
        launch()
        rows[suffix] = {"suffix": suffix, "off": float((y.double() - want).norm() / want.norm())}
    usable = {OURS + suffix: launch for suffix, (launch, _) in contenders.ours.items()} | usable
    for key, samples in (("ms", timing.measure(torch, usable, SAMPLES)), ("ms cold", cold.measure(usable, SAMPLES))):
        median = {name: statistics.median(times) for name, times in samples.items()}
        for suffix, row in rows.items():
            row[key] = {OURS: median[OURS + suffix]} | {name: ms for name, ms in median.items() if name in contenders.theirs}
    return list(rows.values())


def run(torch: Any, at: timing.Launcher, shapes: list[SweepShape], end: float) -> tuple[list[dict[str, Any]], list[str]]:
    """The rows, one for each shape, type and layout, and what is wrong."""
    rows: list[dict[str, Any]] = []
    wrong: list[str] = []
    cold = timing.ColdCache(torch)
    for number, shape in enumerate(shapes):
        for dtype in (torch.float16, torch.float32):
            name = str(dtype).removeprefix("torch.")
            if time.monotonic() > end:
                return rows, [*wrong, f"{len(shapes) - number} of {len(shapes)} shapes were not reached in time"]
            try:
                contenders = attention_contenders(torch, at, shape, dtype) if isinstance(shape, ModelAttention) else conv_contenders(torch, at, shape, dtype)
                for row in time_shape(torch, cold, contenders):
                    text = f"{shape.text} {name}{row.pop('suffix')}"
                    rows.append({"model": shape.model, "shape": text, **row})
                    if not row["off"] <= TOLERANCE[name]:
                        wrong.append(f"{text}: {row['off']:.1e} off PyTorch's answer")
            except (d.DeviceError, RuntimeError) as error:
                wrong.append(f"{shape.text} {name}: {str(error).splitlines()[0]}")
            finally:
                contenders = None
                torch.cuda.empty_cache()
    return rows, wrong


def best_peer(row: dict[str, Any], cache: str) -> tuple[float, str]:
    """PyTorch's least time, and by what."""
    return min((ms, name) for name, ms in row[CACHES[cache]].items() if name != OURS)


def ratio(row: dict[str, Any], cache: str) -> float:
    """PyTorch's least time over ours: above 1 we are faster. Infinite where ours is below what can be measured."""
    ours = row[CACHES[cache]][OURS]
    return best_peer(row, cache)[0] / ours if ours > 0 else math.inf


def distribution(name: str, rows: list[dict[str, Any]], cache: str) -> str:
    """How the ratios lie, in one line; "" of no rows."""
    ratios = sorted(ratio(row, cache) for row in rows)
    if not ratios:
        return ""
    at = [ratios[math.floor(q * (len(ratios) - 1))] for q in (0, 0.1, 0.25, 0.5, 0.75, 1)]
    return (f"{name}, {cache}: {len(ratios)} timings; times PyTorch's best: least {at[0]:.2f}, 10 % {at[1]:.2f}, quarter {at[2]:.2f}, "
            f"median {at[3]:.2f}, three quarters {at[4]:.2f}, most {at[5]:.2f}; {sum(r >= 1.0 for r in ratios)} at 1.0 or above, "
            f"{sum(r >= 0.8 for r in ratios)} at 0.8 or above")


def summary(rows: list[dict[str, Any]]) -> str:
    """The distributions by operator, type, cache and layout, and the ten slowest of each cache."""
    lines = []
    for op in ("Attention", "Conv"):
        for dtype in ("float16", "float32"):
            rows_of_type = [r for r in rows if r["shape"].startswith(op) and dtype in r["shape"]]
            some = {"": rows_of_type, " random": [r for r in rows_of_type if r["model"] == "random"]}
            for last in (False, True) if op == "Conv" else ():
                some[f" channels {'last' if last else 'first'}"] = [r for r in rows_of_type if r["shape"].endswith("channels last") == last]
            lines += [line for cache in CACHES for name, part in some.items() if (line := distribution(f"{op} {dtype}{name}", part, cache))]
    for cache in CACHES:
        lines.append(f"the slowest, {cache}:")
        for r in sorted(rows, key=lambda r: ratio(r, cache))[:10]:
            best = best_peer(r, cache)
            lines.append(f"  {ratio(r, cache):.2f}  {r['model']}: {r['shape']}: {r[CACHES[cache]][OURS]:.4f} ms; {best[1]} {best[0]:.4f}")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True, help="where to write all medians")
    parser.add_argument("--random", type=int, default=200, help="how many random shapes are drawn beside the models'")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--limit", type=float, default=300.0, help="seconds; shapes not reached by then are listed, and the exit status is 1")
    args = parser.parse_args()
    end = time.monotonic() + args.limit
    warnings.simplefilter("ignore")  # PyTorch's reasons why a back end does not take a shape
    try:
        import torch
    except ImportError:
        print("WRONG torch is not installed, and there is nothing to compare with")
        return 1
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.benchmark = True
    at = timing.Launcher(torch, d.GpuDevice(args.library), None, try_all=False)
    models: list[SweepShape] = [*attention_shapes(), *conv_shapes()]
    shapes = [*models, *random_shapes(np.random.default_rng(args.seed), args.random)]
    rows, wrong = run(torch, at, shapes, end)
    args.out.write_text(json.dumps({"seed": args.seed, "shapes": len(shapes), "torch": torch.__version__, "rows": rows, "wrong": wrong}, indent=1))
    print(f"{len(rows)} timings of {len(shapes)} shapes, {args.random} of them random by seed {args.seed}; {len(wrong)} wrong")
    print(summary(rows))
    for line in wrong:
        print("WRONG " + line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
