"""A container image from a registry that really runs: Debian's `docker-registry` on loopback, asked and copied by skopeo."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from stackbuild.actions import image
from stackbuild.actions.job import Job
from stackbuild.core.cancel import Stopper
from stackbuild.core.errors import LockError, MachineLacks, StepFailed
from stackbuild.model.plan import Step
from stackbuild.sources import image_registry, oci
from stackbuild.sources.oci_layers import unpack
from support.miniatures import make_image

REGISTRY, SKOPEO = shutil.which("docker-registry"), shutil.which("skopeo")
pytestmark = [
    pytest.mark.sandbox,
    pytest.mark.skipif(
        not (REGISTRY and SKOPEO and shutil.which("bwrap")), reason="needs docker-registry, skopeo, bubblewrap"
    ),
]


@pytest.fixture
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """`127.0.0.1:PORT` of an empty registry without TLS, which skopeo's configuration of this test allows."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    settings = {
        "version": 0.1,
        "storage": {"filesystem": {"rootdirectory": str(tmp_path / "registry")}},
        "http": {"addr": f"127.0.0.1:{port}"},
        "log": {"level": "error"},
    }
    (tmp_path / "registry.json").write_text(json.dumps(settings))
    home = tmp_path / "home" / ".config" / "containers"
    home.mkdir(parents=True)
    (home / "policy.json").write_text('{"default": [{"type": "insecureAcceptAnything"}]}')
    (home / "registries.conf").write_text(f'[[registry]]\nlocation = "127.0.0.1:{port}"\ninsecure = true\n')
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("CONTAINERS_REGISTRIES_CONF", str(home / "registries.conf"))
    monkeypatch.delenv("STACKBUILD_MIRROR", raising=False)
    monkeypatch.setattr(image, "find_engine", lambda: None)  # an engine would be asked before skopeo
    with subprocess.Popen(
        [str(REGISTRY), "serve", str(tmp_path / "registry.json")], stderr=subprocess.DEVNULL
    ) as process:
        for _ in range(100):
            with socket.socket() as door:
                if door.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.1)
        yield f"127.0.0.1:{port}"
        process.terminate()


@pytest.fixture
def pushed(registry: str, tmp_path: Path) -> tuple[str, str]:
    """An image in the registry: its name with the tag, and its digest there."""
    root = tmp_path / "root"
    (root / "etc").mkdir(parents=True)
    (root / "etc" / "kept").write_text("kept")
    (root / "etc" / "taken-away").touch()
    make_image(root, tmp_path / "made", "some/image:1")
    name = f"{registry}/rocm/dev:6.4.4-complete"
    layout = tmp_path / "made" / "images" / "some" / "image" / "1"
    words = [str(SKOPEO), "copy", "--quiet", "--preserve-digests", "--dest-tls-verify=false"]
    subprocess.run([*words, f"oci:{layout}", f"docker://{name}"], check=True, capture_output=True)
    return name, oci.Layout(layout).digest


def job(tmp_path: Path, name: str, digest: str) -> Job:
    """The host-side step that makes a base of the image, up to what `Dockerfile.base` adds."""
    for folder in ("out", "scratch"):
        (tmp_path / "job" / folder).mkdir(parents=True)
    step = Step(name="base", action="image", params=(("digest", digest), ("image", name)))
    return Job(
        step, tmp_path / "job" / "out", tmp_path / "job" / "scratch", tmp_path / "job" / "log", Stopper(), {}, {}
    )


def test_the_registry_tells_the_digest_that_the_lock_writes_down(pushed: tuple[str, str]) -> None:
    name, digest = pushed
    assert image_registry.ask(name, None) == digest


def test_the_copy_has_the_locked_digest_and_its_files(pushed: tuple[str, str], tmp_path: Path) -> None:
    name, digest = pushed
    made = job(tmp_path, name, digest)
    layout = image._copy_image(made, name, digest)
    assert layout.digest == digest
    unpack(layout, made.out)
    assert (made.out / "etc" / "kept").read_text() == "kept"
    assert not (made.out / "etc" / "taken-away").exists()


def test_a_digest_that_the_registry_does_not_have_ends_in_one_line(pushed: tuple[str, str], tmp_path: Path) -> None:
    name, _ = pushed
    with pytest.raises(StepFailed, match="skopeo"):
        image.do(job(tmp_path, name, f"sha256:{'0' * 64}"))


def test_a_blob_that_rots_in_the_registry_is_never_unpacked(pushed: tuple[str, str], tmp_path: Path) -> None:
    name, digest = pushed
    blobs = [p for p in (tmp_path / "registry").rglob("data") if p.parent.parent.parent.name == "sha256"]
    largest = max(blobs, key=lambda p: p.stat().st_size)
    content = bytearray(largest.read_bytes())
    content[len(content) // 2] ^= 1
    largest.write_bytes(bytes(content))
    made = job(tmp_path, name, digest)
    with pytest.raises((LockError, StepFailed)):
        unpack(image._copy_image(made, name, digest), made.out)
    assert not list(made.out.iterdir())


def test_an_image_that_is_not_there_is_named(registry: str) -> None:
    with pytest.raises((MachineLacks, StepFailed), match="gone"):  # by skopeo, by an engine that answers
        image_registry.ask(f"{registry}/rocm/gone:1", None)
