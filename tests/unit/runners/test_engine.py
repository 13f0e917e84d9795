"""An image through a Docker engine: what it says of a tag, what it pulls, and what of it is believed."""

from __future__ import annotations

import hashlib
import io
import json
import shutil
import tarfile
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from docker.errors import APIError, NotFound

from stackbuild.core.errors import MachineLacks, StepFailed
from stackbuild.runners.engine import EngineImage, _refuse_outside, digest_in_registry
from stackbuild.sources import image_registry

NAME = "rocm/dev-ubuntu-24.04"
WANTED = f"sha256:{'5' * 64}"


def tar_of(files: dict[str, bytes]) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as tar:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return made.getvalue()


LAYERS = (tar_of({"etc/first": b"1"}), tar_of({"etc/second": b"2"}))


def saved(layers: tuple[bytes, ...], diff_ids: list[str]) -> bytes:
    names = [f"blobs/sha256/{hashlib.sha256(layer).hexdigest()}" for layer in layers]
    manifest = json.dumps([{"Config": "config.json", "Layers": names}]).encode()
    config = json.dumps({"rootfs": {"diff_ids": diff_ids}}).encode()
    return tar_of({"manifest.json": manifest, "config.json": config, **dict(zip(names, layers, strict=True))})


class Engine:
    """The SDK's client. It has the image once that is pulled; `says` are the lines of a pull."""

    def __init__(
        self, archive: bytes, says: tuple[dict[str, Any], ...] = (), digest: str = WANTED, had: bool = False
    ) -> None:
        self.archive, self.says, self.digest, self.there = archive, says, digest, had
        self.asked: list[tuple[str, str, str]] = []
        self.removed: list[str] = []
        self.api = SimpleNamespace(
            inspect_image=self.inspect, pull=self.pull, get_image=self.save, remove_image=self.remove
        )
        self.images = SimpleNamespace(get_registry_data=lambda name: SimpleNamespace(id=self.digest))

    def inspect(self, reference: str) -> dict[str, Any]:
        if not self.there:
            raise NotFound(reference)
        return {"RepoDigests": [f"{NAME}@{self.digest}"]}

    def pull(self, name: str, tag: str, stream: bool, decode: bool, platform: str) -> Iterator[dict[str, Any]]:
        self.asked.append((name, tag, platform))
        self.there = True
        yield from self.says

    def save(self, reference: str) -> Iterator[bytes]:
        yield self.archive[:100]
        yield self.archive[100:]

    def remove(self, reference: str) -> None:
        self.there = False
        self.removed.append(reference)


def listed(*layers: bytes) -> list[str]:
    return [f"sha256:{hashlib.sha256(layer).hexdigest()}" for layer in layers]


def test_the_layers_come_by_digest_and_the_pulled_image_goes_again(tmp_path: Path) -> None:
    told: list[str] = []
    client = Engine(
        saved(LAYERS, listed(*LAYERS)), ({"status": "Pull complete", "id": "abc"}, {"status": "Downloading"})
    )
    found = EngineImage(client, NAME, WANTED).layers(tmp_path, told.append)
    assert [path.read_bytes() for path in found] == list(LAYERS)
    assert client.asked == [(NAME, WANTED, "linux/amd64")]
    assert client.removed == [f"{NAME}@{WANTED}"] and told == ["layer abc: pull complete"]


def test_an_image_that_was_there_is_neither_pulled_nor_removed(tmp_path: Path) -> None:
    client = Engine(saved(LAYERS, listed(*LAYERS)), had=True)
    assert len(EngineImage(client, NAME, WANTED).layers(tmp_path, lambda line: None)) == 2
    assert not client.asked and not client.removed


def test_what_the_engine_says_of_a_failed_pull_is_the_error(tmp_path: Path) -> None:
    client = Engine(b"", ({"error": "manifest unknown"},))
    with pytest.raises(StepFailed, match="manifest unknown"):
        EngineImage(client, NAME, WANTED).layers(tmp_path, lambda line: None)


