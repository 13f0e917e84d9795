"""The shapes that docs/kernels.md reports, as problems for kernels/tools/timing.py."""

from __future__ import annotations

import functools
from typing import Any

from tools import device as d
from tools.timing import Launcher, TimedProblem, TimedShape, numpy_dtype


def _bytes(*tensors: Any) -> float:
    return float(sum(t.numel() * t.element_size() for t in tensors))


def leaky_relu(n: int, c: int, h: int, w: int) -> TimedShape:
    def make(dtype: Any, at: Launcher) -> TimedProblem:
        torch = at.torch
        x = torch.randn(n, c, h, w, device="cuda", dtype=dtype)
        y = torch.empty_like(x)
        params = d.LeakyRelu(numpy_dtype(torch, dtype), x.numel(), 0.01, x.data_ptr(), y.data_ptr())
        keep: list[Any] = [x, y]
        function = torch.nn.functional.leaky_relu
        return TimedProblem(at.ours(params, keep), lambda: function(x, 0.01), at.naive(params, keep), y,
                       lambda: function(x.double(), 0.01), _bytes(x, y), 0.0, keep)

    return TimedShape("LeakyRelu", f"{n}×{c}×{h}×{w}", make)


def batch_norm(n: int, c: int, h: int, w: int, last: bool = False) -> TimedShape:
    def make(dtype: Any, at: Launcher) -> TimedProblem:
        torch = at.torch
        kind = numpy_dtype(torch, dtype)
        x = torch.randn(n, c, h, w, device="cuda", dtype=dtype)
        if last:
            x = x.contiguous(memory_format=torch.channels_last)
        y = torch.empty_like(x)
        scale, bias, mean = (torch.randn(c, device="cuda", dtype=dtype) for _ in range(3))
        var = torch.rand(c, device="cuda", dtype=dtype) + 0.5
        params = d.BatchNorm(kind, kind, kind, int(last), n, c, h * w, 1e-5)
        params.x, params.y, params.scale, params.bias = (t.data_ptr() for t in (x, y, scale, bias))
        params.mean, params.variance = mean.data_ptr(), var.data_ptr()
        keep: list[Any] = [x, y, scale, bias, mean, var]

        def torch_one(*t: Any) -> Any:
            return torch.nn.functional.batch_norm(t[0], t[3], t[4], t[1], t[2], False, 0.0, 1e-5)

        tensors = (x, scale, bias, mean, var)
        naive = None if last else at.naive(params, keep)
        return TimedProblem(at.ours(params, keep), lambda: torch_one(*tensors), naive, y,
                       lambda: torch_one(*(t.double() for t in tensors)), _bytes(x, y), 0.0, keep)

    return TimedShape("BatchNormalization", f"{n}×{c}×{h}×{w}" + (" channels last" if last else ""), make)


def group_norm(n: int, c: int, h: int, w: int, groups: int, last: bool = False) -> TimedShape:
    def make(dtype: Any, at: Launcher) -> TimedProblem:
        torch = at.torch
        kind = numpy_dtype(torch, dtype)
        x = torch.randn(n, c, h, w, device="cuda", dtype=dtype)
        if last:
            x = x.contiguous(memory_format=torch.channels_last)
        y = torch.empty_like(x)
        scale, bias = (torch.randn(c, device="cuda", dtype=dtype) for _ in range(2))
        params = d.GroupNorm(kind, kind, int(last), n, c, groups, h * w, False, 1e-5)
        params.x, params.y, params.scale, params.bias = (t.data_ptr() for t in (x, y, scale, bias))
        keep: list[Any] = [x, y, scale, bias]
        function = torch.nn.functional.group_norm
        naive = None if last else at.naive(params, keep)
        return TimedProblem(at.ours(params, keep), lambda: function(x, groups, scale, bias, 1e-5), naive, y,
                       lambda: function(x.double(), groups, scale.double(), bias.double(), 1e-5), _bytes(x, y), 0.0, keep)

    return TimedShape("GroupNormalization", f"{n}×{c}×{h}×{w} G={groups}" + (" channels last" if last else ""), make)


