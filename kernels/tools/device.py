"""The HIP library through ctypes: parameter structures, device memory, streams, events. Needs numpy only."""

from __future__ import annotations

import ctypes as c
from pathlib import Path

import numpy as np

FLOAT32, FLOAT16 = 1, 10
DTYPES = {np.dtype(np.float32): FLOAT32, np.dtype(np.float16): FLOAT16}
CHANNELS_FIRST, CHANNELS_LAST = 0, 1
CONV_ALGORITHMS = ("automatic", "direct", "gemm", "winograd2", "winograd4", "depthwise", "pointwise")
MAX_CHOICES = 32  # kConvMaxChoices of conv/conv.hpp
ACTIVATIONS = {"none": 0, "relu": 1, "leaky_relu": 2, "silu": 3, "clip": 4}


class Activation(c.Structure):
    _fields_ = [("kind", c.c_int32), ("alpha", c.c_float), ("beta", c.c_float)]


class LaunchStruct(c.Structure):
    _fields_ = [("stream", c.c_void_p), ("workspace", c.c_void_p), ("workspace_bytes", c.c_size_t)]


class LeakyRelu(c.Structure):
    _fields_ = [("dtype", c.c_int32), ("count", c.c_int64), ("alpha", c.c_float), ("x", c.c_void_p), ("y", c.c_void_p)]


class BatchNorm(c.Structure):
    _fields_ = [("dtype", c.c_int32), ("scale_dtype", c.c_int32), ("stats_dtype", c.c_int32), ("layout", c.c_int32),
                ("batch", c.c_int64), ("channels", c.c_int64), ("spatial", c.c_int64), ("epsilon", c.c_float),
                ("activation", Activation), ("x", c.c_void_p), ("scale", c.c_void_p), ("bias", c.c_void_p),
                ("mean", c.c_void_p), ("variance", c.c_void_p), ("y", c.c_void_p)]


class GroupNorm(c.Structure):
    _fields_ = [("dtype", c.c_int32), ("scale_dtype", c.c_int32), ("layout", c.c_int32), ("batch", c.c_int64),
                ("channels", c.c_int64), ("groups", c.c_int64), ("spatial", c.c_int64), ("per_group", c.c_bool),
                ("epsilon", c.c_float), ("activation", Activation), ("x", c.c_void_p), ("scale", c.c_void_p),
                ("bias", c.c_void_p), ("y", c.c_void_p)]


class Conv(c.Structure):
    _fields_ = [("dtype", c.c_int32), ("layout", c.c_int32), ("filter_layout", c.c_int32), ("algorithm", c.c_int32),
                ("variant", c.c_int32), ("spatial", c.c_int32), ("batch", c.c_int64), ("in_channels", c.c_int64),
                ("out_channels", c.c_int64), ("groups", c.c_int64), ("in_", c.c_int64 * 3), ("out", c.c_int64 * 3), ("kernel", c.c_int64 * 3),
                ("stride", c.c_int64 * 3), ("dilation", c.c_int64 * 3), ("pad_begin", c.c_int64 * 3),
                ("activation", Activation), ("choosing", c.c_int32), ("x", c.c_void_p), ("w", c.c_void_p), ("bias", c.c_void_p),
                ("residual", c.c_void_p), ("y", c.c_void_p), ("packed", c.c_void_p), ("packed_form", c.c_int64)]


class Attention(c.Structure):
    _fields_ = [("dtype", c.c_int32), ("batch", c.c_int64), ("query_heads", c.c_int64), ("key_heads", c.c_int64),
                ("query_length", c.c_int64), ("key_length", c.c_int64), ("head_size", c.c_int64),
                ("value_size", c.c_int64), ("scale", c.c_float), ("softcap", c.c_float), ("causal", c.c_bool),
                ("causal_from_lengths", c.c_bool), ("empty_row", c.c_float),
                ("causal_offset", c.c_int64), ("q_strides", c.c_int64 * 3), ("k_strides", c.c_int64 * 3),
                ("v_strides", c.c_int64 * 3), ("y_strides", c.c_int64 * 3), ("mask_kind", c.c_int32),
                ("mask_batch_stride", c.c_int64), ("mask_head_stride", c.c_int64), ("mask_query_stride", c.c_int64),
                ("q", c.c_void_p), ("k", c.c_void_p), ("v", c.c_void_p), ("mask", c.c_void_p),
                ("key_lengths", c.c_void_p), ("y", c.c_void_p)]


MASK_KINDS = {np.dtype(np.bool_): 1, np.dtype(np.int32): 2}  # MaskKind; a mask of the query's type:
ADDITIVE = 3
STRUCTURES = (LaunchStruct, LeakyRelu, BatchNorm, GroupNorm, Conv, Attention)
NAMES = {LeakyRelu: "leaky_relu", BatchNorm: "batch_norm", GroupNorm: "group_norm", Conv: "conv", Attention: "attention"}
HAS_WORKSPACE = (GroupNorm, Conv, Attention)
GUARD = 512  # bytes behind a buffer, within its allocation
Params = LeakyRelu | BatchNorm | GroupNorm | Conv | Attention


class DeviceError(Exception):
    """A launcher or the runtime refused; the message is the library's."""


