"""`image`: a root file system from a container image, extended by the RUN lines of `Dockerfile.base`."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path, PurePosixPath

from stackbuild.actions.job import Job
from stackbuild.core.errors import LockError, MachineLacks
from stackbuild.core.resources import folder
from stackbuild.core.root_path import path_inside
from stackbuild.runners import bwrap
from stackbuild.runners.engine import EngineImage, find_engine
from stackbuild.sources import image_registry, oci
from stackbuild.sources.mirror import refuse_packages
from stackbuild.sources.oci_layers import unpack_layers
from stackbuild.sources.python_index import index_variables
from stackbuild.sources.stored_outputs import unpack_object

CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt"
"""This machine's certificates: a proxy's own may be among them."""
PACKAGE_MANAGER = (
    *("CAP_AUDIT_WRITE", "CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_FOWNER", "CAP_FSETID", "CAP_KILL", "CAP_MKNOD"),
    *(
        "CAP_NET_BIND_SERVICE",
        "CAP_NET_RAW",
        "CAP_SETFCAP",
        "CAP_SETGID",
        "CAP_SETPCAP",
        "CAP_SETUID",
        "CAP_SYS_CHROOT",
    ),
)
"""The capabilities that `docker build` gives a RUN line, and that the maintainer scripts of packages are tried with.
Source: moby, `oci/caps/defaults.go`."""


def do(job: Job) -> dict[str, str]:
    """Make the root file system in `job.out`. Notes: `image`, its digest."""
    if (notes := unpack_object(job.mirror, job.step.key, job.out)) is not None:
        return notes
    params = job.params
    layers = _layers(job, params["image"], params["digest"])
    refuse_packages(
        job.mirror, f"the extended base, objects/{job.step.key}.tar: `Dockerfile.base` installs from package archives"
    )
    unpack_layers(layers, job.out)
    _extend(job)
    return {"image": params["digest"]}


def _layers(job: Job, image: str, digest: str) -> tuple[Path, ...]:
    """The image's layers, lowest first: from the mirror, through a Docker engine, or by skopeo. Raises LockError where it has
    another digest, StepFailed, MachineLacks."""
    layout = image_registry.from_mirror(image, job.mirror)
    if layout is None and (client := find_engine()) is not None:
        name, _ = oci.reference(image)
        folder = job.scratch / "saved"
        folder.mkdir()

        def tell(line: str) -> None:
            job.stopper.check()
            with job.log.open("a") as log:
                log.write(f"{line}\n")

        return EngineImage(client, name, digest).layers(folder, tell)
    layout = layout or _copy_image(job, image, digest)
    if layout.digest != digest:
        raise LockError(
            f"the image {image} has digest {layout.digest}, the lock has {digest}",
            where=str(layout.folder),
            next="its tag was moved, or the mirror has another one: run `stackbuild lock`",
        )
    return layout.layers()


def _copy_image(job: Job, image: str, digest: str) -> oci.Layout:
    """The image from its registry. skopeo's `dir:` form keeps every byte; its `oci:` form would make another digest."""
    target, layout = job.scratch / "image", job.scratch / "layout"
    name, _ = oci.reference(image)
    job.call(["skopeo", "copy", "--quiet", "--all", f"docker://{name}@{digest}", f"dir:{target}"], "skopeo")
    return oci.arrange_layout(target, layout)


def _extend(job: Job) -> None:
    """Run `Dockerfile.base` over the files, as root of a sandbox that has the network."""
    if os.geteuid() != 0:
        raise MachineLacks(
            "extending an image needs root, whichever runner builds: the image's package manager does",
            where=job.step.name,
            next="run as root, or take the base from a bundle that was made so: `export STACKBUILD_MIRROR=DIR`",
        )
    mounts = {path: path for path in ("/etc/resolv.conf", "/etc/hosts") if Path(path).exists()}
    mounts |= {CERTIFICATES: "/tmp/certificates"} if Path(CERTIFICATES).exists() else {}
    sandbox = bwrap.Bwrap(
        bwrap.bwrap_path(),
        root=("--bind", str(job.out), "/"),
        mounts=tuple(word for path, at in mounts.items() for word in ("--ro-bind", path, at)),
        env=tuple(_environment(job).items()),
        user_namespace=False,  # packages have files of several users
        network=True,
        capabilities=PACKAGE_MANAGER,
    )
    points = [PurePosixPath(at) for at in mounts.values() if path_inside(job.out, at) is None]
    for line in _run_lines(folder("Dockerfile.base").read_text("utf-8")):
        job.call_in(sandbox, "/bin/sh", "-ec", line)
    for point in points:
        if above := path_inside(job.out, str(point.parent)):  # a line can have put a link in its place
            (above / point.name).unlink(missing_ok=True)


def _run_lines(dockerfile: str) -> tuple[str, ...]:
    """The shell lines of a Dockerfile's RUN instructions, in order, with continued lines joined."""
    joined_text = re.sub(
        r"\\\n", " ", "\n".join(line for line in dockerfile.splitlines() if not line.lstrip().startswith("#"))
    )
    return tuple(line[4:].strip() for line in joined_text.splitlines() if line.startswith("RUN "))


def _environment(job: Job) -> dict[str, str]:
    params = job.params
    proxies = {n: v for n, v in os.environ.items() if n in ("https_proxy", "http_proxy", "no_proxy")}
    return {
        **index_variables(),
        **proxies,
        "PIP_CERT": "/tmp/certificates",
        "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "LC_ALL": "C.UTF-8",
        "SOURCE_DATE_EPOCH": "1700000000",
        "PACKAGES": " ".join(json.loads(params["packages"])),
        "CMAKE": json.loads(params["cmake"]),
        "NINJA": json.loads(params["ninja"]),
        "PIP": " ".join(json.loads(params["pip"])),
    }
