"""zstd: the one module that imports zstandard."""

from __future__ import annotations

from zstandard import ZstdCompressor, ZstdDecompressor, ZstdError

__all__ = ["ZstdCompressor", "ZstdDecompressor", "ZstdError"]