def attention(b: int, h: int, s: int, size: int, causal: bool = False, masked: bool = False) -> TimedShape:
    """Masked: added to the scores, a row for each image, as for padded sequences."""

    def make(dtype: Any, at: Launcher) -> TimedProblem:
        torch = at.torch
        q, k, v = (torch.randn(b, h, s, size, device="cuda", dtype=dtype) for _ in range(3))
        y = torch.empty_like(q)
        mask = torch.zeros(b, 1, 1, s, device="cuda", dtype=dtype) if masked else None
        params = d.Attention(numpy_dtype(torch, dtype), b, h, h, s, s, size, size, size**-0.5, 0.0, causal)
        for strides in (params.q_strides, params.k_strides, params.v_strides, params.y_strides):
            strides[:] = [h * s * size, s * size, size]
        params.q, params.k, params.v, params.y = (t.data_ptr() for t in (q, k, v, y))
        keep: list[Any] = [q, k, v, y, mask]
        if mask is not None:
            mask[..., s - s // 4 :] = -10000.0
            params.mask, params.mask_kind, params.mask_batch_stride = mask.data_ptr(), d.ADDITIVE, s
        function = functools.partial(torch.nn.functional.scaled_dot_product_attention, is_causal=causal)

        def reference_values() -> Any:
            """In float64, one head of one image after the other: S×S scores are all it needs beside the answer."""
            answer = torch.empty(b, h, s, size, device="cuda", dtype=torch.float64)
            future_mask = torch.ones(s, s, device="cuda", dtype=torch.bool).triu(1) if causal else None
            for i in range(b):
                for j in range(h):
                    scores = q[i, j].double() @ k[i, j].double().transpose(-1, -2) * size**-0.5
                    if mask is not None:
                        scores += mask[i, 0].double()
                    if future_mask is not None:
                        scores.masked_fill_(future_mask, float("-inf"))
                    answer[i, j] = scores.softmax(-1) @ v[i, j].double()
            return answer

        naive = None if causal or masked else at.naive(params, keep)
        return TimedProblem(at.ours(params, keep), lambda: function(q, k, v, attn_mask=mask), naive, y, reference_values,
                       _bytes(q, k, v, y), (2.0 if causal else 4.0) * b * h * s * s * size, keep, matrix_units=True)

    return TimedShape("Attention", f"B{b} H{h} S{s} D{size}" + " causal" * causal + " masked" * masked, make)


def conv(n: int, c: int, hw: int, k: int, r: int, stride: int, last: bool = False, depthwise: bool = False) -> TimedShape:
    """Square, padded by half the filter. Depthwise: k channels in k groups."""
    groups = k if depthwise else 1

    def make(dtype: Any, at: Launcher) -> TimedProblem:
        torch = at.torch
        out = (hw + 2 * (r // 2) - r) // stride + 1
        x, w = torch.randn(n, c, hw, hw, device="cuda", dtype=dtype), torch.randn(k, c // groups, r, r, device="cuda", dtype=dtype)
        y = torch.empty(n, k, out, out, device="cuda", dtype=dtype)
        if last:
            x, w, y = (t.contiguous(memory_format=torch.channels_last) for t in (x, w, y))
        params = d.Conv(numpy_dtype(torch, dtype), int(last), int(last), 0, 0, 2, n, c, k, groups)
        for field, value in ((params.in_, hw), (params.out, out), (params.kernel, r), (params.stride, stride),
                             (params.dilation, 1), (params.pad_begin, r // 2)):
            field[0] = field[1] = value
        params.x, params.w, params.y = x.data_ptr(), w.data_ptr(), y.data_ptr()
        keep: list[Any] = [x, w, y]
        function = torch.nn.functional.conv2d
        more = {}
        for algorithm, variant in at.device.conv_choices(params) if at.try_all else ():
            way = d.Conv.from_buffer_copy(params)
            way.algorithm, way.variant = algorithm, variant
            more[f"{d.CONV_ALGORITHMS[algorithm]}:{variant}"] = at.ours(way, keep)
        naive = None if last or depthwise else at.naive(params, keep)
        return TimedProblem(at.ours(params, keep), lambda: function(x, w, None, stride, r // 2, 1, groups), naive, y,
                       lambda: function(x.double(), w.double(), None, stride, r // 2, 1, groups), _bytes(x, w, y),
                       2.0 * n * k * out * out * c * r * r / groups, keep, more, matrix_units=not depthwise)

    text = f"N{n} C{c} {hw}² K{k} {r}×{r}/{stride}" + (" depthwise" if depthwise else "")
    return TimedShape("Conv", text + (" channels last" if last else ""), make)


_CONVS = [(32, 64, 56, 64, 3, 1), (32, 256, 14, 256, 3, 1), (32, 64, 56, 256, 1, 1), (32, 3, 224, 64, 7, 2),
          (1, 64, 56, 64, 3, 1)]
_DEPTHWISE = [(32, 144, 56, 144, 3, 1), (32, 384, 14, 384, 5, 1)]
CONVS_FIRST = [*(conv(*s) for s in _CONVS), *(conv(*s, depthwise=True) for s in _DEPTHWISE)]
CONVS_LAST = [*(conv(*s, last=True) for s in _CONVS), *(conv(*s, last=True, depthwise=True) for s in _DEPTHWISE)]
SHAPES = [
    leaky_relu(64, 64, 224, 224), batch_norm(64, 256, 56, 56), group_norm(256, 64, 56, 56, 32),
    attention(8, 12, 512, 64), attention(1, 12, 128, 64), attention(4, 16, 4096, 64), attention(4, 16, 2048, 128),
    attention(4, 16, 2048, 128, causal=True), attention(4, 16, 4096, 64, causal=True), attention(8, 12, 512, 64, masked=True),
    batch_norm(64, 256, 56, 56, last=True), group_norm(256, 64, 56, 56, 32, last=True), *CONVS_FIRST,
]
HALF_ONLY = CONVS_LAST
