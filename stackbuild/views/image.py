"""Draws an image that was written: its layers with their sizes, what was left out, what was loaded in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stackbuild.views.console import Text, err, out, table

if TYPE_CHECKING:
    from stackbuild.pipeline.image import WrittenImage


def draw_image(image: WrittenImage) -> None:
    """A row a layer, the sum, and how to bring the image into an engine."""
    rows = table("layer", "files", "unpacked MB", "compressed MB", "digest")
    for one in image.layers:
        rows.add_row(one.name, str(one.files), f"{one.size / 1e6:.1f}", f"{one.compressed / 1e6:.1f}", one.digest[7:19])
    whole = sum(one.size for one in image.layers)
    files = str(sum(one.files for one in image.layers))
    rows.add_row("together", files, f"{whole / 1e6:.1f}", f"{image.compressed_size / 1e6:.1f}", image.digest[7:19])
    out().print(rows)
    if image.left_out_files:
        err().print(
            Text(
                f"left out: {image.left_out_files} files, {image.left_out_bytes / 1e6:.1f} MB, for other targets than {image.gfx}"
            )
        )
    for line in image.loaded:
        err().print(Text(line, "dim"))
    err().print(Text(f"skopeo copy oci:{image.folder} docker-daemon:{image.recipe}:{image.gfx}"), soft_wrap=True)