OFFLINE = 'Get "https://registry.example/v2/": dial tcp: lookup registry.example on 10.0.0.1:53: no such host'


def test_a_registry_that_is_not_reached_is_the_machines_fault_and_not_the_names(tmp_path: Path) -> None:
    pulling = Engine(b"", ({"error": OFFLINE},))
    with pytest.raises(MachineLacks, match="no such host") as stopped:
        EngineImage(pulling, NAME, WANTED).layers(tmp_path, lambda line: None)
    assert "check the network" in stopped.value.next and stopped.value.topic == "network"

    def refuse(name: str) -> object:
        raise APIError("500 Server Error", explanation=OFFLINE)

    asking = Engine(b"")
    asking.images = SimpleNamespace(get_registry_data=refuse)
    with pytest.raises(MachineLacks, match="no such host"):
        digest_in_registry(asking, NAME)


def test_an_image_of_another_digest_is_refused_and_removed(tmp_path: Path) -> None:
    client = Engine(saved(LAYERS, listed(*LAYERS)), digest=f"sha256:{'6' * 64}")
    with pytest.raises(StepFailed, match="for rocm/dev-ubuntu"):
        EngineImage(client, NAME, WANTED).layers(tmp_path, lambda line: None)
    assert client.removed


@pytest.mark.parametrize(
    ("archive", "said"),
    [
        (saved(LAYERS, listed(*LAYERS[:1])), "2 layers and lists 1"),
        (tar_of({"other": b""}), "saved no image"),
        (saved(LAYERS, listed(LAYERS[0], LAYERS[0])).replace(b"etc/second", b"etc/secund"), "damaged"),
    ],
    ids=["fewer-listed", "no-manifest", "other-bytes"],
)
def test_what_was_saved_is_held_against_its_own_list(archive: bytes, said: str, tmp_path: Path) -> None:
    with pytest.raises(StepFailed, match=said):
        EngineImage(Engine(archive), NAME, WANTED).layers(tmp_path, lambda line: None)


def test_a_tag_is_asked_of_the_engine_where_one_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(image_registry, "find_engine", lambda: Engine(b""))
    assert image_registry.ask(f"{NAME}:7.2.4-complete", None) == WANTED


def test_without_engine_and_skopeo_both_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(image_registry, "find_engine", lambda: None)
    monkeypatch.setattr(shutil, "which", lambda tool: None)
    with pytest.raises(MachineLacks, match="no Docker engine answers and `skopeo`"):
        image_registry.ask(f"{NAME}:7.2.4-complete", None)


def test_a_registry_that_refuses_is_told_in_one_line() -> None:
    def refuse(name: str) -> None:
        raise APIError("denied", explanation="pull access denied")

    client = SimpleNamespace(images=SimpleNamespace(get_registry_data=refuse))
    with pytest.raises(StepFailed, match="pull access denied"):
        digest_in_registry(client, NAME)


@pytest.mark.parametrize(
    ("name", "kind", "target", "is_inside"),
    [
        ("a/layer.tar", tarfile.REGTYPE, "", True),
        ("a/layer.tar", tarfile.SYMTYPE, "../b/layer.tar", True),
        ("a/layer.tar", tarfile.LNKTYPE, "b/layer.tar", True),
        ("../x", tarfile.REGTYPE, "", False),
        ("/x", tarfile.REGTYPE, "", False),
        ("a/x", tarfile.SYMTYPE, "../../x", False),
        ("a/x", tarfile.SYMTYPE, "/etc/passwd", False),
        ("a/x", tarfile.LNKTYPE, "../x", False),
        ("a/x", tarfile.CHRTYPE, "", False),
    ],
)
def test_members_of_a_saved_image_before_python_3_11_4(name: str, kind: bytes, target: str, is_inside: bool) -> None:
    member = tarfile.TarInfo(name)
    member.type, member.linkname, member.mode = kind, target, 0o4777
    if is_inside:
        assert _refuse_outside(member).mode == 0o755
    else:
        with pytest.raises(StepFailed, match="leads out of it"):
            _refuse_outside(member)
