"""A release on a registry: what is sent, what is refused, and that nothing of others is signed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from stackbuild.core import digest
from stackbuild.core.errors import UsageError
from stackbuild.publishing.publication import Publication
from stackbuild.publishing.ssh_keys import TrustedKey
from stackbuild.publishing.ssh_signatures import is_ssh_signature
from stackbuild.remote.faults import RemoteFault
from stackbuild.remote.release import ReleaseArtifact, push_release
from support.registry_in_memory import RegistryInMemory
from support.remotes import a_key
from support.wheels import put_statements, small_sbom, small_wheel

SBOM = small_sbom()


def settings(*wheels: Path, key: str = "builder", **more: bool) -> Publication:
    attached = {wheel: put_statements(wheel) for wheel in wheels}
    return Publication(attachments=attached, keys=(a_key(key),) if key else (), **more)


def pushed(registry: RegistryInMemory, *wheels: Path, key: str = "builder", **more: bool) -> tuple[ReleaseArtifact, ...]:
    return push_release(wheels, registry, settings(*wheels, key=key, **more), lambda line: None)


def layers(registry: RegistryInMemory, tag: str) -> dict[str, bytes]:
    """The files of a release by name, each with the digest that its layer has."""
    value = json.loads(registry.tags[tag])
    files = {one["annotations"]["org.opencontainers.image.title"]: one for one in value["layers"]}
    for one in files.values():
        data = registry.blobs[one["digest"].removeprefix("sha256:")]
        assert one["digest"] == f"sha256:{digest.of_bytes(data)}" and one["size"] == len(data)
    return {name: registry.blobs[one["digest"].removeprefix("sha256:")] for name, one in files.items()}


def test_an_artifact_has_the_wheel_and_all_that_travels_with_it(tmp_path: Path) -> None:
    registry = RegistryInMemory()
    wheel = small_wheel(tmp_path, "1.0+rocm.6.4", sbom=SBOM)
    (artifact,) = pushed(registry, wheel)
    files = layers(registry, "demo-pkg-1.0_rocm.6.4")
    ends = {name.removeprefix(wheel.name) for name in files}
    statements = {f".{kind}{end}" for kind in ("provenance", "verification", "benchmarks") for end in (".json", ".dsse.json")}
    assert ends == {"", ".cdx.json", "SHA256SUMS", "SHA256SUMS.sig", *statements}
    assert files[wheel.name] == wheel.read_bytes() and artifact.fresh and artifact.version == "1.0+rocm.6.4"
    assert artifact.reference == f"registry/wheels@sha256:{digest.of_bytes(registry.tags[artifact.tag])}"
    assert is_ssh_signature(files["SHA256SUMS"], files["SHA256SUMS.sig"], (TrustedKey(a_key().blob),))
    rows = dict(reversed(line.split("  ")) for line in files["SHA256SUMS"].decode().splitlines())
    assert rows == {name: digest.of_bytes(data) for name, data in files.items() if not name.startswith("SHA256SUMS")}
    assert json.loads(registry.tags[artifact.tag])["config"]["digest"].removeprefix("sha256:") in registry.blobs


def test_the_same_release_once_more_sends_nothing(tmp_path: Path) -> None:
    registry, wheel = RegistryInMemory(), small_wheel(tmp_path)
    (first,) = pushed(registry, wheel)
    registry.writes = 0
    (second,) = pushed(registry, wheel)
    assert registry.writes == 0 and not second.fresh and second.reference == first.reference


def test_a_project_and_version_has_an_artifact_of_its_own(tmp_path: Path) -> None:
    registry = RegistryInMemory()
    pushed(registry, small_wheel(tmp_path), small_wheel(tmp_path, "2.0"), small_wheel(tmp_path, name="other"))
    assert sorted(registry.tags) == ["demo-pkg-1.0", "demo-pkg-2.0", "other-1.0"]


def test_other_bytes_under_a_published_name_are_refused(tmp_path: Path) -> None:
    registry = RegistryInMemory()
    pushed(registry, small_wheel(tmp_path / "a"))
    before = dict(registry.tags)
    other = small_wheel(tmp_path / "b", content="y")
    with pytest.raises(UsageError, match=r"published already under the tag demo-pkg-1\.0, with other bytes"):
        pushed(registry, other, small_wheel(tmp_path / "b", name="aa"))
    assert registry.tags == before, "nothing of the whole call"
    pushed(registry, other, replace=True)
    assert layers(registry, "demo-pkg-1.0")[other.name] == other.read_bytes()


def for_python(wheel: Path, tag: str) -> Path:
    return wheel.rename(wheel.with_name(wheel.name.replace("py3-none-any", tag)))


def test_a_wheel_of_another_python_joins_its_release(tmp_path: Path) -> None:
    registry = RegistryInMemory()
    first = for_python(small_wheel(tmp_path / "a"), "cp311-cp311-linux_x86_64")
    second = for_python(small_wheel(tmp_path / "b", content="y"), "cp312-cp312-linux_x86_64")
    pushed(registry, first)
    pushed(registry, second)
    files = layers(registry, "demo-pkg-1.0")
    assert {first.name, second.name} <= files.keys() and files["SHA256SUMS"].decode().count(".whl\n") == 2


@pytest.mark.parametrize("how", ["a stranger's signature", "a file slipped in", "no signature"])
def test_nothing_that_others_put_there_is_signed(tmp_path: Path, how: str) -> None:
    registry = RegistryInMemory()
    first = for_python(small_wheel(tmp_path / "a"), "cp311-cp311-linux_x86_64")
    pushed(registry, first, key={"a stranger's signature": "stranger", "no signature": ""}.get(how, "builder"))
    if how == "a file slipped in":
        value = json.loads(registry.tags["demo-pkg-1.0"])
        evil = {"digest": f"sha256:{'0' * 64}", "size": 1, "mediaType": "application/zip"}
        value["layers"].append({**evil, "annotations": {"org.opencontainers.image.title": "demo_pkg-1.0-cp313-cp313-any.whl"}})
        registry.tags["demo-pkg-1.0"] = json.dumps(value).encode()
    before = dict(registry.tags)
    with pytest.raises(UsageError, match="has files that none of the keys has signed"):
        pushed(registry, for_python(small_wheel(tmp_path / "b"), "cp312-cp312-linux_x86_64"))
    assert registry.tags == before


def test_a_signed_release_stays_signed(tmp_path: Path) -> None:
    registry, wheel = RegistryInMemory(), small_wheel(tmp_path)
    pushed(registry, wheel)
    with pytest.raises(UsageError, match="is signed, and no key is given"):
        pushed(registry, wheel, key="")
    pushed(registry, wheel, key="", unsigned=True)
    assert "SHA256SUMS.sig" not in layers(registry, "demo-pkg-1.0")


def test_a_tag_that_is_something_else_is_left_alone(tmp_path: Path) -> None:
    registry = RegistryInMemory()
    registry.tags["demo-pkg-1.0"] = b'{"schemaVersion": 2, "layers": []}'
    with pytest.raises(UsageError, match="it is not a release of stackbuild"):
        pushed(registry, small_wheel(tmp_path))


def test_a_wheel_of_another_name_than_its_metadata_is_refused(tmp_path: Path) -> None:
    registry = RegistryInMemory()
    wheel = small_wheel(tmp_path / "a")
    with pytest.raises(UsageError, match=r"the metadata inside demo-pkg 1\.0"):
        pushed(registry, wheel.rename(wheel.with_name("evil-1.0-py3-none-any.whl")))
    assert not registry.tags and not registry.blobs


def test_a_stop_at_any_request_leaves_the_tag_as_it_was(tmp_path: Path) -> None:
    """And the same command ends it."""
    registry = RegistryInMemory()
    pushed(registry, small_wheel(tmp_path / "a"))
    before, first = dict(registry.tags), set(layers(registry, "demo-pkg-1.0"))
    second = for_python(small_wheel(tmp_path / "b", content="y", sbom=SBOM), "cp312-cp312-linux_x86_64")
    blobs, stops = dict(registry.blobs), 0
    while True:
        registry.left, registry.blobs = stops, dict(blobs)
        try:
            pushed(registry, second)
            break
        except RemoteFault:
            assert registry.tags == before
            stops += 1
    assert stops == 11, "the wheel, its SBOM, six statements, the sums, their signature, the manifest"
    registry.left = None
    assert set(layers(registry, "demo-pkg-1.0")) > first


def test_who_writes_at_the_same_moment_is_seen(tmp_path: Path) -> None:
    registry = RegistryInMemory()
    registry.overwritten = True
    with pytest.raises(RemoteFault, match="another one wrote it at the same moment"):
        pushed(registry, small_wheel(tmp_path))


@pytest.mark.parametrize("name", ("../x", "a/b", ".x", "a\nb", "\x1b[2J"))
def test_a_release_whose_files_lead_out_is_not_added_to(name: str, tmp_path: Path) -> None:
    """`oras pull` writes files by these names, and a line in one would be a line of SHA256SUMS."""
    registry = RegistryInMemory()
    pushed(registry, small_wheel(tmp_path / "a"), key="")
    value = json.loads(registry.tags["demo-pkg-1.0"])
    value["layers"][0]["annotations"]["org.opencontainers.image.title"] = name
    registry.tags["demo-pkg-1.0"] = json.dumps(value).encode()
    with pytest.raises(UsageError, match=r"not a release of stackbuild.*a file of it is named"):
        pushed(registry, small_wheel(tmp_path / "a"), key="")
