"""Container images by name: in a mirror, through a Docker engine, or by skopeo in their registry."""

from __future__ import annotations

import shutil

from stackbuild.core.errors import MachineLacks
from stackbuild.runners.engine import digest_in_registry, find_engine
from stackbuild.sources import oci
from stackbuild.sources.mirror import Mirror
from stackbuild.sources.tool_output import run_tool

NEITHER = "no Docker engine answers and `skopeo` is not installed: an image cannot be asked for"


def in_mirror(image: str, mirror: Mirror | None) -> oci.Layout | None:
    """The image's OCI layout in the mirror, `images/NAME/TAG`."""
    name, tag = oci.reference(image)
    place = mirror.folder / "images" / name / tag if mirror else None
    return oci.Layout(place) if place is not None and (place / "index.json").is_file() else None


def from_mirror(image: str, mirror: Mirror | None) -> oci.Layout | None:
    """As `in_mirror`, and where a mirror is named it must have it. Raises MachineLacks."""
    layout = in_mirror(image, mirror)
    if layout is None and mirror is not None:
        raise mirror.lacks(f"images/{'/'.join(oci.reference(image))}")
    return layout


def ask(name: str, mirror: Mirror | None) -> str:
    """The digest of an image now, `sha256:…`: said in the name, by the mirror, or by its registry.

    Raises MachineLacks, StepFailed.
    """
    image, _, pinned_digest = name.partition("@")
    if pinned_digest:
        return pinned_digest
    if (layout := from_mirror(image, mirror)) is not None:
        return layout.digest
    if (client := find_engine()) is not None:
        return digest_in_registry(client, image)
    if not shutil.which("skopeo"):
        raise MachineLacks(NEITHER, where="base.image", next="apt-get install skopeo, or start a Docker engine")
    words = ["skopeo", "inspect", "--no-tags", "--format", "{{.Digest}}", f"docker://{image}"]
    process = run_tool(words)
    if process.returncode != 0:
        raise MachineLacks(
            f"the image {image} cannot be asked for: {process.stderr.strip()[-300:]}",
            where="base.image",
            next="check its name and the network, or write NAME@sha256:… into the recipe",
        )
    return process.stdout.strip()
