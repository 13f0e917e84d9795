"""zstd: the one module that imports zstandard."""

from __future__ import annotations

from zstandard import COMPRESSOBJ_FLUSH_BLOCK, ZstdCompressor, ZstdDecompressor, ZstdError

__all__ = ["COMPRESSOBJ_FLUSH_BLOCK", "ZstdCompressor", "ZstdDecompressor", "ZstdError"]