class GpuDevice:
    """The library and the current device. Every call checks its status.

    `guard` bytes lie behind each Memory. With 0 an allocation ends where its tensor does, for tools that see what is read past it.
    """

    def __init__(self, library: Path, guard: int = GUARD) -> None:
        self.guard = guard
        self.library = c.CDLL(str(library.resolve()))  # a bare name would be looked for where the loader looks
        if not hasattr(self.library, "sbk_gpu_abi"):
            raise DeviceError(f"{library} is not libstackbuild_kernels_hip.so: it has no sbk_gpu_abi")
        sizes = (c.c_uint32 * len(STRUCTURES))()
        self.library.sbk_gpu_abi(sizes)
        mine = [c.sizeof(s) for s in STRUCTURES]
        if list(sizes) != mine:
            raise DeviceError(f"structures differ from the library's: {mine} here, {list(sizes)} there")
        self.library.sbk_gpu_platform.restype = c.c_char_p
        for kind in HAS_WORKSPACE:
            getattr(self.library, f"sbk_gpu_{NAMES[kind]}_workspace").restype = c.c_size_t
        self.platform = self.library.sbk_gpu_platform().decode()

    def call(self, function: str, *arguments: object) -> None:
        what = c.c_char_p()
        if code := getattr(self.library, f"sbk_gpu_{function}")(*arguments, c.byref(what)):
            raise DeviceError(f"{function}: {(what.value or b'').decode()} (code {code})")

    def count(self) -> int:
        count = c.c_int32()
        self.call("device_count", c.byref(count))
        return count.value

    def name(self) -> str:
        name = c.create_string_buffer(256)
        self.call("device_name", 0, name, c.c_size_t(len(name)))
        return name.value.decode()

    def stream(self) -> int:
        stream = c.c_void_p()
        self.call("stream_create", c.byref(stream))
        return stream.value or 0

    def synchronize(self, stream: int = 0) -> None:
        self.call("stream_synchronize", c.c_void_p(stream))

    def workspace_bytes(self, params: Params) -> int:
        if not isinstance(params, HAS_WORKSPACE):
            return 0
        return int(getattr(self.library, f"sbk_gpu_{NAMES[type(params)]}_workspace")(c.byref(params)))

    def conv_choices(self, params: Conv) -> list[tuple[int, int]]:
        """(algorithm, variant) of every way to make this convolution here."""
        choices = (c.c_int32 * 2 * MAX_CHOICES)()
        count = self.library.sbk_gpu_conv_choices(c.byref(params), choices)
        return [(choices[i][0], choices[i][1]) for i in range(count)]

    def pack_filter(self, params: Conv) -> Buffer | None:
        """This convolution's filters in the form that it reads, and named in `params`; None where it reads them as they are."""
        size = c.c_size_t()
        params.packed, params.packed_form = None, 0
        form_of = self.library.sbk_gpu_conv_filter_form
        form_of.restype = c.c_int64
        form = int(form_of(c.byref(params), c.byref(size)))
        if form == 0:
            return None
        buffer = Buffer(self, size.value)
        self.call("pack_conv_filter", c.byref(params), c.c_void_p(buffer.pointer), c.byref(LaunchStruct()))
        self.synchronize()
        params.packed, params.packed_form = buffer.pointer, form
        return buffer

    def launch(self, params: Params, stream: int = 0, workspace: int = 0, workspace_bytes: int = 0) -> None:
        launch = LaunchStruct(stream, workspace, workspace_bytes)
        self.call(NAMES[type(params)], c.byref(params), c.byref(launch))


class Buffer:
    """Device memory with the device's guard of known bytes behind it. Freed when collected. Of 0 bytes, without a guard, it is null.

    It starts `moved` bytes behind where an allocation does (256 bytes and more are aligned there), and they are guarded too.
    """

    def __init__(self, device: GpuDevice, bytes_: int, offset: int = 0) -> None:
        self.device, self.bytes, self._offset = device, bytes_, offset
        allocation = c.c_void_p()
        if offset + bytes_ + device.guard:
            device.call("malloc", c.byref(allocation), c.c_size_t(offset + bytes_ + device.guard))
        self._allocation = allocation.value or 0
        self.pointer = self._allocation + offset
        self._fill(-offset, 0xFF, offset)
        self._fill(self.bytes, 0xFF, device.guard)
        self.poison()

    def poison(self, byte: int = 0xFF) -> None:
        """`byte` everywhere (0xFF is NaN in float32 and float16); the guard stays."""
        self._fill(0, byte, self.bytes)

    def write(self, array: np.ndarray) -> Buffer:
        self._copy(self.pointer, array.ctypes.data, array.nbytes)
        return self

    def read(self, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        out = np.empty(shape, dtype)
        self._copy(out.ctypes.data, self.pointer, out.nbytes)
        return out

    def guard_intact(self) -> bool:
        return self._is_untouched(-self._offset, self._offset) and self._is_untouched(self.bytes, self.device.guard)

    def _is_untouched(self, first: int, bytes_: int) -> bool:
        guard = np.empty(bytes_, np.uint8)
        self._copy(guard.ctypes.data, self.pointer + first, bytes_)
        return bool((guard == 0xFF).all())

    def _fill(self, first: int, byte: int, bytes_: int) -> None:
        if bytes_:
            self.device.call("fill", c.c_void_p(self.pointer + first), byte, c.c_size_t(bytes_), None)

    def _copy(self, to: int, from_: int, bytes_: int) -> None:
        if bytes_:
            self.device.call("copy", c.c_void_p(to), c.c_void_p(from_), c.c_size_t(bytes_), None)
            self.device.synchronize()

    def __del__(self) -> None:
        if getattr(self, "_allocation", 0):
            self.device.library.sbk_gpu_free(c.c_void_p(self._allocation), None)
