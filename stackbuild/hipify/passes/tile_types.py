"""The fix `tile-types`: a tile declared with `auto` gets the type that CUDA's documentation gives it.

Before ROCm 6.0 the tile of `tiled_partition<32>(block)` knows its parent by its type, and has `size`, `sync` and `thread_rank`
twice, so that their use is ambiguous. As `thread_block_tile<32>` it has each once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from stackbuild.hipify.cpp.edits import Edit
from stackbuild.hipify.cpp.source_text import View

_TILE = re.compile(
    r"(?<![\w:])auto(?=(?:\s+const)?\s+\w+\s*(?:=|\(|\{)\s*((?:\w+\s*::\s*)*)tiled_partition\s*<([^<>;(){}]+)>\s*\()"
)


def fix(view: View, by: str) -> Iterator[Edit]:
    """The edits that name the type of each such tile."""
    for tile in _TILE.finditer(view.code) if "tiled_partition" in view.words else ():
        yield Edit(*tile.span(), f"{tile[1]}thread_block_tile<{tile[2].strip()}>", by)
